package intake_test

import (
	"testing"

	"hazardd/internal/hazard"
	"hazardd/internal/intake"
)

// The number of a warning comes round each year, and a continuation does not say which year it is of.
// A continuation in January belongs to December's event; the event that gets the number in February,
// elsewhere, is a new one, and both go on side by side (D32).
func TestANumberThatComesRoundIsANewEvent(t *testing.T) {
	const day = 24 * 60 * minute
	const december, january, february = noon, noon + 20*day, noon + 50*day
	report := func(key, part, place string, at hazard.Instant, lon float64, earlier ...string) hazard.Report {
		return with(said("nws", key, hazard.Flood, at, lon, 45), func(r *hazard.Report) {
			r.Part, r.Places, r.Earlier, r.Version, r.End = part, []string{place}, earlier, int64(at), new(at+90*day)
		})
	}
	const old, number = "KSEW.FL.W.0012.2026", "KSEW.FL.W.0012.2027"
	d := newDesk(t)
	d.apply("nws", december, intake.Options{}, report(old, "new", "WAZ001", december, -122))
	d.apply("nws", january, intake.Options{}, report(number, "con", "WAZ001", january, -122, old))
	first := d.event("nws", old)
	if first.Start != december {
		t.Fatalf("the continuation moved the start to %s", first.Start)
	}
	d.apply("nws", february, intake.Options{},
		report(number, "new in february", "WAZ099", february, -118),
		report(number, "another continuation", "WAZ001", february+1, -122, old))
	second := d.event("nws", number)
	if second.ID == first.ID || second.Start != february || second.Longitude != -118 {
		t.Errorf("the event of February is hazard %d from %s at %v; December's is %d", second.ID, second.Start, second.Longitude, first.ID)
	}
	d.apply("nws", february+2, intake.Options{},
		report(number, "continues the old one", "WAZ001", february+2, -122, old),
		report(number, "continues the new one", "WAZ099", february+2, -118, old))
	if h := d.event("nws", old); h.Start != december || h.Longitude != -122 || h.End != february+2+90*day {
		t.Errorf("December's event began %s, ends %s", h.Start, h.End)
	}
	if h := d.event("nws", number); h.Start != february || h.Longitude != -118 || h.End != february+2+90*day {
		t.Errorf("February's event began %s, ends %s", h.Start, h.End)
	}
}

// A warning that is upgraded and the one that takes its place come in one payload, and the first
// names the second (B6).
func TestAnUpgradeInOneBatchNamesItsSuccessor(t *testing.T) {
	d := newDesk(t)
	watch := func(part string, version hazard.Instant) hazard.Report {
		return with(said("nws", "W.0001", hazard.Flood, noon, -122, 45), func(r *hazard.Report) {
			r.Part, r.Places, r.Version = part, []string{"WAZ001"}, int64(version)
		})
	}
	d.apply("nws", noon, intake.Options{}, watch("a", noon))
	upgraded := with(watch("b", noon+1), func(r *hazard.Report) { r.Ended, r.Successor = hazard.EndSuperseded, "F.0002" })
	next := with(said("nws", "F.0002", hazard.Flood, noon, -122, 45), func(r *hazard.Report) { r.Part, r.Places = "b#2", []string{"WAZ001"} })
	d.apply("nws", noon+1, intake.Options{}, upgraded, next)
	if got, want := d.event("nws", "W.0001").Successor, d.event("nws", "F.0002").UUID; got != want {
		t.Errorf("its successor is %s, want %s", got, want)
	}
}

// Links inside one payload count as they do in two: A, B, and then A is B (B5).
func TestALinkInsideABatchMakesOneHazard(t *testing.T) {
	a, b := said("cap", "a", hazard.Flood, noon, 1, 1), said("cap", "b", hazard.Flood, noon, 1, 1)
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
				d.apply("cap", noon, intake.Options{}, batch...)
			}
			if got := d.levels(); len(got) != 1 {
				t.Errorf("%d hazards, want 1", len(got))
			}
		})
	}
}
