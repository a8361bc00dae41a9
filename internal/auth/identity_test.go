package auth_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// person logs in a provider's user, and returns the user's name and the pair of tokens of that
// login.
func person(t *testing.T, s *auth.Service, issuer, subject, session string, now hazard.Instant) (string, auth.Pair) {
	t.Helper()
	l, err := s.AuthorizeIdentity(t.Context(), auth.Identity{Issuer: issuer, Subject: subject, Name: subject, Role: auth.Editor, Session: session, Issued: now}, auth.Origin{Addr: home}, now)
	must(t, err)
	pair, err := s.RedeemHandover(t.Context(), l.Handover, now)
	must(t, err)
	return l.User, pair
}

func TestANoticeOfOneSessionEndsThatSession(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	_, one := person(t, s, "https://a.example", "carl", "s1", t0)
	_, two := person(t, s, "https://a.example", "carl", "s2", t0)
	name, other := person(t, s, "https://b.example", "carl", "s1", t0)
	if name == "carl" {
		t.Fatal("two providers have one user")
	}
	local := login(t, s, t0)
	later := t0.Add(time.Minute)
	must(t, s.EndIdentity(t.Context(), "https://a.example", "eve", "s1", later, later)) // another user's
	verifies(t, s, one.Access, later)
	must(t, s.EndIdentity(t.Context(), "https://a.example", "", "s1", later, later))
	refused(t, s, one.Access, later)
	denied(t, s, one.Refresh, later)
	verifies(t, s, two.Access, later)
	verifies(t, s, other.Access, later)
	verifies(t, s, local.Access, later)
	// A notice that comes again, late, does not end a newer login.
	_, again := person(t, s, "https://a.example", "carl", "s3", later.Add(time.Minute))
	must(t, s.EndIdentity(t.Context(), "https://a.example", "carl", "", later, later.Add(2*time.Minute)))
	refused(t, s, two.Access, later.Add(2*time.Minute))
	verifies(t, s, again.Access, later.Add(2*time.Minute))
}

func TestAUserWhomTheProviderDoesNotNameForAMonthHasNoAccess(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	name, _ := person(t, s, "https://a.example", "carl", "", t0)
	_, key, err := s.CreateReadKey(t.Context(), auth.Actor{Name: name}, name, "a map", t0)
	must(t, err)
	month := t0.Add(30 * 24 * time.Hour)
	must(t, s.LapseIdentities(t.Context(), month-1))
	if _, err := s.VerifyReadKey(key); err != nil {
		t.Fatalf("a day too early: %v", err)
	}
	must(t, s.LapseIdentities(t.Context(), month))
	if _, err := s.VerifyReadKey(key); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("the read key still works: %v", err)
	}
	if _, _, ok := s.Standing(name); ok {
		t.Error("webhooks of the user go on")
	}
	if _, _, ok := s.Standing("ann"); !ok {
		t.Error("a local user has lost access")
	}
	again, pair := person(t, s, "https://a.example", "carl", "", month.Add(time.Hour))
	if again != name {
		t.Errorf("the user returns as %q, was %q", again, name)
	}
	verifies(t, s, pair.Access, month.Add(time.Hour))
	if _, err := s.VerifyReadKey(key); !errors.Is(err, auth.ErrInvalidToken) {
		t.Error("the old read key works again")
	}
}
