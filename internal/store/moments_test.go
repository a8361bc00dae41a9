package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
)

// entered is a context that reports when it is first checked.
type entered struct {
	context.Context
	once sync.Once
	ch   chan struct{}
}

func (e *entered) Value(key any) any { e.once.Do(func() { close(e.ch) }); return e.Context.Value(key) }

// A write that waited for 4 s got the time from before its wait (B8).
func TestAWriteThatWaitsIsOfTheMomentAfterItsWait(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	for name, second := range map[string]*store.Store{"same process": stores[0], "another": stores[1]} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Int64
			now.Store(int64(noon))
			clock := hazard.ClockFunc(func() hazard.Instant { return hazard.Instant(now.Load()) })
			ctx := &entered{Context: t.Context(), ch: make(chan struct{})}
			done := make(chan error, 1)
			slow, late := flood("slow"), flood("late")
			_, err := stores[0].Write(t.Context(), clock, store.Origin{Admin: true}, func(tx *store.Tx) error {
				if tx.Now() != noon {
					t.Errorf("the first writer is at %s, want %s", tx.Now(), noon)
				}
				go func() {
					_, err := second.Write(ctx, clock, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(late, nil) })
					done <- err
				}()
				<-ctx.ch
				now.Add(4000)
				return tx.SaveHazard(slow, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			at := map[int64]hazard.Instant{}
			for _, c := range since(t, stores[0], 0) {
				at[c.HazardID] = c.At
			}
			if at[slow.ID] != noon || at[late.ID] != noon+4000 {
				t.Errorf("written at %s and %s, want %s and %s", at[slow.ID], at[late.ID], noon, noon+4000)
			}
			if err := stores[0].Wipe(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The order holds whatever the clocks of nodes say, and whatever times imports give.
func TestMomentsOfChangesNeverDecrease(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	rapid.Check(t, func(t *rapid.T) {
		for _, s := range stores {
			if err := s.Wipe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		last := hazard.MinInstant
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			s := rapid.SampledFrom(stores).Draw(t, "node")
			clock := noon + hazard.Instant(rapid.OneOf(rapid.Int64Range(-3000, 3000), rapid.Int64Range(-1e8, 1e8)).Draw(t, "clock"))
			var now hazard.Instant
			n, err := s.Write(t.Context(), clock, store.Origin{Admin: true}, func(tx *store.Tx) error {
				now = tx.Now()
				h := flood("x")
				h.AutoExpire = false
				return tx.SaveHazard(h, nil)
			})
			if err != nil {
				t.Fatal(err)
			}
			log, err := s.Log.Since(t.Context(), n-1, 1)
			if err != nil {
				t.Fatal(err)
			}
			c := log[0]
			if want := max(clock, last); c.At != want {
				t.Fatalf("by the clock %s after a change of %s: written at %s", clock, last, c.At)
			}
			// Hazards must not end because a clock was once wrong.
			if now < clock || now > clock.Add(time.Minute) || now > c.At {
				t.Fatalf("by the clock %s, with a change of %s, decided as of %s", clock, c.At, now)
			}
			last = c.At
		}
	})
}

// The past does not change: an answer about a moment, given as soon as the moment has come, stays
// the same forever.
func TestWhatWasToldOfAMomentStaysTrue(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	var ticks atomic.Int64 // a clock so coarse that most writes and reads share a moment
	clock := hazard.ClockFunc(func() hazard.Instant { return noon + hazard.Instant(ticks.Add(1)/7) })
	type told struct {
		at   hazard.Instant
		last int64
	}
	var all []told
	var wg sync.WaitGroup
	for i := range 24 { // patient: on a busy disk the last may wait for longer than people do
		wg.Go(func() {
			_, err := stores[0].Write(store.Patient(t.Context()), clock, store.Origin{Admin: true}, func(tx *store.Tx) error {
				h := flood(fmt.Sprint(i))
				if err := tx.SaveHazard(h, nil); err != nil {
					return err
				}
				next := *h
				next.Name += " again"
				return tx.SaveHazard(&next, h)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	var mu sync.Mutex
	for range 24 {
		wg.Go(func() {
			at := clock()
			if err := stores[0].Until(t.Context(), at, at); err != nil {
				t.Error(err)
				return
			}
			last, err := stores[0].Log.ChangeAt(t.Context(), at)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, told{at, last})
		})
	}
	wg.Wait()
	for _, told := range all {
		if last, err := stores[1].Log.ChangeAt(t.Context(), told.at); err != nil || last != told.last {
			t.Errorf("as of %s change %d was the last; later it is %d (%v)", told.at, told.last, last, err)
		}
	}
}

// A writer of another node or process has started before the requested moment, and has not ended.
func TestAMomentIsNotToldOfBeforeItsWriterHasEnded(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	answered := make(chan int64, 1)
	n, err := stores[0].Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error {
		if err := tx.SaveHazard(flood("slow"), nil); err != nil {
			return err
		}
		if _, err := tx.Hazard(1); err != nil { // a query, so that the database knows of the transaction
			return err
		}
		ctx := &entered{Context: t.Context(), ch: make(chan struct{})}
		go func() {
			if err := stores[1].Until(ctx, noon, noon+1); err != nil {
				t.Error(err)
			}
			n, err := stores[1].Log.ChangeAt(t.Context(), noon)
			if err != nil {
				t.Error(err)
			}
			answered <- n
		}()
		<-ctx.ch
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got != n {
		t.Errorf("as of %s change %d was returned as the last, want %d", noon, got, n)
	}
	// The clock cannot bring back a moment that was already answered either.
	if n, err = stores[1].Write(t.Context(), noon, store.Origin{Admin: true}, func(tx *store.Tx) error { return tx.SaveHazard(flood("late"), nil) }); err != nil {
		t.Fatal(err)
	}
	if last, err := stores[1].Log.ChangeAt(t.Context(), noon); err != nil || last >= n {
		t.Errorf("as of %s change %d is the last (%v), but was written after the query", noon, last, err)
	}
}

// A client that asks for updates since the latest update it knows misses nothing, however long
// writers waited.
func TestUpdatedSinceMissesNothing(t *testing.T) {
	dir := t.TempDir()
	stores := []*store.Store{open(t, dir), open(t, dir)}
	var ticks atomic.Int64
	clock := hazard.ClockFunc(func() hazard.Instant { return noon + hazard.Instant(ticks.Add(1)) })
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			_, err := stores[i%2].Write(store.Patient(t.Context()), clock, store.Origin{Admin: true}, func(tx *store.Tx) error {
				h := flood(fmt.Sprint(i))
				h.LastUpdate, h.Updated = tx.Now(), tx.Now()
				return tx.SaveHazard(h, nil)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	written := make(chan struct{})
	go func() { wg.Wait(); close(written) }()
	known, since := map[int64]bool{}, noon
	for last := false; !last; {
		select {
		case <-written:
			last = true
		default:
		}
		page, err := stores[0].Search.Find(t.Context(), query.Query{Filter: query.Filter{UpdatedSince: &since}, Limit: 1000}, nil, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hazards {
			known[h.ID] = true
			since = max(since, h.LastUpdate)
		}
	}
	if len(known) != 30 {
		t.Errorf("knows %d of 30 hazards", len(known))
	}
}
