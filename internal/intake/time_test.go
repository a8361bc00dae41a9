package intake_test

import (
	"testing"

	"hazardd/internal/hazard"
	"hazardd/internal/intake"
)

const minute hazard.Instant = 60_000

// One alert, Extreme in the west for a few minutes and Minor in the east for hours: when the west
// has run out, the hazard is what the east says, though nobody reports (B1).
func TestAPartThatRunsOutLeavesTheHazard(t *testing.T) {
	d := newDesk(t)
	part := func(name, place string, level hazard.Severity, end hazard.Instant) hazard.Report {
		return with(said("cap", "a", hazard.Tornado, noon, 0, 0), func(r *hazard.Report) {
			r.Part, r.Places, r.Name, r.Severity, r.End = name, []string{place}, "Tornado Warning - "+name, level, new(end)
			r.Point = &hazard.Point{Lon: 1, Lat: 1}
		})
	}
	d.apply("cap", noon, intake.Options{}, part("East", "E", hazard.Information, noon+300*minute), part("West", "W", hazard.Warning, noon+20*minute))
	if h := d.event("cap", "a"); h.Severity != hazard.Warning || h.End != noon+300*minute {
		t.Fatalf("at first %s until %s", h.Severity, h.End)
	}
	at, any, err := d.store.NextMoment(t.Context())
	if err != nil || !any || at != noon+20*minute {
		t.Fatalf("the next moment is %s (%v, %v), want the end of the west", at, any, err)
	}
	if err := d.intake.PassUntil(t.Context(), noon+21*minute); err != nil {
		t.Fatal(err)
	}
	h := d.event("cap", "a")
	if h.Severity != hazard.Information || h.Name != "Tornado Warning - East" || h.LastUpdate != noon+20*minute || h.Status != hazard.Active {
		t.Errorf("after the west has run out: %s %q, %s, last update %s", h.Severity, h.Name, h.Status, h.LastUpdate)
	}
	before := d.last()
	if err := d.intake.PassUntil(t.Context(), noon+299*minute); err != nil || d.last() != before {
		t.Errorf("%d changes while nothing changes: %v", d.last()-before, err)
	}
	if err := d.intake.PassUntil(t.Context(), noon+301*minute); err != nil {
		t.Fatal(err)
	}
	if h := d.event("cap", "a"); h.Status != hazard.Expired || h.Severity != hazard.Information || h.LastUpdate != noon+300*minute {
		t.Errorf("at its end: %s, %s, last update %s", h.Status, h.Severity, h.LastUpdate)
	}
	if _, any, err := d.store.NextMoment(t.Context()); any || err != nil {
		t.Errorf("something is still to come: %v", err)
	}
}

// An authority's INFORMATION that has run out does not hide a model's WARNING that holds (B1).
func TestASourceThatRunsOutHidesNoOther(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, intake.Options{}, with(quake("us1", 1), func(r *hazard.Report) {
		r.Start, r.Severity, r.End, r.Name = noon, hazard.Information, new(noon+30*minute), "M 6.1 - Somewhere"
	}))
	d.apply("gdacs", noon+minute, intake.Options{}, with(quake("EQ1", 1), func(r *hazard.Report) {
		r.Source, r.Start, r.Severity, r.End, r.Name, r.Refs = "gdacs", noon, hazard.Warning, new(noon+300*minute), "Earthquake - Somewhere", []string{"usgs:us1"}
	}))
	if h := d.event("usgs", "us1"); h.Severity != hazard.Information {
		t.Fatalf("while the authority speaks it is %s", h.Severity)
	}
	if err := d.intake.PassUntil(t.Context(), noon+31*minute); err != nil {
		t.Fatal(err)
	}
	h := d.event("usgs", "us1")
	if h.Severity != hazard.Warning || h.Status != hazard.Active {
		t.Errorf("after it has run out: %s, %s", h.Severity, h.Status)
	}
	if h.Name != "M 6.1 - Somewhere" { // the best name outlives the report that gave it (D12)
		t.Errorf("it is called %q", h.Name)
	}
}
