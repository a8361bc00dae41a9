package fuse_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

// reportOf returns a report of an event at a time and place.
func reportOf(src, key string, typ hazard.Type, start hazard.Instant, lon, lat float64) hazard.Report {
	return hazard.Report{Source: src, Key: key, Version: int64(start), Name: string(typ) + " " + key, Type: typ, Severity: hazard.Advisory, Start: start,
		Point: &hazard.Point{Lon: lon, Lat: lat}, Creator: src, LifeMS: 24 * 3600 * 1000}
}

func with(r hazard.Report, f func(*hazard.Report)) hazard.Report { f(&r); return r }

// takeEach processes each report separately, from its source.
func (d *desk) takeEach(now hazard.Instant, reports ...hazard.Report) {
	d.t.Helper()
	for _, r := range reports {
		d.apply(r.Source, now, fuse.Options{History: true}, r)
	}
}

// together lists the hazards that are not merged into others, each as its sorted events.
func (d *desk) together() []string {
	d.t.Helper()
	var all []string
	for _, h := range d.hazards() {
		events, err := d.store.Reports.Of(d.t.Context(), h.ID)
		if err != nil {
			d.t.Fatal(err)
		}
		var names []string
		for _, e := range events {
			names = append(names, e.Source+":"+e.Key)
		}
		if len(names) > 0 {
			slices.Sort(names)
			all = append(all, strings.Join(names, " "))
		}
	}
	slices.Sort(all)
	return all
}

const hourAgo = noon - 3_600_000

// A hazard that another server passes on keeps its UUID here when it leaves a hazard that it had
// joined, whichever of the two says that they are not one.
func TestWhatIsPassedOnKeepsItsUUIDWhenItLeaves(t *testing.T) {
	id := hazard.EventUUID("elsewhere", "1")
	relayed := func(version hazard.Instant, called string) hazard.Report {
		return with(reportOf("mirrored", id.String(), hazard.Cyclone, hourAgo, 1, 2), func(r *hazard.Report) {
			r.UUID, r.Relayed, r.Called, r.Version = id, true, called, int64(version)
		})
	}
	named := func(version hazard.Instant, called string) hazard.Report {
		return with(reportOf("nhc", "b", hazard.Cyclone, hourAgo, 1, 2), func(r *hazard.Report) { r.Called, r.Version = called, int64(version) })
	}
	for name, last := range map[string]hazard.Report{"by its own word": relayed(noon+minute, "Oscar"), "by the other's": named(noon+minute, "Oscar")} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, named(noon, "Dolphin"), relayed(noon, "Dolphin"))
			if got := d.together(); len(got) != 1 {
				t.Fatalf("hazards %q, want one", got)
			}
			d.takeEach(noon+minute, last)
			if got := d.event("mirrored", id.String()).UUID; got != id {
				t.Errorf("UUID %s, want %s", got, id)
			}
		})
	}
}

