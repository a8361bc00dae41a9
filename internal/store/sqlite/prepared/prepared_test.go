package prepared_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"github.com/hazardd/hazardd/internal/store/sqlite/prepared"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	c, err := sqlite.NewConnector("file:" + filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	d := sql.OpenDB(prepared.Connector{Connector: c})
	d.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.Exec("CREATE TABLE n (i INTEGER PRIMARY KEY); INSERT INTO n VALUES (1), (2), (3)"); err != nil {
		t.Fatal(err)
	}
	return d
}

// A statement runs again while its own rows are being read, with other arguments, in transactions,
// and after an error.
func TestStatementsRunAgain(t *testing.T) {
	d := open(t)
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	count := func(from int) (n int) {
		t.Helper()
		rows, err := tx.QueryContext(t.Context(), "SELECT i FROM n WHERE i >= $1", from)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			n++
			var inner int
			if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM n WHERE i >= $1", from).Scan(&inner); err != nil || inner != 4-from {
				t.Errorf("within: %d, %v; want %d", inner, err, 4-from)
			}
			var same int
			if err := tx.QueryRowContext(t.Context(), "SELECT i FROM n WHERE i >= $1", 3).Scan(&same); err != nil || same != 3 {
				t.Errorf("the same statement inside its own rows: %d, %v; want 3", same, err)
			}
		}
		return n
	}
	for from := 1; from <= 3; from++ {
		if n := count(from); n != 4-from {
			t.Errorf("%d rows from %d on, want %d", n, from, 4-from)
		}
	}
	insert := func(i int) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO n VALUES ($1)", i)
		return err
	}
	for _, i := range []int{4, 1, 5, 4} { // 1 and the second 4 are already prepared
		if err := insert(i); (err != nil) != (i == 1) && i != 4 {
			t.Errorf("insert %d: %v", i, err)
		}
	}
	if err := insert(4); err == nil {
		t.Error("4 was inserted twice")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	// After a change of the table, the statement is prepared again.
	if _, err := d.Exec("ALTER TABLE n ADD COLUMN j INTEGER DEFAULT 7"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := d.QueryRow("SELECT count(*) FROM n WHERE i >= $1", 1).Scan(&n); err != nil || n != 5 {
		t.Errorf("%d rows, %v; want 5", n, err)
	}
}

// A cancelled context leaves nothing behind that a later statement sees.
func TestACancelledStatementRunsAgain(t *testing.T) {
	d := open(t)
	const slow = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < $1) SELECT count(*) FROM r"
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	var n int
	if err := d.QueryRowContext(ctx, slow, 1<<30).Scan(&n); err == nil {
		t.Fatal("it was not cancelled")
	}
	if err := d.QueryRow(slow, 1000).Scan(&n); err != nil || n != 1000 {
		t.Errorf("%d, %v; want 1000", n, err)
	}
}

// More statements than a connection keeps also run.
func TestManyStatements(t *testing.T) {
	d := open(t)
	for range 2 {
		for i := range 600 {
			var n int
			if err := d.QueryRow(fmt.Sprintf("SELECT %d + $1", i), 1).Scan(&n); err != nil || n != i+1 {
				t.Fatalf("statement %d: %d, %v", i, n, err)
			}
		}
	}
}
