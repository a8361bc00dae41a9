package store_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/view"
)

// redact replaces the name of a hazard in all of its states.
func (s *stage) redact(t *rapid.T) {
	if len(s.ids) == 0 {
		return
	}
	id := rapid.SampledFrom(s.ids).Draw(t, "hazard to redact")
	s.write(t, func(tx *store.Tx) error {
		before, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		h := *before
		h.Name, h.LastUpdate = hazard.RedactedText, s.now
		if err := tx.RewriteHazard(id, func(h *hazard.Hazard) bool { h.Name = hazard.RedactedText; return true }); err != nil {
			return err
		}
		return tx.SaveHazard(&h, before)
	})
}

// A search answers the same from the states of a view as from the log alone: with a view that is
// behind, with hazards that were changed, redacted or have ended since, on every page, and as of
// earlier moments. It takes the states that the view has, instead of reading them again.
func TestKnownStatesGiveTheSamePages(t *testing.T) {
	kept := openStage(t)
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(t, kept)
		s.happen(t, 20)
		live, err := view.Open(t.Context(), s.Log, slog.New(slog.DiscardHandler), func() hazard.Instant { return s.now })
		if err != nil {
			t.Fatal(err)
		}
		follow := func() {
			changes, err := s.Log.Since(t.Context(), live.Number(), 1000)
			if err == nil && len(changes) > 0 {
				err = live.Apply(t.Context(), changes, s.now)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			s.happen(t, 6)
			if rapid.IntRange(0, 2).Draw(t, "whether to redact") == 0 {
				s.redact(t)
			}
			if rapid.Bool().Draw(t, "whether to follow") {
				follow()
			}
			q, orgs := drawQuery(t), rapid.SampledFrom([][]int64{nil, {7}, {8, 9}}).Draw(t, "member of")
			if rapid.IntRange(0, 2).Draw(t, "whether at") == 0 {
				q.At = new(s.now - hazard.Instant(rapid.IntRange(0, 8000).Draw(t, "at")))
			}
			q.Limit = rapid.IntRange(0, 5).Draw(t, "limit")
			for {
				v := live.View(s.now)
				want := s.page(t, q, orgs, 0)
				got, err := s.Search.FindKnown(t.Context(), q, orgs, s.now, v)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmp.FilterPath(isFunc, cmp.Ignore())); diff != "" {
					t.Fatalf("%v as of change %d (-read +known):\n%s", q.Values(), v.Number(), diff)
				}
				for _, h := range got.Hazards {
					if known, ok := v.Hazard(h.ID); ok && known == h {
						taken++
					} else if ok && known.Version == h.Version && q.At == nil && q.Cursor == "" {
						t.Fatalf("hazard %d of change %d is read although it is known", h.ID, h.Version)
					}
				}
				if q.Cursor = got.Cursor; q.Cursor == "" {
					break
				}
				s.happen(t, 3)
				if rapid.Bool().Draw(t, "whether to follow") {
					follow()
				}
			}
		}
	})
	if taken == 0 {
		t.Error("no known state was taken")
	}
}

func isFunc(p cmp.Path) bool { return p.Last().String() == ".After" }

// A known state is found by its change: an outdated one is read, however the search decides.
func TestOutdatedStatesAreReadAgain(t *testing.T) {
	s := openStage(t)
	var ids []int64
	for _, name := range []string{"old harbour", "new harbour"} {
		h := &hazard.Hazard{UUID: uuid.New(), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active, Name: name, OrgID: -1, Start: noon, End: noon + 1000, Created: noon, Updated: noon, LastUpdate: noon}
		if _, err := s.Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(h, nil) }); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.ID)
	}
	known := states{}
	for i, id := range ids {
		h, err := s.Hazards.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		h.Name = "known " + h.Name
		h.Version -= int64(i) // the second is that of an earlier change
		known[id] = h
	}
	p, err := s.Search.FindKnown(t.Context(), query.Query{Sort: query.Sort{By: query.ByNumber}}, nil, noon, known)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range p.Hazards {
		names = append(names, h.Name)
	}
	if want := []string{"known old harbour", "new harbour"}; !slices.Equal(names, want) {
		t.Errorf("found %q, want %q", names, want)
	}
}

type states map[int64]*hazard.Hazard

func (s states) Hazard(id int64) (*hazard.Hazard, bool) { h, ok := s[id]; return h, ok }
