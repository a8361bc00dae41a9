package httpapi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"hazardd/internal/auth"
	"hazardd/internal/push"
	"hazardd/internal/search"
)

// The rhythm of streams.
const (
	// heartbeat is how often something is sent: proxies give up on what is silent for a minute (interface.md section 3).
	heartbeat = 15 * time.Second
	// stalled is how long a reader may take nothing of what is sent. It is dropped then, and resumes.
	stalled = 20 * time.Second
	// lastWord is how long the end of the service waits for a reader.
	lastWord = time.Second
	// reconnect is after which time a reader should come again; after an end of the service, at most reconnectAll later, so that
	// not all come at once.
	reconnect    = 2 * time.Second
	reconnectAll = 5 * time.Second
)

// events serves the change log as a stream of server-sent events (HTML standard, section 9.2): what follows a number, as it is committed.
func (a *API) events(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, filter, err := a.eventFilter(r)
	if err != nil {
		return err
	}
	after, err := resumePoint(r, values)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	// A write that is under way at the end of the service is given up soon. Nobody calls it after leave.
	leave, err := a.Push.Join(who.Name, func() { _ = control.SetWriteDeadline(time.Now().Add(lastWord)) })
	if err != nil {
		return err
	}
	defer leave()
	present, lost := a.Live.View(a.now()).Number(), push.Lost("")
	if after != fromNow {
		if lost, err = a.Push.Resumable(r.Context(), after, push.Kept, a.now()); err != nil {
			return err
		}
	}
	if after == fromNow || lost != "" {
		after = present
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would gather events
	h["Hazardd-Change"] = []string{strconv.FormatInt(present, 10)}
	if r.Method == http.MethodHead {
		return nil
	}
	s := &stream{w: w, control: control, cursor: a.Push.Read(after, filter), ended: a.Push.Ended()}
	a.serveStream(r.Context(), s, who, greeting(after, lost))
	return nil
}

// eventFilter reads the parameters of a stream: which changes of which hazards it tells. nil: all.
func (a *API) eventFilter(r *http.Request) (url.Values, push.Filter, error) {
	values, err := queryValues(r)
	if err != nil {
		return nil, nil, err
	}
	f, faults := search.ParseFilter(values, "after")
	if n := len(values["after"]); n > 1 {
		return nil, nil, repeated("after", n)
	}
	if faults != nil {
		return nil, nil, faults
	}
	if err := a.knowSources(r.Context(), f.Sources); err != nil {
		return nil, nil, err
	}
	if len(values) == 0 || len(values) == 1 && values.Has("after") {
		return values, nil, nil
	}
	return values, a.Store.Select(f), nil
}

// fromNow is the resume point of a reader that has none.
const fromNow = -1

// wholeNumber is how the number of a change is written.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)

// resumePoint is the number of the change that the reader has seen last. The header wins: a browser that reconnects sends it with the address
// of its first request. What is in the header and is no number is of another server's history; resuming there is refused as any other
// history's number is, by a reset.
func resumePoint(r *http.Request, values url.Values) (int64, error) {
	if last := r.Header["Last-Event-Id"]; len(last) > 0 && last[0] != "" {
		if len(last) > 1 || !wholeNumber.MatchString(last[0]) {
			return math.MaxInt64, nil
		}
		return strconv.ParseInt(last[0], 10, 64)
	}
	return intParameter(values, "after", fromNow, 0, math.MaxInt64)
}

// greeting is what a stream begins with: where it begins, so that a reader that is cut off before the first event resumes there, or that it could
// not be resumed.
func greeting(n int64, lost push.Lost) []byte {
	if lost == "" {
		return fmt.Appendf(nil, "retry: %d\nid: %d\n\n", reconnect.Milliseconds(), n)
	}
	return fmt.Appendf(nil, "retry: %d\nid: %d\nevent: reset\ndata: {\"change\":%d,\"reason\":%q}\n\n", reconnect.Milliseconds(), n, n, lost)
}

// stream is one reader's stream.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	cursor  *push.Cursor
	ended   <-chan struct{}
	marked  int64 // the number that the reader knows
}

