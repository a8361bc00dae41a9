package auth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/authtest"
)

func refresh(t testing.TB, s *auth.Service, token string, now hazard.Instant) auth.Pair {
	t.Helper()
	p, err := s.Refresh(t.Context(), token, auth.Origin{Addr: home}, now)
	must(t, err)
	return p
}

func denied(t testing.TB, s *auth.Service, token string, now hazard.Instant) {
	t.Helper()
	if p, err := s.Refresh(t.Context(), token, auth.Origin{Addr: home}, now); !errors.Is(err, auth.ErrDenied) || p != (auth.Pair{}) {
		t.Fatalf("error %v, want ErrDenied", err)
	}
}

func TestARefreshTokenWorksOnce(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	now, p := t0, login(t, s, t0)
	seen := []string{p.Refresh}
	for range 5 {
		now = now.Add(time.Hour)
		p = refresh(t, s, p.Refresh, now)
		verifies(t, s, p.Access, now)
		if slices.Contains(seen, p.Refresh) {
			t.Fatal("the same refresh token again")
		}
		seen = append(seen, p.Refresh)
	}
	denied(t, s, seen[2], now) // somebody else has an old token, and the thief is unknown
	denied(t, s, p.Refresh, now)
	refused(t, s, p.Access, now)
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 1})
	must(t, err)
	if r := rows[0]; r.Action != auth.ActionReuse || r.Subject != "ann" || r.Addr != home || r.OK {
		t.Errorf("trail %+v", r)
	}
}

func TestTheParentMayBeSentAgainForTenSeconds(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		same  bool
	}{{0, true}, {9999 * ms, true}, {10 * time.Second, true}, {10001 * ms, false}, {time.Hour, false}} {
		t.Run(tt.after.String(), func(t *testing.T) {
			a, store := serve(t, auth.Config{})
			b := node(t, store, auth.Config{})
			first := login(t, a, t0)
			at := t0.Add(time.Minute + 345*ms)
			second := refresh(t, a, first.Refresh, at)
			// Neither a change of the user's rights nor a new key changes an issued pair.
			must(t, b.Accounts().SetRole(t.Context(), auth.Actor{}, "ann", auth.Admin, at))
			if !tt.same {
				denied(t, b, first.Refresh, at.Add(tt.after))
				denied(t, b, second.Refresh, at.Add(tt.after))
				refused(t, b, second.Access, at.Add(tt.after))
				return
			}
			for range 3 {
				if again := refresh(t, b, first.Refresh, at.Add(tt.after)); again != second {
					t.Fatal("a different pair")
				}
			}
			third := refresh(t, b, second.Refresh, at.Add(tt.after))
			if third == second {
				t.Fatal("the child gave itself")
			}
			verifies(t, b, third.Access, at.Add(tt.after))
		})
	}
}

func TestTheParentIsDeadOnceItsChildWasUsed(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	first := login(t, s, t0)
	second := refresh(t, s, first.Refresh, t0)
	third := refresh(t, s, second.Refresh, t0.Add(ms))
	denied(t, s, first.Refresh, t0.Add(2*ms)) // well within ten seconds
	denied(t, s, third.Refresh, t0.Add(3*ms))
	denied(t, s, second.Refresh, t0.Add(3*ms))
	refused(t, s, third.Access, t0.Add(3*ms))
}

func TestASessionEndsThirtyDaysAfterItsLogin(t *testing.T) {
	s, store := serve(t, auth.Config{})
	p, now := login(t, s, t0), t0
	for range 29 {
		now = now.Add(auth.Day)
		p = refresh(t, s, p.Refresh, now)
	}
	last := t0.Add(30*auth.Day - time.Second)
	p = refresh(t, s, p.Refresh, last)
	if exp := part(t, p.Access, 1)["exp"]; exp != float64(t0.Add(30*auth.Day)/1000) {
		t.Errorf("the last access token ends at %v", exp)
	}
	denied(t, s, p.Refresh, t0.Add(30*auth.Day))
	must(t, store.Purge(t.Context(), auth.Purge{Now: t0.Add(30 * auth.Day)}))
	denied(t, s, p.Refresh, t0.Add(30*auth.Day))
}

