package serve_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test/server"
)

// ogcSuite performs the abstract tests of OGC API – Features – Parts 1 to 3 (annex A of OGC 17-069r4,
// 18-058r1 and 19-079r2), of CQL2 (OGC 21-065r2) and of OGC API – Tiles – Part 1 (OGC 20-057) on a service.
type ogcSuite struct {
	*testing.T
	s   *world
	api struct {
		OpenAPI  string
		Security []any
		Paths    map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Ref  string `json:"$ref"`
				Name string
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
}

const ogcFeaturesItems = "/ogc/collections/hazards/items"

// get fetches a path. status is what is expected.
func (o *ogcSuite) get(path, accept string, status int) server.Answer {
	o.Helper()
	a := o.s.do("reader", http.MethodGet, path, nil, "Accept", accept)
	if a.Status != status {
		o.Fatalf("%s: %d %.300s, want %d", path, a.Status, a.Body, status)
	}
	return a
}

// read decodes a document.
func (o *ogcSuite) read(path, accept string, into any) server.Answer {
	o.Helper()
	a := o.get(path, accept, 200)
	if err := json.Unmarshal(a.Body, into); err != nil {
		o.Fatalf("%s: %v: %.300s", path, err, a.Body)
	}
	return a
}

// items reads a page of hazards.
func (o *ogcSuite) items(parameters ...string) (f ogcFeatures) {
	o.Helper()
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	o.read(ogcFeaturesItems+"?"+v.Encode(), "application/geo+json", &f)
	return f
}

func (o *ogcSuite) bad(parameters ...string) {
	o.Helper()
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	wantProblem(o.T, o.get(ogcFeaturesItems+"?"+v.Encode(), "application/json", 400), 400)
}

type ogcDocument struct {
	ID, StorageCRS  string
	Links           []ogcLink
	CRS, ConformsTo []string
	Collections     []ogcDocument
	Extent          struct {
		Spatial struct {
			BBox [][]float64
			CRS  string
		}
		Temporal struct{ Interval [][]*string }
	}
}

func (o *ogcSuite) document(path string) (d ogcDocument) {
	o.Helper()
	o.read(path, "application/json", &d)
	return d
}

// links checks that links of these relations are there, and that all have a type.
func (o *ogcSuite) links(links []ogcLink, rels ...string) {
	o.Helper()
	for _, rel := range rels {
		linkTo(o.T, links, rel)
	}
	for _, l := range links {
		if l.Href == "" || l.Rel == "" || l.Type == "" {
			o.Errorf("a link without href, rel or type: %+v", l)
		}
	}
}

// defined checks that the definition of each collection's items has a parameter, as style form and
// not exploded.
func (o *ogcSuite) defined(name string) {
	o.Helper()
	for path, operations := range o.api.Paths {
		if strings.HasSuffix(path, "/items") && !slices.ContainsFunc(operations["get"].Parameters, func(p struct {
			Ref  string `json:"$ref"`
			Name string
		}) bool {
			return p.Ref == "#/components/parameters/"+name
		}) {
			o.Errorf("%s lacks the parameter %s", path, name)
		}
	}
	p := o.api.Components.Parameters[name]
	if p.Name != name || p.In != "query" || p.Required || p.Style != "form" || p.Explode == nil || *p.Explode {
		o.Errorf("%s is described as %+v", name, p)
	}
}

func (o *ogcSuite) conforms(class string) {
	o.Helper()
	if d := o.document("/ogc/conformance"); !slices.Contains(d.ConformsTo, "http://www.opengis.net/spec/"+class) {
		o.Errorf("%s is not declared", class)
	}
}

// page reads a page for people.
func (o *ogcSuite) page(path string) {
	o.Helper()
	if a := o.get(path, "text/html,application/xhtml+xml", 200); !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") || !strings.Contains(string(a.Body), "<html") {
		o.Errorf("%s: %s", path, a.Header.Get("Content-Type"))
	}
}

// abstractTest is a test of a standard. run is nil where it cannot be performed.
type abstractTest struct {
	name string
	run  func(o *ogcSuite)
}

// classes are the conformance classes in the order of their standards, with the tests of each.
func ogcClasses() []struct {
	name  string
	tests []abstractTest
} {
	return []struct {
		name  string
		tests []abstractTest
	}{
		{"ogcapi-features-1/1.0/conf/core", part1Core()},
		{"ogcapi-features-1/1.0/conf/geojson", part1GeoJSON()},
		{"ogcapi-features-1/1.0/conf/html", part1HTML()},
		{"ogcapi-features-1/1.0/conf/oas30", part1OAS30()},
		{"ogcapi-features-2/1.0/conf/crs", part2CRS()},
		{"ogcapi-features-3/1.0/conf/queryables", part3Queryables()},
		{"ogcapi-features-3/1.0/conf/queryables-query-parameters", part3Parameters()},
		{"ogcapi-features-3/1.0/conf/filter", part3Filter()},
		{"ogcapi-features-3/1.0/conf/features-filter", part3FeaturesFilter()},
		{"cql2/1.0/conf/cql2-text", cqlText()},
		{"cql2/1.0/conf/cql2-json", cqlJSON()},
		{"cql2/1.0/conf/basic-cql2", basicCQL2()},
		{"cql2/1.0/conf/advanced-comparison-operators", cqlAdvanced()},
		{"cql2/1.0/conf/case-insensitive-comparison", cqlCaseI()},
		{"cql2/1.0/conf/basic-spatial-functions", cqlSpatial()},
		{"cql2/1.0/conf/basic-spatial-functions-plus", cqlSpatialPlus()},
		{"cql2/1.0/conf/temporal-functions", cqlTemporal()},
		{"ogcapi-tiles-1/1.0/conf/core", tilesCore()},
		{"ogcapi-tiles-1/1.0/conf/tileset", tilesTileset()},
		{"ogcapi-tiles-1/1.0/conf/tilesets-list", tilesList()},
		{"ogcapi-tiles-1/1.0/conf/dataset-tilesets", tilesDataset()},
		{"ogcapi-tiles-1/1.0/conf/oas30", tilesOAS30()},
		{"ogcapi-tiles-1/1.0/conf/mvt", tilesMVT()},
		{"tms/2.0/conf/tilematrixset", gridModel()},
		{"tms/2.0/conf/tilematrixsetlimits", gridLimits()},
		{"tms/2.0/conf/tilesetmetadata", tilesetModel()},
		{"tms/2.0/conf/json-tilematrixset", jsonOf(gridModel()[0].run, "/ogc/tileMatrixSets/WebMercatorQuad", true)},
		{"tms/2.0/conf/json-tilematrixsetlimits", jsonOf(gridLimits()[0].run, "/ogc/tiles/WebMercatorQuad", false)},
		{"tms/2.0/conf/json-tilesetmetadata", jsonOf(tilesetModel()[1].run, "/ogc/tiles/WebMercatorQuad", true)},
	}
}

