package auth

import (
	"crypto/sha256"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Caller is the user of a verified access token or read key, with the user's present rights.
// Callers are shared and must not be changed.
type Caller struct {
	Name    string
	Role    Role
	Orgs    []int64 // sorted
	JTI     uuid.UUID
	Expires hazard.Instant // when the token expires
	// Scope is what the calling service may do; empty if the caller is no service. Operations must
	// check it in addition to Role.
	Scope Scope
	// NeedsFactor means that the user's role needs a second factor, which the user does not have: the
	// caller may do nothing but set one up.
	NeedsFactor bool

	sid               uuid.UUID
	kid               string
	issued, notBefore hazard.Instant
	gen               uint64             // generation of the snapshot for which Role and Orgs are valid
	key               *[sha256.Size]byte // sum of the read key or service token used; nil: a token of a login
	foreign           bool               // the token is the OpenID provider's
}

// Verify returns the caller of the access token. Errors are of the kind ErrInvalidToken.
//
// A token that was verified before is recognized by its text. Then only its expiry and, after a
// Reload, its user's rights are checked: this takes tens of nanoseconds and no allocation.
func (s *Service) Verify(token string, now hazard.Instant) (*Caller, error) {
	if slot, known := s.tokens.find(token); known != nil {
		c := known.caller.Load()
		fresh, err := s.Recheck(c, now)
		if err != nil {
			slot.CompareAndSwap(known, nil)
			return nil, err
		}
		if fresh != c {
			known.caller.Store(fresh)
		}
		return fresh, nil
	}
	if strings.HasPrefix(token, servicePrefix) {
		return s.verifyService(token, now)
	}
	p := s.current.Load()
	c, err := s.read(p, token, accessType, s.longestAccess(), now)
	if err != nil {
		return nil, err
	}
	if c, err = p.judge(c); err != nil {
		return nil, err
	}
	s.tokens.keep(token, c, now)
	return c, nil
}

// Recheck reports whether a caller from Verify still has access, for answers that last longer than
// a request. It returns the caller with the present rights: the same pointer if nothing has been
// reloaded since. Errors are of the kind ErrInvalidToken.
func (s *Service) Recheck(c *Caller, now hazard.Instant) (*Caller, error) {
	if now >= c.Expires {
		return nil, errExpired
	}
	if now < c.notBefore {
		return nil, errTooEarly
	}
	if p := s.current.Load(); p.gen != c.gen && c.Role != Public {
		return p.judge(c)
	}
	return c, nil
}

// Unchanged reports whether nobody's rights have changed since c was checked. Then only the passing
// of time can make Recheck return a different result.
func (s *Service) Unchanged(c *Caller) bool {
	return c.gen == s.current.Load().gen || c.Role == Public
}

// anonymousLife is how long a stream of a caller without an account lasts. It ends then, and its
// reader resumes.
const anonymousLife = time.Hour

// Anonymous returns the caller without an account, as of now. It has no organization, so that it
// sees only public data (hazard.Product.VisibleTo), and a role that may change nothing.
func Anonymous(now hazard.Instant) *Caller {
	return &Caller{Role: Public, Expires: now.Add(anonymousLife)}
}

// WriterStanding is Standing, but also for a service that has a token with write access.
func (s *Service) WriterStanding(name string) (role Role, orgs []int64, ok bool) {
	service, is := strings.CutPrefix(name, serviceName(""))
	if !is {
		return s.Standing(name)
	}
	for _, k := range s.ServiceTokens(service) {
		if org, writes := k.Scope.Org(); writes {
			orgs = append(orgs, org)
		}
	}
	slices.Sort(orgs)
	return Editor, slices.Compact(orgs), len(orgs) > 0
}

// Standing returns the present role and organizations of a user. ok is false if no user with that
// name has access.
func (s *Service) Standing(user string) (role Role, orgs []int64, ok bool) {
	u := s.current.Load().user(user)
	if u == nil {
		return "", nil, false
	}
	return u.Role, u.Orgs, true
}

// Writers returns the names of the users who may write hazards of an organization now, sorted.
func (s *Service) Writers(org int64) (names []string) {
	p := s.current.Load()
	for name := range p.users {
		u := p.user(name)
		if u != nil && (u.Role == Admin || u.Role == Editor && (org == hazard.NoOrg || slices.Contains(u.Orgs, org))) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// These are stored as errors so that refusing a cached token needs no allocation.
var (
	errExpired  error = refusal("expired")
	errTooEarly error = refusal("not valid yet")
)

// judge returns the caller with the rights that the snapshot gives. The signature and claims of the
// token are already verified.
func (p *picture) judge(c *Caller) (*Caller, error) {
	if c.key != nil {
		return p.keyCaller(*c.key)
	}
	u := p.user(c.Name)
	switch {
	case u == nil:
		return nil, refusal("user unknown or disabled")
	case c.issued < u.NotBefore:
		return nil, refusal("issued before the user's tokens were revoked")
	case c.foreign && (u.Subject == "" || c.issued <= u.LoggedOut):
		return nil, refusal("the provider has ended the login")
	case c.foreign:
		judged := *c
		judged.Role, judged.Orgs, judged.gen = u.Role, u.Orgs, p.gen
		return &judged, nil
	case p.keys[c.kid] == nil:
		return nil, refusal("unknown key")
	}
	for _, id := range [...]uuid.UUID{c.JTI, c.sid} {
		if _, revoked := p.revoked[id]; revoked {
			return nil, refusal("revoked")
		}
	}
	judged := *c
	judged.Role, judged.Orgs, judged.gen, judged.NeedsFactor = u.Role, u.Orgs, p.gen, p.needsFactor(u)
	return &judged, nil
}

// needsFactor reports whether a user must set up a second factor first. Users of an OpenID provider
// have theirs there.
func (p *picture) needsFactor(u *User) bool {
	return u.Subject == "" && !u.HasFactor() && slices.Contains(p.factorRoles, u.Role)
}

// tokenMemory is a cache of verified access tokens: a table of fixed size, in sets of ways, without
// locks, so that readers on all cores never wait for each other or for a writer. It does not say
// whether a token is valid, only whether exactly this text was verified before. Recheck checks
// the access again.
//
// A token's place depends only on its jti. Our payloads begin with it, and the first head
// characters of a payload are the strict base64 of exactly the bytes that contain it. So a jti has
// only one spelling. An entry is compared by its whole text.
type tokenMemory struct {
	seed  maphash.Seed
	slots []atomic.Pointer[rememberedToken] // len is a power of two, at least ways
}

type rememberedToken struct {
	text   string
	caller atomic.Pointer[Caller]
	// used reports whether the token was used since it was stored or last passed over. So tokens
	// that are used once, by clients that log in for each request, are replaced before tokens in
	// use. It is written only if it is false, so that readers do not compete for it.
	used atomic.Bool
}

const (
	ways = 4
	// head is 64 characters. `{"jti":"`, 36 characters and a quotation mark are 45 bytes; the next
	// multiple of three is 48 bytes, which are exactly 64 characters.
	head = 64
	// jtiFirst is the beginning of a payload that may be cached.
	jtiFirst = `{"jti":"`
)

func newTokenMemory(size int) *tokenMemory {
	n := 1 << bits.Len(uint(max(size, ways)-1))
	return &tokenMemory{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[rememberedToken], n)}
}

// set returns the slots where the token would be; nil if it cannot be one of our tokens.
func (m *tokenMemory) set(token string) []atomic.Pointer[rememberedToken] {
	dot := strings.IndexByte(token, '.')
	if dot < 0 || len(token) < dot+1+head {
		return nil
	}
	i := int(maphash.String(m.seed, token[dot+1:dot+1+head])) & (len(m.slots) - 1) &^ (ways - 1)
	return m.slots[i : i+ways]
}

// find returns the entry of the token and its slot, or nil. The comparison need not take constant
// time: it compares words of eight bytes or more, so its timing only reveals whether that many
// bytes of a signature were guessed at once.
func (m *tokenMemory) find(token string) (*atomic.Pointer[rememberedToken], *rememberedToken) {
	set := m.set(token)
	for i := range set {
		if e := set[i].Load(); e != nil && e.text == token {
			if !e.used.Load() {
				e.used.Store(true)
			}
			return &set[i], e
		}
	}
	return nil, nil
}

// keep stores a verified token in place of one that has expired, or else one that is not in use, or
// else any. Two concurrent calls may each replace the other's token, which is then verified once
// more.
func (m *tokenMemory) keep(token string, c *Caller, now hazard.Instant) {
	set := m.set(token)
	_, body, _ := strings.Cut(token, ".")
	if set == nil || !strings.HasPrefix(body, jtiFirstText) {
		return
	}
	victim, worth := 0, 3
	for i := range set {
		w := 2
		switch e := set[i].Load(); {
		case e == nil:
			w = 0
		case e.text == token:
			return
		case e.caller.Load().Expires <= now:
			w = 0
		case !e.used.Swap(false):
			w = 1
		}
		if w < worth {
			victim, worth = i, w
		}
	}
	// Clone the text, because it may be a part of a whole request.
	e := &rememberedToken{text: strings.Clone(token)}
	e.caller.Store(c)
	set[victim].Store(e)
}

// jtiFirstText is the base64 of jtiFirst, without the last character that also depends on the next
// byte.
var jtiFirstText = strict.EncodeToString([]byte(jtiFirst))[:len(jtiFirst)*8/6]
