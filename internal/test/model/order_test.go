package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// active lists the active hazards of a service, sorted, with their events and all data.
func (sv *service) active(t *testing.T) (list []string) {
	t.Helper()
	snap, err := sv.store.Log.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range snap.Hazards {
		events, err := sv.store.Reports.Of(context.Background(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range events {
			names = append(names, e.Source+":"+e.Key)
		}
		slices.Sort(names)
		list = append(list, fmt.Sprint(strings.Join(names, " "), ": ", h.Name, " ", h.Type, " ", h.Severity, " ", h.Category, " ", h.AutoExpire, " ",
			h.Start, " to ", h.End, " ", h.Longitude, " ", h.Latitude, " ", h.Sources))
	}
	slices.Sort(list)
	return list
}

// take gives a new service payloads, each from its source.
func take(t *testing.T, from string, payloads [][]hazard.Report) []string {
	t.Helper()
	sv := newService(t, anew(t, from), fast)
	defer sv.close()
	for _, p := range payloads {
		if _, err := sv.intake.Apply(context.Background(), p[0].Source, source.Batch{Read: len(p), Reports: p}, noon, fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return sv.active(t)
}

// cut shuffles reports, repeats some, and divides them into payloads of one source each.
func cut(r *rand.Rand, reports []hazard.Report) (payloads [][]hazard.Report) {
	reports = slices.Clone(reports)
	for range r.IntN(5) {
		reports = append(reports, reports[r.IntN(len(reports))])
	}
	r.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
	for _, report := range reports {
		n := slices.IndexFunc(payloads, func(p []hazard.Report) bool { return p[0].Source == report.Source })
		if n < 0 || r.IntN(3) == 0 {
			n, payloads = len(payloads), append(payloads, nil)
		}
		payloads[n] = append(payloads[n], report)
	}
	return payloads
}

// Reports lead to the same active hazards in any order, in any payloads, and if repeated.
func TestOrderAndPayloadsDoNotMatter(t *testing.T) {
	from := template(t)
	for seed := *first; seed < *first+count(4); seed++ {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), can: abilities{parts: true, quakes: true, names: true}, clock: noon}
		var reports []hazard.Report
		for range 8 {
			st := g.story()
			g.told = append(g.told, st)
			for _, r := range st.reports {
				if r.Ended != hazard.EndWithdrawn {
					reports = append(reports, r)
				}
			}
		}
		want := take(t, from, cut(g.Rand, reports))
		for range 3 {
			payloads := cut(g.Rand, reports)
			if got := take(t, from, payloads); !slices.Equal(got, want) {
				var told strings.Builder
				for _, p := range payloads {
					fmt.Fprintln(&told, step{At: noon, Do: "report", Reports: p})
				}
				t.Fatalf("seed %d:\n%s\ncome to\n%s\nin another order to\n%s", seed, &told, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// Exact reports of earthquakes, some of them seconds or kilometers apart, lead to one hazard per
// earthquake.
func TestExactReportsAreTheTrueEvents(t *testing.T) {
	from := template(t)
	for seed := *first; seed < *first+count(4); seed++ {
		r := rand.New(rand.NewPCG(seed, 3))
		var reports []hazard.Report
		var want []string
		for i := range 10 {
			began, lon := noon-600_000+instant(r.IntN(20))*1000, float64(i)*0.05
			var names []string
			for _, src := range []string{"emsc", "gdacs", "usgs"} {
				if src != "usgs" && r.IntN(3) == 0 {
					continue
				}
				key := fmt.Sprint("q", i)
				names = append(names, src+":"+key)
				for v := range 1 + r.IntN(2) {
					reports = append(reports, hazard.Report{Source: src, Key: key, Version: int64(v + 1), Name: key, Type: hazard.Earthquake,
						Severity: hazard.Watch, Start: began, Point: &hazard.Point{Lon: lon}})
				}
			}
			want = append(want, strings.Join(names, " "))
		}
		slices.Sort(want)
		var got []string
		for _, h := range take(t, from, cut(r, reports)) {
			got = append(got, h[:strings.Index(h, ": ")])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, want)
		}
	}
}

// If ends are recorded late, so that reports arrive between an end and its recording, the hazards
// and products are the same.
func TestALateClockComesToTheSame(t *testing.T) {
	from := template(t)
	seeds := []uint64{20000185} // an expired event joined another hazard
	for seed := *first; seed < *first+count(4); seed++ {
		seeds = append(seeds, seed)
	}
	for _, seed := range seeds {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 4)), can: abilities{parts: true, quakes: true, names: true, products: true, beside: true, late: true}, clock: noon}
		var steps []step
		for range 40 {
			g.clock += instant(g.pause().Milliseconds())
			steps = append(steps, step{At: g.clock, Do: "report", Reports: g.payload(), Of2: g.one(3)})
		}
		var come [2]string
		for i := range come {
			sv := newService(t, anew(t, from), fast)
			for n, s := range steps {
				if i == 0 || s.Of2 || n == len(steps)-1 {
					if err := sv.intake.PassUntil(t.Context(), s.At); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := sv.intake.Apply(t.Context(), s.Reports[0].Source, source.Batch{Read: len(s.Reports), Reports: s.Reports}, s.At, fuse.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			come[i] = strings.Join(append(sv.active(t), sv.given(t)...), "\n")
			sv.close()
		}
		if come[0] != come[1] {
			var told strings.Builder
			for _, s := range steps {
				fmt.Fprintln(&told, s.Of2, s)
			}
			t.Errorf("seed %d:\n%s\nin time come to\n%s\nlate to\n%s", seed, &told, come[0], come[1])
		}
	}
}

// given lists the known products of the active hazards, sorted.
func (sv *service) given(t *testing.T) (list []string) {
	t.Helper()
	snap, err := sv.store.Log.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range snap.Products {
		list = append(list, fmt.Sprint(p.UUID, " ", p.Title, " in ", p.ParentID != 0, " ", p.Source, " ", p.Event))
	}
	slices.Sort(list)
	return list
}
