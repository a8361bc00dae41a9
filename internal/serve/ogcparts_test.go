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

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test"
)

// partIDs are the collections whose features are not hazards.
var partIDs = []string{"points", "areas", "tracks", "bands", "products", "coverage"}

// partScenery creates scenery and parts of hazards: four products, one of them restricted, and
// shapes of the kinds of an earthquake and a storm.
func partScenery(t *testing.T, alter ...func(*app.Config)) *world {
	s := scenery(t, alter...)
	var fire ogcFeatures
	s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?type_ID=WILDFIRE", nil).JSON(t, &fire)
	id := int64(fire.Features[0].Properties["hazard_ID"].(float64))
	s.product("red", id, map[string]any{"title": "Open note", "product_Type": "TEXT_PRODUCT", "data": "Smoke.", "geo_Locations": "POINT(10.5 50.5)"})
	s.product("red", id, map[string]any{"title": "Secret note", "product_Type": "TEXT_PRODUCT", "data": "For red alone.", "security_Flag": "R"})
	s.product("red", id, map[string]any{"title": "Link", "product_Type": "URL_PRODUCT", "data": "https://a.example/"})
	if a := s.upload("red", id, file("title", "Plan"), "plan.txt", []byte("content")); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	now := hazard.At(time.Now())
	s.takeIn("usgs", source.Batch{Reports: []hazard.Report{quake("us7000a", 1)}, Read: 1, Drawings: []source.Drawing{{Key: "us7000a", Part: "shakemap", Version: 1, Shapes: []hazard.Shape{
		{Role: hazard.ContourShape, Band: &hazard.Band{Kind: hazard.Intensity, Value: 6}, From: now, To: now, Geometry: `{"type":"LineString","coordinates":[[1,2],[3,4]]}`},
		{Role: hazard.ContourShape, Band: &hazard.Band{Kind: hazard.Intensity, Value: 7}, From: now, To: now, Geometry: `{"type":"LineString","coordinates":[[1,2],[2,3]]}`},
		{Role: hazard.ExtentShape, From: now, Geometry: `{"type":"Polygon","coordinates":[[[20,2],[23,2],[23,4],[20,2]]]}`},
		{Role: hazard.TrackShape, From: now, Forecast: true, Geometry: `{"type":"LineString","coordinates":[[-40,20],[-50,25]]}`},
		{Role: hazard.PositionShape, From: now.Add(24 * time.Hour), To: now.Add(24 * time.Hour), Forecast: true, Geometry: `{"type":"Point","coordinates":[-50,25]}`},
	}}}})
	return s
}

