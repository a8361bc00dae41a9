package serve_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// Costly answers are the same bytes for all who may see the same, until something changes.
func TestCostlyAnswersAreMadeOncePerChangeAndAudience(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := scenery(t, func(c *app.Config) { c.Public = route.PublicRead })
	h := s.hazard("red", "hazard_Name", "Secret")
	s.product("red", h.HazardID, note("title", "Secret", "security_Flag", "R"))
	for _, path := range []string{
		"/hazards?f=gpkg", "/hazards?f=parquet", "/hazards?f=kml", "/hazards?f=geojson&limit=50", "/hazards/active?f=csv&type=FLOOD",
		"/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json", "/ogc/collections/hazards/items",
	} {
		tag := func(user string, header ...string) string {
			t.Helper()
			a := s.do(user, http.MethodGet, path, nil, header...)
			if a.Status != http.StatusOK || a.Header.Get("Hazardd-Change") == "" || a.Header.Get("Hazardd-Sources") == "" {
				t.Errorf("%s as %q: %d %v %.200s", path, user, a.Status, a.Header, a.Body)
			}
			return a.Header.Get("Etag")
		}
		reader, member, stranger := tag("reader"), tag("red"), tag("")
		if reader == "" || tag("reader") != reader || tag("red") != member || tag("") != stranger {
			t.Errorf("%s: not the same bytes again", path)
		}
		if member == reader {
			t.Errorf("%s: a member of the organization sees no more than others", path)
		}
		if stranger == reader {
			t.Errorf("%s: a stranger sees the logins that users see", path)
		}
		if a := s.do("reader", http.MethodGet, path, nil, "If-None-Match", reader); a.Status != http.StatusNotModified {
			t.Errorf("%s: %d for what the reader has", path, a.Status)
		}
		s.hazard("red")
		if tag("reader") == reader {
			t.Errorf("%s: the same bytes after a change", path)
		}
	}
	// Languages and days tell apart, too.
	path := "/hazards?f=kml"
	if s.do("reader", http.MethodGet, path, nil).Header.Get("Etag") == s.do("reader", http.MethodGet, path, nil, "Accept-Language", "de").Header.Get("Etag") {
		t.Errorf("%s: headlines are in one language for all", path)
	}
}

// What is too large to be kept is made for each, and sent.
func TestCostlyAnswersTooLargeToKeepAreSent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := handle(t, open, func(c *serve.Config) { c.Answers.Shared = 600 })
	p.put(10, 1000, 1)
	for _, path := range []string{"/hazards?f=gpkg", "/hazards?f=parquet", "/hazards?f=kml", "/hazards?f=geojson", "/arcgis/rest/services/hazards/FeatureServer/0/query?where=1%3D1&outFields=*&f=json"} {
		for range 2 {
			w := httptest.NewRecorder()
			if p.ServeHTTP(w, newRequest(t, p.tokens, "reader", http.MethodGet, path, nil)); w.Code != http.StatusOK || w.Body.Len() < 600 {
				t.Errorf("%s: %d with %d bytes", path, w.Code, w.Body.Len())
			}
		}
	}
}
