package route

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
)

// tooMany returns the problem of one stream too many. It is 429 at the user's own limit, because
// the user can close streams, and 503 at the common limit.
func tooMany(many *sse.TooManyError) *Problem {
	p := &Problem{Status: http.StatusServiceUnavailable, Detail: many.Error(), Retry: ReconnectAll, limit: "all-streams"}
	if many.Own {
		p.Status, p.limit = http.StatusTooManyRequests, "user-streams"
	}
	return p
}

// RetryAfter formats a duration in whole seconds.
func RetryAfter(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// statusGone is the status in nginx's log for a client that disconnected before the answer.
const statusGone = 499

// Problem is an error answer (RFC 9457). It implements error, so that a handler can return it
// directly.
type Problem struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail,omitzero"`
	Instance string  `json:"instance,omitzero"` // identifies an internal error in the log
	Request  string  `json:"request,omitzero"`  // the id of the request
	Errors   []Fault `json:"errors,omitzero"`
	// Esri is the same error in the format of ArcGIS, on its paths only.
	Esri   *arcgisError      `json:"error,omitzero"`
	Retry  time.Duration     `json:"-"`
	header func(http.Header) `json:"-"`
	limit  string            `json:"-"` // the limit that the request exceeds, as in hazard.LimitError
}

// roomRetry is the Retry-After when the disk is full: freeing space takes a person.
const roomRetry = time.Minute

var limitStatus = map[hazard.LimitKind]int{
	hazard.LimitSize:     http.StatusRequestEntityTooLarge,
	hazard.LimitShare:    http.StatusTooManyRequests,
	hazard.LimitCapacity: http.StatusServiceUnavailable,
}

// Fault is one error in the input.
type Fault struct {
	Pointer   string `json:"pointer,omitzero"`   // JSON pointer into the body (RFC 6901)
	Parameter string `json:"parameter,omitzero"` // name of a parameter of path or query
	Detail    string `json:"detail"`
}

func (p *Problem) Error() string { return p.Detail }

// BadParameter returns the problem of an invalid parameter. It names the parameter, the value and
// what was expected.
func BadParameter(name, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	return &Problem{Status: http.StatusBadRequest, Detail: name + ": " + detail, Errors: []Fault{{Parameter: name, Detail: detail}}}
}

// TooLarge returns the problem of a body larger than limit, in bytes.
func TooLarge(limit int64) error {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body is larger than the limit of %d bytes", limit)}
}

// BodyError returns the problem of a body that could not be read completely.
func BodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge(limit)
	}
	if tooSlow(err) {
		return &Problem{Status: http.StatusRequestTimeout, limit: "body-rate",
			Detail: fmt.Sprintf("the body arrives too slowly (limit body-rate): expected at least %d bytes, or the rest, every %v", bodyWindow, bodyTime)}
	}
	return &Problem{Status: http.StatusBadRequest, Detail: "the body is malformed, or ended before it was complete"}
}

// tooSlow reports whether the body did not arrive in time.
func tooSlow(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// PanicError is the error of a handler that panicked.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// ProblemFor maps each kind of error to an answer. An unclassified error is a fault of the server,
// and clients never see its text.
func ProblemFor(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if bad, ok := errors.AsType[*hazard.InvalidError](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Detail: bad.Error()}
		for _, f := range bad.Faults {
			p.Errors = append(p.Errors, Fault{Pointer: f.Field, Detail: f.Detail})
		}
		return p
	}
	if over, ok := errors.AsType[*hazard.LimitError](err); ok {
		return &Problem{Status: limitStatus[over.Kind], Detail: over.Detail, Retry: over.RetryAfter, limit: over.Limit}
	}
	if closed, ok := errors.AsType[*store.UnwritableError](err); ok {
		return &Problem{Status: http.StatusServiceUnavailable, Detail: closed.Detail(), Retry: roomRetry}
	}
	if gone, ok := errors.AsType[*store.PrunedError](err); ok {
		return ProblemFor(BadParameter("at", "%s", gone.Error()))
	}
	if p := searchProblem(err); p != nil {
		return p
	}
	if many, ok := errors.AsType[*sse.TooManyError](err); ok {
		return tooMany(many)
	}
	switch {
	case errors.Is(err, hazard.ErrForbidden):
		return &Problem{Status: http.StatusForbidden, Detail: err.Error(), header: func(h http.Header) {
			h.Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		}}
	case errors.Is(err, hazard.ErrNotFound):
		return &Problem{Status: http.StatusNotFound, Detail: "not found, or not visible to you"}
	case errors.Is(err, hazard.ErrStale):
		return &Problem{Status: http.StatusPreconditionFailed, Detail: err.Error()}
	case errors.Is(err, hazard.ErrConflict):
		return &Problem{Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, hazard.ErrFull):
		return &Problem{Status: http.StatusInsufficientStorage, Detail: "the server's disk is full; the operator must free some space", Retry: roomRetry}
	case errors.Is(err, hazard.ErrUnavailable):
		return &Problem{Status: http.StatusServiceUnavailable, Detail: "the store is not available; repeating the request with the same uuid is safe", Retry: time.Second}
	}
	return nil
}

// SecondFactor is the header of a refused login whose password is right, and whose code of the second
// factor is missing or wrong.
const SecondFactor = "Hazardd-Second-Factor"

