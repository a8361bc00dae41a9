package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
)

type streamTicket struct{ Ticket, Expires, URL string }

func (w *world) streamTicket(user, query string) (k streamTicket) {
	w.t.Helper()
	a := w.do(user, "POST", "/events/tickets"+query, nil)
	if a.Status != http.StatusCreated || a.Header.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	a.JSON(w.t, &k)
	return k
}

// openStream requests a stream without any header, like a browser, and reads until it finds want,
// or to the end.
func (w *world) openStream(url, want string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var seen strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(seen.String(), want); {
		n, err := resp.Body.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return resp.StatusCode, seen.String()
}

func TestATicketOpensOneStreamAndNoOther(t *testing.T) {
	s := start(t)
	k := s.streamTicket("reader", "?type=FLOOD&after=0")
	s.hazard("red", "hazard_Name", "Fire", "type_ID", "WILDFIRE")
	s.hazard("red", "hazard_Name", "High water")
	if status, text := s.openStream(k.URL, "High water"); status != 200 || !strings.Contains(text, "High water") || strings.Contains(text, "Fire") {
		t.Errorf("%d %s", status, text)
	}
	// A used ticket is refused. A ticket is not a token, a token is not a ticket, and a ticket does
	// not allow a wider query.
	fresh := s.streamTicket("reader", "?type=FLOOD").Ticket
	for _, url := range []string{k.URL, s.URL() + "/events?ticket=", s.URL() + "/events?ticket=" + s.Token("reader"), s.URL() + "/hazards/active?ticket=" + fresh} {
		if status, text := s.openStream(url, "Invalid"); status != http.StatusForbidden || text != "Invalid Token" {
			t.Errorf("%.60s: %d %s", url, status, text)
		}
	}
	for _, more := range []string{"&type=WILDFIRE", "&ticket=" + fresh} {
		if status, text := s.openStream(s.URL()+"/events?ticket="+fresh+more, "}"); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", more[:5], status, text)
		}
	}
	if a := s.do("", "GET", "/hazards/active", nil, "Authorization", "Bearer "+fresh); a.Status != http.StatusForbidden {
		t.Errorf("as a token: %d", a.Status)
	}
	wantProblem(t, s.do("reader", "GET", "/events?ticket="+fresh, nil), http.StatusBadRequest)
	wantProblem(t, s.do("reader", "POST", "/events/tickets?type=SNOW", nil), http.StatusBadRequest)
	// A reader that reconnects continues where it was.
	if status, text := s.openStream(s.URL()+"/events?after=0&ticket="+fresh, "High water"); status != 200 || !strings.Contains(text, "High water") {
		t.Errorf("%d %s", status, text)
	}
}

func TestAStreamByTicketEndsWithItsSession(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t, func(c *app.Config) { c.Public = "read" })
	pair, err := s.Auth.Issue(t.Context(), auth.Actor{}, "reader", s.Now())
	if err != nil {
		t.Fatal(err)
	}
	a := s.do("", "POST", "/events/tickets", nil, "Authorization", "Bearer "+pair.Access)
	var k streamTicket
	a.JSON(t, &k)
	late := s.do("", "POST", "/events/tickets", nil, "Authorization", "Bearer "+pair.Access)
	var second streamTicket
	late.JSON(t, &second)
	ended := make(chan string)
	begun := make(chan struct{})
	go func() {
		resp, err := http.Get(k.URL)
		if err != nil {
			ended <- err.Error()
			return
		}
		defer resp.Body.Close()
		close(begun)
		for buf := make([]byte, 4096); ; {
			if _, err := resp.Body.Read(buf); err != nil {
				ended <- ""
				return
			}
		}
	}()
	<-begun
	s.do("", "POST", "/authorize/revoke", `{"refreshToken":"`+pair.Refresh+`"}`)
	if text := <-ended; text != "" {
		t.Error(text)
	}
	if status, text := s.openStream(second.URL, "Invalid"); status != http.StatusForbidden { // nor is it treated as the public
		t.Errorf("%d %s", status, text)
	}
}
