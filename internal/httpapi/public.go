package httpapi

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
	"github.com/hazardd/hazardd/internal/live"
	"github.com/hazardd/hazardd/internal/push"
)

// Public is what readers without an account may do.
type Public string

// The choices. What the public reads is what a reader who belongs to no organization reads.
const (
	PublicOff  Public = "off"  // nothing: every protected path answers 403
	PublicRead Public = "read" // read and stream hazards, and see their pages
	PublicMap  Public = "map"  // the same, and the map and the widget open without a login
)

// on reports whether anything is public.
func (p Public) on() bool { return p == PublicRead || p == PublicMap }

// PublicLimits bound what readers without an account ask for. What is zero is not bounded.
type PublicLimits struct {
	Rate     int // requests of one address in a second; burstTime's worth may come at once
	Requests int // in progress, of all of them; one address may have an eighth
	Streams  int // event streams, and waits for changes, of all of them; one address may have an eighth
}

// The bounds that are not settings.
const (
	// addressShare is the part of the public's budgets that one address may use.
	addressShare = 8
	// manyAddresses is how many times the rate of one address that of all of them may be.
	manyAddresses = 40
	// maxVisitors is how many addresses are counted apart; further ones share one budget. 16 MiB.
	maxVisitors = 1 << 16
)

// How long an answer for the public may be reused by a shared cache.
const (
	// sharedAge is the longest: a crowd becomes one request each few seconds, and no news is later than that.
	sharedAge = 5 * time.Second
	// cacheSlack is taken from the time to the next end: a cache that counts in whole seconds, as nginx does, keeps an answer up to a
	// second longer than it is told, and the answer takes some time to reach it.
	cacheSlack = 2 * time.Second
)

// opened marks a request of the public, with the view before its answer was made.
type opened struct {
	api  *API
	view *live.View
}

type openedContext struct{}

// cacheControl is for how long an answer of what r asked for may be reused. restricted: it holds what not everybody may know.
func cacheControl(r *http.Request, restricted bool) []string {
	if restricted {
		return noStore
	}
	if o, ok := r.Context().Value(openedContext{}).(*opened); ok {
		return o.cacheControl()
	}
	return revalidate
}

// publicFor are the values of Cache-Control by whole seconds. Browsers ask again each time (max-age=0): they would count the time that
// a shared cache has kept an answer only if that told it.
var publicFor = func() (values [sharedAge/time.Second + 1][]string) {
	values[0] = []string{"public, max-age=0, no-cache"}
	for s := 1; s < len(values); s++ {
		values[s] = []string{"public, max-age=0, s-maxage=" + strconv.Itoa(s) + ", must-revalidate"}
	}
	return values
}()

// cacheControl says until when the answer stays true: before the next moment at which a hazard changes by itself, of all that are
// active. What was made while the view changed may hold a hazard that neither view holds: it is not reused.
func (o *opened) cacheControl() []string {
	now := o.api.now()
	v := o.api.Live.View(now)
	if v != o.view {
		return publicFor[0]
	}
	left := min(v.NextEnd(), o.api.wakes.next(o.api, v, now)).Time().Sub(now.Time()) - cacheSlack
	return publicFor[max(0, min(left, sharedAge))/time.Second]
}

// wakes knows when a hazard is next to be derived again. It asks the store once for each view, and once a second at most.
type wakes struct {
	mu   sync.Mutex
	view *live.View     // guarded by mu, as what follows
	read hazard.Instant // when it was read
	at   hazard.Instant
}

