package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestAServiceTokenIsGoodUntilItIsRevokedOnAllNodes(t *testing.T) {
	s, store := serve(t, auth.Config{})
	other := auth.New(store, auth.Config{})
	must(t, other.Reload(t.Context()))
	org, err := s.Accounts().AddOrg(t.Context(), auth.Actor{}, "RC", "Red Cross", t0)
	must(t, err)
	for _, tt := range []struct {
		scope auth.Scope
		role  auth.Role
		orgs  []int64
	}{{auth.ScopeRead, auth.Reader, nil}, {auth.ScopeMetrics, auth.Reader, nil}, {auth.ScopeWrite + auth.Scope(fmt.Sprint(org.ID)), auth.Editor, []int64{org.ID}}} {
		k, text, err := s.CreateServiceToken(t.Context(), auth.Actor{Name: "ann"}, "grafana", "", tt.scope, t0)
		must(t, err)
		if said := fmt.Sprintf("%v %s %q %+v", text, text, text, text); strings.Contains(said, string(text)) || !strings.HasPrefix(string(text), "hzs_") {
			t.Errorf("the token shows: %s", said)
		}
		must(t, other.Poll(t.Context(), t0+1))
		var held []*auth.Caller
		for _, node := range []*auth.Service{s, other} {
			c, err := node.Verify(string(text), t0.Add(1000*auth.Day))
			if err != nil || c.Name != "service:grafana" || c.Role != tt.role || !slices.Equal(c.Orgs, tt.orgs) || c.Scope != tt.scope {
				t.Fatalf("%+v, error %v", c, err)
			}
			if _, err := node.VerifyReadKey(text); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("as a read key: %v", err)
			}
			for _, wrong := range []string{"hzs_", string(text) + "A", string(text[:35]), strings.ToUpper(string(text)), "hzs_" + strings.Repeat("A", 1<<20)} {
				if _, err := node.Verify(wrong, t0); !errors.Is(err, auth.ErrInvalidToken) {
					t.Errorf("%.40q is accepted: %v", wrong, err)
				}
			}
			held = append(held, c)
		}
		must(t, s.RevokeReadKey(t.Context(), auth.Actor{}, "", k.ID, t0+2))
		must(t, other.Poll(t.Context(), t0+1001))
		for i, node := range []*auth.Service{s, other} {
			if _, err := node.Verify(string(text), t0+1002); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("node %d: a revoked token is accepted: %v", i, err)
			}
			if _, err := node.Recheck(held[i], t0+1002); !errors.Is(err, auth.ErrInvalidToken) {
				t.Errorf("node %d: a stream continues with a revoked token: %v", i, err)
			}
		}
	}
	for name, make := range map[string]func() error{
		"no scope": func() error {
			_, _, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "x", "", "", t0)
			return err
		},
		"everything": func() error {
			_, _, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "x", "", "admin", t0)
			return err
		},
		"no organization": func() error {
			_, _, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "x", "", "write:99", t0)
			return err
		},
		"no number": func() error {
			_, _, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "x", "", "write:", t0)
			return err
		},
		"a user's space": func() error {
			_, _, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "service:x", "", "read", t0)
			return err
		},
	} {
		if _, bad := errors.AsType[*hazard.InvalidError](make()); !bad {
			t.Errorf("%s: %v", name, make())
		}
	}
	actions := map[string]int{}
	trail, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 100})
	must(t, err)
	for _, a := range trail {
		actions[a.Action]++
	}
	if actions[auth.ActionServiceAdd] != 3 || actions[auth.ActionServiceRevoke] != 3 {
		t.Errorf("the trail has %v", actions)
	}
}

// A thousand requests in a minute cause one write.
func TestTheLastUseOfAServiceTokenIsWrittenOnceAMinute(t *testing.T) {
	s, store := serve(t, auth.Config{})
	_, text, err := s.CreateServiceToken(t.Context(), auth.Actor{}, "grafana", "", auth.ScopeMetrics, t0)
	must(t, err)
	used := func() hazard.Instant {
		d, err := store.Load(t.Context())
		must(t, err)
		return d.ReadKeys[0].Used
	}
	var written []hazard.Instant
	for i := range 150 { // seconds
		now := t0.Add(time.Duration(i) * time.Second)
		_, err := s.Verify(string(text), now)
		must(t, err)
		must(t, s.Poll(t.Context(), now))
		if at := used(); len(written) == 0 || at != written[len(written)-1] {
			written = append(written, at)
		}
	}
	if want := []hazard.Instant{t0, t0.Add(time.Minute), t0.Add(2 * time.Minute)}; !slices.Equal(written, want) {
		t.Errorf("written %v, want %v", written, want)
	}
	must(t, s.Reload(t.Context()))
	if list := s.ServiceTokens("grafana"); len(list) != 1 || list[0].Used != t0.Add(2*time.Minute) || list[0].Sum != [32]byte{} {
		t.Errorf("listed %+v", list)
	}
	if len(s.ReadKeys("")) != 0 {
		t.Error("a service token is listed as a read key")
	}
}
