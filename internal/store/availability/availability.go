// Package availability tracks whether the database server of a node is reachable. It cancels what
// waits for an unreachable one, and wakes callers that wait for changes. A file is always
// reachable.
//
// It sends no queries by itself: callers report who got an answer, and give Watch the query.
package availability

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

// ErrAway refuses what needs a database that does not answer.
var ErrAway = fmt.Errorf("%w: the database does not answer", hazard.ErrUnavailable)

// probeTime is how long a database may take to answer the question of Watch.
const probeTime = 3 * time.Second

// Reach is what one node knows of its database. It is safe for concurrent use.
type Reach struct {
	away     atomic.Bool
	answered atomic.Int64 // when the database last answered; Unix nanoseconds

	mu    sync.Mutex
	wake  chan struct{}   // closed and replaced by Wake
	there context.Context // ended by lose when the database is away
	lose  context.CancelFunc
}

// New makes a Reach of a database that is there.
func New() *Reach {
	r := &Reach{wake: make(chan struct{})}
	r.there, r.lose = context.WithCancel(context.Background())
	return r
}

// Close gives back what it holds.
func (r *Reach) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose()
}

// Away reports whether the database does not answer.
func (r *Reach) Away() bool { return r.away.Load() }

// Answered notes that the database has answered.
func (r *Reach) Answered() { r.answered.Store(time.Now().UnixNano()) }

// SetAway notes whether the database is away. What is under way then ends: what became of a transaction that was being committed is
// not known. When it is back, those who wait for changes are woken.
func (r *Reach) SetAway(away bool) {
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

// While is ctx, ended with the cause ErrAway when the database is away.
func (r *Reach) While(ctx context.Context) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	there := r.there
	r.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(there, func() { cancel(ErrAway) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Wake wakes those who wait for changes.
func (r *Reach) Wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.wake)
	r.wake = make(chan struct{})
}

// Woken is closed by the next Wake, and when the database is back.
func (r *Reach) Woken() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wake
}

// Watch asks whether the database is away, until ctx ends: once a second, and while it is away once in every. Those who follow the
// log do not: they read before they wait, and do not wait long. The error of ping is hazard.ErrUnavailable if the database is away.
func (r *Reach) Watch(ctx context.Context, every time.Duration, ping func(context.Context) error) {
	for {
		wait := time.Second
		if r.Away() {
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

func (r *Reach) probe(ctx context.Context, ping func(context.Context) error) {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	away := errors.Is(ping(bounded), hazard.ErrUnavailable)
	// If it has answered others meanwhile, a connection of its own was lost, no more.
	if ctx.Err() != nil || away && r.answered.Load() > began.UnixNano() {
		return
	}
	r.SetAway(away)
}

// Guarded asks a database that is not away, and refuses at once what is asked of one that is.
type Guarded struct {
	*sql.DB
	Reach *Reach
}

// over is a context whose time is over, if the database is away.
func (g Guarded) over(ctx context.Context) context.Context {
	if !g.Reach.Away() {
		return ctx
	}
	ctx, cancel := context.WithDeadline(ctx, time.Time{})
	cancel()
	return ctx
}

// ExecContext is that of sql.DB.
func (g Guarded) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return g.DB.ExecContext(g.over(ctx), query, args...)
}

// QueryContext is that of sql.DB.
func (g Guarded) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return g.DB.QueryContext(g.over(ctx), query, args...)
}

// QueryRowContext is that of sql.DB.
func (g Guarded) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return g.DB.QueryRowContext(g.over(ctx), query, args...)
}