// The table in docs/decisions/programs.md says how many abstract tests of each class passed. It has every
// class that the service declares.
func TestAbstractTestSuites(t *testing.T) {
	s := scenery(t)
	doc, err := os.ReadFile("../../docs/decisions/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	o := &ogcSuite{T: t, s: s}
	o.read("/ogc/api", "application/vnd.oai.openapi+json;version=3.0", &o.api)
	var declared []string
	for _, class := range ogcClasses() {
		declared = append(declared, "http://www.opengis.net/spec/"+class.name)
		passed, left := 0, []string{}
		t.Run(class.name, func(t *testing.T) {
			for _, test := range class.tests {
				if test.run == nil {
					left = append(left, "`"+test.name+"`")
					continue
				}
				if t.Run(test.name, func(t *testing.T) {
					one := *o
					one.T = t
					test.run(&one)
				}) {
					passed++
				}
			}
		})
		row := strings.ReplaceAll(fmt.Sprintf("| `%s` | %d of %d | %s |", class.name, passed, len(class.tests), strings.Join(left, ", ")), "  ", " ")
		fmt.Println(row)
		if !strings.Contains(string(doc), row) {
			t.Errorf("docs/decisions/programs.md lacks the row %s", row)
		}
	}
	slices.Sort(declared)
	if all := o.document("/ogc/conformance").ConformsTo; !slices.Equal(slices.Sorted(slices.Values(all)), declared) {
		t.Errorf("/ogc/conformance declares %q, and tested are %q", all, declared)
	}
}

func part1Core() []abstractTest {
	return []abstractTest{
		{"http", func(o *ogcSuite) {
			for method, status := range map[string]int{http.MethodPost: 405, http.MethodDelete: 405, http.MethodHead: 200} {
				if a := o.s.do("reader", method, ogcFeaturesItems, nil); a.Status != status {
					o.Errorf("%s: %d", method, a.Status)
				}
			}
		}},
		{"root-op", func(o *ogcSuite) { o.get("/ogc", "application/json", 200) }},
		{"root-success", func(o *ogcSuite) {
			d := o.document("/ogc")
			o.links(d.Links, "self", "service-desc", "service-doc", "conformance", "data")
			for _, l := range d.Links { // each leads to what it names
				if path, ours := strings.CutPrefix(l.Href, o.s.URL()); ours && l.Rel != "related" {
					if got := o.get(path, l.Type, 200).Header.Get("Content-Type"); !strings.HasPrefix(got, l.Type) {
						o.Errorf("%s is %s, in the link %s", l.Href, got, l.Type)
					}
				}
			}
		}},
		{"api-definition-op", func(o *ogcSuite) {
			path := strings.TrimPrefix(linkTo(o.T, o.document("/ogc").Links, "service-desc"), o.s.URL())
			o.get(path, "application/vnd.oai.openapi+json;version=3.0", 200)
		}},
		{"api-definition-success", func(o *ogcSuite) {
			if o.api.OpenAPI != "3.0.3" || len(o.api.Paths) < 10 {
				o.Errorf("OpenAPI %s with %d paths", o.api.OpenAPI, len(o.api.Paths))
			}
		}},
		{"conformance-op", func(o *ogcSuite) { o.get("/ogc/conformance", "application/json", 200) }},
		{"conformance-success", func(o *ogcSuite) { o.conforms("ogcapi-features-1/1.0/conf/core") }},
		{"fc-md-op", func(o *ogcSuite) { o.get("/ogc/collections", "application/json", 200) }},
		{"fc-md-success", func(o *ogcSuite) {
			d := o.document("/ogc/collections")
			o.links(d.Links, "self", "alternate")
			for _, c := range d.Collections {
				o.links(c.Links, "items")
			}
		}},
		{"sfc-md-op", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				o.get("/ogc/collections/"+c.ID, "application/json", 200)
			}
			wantProblem(o.T, o.get("/ogc/collections/none", "application/json", 404), 404)
		}},
		{"sfc-md-success", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				one := o.document("/ogc/collections/" + c.ID)
				if o.links(one.Links, "items", "self", "alternate"); one.ID != c.ID || len(one.Extent.Spatial.BBox) != 1 || len(one.Extent.Spatial.BBox[0]) != 4 || len(one.Extent.Temporal.Interval) != 1 ||
					len(one.Extent.Temporal.Interval[0]) != 2 {
					o.Errorf("%s: %+v", c.ID, one)
				}
			}
		}},
		{"fc-op", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				o.get("/ogc/collections/"+c.ID+"/items", "application/json", 200)
			}
		}},
		{"fc-bbox-definition", func(o *ogcSuite) { o.defined("bbox") }},
		{"fc-bbox-response", func(o *ogcSuite) {
			for box, want := range map[string]int{"-180,-90,180,90": 5, "-110,30,-90,50": 1, "170,-30,-170,0": 1, "-110,30,0,-90,50,1": 1, "8,48,9.5,49.5": 1} {
				if f := o.items("bbox", box); f.NumberMatched != want {
					o.Errorf("%s has %d, want %d", box, f.NumberMatched, want)
				}
			}
		}},
		{"fc-limit-definition", func(o *ogcSuite) {
			o.defined("limit")
			if s := o.api.Components.Parameters["limit"].Schema; s["type"] != "integer" || s["minimum"] != 1.0 || s["maximum"] != 1000.0 || s["default"] != 100.0 {
				o.Errorf("%v", s)
			}
		}},
		{"fc-limit-response", func(o *ogcSuite) {
			for limit := 1; limit <= 6; limit++ {
				if f := o.items("limit", strconv.Itoa(limit)); len(f.Features) != min(limit, 5) || f.NumberMatched != 5 {
					o.Errorf("limit %d: %d of %d", limit, len(f.Features), f.NumberMatched)
				}
			}
			o.items("limit", "100000")
		}},
		{"fc-time-definition", func(o *ogcSuite) { o.defined("datetime") }},
		{"fc-time-response", func(o *ogcSuite) {
			for when, want := range map[string]int{"1900-01-01T00:00:00Z": 0, "../1900-01-01T00:00:00Z": 0, "/1900-01-01T00:00:00Z": 0, "1900-01-01T00:00:00Z/..": 5, "1900-01-01T00:00:00Z/2900-01-01T00:00:00Z": 5} {
				if f := o.items("datetime", when); f.NumberMatched != want {
					o.Errorf("%s has %d, want %d", when, f.NumberMatched, want)
				}
			}
		}},
		{"query-param-unknown", func(o *ogcSuite) { o.bad("unknown", "1") }},
		{"query-param-invalid", func(o *ogcSuite) {
			for name, values := range map[string][]string{"limit": {"-1", "0", "1.5"}, "bbox": {"1,2,3", "1,90,2,-90", "a,b,c,d"}, "datetime": {"x/y", "2026-13-01T00:00:00Z"}} {
				for _, v := range values {
					o.bad(name, v)
				}
			}
		}},
		{"fc-response", func(o *ogcSuite) {
			if f := o.items(); f.Type != "FeatureCollection" || len(f.Features) != 5 {
				o.Errorf("%s of %d", f.Type, len(f.Features))
			}
		}},
		{"fc-links", func(o *ogcSuite) {
			f := o.items("limit", "4", "bbox", "-180,-90,180,90")
			o.links(f.Links, "self", "alternate", "next")
			next := linkTo(o.T, f.Links, "next")
			var last ogcFeatures
			o.read(strings.TrimPrefix(next, o.s.URL()), "application/geo+json", &last)
			if !strings.Contains(next, "limit=4") || !strings.Contains(next, "bbox=") || len(last.Features) != 1 || slices.ContainsFunc(last.Links, func(l ogcLink) bool { return l.Rel == "next" }) {
				o.Errorf("next is %s, with %d features and links %+v", next, len(last.Features), last.Links)
			}
		}},
		{"fc-rel-type", func(o *ogcSuite) { o.links(o.items("limit", "1").Links) }},
		{"fc-timeStamp", func(o *ogcSuite) {
			if at, err := time.Parse(time.RFC3339, o.items().TimeStamp); err != nil || time.Since(at).Abs() > time.Hour {
				o.Errorf("%v %v", at, err)
			}
		}},
		{"fc-numberMatched", func(o *ogcSuite) {
			if f := o.items("limit", "2"); f.NumberMatched != 5 {
				o.Errorf("%d", f.NumberMatched)
			}
		}},
		{"fc-numberReturned", func(o *ogcSuite) {
			if f := o.items("limit", "2"); f.NumberReturned != len(f.Features) {
				o.Errorf("%d of %d", f.NumberReturned, len(f.Features))
			}
		}},
		{"f-op", func(o *ogcSuite) {
			for _, f := range o.items().Features {
				o.get(ogcFeaturesItems+"/"+f.ID, "application/geo+json", 200)
			}
			for _, none := range []string{"x", "999999", "00000000-0000-0000-0000-000000000000"} {
				o.get(ogcFeaturesItems+"/"+none, "application/json", 404)
			}
		}},
		{"f-success", func(o *ogcSuite) {
			for _, f := range o.items().Features {
				var one struct {
					Type, ID   string
					Geometry   json.RawMessage
					Properties map[string]any
				}
				if o.read(ogcFeaturesItems+"/"+f.ID, "application/geo+json", &one); one.Type != "Feature" || one.ID != f.ID || string(one.Geometry) != string(f.Geometry) || len(one.Properties) != len(f.Properties) {
					o.Errorf("%s is %+v, in the list %+v", f.ID, one, f)
				}
			}
		}},
		{"f-links", func(o *ogcSuite) {
			var one struct{ Links []ogcLink }
			o.read(ogcFeaturesItems+"/"+o.items().Features[0].ID, "application/geo+json", &one)
			o.links(one.Links, "self", "alternate", "collection")
		}},
		{"crs84", func(o *ogcSuite) {
			for _, f := range o.items("filter", "hazard_Name = 'Flood West'").Features {
				if string(f.Geometry) != `{"type":"Point","coordinates":[-100,40]}` {
					o.Errorf("%s", f.Geometry)
				}
			}
		}},
	}
}

