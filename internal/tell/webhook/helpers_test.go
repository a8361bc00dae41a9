package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/internal/tell"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/wire"
)

const base = "https://hazards.example"

// bed is a store with users, and with receivers on an in-memory network.
type bed struct {
	t      *testing.T
	store  *store.Store
	people map[string]person
	net    *network
	svc    *Service
}

type person struct {
	role auth.Role
	orgs []int64
	gone bool
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26*365*24*time.Hour - time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) // to a year in which hazards are not too old
		f(t, newBed(t))
	})
}

func newBed(t *testing.T) *bed {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{t: t, store: s, net: &network{handlers: map[string]http.HandlerFunc{}}, people: map[string]person{
		"ann": {role: auth.Editor, orgs: []int64{7}}, "bob": {role: auth.Editor}, "root": {role: auth.Admin}, "rea": {role: auth.Reader}}}
	b.svc = b.service()
	return b
}

// service returns another process on the same store.
func (b *bed) service() *Service {
	return New(Config{Store: b.store, Tail: follow.New(b.store.Log, lists{}, now, follow.Memory, slog.New(slog.DiscardHandler)), BaseURL: base, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Transport: b.net,
		Standing: func(user string) (auth.Role, []int64, bool) {
			p, ok := b.people[user]
			return p.role, p.orgs, ok && !p.gone
		},
		ParseFilter: func(params map[string]string) (Filter, error) {
			minimum, ok := hazard.ParseSeverity(params["severity"])
			if !ok || len(params) != 1 {
				bad := &hazard.InvalidError{}
				bad.Add("severity", "%q is none", params["severity"])
				return nil, bad
			}
			return atLeast(minimum), nil
		}})
}

// lists is a view that is not used.
type lists struct{}

func (lists) Number() int64                                                   { return 0 }
func (lists) Apply(context.Context, []hazard.Change, hazard.Instant) error    { return nil }
func (lists) Renew(context.Context, *store.ForkedError, hazard.Instant) error { return nil }
func (lists) Current(hazard.Instant)                                          {}
func (lists) Expire() hazard.Instant                                          { return hazard.MaxInstant }

type atLeast hazard.Severity

func (a atLeast) Match(_ context.Context, h *hazard.Hazard) (bool, error) {
	return h.Severity >= hazard.Severity(a), nil
}

func (b *bed) author(user string) tell.Author {
	p := b.people[user]
	return tell.Author{Caller: &auth.Caller{Name: user, Role: p.role, Orgs: p.orgs}}
}

func now() hazard.Instant { return hazard.At(time.Now()) }

// hook creates a webhook from members in JSON.
func (b *bed) hook(user, members string) Webhook {
	b.t.Helper()
	h, err := b.svc.Create(b.t.Context(), b.author(user), []byte("{"+members+"}"), now())
	if err != nil {
		b.t.Fatalf("{%s}: %v", members, err)
	}
	return h
}

// run delivers messages until stop is called, which waits for the end.
func (b *bed) run(s *Service) (stop func()) {
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Tail.Run(ctx) }()
	go func() { ended <- s.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			b.t.Error(err)
		}
	})
}

// save writes a state of a hazard. f changes the existing or a new state.
func (b *bed) save(id int64, f func(*hazard.Hazard)) *hazard.Hazard {
	b.t.Helper()
	var h *hazard.Hazard
	_, err := b.store.Write(b.t.Context(), now(), store.Origin{Admin: true}, func(tx *store.Tx) error {
		var before *hazard.Hazard
		h = &hazard.Hazard{UUID: uuid.New(), Name: "Flood - Boston", Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event,
			Status: hazard.Active, Longitude: -71.06, Latitude: 42.36, OrgID: -1, Created: now()}
		if id > 0 {
			var err error
			if before, err = tx.Hazard(id); err != nil {
				return err
			}
			h = new(*before)
		}
		h.LastUpdate = now()
		f(h)
		return tx.SaveHazard(h, before)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func (b *bed) flood() *hazard.Hazard { return b.save(0, func(*hazard.Hazard) {}) }

func severity(s hazard.Severity) func(*hazard.Hazard) {
	return func(h *hazard.Hazard) { h.Severity = s }
}

func over(h *hazard.Hazard) { h.Status, h.Reason, h.End = hazard.Expired, hazard.EndAllClear, now() }

// note writes a text product.
func (b *bed) note(hazardID int64, text string, orgs ...int64) {
	b.t.Helper()
	_, err := b.store.Write(b.t.Context(), now(), store.Origin{Admin: true}, func(tx *store.Tx) error {
		return tx.SaveProduct(&hazard.Product{UUID: uuid.New(), HazardID: hazardID, Title: text, Type: hazard.TextProduct, Data: text, OrgIDs: orgs, OrgID: -1})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// network calls the handler of a host; there is no other network.
type network struct {
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	posts    []post
}

// post is a received request.
type post struct {
	at     time.Time
	host   string
	header http.Header
	body   string
	status int // status of the answer
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	handler := n.handlers[req.URL.Host]
	i := len(n.posts)
	n.posts = append(n.posts, post{at: time.Now(), host: req.URL.Host, header: req.Header.Clone(), body: string(text)})
	n.mu.Unlock()
	w := &answer{header: http.Header{}, status: 200}
	if handler != nil {
		req.Body = io.NopCloser(bytes.NewReader(text))
		handler(w, req)
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.posts[i].status = w.status
	n.mu.Unlock()
	return &http.Response{StatusCode: w.status, Header: w.header, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return len(p), nil }

// serve answers the requests of a host.
func (n *network) serve(host string, h http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[host] = h
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (n *network) to(host string) (list []post) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.posts), func(p post) bool { return p.host != host })
}

// standard parses a message in the standard format.
func (p post) standard(t testing.TB) (typ string, c wire.Change) {
	t.Helper()
	var e struct {
		Type      string      `json:"type"`
		Timestamp string      `json:"timestamp"`
		Data      wire.Change `json:"data"`
	}
	if err := json.Unmarshal([]byte(p.body), &e, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v: %s", err, p.body)
	}
	if _, err := time.Parse(time.RFC3339, e.Timestamp); err != nil || e.Type != e.Data.Type {
		t.Errorf("type %s and %s, timestamp %v", e.Type, e.Data.Type, err)
	}
	return e.Type, e.Data
}

// verify checks a signature according to the specification, without the library that signs.
func (p post) verify(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(p.header.Get("Webhook-Id") + "." + p.header.Get("Webhook-Timestamp") + "." + p.body))
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !slices.Contains(strings.Split(p.header.Get("Webhook-Signature"), " "), want) {
		return fmt.Errorf("none of the signatures %q equals %s", p.header.Get("Webhook-Signature"), want)
	}
	if at, want := p.header.Get("Webhook-Timestamp"), fmt.Sprint(p.at.Unix()); at != want {
		return fmt.Errorf("the timestamp is %s, the attempt was at %s", at, want)
	}
	return nil
}

// settle waits until everything due has happened.
func settle() { time.Sleep(2 * time.Second); synctest.Wait() }
