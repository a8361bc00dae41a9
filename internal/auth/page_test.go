package auth_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func page(t testing.TB, s *auth.Service, access string, now hazard.Instant) auth.PageToken {
	t.Helper()
	p, err := s.Page(verifies(t, s, access, now), now)
	must(t, err)
	return p
}

func pageLogin(t testing.TB, s *auth.Service, now hazard.Instant) auth.PageToken {
	t.Helper()
	p, err := s.AuthorizePage(t.Context(), "ann", secret, auth.Origin{Addr: home}, now)
	must(t, err)
	return p
}

func pageRefused(t testing.TB, s *auth.Service, token string, now hazard.Instant) {
	t.Helper()
	c, err := s.VerifyPage(token, now)
	if c != nil {
		t.Fatalf("the page token was accepted, for %v", c.Name)
	}
	wantErr(t, err, auth.ErrInvalidToken)
}

func pageVerifies(t testing.TB, s *auth.Service, token string, now hazard.Instant) *auth.Caller {
	t.Helper()
	c, err := s.VerifyPage(token, now)
	must(t, err)
	return c
}

func TestAPageTokenSaysWhoseItIsAndForHowLong(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	pair := login(t, s, t0)
	for name, token := range map[string]auth.PageToken{"by an access token": page(t, s, pair.Access, t0), "by a password": pageLogin(t, s, t0)} {
		t.Run(name, func(t *testing.T) {
			if h := part(t, token.Text, 0); h["typ"] != "pg+jwt" || h["alg"] != "EdDSA" || len(h) != 3 {
				t.Errorf("header %v", h)
			}
			c := pageVerifies(t, s, token.Text, t0)
			if c.Name != "ann" || c.Role != auth.Reader || fmt.Sprint(c.Orgs) != "[1 2]" || c.Expires != t0.Add(12*time.Hour) || c.Expires != token.Expires {
				t.Errorf("got %+v", c)
			}
			pageVerifies(t, s, token.Text, t0.Add(12*time.Hour-ms))
			pageRefused(t, s, token.Text, t0.Add(12*time.Hour))
			pageRefused(t, s, token.Text, t0.Add(-30*time.Second-ms))
			must(t, s.Accounts().SetRole(t.Context(), auth.Actor{}, "ann", auth.Editor, t0))
			must(t, s.Accounts().SetOrgs(t.Context(), auth.Actor{}, "ann", []int64{3}, t0))
			if c := pageVerifies(t, s, token.Text, t0); c.Role != auth.Editor || fmt.Sprint(c.Orgs) != "[3]" {
				t.Errorf("not with the rights of now: %+v", c)
			}
			must(t, s.Accounts().SetRole(t.Context(), auth.Actor{}, "ann", auth.Reader, t0))
			must(t, s.Accounts().SetOrgs(t.Context(), auth.Actor{}, "ann", []int64{1, 2}, t0))
		})
	}
	if part(t, page(t, s, pair.Access, t0).Text, 1)["sid"] != part(t, pair.Access, 1)["sid"] {
		t.Error("the page token and its access token belong to different logins")
	}
}

func TestTheKindsOfTokensAreNotTakenForEachOther(t *testing.T) {
	s, _ := serve(t, auth.Config{PageLife: time.Hour, RefreshLife: time.Hour}) // so that lifetimes do not distinguish them
	pair := login(t, s, t0)
	token := page(t, s, pair.Access, t0).Text
	for range 2 { // the second time everything is cached
		refused(t, s, token, t0)
		denied(t, s, token, t0)
		wantErr(t, s.Revoke(t.Context(), token, auth.Origin{Addr: home}, t0), auth.ErrDenied)
		pageVerifies(t, s, token, t0)
		verifies(t, s, pair.Access, t0)
		for _, other := range []string{pair.Access, pair.Refresh, auth.FlipSignature(token), token + "=", ""} {
			pageRefused(t, s, other, t0)
		}
	}
}

func TestWhatEndsAnAccessTokenEndsThePageToken(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *auth.Service, pair auth.Pair, now hazard.Instant) error{
		"the user is disabled": func(t *testing.T, s *auth.Service, _ auth.Pair, now hazard.Instant) error {
			return s.Accounts().Disable(t.Context(), auth.Actor{}, "ann", now)
		},
		"the password is another": func(t *testing.T, s *auth.Service, _ auth.Pair, now hazard.Instant) error {
			return s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "another quiet canoe 9", 0, now)
		},
		"the login is revoked": func(t *testing.T, s *auth.Service, pair auth.Pair, now hazard.Instant) error {
			return s.Revoke(t.Context(), pair.Refresh, auth.Origin{Addr: home}, now)
		},
		"a refresh token came twice": func(t *testing.T, s *auth.Service, pair auth.Pair, now hazard.Instant) error {
			if _, err := s.Refresh(t.Context(), refresh(t, s, pair.Refresh, now).Refresh, auth.Origin{Addr: home}, now); err != nil {
				return err
			}
			if _, err := s.Refresh(t.Context(), pair.Refresh, auth.Origin{Addr: home}, now); !errors.Is(err, auth.ErrDenied) {
				return fmt.Errorf("the second use: %w", err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, store := serve(t, auth.Config{})
			b := node(t, store, auth.Config{})
			pair := login(t, a, t0)
			token, caller := page(t, a, pair.Access, t0), verifies(t, a, pair.Access, t0)
			now := t0.Add(time.Second)
			must(t, end(t, a, pair, now))
			pageRefused(t, a, token.Text, now)
			must(t, b.Poll(t.Context(), now))
			pageRefused(t, b, token.Text, now)
			if _, err := a.Page(caller, now); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("a caller without access got another page token: %v", err)
			}
			// The revocation is forgotten after the page token has expired, not before.
			for _, at := range []time.Duration{time.Hour + time.Minute, 11 * time.Hour, 12*time.Hour - time.Second} {
				must(t, a.Purge(t.Context(), t0.Add(at)))
				must(t, a.Reload(t.Context()))
				pageRefused(t, a, token.Text, t0.Add(at))
			}
		})
	}
}

