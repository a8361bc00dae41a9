package fuse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
)

// asOf returns the hazard of an event at an earlier moment, queried now.
func (d *desk) asOf(src, key string, at hazard.Instant) *hazard.Hazard {
	d.t.Helper()
	id, last := d.event(src, key).ID, (*hazard.Hazard)(nil)
	for _, c := range d.changes(0) {
		if c.Hazard != nil && c.Hazard.ID == id && c.At <= at {
			last = c.Hazard
		}
	}
	return last
}

// Nobody reads for six hours. Each part of an alert that expired meanwhile is a separate change at
// its own time (B1).
func TestPartsThatRanOutWhileNobodyLookedAreToldEachAtItsMoment(t *testing.T) {
	levels := []hazard.Severity{hazard.Warning, hazard.Watch, hazard.Advisory, hazard.Information}
	var parts []hazard.Report
	for i, level := range levels {
		parts = append(parts, with(reportOf("cap", "a", hazard.Tornado, noon, 1, 1), func(r *hazard.Report) {
			r.Part, r.Places, r.Severity, r.End = fmt.Sprint("p", i), []string{fmt.Sprint("P", i)}, level, new(noon+hazard.Instant(i+1)*60*minute)
		}))
	}
	d := newDesk(t)
	d.apply("cap", noon, live, parts...)
	d.passUntil(noon + 360*minute)
	for i, level := range levels {
		from, to := noon+hazard.Instant(i)*60*minute, noon+hazard.Instant(i+1)*60*minute-1
		for _, at := range []hazard.Instant{from, to} {
			if h := d.asOf("cap", "a", at); h.Severity != level || h.Status != hazard.Active || h.End != noon+240*minute {
				t.Errorf("at %s it was %s, %s until %s; want %s", at, h.Status, h.Severity, h.End, level)
			}
		}
	}
	if h := d.asOf("cap", "a", noon+240*minute); h.Status != hazard.Expired || h.Severity != hazard.Information {
		t.Errorf("at its end it is %s, %s", h.Status, h.Severity)
	}
}

// A part with the highest level that begins later is replaced by one that then expires: the
// replaced part does not come back (B1).
func TestWhatWasReplacedDoesNotComeBackWhenTheRestRunsOut(t *testing.T) {
	part := func(name string, version hazard.Instant, level hazard.Severity, end hazard.Instant, replaces ...string) hazard.Report {
		return with(reportOf("cap", "a", hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Part, r.Version, r.Places, r.Severity, r.End, r.Replaces = name, int64(version), []string{name}, level, new(end), replaces
		})
	}
	long, short := part("long", noon, hazard.Warning, noon+600*minute), part("short", noon+1, hazard.Advisory, noon+60*minute, "long")
	other := part("other", noon+2, hazard.Information, noon+120*minute)
	for _, order := range [][]hazard.Report{{long, short, other}, {other, short, long}, {short, long, other}} {
		d := newDesk(t)
		d.takeEach(noon+3, order...)
		for at, want := range map[hazard.Instant]hazard.Severity{noon + 30*minute: hazard.Advisory, noon + 90*minute: hazard.Information} {
			if d.passUntil(at); at == noon+90*minute {
				d.passUntil(noon + 700*minute)
			}
			if h := d.asOf("cap", "a", at); h.Severity != want || h.Status != hazard.Active {
				t.Errorf("at %s it was %s, %s; want %s", at, h.Status, h.Severity, want)
			}
		}
		if h := d.event("cap", "a"); h.Status != hazard.Expired || h.End != noon+120*minute {
			t.Errorf("at the end it is %s, ends %s", h.Status, h.End)
		}
	}
}

// Several events of one source are in one hazard. The highest level in force counts, whatever their
// keys and order, and then the next when that event is cancelled (B2).
func TestTheWorstEventOfASourceCountsUntilItIsOver(t *testing.T) {
	event := func(key string, level hazard.Severity) hazard.Report {
		return with(reportOf("cap", key, hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Severity, r.Refs, r.End = level, []string{"glide:FL-2026-000001-XXX"}, new(noon+300*minute)
		})
	}
	for _, keys := range [][3]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		low, mid, high := event(keys[0], hazard.Information), event(keys[1], hazard.Watch), event(keys[2], hazard.Warning)
		for _, order := range [][]hazard.Report{{low, mid, high}, {high, mid, low}, {mid, high, low}} {
			d := newDesk(t)
			d.takeEach(noon, order...)
			if h := d.event("cap", "a"); h.Severity != hazard.Warning {
				t.Errorf("%v: it is %s", keys, h.Severity)
			}
			d.takeEach(noon+minute, with(high, func(r *hazard.Report) { r.Version, r.Ended = r.Version+1, hazard.EndCancelled }))
			if h := d.event("cap", "a"); h.Severity != hazard.Watch || h.Status != hazard.Active {
				t.Errorf("%v: after the worst is cancelled it is %s, %s", keys, h.Status, h.Severity)
			}
			d.takeEach(noon+2*minute, with(mid, func(r *hazard.Report) { r.Version, r.End = r.Version+1, new(noon+10*minute) }))
			d.passUntil(noon + 11*minute)
			if h := d.event("cap", "a"); h.Severity != hazard.Information || h.Status != hazard.Active {
				t.Errorf("%v: after the second has run out it is %s, %s", keys, h.Status, h.Severity)
			}
		}
	}
}

