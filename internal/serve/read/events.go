package read

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
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/serve/sse"
)

// envelopeParameter selects the envelope of the events in a stream.
const (
	envelopeParameter = "envelope"
	cloudEvents       = "cloudevents"
)

// events serves the change log after a given number as server-sent events (HTML standard, section
// 9.2). It sends each change once it is committed.
func (a *Streams) events(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, filter, err := a.eventFilter(r)
	if err != nil {
		return err
	}
	after, err := resumePoint(r, values)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	s := &stream{out: &answerWriter{w, http.NewResponseController(w)}, count: a.metrics}
	if s.place, err = a.join(r, who, s.hurry); err != nil {
		return err
	}
	taken := false
	defer func() {
		if !taken {
			s.place.Leave()
		}
	}()
	present, lost := a.Live.View(a.Now()).Number(), sse.Lost("")
	if after != fromNow {
		if lost, err = a.Push.Resumable(r.Context(), after, sse.Kept, a.Now()); err != nil {
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
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
	h["Hazardd-Change"] = []string{strconv.FormatInt(present, 10)}
	if r.Method == http.MethodHead {
		return nil
	}
	s.cursor = a.Push.Read(after, filter, route.ReaderOf(wish))
	s.cursor.Named(route.NamesFor(r.Context()))
	if values.Has(envelopeParameter) {
		s.cursor.Envelope()
	}
	first := greeting(s.cursor, lost)
	if conn := s.takeOver(w); conn != nil {
		taken = true
		head := responseHead(h, a.Time())
		ctx := trace.Keep(context.Background(), r.Context())
		go func() {
			defer s.place.Leave() // the shutdown waits for it
			a.serveConn(ctx, conn, s, who, append(head, first...))
		}()
		return nil
	}
	a.serveStream(r.Context(), s, who, first)
	return nil
}

// join registers a stream of the caller; see sse.Hub.Join.
func (a *Streams) join(r *http.Request, who *auth.Caller, end func()) (*place, error) {
	leave := func() {}
	if who.Role == auth.Public {
		var err error
		if leave, err = a.Visitors.Stream(a.ClientAddr(r), a.Time()); err != nil {
			return nil, err
		}
	}
	stream, err := a.Push.Join(who.Name, time.Now(), end)
	if err != nil {
		leave()
		return nil, err
	}
	if stream.Replaced > 0 {
		a.metrics.replaced.Inc()
		a.Logger.DebugContext(r.Context(), "replaced a dead stream by a new one of its user", "user", who.Name, "last_write_ago", stream.Replaced)
	}
	return &place{stream, leave}, nil
}

// eventFilter parses which changes of which hazards a stream sends. A nil filter means all.
func (a *Streams) eventFilter(r *http.Request) (url.Values, sse.Filter, error) {
	values, err := route.QueryValues(r)
	if err != nil {
		return nil, nil, err
	}
	if values.Has(route.TicketParameter) {
		return nil, nil, route.BadParameter(route.TicketParameter, "stands alone, or with after: it takes the place of a token, and holds the other parameters")
	}
	f, faults := query.ParseFilter(values, "after", route.LangParameter, route.TicketParameter, envelopeParameter)
	if n := len(values["after"]); n > 1 {
		return nil, nil, route.Repeated("after", n)
	}
	if faults != nil {
		return nil, nil, faults
	}
	if given := values[envelopeParameter]; len(given) > 1 {
		return nil, nil, route.Repeated(envelopeParameter, len(given))
	} else if given != nil && given[0] != cloudEvents {
		return nil, nil, route.BadParameter(envelopeParameter, "%.40q is not %s, the only envelope that there is; leave the parameter out for none", given[0], cloudEvents)
	}
	if err := a.KnowSources(r.Context(), f.Sources); err != nil {
		return nil, nil, err
	}
	filters := len(values)
	for _, name := range []string{"after", route.LangParameter, envelopeParameter} {
		if values.Has(name) {
			filters--
		}
	}
	if filters == 0 {
		return values, nil, nil
	}
	return values, a.Store.Search.Select(f), nil
}

// fromNow is the resume point of a reader that has seen no change yet.
const fromNow = -1

// wholeNumber matches the number of a change.
var wholeNumber = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)

// resumePoint returns the number of the last change that the reader has seen. The header takes
// precedence, because a reconnecting browser sends it together with the address of its first
// request. A header that is not a number comes from another server's history. It is answered with a
// reset, like any foreign number.
func resumePoint(r *http.Request, values url.Values) (int64, error) {
	if last := r.Header["Last-Event-Id"]; len(last) > 0 && last[0] != "" {
		if len(last) > 1 || !wholeNumber.MatchString(last[0]) {
			return math.MaxInt64, nil
		}
		return strconv.ParseInt(last[0], 10, 64)
	}
	return route.IntParameter(values, "after", fromNow, 0, math.MaxInt64)
}

// greeting is the first event of a stream. It holds the starting number, so that a reader that is
// cut off before the first change can resume. If the stream could not be resumed, it says so.
func greeting(c *sse.Cursor, lost sse.Lost) []byte {
	first := fmt.Appendf(nil, "retry: %d\n", reconnect.Milliseconds())
	if lost == "" {
		return fmt.Appendf(first, "id: %d\n\n", c.Number())
	}
	return append(first, c.Reset(lost)...)
}

// lostPlace returns the problem of a number that is not in the log.
func lostPlace(after int64, present int64) *route.Problem {
	return &route.Problem{Status: http.StatusGone, Detail: fmt.Sprintf("after: there is no change %d in this history, which a restore or a failover may have replaced; "+
		"read the lists again and continue after the change in Hazardd-Change, now %d", after, present)}
}

// maxWait is the longest time that an answer can wait. It is shorter than the timeouts of common
// proxies.
const maxWait = time.Minute

// waitParameter parses how long to wait for a non-empty answer.
func waitParameter(values url.Values) (time.Duration, error) {
	if !values.Has("wait") {
		return 0, nil
	}
	d, err := time.ParseDuration(values.Get("wait"))
	if err != nil || d < 0 || d > maxWait {
		return 0, route.BadParameter("wait", "%q is not a time from 0s to %v, such as 30s", values.Get("wait"), maxWait)
	}
	return d, nil
}

// await returns once there is a change after n that the caller may see, the time is over, or the
// service stops. It returns the caller with the rights as of then.
func (a *Streams) await(r *http.Request, who *auth.Caller, n int64, wait time.Duration) (*auth.Caller, error) {
	ctx := r.Context()
	place, err := a.join(r, who, func() {})
	if err != nil {
		return nil, err
	}
	defer place.Leave()
	over := time.NewTimer(min(wait, who.Expires.Time().Sub(a.Time())))
	defer over.Stop()
	cursor := a.Push.Read(n, nil, nil)
	for {
		if who, err = a.Auth.Recheck(who, a.Now()); err != nil {
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
