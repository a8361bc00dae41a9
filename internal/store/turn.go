package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Rank is the order in which the writers of a process get their turns: people before feeds that
// warn, these before other feeds, and bookkeeping last. So an editor's warning waits for the commit
// that is under way and for its own, whatever else waits.
type Rank int

// These are the ranks.
const (
	People      Rank = iota // requests, and the leases by which everything else goes on
	Warnings                // sources that warn of present or coming danger
	Feeds                   // other sources
	Bookkeeping             // all other background work
)

// ageing is how long a writer waits until it counts as one of the next higher rank, so that none
// waits for ever; see turns.next.
const ageing = 5 * time.Second

type rankKey struct{}

// Ranked returns ctx for writes of a rank. Without it, the rank of background work (Patient) is
// Bookkeeping, and that of all else People.
func Ranked(ctx context.Context, r Rank) context.Context {
	return context.WithValue(ctx, rankKey{}, r)
}

func rankOf(ctx context.Context) Rank {
	if r, ok := ctx.Value(rankKey{}).(Rank); ok {
		return r
	}
	if ctx.Value(patientKey{}) != nil {
		return Bookkeeping
	}
	return People
}

// turns is the queue of the writers of a process. One at a time has the turn.
type turns struct {
	mu      sync.Mutex
	taken   bool
	people  bool          // the last turn was one of people's
	held    bool          // only people get turns
	waiting []*turn       // in order of arrival
	refused time.Time     // when a request last did not get its turn
	comes   chan struct{} // closed when the next write of a person joins; see person
}

// turn is that of one writer.
type turn struct {
	rank   Rank
	since  time.Time
	come   chan struct{} // closed when it has come
	shared *shared       // nil: the write needs a transaction of its own
}

// transaction is what runs in one.
type transaction func(context.Context, *sql.Tx, *sqlc.Queries) error

// shared is a write that another writer's transaction may take along: on a slow disk each commit counts.
type shared struct {
	run    transaction
	small  bool // of a few statements, such as the renewal of a lease: every transaction takes it along, others only those of feeds
	person bool // of a person: only flushBefore takes it along, and it never runs twice
	along  bool // another transaction takes it along; guarded by turns.mu
	err    error
	fault  string        // the panic of run, with its stack; empty: none
	done   chan struct{} // closed when it was taken along
}

// in runs the write in the transaction of another writer, whom a panic does not concern.
func (s *shared) in(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) {
	defer func() {
		if p := recover(); p != nil {
			s.fault = fmt.Sprintf("%v\n%s", p, debug.Stack())
			s.err = errors.New("panic")
		}
	}()
	s.err = s.run(ctx, tx, q)
}

// result returns what the write that was taken along has returned. It panics if that did.
func (s *shared) result() error {
	if s.fault != "" {
		panic(s.fault)
	}
	return s.err
}

// groupTime is how long the transaction of a feed takes other feeds along. It is short beside a slow
// commit, and a fast one is not late by it.
const groupTime = 250 * time.Millisecond

// join queues a writer.
func (q *turns) join(r Rank, of *shared) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &turn{r, time.Now(), make(chan struct{}), of}
	q.waiting = append(q.waiting, t)
	if !q.taken {
		q.pass()
	}
	if of != nil && of.person && q.comes != nil {
		close(q.comes)
		q.comes = nil
	}
	return t
}

// waits reports whether a writer of a higher rank waits. Small writes do not count: they are taken
// along, and come often.
func (q *turns) waits(than Rank) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.waiting, func(t *turn) bool { return t.rank < than && (t.shared == nil || !t.shared.small) })
}

// person takes the write of a person out of the queue, or returns a channel that is closed when one joins.
func (q *turns) person() (*shared, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.waiting, func(t *turn) bool { return t.shared != nil && t.shared.person })
	if i < 0 {
		q.comes = make(chan struct{})
		return nil, q.comes
	}
	q.comes = nil
	of := q.waiting[i].shared
	of.along = true
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return of, nil
}

// hold lets only people have turns, until it ends.
func (q *turns) hold(held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held = held; !q.taken {
		q.pass()
	}
}

// leave ends a turn, come or not.
func (q *turns) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	if t.shared != nil && t.shared.along {
		return // it had no turn
	}
	q.pass()
}

// pass gives the turn to the next writer, if there is one. The caller holds mu.
func (q *turns) pass() {
	next := q.next(time.Now())
	if q.taken = next != nil; !q.taken {
		return
	}
	q.people = next.rank == People
	q.waiting = slices.Delete(q.waiting, slices.Index(q.waiting, next), slices.Index(q.waiting, next)+1)
	close(next.come)
}

// next chooses whose turn comes, of those who wait: by rank, and people after at most one other. A
// writer that waits for long rises, but not above people: after a turn of people's, the one of the
// others that has risen to them gets one. It returns nil if nobody may have it.
func (q *turns) next(now time.Time) *turn {
	order := func(t *turn) int { // the lowest is next, of equals the first
		rank := 3 * int(t.rank)
		if t.rank != People {
			if rank = 3 * (int(t.rank) - int(now.Sub(t.since)/ageing)); rank <= 0 {
				rank = 1
				if q.people {
					rank = -1
				}
			}
		}
		if t.shared != nil && t.shared.small { // the others of its rank take it along
			rank++
		}
		return rank
	}
	var first *turn
	for _, t := range q.waiting {
		if (t.rank == People || !q.held) && (first == nil || order(t) < order(first)) {
			first = t
		}
	}
	return first
}