func part1GeoJSON() []abstractTest {
	return []abstractTest{
		{"definition", func(o *ogcSuite) {
			for path, want := range map[string]string{"/ogc": "application/json", ogcFeaturesItems: "application/geo+json", ogcFeaturesItems + "/" + o.items().Features[0].ID: "application/geo+json"} {
				if got := o.get(path, want, 200).Header.Get("Content-Type"); got != want {
					o.Errorf("%s is %s", path, got)
				}
			}
		}},
		{"content", func(o *ogcSuite) {
			for _, f := range o.items().Features {
				if f.ID == "" || f.Properties == nil || len(f.Geometry) == 0 {
					o.Errorf("%+v", f)
				}
			}
		}},
	}
}

func part1HTML() []abstractTest {
	paths := []string{"/ogc", "/ogc/conformance", "/ogc/collections", "/ogc/collections/hazards", ogcFeaturesItems}
	return []abstractTest{
		{"definition", func(o *ogcSuite) {
			for _, path := range paths {
				o.page(path)
			}
		}},
		{"content", func(o *ogcSuite) {
			for _, f := range o.items().Features {
				if body := string(o.get(ogcFeaturesItems, "text/html", 200).Body); !strings.Contains(body, fmt.Sprint(f.Properties["hazard_Name"])) {
					o.Errorf("the page lacks %v", f.Properties["hazard_Name"])
				}
			}
		}},
	}
}

