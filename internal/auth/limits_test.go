package auth_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/authtest"
)

// try returns nil for a success, ErrDenied, or the *LimitedError.
func try(t testing.TB, s *auth.Service, user string, p auth.Password, addr string, now hazard.Instant) error {
	t.Helper()
	return tryFrom(t, s, user, p, auth.Origin{Addr: netip.MustParseAddr(addr)}, now)
}

func tryFrom(t testing.TB, s *auth.Service, user string, p auth.Password, from auth.Origin, now hazard.Instant) error {
	t.Helper()
	_, err := s.Authorize(t.Context(), user, p, from, now)
	if _, limited := errors.AsType[*auth.LimitedError](err); err != nil && !limited && !errors.Is(err, auth.ErrDenied) {
		t.Fatal(err)
	}
	return err
}

func wait(err error) time.Duration {
	if l, ok := errors.AsType[*auth.LimitedError](err); ok {
		return l.RetryAfter
	}
	return 0
}

func TestEachFailureBeyondFiveDoublesTheWait(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	now := t0
	for i := 1; i <= 20; i++ {
		wantErr(t, try(t, s, "ann", "wrong", home.String(), now), auth.ErrDenied)
		if i < 5 {
			continue
		}
		// Meanwhile the right password is not checked either; otherwise guessing could continue
		// despite the 429.
		want := min(time.Second<<(i-5), 15*time.Minute)
		if got := wait(try(t, s, "ann", secret, home.String(), now)); got != want {
			t.Fatalf("after %d failures: wait %v, want %v", i, got, want)
		}
		if got := wait(try(t, s, "ann", secret, home.String(), now.Add(want-ms))); got != ms {
			t.Fatalf("after %d failures, a millisecond too early: wait %v", i, got)
		}
		now = now.Add(want)
	}
	must(t, try(t, s, "ann", secret, home.String(), now))
	for range 4 { // a restart of the service
		wantErr(t, try(t, s, "ann", "wrong", home.String(), now), auth.ErrDenied)
	}
	must(t, try(t, s, "ann", secret, home.String(), now))
}

func TestSuccessesAreNeverLimited(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	for range 2000 {
		must(t, try(t, s, "ann", secret, home.String(), t0))
	}
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 100})
	must(t, err)
	if n := len(slices.DeleteFunc(rows, func(a auth.Audit) bool { return a.Action != auth.ActionLogin })); n != 1 {
		t.Errorf("%d rows in the trail for one client's logins within an hour, want 1", n)
	}
	must(t, try(t, s, "ann", secret, home.String(), t0.Add(time.Hour)))
	rows, err = s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 1})
	must(t, err)
	if r := rows[0]; r.At != t0.Add(time.Hour) || !r.OK || r.Actor != "ann" || r.Addr != home {
		t.Errorf("trail %+v", r)
	}
}