// The tests of annex A that do not name a collection, for the collections whose features are not
// hazards.
func TestAbstractTestSuiteOverParts(t *testing.T) {
	s := partScenery(t)
	get := func(t *testing.T, path, accept string, status int, into any) {
		t.Helper()
		a := s.do("reader", http.MethodGet, path, nil, "Accept", accept)
		if a.Status != status {
			t.Fatalf("%s: %d %.300s, want %d", path, a.Status, a.Body, status)
		}
		if into != nil {
			if err := json.Unmarshal(a.Body, into); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	var api struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Ref  string `json:"$ref"`
				Name string
			}
		}
	}
	get(t, "/ogc/api", "application/vnd.oai.openapi+json;version=3.0", 200, &api)
	for id, most := range map[string]int{"points": 5, "areas": 1, "tracks": 2, "bands": 3, "products": 3, "coverage": -1} {
		t.Run(id, func(t *testing.T) {
			path := "/ogc/collections/" + id
			for _, below := range []string{"", "/queryables", "/schema", "/items"} {
				get(t, path+below, "text/html", 200, nil)
			}
			var queryables, schema struct{ Properties map[string]json.RawMessage }
			get(t, path+"/queryables", "application/schema+json", 200, &queryables)
			get(t, path+"/schema", "application/schema+json", 200, &schema)
			var features struct {
				Properties map[string]struct{ Type string }
			}
			if err := json.Unmarshal(schema.Properties["properties"], &features); err != nil {
				t.Fatal(err)
			}
			var named []string
			for _, p := range api.Paths["/collections/"+id+"/items"]["get"].Parameters {
				named = append(named, p.Name+strings.TrimPrefix(p.Ref, "#/components/parameters/"))
			}
			for property := range queryables.Properties {
				if property != "geometry" && !slices.Contains(named, property) {
					t.Errorf("the definition lacks the parameter %s", property)
				}
			}
			var all ogcFeatures
			get(t, path+"/items?limit=1000", "application/geo+json", 200, &all)
			if all.NumberMatched != len(all.Features) || all.NumberReturned != len(all.Features) || most >= 0 && len(all.Features) != most || len(all.Features) == 0 {
				t.Fatalf("%d features, %d of %d, want %d", len(all.Features), all.NumberReturned, all.NumberMatched, most)
			}
			linkTo(t, all.Links, "self")
			linkTo(t, all.Links, "alternate")
			size := max(1, len(all.Features)/3)
			var ids, want []string
			for _, f := range all.Features {
				want = append(want, f.ID)
				if len(f.Properties) != len(features.Properties) {
					t.Errorf("%s has %d properties, the schema %d", f.ID, len(f.Properties), len(features.Properties))
				}
				for name, value := range f.Properties {
					kind := map[bool]string{true: "number", false: "string"}[features.Properties[name].Type == "number" || features.Properties[name].Type == "integer"]
					if _, isNumber := value.(float64); value != nil && isNumber != (kind == "number") {
						t.Errorf("%s: %s is %v, in the schema %q", f.ID, name, value, features.Properties[name].Type)
					}
				}
			}
			for next := path + "/items?limit=" + strconv.Itoa(size); next != ""; {
				var page ogcFeatures
				get(t, next, "application/geo+json", 200, &page)
				if page.NumberMatched != len(want) || page.NumberReturned > size {
					t.Errorf("%s: %d of %d", next, page.NumberReturned, page.NumberMatched)
				}
				next = ""
				for _, f := range page.Features {
					ids = append(ids, f.ID)
				}
				for _, l := range page.Links {
					if l.Rel == "next" {
						next = strings.TrimPrefix(l.Href, s.URL())
					}
				}
			}
			if !slices.Equal(ids, want) {
				t.Errorf("on pages %q, in one answer %q", ids, want)
			}
			var one struct {
				Type, ID string
				Geometry json.RawMessage
				Links    []ogcLink
			}
			first := all.Features[0]
			get(t, path+"/items/"+url.PathEscape(first.ID), "application/geo+json", 200, &one)
			if one.ID != first.ID || one.Type != "Feature" || string(one.Geometry) != string(first.Geometry) {
				t.Errorf("the first feature by itself is %+v", one)
			}
			if self := strings.TrimPrefix(linkTo(t, one.Links, "self"), s.URL()); self != path+"/items/"+url.PathEscape(first.ID) {
				t.Errorf("self is %s", self)
			}
			get(t, path+"/items/"+url.PathEscape(first.ID), "text/html", 200, nil)
			get(t, path+"/items/none", "application/geo+json", 404, nil)
			for _, bad := range []string{"limit=0", "bbox=1,2,3", "datetime=x/y", "unknown=1", "cursor=x", "filter=" + url.QueryEscape("nothing = 1"), "geometry=1"} {
				get(t, path+"/items?"+bad, "application/geo+json", 400, nil)
			}
			for query, n := range map[string]int{"datetime=../1900-01-01T00:00:00Z": 0, "datetime=1900-01-01T00:00:00Z/..": len(want), "bbox=-180,-90,180,90": len(want), "bbox=-130,-60,-129,-59&filter=" + url.QueryEscape("id = '"+first.ID+"'"): 0,
				"filter=" + url.QueryEscape("id = '"+first.ID+"'"): 1, "filter=" + url.QueryEscape("NOT id = '"+first.ID+"'"): len(want) - 1, "id=" + url.QueryEscape(first.ID): 1} {
				var some ogcFeatures
				get(t, path+"/items?limit=1000&"+query, "application/geo+json", 200, &some)
				if some.NumberMatched != n || len(some.Features) != n {
					t.Errorf("%s: %d of %d, want %d", query, len(some.Features), some.NumberMatched, n)
				}
			}
		})
	}
}

