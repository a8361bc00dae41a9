// Package push tells readers of changes as they are committed, as a cursor over the change log.
//
// A reader asks for what follows the number that it has, whether that is of now or of last week: so a resuming reader gets exactly what it
// missed, and a slow one costs nothing but its own delay. The Hub keeps the latest changes in memory, each encoded once per
// audience; whoever is further behind reads the log. There is no queue per reader, and nothing grows with readers who do not
// read. A reader is told of a change when the live view has it, so that it finds in the lists what it was told.
//
// What a reader may not know of is never part of what the Hub gives out: every event asks hazard.Product.VisibleTo, by who may read the
// product today, also where it tells of the past. The package knows the form of server-sent events, but not HTTP.
package push

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// Log is the part of the store that push reads.
type Log interface {
	// Last is the latest number that was given to a change. There need be no change of that number: a restored history goes on far above.
	Last(ctx context.Context) (int64, error)
	// Since returns committed changes numbered above n, in commit order, at most limit. There are no gaps between them but those of forks. It is
	// a *store.ForkedError if n is of a history that was replaced.
	Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error)
	// HazardAsOf is the state of a hazard as of change n; hazard.ErrNotFound if it was not there yet.
	HazardAsOf(ctx context.Context, hazardID, n int64) (*hazard.Hazard, error)
	// ProductsAsOf lists the products that a hazard had as of change n, whoever may see them.
	ProductsAsOf(ctx context.Context, hazardID, n int64) ([]*hazard.Product, error)
	// JudgeByPresent lets products of the past be judged by who may read them today.
	JudgeByPresent(ctx context.Context, products []*hazard.Product) error
}

// View is the part of the live view that push waits for.
type View interface {
	// WaitFor returns when the lists are as of change n or later, or when ctx ends.
	WaitFor(ctx context.Context, n int64) error
}

// Kept is how long after a change the stream can be resumed before it.
const Kept = 30 * 24 * time.Hour

// The bounds of what is in memory.
const (
	// maxRing is how many changes are kept, and ringBytes what they may take, roughly: at the rate of a disaster, minutes.
	maxRing   = 1024
	ringBytes = 32 << 20
	// maxRead is how many changes are read of the log at once: few, since an editor's product may hold 4 MiB of text.
	maxRead = 32
	// maxTexts is how many bytes of events a reader is given at once, unless a single one is larger.
	maxTexts = 16 << 10
	// logReaders is how many readers read the log at once. The others wait: the lists and the writers need the store too.
	logReaders = 4
)

// Limits bound the streams that are open at the same time.
type Limits struct {
	PerUser int
	All     int
}

// TooManyError says that no further stream can be opened.
type TooManyError struct {
	Limit int
	// Own: the user's own streams are too many; else all users' together.
	Own bool
}

func (e *TooManyError) Error() string {
	if e.Own {
		return fmt.Sprintf("%d streams of this user are open, the most that a user may have; close one, or share one among the parts of a program", e.Limit)
	}
	return fmt.Sprintf("%d streams are open, the most that this server takes", e.Limit)
}

// Hub follows the log for all readers. It is safe for concurrent use.
type Hub struct {
	log    Log
	view   View
	base   string
	limits Limits
	logger *slog.Logger
	turns  chan struct{} // held by who reads the log for a reader

	mu      sync.RWMutex // guards what follows
	ring    []*entry     // in the order of the log
	bytes   int          // of ring, roughly
	from    int64        // ring holds every change above from, up to last
	last    int64
	wake    chan struct{} // closed and replaced when there is something new
	ended   chan struct{} // closed by End
	streams map[*stream]struct{}
	users   map[string]int // streams of each
	left    *sync.Cond     // told when one leaves; its lock is mu
}

// stream is an open stream.
type stream struct{ end func() }

// New makes a Hub on log, which tells nobody of a change before view has it. number is the change that view is as of; base is the service's
// public address without a slash at its end.
func New(log Log, view View, number int64, base string, limits Limits, logger *slog.Logger) *Hub {
	from := max(0, number-maxRing) // read again by Run, for those who resume after a restart
	h := &Hub{log: log, view: view, base: base, limits: limits, logger: logger, turns: make(chan struct{}, logReaders), from: from, last: from,
		wake: make(chan struct{}), ended: make(chan struct{}), streams: map[*stream]struct{}{}, users: map[string]int{}}
	h.left = sync.NewCond(&h.mu)
	return h
}

