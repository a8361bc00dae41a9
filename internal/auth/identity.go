package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Users of an OpenID provider. Only issuer and subject identify a person: a name, an address or
// another claim never matches an existing account, least of all a local one. Such users have no
// password. Their role and organizations follow the provider's newest token.

// Identity is a person according to a verified token of an OpenID provider.
type Identity struct {
	Issuer, Subject string
	Name            string         // the name that the provider suggests
	Role            Role           // empty if none of the person's groups has a role here
	Orgs            []string       // organizations by acronym or id; unknown ones are ignored
	Unstated        bool           // the token has no groups, so role and organizations do not change
	Session         string         // the provider's session; empty if unknown
	Issued          hazard.Instant // when the provider issued the token
}

// identity is the key of a provider's user.
type identity struct{ issuer, subject string }

// ErrNoAccess means that the provider knows the person, but none of the person's groups has a role
// here.
var ErrNoAccess = errors.New("the provider gives the user no role here")

// The actions of provider logins in the audit trail, in addition to the actions of local users.
const (
	ActionLapse          = "access ended by the provider"
	ActionRestore        = "access given by the provider"
	ActionProviderLogout = "logged out by the provider"
)

const (
	// maxProviderUsers limits the users from providers, because all users are in memory.
	maxProviderUsers = 10_000
	// vouchEvery is how often a login without other changes is recorded in the user's record.
	vouchEvery = 24 * time.Hour
	// vouchLife is how long the read keys and webhooks of a provider's user work without a login.
	vouchLife = 30 * 24 * time.Hour
	// handoverLife is how long a browser may take to fetch the tokens of its login.
	handoverLife = time.Minute
	handoverType = "ho+jwt"
	// maxProviderSession limits the stored id of a provider's session, in bytes.
	maxProviderSession = 256
	maxSubject         = 255 // bytes; OpenID Connect Core 1.0, section 2
)

// ProviderLogin is the result of a login at the provider, for a browser.
type ProviderLogin struct {
	User string
	Page PageToken
	// Handover can be exchanged once, within a minute, for a pair of tokens of the same login.
	Handover string
}

// AuthorizeIdentity logs in a provider's user, and adds the user if new. Errors: ErrNoAccess;
// ErrDenied if the user is disabled or removed here; or an error of the store.
func (s *Service) AuthorizeIdentity(ctx context.Context, id Identity, from Origin, now hazard.Instant) (ProviderLogin, error) {
	login, err := s.authorizeIdentity(ctx, id, from, now)
	if errors.Is(err, ErrNoAccess) {
		s.logins.WithLabelValues(result(ErrDenied)).Inc()
	} else {
		s.logins.WithLabelValues(result(err)).Inc()
	}
	return login, err
}

func (s *Service) authorizeIdentity(ctx context.Context, id Identity, from Origin, now hazard.Instant) (ProviderLogin, error) {
	u, err := s.meet(ctx, id, Actor{Addr: from.Addr, Client: from.Client}, now)
	if err != nil {
		return ProviderLogin{}, err
	}
	p := s.current.Load()
	g, err := s.grant(p, u, now)
	if err != nil {
		return ProviderLogin{}, err
	}
	session := g.Refresh
	kept := Session{ID: session, User: u.Name, Expires: expiry(g.Issued, s.loginLife(u)), Child: Grant{Refresh: session},
		Created: now, Used: g.Issued, Addr: from.Addr, Client: from.Client, Provider: id.Session}
	if err := s.store.AddSession(ctx, kept); err != nil { // so that the provider's logout notice can find it
		return ProviderLogin{}, fmt.Errorf("keep a login: %w", err)
	}
	by := Actor{Name: u.Name, Addr: from.Addr, Client: from.Client}
	if err := s.store.AddAudit(ctx, by.did(ActionLogin, u.Name, "by the provider "+id.Issuer, now)); err != nil {
		return ProviderLogin{}, fmt.Errorf("keep a login: %w", err)
	}
	c, err := s.claims(g, u.Name, session, expiry(g.Issued, handoverLife))
	if err != nil {
		return ProviderLogin{}, err
	}
	login := ProviderLogin{User: u.Name}
	if login.Handover, err = sign(p.keys[g.KeyID], handoverType, &c); err != nil {
		return ProviderLogin{}, err
	}
	g.Access = session // ending the page's session also ends the login
	login.Page, err = s.pageToken(p, g, u, session)
	return login, err
}

