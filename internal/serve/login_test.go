package serve_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// Once, a flood of logins wrote 13,000 log lines in 14 s.
func TestAFloodOfLoginsIsOneLineOfTheLog(t *testing.T) {
	test.Seldom(t)
	test.NoRace(t)
	log := &syncBuffer{}
	p := handle(t, func(c *serve.Config) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	var mu sync.Mutex
	statuses := map[int]int{}
	flood := func() {
		var wg sync.WaitGroup
		for i := range 150 {
			wg.Go(func() {
				a := p.do("", "POST", "/authorize", credentials("stranger", "wrong"), "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
				if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
					t.Error("503 without Retry-After")
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[a.Status]++
			})
		}
		wg.Wait()
	}
	flood()
	if statuses[http.StatusServiceUnavailable] < 50 {
		t.Fatalf("there was no flood: %v", statuses)
	}
	if n := strings.Count(log.String(), "request refused"); n != 1 {
		t.Errorf("%d lines for %d refusals", n, statuses[http.StatusServiceUnavailable])
	}
	p.ahead.Add(int64(route.RefusedEvery))
	want := fmt.Sprintf("limit=login-queue repeated=%d", statuses[http.StatusServiceUnavailable]-1)
	flood()
	if !strings.Contains(log.String(), want) || strings.Count(log.String(), "request refused") != 2 {
		t.Errorf("a minute later the log contains\n%s\nwant %s", log.String(), want)
	}
}

func TestALoginMakesTheDeviceKnown(t *testing.T) {
	p := handle(t, func(c *serve.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	p.clock.Store(time.Now().UnixMilli()) // a wait of a second must not pass by itself
	office := []string{"X-Forwarded-For", "198.51.100.7"}
	a := p.do("", "POST", "/authorize", credentials("reader", server.Password), "X-Forwarded-For", "203.0.113.9")
	cookie, err := http.ParseSetCookie(a.Header.Get("Set-Cookie"))
	if err != nil || cookie.Name != "__Host-hazardd-device" || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d, cookie %v, %v", a.Status, cookie, err)
	}
	for range 6 { // a stranger in the same office
		p.do("", "POST", "/authorize", credentials("reader", "wrong"), office...)
	}
	if a := p.do("", "POST", "/authorize", credentials("reader", server.Password), office...); a.Status != http.StatusTooManyRequests {
		t.Fatalf("without the cookie: %d", a.Status)
	}
	if a := logInAs(p, "reader", office, cookie.Name+"="+cookie.Value); a.Status != http.StatusOK || a.Header["Set-Cookie"] != nil {
		t.Errorf("with the cookie: %d %v", a.Status, a.Header)
	}
	// Nothing else accepts the cookie as a token.
	if a := p.do("", "GET", "/hazards/active", nil, "Authorization", "Bearer "+cookie.Value); a.Status != http.StatusForbidden {
		t.Errorf("as a token: %d", a.Status)
	}
	page := strings.TrimSuffix(cookie.Name, "-device")
	if a := p.do("", "GET", "/h/1", nil, "Cookie", page+"="+cookie.Value); a.Status != http.StatusSeeOther {
		t.Errorf("as the cookie of a session: %d", a.Status)
	}
}

func logInAs(p *inProcess, user string, header []string, cookie string) server.Answer {
	return p.do("", "POST", "/authorize", credentials(user, server.Password), append([]string{"Cookie", cookie}, header...)...)
}
