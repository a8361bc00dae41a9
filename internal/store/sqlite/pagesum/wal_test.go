package pagesum_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
)

func open(t *testing.T, path, vfs string, pragmas string) *sql.DB {
	t.Helper()
	if err := errors.Join(pagesum.Register(), pagesum.Create(path, 1024)); err != nil {
		t.Fatal(err)
	}
	d, err := sql.Open("sqlite", "file:"+path+"?vfs="+vfs+"&_pragma=journal_mode(WAL)"+pragmas)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	d.SetMaxOpenConns(1)
	return d
}

// A transaction larger than its connection's memory writes pages to the log, reads them back and
// writes them again before its end. Others are rolled back.
func TestALongTransactionReadsWhatItHasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d := open(t, path, pagesum.Strict, "&_pragma=cache_size(10)&_pragma=temp_store(2)&_pragma=wal_autocheckpoint(300)")
	other := open(t, path, pagesum.Strict, "&_pragma=cache_size(10)")
	run := func(on interface {
		Exec(string, ...any) (sql.Result, error)
	}, statement string, args ...any) {
		t.Helper()
		if _, err := on.Exec(statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run(d, `CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)`)
	want := map[int]string{}
	r := rand.New(rand.NewPCG(1, 3))
	look := func(on interface {
		QueryRow(string, ...any) *sql.Row
	}, want map[int]string) {
		t.Helper()
		for n, text := range want {
			var got string
			if err := on.QueryRow(`SELECT body FROM t WHERE n = $1`, n).Scan(&got); err != nil || got != text {
				t.Fatalf("row %d is %.20q, was %.20q: %v", n, got, text, err)
			}
		}
	}
	for round := range 12 {
		tx, err := d.Begin()
		if err != nil {
			t.Fatal(err)
		}
		now := map[int]string{}
		for n, text := range want {
			now[n] = text
		}
		for i := range 150 {
			n := r.IntN(60)
			now[n] = fmt.Sprintf("%d of %d: %0*d", i, round, 300+r.IntN(900), n)
			run(tx, `INSERT INTO t (n, body) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET body = excluded.body`, n, now[n])
			if i%30 == 0 {
				look(tx, now)
			}
		}
		look(tx, now)
		if round%3 == 1 {
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		} else if err := tx.Commit(); err != nil {
			t.Fatal(err)
		} else {
			want = now
		}
		look(d, want)
		look(other, want)
	}
}

// A page of the log that is damaged while in use is refused, and not moved to the file.
func TestADamagedPageOfTheLogIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d := open(t, path, pagesum.Strict, "")
	for _, statement := range []string{`CREATE TABLE t (body TEXT)`, `INSERT INTO t VALUES ('a text that nobody expects')`} {
		if _, err := d.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	const written = "a text that nobody expects"
	text, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	text[bytes.LastIndex(text, []byte(written))] = 'o'
	if err := os.WriteFile(path+"-wal", text, 0o600); err != nil {
		t.Fatal(err)
	}
	const query = `SELECT body FROM t`
	var got string
	err = open(t, path, pagesum.Strict, "").QueryRow(query).Scan(&got)
	if failure, ok := errors.AsType[*driver.Error](err); !ok || failure.Code() != sqlite3.SQLITE_IOERR_DATA {
		t.Errorf("it is read: %q, %v", got, err)
	}
	if err := open(t, path, pagesum.Lenient, "").QueryRow(query).Scan(&got); err != nil || got == written {
		t.Errorf("a lenient reader gets %q, %v", got, err)
	}
	if _, err := open(t, path, pagesum.Strict, "").Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err == nil {
		t.Error("it is moved to the file")
	}
}