func part1OAS30() []abstractTest {
	return []abstractTest{
		{"oas-definition-1", func(o *ogcSuite) {
			if got := o.get("/ogc/api", "application/vnd.oai.openapi+json;version=3.0", 200).Header.Get("Content-Type"); got != "application/vnd.oai.openapi+json;version=3.0" {
				o.Errorf("%s", got)
			}
		}},
		{"oas-definition-2", func(o *ogcSuite) {
			if !strings.HasPrefix(o.api.OpenAPI, "3.0.") {
				o.Errorf("%s", o.api.OpenAPI)
			}
		}},
		{"oas-impl", func(o *ogcSuite) { // each path without variables answers as it is defined
			for path := range o.api.Paths {
				if !strings.Contains(path, "{") {
					o.get("/ogc"+strings.TrimSuffix(path, "/"), "*/*", 200)
				}
			}
		}},
		{"completeness", func(o *ogcSuite) {
			for path, operations := range o.api.Paths {
				if operations["get"].Responses["200"] == nil || operations["get"].Responses["404"] == nil {
					o.Errorf("%s: answers %v", path, operations["get"].Responses)
				}
			}
		}},
		{"exceptions-codes", func(o *ogcSuite) {
			for path, operations := range o.api.Paths {
				if operations["get"].Responses["400"] == nil {
					o.Errorf("%s: answers %v", path, operations["get"].Responses)
				}
			}
			o.bad("limit", "x")
		}},
		{"security", func(o *ogcSuite) {
			if len(o.api.Security) == 0 {
				o.Error("the definition says nothing of tokens")
			}
			if a := o.s.do("", http.MethodGet, "/ogc", nil); a.Status != 403 {
				o.Errorf("without a token: %d", a.Status)
			}
		}},
	}
}

// epsg begins the names of reference systems.
const epsg = "http://www.opengis.net/def/crs/EPSG/0/"

const crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

