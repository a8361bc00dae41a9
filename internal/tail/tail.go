// Package tail reads the change log, once for all who follow it: the live view, streams and webhooks.
//
// A Tail reads each change once, hands it to the view, and then keeps it in memory for the others, which ask for what follows the number that
// they have: so they are told of no change that the lists do not show yet, a slow one costs nothing but its own delay, and one that fails holds up
// nobody. What is further back than the memory is read from the log by the same code. Memory is bounded by bytes, with what others have made of
// the changes; no entry holds more of a hazard's products than its own change.
//
// Where a history was replaced, the view is read anew and the memory begins behind the fork: it never reaches back over one, so that whoever is
// before it reads the log, which answers with a *store.ForkedError.
package tail

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Log is the part of the store that a Tail reads.
type Log interface {
	// Page reads a piece of the change log, in commit order. There are no gaps but those of forks. It is a *store.ForkedError if the number is
	// of a history that was replaced.
	Page(ctx context.Context, p store.LogPage) (store.LogPiece, error)
	// Wait returns when a change above n may exist, or when ctx ends.
	Wait(ctx context.Context, n int64) error
	// HazardsBefore returns the latest states of hazards before change n, as far as they were there.
	HazardsBefore(ctx context.Context, ids []int64, n int64) (map[int64]*hazard.Hazard, error)
	// ProductsThen lists the products that the hazard of each change of a hazard had as of it, without what they say, by the numbers of the changes.
	ProductsThen(ctx context.Context, changes []hazard.Change) (map[int64][]*hazard.Product, error)
	// JudgeByPresent lets products of the past be judged by who may read them today.
	JudgeByPresent(ctx context.Context, products []*hazard.Product) error
}

// View is what is kept up to date first: the lists.
type View interface {
	// Number is the change that the view is as of.
	Number() int64
	// Apply brings the view up to date with changes that follow its number, as of a moment.
	Apply(ctx context.Context, changes []hazard.Change, at hazard.Instant) error
	// Renew replaces a view that holds changes of a history which is void.
	Renew(ctx context.Context, fork *store.ForkedError, at hazard.Instant) error
	// Current notes that the log held nothing newer than the view at a moment.
	Current(at hazard.Instant)
	// Expire drops what has ended, and returns when the next of it ends.
	Expire() hazard.Instant
}

// Bounds are what a Tail keeps in memory.
type Bounds struct {
	Changes int   // at most so many
	Bytes   int64 // of texts, roughly: their own, and those that were made of them
}

// Memory is what a Tail keeps unless a test says otherwise: at the rate of a disaster, minutes.
var Memory = Bounds{Changes: 1024, Bytes: 32 << 20}

// What is read of the log at once, for the tail and for who is behind its memory: an editor's product may hold 4 MiB of text.
const (
	maxRead   = 256
	readBytes = 2 << 20
	// maxGiven is how many changes who is behind is given at once.
	maxGiven = 32
	// readers is how many read the log at once behind the memory. The others wait: the lists and the writers need the store too.
	readers = 4
	// retry is after which time a log that could not be read is read again.
	retry = time.Second
)

// Tail follows the log. It is safe for concurrent use.
type Tail struct {
	log    Log
	view   View
	now    func() hazard.Instant
	bounds Bounds
	logger *slog.Logger
	turns  chan struct{} // held by who reads the log behind the memory

	mu    sync.RWMutex // guards what follows
	ring  []*Entry     // in the order of the log
	bytes int64        // of ring, roughly
	from  int64        // ring holds every change above from, up to last
	last  int64
	wake  chan struct{} // closed and replaced when there is something new
}

// New makes a Tail of log, which keeps view up to date; Run starts it. now is the service's clock.
func New(log Log, view View, now func() hazard.Instant, bounds Bounds, logger *slog.Logger) *Tail {
	from := max(0, view.Number()-int64(bounds.Changes)) // read again by Run, for those who resume after a restart
	return &Tail{log: log, view: view, now: now, bounds: bounds, logger: logger, turns: make(chan struct{}, readers), from: from, last: from, wake: make(chan struct{})}
}

