package wal_test

import (
	"bytes"
	"context"
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/hazardd/hazardd/internal/store/sqlite/wal"
)

// follower keeps a copy of a database from its log, as internal/store does.
type follower struct {
	t          *testing.T
	d          *sql.DB
	log        *os.File
	held, next *sql.Conn
	at         wal.Position
	copied     []byte
}

func (f *follower) begin(c *sql.Conn) {
	f.t.Helper()
	var n int
	if _, err := c.ExecContext(f.t.Context(), `BEGIN`); err != nil {
		f.t.Fatal(err)
	}
	if err := c.QueryRowContext(f.t.Context(), `SELECT count(*) FROM sqlite_schema`).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
}

func (f *follower) step() {
	f.t.Helper()
	f.begin(f.next)
	c, err := wal.Since(f.log, f.at)
	if err != nil {
		f.t.Fatal(err)
	}
	if c.Len() > 0 {
		f.copied = append(f.copied, make([]byte, max(0, int(c.Pages)*c.PageSize-len(f.copied)))...)
		for _, number := range c.Numbers() {
			if number > c.Pages {
				continue // it was cut off meanwhile
			}
			if err := c.Read(f.log, number, f.copied[(int(number)-1)*c.PageSize:][:c.PageSize]); err != nil {
				f.t.Fatal(err)
			}
		}
		f.copied = f.copied[:int(c.Pages)*c.PageSize]
	}
	f.at = c.To
	if f.held != nil {
		if _, err := f.held.ExecContext(f.t.Context(), `ROLLBACK`); err != nil {
			f.t.Fatal(err)
		}
	}
	if f.held, f.next = f.next, f.held; f.next == nil {
		if f.next, err = f.d.Conn(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Whatever is written, rolled back, checkpointed, truncated and vacuumed between two steps, the
// copy equals the database.
func TestACopyByTheLogIsTheDatabase(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	path := filepath.Join(dir, "a.db")
	d, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10)&_pragma=journal_mode(WAL)&_pragma=auto_vacuum(1)&_pragma=wal_autocheckpoint(20)")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	run := func(on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, statement string, values ...any) {
		if _, err := on.ExecContext(ctx, statement, values...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run(d, `CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)`)
	log, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	f := &follower{t: t, d: d, log: log}
	if f.next, err = d.Conn(ctx); err != nil {
		t.Fatal(err)
	}
	f.step() // the log contains all of it
	defer func() { _, _ = f.held.Close(), f.next.Close() }()
	r := rand.New(rand.NewPCG(1, 2))
	compared, begun := 0, 0
	salt := f.at
	for range 500 {
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			run(d, `INSERT INTO t (body) VALUES (randomblob($1))`, r.IntN(20_000))
		case 4:
			run(d, `UPDATE t SET body = randomblob($1) WHERE n % 7 = $2`, r.IntN(3000), r.IntN(7))
		case 5:
			run(d, `DELETE FROM t WHERE n % 5 = $1`, r.IntN(5))
		case 6:
			tx, err := d.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			run(tx, `UPDATE t SET body = randomblob(5000)`)
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		case 7:
			var busy, frames, moved int
			if err := d.QueryRowContext(ctx, `PRAGMA wal_checkpoint(`+[]string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[r.IntN(4)]+`)`).Scan(&busy, &frames, &moved); err != nil {
				t.Fatal(err)
			}
		default:
			f.step()
			if f.at != salt {
				begun++
				salt = f.at
			}
		}
		if r.IntN(20) > 0 {
			continue
		}
		f.step()
		whole := filepath.Join(dir, "whole.db")
		_ = os.Remove(whole)
		restored := filepath.Join(dir, "copy.db")
		page := bytes.Clone(f.copied)
		page[18], page[19] = 1, 1 // not in write-ahead mode
		if err := os.WriteFile(restored, page, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, b := content(t, path), content(t, restored); a != b {
			t.Fatalf("the copy has %s, the database %s", b, a)
		}
		compared++
	}
	if compared < 10 || begun < 10 {
		t.Fatalf("compared %d times, with %d steps", compared, begun)
	}
}

// content returns the content of a database, and whether it is intact.
func content(t *testing.T, path string) string {
	t.Helper()
	d, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var rows, check string
	if err := d.QueryRowContext(t.Context(), `SELECT count(*) || ' ' || coalesce(sum(n), 0) || ' ' || coalesce(hex(group_concat(substr(body, 1, 8), '')), '') FROM (SELECT * FROM t ORDER BY n)`).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	if err := d.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&check); err != nil {
		t.Fatal(err)
	}
	return check + " " + rows
}

// A file that is not a log, or that ends anywhere, is not an error, because it may be in the middle
// of a write.
func FuzzSince(f *testing.F) {
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0x37, 0x7f, 0x06, 0x82}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := wal.Since(bytes.NewReader(b), wal.Position{})
		if err == nil && c.Len() > 0 && c.Pages == 0 {
			t.Fatal("pages of no database")
		}
	})
}
