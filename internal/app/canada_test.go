package app_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// TestAPlaceThatWentOverToAnotherAlertLeavesItsOwn imports a recorded tornado warning of Canada,
// the alert that took over its place with the same text 41 minutes later, and the message that says
// so.
func TestAPlaceThatWentOverToAnotherAlertLeavesItsOwn(t *testing.T) {
	const chain = "feeds/cap/canada-2026/20260810-chain90-"
	first, last := recordings.Read(t, chain+"01-alert.cap"), recordings.Read(t, chain+"02-update.cap")
	next := first
	for _, change := range [][2]string{
		{"0440049631", "0438724768"}, {"2026-08-10T19:4", "2026-08-10T20:2"}, {"2026-08-10T21:1", "2026-08-10T21:4"},
	} {
		next = bytes.ReplaceAll(next, []byte(change[0]), []byte(change[1]))
	}
	d := newDesk(t)
	over := moment(t, "2026-08-10T20:26:30Z")
	for _, m := range []struct {
		text []byte
		at   hazard.Instant
	}{{first, moment(t, "2026-08-10T19:46:00Z")}, {next, over.Add(-time.Second)}, {last, over.Add(time.Second)}} {
		batch, err := cap.Parse(cap.Config{Name: "cap"}, m.text, m.at)
		if err != nil || len(batch.Reports) == 0 {
			t.Fatalf("%d reports, %v", len(batch.Reports), err)
		}
		if _, err := d.intake.Apply(t.Context(), "cap", batch, m.at, fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	active, err := d.store.Reports.ActiveEvents(t.Context(), "cap")
	if err != nil || len(active) != 1 {
		t.Fatalf("%d active events, %v; want the alert that took over the place", len(active), err)
	}
	changes, err := d.store.Log.Since(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	hazards := map[int64]*hazard.Hazard{}
	for _, c := range changes {
		if c.Hazard != nil {
			hazards[c.Hazard.ID] = c.Hazard
		}
	}
	if len(hazards) != 2 {
		t.Fatalf("%d hazards, want 2", len(hazards))
	}
	for id, h := range hazards {
		if id != active[0].HazardID && (h.Status == hazard.Active || h.Reason != hazard.EndSuperseded || h.End != over) {
			t.Errorf("%s is %s (%s) until %s, want superseded at %s", h.Name, h.Status, h.Reason, h.End, over)
		}
	}
}