func (k *wakes) next(a *API, v *live.View, now hazard.Instant) hazard.Instant {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.view == v && now < k.read.Add(time.Second) && now >= k.read {
		return k.at
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	at, any, err := a.Intake.NextMoment(ctx)
	switch {
	case err != nil: // nothing can be derived either
		at = now
	case !any:
		at = hazard.MaxInstant
	}
	k.view, k.read, k.at = v, now, at
	return at
}

// publicCaller is the caller of a request without any credentials, where the server is open to them; nil otherwise.
func (a *API) publicCaller(r *http.Request, now hazard.Instant) *auth.Caller {
	if !a.Public.on() || r.Header["Authorization"] != nil || keyed(r) != nil || ticketed(r) || r.Method != http.MethodGet && r.Method != http.MethodHead && r.Pattern != arcgisQueryByPost {
		return nil
	}
	return auth.Anonymous(now)
}

// servePublic serves a request without credentials within the public's limits.
func (a *API) servePublic(w http.ResponseWriter, r *http.Request, who *auth.Caller, h protected) error {
	leave, err := a.crowd.enter(r, a.clientAddr(r), a.Now())
	if err != nil {
		return err
	}
	defer leave()
	if waits(r) { // the answer is of a later moment
		return h(w, r, who)
	}
	return h(w, a.opening(r), who)
}

// anybody serves a write of people without an account where the server is public, within the public's limits, and elsewhere of users alone. Who sends credentials
// is held to them.
func (a *API) anybody(h protected) http.Handler {
	users := a.guarded(h, forPeople)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Public.on() || r.Header["Authorization"] != nil || keyed(r) != nil {
			users.ServeHTTP(w, r)
			return
		}
		defer a.recover(w, r)
		secure(w.Header())
		leave, err := a.crowd.enter(r, a.clientAddr(r), a.Now())
		if err == nil {
			defer leave()
			err = h(w, r, auth.Anonymous(a.now()))
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}

// crowd counts what the public asks for, so that it never takes what users need.
type crowd struct {
	PublicLimits
	all *rate.Limiter

	mu       sync.Mutex
	visitors map[netip.Prefix]*visitor // guarded by mu, as what follows
	others   *visitor                  // shared by all that find no place among them
	swept    time.Time                 // when places were looked for last
	sum      visitor
}

// visitor is what one address uses.
type visitor struct {
	running, streams int
	requests         *rate.Limiter
}

func newCrowd(b PublicLimits) *crowd {
	c := &crowd{PublicLimits: b, all: limiter(b.Rate*manyAddresses, time.Second, b.Rate*manyAddresses), visitors: map[netip.Prefix]*visitor{}}
	c.others = c.visitor()
	return c
}

func (c *crowd) visitor() *visitor {
	return &visitor{requests: limiter(c.Rate, time.Second, c.Rate*burstTime)}
}

// network is what counts as one address: an IPv4 address, or the /64 that one IPv6 client has.
func network(addr netip.Addr) netip.Prefix {
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // of none: the zero prefix, which all such share
	return p
}

// of returns what an address uses. c.mu is held.
func (c *crowd) of(addr netip.Addr, now time.Time) *visitor {
	p := network(addr)
	if v := c.visitors[p]; v != nil {
		return v
	}
	if len(c.visitors) >= maxVisitors && now.Sub(c.swept).Abs() > time.Second {
		c.swept = now
		for p, v := range c.visitors { // those whose budget is whole are as good as new
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

// enter lets a request of an address begin, at now by the wall clock. The caller calls leave when it has ended. Streams, and
// requests that wait for changes, count in the rate alone, and then by stream.
func (c *crowd) enter(r *http.Request, addr netip.Addr, now time.Time) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.of(addr, now)
	if !v.requests.AllowN(now, 1) {
		return nil, &hazard.LimitError{Limit: "public-rate", Kind: hazard.LimitShare, RetryAfter: time.Second,
			Detail: fmt.Sprintf("more than %d requests a second without an account from your address (limit public-rate); ask less often, or follow GET /events", c.Rate)}
	}
	if !c.all.AllowN(now, 1) {
		return nil, &hazard.LimitError{Limit: "public-rate-all", Kind: hazard.LimitCapacity, RetryAfter: 2 * time.Second,
			Detail: "too many requests without an account (limit public-rate-all); ask again, or log in"}
	}
	if waits(r) {
		return func() {}, nil
	}
	return c.take(v, func(v *visitor) *int { return &v.running }, "public-requests", "requests", c.Requests, time.Second)
}

// stream lets an address open a stream, or wait for changes. The caller calls leave when that has ended.
func (c *crowd) stream(addr netip.Addr, now time.Time) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(c.of(addr, now), func(v *visitor) *int { return &v.streams }, "public-streams", "streams", c.Streams, reconnectAll)
}

// take counts one more of what count counts. c.mu is held.
func (c *crowd) take(v *visitor, count func(*visitor) *int, limit, what string, most int, again time.Duration) (leave func(), err error) {
	if share := max(1, most/addressShare); most > 0 && *count(v) >= share {
		return nil, &hazard.LimitError{Limit: limit, Kind: hazard.LimitShare, RetryAfter: again,
			Detail: fmt.Sprintf("%d %s without an account are open from your address, the most that one may have (limit %s)", share, what, limit)}
	}
	if most > 0 && *count(&c.sum) >= most {
		return nil, &hazard.LimitError{Limit: limit + "-all", Kind: hazard.LimitCapacity, RetryAfter: again,
			Detail: fmt.Sprintf("%d %s without an account are open, the most that this server takes (limit %s-all); come again, or log in", most, what, limit)}
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

// place is a place among the streams, with what it takes of the public's.
type place struct {
	*push.Stream
	leave func()
}

// Leave ends the stream. It is called once.
func (p *place) Leave() {
	p.Stream.Leave()
	p.leave()
}
