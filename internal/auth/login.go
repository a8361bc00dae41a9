package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Authorize returns a pair of tokens for a name and a password.
//
// It returns ErrDenied if they are wrong for any reason; an unknown user takes as much work as a
// wrong password. *LimitedError means that there were too many failed logins, and nothing was
// checked. ErrFactor means that the password is right and from.Code, the code of the user's second
// factor, is not. *BusyError means that too many passwords are being checked. While the store is
// unreachable, Authorize works from memory, without the failures on other nodes.
func (s *Service) Authorize(ctx context.Context, username string, password Password, from Origin, now hazard.Instant) (Pair, error) {
	p, u, alone, err := s.admit(ctx, username, password, from, now)
	if err != nil {
		return Pair{}, err
	}
	pair, session, err := s.issue(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	s.keepSession(ctx, session, u, from, expiry(now, s.cfg.RefreshLife), alone, now)
	pair.Device, err = s.deviceToken(p, u, from, now)
	return pair, err
}

// admit returns the user with that name and password, and the snapshot that was used. Its errors
// are those of Authorize. It counts failures. alone reports that the store is unreachable.
func (s *Service) admit(ctx context.Context, username string, password Password, from Origin, now hazard.Instant) (p *picture, u *User, alone bool, err error) {
	a := s.attempt(username, from, now)
	p, u, err = s.decide(ctx, a, password)
	s.logins.WithLabelValues(result(err)).Inc()
	return p, u, a.alone, err
}

// result returns the result of a login as one word.
func result(err error) string {
	if _, limited := errors.AsType[*LimitedError](err); limited {
		return "limited"
	}
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrDenied):
		return "failed"
	}
	return "error"
}

// Metrics returns this process's metrics of logins, without any names.
func (s *Service) Metrics() []prometheus.Collector { return []prometheus.Collector{s.logins} }

func newLogins() *prometheus.CounterVec {
	logins := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hazardd_logins_total",
		Help: "Logins with name and password: ok, failed (not accepted), limited (too many had failed), error (too many at once, or no answer)."}, []string{"result"})
	for _, result := range []string{"ok", "failed", "limited", "error"} {
		logins.WithLabelValues(result)
	}
	return logins
}