// Filters can use properties of the part itself and of its hazard.
func TestPartsAreFiltered(t *testing.T) {
	s := partScenery(t)
	for _, tt := range []struct {
		id, query string
		want      int
	}{
		{"areas", "filter=" + url.QueryEscape("role = 'alert' AND type_ID = 'WILDFIRE'"), 1},
		{"areas", "type_ID=FLOOD", 0},
		{"areas", "q=fire", 1},
		{"points", "filter=" + url.QueryEscape("type_ID = 'WILDFIRE' AND S_INTERSECTS(geometry, POINT(10 50))"), 1},
		{"points", "bbox=-50,20,0,30", 0},
		{"areas", "bbox=10,50,10.1,50.1", 1},
		{"bands", "filter=" + url.QueryEscape("band = 'intensity' AND value >= 6.5"), 1},
		{"bands", "filter=" + url.QueryEscape("band IS NULL"), 1},
		{"bands", "filter=" + url.QueryEscape("band <> 'wind'"), 2}, // a part without a band does not match
		{"bands", "filter=" + url.QueryEscape("to_time IS NOT NULL"), 2},
		{"bands", "filter=" + url.QueryEscape("to_time > '2000-01-01'"), 2},
		{"bands", "value=7", 1},
		{"bands", "role=extent", 1},
		{"bands", "bbox=21,2,24,4", 1},
		{"bands", "filter=" + url.QueryEscape("S_INTERSECTS(geometry, POINT(22.9 3))"), 1},
		{"bands", "filter-lang=cql2-json&filter=" + url.QueryEscape(`{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Point","coordinates":[22.9,3]}]}`), 1},
		{"tracks", "filter=" + url.QueryEscape("forecast = 'Y' AND type_ID = 'EARTHQUAKE' AND source = 'usgs'"), 2},
		{"tracks", "bbox=-46,20,-44,24", 1},
		{"tracks", "datetime=" + url.QueryEscape(time.Now().Add(23*time.Hour).UTC().Format(time.RFC3339)+"/.."), 2}, // the track is valid until it is replaced
		{"tracks", "datetime=" + url.QueryEscape("../"+time.Now().Add(23*time.Hour).UTC().Format(time.RFC3339)), 1},
		{"products", "product_Type=FILE_PRODUCT", 1},
		{"products", "filter=" + url.QueryEscape("placed_by = 'product'"), 1},
		{"products", "bbox=10.4,50.4,10.6,50.6", 1},
		{"coverage", "code=KE", 1},
		{"coverage", "filter=" + url.QueryEscape("kind = 'country' AND S_INTERSECTS(geometry, POINT(37 0))"), 1},
	} {
		var f ogcFeatures
		a := s.do("reader", http.MethodGet, "/ogc/collections/"+tt.id+"/items?limit=1000&"+tt.query, nil)
		if a.JSON(t, &f); a.Status != http.StatusOK || f.NumberMatched != tt.want || len(f.Features) != tt.want {
			t.Errorf("%s %s: %d, %d of %d, want %d: %.300s", tt.id, tt.query, a.Status, len(f.Features), f.NumberMatched, tt.want, a.Body)
		}
	}
	for query, id := range map[string]string{"type_ID=FLOOD": "coverage", "q=x": "coverage", "role=alert&role=impact": "areas", "value=x": "bands"} {
		if a := s.do("reader", http.MethodGet, "/ogc/collections/"+id+"/items?"+query, nil); a.Status != http.StatusBadRequest {
			t.Errorf("%s %s: %d", id, query, a.Status)
		}
	}
}

