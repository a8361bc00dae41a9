// Package lease ensures that only one of all processes that share a store does certain work at a
// time.
//
// The holder of a lease renews it. If the holder dies, another process gets the lease within For
// plus Try, which is less than 10 seconds. A process that was suspended for a while may have lost
// its lease without noticing it. So work that must not be done twice calls Valid before it takes
// effect. No goroutine is left after Hold returns.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// The times of a lease. If the store does not respond once, the holder still has two more tries.
const (
	For   = 8 * time.Second         // how long a lease is valid
	renew = 2500 * time.Millisecond // how often its holder renews it
	Try   = time.Second             // how often the other processes try to get it
)

// Store is the part of the store that keeps leases.
type Store interface {
	// TakeLease takes or renews the named lease for holder until a moment, and reports whether
	// holder has it now.
	Take(ctx context.Context, name, holder string, now, until hazard.Instant) (bool, error)
	// DropLease releases a lease if holder has it.
	Drop(ctx context.Context, name, holder string) error
}

// Lease is a lease as seen by its holder. The zero Lease and nil are not valid.
type Lease struct{ until atomic.Pointer[time.Time] }

// Valid reports whether the lease is still valid.
func (l *Lease) Valid() bool {
	if l == nil {
		return false
	}
	until := l.until.Load()
	return until != nil && time.Now().Before(*until)
}

// Holder returns a name for this process that no other process has.
func Holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString()[:8])
}

// Lost returns what to call when a lease is lost: it logs whether another node has the work now, or
// whether nobody has it, because the lease cannot be renewed. work completes "another node now …".
func Lost(log *slog.Logger, work string) func(error) {
	return func(err error) {
		if err != nil {
			log.Warn("the lease cannot be renewed; no node does its work until that succeeds", "work", work, "error", err)
			return
		}
		log.Warn("another node now " + work)
	}
}

// Hold runs work while holder has the named lease, and reports whether holder got it. When the
// lease is lost, it calls lost and cancels the context of work.
func Hold(ctx context.Context, s Store, name, holder string, lost func(error), work func(context.Context, *Lease)) (ran bool, err error) {
	l := &Lease{}
	if ok, err := l.renew(ctx, s, name, holder); !ok || err != nil {
		return false, err
	}
	working, stop := context.WithCancel(ctx)
	renewing, done := context.WithCancel(context.WithoutCancel(ctx)) // until all work has ended
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			timer := time.NewTimer(renew - time.Duration(time.Now().UnixNano())%renew) // with the process's other leases
			select {
			case <-renewing.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			ok, err := l.renew(renewing, s, name, holder)
			if renewing.Err() != nil {
				return
			}
			if err == nil && !ok || err != nil && !l.Valid() {
				lost(err)
				stop()
				return
			}
		}
	})
	work(working, l)
	stop()
	done()
	wg.Wait()
	return true, s.Drop(context.WithoutCancel(ctx), name, holder)
}

func (l *Lease) renew(ctx context.Context, s Store, name, holder string) (bool, error) {
	now := time.Now()
	until := now.Add(For)
	ok, err := s.Take(ctx, name, holder, hazard.At(now), hazard.At(until))
	if ok && err == nil {
		l.until.Store(&until)
	}
	return ok, err
}
