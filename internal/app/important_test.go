package app_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/enrich/exposure"
	"github.com/hazardd/hazardd/internal/store/view"
	"github.com/hazardd/hazardd/internal/test"
)

// ranked is an active hazard in the order of importance.
type ranked struct {
	h    *hazard.Hazard
	rank float64
	why  hazard.Importance
}

// important returns the active hazards, the most important first, with their people counted as by
// the worker.
func (r *replay) important(counted map[string]*hazard.Exposure) (list []ranked) {
	r.t.Helper()
	l, err := view.Open(r.t.Context(), r.store.Log, slog.New(slog.DiscardHandler), func() hazard.Instant { return r.now })
	if err != nil {
		r.t.Fatal(err)
	}
	grid, err := population.Builtin()
	if err != nil {
		r.t.Fatal(err)
	}
	for h := range l.View(r.now).Hazards(view.Filter{}, nil) {
		known := *h
		key := fmt.Sprint(h.ID, " ", h.ExposureKey())
		if counted[key] == nil {
			if counted[key], err = exposure.Count(r.t.Context(), r.store, grid, h); err != nil {
				r.t.Fatal(err)
			}
		}
		known.Exposure = counted[key]
		if rank, ok := hazard.Rank(&known); ok {
			list = append(list, ranked{&known, rank, hazard.ImportanceOf(&known)})
		}
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.h.ID, a.h.ID)) })
	return list
}

// TestTheMostImportantOfAugust plays the recordings from the end of July to 22 August 2026. With -v
// it prints the ten most important hazards at six moments, with the reasons. It fails if the first
// hazard is not the one that was judged right.
func TestTheMostImportantOfAugust(t *testing.T) {
	test.Slow(t)
	r := &replay{desk: newDesk(t)}
	r.bare = true // artificial places have no people
	looks := []struct{ at, first string }{
		{"2026-08-02T17:00:00Z", "Tornado - St. Catharines - Grimsby - Northern Niagara Region and 1 more"},
		{"2026-08-08T23:10:00Z", "Tornado - Rapides-des-Joachims area"},
		{"2026-08-12T23:10:00Z", "Tornado - Sarnia - Petrolia - Western Lambton County; new active threat area"},
		{"2026-08-15T18:10:00Z", "Hurricane Warning - Big Island Summit"},
		{"2026-08-16T04:56:00Z", "Hurricane Warning - Big Island Summit"},
		{"2026-08-22T23:59:30Z", "Hurricane Lala"},
	}
	counted := map[string]*hazard.Exposure{}
	look := func(until hazard.Instant) {
		for len(looks) > 0 && moment(t, looks[0].at) < until {
			r.until(moment(t, looks[0].at))
			list := r.important(counted)
			t.Logf("%s: %d active", looks[0].at, len(list))
			for i, x := range list[:min(10, len(list))] {
				t.Logf("%3d. %3d  %s: %s", i+1, x.why.Score, x.h.Name, x.why.Reason())
			}
			if len(list) == 0 || list[0].h.Name != looks[0].first {
				t.Errorf("%s: want %q first", looks[0].at, looks[0].first)
			}
			looks = looks[1:]
		}
	}
	for _, rec := range recordedBetween(t, moment(t, "2026-07-26T00:00:00Z"), moment(t, "2026-08-23T00:00:00Z")) {
		if rec.file == "nws/every-event-name.json" { // not a real recording
			continue
		}
		look(rec.at)
		r.play(rec)
	}
	look(hazard.MaxInstant)
}
