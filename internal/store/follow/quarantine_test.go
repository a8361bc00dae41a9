package follow_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/sqlite/pagesum"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// One damaged row of the log, whichever it is, stops none of the others: after a start each other
// hazard is listed and streamed, and so is what comes next.
func TestADamagedChangeStopsNoOther(t *testing.T) {
	dir := datadir.Empty(t)
	s, err := store.Open(t.Context(), dir, "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	last := int64(0)
	write := func(f func(tx *store.Tx) error) {
		t.Helper()
		n, err := s.Write(t.Context(), now(), store.Origin{User: "ann", Admin: true}, f)
		if err != nil {
			t.Fatal(err)
		}
		last = n
	}
	for range 3 {
		h := &hazard.Hazard{UUID: uuid.New(), Name: "Flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, OrgID: 1}
		write(func(tx *store.Tx) error { return tx.SaveHazard(h, nil) })
		write(func(tx *store.Tx) error {
			return tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: h.ID, Title: "note", Type: hazard.TextProduct})
		})
		write(func(tx *store.Tx) error {
			after := *h
			after.Description = "higher"
			return tx.SaveHazard(&after, h)
		})
	}
	// With the file's own checksums, as if the bit had turned in memory.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, store.FileName)+"?vfs="+pagesum.Strict+"&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows := last
	for n := int64(1); n <= rows; n++ {
		turn := func(from, to string) {
			t.Helper()
			for _, table := range []string{"changes", "products"} {
				if _, err := db.ExecContext(t.Context(), fmt.Sprintf(`UPDATE %s SET body = replace(body, '"uuid":"%s', '"uuid":"%s') WHERE n = %d`, table, from, to, n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		turn("", "x")
		l, err := view.Open(t.Context(), s.Log, discard, now)
		if err != nil {
			t.Fatalf("change %d is damaged: %v", n, err)
		}
		f := follow.New(s.Log, l, now, follow.Memory, discard)
		if err := f.CatchUp(t.Context()); err != nil {
			t.Fatalf("change %d is damaged: %v", n, err)
		}
		var fresh *hazard.Hazard
		write(func(tx *store.Tx) error {
			fresh = &hazard.Hazard{UUID: uuid.New(), Name: "Fire", Type: hazard.Wildfire, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, OrgID: 1}
			return tx.SaveHazard(fresh, nil)
		})
		if err := f.CatchUp(t.Context()); err != nil {
			t.Fatalf("change %d is damaged: %v", n, err)
		}
		harmed := (n-1)/3 + 1 // the hazard whose change it is
		listed := map[int64]bool{}
		for h := range l.View(now()).Hazards(view.Filter{}, nil) {
			listed[h.ID] = true
		}
		for id := int64(1); id <= 3; id++ {
			if !listed[id] && (id != harmed || n%3 > 0) {
				t.Errorf("change %d is damaged: hazard %d is not listed", n, id)
			}
		}
		if !listed[fresh.ID] {
			t.Errorf("change %d is damaged: a new hazard is not listed", n)
		}
		streamed := map[int64]bool{}
		for at := int64(0); at < last; {
			entries, upTo, _, err := f.After(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if _, _, err := e.States(t.Context()); err != nil {
					t.Errorf("change %d is damaged: the states of change %d: %v", n, e.Number, err)
				}
				streamed[e.Number] = true
			}
			at = upTo
		}
		for m := int64(1); m <= last; m++ {
			if streamed[m] == (m == n) {
				t.Errorf("change %d is damaged: change %d is streamed: %v", n, m, streamed[m])
			}
		}
		own := 0
		if err := s.Log.OwnChanges(t.Context(), 0, last, func(*hazard.Change) error { own++; return nil }); err != nil || own != int(last-1) {
			t.Errorf("change %d is damaged: %d changes of people of %d, %v", n, own, last, err)
		}
		if found := s.Quarantine.Found(); len(found) == 0 {
			t.Errorf("change %d is damaged, and nobody knows", n)
		}
		turn("x", "")
		s.Quarantine.Recheck(context.WithoutCancel(t.Context()))
		if found := s.Quarantine.Found(); len(found) != 0 {
			t.Errorf("change %d is mended, but %v", n, found)
		}
	}
}
