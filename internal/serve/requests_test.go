package serve_test

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test/server"
)

func limits(b route.RequestLimits) func(*serve.Config) {
	return func(c *serve.Config) { c.Requests = b }
}

// wantLimit checks that a request was refused because of a limit, that the answer says so, and that
// it says when to retry.
func wantLimit(t *testing.T, a server.Answer, status int, limit string) {
	t.Helper()
	if p := wantProblem(t, a, status); !strings.Contains(p.Detail, "limit "+limit) {
		t.Errorf("the refusal %q does not name %s", p.Detail, limit)
	}
	if n, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || n < 1 {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
}

func TestAFloodOfOneUserIsRefused(t *testing.T) {
	p := handle(t, limits(route.RequestLimits{UserRate: 10}))
	p.clock.Store(time.Now().UnixMilli())
	const burst = 100 // within ten seconds
	for i := range burst {
		if a := p.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
			t.Fatalf("request %d: %d %s", i, a.Status, a.Body)
		}
	}
	wantLimit(t, p.do("reader", "GET", "/hazards/active", nil), 429, "user-rate")
	for _, user := range []string{"editor", "root"} {
		if a := p.do(user, "GET", "/hazards/active", nil); a.Status != 200 {
			t.Errorf("%s, who has sent no request: %d %s", user, a.Status, a.Body)
		}
	}
	p.clock.Add(1000)
	for range 10 {
		if a := p.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
			t.Errorf("a second later: %d %s", a.Status, a.Body)
		}
	}
	wantLimit(t, p.do("reader", "GET", "/hazards/active", nil), 429, "user-rate")
	if a := p.do("root", "GET", "/metrics", nil); !strings.Contains(string(a.Body), `hazardd_limit_refusals_total{limit="user-rate"} 2`) {
		t.Error("the refusals are not counted")
	}
}

// heldBody is a body that is available once it is released.
type heldBody struct {
	reading chan struct{} // closed when reading begins
	release chan struct{}
	text    io.Reader
}

func hold(text string) *heldBody {
	return &heldBody{make(chan struct{}), make(chan struct{}), strings.NewReader(text)}
}

func (h *heldBody) Read(p []byte) (int, error) {
	select {
	case <-h.reading:
	default:
		close(h.reading)
	}
	<-h.release
	return h.text.Read(p)
}

func TestRequestsInProgressAreLimited(t *testing.T) {
	p := handle(t, limits(route.RequestLimits{UserRequests: 2, AllRequests: 3}))
	var bodies []*heldBody
	answers := make(chan server.Answer, 3)
	for _, user := range []string{"editor", "editor", "root"} {
		b := hold("{}")
		bodies = append(bodies, b)
		go func() { answers <- p.do(user, "POST", "/hazards", b) }()
		<-b.reading
		if len(bodies) == 2 {
			wantLimit(t, p.do("editor", "GET", "/hazards/active", nil), 429, "user-requests")
			if a := p.do("reader", "GET", "/hazards/active", nil); a.Status != 200 {
				t.Errorf("another user: %d %s", a.Status, a.Body)
			}
		}
	}
	wantLimit(t, p.do("reader", "GET", "/hazards/active", nil), 503, "requests")
	for _, b := range bodies {
		close(b.release)
		<-answers
	}
	for range 10 {
		for _, user := range []string{"editor", "reader"} {
			if a := p.do(user, "GET", "/hazards/active", nil); a.Status != 200 {
				t.Errorf("when all have ended: %d %s", a.Status, a.Body)
			}
		}
	}
}

// Once, an organization could fill the disk.
func TestAnOrganizationUploadsSoManyBytesInADay(t *testing.T) {
	p := handle(t, func(c *serve.Config) { c.Edit.OrgUploads = 20 })
	var h item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &h)
	upload := func(user, content string) server.Answer {
		product := file()
		product["uuid"] = uuid.NewString()
		body, contentType := form(t, product, "a.txt", []byte(content))
		return p.do(user, "POST", "/hazards/"+h.UUID+"/products", bytes.NewReader(body), "Content-Type", contentType)
	}
	for _, step := range []struct {
		user, content string
		refused       bool
	}{
		{"editor", "twelve bytes", false},
		{"editor", "twelve bytes", true},
		{"editor", "eight!!!", false},
		{"editor", "x", true}, // before it is read
	} {
		a := upload(step.user, step.content)
		if step.refused {
			wantLimit(t, a, 429, "org-uploads")
		} else if a.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", step.content, a.Status, a.Body)
		}
	}
	if a := p.do("editor", "POST", "/hazards/"+h.UUID+"/products", note()); a.Status != http.StatusCreated {
		t.Errorf("a product without a file: %d %s", a.Status, a.Body)
	}
}

func TestUploadsInProgressAreLimited(t *testing.T) {
	p := handle(t, limits(route.RequestLimits{UserUploads: 1}))
	var h item
	p.do("editor", "POST", "/hazards", flood()).JSON(t, &h)
	path := "/hazards/" + h.UUID + "/products"
	body, contentType := form(t, file(), "a.txt", []byte("content"))
	first := hold(string(body))
	answered := make(chan server.Answer, 1)
	go func() { answered <- p.do("editor", "POST", path, first, "Content-Type", contentType) }()
	<-first.reading
	wantLimit(t, p.do("editor", "POST", path, bytes.NewReader(body), "Content-Type", contentType), 429, "user-uploads")
	close(first.release)
	if a := <-answered; a.Status != http.StatusCreated {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.do("editor", "POST", path, bytes.NewReader(body), "Content-Type", contentType); a.Status != http.StatusCreated {
		t.Errorf("the next: %d %s", a.Status, a.Body)
	}
}

// Tests of webhooks go to any public host, so their number is limited.
func TestTestsOfWebhooksAreLimited(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Requests.WebhookTests = 3 })
	path := "/webhooks/" + uuid.NewString() + "/test"
	for range 3 {
		wantProblem(t, s.do("red", "POST", path, nil), 404)
	}
	wantLimit(t, s.do("red", "POST", path, nil), 429, "webhook-tests")
	wantProblem(t, s.do("root", "POST", path, nil), 404)
}
