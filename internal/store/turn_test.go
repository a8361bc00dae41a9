package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// On a disk that needed 3 s for a sync, writers waited for 24 s and more (R9).
func TestAWriteWaitsForItsTurnForAStatedTime(t *testing.T) {
	const held = 30 * time.Second // by the writer before
	gone := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Second, cancel)
		return ctx
	}
	for name, tt := range map[string]struct {
		ctx   func(context.Context) context.Context
		waits time.Duration
		err   error
	}{
		"a request is refused after 5 s":       {func(ctx context.Context) context.Context { return ctx }, 5 * time.Second, hazard.ErrUnavailable},
		"a poll or an import waits":            {store.Patient, held, nil},
		"a client that hangs up waits no more": {gone, time.Second, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := store.Open(t.Context(), t.TempDir(), "sqlite:?synchronous=off")
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				ended := make(chan error, 1)
				go func() {
					_, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { time.Sleep(held); return nil })
					ended <- err
				}()
				synctest.Wait()
				began, ran := time.Now(), false
				_, err = s.Write(tt.ctx(t.Context()), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { ran = true; return nil })
				if !errors.Is(err, tt.err) || ran != (err == nil) {
					t.Errorf("ended with %v, ran %v; want %v", err, ran, tt.err)
				}
				if over, ok := errors.AsType[*hazard.LimitError](err); ok != (tt.err == hazard.ErrUnavailable) || ok && over.RetryAfter != 5*time.Second {
					t.Errorf("%v is no limit with a time to retry after", err)
				}
				if took := time.Since(began); took != tt.waits {
					t.Errorf("waited for %v, want %v", took, tt.waits)
				}
				if err := <-ended; err != nil {
					t.Errorf("the writer before ended with %v", err)
				}
				if _, err := s.Write(t.Context(), hazard.Instant(1), store.Origin{Admin: true}, func(*store.Tx) error { return nil }); err != nil {
					t.Errorf("after that: %v", err)
				}
			})
		})
	}
}