func TestAnotherSpellingIsNoFreshStart(t *testing.T) {
	for name, tt := range map[string]struct {
		user, addr string
		same       bool
	}{
		"upper case":                   {"ANN", "192.0.2.10", true},
		"blanks around":                {" \tann\n", "192.0.2.10", true},
		"full-width letters":           {"ａｎｎ", "192.0.2.10", true},
		"v4-mapped":                    {"ann", "::ffff:192.0.2.10", true},
		"v4-mapped in hexadecimal":     {"ann", "::ffff:c000:20a", true},
		"another address":              {"ann", "192.0.2.11", false},
		"another user":                 {"anna", "192.0.2.10", false},
		"the user of another sentence": {`ann" 192.0.2.10`, "192.0.2.10", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, auth.Config{})
			for range 5 {
				wantErr(t, try(t, s, "ann", "wrong", "192.0.2.10", t0), auth.ErrDenied)
			}
			if got := wait(try(t, s, tt.user, "wrong", tt.addr, t0)) > 0; got != tt.same {
				t.Errorf("limited: %v, want %v", got, tt.same)
			}
		})
	}
	keys := func(user, addr string) string { return fmt.Sprint(auth.AttemptKeys(user, netip.MustParseAddr(addr))) }
	for name, tt := range map[string]struct {
		a, b string
		same bool
	}{
		"one /64":            {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
		"a zone":             {"fe80::1%eth0", "fe80::2%eth1", true},
		"the next /64":       {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		"v4 and its mapping": {"192.0.2.1", "::ffff:192.0.2.1", true},
		"v4 neighbours":      {"192.0.2.1", "192.0.2.2", false},
	} {
		if got := keys("ann", tt.a) == keys("ann", tt.b); got != tt.same {
			t.Errorf("%s: the same %v, want %v", name, got, tt.same)
		}
	}
	long := string(slices.Repeat([]byte("x"), 1<<20))
	if keys(long, "::1") != keys(long[:200], "::1") || keys("\xff", "::1") == "" {
		t.Error("a long name is not cut")
	}
	if k := auth.AttemptKeys("ann", netip.Addr{}); len(slices.Compact(k)) != 3 {
		t.Errorf("without an address: %v", k)
	}
	if k := auth.AttemptKeys("ann", netip.MustParseAddr("2001:db8::1")); len(slices.Compact(k)) != 5 {
		t.Errorf("an IPv6 address does not count as /64, /56 and /48: %v", k)
	}
}

func TestAnAttackDoesNotLockOutTheUsersOwnAddress(t *testing.T) {
	test.Seconds(t)
	s, _ := serve(t, auth.Config{})
	must(t, try(t, s, "ann", secret, home.String(), t0))
	now := t0
	limited := 0
	for range 10 {
		for i := range 100 {
			if wait(try(t, s, "ann", "wrong", fmt.Sprintf("198.51.100.%d", i), now)) > 0 {
				limited++
			}
		}
		now = now.Add(time.Second)
		must(t, try(t, s, "ann", secret, home.String(), now))
	}
	if limited < 500 {
		t.Errorf("only %d of 1,000 guesses were delayed", limited)
	}
	// An attacker at the user's own address delays other users there, but not this user.
	for i := range 100 {
		_ = try(t, s, fmt.Sprint("user", i), "wrong", home.String(), now)
	}
	if wait(try(t, s, "bob", "wrong", home.String(), now)) == 0 {
		t.Error("guessing at many users from one address is not limited")
	}
	must(t, try(t, s, "ann", secret, home.String(), now))
}

// Once, 7 tries with the right password in 192 s, and none was let in.
func TestTheRightPasswordGetsInFromANewNetworkWhileManyGuess(t *testing.T) {
	test.Seldom(t)
	s, _ := serve(t, auth.Config{})
	guesses := 0
	for second := range 200 {
		now := t0.Add(time.Duration(second) * time.Second)
		for i := range 200 {
			if errors.Is(try(t, s, "ann", "wrong", fmt.Sprintf("198.51.100.%d", i), now), auth.ErrDenied) {
				guesses++
			}
		}
		if second%27 == 26 { // each from a network without earlier logins
			must(t, try(t, s, "ann", secret, fmt.Sprintf("203.0.113.%d", second), now))
			must(t, try(t, s, "ann", secret, fmt.Sprintf("2001:db8:%x::1", second), now))
		}
	}
	if most := 200 * 10; guesses > most {
		t.Errorf("200 addresses had %d guesses in 200 s, want at most %d", guesses, most)
	}
}

// While somebody guesses, a user who mistypes the password from a new network waits only seconds,
// because of the user's own failures.
func TestMistypingDuringAnAttackCostsSeconds(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	for i := range 200 {
		_ = try(t, s, "ann", "wrong", fmt.Sprintf("198.51.100.%d", i), t0)
	}
	wantErr(t, try(t, s, "ann", "wrong", "203.0.113.5", t0), auth.ErrDenied)
	if w := wait(try(t, s, "ann", secret, "203.0.113.5", t0)); w != time.Second {
		t.Errorf("wait %v, want one second", w)
	}
	_ = try(t, s, "ann", "wrong", "198.51.100.250", t0.Add(time.Second-ms))
	must(t, try(t, s, "ann", secret, "203.0.113.5", t0.Add(time.Second)))
}

func TestNetworksOfIPv6AreCountedAtThreeSizes(t *testing.T) {
	test.Seldom(t)
	for name, tt := range map[string]struct {
		address func(i int) string
		most    int // guesses before the first wait
	}{
		"a /64": {func(i int) string { return fmt.Sprintf("2001:db8:0:1::%x", i+1) }, 30},
		"a /56": {func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i%256) }, 200},
		"a /48": {func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i) }, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			s, store := serve(t, auth.Config{})
			addCheap(t, store, "bob", "another one of these")
			must(t, s.Reload(t.Context()))
			guesses := 0
			for i := range 3000 {
				user := []string{"ann", "bob"}[i%2]
				if errors.Is(try(t, s, user, "wrong", tt.address(i), t0), auth.ErrDenied) {
					guesses++
				}
			}
			if guesses != tt.most && name != "a /64" || guesses > tt.most {
				t.Errorf("%d guesses, want %d", guesses, tt.most)
			}
			// Neither its neighbors in the next larger network nor any other network are delayed.
			must(t, try(t, s, "ann", secret, "2001:db8:1::1", t0))
			must(t, try(t, s, "ann", secret, "192.0.2.1", t0))
		})
	}
}

