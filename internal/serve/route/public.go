package route

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Opening marks the request as public: its answer may be cached until the view's next change by
// time.
func (a *Router) Opening(r *http.Request) *http.Request {
	r = a.stranger(r)
	return r.WithContext(context.WithValue(r.Context(), openedContext{}, &opened{a, a.Live.View(a.Now())}))
}

// stranger marks a request without an account: it gets no login names.
func (a *Router) stranger(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strangerContext{}, hazard.Names(a.Auth)))
}

type strangerContext struct{}

// NamesFor returns the names under which the caller of a request sees people; nil means their
// logins.
func NamesFor(ctx context.Context) hazard.Names {
	names, _ := ctx.Value(strangerContext{}).(hazard.Names)
	return names
}

// View returns the active hazards at now, as the caller of a request may see them.
func (a *Router) View(ctx context.Context, now hazard.Instant) *view.View {
	return a.Live.View(now).Named(NamesFor(ctx))
}

// Public is what readers without an account may do.
type Public string

// The choices. The public reads the same as a user without an organization.
const (
	PublicOff  Public = "off"  // nothing: every protected path answers 403
	PublicRead Public = "read" // read and stream hazards, and see their pages
	PublicMap  Public = "map"  // the same, plus the map and the widget without a login
)

// On reports whether anything is public.
func (p Public) On() bool { return p == PublicRead || p == PublicMap }

// PublicLimits bounds requests without an account. Zero means no bound.
type PublicLimits struct {
	Rate     int // requests per second and address, in bursts of burstTime's worth
	Requests int // concurrent requests of all addresses; one address may have an eighth
	Streams  int // event streams and waiting requests of all addresses; one address may have an eighth
}

// The limits that are not settings.
const (
	// addressShare: one address may use one part in addressShare of the public's limits.
	addressShare = 8
	// manyAddresses is the rate of all addresses together, as a multiple of the rate of one.
	manyAddresses = 40
	// maxVisitors is how many addresses are counted separately; further ones share one budget. They
	// take 16 MiB.
	maxVisitors = 1 << 16
)

// ReconnectAll is the delay within which the readers of a server reconnect after a shutdown.
const ReconnectAll = 5 * time.Second

// How long a shared cache may reuse an answer for the public.
const (
	// sharedAge is the longest time. A crowd then causes one request every few seconds, and changes
	// show with no more than this delay.
	sharedAge = 5 * time.Second
	// cacheSlack is subtracted from the time to the next end. A cache that counts whole seconds,
	// such as nginx, keeps an answer up to a second too long, and the answer takes some time to
	// reach it.
	cacheSlack = 2 * time.Second
)

// opened marks a public request. It holds the view from before the answer was built.
type opened struct {
	api  *Router
	view *view.View
}

type openedContext struct{}

// CacheControl returns the Cache-Control for an answer to r. restricted says that the answer holds
// data that is not public.
func CacheControl(r *http.Request, restricted bool) []string {
	if restricted {
		return NoStore
	}
	if o, ok := r.Context().Value(openedContext{}).(*opened); ok {
		return o.cacheControl()
	}
	return revalidate
}

// publicFor holds the values of Cache-Control by whole seconds. Browsers revalidate each time
// (max-age=0): they would count the time in a shared cache only if the cache reported it.
var publicFor = func() (values [sharedAge/time.Second + 1][]string) {
	values[0] = []string{"public, max-age=0, no-cache"}
	for s := 1; s < len(values); s++ {
		values[s] = []string{"public, max-age=0, s-maxage=" + strconv.Itoa(s) + ", must-revalidate"}
	}
	return values
}()

// cacheControl lets caches keep the answer until shortly before the next time at which any active
// hazard changes by itself. An answer that was built during a change of the view is not cached: it
// may hold a hazard that is in neither view.
func (o *opened) cacheControl() []string {
	now := o.api.Now()
	v := o.api.Live.View(now)
	if v != o.view {
		return publicFor[0]
	}
	left := min(v.NextEnd(), o.api.wakes.next(o.api, v, now)).Time().Sub(now.Time()) - cacheSlack
	return publicFor[max(0, min(left, sharedAge))/time.Second]
}

// wakes knows when the next hazard is due for a new derivation. It queries the store once per view,
// and once a second at most.
type wakes struct {
	mu   sync.Mutex
	view *view.View     // mu guards this and the fields below
	read hazard.Instant // when view was read
	at   hazard.Instant
}

func (k *wakes) next(a *Router, v *view.View, now hazard.Instant) hazard.Instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.view == v && now < k.read.Add(time.Second) && now >= k.read {
		return k.at
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	at, any, err := a.NextMoment(ctx)
	switch {
	case err != nil: // derivations fail too
		at = now
	case !any:
		at = hazard.MaxInstant
	}
	k.view, k.read, k.at = v, now, at
	return at
}

// PublicCaller returns the caller for a request without credentials if the server is public,
// otherwise nil.
func (a *Router) PublicCaller(r *http.Request, now hazard.Instant) *auth.Caller {
	if !a.Public.On() || r.Header["Authorization"] != nil || Keyed(r) != nil || ticketed(r) || r.Method != http.MethodGet && r.Method != http.MethodHead && r.Pattern != ArcGISQueryByPost {
		return nil
	}
	return auth.Anonymous(now)
}