// Run follows the log until ctx ends. While the log cannot be read the view goes on with what it has, without what ends, and the others
// wait; it is tried again each second.
func (t *Tail) Run(ctx context.Context) error {
	away := false // it is logged once, and when it is over
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

// wait waits for a change, or the next end of a hazard, or a second, whichever comes first.
func (t *Tail) wait(ctx context.Context) error {
	// A second at most, so that the view's age stays honest, and a millisecond more, the unit of ends. Not the other way round:
	// where nothing ends, the time until then is the longest that there is.
	until := min(t.view.Expire().Time().Sub(t.now().Time()), time.Second) + time.Millisecond
	waiting, cancel := context.WithTimeout(ctx, max(until, 0))
	defer cancel()
	if err := t.log.Wait(waiting, t.last); err != nil && waiting.Err() == nil { // last is written by this goroutine alone
		return err
	}
	return nil
}

// CatchUp reads all that the log holds now. Only one may call it at a time: Run, or a test in its place.
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
	changes, upTo := read.Changes, n
	for len(changes) > 0 && upTo-n < int64(len(changes)) && changes[upTo-n].Number == upTo+1 {
		upTo++
	}
	switch whole := int(upTo - n); {
	case whole > 0: // what is known of the time before a fork is told first; nothing of it is lost
		more, changes = read.Next > 0 || read.Last > upTo, changes[:whole]
	case len(changes) > 0: // what is behind the fork is read anew
		t.forget(changes[0].Number - 1)
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
	if len(changes) > 0 {
		t.add(t.entries(changes), upTo)
	}
	return more, nil
}

// forget lets the memory begin behind n.
func (t *Tail) forget(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ring, t.bytes, t.from, t.last = nil, 0, n, n
	t.alarm()
}

// add takes entries into the memory: all changes above its last, up to last.
func (t *Tail) add(entries []*Entry, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		if e.Redacts() { // the log was rewritten: what was read of it before is dropped
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

// judge lets what is in memory of a product be read by those alone who may read its latest state. The caller holds mu.
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

// grew counts more bytes of an entry, if it is in memory.
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
	t.ring = slices.Delete(t.ring, 0, drop) // not resliced: what was dropped must not be kept alive
}

// alarm wakes all who wait. The caller holds mu.
func (t *Tail) alarm() {
	close(t.wake)
	t.wake = make(chan struct{})
}

// Alarm wakes all who wait for a change, so that they look at what else has changed: whether they still may read.
func (t *Tail) Alarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm()
}

// Kept is how many changes are in memory, how many bytes they take, and the numbers behind which they begin and up to which they go.
func (t *Tail) Kept() (changes int, bytes, from, last int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.ring), t.bytes, t.from, t.last
}

// After returns the next changes above n, all up to upTo: from memory, or from the log where that does not reach back to n. wake is not nil
// when there are no others now, and is closed when there may be. It is a *store.ForkedError if n is of a history that was replaced.
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

// remembered is After from memory. ok: it reaches back to n.
func (t *Tail) remembered(n int64) (entries []*Entry, upTo int64, wake <-chan struct{}, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if n >= t.last { // above it: a writer of this moment, or a reader from a node that is ahead of this one
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

// read is After from the log, as far as the memory has come.
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
	if len(changes) > 0 {
		n = changes[len(changes)-1].Number
	}
	if piece.Next > 0 {
		return t.entries(changes), n, nil
	}
	if n < upTo {
		// For a moment the memory may end in the gap of a fork that it has not noticed: nobody may follow it there.
		_, err := t.log.Page(ctx, store.LogPage{After: upTo, Limit: 1, Bytes: 1, Everything: true})
		if _, void := errors.AsType[*store.ForkedError](err); void {
			upTo = n
		}
	}
	return t.entries(changes), upTo, nil
}