func TestADeviceThatHasLoggedInGetsInWhateverItsNeighborsDo(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	office := netip.MustParseAddr("192.0.2.77")
	pair, err := s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home}, t0)
	must(t, err)
	if pair.Device == "" {
		t.Fatal("a login returns no device token")
	}
	known := auth.Origin{Addr: office, Device: pair.Device}
	now := t0
	for range 30 { // a stranger behind the same office address
		_ = try(t, s, "ann", "wrong", office.String(), now)
		now = now.Add(time.Second)
	}
	if wait(try(t, s, "ann", secret, office.String(), now)) == 0 {
		t.Fatal("the stranger is not limited")
	}
	must(t, tryFrom(t, s, "ann", secret, known, now))
	// A known device does not bypass the limits.
	for range 5 {
		wantErr(t, tryFrom(t, s, "ann", "wrong", known, now), auth.ErrDenied)
	}
	if wait(tryFrom(t, s, "ann", secret, known, now)) == 0 {
		t.Error("guessing from a known device is not limited")
	}
	// The device token belongs to one user, ends with the password, and gives no access.
	for range 10 {
		_ = tryFrom(t, s, "bob", "wrong", known, now)
	}
	if wait(tryFrom(t, s, "bob", "wrong", known, now)) == 0 {
		t.Error("ann's device is a way to guess at bob's password")
	}
	refused(t, s, pair.Device, now)
	if _, err := s.Refresh(t.Context(), pair.Device, auth.Origin{Addr: home}, now); !errors.Is(err, auth.ErrDenied) {
		t.Errorf("a device token renews: %v", err)
	}
	if _, err := s.VerifyPage(pair.Device, now); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("a device token shows pages: %v", err)
	}
	now = now.Add(time.Second)
	again, err := s.Authorize(t.Context(), "ann", secret, auth.Origin{Addr: home, Device: pair.Device}, now)
	if must(t, err); again.Device != "" {
		t.Error("a device with a token gets another one")
	}
	must(t, s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "another quiet canoe 9", 0, now))
	for range 6 {
		_ = try(t, s, "ann", "wrong", office.String(), now)
	}
	if wait(tryFrom(t, s, "ann", "another quiet canoe 9", known, now)) == 0 {
		t.Error("a device outlives the password that it was known by")
	}
}

func TestFailuresAreForgottenAfterAnHour(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	for range 5 {
		wantErr(t, try(t, s, "ann", "wrong", home.String(), t0), auth.ErrDenied)
	}
	later := t0.Add(time.Hour + ms)
	for range 4 {
		wantErr(t, try(t, s, "ann", "wrong", home.String(), later), auth.ErrDenied)
	}
	must(t, try(t, s, "ann", secret, home.String(), later))
}

func TestLimitsHoldOnAllNodesAndOverRestarts(t *testing.T) {
	a, store := serve(t, auth.Config{})
	for range 5 {
		wantErr(t, try(t, a, "ann", "wrong", home.String(), t0), auth.ErrDenied)
	}
	b := node(t, store, auth.Config{})
	// Its clock is an hour behind or ahead.
	for _, now := range []hazard.Instant{t0, t0.Add(-time.Hour)} {
		if w := wait(try(t, b, "ann", secret, home.String(), now)); w <= 0 || w > time.Second {
			t.Errorf("wait %v", w)
		}
	}
}

