package fuse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// The number of a warning is reused each year, and a continuation does not give its year. A
// continuation in January belongs to December's event. The event that gets the number in February,
// elsewhere, is a new one, and both are active in parallel (D32).
func TestANumberThatComesRoundIsANewEvent(t *testing.T) {
	const day = 24 * 60 * minute
	const december, january, february = noon, noon + 20*day, noon + 50*day
	report := func(key, part, place string, at hazard.Instant, lon float64, earlier ...string) hazard.Report {
		return with(reportOf("nws", key, hazard.Flood, at, lon, 45), func(r *hazard.Report) {
			r.Part, r.Places, r.Earlier, r.Version, r.End = part, []string{place}, earlier, int64(at), new(at+90*day)
		})
	}
	const old, number = "KSEW.FL.W.0012.2026", "KSEW.FL.W.0012.2027"
	d := newDesk(t)
	d.apply("nws", december, fuse.Options{}, report(old, "new", "WAZ001", december, -122))
	d.apply("nws", january, fuse.Options{}, report(number, "con", "WAZ001", january, -122, old))
	first := d.event("nws", old)
	if first.Start != december {
		t.Fatalf("the continuation moved the start to %s", first.Start)
	}
	d.apply("nws", february, fuse.Options{},
		report(number, "new in february", "WAZ099", february, -118),
		report(number, "another continuation", "WAZ001", february+1, -122, old))
	second := d.event("nws", number)
	if second.ID == first.ID || second.Start != february || second.Longitude != -118 {
		t.Errorf("the event of February is hazard %d from %s at %v; December's is %d", second.ID, second.Start, second.Longitude, first.ID)
	}
	d.apply("nws", february+2, fuse.Options{},
		report(number, "continues the old one", "WAZ001", february+2, -122, old),
		report(number, "continues the new one", "WAZ099", february+2, -118, old))
	if h := d.event("nws", old); h.Start != december || h.Longitude != -122 || h.End != february+2+90*day {
		t.Errorf("December's event began %s, ends %s", h.Start, h.End)
	}
	if h := d.event("nws", number); h.Start != february || h.Longitude != -118 || h.End != february+2+90*day {
		t.Errorf("February's event began %s, ends %s", h.Start, h.End)
	}
}

// An upgraded warning and its replacement come in one payload, and the first names the second as
// its successor (B6).
func TestAnUpgradeInOneBatchNamesItsSuccessor(t *testing.T) {
	d := newDesk(t)
	watch := func(part string, version hazard.Instant) hazard.Report {
		return with(reportOf("nws", "W.0001", hazard.Flood, noon, -122, 45), func(r *hazard.Report) {
			r.Part, r.Places, r.Version = part, []string{"WAZ001"}, int64(version)
		})
	}
	d.apply("nws", noon, fuse.Options{}, watch("a", noon))
	upgraded := with(watch("b", noon+1), func(r *hazard.Report) { r.Ended, r.Successor = hazard.EndSuperseded, "F.0002" })
	next := with(reportOf("nws", "F.0002", hazard.Flood, noon, -122, 45), func(r *hazard.Report) { r.Part, r.Places = "b#2", []string{"WAZ001"} })
	d.apply("nws", noon+1, fuse.Options{}, upgraded, next)
	if got, want := d.event("nws", "W.0001").Successor, d.event("nws", "F.0002").UUID; got != want {
		t.Errorf("its successor is %s, want %s", got, want)
	}
}

// Links inside one payload count as in two payloads: A, B, and then A is B (B5).
func TestALinkInsideABatchMakesOneHazard(t *testing.T) {
	a, b := reportOf("cap", "a", hazard.Flood, noon, 1, 1), reportOf("cap", "b", hazard.Flood, noon, 1, 1)
	same := with(a, func(r *hazard.Report) { r.Part, r.Version, r.Aliases = "later", r.Version+1, []string{"b"} })
	for name, batches := range map[string][][]hazard.Report{
		"in one payload":  {{a, b, same}},
		"the link first":  {{same, a, b}},
		"the link last":   {{b, a, same}},
		"in two payloads": {{a, b}, {same}},
		"one by one":      {{a}, {b}, {same}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, batch := range batches {
				d.apply("cap", noon, fuse.Options{}, batch...)
			}
			if got := d.levels(); len(got) != 1 {
				t.Errorf("%d hazards, want 1", len(got))
			}
		})
	}
}

