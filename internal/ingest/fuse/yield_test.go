package fuse_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// An editor once waited for a hundred reports, up to 1.9 s. Here every transaction has run for a while
// before its first report: while an editor waits it takes in one event, and otherwise a hundred.
func TestAnEditorWaitsForOneEventAtMost(t *testing.T) {
	const reports, events = 60, 54
	for name, edits := range map[string]int{"nobody waits": 0, "an editor waits ten times": 10, "an editor waits all the time": 2 * events} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				batch := source.Batch{Reports: fires("nifc", reports), Read: reports}
				for i := 1; i < reports; i += 10 { // two reports of one event
					batch.Reports[i].Aliases = []string{batch.Reports[i-1].Key}
				}
				var editor sync.WaitGroup
				edit := func() {
					for range edits {
						h := &hazard.Hazard{UUID: uuid.New(), Name: "a flood", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
							Status: hazard.Active, AutoExpire: true, Start: noon, End: noon + 1000, Created: noon, LastUpdate: noon, Updated: noon, OrgID: -1}
						if _, err := s.Write(t.Context(), noon, store.Origin{User: "red", Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(h, nil) }); err != nil {
							t.Error(err)
						}
					}
				}
				begun := -1                                       // the first time is asked for outside of a transaction
				clock := hazard.ClockFunc(func() hazard.Instant { // each transaction asks once
					if begun++; begun == 1 {
						editor.Go(edit)
					}
					time.Sleep(50 * time.Millisecond)
					return noon
				})
				res, err := builtIn.Intake(s).Apply(store.Patient(t.Context()), "nifc", batch, clock, fuse.Options{History: true})
				editor.Wait()
				if err != nil || res.New != events {
					t.Errorf("%d hazards, want %d; %v", res.New, events, err)
				}
				if edits == 0 && begun != 1 {
					t.Errorf("%d transactions although nobody waits", begun)
				}
				changes, err := s.Log.Since(t.Context(), 0, 1_000_000)
				if err != nil || len(changes) != edits+events {
					t.Fatalf("%d changes, want %d; %v", len(changes), edits+events, err)
				}
				waited, edited := 0, 0
				for _, c := range changes {
					if waited++; c.Source == "" {
						waited, edited = 0, edited+1
					}
					if waited > 1 && edited < edits {
						t.Errorf("before write %d of the editor, %d events were taken in", edited+1, waited)
					}
				}
			})
		})
	}
}