// Run follows the log until ctx ends. While the store cannot be read, readers wait.
func (h *Hub) Run(ctx context.Context) error {
	warned := false
	for ctx.Err() == nil {
		err := h.follow(ctx)
		if err != nil && ctx.Err() == nil {
			if !warned {
				h.logger.Warn("the change log cannot be read; streams wait", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		warned = err != nil
	}
	return nil
}

// follow takes the next changes into the ring.
func (h *Hub) follow(ctx context.Context) error {
	n := h.last // written by this goroutine alone
	if err := h.view.WaitFor(ctx, n+1); err != nil {
		return err
	}
	last, err := h.log.Last(ctx)
	if err != nil {
		return err
	}
	changes, err := h.log.Since(ctx, n, maxRead)
	if fork, ok := errors.AsType[*store.ForkedError](err); ok {
		h.forget(fork.Start)
		return nil
	}
	if err != nil {
		return err
	}
	// At a fork numbers jump. What is known of the time before is told first; nothing of it is lost.
	whole := 0
	for whole < len(changes) && changes[whole].Number == n+int64(whole)+1 {
		whole++
	}
	switch {
	case whole > 0:
		changes, last = changes[:whole], changes[whole-1].Number
	case len(changes) > 0:
		h.forget(changes[0].Number - 1)
		return nil // and what is behind the fork is read anew
	case last > n:
		h.forget(last)
		return nil
	}
	if err := h.view.WaitFor(ctx, last); err != nil {
		return err
	}
	entries := make([]*entry, len(changes))
	for i := range changes {
		entries[i] = newEntry(changes[i])
	}
	if h.Streams() > 0 {
		// Those who wait would all want it in the same moment. If it fails, the first of them tries again.
		for _, e := range entries {
			_ = e.prepare(ctx, h)
		}
	}
	h.add(entries, last)
	return nil
}

// forget lets the ring begin behind n: memory reaches back to no fork, so that whoever is before one reads the log, which knows it.
func (h *Hub) forget(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring, h.bytes, h.from, h.last = nil, 0, n, n
	h.alarm()
}

// add takes entries into the ring: all changes above its last, up to last.
func (h *Hub) add(entries []*entry, last int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		if e.Redacts() { // the log was rewritten: what was read of it before is dropped
			h.ring, h.bytes, h.from = nil, 0, e.Number-1
		}
		h.bytes += e.weight
		h.ring = append(h.ring, e)
		if e.Product != nil && e.Kind != hazard.ProductCreated {
			h.judge(e.Product)
		}
	}
	drop := 0
	for len(h.ring)-drop > maxRing || h.bytes > ringBytes && drop < len(h.ring) {
		h.bytes -= h.ring[drop].weight
		h.from = h.ring[drop].Number
		drop++
	}
	h.ring = slices.Delete(h.ring, 0, drop) // not resliced: what was dropped must not be kept alive
	h.last = last
	h.alarm()
}

// judge lets what the ring holds of a product be read by those alone who may read its latest state. The caller holds mu.
func (h *Hub) judge(latest *hazard.Product) {
	today := latest.Audience()
	for i, e := range h.ring {
		if e.concerns(latest.ID, today) {
			h.ring[i] = e.anew(latest.ID, today)
		}
	}
}

// alarm wakes all who wait. The caller holds mu.
func (h *Hub) alarm() {
	close(h.wake)
	h.wake = make(chan struct{})
}

// Alarm wakes all who wait for a change, so that they look at what else has changed: whether they still may read.
func (h *Hub) Alarm() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alarm()
}

// End tells all readers to go: Ended is closed, and what each has given Join for that is called.
func (h *Hub) End() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.ended:
		return
	default:
	}
	close(h.ended)
	for s := range h.streams {
		s.end()
	}
}

// Ended is closed when the service ends: readers then go, and come again to whoever takes over.
func (h *Hub) Ended() <-chan struct{} { return h.ended }

// Wait returns when no stream is open: soon after End, since no reader can hold one up for long then.
func (h *Hub) Wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.streams) > 0 {
		h.left.Wait()
	}
}

// Streams is how many streams are open.
func (h *Hub) Streams() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.streams)
}

// Join counts a stream of a user until leave is called. End calls end meanwhile, which must not block. The error
// is a *TooManyError.
func (h *Hub) Join(user string, end func()) (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.users[user] >= h.limits.PerUser:
		return nil, &TooManyError{h.limits.PerUser, true}
	case len(h.streams) >= h.limits.All:
		return nil, &TooManyError{h.limits.All, false}
	}
	s := &stream{end}
	h.streams[s] = struct{}{}
	h.users[user]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.streams, s)
		if h.users[user]--; h.users[user] == 0 {
			delete(h.users, user)
		}
		h.left.Broadcast()
	}, nil
}

// after returns the next changes above n that are in memory: all up to upTo. ok: memory reaches back to n; then, if upTo is n, wake is
// closed when there is something new.
func (h *Hub) after(n int64) (entries []*entry, upTo int64, wake <-chan struct{}, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if n >= h.last { // above it: a writer of this moment, or a reader from a node that is ahead of this one
		return nil, n, h.wake, true
	}
	if n < h.from {
		return nil, 0, nil, false
	}
	i, _ := slices.BinarySearchFunc(h.ring, n+1, func(e *entry, n int64) int { return int(e.Number - n) })
	if rest := h.ring[i:]; len(rest) > maxRead {
		return slices.Clone(rest[:maxRead]), rest[maxRead-1].Number, nil, true
	}
	return slices.Clone(h.ring[i:]), h.last, nil, true
}

// Lost says why a stream cannot be resumed after a number.
type Lost string