// An event that loses its hazard does not move the later event of its name: later reports find the later event, and
// reports about the earlier time find what is remembered of the earlier one.
func TestAnEventThatLosesItsHazardLeavesTheLaterOfItsName(t *testing.T) {
	const day = 24 * 60 * minute
	quake := func(src, key string, at hazard.Instant, lon float64, version hazard.Instant) hazard.Report {
		return with(reportOf(src, key, hazard.Earthquake, at, lon, 40), func(r *hazard.Report) { r.Version = int64(version) })
	}
	d := newDesk(t)
	history := fuse.Options{History: true}
	d.apply("usgs", noon, history, quake("usgs", "u", noon, 28, noon))
	d.apply("emsc", noon, history, quake("emsc", "k", noon, 28, noon))
	later := noon + 200*day
	d.apply("emsc", later, history, quake("emsc", "k", later, 90, later))
	slight := quake("emsc", "k", noon, 60, later+1)
	slight.Minor = true
	d.apply("emsc", later+1, history, slight) // leaves the hazard of usgs, and is too slight for one of its own
	if n := len(d.hazards()); n != 2 {
		t.Fatalf("%d hazards, want that of usgs and the later one", n)
	}
	d.apply("emsc", later+2, history, with(quake("emsc", "k", later, 91, later+2), func(r *hazard.Report) { r.Severity = hazard.Warning }))
	if h := d.event("emsc", "k@2"); len(d.hazards()) != 2 || h.Longitude != 91 || h.Severity != hazard.Warning {
		t.Errorf("%d hazards; the later one is at %v, %s", len(d.hazards()), h.Longitude, h.Severity)
	}
	d.apply("emsc", later+3, history, quake("emsc", "k", noon, 61, later+3))
	if h := d.event("emsc", "k"); len(d.hazards()) != 3 || h.Longitude != 61 || h.Start != noon {
		t.Errorf("%d hazards; the former one is at %v from %s", len(d.hazards()), h.Longitude, h.Start)
	}
}

// The number of a volcano is the key of all its eruptions. An eruption long after the end of the
// last one is another hazard, in whatever order and payloads the reports come (D33).
func TestAnEruptionOfAnotherYearIsAnotherHazard(t *testing.T) {
	const day = 24 * 60 * minute
	week := func(n int) hazard.Report {
		at := noon + hazard.Instant(n)*7*day
		return with(reportOf("gvp", "332010", hazard.Volcano, at, -155, 19), func(r *hazard.Report) {
			r.Part, r.Places, r.Refs, r.Renewed, r.LifeMS = fmt.Sprint(n), []string{"gvp:332010"}, []string{"gvp:332010"}, &at, int64(8*day)
		})
	}
	weeks := []hazard.Report{week(0), week(1), week(3), week(40), week(41), week(90)}
	want := []hazard.Instant{weeks[0].Start, weeks[3].Start, weeks[5].Start}
	for name, payloads := range map[string][][]hazard.Report{
		"one payload a week": {weeks[0:1], weeks[1:2], weeks[2:3], weeks[3:4], weeks[4:5], weeks[5:6]},
		"one payload":        {weeks},
		"backwards":          {weeks[5:6], weeks[4:5], weeks[3:4], weeks[2:3], weeks[1:2], weeks[0:1]},
		"cut in between":     {weeks[2:4], weeks[0:2], weeks[4:6]},
		"repeated":           {weeks, weeks, weeks[3:4]},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, p := range payloads {
				d.apply("gvp", weeks[5].Start, fuse.Options{History: true}, p...)
			}
			var starts []hazard.Instant
			for _, h := range d.hazards() {
				starts = append(starts, h.Start)
			}
			if slices.Sort(starts); !slices.Equal(starts, want) {
				t.Errorf("hazards from %v, want %v", starts, want)
			}
			if h, err := d.store.Hazards.ByUUID(t.Context(), hazard.EventUUID("gvp", "332010")); err != nil || h.End >= h.Start+200*day {
				t.Errorf("%+v, %v", h, err)
			}
			d.apply("gvp", weeks[5].Start+day, live, with(week(90), func(r *hazard.Report) { r.Version++; r.Ended = hazard.EndAllClear }))
			active := 0
			for _, h := range d.hazards() {
				if h.Status == hazard.Active {
					active++
				}
			}
			if active != 0 {
				t.Errorf("%d active after the all-clear", active)
			}
		})
	}
}

