// Package follow reads the change log once for all its followers: the live view, streams and
// webhooks.
//
// A Tail reads each change once, passes it to the view, and keeps it in memory for the other
// followers, which ask for the changes after a number. So they never see a change before the lists
// do, a slow follower only delays itself, and a failing one stops nobody. Older changes are read
// from the log by the same code. The memory is bounded in bytes, including the texts derived from
// changes; an entry only holds the products of its own change.
//
// When a history was replaced, the view is read again and the memory begins after the fork. It
// never contains changes from before a fork. A follower that is before the fork reads the log,
// which returns a *store.ForkedError.
package follow

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Log is the part of the store that a Tail reads.
type Log interface {
	// Page reads a piece of the change log in commit order. There are no gaps except at forks and at
	// damaged changes, which it names. It returns a *store.ForkedError if the number belongs to a replaced history.
	Page(ctx context.Context, p store.LogPage) (store.LogPiece, error)
	// Behind makes a fork if the log ends before change n.
	Behind(ctx context.Context, n int64) error
	// Wait returns when a change above n may exist, or when ctx ends.
	Wait(ctx context.Context, n int64) error
	// HazardsBefore returns the latest states of hazards before change n, if they existed.
	HazardsBefore(ctx context.Context, ids []int64, n int64) (map[int64]*hazard.Hazard, error)
	// ProductsThen lists the products that the hazard of each change had as of that change, by the
	// numbers of the changes. It reads only ids and audiences.
	ProductsThen(ctx context.Context, changes []hazard.Change) (map[int64][]*hazard.Product, error)
	// JudgeByPresent sets today's audience on products of the past.
	JudgeByPresent(ctx context.Context, products []*hazard.Product) error
}

// View is the follower that is updated first: the lists.
type View interface {
	// Number returns the number of the view's last change.
	Number() int64
	// Apply adds changes that follow the view's number, as of a moment.
	Apply(ctx context.Context, changes []hazard.Change, at hazard.Instant) error
	// Renew rebuilds a view that contains changes of a void history.
	Renew(ctx context.Context, fork *store.ForkedError, at hazard.Instant) error
	// Current records that the view was up to date at a moment.
	Current(at hazard.Instant)
	// Expire removes ended hazards, and returns when the next one ends.
	Expire() hazard.Instant
}

// Bounds limits the memory of a Tail.
type Bounds struct {
	Changes int   // number of changes
	Bytes   int64 // approximate bytes of their texts and of the texts derived from them
}

// Memory is the default bound. At the rate of changes in a disaster it holds some minutes.
var Memory = Bounds{Changes: 1024, Bytes: 32 << 20}

// How much of the log is read at once. An editor's product may hold 4 MiB of text.
const (
	maxRead   = 256
	readBytes = 2 << 20
	// maxGiven is how many changes a follower behind the memory gets at once.
	maxGiven = 32
	// readers is how many followers behind the memory read the log at once. The others wait,
	// because lists and writers need the store too.
	readers = 4
	// retry is the delay after a failed read of the log.
	retry = time.Second
)

// Tail follows the log. It is safe for concurrent use.
type Tail struct {
	log    Log
	view   View
	now    func() hazard.Instant
	bounds Bounds
	logger *slog.Logger
	turns  chan struct{} // held while reading the log behind the memory

	mu    sync.RWMutex // guards the fields below
	ring  []*Entry     // in log order
	bytes int64        // approximate size of ring
	from  int64        // ring holds every change after from, up to last
	last  int64
	wake  chan struct{} // closed and replaced on news
}

// New creates a Tail of log that keeps view up to date; Run starts it. now is the service's clock.
func New(log Log, view View, now func() hazard.Instant, bounds Bounds, logger *slog.Logger) *Tail {
	from := max(0, view.Number()-int64(bounds.Changes)) // Run reads these again, for readers who resume after a restart
	return &Tail{log: log, view: view, now: now, bounds: bounds, logger: logger, turns: make(chan struct{}, readers), from: from, last: from, wake: make(chan struct{})}
}

