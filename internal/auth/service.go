package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Config configures a Service. Zero values mean the defaults.
type Config struct {
	Issuer      string        // iss of every token: the public address of the installation
	BaseURL     string        // public address; its host stands for users of no organization (Public), and passkeys belong to it
	Audience    string        // aud of every token; default: Issuer
	AccessLife  time.Duration // default DefaultAccessLife
	RefreshLife time.Duration // counted from the login, however often it is renewed; default DefaultRefreshLife; at least AccessLife
	PageLife    time.Duration // life of a page session; default 12 h, a shift; at most RefreshLife
	// ProviderLife is the longest lifetime of a login at an OpenID provider, however often it is
	// renewed; default 12 h, at most RefreshLife. Without a logout notice, a user removed at the
	// provider stays logged in that long.
	ProviderLife time.Duration
	KeyLife      time.Duration // how long a key signs; default 90 d
	// KeepTrail leaves old rows of the audit trail to another component. Otherwise Purge removes
	// them after 400 days.
	KeepTrail bool
	// FactorSeed returns the 32 bytes from which the key of second factors is derived. It is not in
	// the database. nil: there are no second factors.
	FactorSeed func() ([]byte, error)
	// FactorRoles are the roles whose local users need a second factor, besides those that admins set.
	// A user without may do nothing but set one up (Caller.NeedsFactor).
	FactorRoles []Role
	// Remember is how many verified access tokens are cached, so that a repeated token costs no
	// signature check; default 65,536, about 1 kB each.
	Remember int
	Rand     io.Reader    // default crypto/rand
	Log      *slog.Logger // for errors without a caller; default none
}

// Service issues and verifies tokens, and administers users. Call Reload before anything else.
type Service struct {
	store Store
	cfg   Config
	log   *slog.Logger

	current   atomic.Pointer[picture] // the basis of every decision
	reloading sync.Mutex              // one Reload at a time, so that a slow one cannot restore an older snapshot
	reloaded  atomic.Int64            // when Poll last reloaded, whatever the version

	tokens    *tokenMemory
	passwords *passwordMemory
	hasher    *hasher
	dummy     Hash // hash without a password, checked for unknown users to take the same time
	local     localAttempts
	listed    bucket // failed logins that get an audit row
	mu        sync.Mutex
	warned    map[string]*bucket // by message; guarded by mu
	sessions  map[string]*bucket // sessions stored before a renewal, by user; guarded by mu
	refusals  map[string]*bucket // refusals with an audit row, by user; guarded by mu
	logins    *prometheus.CounterVec
	uses      uses
	seed      atomic.Pointer[[]byte] // of Config.FactorSeed, once it was read
	rp        *webauthn.WebAuthn     // nil: no passkeys
	rpOff     string                 // why
}

// picture is an immutable snapshot of users, organizations, keys and revocations.
type picture struct {
	gen     uint64 // increases with every Reload: a result with the same gen is still valid
	version int64
	names   uint64 // see Service.Names
	users   map[string]*User
	// known are the users of OpenID providers, including disabled and removed ones.
	known   map[identity]*User
	orgs    []Org
	keys    map[string]*signer
	byAge   []*signer // oldest first
	revoked map[uuid.UUID]struct{}
	// readKeys by their sums.
	readKeys map[[sha256.Size]byte]*ReadKey
	jwks     []byte
	// factorRoles need a second factor, sorted.
	factorRoles []Role
}

// Actor is an administrator and the address of the request, for the audit trail.
type Actor struct {
	Name   string     // a user; on the console, a user of the operating system
	Addr   netip.Addr // zero means on the machine itself
	Client string     // see Audit
}

// Origin is where a login request comes from.
type Origin struct {
	Addr   netip.Addr
	Client string // the program, as it names itself
	// Device is the token from an earlier login of the same device, or "". It grants nothing; it
	// keeps failures of others from delaying this device.
	Device string
	// Code is the code of a second factor that the client sent, or "".
	Code string
}

// New returns a Service on the store. It does not query the store yet and starts no goroutine.
func New(store Store, cfg Config) *Service {
	cfg.Audience = cmp.Or(cfg.Audience, cfg.Issuer)
	cfg.AccessLife = cmp.Or(cfg.AccessLife, DefaultAccessLife)
	cfg.RefreshLife = max(cmp.Or(cfg.RefreshLife, DefaultRefreshLife), cfg.AccessLife)
	cfg.PageLife = min(cmp.Or(cfg.PageLife, 12*time.Hour), cfg.RefreshLife)
	cfg.ProviderLife = min(cmp.Or(cfg.ProviderLife, DefaultProviderLife), cfg.RefreshLife)
	cfg.KeyLife = cmp.Or(cfg.KeyLife, 90*24*time.Hour)
	cfg.Remember = cmp.Or(cfg.Remember, 1<<16)
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	s := &Service{
		store:     store,
		cfg:       cfg,
		log:       cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		tokens:    newTokenMemory(cfg.Remember),
		passwords: newPasswordMemory(),
		hasher:    newHasher(),
		dummy:     dummyHash(),
		listed:    bucket{size: 100, every: time.Second},
		warned:    map[string]*bucket{},
		sessions:  map[string]*bucket{},
		refusals:  map[string]*bucket{},
		logins:    newLogins(),
	}
	s.rp, s.rpOff = relyingParty(cfg.BaseURL)
	s.current.Store(newPicture(0, Data{}, nil))
	return s
}