// ServePublic serves a request without credentials within the public's limits.
func (a *Router) ServePublic(w http.ResponseWriter, r *http.Request, who *auth.Caller, h Protected) error {
	leave, err := a.Visitors.Enter(r, a.ClientAddr(r), a.Time())
	if err != nil {
		return err
	}
	defer leave()
	if waits(r) { // the answer is as of a later moment
		return h(w, a.stranger(r), who)
	}
	return h(w, a.Opening(r), who)
}

// Anybody registers a write that the public may send if the server is public, within its limits;
// otherwise only users may. Invalid credentials are an error, not a public request.
func (a *Router) Anybody(pattern string, h Protected) {
	users := a.guarded(h, forPeople)
	a.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Public.On() || r.Header["Authorization"] != nil || Keyed(r) != nil {
			users.ServeHTTP(w, r)
			return
		}
		defer a.recover(w, r)
		Secure(w.Header())
		leave, err := a.Visitors.Enter(r, a.ClientAddr(r), a.Time())
		if err == nil {
			defer leave()
			err = h(w, a.stranger(r), auth.Anonymous(a.Now()))
		}
		if err != nil {
			a.Fail(w, r, err)
		}
	}))
}

// Visitors counts the requests of the public, so that it never uses capacity that users need.
type Visitors struct {
	PublicLimits
	all *rate.Limiter

	mu       sync.Mutex
	visitors map[netip.Prefix]*visitor // mu guards this and the fields below
	others   *visitor                  // shared by all addresses beyond maxVisitors
	swept    time.Time                 // time of the last search for free places
	sum      visitor
}

// visitor is the usage of one address.
type visitor struct {
	running, streams int
	requests         *rate.Limiter
}

func newVisitors(b PublicLimits) *Visitors {
	c := &Visitors{PublicLimits: b, all: limiter(b.Rate*manyAddresses, time.Second, b.Rate*manyAddresses), visitors: map[netip.Prefix]*visitor{}}
	c.others = c.visitor()
	return c
}

func (c *Visitors) visitor() *visitor {
	return &visitor{requests: limiter(c.Rate, time.Second, c.Rate*burstTime)}
}

// network returns what counts as one address: an IPv4 address, or the /64 of an IPv6 client.
func network(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // an invalid address gives the zero prefix, which all such clients share
	return p
}

// of returns the usage of an address. The caller holds c.mu.
func (c *Visitors) of(addr netip.Addr, now time.Time) *visitor {
	p := network(addr)
	if v := c.visitors[p]; v != nil {
		return v
	}
	if len(c.visitors) >= maxVisitors && now.Sub(c.swept).Abs() > time.Second {
		c.swept = now
		for p, v := range c.visitors { // an address with its whole budget can be forgotten
			if v.requests.TokensAt(now) >= float64(v.requests.Burst()) && v.running == 0 && v.streams == 0 {
				delete(c.visitors, p)
			}
		}
	}
	if len(c.visitors) >= maxVisitors {
		return c.others
	}
	v := c.visitor()
	c.visitors[p] = v
	return v
}

// Enter admits a request of an address at now, by the wall clock. The caller calls leave at its
// end. For streams and waiting requests, enter only counts the rate; stream counts their number.
func (c *Visitors) Enter(r *http.Request, addr netip.Addr, now time.Time) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.of(addr, now)
	if !v.requests.AllowN(now, 1) {
		return nil, &hazard.LimitError{Limit: "public-rate", Kind: hazard.LimitShare, RetryAfter: time.Second,
			Detail: fmt.Sprintf("more than %d requests a second without an account from your address (limit public-rate); ask less often, or follow GET /events", c.Rate)}
	}
	if !c.all.AllowN(now, 1) {
		return nil, &hazard.LimitError{Limit: "public-rate-all", Kind: hazard.LimitCapacity, RetryAfter: 2 * time.Second,
			Detail: "too many requests without an account (limit public-rate-all); retry later, or log in"}
	}
	if waits(r) {
		return func() {}, nil
	}
	return c.take(v, func(v *visitor) *int { return &v.running }, "public-requests", "requests", c.Requests, time.Second)
}

// Stream admits a stream or a waiting request of an address. The caller calls leave at its end.
func (c *Visitors) Stream(addr netip.Addr, now time.Time) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(c.of(addr, now), func(v *visitor) *int { return &v.streams }, "public-streams", "streams", c.Streams, ReconnectAll)
}

// take increments a count if the limits allow it. The caller holds c.mu.
func (c *Visitors) take(v *visitor, count func(*visitor) *int, limit, what string, most int, again time.Duration) (leave func(), err error) {
	if share := max(1, most/addressShare); most > 0 && *count(v) >= share {
		return nil, &hazard.LimitError{Limit: limit, Kind: hazard.LimitShare, RetryAfter: again,
			Detail: fmt.Sprintf("%d %s without an account are open from your address, the limit per address (limit %s)", share, what, limit)}
	}
	if most > 0 && *count(&c.sum) >= most {
		return nil, &hazard.LimitError{Limit: limit + "-all", Kind: hazard.LimitCapacity, RetryAfter: again,
			Detail: fmt.Sprintf("%d %s without an account are open, the limit of this server (limit %s-all); retry later, or log in", most, what, limit)}
	}
	*count(v)++
	*count(&c.sum)++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		*count(v)--
		*count(&c.sum)--
	}), nil
}
