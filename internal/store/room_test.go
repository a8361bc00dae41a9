package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// A full store reports this until there is room, although small writes may succeed (R10).
func TestAStoreThatIsFullSaysSoUntilThereIsRoom(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pages := func(n int) {
		if err := s.Exec(t.Context(), fmt.Sprintf("PRAGMA max_page_count(%d)", n)); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) error {
		_, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(tx *store.Tx) error {
			return tx.SaveHazard(&hazard.Hazard{Type: hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Status: hazard.Active, OrgID: -1, Description: text}, nil)
		})
		return err
	}
	if err := write("room"); err != nil || s.Full() {
		t.Fatalf("at first: %v, full %v", err, s.Full())
	}
	pages(1) // no more pages than now
	if err := write(strings.Repeat("much ", 20_000)); !errors.Is(err, hazard.ErrFull) || !s.Full() {
		t.Fatalf("without room: %v, full %v", err, s.Full())
	}
	_ = s.Sources.SaveState(context.Background(), "small", nil) // a small write may still fit
	if err := s.SeekRoom(t.Context()); !errors.Is(err, hazard.ErrFull) || !s.Full() {
		t.Errorf("still without room: %v, full %v", err, s.Full())
	}
	pages(1 << 20)
	if err := s.SeekRoom(t.Context()); err != nil || s.Full() {
		t.Errorf("with room: %v, full %v", err, s.Full())
	}
}
