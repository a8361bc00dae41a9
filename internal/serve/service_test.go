package serve_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/admin"
	"github.com/hazardd/hazardd/internal/test/server"
)

func TestReadinessSaysWhy(t *testing.T) {
	var why error
	p := handle(t, func(c *serve.Config) { c.Ready = func() admin.Readiness { return admin.Readiness{Reason: why} } })
	ready := func() (status int, reason string) {
		var r struct {
			Status, Reason string
			Change         int64
		}
		a := p.do("", "GET", "/readyz", nil)
		a.JSON(t, &r)
		if (r.Status == "ready") != (a.Status == 200) || a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		return a.Status, r.Reason
	}
	if status, reason := ready(); status != 200 || reason != "" {
		t.Errorf("ready: %d %q", status, reason)
	}
	why = errors.New("the store has been unreachable for 12s")
	if status, reason := ready(); status != 503 || reason != why.Error() {
		t.Errorf("not ready: %d %q", status, reason)
	}
	if a := p.do("", "GET", "/healthz", nil); a.Status != 200 {
		t.Errorf("the process answers: %d", a.Status)
	}
}

func TestListsSayHowFreshTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // otherwise the view might be read again in the middle of it, as each second
		p := handle(t, func(c *serve.Config) {
			c.Freshness = func() []string { return []string{`ok=9; stale=1; names="gdacs"`} }
		})
		p.fill(3)
		for _, path := range []string{"/hazards/active", "/hazards/active/category/EVENT", "/hazards/active/severity/WATCH", "/hazards/1/products", "/hazards/1", "/sources"} {
			h := p.do("reader", "GET", path, nil).Header
			if h.Get("Hazardd-Change") != "3" || h.Get("Hazardd-Sources") != `ok=9; stale=1; names="gdacs"` || h.Get("Hazardd-View-Age") != "" {
				t.Errorf("%s: %v", path, h)
			}
		}
		p.ahead.Store(int64(100 * time.Second)) // as if the store had been away for so long
		if age := p.do("reader", "GET", "/hazards/active", nil).Header.Get("Hazardd-View-Age"); age != "100" {
			t.Errorf("a view of 100 seconds says that its age is %q", age)
		}
	})
}

func TestHeldReportsWaitForAnEditor(t *testing.T) {
	s := start(t)
	hold := func(key string) {
		t.Helper()
		r := quake(key, 1)
		r.Suspect = "the words say TEST"
		res, err := s.intake().Apply(t.Context(), r.Source, source.Batch{Reports: []hazard.Report{r}, Read: 1}, now(), fuse.Options{})
		if err != nil || res.Held != 1 {
			t.Fatalf("%+v %v", res, err)
		}
	}
	type held struct {
		ID                  int64
		Event, Name, Reason string
	}
	list := func(user, path string) (all []held) {
		t.Helper()
		var sources []struct {
			Name string
			Held []held
		}
		s.do(user, "GET", path, nil).JSON(t, &sources)
		for _, src := range sources {
			if src.Name == "usgs" {
				all = src.Held
			}
		}
		return all
	}
	hold("good")
	hold("bad")
	waiting := list("reader", "/sources")
	if len(waiting) != 2 || waiting[0].Reason != "the words say TEST" || len(items(t, s.do("reader", "GET", "/hazards/active", nil))) != 0 {
		t.Fatalf("%+v", waiting)
	}
	decide := func(user string, id int64, body any) server.Answer {
		return s.do(user, "POST", "/sources/usgs/held/"+digits(id), body)
	}
	for _, h := range waiting {
		decision := map[string]string{"good": "released", "bad": "dismissed"}[h.Event]
		if p := wantProblem(t, decide("red", h.ID, `{"decision":"maybe"}`), 400); !slices.Equal(p.faults(), []string{"/decision"}) {
			t.Errorf("faults %v", p.faults())
		}
		wantProblem(t, decide("reader", h.ID, map[string]string{"decision": decision}), 403)
		if a := decide("red", h.ID, map[string]string{"decision": decision}); a.Status != 204 {
			t.Errorf("%s %s: %d %s", decision, h.Event, a.Status, a.Body)
		}
		if a := decide("red", h.ID, map[string]string{"decision": decision}); a.Status != 404 && a.Status != 409 {
			t.Errorf("decided twice: %d %s", a.Status, a.Body)
		}
	}
	if active := items(t, s.do("reader", "GET", "/hazards/active", nil)); len(active) != 1 || active[0].UUID != hazard.EventUUID("usgs", "good").String() {
		t.Errorf("active after the decisions: %+v", active)
	}
	if left := list("reader", "/sources"); len(left) != 0 {
		t.Errorf("still held: %+v", left)
	}
	for _, id := range []string{"0", "-1", "x", "1.0"} {
		wantProblem(t, s.do("red", "POST", "/sources/usgs/held/"+id, `{"decision":"released"}`), 400)
	}
}