// The reasons.
const (
	TooOld  Lost = "too old"  // changes above the number are older than Kept
	Unknown Lost = "replaced" // the number is of no change of this history: of one that a restore or a failover has replaced
)

// Reset is the event that tells a reader to begin anew: what it has is void, or cannot be followed. The stream goes on behind change n.
func Reset(n int64, why Lost) []byte {
	return fmt.Appendf(nil, "id: %d\nevent: reset\ndata: {\"change\":%d,\"reason\":%q}\n\n", n, n, why)
}

// Resumable tells why the log cannot be read on after change n without a loss, empty if it can: n is 0, the beginning, or the number of a change.
// keep is how old the changes above n may be; 0: as old as they are.
func (h *Hub) Resumable(ctx context.Context, n int64, keep time.Duration, now hazard.Instant) (Lost, error) {
	if n < 0 {
		return Unknown, nil
	}
	changes, err := h.log.Since(ctx, max(n-1, 0), 2)
	fork, forked := errors.AsType[*store.ForkedError](err)
	if forked && fork.Start == n { // where a reset has led to
		changes, err = h.log.Since(ctx, n, 1)
	}
	if err != nil && !void(err) {
		return "", err
	}
	if n > 0 && len(changes) > 0 && changes[0].Number == n {
		changes = changes[1:]
	} else if n > 0 && !(forked && fork.Start == n) {
		// Numbers have no holes but where a history was replaced: a number that is not there was there before, or never, but for the last
		// that was given: the lists say it, as long as the new history has no change.
		if last, err := h.log.Last(ctx); err != nil || last != n {
			return Unknown, err
		}
	}
	if keep > 0 && len(changes) > 0 && changes[0].At < now.Add(-keep) {
		return TooOld, nil
	}
	return "", nil
}

// void tells whether an error says that a number is of a history that was replaced.
func void(err error) bool {
	_, ok := errors.AsType[*store.ForkedError](err)
	return ok
}

// Filter chooses hazards.
type Filter interface {
	// Match tells whether a state of a hazard passes, as it was recorded.
	Match(ctx context.Context, h *hazard.Hazard) (bool, error)
}

// Cursor is one reader's place in the log. It is not safe for concurrent use.
type Cursor struct {
	hub    *Hub
	filter Filter
	n      int64
}

// Read makes a cursor behind change n. filter chooses what is told; nil: everything. A change of a product passes if its hazard does.
func (h *Hub) Read(n int64, filter Filter) *Cursor { return &Cursor{h, filter, n} }

// Number is the change that the cursor is behind: everything up to it has been told, as far as it was to be told.
func (c *Cursor) Number() int64 { return c.n }

// Next returns the next events that a member of orgs may know of, each in the form of the event stream, and moves behind them. It does not
// wait for changes: wake is not nil when there are none, and is closed when there may be. Without events and wake, there was
// nothing to tell in the piece of the log that was read: ask again. The events must not be changed.
//
// If what the cursor has told was replaced by another history, one event says so, which is a reset, and the cursor is behind the fork.
func (c *Cursor) Next(ctx context.Context, orgs []int64) (events [][]byte, wake <-chan struct{}, err error) {
	entries, upTo, wake, ok := c.hub.after(c.n)
	if !ok {
		select {
		case c.hub.turns <- struct{}{}:
			defer func() { <-c.hub.turns }()
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		entries, upTo, err = c.hub.read(ctx, c.n)
		if fork, ok := errors.AsType[*store.ForkedError](err); ok {
			c.n = fork.Start
			return [][]byte{Reset(c.n, Unknown)}, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	size := 0
	for _, e := range entries {
		text, err := e.event(ctx, c.hub, c.filter, orgs)
		if err != nil && len(events) == 0 {
			return nil, nil, err
		}
		if err != nil || len(events) > 0 && size+len(text) > maxTexts {
			return events, nil, nil // an error comes again, if it lasts
		}
		c.n = e.Number
		if text != nil {
			events = append(events, text)
			size += len(text)
		}
	}
	c.n = upTo
	return events, wake, nil
}

// read is after by the log, as far as the ring has come.
func (h *Hub) read(ctx context.Context, n int64) (entries []*entry, upTo int64, err error) {
	h.mu.RLock()
	upTo = h.last
	h.mu.RUnlock()
	changes, err := h.log.Since(ctx, n, maxRead)
	if err != nil {
		return nil, 0, err
	}
	if err := h.log.JudgeByPresent(ctx, hazard.ProductsOf(changes)); err != nil {
		return nil, 0, err
	}
	end := n
	for i := range changes {
		if changes[i].Number <= upTo {
			entries, end = append(entries, newEntry(changes[i])), changes[i].Number
		}
	}
	if len(entries) == maxRead {
		return entries, end, nil
	}
	if end < upTo {
		// For a moment the ring may end in the gap of a fork that it has not noticed: nobody may follow it there.
		if _, err := h.log.Since(ctx, upTo, 1); void(err) {
			upTo = end
		}
	}
	return entries, upTo, nil
}
