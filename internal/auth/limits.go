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
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hazardd/hazardd/internal/hazard"
)

// limit allows some failed logins without a wait. Each further failure doubles the wait. Only
// failures count, because base clients log in for each request.
type limit struct {
	free        int64 // failures without a wait
	first, most time.Duration
}

// A login counts for several keys: its user on its network or device, its user anywhere, and each
// network of its address. Strangers elsewhere cannot delay a user: their failures on other networks
// do not affect the login, and on a device or network from which the user has recently logged in
// only the first limit applies. Guessing is limited by the failures per network and by the capacity
// for hashing (see hasher). Passwords have at least 15 characters.
var (
	// pairLimit limits one user's logins from one network or device.
	pairLimit = limit{free: 5, first: time.Second, most: 15 * time.Minute}
	// guessedLimit replaces pairLimit for networks that the user has not used, while somebody is
	// guessing the user's password.
	guessedLimit = limit{free: 1, first: time.Second, most: 15 * time.Minute}
	// networkLimits limit all logins from a network, from the smallest to the largest. Each larger
	// network allows several times as many failures, so that one neighbor cannot use them all up.
	networkLimits = [...]limit{
		{free: 30, first: time.Second, most: 5 * time.Minute},   // an IPv4 address, or an IPv6 /64
		{free: 200, first: time.Second, most: 5 * time.Minute},  // /56
		{free: 2000, first: time.Second, most: 5 * time.Minute}, // /48
	}
)

// guessedAt is the number of failures, from anywhere, after which somebody is assumed to guess a
// user's password.
const guessedAt = 100

// The keys of a login. From byNetwork on they are its networks, in the order of networkLimits.
const (
	byPair    = iota // this user from this network or device
	byUser           // this user from anywhere
	byNetwork        // any user from this network
)

// forgetFailures is how long after the last failure all failures are forgotten. It is short because
// it also limits the rows that a flood of failures creates.
const forgetFailures = time.Hour

// failures returns the failures that still count.
func (a Attempts) failures(now hazard.Instant) int64 {
	if a.LastFailure < now.Add(-forgetFailures) {
		return 0
	}
	return a.Failures
}

// wait returns how long the next login must wait at now.
func (l limit) wait(a Attempts, now hazard.Instant) time.Duration {
	if a.failures(now) < l.free || a.Failures == 0 {
		return 0
	}
	// The shift is limited because another node's clock may be ahead.
	delay := min(l.first<<min(a.Failures-l.free, 20), l.most)
	left := time.Duration(min(a.LastFailure, now).Add(delay)-now) * time.Millisecond
	return max(left, 0)
}

// familiar reports whether the user has recently logged in from the login's network or device.
func (a *attempt) familiar(known []Attempts) bool {
	at := known[byPair].LastSuccess
	return a.device || at != 0 && at >= a.at.Add(-keepSuccess)
}

// wait returns how long the login must wait.
func (a *attempt) wait(known []Attempts) time.Duration {
	if a.familiar(known) {
		return pairLimit.wait(known[byPair], a.at)
	}
	pair := pairLimit
	if known[byUser].failures(a.at) >= guessedAt {
		pair = guessedLimit
	}
	wait := pair.wait(known[byPair], a.at)
	for i, k := range known[byNetwork:] {
		wait = max(wait, networkLimits[i].wait(k, a.at))
	}
	return wait
}

// place returns the login's position in the queue for checking passwords.
func (a *attempt) place(known []Attempts) place {
	p := place{class: classFresh, network: a.networks[len(a.networks)-1], user: a.keys[byUser]}
	switch {
	case a.familiar(known):
		p.class = classFamiliar
	case known[byNetwork].failures(a.at) > 0:
		p.class = classFailed
	}
	return p
}

// attemptKeys returns the keys of a login. They are hashes, because people sometimes type their
// password as the name. device is the user's known device, or "".
func attemptKeys(username, device string, networks []string) []string {
	user := canonical(username)
	key := func(kind, user, network string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %s", kind, user, network))
		return hex.EncodeToString(sum[:16])
	}
	keys := []string{byPair: key("pair", user, networks[0]), byUser: key("user", user, "")}
	if device != "" {
		keys[byPair] = key("device", user, device)
	}
	for _, n := range networks {
		keys = append(keys, key("address", "", n))
	}
	return keys
}

const (
	maxTypedName     = 1 << 10 // checked bytes of the typed name
	maxCanonicalName = 128     // bytes; no name is as long
)

// canonical maps all spellings of a name to one, so that they share one count.
func canonical(name string) string {
	name = strings.ToValidUTF8(name[:min(len(name), maxTypedName)], "")
	name = strings.TrimSpace(strings.ToLower(norm.NFKC.String(name)))
	return strings.ToValidUTF8(name[:min(len(name), maxCanonicalName)], "")
}

// networksOf returns the networks of an address, smallest first. For IPv4 it is only the address.
// For IPv6 they are the /64 of a subscriber or device, and the /56 and /48 that many subscribers
// have.
func networksOf(addr netip.Addr) []string {
	addr = addr.Unmap().WithZone("")
	if !addr.IsValid() {
		return []string{"none"}
	}
	sizes := []int{64, 56, 48}
	if addr.Is4() {
		sizes = []int{32}
	}
	networks := make([]string, len(sizes))
	for i, n := range sizes {
		networks[i] = netip.PrefixFrom(addr, n).Masked().String()
	}
	return networks
}

// patience is how long a login waits for the store before it continues without the store.
const patience = time.Second

// attempt is one login.
type attempt struct {
	name     string // as typed
	from     Origin
	device   bool // it comes from a device that has logged in as this user before
	networks []string
	keys     []string
	at       hazard.Instant
	// alone means that the store is unreachable, so this node limits by its own counts.
	alone bool
	// detail describes a failure for the audit trail.
	detail string
}