func TestEventsOfDifferentSourcesAreOneHazardByTheRuleOfTheirType(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	called := func(name string) func(*hazard.Report) { return func(r *hazard.Report) { r.Called = name } }
	for name, tt := range map[string]struct {
		reports []hazard.Report
		want    []string
	}{
		"an earthquake within 16 s and 100 km": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), reportOf("emsc", "e", hazard.Earthquake, hourAgo+2100, 28.1, 40.05)},
			[]string{"emsc:e usgs:u"}},
		"an earthquake of a national service and of the world's": {
			[]hazard.Report{reportOf("bmkg", "20260911T212340", hazard.Earthquake, hourAgo+3000, 106.56, -5.81), reportOf("usgs", "u", hazard.Earthquake, hourAgo, 106.6, -5.9),
				reportOf("emsc", "e", hazard.Earthquake, hourAgo+900, 106.5, -5.8)},
			[]string{"bmkg:20260911T212340 emsc:e usgs:u"}},
		"not an aftershock 50 s later": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), reportOf("emsc", "e", hazard.Earthquake, hourAgo+50_000, 28.05, 40)},
			[]string{"emsc:e", "usgs:u"}},
		"not one far away at the same time": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), reportOf("emsc", "e", hazard.Earthquake, hourAgo, 30, 40)},
			[]string{"emsc:e", "usgs:u"}},
		"the nearer of two, whichever came first": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), reportOf("emsc", "far", hazard.Earthquake, hourAgo+9000, 28, 40), reportOf("emsc", "near", hazard.Earthquake, hourAgo+500, 28, 40)},
			[]string{"emsc:far", "emsc:near usgs:u"}},
		"events of one source are never one by rule": {
			[]hazard.Report{reportOf("emsc", "a", hazard.Earthquake, hourAgo, 28, 40), reportOf("emsc", "b", hazard.Earthquake, hourAgo+100, 28, 40)},
			[]string{"emsc:a", "emsc:b"}},
		"a storm by its name": {
			[]hazard.Report{with(reportOf("nhc", "CP012026", hazard.Cyclone, hourAgo, -172, 30), called("Lala")), with(reportOf("gdacs", "TC1001303", hazard.Cyclone, hourAgo-86_400_000, -168, 20), called("LALA"))},
			[]string{"gdacs:TC1001303 nhc:CP012026"}},
		"not a storm of that name another year": {
			[]hazard.Report{with(reportOf("nhc", "A", hazard.Cyclone, hourAgo, -172, 30), called("Lala")), with(reportOf("gdacs", "B", hazard.Cyclone, hourAgo.Add(-365*24*time.Hour), -172, 30), called("Lala"))},
			[]string{"gdacs:B", "nhc:A"}},
		"a volcano within 10 km": {
			[]hazard.Report{reportOf("gvp", "1", hazard.Volcano, hourAgo, 14.99, 37.75), reportOf("gdacs", "VO1", hazard.Volcano, hourAgo, 15.0, 37.75)},
			[]string{"gdacs:VO1 gvp:1"}},
		"a fire without a name by place alone": {
			[]hazard.Report{reportOf("gdacs", "WF1", hazard.Wildfire, hourAgo, -120, 38), with(reportOf("eonet", "E1", hazard.Wildfire, hourAgo, -120.01, 38.008), called("JUNES"))},
			[]string{"eonet:E1 gdacs:WF1"}},
		"fires without a name 3 km apart": {
			[]hazard.Report{reportOf("gdacs", "WF1", hazard.Wildfire, hourAgo, -120, 38), reportOf("eonet", "E1", hazard.Wildfire, hourAgo, -120, 38.027)},
			[]string{"eonet:E1", "gdacs:WF1"}},
		"storms by the number of their basin": {
			[]hazard.Report{with(reportOf("gdacs", "TC1", hazard.Cyclone, hourAgo, 138, 12), func(r *hazard.Report) { r.Refs = append(r.Refs, "atcf:WP152026") }),
				with(reportOf("eonet", "E1", hazard.Cyclone, hourAgo, 141, 13), func(r *hazard.Report) { r.Refs = append(r.Refs, "atcf:WP152026") })},
			[]string{"eonet:E1 gdacs:TC1"}},
		"a storm of three centers, by its number and by its name": {
			[]hazard.Report{with(reportOf("jtwc", "wp252026", hazard.Cyclone, hourAgo, 129.1, 25.9), func(r *hazard.Report) { r.Called, r.Refs = "Surigae", []string{"atcf:WP252026"} }),
				with(reportOf("gdacs", "TC1", hazard.Cyclone, hourAgo-86_400_000, 133, 22), called("SURIGAE")),
				with(reportOf("eonet", "E1", hazard.Cyclone, hourAgo, 129, 26), func(r *hazard.Report) { r.Refs = []string{"atcf:WP252026"} })},
			[]string{"eonet:E1 gdacs:TC1 jtwc:wp252026"}},
		"a storm that crosses the date line from one center to the other": {
			[]hazard.Report{with(reportOf("nhc", "cp012026", hazard.Cyclone, hourAgo-6*3_600_000, -179.5, 20), func(r *hazard.Report) { r.Called, r.Refs = "Lala", []string{"atcf:CP012026"} }),
				with(reportOf("jtwc", "wp302026", hazard.Cyclone, hourAgo, 179.8, 20.3), func(r *hazard.Report) { r.Called, r.Refs = "Lala", []string{"atcf:WP302026"} })},
			[]string{"jtwc:wp302026 nhc:cp012026"}},
		"a storm that its center numbers again in another basin": {
			[]hazard.Report{with(reportOf("nhc", "al022022", hazard.Cyclone, hourAgo.Add(-60*time.Hour), -84, 11), called("Bonnie")),
				with(reportOf("nhc", "ep042022", hazard.Cyclone, hourAgo, -88, 11.3), called("BONNIE")),
				with(reportOf("gdacs", "TC1", hazard.Cyclone, hourAgo, -88, 11.3), called("BONNIE"))},
			[]string{"gdacs:TC1 nhc:al022022 nhc:ep042022"}},
		"not two storms of one center without a name": {
			[]hazard.Report{reportOf("nhc", "al022022", hazard.Cyclone, hourAgo, -84, 11), reportOf("nhc", "ep042022", hazard.Cyclone, hourAgo, -88, 11.3)},
			[]string{"nhc:al022022", "nhc:ep042022"}},
		"a fire by place and name": {
			[]hazard.Report{with(reportOf("nifc", "1", hazard.Wildfire, hourAgo, -120, 38), called("Junes Fire")), with(reportOf("eonet", "E1", hazard.Wildfire, hourAgo, -120.02, 38.01), called("JUNES"))},
			[]string{"eonet:E1 nifc:1"}},
		"not a fire nearby of another name": {
			[]hazard.Report{with(reportOf("nifc", "1", hazard.Wildfire, hourAgo, -120, 38), called("Junes Fire")), with(reportOf("eonet", "E1", hazard.Wildfire, hourAgo, -120, 38), called("Oak Fire"))},
			[]string{"eonet:E1", "nifc:1"}},
		"no guess for other types": {
			[]hazard.Report{reportOf("nws", "1", hazard.Flood, hourAgo, -90, 38), reportOf("gdacs", "FL1", hazard.Flood, hourAgo, -90, 38)},
			[]string{"gdacs:FL1", "nws:1"}},
		"what names another is one with it, however far": {
			[]hazard.Report{reportOf("usgs", "us6000tga9", hazard.Earthquake, hourAgo, 99.5, 35.4),
				with(reportOf("gdacs", "EQ1554511", hazard.Earthquake, hourAgo+40_000, 97, 35), func(r *hazard.Report) { r.Refs = []string{"usgs:us6000tga9"} })},
			[]string{"gdacs:EQ1554511 usgs:us6000tga9"}},
		"what two have in common is a name of both": {
			[]hazard.Report{with(reportOf("gdacs", "FL1", hazard.Flood, hourAgo, 1, 1), func(r *hazard.Report) { r.Refs = []string{"glide:FL-2026-000001-ESP"} }),
				with(reportOf("copernicus", "EMSR1", hazard.Flood, hourAgo, 2, 2), func(r *hazard.Report) { r.Refs = []string{"glide:FL-2026-000001-ESP"} })},
			[]string{"copernicus:EMSR1 gdacs:FL1"}},
		"a tsunami is a hazard of its own beside its earthquake": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), with(reportOf("tsunami", "t", hazard.Tsunami, hourAgo, 28, 40), func(r *hazard.Report) { r.Refs = []string{"usgs:u"} })},
			[]string{"tsunami:t", "usgs:u"}},
		"a slight event is a word on a hazard of others, and none of its own": {
			[]hazard.Report{reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40), with(reportOf("emsc", "e", hazard.Earthquake, hourAgo, 28, 40), func(r *hazard.Report) { r.Minor = true }),
				with(reportOf("emsc", "x", hazard.Earthquake, hourAgo+60_000, 28, 40), func(r *hazard.Report) { r.Minor = true })},
			[]string{"emsc:e usgs:u"}},
	} {
		t.Run(name, func(t *testing.T) {
			reversed := slices.Clone(tt.reports)
			slices.Reverse(reversed)
			for _, order := range [][]hazard.Report{tt.reports, reversed} {
				if order[0].Minor { // repeated once there is a hazard, as feeds do
					order = append(slices.Clone(order), order...)
				}
				d := newDesk(t)
				d.takeEach(noon, order...)
				if got := d.together(); !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				before := d.last()
				if d.takeEach(noon, order...); d.last() != before {
					t.Errorf("the same reports again made %d changes", d.last()-before)
				}
			}
		})
	}
}

