package gpkg

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// closed completes a file, and opens it with SQLite.
func closed(t testing.TB, w *Writer, file string) *sql.DB {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// AddRow adds a feature with its values.
func AddRow(w *Writer, wkb []byte, box Box, values ...any) error {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			w.Null()
		case string:
			w.Text(v)
		case int64:
			w.Integer(v)
		case float64:
			w.Real(v)
		}
	}
	return w.Add(wkb, box)
}

// SQLite reads each row as it was added, whatever its size, finds the file whole, and goes on with it.
func TestTheTableIsOneOfSQLite(t *testing.T) {
	for _, c := range []struct {
		rows, longest int
		atLock        bool // the pages lie around the one with SQLite's locks
	}{{rows: 0}, {rows: 1, longest: 20}, {rows: 3, longest: 5000}, {rows: 300, longest: 20_000}, {rows: 600, longest: 4200}, {rows: 9000, longest: 300}, {rows: 40, longest: 20_000, atLock: true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "rows.gpkg")
			layer := Layer{Name: "places", Columns: []Column{{"a", Text}, {"b", Integer}, {"c", Real}, {"d", DateTime}}, Changed: time.Unix(0, 0)}
			w, err := Create(t.Context(), file, layer)
			if err != nil {
				t.Fatal(err)
			}
			if c.atLock {
				w.table.next = lockPage - 10
				if _, err = w.file.Seek((lockPage-11)*pageBytes, io.SeekStart); err != nil {
					t.Fatal(err)
				}
			}
			r := rand.New(rand.NewPCG(uint64(c.rows), uint64(c.longest)))
			var want [][]any
			for i := range c.rows {
				row := []any{int64(i + 1), nil, strings.Repeat("é", r.IntN(c.longest)/2), r.Int64() - r.Int64(), 360*r.Float64() - 180, "2026-11-02T06:00:00.000Z"}
				for j := 2; j < len(row); j++ {
					if r.IntN(4) == 0 {
						row[j] = []any{nil, "", int64(-1), math.Round(90 * r.Float64()), nil}[j-1]
					}
				}
				var wkb []byte
				if r.IntN(3) > 0 {
					wkb = bytes.Repeat([]byte{byte(i)}, r.IntN(c.longest))
					row[1] = geometry(wkb, Box{})
				}
				if err := AddRow(w, wkb, Box{}, row[2:]...); err != nil {
					t.Fatal(err)
				}
				want = append(want, row)
			}
			db := closed(t, w, file)
			check := func(when string) {
				var said string
				if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&said); err != nil || said != "ok" && !c.atLock { // the hole before is no page
					t.Fatalf("%s: %s, %v", when, said, err)
				}
				got := readAll(t, db)
				if len(got) != len(want) {
					t.Fatalf("%s: %d rows, want %d", when, len(got), len(want))
				}
				for i := range got {
					if !reflect.DeepEqual(got[i], want[i]) {
						t.Fatalf("%s: %.200v, want %.200v", when, got[i], want[i])
					}
				}
			}
			check("as it was written")
			if c.atLock {
				locks := make([]byte, pageBytes)
				if f, err := os.Open(file); err != nil {
					t.Fatal(err)
				} else if _, err := f.ReadAt(locks, 1<<30); err != nil || !bytes.Equal(locks, make([]byte, pageBytes)) {
					t.Errorf("the page with SQLite's locks is used: %v", err)
				} else if err := f.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			// One more has the next number, even if the last one was removed.
			if _, err := db.ExecContext(t.Context(), `DROP TRIGGER rtree_places_geom_insert; DROP TRIGGER rtree_places_geom_delete; DELETE FROM places WHERE fid % 2 = 0;
				INSERT INTO places (a) VALUES ('new')`); err != nil {
				t.Fatal(err)
			}
			var left [][]any
			for i := 0; i < len(want); i += 2 {
				left = append(left, want[i])
			}
			want = append(left, []any{int64(c.rows + 1), nil, "new", nil, nil, nil})
			check("after it was edited")
		})
	}
}

func readAll(t *testing.T, db *sql.DB) (all [][]any) {
	found, err := db.QueryContext(t.Context(), `SELECT fid, geom, a, b, c, d FROM places ORDER BY fid`)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		row := make([]any, 6)
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if at, ok := row[5].(time.Time); ok { // the driver reads the column's type
			row[5] = at.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