// Run follows the log until ctx ends. While the log cannot be read, the view stays as it is, except
// that ended hazards leave it, and the other followers wait. It retries each second.
func (t *Tail) Run(ctx context.Context) error {
	away := false // log the failure once, and its end
	for ctx.Err() == nil {
		err := t.CatchUp(ctx)
		if err == nil && away {
			away = false
			t.logger.Warn("the change log can be read again")
		}
		if err == nil {
			err = t.wait(ctx)
		}
		if err != nil && ctx.Err() == nil {
			if !away {
				away = true
				t.logger.Warn("cannot read the change log; serving the last view", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
		t.view.Expire()
	}
	return nil
}

// wait waits for a change, the next end of a hazard, or a second, whichever comes first.
func (t *Tail) wait(ctx context.Context) error {
	// At most a second, so that the view's age stays accurate, plus a millisecond, the unit of
	// ends. The order of operations avoids an overflow: without any end, the time until the next
	// one is the maximum duration.
	until := min(t.view.Expire().Time().Sub(t.now().Time()), time.Second) + time.Millisecond
	waiting, cancel := context.WithTimeout(ctx, max(until, 0))
	defer cancel()
	if err := t.log.Wait(waiting, t.last); err != nil && waiting.Err() == nil { // only this goroutine writes last
		return err
	}
	return nil
}

// CatchUp reads everything that the log holds now. Only one caller at a time: Run, or a test
// instead of it.
func (t *Tail) CatchUp(ctx context.Context) error {
	for {
		more, err := t.step(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// step reads the next piece of the log. more reports whether there is more.
func (t *Tail) step(ctx context.Context) (more bool, err error) {
	asked, n := t.now(), t.last
	read, err := t.log.Page(ctx, store.LogPage{After: n, Limit: maxRead, Bytes: readBytes, Everything: true})
	if fork, ok := errors.AsType[*store.ForkedError](err); ok {
		if v := t.view.Number(); v > fork.Last && v < fork.Start {
			if err := t.view.Renew(ctx, fork, asked); err != nil {
				return false, err
			}
		}
		t.forget(fork.Start)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if read.Last < n { // an earlier state of the database has taken its place
		return true, t.log.Behind(ctx, n)
	}
	changes, damaged, upTo := read.Changes, read.Damaged, n
	whole := 0 // changes before a fork
	for ; ; upTo++ {
		if len(damaged) > 0 && damaged[0] == upTo+1 {
			damaged = damaged[1:]
		} else if whole < len(changes) && changes[whole].Number == upTo+1 {
			whole++
		} else {
			break
		}
	}
	switch {
	case upTo > n: // pass on what came before the fork first, so that it is not lost
		more, changes = read.Next > 0 || read.Last > upTo, changes[:whole]
	case len(changes)+len(damaged) > 0: // what comes after the fork is read again
		next := slices.Concat(damaged, []int64{math.MaxInt64})[0]
		if len(changes) > 0 {
			next = min(next, changes[0].Number)
		}
		t.forget(next - 1)
		return true, nil
	case read.Next > 0:
		t.forget(read.Next)
		return true, nil
	case read.Last > n:
		t.forget(read.Last)
		t.view.Current(asked)
		return false, nil
	}
	fresh := slices.IndexFunc(changes, func(c hazard.Change) bool { return c.Number > t.view.Number() })
	if fresh >= 0 {
		if err := t.view.Apply(ctx, changes[fresh:], asked); err != nil {
			return false, err
		}
	}
	if !more {
		t.view.Current(asked)
	}
	if upTo > n {
		t.add(t.entries(changes), upTo)
	}
	return more, nil
}

// forget makes the memory begin after n.
func (t *Tail) forget(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring, t.bytes, t.from, t.last = nil, 0, n, n
	t.alarm()
}

// add adds entries to the memory: all changes after its last one, up to last.
func (t *Tail) add(entries []*Entry, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		if e.Redacts() { // the log was rewritten, so drop the earlier copies
			for _, o := range t.ring {
				o.kept = false
			}
			t.ring, t.bytes, t.from = nil, 0, e.Number-1
		}
		e.kept = true
		t.bytes += e.size
		t.ring = append(t.ring, e)
		if e.Product != nil && e.Kind != hazard.ProductCreated {
			t.judge(e.Product)
		}
	}
	t.last = last
	t.trim()
	t.alarm()
}

// judge applies the latest audience of a product to its changes in memory. The caller holds mu.
func (t *Tail) judge(latest *hazard.Product) {
	today, groups := latest.Audience(), map[*counts]*counts{}
	for i, e := range t.ring {
		if !e.concerns(latest.ID, today) {
			continue
		}
		if groups[e.counts] == nil {
			groups[e.counts] = &counts{}
		}
		fresh := e.anew(latest.ID, today, groups[e.counts])
		e.kept, fresh.kept = false, true
		t.bytes += fresh.size - e.size
		t.ring[i] = fresh
	}
}

// grew adds to the size of an entry, if it is in memory.
func (t *Tail) grew(e *Entry, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.kept {
		e.size += bytes
		t.bytes += bytes
		t.trim()
	}
}

// trim drops the oldest changes until the memory is within its bounds. The caller holds mu.
func (t *Tail) trim() {
	drop := 0
	for drop < len(t.ring) && (len(t.ring)-drop > t.bounds.Changes || t.bytes > t.bounds.Bytes) {
		e := t.ring[drop]
		e.kept = false
		t.bytes -= e.size
		t.from = e.Number
		drop++
	}
	t.ring = slices.Delete(t.ring, 0, drop) // not resliced, so that the dropped entries are freed
}

// alarm wakes all waiting followers. The caller holds mu.
func (t *Tail) alarm() {
	close(t.wake)
	t.wake = make(chan struct{})
}

// Alarm wakes all waiting followers, so that they check their readers' rights again.
func (t *Tail) Alarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm()
}

// Kept returns how many changes are in memory, their size in bytes, and the numbers from and last:
// the memory holds the changes after from, up to last.
func (t *Tail) Kept() (changes int, bytes, from, last int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ring), t.bytes, t.from, t.last
}

// After returns the next changes after n, complete up to upTo: from memory, or from the log if the
// memory begins later. If there are none now, wake is not nil and is closed when there may be some.
// It returns a *store.ForkedError if n belongs to a replaced history.
func (t *Tail) After(ctx context.Context, n int64) (entries []*Entry, upTo int64, wake <-chan struct{}, err error) {
	entries, upTo, wake, ok := t.remembered(n)
	if ok {
		return entries, upTo, wake, nil
	}
	select {
	case t.turns <- struct{}{}:
		defer func() { <-t.turns }()
	case <-ctx.Done():
		return nil, 0, nil, ctx.Err()
	}
	entries, upTo, err = t.read(ctx, n)
	return entries, upTo, nil, err
}

// remembered is After from memory; ok reports whether the memory reaches back to n.
func (t *Tail) remembered(n int64) (entries []*Entry, upTo int64, wake <-chan struct{}, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n >= t.last { // n can be above last: after a write at this moment, or for a reader from a node that is ahead
		return nil, n, t.wake, true
	}
	if n < t.from {
		return nil, 0, nil, false
	}
	i, _ := slices.BinarySearchFunc(t.ring, n+1, func(e *Entry, n int64) int { return int(e.Number - n) })
	if rest := t.ring[i:]; len(rest) > maxGiven {
		return slices.Clone(rest[:maxGiven]), rest[maxGiven-1].Number, nil, true
	}
	return slices.Clone(t.ring[i:]), t.last, t.wake, true
}

// read is After from the log, up to the end of the memory.
func (t *Tail) read(ctx context.Context, n int64) (entries []*Entry, upTo int64, err error) {
	t.mu.RLock()
	upTo = t.last
	t.mu.RUnlock()
	piece, err := t.log.Page(ctx, store.LogPage{After: n, Limit: maxGiven, Bytes: readBytes, Everything: true})
	if err != nil {
		return nil, 0, err
	}
	changes := piece.Changes
	if err := t.log.JudgeByPresent(ctx, hazard.ProductsOf(changes)); err != nil {
		return nil, 0, err
	}
	if i := slices.IndexFunc(changes, func(c hazard.Change) bool { return c.Number > upTo }); i >= 0 {
		changes, piece.Next = changes[:i], 0
	}
	if piece.Next > 0 {
		n = piece.Next
	} else if len(changes) > 0 {
		n = changes[len(changes)-1].Number
	}
	if piece.Next > 0 {
		return t.entries(changes), n, nil
	}
	if n < upTo {
		// The memory may briefly end before a fork that it has not noticed yet. Check that the
		// reader does not continue into that gap.
		_, err := t.log.Page(ctx, store.LogPage{After: upTo, Limit: 1, Bytes: 1, Everything: true})
		if _, void := errors.AsType[*store.ForkedError](err); void {
			upTo = n
		}
	}
	return t.entries(changes), upTo, nil
}
