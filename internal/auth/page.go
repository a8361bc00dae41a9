package auth

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// A page token is what a browser shows to read pages: it travels in a cookie, by itself, and so must be good for reading pages and for
// nothing else. It is a third kind of token, which Verify and Refresh refuse, and it is judged as an access token is: by the user's
// standing now, and by the revocations of the token and of its login. It is never remembered, so that no memory can confuse the kinds.

// PageToken is a token that serves pages alone.
type PageToken struct {
	Text    string
	Expires hazard.Instant // refused from then on
	Device  string         // see Pair
}

// AuthorizePage gives a page token for a name and a password, with the limits, the work and the errors of Authorize. It is a login of
// its own, without tokens of other kinds.
func (s *Service) AuthorizePage(ctx context.Context, username string, password Password, from Origin, now hazard.Instant) (PageToken, error) {
	p, u, alone, err := s.admit(ctx, username, password, from, now)
	if err != nil {
		return PageToken{}, err
	}
	g, err := s.grant(p, u, now)
	if err != nil {
		return PageToken{}, err
	}
	g.Access = g.Refresh // to end the session ends the login
	token, err := s.pageToken(p, g, u, g.Refresh)
	if err != nil {
		return PageToken{}, err
	}
	s.keepSession(ctx, g.Refresh, u, from, token.Expires, alone, now)
	token.Device, err = s.deviceToken(p, u, from, now)
	return token, err
}

// Page gives a page token of the same login to a caller whom Verify has returned. It ends with that login at the latest.
// Errors are of the kind ErrInvalidToken when the caller may not come in any more.
func (s *Service) Page(c *Caller, now hazard.Instant) (PageToken, error) {
	p := s.current.Load()
	c, err := p.judge(c)
	if err != nil {
		return PageToken{}, err
	}
	if c.foreign {
		return PageToken{}, refusal("a provider's token opens no session for pages; log in at /login/provider")
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
	// A session is named by a UUIDv7 of the moment of its login (newID), from which its refresh tokens live as long as the login.
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

// loginTime is the moment that a UUIDv7 holds in its first 48 bits.
func loginTime(id uuid.UUID) (at hazard.Instant) {
	for _, b := range id[:6] {
		at = at<<8 | hazard.Instant(b)
	}
	return at
}

// VerifyPage returns the caller that the page token speaks for, with the rights of now. Errors are of the kind ErrInvalidToken.
func (s *Service) VerifyPage(token string, now hazard.Instant) (*Caller, error) {
	p := s.current.Load()
	c, err := s.read(p, token, pageType, s.cfg.PageLife, now)
	if err != nil {
		return nil, err
	}
	return p.judge(c)
}

// EndPage makes a page token worthless, and no other token of its login: it authorizes nothing but its own end. One that is worthless
// already is left as it is, without an error.
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