// board takes a write out of the queue that a transaction takes along: a small one, or, in that of a
// feed, another feed's if that is next in line, so that nobody waits longer. If inOrder is set, that counts for
// small ones too. It returns nil if there is none.
func (q *turns) board(feed, inOrder bool) *shared {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.waiting, func(t *turn) bool { return t.shared != nil && t.shared.small })
	if inOrder || i < 0 && feed {
		i = slices.Index(q.waiting, q.next(time.Now()))
	}
	if i < 0 {
		return nil
	}
	along := q.waiting[i].shared
	if along == nil || along.person || !along.small && !feed {
		return nil
	}
	along.along = true
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return along
}

// given returns the result of a write that gives up for the reason err, or that of its transaction, if
// another writer takes it along already.
func (q *turns) given(t *turn, err error) error {
	q.mu.Lock()
	along := t.shared != nil && t.shared.along
	if slices.Contains(q.waiting, t) {
		t.shared = nil // nobody takes it along any more
	}
	if !along && errors.Is(err, errBusy) {
		q.refused = time.Now()
	}
	q.mu.Unlock()
	if !along {
		return err
	}
	<-t.shared.done
	return t.shared.result()
}

// takeAlong runs writes that wait in the transaction of another writer, since it began. One that fails is
// undone, and harms no other. If errors of the database come late, it is not known whose they are: one that
// fails ends the transaction, and each runs in one of its own. taken are those that share the end of the transaction.
func (q *turns) takeAlong(ctx context.Context, tx *sql.Tx, queries *sqlc.Queries, feed, late bool, began time.Time) (taken []*shared, err error) {
	for {
		soon := time.Since(began) < groupTime
		if late && !soon { // a database that is far away takes long over small writes too
			return taken, nil
		}
		s := q.board(feed && soon, late)
		if s == nil {
			return taken, nil
		}
		taken = append(taken, s)
		if late {
			if s.in(ctx, tx, queries); s.err != nil {
				if s.fault == "" {
					s.err = nil
				}
				return taken, errAlong
			}
			continue
		}
		if _, err := tx.ExecContext(ctx, `SAVEPOINT along`); err != nil {
			return taken, err
		}
		if s.in(ctx, tx, queries); s.err != nil {
			if _, err := tx.ExecContext(ctx, `ROLLBACK TO along`); err != nil {
				return taken, errors.Join(errAlong, err)
			}
		}
		if _, err := tx.ExecContext(ctx, `RELEASE along`); err != nil {
			return taken, err
		}
	}
}

// slowCommit is how long a commit takes at least on a disk where commits count.
const slowCommit = 100 * time.Millisecond

// flushBefore brings what the transaction of a feed has written so far to the disk, before its commit. Others sync the
// log too, and a commit may have to wait for them before its own sync begins; a person who waits for that commit
// would wait for both, and for as many again for their own. A person who comes meanwhile is taken along instead: by
// then all statements of the feed have succeeded, so an error of the transaction is that person's.
func (s *core) flushBefore(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) (*shared, error) {
	alive := func() error {
		_, err := tx.ExecContext(ctx, `SELECT 1`)
		return err
	}
	if err := alive(); err != nil {
		return nil, err
	}
	flushed := make(chan struct{})
	for begun := false; ; {
		person, comes := s.turns.person()
		if person != nil {
			if person.in(ctx, tx, q); person.err != nil {
				return person, errAlong
			}
			return person, nil
		}
		if !begun {
			begun = true
			s.listening.Go(func() {
				defer close(flushed)
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), TurnTime)
				defer cancel()
				_ = s.database.flush(ctx, s.read) // it only helps
			})
		}
		select {
		case <-comes:
		case <-flushed:
			return nil, nil
		case <-time.After(idleWriter / 3):
			if err := alive(); err != nil {
				return nil, err
			}
		}
	}
}

// errAlong ends a transaction that took along a write whose failure has ended it, such as a damaged page.
var errAlong = fmt.Errorf("%w: another write of the transaction has ended it", hazard.ErrUnavailable)

// landed tells writes how the transaction that took them along has ended.
func landed(all []*shared, err error) {
	for _, s := range all {
		if err != nil && (s.err == nil || !errors.Is(err, errAlong)) {
			s.err = err
		}
		s.err = storeError(s.err)
		close(s.done)
	}
}

// busyFor is how long the store counts as busy after a request did not get its turn.
const busyFor = 30 * time.Second

// Busy returns how long requests to write have to wait at present, if that is TurnTime or so: a request
// waits for half of it, or has waited in vain within busyFor. Otherwise it returns 0.
func (s *Store) Busy() time.Duration {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	now := time.Now()
	longest := time.Duration(0)
	for _, t := range s.turns.waiting {
		if t.rank == People && (t.shared == nil || !t.shared.small) {
			longest = max(longest, now.Sub(t.since))
		}
	}
	if longest < TurnTime/2 {
		longest = 0
	}
	if refused := s.turns.refused; !refused.IsZero() && now.Sub(refused) < busyFor {
		longest = max(longest, TurnTime)
	}
	return longest
}