func TestTheWordOfTheMoreAuthoritativeSourceCounts(t *testing.T) {
	level := func(r hazard.Report, s hazard.Severity, version int64) hazard.Report {
		r.Severity, r.Version = s, version
		return r
	}
	usgs, gdacs := reportOf("usgs", "u", hazard.Earthquake, hourAgo, 99.5, 35.4), reportOf("gdacs", "EQ1", hazard.Earthquake, hourAgo, 99.6, 35.4)
	d := newDesk(t)
	d.takeEach(noon, level(gdacs, hazard.Watch, 1), level(usgs, hazard.Advisory, 1))
	h := d.event("usgs", "u")
	if h.Severity != hazard.Advisory || h.Creator != "gdacs" || h.Longitude != 99.5 {
		t.Errorf("USGS reports after GDACS: %s at %v", h.Severity, h.Longitude)
	}
	d.takeEach(noon, level(gdacs, hazard.Information, 2))
	if got := d.event("usgs", "u").Severity; got != hazard.Advisory {
		t.Errorf("a lesser source lowered it to %s", got)
	}
	d.takeEach(noon, level(usgs, hazard.Warning, 2))
	d.takeEach(noon, level(usgs, hazard.Watch, 3))
	if got := d.event("usgs", "u").Severity; got != hazard.Watch {
		t.Errorf("a downgrade by the same authority left it at %s", got)
	}
	if _, err := d.intake.Withdraw(t.Context(), "usgs", "u", nil, hazard.EndWithdrawn, noon+1); err != nil {
		t.Fatal(err)
	}
	if h := d.event("usgs", "u"); h.Status != hazard.Active || h.Severity != hazard.Information {
		t.Errorf("withdrawn by one source, continued by another: %s %s", h.Status, h.Severity)
	}
	if _, err := d.intake.Withdraw(t.Context(), "gdacs", "EQ1", nil, hazard.EndWithdrawn, noon+2); err != nil {
		t.Fatal(err)
	}
	if h := d.event("usgs", "u"); h.Status != hazard.Expired || h.Reason != hazard.EndWithdrawn {
		t.Errorf("withdrawn by both: %s %q", h.Status, h.Reason)
	}
}