// An editor's data of an earthquake stays with the event that made the hazard. This holds when
// another source's report comes that fits a third event better, and when the event's own source
// moves it or finds it slight (B3).
func TestAnEditorsWordStaysWithTheEventThatMadeTheHazard(t *testing.T) {
	made := reportOf("usgs", "m", hazard.Earthquake, hourAgo, 28, 40)
	for name, later := range map[string][]hazard.Report{
		"one that fits better":     {reportOf("emsc", "e", hazard.Earthquake, hourAgo+1000, 28.01, 40), reportOf("gdacs", "g", hazard.Earthquake, hourAgo+1000, 28.01, 40)},
		"a key before it":          {reportOf("emsc", "0", hazard.Earthquake, hourAgo, 28, 40), with(made, func(r *hazard.Report) { r.Version++ })},
		"its origin moves":         {reportOf("emsc", "e", hazard.Earthquake, hourAgo, 28, 40), with(made, func(r *hazard.Report) { r.Version, r.Point = r.Version+1, &hazard.Point{Lon: 33, Lat: 40} })},
		"it is found to be slight": {reportOf("emsc", "e", hazard.Earthquake, hourAgo, 28, 40), with(made, func(r *hazard.Report) { r.Version, r.Minor = r.Version+1, true })},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.takeEach(noon, made)
			h := d.event("usgs", "m")
			e := edit.New(d.store, d.intake, 1, func(int64) bool { return false })
			who := edit.Author{Caller: auth.Caller{Name: "ada", Role: auth.Editor}}
			if _, err := e.PatchHazard(t.Context(), who, edit.Ref{ID: h.ID}, nil, []byte(`{"severity_ID":"WARNING","comment_Text":"looked at"}`), noon+1); err != nil {
				t.Fatal(err)
			}
			d.takeEach(noon+2, later...)
			if now := d.event("usgs", "m"); now.UUID != h.UUID || now.Severity != hazard.Warning || now.Comment != "looked at" || now.Status != hazard.Active {
				t.Errorf("its hazard is %s (%s), %s, %s, %q", now.UUID, h.UUID, now.Status, now.Severity, now.Comment)
			}
		})
	}
}

// Three keys of a source turn out to be one event through two links, in one payload or several, in
// any order (B5).
func TestAChainOfLinksMakesOneHazardInAnyOrder(t *testing.T) {
	event := func(key string, version hazard.Instant, aliases ...string) hazard.Report {
		return with(reportOf("cap", key, hazard.Flood, noon, 1, 1), func(r *hazard.Report) {
			r.Part, r.Version, r.Aliases = fmt.Sprint(key, version), int64(noon+version), aliases
		})
	}
	all := []hazard.Report{event("a", 0), event("b", 1), event("c", 2), event("b", 3, "c"), event("a", 4, "b")}
	for i := 0; i < 120; i += 4 { // some of the orders of five
		order, left, n := []hazard.Report(nil), slices.Clone(all), i
		for size := len(all); size > 0; size-- {
			order, left = append(order, left[n%size]), slices.Delete(left, n%size, n%size+1)
			n /= size
		}
		d, cut := newDesk(t), i/4%4
		d.apply("cap", noon, live, order[:cut]...)
		d.apply("cap", noon, live, order[cut:]...)
		if got := d.together(); len(got) != 1 {
			t.Errorf("order %d, cut at %d: %q", i, cut, got)
		}
	}
}

