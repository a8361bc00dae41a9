package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	recorded "github.com/hazardd/hazardd/internal/test/recordings"
)

// What the baseline inserts is what the import leaves: all rows, and the words by which hazards are found.
func TestTheInsertsLeaveWhatTheImportLeaves(t *testing.T) {
	rec := recordings[0]
	in, err := importOnce(t.Context(), rec, recorded.Read(t, "feeds/"+rec.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, _, err := insertInto(t.Context(), dir, in.rows); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hazardd.db")
	words := slices.IndexFunc(in.rows.tables, func(t table) bool { return t.name == "hazard_words" })
	got, err := readContent(t.Context(), path, in.rows.tables[words].rows) // they cannot be read
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range in.rows.tables {
		if left := got.tables[i]; left.name != want.name || !slices.Equal(texts(left), texts(want)) { // trees may have another order
			t.Errorf("table %s has %d rows %.500s; the import leaves %d %.500s", left.name, len(left.rows), texts(left), len(want.rows), texts(want))
		}
	}
	db, err := sql.Open("sqlite", "file:"+path+settings)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM hazard_words WHERE hazard_words MATCH 'magnitude'`).Scan(&n); err != nil || n == 0 || n != in.hazards {
		t.Errorf("%d of %d hazards are found by a word of all: %v", n, in.hazards, err)
	}
}

// texts are the rows of a table, in the order of their texts.
func texts(t table) (all []string) {
	for _, row := range t.rows {
		all = append(all, fmt.Sprint(row...))
	}
	slices.Sort(all)
	return all
}