// serveStream sends events until the reader goes, does not read, or may not read any more, or the service ends.
func (a *API) serveStream(ctx context.Context, s *stream, who *auth.Caller, first []byte) {
	_ = s.control.SetReadDeadline(time.Time{}) // the server's is for requests that end; a connection that has none is one of a test
	if s.send(first) != nil {
		return
	}
	s.marked = s.cursor.Number()
	until := func() time.Duration { return min(heartbeat, who.Expires.Time().Sub(a.Now())) }
	beat := time.NewTimer(until())
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
				a.Logger.Warn("a stream ends because the log cannot be read; its reader resumes", "error", err)
			}
			return
		}
		if len(events) > 0 {
			if s.send(events...) != nil {
				return
			}
			s.marked = s.cursor.Number()
			beat.Reset(until())
		}
		if wake == nil { // there is more
			wake = closed
		}
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
			_ = s.send(farewell()) // a reader who has gone
			return
		case <-beat.C:
			if s.beat() != nil {
				return
			}
			beat.Reset(until())
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

// send writes and flushes, within the time that a reader has.
func (s *stream) send(texts ...[]byte) error {
	limit := stalled
	select {
	case <-s.ended:
		limit = lastWord
	default:
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(limit)) // as above
	for _, t := range texts {
		if _, err := s.w.Write(t); err != nil {
			return err
		}
	}
	err := s.control.Flush()
	_ = s.control.SetWriteDeadline(time.Time{}) // HTTP/2 would end the stream there though nothing is being written
	return err
}

// tooMany is the problem of a stream too many: the user's own are the user's to close (429), all users' are not (503).
func tooMany(many *push.TooManyError) *problem {
	p := &problem{Status: http.StatusServiceUnavailable, Detail: many.Error(), retry: reconnectAll}
	if many.Own {
		p.Status = http.StatusTooManyRequests
	}
	return p
}

// lostPlace is the problem of a place in the log that there is not.
func lostPlace(after int64, present int64) *problem {
	return &problem{Status: http.StatusGone, Detail: fmt.Sprintf("after: there is no change %d in this history, which a restore or a failover may have replaced; "+
		"read the lists anew and go on after the change that Hazardd-Change names, now %d", after, present)}
}

// maxWait is how long an answer may be waited for: below what proxies give up after.
const maxWait = time.Minute

// waitParameter reads for how long to wait for an answer that is not empty.
func waitParameter(values url.Values) (time.Duration, error) {
	if !values.Has("wait") {
		return 0, nil
	}
	d, err := time.ParseDuration(values.Get("wait"))
	if err != nil || d < 0 || d > maxWait {
		return 0, badParameter("wait", "%q is not a time from 0s to %v, such as 30s", values.Get("wait"), maxWait)
	}
	return d, nil
}

// await returns when there is something that the caller may know of after change n, when the time is over, or when the service ends: with
// the caller as of then.
func (a *API) await(ctx context.Context, who *auth.Caller, n int64, wait time.Duration) (*auth.Caller, error) {
	leave, err := a.Push.Join(who.Name, func() {})
	if err != nil {
		return nil, err
	}
	defer leave()
	over := time.NewTimer(min(wait, who.Expires.Time().Sub(a.Now())))
	defer over.Stop()
	cursor := a.Push.Read(n, nil)
	for {
		if who, err = a.Auth.Recheck(who, a.now()); err != nil {
			return nil, err
		}
		events, wake, err := cursor.Next(ctx, who.Orgs)
		if err != nil || len(events) > 0 {
			return who, err
		}
		if wake == nil {
			wake = closed
		}
		select {
		case <-ctx.Done():
			return who, ctx.Err()
		case <-a.Push.Ended():
			return who, nil
		case <-over.C:
			return who, nil
		case <-wake:
		}
	}
}