// Reload reads users, organizations, keys and revocations, and uses them from then on. When it
// returns, tokens that are no longer valid are refused. If it fails, the present snapshot stays in
// use.
func (s *Service) Reload(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	d, err := s.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load users and keys: %w", err)
	}
	s.current.Store(newPicture(s.current.Load().gen+1, d, s.cfg.FactorRoles))
	return nil
}

// fullReload is how often Poll reloads even if the version is unchanged: after a failover with lost
// writes, the same version may stand for different data.
const fullReload = time.Minute

// Poll reloads if anything has changed. Every node calls it once a second, so a disabled user is
// refused everywhere within that time.
func (s *Service) Poll(ctx context.Context, now hazard.Instant) error {
	if err := s.writeUses(ctx, now); err != nil {
		return err
	}
	v, err := s.store.Version(ctx)
	if err != nil {
		return fmt.Errorf("version of users and keys: %w", err)
	}
	age := now - hazard.Instant(s.reloaded.Load())
	if v == s.current.Load().version && age >= 0 && age < hazard.Instant(fullReload.Milliseconds()) {
		return nil
	}
	if err := s.Reload(ctx); err != nil {
		return err
	}
	s.reloaded.Store(int64(now))
	return nil
}

// Generation increases with every Reload. A caller accepted by Recheck need not be checked again
// before that, except for expiry.
func (s *Service) Generation() uint64 { return s.current.Load().gen }

// reloadAfter makes a write visible on this node at once, even if the caller has gone. A failure is
// only logged, because the write has happened and Poll will see it.
func (s *Service) reloadAfter(ctx context.Context) {
	if err := s.Reload(context.WithoutCancel(ctx)); err != nil {
		s.log.ErrorContext(ctx, "users and keys were written, but could not be read again", "error", err)
	}
}

// keepSuccess is how long an address counts as the user's after a login.
const keepSuccess = 30 * 24 * time.Hour

// The default lives of tokens and logins; see Config.
const (
	DefaultAccessLife   = time.Hour
	DefaultRefreshLife  = 30 * 24 * time.Hour
	DefaultProviderLife = 12 * time.Hour
)

// KeepAudit is the default retention of the audit trail: a year, plus some time to examine it.
const KeepAudit = 400 * 24 * time.Hour

// Purge removes expired data from the store. Call it about once an hour.
func (s *Service) Purge(ctx context.Context, now hazard.Instant) error {
	trail := now.Add(-KeepAudit)
	if s.cfg.KeepTrail {
		trail = hazard.MinInstant
	}
	err := s.store.Purge(ctx, Purge{
		Now:             now,
		FailuresBefore:  now.Add(-forgetFailures),
		SuccessesBefore: now.Add(-keepSuccess),
		AuditBefore:     trail,
	})
	if err != nil {
		return fmt.Errorf("purge sessions and logins: %w", err)
	}
	return nil
}

func newPicture(gen uint64, d Data, factorRoles []Role) *picture {
	p := &picture{
		gen:     gen,
		version: d.Version,
		names:   namesOf(&d),
		users:   make(map[string]*User, len(d.Users)),
		known:   map[identity]*User{},
		orgs:    d.Orgs,

		factorRoles: slices.Compact(slices.Sorted(slices.Values(slices.Concat(factorRoles, d.FactorRoles)))),

		keys:    make(map[string]*signer, len(d.Keys)),
		revoked: make(map[uuid.UUID]struct{}, len(d.Revoked)),

		readKeys: make(map[[sha256.Size]byte]*ReadKey, len(d.ReadKeys)),
	}
	for i := range d.ReadKeys {
		p.readKeys[d.ReadKeys[i].Sum] = &d.ReadKeys[i]
	}
	for i := range d.Users {
		u := &d.Users[i]
		p.users[u.Name] = u
		if u.Subject == "" {
			continue
		}
		// Two nodes may have added one person at the same moment under two names. The older user
		// counts.
		if id := (identity{u.Issuer, u.Subject}); p.known[id] == nil || u.Created < p.known[id].Created {
			p.known[id] = u
		}
	}
	for _, k := range d.Keys {
		if k.ID == "" {
			continue // a token without kid must never find a key
		}
		sig := newSigner(k)
		p.keys[k.ID] = sig
		p.byAge = append(p.byAge, sig)
	}
	slices.SortFunc(p.byAge, func(a, b *signer) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.ID, b.ID))
	})
	for _, r := range d.Revoked {
		p.revoked[r.ID] = struct{}{}
	}
	p.jwks = jwks(p.byAge)
	return p
}

// user returns the user of that name who has access, or nil.
func (p *picture) user(name string) *User {
	if u := p.users[name]; u != nil && !u.Disabled && u.Lapsed == 0 && u.Role.Known() {
		return u
	}
	return nil
}

// newID returns a UUIDv7 (RFC 9562, section 5.7) of that time. The uuid module would use the system
// clock.
func (s *Service) newID(now hazard.Instant) (uuid.UUID, error) {
	var id uuid.UUID
	if _, err := io.ReadFull(s.cfg.Rand, id[6:]); err != nil {
		return uuid.Nil, fmt.Errorf("no random bytes for an id: %w", err)
	}
	for i := range 6 {
		id[i] = byte(now >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id, nil
}
