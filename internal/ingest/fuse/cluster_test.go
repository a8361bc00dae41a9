package fuse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// at moves a report's event: it begins that many seconds after hourAgo, and that many degrees east
// of 28.
func at(src, key string, version int64, seconds, east float64) hazard.Report {
	r := reportOf(src, key, hazard.Earthquake, hourAgo+hazard.Instant(seconds*1000), 28+east, 40)
	r.Version = version
	return r
}

// Of two events of a lesser source, the one that fits better takes the place of the other,
// never of the event that made the hazard.
func TestTheEventThatMadeAHazardKeepsIt(t *testing.T) {
	first := with(at("emsc", "far", 1, 9, 0), func(r *hazard.Report) { r.Severity = hazard.Information })
	for name, order := range map[string][]hazard.Report{
		"the earthquake first": {at("usgs", "u", 1, 0, 0), first, at("emsc", "near", 1, 0.5, 0)},
		"the partner first":    {first, at("usgs", "u", 1, 0, 0), at("emsc", "near", 1, 0.5, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, order[:2]...)
			maker := order[0]
			made := d.event(maker.Source, maker.Key)
			d.takeEach(noon+1, order[2])
			if got := d.event(maker.Source, maker.Key); got.ID != made.ID || got.UUID != hazard.EventUUID(maker.Source, maker.Key) || got.Source != maker.Source {
				t.Errorf("hazard %d of %s:%s became hazard %d, %s", made.ID, maker.Source, maker.Key, got.ID, got.UUID)
			}
			if got, want := d.together(), []string{"emsc:far", "emsc:near usgs:u"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// If the origin of an earthquake is revised, a partner that no longer fits leaves, and an
// earthquake that it hid becomes visible again.
func TestARevisedOriginLeavesAPartnerThatNoLongerFits(t *testing.T) {
	for name, order := range map[string][]hazard.Report{
		"the partner last":                       {at("usgs", "u", 1, 0, 0), at("emsc", "e", 1, 1, 0), at("usgs", "u", 2, 0, 3)},
		"the revision last, made by the partner": {at("emsc", "e", 1, 1, 0), at("usgs", "u", 1, 0, 0), at("usgs", "u", 2, 0, 3)},
		"revised at once":                        {at("usgs", "u", 2, 0, 3), at("emsc", "e", 1, 1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, order...)
			if got, want := d.together(), []string{"emsc:e", "usgs:u"}; !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
			for _, e := range []store.EventName{{Source: "usgs", Key: "u"}, {Source: "emsc", Key: "e"}} {
				if h := d.event(e.Source, e.Key); h.Source != e.Source || h.Creator != e.Source || h.Status != hazard.Active {
					t.Errorf("the hazard of %v is %+v", e, h)
				}
			}
			d.takeEach(noon+1, at("usgs", "u", 3, 0, 0.1))
			if got, want := d.together(), []string{"emsc:e usgs:u"}; !slices.Equal(got, want) {
				t.Errorf("moved back: %q", got)
			}
		})
	}
}

// An event made a hazard that was merged into another. When the event leaves that one, it gets its
// hazard back, with the editor's data of that hazard.
func TestAnEventThatLeavesHasItsFormerHazardBack(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon, at("usgs", "u", 1, 0, 0), with(at("emsc", "e", 1, 0, 3), func(r *hazard.Report) {
		r.Products = []hazard.ReportProduct{{Key: "emsc", Title: "EMSC", Type: hazard.FolderProduct}}
	}))
	was := d.event("emsc", "e")
	d.decide(noon+1, store.Origin{Admin: true}, func(tx *store.Tx) error {
		return tx.SaveProduct(&hazard.Product{HazardID: was.ID, Title: "a note", Type: hazard.TextProduct, Data: "x", OrgID: -1, AppIDs: "0"})
	})
	d.takeEach(noon+2, at("emsc", "e", 2, 0, 0.1))
	if got := d.together(); !slices.Equal(got, []string{"emsc:e usgs:u"}) {
		t.Fatalf("not joined: %q", got)
	}
	d.takeEach(noon+3, at("emsc", "e", 3, 0, 3))
	h := d.event("emsc", "e")
	if h.ID != was.ID || h.Status != hazard.Active || h.Severity != was.Severity || h.Reason != "" || h.Successor != was.Successor {
		t.Errorf("back as %+v, was %+v", h, was)
	}
	if got := d.titles(h.ID); !slices.Equal(got, []string{"/EMSC", "/a note"}) {
		t.Errorf("products %q", got)
	}
	if left := d.titles(d.event("usgs", "u").ID); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The event that made a hazard also keeps it in a split: the others leave.
func TestASplitLeavesAHazardToTheEventThatMadeIt(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon, at("usgs", "u", 1, 0, 0), at("emsc", "e", 1, 0.5, 0), at("gdacs", "g", 1, 0.7, 0))
	h := d.event("usgs", "u")
	var id int64
	d.decide(noon+1, store.Origin{Admin: true}, func(tx *store.Tx) (err error) {
		id, err = d.intake.Part(t.Context(), tx, h.ID, "usgs", "u")
		return err
	})
	if id != h.ID || d.event("usgs", "u").ID != h.ID {
		t.Errorf("hazard %d became %d", h.ID, id)
	}
	if got, want := d.together(), []string{"emsc:e gdacs:g", "usgs:u"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Late names, revised origins, repetitions, and any order and division into payloads lead to the
// same hazards in the end. Each is that of the event that made it.
func TestHazardsDoNotDependOnOrderPayloadsOrRevisions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	test.Checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		var reports []hazard.Report
		events := rapid.IntRange(1, 5).Draw(rt, "events")
		for e := range events {
			src := rapid.SampledFrom([]string{"usgs", "emsc", "gdacs"}).Draw(rt, "source")
			key := fmt.Sprint("k", e)
			for version := range rapid.IntRange(1, 3).Draw(rt, "versions") {
				r := at(src, key, int64(version+1), float64(rapid.IntRange(0, 30).Draw(rt, "second")), float64(rapid.IntRange(0, 20).Draw(rt, "east"))/10)
				if rapid.IntRange(0, 4).Draw(rt, "named") == 0 {
					r.Refs = []string{fmt.Sprint(rapid.SampledFrom([]string{"usgs", "emsc", "gdacs"}).Draw(rt, "of"), ":k", rapid.IntRange(0, events-1).Draw(rt, "name"))}
				}
				reports = append(reports, r)
			}
		}
		run := func(order []hazard.Report, cut func(i int) bool) []string {
			d := newDesk(t)
			now := noon
			for first, i := 0, 1; i <= len(order); i++ {
				if i == len(order) || order[i].Source != order[first].Source || cut(i) {
					d.apply(order[first].Source, now, fuse.Options{History: true}, order[first:i]...)
					first, now = i, now+1
				}
			}
			for _, h := range d.hazards() {
				made, err := d.store.Reports.Of(t.Context(), h.ID)
				if err != nil {
					rt.Fatal(err)
				}
				if len(made) == 0 {
					continue
				}
				if !slices.ContainsFunc(made, func(e store.EventReports) bool { return hazard.EventUUID(e.Source, e.Key) == h.UUID }) {
					rt.Errorf("hazard %d has the events %v, none of which made it", h.ID, made)
				}
				if h.Status != hazard.Active {
					rt.Errorf("hazard %d of an event is %s %s", h.ID, h.Status, h.Reason)
				}
			}
			return d.together()
		}
		want := run(reports, func(int) bool { return true })
		order := rapid.Permutation(append(reports, reports[0])).Draw(rt, "order")
		cuts := rapid.SliceOfN(rapid.Bool(), len(order), len(order)).Draw(rt, "cuts")
		if got := run(order, func(i int) bool { return cuts[i] }); !slices.Equal(got, want) {
			rt.Errorf("got %s, want %s", strings.Join(got, " | "), strings.Join(want, " | "))
		}
	})
}

// Two events that a person declared one stay one, whatever names and rules do to their hazards.
func TestAPersonsMergeOutlivesTheHazardsThatItWasMadeOf(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon, at("emsc", "moves", 1, 0, 9), at("usgs", "a", 1, 0, 0), at("nws", "b", 1, 0, 20))
	from, into := d.event("usgs", "a"), d.event("nws", "b")
	d.decide(noon+1, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error { return d.intake.Join(t.Context(), tx, from, into, "found by ada") })
	for i, step := range []struct {
		east float64
		want []string
	}{
		{0.1, []string{"emsc:moves nws:b usgs:a"}},
		{0.2, []string{"emsc:moves nws:b usgs:a"}},
		{9, []string{"emsc:moves", "nws:b usgs:a"}},
	} {
		d.takeEach(noon+2+hazard.Instant(i), at("emsc", "moves", int64(i+2), 0, step.east))
		if got := d.together(); !slices.Equal(got, step.want) {
			t.Errorf("at %v: %q, want %q", step.east, got, step.want)
		}
	}
	if h := d.event("usgs", "a"); h.ID != into.ID || h.Status != hazard.Active {
		t.Errorf("hazard %d became %+v", into.ID, h)
	}
	d.decide(noon+9, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error {
		_, err := d.intake.Part(t.Context(), tx, into.ID, "usgs", "a")
		return err
	})
	if got, want := d.together(), []string{"emsc:moves", "nws:b", "usgs:a"}; !slices.Equal(got, want) {
		t.Errorf("split again: %q, want %q", got, want)
	}
}

