// Package push tells readers of changes as they are committed, as a cursor over the change log.
//
// A reader asks for what follows the number that it has, whether that is of now or of last week: so a resuming reader gets exactly what it
// missed, and a slow one costs nothing but its own delay. Changes come from package tail, each encoded once per audience for as long as it
// is in memory there. There is no queue per reader, and nothing grows with readers who do not read.
//
// What a reader may not know of is never part of what the Hub gives out: every event asks hazard.Product.VisibleTo, by who may read the
// product today, also where it tells of the past. The package knows the form of server-sent events, but not HTTP.
package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lateness"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/tail"
	"github.com/hazardd/hazardd/internal/tongue"
	"github.com/hazardd/hazardd/wire"
)

// Log is the part of the store that tells where a stream can be resumed.
type Log interface {
	// Last is the latest number that was given to a change. There need be no change of that number: a restored history goes on far above.
	Last(ctx context.Context) (int64, error)
	// Since returns committed changes numbered above n, in commit order, at most limit. There are no gaps between them but those of forks. It is
	// a *store.ForkedError if n is of a history that was replaced.
	Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error)
}

// Kept is how long after a change the stream can be resumed before it.
const Kept = 30 * 24 * time.Hour

// maxTexts is how many bytes of events a reader is given at once, unless a single one is larger.
const maxTexts = 16 << 10

// Heartbeat is how often something is written to a stream at least: proxies give up on connections
// that are silent for a minute (interface.md section 3).
const Heartbeat = 15 * time.Second

// dead is how long ago the last write to a stream may have succeeded. A stream that is behind has
// missed two heartbeats, and a new one of its user may replace it.
const dead = 2 * Heartbeat

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
		return fmt.Sprintf("%d streams of this user are open, the most that a user may have (limit user-streams); close one, or share one among the parts of a program", e.Limit)
	}
	return fmt.Sprintf("%d streams are open, the most that this server takes (limit all-streams)", e.Limit)
}

// Hub has the streams of all readers. It is safe for concurrent use.
type Hub struct {
	tail   *tail.Tail
	log    Log
	base   string
	limits Limits

	mu      sync.RWMutex  // guards what follows
	ended   chan struct{} // closed by End
	streams map[*Stream]struct{}
	users   map[string][]*Stream // streams of each, without those that were replaced
	left    *sync.Cond           // told when one leaves; its lock is mu
}

// Stream is an open stream, from Join until Leave.
type Stream struct {
	// Replaced is how long ago the last write to the stream that this one replaced had succeeded; 0 if
	// it replaced none.
	Replaced time.Duration

	hub   *Hub
	user  string
	end   func()
	ended chan struct{}

	mu    sync.Mutex
	wrote time.Time // guarded by mu
}

// New makes a Hub of the changes that t gives. base is the service's public address without a slash at its end.
func New(t *tail.Tail, log Log, base string, limits Limits) *Hub {
	h := &Hub{tail: t, log: log, base: base, limits: limits, ended: make(chan struct{}), streams: map[*Stream]struct{}{}, users: map[string][]*Stream{}}
	h.left = sync.NewCond(&h.mu)
	return h
}

// Alarm wakes all who wait for a change, so that they look at what else has changed: whether they still may read.
func (h *Hub) Alarm() { h.tail.Alarm() }

// End tells all readers to go: Ended of each stream is closed, and what it has given Join for that is called. Readers come again to whoever
// takes over.
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
		s.stop()
	}
}

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

// Join counts a stream of a user until Leave is called; user is empty for a reader without an account, whose share the caller counts. When the user has as many as a user may have,
// the stream replaces the dead one that was written to longest ago, if there is one. End and a
// replacement close Ended of the stream and call end, which must not block. The error is a
// *TooManyError.
func (h *Hub) Join(user string, now time.Time, end func()) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Stream{hub: h, user: user, end: end, ended: make(chan struct{})}
	var replaced *Stream
	if own := h.users[user]; user != "" && len(own) >= h.limits.PerUser {
		for _, o := range own {
			if idle := o.idle(now); idle > max(dead, s.Replaced) {
				replaced, s.Replaced = o, idle
			}
		}
		if replaced == nil {
			return nil, &TooManyError{h.limits.PerUser, true}
		}
	}
	if len(h.streams) >= h.limits.All {
		return nil, &TooManyError{h.limits.All, false}
	}
	if replaced != nil {
		h.uncount(replaced)
		replaced.stop()
	}
	h.streams[s] = struct{}{}
	if user != "" {
		h.users[user] = append(h.users[user], s)
	}
	select {
	case <-h.ended:
		close(s.ended)
	default:
	}
	return s, nil
}

