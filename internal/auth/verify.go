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

// Caller is whom a verified access token or read key speaks for, with the rights that he has now. Callers are shared: nobody may
// change one.
type Caller struct {
	Name    string
	Role    Role
	Orgs    []int64 // sorted
	JTI     uuid.UUID
	Expires hazard.Instant // the token is refused from then on
	// Scope is what the service may do that speaks; empty: it is no service. Whoever offers operations must ask it beside Role.
	Scope Scope

	sid               uuid.UUID
	kid               string
	issued, notBefore hazard.Instant
	gen               uint64             // of the picture by which Role and Orgs hold
	key               *[sha256.Size]byte // sum of the read key or service token that it speaks by; nil: a token of a login
	foreign           bool               // the token is the OpenID provider's
}

// Verify returns the caller that the access token speaks for. Errors are of the kind ErrInvalidToken.
//
// A token that was verified before is recognized by its text, and then only its time and, after a Reload, the standing of
// its user are looked at: tens of nanoseconds and no allocation.
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

// Recheck reports whether a caller that Verify returned may still come in, for answers that last
// longer than a request. It returns him with the rights of now: the same pointer if nothing has
// been reloaded since. Errors are of the kind ErrInvalidToken.
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

// Unchanged reports whether nobody's rights have changed since c was judged, so that only the time could make Recheck give another answer.
func (s *Service) Unchanged(c *Caller) bool {
	return c.gen == s.current.Load().gen || c.Role == Public
}

// anonymousLife is how long a caller without an account goes on: a stream ends then, and its reader resumes.
const anonymousLife = time.Hour

// Anonymous returns the caller who has no account, as of now: in no organization, so that it is
// shown what everybody may know (hazard.Product.VisibleTo), and of a role that may change nothing.
func Anonymous(now hazard.Instant) *Caller {
	return &Caller{Role: Public, Expires: now.Add(anonymousLife)}
}

// WriterStanding is Standing, also for a service that has a token to write.
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

// Standing returns the role and the organizations that a user has now; not ok: there is none who
// may come in under that name.
func (s *Service) Standing(user string) (role Role, orgs []int64, ok bool) {
	u := s.current.Load().user(user)
	if u == nil {
		return "", nil, false
	}
	return u.Role, u.Orgs, true
}

// Kept as errors so that no refusal of a remembered token allocates.
var (
	errExpired  error = refusal("expired")
	errTooEarly error = refusal("not valid yet")
)

// judge gives the owner of a token whose signature and claims hold the rights that he has in the picture.
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
	judged.Role, judged.Orgs, judged.gen = u.Role, u.Orgs, p.gen
	return &judged, nil
}

// tokenMemory is the access tokens that were verified: a table of fixed size, in sets of ways, without locks, so that
// readers on all cores never wait for each other or for a writer. It is never asked whether a token is good, only whether
// this very text was verified before; who may come in is judged anew by Recheck.
//
// A token's place follows from its jti alone. Our payloads begin with it, and the first head characters of a payload are
// the strict base64 of just the bytes that hold it: one jti, one spelling. What an entry answers for is its whole text.
type tokenMemory struct {
	seed  maphash.Seed
	slots []atomic.Pointer[rememberedToken] // len is a power of two, at least ways
}

type rememberedToken struct {
	text   string
	caller atomic.Pointer[Caller]
	// used since it came or was last passed over: tokens that are used once, by clients that log in for each request, make
	// room before those that are in use. Set only when it is not, so that readers do not fight over it.
	used atomic.Bool
}

const (
	ways = 4
	// head is 64: `{"jti":"`, 36 characters and a quotation mark are 45 bytes, and 48 bytes are 64 characters exactly.
	head = 64
	// jtiFirst is how a payload begins that may be remembered.
	jtiFirst = `{"jti":"`
)

func newTokenMemory(size int) *tokenMemory {
	n := 1 << bits.Len(uint(max(size, ways)-1))
	return &tokenMemory{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[rememberedToken], n)}
}

// set returns where the token would be; nil if it cannot be one of ours.
func (m *tokenMemory) set(token string) []atomic.Pointer[rememberedToken] {
	dot := strings.IndexByte(token, '.')
	if dot < 0 || len(token) < dot+1+head {
		return nil
	}
	i := int(maphash.String(m.seed, token[dot+1:dot+1+head])) & (len(m.slots) - 1) &^ (ways - 1)
	return m.slots[i : i+ways]
}

// find returns the entry of the token and its slot, or nil. The comparison need not take constant time: it goes by words
// of eight bytes and more, and what it could tell of the signature of a token is that many bytes guessed right at once.
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

// keep remembers a verified token in place of one that has expired, else of one that is not in use, else of any. Two that
// keep at once may each replace the other's: a token is then verified once more.
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
	// The caller's text may be a part of a whole request.
	e := &rememberedToken{text: strings.Clone(token)}
	e.caller.Store(c)
	set[victim].Store(e)
}

// jtiFirstText is jtiFirst in base64, as far as it is decided by it alone.
var jtiFirstText = strict.EncodeToString([]byte(jtiFirst))[:len(jtiFirst)*8/6]
