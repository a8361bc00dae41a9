package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"hazardd/internal/hazard"
)

// limit lets some logins fail and makes the next ones wait, each failure twice as long as the one before. Only failures
// count: base clients log in for each request.
type limit struct {
	free        int64 // failures without a wait
	first, most time.Duration
}

// A login is known under three keys, each with its limit. Nothing locks a user out: whoever has lately logged in from an
// address is held to the first limit alone there, so that no stranger elsewhere, and no other user behind the same
// address, can keep him from his alerts. The price is that a password can be guessed at for ever, slowly; it has 15
// characters at least.
var limits = [...]limit{
	byPair:    {free: 5, first: time.Second, most: 15 * time.Minute},
	byAddress: {free: 30, first: time.Second, most: 5 * time.Minute},
	byUser:    {free: 100, first: time.Second, most: 30 * time.Second},
}

// The keys of a login.
const (
	byPair    = iota // this user from this address
	byAddress        // any user from this address
	byUser           // this user from any address
)

// forgetFailures is how long after the last failure all is forgotten. It also bounds the rows that a flood of failures
// leaves, and so must not be long.
const forgetFailures = time.Hour

// wait is how long the next login must wait at now.
func (l limit) wait(a Attempts, now hazard.Instant) time.Duration {
	if a.Failures < l.free || a.LastFailure < now.Add(-forgetFailures) {
		return 0
	}
	// The shift is bounded; another node's clock may be ahead of ours.
	delay := min(l.first<<min(a.Failures-l.free, 20), l.most)
	left := time.Duration(min(a.LastFailure, now).Add(delay)-now) * time.Millisecond
	return max(left, 0)
}

// waitFor is how long a login of which that is known must wait.
func waitFor(known []Attempts, now hazard.Instant) time.Duration {
	wait := limits[byPair].wait(known[byPair], now)
	if at := known[byPair].LastSuccess; at != 0 && at >= now.Add(-keepSuccess) {
		return wait
	}
	return max(wait, limits[byAddress].wait(known[byAddress], now), limits[byUser].wait(known[byUser], now))
}

// attemptKeys are the keys of a login, in the order of limits. They are hashes: now and then people type their password
// where their name belongs.
func attemptKeys(username string, addr netip.Addr) []string {
	user, network := canonical(username), network(addr)
	key := func(kind, user, network string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", kind, user, network))
		return hex.EncodeToString(sum[:16])
	}
	return []string{
		byPair:    key("pair", user, network),
		byAddress: key("address", "", network),
		byUser:    key("user", user, ""),
	}
}

const (
	maxTypedName     = 1 << 10 // bytes of what was typed that are looked at
	maxCanonicalName = 128     // bytes; no name is as long
)

// canonical is one form of all spellings of a name, so that another spelling is no fresh start.
func canonical(name string) string {
	name = strings.ToValidUTF8(name[:min(len(name), maxTypedName)], "")
	name = strings.TrimSpace(strings.ToLower(norm.NFKC.String(name)))
	return strings.ToValidUTF8(name[:min(len(name), maxCanonicalName)], "")
}

// network is what counts as one address: an IPv4 address, or the /64 that an IPv6 subscriber has to himself.
func network(addr netip.Addr) string {
	addr = addr.Unmap()
	if !addr.IsValid() {
		return "none"
	}
	n := 64
	if addr.Is4() {
		n = 32
	}
	return netip.PrefixFrom(addr.WithZone(""), n).Masked().String()
}

// patience is how long a login waits for the store before it goes on without.
const patience = time.Second

// attempt is one login.
type attempt struct {
	name string // as typed
	addr netip.Addr
	keys []string
	at   hazard.Instant
	// alone: the store is away, and this node limits by what it knows itself.
	alone bool
}

