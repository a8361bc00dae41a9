package app_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// nodes starts services on one PostgreSQL server.
func nodes(t *testing.T, n int) []*server.Server {
	t.Helper()
	database := postgres.URL(t)
	all := make([]*server.Server, n)
	for i := range all {
		start := server.ServeEmpty
		if i == 0 {
			start = func(t testing.TB, _ string, alter ...func(*app.Config)) *server.Server {
				return server.Serve(t, alter...)
			}
		}
		// All have one public address, so that tokens of one are valid at the others.
		all[i] = start(t, t.TempDir(), func(cfg *app.Config) { cfg.Database, cfg.PublicURL = database, "http://hazards.test" })
	}
	return all
}

// within waits until done returns true. What it waits for has its own limit in the product; the
// limit here is for slow machines.
func within(t *testing.T, what string, done func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !done() {
		if time.Since(began) > time.Minute {
			t.Fatalf("%s: not within %v", what, time.Since(began))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// ask sends a request to one node with a token, and a JSON body.
func ask(t *testing.T, s *server.Server, method, path, token, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

func TestNodesShareUsersTokensAndRevocations(t *testing.T) {
	test.SeldomButRaced(t)
	all := nodes(t, 3)
	first, other := all[0], all[1]
	token := first.Token("reader")
	for i, s := range all {
		within(t, fmt.Sprintf("a token of node 0 at node %d", i), func() bool { code, _ := ask(t, s, "GET", "/hazards/active", token, ""); return code == 200 })
	}
	if err := first.Auth.Accounts().Disable(t.Context(), auth.Actor{}, "reader", first.Now()); err != nil {
		t.Fatal(err)
	}
	took := within(t, "a user who was disabled at another node", func() bool { code, _ := ask(t, other, "GET", "/hazards/active", token, ""); return code == 403 })
	t.Logf("refused at another node after %v", took.Round(time.Millisecond))
}

// Failed logins count on all nodes together.
func TestGuessesAtSeveralNodesAreCountedTogether(t *testing.T) {
	all := nodes(t, 3)
	// Each node knows the users before the first guess.
	for _, s := range all {
		within(t, "users", func() bool { return len(s.Auth.Accounts().Users()) > 1 })
	}
	// Five may fail. After that, each must wait twice as long as the one before, starting at a
	// second. On a slow machine an attempt may come after its wait.
	const free = 5
	var before time.Time
	for guess := range free + 6 {
		began := time.Now()
		code, _ := ask(t, all[guess%3], "POST", "/authorize", "", fmt.Sprintf(`{"username":"red","password":"guess number %d"}`, guess))
		switch {
		case code == http.StatusTooManyRequests && guess >= free:
			return
		case code != http.StatusUnauthorized:
			t.Fatalf("guess %d: %d", guess, code)
		case guess >= free && time.Since(before) < time.Second<<(guess-free):
			t.Fatalf("guess %d is checked %v after the one before began at another node", guess, time.Since(before))
		}
		before = began
	}
	t.Errorf("%d guesses at three nodes, and none had to wait", free+6)
}

// Clients use one refresh token at three nodes at the same moment: the login continues with one
// sequence of tokens, or ends.
func TestARefreshTokenThatIsUsedAtAllNodesAtOnceMakesOneFamily(t *testing.T) {
	all := nodes(t, 3)
	for _, s := range all {
		within(t, "users", func() bool { return len(s.Auth.Accounts().Users()) > 1 })
	}
	type pair struct {
		Access  string `json:"accessToken"`
		Refresh string `json:"refreshToken"`
	}
	code, text := ask(t, all[0], "POST", "/authorize", "", fmt.Sprintf(`{"username":"red","password":%q}`, server.Password))
	var login pair
	if err := json.Unmarshal(text, &login); code != 200 || err != nil || login.Refresh == "" {
		t.Fatalf("%d %s %v", code, text, err)
	}
	var mu sync.Mutex
	next := map[string]int{}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			code, text := ask(t, all[i%3], "POST", "/authorize/refresh", "", fmt.Sprintf(`{"refreshToken":%q}`, login.Refresh))
			var p pair
			if err := json.Unmarshal(text, &p); code == 200 && err == nil {
				mu.Lock()
				defer mu.Unlock()
				next[p.Refresh]++
			} else if code == 200 || code >= 500 {
				t.Errorf("%d %s", code, text)
			}
		})
	}
	wg.Wait()
	if len(next) > 1 {
		t.Errorf("one refresh token became %d", len(next))
	}
	t.Logf("%d families of 50 attempts", len(next))
}

// Readers of a node see its own writes at once, and those of other nodes soon.
func TestAWriteIsSeenAtOnceHereAndSoonElsewhere(t *testing.T) {
	all := nodes(t, 3)
	token := all[0].Token("red")
	var worst time.Duration
	for i := range 20 {
		s := all[i%3]
		within(t, "the token", func() bool { code, _ := ask(t, s, "GET", "/hazards/active", token, ""); return code == 200 })
		name := fmt.Sprintf("flood-%d", i)
		now := s.Now()
		code, answer := ask(t, s, "POST", "/hazards", token, fmt.Sprintf(
			`{"hazard_Name":%q,"type_ID":"FLOOD","severity_ID":"WARNING","latitude":1,"longitude":2,"start_Date":"%d","end_Date":"%d"}`, name, now, now+3_600_000))
		if code != http.StatusCreated {
			t.Fatalf("%d %s", code, answer)
		}
		began := time.Now()
		if _, list := ask(t, s, "GET", "/hazards/active", token, ""); !strings.Contains(string(list), `"`+name+`"`) {
			t.Errorf("node %d does not show its own write %s", i%3, name)
		}
		for j, other := range all {
			within(t, fmt.Sprintf("%s at node %d", name, j), func() bool {
				_, list := ask(t, other, "GET", "/hazards/active", token, "")
				return strings.Contains(string(list), `"`+name+`"`)
			})
		}
		worst = max(worst, time.Since(began))
	}
	t.Logf("seen at all nodes after %v at most, the time of asking included", worst.Round(time.Millisecond))
}

// Both nodes give the same coverage of a place at the same time, even if its source goes silent:
// whichever polls, they share the readings.
func TestAllNodesGiveTheSameCoverage(t *testing.T) {
	test.SeldomButRaced(t)
	all := nodes(t, 2)
	token := all[0].Token("reader")
	words := func() (words [2]string) {
		for i, s := range all {
			code, text := ask(t, s, "GET", "/coverage?point=-80.19,25.76&type=FLOOD", token, "")
			var got struct{ Answer string }
			if err := json.Unmarshal(text, &got, json.MatchCaseInsensitiveNames(true)); code != 200 || err != nil {
				t.Fatalf("node %d: %d %s %v", i, code, text, err)
			}
			words[i] = got.Answer
		}
		return words
	}
	within(t, "tokens", func() bool { code, _ := ask(t, all[1], "GET", "/hazards/active", token, ""); return code == 200 })
	var read hazard.Instant
	save := func(ago time.Duration) {
		t.Helper()
		read = all[0].Now().Add(-ago)
		var feeds []string
		for _, f := range nws.Source().Feeds {
			feeds = append(feeds, fmt.Sprintf(`%q:{"since":%d,"last_poll":%[2]d,"last_success":%[2]d}`, f.URL, int64(read)))
		}
		state := `{"feeds":{` + strings.Join(feeds, ",") + `}}`
		if err := all[0].Store.Sources.SaveState(t.Context(), "nws", []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	const stale = 5 * time.Minute // two intervals of a minute, and three minutes
	// The second was read so long ago that in two seconds the silence counts as stale.
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{{0, "covered"}, {stale - 2*time.Second, "stale"}} {
		save(c.ago)
		within(t, c.want, func() bool {
			w := words()
			if w[0] == "unknown" || w[1] == "unknown" {
				save(c.ago) // a node that polls nothing records this after its start
			}
			return w == [2]string{c.want, c.want}
		})
	}
	if late := all[0].Now().Time().Sub(read.Time()) - stale; late < 0 || late > 30*time.Second {
		t.Errorf("stale at both nodes %v after the interval and the grace", late)
	}
	for i, s := range all { // the header is at most a second old
		within(t, fmt.Sprintf("the header of node %d", i), func() bool {
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Addr().String()+"/hazards/active?near=-80.19,25.76&radius=1000", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return strings.HasPrefix(resp.Header.Get("Hazardd-Coverage"), "stale; ")
		})
	}
}
