package route

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// RequestLimits bounds the requests of users. Zero means no bound. Event streams and requests that
// wait for changes have their own limits (sse.Limits) and only count in the rate.
type RequestLimits struct {
	UserRequests int // concurrent requests of a user
	AllRequests  int // concurrent requests of all users
	UserRate     int // requests per second and user, in bursts of burstTime's worth
	UserUploads  int // concurrent uploads of a user
	WebhookTests int // per user and hour
}

// burstTime is how many seconds' worth of requests a user may send at once: a program that starts
// reads everything once.
const burstTime = 10 // seconds

// Quotas are the quotas of all users. Users are spread over shards, each with its own lock.
type Quotas struct {
	RequestLimits
	running atomic.Int64
	seed    maphash.Seed
	shards  [64]shard
}

type shard struct {
	mu    sync.RWMutex
	users map[string]*share // guarded by mu; one entry per user
}

// share is the usage of one user.
type share struct {
	of       *Quotas
	running  atomic.Int64
	uploads  atomic.Int64
	requests *rate.Limiter
	tests    *rate.Limiter
}

func newQuotas(b RequestLimits) *Quotas {
	all := &Quotas{RequestLimits: b, seed: maphash.MakeSeed()}
	for i := range all.shards {
		all.shards[i].users = map[string]*share{}
	}
	return all
}

// limiter allows n events per period, in bursts of burst; with n = 0 it allows all.
func limiter(n int, period time.Duration, burst int) *rate.Limiter {
	if n <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Every(period/time.Duration(n)), burst)
}

// of returns the usage of a user.
func (b *Quotas) of(user string) *share {
	s := &b.shards[maphash.String(b.seed, user)%uint64(len(b.shards))]
	s.mu.RLock()
	u := s.users[user]
	s.mu.RUnlock()
	if u != nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u = s.users[user]; u == nil {
		u = &share{of: b, requests: limiter(b.UserRate, time.Second, b.UserRate*burstTime), tests: limiter(b.WebhookTests, time.Hour, b.WebhookTests)}
		s.users[strings.Clone(user)] = u
	}
	return u
}

// waits reports whether a request stays open until something happens; see sse.Limits.
func waits(r *http.Request) bool {
	return r.Pattern == "GET /events" || r.Pattern == "GET /changes" && strings.Contains(r.URL.RawQuery, "wait=")
}

// Enter admits a request of a user at now, by the wall clock. The caller calls leave on the
// returned share, unless it is nil.
func (b *Quotas) Enter(r *http.Request, who *auth.Caller, now time.Time) (*share, error) {
	u := b.of(who.Name)
	if !u.requests.AllowN(now, 1) {
		return nil, &hazard.LimitError{Limit: "user-rate", Kind: hazard.LimitShare, RetryAfter: time.Second,
			Detail: fmt.Sprintf("more than %d requests a second (limit user-rate); poll less often, or follow GET /events", b.UserRate)}
	}
	if waits(r) {
		return nil, nil
	}
	if n := u.running.Add(1); b.UserRequests > 0 && n > int64(b.UserRequests) {
		u.running.Add(-1)
		return nil, &hazard.LimitError{Limit: "user-requests", Kind: hazard.LimitShare, RetryAfter: time.Second,
			Detail: fmt.Sprintf("%d of your requests are in progress, the limit per user (limit user-requests); wait for one to end", b.UserRequests)}
	}
	if n := b.running.Add(1); b.AllRequests > 0 && n > int64(b.AllRequests) {
		u.Leave()
		return nil, &hazard.LimitError{Limit: "requests", Kind: hazard.LimitCapacity, RetryAfter: 2 * time.Second,
			Detail: fmt.Sprintf("%d requests are in progress, the limit of this server (limit requests)", b.AllRequests)}
	}
	return u, nil
}

// Leave ends the request.
func (u *share) Leave() {
	if u != nil {
		u.running.Add(-1)
		u.of.running.Add(-1)
	}
}

// Upload admits a file of a user. The caller calls sent when the transfer has ended, even if it
// failed.
func (b *Quotas) Upload(who *auth.Caller) (sent func(), err error) {
	u := b.of(who.Name)
	if n := u.uploads.Add(1); b.UserUploads > 0 && n > int64(b.UserUploads) {
		u.uploads.Add(-1)
		return nil, &hazard.LimitError{Limit: "user-uploads", Kind: hazard.LimitShare, RetryAfter: 5 * time.Second,
			Detail: fmt.Sprintf("%d of your files are being uploaded, the limit per user (limit user-uploads); wait for one to end", b.UserUploads)}
	}
	return func() { u.uploads.Add(-1) }, nil
}

// Test admits a test message of a user to a webhook at now, by the wall clock.
func (b *Quotas) Test(who *auth.Caller, now time.Time) error {
	if b.of(who.Name).tests.AllowN(now, 1) {
		return nil
	}
	return &hazard.LimitError{Limit: "webhook-tests", Kind: hazard.LimitShare, RetryAfter: time.Hour / time.Duration(b.WebhookTests),
		Detail: fmt.Sprintf("more than %d tests of webhooks in an hour (limit webhook-tests)", b.WebhookTests)}
}
