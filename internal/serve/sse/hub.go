// Package sse sends changes to readers as they are committed, through cursors over the change log.
//
// A reader asks for the changes after a number, recent or a week old. So a resuming reader gets
// exactly what it missed, and a slow one only delays itself. Changes come from package follow, which
// encodes each once per audience while it is in memory. There is no queue per reader, and a reader
// that does not read takes no additional memory.
//
// The Hub never sends what a reader may not see: every event is checked with
// hazard.Product.VisibleTo against today's audience of the product, also for past changes. The
// package knows the format of server-sent events, but not HTTP.
package sse

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
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/wire"
)

// Log is the part of the store that says where a stream can resume.
type Log interface {
	// Last returns the latest assigned number. A change with that number may not exist, because the
	// history after a restore continues at much higher numbers.
	Last(ctx context.Context) (int64, error)
	// Since returns at most limit committed changes with numbers above n, in commit order. There
	// are no gaps except at forks. It returns a *store.ForkedError if n belongs to a history that
	// was replaced.
	Since(ctx context.Context, n int64, limit int) ([]hazard.Change, error)
}

// Kept is for how long after a change a stream can resume from before it.
const Kept = 30 * 24 * time.Hour

// maxTexts bounds the bytes of events in one batch, unless a single event is larger.
const maxTexts = 16 << 10

// Heartbeat is the longest time without a write to a stream. Proxies close connections that are
// silent for a minute (interface.md section 3).
const Heartbeat = 15 * time.Second

// dead is the age of the last successful write after which a stream counts as dead. It has then
// missed two heartbeats, and a new stream of its user may replace it.
const dead = 2 * Heartbeat

// Limits bounds the concurrent streams.
type Limits struct {
	PerUser int
	All     int
}

// TooManyError reports that no more streams can be opened.
type TooManyError struct {
	Limit int
	// Own says that the user has too many streams; otherwise all users together have.
	Own bool
}

func (e *TooManyError) Error() string {
	if e.Own {
		return fmt.Sprintf("%d streams of this user are open, the most that a user may have (limit user-streams); close one, or share one among the parts of a program", e.Limit)
	}
	return fmt.Sprintf("%d streams are open, the most that this server takes (limit all-streams)", e.Limit)
}

// Hub holds the streams of all readers. It is safe for concurrent use.
type Hub struct {
	tail   *follow.Tail
	log    Log
	base   string
	limits Limits

	mu      sync.RWMutex  // guards the fields below
	ended   chan struct{} // closed by End
	streams map[*Stream]struct{}
	users   map[string][]*Stream // streams by user, without the replaced ones
	left    *sync.Cond           // signals that a stream has left; its lock is mu
}

// Stream is an open stream, from Join until Leave.
type Stream struct {
	// Replaced is how long ago the last successful write to the replaced stream was; 0 if this
	// stream replaced none.
	Replaced time.Duration

	hub   *Hub
	user  string
	end   func()
	ended chan struct{}

	mu    sync.Mutex
	wrote time.Time // guarded by mu
}

// New creates a Hub for the changes of t. base is the service's public address without a trailing
// slash.
func New(t *follow.Tail, log Log, base string, limits Limits) *Hub {
	h := &Hub{tail: t, log: log, base: base, limits: limits, ended: make(chan struct{}), streams: map[*Stream]struct{}{}, users: map[string][]*Stream{}}
	h.left = sync.NewCond(&h.mu)
	return h
}

// Alarm wakes all waiting readers, so that they check their rights again.
func (h *Hub) Alarm() { h.tail.Alarm() }

// End ends all streams: it closes Ended of each, and calls the function that was given to Join. The
// readers then reconnect to another server or the next process.
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

// Wait returns once no stream is open. That is soon after End, because no reader can delay it for
// long.
func (h *Hub) Wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.streams) > 0 {
		h.left.Wait()
	}
}

// Streams returns the number of open streams.
func (h *Hub) Streams() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.streams)
}

// Join registers a stream of a user until Leave is called. user is empty for a reader without an
// account; the caller then counts the public's share. At the user's limit, the stream replaces the
// dead stream with the oldest write, if there is one. End and a replacement close Ended of the
// stream and call end, which must not block. The error is a *TooManyError.
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

// Wrote records that a write to the stream succeeded at now. The system has accepted the data, but
// perhaps not the peer yet (package listen closes connections to peers that acknowledge nothing). A
// stream without any write is never replaced: its reader waits for the response, which has its own
// timeout.
func (s *Stream) Wrote(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = now
}

// idle returns the time since the last successful write, or 0 if there was none.
func (s *Stream) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote.IsZero() {
		return 0
	}
	return now.Sub(s.wrote)
}

// Ended is closed when the stream must end, because the service stops or another stream replaced
// it.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// stop tells the stream to end; further calls do nothing. The caller holds the hub's mu.
func (s *Stream) stop() {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		s.end()
	}
}