func TestGuessesThatComeTogetherAreLimitedToo(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	hashes := auth.CountHashes(s)
	var wg sync.WaitGroup
	for range auth.MaxQueue {
		wg.Go(func() { _ = try(t, s, "ann", "wrong", home.String(), t0) })
	}
	wg.Wait()
	if n := hashes.Load(); n < 5 || n > 5+auth.AtOnce {
		t.Errorf("%d passwords were checked, want 5 plus those checked concurrently", n)
	}
}

func TestLoginsThatComeTogetherAllSucceed(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	var wg sync.WaitGroup
	for range auth.MaxQueue {
		wg.Go(func() {
			if err := try(t, s, "ann", secret, home.String(), t0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestAnUnknownUserCostsAsMuchAsAWrongPassword(t *testing.T) {
	s, store := serve(t, auth.Config{})
	must(t, s.Accounts().AddUser(t.Context(), auth.Actor{}, auth.NewUser{Name: "bob", Role: auth.Reader, Password: secret}, t0))
	must(t, s.Accounts().AddUser(t.Context(), auth.Actor{}, auth.NewUser{Name: "off", Role: auth.Reader, Password: secret}, t0))
	must(t, s.Accounts().Disable(t.Context(), auth.Actor{}, "off", t0))
	addBroken(t, store)
	must(t, s.Reload(t.Context()))
	hashes := auth.CountHashes(s)
	cost := func(user string, p auth.Password) int64 {
		before := hashes.Load()
		err := try(t, s, user, p, home.String(), t0)
		if err != auth.ErrDenied { // exactly the same error, without more text
			t.Errorf("%s: %v", user, err)
		}
		return hashes.Load() - before
	}
	for user, p := range map[string]auth.Password{"bob": "wrong", "nobody": "wrong", "off": secret, "broken": "x", "": "", "Bob": secret,
		"x": auth.Password(make([]byte, auth.MaxPassword+1))} {
		if n := cost(user, p); n != 1 {
			t.Errorf("%q: %d evaluations, want 1", user, n)
		}
	}
	rows, err := s.Accounts().Trail(t.Context(), auth.TrailFilter{Limit: 100})
	must(t, err)
	for _, r := range rows {
		if r.Action == auth.ActionLogin && (r.Actor != "" || r.Subject != "" && r.Subject != "bob" && r.Subject != "off" && r.Subject != "broken") {
			t.Errorf("a typed name got into the trail: %+v", r)
		}
	}
}

func addBroken(t *testing.T, store *authtest.Store) {
	t.Helper()
	must(t, store.CreateUser(t.Context(), auth.User{Name: "broken", Role: auth.Reader, PasswordHash: "$argon2id$v=19$m=4194304,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"}, auth.Audit{}))
}

func TestARepeatedLoginIsCheap(t *testing.T) {
	s, _ := serve(t, auth.Config{})
	hashes := auth.CountHashes(s)
	for i := range 100 {
		must(t, try(t, s, "ann", secret, fmt.Sprintf("192.0.2.%d", i), t0))
	}
	if n := hashes.Load(); n != 1 {
		t.Errorf("%d evaluations for a hundred logins", n)
	}
	wantErr(t, try(t, s, "ann", secret+"x", "192.0.2.200", t0), auth.ErrDenied)
	wantErr(t, try(t, s, "ann", "", "192.0.2.200", t0), auth.ErrDenied)
	if n := hashes.Load(); n != 3 {
		t.Errorf("%d evaluations with two wrong passwords", n)
	}
	must(t, try(t, s, "ann", secret, home.String(), t0.Add(time.Hour)))
	if n := hashes.Load(); n != 4 {
		t.Errorf("%d evaluations an hour later", n)
	}
	must(t, s.Accounts().SetPassword(t.Context(), auth.Actor{}, "ann", "another quiet canoe 9", 0, t0.Add(time.Hour)))
	wantErr(t, try(t, s, "ann", secret, home.String(), t0.Add(time.Hour)), auth.ErrDenied)
}

func TestThoseWhoWaitTooLongAreToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := node(t, authtest.Open(t), auth.Config{})
		release := make(chan struct{})
		auth.BlockHashes(s, release)
		var mu sync.Mutex
		errs := map[string]int{}
		var wg sync.WaitGroup
		login := func() {
			_, err := s.Authorize(t.Context(), "nobody", "x", auth.Origin{Addr: home}, t0)
			var busy *auth.BusyError
			if errors.Is(err, auth.ErrBusy) && errors.As(err, &busy) && busy.RetryAfter != auth.MaxWait {
				t.Errorf("retry after %v", busy.RetryAfter)
			}
			mu.Lock()
			defer mu.Unlock()
			errs[fmt.Sprint(errors.Is(err, auth.ErrBusy), time.Now().Second())]++
		}
		for range auth.AtOnce + auth.MaxQueue {
			wg.Go(login)
		}
		synctest.Wait()
		wg.Go(login) // one too many
		synctest.Wait()
		count := func(what string) int {
			mu.Lock()
			defer mu.Unlock()
			return errs[what]
		}
		if n := count("true 0"); n != 1 {
			t.Errorf("%d are refused at once, want 1", n)
		}
		time.Sleep(auth.MaxWait)
		synctest.Wait()
		if n := count("true 5"); n != auth.MaxQueue {
			t.Errorf("%d are refused after %v, want %d", n, auth.MaxWait, auth.MaxQueue)
		}
		close(release)
		wg.Wait()
		if n := count("false 5"); n != auth.AtOnce {
			t.Errorf("%d are answered, want %d", n, auth.AtOnce)
		}
	})
}

// Once, during a flood of logins 4 of 9 first logins failed.
func TestAFloodOfLoginsDelaysOthersByOneTurn(t *testing.T) {
	test.Seconds(t)
	test.NoRace(t)
	synctest.Test(t, func(t *testing.T) {
		s, store := serve(t, auth.Config{})
		for i := range 9 {
			addCheap(t, store, fmt.Sprint("user", i), secret)
		}
		must(t, s.Reload(t.Context()))
		step := make(chan struct{})
		hashed := auth.StepHashes(s, step)
		var flood, first sync.WaitGroup
		for i := range 3 * auth.MaxQueue { // from several networks, for one user and for many
			flood.Go(func() {
				user := []string{"ann", fmt.Sprint("stranger", i)}[i%2]
				_, _ = s.Authorize(t.Context(), user, "wrong", auth.Origin{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(i % 5)})}, t0)
			})
		}
		synctest.Wait()
		var ok atomic.Int64
		for i := range 9 {
			first.Go(func() {
				from := auth.Origin{Addr: netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})}
				if _, err := s.Authorize(t.Context(), fmt.Sprint("user", i), secret, from, t0); err != nil {
					t.Error(err)
				} else {
					ok.Add(1)
				}
			})
		}
		synctest.Wait()
		before := hashed.Load()
		for ok.Load() < 9 {
			step <- struct{}{}
			synctest.Wait()
		}
		if n := hashed.Load() - before; n > 9+5+auth.AtOnce {
			t.Errorf("the first logins succeeded after %d checked passwords", n)
		}
		close(step)
		first.Wait()
		flood.Wait()
	})
}

