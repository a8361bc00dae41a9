package store_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
)

// The positions of words in their texts were a tenth of a store of a million hazards (R11), but
// only phrases need them. A store of an earlier release keeps them, and finds the same.
func TestANewStoreKeepsWhichWordsThereAreNotWhere(t *testing.T) {
	dir := t.TempDir()
	open := func() *store.Store {
		s, err := store.Open(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	defer func() { s.Close() }()
	for query, want := range map[string]string{
		`SELECT sql FROM sqlite_schema WHERE name = 'hazard_words'`: "detail=none",
		`SELECT value FROM meta WHERE name = 'oldest_schema'`:       "31",
		`SELECT name || ' has no other index' FROM pragma_table_list WHERE name = 'changes' AND NOT EXISTS (
			SELECT 1 FROM pragma_index_list('changes') WHERE origin = 'pk')`: "changes",
	} {
		if got, err := s.Ask(t.Context(), query); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q in it", query, got, err, want)
		}
	}
	finds := func(when string) {
		t.Helper()
		for text, want := range map[string]int64{`"flash flood"`: 1, `flash flood`: 2, `"flood flash"`: 0, `flood-f*`: 1, `"a flood"`: 1, `flo*`: 2, `"warning a"`: 0} {
			q, faults := query.Parse(url.Values{"q": {text}})
			if faults != nil {
				t.Fatal(text, faults)
			}
			for way := range 4 {
				page, err := s.SearchBy(t.Context(), q, nil, hazard.Instant(1), way)
				if err != nil || int64(len(page.Hazards)) != want {
					t.Errorf("%s: %s by way %d: %v, %v; want %d", when, text, way, page, err, want)
				}
			}
			if n, _, err := s.Search.Count(t.Context(), q, hazard.Instant(1)); err != nil || n != want {
				t.Errorf("%s: count of %s: %d, %v; want %d", when, text, n, err, want)
			}
		}
	}
	save(t, s, flood("Flash Flood Warning"))
	save(t, s, flood("A flood from a flash"))
	finds("new")
	if err := s.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`DROP TABLE hazard_words`, `CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii')`} {
		if err := s.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	finds("of an earlier release")
}