func (s *Service) attempt(username string, from Origin, now hazard.Instant) *attempt {
	a := &attempt{name: username, from: from, networks: networksOf(from.Addr), at: now}
	device := s.device(username, from.Device, now)
	a.device = device != ""
	a.keys = attemptKeys(username, device, a.networks)
	return a
}

// known returns the counts for the login's keys.
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
		return nil, fmt.Errorf("read the counts of failed logins: %w", context.Cause(ctx))
	}
	s.warn(ctx, a.at, "the store does not answer; this node limits failed logins by itself", "error", err)
	a.alone = true
	return s.local.of(a.keys), nil
}

// mayTry returns the counts for the login's keys, or a *LimitedError if the login must wait.
func (s *Service) mayTry(ctx context.Context, a *attempt) ([]Attempts, error) {
	known, err := s.known(ctx, a)
	if err != nil {
		return nil, err
	}
	if wait := a.wait(known); wait > 0 {
		return nil, &LimitedError{RetryAfter: wait}
	}
	return known, nil
}

// failed counts a failed login. subject is the user, if the name exists.
func (s *Service) failed(ctx context.Context, a *attempt, subject string) {
	s.local.fail(a.keys, a.at)
	if a.alone {
		return
	}
	var row *Audit
	if ok, missed := s.listed.take(a.at); ok {
		row = &Audit{At: a.at, Addr: a.from.Addr, Client: a.from.Client, Action: ActionLogin, Subject: subject, Detail: a.detail}
		if subject == "" && a.detail == "" {
			row.Detail = tried(a.name)
		}
		if missed > 0 {
			row.Detail = strings.TrimPrefix(row.Detail+fmt.Sprintf("; %d failed logins before this one are not listed", missed), "; ")
		}
	}
	// Count it even if the client has disconnected: otherwise guesses would be free.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := s.store.AddFailure(ctx, a.keys, a.at, a.at.Add(-forgetFailures), row); err != nil {
		s.warn(ctx, a.at, "a failed login was counted on this node only", "error", err)
	}
}

// tried describes the name of a login that no user has. A text that could be a password is left out,
// because people sometimes type theirs as the name.
func tried(name string) string {
	switch {
	case !validName(name):
		return fmt.Sprintf("the name tried is no user's, and cannot be one (%d characters)", utf8.RuneCountInString(name))
	case weakness(Password(name), "") == "":
		return fmt.Sprintf("the name tried is no user's, and could be a password (%d characters)", len(name))
	}
	return fmt.Sprintf("the name tried is no user's: %q", name)
}

// noteSuccess is the minimum interval between recorded successes if nothing else has changed.
const noteSuccess = time.Hour

// succeeded resets the failures of the pair, and remembers the address as the user's. The login
// itself does not depend on it.
func (s *Service) succeeded(ctx context.Context, a *attempt, before Attempts) {
	if before.Failures == 0 && before.LastSuccess > a.at.Add(-noteSuccess) {
		return
	}
	keys := a.keys[:1]
	if a.device { // the network also becomes one of the user's
		keys = append(attemptKeys(a.name, "", a.networks)[:1], a.keys[byPair])
	}
	s.local.succeed(keys, a.at)
	if a.alone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	row := Audit{At: a.at, Actor: a.name, Addr: a.from.Addr, Client: a.from.Client, Action: ActionLogin, Subject: a.name, OK: true}
	if err := s.store.AddSuccess(ctx, keys, a.at, row); err != nil {
		s.warn(ctx, a.at, "cannot record a login", "user", a.name, "error", err)
	}
}

// localAttempts are this node's own counts, used while the store is unreachable.
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

func (l *localAttempts) succeed(keys []string, now hazard.Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		a := l.known[key]
		a.Failures, a.LastSuccess = 0, max(a.LastSuccess, now)
		l.put(key, a)
	}
}

func (l *localAttempts) put(key string, a Attempts) {
	if l.known == nil {
		l.known = map[string]Attempts{}
	}
	if _, ok := l.known[key]; !ok && len(l.known) >= maxLocal {
		for k := range l.known { // delete any entry
			delete(l.known, k)
			break
		}
	}
	l.known[key] = a
}

// bucket allows size events, and then one more per interval. It limits what a flood writes to the
// trail or the log.
type bucket struct {
	size  int
	every time.Duration

	mu     sync.Mutex
	used   float64
	last   hazard.Instant
	missed int64
}

// take reports whether one more event is allowed, and how many were refused since the last allowed
// one.
func (b *bucket) take(now hazard.Instant) (ok bool, missed int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used = max(0, b.used-float64(max(now-b.last, 0))/float64(b.every.Milliseconds()))
	b.last = max(b.last, now)
	if b.used+1 > float64(b.size) {
		b.missed++
		return false, 0
	}
	b.used++
	missed, b.missed = b.missed, 0
	return true, missed
}

// take calls bucket.take for the bucket with a name, which starts as fresh. There must be few
// names.
func (s *Service) take(of map[string]*bucket, name string, fresh *bucket, now hazard.Instant) (ok bool, missed int64) {
	s.mu.Lock()
	b := of[name]
	if b == nil {
		b = fresh
		of[name] = b
	}
	s.mu.Unlock()
	return b.take(now)
}

// warn logs a message at most once a minute. Otherwise a flood of logins would log it each time.
func (s *Service) warn(ctx context.Context, now hazard.Instant, message string, args ...any) {
	if ok, missed := s.take(s.warned, message, &bucket{size: 1, every: time.Minute}, now); ok {
		s.log.WarnContext(ctx, message, append(args, "repeated", missed)...)
	}
}