func TestAResponseMakesTheEventAResponse(t *testing.T) {
	d := newDesk(t)
	ref := []string{"gdacs:FL1"}
	d.takeEach(noon, with(reportOf("gdacs", "FL1", hazard.Flood, hourAgo, 1, 1), func(r *hazard.Report) { r.Refs = ref }))
	d.takeEach(noon, with(reportOf("copernicus", "EMSR1", hazard.Flood, hourAgo, 1, 1), func(r *hazard.Report) { r.Refs, r.Category = ref, hazard.Response }))
	if h := d.event("gdacs", "FL1"); h.Category != hazard.Response {
		t.Errorf("category %s", h.Category)
	}
}

func TestANameThatComesLateMergesTwoHazards(t *testing.T) {
	d := newDesk(t)
	storm := with(reportOf("nhc", "CP012026", hazard.Cyclone, hourAgo, -172, 30), func(r *hazard.Report) { r.Called = "Lala" })
	unnamed := with(reportOf("gdacs", "TC1", hazard.Cyclone, hourAgo, -168, 20), func(r *hazard.Report) {
		r.Called = "ONE-C"
		r.Products = []hazard.ReportProduct{{Key: "gdacs", Title: "GDACS", Type: hazard.FolderProduct}}
	})
	d.takeEach(noon, storm, unnamed)
	if got := d.together(); len(got) != 2 {
		t.Fatalf("before: %q", got)
	}
	unnamed.Version++
	unnamed.Refs = []string{"nhc:CP012026"}
	d.takeEach(noon+1, unnamed)
	kept := d.event("gdacs", "TC1")
	if kept.ID != d.event("nhc", "CP012026").ID || !slices.Equal(d.titles(kept.ID), []string{"/GDACS"}) {
		t.Errorf("after: %q with products %q", d.together(), d.titles(kept.ID))
	}
	var merged []hazard.Change
	for _, c := range d.changes(0) {
		if c.Kind == hazard.HazardMerged {
			merged = append(merged, c)
		}
	}
	if len(merged) != 1 || merged[0].Hazard.Successor != kept.UUID || merged[0].Hazard.Status != hazard.Expired {
		t.Errorf("merged: %+v", merged)
	}
}

