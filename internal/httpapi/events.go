package httpapi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/push"
	"github.com/hazardd/hazardd/internal/search"
	"github.com/hazardd/hazardd/internal/trace"
)

// envelopeParameter names what the events of a stream are wrapped in.
const (
	envelopeParameter = "envelope"
	cloudEvents       = "cloudevents"
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
	wish, err := a.wish(r, values)
	if err != nil {
		return err
	}
	s := &stream{out: &answerWriter{w, http.NewResponseController(w)}, count: a.measure}
	if s.place, err = a.join(r, who, s.hurry); err != nil {
		return err
	}
	taken := false
	defer func() {
		if !taken {
			s.place.Leave()
		}
	}()
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
	h["Vary"] = append(h["Vary"], "Accept-Language")
	h.Set("X-Accel-Buffering", "no") // nginx would gather events
	h["Hazardd-Change"] = []string{strconv.FormatInt(present, 10)}
	if r.Method == http.MethodHead {
		return nil
	}
	s.cursor = a.Push.Read(after, filter, readerOf(wish))
	if values.Has(envelopeParameter) {
		s.cursor.Envelope()
	}
	first := greeting(s.cursor, lost)
	if conn := s.takeOver(w); conn != nil {
		taken = true
		head := responseHead(h, a.Now())
		ctx := trace.Keep(context.Background(), r.Context())
		go func() {
			defer s.place.Leave() // who ends the service waits for it
			a.serveConn(ctx, conn, s, who, append(head, first...))
		}()
		return nil
	}
	a.serveStream(r.Context(), s, who, first)
	return nil
}

// join counts a stream of the caller; see push.Hub.Join.
func (a *API) join(r *http.Request, who *auth.Caller, end func()) (*place, error) {
	leave := func() {}
	if who.Role == auth.Public {
		var err error
		if leave, err = a.crowd.stream(a.clientAddr(r), a.Now()); err != nil {
			return nil, err
		}
	}
	stream, err := a.Push.Join(who.Name, time.Now(), end)
	if err != nil {
		leave()
		return nil, err
	}
	if stream.Replaced > 0 {
		a.measure.replaced.Inc()
		a.Logger.DebugContext(r.Context(), "replaced a dead stream by a new one of its user", "user", who.Name, "last_write_ago", stream.Replaced)
	}
	return &place{stream, leave}, nil
}

// eventFilter reads the parameters of a stream: which changes of which hazards it tells. nil: all.
func (a *API) eventFilter(r *http.Request) (url.Values, push.Filter, error) {
	values, err := queryValues(r)
	if err != nil {
		return nil, nil, err
	}
	if values.Has(ticketParameter) {
		return nil, nil, badParameter(ticketParameter, "stands alone, or with after: it takes the place of a token, and holds the other parameters")
	}
	f, faults := search.ParseFilter(values, "after", langParameter, ticketParameter, envelopeParameter)
	if n := len(values["after"]); n > 1 {
		return nil, nil, repeated("after", n)
	}
	if faults != nil {
		return nil, nil, faults
	}
	if given := values[envelopeParameter]; len(given) > 1 {
		return nil, nil, repeated(envelopeParameter, len(given))
	} else if given != nil && given[0] != cloudEvents {
		return nil, nil, badParameter(envelopeParameter, "%.40q is not %s, the only envelope that there is; leave the parameter out for none", given[0], cloudEvents)
	}
	if err := a.knowSources(r.Context(), f.Sources); err != nil {
		return nil, nil, err
	}
	filters := len(values)
	for _, name := range []string{"after", langParameter, envelopeParameter} {
		if values.Has(name) {
			filters--
		}
	}
	if filters == 0 {
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
func greeting(c *push.Cursor, lost push.Lost) []byte {
	first := fmt.Appendf(nil, "retry: %d\n", reconnect.Milliseconds())
	if lost == "" {
		return fmt.Appendf(first, "id: %d\n\n", c.Number())
	}
	return append(first, c.Reset(lost)...)
}

// tooMany is the problem of a stream too many: the user's own are the user's to close (429), all users' are not (503).
func tooMany(many *push.TooManyError) *problem {
	p := &problem{Status: http.StatusServiceUnavailable, Detail: many.Error(), retry: reconnectAll, limit: "all-streams"}
	if many.Own {
		p.Status, p.limit = http.StatusTooManyRequests, "user-streams"
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
func (a *API) await(r *http.Request, who *auth.Caller, n int64, wait time.Duration) (*auth.Caller, error) {
	ctx := r.Context()
	place, err := a.join(r, who, func() {})
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	over := time.NewTimer(min(wait, who.Expires.Time().Sub(a.Now())))
	defer over.Stop()
	cursor := a.Push.Read(n, nil, nil)
	for {
		if who, err = a.Auth.Recheck(who, a.now()); err != nil {
			return nil, err
		}
		events, wake, err := cursor.Next(ctx, who.Orgs)
		if err != nil || len(events) > 0 {
			return who, err
		}
		if wake == nil || !a.Auth.Unchanged(who) {
			wake = closed
		}
		select {
		case <-ctx.Done():
			return who, ctx.Err()
		case <-place.Ended():
			return who, nil
		case <-over.C:
			return who, nil
		case <-wake:
		}
	}
}
