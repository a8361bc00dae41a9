package store

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Leases elects one process for a task. At most one process has a lease at a time, by the clock that
// all nodes use.
type Leases struct {
	*core
	held sync.Map // name → until when this process has the lease, or hazard.MinInstant; see Held
	mu   sync.Mutex
	next *renewals // those that have not begun; guarded by mu
}

// wanted is a lease that holder takes or renews.
type wanted struct {
	name, holder string
	now, until   hazard.Instant // by the holder's clock
	taken        bool
}

// renewals are renewals of leases that share a statement.
type renewals struct {
	all  []*wanted
	err  error
	done chan struct{}
}

// Take takes or renews a lease for holder until a moment, and reports whether holder has it
// now. At most one process has it. now is the holder's time; on PostgreSQL the database's clock is
// used instead, and until is moved by the difference. A lease is taken without a wait for writers but, on SQLite,
// the one that is at work. It is renewed as inPassing says.
//
// A lease that ends more than twice its length ahead was made by a wrong clock and does not count.
// Otherwise a clock that was briefly 6 hours ahead would block everybody for 6 hours if its process
// restarted. If the clock goes back while the holder lives, two processes have the lease until the
// holder tries to renew it.
func (s *Leases) Take(ctx context.Context, name, holder string, now, until hazard.Instant) (bool, error) {
	w := &wanted{name: name, holder: holder, now: now, until: until}
	var err error
	if ends, ok := s.held.Load(name); ok && now < ends.(hazard.Instant) && s.database.remote() {
		err = s.renewTogether(ctx, w)
	} else {
		err = s.aside(Ranked(ctx, People), func(ctx context.Context, d sqlc.DBTX, q *sqlc.Queries) error {
			return s.database.lease(ctx, d, q, []*wanted{w})
		})
	}
	switch {
	case err != nil: // an earlier lease stays valid until its end
		s.held.LoadOrStore(name, hazard.MinInstant)
	case w.taken:
		s.held.Store(name, until)
	default:
		s.held.Store(name, hazard.MinInstant)
	}
	return w.taken && err == nil, err
}

// renewTogether renews a lease together with all others that are renewed before it begins.
func (s *Leases) renewTogether(ctx context.Context, w *wanted) error {
	s.mu.Lock()
	r := s.next
	first := r == nil || slices.ContainsFunc(r.all, func(other *wanted) bool { return other.name == w.name })
	if first {
		r = &renewals{done: make(chan struct{})}
		s.next = r
	}
	r.all = append(r.all, w)
	s.mu.Unlock()
	if !first {
		<-r.done
		return r.err
	}
	begin := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.next == r {
			s.next = nil
		}
	}
	defer close(r.done)
	defer begin()
	r.err = s.inPassing(ctx, func(ctx context.Context, d sqlc.DBTX, q *sqlc.Queries) error {
		begin()
		return s.database.lease(ctx, d, q, r.all)
	})
	return r.err
}

// passTime is how long a renewal waits for a transaction that takes it along. It is long beside a commit of a slow
// disk, and leaves time for another try.
const passTime = 3 * time.Second

// inPassing runs f, a single statement that is atomic by itself, with the transaction of a feed. While no writer of
// this process is at work, or after passTime, it runs beside them: so the sync that it costs does not come between an
// editor's and the one before.
func (s *core) inPassing(ctx context.Context, f func(context.Context, sqlc.DBTX, *sqlc.Queries) error) error {
	of := &shared{run: func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error { return f(ctx, tx, q) }, small: true, done: make(chan struct{})}
	turn := s.turns.join(People, of)
	late := time.NewTimer(passTime)
	defer late.Stop()
	err := errAlong
	select {
	case <-turn.come:
	case <-of.done:
		err = of.result()
	case <-late.C:
		err = s.turns.given(turn, errAlong)
	case <-ctx.Done():
		err = s.turns.given(turn, ctx.Err())
	}
	s.turns.leave(turn)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return s.aside(ctx, f)
}

// Held reports, for each lease that this process has tried to take, whether it has it.
func (s *Leases) Held(now hazard.Instant) map[string]bool {
	all := map[string]bool{}
	s.held.Range(func(name, until any) bool {
		all[name.(string)] = now < until.(hazard.Instant)
		return true
	})
	return all
}

// Drop releases a lease if holder has it.
func (s *Leases) Drop(ctx context.Context, name, holder string) error {
	s.held.Store(name, hazard.MinInstant)
	return s.aside(Ranked(ctx, People), func(ctx context.Context, _ sqlc.DBTX, q *sqlc.Queries) error {
		return q.DropLease(ctx, sqlc.DropLeaseParams{Name: name, Holder: holder})
	})
}
