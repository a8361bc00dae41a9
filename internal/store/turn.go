package store

import (
	"context"
	"slices"
	"sync"
	"time"
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
// waits for ever.
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
	waiting []*turn // in order of arrival
}

// turn is that of one writer.
type turn struct {
	rank  Rank
	since time.Time
	come  chan struct{} // closed when it has come
}

// join queues a writer.
func (q *turns) join(r Rank) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := &turn{r, time.Now(), make(chan struct{})}
	if !q.taken {
		q.taken = true
		close(t.come)
		return t
	}
	q.waiting = append(q.waiting, t)
	return t
}

// leave ends a turn, come or not.
func (q *turns) leave(t *turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		return
	}
	if len(q.waiting) == 0 {
		q.taken = false
		return
	}
	now := time.Now()
	rank := func(t *turn) int { return int(t.rank) - int(now.Sub(t.since)/ageing) }
	next := slices.MinFunc(q.waiting, func(a, b *turn) int { return rank(a) - rank(b) }) // the first of equals
	q.waiting = slices.Delete(q.waiting, slices.Index(q.waiting, next), slices.Index(q.waiting, next)+1)
	close(next.come)
}