func (s *Service) decide(ctx context.Context, a *attempt, password Password) (*picture, *User, error) {
	username, now := a.name, a.at
	known, err := s.mayTry(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	p := s.latest(ctx, a)
	u := p.user(username)
	if u != nil && u.PasswordEnds != 0 && now >= u.PasswordEnds {
		u = nil
	}
	if u == nil || !s.passwords.knows(u, password, now) {
		if err := s.check(ctx, a, known, u, password, p.users[username] != nil); err != nil {
			return nil, nil, err
		}
	}
	if u.HasFactor() {
		if err := s.prove(ctx, a, u); err != nil {
			return nil, nil, err
		}
	}
	s.succeeded(ctx, a, known[byPair])
	return p, u, nil
}

// latest returns a snapshot with all writes up to now on any node, so that a new user can log in at
// once and a disabled one cannot. While the store is unreachable it returns the present snapshot.
func (s *Service) latest(ctx context.Context, a *attempt) *picture {
	if !a.alone {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		v, err := s.store.Version(ctx)
		if err == nil && v != s.current.Load().version {
			err = s.Reload(ctx)
		}
		if err != nil {
			s.warn(ctx, a.at, "the store does not answer; a login is decided with the last known users", "error", err)
		}
	}
	return s.current.Load()
}

// check compares the password with the stored hash. It returns nil if the user has access, which a
// nil user never has. It lists a failure under a name only if that user exists.
func (s *Service) check(ctx context.Context, a *attempt, known []Attempts, u *User, password Password, isUser bool) error {
	leave, err := s.hasher.enter(ctx, a.place(known))
	if err != nil {
		return err
	}
	defer leave()
	// Check again, because of logins that waited at the same time: otherwise as many guesses as fit
	// into the queue would be free. For the same reason a failure is counted before the turn ends.
	if _, err := s.mayTry(ctx, a); err != nil {
		return err
	}
	stored := s.dummy
	if u != nil {
		stored = u.PasswordHash
	}
	want, err := parsePHC(stored)
	if err != nil {
		s.log.ErrorContext(ctx, "the stored password of a user cannot be used", "user", u.Name, "error", err)
		u = nil
		want, _ = parsePHC(s.dummy)
	}
	if !s.hasher.matches(want, password) || u == nil {
		subject := ""
		if isUser {
			subject = a.name
		}
		s.failed(ctx, a, subject)
		return ErrDenied
	}
	s.passwords.keep(u, password, a.at)
	return nil
}

// Issue returns a pair of tokens for a user without a password, for the command line. It returns
// hazard.ErrNotFound for an unknown or disabled user.
func (s *Service) Issue(ctx context.Context, by Actor, name string, now hazard.Instant) (Pair, error) {
	p := s.current.Load()
	u := p.user(name)
	if u == nil {
		return Pair{}, fmt.Errorf("user %q: %w", name, hazard.ErrNotFound)
	}
	if err := s.store.AddAudit(ctx, by.did(ActionIssue, name, "", now)); err != nil {
		return Pair{}, fmt.Errorf("issue a token: %w", err)
	}
	pair, session, err := s.issue(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	s.keepSession(ctx, session, u, Origin{Addr: by.Addr, Client: by.Client}, expiry(now, s.loginLife(u)), false, now)
	return pair, nil
}

// issue creates the first pair of a login, and returns the login's id.
func (s *Service) issue(p *picture, u *User, now hazard.Instant) (Pair, uuid.UUID, error) {
	g, err := s.grant(p, u, now)
	if err != nil {
		return Pair{}, uuid.Nil, err
	}
	pair, err := s.pair(p, g, u.Name, g.Refresh, expiry(g.Issued, s.loginLife(u)))
	return pair, g.Refresh, err
}

// loginLife returns the longest lifetime of the user's logins.
func (s *Service) loginLife(u *User) time.Duration {
	if u.Subject != "" {
		return s.cfg.ProviderLife
	}
	return s.cfg.RefreshLife
}

// grant returns the content of a new pair for the user.
func (s *Service) grant(p *picture, u *User, now hazard.Instant) (Grant, error) {
	k, err := s.signer(p, now)
	if err != nil {
		return Grant{}, err
	}
	access, err := s.newID(now)
	if err != nil {
		return Grant{}, err
	}
	refresh, err := s.newID(now)
	if err != nil {
		return Grant{}, err
	}
	orgs := u.Orgs
	if orgs == nil {
		orgs = []int64{}
	}
	return Grant{Access: access, Refresh: refresh, KeyID: k.ID, Role: u.Role, Orgs: orgs,
		// after a change NotBefore is up to a second ahead, or more if another node's clock is
		Issued: max(now, u.NotBefore)}, nil
}

// pair creates the tokens of a grant. The same arguments always give the same tokens.
func (s *Service) pair(p *picture, g Grant, user string, session uuid.UUID, expires hazard.Instant) (Pair, error) {
	k := p.keys[g.KeyID]
	if k == nil {
		return Pair{}, fmt.Errorf("the key %q of a renewed pair is unknown", g.KeyID)
	}
	c, err := s.claims(g, user, session, min(expiry(g.Issued, s.cfg.AccessLife), expires))
	if err != nil {
		return Pair{}, err
	}
	var pair Pair
	if pair.Access, err = sign(k, accessType, &c); err != nil {
		return Pair{}, err
	}
	c.JTI, c.Exp = g.Refresh.String(), int64(expires)/1000
	if pair.Refresh, err = sign(k, refreshType, &c); err != nil {
		return Pair{}, err
	}
	return pair, nil
}

// claims returns the claims of the grant's access token, which expires at end.
func (s *Service) claims(g Grant, user string, session uuid.UUID, end hazard.Instant) (claims, error) {
	audience, err := json.Marshal(s.cfg.Audience)
	if err != nil {
		return claims{}, fmt.Errorf("audience: %w", err)
	}
	second := int64(g.Issued) / 1000
	return claims{
		JTI:  g.Access.String(),
		Iss:  s.cfg.Issuer,
		Aud:  audience,
		Sub:  user,
		IAT:  second,
		NBF:  second - int64(clockSkew/time.Second),
		Exp:  int64(end) / 1000,
		Role: g.Role,
		Orgs: g.Orgs,
		SID:  session.String(),
	}, nil
}

// expiry returns the end of a token in whole seconds, like its claims.
func expiry(issued hazard.Instant, life time.Duration) hazard.Instant {
	return (issued - issued%1000).Add(life.Truncate(time.Second))
}