// Two watches are upgraded to one warning in one payload, which comes before or after them (B6). If
// the warning turns out to be an event with another key, they name that event.
func TestTwoUpgradesNameTheWarning(t *testing.T) {
	alert := func(key, part string, version hazard.Instant, f func(*hazard.Report)) hazard.Report {
		return with(reportOf("nws", key, hazard.Flood, noon, -122, 45), func(r *hazard.Report) {
			r.Part, r.Places, r.Version = part, []string{"WAZ" + part}, int64(noon+version)
			f(r)
		})
	}
	upgraded := func(r *hazard.Report) { r.Ended, r.Successor = hazard.EndSuperseded, "W.1" }
	first, second := alert("A.1", "1", 1, upgraded), alert("A.2", "2", 1, upgraded)
	warning := alert("W.1", "3", 1, nothing)
	for i, batch := range [][]hazard.Report{{first, second, warning}, {warning, first, second}, {first, warning, second}} {
		d := newDesk(t)
		d.apply("nws", noon, live, alert("A.1", "1", 0, nothing), alert("A.2", "2", 0, nothing))
		d.apply("nws", noon+1, live, batch...)
		for _, key := range []string{"A.1", "A.2"} {
			if h := d.event("nws", key); h.Successor != d.event("nws", "W.1").UUID || h.Status != hazard.Expired {
				t.Errorf("order %d: %s is %s and names %s", i, key, h.Status, h.Successor)
			}
		}
		d.apply("nws", noon+2, live, alert("W.0", "4", 2, nothing))
		d.apply("nws", noon+3, live, alert("W.0", "4", 3, func(r *hazard.Report) { r.Aliases = []string{"W.1"} }))
		goesOn := d.event("nws", "W.1")
		for _, key := range []string{"A.1", "A.2"} {
			if h := d.event("nws", key); h.Successor != goesOn.UUID || goesOn.Status != hazard.Active {
				t.Errorf("order %d, after the warning is joined with another: %s names %s, the warning is %s of %s", i, key, h.Successor, goesOn.Status, goesOn.UUID)
			}
		}
	}
}

// A list keeps an earthquake at Red, so that it stays active beyond its usual time. A newer report
// of a more authoritative source without such information does not end it, and its name stays
// (D12).
func TestAnEarthquakeThatIsNamedOnOutlivesTheOtherSource(t *testing.T) {
	const hour = 60 * minute
	name := "M 7.4 - 12 km E of Somewhere"
	usgs := with(reportOf("usgs", "u", hazard.Earthquake, noon, 1, 2), func(r *hazard.Report) { r.Name = name })
	gdacs := func(until hazard.Instant) hazard.Report {
		return with(reportOf("gdacs", "g", hazard.Earthquake, noon+1000, 1, 2.1), func(r *hazard.Report) {
			r.Version, r.Severity, r.Renewed, r.Name = int64(until), hazard.Warning, new(until), "Earthquake - Somewhere"
		})
	}
	d := newDesk(t)
	d.takeEach(noon, usgs, gdacs(noon))
	d.passUntil(noon + 20*hour)
	d.takeEach(noon+20*hour, gdacs(noon+20*hour))
	d.passUntil(noon + 30*hour)
	d.takeEach(noon+30*hour, with(usgs, func(r *hazard.Report) { r.Version++; r.Description = "revised" }))
	for _, at := range []hazard.Instant{noon + 31*hour, noon + 43*hour} {
		d.passUntil(at)
		if h := d.event("usgs", "u"); h.Status != hazard.Active || h.Severity != hazard.Warning || h.Name != name {
			t.Errorf("at %s it is %s, %s, %q", at, h.Status, h.Severity, h.Name)
		}
	}
	d.passUntil(noon + 45*hour)
	if h := d.event("usgs", "u"); h.Status != hazard.Expired || h.End != noon+44*hour || h.Name != name {
		t.Errorf("when it is no longer listed it is %s, ends %s, %q", h.Status, h.End, h.Name)
	}
}

// A volcano that is quiet for 89 days continues the same eruption; after 91 days it is another. It
// does not matter if an editor, or its source explicitly, has ended the first (D33).
func TestAVolcanoIsQuietBetweenTwoEruptions(t *testing.T) {
	const day = 24 * 60 * minute
	erupts := func(at hazard.Instant) hazard.Report {
		return with(reportOf("gvp", "332010", hazard.Volcano, at, -155, 19), func(r *hazard.Report) { r.End, r.Refs = new(at+7*day), []string{"volcano:332010"} })
	}
	for name, first := range map[string]hazard.Report{
		"it ran out":           erupts(noon),
		"it ended by its word": with(erupts(noon), func(r *hazard.Report) { r.Ended, r.EndedAt = hazard.EndAllClear, new(noon+7*day) }),
	} {
		for quiet, hazards := range map[hazard.Instant]int{89: 1, 91: 2} {
			d := newDesk(t)
			d.apply("gvp", noon, live, erupts(noon))
			d.apply("gvp", noon+7*day, live, with(first, func(r *hazard.Report) { r.Version++ }))
			again := noon + (7+quiet)*day
			d.passUntil(again)
			d.apply("gvp", again, live, erupts(again))
			all := d.hazards()
			if len(all) != hazards {
				t.Errorf("%s, quiet for %d days: %d hazards", name, quiet, len(all))
			}
			for _, h := range all {
				if over := hazards == 2 && h.Start == noon; over != (h.Status == hazard.Expired) {
					t.Errorf("%s, quiet for %d days: the one from %s is %s", name, quiet, h.Start, h.Status)
				}
			}
		}
	}
}
