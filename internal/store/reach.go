package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// errAway refuses what needs a database that does not answer.
var errAway = fmt.Errorf("%w: the database does not answer", hazard.ErrUnavailable)

// probeTime is how long a database may take to answer the query of watch.
const probeTime = 3 * time.Second

// reach tracks whether the database server of one node is reachable. It cancels what waits for an
// unreachable one, and wakes callers that wait for changes. A file is always reachable.
//
// It sends no queries by itself: callers report who got an answer, and give watch the query. It is
// safe for concurrent use.
type reach struct {
	away     atomic.Bool
	answered atomic.Int64 // when the database last answered; Unix nanoseconds

	mu    sync.Mutex
	wake  chan struct{}   // closed and replaced by wakeAll
	there context.Context // ended by lose when the database is away
	lose  context.CancelFunc
}

// newReach returns the state of a database that is there.
func newReach() *reach {
	r := &reach{wake: make(chan struct{})}
	r.there, r.lose = context.WithCancel(context.Background())
	return r
}

// close gives back what it holds.
func (r *reach) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose()
}

// isAway reports whether the database does not answer.
func (r *reach) isAway() bool { return r.away.Load() }

// noteAnswer notes that the database has answered.
func (r *reach) noteAnswer() { r.answered.Store(time.Now().UnixNano()) }

// setAway notes whether the database is away. What is under way then ends: what became of a transaction that was being committed is
// not known. When it is back, those who wait for changes are woken.
func (r *reach) setAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away.Swap(away) == away {
		return
	}
	if away {
		r.lose()
		return
	}
	r.there, r.lose = context.WithCancel(context.Background())
	close(r.wake)
	r.wake = make(chan struct{})
}

// while is ctx, ended with the cause errAway when the database is away.
func (r *reach) while(ctx context.Context) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	there := r.there
	r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(there, func() { cancel(errAway) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// wakeAll wakes those who wait for changes.
func (r *reach) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.wake)
	r.wake = make(chan struct{})
}

// woken is closed by the next wakeAll, and when the database is back.
func (r *reach) woken() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wake
}

// watch asks whether the database is away, until ctx ends: once a second, and while it is away once in every. Those who follow the
// log do not: they read before they wait, and do not wait long. The error of ping is hazard.ErrUnavailable if the database is away.
func (r *reach) watch(ctx context.Context, every time.Duration, ping func(context.Context) error) {
	for {
		wait := time.Second
		if r.isAway() {
			wait = every
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		r.probe(ctx, ping)
	}
}

func (r *reach) probe(ctx context.Context, ping func(context.Context) error) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	away := errors.Is(ping(bounded), hazard.ErrUnavailable)
	// If it has answered others meanwhile, a connection of its own was lost, no more.
	if ctx.Err() != nil || away && r.answered.Load() > began.UnixNano() {
		return
	}
	r.setAway(away)
}

// guarded queries a database that is reachable, and refuses queries at once while it is not.
type guarded struct {
	*sql.DB
	reach *reach
}

// over is a context whose time is over, if the database is away.
func (g guarded) over(ctx context.Context) context.Context {
	if !g.reach.isAway() {
		return ctx
	}
	ctx, cancel := context.WithDeadline(ctx, time.Time{})
	cancel()
	return ctx
}

// ExecContext is that of sql.DB.
func (g guarded) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return g.DB.ExecContext(g.over(ctx), query, args...)
}

// QueryContext is that of sql.DB.
func (g guarded) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return g.DB.QueryContext(g.over(ctx), query, args...)
}

// QueryRowContext is that of sql.DB.
func (g guarded) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return g.DB.QueryRowContext(g.over(ctx), query, args...)
}
