package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestAReadKeyReadsUntilItIsRevoked(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *auth.Service, auth.ReadKey) error{
		"revoked": func(t *testing.T, s *auth.Service, k auth.ReadKey) error {
			return s.RevokeReadKey(t.Context(), auth.Actor{Name: "ann"}, "ann", k.ID, t0+1)
		},
		"its user disabled": func(t *testing.T, s *auth.Service, _ auth.ReadKey) error {
			return s.Accounts().Disable(t.Context(), auth.Actor{}, "ann", t0+1)
		},
		"its user's password changed": func(t *testing.T, s *auth.Service, _ auth.ReadKey) error {
			return s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "another kayak thermos", 0, t0+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := serve(t, auth.Config{})
			k, text, err := s.CreateReadKey(t.Context(), auth.Actor{Name: "ann"}, "ann", "  the map\nof the room ", t0)
			if err != nil || k.Title != "the map of the room" || len(text) != 36 || !strings.HasPrefix(string(text), "hzk_") {
				t.Fatalf("%+v, %d characters, error %v", k, len(text), err)
			}
			if said := fmt.Sprintf("%v %s %q %+v", text, text, text, text); strings.Contains(said, string(text)) {
				t.Errorf("the key shows: %s", said)
			}
			c, err := s.VerifyReadKey(text)
			if err != nil || c.Name != "ann" || c.Role != auth.Reader || len(c.Orgs) > 0 {
				t.Fatalf("%+v, error %v", c, err)
			}
			if _, err := s.Verify(string(text), t0); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("as a token: %v", err)
			}
			for _, wrong := range []string{"", "hzk_", string(text) + "A", string(text[:35]), strings.ToUpper(string(text)), strings.Repeat("A", 1<<20)} {
				if _, err := s.VerifyReadKey(auth.KeyText(wrong)); !errors.Is(err, auth.ErrInvalidToken) {
					t.Errorf("%.40q is accepted: %v", wrong, err)
				}
			}
			// A stream lasts as long as the key, whatever else is written and however
			// long it takes.
			addCheap(t, store, "bob", secret)
			must(t, s.Reload(t.Context()))
			later := t0.Add(1000 * auth.Day)
			fresh, err := s.Recheck(c, later)
			if err != nil || fresh.Name != "ann" || fresh.Role != auth.Reader || len(fresh.Orgs) > 0 {
				t.Fatalf("rechecked after a write: %+v, error %v", fresh, err)
			}
			if err := end(t, s, k); err != nil {
				t.Fatal(err)
			}
			for _, who := range []*auth.Caller{c, fresh} {
				if _, err := s.Recheck(who, t0+2000); !errors.Is(err, auth.ErrInvalidToken) {
					t.Errorf("rechecked afterwards: %v", err)
				}
			}
			if _, err := s.VerifyReadKey(text); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("after the revocation it is accepted: %v", err)
			}
		})
	}
}

func TestReadKeysAreTheirUsers(t *testing.T) {
	s, store := serve(t, auth.Config{})
	addCheap(t, store, "bob", secret)
	must(t, s.Reload(t.Context()))
	k, _, err := s.CreateReadKey(t.Context(), auth.Actor{Name: "ann"}, "ann", "a", t0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.ReadKeys("bob")); n != 0 || len(s.ReadKeys("ann")) != 1 || len(s.ReadKeys("")) != 1 || s.ReadKeys("")[0].Sum != [32]byte{} {
		t.Errorf("bob has %d, all are %+v", n, s.ReadKeys(""))
	}
	if err := s.RevokeReadKey(t.Context(), auth.Actor{Name: "bob"}, "bob", k.ID, t0); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("bob revokes ann's: %v", err)
	}
	if err := s.RevokeReadKey(t.Context(), auth.Actor{}, "", uuid.New(), t0); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("a key that does not exist: %v", err)
	}
	for _, title := range []string{"", " \n", strings.Repeat("x", 101)} {
		if _, _, err := s.CreateReadKey(t.Context(), auth.Actor{}, "ann", title, t0); !isInvalid(err) {
			t.Errorf("title %.10q: %v", title, err)
		}
	}
	if _, _, err := s.CreateReadKey(t.Context(), auth.Actor{}, "nobody", "x", t0); !errors.Is(err, hazard.ErrNotFound) {
		t.Errorf("of nobody: %v", err)
	}
	for range 99 {
		if _, _, err := s.CreateReadKey(t.Context(), auth.Actor{}, "ann", "x", t0); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.CreateReadKey(t.Context(), auth.Actor{}, "ann", "x", t0); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
}

func isInvalid(err error) bool {
	_, ok := errors.AsType[*hazard.InvalidError](err)
	return ok
}
