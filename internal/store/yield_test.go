package store_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

// A transaction yields to writers of a higher rank, once it has run for a while.
func TestATransactionYieldsToHigherRanks(t *testing.T) {
	for name, tt := range map[string]struct {
		ran   time.Duration
		other store.Rank
		want  bool
	}{
		"a person":                        {5 * time.Millisecond, store.People, true},
		"a feed that warns":               {25 * time.Millisecond, store.Warnings, true},
		"another such feed":               {time.Second, store.Feeds, false},
		"bookkeeping":                     {time.Second, store.Bookkeeping, false},
		"a person, but it has just begun": {4 * time.Millisecond, store.People, false},
		"a feed, but it has just begun":   {24 * time.Millisecond, store.Warnings, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				other := make(chan error, 1)
				_, err = s.Write(store.Ranked(t.Context(), store.Feeds), noon, store.Origin{Source: "usgs"}, func(tx *store.Tx) error {
					go func() {
						_, err := s.Write(store.Ranked(t.Context(), tt.other), noon, store.Origin{}, func(*store.Tx) error { return nil })
						other <- err
					}()
					time.Sleep(tt.ran)
					if got, err := tx.Yield(); got != tt.want || err != nil {
						t.Errorf("it yields: %v, want %v; %v", got, tt.want, err)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if err := <-other; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// On PostgreSQL a transaction yields to writers of other nodes, and to who waits until all of them have
// ended.
func TestATransactionYieldsToOtherNodes(t *testing.T) {
	database := postgres.URL(t)
	a, b := openAt(t, database), openAt(t, database)
	for name, wait := range map[string]func() error{
		"nobody": nil,
		"a writer": func() error {
			_, err := b.Write(t.Context(), noon, store.Origin{}, func(*store.Tx) error { return nil })
			return err
		},
		"a reader": func() error { return b.Until(t.Context(), hazard.At(time.Now()), hazard.At(time.Now())) },
	} {
		t.Run(name, func(t *testing.T) {
			other, begun := make(chan error, 1), time.Now()
			_, err := a.Write(store.Patient(t.Context()), noon, store.Origin{Source: "usgs"}, func(tx *store.Tx) error {
				tx.Now()
				if wait != nil {
					go func() { other <- wait() }()
				}
				for {
					yield, err := tx.Yield()
					if err != nil || yield && wait != nil {
						return err
					}
					if yield || wait != nil && time.Since(begun) > time.Minute {
						t.Errorf("it yields: %v", yield)
						return nil
					}
					if wait == nil && time.Since(begun) > 100*time.Millisecond {
						return nil
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
			if wait != nil {
				if err := <-other; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
