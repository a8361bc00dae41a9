package auth

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// What users do with their own accounts.

// Login is a session as its user sees it.
type Login struct {
	ID            uuid.UUID
	Created, Used hazard.Instant // when the user logged in, and when the session was used last to log in or to renew a token
	Expires       hazard.Instant
	Addr          netip.Addr // of the last use, like Client; invalid: not known
	Client        string
}

// Session names the login that the caller's token stems from.
func (c *Caller) Session() uuid.UUID { return c.sid }

// ByReadKey reports whether the caller has shown a read key, and no token.
func (c *Caller) ByReadKey() bool { return c.key != nil && c.Scope == "" }

// keepSession keeps a login, so that its user can see and end it. Of a program that logs in for each request only some are kept.
func (s *Service) keepSession(ctx context.Context, id uuid.UUID, u *User, from Origin, expires hazard.Instant, alone bool, now hazard.Instant) {
	if alone {
		return
	}
	if ok, _ := s.take(s.sessions, u.Name, &bucket{size: 50, every: 10 * time.Minute}, now); !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.store.AddSession(ctx, Session{ID: id, User: u.Name, Expires: expires, Child: Grant{Refresh: id},
		Created: now, Used: max(now, u.NotBefore), Addr: from.Addr, Client: from.Client})
	if err != nil {
		s.warn(ctx, now, "a login is not listed among the user's sessions", "error", err)
	}
}

// Sessions lists the sessions of a user that are kept and alive, the latest used first.
func (s *Service) Sessions(ctx context.Context, user string, now hazard.Instant) ([]Login, error) {
	kept, err := s.store.Sessions(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	u := s.current.Load().user(user)
	logins := []Login{}
	for _, k := range kept {
		created := cmp.Or(k.Created, loginTime(k.ID)) // the release before did not keep it
		used := cmp.Or(k.Used, k.Child.Issued, created)
		if u == nil || k.Expires <= now || used < u.NotBefore {
			continue
		}
		logins = append(logins, Login{ID: k.ID, Created: created, Used: used, Expires: k.Expires, Addr: k.Addr, Client: k.Client})
	}
	slices.SortFunc(logins, func(a, b Login) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), slices.Compare(a.ID[:], b.ID[:]))
	})
	return logins, nil
}

// EndSession ends a session of the actor's own, with all its tokens: on this node at once, on the others when they have reloaded.
// hazard.ErrNotFound: there is none of that id, or none of this user's.
func (s *Service) EndSession(ctx context.Context, by Actor, id uuid.UUID, now hazard.Instant) error {
	logins, err := s.Sessions(ctx, by.Name, now)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(logins, func(l Login) bool { return l.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: session %s", hazard.ErrNotFound, id)
	}
	c := &Caller{Name: by.Name, sid: id, Expires: logins[i].Expires}
	return s.revoke(ctx, c, by.did(ActionRevoke, by.Name, "session "+id.String(), now), now)
}

// ChangePassword gives the user another password, to whoever knows the old one, and makes all tokens worthless but the pair that it returns.
// The limits and errors are those of Authorize, and *hazard.InvalidError: the new one is not good enough, or the old one.
func (s *Service) ChangePassword(ctx context.Context, user string, old, fresh Password, from Origin, now hazard.Instant) (Pair, error) {
	if _, _, _, err := s.admit(ctx, user, old, from, now); err != nil {
		return Pair{}, err
	}
	if old == fresh {
		var bad hazard.InvalidError
		bad.Add("new", "must be another password than the old one")
		return Pair{}, bad.Err()
	}
	by := Actor{Name: user, Addr: from.Addr, Client: from.Client}
	if err := s.setPassword(ctx, by, user, "new", fresh, 0, now); err != nil {
		return Pair{}, err
	}
	p := s.current.Load()
	u := p.user(user)
	if u == nil {
		return Pair{}, fmt.Errorf("%w: the user may not come in any more", ErrDenied)
	}
	pair, session, err := s.issue(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	s.keepSession(ctx, session, u, from, expiry(now, s.cfg.RefreshLife), false, now)
	pair.Device, err = s.deviceToken(p, u, Origin{}, now)
	return pair, err
}
