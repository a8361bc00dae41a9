package serve_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/test/openapitest"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/s3"
	"github.com/hazardd/hazardd/internal/test/server"
	"github.com/hazardd/hazardd/web"
)

// Every answer in this suite is checked against the OpenAPI document (server.Check). After the
// whole suite, each operation must have been answered with each of its success statuses.
func TestMain(m *testing.M) {
	code := s3.Main(func() int { return postgres.Main(m) })
	if code == 0 && wholeSuite() {
		c, err := server.Contract()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, operation := range c.Unseen() {
			if !web.NewHandler().Built() && slices.Contains([]string{"GET / 206", "GET /assets/{file} 200", "GET /assets/{file} 206", "GET /favicon.ico 200", "GET /favicon.ico 206"}, operation) {
				continue // TestFilesOfTheProgramCanBeReadInParts was skipped
			}
			fmt.Printf("no test has seen what the OpenAPI document promises: %s\n", operation)
			code = 1
		}
	}
	os.Exit(code)
}

// wholeSuite reports whether all tests are run.
func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip", "test.fuzz", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return !testing.Short()
}

func contract(t *testing.T) *openapitest.Contract {
	t.Helper()
	c, err := server.Contract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEveryRouteIsDescribedAndNothingElse(t *testing.T) {
	variable := regexp.MustCompile(`/[^/]*\{[^$}]*\}[^/]*`)
	plain := func(list []string) []string {
		var all []string
		for _, p := range list {
			p = strings.ReplaceAll(variable.ReplaceAllString(p, "/{}"), "{$}", "")
			if below, ok := strings.CutSuffix(p, "/"); ok && strings.Contains(below, "/") { // the same with a trailing slash
				p = below
			}
			all = append(all, p)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if diff := cmp.Diff(plain(serve.Patterns()), plain(contract(t).Operations())); diff != "" {
		t.Errorf("the table of routes (-) and the OpenAPI document (+) differ:\n%s", diff)
	}
}

// A read with an unknown parameter lists the known ones.
func TestEveryParameterIsDescribedAndNothingElse(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	file := s.upload("red", h.HazardID, file(), "map.txt", []byte("x"))
	var uploaded item
	file.JSON(t, &uploaded)
	var hook struct {
		ID string `json:"id"`
	}
	s.do("red", "POST", "/webhooks", map[string]string{"url": "https://example.org/hook"}).JSON(t, &hook)
	values := strings.NewReplacer("{hazard-id}", digits(h.HazardID), "{product-id}", digits(uploaded.ProductID), "{webhook-id}", hook.ID, "{source-id}", "usgs",
		"{category-id}", "EVENT", "{severity-id}", "WATCH", "{collection-id}", "hazards", "{type_id}", "FLOOD", "{category_id}", "EVENT", "{severity_id}", "WATCH")
	// A count ignores the parameters of pages, so that parameters of a search can be used
	// unchanged.
	besides := map[string][]string{"GET /hazards/count": {"cursor", "f", "limit", "sort"}, "GET /hazards/active/summary": {"f"}}
	var lenient []string
	c := contract(t)
	for _, operation := range c.Operations() {
		method, path, _ := strings.Cut(operation, " ")
		if method != http.MethodGet {
			continue
		}
		if strings.HasPrefix(path, "/h/") { // the cookie gives access to the same as the API
			continue
		}
		if strings.HasPrefix(path, "/arcgis/") { // its clients send parameters of other versions; TestAQueryThatCannotBeAnsweredIsRefused covers refused ones
			continue
		}
		var p problem
		user := "red"
		if path == "/audit" || path == "/factors" || strings.HasPrefix(path, "/users") || path == "/organizations" || path == "/organizations/{org}" { // for admins
			user = "root"
		}
		a := s.do(user, method, values.Replace(path)+"?nonsense=1", nil)
		if a.Status != http.StatusBadRequest {
			lenient = append(lenient, path)
			continue
		}
		a.JSON(t, &p)
		var known []string
		if _, list, ok := strings.Cut(p.Detail, "these are"); ok {
			_, list, _ = strings.Cut(list, ": ")
			known = slices.DeleteFunc(strings.Split(list, ", "), func(name string) bool { return slices.Contains(besides[operation], name) })
			slices.Sort(known)
		}
		if diff := cmp.Diff(known, c.Parameters(operation, "query")); diff != "" {
			t.Errorf("%s: parameters of the service (-) and of the OpenAPI document (+) differ:\n%s", operation, diff)
		}
	}
	// These have no results and no ranges.
	want := []string{"/", "/.well-known/jwks.json", "/.well-known/security.txt", "/assets/{file}", "/asyncapi.json", "/basemap/{basemap}/{z}/{x}/{tile}", "/docs", "/embed", "/favicon.ico", "/healthz", "/icons/hazard/large/{type_icon}", "/key/{key}/{path}", "/login",
		"/login/callback", "/login/provider", "/openapi.json", "/pages/{style}", "/readyz", "/robots.txt", "/status",
		"/subscriptions/change", "/subscriptions/confirm", "/subscriptions/manage", "/subscriptions/unsubscribe"}
	if diff := cmp.Diff(want, lenient); diff != "" {
		t.Errorf("reads that accept unknown parameters:\n%s", diff)
	}
}

// What browsers' programs and newsletters add to an address does not change the answer. Below /ogc,
// the standard requires an error.
func TestTrackingParametersAreIgnored(t *testing.T) {
	s := start(t)
	s.hazard("red")
	const noise = "_=1732665600&utm_source=mail&utm_medium=x&fbclid=a&gclid=b"
	for _, path := range []string{"/hazards/active", "/hazards?status=A", "/hazards/count", "/hazards/active?f=geojson", "/hazards/active?f=cap", "/hazards/active?f=atom",
		"/hazardTypes", "/sources", "/hazards/active?f=kml", "/changes?after=0"} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		plain, noisy := s.do("red", "GET", path, nil), s.do("red", "GET", path+join+noise, nil)
		if plain.Status != noisy.Status || plain.Status == http.StatusBadRequest {
			t.Errorf("%s: %d without and %d with %s: %s", path, plain.Status, noisy.Status, noise, noisy.Body)
		}
		if strings.Contains(noisy.Header.Get("Link"), "utm_") {
			t.Errorf("%s: the links repeat what does not count: %s", path, noisy.Header.Get("Link"))
		}
	}
	for _, path := range []string{"/ogc/collections", "/ogc/collections/hazards/items"} {
		if a := s.do("red", "GET", path+"?utm_source=mail", nil); a.Status != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", path, a.Status)
		}
	}
}

// A write lists its members and the required ones.
func TestEveryMemberThatCanBeWrittenIsDescribedAndNothingElse(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	product := s.product("red", h.HazardID, note())
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]jsontext.Value `json:"properties"`
				Required   []string                  `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	s.do("", "GET", "/openapi.json", nil).JSON(t, &doc)
	for schema, request := range map[string][2]string{
		"HazardDraft": {"POST", "/hazards"}, "HazardPatch": {"PATCH", "/hazards/" + h.UUID}, "Retraction": {"POST", "/hazards/" + h.UUID + "/retract"},
		"ProductDraft": {"POST", "/hazards/" + h.UUID + "/products"}, "ProductPatch": {"PATCH", "/products/" + product.UUID},
	} {
		t.Run(schema, func(t *testing.T) {
			a := s.do("red", request[0], request[1], `{"nonsense": 1}`)
			p := wantProblem(t, a, http.StatusBadRequest)
			var known, required []string
			for _, e := range p.Errors {
				if e.Detail == "is missing" {
					required = append(required, strings.TrimPrefix(e.Pointer, "/"))
				} else if _, list, ok := strings.Cut(e.Detail, "these can be: "); ok {
					known = strings.Split(list, ", ")
				}
			}
			slices.Sort(known)
			slices.Sort(required)
			described := doc.Components.Schemas[schema]
			if diff := cmp.Diff(known, slices.Sorted(maps.Keys(described.Properties))); diff != "" {
				t.Errorf("members accepted by the service (-) and in the OpenAPI document (+) differ:\n%s", diff)
			}
			slices.Sort(described.Required)
			if diff := cmp.Diff(required, described.Required); diff != "" {
				t.Errorf("members required by the service (-) and by the OpenAPI document (+) differ:\n%s", diff)
			}
		})
	}
}

// The example requests of the document can be sent.
func TestTheExamplesOfTheDescriptionWork(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Examples []jsontext.Value `json:"examples"`
			} `json:"schemas"`
		} `json:"components"`
	}
	s.do("", "GET", "/openapi.json", nil).JSON(t, &doc)
	for _, request := range []struct {
		schema, user, method, path string
		status                     int
	}{
		{"HazardDraft", "red", "POST", "/hazards", 201}, {"HazardDraft", "red", "POST", "/hazards", 200}, {"HazardPatch", "red", "PATCH", "/hazards/" + h.UUID, 200},
		{"ProductDraft", "red", "POST", "/hazards/" + h.UUID + "/products", 201}, {"ReadKeyDraft", "red", "POST", "/keys", 201},
		{"WebhookDraft", "red", "POST", "/webhooks", 201}, {"Retraction", "red", "POST", "/hazards/6a1a3a5e-7d5b-4a53-9d5e-0f7c3a1b2c4d/retract", 200},
	} {
		for i, example := range doc.Components.Schemas[request.schema].Examples {
			if a := s.do(request.user, request.method, request.path, []byte(example)); a.Status != request.status {
				t.Errorf("%s, example %d: %s %s answers %d, want %d: %s", request.schema, i, request.method, request.path, a.Status, request.status, a.Body)
			}
		}
	}
}

func TestTheDescriptionIsOpenToEverybody(t *testing.T) {
	s := start(t)
	a := s.do("", "GET", "/openapi.json", nil)
	var doc struct {
		OpenAPI string `json:"openapi"`
		Servers []struct {
			URL string `json:"url"`
		} `json:"servers"`
	}
	if err := json.Unmarshal(a.Body, &doc); err != nil || a.Status != 200 || doc.OpenAPI != "3.1.0" || doc.Servers[0].URL != s.URL() || doc.Servers[1].URL != s.URL()+"/key/{key}" {
		t.Errorf("%d %v, %+v", a.Status, err, doc)
	}
	if again := s.do("", "GET", "/openapi.json", nil, "If-None-Match", a.Header.Get("ETag")); again.Status != http.StatusNotModified {
		t.Errorf("the same request again is %d", again.Status)
	}
	page := s.do("", "GET", "/docs", nil)
	if page.Status != 200 || page.Header.Get("Content-Security-Policy") == "" || strings.Contains(string(page.Body), "<script") {
		t.Errorf("%d, policy %q", page.Status, page.Header.Get("Content-Security-Policy"))
	}
	for _, operation := range contract(t).Operations() {
		_, path, _ := strings.Cut(operation, " ")
		if !strings.Contains(string(page.Body), `<code class="path">`+path+`</code>`) {
			t.Errorf("the page does not show %s", operation)
		}
	}
}

func TestFilesOfTheProgramCanBeReadInParts(t *testing.T) {
	s := start(t)
	inParts := func(t *testing.T, path string, header ...string) {
		whole, part := s.do("", "GET", path, nil, header...), s.do("", "GET", path, nil, append(header, "Range", "bytes=1-3")...)
		if whole.Status != http.StatusOK || part.Status != http.StatusPartialContent || string(part.Body) != string(whole.Body[1:4]) {
			t.Errorf("%s is %d, a part of it %d %q", path, whole.Status, part.Status, part.Body)
		}
		if none := s.do("", "GET", path, nil, append(header, "Range", "bytes=99999999-")...); none.Status != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("a range after the end of %s is %d", path, none.Status)
		}
	}
	inParts(t, "/icons/hazard/large/flood.png")
	inParts(t, "/symbols/FLOOD/EVENT/WATCH.png")
	if !web.NewHandler().Built() {
		t.Skip("the map is not built: run make web")
	}
	inParts(t, "/", "Accept", "text/html")
	asset := regexp.MustCompile(`/(assets/[^"]+\.js)"`).FindSubmatch(s.do("", "GET", "/", nil, "Accept", "text/html").Body)
	if asset == nil {
		t.Fatal("the map loads no code")
	}
	inParts(t, "/"+string(asset[1]))
	inParts(t, "/favicon.ico")
	if icon := s.do("", "GET", "/favicon.ico", nil); icon.Status != http.StatusOK || !bytes.HasPrefix(icon.Body, []byte("\x89PNG")) {
		t.Errorf("the icon is %d, %d bytes", icon.Status, len(icon.Body))
	}
}