func TestARowThatWasLostIsNoFreshStart(t *testing.T) {
	s, store := serve(t, auth.Config{})
	p := refresh(t, s, login(t, s, t0).Refresh, t0)
	must(t, store.Purge(t.Context(), auth.Purge{Now: t0.Add(31 * auth.Day)}))
	denied(t, s, p.Refresh, t0)
}

func TestOfFiftyRefreshesAtOnceAllAgree(t *testing.T) {
	a, store := serve(t, auth.Config{})
	nodes := []*auth.Service{a, node(t, store, auth.Config{}), node(t, store, auth.Config{})}
	p := login(t, a, t0)
	for round := range 3 {
		var mu sync.Mutex
		got := map[auth.Pair]int{}
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				q, err := nodes[i%3].Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(time.Duration(i)*ms))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got[q]++
			})
		}
		wg.Wait()
		if len(got) != 1 {
			t.Fatalf("round %d: %d different pairs", round, len(got))
		}
		for p = range got {
			verifies(t, nodes[1], p.Access, t0)
		}
	}
}

// If two parties use one family at once, each with its own tokens, at most one of them keeps valid
// tokens.
func TestOfManyHandsOnOneFamilyOneLivesOrNone(t *testing.T) {
	for range 20 {
		a, store := serve(t, auth.Config{})
		nodes := []*auth.Service{a, node(t, store, auth.Config{})}
		first := login(t, a, t0)
		second := refresh(t, a, first.Refresh, t0)
		var mu sync.Mutex
		alive := map[auth.Pair]bool{second: true}
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				token := []string{first.Refresh, second.Refresh}[i%2]
				p, err := nodes[i/2%2].Refresh(t.Context(), token, auth.Origin{Addr: home}, t0.Add(time.Second))
				if err != nil && !errors.Is(err, auth.ErrDenied) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					alive[p] = true
				}
			})
		}
		wg.Wait()
		n := 0
		for p := range alive {
			if _, err := a.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, t0.Add(time.Minute)); err == nil {
				n++
			}
		}
		if n > 1 {
			t.Fatalf("%d pairs of one family are alive", n)
		}
	}
}

func TestRefreshSequencesFollowTheModel(t *testing.T) {
	type family struct {
		pairs   []auth.Pair // in order of issue; the last one is to be used next
		issued  hazard.Instant
		revoked bool
	}
	s, store := serve(t, auth.Config{RefreshLife: 365 * auth.Day, AccessLife: 10 * auth.Day, KeyLife: 365 * auth.Day})
	nodes := []*auth.Service{s, node(t, store, auth.Config{RefreshLife: 365 * auth.Day, AccessLife: 10 * auth.Day, KeyLife: 365 * auth.Day})}
	rapid.Check(t, func(rt *rapid.T) {
		now := t0
		var families []*family
		some := func() (*auth.Service, *family) {
			return rapid.SampledFrom(nodes).Draw(rt, "node"), rapid.SampledFrom(families).Draw(rt, "family")
		}
		login := func(rt *rapid.T) {
			p, err := rapid.SampledFrom(nodes).Draw(rt, "node").Issue(t.Context(), auth.Actor{}, "ann", now)
			if err != nil {
				rt.Fatal(err)
			}
			families = append(families, &family{pairs: []auth.Pair{p}, issued: now})
		}
		login(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"login": login,
			"wait": func(rt *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{ms, time.Second, 9999 * ms, 10 * time.Second, 10001 * ms, time.Minute}).Draw(rt, "wait"))
			},
			"refresh": func(rt *rapid.T) {
				n, f := some()
				i := max(0, len(f.pairs)-1-rapid.IntRange(0, 3).Draw(rt, "age"))
				got, err := n.Refresh(t.Context(), f.pairs[i].Refresh, auth.Origin{Addr: home}, now)
				last := len(f.pairs) - 1
				switch {
				case !f.revoked && i == last:
					if err != nil || slices.Contains(f.pairs, got) {
						rt.Fatalf("the live token: %v", err)
					}
					f.pairs, f.issued = append(f.pairs, got), now
				case !f.revoked && i == last-1 && now <= f.issued.Add(auth.RetryWindow):
					if err != nil || got != f.pairs[last] {
						rt.Fatalf("the parent within its window: %v", err)
					}
				default:
					if !errors.Is(err, auth.ErrDenied) {
						rt.Fatalf("a spent token: %v", err)
					}
					f.revoked = true
				}
			},
			"revoke": func(rt *rapid.T) {
				n, f := some()
				if err := n.Revoke(t.Context(), f.pairs[rapid.IntRange(0, len(f.pairs)-1).Draw(rt, "pair")].Refresh, auth.Origin{Addr: home}, now); err != nil {
					rt.Fatal(err)
				}
				f.revoked = true
			},
			"verify": func(rt *rapid.T) {
				n, f := some()
				if err := n.Poll(t.Context(), now); err != nil {
					rt.Fatal(err)
				}
				for _, p := range f.pairs {
					if _, err := n.Verify(p.Access, now); (err != nil) != f.revoked {
						rt.Fatalf("access token of a family that is revoked (%v): %v", f.revoked, err)
					}
				}
			},
		})
	})
}