// A warning under a re-used name is announced, and cancelled before its start. The cancellation may
// come first.
func TestACancellationEndsWhatItAnnouncedUnderAReusedName(t *testing.T) {
	const day = 24 * 60 * minute
	report := func(part string, issued, start hazard.Instant) hazard.Report {
		return with(reportOf("cap", "W.1", hazard.Flood, start, 1, 1), func(r *hazard.Report) {
			r.Part, r.Version, r.End = part, int64(issued), new(start+60*minute)
		})
	}
	old := report("a", noon, noon)
	next := report("b", noon+200*day, noon+200*day+120*minute)
	over := with(report("c", noon+200*day+minute, noon+200*day+120*minute), func(r *hazard.Report) { r.Ended = hazard.EndCancelled })
	for name, order := range map[string][]hazard.Report{
		"in order":               {old, next, over},
		"the cancellation first": {old, over, next},
		"the old one last":       {next, over, old},
		"backwards":              {over, next, old},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, r := range order {
				d.apply("cap", noon+200*day+2*minute, fuse.Options{History: true}, r)
			}
			var got []string
			for _, h := range d.hazards() {
				got = append(got, fmt.Sprint(h.Start, " ", h.Reason))
			}
			slices.Sort(got)
			if want := []string{fmt.Sprint(old.Start, " expired"), fmt.Sprint(next.Start, " cancelled")}; !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// A drawing whose event is not reported with it belongs to the latest event of that name, and
// begins with it.
func TestADrawingUnderANumberThatComesRoundBeginsWithTheLatest(t *testing.T) {
	const day = 24 * 60 * minute
	d := newDesk(t)
	d.apply("nhc", noon, live, reportOf("nhc", "a", hazard.Cyclone, noon, 1, 2))
	d.apply("nhc", noon+365*day, live, reportOf("nhc", "a", hazard.Cyclone, noon+365*day, 1, 2))
	drawn := cone("a", 1, "cone")
	drawn[0].Shapes[0].From = 0
	d.draw("nhc", noon+366*day, drawn)
	h := d.event("nhc", "a@2")
	if len(h.Shapes) != 1 {
		t.Fatalf("drawn are %v", h.Shapes)
	}
	if shapes, err := d.store.Hazards.ShapesOf(t.Context(), h.Shapes[0]); err != nil || shapes[0].From != h.Start {
		t.Errorf("drawn are %v, %v; want one from %s", shapes, err, h.Start)
	}
}

// A report names a successor: it is the event with that name at that time, not the event that had
// the name a year ago, whichever of them becomes known first.
func TestASuccessorUnderANumberThatComesRoundIsTheOneOfItsTime(t *testing.T) {
	const day = 24 * 60 * minute
	const later = noon + 300*day
	first, again := reportOf("nws", "F.0002", hazard.Flood, noon, -122, 45), reportOf("nws", "F.0002", hazard.Flood, later+minute, -118, 45)
	watch := with(reportOf("nws", "W.0001", hazard.Flood, later, -118, 45), func(r *hazard.Report) { r.Version = int64(later) })
	upgraded := with(watch, func(r *hazard.Report) {
		r.Version, r.Ended, r.Successor = int64(later+minute), hazard.EndSuperseded, "F.0002"
	})
	again.Version = int64(later + minute)
	for name, payloads := range map[string][][]hazard.Report{
		"in one payload":      {{watch}, {upgraded, again}},
		"the successor first": {{watch}, {again}, {upgraded}},
		"the successor last":  {{watch}, {upgraded}, {again}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("nws", noon, live, first)
			for _, p := range payloads {
				d.apply("nws", later+minute, live, p...)
			}
			if got, want := d.event("nws", "W.0001").Successor, d.event("nws", "F.0002@2").UUID; got != want {
				t.Errorf("its successor is %s, want %s", got, want)
			}
		})
	}
}

// A reference with a reused number means the event of its own time.
func TestANameThatComesRoundMeansTheEventOfItsTime(t *testing.T) {
	const day = 24 * 60 * minute
	const later = noon + 300*day
	volcano := func(src, key string, at hazard.Instant, lon float64, refs ...string) hazard.Report {
		return with(reportOf(src, key, hazard.Volcano, at, lon, 19), func(r *hazard.Report) { r.Refs = refs })
	}
	for name, payloads := range map[string][]hazard.Report{
		"the named one first": {volcano("gvp", "332010", noon, -155), volcano("gvp", "332010", later, -155), volcano("gdacs", "V1", later, -150, "gvp:332010")},
		"the named one last":  {volcano("gvp", "332010", noon, -155), volcano("gdacs", "V1", later, -150, "gvp:332010"), volcano("gvp", "332010", later, -155)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for _, r := range payloads {
				d.apply(r.Source, r.Start, live, r)
			}
			if got, want := d.event("gdacs", "V1").ID, d.event("gvp", "332010@2").ID; got != want {
				t.Errorf("it is hazard %d, the volcano of its time hazard %d", got, want)
			}
		})
	}
}

