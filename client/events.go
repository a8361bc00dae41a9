package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// Event is a change, or the notice that the stream could not be resumed.
type Event struct {
	// Change is the change. With Reset only its Number is set.
	Change
	// Reset is not empty if the stream could not be resumed: the missed changes are too old, or the
	// server's history was replaced. The stream continues after Change.Number: read the lists
	// again.
	Reset string
}

// FromNow as the number after which to begin selects only future changes.
const FromNow = -1

// EventOptions selects the events and observes the connection.
type EventOptions struct {
	// Filter selects hazards. Their changes are delivered, and also the change with which a hazard
	// stops matching (Change.Left). Sort and At must not be set.
	Filter Search
	// Waiting is called after a disconnect, with the reason (nil if the server ended the stream,
	// which is normal) and the delay before the next attempt.
	Waiting func(reason error, wait time.Duration)
	// Connected is called when the stream is open, with the number after which it continues.
	Connected func(after int64)
}

// The delays of reconnecting.
const (
	// quiet is the longest silence on a connection: three of the server's comments.
	quiet = 45 * time.Second
	// firstWait and longestWait bound how long to wait before the next try; the server may say another first one.
	firstWait   = time.Second
	longestWait = 30 * time.Second
	// maxEvent bounds one event, in bytes: a product may hold 4 MiB of text, which JSON may make six times as long.
	maxEvent = 32 << 20
)

// Events yields the changes that the user may see, from the one after number after on, as they are
// made. It does not end by itself: after a disconnect it reconnects and delivers what it missed,
// and nothing twice. It ends with ctx, and with an error that no retry can fix: the server has no
// stream, or refuses the user or the filter.
//
// To show the present state, read a list first, and begin after its Change.
func (c *Client) Events(ctx context.Context, after int64, o EventOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &eventStream{client: c, after: after, options: o, wait: firstWait}
		for failures := 0; ; {
			began := s.connected
			err := s.read(ctx, yield)
			if errors.Is(err, errStopped) {
				return
			}
			if ctx.Err() != nil {
				yield(Event{}, context.Cause(ctx))
				return
			}
			if err != nil && !passing(err) {
				yield(Event{}, err)
				return
			}
			if s.connected != began {
				failures = 0
			}
			wait := min(s.wait<<min(failures, 10), longestWait)
			if err != nil {
				failures++
				wait = time.Duration(float64(wait) * (0.5 + rand.Float64()/2)) // not with all others
			}
			if p, ok := errors.AsType[*Problem](err); ok {
				wait = max(wait, min(p.RetryAfter, longestWait))
			}
			if o.Waiting != nil {
				o.Waiting(err, wait)
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	}
}

// errStopped: the reader wants no more.
var errStopped = errors.New("no more events are wanted")

// passing reports whether an error may be over at the next try.
func passing(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	switch {
	case ok:
		return problem.Status >= 500 || problem.Status == http.StatusTooManyRequests || problem.Status == http.StatusRequestTimeout
	case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrInvalid):
		return false
	}
	answer, ok := errors.AsType[*AnswerError](err)
	return !ok || answer.Cut // else the network's
}

// eventStream is a stream across all its connections.
type eventStream struct {
	client    *Client
	options   EventOptions
	after     int64         // the last number that the server gave
	wait      time.Duration // before the next connection
	connected int           // how often
}

// read reads one connection to its end. The error is nil if the server ended it.
func (s *eventStream) read(ctx context.Context, yield func(Event, error) bool) error {
	r := newRequest(http.MethodGet, "/events", nil)
	r.query, r.stream, r.unbounded, r.patience = s.options.Filter.parameters(), true, true, quiet
	r.header.Set("Accept", "text/event-stream")
	r.header.Set("Cache-Control", "no-store")
	if s.after >= 0 {
		r.header.Set("Last-Event-ID", strconv.FormatInt(s.after, 10))
	}
	resp, err := s.client.do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != "text/event-stream" {
		return fmt.Errorf("%s: %w", r, &AnswerError{Reason: fmt.Sprintf("the answer is %.60q, expected text/event-stream", media)})
	}
	greeted := false
	for lines := newEventReader(resp.Body); ; {
		e, err := lines.next()
		if errors.Is(err, io.EOF) || isCut(err) {
			return nil // treated like an end: the next connection delivers what was missed
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		if e.retry > 0 {
			s.wait = min(e.retry, longestWait)
		}
		event, err := s.event(e)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		if e.id != nil {
			s.after = *e.id
		}
		if !greeted && e.id != nil {
			greeted = true
			s.connected++
			if s.options.Connected != nil {
				s.options.Connected(s.after)
			}
		}
		if event != nil && !yield(*event, nil) {
			return errStopped
		}
	}
}

// isCut reports whether a connection broke, or was closed because it was silent.
func isCut(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled) && passing(err)
}

// event returns the event of a block; nil if there is none to deliver.
func (s *eventStream) event(e block) (*Event, error) {
	switch {
	case e.name == "" && len(e.data) == 0:
		return nil, nil
	case e.name == "reset":
		var lost struct {
			Change int64  `json:"change"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal(e.data, &lost, lenient); err != nil || lost.Reason == "" {
			return nil, &AnswerError{Reason: fmt.Sprintf("event reset: %.100q cannot be read", e.data)}
		}
		return &Event{Change: Change{Number: lost.Change}, Reset: lost.Reason}, nil
	}
	change, err := readObject[Change](e.data)
	if err != nil {
		return nil, &AnswerError{Reason: fmt.Sprintf("event %.40q: %v", e.name, err)}
	}
	if change.Hazard == nil && change.Product == nil {
		return nil, nil // of an unknown kind
	}
	if change.Number <= s.after {
		return nil, &AnswerError{Reason: fmt.Sprintf("change %d after change %d: expected them in order", change.Number, s.after)}
	}
	return &Event{Change: change}, nil
}

// block is a block of an event stream (HTML standard, section 9.2.6).
type block struct {
	id    *int64
	name  string
	data  []byte
	retry time.Duration
}

// eventReader reads the blocks of a stream.
type eventReader struct{ lines *bufio.Reader }

func newEventReader(r io.Reader) *eventReader { return &eventReader{bufio.NewReaderSize(r, 16<<10)} }

// next returns the next block, or io.EOF at the end. A block without an empty line at its end is
// dropped.
func (r *eventReader) next() (block, error) {
	var b block
	size := 0
	for {
		line, err := r.line(maxEvent - size)
		if err != nil {
			return b, err
		}
		size += len(line)
		if len(line) == 0 {
			b.data = bytes.TrimSuffix(b.data, []byte("\n"))
			return b, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			// Ignore an unknown form of id; the previous one stays valid.
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
				b.id = &n
			}
		case "event":
			b.name = string(value)
		case "data":
			b.data = append(append(b.data, value...), '\n')
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				b.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line, of at most most bytes, without its end.
func (r *eventReader) line(most int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		if len(line)+len(piece) > most {
			return nil, &AnswerError{Reason: fmt.Sprintf("an event is larger than %d bytes, the most that is read", maxEvent)}
		}
		line = append(line, piece...)
		if err == nil {
			return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}
