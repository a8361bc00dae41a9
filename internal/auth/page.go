package auth

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A page token lets a browser read pages. Browsers send it automatically in a cookie, so it allows
// nothing else. It is a separate kind of token, which Verify and Refresh refuse. It is checked like
// an access token: against the user's present rights, and against revocations of the token and its
// login. It is never cached, so that no cache can confuse the kinds.

// PageToken is a token for reading pages.
type PageToken struct {
	Text    string
	Expires hazard.Instant // when the token expires
	Device  string         // see Pair
}

// AuthorizePage returns a page token for a name and a password, with the limits, work and errors of
// Authorize. It starts a separate login, which has no other kinds of tokens.
func (s *Service) AuthorizePage(ctx context.Context, username string, password Password, from Origin, now hazard.Instant) (PageToken, error) {
	p, u, alone, err := s.admit(ctx, username, password, from, now)
	if err != nil {
		return PageToken{}, err
	}
	if p.needsFactor(u) {
		return PageToken{}, ErrNeedsFactor
	}
	g, err := s.grant(p, u, now)
	if err != nil {
		return PageToken{}, err
	}
	g.Access = g.Refresh // ending the session ends the login
	token, err := s.pageToken(p, g, u, g.Refresh)
	if err != nil {
		return PageToken{}, err
	}
	s.keepSession(ctx, g.Refresh, u, from, token.Expires, alone, now)
	token.Device, err = s.deviceToken(p, u, from, now)
	return token, err
}

// Page returns a page token of the same login for a caller from Verify. It expires no later than
// the login. The error is of the kind ErrInvalidToken if the caller has lost access.
func (s *Service) Page(c *Caller, now hazard.Instant) (PageToken, error) {
	p := s.current.Load()
	c, err := p.judge(c)
	if err != nil {
		return PageToken{}, err
	}
	if c.foreign {
		return PageToken{}, refusal("a provider's token cannot start a page session; log in at /login/provider")
	}
	u := p.user(c.Name)
	g, err := s.grant(p, u, now)
	if err != nil {
		return PageToken{}, err
	}
	return s.pageToken(p, g, u, c.sid)
}

func (s *Service) pageToken(p *picture, g Grant, u *User, session uuid.UUID) (PageToken, error) {
	end := expiry(g.Issued, s.cfg.PageLife)
	// A session's id is a UUIDv7 with the time of its login (newID). The lifetime of its refresh
	// tokens counts from that time.
	if session.Version() == 7 {
		end = min(end, expiry(loginTime(session), s.loginLife(u)))
	}
	if end <= g.Issued {
		return PageToken{}, refusal("the login has ended")
	}
	c, err := s.claims(g, u.Name, session, end)
	if err != nil {
		return PageToken{}, err
	}
	text, err := sign(p.keys[g.KeyID], pageType, &c)
	return PageToken{Text: text, Expires: end}, err
}

// loginTime returns the time in the first 48 bits of a UUIDv7.
func loginTime(id uuid.UUID) (at hazard.Instant) {
	for _, b := range id[:6] {
		at = at<<8 | hazard.Instant(b)
	}
	return at
}

// VerifyPage returns the caller of a page token with the present rights. Errors are of the kind
// ErrInvalidToken.
func (s *Service) VerifyPage(token string, now hazard.Instant) (*Caller, error) {
	p := s.current.Load()
	c, err := s.read(p, token, pageType, s.cfg.PageLife, now)
	if err != nil {
		return nil, err
	}
	if c, err = p.judge(c); err == nil && c.NeedsFactor {
		return nil, refusal("the user must set up a second factor first")
	}
	return c, err
}

// EndPage revokes a page token, but no other token of its login. Revoking it again is not an error.
func (s *Service) EndPage(ctx context.Context, token string, from Origin, now hazard.Instant) error {
	c, err := s.VerifyPage(token, now)
	if err != nil {
		return nil
	}
	ended := Session{ID: c.JTI, User: c.Name, Expires: c.Expires, Revoked: now}
	a := Audit{At: now, Actor: c.Name, Addr: from.Addr, Client: from.Client, Action: ActionRevoke, Subject: c.Name, Detail: "page session " + c.JTI.String(), OK: true}
	if err := s.store.RevokeSession(ctx, ended, c.Expires.Add(clockSkew), a); err != nil {
		return fmt.Errorf("end a page session: %w", err)
	}
	s.reloadAfter(ctx)
	return nil
}
