package fuse_test

import (
	"errors"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// nowhere returns a report of a cyclone called name, without a place.
func nowhere(version hazard.Instant, name string) hazard.Report {
	return with(reportOf("nhc", "b", hazard.Cyclone, noon, 0, 0), func(r *hazard.Report) {
		r.Point, r.Called, r.Version = nil, name, int64(version)
		r.Products = []hazard.ReportProduct{{Key: "text", Title: "of b", Type: hazard.TextProduct, Data: "Advisory", Time: noon}}
	})
}

func somewhere(version hazard.Instant, name string) hazard.Report {
	return with(reportOf("gdacs", "a", hazard.Cyclone, noon, 1, 2), func(r *hazard.Report) { r.Called, r.Version = name, int64(version) })
}

// An event without a place that leaves another's hazard has no hazard. Like a new event, it waits
// for its place. The other events of the payload are processed.
func TestAnEventWithoutAPlaceThatLeavesWaitsForIt(t *testing.T) {
	for name, step := range map[string]hazard.Report{"by its own word": nowhere(noon+minute, "Oscar"), "by the other's": somewhere(noon+minute, "Oscar")} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.apply("gdacs", noon, live, somewhere(noon, "Dolphin"))
			d.apply("nhc", noon, live, nowhere(noon, "Dolphin"))
			if a, b := d.event("gdacs", "a"), d.event("nhc", "b"); a.ID != b.ID {
				t.Fatalf("%d and %d are two", a.ID, b.ID)
			}
			other := reportOf(step.Source, "other", hazard.Flood, noon, 5, 5)
			d.apply(step.Source, noon+minute, live, step, other)
			d.event(step.Source, "other")
			id := d.event("gdacs", "a").ID
			if titles := d.titles(id); len(titles) > 0 {
				t.Errorf("it left %q", titles)
			}
			d.apply("gdacs", noon+2*minute, live, somewhere(noon+2*minute, "Oscar"))
			d.apply("nhc", noon+2*minute, live, nowhere(noon+2*minute, "Oscar"))
			if b := d.event("nhc", "b"); b.ID != id || len(d.titles(id)) != 1 {
				t.Errorf("it is part of hazard %d, with %q", b.ID, d.titles(id))
			}
		})
	}
}

// A person who tries to split it off gets an error with the reason.
func TestAnEventWithoutAPlaceIsNotSplitOff(t *testing.T) {
	d := newDesk(t)
	d.apply("gdacs", noon, live, somewhere(noon, "Dolphin"))
	d.apply("nhc", noon, live, nowhere(noon, "Dolphin"))
	id := d.event("gdacs", "a").ID
	_, err := d.store.Write(t.Context(), noon+minute, store.Origin{User: "ada", Admin: true}, func(tx *store.Tx) error {
		_, err := d.intake.Part(t.Context(), tx, id, "nhc", "b")
		return err
	})
	if !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
}