func part2CRS() []abstractTest {
	fire := func(o *ogcSuite, parameters ...string) (a server.Answer, corners [][2]float64) {
		o.Helper()
		v := url.Values{"filter": {"hazard_Name = 'Fire'"}}
		for i := 0; i < len(parameters); i += 2 {
			v.Set(parameters[i], parameters[i+1])
		}
		var f struct {
			Features []struct {
				Geometry struct{ Coordinates [][][2]float64 }
			}
		}
		a = o.read(ogcFeaturesItems+"?"+v.Encode(), "application/geo+json", &f)
		if len(f.Features) != 1 || len(f.Features[0].Geometry.Coordinates) != 1 {
			o.Fatalf("%s", a.Body)
		}
		return a, f.Features[0].Geometry.Coordinates[0]
	}
	return []abstractTest{
		{"crs-uri", func(o *ogcSuite) {
			name := regexp.MustCompile(`^http://www\.opengis\.net/def/crs/(OGC/1\.3/CRS84|EPSG/0/\d+)$`)
			for _, uri := range o.document("/ogc/collections").CRS {
				if !name.MatchString(uri) {
					o.Errorf("%s", uri)
				}
			}
		}},
		{"fc-md-crs-list", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				if one := o.document("/ogc/collections/" + c.ID); len(one.CRS) < 100 || one.CRS[0] != crs84 || !slices.Contains(one.CRS, epsg+"3857") || !slices.Contains(one.CRS, epsg+"25832") {
					o.Errorf("%s: %v", c.ID, one.CRS)
				}
			}
		}},
		{"fc-md-crs-list-global", func(o *ogcSuite) {
			d := o.document("/ogc/collections")
			for _, c := range d.Collections {
				if !slices.Equal(c.CRS, []string{"#/crs"}) || !slices.Equal(d.CRS, o.document("/ogc/collections/"+c.ID).CRS) {
					o.Errorf("%s: %v", c.ID, c.CRS)
				}
			}
		}},
		{"fc-md-storageCrs", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				if one := o.document("/ogc/collections/" + c.ID); one.StorageCRS != crs84 || !slices.Contains(one.CRS, one.StorageCRS) {
					o.Errorf("%s: %s", c.ID, one.StorageCRS)
				}
			}
		}},
		{"fc-bbox-crs-definition", func(o *ogcSuite) { o.defined("bbox-crs") }},
		{"fc-bbox-crs-valid-value", func(o *ogcSuite) {
			o.bad("bbox", "1,2,3,4", "bbox-crs", epsg+"1")
			o.bad("bbox", "1,2,3,4", "bbox-crs", "EPSG:4326")
		}},
		{"fc-bbox-crs-default-value", func(o *ogcSuite) {
			if a, b := o.items("bbox", "-110,30,-90,50"), o.items("bbox", "-110,30,-90,50", "bbox-crs", crs84); a.NumberMatched != 1 || b.NumberMatched != 1 {
				o.Errorf("%d and %d", a.NumberMatched, b.NumberMatched)
			}
		}},
		{"fc-bbox-crs-action", func(o *ogcSuite) {
			for code, boxes := range map[string]map[string]int{
				"4326":  {"30,-110,50,-90": 1, "-30,170,0,-170": 1, "-90,-180,90,180": 5, "48,8,49.5,9.5": 1, "60,8,61,9": 0},
				"3857":  {"-12300000,3500000,-10000000,6400000": 1, "-20037508.34,-20048966.1,20037508.34,20048966.1": 5, "1000000,6400000,1100000,6500000": 1},
				"25832": {"500000,5400000,600000,5500000": 1, "100000,5400000,200000,5500000": 0},
				"3035":  {"2800000,4200000,3000000,4400000": 1},
			} {
				for box, want := range boxes {
					if f := o.items("bbox", box, "bbox-crs", epsg+code); f.NumberMatched != want {
						o.Errorf("%s in %s: %d, want %d", box, code, f.NumberMatched, want)
					}
				}
			}
		}},
		{"fc-crs-definition", func(o *ogcSuite) { o.defined("crs") }},
		{"fc-crs-valid-value", func(o *ogcSuite) {
			o.bad("crs", epsg+"1")
			o.get(ogcFeaturesItems+"/"+o.items().Features[0].ID+"?crs="+epsg+"1", "application/json", 400)
		}},
		{"fc-crs-default-value", func(o *ogcSuite) {
			_, plain := fire(o)
			if _, same := fire(o, "crs", crs84); !slices.Equal(plain, same) {
				o.Errorf("%v and %v", plain, same)
			}
		}},
		{"fc-crs-action", func(o *ogcSuite) { // the figures are those of PROJ
			for code, want := range map[string][2]float64{"4326": {49, 9}, "3857": {1001875.417, 6274861.394}, "25832": {500000, 5427455.781}, "3035": {2876809.575, 4247809.875}} {
				_, corners := fire(o, "crs", epsg+code)
				if !slices.ContainsFunc(corners, func(p [2]float64) bool { return math.Hypot(p[0]-want[0], p[1]-want[1]) < 1 }) {
					o.Errorf("%s: %v has no corner %v", code, corners, want)
				}
			}
			// Where a system has no such place, there is no geometry.
			for _, f := range o.items("crs", epsg+"25832", "filter", "hazard_Name = 'Flood East'").Features {
				if string(f.Geometry) != "null" {
					o.Errorf("%s", f.Geometry)
				}
			}
		}},
		{"ogc-crs-header", func(o *ogcSuite) {
			for path, want := range map[string]string{"": crs84, "?crs=" + epsg + "3857": epsg + "3857"} {
				if a := o.get(ogcFeaturesItems+path, "application/geo+json", 200); a.Header.Get("Content-Crs") != "<"+want+">" {
					o.Errorf("%s: %q", path, a.Header.Get("Content-Crs"))
				}
			}
		}},
		{"ogc-crs-header-value", func(o *ogcSuite) {
			id := o.items().Features[0].ID
			if a := o.get(ogcFeaturesItems+"/"+id+"?crs="+epsg+"4326", "application/geo+json", 200); a.Header.Get("Content-Crs") != "<"+epsg+"4326>" {
				o.Errorf("%q", a.Header.Get("Content-Crs"))
			}
		}},
		{"geojson", func(o *ogcSuite) { // boxes in degrees do not go with other positions
			if a, _ := fire(o, "crs", epsg+"25832"); strings.Contains(string(a.Body), `"bbox"`) {
				o.Errorf("%s", a.Body)
			}
		}},
	}
}

func part3Queryables() []abstractTest {
	const path = "/ogc/collections/hazards/queryables"
	return []abstractTest{
		{"get-conformance", func(o *ogcSuite) { o.conforms("ogcapi-features-3/1.0/conf/queryables") }},
		{"get-queryables-uris", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				const rel = "http://www.opengis.net/def/rel/ogc/1.0/queryables"
				items := o.s.do("reader", http.MethodHead, "/ogc/collections/"+c.ID+"/items", nil, "Accept", "application/json")
				if want := "<" + linkTo(o.T, o.document("/ogc/collections/"+c.ID).Links, rel) + `>; rel="` + rel + `"`; items.Status != 200 || !strings.Contains(strings.Join(items.Header.Values("Link"), ", "), want) {
					o.Errorf("%s: %d, links %q lack %s", c.ID, items.Status, items.Header.Values("Link"), want)
				}
			}
		}},
		{"get-queryables", func(o *ogcSuite) {
			var q struct {
				Schema     string `json:"$schema"`
				ID         string `json:"$id"`
				Type       string
				Properties map[string]struct{ Type, Format string }
			}
			if o.read(path, "application/schema+json", &q); q.Schema != "https://json-schema.org/draft/2020-12/schema" || q.ID != o.s.URL()+path || q.Type != "object" ||
				q.Properties["geometry"].Format != "geometry-any" || q.Properties["hazard_Name"].Type != "string" {
				o.Errorf("%+v", q)
			}
		}},
	}
}

