package serve_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test/server"
)

// The abstract tests of OGC API – Features – Part 1 (OGC 17-069r4, annex A) that a program can
// perform. The names are those of the annex.
func TestAbstractTestSuiteOfPart1(t *testing.T) {
	s := scenery(t)
	get := func(t *testing.T, path, accept string, status int) server.Answer {
		t.Helper()
		a := s.do("reader", http.MethodGet, path, nil, "Accept", accept)
		if a.Status != status {
			t.Fatalf("%s: %d %.300s, want %d", path, a.Status, a.Body, status)
		}
		return a
	}
	type link struct{ Href, Rel, Type string }
	rels := func(links []link) (all []string) {
		for _, l := range links {
			if l.Href == "" || l.Type == "" {
				t.Errorf("a link without href or type: %+v", l)
			}
			all = append(all, l.Rel)
		}
		return all
	}
	decode := func(t *testing.T, a server.Answer, into any) {
		t.Helper()
		if err := json.Unmarshal(a.Body, into); err != nil {
			t.Fatalf("%v: %.300s", err, a.Body)
		}
	}
	t.Run("A.2.2.1 landing page", func(t *testing.T) {
		var page struct{ Links []link }
		decode(t, get(t, "/ogc", "application/json", 200), &page)
		for _, rel := range []string{"self", "service-desc", "service-doc", "conformance", "data"} {
			if !slices.Contains(rels(page.Links), rel) {
				t.Errorf("no link %s", rel)
			}
		}
		for _, l := range page.Links { // each leads to what it names
			if path, ours := strings.CutPrefix(l.Href, s.URL()); ours && l.Rel != "related" {
				if got := get(t, path, l.Type, 200).Header.Get("Content-Type"); !strings.HasPrefix(got, l.Type) {
					t.Errorf("%s is %s, in the link %s", l.Href, got, l.Type)
				}
			}
		}
	})
	t.Run("A.2.2.2 API definition", func(t *testing.T) {
		var api struct {
			OpenAPI string
			Paths   map[string]map[string]struct {
				Parameters []struct {
					Ref             string `json:"$ref"`
					Name, In, Style string
					Explode         *bool
				}
				Responses map[string]any
			}
			Components struct {
				Parameters map[string]struct {
					Name, In, Style string
					Explode         *bool
					Required        bool
					Schema          map[string]any
				}
			}
		}
		decode(t, get(t, "/ogc/api", "application/vnd.oai.openapi+json;version=3.0", 200), &api)
		for _, id := range []string{"hazards", "active-hazards"} {
			operation := api.Paths["/collections/"+id+"/items"]["get"]
			var names []string
			for _, p := range operation.Parameters {
				name := strings.TrimPrefix(p.Ref, "#/components/parameters/")
				if p.Ref == "" {
					name = p.Name
				}
				names = append(names, name)
			}
			for _, name := range []string{"bbox", "limit", "datetime", "filter", "filter-lang", "filter-crs"} {
				if !slices.Contains(names, name) {
					t.Errorf("%s: no parameter %s", id, name)
				}
			}
			if operation.Responses["200"] == nil || operation.Responses["400"] == nil || operation.Responses["404"] == nil {
				t.Errorf("%s: answers %v", id, operation.Responses)
			}
		}
		// Requirements 18, 20, 25: in the query, style form, not exploded.
		for _, name := range []string{"bbox", "limit", "datetime"} {
			p := api.Components.Parameters[name]
			if p.Name != name || p.In != "query" || p.Required || p.Style != "form" || p.Explode == nil || *p.Explode {
				t.Errorf("%s is described as %+v", name, p)
			}
		}
		if limit := api.Components.Parameters["limit"].Schema; limit["type"] != "integer" || limit["minimum"] != 1.0 || limit["maximum"] != 1000.0 || limit["default"] != 100.0 {
			t.Errorf("limit is described as %v", limit)
		}
	})
	t.Run("A.2.2.3 conformance", func(t *testing.T) {
		var c struct{ ConformsTo []string }
		if decode(t, get(t, "/ogc/conformance", "application/json", 200), &c); !slices.Contains(c.ConformsTo, "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core") {
			t.Errorf("%v", c)
		}
	})
	type collection struct {
		ID     string
		Links  []link
		CRS    []string
		Extent struct {
			Spatial  struct{ BBox [][]float64 }
			Temporal struct{ Interval [][]*string }
		}
	}
	t.Run("A.2.2.4 collections", func(t *testing.T) {
		var list struct {
			Links       []link
			Collections []collection
		}
		decode(t, get(t, "/ogc/collections", "application/json", 200), &list)
		if all := rels(list.Links); !slices.Contains(all, "self") || !slices.Contains(all, "alternate") {
			t.Errorf("links %v", all)
		}
		for _, c := range list.Collections {
			var one collection
			decode(t, get(t, "/ogc/collections/"+c.ID, "application/json", 200), &one)
			if !slices.Contains(rels(one.Links), "items") || one.ID != c.ID || !slices.Contains(one.CRS, "http://www.opengis.net/def/crs/OGC/1.3/CRS84") || len(one.Extent.Spatial.BBox) != 1 ||
				len(one.Extent.Spatial.BBox[0]) != 4 || len(one.Extent.Temporal.Interval) != 1 || len(one.Extent.Temporal.Interval[0]) != 2 {
				t.Errorf("%s: %+v", c.ID, one)
			}
		}
		wantProblem(t, get(t, "/ogc/collections/none", "application/json", 404), 404)
	})
	items := func(t *testing.T, query string) (f ogcFeatures) {
		t.Helper()
		a := get(t, "/ogc/collections/hazards/items?"+query, "application/geo+json", 200)
		if got := a.Header.Get("Content-Type"); got != "application/geo+json" {
			t.Errorf("%s is %s", query, got)
		}
		decode(t, a, &f)
		stamp, err := time.Parse(time.RFC3339, f.TimeStamp)
		if f.Type != "FeatureCollection" || f.NumberReturned != len(f.Features) || f.NumberMatched < f.NumberReturned || err != nil || stamp.IsZero() {
			t.Errorf("%s: %s, %d features, %d returned, %d matched at %s", query, f.Type, len(f.Features), f.NumberReturned, f.NumberMatched, f.TimeStamp)
		}
		if linkTo(t, f.Links, "self"); !strings.Contains(linkTo(t, f.Links, "alternate"), "f=html") {
			t.Errorf("%s: links %+v", query, f.Links)
		}
		return f
	}
	t.Run("A.2.2.6 features", func(t *testing.T) {
		all := items(t, "")
		for limit := 1; limit <= 6; limit++ {
			if page := items(t, "limit="+strconv.Itoa(limit)); len(page.Features) != min(limit, 5) || page.NumberMatched != 5 {
				t.Errorf("limit %d: %d of %d", limit, len(page.Features), page.NumberMatched)
			}
		}
		for _, bad := range []string{"limit=-1", "limit=1.5", "bbox=1,2,3", "bbox=1,90,2,-90", "datetime=x/y", "datetime=2026-13-01T00:00:00Z", "unknown=1"} {
			get(t, "/ogc/collections/hazards/items?"+bad, "application/json", 400)
		}
		// A box matches what is in it, and a moment matches what is active then.
		if west := items(t, "bbox=-180,-90,0,90"); west.NumberMatched == 0 || west.NumberMatched == all.NumberMatched {
			t.Errorf("the western half has %d of %d", west.NumberMatched, all.NumberMatched)
		}
		for _, when := range []string{"1900-01-01T00:00:00Z", "../1900-01-01T00:00:00Z", "/1900-01-01T00:00:00Z"} {
			if old := items(t, "datetime="+url.QueryEscape(when)); old.NumberMatched != 0 {
				t.Errorf("%s: %d", when, old.NumberMatched)
			}
		}
		if any := items(t, "datetime="+url.QueryEscape("1900-01-01T00:00:00Z/..")); any.NumberMatched != all.NumberMatched {
			t.Errorf("since 1900: %d", any.NumberMatched)
		}
		// The next link keeps the parameters, and the last page has no next link.
		page := items(t, "limit=4&bbox=-180,-90,180,90")
		next := linkTo(t, page.Links, "next")
		if !strings.Contains(next, "limit=4") || !strings.Contains(next, "bbox=") {
			t.Errorf("next is %s", next)
		}
		last := items(t, strings.SplitN(next, "?", 2)[1])
		if len(last.Features) != 1 || slices.ContainsFunc(last.Links, func(l ogcLink) bool { return l.Rel == "next" }) {
			t.Errorf("the last page has %d features, links %+v", len(last.Features), last.Links)
		}
	})
	t.Run("A.2.2.7 feature", func(t *testing.T) {
		for _, f := range items(t, "").Features {
			a := get(t, "/ogc/collections/hazards/items/"+f.ID, "application/geo+json", 200)
			var one struct {
				Type, ID string
				Geometry struct{ Type string }
				Links    []ogcLink
			}
			decode(t, a, &one)
			if one.Type != "Feature" || one.ID != f.ID || one.Geometry.Type == "" || !strings.HasSuffix(linkTo(t, one.Links, "collection"), "/ogc/collections/hazards") {
				t.Errorf("%s: %.300s", f.ID, a.Body)
			}
			linkTo(t, one.Links, "self")
			linkTo(t, one.Links, "alternate")
		}
		for _, none := range []string{"x", "999999", "00000000-0000-0000-0000-000000000000"} {
			get(t, "/ogc/collections/hazards/items/"+none, "application/json", 404)
		}
	})
	t.Run("A.4 HTML", func(t *testing.T) {
		for _, path := range []string{"/ogc", "/ogc/conformance", "/ogc/collections", "/ogc/collections/hazards", "/ogc/collections/hazards/items", "/ogc/collections/hazards/queryables", "/ogc/collections/hazards/schema"} {
			if a := get(t, path, "text/html,application/xhtml+xml", 200); !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || !strings.Contains(string(a.Body), "<html") {
				t.Errorf("%s: %s", path, a.Header.Get("Content-Type"))
			}
		}
	})
	t.Run("7.3 HTTP", func(t *testing.T) {
		for method, status := range map[string]int{http.MethodPost: 405, http.MethodDelete: 405, http.MethodHead: 200} {
			if a := s.do("reader", method, "/ogc/collections/hazards/items", nil); a.Status != status {
				t.Errorf("%s: %d", method, a.Status)
			}
		}
	})
}