func TestWithoutTheStoreTokensAreVerifiedAndLoginsGoOn(t *testing.T) {
	s, store := serve(t, auth.Config{})
	p := login(t, s, t0)
	gone := fmt.Errorf("dial: %w", hazard.ErrUnavailable)
	store.Away(gone)
	now := t0.Add(50 * time.Minute)
	wantErr(t, s.Poll(t.Context(), now), hazard.ErrUnavailable)
	verifies(t, s, p.Access, now)
	_, err := s.Refresh(t.Context(), p.Refresh, auth.Origin{Addr: home}, now)
	wantErr(t, err, hazard.ErrUnavailable) // not denied: it may be sent again
	wantErr(t, s.Revoke(t.Context(), p.Refresh, auth.Origin{Addr: home}, now), hazard.ErrUnavailable)
	q := login(t, s, now)
	verifies(t, s, q.Access, now)

	// Failures are limited nevertheless.
	var limited *auth.LimitedError
	for i := 0; !errors.As(err, &limited); i++ {
		if i > 10 {
			t.Fatal("no limit")
		}
		_, err = s.Authorize(t.Context(), "ann", "wrong", auth.Origin{Addr: home}, now)
	}
	store.Away(nil)
	refresh(t, s, p.Refresh, now)
	refresh(t, s, q.Refresh, now)
}

func TestAFailedReloadKeepsThePicture(t *testing.T) {
	s, store := serve(t, auth.Config{})
	p := login(t, s, t0)
	store.Away(hazard.ErrUnavailable)
	wantErr(t, s.Reload(t.Context()), hazard.ErrUnavailable)
	verifies(t, s, p.Access, t0)
}

func TestPollHealsAPictureThatTheVersionDoesNotTellOf(t *testing.T) {
	_, first := serve(t, auth.Config{})
	store := &oneVersion{first}
	n := node(t, store, auth.Config{})
	must(t, n.Poll(t.Context(), t0))
	if len(n.Accounts().Users()) != 1 {
		t.Fatal("ann is missing")
	}
	store.Store = authtest.Open(t) // a failover to a standby without this login
	must(t, n.Poll(t.Context(), t0.Add(59*time.Second)))
	if len(n.Accounts().Users()) != 1 {
		t.Error("reloaded without need")
	}
	must(t, n.Poll(t.Context(), t0.Add(time.Minute)))
	if len(n.Accounts().Users()) != 0 {
		t.Error("not reloaded")
	}
}

// oneVersion is a store whose version never changes.
type oneVersion struct{ *authtest.Store }

func (*oneVersion) Version(context.Context) (int64, error) { return 7, nil }

func (s *oneVersion) Load(ctx context.Context) (auth.Data, error) {
	d, err := s.Store.Load(ctx)
	d.Version = 7
	return d, err
}