func part3Parameters() []abstractTest {
	return []abstractTest{
		{"get-conformance", func(o *ogcSuite) { o.conforms("ogcapi-features-3/1.0/conf/queryables-query-parameters") }},
		{"query-param", func(o *ogcSuite) {
			if f := o.items("hazard_Name", "Fire"); f.NumberMatched != 1 {
				o.Errorf("%d", f.NumberMatched)
			}
			if f := o.items("type_ID", "FLOOD", "severity_ID", "ADVISORY"); f.NumberMatched != 1 {
				o.Errorf("%d", f.NumberMatched)
			}
			values := map[string]string{"string": "foo", "boolean": "true", "number": "3.14", "integer": "1", "timestamp": "2022-04-14T14:48:46Z"}
			own := map[string]string{"type_ID": "FLOOD", "severity_ID": "WARNING", "category_ID": "EVENT", "status": "A", "source": "usgs"}
			for name, kind := range o.kindsOf("hazards") {
				if kind != "geometry" {
					o.items(name, cmp.Or(own[name], values[kind]))
				}
				if kind != "geometry" && kind != "string" {
					o.bad(name, "not a "+kind)
				}
			}
		}},
	}
}

// everywhere checks that a box of the whole world, in a reference system, finds all features.
func (o *ogcSuite) everywhere(crs, box string) {
	o.Helper()
	for _, c := range o.document("/ogc/collections").Collections {
		var all, inside ogcFeatures
		path := "/ogc/collections/" + c.ID + "/items?limit=1000"
		o.read(path, "application/geo+json", &all)
		v := url.Values{"filter": {"S_INTERSECTS(geometry," + box + ")"}}
		if crs != "" {
			v.Set("filter-crs", crs)
		}
		o.read(path+"&"+v.Encode(), "application/geo+json", &inside)
		if inside.NumberMatched != all.NumberMatched {
			o.Errorf("%s: %d of %d in %s of %s", c.ID, inside.NumberMatched, all.NumberMatched, box, crs)
		}
	}
}

func part3Filter() []abstractTest {
	return []abstractTest{
		{"get-conformance", func(o *ogcSuite) { o.conforms("ogcapi-features-3/1.0/conf/filter") }},
		{"filter-param", func(o *ogcSuite) {
			o.defined("filter")
			for _, lang := range []string{"cql2-text", "cql2-json"} {
				filter := map[string]string{"cql2-text": "hazard_Name = 'Fire'", "cql2-json": `{"op":"=","args":[{"property":"hazard_Name"},"Fire"]}`}[lang]
				if f := o.items("filter", filter, "filter-lang", lang); f.NumberMatched != 1 {
					o.Errorf("%s: %d", lang, f.NumberMatched)
				}
				o.bad("filter", "THIS IS NOT A FILTER", "filter-lang", lang)
			}
		}},
		{"filter-lang-default", func(o *ogcSuite) {
			o.defined("filter-lang")
			if f := o.items("filter", "hazard_Name = 'Fire'"); f.NumberMatched != 1 {
				o.Errorf("%d", f.NumberMatched)
			}
			o.bad("filter", "THIS IS NOT A FILTER")
			o.bad("filter", "TRUE", "filter-lang", "sql")
		}},
		{"expression-construction", func(o *ogcSuite) { o.bad("filter", "this_is_not_a_queryable IS NULL") }},
		{"filter-crs-wgs84", func(o *ogcSuite) {
			o.everywhere("", "BBOX(-180,-90,180,90)")
			o.bad("filter", "S_INTERSECTS(geometry,BBOX(1000000,1000000,2000000,2000000))")
		}},
		{"filter-crs-param", func(o *ogcSuite) {
			o.defined("filter-crs")
			o.everywhere(crs84, "BBOX(-180,-90,180,90)")
			o.everywhere(epsg+"4326", "BBOX(-90,-180,90,180)")
			o.bad("filter", "TRUE", "filter-crs", "http://www.opengis.net/def/crs/OGC/0/does_not_exist")
			for code, place := range map[string]string{"4326": "POINT(50 10)", "3857": "POINT(1113195 6446276)", "25832": "BBOX(500000,5400000,600000,5500000)"} {
				if f := o.items("filter", "S_INTERSECTS(geometry,"+place+")", "filter-crs", epsg+code); f.NumberMatched != 1 {
					o.Errorf("%s: %d", code, f.NumberMatched)
				}
			}
			if f := o.items("filter", `{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Point","coordinates":[50,10]}]}`, "filter-lang", "cql2-json", "filter-crs", epsg+"4326"); f.NumberMatched != 1 {
				o.Errorf("as JSON: %d", f.NumberMatched)
			}
		}},
		{"get-functions", nil}, // there are no functions of our own
	}
}

