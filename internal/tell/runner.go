// Package tell delivers messages about changes of hazards to receivers outside of the service.
//
// It has what all deliveries have in common; what is delivered, and how, is in the packages webhook
// (each change, in order) and subscription (what a person still has to be told). A Runner ensures
// that one process at a time queues deliveries for each change in the log. A Lane sends what waits
// for one receiver, several messages at once, and spares a receiver that fails. Deliveries are
// stored by the packages that queue them, so they survive a crash.
package tell

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/store/lease"
)

const (
	// LookEvery is how soon a change of a receiver takes effect.
	LookEvery = time.Second
	// NoteEvery is how often the position in the log is stored while there is nothing to deliver.
	NoteEvery = 10 * time.Second
	// MaxAge is the maximum age of a change that is still delivered.
	MaxAge = 3 * 24 * time.Hour
	// keep is how long the results of deliveries are stored.
	keep       = 30 * 24 * time.Hour
	purgeEvery = time.Hour
)

// Lease is the right to deliver, which may be lost.
type Lease interface{ Valid() bool }

// ErrNoLease means that another process may be delivering by now.
var ErrNoLease = errors.New("the lease is over")

// Log is the part of the follower of the change log that a Runner reads.
type Log interface {
	After(ctx context.Context, n int64) (changes []*follow.Entry, upTo int64, wake <-chan struct{}, err error)
}

// Queue holds the deliveries of all receivers and sends them. It belongs to one goroutine.
type Queue interface {
	// Refresh follows changes of the receivers. It returns the change up to which all deliveries are
	// queued, and whether there are receivers.
	Refresh(ctx context.Context) (from int64, any bool, err error)
	// Add queues the deliveries of changes, which are complete up to upTo.
	Add(ctx context.Context, changes []*follow.Entry, upTo int64) error
	// Reset forgets what Refresh returned, because the log was replaced: the store knows the change
	// up to which the deliveries of the new one are queued.
	Reset()
	// Purge removes the results of deliveries from before a moment.
	Purge(ctx context.Context, before hazard.Instant) error
	// Close ends all lanes and waits for them.
	Close()
}

// Runner queues deliveries for each change in the log. All fields are required.
type Runner struct {
	Name   string // of the lease
	Store  lease.Store
	Log    Log
	Now    func() time.Time
	Logger *slog.Logger
	// Any reports whether there are receivers, while this process does not deliver.
	Any func(context.Context) (bool, error)
	// Open opens the queue, for as long as the lease is valid.
	Open func(context.Context, *lease.Lease) Queue
	// The log messages: the lease was lost; nobody delivers; changes cannot be queued.
	LostLease, NotRunning, Failed string
}

// Run delivers until ctx ends, whenever there are receivers and no other process delivers. It
// returns when every goroutine that it started has ended; its error is always nil.
func (r *Runner) Run(ctx context.Context) error {
	holder, warned := lease.Holder(), false
	for ctx.Err() == nil {
		any, err := r.Any(ctx)
		if err == nil && any {
			lost := func(err error) { r.Logger.Warn(r.LostLease, "error", err) }
			_, err = lease.Hold(ctx, r.Store, r.Name, holder, lost, r.lead)
		}
		if err != nil && !warned && ctx.Err() == nil {
			r.Logger.Warn(r.NotRunning, "error", err)
		}
		warned = err != nil
		clock.Sleep(ctx, lease.Try)
	}
	return nil
}

// lead delivers until ctx ends or there are no receivers any more.
func (r *Runner) lead(ctx context.Context, l *lease.Lease) {
	q := r.Open(ctx, l)
	defer q.Close()
	var purged time.Time
	for ctx.Err() == nil {
		any, wake, err := r.follow(ctx, q)
		if err == nil && !any {
			return
		}
		if now := r.Now(); err == nil && now.Sub(purged) > purgeEvery {
			purged = now
			err = q.Purge(ctx, hazard.At(now).Add(-keep))
		}
		if err != nil {
			if ctx.Err() == nil {
				r.Logger.Warn(r.Failed, "error", err)
			}
			clock.Sleep(ctx, LookEvery)
			continue
		}
		look := time.NewTimer(LookEvery)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-look.C:
		}
		look.Stop()
	}
}

// follow queues deliveries for new changes. wake is closed when there may be more.
func (r *Runner) follow(ctx context.Context, q Queue) (any bool, wake <-chan struct{}, err error) {
	for wake == nil {
		from, any, err := q.Refresh(ctx)
		if err != nil || !any {
			return any, nil, err
		}
		changes, upTo, more, err := r.Log.After(ctx, from)
		if _, ok := errors.AsType[*store.ForkedError](err); ok {
			q.Reset()
		}
		if err == nil {
			err = q.Add(ctx, changes, upTo)
		}
		if err != nil {
			return true, nil, err
		}
		wake = more
	}
	return true, wake, nil
}
