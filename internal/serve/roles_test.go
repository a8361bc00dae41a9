package serve_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// The callers in the tables below: no account, readers, the editors of two organizations, and an
// admin who is a member of none.
var everybody = []string{"", "reader", "red-reader", "red", "fire", "root"}

// wantAllowed checks whether an operation was done, or refused as the caller must be refused.
func wantAllowed(t *testing.T, a server.Answer, user string, done, want int) {
	t.Helper()
	switch {
	case user == "":
		if a.Status != 403 || string(a.Body) != "Invalid Token" {
			t.Errorf("without an account: %d %.300s, want 403 Invalid Token", a.Status, a.Body)
		}
	case want == 403:
		p := wantProblem(t, a, 403)
		if !strings.Contains(a.Header.Get("WWW-Authenticate"), `error="insufficient_scope"`) || strings.Contains(p.Detail, "Invalid Token") {
			t.Errorf("%s: %s, WWW-Authenticate %s", user, p.Detail, a.Header.Get("WWW-Authenticate"))
		}
	case want == 404:
		wantProblem(t, a, 404)
	case a.Status != done:
		t.Errorf("%s: %d %.300s, want %d", user, a.Status, a.Body, done)
	}
}

// ok means done in the tables.
const ok = 0

func TestWhoMayWriteHazards(t *testing.T) {
	s := start(t)
	// The status that each user gets, by owner of the hazard; the users are in the order of everybody.
	matrix := map[string][]int{
		"red cross":       {403, 403, 403, ok, 403, ok},
		"fire brigade":    {403, 403, 403, 403, ok, ok},
		"no organization": {403, 403, 403, ok, ok, ok},
		"a source":        {403, 403, 403, ok, ok, ok},
	}
	var sourced int
	make1 := func(owner string) string {
		switch owner {
		case "red cross":
			return s.hazard("red").UUID
		case "fire brigade":
			return s.hazard("fire").UUID
		case "no organization":
			return s.hazard("red", "org_ID", -1).UUID
		}
		sourced++
		r := quake(fmt.Sprintf("us%d", sourced), 1)
		s.report(r)
		return hazard.EventUUID(r.Source, r.Key).String()
	}
	for operation, o := range map[string]struct {
		method, path, body string
	}{
		"alter":   {"PATCH", "", `{"severity_ID":"WARNING"}`},
		"end":     {"PATCH", "", `{"status":"E"}`},
		"retract": {"POST", "/retract", `{"reason":"r"}`},
	} {
		for _, owner := range sortedKeys(matrix) {
			t.Run(operation+" a hazard of "+owner, func(t *testing.T) {
				id := make1(owner)
				for i, user := range everybody {
					if matrix[owner][i] == ok {
						id = make1(owner) // each caller gets a new one
					}
					before := s.do("reader", "GET", "/hazards/"+id, nil)
					a := s.do(user, o.method, "/hazards/"+id+o.path, o.body)
					wantAllowed(t, a, user, 200, matrix[owner][i])
					after := s.do("reader", "GET", "/hazards/"+id, nil)
					if changed := !bytes.Equal(before.Body, after.Body); changed != (matrix[owner][i] == ok) {
						t.Errorf("%s: the hazard changed: %v", user, changed)
					}
				}
			})
		}
	}
	t.Run("make a hazard", func(t *testing.T) {
		for i, user := range everybody {
			wantAllowed(t, s.do(user, "POST", "/hazards", flood()), user, 201, []int{403, 403, 403, ok, ok, ok}[i])
		}
	})
	t.Run("add a product to a hazard", func(t *testing.T) {
		for _, owner := range sortedKeys(matrix) {
			path := "/hazards/" + make1(owner) + "/products"
			for i, user := range everybody {
				want := matrix[owner][i]
				wantAllowed(t, s.do(user, "POST", path, note()), user, 201, want)
				body, contentType := form(t, file(), "a.txt", []byte("content"))
				wantAllowed(t, s.do(user, "POST", path, body, "Content-Type", contentType), user, 201, want)
			}
		}
	})
}