func part3FeaturesFilter() []abstractTest {
	return []abstractTest{
		{"get-conformance", func(o *ogcSuite) { o.conforms("ogcapi-features-3/1.0/conf/features-filter") }},
		{"get-collections", func(o *ogcSuite) {
			if all := o.document("/ogc/collections").Collections; len(all) != 8 {
				o.Errorf("%d collections", len(all))
			}
		}},
		{"get-collection", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				path := "/ogc/collections/" + c.ID
				if got := linkTo(o.T, o.document(path).Links, "http://www.opengis.net/def/rel/ogc/1.0/queryables"); got != o.s.URL()+path+"/queryables" {
					o.Errorf("%s: %s", c.ID, got)
				}
			}
		}},
		{"filter-on-items", func(o *ogcSuite) {
			for _, c := range o.document("/ogc/collections").Collections {
				o.get("/ogc/collections/"+c.ID+"/items?filter=FALSE", "application/geo+json", 200)
				o.get("/ogc/collections/"+c.ID+"/items?filter=THIS+IS+NOT+A+FILTER", "application/geo+json", 400)
			}
		}},
		{"mixing-expression", func(o *ogcSuite) {
			for _, c := range []struct {
				filter, bbox string
				want         int
			}{{"type_ID = 'FLOOD'", "-110,30,-90,50", 1}, {"S_INTERSECTS(geometry,BBOX(-180,-90,180,90))", "-180,-90,180,90", 5}, {"S_INTERSECTS(geometry,BBOX(-110,30,-90,50))", "90,30,110,50", 0}} {
				if f := o.items("filter", c.filter, "bbox", c.bbox, "datetime", "1900-01-01T00:00:00Z/.."); f.NumberMatched != c.want {
					o.Errorf("%s and %s: %d", c.filter, c.bbox, f.NumberMatched)
				}
			}
		}},
	}
}

type tileset struct {
	CRS    string
	Grid   string `json:"tileMatrixSetURI"`
	Type   string `json:"dataType"`
	Links  []ogcLink
	Limits []struct{ TileMatrix string } `json:"tileMatrixSetLimits"`
	Layers []struct{ ID string }
}

// pathParameter checks that the definition of a tile has a parameter of a type.
func (o *ogcSuite) pathParameter(name, kind string) {
	o.Helper()
	if p := o.api.Components.Parameters[name]; p.In != "path" || !p.Required || p.Schema["type"] != kind || !slices.ContainsFunc(o.api.Paths["/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}"]["get"].Parameters,
		func(p struct {
			Ref  string `json:"$ref"`
			Name string
		}) bool {
			return p.Ref == "#/components/parameters/"+name
		}) {
		o.Errorf("%s is %+v", name, p)
	}
}

func tilesCore() []abstractTest {
	return []abstractTest{
		{"conformance-success", func(o *ogcSuite) { o.conforms("ogcapi-tiles-1/1.0/conf/core") }},
		{"tc-op", func(o *ogcSuite) { o.get("/ogc/tiles/WebMercatorQuad/2/1/2", "*/*", 200) }},
		{"tc-tilematrix-definition", func(o *ogcSuite) { o.pathParameter("tileMatrix", "string") }},
		{"tc-tilerow-definition", func(o *ogcSuite) { o.pathParameter("tileRow", "integer") }},
		{"tc-tilecol-definition", func(o *ogcSuite) { o.pathParameter("tileCol", "integer") }},
		{"tc-success", func(o *ogcSuite) {
			if a := o.get("/ogc/tiles/WebMercatorQuad/0/0/0", "*/*", 200); a.Header.Get("Content-Type") != "application/vnd.mapbox-vector-tile" || len(a.Body) == 0 {
				o.Errorf("%s of %d bytes", a.Header.Get("Content-Type"), len(a.Body))
			}
		}},
		{"tc-error", func(o *ogcSuite) {
			for _, none := range []string{"WebMercatorQuad/2/9/1", "WebMercatorQuad/13/0/0", "None/0/0/0", "WebMercatorQuad/0/0/x"} {
				o.get("/ogc/tiles/"+none, "*/*", 404)
			}
			if a := o.get("/ogc/tiles/WebMercatorQuad/4/15/0", "*/*", 200); len(a.Body) != 0 {
				o.Errorf("where nothing is there are %d bytes", len(a.Body))
			}
		}},
	}
}

// theTileset reads the tileset.
func (o *ogcSuite) theTileset() (s tileset) {
	o.Helper()
	o.read("/ogc/tiles/WebMercatorQuad", "application/json", &s)
	return s
}

// described checks what the list of tilesets and the tileset itself both say.
func (o *ogcSuite) described(s tileset) {
	o.Helper()
	o.links(s.Links, "self", "item", "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme")
	if s.CRS != epsg+"3857" || s.Grid != "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad" || s.Type != "vector" {
		o.Errorf("%+v", s)
	}
}

func tilesTileset() []abstractTest {
	return []abstractTest{
		{"description", func(o *ogcSuite) {
			s := o.theTileset()
			if o.described(s); len(s.Limits) != 13 || len(s.Layers) != 3 {
				o.Errorf("%+v", s)
			}
			var links struct {
				Links []struct {
					Rel, Href, Type string
					Templated       bool
				}
			}
			o.read("/ogc/tiles/WebMercatorQuad", "application/json", &links)
			for _, l := range links.Links {
				if item := l.Rel == "item"; item != l.Templated || item && (!strings.HasSuffix(l.Href, "/{tileMatrix}/{tileRow}/{tileCol}") || l.Type != "application/vnd.mapbox-vector-tile") {
					o.Errorf("%+v", l)
				}
			}
		}},
	}
}

func tilesList() []abstractTest {
	return []abstractTest{
		{"tileset-links", func(o *ogcSuite) {
			var list struct{ Tilesets []tileset }
			if o.read("/ogc/tiles", "application/json", &list); len(list.Tilesets) != 1 {
				o.Fatalf("%+v", list)
			}
			o.described(list.Tilesets[0])
			if self := linkTo(o.T, list.Tilesets[0].Links, "self"); self != o.s.URL()+"/ogc/tiles/WebMercatorQuad" {
				o.Errorf("%s", self)
			}
		}},
	}
}