// Of two events that one payload names alike, far apart in time, the first makes no hazard. The name
// means the second from then on, whatever comes next.
func TestANumberWithoutAHazardLeavesNoHole(t *testing.T) {
	const day = 24 * 60 * minute
	eruption := func(at hazard.Instant) hazard.Report { return reportOf("hans", "332010", hazard.Volcano, at, -155, 19) }
	for name, change := range map[string]func(*hazard.Report){
		"over long ago": func(*hazard.Report) {},
		"slight":        func(r *hazard.Report) { r.Minor = true },
		"held":          func(r *hazard.Report) { r.Suspect = "too strange" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			old := with(eruption(noon-300*day), change)
			d.apply("hans", noon, live, old, with(eruption(noon-150*day), change), eruption(noon))
			for n := range 3 {
				now := noon + hazard.Instant(n+1)*minute
				d.apply("hans", now, live, with(eruption(noon), func(r *hazard.Report) { r.Version = int64(now) }))
				d.apply("hans", now, live, old, with(eruption(noon), func(r *hazard.Report) { r.Version = int64(now) + 1 }))
			}
			if got := d.together(); len(got) != 1 {
				t.Fatalf("hazards %q, want one", got)
			}
			if _, err := d.intake.Withdraw(t.Context(), "hans", "332010", nil, hazard.EndWithdrawn, noon+10*minute); err != nil {
				t.Error(err)
			}
			if h := d.event("hans", "332010"); h.Start != noon || h.Reason != hazard.EndWithdrawn {
				t.Errorf("the name means what began %s, ended %q", h.Start, h.Reason)
			}
			d.apply("hans", noon+300*day, live, eruption(noon+300*day))
			if got := d.together(); len(got) != 2 {
				t.Errorf("with the next year's: hazards %q, want two", got)
			}
		})
	}
}

// A source may give names that look like numbered ones. They are names as others, whatever their number.
func TestANameThatLooksNumberedIsAName(t *testing.T) {
	for _, alias := range []string{"332010@02", "332010@2", "332010@-1", "332010@999999999999"} {
		d := newDesk(t)
		both := with(reportOf("hans", "332010", hazard.Volcano, noon, -155, 19), func(r *hazard.Report) { r.Aliases = []string{alias} })
		d.apply("hans", noon, live, both)
		if got, want := d.event("hans", alias).ID, d.event("hans", "332010").ID; got != want {
			t.Errorf("%s is hazard %d, the event of both names %d", alias, got, want)
		}
	}
}