func TestWhoMayWriteProducts(t *testing.T) {
	s := start(t)
	below := s.hazard("red", "org_ID", -1).HazardID // every editor may add to it
	s.report(func() hazard.Report {
		r := quake("us1", 1)
		for i := range 50 {
			r.Products = append(r.Products, hazard.ReportProduct{Key: fmt.Sprint(i), Title: "P", Type: hazard.TextProduct, Data: "d", Time: r.Start})
		}
		return r
	}())
	sourced := items(t, s.do("reader", "GET", "/hazards/"+hazard.EventUUID("usgs", "us1").String()+"/products", nil))
	both := digits(s.RedCross) + "," + digits(s.FireBrigade)
	for kind, k := range map[string]struct {
		make func() item
		want []int
	}{
		"of the red cross":                      {func() item { return s.product("red", below, note()) }, []int{403, 403, 403, ok, 403, ok}},
		"of the fire brigade":                   {func() item { return s.product("fire", below, note()) }, []int{403, 403, 403, 403, ok, ok}},
		"of no organization":                    {func() item { return s.product("root", below, note()) }, []int{403, 403, 403, ok, ok, ok}},
		"of a source":                           {func() item { p := sourced[0]; sourced = sourced[1:]; return p }, []int{403, 403, 403, ok, ok, ok}},
		"of the red cross, restricted to it":    {func() item { return s.product("red", below, note("security_Flag", "R")) }, []int{403, 403, 403, ok, 404, 404}},
		"of the fire brigade, restricted to it": {func() item { return s.product("fire", below, note("security_Flag", "R")) }, []int{403, 403, 403, 404, ok, 404}},
		"of the red cross, restricted to both":  {func() item { return s.product("red", below, note("org_IDs", both)) }, []int{403, 403, 403, ok, 403, 404}},
		"of no organization, restricted to one": {func() item {
			return s.product("red", below, note("security_Flag", "R", "org_ID", -1, "org_IDs", digits(s.RedCross)))
		}, []int{403, 403, 403, ok, 404, 404}},
		"of the fire brigade, and deleted before": {func() item {
			p := s.product("fire", below, note())
			s.do("fire", "DELETE", "/products/"+p.UUID, nil)
			return p
		}, []int{403, 403, 403, 404, 404, 404}},
	} {
		for operation, o := range map[string]struct {
			method string
			body   any
			done   int
		}{"alter": {"PATCH", `{"title":"New"}`, 200}, "delete": {"DELETE", nil, 204}} {
			t.Run(operation+" a product "+kind, func(t *testing.T) {
				p := k.make()
				for i, user := range everybody {
					wantAllowed(t, s.do(user, o.method, "/products/"+digits(p.ProductID), o.body), user, o.done, k.want[i])
					if k.want[i] == ok {
						p = k.make()
					}
				}
			})
		}
	}
}

func TestWhoMayAdministerSources(t *testing.T) {
	p := handle(t)
	users := []string{"", "reader", "editor", "root"}
	for request, want := range map[string][]int{
		"GET /sources":               {403, ok, ok, ok},
		"POST /sources/usgs/poll":    {403, 403, 403, ok},
		"GET /sources/usgs/errors":   {403, 403, ok, ok},
		"POST /sources/usgs/held/99": {403, 403, 404, 404},
		"POST /sources/none/poll":    {403, 403, 403, 404},
		"GET /sources/none/errors":   {403, 403, 404, 404},
	} {
		method, path, _ := strings.Cut(request, " ")
		var body any
		done := 200
		if method == "POST" {
			body, done = `{"decision":"released"}`, 202
		}
		for i, user := range users {
			t.Run(request+" as "+user, func(t *testing.T) {
				wantAllowed(t, p.do(user, method, path, body), user, done, want[i])
			})
		}
	}
}

// canary is in every text and file of a restricted product. Its end cannot be in an id or entity
// tag by chance, and is unchanged in a header.
const (
	canaryEnd = "sings-xq7z"
	canary    = "canary-Ā-" + canaryEnd
)

// secrets is a world with products that only the fire brigade may see.
type secrets struct {
	*world
	hazard    item
	products  []item // restricted now
	opened    item   // restricted once
	lastOfAll int64  // number of the last change
}

