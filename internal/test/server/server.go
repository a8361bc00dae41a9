// Package server gives tests the real service in one line, with the users that most tests need.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/openapi"
	"github.com/hazardd/hazardd/internal/tell/subscription"
	"github.com/hazardd/hazardd/internal/test/openapitest"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// Password is the password of every user that Serve makes.
const Password = "violet kayak thermos orbit"

// Server is a running service.
type Server struct {
	*app.Service
	t testing.TB
	// Orgs are the two organizations: red-cross and fire-brigade.
	RedCross, FireBrigade int64
}

// Serve runs a service on an empty store until the test ends. Its users: root (admin), reader, and the editors red and fire of the
// organizations RedCross and FireBrigade; the reader red-reader is a member of RedCross.
func Serve(t testing.TB, alter ...func(*app.Config)) *Server {
	t.Helper()
	return serve(t, t.TempDir(), true, alter...)
}

// ServeEmpty runs a service on the folder data, which it makes if need be, until the test ends. Its only user is the admin of a first start.
func ServeEmpty(t testing.TB, data string, alter ...func(*app.Config)) *Server {
	t.Helper()
	return serve(t, data, false, alter...)
}

func serve(t testing.TB, data string, people bool, alter ...func(*app.Config)) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the service, which short tests do not")
	}
	cfg := config(data)
	cfg.Database = postgres.Database(t, data, "")
	if cfg.Database != "" { // the service creates a key only for a store in the data folder
		cfg.AddressKey = filepath.Join(t.TempDir(), subscription.KeyFile)
		if _, err := subscription.ReadKey(cfg.AddressKey, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range alter {
		f(&cfg)
	}
	var made start
	var copied bool
	if people && cfg.DataDir == data && cfg.Database == "" {
		made, copied = copyStart(t, data)
	}
	s, err := app.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the service: %v", err)
	}
	if people && !copied {
		if made.redCross, made.fireBrigade, err = addPeople(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	srv := &Server{Service: s, t: t, RedCross: made.redCross, FireBrigade: made.fireBrigade}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
	})
	return srv
}

// Token is an access token of the user.
func (s *Server) Token(user string) string {
	s.t.Helper()
	pair, err := s.Auth.Issue(s.t.Context(), auth.Actor{}, user, s.Now())
	if err != nil {
		s.t.Fatalf("token of %s: %v", user, err)
	}
	return pair.Access
}

// Answer is an answer, read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body into a value.
func (a Answer) JSON(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil {
		t.Fatalf("body %.200q: %v", a.Body, err)
	}
}

// Contract is what the service's OpenAPI document promises; it knows the answers of this process that were checked.
var Contract = sync.OnceValues(func() (*openapitest.Contract, error) { return openapitest.New(openapi.JSON("https://hazardd.example")) })

// Check holds an answer against the OpenAPI document.
func Check(t testing.TB, req *http.Request, a Answer) {
	t.Helper()
	c, err := Contract()
	if err != nil {
		t.Fatal(err)
	}
	if id := a.Header.Get("Hazardd-Request"); len(id) != 49 {
		t.Errorf("%s %s: %d with Hazardd-Request %q, expected the id of the request", req.Method, req.URL.Path, a.Status, id)
	}
	if err := c.Check(openapitest.Answer{Method: req.Method, URL: req.URL, Status: a.Status, Header: a.Header, Body: a.Body}); err != nil {
		t.Error(err)
	}
}

// Do sends a request as user (empty: without a token). body may be nil, a string or []byte that is sent as it is, or a value that is
// sent as JSON. header lists names and values in turn. The answer is held against the OpenAPI document.
func (s *Server) Do(user, method, path string, body any, header ...string) Answer {
	s.t.Helper()
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		r = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL()+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if user != "" {
		req.Header.Set("Authorization", "Bearer "+s.Token(user))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	// The transport must neither ask for a coding by itself nor follow redirects: tests look at what was sent.
	client := http.Client{Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := Answer{resp.StatusCode, resp.Header, text}
	Check(s.t, req, a)
	return a
}

// Shared is recordings.Path.
func Shared(t testing.TB, name string) string { t.Helper(); return recordings.Path(t, name) }

// ReadShared is recordings.Read.
func ReadShared(t testing.TB, name string) []byte { t.Helper(); return recordings.Read(t, name) }
