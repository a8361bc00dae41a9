package serve_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/test/server"
)

type madeKey struct{ ID, Title, User, Key, Prefix string }

func makeKey(t *testing.T, s *world, user string) (k madeKey) {
	t.Helper()
	a := s.do(user, http.MethodPost, "/keys", `{"title":"the map of the room"}`)
	if a.Status != http.StatusCreated || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(a.Header.Get("Location"), "/keys/") {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	a.JSON(t, &k)
	return k
}

func TestAReadKeyReadsWhatEverybodyMayKnowAndNothingElse(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	open := s.product("red", h.HazardID, note("title", "Open"))
	shut := s.product("red", h.HazardID, note("title", "SECRET", "security_Flag", "R"))
	k := makeKey(t, s, "red")
	if k.User != "red" || k.Title != "the map of the room" || k.Prefix != s.URL()+"/key/"+k.Key {
		t.Errorf("%+v", k)
	}
	in := "/key/" + k.Key
	for _, path := range []string{"/hazards/active", "/hazards/" + h.UUID, "/hazards/" + h.UUID + "/products", "/products/" + open.UUID, "/changes", "/sources"} {
		a, own := s.do("", http.MethodGet, in+path, nil), s.do("reader", http.MethodGet, path, nil)
		if a.Status != http.StatusOK || path != "/sources" && string(a.Body) != string(own.Body) || strings.Contains(string(a.Body), "SECRET") {
			t.Errorf("%s: %d %s, a reader sees %s", path, a.Status, a.Body, own.Body)
		}
	}
	for path, status := range map[string]int{
		"/products/" + shut.UUID: http.StatusNotFound, "/keys": http.StatusForbidden, "/nowhere": http.StatusNotFound, "/hazards/active?x=1": http.StatusBadRequest,
		in + "/hazards/active": http.StatusNotFound, "/hazards/%2e%2e/active": http.StatusNotFound,
	} {
		if a := s.do("", http.MethodGet, in+path, nil); a.Status != status && !(status == http.StatusNotFound && a.Status == http.StatusBadRequest) {
			t.Errorf("%s: %d %s, want %d", path, a.Status, a.Body, status)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if a := s.do("", method, in+"/hazards/"+h.UUID, `{}`); a.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", method, a.Status, a.Body)
		}
	}
	for _, wrong := range []string{"hzk_", k.Key + "x", s.Token("reader")} {
		if a := s.do("", http.MethodGet, "/key/"+wrong+"/hazards/active", nil); a.Status != http.StatusForbidden || string(a.Body) != "Invalid Token" {
			t.Errorf("%.10s: %d %s", wrong, a.Status, a.Body)
		}
	}
	if a := s.do("", http.MethodGet, "/hazards/active", nil, "Authorization", "Bearer "+k.Key); a.Status != http.StatusForbidden {
		t.Errorf("as a token: %d", a.Status)
	}

	var list []madeKey
	s.do("fire", http.MethodGet, "/keys", nil).JSON(t, &list)
	if len(list) != 0 {
		t.Errorf("another editor sees %+v", list)
	}
	s.do("root", http.MethodGet, "/keys", nil).JSON(t, &list)
	if len(list) != 1 || list[0].ID != k.ID || list[0].Key != "" {
		t.Errorf("an admin sees %+v", list)
	}
	wantProblem(t, s.do("reader", http.MethodPost, "/keys", `{"title":"x"}`), http.StatusForbidden)
	wantProblem(t, s.do("red", http.MethodPost, "/keys", `{"title":""}`), http.StatusBadRequest)
	wantProblem(t, s.do("fire", http.MethodDelete, "/keys/"+k.ID, nil), http.StatusNotFound)
	wantProblem(t, s.do("red", http.MethodDelete, "/keys/x", nil), http.StatusBadRequest)
	if a := s.do("red", http.MethodDelete, "/keys/"+k.ID, nil); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if a := s.do("", http.MethodGet, in+"/hazards/active", nil); a.Status != http.StatusForbidden {
		t.Errorf("after it was revoked: %d", a.Status)
	}
}

func TestAReadKeyIsNeverLogged(t *testing.T) {
	var logged syncBuffer
	s := start(t, func(c *app.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	k := makeKey(t, s, "red")
	if err := s.Store.Close(); err != nil { // so that answering fails and is logged
		t.Fatal(err)
	}
	a := s.do("", http.MethodGet, "/key/"+k.Key+"/changes", nil)
	if a.Status < 500 || !strings.Contains(logged.String(), "/changes") || strings.Contains(logged.String(), k.Key) {
		t.Errorf("%d %s, logged %s", a.Status, a.Body, logged.String())
	}
}

// Once, /changes?wait= returned 403, and /events ended, as soon as any user or key changed.
func TestStreamsOfAReadKeyLastAsLongAsTheKey(t *testing.T) {
	s := start(t)
	k := makeKey(t, s, "red")
	in := "/key/" + k.Key
	stream := followStream(t, s.client, newRequest(t, s.tokens, "", "GET", s.URL()+in+"/events", nil))
	waited := make(chan server.Answer, 1)
	go func() { waited <- s.do("", http.MethodGet, in+"/changes?after=0&wait=60s", nil) }()
	u := auth.NewUser{Name: "somebody", Role: auth.Reader, Password: server.Password}
	if err := s.Auth.Accounts().AddUser(t.Context(), actor, u, s.Now()); err != nil {
		t.Fatal(err)
	}
	s.hazard("red")
	if got := stream.kinds(1)[0]; got != "1 hazard.created" {
		t.Errorf("the stream tells %s", got)
	}
	if a := <-waited; a.Status != http.StatusOK || !strings.Contains(string(a.Body), "hazard.created") {
		t.Errorf("waiting: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", http.MethodDelete, "/keys/"+k.ID, nil); a.Status != http.StatusNoContent {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	stream.ends()
}
