// Package route takes requests to their handlers: the routing table, the caller, limits, problems,
// and how requests are decoded and answers encoded.
//
// A handler parses the request, calls other packages and writes the answer. It returns errors to
// one adapter, which alone turns them into answers, so a handler must write nothing while it can
// still fail. Every protected path answers an invalid token with 403 and exactly "Invalid Token",
// before it looks at anything else. Every JSON answer has a strong ETag, and caches must revalidate
// it before reuse. No answer reveals the existence of anything that the caller may not see.
package route

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Config holds what the router knows of the service. All fields are required unless they say
// otherwise.
type Config struct {
	Auth *auth.Service
	// Provider is the OpenID provider for logins; nil means none.
	Provider *oidc.Provider
	Live     *view.Live
	// NextMoment returns the next moment at which a hazard may change by itself, if there is any.
	NextMoment func(ctx context.Context) (at hazard.Instant, any bool, err error)
	// BaseURL is the service's public address without a trailing slash. No answer repeats the
	// request's Host.
	BaseURL string
	// Languages is the fallback for readers who ask for no language that a text exists in.
	Languages lang.Wish
	// Public is what readers without an account may do; empty means nothing. PublicLimits bounds
	// it.
	Public       Public
	PublicLimits PublicLimits
	// Requests bounds the requests of users; zero means no bound.
	Requests RequestLimits
	// Answers bounds the memory for answers; zero means the default.
	Answers encoded.Limits
	// Pace is the slowest reader that is tolerated; zero means the default.
	Pace encoded.Pace
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted.
	TrustedProxies []netip.Prefix
	// Metrics is the registry of the router's metrics.
	Metrics *prometheus.Registry
	Time    func() time.Time
	Logger  *slog.Logger
}

// slowest is the slowest reader that is tolerated; a phone on a bad line is faster. A reader that
// accepts no data is disconnected within 42 s.
var slowest = encoded.Pace{Rate: 8 << 10, Patience: 10 * time.Second}

// Router is the routing table, and what all handlers need of a request. Make it with New.
type Router struct {
	Config
	Users    *Quotas   // usage by user
	Visitors *Visitors // usage by address, of requests without an account
	Budget   *encoded.Budget
	turns    *encoded.Turns // of costly answers
	once     *encoded.Answers
	Cookies  Cookies
	measure  *metrics
	wakes    wakes
	refused  refusals
	mux      *http.ServeMux
	// probe has the routes without the catch-all; it tells which methods a path has.
	probe    *http.ServeMux
	patterns []string // patterns of the routes
}

// New returns a router whose only routes are the paths with a read key.
func New(c Config) *Router {
	c.Answers = cmp.Or(c.Answers, encoded.DefaultLimits)
	a := &Router{Config: c, Users: newQuotas(c.Requests), Visitors: newVisitors(c.PublicLimits), Budget: encoded.NewBudget(c.Answers), turns: encoded.NewTurns(runtime.GOMAXPROCS(0) / 2), once: encoded.NewAnswers(c.Answers.Shared / 2),
		Cookies: newCookies(c.BaseURL), measure: newMetrics(c.Metrics, cmp.Or(c.Pace, slowest)), mux: http.NewServeMux(), probe: http.NewServeMux()}
	a.mux.Handle("/", a.measure.measure("", a.unguarded(a.unknown)))
	a.Open("GET /key/{key}/{path...}", a.WithKey)
	return a
}

// ServeHTTP answers a request.
func (a *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asArcGIS(w, r)
	a.mux.ServeHTTP(w, r)
}

// Patterns returns the patterns of the routes.
func (a *Router) Patterns() []string { return a.patterns }
