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

// The operations of users on their own accounts.

// Login is a session, for its user.
type Login struct {
	ID            uuid.UUID
	Created, Used hazard.Instant // the time of the login, and of the last use to log in or to renew a token
	Expires       hazard.Instant
	Addr          netip.Addr // address of the last use, as is Client; invalid if unknown
	Client        string
}

// Session returns the id of the login of the caller's token.
func (c *Caller) Session() uuid.UUID { return c.sid }

// ByReadKey reports whether the caller used a read key instead of a token.
func (c *Caller) ByReadKey() bool { return c.key != nil && c.Scope == "" }

// keepSession stores a login, so that its user can see and end it. If a program logs in for each
// request, only some of its logins are stored.
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

// Sessions lists the stored and active sessions of a user, latest used first.
func (a Accounts) Sessions(ctx context.Context, user string, now hazard.Instant) ([]Login, error) {
	kept, err := a.s.store.Sessions(ctx, user)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	u := a.s.current.Load().user(user)
	logins := []Login{}
	for _, k := range kept {
		created := cmp.Or(k.Created, loginTime(k.ID)) // the previous release did not store it
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

// EndSession ends one of the actor's own sessions with all its tokens: on this node at once, on
// others after their next reload. It returns hazard.ErrNotFound if the user has no such session.
func (a Accounts) EndSession(ctx context.Context, by Actor, id uuid.UUID, now hazard.Instant) error {
	logins, err := a.Sessions(ctx, by.Name, now)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(logins, func(l Login) bool { return l.ID == id })
	if i < 0 {
		return fmt.Errorf("%w: session %s", hazard.ErrNotFound, id)
	}
	c := &Caller{Name: by.Name, sid: id, Expires: logins[i].Expires}
	return a.s.revoke(ctx, c, by.did(ActionRevoke, by.Name, "session "+id.String(), now), now)
}

// ChangePassword changes the password of a user who knows the old one. It revokes all tokens except
// the pair that it returns. Limits and errors are the same as for Authorize; *hazard.InvalidError
// means that the new password is too weak or equal to the old one.
func (a Accounts) ChangePassword(ctx context.Context, user string, old, fresh Password, from Origin, now hazard.Instant) (Pair, error) {
	if _, _, _, err := a.s.admit(ctx, user, old, from, now); err != nil {
		return Pair{}, err
	}
	if old == fresh {
		var bad hazard.InvalidError
		bad.Add("new", "must differ from the old password")
		return Pair{}, bad.Err()
	}
	by := Actor{Name: user, Addr: from.Addr, Client: from.Client}
	if err := a.s.setPassword(ctx, by, user, "new", fresh, 0, now); err != nil {
		return Pair{}, err
	}
	p := a.s.current.Load()
	u := p.user(user)
	if u == nil {
		return Pair{}, fmt.Errorf("%w: the user no longer has access", ErrDenied)
	}
	pair, session, err := a.s.issue(p, u, now)
	if err != nil {
		return Pair{}, err
	}
	a.s.keepSession(ctx, session, u, from, expiry(now, a.s.cfg.RefreshLife), false, now)
	pair.Device, err = a.s.deviceToken(p, u, Origin{}, now)
	return pair, err
}
