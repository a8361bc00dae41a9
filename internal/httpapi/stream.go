package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/push"
)

// The rhythm of streams.
const (
	heartbeat = push.Heartbeat
	// stalled is how long a reader may take nothing of what is sent. It is dropped then, or up to stalledSlack sooner, and resumes.
	stalled      = 20 * time.Second
	stalledSlack = 5 * time.Second
	// lastWord is how long the end of the service waits for a reader.
	lastWord = time.Second
	// reconnect is after which time a reader should come again; after an end of the service, at most reconnectAll later, so that
	// not all come at once.
	reconnect    = 2 * time.Second
	reconnectAll = 5 * time.Second
)

// stream is one reader's stream.
type stream struct {
	cursor *push.Cursor
	place  *place
	marked int64 // the number that the reader knows
	count  *measures

	mu  sync.Mutex
	out streamWriter // guarded by mu
}

// streamWriter is where a stream is written to.
type streamWriter interface {
	// deadline sets when a write, under way or later, is given up: at t, or up to slack before. The zero time sets no deadline.
	deadline(t time.Time, slack time.Duration)
	// write writes, and returns when the network has taken it.
	write(texts [][]byte) error
}

// answerWriter writes a stream as an answer of net/http: HTTP/2.
type answerWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (o *answerWriter) deadline(t time.Time, _ time.Duration) {
	_ = o.control.SetWriteDeadline(t) // one that has none is of a test
	if t.IsZero() {
		_ = o.control.SetReadDeadline(t) // the server's limits are for requests that end
	}
}

func (o *answerWriter) write(texts [][]byte) error {
	for _, t := range texts {
		if _, err := o.w.Write(t); err != nil {
			return err
		}
	}
	return o.control.Flush()
}

// connWriter writes a stream to a connection of its own: HTTP/1.1.
type connWriter struct {
	net.Conn
	until time.Time // the deadline that is set
}

func (o *connWriter) deadline(t time.Time, slack time.Duration) {
	early := t.Sub(o.until)
	if t.IsZero() || early >= 0 && early <= slack { // it matters to writes alone, and to set one costs a fifth of a write
		return
	}
	o.until = t
	_ = o.SetWriteDeadline(t) // the write tells
}

func (o *connWriter) write(texts [][]byte) error {
	if len(texts) == 1 {
		_, err := o.Write(texts[0])
		return err
	}
	buffers := net.Buffers(texts)
	_, err := buffers.WriteTo(o.Conn)
	return err
}

// takeOver takes the connection of a request of HTTP/1.1 away from net/http: what that keeps for a request (buffers, headers, a deep stack) is
// three quarters of what an idle stream would take. nil: it is one of HTTP/2, which streams share.
func (s *stream) takeOver(w http.ResponseWriter) net.Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = &connWriter{Conn: conn}
	return conn
}

// responseHead is the head of an answer that ends with the connection (RFC 9112 section 6.3).
func responseHead(h http.Header, now time.Time) []byte {
	h.Set("Connection", "close")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&head) // a bytes.Buffer does not fail
	head.WriteString("\r\n")
	return head.Bytes()
}

// serveConn is serveStream on a connection of the stream's own, which it closes. ctx says what the stream belongs to.
func (a *API) serveConn(ctx context.Context, conn net.Conn, s *stream, who *auth.Caller, first []byte) {
	ctx, gone := context.WithCancel(ctx)
	defer func() {
		if p := recover(); p != nil {
			a.Logger.ErrorContext(ctx, "a stream failed", "error", &panicError{p}, "stack", string(debug.Stack()))
		}
	}()
	reading := make(chan struct{})
	go func() { // nothing comes any more from a reader: an end does
		defer close(reading)
		defer gone()
		for buf := make([]byte, 16); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = conn.Close() // the reader may have gone
		<-reading
	}()
	a.serveStream(ctx, s, who, first)
}

// serveStream sends events until the reader goes, does not read, or may not read any more, or the service ends.
func (a *API) serveStream(ctx context.Context, s *stream, who *auth.Caller, first []byte) {
	if s.send(first) != nil {
		return
	}
	s.marked = s.cursor.Number()
	sent := time.Now()
	quiet := func() time.Duration { // how long nothing need be sent
		return min(heartbeat-time.Since(sent), who.Expires.Time().Sub(a.now().Time()))
	}
	beat := time.NewTimer(quiet())
	defer beat.Stop()
	for {
		fresh, err := a.Auth.Recheck(who, a.now())
		if err != nil {
			return
		}
		who = fresh
		events, wake, err := s.cursor.Next(ctx, who.Orgs)
		if err != nil {
			if ctx.Err() == nil {
				a.Logger.WarnContext(ctx, "a stream ends because the log cannot be read; its reader resumes", "error", err)
			}
			return
		}
		if len(events) > 0 {
			if s.send(events...) != nil {
				return
			}
			s.count.told.Add(float64(len(events)))
			s.cursor.Sent(a.Delays, a.now)
			s.marked, sent = s.cursor.Number(), time.Now()
		}
		if wake == nil || !a.Auth.Unchanged(who) { // there may be more; or the alarm of a change of rights may have come before wake was there
			wake = closed
		}
		select {
		case <-ctx.Done():
			return
		case <-s.place.Ended():
			_ = s.send(farewell()) // a reader who has gone
			return
		case <-beat.C: // not reset with each event: that costs a tenth of a write
			if time.Since(sent) >= heartbeat {
				if s.beat() != nil {
					return
				}
				sent = time.Now()
			}
			beat.Reset(quiet())
		case <-wake:
		}
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// beat shows that the stream lives, and tells how far it has come: through a narrow filter nothing may come for weeks, and the reader
// could not resume.
func (s *stream) beat() error {
	if n := s.cursor.Number(); n != s.marked {
		s.marked = n
		return s.send(fmt.Appendf(nil, ":\nid: %d\n\n", n))
	}
	return s.send([]byte(":\n\n"))
}

// farewell tells the reader to come again, not with all others.
func farewell() []byte {
	return fmt.Appendf(nil, "retry: %d\n\n", 500+rand.Int64N(reconnectAll.Milliseconds()))
}

// send writes, within the time that a reader has.
func (s *stream) send(texts ...[]byte) error {
	limit, slack := stalled, stalledSlack
	s.mu.Lock()
	select { // under mu: hurry then finds the deadline set
	case <-s.place.Ended():
		limit, slack = lastWord, 0
	default:
	}
	out, began := s.out, time.Now()
	out.deadline(began.Add(limit), slack)
	s.mu.Unlock()
	err := out.write(texts)
	if err == nil {
		s.place.Wrote(time.Now())
	}
	if err != nil && time.Since(began) >= stalled-stalledSlack { // the errors of HTTP/2 do not say why
		s.count.stalled.Inc()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.deadline(time.Time{}, 0) // HTTP/2 would end the stream then though nothing is being written
	return err
}

// hurry gives up a write that is under way soon: the stream is to end.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.deadline(time.Now().Add(lastWord), 0)
}