// A report held under a reused number is released long after, when the number has been reused
// again. It belongs to a separate event.
func TestAHeldReportIsOfItsOwnTime(t *testing.T) {
	const day = 24 * 60 * minute
	eruption := func(at hazard.Instant) hazard.Report { return reportOf("hans", "332010", hazard.Volcano, at, -155, 19) }
	for name, tt := range map[string]struct {
		held, later hazard.Instant
		want        string
	}{
		"of the second":                    {noon + 100*day, noon + 101*day, "hans:332010|hans:332010@2"},
		"of a third, before the second":    {noon + 100*day, noon + 300*day, "hans:332010|hans:332010@2|hans:332010@3"},
		"of the first, though it is later": {noon + 1*day, noon + 300*day, "hans:332010|hans:332010@2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("hans", noon, live, eruption(noon))
			d.apply("hans", tt.held, live, with(eruption(tt.held), func(r *hazard.Report) { r.Suspect = "too strange" }))
			d.apply("hans", tt.later, live, eruption(tt.later))
			d.decide(noon+400*day, store.Origin{User: "ada"}, func(tx *store.Tx) error {
				held, err := tx.Reports.Decide(1, store.Released)
				if err != nil {
					return err
				}
				if held.Report.Key != "332010" {
					t.Errorf("it is held under %s", held.Report.Key)
				}
				_, err = d.intake.Take(t.Context(), tx, held.Report)
				return err
			})
			if got := strings.Join(d.together(), "|"); got != tt.want {
				t.Errorf("events are %s, want %s", got, tt.want)
			}
			if again := d.apply("hans", noon+400*day, live, with(eruption(tt.held), func(r *hazard.Report) { r.Suspect = "too strange" })); again.Held != 0 {
				t.Errorf("the same again: %+v", again)
			}
		})
	}
}

// A report held under a reused number because it had no place is released once its event has one.
func TestAHeldReportOfARoundNumberIsReleasedWithItsPlace(t *testing.T) {
	const day = 24 * 60 * minute
	d := newDesk(t)
	d.apply("hans", noon, live, reportOf("hans", "332010", hazard.Volcano, noon, -155, 19))
	second := with(reportOf("hans", "332010", hazard.Volcano, noon+100*day, 0, 0), func(r *hazard.Report) { r.Point = nil })
	d.apply("hans", noon+100*day, live, second)
	if n, err := d.store.Reports.CountHeld(t.Context(), "hans"); n != 1 || err != nil {
		t.Fatalf("%d are held, %v", n, err)
	}
	d.apply("hans", noon+101*day, live, with(second, func(r *hazard.Report) { r.Version, r.Point = r.Version+1, &hazard.Point{Lon: -155, Lat: 19} }))
	if n, err := d.store.Reports.CountHeld(t.Context(), "hans"); n != 0 || err != nil {
		t.Errorf("%d are held, %v", n, err)
	}
}

// A cancellation ends what was announced under a re-used name, also before its start (T14).
func TestACancellationEndsWhatIsOnlyAnnounced(t *testing.T) {
	const hour, day = 60 * minute, 24 * 60 * minute
	for name, start := range map[string]hazard.Instant{"with its start": noon + 200*day + 2*hour, "with its own start": noon + 200*day, "without a start": 0} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			warning := func(part string, at, start hazard.Instant) hazard.Report {
				return with(reportOf("cap", "KEY", hazard.Flood, start, 10, 50), func(r *hazard.Report) {
					r.Part, r.Version, r.End = part, int64(at), new(start+day)
				})
			}
			d.apply("cap", noon, live, warning("a", noon, noon))
			d.apply("cap", noon+200*day, live, warning("b", noon+200*day, noon+200*day+2*hour))
			cancel := warning("c", noon+200*day+hour, start)
			cancel.Ended, cancel.End = hazard.EndCancelled, nil
			d.apply("cap", noon+200*day+hour, live, cancel)
			if h := d.event("cap", "KEY@2"); h.Status == hazard.Active {
				t.Errorf("it is active to %s", h.End)
			}
		})
	}
}

// A cancellation counts in any order, also if it comes before the message that had the name last year.
func TestACancellationOfAReusedNameCountsInAnyOrder(t *testing.T) {
	const hour, day = 60 * minute, 24 * 60 * minute
	warning := func(part string, said, start hazard.Instant) hazard.Report {
		return with(reportOf("cap", "KEY", hazard.Flood, start, 10, 50), func(r *hazard.Report) {
			r.Part, r.Version, r.End = part, int64(said), new(start+day)
		})
	}
	const year = noon + 200*day
	cancel := with(warning("c", year+hour, year+2*hour), func(r *hazard.Report) { r.Ended, r.End = hazard.EndCancelled, nil })
	all := []hazard.Report{warning("a", noon, noon), warning("b", year, year+2*hour), cancel}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		d := newDesk(t)
		for _, i := range order {
			d.apply("cap", year+hour, fuse.Options{History: true}, all[i])
		}
		if got := d.active(); got != 0 {
			t.Errorf("order %v: %d active hazards, want none", order, got)
		}
	}
}