// Leave ends the stream. Call it once.
func (s *Stream) Leave() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	h.uncount(s)
	h.left.Broadcast()
}

// Lost says why a stream cannot resume after a number.
type Lost string

// The reasons.
const (
	TooOld  Lost = "too old"  // changes above the number are older than Kept
	Unknown Lost = "replaced" // the number belongs to a history that a restore or a failover replaced
)

// Reset returns the event that tells a reader to start again, because its data is void or changes
// are missing. The stream continues after the cursor's change.
func (c *Cursor) Reset(why Lost) []byte {
	data := fmt.Appendf(nil, `{"change":%d,"reason":%q}`, c.n, why)
	if c.envelope {
		data, _ = json.Marshal(new(wire.NewCloudEvent(c.hub.source(), fmt.Sprintf("reset-%d", c.n), "reset", jsontext.Value(data)))) // texts and valid JSON always encode
	}
	return fmt.Appendf(nil, "id: %d\nevent: reset\ndata: %s\n\n", c.n, data)
}

// source returns the address of the stream, which CloudEvents contain.
func (h *Hub) source() string { return h.base + "/events" }

// Resumable returns why the log cannot be read from change n without a loss, or "" if it can. n is
// 0 (the beginning) or the number of a change. keep bounds the age of the changes above n; 0 means
// no bound.
func (h *Hub) Resumable(ctx context.Context, n int64, keep time.Duration, now hazard.Instant) (Lost, error) {
	if n < 0 {
		return Unknown, nil
	}
	changes, err := h.log.Since(ctx, max(n-1, 0), 2)
	fork, forked := errors.AsType[*store.ForkedError](err)
	if forked && fork.Start == n { // n comes from a reset
		changes, err = h.log.Since(ctx, n, 1)
	}
	if err != nil && !void(err) {
		return "", err
	}
	if n > 0 && len(changes) > 0 && changes[0].Number == n {
		changes = changes[1:]
	} else if n > 0 && !(forked && fork.Start == n) {
		// Numbers have gaps only at forks. So a missing number belongs to a replaced history or was
		// never assigned. The exception is the last assigned number: lists show it until the new
		// history has a change.
		if last, err := h.log.Last(ctx); err != nil || last != n {
			return Unknown, err
		}
	}
	if keep > 0 && len(changes) > 0 && changes[0].At < now.Add(-keep) {
		return TooOld, nil
	}
	return "", nil
}

// void reports whether err says that a number belongs to a replaced history.
func void(err error) bool {
	_, ok := errors.AsType[*store.ForkedError](err)
	return ok
}

// Filter selects hazards.
type Filter interface {
	// Match reports whether a recorded state of a hazard matches.
	Match(ctx context.Context, h *hazard.Hazard) (bool, error)
}

// Cursor is a reader's position in the log. It is not safe for concurrent use.
type Cursor struct {
	hub    *Hub
	filter Filter
	n      int64
	live   int64   // later changes were committed after the cursor was created
	given  []given // changes of the last Next
	reader *lang.Reader
	// envelope makes events CloudEvents.
	envelope bool
	names    hazard.Names // nil for login names
}

// given is a source's change that the cursor has returned.
type given struct {
	source string
	at     hazard.Instant
}

// Sent measures the delay of the events of the last Next, which have just been written. Events from
// before the cursor was created do not count.
func (c *Cursor) Sent(d *delay.Delays, now func() hazard.Instant) {
	if len(c.given) == 0 {
		return
	}
	at := now().Time()
	for _, g := range c.given {
		d.Observe(g.source, delay.Sent, at.Sub(g.at.Time()))
	}
}

// Read returns a cursor after change n. filter selects the changes; nil selects all. A change of a
// product matches if its hazard does.
func (h *Hub) Read(n int64, filter Filter, reader *lang.Reader) *Cursor {
	_, _, _, last := h.tail.Kept()
	return &Cursor{hub: h, filter: filter, n: n, live: last, reader: reader}
}

// Envelope makes the cursor return events in the envelope of CloudEvents 1.0.
func (c *Cursor) Envelope() { c.envelope = true }

// Named makes the cursor name people as n does, for a reader without an account. An event in memory
// keeps the names with which it was first sent.
func (c *Cursor) Named(n hazard.Names) { c.names = n }

// Number returns the position of the cursor: all changes up to it have been returned, except those
// that the filter or the reader's rights exclude.
func (c *Cursor) Number() int64 { return c.n }

// Next returns the next events that a member of orgs may see, in the format of the event stream,
// and moves the cursor. It does not block. If there are no more events now, wake is not nil and is
// closed when there may be some; otherwise call Next again. The events must not be modified.
//
// If the history that the cursor has read was replaced, one event says so (a reset), and the cursor
// moves behind the fork.
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
			return events, nil, nil // a lasting error occurs again in the next call
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
