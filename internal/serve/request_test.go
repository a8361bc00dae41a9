package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/net/trace"
	"github.com/hazardd/hazardd/internal/serve"
)

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent  = "00-" + callersTrace + "-00f067aa0ba902b7-01"
)

// TestEveryAnswerNamesItsRequest checks answers that take special paths. server.Check checks
// all others.
func TestEveryAnswerNamesItsRequest(t *testing.T) {
	p := handle(t, func(c *serve.Config) { c.AllowedOrigins = []string{"https://map.example"} })
	tag := p.do("reader", "GET", "/hazards/active", nil).Header.Get("ETag")
	seen := map[string]bool{}
	for request, tt := range map[string]struct {
		user   string
		status int
		header []string
	}{
		"GET /hazards/active":     {"reader", 200, nil},
		"HEAD /hazards/active":    {"reader", 200, nil},
		"GET /hazards/active?":    {"reader", 304, []string{"If-None-Match", tag}},
		"GET /hazards/types":      {"", 403, nil},
		"GET /hazards/x":          {"reader", 400, nil},
		"PUT /hazards/active":     {"reader", 405, nil},
		"GET /none":               {"reader", 404, nil},
		"POST /authorize":         {"", 400, nil},
		"GET /healthz":            {"", 200, nil},
		"OPTIONS /hazards/active": {"", 204, []string{"Origin", "https://map.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "traceparent"}},
	} {
		method, path, _ := strings.Cut(request, " ")
		a := p.do(tt.user, method, path, "{", append(tt.header, "Traceparent", traceparent)...)
		id := a.Header.Get("Hazardd-Request")
		if a.Status != tt.status || !strings.HasPrefix(id, callersTrace+"-") || seen[id] {
			t.Errorf("%s: %d with the id %q; expected %d and a different id of the same trace", request, a.Status, id, tt.status)
		}
		seen[id] = true
		if a.Header.Get("Content-Type") != "application/problem+json" || method == "HEAD" {
			continue
		}
		var said struct{ Request string }
		if err := json.Unmarshal(a.Body, &said); err != nil || said.Request != id {
			t.Errorf("%s: the problem names %q, the answer %q: %v", request, said.Request, id, err)
		}
	}
	if a := p.do("", "OPTIONS", "/hazards/active", nil, "Origin", "https://map.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "traceparent"); a.Header.Get("Access-Control-Allow-Headers") == "" {
		t.Error("pages of other origins may not send a traceparent")
	}
}

func TestTheLogNamesTheRequest(t *testing.T) {
	var logged syncBuffer
	p := handle(t, func(c *serve.Config) { c.Logger = slog.New(trace.LogHandler(slog.NewTextHandler(&logged, nil))) })
	p.tokens.of("reader")
	if err := p.Store.Close(); err != nil {
		t.Fatal(err)
	}
	a := p.do("reader", "GET", "/hazards/count", nil, "Traceparent", traceparent)
	id := a.Header.Get("Hazardd-Request")
	if a.Status != 500 || !strings.Contains(logged.String(), "request="+id) || !strings.Contains(string(a.Body), `"request":"`+id+`"`) {
		t.Errorf("%d %s of the request %s; the log:\n%s", a.Status, a.Body, id, logged.String())
	}
}

func TestARequestsTraceGoesOnToWhatItSends(t *testing.T) {
	s := start(t, func(c *app.Config) { c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	received := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		received <- r.Header.Get("Traceparent")
	}))
	defer receiver.Close()
	var h hook
	s.do("red", "POST", "/webhooks", fmt.Sprintf(`{"url":%q}`, receiver.URL)).JSON(t, &h)
	a := s.do("red", "POST", "/webhooks/"+h.ID+"/test", nil, "Traceparent", traceparent)
	if got, want := <-received, "00-"+a.Header.Get("Hazardd-Request")+"-01"; got != want {
		t.Errorf("the receiver got the traceparent %q, expected %q", got, want)
	}
}