// A list that names an event, and a drawing of it, mean the one that its source reported last under
// that name, whatever came first here and whatever begins last: here one was given a year too late.
func TestANameMeansWhatItsSourceReportedLast(t *testing.T) {
	const day = 24 * 60 * minute
	of := func(version int64, start hazard.Instant) hazard.Report {
		return with(reportOf("cap", "KEY", hazard.Flood, start, 10, 50), func(r *hazard.Report) { r.Version, r.End = version, new(start+30*day) })
	}
	for name, tt := range map[string]struct {
		said [2]hazard.Report
		want hazard.Instant // the start of the event that is meant
	}{
		"the later event was reported last":  {[2]hazard.Report{of(1, noon), of(2, noon+365*day)}, noon + 365*day},
		"the year was wrong at first":        {[2]hazard.Report{of(1, noon+365*day), of(2, noon)}, noon},
		"both at once: the one that is last": {[2]hazard.Report{of(1, noon+365*day), of(1, noon)}, noon + 365*day},
	} {
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			t.Run(fmt.Sprint(name, order), func(t *testing.T) {
				d := newDesk(t)
				for _, i := range order {
					d.apply("cap", noon, live, tt.said[i])
				}
				res, err := d.intake.Apply(t.Context(), "cap", source.Batch{Listed: []string{"KEY"}, Lasting: []string{"KEY"},
					Drawings: []source.Drawing{{Key: "KEY", Part: "cone", Version: 1, Shapes: cone("", 0, "drawn")[0].Shapes}}}, noon, live)
				if err != nil {
					t.Fatal(err)
				}
				if len(res.Events) != 1 || len(res.Lasting) != 1 {
					t.Fatalf("%v are listed, %v last", res.Events, res.Lasting)
				}
				for key := range res.Events {
					if h := d.event("cap", key); h.Start != tt.want || !res.Lasting[key] {
						t.Errorf("%s is listed, from %s, want the one from %s", key, h.Start, tt.want)
					}
					if got := d.labels("cap", key); !slices.Equal(got, []string{"drawn"}) {
						t.Errorf("it has the drawings %q", got)
					}
				}
			})
		}
	}
}

// Reports of one re-used name that are one event together are one in any order (T14).
func TestReportsThatCloseAGapAreOneInAnyOrder(t *testing.T) {
	const day = 24 * 60 * minute
	report := func(part string, from, to hazard.Instant) hazard.Report {
		return with(reportOf("cap", "KEY", hazard.Flood, from, 10, 50), func(r *hazard.Report) {
			r.Part, r.Version, r.End, r.Places = part, int64(from), new(to), []string{part}
		})
	}
	all := []hazard.Report{report("a", noon, noon+10*day), report("b", noon+60*day, noon+70*day), report("c", noon+150*day, noon+160*day)}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		d := newDesk(t)
		for _, i := range order {
			d.apply("cap", noon, live, all[i])
		}
		if got := d.active(); got != 1 {
			t.Errorf("order %v: %d active hazards, want 1", order, got)
		}
	}
}

// An earlier key that is named in the same payload as its event is seen (T16).
func TestAnEarlierKeyInTheSamePayloadIsSeen(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		d := newDesk(t)
		all := []hazard.Report{reportOf("nws", "OLD", hazard.Flood, noon, 10, 50), with(reportOf("nws", "NEW", hazard.Flood, noon, 10, 50), func(r *hazard.Report) {
			r.Earlier, r.Part, r.Version = []string{"OLD"}, "b", int64(noon)+1
		})}
		d.apply("nws", noon, live, all[order[0]], all[order[1]])
		if got := d.active(); got != 1 {
			t.Errorf("order %v: %d active hazards, want 1", order, got)
		}
	}
}

// active counts the active hazards.
func (d *desk) active() (n int) {
	for _, h := range d.hazards() {
		if h.Status == hazard.Active {
			n++
		}
	}
	return n
}