func TestAnEditorUndoesAWrongJoinAndItStaysUndone(t *testing.T) {
	d := newDesk(t)
	usgs := reportOf("usgs", "u", hazard.Earthquake, hourAgo, 28, 40)
	emsc := with(reportOf("emsc", "e", hazard.Earthquake, hourAgo+900, 28, 40), func(r *hazard.Report) {
		r.Products = []hazard.ReportProduct{{Key: "emsc", Title: "EMSC", Type: hazard.FolderProduct}}
	})
	d.takeEach(noon, usgs, emsc)
	by := store.Origin{User: "ada"}
	h := d.event("usgs", "u")
	var id int64
	d.decide(noon+1, by, func(tx *store.Tx) (err error) {
		id, err = d.intake.Part(t.Context(), tx, h.ID, "emsc", "e")
		return err
	})
	check := func(when string) {
		t.Helper()
		if got := d.together(); !slices.Equal(got, []string{"emsc:e", "usgs:u"}) {
			t.Errorf("%s: %q", when, got)
		}
	}
	check("split")
	if !slices.Equal(d.titles(id), []string{"/EMSC"}) || len(d.titles(h.ID)) != 0 {
		t.Errorf("products %q and %q", d.titles(id), d.titles(h.ID))
	}
	emsc.Version++
	d.takeEach(noon+2, emsc, usgs)
	check("after the source spoke again")
	d.decide(noon+3, by, func(tx *store.Tx) error {
		from, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		into, err := tx.Hazard(h.ID)
		if err != nil {
			return err
		}
		return d.intake.Join(t.Context(), tx, from, into, "found by ada")
	})
	if got := d.together(); !slices.Equal(got, []string{"emsc:e usgs:u"}) {
		t.Errorf("merged again: %q", got)
	}
	var kinds []hazard.ChangeKind
	for _, c := range d.changes(0) {
		if c.Actor == "ada" && c.Hazard != nil {
			kinds = append(kinds, c.Kind)
		}
	}
	if !slices.Contains(kinds, hazard.HazardSplit) || !slices.Contains(kinds, hazard.HazardMerged) {
		t.Errorf("the history has %q", kinds)
	}
}

// In whatever order sources report, the hazards have the same events and the same data.
func TestJoiningDoesNotDependOnOrder(t *testing.T) {
	test.Slow(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := 0
		reports := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hazard.Report {
			n++
			src := rapid.SampledFrom([]string{"usgs", "emsc", "gdacs"}).Draw(t, "source")
			return with(reportOf(src, fmt.Sprint("k", n), hazard.Earthquake, hourAgo+hazard.Instant(rapid.IntRange(0, 40).Draw(t, "second"))*1000,
				28+float64(rapid.IntRange(0, 20).Draw(t, "east"))/10, 40), func(r *hazard.Report) {
				r.Severity = rapid.SampledFrom([]hazard.Severity{hazard.Information, hazard.Watch}).Draw(t, "severity")
			})
		}), 1, 6).Draw(rt, "reports")
		run := func(order []hazard.Report) []string {
			d := newDesk(t)
			d.takeEach(noon, order...)
			return d.together()
		}
		want, got := run(reports), run(rapid.Permutation(reports).Draw(rt, "order"))
		if !slices.Equal(got, want) {
			rt.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhatTookThePlaceOfAnEventIsNamedInWhateverOrderTheyCome(t *testing.T) {
	watch := reportOf("nws", "watch", hazard.WinterStorm, hourAgo, -90, 40)
	over := with(watch, func(r *hazard.Report) {
		r.Version++
		r.Ended, r.Successor = hazard.EndSuperseded, "warning"
	})
	warning := with(reportOf("nws", "first", hazard.WinterStorm, hourAgo, -90, 40), func(r *hazard.Report) { r.Aliases = []string{"warning"} })
	for name, order := range map[string][]hazard.Report{
		"the watch first":   {watch, over, warning},
		"the warning first": {warning, watch, over},
		"the end first":     {over, watch, warning},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, order...)
			next, err := d.store.Hazards.ByUUID(t.Context(), hazard.EventUUID("nws", "first"))
			if err != nil {
				t.Fatal(err)
			}
			h, err := d.store.Hazards.ByUUID(t.Context(), hazard.EventUUID("nws", "watch"))
			if err != nil || h.Reason != hazard.EndSuperseded || h.Successor != next.UUID || next.Status != hazard.Active {
				t.Errorf("%+v, successor is %s, error %v", h, next.UUID, err)
			}
		})
	}
}

