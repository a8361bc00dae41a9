package serve

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
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve/sse"
	"github.com/hazardd/hazardd/internal/store"
)

// statusGone is the status in nginx's log for a client that disconnected before the answer.
const statusGone = 499

// problem is an error answer (RFC 9457). It implements error, so that a handler can return it
// directly.
type problem struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail,omitzero"`
	Instance string  `json:"instance,omitzero"` // identifies an internal error in the log
	Request  string  `json:"request,omitzero"`  // the id of the request
	Errors   []fault `json:"errors,omitzero"`
	// Esri is the same error in the format of ArcGIS, on its paths only.
	Esri   *arcgisError `json:"error,omitzero"`
	retry  time.Duration
	header func(http.Header)
	limit  string // the limit that the request exceeds, as in hazard.LimitError
}

// roomRetry is the Retry-After when the disk is full: freeing space takes a person.
const roomRetry = time.Minute

var limitStatus = map[hazard.LimitKind]int{
	hazard.LimitSize:     http.StatusRequestEntityTooLarge,
	hazard.LimitShare:    http.StatusTooManyRequests,
	hazard.LimitCapacity: http.StatusServiceUnavailable,
}

// fault is one error in the input.
type fault struct {
	Pointer   string `json:"pointer,omitzero"`   // JSON pointer into the body (RFC 6901)
	Parameter string `json:"parameter,omitzero"` // name of a parameter of path or query
	Detail    string `json:"detail"`
}

func (p *problem) Error() string { return p.Detail }

// badParameter returns the problem of an invalid parameter. It names the parameter, the value and
// what was expected.
func badParameter(name, format string, args ...any) error {
	detail := fmt.Sprintf(format, args...)
	return &problem{Status: http.StatusBadRequest, Detail: name + ": " + detail, Errors: []fault{{Parameter: name, Detail: detail}}}
}

func tooLarge(limit int64) error {
	return &problem{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body is larger than the limit of %d bytes", limit)}
}

// bodyError returns the problem of a body that could not be read completely.
func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if tooSlow(err) {
		return &problem{Status: http.StatusRequestTimeout, limit: "body-rate",
			Detail: fmt.Sprintf("the body arrives too slowly (limit body-rate): expected at least %d bytes, or the rest, every %v", bodyWindow, bodyTime)}
	}
	return &problem{Status: http.StatusBadRequest, Detail: "the body is malformed, or ended before it was complete"}
}

// tooSlow reports whether the body did not arrive in time.
func tooSlow(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// problemFor maps each kind of error to an answer. An unclassified error is a fault of the server,
// and clients never see its text.
func problemFor(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if bad, ok := errors.AsType[*hazard.InvalidError](err); ok {
		p := &problem{Status: http.StatusBadRequest, Detail: bad.Error()}
		for _, f := range bad.Faults {
			p.Errors = append(p.Errors, fault{Pointer: f.Field, Detail: f.Detail})
		}
		return p
	}
	if over, ok := errors.AsType[*hazard.LimitError](err); ok {
		return &problem{Status: limitStatus[over.Kind], Detail: over.Detail, retry: over.RetryAfter, limit: over.Limit}
	}
	if gone, ok := errors.AsType[*store.PrunedError](err); ok {
		return problemFor(badParameter("at", "%s", gone.Error()))
	}
	if p := searchProblem(err); p != nil {
		return p
	}
	if many, ok := errors.AsType[*sse.TooManyError](err); ok {
		return tooMany(many)
	}
	switch {
	case errors.Is(err, hazard.ErrForbidden):
		return &problem{Status: http.StatusForbidden, Detail: err.Error(), header: func(h http.Header) {
			h.Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		}}
	case errors.Is(err, hazard.ErrNotFound):
		return &problem{Status: http.StatusNotFound, Detail: "not found, or not visible to you"}
	case errors.Is(err, hazard.ErrStale):
		return &problem{Status: http.StatusPreconditionFailed, Detail: err.Error()}
	case errors.Is(err, hazard.ErrConflict):
		return &problem{Status: http.StatusConflict, Detail: err.Error()}
	case errors.Is(err, hazard.ErrFull):
		return &problem{Status: http.StatusInsufficientStorage, Detail: "the server's disk is full; the operator must free some space", retry: roomRetry}
	case errors.Is(err, hazard.ErrUnavailable):
		return &problem{Status: http.StatusServiceUnavailable, Detail: "the store is not available; repeating the request with the same uuid is safe", retry: time.Second}
	}
	return nil
}

// fail writes the answer for an error.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, auth.ErrDenied) {
		denied(w)
		return
	}
	if errors.Is(err, auth.ErrInvalidToken) { // it was valid when the request came
		invalidToken(w)
		return
	}
	out := a.problem(w, r, err)
	out.Type, out.Title, out.Request = "about:blank", http.StatusText(out.Status), trace.ID(r.Context())
	if strings.HasPrefix(r.URL.Path, arcgisPath) {
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

// problem returns the problem for an error. It also sets the problem's headers, and logs what the
// operator must know.
func (a *API) problem(w http.ResponseWriter, r *http.Request, err error) problem {
	p := problemFor(err)
	if p == nil && errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		p = &problem{Status: statusGone, Detail: "the client has gone"} // nobody reads the answer
	}
	if p == nil {
		id := uuid.NewString()
		a.Logger.ErrorContext(r.Context(), "request failed", "id", id, "method", r.Method, "path", r.URL.Path, "error", err)
		p = &problem{Status: http.StatusInternalServerError, Detail: "an internal error; the log has it under this instance", Instance: "urn:uuid:" + id}
	} else if p.Status >= http.StatusInternalServerError {
		a.warn(p, r, err)
	}
	if p.limit != "" {
		a.measure.refusals.WithLabelValues(p.limit).Inc()
	}
	h := w.Header()
	if p.header != nil {
		p.header(h)
	}
	if p.retry > 0 {
		h.Set("Retry-After", retryAfter(p.retry))
	}
	return *p
}

// refusedEvery is how often refusals by one limit are logged, so that a flood of requests does not
// fill the log.
const refusedEvery = time.Minute

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
		before = &loggedRefusal{at: now.Add(-refusedEvery)}
		l.last[limit] = before
	}
	if now < before.at.Add(refusedEvery) {
		before.missed++
		return false, 0
	}
	missed = before.missed
	*before = loggedRefusal{at: now}
	return true, missed
}

// warn logs a request that the service could not serve. Refusals by a limit are logged once a
// minute, with the number of the others.
func (a *API) warn(p *problem, r *http.Request, err error) {
	args := []any{"status", p.Status, "method", r.Method, "path", r.URL.Path, "error", err}
	if p.limit != "" {
		ok, missed := a.refused.take(p.limit, a.now())
		if !ok {
			return
		}
		args = append(args, "limit", p.limit, "repeated", missed)
	}
	a.Logger.WarnContext(r.Context(), "request refused", args...)
}

// invalidToken answers a missing, malformed, expired, revoked or foreign token exactly as in
// section 7 of the base interface.
func invalidToken(w http.ResponseWriter) {
	plain(w, http.StatusForbidden, `Bearer error="invalid_token"`, "Invalid Token")
}

// denied answers invalid credentials and refresh tokens as in section 7 of the base interface.
func denied(w http.ResponseWriter) {
	plain(w, http.StatusUnauthorized, realm, "Authentication failed.")
}

const realm = `Bearer realm="hazardd"`

func plain(w http.ResponseWriter, status int, authenticate, text string) {
	h := w.Header()
	h.Set("WWW-Authenticate", authenticate)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // fails only if the client has gone
}
