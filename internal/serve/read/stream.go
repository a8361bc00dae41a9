package read

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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/serve/sse"
)

// place is a place among the streams, including its share of the public's limit.
type place struct {
	*sse.Stream
	leave func()
}

// Leave ends the stream. Call it once.
func (p *place) Leave() {
	p.Stream.Leave()
	p.leave()
}

// The intervals of streams.
const (
	heartbeat = sse.Heartbeat
	// stalled is how long a reader may accept no data. It is disconnected after that, or up to
	// stalledSlack sooner, and can resume.
	stalled      = 20 * time.Second
	stalledSlack = 5 * time.Second
	// lastWord is how long the shutdown waits for a reader.
	lastWord = time.Second
	// reconnect is the delay after which a reader should reconnect. After a shutdown, up to
	// route.ReconnectAll is added, so that not all readers reconnect at once.
	reconnect = 2 * time.Second
)

// streamMetrics are the metrics of event streams.
type streamMetrics struct{ told, stalled, replaced prometheus.Counter }

func newStreamMetrics(registry *prometheus.Registry) *streamMetrics {
	m := &streamMetrics{
		told:     route.NewCounter("hazardd_stream_events_total", "Events sent to event streams, counted per reader."),
		stalled:  route.NewCounter("hazardd_streams_stalled_total", "Event streams closed because their readers accepted no data."),
		replaced: route.NewCounter("hazardd_streams_replaced_total", "Dead event streams closed because their users opened another one at their limit."),
	}
	registry.MustRegister(m.told, m.stalled, m.replaced)
	return m
}

// stream is one reader's stream.
type stream struct {
	cursor *sse.Cursor
	place  *place
	marked int64 // the last number that the reader has been sent
	count  *streamMetrics

	mu  sync.Mutex
	out streamWriter // guarded by mu
}

// streamWriter is the destination of a stream.
type streamWriter interface {
	// deadline cancels writes at t, or up to slack before, including a write in progress. The zero
	// time means no deadline.
	deadline(t time.Time, slack time.Duration)
	// write writes texts, and returns once the network has accepted them.
	write(texts [][]byte) error
}

// answerWriter writes a stream through net/http, for HTTP/2.
type answerWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (o *answerWriter) deadline(t time.Time, _ time.Duration) {
	_ = o.control.SetWriteDeadline(t) // only writers in tests have no deadlines
	if t.IsZero() {
		_ = o.control.SetReadDeadline(t) // the server's timeouts are for requests that end
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

// connWriter writes a stream to its own connection, for HTTP/1.1.
type connWriter struct {
	net.Conn
	until time.Time // the current deadline
}

func (o *connWriter) deadline(t time.Time, slack time.Duration) {
	early := t.Sub(o.until)
	if t.IsZero() || early >= 0 && early <= slack { // the deadline only matters to writes, and setting it costs a fifth of a write
		return
	}
	o.until = t
	_ = o.SetWriteDeadline(t) // the write reports an error
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

// takeOver takes the connection of an HTTP/1.1 request away from net/http. The buffers, headers and
// stack of net/http are three quarters of an idle stream's memory. It returns nil for HTTP/2, where
// streams share a connection.
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

// responseHead returns the head of an answer that ends with the connection (RFC 9112 section 6.3).
func responseHead(h http.Header, now time.Time) []byte {
	h.Set("Connection", "close")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&head) // writes to a bytes.Buffer cannot fail
	head.WriteString("\r\n")
	return head.Bytes()
}

// serveConn is serveStream on a connection of its own, which it closes. ctx is the service's and
// outlives the request.
func (a *Streams) serveConn(ctx context.Context, conn net.Conn, s *stream, who *auth.Caller, first []byte) {
	ctx, gone := context.WithCancel(ctx)
	defer func() {
		if p := recover(); p != nil {
			a.Logger.ErrorContext(ctx, "a stream failed", "error", &route.PanicError{Value: p}, "stack", string(debug.Stack()))
		}
	}()
	reading := make(chan struct{})
	go func() { // the reader sends nothing more; a read only returns when it disconnects
		defer close(reading)
		defer gone()
		for buf := make([]byte, 16); ; {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = conn.Close() // fails only if the client has gone
		<-reading
	}()
	a.serveStream(ctx, s, who, first)
}

// serveStream sends events until the reader disconnects, stops reading or loses access, or the
// service stops.
func (a *Streams) serveStream(ctx context.Context, s *stream, who *auth.Caller, first []byte) {
	if s.send(first) != nil {
		return
	}
	s.marked = s.cursor.Number()
	sent := time.Now()
	quiet := func() time.Duration { // time until the next write is needed
		return min(heartbeat-time.Since(sent), who.Expires.Time().Sub(a.Now().Time()))
	}
	beat := time.NewTimer(quiet())
	defer beat.Stop()
	for {
		fresh, err := a.Auth.Recheck(who, a.Now())
		if err != nil {
			return
		}
		who = fresh
		events, wake, err := s.cursor.Next(ctx, who.Orgs)
		if err != nil {
			if ctx.Err() == nil {
				a.Logger.WarnContext(ctx, "a stream ends because the log cannot be read; its reader can resume", "error", err)
			}
			return
		}
		if len(events) > 0 {
			if s.send(events...) != nil {
				return
			}
			s.count.told.Add(float64(len(events)))
			s.cursor.Sent(a.Delays, a.Now)
			s.marked, sent = s.cursor.Number(), time.Now()
		}
		if wake == nil || !a.Auth.Unchanged(who) { // there may be more; or rights changed before wake was set
			wake = closed
		}
		select {
		case <-ctx.Done():
			return
		case <-s.place.Ended():
			_ = s.send(farewell()) // fails only if the client has gone
			return
		case <-beat.C: // not reset per event, because that costs a tenth of a write
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

// beat shows that the stream is alive, and sends the current number. With a narrow filter there may
// be no event for weeks, and the reader could otherwise not resume.
func (s *stream) beat() error {
	if n := s.cursor.Number(); n != s.marked {
		s.marked = n
		return s.send(fmt.Appendf(nil, ":\nid: %d\n\n", n))
	}
	return s.send([]byte(":\n\n"))
}

// farewell asks the reader to reconnect after a random delay.
func farewell() []byte {
	return fmt.Appendf(nil, "retry: %d\n\n", 500+rand.Int64N(route.ReconnectAll.Milliseconds()))
}

// send writes within the time that a reader has.
func (s *stream) send(texts ...[]byte) error {
	limit, slack := stalled, stalledSlack
	s.mu.Lock()
	select { // under mu, so that hurry finds the deadline already set
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
	if err != nil && time.Since(began) >= stalled-stalledSlack { // HTTP/2 errors do not name the cause
		s.count.stalled.Inc()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.deadline(time.Time{}, 0) // otherwise HTTP/2 would end an idle stream
	return err
}

// hurry shortens the deadline of a write in progress, because the stream is about to end.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.deadline(time.Now().Add(lastWord), 0)
}