// Whoever releases a held report of what is damaged is told what is, and what to do; a held report that cannot be read is listed, and may be dismissed.
func TestReleasingAHeldReportOfWhatIsDamagedIsAConflict(t *testing.T) {
	var cfg app.Config
	s := start(t, func(c *app.Config) { cfg = *c })
	take := func(version int64, suspect string) {
		t.Helper()
		r := quake("one", version)
		r.Suspect = suspect
		if _, err := s.intake().Apply(t.Context(), r.Source, source.Batch{Reports: []hazard.Report{r}, Read: 1}, now(), fuse.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	take(1, "")
	take(2, "the words say TEST")
	take(3, "the words say TEST")
	type held struct {
		ID                  int64
		Event, Name, Reason string
	}
	list := func() []held {
		t.Helper()
		var all struct{ Held []held }
		s.do("red", "GET", "/sources/usgs/errors", nil).JSON(t, &all)
		return all.Held
	}
	waiting := list()
	if len(waiting) != 2 {
		t.Fatalf("held are %+v", waiting)
	}
	third, second := waiting[0].ID, waiting[1].ID
	decide := func(id int64, decision string) server.Answer {
		return s.do("red", "POST", "/sources/usgs/held/"+digits(id), map[string]string{"decision": decision})
	}
	beside(t, cfg, `UPDATE reports SET body = '[' || body`)
	p := wantProblem(t, decide(second, "released"), 409)
	for _, words := range []string{"report " + digits(second), "stays held", "usgs:one", "cannot be read", "hazardd check", "release it again"} {
		if !strings.Contains(p.Detail, words) {
			t.Errorf("%q is not in %q", words, p.Detail)
		}
	}
	if len(list()) != 2 {
		t.Errorf("held after a release in vain are %+v", list())
	}
	beside(t, cfg, `UPDATE reports SET body = substr(body, 2)`)
	beside(t, cfg, `UPDATE held SET body = '[' || body WHERE id = `+digits(third))
	waiting = list()
	if len(waiting) != 2 || waiting[0].Event != "one" || waiting[0].Name != "" || !strings.Contains(waiting[0].Reason, "held report "+digits(third)+" is damaged") ||
		!strings.HasSuffix(waiting[0].Reason, "the words say TEST") || waiting[1].Name != "Earthquake one" {
		t.Errorf("with one that cannot be read, held are %+v", waiting)
	}
	if p := wantProblem(t, decide(third, "released"), 409); !strings.Contains(p.Detail, "held report "+digits(third)+" is damaged") || !strings.Contains(p.Detail, "dismiss it") {
		t.Errorf("releasing it: %q", p.Detail)
	}
	if a := decide(second, "released"); a.Status != 204 {
		t.Errorf("once mended: %d %s", a.Status, a.Body)
	}
	if a := decide(third, "dismissed"); a.Status != 204 || len(list()) != 0 {
		t.Errorf("dismissing what cannot be read: %d %s; held are %+v", a.Status, a.Body, list())
	}
}

func TestPublicKeysVerifyTheTokens(t *testing.T) {
	p := handle(t)
	a := p.do("", "GET", "/.well-known/jwks.json", nil)
	var set struct{ Keys []map[string]string }
	a.JSON(t, &set)
	if a.Status != 200 || len(set.Keys) == 0 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	token := p.tokens.of("reader")
	i := strings.LastIndexByte(token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(token[i+1:])
	if err != nil {
		t.Fatal(err)
	}
	verified := false
	for _, k := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k["x"])
		if err != nil || k["kty"] != "OKP" || k["crv"] != "Ed25519" || k["kid"] == "" || k["d"] != "" {
			t.Fatalf("key %v: %v", k, err)
		}
		verified = verified || ed25519.Verify(x, []byte(token[:i]), signature)
	}
	if !verified {
		t.Error("no public key verifies a token")
	}
}

func TestADisabledSourceIsNotPolled(t *testing.T) {
	s := handle(t, func(c *serve.Config) {
		c.PollNow = func(context.Context, string) error {
			return fmt.Errorf("%w: source %q is disabled", hazard.ErrConflict, "usgs")
		}
	})
	if p := wantProblem(t, s.do("root", "POST", "/sources/usgs/poll", nil), 409); !strings.Contains(p.Detail, "disabled") {
		t.Errorf("%+v", p)
	}
}