// Only members of its organization find a restricted product, or any sign that it exists.
func TestRestrictedProductsAreNoFeaturesOfOthers(t *testing.T) {
	s := partScenery(t, func(c *app.Config) { c.Public = route.PublicRead })
	var own ogcFeatures
	s.do("red", http.MethodGet, "/ogc/collections/products/items", nil).JSON(t, &own)
	secret := ""
	for _, f := range own.Features {
		if f.Properties["security_Flag"] == "R" {
			secret = f.ID
		}
	}
	if own.NumberMatched != 4 || secret == "" {
		t.Fatalf("red reads %d products: %+v", own.NumberMatched, own.Features)
	}
	for _, who := range []string{"red", "fire", "reader", ""} {
		for _, path := range []string{"", "?f=html", "?filter=" + url.QueryEscape("data LIKE '%red alone%'"), "?limit=1", "/" + secret, "/" + secret + "?f=html"} {
			a := s.do(who, http.MethodGet, "/ogc/collections/products/items"+path, nil)
			tells := strings.Contains(string(a.Body), "Secret") || strings.Contains(string(a.Body), "red alone")
			if who == "red" {
				if path != "?limit=1" && !tells || a.Header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s: %d %s, a member does not read it, or it may be cached: %s", path, a.Status, a.Header.Get("Cache-Control"), a.Body)
				}
				continue
			}
			if tells || strings.HasPrefix(path, "/") && a.Status != http.StatusNotFound {
				t.Errorf("%q at %s: %d %s", who, path, a.Status, a.Body)
			}
			if path == "?limit=1" {
				var f ogcFeatures
				if a.JSON(t, &f); f.NumberMatched != 3 {
					t.Errorf("%q counts %d", who, f.NumberMatched)
				}
			}
		}
	}
}

// GDAL opens the collections of parts with their column types, and leaves conditions to the server.
func TestGDALReadsParts(t *testing.T) {
	test.SeldomButRaced(t)
	run := ogrinfo(t)
	s := partScenery(t)
	address := "OAPIF:" + s.URL() + "/key/" + makeKey(t, s, "red").Key + "/ogc"
	layers := run("-ro", address)
	for _, id := range partIDs {
		if !strings.Contains(layers, id+" ") {
			t.Errorf("no layer %s: %s", id, layers)
		}
	}
	for _, tt := range []struct {
		layer, where string
		want         []string
	}{
		{"areas", "role = 'alert'", []string{"Feature Count: 1", "hazard_Name (String) = Fire", "POLYGON ((9 49,11 49,11 51,9 51,9 49))"}},
		{"bands", "value > 6.5", []string{"Feature Count: 1", "band (String) = intensity", "LINESTRING (1 2,2 3)"}},
		{"tracks", "role = 'position'", []string{"Feature Count: 1", "POINT (-50 25)"}},
		{"products", "product_Type = 'URL_PRODUCT'", []string{"Feature Count: 1", "data (String) = https://a.example/"}},
		{"coverage", "code = 'KE'", []string{"Feature Count: 1", "name (String) = Kenya"}},
	} {
		out := run("-ro", "--debug", "on", "-oo", "PAGE_SIZE=1000", "-where", tt.where, address, tt.layer, "-al")
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("GDAL's output for %s lacks %q: %s", tt.layer, want, out)
			}
		}
		if !strings.Contains(out, "filter=") && !strings.Contains(out, "items?"+strings.Fields(tt.where)[0]+"=") && !strings.Contains(out, "&"+strings.Fields(tt.where)[0]+"=") {
			t.Errorf("%s: GDAL filters the features itself: %s", tt.layer, out)
		}
	}
}

// Pages are also limited in bytes, whatever their format, because a text may have megabytes.
func TestPagesOfPartsAreCutByBytes(t *testing.T) {
	test.NoRace(t)
	test.Seldom(t)
	s := start(t)
	h := s.hazard("red")
	const each = 900_000 // five are more than 4 MiB
	for range 6 {
		s.product("red", h.HazardID, map[string]any{"title": "Long", "product_Type": "TEXT_PRODUCT", "data": strings.Repeat("a", each)})
	}
	for _, form := range []string{"json", "html"} {
		a := s.do("reader", http.MethodGet, "/ogc/collections/products/items?f="+form, nil)
		if a.Status != http.StatusOK || strings.Count(string(a.Body), strings.Repeat("a", each)) != 5 || !strings.Contains(string(a.Body), "cursor=") {
			t.Errorf("%s: %d, %d bytes", form, a.Status, len(a.Body))
		}
	}
}