// uncount removes a stream from those of its user, if it is there. The caller holds mu.
func (h *Hub) uncount(s *Stream) {
	own := slices.DeleteFunc(h.users[s.user], func(o *Stream) bool { return o == s })
	if h.users[s.user] = own; len(own) == 0 {
		delete(h.users, s.user)
	}
}

// Wrote notes that a write to the stream succeeded at now: the system has taken it, whether or not the
// peer has (package listen closes connections to peers that acknowledge nothing). A stream that was
// never written to is not replaced: its reader waits for an answer, which has an end of its own.
func (s *Stream) Wrote(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = now
}

// idle is how long ago the last write succeeded; 0 if none has.
func (s *Stream) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote.IsZero() {
		return 0
	}
	return now.Sub(s.wrote)
}

// Ended is closed when the stream is to end: the service ends, or another stream replaced it.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// stop tells the stream to end, once. The caller holds the hub's mu.
func (s *Stream) stop() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		s.end()
	}
}

// Leave ends the stream. It is called once.
func (s *Stream) Leave() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	h.uncount(s)
	h.left.Broadcast()
}

// Lost says why a stream cannot be resumed after a number.
type Lost string

// The reasons.
const (
	TooOld  Lost = "too old"  // changes above the number are older than Kept
	Unknown Lost = "replaced" // the number is of no change of this history: of one that a restore or a failover has replaced
)

// Reset is the event that tells a reader to begin anew: what it has is void, or cannot be followed. The stream goes on behind the change that
// the cursor is behind.
func (c *Cursor) Reset(why Lost) []byte {
	data := fmt.Appendf(nil, `{"change":%d,"reason":%q}`, c.n, why)
	if c.envelope {
		data, _ = json.Marshal(new(wire.NewCloudEvent(c.hub.source(), fmt.Sprintf("reset-%d", c.n), "reset", jsontext.Value(data)))) // texts and valid JSON
	}
	return fmt.Appendf(nil, "id: %d\nevent: reset\ndata: %s\n\n", c.n, data)
}

// source is the address of the stream, by which CloudEvents name it.
func (h *Hub) source() string { return h.base + "/events" }

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
	live   int64   // changes behind it were committed after the cursor was made
	given  []given // by the last Next
	reader *tongue.Reader
	// envelope: events are CloudEvents.
	envelope bool
}

// given is a change of a source that a cursor gave.
type given struct {
	source string
	at     hazard.Instant
}

// Sent counts how late the events of the last Next are, which were written now. Those that a reader has missed before, and
// resumes, do not count.
func (c *Cursor) Sent(d *lateness.Delays, now func() hazard.Instant) {
	if len(c.given) == 0 {
		return
	}
	at := now().Time()
	for _, g := range c.given {
		d.Observe(g.source, lateness.Sent, at.Sub(g.at.Time()))
	}
}

// Read makes a cursor behind change n. filter chooses what is told; nil: everything. A change of a product passes if its hazard does.
func (h *Hub) Read(n int64, filter Filter, reader *tongue.Reader) *Cursor {
	_, _, _, last := h.tail.Kept()
	return &Cursor{hub: h, filter: filter, n: n, live: last, reader: reader}
}

// Envelope has the cursor give each event in the envelope of CloudEvents 1.0.
func (c *Cursor) Envelope() { c.envelope = true }

// Number is the change that the cursor is behind: everything up to it has been told, as far as it was to be told.
func (c *Cursor) Number() int64 { return c.n }

// Next returns the next events that a member of orgs may know of, each in the form of the event stream, and moves behind them. It does not
// wait for changes: wake is not nil when there are no others, and is closed when there may be. Without wake there may be others now: ask again.
// The events must not be changed.
//
// If what the cursor has told was replaced by another history, one event says so, which is a reset, and the cursor is behind the fork.
func (c *Cursor) Next(ctx context.Context, orgs []int64) (events [][]byte, wake <-chan struct{}, err error) {
	entries, upTo, wake, err := c.hub.tail.After(ctx, c.n)
	if fork, ok := errors.AsType[*store.ForkedError](err); ok {
		c.n = fork.Start
		return [][]byte{c.Reset(Unknown)}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	size := 0
	c.given = c.given[:0]
	for _, e := range entries {
		text, err := c.event(ctx, e, orgs)
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
			if e.Source != "" && e.Number > c.live {
				c.given = append(c.given, given{e.Source, e.At})
			}
		}
	}
	c.n = upTo
	return events, wake, nil
}
