package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// A state used to be stored in the table of hazards and in the log, which made a store of a million
// hazards a third larger (R11).
func TestAStateIsStoredOnceUnlessTheReleaseBeforeMayReadIt(t *testing.T) {
	dir := t.TempDir()
	database := postgres.Database(t, dir, "")
	reopen := func() *store.Store {
		s, err := store.Open(t.Context(), dir, database)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := reopen()
	inLog := flood("of a store of this schema")
	save(t, s, inLog)
	if err := s.Exec(t.Context(), `UPDATE meta SET value = 'hazards' WHERE name = 'bodies'`); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = reopen()
	defer s.Close()
	inBoth := flood("of a store that was upgraded")
	save(t, s, inBoth)
	for h, twice := range map[*hazard.Hazard]bool{inLog: false, inBoth: true} {
		got, err := s.Hazards.Get(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, got); diff != "" {
			t.Errorf("%s (-written +read):\n%s", h.Name, diff)
		}
		size, err := s.BodySize(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		if (size > 0) != twice {
			t.Errorf("%s: the body in the table of hazards has %d bytes", h.Name, size)
		}
	}
}