func tilesDataset() []abstractTest {
	return []abstractTest{
		{"landingpage", func(o *ogcSuite) {
			o.links(o.document("/ogc").Links, "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector")
		}},
		{"operation", func(o *ogcSuite) { o.get("/ogc/tiles", "application/json", 200) }},
	}
}

func tilesOAS30() []abstractTest {
	paths := map[string]string{"/tiles": "TileSetsList", "/tiles/{tileMatrixSetId}": "TileSet", "/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": "Tile"}
	return []abstractTest{
		{"completeness", func(o *ogcSuite) {
			for path := range paths {
				if o.api.Paths[path]["get"].Responses["200"] == nil {
					o.Errorf("%s is not defined", path)
				}
			}
		}},
		{"operation-id", func(o *ogcSuite) {
			for path, what := range paths {
				if id := o.api.Paths[path]["get"].OperationID; !strings.HasSuffix(id, ".dataset.vector.get"+what) {
					o.Errorf("%s is %q", path, id)
				}
			}
		}},
	}
}

func tilesMVT() []abstractTest {
	return []abstractTest{
		{"content", func(o *ogcSuite) {
			body := string(o.get("/ogc/tiles/WebMercatorQuad/0/0/0?f=mvt", "*/*", 200).Body)
			for _, want := range []string{"danger", "areas", "points", "Fire"} {
				if !strings.Contains(body, want) {
					o.Errorf("the tile lacks %s", want)
				}
			}
		}},
	}
}

// gridModel holds the grid of the tiles against the data model of OGC 17-083r4, section 6.
func gridModel() []abstractTest {
	return []abstractTest{
		{"model", func(o *ogcSuite) {
			var g struct {
				ID, URI, CRS, WellKnownScaleSet string
				OrderedAxes                     []string
				TileMatrices                    []struct {
					ID, CornerOfOrigin                               string
					ScaleDenominator, CellSize                       float64
					PointOfOrigin                                    [2]float64
					TileWidth, TileHeight, MatrixWidth, MatrixHeight int
				}
			}
			o.read(strings.TrimPrefix(linkTo(o.T, o.theTileset().Links, "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"), o.s.URL()), "application/json", &g)
			if g.ID != "WebMercatorQuad" || g.URI != "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad" || g.CRS != epsg+"3857" || len(g.OrderedAxes) != 2 || len(g.TileMatrices) != 13 {
				o.Errorf("%+v", g)
			}
			for z, m := range g.TileMatrices { // annex D.1 of the standard
				n := 1 << z
				if scale := 559082264.028717 / float64(n); m.ID != strconv.Itoa(z) || m.CornerOfOrigin != "topLeft" || math.Abs(m.ScaleDenominator/scale-1) > 1e-9 || math.Abs(m.CellSize/(scale*0.28e-3)-1) > 1e-9 ||
					math.Abs(m.PointOfOrigin[0]+20037508.3427892) > 1e-3 || math.Abs(m.PointOfOrigin[1]-20037508.3427892) > 1e-3 || m.TileWidth != 256 || m.TileHeight != 256 || m.MatrixWidth != n || m.MatrixHeight != n {
					o.Errorf("%+v", m)
				}
			}
		}},
	}
}

func gridLimits() []abstractTest {
	return []abstractTest{
		{"model", func(o *ogcSuite) {
			var s struct {
				Limits []struct {
					TileMatrix                                     string
					MinTileRow, MaxTileRow, MinTileCol, MaxTileCol *int
				} `json:"tileMatrixSetLimits"`
			}
			o.read("/ogc/tiles/WebMercatorQuad", "application/json", &s)
			for z, l := range s.Limits { // and so each is named once
				if last := 1<<z - 1; l.TileMatrix != strconv.Itoa(z) || l.MinTileRow == nil || l.MaxTileRow == nil || l.MinTileCol == nil || l.MaxTileCol == nil || *l.MinTileRow != 0 || *l.MinTileCol != 0 || *l.MaxTileRow != last || *l.MaxTileCol != last {
					o.Errorf("%+v", l)
				}
			}
			if len(s.Limits) != 13 {
				o.Errorf("%d limits", len(s.Limits))
			}
		}},
	}
}

func tilesetModel() []abstractTest {
	return []abstractTest{
		{"identifier", func(o *ogcSuite) {
			o.get(strings.TrimPrefix(linkTo(o.T, o.theTileset().Links, "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"), o.s.URL()), "application/json", 200)
		}},
		{"model", func(o *ogcSuite) {
			s := o.theTileset()
			if o.described(s); len(s.Layers) != 3 || slices.ContainsFunc(s.Layers, func(l struct{ ID string }) bool { return l.ID == "" }) {
				o.Errorf("%+v", s.Layers)
			}
		}},
	}
}

// jsonOf are the tests of a class for JSON, of a document that fulfills a model. The schemas of the standard are not here.
func jsonOf(model func(o *ogcSuite), path string, alone bool) []abstractTest {
	list := []abstractTest{{"ietf", func(o *ogcSuite) {
		if !json.Valid(o.get(path, "application/json", 200).Body) {
			o.Errorf("%s is not JSON", path)
		}
	}}, {"model", model}, {"schema", nil}}
	if alone {
		list = append(list, abstractTest{"media-type", func(o *ogcSuite) {
			if got := o.get(path, "application/json", 200).Header.Get("Content-Type"); got != "application/json" {
				o.Errorf("%s", got)
			}
		}})
	}
	return list
}