// Fail writes the answer for an error.
func (a *Router) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, auth.ErrFactor) {
		w.Header()[SecondFactor] = []string{auth.FactorKinds(err)}
	}
	if errors.Is(err, auth.ErrDenied) {
		denied(w)
		return
	}
	if errors.Is(err, auth.ErrInvalidToken) { // it was valid when the request came
		InvalidToken(w)
		return
	}
	out := a.Problem(w, r, err)
	out.Type, out.Title, out.Request = "about:blank", http.StatusText(out.Status), trace.ID(r.Context())
	if strings.HasPrefix(r.URL.Path, ArcGISPath) {
		out.Esri = &arcgisError{out.Status, out.Title, []string{out.Detail}}
	}
	body, err := json.Marshal(&out, jsontext.AllowInvalidUTF8(true)) // it repeats input, which may be invalid UTF-8
	if err != nil {                                                  // impossible: all of it is text
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(out.Status)
	_, _ = w.Write(body) // fails only if the client has gone
}

// Problem returns the problem for an error. It also sets the problem's headers, and logs what the
// operator must know.
func (a *Router) Problem(w http.ResponseWriter, r *http.Request, err error) Problem {
	p := ProblemFor(err)
	if p == nil && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		p = &Problem{Status: statusGone, Detail: "the client has gone"} // nobody reads the answer
	}
	if p == nil {
		id := uuid.NewString()
		a.Logger.ErrorContext(r.Context(), "request failed", "id", id, "method", r.Method, "path", r.URL.Path, "error", err)
		p = &Problem{Status: http.StatusInternalServerError, Detail: "an internal error; the log has it under this instance", Instance: "urn:uuid:" + id}
	} else if p.Status >= http.StatusInternalServerError {
		a.warn(p, r, err)
	}
	if p.limit != "" {
		a.measure.refusals.WithLabelValues(p.limit).Inc()
	}
	h := w.Header()
	h.Del("Hazardd-Coverage") // said of a list that is not sent
	h.Del("Hazardd-Possible")
	if p.header != nil {
		p.header(h)
	}
	if p.Retry > 0 {
		h.Set("Retry-After", RetryAfter(p.Retry))
	}
	return *p
}

// RefusedEvery is how often refusals by one limit are logged, so that a flood of requests does not
// fill the log.
const RefusedEvery = time.Minute

// refusals tracks the logged refusals by limit. There are only a few limits.
type refusals struct {
	mu   sync.Mutex
	last map[string]*loggedRefusal
}

type loggedRefusal struct {
	at     hazard.Instant
	missed int64
}

// take reports whether to log a refusal at now, and how many were left out since the last one.
func (l *refusals) take(limit string, now hazard.Instant) (ok bool, missed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]*loggedRefusal{}
	}
	before := l.last[limit]
	if before == nil {
		before = &loggedRefusal{at: now.Add(-RefusedEvery)}
		l.last[limit] = before
	}
	if now < before.at.Add(RefusedEvery) {
		before.missed++
		return false, 0
	}
	missed = before.missed
	*before = loggedRefusal{at: now}
	return true, missed
}

// warn logs a request that the service could not serve. Refusals by a limit are logged once a
// minute, with the number of the others.
func (a *Router) warn(p *Problem, r *http.Request, err error) {
	args := []any{"status", p.Status, "method", r.Method, "path", r.URL.Path, "error", err}
	if p.limit != "" {
		ok, missed := a.refused.take(p.limit, a.Now())
		if !ok {
			return
		}
		args = append(args, "limit", p.limit, "repeated", missed)
	}
	a.Logger.WarnContext(r.Context(), "request refused", args...)
}

// InvalidToken answers a missing, malformed, expired, revoked or foreign token exactly as in
// section 7 of the base interface.
func InvalidToken(w http.ResponseWriter) {
	plain(w, http.StatusForbidden, `Bearer error="invalid_token"`, "Invalid Token")
}

// denied answers invalid credentials and refresh tokens as in section 7 of the base interface.
func denied(w http.ResponseWriter) {
	plain(w, http.StatusUnauthorized, Realm, "Authentication failed.")
}

// Realm is the challenge of answers to invalid credentials (RFC 6750).
const Realm = `Bearer realm="hazardd"`

func plain(w http.ResponseWriter, status int, authenticate, text string) {
	h := w.Header()
	h.Set("WWW-Authenticate", authenticate)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // fails only if the client has gone
}

// searchProblem returns the problem for an invalid search, or nil for other errors.
func searchProblem(err error) *Problem {
	if faults, ok := errors.AsType[query.Faults](err); ok {
		p := &Problem{Status: http.StatusBadRequest, Detail: faults.Error()}
		for _, f := range faults {
			p.Errors = append(p.Errors, Fault{Parameter: f.Parameter, Detail: f.Detail})
			if f.TooCostly {
				p.Status, p.limit = http.StatusRequestEntityTooLarge, "geometry"
			}
		}
		return p
	}
	if errors.Is(err, query.ErrTooBroad) {
		return &Problem{Status: http.StatusBadRequest, Detail: err.Error()}
	}
	return nil
}

// arcgisError is the error format of ArcGIS, which stands beside the members of a problem.
type arcgisError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`
}