func TestStrangersWhoHaveFailedLeaveOneTurnFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, auth.Config{})
		for i := range 40 {
			wantErr(t, try(t, s, "ann", "wrong", fmt.Sprintf("198.51.100.%d", i), t0), auth.ErrDenied)
		}
		release := make(chan struct{})
		auth.BlockHashes(s, release)
		hashes := auth.CountHashes(s)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { _ = try(t, s, "ann", "wrong", fmt.Sprintf("198.51.100.%d", i), t0) })
		}
		synctest.Wait()
		if n := hashes.Load(); n != auth.AtOnce-1 {
			t.Errorf("%d at once, want %d", n, auth.AtOnce-1)
		}
		wg.Go(func() { _ = try(t, s, "ann", "wrong", "203.0.113.1", t0) })
		synctest.Wait()
		if n := hashes.Load(); n != auth.AtOnce {
			t.Errorf("with a new network %d at once, want %d", n, auth.AtOnce)
		}
		close(release)
		wg.Wait()
	})
}

func TestAUserWhoWasJustAddedElsewhereCanLogIn(t *testing.T) {
	a, store := serve(t, auth.Config{})
	b := node(t, store, auth.Config{})
	must(t, a.Accounts().AddUser(t.Context(), auth.Actor{}, auth.NewUser{Name: "bob", Role: auth.Reader, Password: secret}, t0))
	must(t, try(t, b, "bob", secret, home.String(), t0))
}