// A hazard that ends because its event joined another names the hazard of that event as its
// successor, not one that another of its events has joined. This also holds if it had already
// ended.
func TestAHazardEndsAsPartOfWhereItsMakerWent(t *testing.T) {
	for name, now := range map[string]hazard.Instant{"active": noon, "over": hourAgo.Add(30 * 24 * 3600e9)} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			open := func(r hazard.Report) hazard.Report { r.Open = true; return r }
			d.takeEach(noon, open(at("usgs", "old", 1, 0, 3)), at("gdacs", "moves", 1, 0, 0), at("emsc", "stays", 1, 1, 0))
			gone := d.event("gdacs", "moves")
			if err := d.intake.PassUntil(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			d.takeEach(now, at("gdacs", "moves", 2, 0, 3))
			h, err := d.store.Hazards.Get(t.Context(), gone.ID)
			if err != nil {
				t.Fatal(err)
			}
			if want := d.event("usgs", "old").UUID; h.Reason != hazard.EndMerged || h.Successor != want {
				t.Errorf("%s, successor %s, want %s", h.Reason, h.Successor, want)
			}
		})
	}
}

// The names in any part of an event count, however the parts are divided into payloads, and even if
// a later part has replaced the part with the name.
func TestNamesOfAllPartsCount(t *testing.T) {
	part := func(name string, version hazard.Instant, refs ...string) hazard.Report {
		return with(reportOf("cap", "a", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Part, r.Version, r.Places, r.Refs = name, int64(version), []string{"A"}, refs
		})
	}
	other := reportOf("nws", "b", hazard.Flood, noon, 2, 2)
	for name, payloads := range map[string][][]hazard.Report{
		"one by one":                       {{part("1", 1, "nws:b")}, {part("2", 2)}},
		"at once":                          {{part("1", 1, "nws:b"), part("2", 2)}},
		"an older version that comes late": {{part("1", 1), part("2", 2)}, {part("1", 0, "nws:b")}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, other)
			for _, p := range payloads {
				d.apply("cap", noon, live, p...)
			}
			if got, want := d.together(), []string{"cap:a nws:b"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A person who merges two earthquakes, each reported by two sources, combines four events. None of
// them leaves because it is the second of its source.
func TestAMergeByAPersonDrivesNoEventOut(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon, at("usgs", "a", 1, 0, 0), at("emsc", "a", 1, 1, 0), at("usgs", "b", 1, 0, 3), at("emsc", "b", 1, 1, 3))
	from, into := d.event("usgs", "b"), d.event("usgs", "a")
	d.decide(noon+1, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error { return d.intake.Join(t.Context(), tx, from, into, "found by ada") })
	d.takeEach(noon+2, at("emsc", "a", 2, 1.5, 0))
	if got, want := d.together(), []string{"emsc:a emsc:b usgs:a usgs:b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Events of a type without a rule, two of which a person declared one, follow a name that one of
// them shares with an older hazard.
func TestAPersonsMergeFollowsANameWithoutARule(t *testing.T) {
	d := newDesk(t)
	flood := func(src, key string, version int64, refs ...string) hazard.Report {
		return with(reportOf(src, key, hazard.Flood, hourAgo, 1, 1), func(r *hazard.Report) { r.Version, r.Refs = version, refs })
	}
	d.takeEach(noon, flood("gdacs", "c", 1), flood("nws", "b", 1), flood("copernicus", "a", 1))
	from, into := d.event("copernicus", "a"), d.event("nws", "b")
	d.decide(noon+1, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error { return d.intake.Join(t.Context(), tx, from, into, "found by ada") })
	d.takeEach(noon+2, flood("copernicus", "a", 2, "gdacs:c"))
	if got, want := d.together(), []string{"copernicus:a gdacs:c nws:b"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if h := d.event("nws", "b"); h.ID != d.event("gdacs", "c").ID {
		t.Errorf("hazard %d continues, want the oldest", h.ID)
	}
	events, err := d.store.Reports.Of(t.Context(), d.event("gdacs", "c").ID)
	if err != nil {
		t.Fatal(err)
	}
	var why []string
	for _, e := range events {
		why = append(why, e.Joined)
	}
	if want := []string{"found by ada", "", "named one with copernicus:a by a person"}; !slices.Equal(why, want) {
		t.Errorf("reasons %q, want %q", why, want)
	}
}
