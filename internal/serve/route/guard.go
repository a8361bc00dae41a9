package route

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/net/listen"
)

// Handler answers a request, or returns an error and has then written nothing.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Protected is a handler that needs a caller.
type Protected func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error

// Open registers an operation that needs no token.
func (a *Router) Open(pattern string, h Handler) { a.Handle(pattern, a.unguarded(h)) }

// Private registers an operation of people with an account.
func (a *Router) Private(pattern string, h Protected) { a.Handle(pattern, a.guarded(h, forPeople)) }

// Readable registers what the public may read if the server is public (Config.Public). Otherwise it
// needs a token.
func (a *Router) Readable(pattern string, h Protected) { a.Handle(pattern, a.guarded(h, reading)) }

// Guarded is the handler that Readable registers, for a path that answers people by other rules than
// programs.
func (a *Router) Guarded(h Protected) http.Handler { return a.guarded(h, reading) }

// Members registers an operation on the data of an organization, for its members and for services
// that write for it.
func (a *Router) Members(pattern string, h Protected) { a.Handle(pattern, a.guarded(h, writing)) }

// Counted registers a count for people with an account, and for the services that watch drafts.
func (a *Router) Counted(pattern string, h Protected) { a.Handle(pattern, a.guarded(h, watching)) }

// use classifies an operation for service tokens, which may not use the operations meant for
// people.
type use int

const (
	forPeople use = iota
	reading
	writing
	watching
)

// inScope refuses a service token whose scope lacks the operation. The answer is the same as for an
// invalid token, as the base interface demands.
func inScope(who *auth.Caller, u use) error {
	_, writes := who.Scope.Org()
	if who.Scope == "" || u == reading && (writes || who.Scope == auth.ScopeRead) || u == writing && writes || u == watching && who.Scope == auth.ScopeDrafts {
		return nil
	}
	return auth.ErrInvalidToken
}

// ofAccount reports whether an operation is one of those that a caller needs to set up a second factor,
// and to end logins.
func ofAccount(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return path == "/account" || strings.HasPrefix(path, "/account/")
}

// Handle registers a handler that answers its errors itself.
func (a *Router) Handle(pattern string, h http.Handler) {
	a.mux.Handle(pattern, a.measure.measure(pattern, h))
	a.probe.Handle(pattern, http.NotFoundHandler())
	a.patterns = append(a.patterns, pattern)
}

// unguarded wraps a handler that needs no token.
func (a *Router) unguarded(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.recover(w, r)
		Secure(w.Header())
		if err := h(w, r); err != nil {
			a.Fail(w, r, err)
		}
	})
}

// guarded wraps a handler that needs a valid access token. A readable one needs none if the server
// is public.
func (a *Router) guarded(h Protected, u use) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer a.recover(w, r)
		Secure(w.Header())
		if u == reading {
			if who := a.PublicCaller(r, a.Now()); who != nil {
				if err := a.ServePublic(w, r, who, h); err != nil {
					a.Fail(w, r, err)
				}
				return
			}
		}
		who, err := a.Caller(r, a.Now())
		if err != nil {
			a.answerRefused(w, r, err)
			return
		}
		MarkKnown(r)
		share, err := a.Users.Enter(r, who, a.Time())
		if err != nil {
			a.Fail(w, r, err)
			return
		}
		defer share.Leave()
		if err = inScope(who, u); err == nil && who.NeedsFactor && !ofAccount(r.Pattern) {
			err = auth.ErrNeedsFactor
		}
		if err == nil {
			err = h(w, r, who)
		}
		if err != nil {
			a.Fail(w, r, err)
			if errors.Is(err, hazard.ErrForbidden) {
				a.Auth.Accounts().Refused(r.Context(), a.Actor(r, who), r.Pattern, r.URL.Path, err.Error(), a.Now())
			}
		}
	})
}

// MarkKnown marks the connection: a request on it has proved its sender's identity.
func MarkKnown(r *http.Request) {
	if c := listen.Of(r.Context()); c != nil {
		c.Known()
	}
}

// bearer returns the token of the request, or "" if it has none or more than one. The scheme's name
// is case-insensitive (RFC 9110 section 11.1). A token in the query does not count (RFC 9700
// section 4.3.2).
func bearer(h http.Header) string {
	values := h["Authorization"]
	if len(values) != 1 {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(token, " ")
}

var (
	nosniff    = []string{"nosniff"}
	NoReferrer = []string{"no-referrer"}
)

// NoPermissions denies a page what browsers can grant: it uses none of it. MapPermissions leaves the map,
// and the widget where a portal allows it, the reader's position, the clipboard and the whole screen.
const (
	NoPermissions  = "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), usb=()"
	MapPermissions = "camera=(), display-capture=(), geolocation=(self), microphone=(), midi=(), payment=(), usb=()"
)

// Secure sets the headers that all answers have.
func Secure(h http.Header) {
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = NoReferrer
}

// Now returns the present instant.
func (a *Router) Now() hazard.Instant { return hazard.At(a.Time()) }

// Clock returns the clock of Now.
func (a *Router) Clock() hazard.Clock { return hazard.ClockFunc(a.Now) }

// recover answers a request whose handler panicked. The process can continue, because handlers
// change data only in transactions.
func (a *Router) recover(w http.ResponseWriter, r *http.Request) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		a.measure.panics.Inc()
		a.Fail(w, r, &PanicError{p})
	}
}

// unknown answers requests for an unknown path, or a method that the path does not have.
func (a *Router) unknown(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	for _, m := range []string{"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"} {
		try := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := a.probe.Handler(try); pattern != "" {
			allow = append(allow, m)
		}
	}
	if len(allow) == 0 {
		return &Problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	if slices.Contains(allow, r.Method) { // the look-up above cleaned the path, the router did not
		return &Problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return &Problem{Status: http.StatusMethodNotAllowed, Detail: "this path has " + strings.Join(allow, ", ")}
}

// The largest bodies that are accepted, in bytes.
const (
	MaxLogin = 64 << 10 // decisions, "bad body on /authorize"
	MaxWrite = 4 << 20  // a product's text, or an area of a state's coast
)

// ReadBody reads a request's body of at most limit bytes. If Content-Length exceeds the limit, it
// fails without reading.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, TooLarge(limit)
	}
	if b, ok := r.Body.(*arrivingBody); ok && limit <= MaxLogin {
		b.flat()
	}
	body, err := io.ReadAll(http.MaxBytesReader(ServerWriter(w), r.Body, limit))
	if err != nil {
		return nil, BodyError(err, limit)
	}
	return body, nil
}