func newSecrets(t *testing.T) *secrets {
	s := &secrets{world: start(t)}
	s.hazard = s.world.hazard("red", "description", "open", "org_ID", -1) // every editor may add to it
	add := func(body map[string]any) item {
		p := s.product("fire", s.hazard.HazardID, body)
		s.products = append(s.products, p)
		return p
	}
	s.product("red", s.hazard.HazardID, note("title", "Open"))
	root := add(folder("title", canary, "security_Flag", "R", "comment_Text", canary))
	add(note("title", canary, "data", canary, "comment_Text", canary, "parent_ID", root.ProductID))
	add(note("title", canary, "product_Type", "URL_PRODUCT", "data", "https://example.org/"+canary, "security_Flag", "R"))
	a := s.upload("fire", s.hazard.HazardID, file("title", canary, "security_Flag", "R"), canary+".txt", []byte("the "+canary+" sings"))
	var f item
	if a.JSON(t, &f); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	s.products = append(s.products, f)
	// One product was public, and one is public now. Their content while restricted stays secret.
	was := s.product("fire", s.hazard.HazardID, note("title", "Open before"))
	s.opened = s.product("fire", s.hazard.HazardID, note("title", canary, "data", canary, "comment_Text", canary, "security_Flag", "R"))
	for _, step := range []struct {
		id   int64
		body map[string]any
	}{
		{was.ProductID, map[string]any{"title": canary, "data": canary, "security_Flag": "R"}},
		{s.opened.ProductID, map[string]any{"comment_Text": canary + " 2"}},
		{s.opened.ProductID, map[string]any{"title": "Open now", "data": "open now", "comment_Text": "open now", "security_Flag": "A"}},
	} {
		if a := s.do("fire", "PATCH", "/products/"+digits(step.id), step.body); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	s.products = append(s.products, was)
	if a := s.do("red", "PATCH", "/hazards/"+s.hazard.UUID, `{"comment_Text":"later"}`); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	last, err := s.Store.Log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.lastOfAll = last
	return s
}

func TestNothingOfARestrictedProductReachesOthers(t *testing.T) {
	test.NoRace(t)
	s := newSecrets(t)
	outsiders := []string{"", "reader", "red-reader", "red", "root"}
	var requests []struct{ method, path string }
	get := func(format string, args ...any) {
		requests = append(requests, struct{ method, path string }{"GET", fmt.Sprintf(format, args...)})
	}
	for _, path := range []string{"/hazards/active", "/hazards/active/category/EVENT", "/hazards/active/severity/WATCH", "/changes", "/changes?limit=1", "/sources", "/readyz", "/hazards/types", "/"} {
		get("%s", path)
	}
	for _, h := range []string{digits(s.hazard.HazardID), s.hazard.UUID} {
		for _, below := range []string{"", "/products", "/changes", "/alert-geography", "/alert-geography?f=geojson"} {
			get("/hazards/%s%s", h, below)
		}
		for n := range s.lastOfAll + 1 {
			get("/hazards/%s/changes?after=%d&limit=1", h, n)
			get("/hazards/%s/changes?after=%d", h, n)
			get("/changes?after=%d&limit=2", n)
		}
	}
	for _, p := range s.products {
		for _, ref := range []string{digits(p.ProductID), p.UUID} {
			for _, r := range []string{"GET /products/%s", "GET /products/%s/file", "HEAD /products/%s/file", "PATCH /products/%s", "DELETE /products/%s"} {
				method, path, _ := strings.Cut(fmt.Sprintf(r, ref), " ")
				requests = append(requests, struct{ method, path string }{method, path})
			}
		}
	}
	t.Run("the canary sings to its own", func(t *testing.T) {
		for _, path := range []string{"/hazards/" + s.hazard.UUID + "/products", "/hazards/" + s.hazard.UUID + "/changes", "/changes"} {
			if a := s.do("fire", "GET", path, nil); !bytes.Contains(a.Body, []byte(canary)) || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %.300s, Cache-Control %q", path, a.Body, a.Header.Get("Cache-Control"))
			}
		}
	})
	for _, user := range outsiders {
		t.Run("as "+user, func(t *testing.T) {
			for _, r := range requests {
				for _, header := range [][]string{nil, {"Accept-Encoding", "br"}, {"If-Match", "*"}, {"Range", "bytes=0-3"}, {"Accept", "application/geo+json"}} {
					if header != nil && r.method == "GET" && strings.Contains(r.path, "after=") {
						continue
					}
					var body any
					if r.method == "PATCH" {
						body = `{"title":"x"}`
					}
					a := s.do(user, r.method, r.path, body, header...)
					s.wantSilent(t, user, r.method+" "+r.path, a)
					if user == "" || !strings.HasPrefix(r.path, "/products/") {
						continue
					}
					// The answer equals that for a product that never existed.
					never := s.do(user, r.method, "/products/999999"+strings.TrimPrefix(r.path[len("/products/"):], strings.SplitN(r.path[len("/products/"):], "/", 2)[0]), body, header...)
					if a.Status < 403 || !bytes.Equal(withoutID(a), withoutID(never)) || !maps.EqualFunc(withoutDate(a.Header), withoutDate(never.Header), func(x, y []string) bool { return strings.Join(x, ",") == strings.Join(y, ",") }) {
						t.Errorf("%s %s: %d %s %v; one that never was: %d %s %v", r.method, r.path, a.Status, a.Body, a.Header, never.Status, never.Body, never.Header)
					}
				}
			}
		})
	}
	t.Run("nor by the errors of what is written", func(t *testing.T) {
		for _, user := range outsiders {
			for _, p := range s.products {
				for request, body := range map[string]any{
					"POST /hazards/" + s.hazard.UUID + "/products":                note("parent_ID", p.ProductID),
					"POST /hazards/" + digits(s.hazard.HazardID) + "/products":    note("uuid", p.UUID),
					"POST /hazards/" + digits(s.hazard.HazardID) + "/products?x=": folder("uuid", p.UUID, "parent_ID", p.ProductID),
					"PATCH /products/" + digits(s.opened.ProductID):               map[string]any{"parent_ID": p.ProductID},
					"PATCH /hazards/" + s.hazard.UUID:                             map[string]any{"product_total": "99"},
				} {
					method, path, _ := strings.Cut(request, " ")
					s.wantSilent(t, user, request, s.do(user, method, path, body))
				}
			}
		}
	})
	t.Run("nor by the number of products", func(t *testing.T) {
		for _, user := range outsiders[1:] {
			list := items(t, s.do(user, "GET", "/hazards/active", nil))
			var one item
			s.do(user, "GET", "/hazards/"+s.hazard.UUID, nil).JSON(t, &one)
			if list[0].ProductTotal != "2" || one.ProductTotal != "2" {
				t.Errorf("%s sees product totals %s and %s, want 2", user, list[0].ProductTotal, one.ProductTotal)
			}
			var changes []struct{ Hazard *item }
			s.do(user, "GET", "/changes", nil).JSON(t, &changes)
			var totals []string // from when the hazard was created and changed
			for _, c := range changes {
				if c.Hazard != nil {
					totals = append(totals, c.Hazard.ProductTotal)
				}
			}
			if !slices.Equal(totals, []string{"0", "2"}) {
				t.Errorf("%s sees product totals %v in the history", user, totals)
			}
		}
	})
	t.Run("nor by a tag that one of its own was given", func(t *testing.T) {
		for _, path := range []string{"/hazards/active", "/hazards/" + s.hazard.UUID, "/hazards/" + s.hazard.UUID + "/products"} {
			tag := s.do("fire", "GET", path, nil).Header.Get("Etag")
			if a := s.do("reader", "GET", path, nil, "If-None-Match", tag); a.Status != 200 {
				t.Errorf("%s: %d", path, a.Status)
			}
		}
	})
	t.Run("while one who becomes a member sees it at once", func(t *testing.T) {
		// The token is the same, because the present membership counts.
		path := "/products/" + digits(s.products[0].ProductID)
		if err := s.Auth.Accounts().SetOrgs(t.Context(), actor, "reader", []int64{s.FireBrigade}, now()); err != nil {
			t.Fatal(err)
		}
		if a := s.do("reader", "GET", path, nil); a.Status != 200 {
			t.Errorf("as a member: %d %s", a.Status, a.Body)
		}
		if err := s.Auth.Accounts().SetOrgs(t.Context(), actor, "reader", nil, now()); err != nil {
			t.Fatal(err)
		}
		if a := s.do("reader", "GET", path, nil); a.Status != 404 {
			t.Errorf("as a member no longer: %d", a.Status)
		}
	})
}

// wantSilent checks that no part of an answer contains the canary, in any encoding.
func (s *secrets) wantSilent(t *testing.T, user, request string, a server.Answer) {
	t.Helper()
	text := decode(t, a.Header.Get("Content-Encoding"), a.Body)
	head := fmt.Sprint(a.Header)
	for _, song := range []string{canary, "canary", canaryEnd} {
		if bytes.Contains(text, []byte(song)) || strings.Contains(head, song) {
			t.Errorf("the canary sings to %q: %s: %d %.2000s %s", user, request, a.Status, text, head)
			return
		}
	}
}

func withoutDate(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Date")
	h.Del("Hazardd-Request")
	return h
}

// withoutID returns the body of an answer without the id of its request.
func withoutID(a server.Answer) []byte {
	return bytes.ReplaceAll(a.Body, []byte(a.Header.Get("Hazardd-Request")), nil)
}