// RedeemHandover exchanges a handover for the tokens of a login at the provider. It works once;
// otherwise it returns ErrDenied.
func (s *Service) RedeemHandover(ctx context.Context, token string, now hazard.Instant) (Pair, error) {
	p := s.current.Load()
	c, err := s.read(p, token, handoverType, handoverLife, now)
	if err == nil {
		c, err = p.judge(c)
	}
	if err != nil {
		return Pair{}, fmt.Errorf("%w: %v", ErrDenied, err)
	}
	if err := s.Once(ctx, c.JTI, c.Expires.Add(clockSkew)); errors.Is(err, hazard.ErrConflict) {
		return Pair{}, fmt.Errorf("%w: the handover was used before", ErrDenied)
	} else if err != nil {
		return Pair{}, err
	}
	u := p.user(c.Name)
	g, err := s.grant(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	g.Refresh = c.sid
	return s.pair(p, g, u.Name, c.sid, expiry(loginTime(c.sid), s.loginLife(u)))
}

// Once records the use of an id until it expires anyway. It returns hazard.ErrConflict if the id
// was used before.
func (s *Service) Once(ctx context.Context, id uuid.UUID, until hazard.Instant) error {
	if err := s.store.Once(ctx, id, until); err != nil {
		return fmt.Errorf("record a single use: %w", err)
	}
	return nil
}

// VerifyIdentity returns the caller of a provider's own token, until expires. Errors about the user
// are of the kind ErrInvalidToken.
func (s *Service) VerifyIdentity(ctx context.Context, id Identity, expires, now hazard.Instant) (*Caller, error) {
	if now >= expires {
		return nil, errExpired
	}
	u, err := s.meet(ctx, id, Actor{}, now)
	if errors.Is(err, ErrNoAccess) || errors.Is(err, ErrDenied) {
		return nil, refusal("the provider's user has no access")
	}
	if err != nil {
		return nil, err
	}
	return s.current.Load().judge(&Caller{Name: u.Name, Expires: expires, issued: id.Issued, foreign: true})
}

// meet finds or adds the user, checks that the user has access, and applies changes from the
// provider.
func (s *Service) meet(ctx context.Context, id Identity, by Actor, now hazard.Instant) (*User, error) {
	if id.Issuer == "" || id.Subject == "" || len(id.Subject) > maxSubject || len(id.Session) > maxProviderSession {
		return nil, fmt.Errorf("%w: the token's subject or session is missing or too long", ErrDenied)
	}
	key := identity{id.Issuer, id.Subject}
	u := s.current.Load().known[key]
	if u == nil { // another node may have just added the user
		v, err := s.store.Version(ctx)
		if err == nil && v != s.current.Load().version {
			err = s.Reload(ctx)
		}
		if err != nil {
			return nil, err
		}
		if u = s.current.Load().known[key]; u == nil {
			return s.addIdentity(ctx, id, by, now)
		}
	}
	if u.Disabled || u.Removed != 0 {
		return nil, fmt.Errorf("%w: user %q is disabled or removed here", ErrDenied, u.Name)
	}
	orgs := s.orgIDs(ctx, id.Orgs, now)
	news := !id.Unstated && id.Issued > u.Vouched
	same := id.Role == u.Role && slices.Equal(orgs, u.Orgs) && u.Lapsed == 0 && id.Issued < u.Vouched.Add(vouchEvery)
	gone := id.Role == "" && u.Lapsed != 0
	if news && !same && !gone {
		if err := s.takeOver(ctx, u, id, orgs, by, now); err != nil {
			return nil, err
		}
		u = s.current.Load().known[key]
	}
	if u == nil || u.Lapsed != 0 || u.Disabled {
		return nil, ErrNoAccess
	}
	return u, nil
}

// errOld aborts an update because a newer token was applied before.
var errOld = errors.New("a newer token was applied meanwhile")

// takeOver applies the role and the organizations from the provider.
func (s *Service) takeOver(ctx context.Context, u *User, id Identity, orgs []int64, by Actor, now hazard.Instant) error {
	a := by.did(ActionRole, u.Name, fmt.Sprintf("by the provider %s: role %s, organizations %v", id.Issuer, id.Role, orgs), now)
	switch {
	case id.Role == "":
		a.Action, a.Detail = ActionLapse, "none of the user's groups at "+id.Issuer+" has a role here"
	case u.Lapsed != 0:
		a.Action = ActionRestore
	case id.Role == u.Role && slices.Equal(orgs, u.Orgs):
		a.Detail += " (as before)"
	}
	err := s.store.UpdateUser(ctx, u.Name, func(u *User) error {
		if u.Removed != 0 || u.Disabled || id.Issued <= u.Vouched {
			return errOld
		}
		u.Vouched = id.Issued
		if id.Role == "" {
			u.Role, u.Orgs, u.Lapsed, u.NotBefore = Reader, nil, now, max(u.NotBefore, nextSecond(now))
			return nil
		}
		u.Role, u.Orgs, u.Lapsed = id.Role, orgs, 0
		return nil
	}, a)
	if err != nil && !errors.Is(err, errOld) {
		return fmt.Errorf("user %q: %w", u.Name, err)
	}
	s.reloadAfter(ctx)
	return nil
}

// addIdentity adds a user on the first login.
func (s *Service) addIdentity(ctx context.Context, id Identity, by Actor, now hazard.Instant) (*User, error) {
	if id.Role == "" {
		return nil, ErrNoAccess
	}
	if len(s.current.Load().known) >= maxProviderUsers {
		return nil, &hazard.LimitError{Limit: "provider-users", Kind: hazard.LimitCapacity, RetryAfter: time.Hour,
			Detail: fmt.Sprintf("the OpenID provider has added %d users, the limit (provider-users); an admin must remove some", maxProviderUsers)}
	}
	key := identity{id.Issuer, id.Subject}
	sum := sha256.Sum256([]byte(id.Issuer + "\x00" + id.Subject))
	wish, tail := nameFor(id.Name), hex.EncodeToString(sum[:])
	u := User{Role: id.Role, Orgs: s.orgIDs(ctx, id.Orgs, now), PasswordHash: s.dummy, Created: now, Issuer: id.Issuer, Subject: id.Subject, Vouched: id.Issued}
	detail := fmt.Sprintf("by the provider %s, subject %q: role %s, organizations %v", id.Issuer, id.Subject, u.Role, u.Orgs)
	for _, name := range []string{wish, wish + "-" + tail[:8], "user-" + tail[:32]} {
		u.Name = name
		err := s.store.CreateUser(ctx, u, by.did(ActionUserAdd, name, detail, now))
		if err != nil && !errors.Is(err, hazard.ErrConflict) {
			return nil, fmt.Errorf("add user %q: %w", name, err)
		}
		if err := s.Reload(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
		if known := s.current.Load().known[key]; known != nil {
			if s.current.Load().user(known.Name) == nil {
				return nil, ErrDenied
			}
			return known, nil
		}
	}
	return nil, fmt.Errorf("%w: no name is free for the user %q of the provider", hazard.ErrConflict, wish)
}

// nameFor derives a user name from the provider's suggestion.
func nameFor(wish string) string {
	name := strings.Map(func(r rune) rune {
		if validName(string(r)) {
			return r
		}
		return '-'
	}, strings.ToLower(wish))
	name = strings.Trim(name[:min(len(name), maxName-9)], "-.@_")
	if name == "" {
		return "user"
	}
	return name
}

// orgIDs returns the ids of organizations by acronym or id, sorted, without unknown ones.
func (s *Service) orgIDs(ctx context.Context, names []string, now hazard.Instant) []int64 {
	var ids []int64
	for _, name := range names {
		i := slices.IndexFunc(s.Accounts().Orgs(), func(o Org) bool { return o.Acronym == name || strconv.FormatInt(o.ID, 10) == name })
		if i < 0 {
			s.warn(ctx, now, "a group of the OpenID provider maps to an unknown organization", "organization", name)
			continue
		}
		ids = append(ids, s.Accounts().Orgs()[i].ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// EndIdentity ends logins on a notice of the provider: of one of its sessions, or all of the
// subject. The provider's own tokens issued to the user until then are refused too. An unknown
// subject or session is not an error.
func (s *Service) EndIdentity(ctx context.Context, issuer, subject, session string, issued, now hazard.Instant) error {
	if err := s.Reload(ctx); err != nil {
		return err
	}
	p := s.current.Load()
	var ending []Session
	var err error
	name := ""
	if u := p.known[identity{issuer, subject}]; u != nil {
		name = u.Name
	}
	if session != "" {
		ending, err = s.store.ProviderSessions(ctx, session)
	} else if name != "" {
		ending, err = s.store.Sessions(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("end logins: %w", err)
	}
	until := now.Add(max(s.longestAccess(), s.cfg.PageLife) + clockSkew)
	defer s.reloadAfter(ctx)
	for _, e := range ending {
		u := p.users[e.User]
		if u == nil || u.Issuer != issuer || subject != "" && u.Subject != subject {
			continue // the same session id at another provider
		}
		if session == "" && e.Created > issued.Add(clockSkew) {
			continue // a login after the notice, because the notice came late or twice
		}
		name = u.Name
		a := Audit{At: now, Actor: name, Action: ActionProviderLogout, Subject: name, Detail: "session " + e.ID.String(), OK: true}
		if err := s.store.RevokeSession(ctx, Session{ID: e.ID, User: e.User, Expires: e.Expires, Revoked: now}, until, a); err != nil {
			return fmt.Errorf("end logins: %w", err)
		}
	}
	if name == "" {
		return nil
	}
	a := Audit{At: now, Actor: name, Action: ActionProviderLogout, Subject: name, Detail: "tokens of " + issuer + " issued until now", OK: true}
	err = s.store.UpdateUser(ctx, name, func(u *User) error { u.LoggedOut = max(u.LoggedOut, issued); return nil }, a)
	if err != nil {
		return fmt.Errorf("end logins: %w", err)
	}
	return nil
}

// LapseIdentities disables users whose provider has not confirmed them for 30 days, so that read
// keys and webhooks of removed people do not work forever. Call it about once an hour.
func (s *Service) LapseIdentities(ctx context.Context, now hazard.Instant) error {
	for _, u := range s.current.Load().known {
		if u.Lapsed != 0 || u.Disabled || u.Vouched.Add(vouchLife) > now {
			continue
		}
		a := Audit{At: now, Action: ActionLapse, Subject: u.Name, Detail: "no login at " + u.Issuer + " for 30 days", OK: true}
		err := s.store.UpdateUser(ctx, u.Name, func(u *User) error {
			if u.Vouched.Add(vouchLife) <= now {
				u.Lapsed, u.NotBefore = now, max(u.NotBefore, nextSecond(now))
			}
			return nil
		}, a)
		if err != nil {
			return fmt.Errorf("user %q: %w", u.Name, err)
		}
		s.reloadAfter(ctx)
	}
	return nil
}
