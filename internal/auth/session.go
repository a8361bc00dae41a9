package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// retryWindow is how long the last used refresh token may be sent again while its successor is
// unused. So an answer lost on a bad network does not log a responder out.
const retryWindow = 10 * time.Second

// Refresh returns a new pair for a refresh token, which can be used once. Within retryWindow, and
// while the new refresh token is unused, a repeated request returns exactly the same pair. Any
// other second use means that two parties have the token, so all tokens of the login are revoked.
//
// It returns ErrDenied if the token is refused. Any other error comes from the store, and the token
// may be sent again.
func (s *Service) Refresh(ctx context.Context, token string, from Origin, now hazard.Instant) (Pair, error) {
	p := s.current.Load()
	c, err := s.readRefresh(p, token, now)
	if err != nil {
		return Pair{}, err
	}
	child, err := s.grant(p, p.user(c.Name), now)
	if err != nil {
		return Pair{}, err
	}
	next := Session{ID: c.sid, User: c.Name, Expires: c.Expires, Parent: c.JTI, Child: child,
		Created: loginTime(c.sid), Used: child.Issued, Addr: from.Addr, Client: from.Client}
	after, err := s.store.AdvanceSession(ctx, next)
	switch {
	case errors.Is(err, hazard.ErrNotFound):
		return Pair{}, fmt.Errorf("%w: the session is unknown", ErrDenied)
	case err != nil:
		return Pair{}, fmt.Errorf("renew a session: %w", err)
	case after.Revoked != 0 || after.User != c.Name:
		return Pair{}, fmt.Errorf("%w: the session is revoked", ErrDenied)
	}
	ours := after.Child.Refresh == child.Refresh
	again := after.Parent == c.JTI && now <= after.Child.Issued.Add(retryWindow)
	if ours || again {
		if p.keys[after.Child.KeyID] == nil { // the key belongs to another node and is very new
			s.reloadAfter(ctx)
			p = s.current.Load()
		}
		return s.pair(p, after.Child, after.User, after.ID, after.Expires)
	}
	a := Audit{At: now, Actor: c.Name, Addr: from.Addr, Client: from.Client, Action: ActionReuse, Subject: c.Name,
		Detail: "a refresh token came a second time; session " + c.sid.String() + " is revoked"}
	if err := s.revoke(ctx, c, a, now); err != nil {
		return Pair{}, err
	}
	return Pair{}, fmt.Errorf("%w: the refresh token was used before", ErrDenied)
}

// Revoke revokes all tokens of the login of a refresh token, used or not, including its access
// tokens. Revoking it again does no harm. It returns ErrDenied if the token is not accepted.
func (s *Service) Revoke(ctx context.Context, token string, from Origin, now hazard.Instant) error {
	c, err := s.readRefresh(s.current.Load(), token, now)
	if err != nil {
		return err
	}
	return s.revoke(ctx, c, Audit{At: now, Actor: c.Name, Addr: from.Addr, Client: from.Client, Action: ActionRevoke, Subject: c.Name,
		Detail: "session " + c.sid.String(), OK: true}, now)
}

func (s *Service) revoke(ctx context.Context, c *Caller, a Audit, now hazard.Instant) error {
	ended := Session{ID: c.sid, User: c.Name, Expires: c.Expires, Revoked: now}
	// the login's last access or page token may come from a node whose clock is ahead
	until := now.Add(max(s.longestAccess(), s.cfg.PageLife) + clockSkew)
	if err := s.store.RevokeSession(ctx, ended, until, a); err != nil {
		return fmt.Errorf("revoke a session: %w", err)
	}
	s.reloadAfter(ctx)
	return nil
}

// readRefresh parses a refresh token of a user who has access. The store decides whether it was
// used or revoked, because the snapshot forgets revocations before refresh tokens expire.
func (s *Service) readRefresh(p *picture, token string, now hazard.Instant) (*Caller, error) {
	c, err := s.read(p, token, refreshType, s.cfg.RefreshLife, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDenied, err) // %v: never an ErrInvalidToken, which is about access tokens
	}
	if u := p.user(c.Name); u == nil || c.issued < u.NotBefore {
		return nil, fmt.Errorf("%w: the user has no access, or not with this token", ErrDenied)
	}
	return c, nil
}
