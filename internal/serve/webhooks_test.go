package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
)

// hook is the part of a webhook that tests check.
type hook struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Secret string `json:"secret"`
}

func TestWebhooksOverHTTP(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t, func(c *app.Config) { c.WebhookAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	received := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,") || r.Header.Get("Webhook-Id") == "" || r.Header.Get("Webhook-Timestamp") == "" {
			t.Errorf("%v", r.Header)
		}
		received <- string(text)
	}))
	defer receiver.Close()
	a := s.do("red", "POST", "/webhooks", fmt.Sprintf(`{"url":%q,"filter":{"bbox":"19,9,21,11","type":"FLOOD"}}`, receiver.URL))
	var h hook
	if a.JSON(t, &h); a.Status != 201 || h.Secret == "" || a.Header.Get("Location") != s.URL()+"/webhooks/"+h.ID || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	path := "/webhooks/" + h.ID
	if a := s.do("red", "POST", path+"/test", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"delivered":true,"status":200`) {
		t.Errorf("test: %d %s", a.Status, a.Body)
	}
	if body := <-received; !strings.Contains(body, `"type":"test"`) {
		t.Errorf("%s", body)
	}
	s.hazard("red", "latitude", -50) // outside the box
	made := s.hazard("red")
	if body := <-received; !strings.Contains(body, `"type":"hazard.created"`) || !strings.Contains(body, made.UUID) {
		t.Errorf("%s", body)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		a := s.do("red", "GET", path+"/deliveries?state=delivered&limit=1", nil)
		if strings.Contains(string(a.Body), `"change":2`) {
			if !strings.Contains(a.Header.Get("Link"), "before=1&limit=1&state=delivered") {
				t.Errorf("Link %q", a.Header.Get("Link"))
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if a := s.do("red", "POST", path+"/deliveries/1/redeliver", nil); a.Status != 202 {
		t.Errorf("redeliver: %d %s", a.Status, a.Body)
	}
	if body := <-received; !strings.Contains(body, made.UUID) {
		t.Errorf("%s", body)
	}
	if a := s.do("red", "POST", path+"/rotate", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"secret":"whsec_`) || strings.Contains(string(a.Body), h.Secret) {
		t.Errorf("rotate: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", "PATCH", path, `{"status":"paused"}`); a.Status != 200 || !strings.Contains(string(a.Body), `"status":"paused"`) {
		t.Errorf("patch: %d %s", a.Status, a.Body)
	}
	for user, want := range map[string]int{"": 403, "reader": 403, "fire": 404, "root": 200, "red": 200} {
		a := s.do(user, "GET", path, nil)
		if a.Status != want || strings.Contains(string(a.Body), "whsec_") {
			t.Errorf("%s: %d %s", user, a.Status, a.Body)
		}
		for _, request := range []string{"PATCH ", "DELETE ", "POST /test", "POST /rotate", "GET /deliveries", "POST /deliveries/1/redeliver"} {
			if want == 200 {
				continue
			}
			method, below, _ := strings.Cut(request, " ")
			if a := s.do(user, method, path+below, map[bool]any{true: "{}"}[method == "PATCH"]); a.Status != want {
				t.Errorf("%s as %s: %d %s", request, user, a.Status, a.Body)
			}
		}
	}
	for request, want := range map[string]int{"GET /webhooks/x": 400, "GET /webhooks/00000000-0000-7000-8000-000000000000": 404, "GET " + path + "/deliveries?state=x": 400,
		"GET " + path + "/deliveries?limit=0": 400, "POST " + path + "/deliveries/0/redeliver": 400, "POST " + path + "/deliveries/99/redeliver": 409, "PUT " + path: 405} {
		method, address, _ := strings.Cut(request, " ")
		if a := s.do("red", method, address, nil); a.Status != want {
			t.Errorf("%s: %d %s, want %d", request, a.Status, a.Body, want)
		}
	}
	if got := wantProblem(t, s.do("red", "POST", "/webhooks", `{"url":"https://10.0.0.1/","format":"x","filter":{"bbox":"1","nothing":"x"}}`), 400).faults(); fmt.Sprint(got) != "[/filter/bbox /filter/nothing /format /url]" {
		t.Errorf("faults %v", got)
	}
	if a := s.do("red", "DELETE", path, nil); a.Status != 204 {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
	if a := s.do("root", "GET", "/webhooks", nil); string(a.Body) != "[]" {
		t.Errorf("%s", a.Body)
	}
}
