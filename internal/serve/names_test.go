package serve_test

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// The logins of TestStrangersReadNoLoginNames: no answer holds them by chance.
const (
	loginCanary = "canary-login@example.org"
	otherCanary = "canary-second"
)

// A stranger on a public server reads organizations, or names that people chose, and no login
// name at any address.
func TestStrangersReadNoLoginNames(t *testing.T) {
	test.NoRace(t)
	s := start(t, func(c *app.Config) { c.Public = route.PublicMap })
	for name, orgs := range map[string][]int64{loginCanary: {s.RedCross}, otherCanary: nil} {
		if err := s.Auth.Accounts().AddUser(t.Context(), actor, auth.NewUser{Name: name, Role: auth.Admin, Orgs: orgs, Password: server.Password}, s.Now()); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	var last item
	for i, who := range []string{loginCanary, otherCanary, loginCanary} { // the last one is over
		h := s.hazard(who, "description", "d")
		s.do(otherCanary, "PATCH", "/hazards/"+h.UUID, `{"severity_ID":"WARNING"}`)
		var p item
		a := s.upload(who, h.HazardID, file("title", "Picture"), "a.png", pngOf(t, 9, 9))
		if a.JSON(t, &p); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		s.do(otherCanary, "PATCH", "/products/"+p.UUID, `{"title":"New title"}`)
		s.product(who, h.HazardID, note())
		for _, redacted := range []string{"/hazards/" + h.UUID, "/products/" + p.UUID} {
			field := map[bool]string{true: "description", false: "comment_Text"}[strings.HasPrefix(redacted, "/hazards")]
			if a := s.do(loginCanary, "POST", redacted+"/redact", `{"fields":["`+field+`"],"reason":"r"}`); a.Status >= 300 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		gone := s.product(who, h.HazardID, note("title", "gone"))
		s.do(loginCanary, "DELETE", "/products/"+gone.UUID, nil)
		if last = h; i == 2 {
			s.do(who, "PATCH", "/hazards/"+h.UUID, `{"status":"E"}`)
		}
		paths = append(paths, s.readableBy(h.UUID, p.UUID)...)
		paths = append(paths, "/hazards/"+h.UUID+"?f=cap", "/hazards/"+h.UUID+"?f=geojson", "/hazards/"+h.UUID+"?at="+s.Now().String(), "/hazards/"+h.UUID+"/products?at="+s.Now().String(), "/products/"+p.UUID+"?at="+s.Now().String(),
			"/h/"+h.UUID+"?lang=de", "/?h="+h.UUID, "/hazards/"+h.UUID+"/changes?limit=3", "/products/"+p.UUID+"/versions?limit=1")
	}
	var known struct {
		Change int64 `json:"change"`
	}
	s.do("", "GET", "/readyz", nil).JSON(t, &known)
	for _, f := range []string{"json", "geojson", "kml", "atom", "rss", "csv", "cap"} {
		for _, list := range []string{"/hazards", "/hazards/active", "/hazards/active?lang=de&limit=2", "/hazards/active/category/EVENT", "/hazards/active/severity/WARNING", "/hazards?status=E"} {
			at, _ := url.Parse(list)
			q := at.Query()
			q.Set("f", f)
			at.RawQuery = q.Encode()
			paths = append(paths, at.String())
		}
	}
	for _, f := range []string{"gpkg", "geoparquet", "shapefile"} {
		paths = append(paths, "/hazards?f="+f)
	}
	for _, set := range []string{"hazards", "active-hazards", "points", "products"} {
		paths = append(paths, "/ogc/collections/"+set+"/items", "/ogc/collections/"+set+"/items?f=html", "/ogc/collections/"+set+"/items/"+last.UUID)
	}
	paths = append(paths, "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=geojson",
		"/changes?limit=1000", "/changes?limit=1000&at="+s.Now().String(), "/changes?after="+digits(known.Change-1)+"&wait=1s")
	texts := map[string]string{}
	bodies, size := 0, 0
	for _, path := range paths {
		a := s.do("", "GET", path, nil)
		if a.Status == 200 && texts[path] == "" {
			bodies, size = bodies+1, size+len(a.Body)
		}
		texts[path] = string(a.Body) + fmt.Sprint(a.Header)
	}
	stream := s.subscribe("", "?after=0&envelope=cloudevents")
	plain := s.subscribe("", "?after=0")
	for path, stream := range map[string]*subscriber{"/events?envelope=cloudevents": stream, "/events": plain} {
		for b := (block{}); b.id != digits(known.Change); texts[path] += fmt.Sprint(b) {
			b = stream.next()
		}
	}
	for path, text := range texts {
		for _, name := range []string{loginCanary, otherCanary, "canary"} {
			if i := strings.Index(text, name); i >= 0 {
				t.Errorf("%s holds a login name: …%s…", path, text[max(0, i-200):min(len(text), i+60)])
				break
			}
		}
	}
	t.Logf("%d addresses, %d of them answered 200 with %d bytes", len(texts), bodies, size)
	if !strings.Contains(texts["/events"], "RC organization") || !strings.Contains(texts["/hazards/active?f=json"], `"creator":"RC organization"`) {
		t.Errorf("the organization's name is missing: %.3000s", texts["/hazards/active?f=json"])
	}
	// Whoever has an account reads the same members with the login names.
	before := s.do("reader", "GET", "/hazards/active", nil)
	if !bytes.Contains(before.Body, []byte(`"creator":"`+loginCanary+`"`)) || !bytes.Contains(before.Body, []byte(`"update_User":"`+loginCanary+`"`)) {
		t.Errorf("a user reads %s", before.Body)
	}
	// No condition finds a hazard by a name that the answer does not hold.
	for name, want := range map[string]int{loginCanary: 0, "RC organization": 1} {
		for _, path := range []string{"/hazards/active?", "/hazards?status=A&"} {
			a := s.do("", "GET", path+"filter="+url.QueryEscape("creator = '"+name+"'"), nil)
			if got := bytes.Count(a.Body, []byte(`"hazard_ID"`)); a.Status != 200 || got != want {
				t.Errorf("%s creator = %s: %d, %d hazards, not %d: %.200s", path, name, a.Status, got, want, a.Body)
			}
		}
	}
	// A display name takes the place of the organization at once.
	if err := s.Auth.Accounts().SetDisplayName(t.Context(), actor, loginCanary, "Ann of the night shift", s.Now()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/hazards/active", "/hazards?status=E", "/hazards/" + last.UUID + "/changes"} {
		if a := s.do("", "GET", path, nil); !bytes.Contains(a.Body, []byte("Ann of the night shift")) || bytes.Contains(a.Body, []byte("canary")) {
			t.Errorf("%s after the user chose a name: %s", path, a.Body)
		}
	}
}

// readableBy returns an address of every GET operation, about a hazard and a product of it.
func (w *world) readableBy(hazard, product string) (paths []string) {
	contract, err := server.Contract()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, op := range contract.Operations() {
		method, path, _ := strings.Cut(op, " ")
		if method != "GET" || strings.HasSuffix(path, "/events") {
			continue
		}
		path = strings.NewReplacer("{hazard-id}", hazard, "{feature-id}", hazard, "{product-id}", product, "{key}/{path}", "none/hazards", "{category-id}", "EVENT", "{severity-id}", "WARNING", "{org}", digits(w.RedCross), "{user}", loginCanary,
			"{source-id}", "none", "{payload-id}", strings.Repeat("0", 64), "{layer-id}", "0", "{object-id}", "1", "{place-code}", "UGC:FLC086", "{collection-id}", "hazards",
			"{tileMatrixSetId}", "WebMercatorQuad", "{tileMatrix}", "0", "{tileRow}", "0", "{tileCol}", "0", "{z}/{x}/{y}", "0/0/0", "/here", "/here?lat=10&lon=20", "/map.png", "/map.png?size=240").Replace(path)
		if strings.Contains(path, "{") { // of objects that are private
			path = strings.NewReplacer("{", "", "}", "").Replace(path)
		}
		paths = append(paths, path)
	}
	return paths
}
