package find

import (
	"database/sql"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard/query"
)

// Of few hazards with the words of a filter all are listed, of more only those that are asked for.
func TestHazardsWithWordsAreListedWhereTheyAreAskedFor(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	const total = 200_000
	if _, err := db.Exec(`CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii', detail=none);
		WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 200000)
		INSERT INTO hazard_words (rowid, name) SELECT n, iif(n % 1000, '', 'rare ') || iif(n % 100, '', 'some ') || iif(n % 20, '', 'many ') || iif(n % 4, '', 'common') FROM i WHERE n % 4 = 0`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for word, tt := range map[string]struct {
		every int64
		tried bool
		all   bool
	}{
		"nothing": {total + 1, false, true},
		"rare":    {1000, false, true},
		"some":    {100, false, true},
		"many":    {20, false, false},
		"common":  {4, true, false}, // the states along the order should be fewer
	} {
		f := sqliteFinder{&Question{Tx: tx, Filter: &query.Filter{Text: []query.Phrase{{Words: []string{word}}}}, Limit: 100}}
		way := f.accesses()[0]
		if _, err := f.listWords(t.Context(), &way, total); err != nil {
			t.Fatal(err)
		}
		l := f.withWords
		if all := l.list == nil; all != tt.all || (l.tries > 0) != tt.tried {
			t.Errorf("%s: all listed at once: %v, want %v; %d tries", word, all, tt.all, l.tries)
		}
		for range l.tries {
			if has, err := l.has(1); !has || err != nil {
				t.Errorf("%s: not let through, %v", word, err)
			}
		}
		for _, id := range []int64{1, 4, 20, 100, 1000, 19_999, 20_000, 20_001, 99_980, 100_000, 150_020, total - 1, total, total + 20} {
			if has, err := l.has(id); err != nil || has != (id%tt.every == 0 && id <= total) {
				t.Errorf("%s: hazard %d: %v, %v", word, id, has, err)
			}
		}
		if blocks := len(l.blocks); blocks > 8 {
			t.Errorf("%s: %d blocks were listed", word, blocks)
		}
	}
}