// known is what is known of the login's keys.
func (s *Service) known(ctx context.Context, a *attempt) ([]Attempts, error) {
	if a.alone {
		return s.local.of(a.keys), nil
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	known, err := s.store.Attempts(patient, a.keys)
	if err == nil {
		return known, nil
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("failed logins: %w", context.Cause(ctx))
	}
	s.log.Warn("failed logins are limited by this node alone: the store does not answer", "error", err)
	a.alone = true
	return s.local.of(a.keys), nil
}

// mayTry is a *LimitedError if the login must wait.
func (s *Service) mayTry(ctx context.Context, a *attempt) (Attempts, error) {
	known, err := s.known(ctx, a)
	if err != nil {
		return Attempts{}, err
	}
	if wait := waitFor(known, a.at); wait > 0 {
		return Attempts{}, &LimitedError{RetryAfter: wait}
	}
	return known[byPair], nil
}

// failed counts a failed login. subject is the user, if there is one of that name.
func (s *Service) failed(ctx context.Context, a *attempt, subject string) {
	s.local.fail(a.keys, a.at)
	if a.alone {
		return
	}
	var row *Audit
	if ok, missed := s.listed.take(a.at); ok {
		row = &Audit{At: a.at, Addr: a.addr, Action: ActionLogin, Subject: subject}
		if missed > 0 {
			row.Detail = fmt.Sprintf("%d failed logins before this one are not listed", missed)
		}
	}
	// Counted even when the client has hung up: else hanging up would be the way to guess for nothing.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := s.store.AddFailure(ctx, a.keys, a.at, a.at.Add(-forgetFailures), row); err != nil {
		s.log.Error("a failed login was counted on this node only", "error", err)
	}
}

// noteSuccess is how often at most a success that says nothing new is written down.
const noteSuccess = time.Hour

// succeeded forgets the failures of the pair, and remembers the address as one of the user's. The login itself does not
// depend on it.
func (s *Service) succeeded(ctx context.Context, a *attempt, before Attempts) {
	if before.Failures == 0 && before.LastSuccess > a.at.Add(-noteSuccess) {
		return
	}
	s.local.succeed(a.keys[byPair], a.at)
	if a.alone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	row := Audit{At: a.at, Actor: a.name, Addr: a.addr, Action: ActionLogin, Subject: a.name, OK: true}
	if err := s.store.AddSuccess(ctx, a.keys[byPair], a.at, row); err != nil {
		s.log.Warn("a login was not written down", "user", a.name, "error", err)
	}
}

// localAttempts is what this node knows of logins itself, for the time that the store is away.
type localAttempts struct {
	mu    sync.Mutex
	known map[string]Attempts
}

const maxLocal = 10_000 // keys

func (l *localAttempts) of(keys []string) []Attempts {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := make([]Attempts, len(keys))
	for i, k := range keys {
		known[i] = l.known[k]
	}
	return known
}

func (l *localAttempts) fail(keys []string, now hazard.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range keys {
		a := l.known[k]
		if a.LastFailure < now.Add(-forgetFailures) {
			a.Failures = 0
		}
		a.Failures++
		a.LastFailure = max(a.LastFailure, now)
		l.put(k, a)
	}
}

func (l *localAttempts) succeed(key string, now hazard.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.known[key]
	a.Failures, a.LastSuccess = 0, max(a.LastSuccess, now)
	l.put(key, a)
}

func (l *localAttempts) put(key string, a Attempts) {
	if l.known == nil {
		l.known = map[string]Attempts{}
	}
	if _, ok := l.known[key]; !ok && len(l.known) >= maxLocal {
		for k := range l.known { // any
			delete(l.known, k)
			break
		}
	}
	l.known[key] = a
}

// bucket lets a hundred through, and then one a second: a flood of failed logins must not fill the disk with audit rows.
type bucket struct {
	mu     sync.Mutex
	used   float64
	last   hazard.Instant
	missed int64
}

const bucketSize = 100

// take tells whether one more may pass, and how many could not since the last one that did.
func (b *bucket) take(now hazard.Instant) (ok bool, missed int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-float64(max(now-b.last, 0))/1000)
	b.last = max(b.last, now)
	if b.used+1 > bucketSize {
		b.missed++
		return false, 0
	}
	b.used++
	missed, b.missed = b.missed, 0
	return true, missed
}