func TestATsunamiAndItsEarthquakeAreRelated(t *testing.T) {
	d := newDesk(t)
	d.takeEach(noon,
		with(reportOf("usgs", "us7000a", hazard.Earthquake, hourAgo, -131, 51.9), func(r *hazard.Report) { r.Aliases = []string{"at00rcz9ap"} }),
		reportOf("usgs", "aftershock", hazard.Earthquake, hourAgo+50_000, -131, 51.9),
		reportOf("emsc", "2", hazard.Earthquake, hourAgo.Add(-30*time.Minute), 142, 38),
		with(reportOf("tsunami", "rcz9ap", hazard.Tsunami, hourAgo+600_000, -131, 51.9), func(r *hazard.Report) { r.Refs = []string{"quake:at00rcz9ap"} }),
		with(reportOf("tsunami", "japan", hazard.Tsunami, hourAgo, 142, 38), func(r *hazard.Report) {
			r.Refs = []string{"quake:pt123", "quake:" + hourAgo.Add(-30*time.Minute).Time().Add(4*time.Second).Format(time.RFC3339) + "@38.200,142.100"}
		}),
		with(reportOf("tsunami", "nowhere", hazard.Tsunami, hourAgo, 0, 0), func(r *hazard.Report) {
			r.Refs = []string{"quake:2020-01-01T00:00:00Z@1,2", "quake:@", "quake:x@y,z"}
		}),
	)
	number := map[string]int64{}
	for _, h := range d.hazards() {
		events, err := d.store.Reports.Of(t.Context(), h.ID)
		if err != nil {
			t.Fatal(err)
		}
		number[events[0].Key] = h.ID
	}
	for key, want := range map[string]string{
		"rcz9ap":     "caused by us7000a: named at00rcz9ap",
		"us7000a":    "causes rcz9ap: named at00rcz9ap",
		"japan":      "caused by 2: an origin that is named 4.0 s and 24 km from it",
		"2":          "causes japan: an origin that is named 4.0 s and 24 km from it",
		"aftershock": "", "nowhere": "",
	} {
		related, err := d.intake.Related(t.Context(), number[key], 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range related {
			for other, id := range number {
				if id == r.Hazard.ID {
					got += string(r.Relation) + " " + other + ": " + r.Why
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if _, err := d.intake.Related(t.Context(), 999, 0); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("of no hazard: %v", err)
	}
}

// Another event named one by its first key, after that had ended too long ago. The event continues
// under its second key, so it is named again.
func TestANameThatMeansAnEventAgainJoinsIt(t *testing.T) {
	const day = 24 * 60 * minute
	d := newDesk(t)
	alert := func(key string, at hazard.Instant, f func(*hazard.Report)) {
		d.apply("cap", at, live, with(reportOf("cap", key, hazard.Flood, at, 1, 1), func(r *hazard.Report) {
			r.Part, r.Version, r.End = fmt.Sprint(at), int64(at), new(at+day)
			f(r)
		}))
	}
	alert("a", noon, func(r *hazard.Report) { r.Aliases = []string{"second"} })
	alert("b", noon+200*day, func(r *hazard.Report) { r.Refs = []string{"cap:a"} })
	if got := d.together(); len(got) != 2 {
		t.Fatalf("200 days apart they are %q", got)
	}
	alert("second", noon+201*day, func(r *hazard.Report) { r.Start = noon + 80*day; r.Open = true })
	if got := d.together(); len(got) != 1 {
		t.Errorf("that go on at one time they are %q", got)
	}
}
