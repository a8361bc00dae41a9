package store_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// What a transaction expects is there as soon as it has written it, and what was there is found.
func TestATransactionSeesWhatItWritesOfEventsThatItExpects(t *testing.T) {
	s := open(t, t.TempDir())
	old, young := store.EventName{Source: "x", Key: "old"}, store.EventName{Source: "x", Key: "young"}
	made := map[store.EventName]int64{}
	make := func(tx *store.Tx, name store.EventName) {
		h := flood(name.Key)
		h.UUID = hazard.EventUUID(name.Source, name.Key)
		r := &hazard.Report{Source: name.Source, Key: name.Key, Name: name.Key, Type: hazard.Flood, Severity: hazard.Watch, Start: 1}
		_, _, errH := tx.Reports.Hold(r, store.NoPlace)
		err := errors.Join(tx.SaveHazard(h, nil), tx.Reports.Save(name.Key, r, ""), tx.Events.AddRef("y:1", name.Source, name.Key), errH,
			tx.Events.SaveVerdict(name, store.EventName{Source: "y", Key: "1"}, store.One), tx.Events.Save(&store.Event{Source: name.Source, Key: name.Key, HazardID: h.ID, Type: hazard.Flood}))
		if err != nil {
			t.Fatal(err)
		}
		made[name] = h.ID
	}
	see := func(tx *store.Tx, name store.EventName, want bool) {
		t.Helper()
		_, found, errF := tx.Events.Find(name)
		reports, errR := tx.Reports.Of(name.Source, name.Key)
		refs, errN := tx.Events.Refs(name)
		verdicts, errV := tx.Events.Verdicts(name)
		h, errH := tx.HazardByUUID(hazard.EventUUID(name.Source, name.Key))
		if err := errors.Join(errF, errR, errN, errV); err != nil || want && errH != nil || !want && !errors.Is(errH, hazard.ErrNotFound) {
			t.Fatal(err, errH)
		}
		if found != want || (len(reports) == 1) != want || (len(refs) == 1) != want || (len(verdicts) == 1) != want || want && h.ID != made[name] {
			t.Errorf("%s: event %v, reports %d, names %q, verdicts %v; want all: %v", name.Key, found, len(reports), refs, verdicts, want)
		}
	}
	write := func(f func(tx *store.Tx) error) {
		t.Helper()
		if _, err := s.Write(t.Context(), hazard.Instant(1_700_000_000_000), store.Origin{Source: "x"}, f); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *store.Tx) error { make(tx, old); return nil })
	write(func(tx *store.Tx) error {
		if err := tx.Events.Expect("x", []string{"old", "young"}); err != nil {
			return err
		}
		see(tx, old, true)
		see(tx, young, false)
		make(tx, young)
		see(tx, young, true)
		return tx.Reports.Placed("x", "young", "")
	})
	held, err := s.Reports.Held(t.Context(), "x", 10)
	if err != nil || len(held) != 1 || held[0].Report.Key != "old" {
		t.Errorf("held: %+v, %v; want what was not released", held, err)
	}
}

func TestNamesOfEventsThatAreUsed(t *testing.T) {
	s := open(t, t.TempDir())
	_, err := s.Write(t.Context(), hazard.Instant(1_700_000_000_000), store.Origin{Source: "x"}, func(tx *store.Tx) error {
		return errors.Join(tx.Events.AddKey("x", "key", "event"), tx.Events.AddKey("x", "again@2", "other"), tx.Events.AddKey("y", "theirs", "event"), tx.Events.AddRef("x:called", "y", "event"))
	})
	if err != nil {
		t.Fatal(err)
	}
	used, err := s.Reports.Used(t.Context(), "x", []string{"key", "again", "theirs", "called", "event", "nobody's"}, "@2")
	if want := map[string]bool{"key": true, "again": true, "called": true}; err != nil || !maps.Equal(used, want) {
		t.Errorf("%v, %v; want %v", used, err, want)
	}
}
