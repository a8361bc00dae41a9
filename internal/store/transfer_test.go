package store_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// A new table must be assigned to backups or left out explicitly. Otherwise nobody would notice
// that a restore loses it.
func TestEveryTableIsTransferredOrNamedAsLeftOut(t *testing.T) {
	known := slices.Concat(store.Transferred, store.NotTransferred)
	dir, url := t.TempDir(), postgres.URL(t)
	for _, name := range []string{"", url} {
		s, err := store.Open(t.Context(), dir, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for driver, query := range map[string]string{
		"sqlite": `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%'`,
		"pgx":    `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`,
	} {
		database := map[string]string{"sqlite": filepath.Join(dir, "hazardd.db"), "pgx": url}[driver]
		d, err := sql.Open(driver, database)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		rows, err := d.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		found := 0
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s: table %s is in neither list of transfer.go: decide whether backups contain it", driver, name)
			}
		}
		if err := rows.Err(); err != nil || found < len(store.Transferred) {
			t.Errorf("%s: %d tables, %v", driver, found, err)
		}
	}
}

// The tables are the same in both databases, with the same names, types and keys of columns, so
// that rows can be moved between them.
func TestTablesOfATransferAreTheSameInBothDatabases(t *testing.T) {
	var tables [][]store.Table
	for _, name := range []string{"", postgres.URL(t)} {
		s, err := store.Open(t.Context(), t.TempDir(), name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, d.Tables)
		for _, table := range d.Tables {
			if len(table.Key) == 0 {
				t.Errorf("table %s has no primary key, so its rows have no order", table.Name)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(tables[0], tables[1]); diff != "" || len(tables[0]) != len(store.Transferred) {
		t.Errorf("%d tables, of %d: %s", len(tables[0]), len(store.Transferred), diff)
	}
}

func TestARowIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := store.Table{Name: "x", Columns: []store.Column{{Name: "a", Type: "bigint"}, {Name: "b", Type: "text"}, {Name: "c", Type: "boolean"}, {Name: "d", Type: "bytea"},
			{Name: "e", Type: "double precision"}, {Name: "f", Type: "text"}}}
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x{ff}"\\{}]*`), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }))
		row := []any{rapid.Int64().Draw(t, "a"), text.Draw(t, "b"), rapid.Bool().Draw(t, "c"), rapid.SliceOf(rapid.Byte()).Draw(t, "d"), rapid.Float64().Draw(t, "e"), nil}
		line, err := table.AppendRow(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(line) || strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("%q is no line", line)
		}
		back, err := table.ParseRow(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(row, back); diff != "" {
			t.Fatalf("%s: %s", line, diff)
		}
		again, err := table.AppendRow(nil, back)
		if err != nil || string(again) != string(line) {
			t.Fatalf("%s became %s, %v", line, again, err)
		}
	})
}

func FuzzParseRow(f *testing.F) {
	table := store.Table{Name: "x", Columns: []store.Column{{Name: "a", Type: "bigint"}, {Name: "b", Type: "text"}, {Name: "d", Type: "bytea"}, {Name: "e", Type: "double precision"}}}
	f.Add([]byte(`{"a":1,"b":"x","d":"AAE=","e":1.5}`))
	f.Add([]byte(`{"a":-9223372036854775808,"b":{"base64":"/w=="},"d":null,"e":0}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		row, err := table.ParseRow(line)
		if err != nil {
			return
		}
		// Every accepted input is a row with one form.
		text, err := table.AppendRow(nil, row)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := table.ParseRow(text)
		if err != nil || cmp.Diff(row, again) != "" {
			t.Fatalf("%s, %s: %v", line, text, err)
		}
	})
}