func TestAPageSessionEndsByItselfAndTakesNothingAlong(t *testing.T) {
	a, store := serve(t, auth.Config{})
	b := node(t, store, auth.Config{})
	pair := login(t, a, t0)
	token, other := page(t, a, pair.Access, t0), page(t, a, pair.Access, t0)
	must(t, a.EndPage(t.Context(), token.Text, auth.Origin{Addr: home}, t0))
	must(t, a.EndPage(t.Context(), token.Text, auth.Origin{Addr: home}, t0)) // again: the answer was lost
	must(t, b.Poll(t.Context(), t0))
	for _, s := range []*auth.Service{a, b} {
		pageRefused(t, s, token.Text, t0)
		pageVerifies(t, s, other.Text, t0)
		verifies(t, s, pair.Access, t0)
	}
	refresh(t, b, pair.Refresh, t0)
	must(t, a.Purge(t.Context(), token.Expires-1))
	must(t, a.Reload(t.Context()))
	pageRefused(t, a, token.Text, token.Expires-1)

	rows, err := a.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 10})
	must(t, err)
	if r := rows[0]; r.Action != auth.ActionRevoke || r.Actor != "ann" || r.Addr != home || !r.OK {
		t.Errorf("trail %+v", r)
	}
	// No other text used as a page token ends anything.
	for _, bad := range []string{"", "x", pair.Access, pair.Refresh, auth.FlipSignature(other.Text)} {
		must(t, a.EndPage(t.Context(), bad, auth.Origin{Addr: home}, t0))
	}
	pageVerifies(t, a, other.Text, t0)
	verifies(t, a, pair.Access, t0)

	store.Away(hazard.ErrUnavailable)
	wantErr(t, a.EndPage(t.Context(), other.Text, auth.Origin{Addr: home}, t0), hazard.ErrUnavailable)
}

func TestAPageSessionEndsWithItsLogin(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	p, now := login(t, s, t0), t0
	for range 59 {
		now = now.Add(12 * time.Hour)
		p = refresh(t, s, p.Refresh, now)
	}
	last := t0.Add(30*auth.Day - time.Hour)
	p = refresh(t, s, p.Refresh, last)
	if token := page(t, s, p.Access, last); token.Expires != t0.Add(30*auth.Day) {
		t.Errorf("the page token ends at %v, its login at %v", token.Expires, t0.Add(30*auth.Day))
	}
	// A session whose id contains no time has the full lifetime.
	kid := part(t, p.Access, 0)["kid"].(string)
	named := auth.SignAs(s, kid, false, auth.Claims{JTI: uuid.NewString(), Sub: "ann", SID: uuid.NewString(), IAT: int64(t0) / 1000, NBF: int64(t0) / 1000, Exp: int64(t0)/1000 + 60})
	if token := page(t, s, named, t0); token.Expires != t0.Add(12*time.Hour) {
		t.Errorf("ends at %v", token.Expires)
	}
}

func TestAPageLoginIsLimitedAsAnyLogin(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	hashes := auth.CountHashes(s)
	for _, user := range []string{"ann", "nobody"} {
		before := hashes.Load()
		_, err := s.AuthorizePage(t.Context(), user, "wrong", auth.Origin{Addr: home}, t0)
		wantErr(t, err, auth.ErrDenied)
		if n := hashes.Load() - before; n != 1 {
			t.Errorf("%s: %d hashes, want 1", user, n)
		}
	}
	var limited *auth.LimitedError
	for i := 0; ; i++ {
		// The two ways to log in share one count.
		var err error
		if i%2 == 0 {
			_, err = s.AuthorizePage(t.Context(), "ann", "wrong", auth.Origin{Addr: home}, t0)
		} else {
			_, err = s.Authorize(t.Context(), "ann", "wrong", auth.Origin{Addr: home}, t0)
		}
		if errors.As(err, &limited) {
			break
		}
		if i > 10 {
			t.Fatal("no limit")
		}
	}
	if _, err := s.AuthorizePage(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0); !errors.As(err, &limited) {
		t.Errorf("with the right password: %v", err)
	}
}
