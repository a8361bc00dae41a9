package serve_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

type ogcLink struct{ Href, Rel, Type, Title string }

type ogcFeatures struct {
	Type     string
	Features []struct {
		ID         string
		Geometry   json.RawMessage
		Properties map[string]any
	}
	Links          []ogcLink
	TimeStamp      string
	NumberMatched  int
	NumberReturned int
}

func (f *ogcFeatures) names() (names []string) {
	for _, x := range f.Features {
		names = append(names, fmt.Sprint(x.Properties["hazard_Name"]))
	}
	slices.Sort(names)
	return names
}

func linkTo(t *testing.T, links []ogcLink, rel string) string {
	t.Helper()
	for _, l := range links {
		if l.Rel == rel {
			return l.Href
		}
	}
	t.Fatalf("no link %s in %+v", rel, links)
	return ""
}

// scenery creates five hazards of different kinds and places, one of which has ended.
func scenery(t *testing.T, alter ...func(*app.Config)) *world {
	s := start(t, alter...)
	for i, h := range []map[string]any{
		flood("hazard_Name", "Flood West", "longitude", -100, "latitude", 40),
		flood("hazard_Name", "Flood East", "longitude", 100, "latitude", 40, "severity_ID", "ADVISORY"),
		flood("hazard_Name", "Fire", "type_ID", "WILDFIRE", "longitude", 10, "latitude", 50, "area", map[string]any{"type": "Polygon", "coordinates": [][][]int{{{9, 49}, {11, 49}, {11, 51}, {9, 51}, {9, 49}}}}),
		flood("hazard_Name", "Storm", "type_ID", "STORM", "longitude", 179.5, "latitude", -18, "category_ID", "EXERCISE"),
		flood("hazard_Name", "Over", "longitude", 0, "latitude", 0),
	} {
		made := s.made("red", "/hazards", h)
		if i == 4 {
			if a := s.do("red", http.MethodPatch, "/hazards/"+made.UUID, `{"status":"E"}`); a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
	}
	return s
}

// A client finds everything by following links, as part 1 requires, here with a read key in the
// address.
func TestOGCClientsFindTheirWayByLinks(t *testing.T) {
	s := scenery(t)
	k := makeKey(t, s, "red")
	get := func(address, want string) server.Answer {
		t.Helper()
		path, ok := strings.CutPrefix(address, s.URL())
		if !ok || !strings.HasPrefix(path, "/key/"+k.Key+"/ogc") {
			t.Fatalf("the key does not open the link %s", address)
		}
		a := s.do("", http.MethodGet, path, nil)
		if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), want) {
			t.Fatalf("%s: %d %s %.300s", address, a.Status, a.Header.Get("Content-Type"), a.Body)
		}
		return a
	}
	var landing struct{ Links []ogcLink }
	start := get(s.URL()+"/key/"+k.Key+"/ogc", "application/json")
	start.JSON(t, &landing)
	if below := get(s.URL()+"/key/"+k.Key+"/ogc/", "application/json"); string(below.Body) != string(start.Body) {
		t.Errorf("with a trailing slash the landing page differs: %s", below.Body)
	}
	var conformance struct{ ConformsTo []string }
	get(linkTo(t, landing.Links, "conformance"), "application/json").JSON(t, &conformance)
	for _, class := range []string{"core", "geojson", "oas30", "html"} {
		if !slices.Contains(conformance.ConformsTo, "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"+class) {
			t.Errorf("class %s is not declared: %v", class, conformance.ConformsTo)
		}
	}
	var definition struct {
		OpenAPI string
		Paths   map[string]any
	}
	get(linkTo(t, landing.Links, "service-desc"), "application/vnd.oai.openapi+json;version=3.0").JSON(t, &definition)
	if definition.OpenAPI != "3.0.3" || definition.Paths["/collections/hazards/items"] == nil || definition.Paths["/collections/active-hazards/items"] == nil {
		t.Errorf("definition %+v", definition)
	}
	var collections struct {
		Collections []struct {
			ID    string
			Links []ogcLink
		}
	}
	get(linkTo(t, landing.Links, "data"), "application/json").JSON(t, &collections)
	want := map[string][]string{"hazards": {"Fire", "Flood East", "Flood West", "Over", "Storm"}, "active-hazards": {"Fire", "Flood East", "Flood West", "Storm"}}
	if len(collections.Collections) != len(want)+len(partIDs) {
		t.Fatalf("collections %+v", collections)
	}
	for _, c := range collections.Collections {
		if want[c.ID] == nil {
			var features ogcFeatures // the key also opens the links of these
			if get(linkTo(t, c.Links, "items"), "application/geo+json").JSON(t, &features); len(features.Features) > 0 {
				get(s.URL()+"/key/"+k.Key+"/ogc/collections/"+c.ID+"/items/"+url.PathEscape(features.Features[0].ID), "application/geo+json")
			}
			continue
		}
		var features ogcFeatures
		get(linkTo(t, c.Links, "items"), "application/geo+json").JSON(t, &features)
		if !slices.Equal(features.names(), want[c.ID]) || features.NumberMatched != len(want[c.ID]) || features.NumberReturned != len(want[c.ID]) {
			t.Errorf("%s: %v, %d of %d", c.ID, features.names(), features.NumberReturned, features.NumberMatched)
		}
		var names []string // page by page
		for next := linkTo(t, c.Links, "items") + "?limit=2"; next != ""; {
			var page ogcFeatures
			get(next, "application/geo+json").JSON(t, &page)
			names = append(names, page.names()...)
			next = ""
			for _, l := range page.Links {
				if l.Rel == "next" {
					next = l.Href
				}
			}
		}
		if slices.Sort(names); !slices.Equal(names, want[c.ID]) {
			t.Errorf("%s by pages: %v", c.ID, names)
		}
		var item struct {
			Type, ID string
			Links    []ogcLink
		}
		get(s.URL()+"/key/"+k.Key+"/ogc/collections/"+c.ID+"/items/"+features.Features[0].ID, "application/geo+json").JSON(t, &item)
		if item.Type != "Feature" || item.ID != features.Features[0].ID || !strings.HasSuffix(linkTo(t, item.Links, "self"), item.ID) {
			t.Errorf("item %+v", item)
		}
		// The links of pages for people work too.
		for _, path := range []string{"", "/conformance", "/collections", "/collections/" + c.ID, "/collections/" + c.ID + "/items"} {
			text := string(get(s.URL()+"/key/"+k.Key+"/ogc"+path+"?f=html", "text/html").Body)
			for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(text, -1) {
				if strings.Contains(m[1], "/ogc") {
					get(strings.ReplaceAll(m[1], "&amp;", "&"), "")
				}
			}
		}
	}
}

func TestItemsAreFilteredAsPart1Says(t *testing.T) {
	s := scenery(t)
	for query, want := range map[string]string{
		"bbox=-110,30,-90,50":                   "Flood West",
		"bbox=-110,30,0,-90,50,100":             "Flood West",
		"bbox=170,-30,-170,0":                   "Storm",
		"type_ID=WILDFIRE":                      "Fire",
		"severity_ID=ADVISORY":                  "Flood East",
		"category_ID=EXERCISE":                  "Storm",
		"type_ID=WILDFIRE,STORM":                "Fire Storm",
		"status=E":                              "Over",
		"q=flood":                               "Flood East Flood West",
		"datetime=2001-01-01T00:00:00Z":         "",
		"datetime=../..":                        "Fire Flood East Flood West Over Storm",
		"hazard_Name=Fire":                      "Fire",
		"severity_rank=3&longitude=100&limit=1": "Flood East",
		"limit=100000":                          "Fire Flood East Flood West Over Storm",
		"limit=99999999999999999999":            "Fire Flood East Flood West Over Storm",
	} {
		a := s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?"+query, nil)
		var f ogcFeatures
		a.JSON(t, &f)
		if a.Status != http.StatusOK || strings.Join(f.names(), " ") != want {
			t.Errorf("%s: %d %v, want %s", query, a.Status, f.names(), want)
		}
	}
	for query, parameter := range map[string]string{
		"bbox=1,2,3": "bbox", "bbox=1,2,x,3,4,y": "bbox", "datetime=yesterday": "datetime", "limit=0": "limit", "limit=x": "limit", "type_ID=RAIN": "type_ID", "nonsense=1": "nonsense", "severity_rank=x": "severity_rank", "hazard_Name=a&hazard_Name=b": "hazard_Name", "start_time=x": "start_time", "geometry=1": "geometry",
		"severity_ID=RED": "severity_ID", "f=xml": "f", "limit=1&limit=2": "limit", "source=nobody": "source", "at=2020-01-01T00:00:00Z": "at",
	} {
		p := wantProblem(t, s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?"+query, nil), http.StatusBadRequest)
		if !slices.ContainsFunc(p.faults(), func(f string) bool { return strings.Contains(f, parameter) }) {
			t.Errorf("%s: faults %q", query, p.faults())
		}
	}
	for path, status := range map[string]int{"/collections/nothing": 404, "/collections/nothing/items": 404, "/collections/hazards/items/999": 404, "/collections/hazards/items/x": 404} {
		wantProblem(t, s.do("reader", http.MethodGet, "/ogc"+path, nil), status)
	}
	if a := s.do("", http.MethodGet, "/ogc", nil); a.Status != http.StatusForbidden || string(a.Body) != "Invalid Token" {
		t.Errorf("without a token: %d %s", a.Status, a.Body)
	}
}

// Filters in CQL2, in both encodings, find the hazards of their conditions.
func TestFiltersOfPart3(t *testing.T) {
	s := scenery(t)
	for filter, want := range map[string]string{
		"type_ID = 'WILDFIRE'":                                      "Fire",
		"type_ID IN ('WILDFIRE', 'STORM') OR status = 'E'":          "Fire Over Storm",
		"NOT type_ID = 'FLOOD' AND severity_rank >= 3":              "Fire Storm",
		"hazard_Name LIKE 'Flood%' AND longitude BETWEEN 0 AND 180": "Flood East",
		"CASEI(hazard_Name) LIKE CASEI('%fLoOd w%')":                "Flood West",
		"hazard_Name NOT LIKE '%o%'":                                "Fire Over",
		"S_INTERSECTS(geometry, BBOX(170,-30,-170,0))":              "Storm",
		"S_INTERSECTS(geometry, POLYGON((9.5 50.5,10 50.5,10 52,9.5 50.5))) OR S_INTERSECTS(POINT(0 0), geometry)": "Fire Over",
		"S_DISJOINT(geometry, BBOX(-180,10,180,90))":                                                               "Over Storm",
		"people IS NULL AND category_ID <> 'EVENT'":                                                                "Storm",
		"people > 0":     "",
		"NOT people > 0": "",
		"start_time > '2001-01-01' AND T_BEFORE(start_time, DATE('3000-01-01'))":     "Fire Flood East Flood West Over Storm",
		"T_INTERSECTS(INTERVAL(start_time, end_time), INTERVAL('..', '1990-01-01'))": "",
		`{"op":"and","args":[{"op":"=","args":[{"property":"type_ID"},"FLOOD"]},{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Polygon","coordinates":[[[90,30],[110,30],[110,50],[90,50],[90,30]]]}]}]}`: "Flood East",
	} {
		v := url.Values{"filter": {filter}}
		if filter[0] == '{' {
			v.Set("filter-lang", "cql2-json")
		}
		var all, page ogcFeatures
		a := s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?"+v.Encode(), nil)
		a.JSON(t, &all)
		if got := strings.Join(all.names(), " "); a.Status != http.StatusOK || got != want || all.NumberMatched != len(all.Features) {
			t.Errorf("%s: %d %q of %d, want %q", filter, a.Status, got, all.NumberMatched, want)
		}
		var names []string // the links keep the filter
		v.Set("limit", "1")
		for next := "/ogc/collections/hazards/items?" + v.Encode(); next != ""; {
			page = ogcFeatures{}
			s.do("reader", http.MethodGet, next, nil).JSON(t, &page)
			names, next = append(names, page.names()...), ""
			for _, l := range page.Links {
				if l.Rel == "next" {
					next = strings.TrimPrefix(l.Href, s.URL())
				}
			}
		}
		if slices.Sort(names); strings.Join(names, " ") != want {
			t.Errorf("%s by pages: %q", filter, names)
		}
		v.Del("limit")
		var count struct{ Count int }
		if s.do("reader", http.MethodGet, "/hazards/count?"+v.Encode(), nil).JSON(t, &count); count.Count != all.NumberMatched {
			t.Errorf("%s: %d are counted", filter, count.Count)
		}
		var active []map[string]any // from the view, not from the database
		s.do("reader", http.MethodGet, "/hazards/active?"+v.Encode(), nil).JSON(t, &active)
		names = nil
		for _, h := range active {
			names = append(names, fmt.Sprint(h["hazard_Name"]))
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != strings.Join(strings.Fields(strings.ReplaceAll(want, "Over", "")), " ") {
			t.Errorf("%s of the active: %q", filter, got)
		}
	}
	deep := strings.Repeat("(", 4000) + "TRUE" + strings.Repeat(")", 4000)
	for query, want := range map[string]string{
		"filter=" + url.QueryEscape("type_ID = "):                          "at character 11: expected a property, a text",
		"filter=" + url.QueryEscape("typeID = 'FLOOD'"):                    `at character 1: expected type_ID, or another property that queryables lists, found "typeID"`,
		"filter=" + url.QueryEscape("severity_rank = 'x'"):                 "at character 17: expected a number, as severity_rank is",
		"filter=" + url.QueryEscape("geometry = 1"):                        "at character 1: expected a property that is not a geometry",
		"filter=" + url.QueryEscape("S_INTERSECTS(geometry,POINT(200 1))"): "at character 23: expected a geometry, longitude before latitude",
		"filter=" + deep:                      "expected no more than 40 levels",
		"filter=true&filter-lang=sql":         `"sql" is not one of cql2-text, cql2-json`,
		"filter=true&filter-crs=EPSG:4326":    "is not known; expected http://www.opengis.net/def/crs/OGC/1.3/CRS84",
		"filter-lang=cql2-text":               "is given without filter",
		"filter=true&filter=true":             "is given 2 times",
		"filter=%7B%7D&filter-lang=cql2-json": "at its top: expected",
	} {
		p := wantProblem(t, s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?"+query, nil), http.StatusBadRequest)
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%.80s: %s, want %s", query, p.Detail, want)
		}
	}
	var q struct {
		ID         string `json:"$id"`
		Properties map[string]struct {
			Type, Format string
			Enum         []string
		}
	}
	a := s.do("reader", http.MethodGet, "/ogc/collections/active-hazards/queryables", nil)
	a.JSON(t, &q)
	if a.Header.Get("Content-Type") != "application/schema+json" || q.Properties["start_time"].Format != "date-time" || q.Properties["geometry"].Format != "geometry-any" ||
		!slices.Contains(q.Properties["type_ID"].Enum, "FLOOD") || q.Properties["measurements.magnitude"].Type != "number" || !strings.HasSuffix(q.ID, "/queryables") {
		t.Errorf("queryables: %s %+v", a.Header.Get("Content-Type"), q)
	}
	if a := s.do("reader", http.MethodGet, "/ogc/collections/hazards/queryables?f=html", nil); !strings.Contains(string(a.Body), "measurements.magnitude") {
		t.Errorf("queryables for people: %s", a.Body)
	}
	wantProblem(t, s.do("reader", http.MethodGet, "/ogc/collections/none/queryables", nil), http.StatusNotFound)
}

// ogrinfo runs the GDAL program of that name. Without it, the test is skipped, except in CI.
func ogrinfo(t *testing.T) func(args ...string) string {
	t.Helper()
	program, err := exec.LookPath("ogrinfo")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("ogrinfo is missing")
		}
		t.Skip("ogrinfo is missing: install gdal-bin")
	}
	return func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GDAL_HTTP_TIMEOUT=30", "XDG_CACHE_HOME="+filepath.Join(t.TempDir(), "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

// QGIS and most other programs use GDAL: it reads the same data.
func TestGDALReadsTheCollections(t *testing.T) {
	test.SeldomButRaced(t)
	run := ogrinfo(t)
	s := scenery(t)
	k := makeKey(t, s, "red")
	address := "OAPIF:" + s.URL() + "/key/" + k.Key + "/ogc"
	if out := run("-ro", address); !strings.Contains(out, "hazards") || !strings.Contains(out, "active-hazards") {
		t.Errorf("layers: %s", out)
	}
	out := run("-ro", "-oo", "PAGE_SIZE=2", address, "active-hazards", "-al")
	for _, want := range []string{"Feature Count: 4", "hazard_Name (String) = Flood West", "hazard_Name (String) = Storm", "severity_ID (String) = WATCH", "POINT (-100 40)",
		"POLYGON ((9 49,11 49,11 51,9 51,9 49))"} {
		if !strings.Contains(out, want) {
			t.Errorf("GDAL's output lacks %q: %s", want, out)
		}
	}
	out = run("-ro", address, "hazards", "-spat", "-110", "30", "-90", "50")
	if !strings.Contains(out, "Flood West") || strings.Contains(out, "= Fire") {
		t.Errorf("of a window GDAL reads %s", out)
	}
	if out = run("-ro", address, "hazards", "-where", "type_ID = 'WILDFIRE'"); !strings.Contains(out, "= Fire") || strings.Contains(out, "= Storm") || strings.Contains(out, "Unexpected") {
		t.Errorf("of a type GDAL reads %s", out)
	}
	// The server filters, not GDAL, which would need to read all pages.
	for i := range 40 {
		s.made("red", "/hazards", flood("hazard_Name", fmt.Sprint("Flood ", i), "latitude", i))
	}
	out = run("-ro", "--debug", "on", "-oo", "PAGE_SIZE=2", "-so", "-where", "type_ID = 'WILDFIRE'", address, "hazards")
	asked := regexp.MustCompile(`Fetch\([^)]*/items[^)]*\)`).FindAllString(out, -1)
	if len(asked) == 0 || len(asked) > 3 || !strings.Contains(out, "Feature Count: 1") {
		t.Errorf("for the one wildfire of 45 hazards GDAL sends %d requests: %s", len(asked), out)
	}
	// The schema gives the types of columns, whatever the first features are.
	out = run("-ro", "--debug", "on", "-so", address, "hazards")
	for _, want := range []string{"latitude: Real", "people: Integer", "start_time: DateTime", "hazard_Name: String"} {
		if !strings.Contains(out, want) {
			t.Errorf("GDAL does not read the column %s correctly: %s", want, out)
		}
	}
	// It also reads no more than needed for conditions that only CQL2 can express.
	out = run("-ro", "--debug", "on", "-oo", "PAGE_SIZE=2", "-so", "-where", "hazard_Name LIKE 'Fl%' AND (longitude > 99 OR latitude > 38.5) AND start_time > '2001/01/01 00:00:00'", address, "hazards")
	asked = regexp.MustCompile(`Fetch\([^)]*/items[^)]*\)`).FindAllString(out, -1)
	if len(asked) == 0 || len(asked) > 4 || !strings.Contains(out, "Feature Count: 3") || !strings.Contains(out, "filter=") {
		t.Errorf("for three floods of 45 hazards GDAL sends %d requests: %s", len(asked), out)
	}
}

// The body of a list in GeoJSON, KML, Atom or RSS says that there is more, and where.
func TestAListSaysInItsBodyThatThereIsMore(t *testing.T) {
	s := scenery(t)
	k := makeKey(t, s, "red")
	key := "/key/" + k.Key
	for _, list := range []struct {
		path string
		all  []string
	}{
		{"/hazards?f=geojson&sort=hazard_ID", []string{"Fire", "Flood East", "Flood West", "Over", "Storm"}},
		{"/hazards?f=geojson&q=flood", []string{"Flood East", "Flood West"}},
		{"/hazards/active?f=geojson", []string{"Fire", "Flood East", "Flood West", "Storm"}},
		{"/hazards/active?f=geojson&sort=hazard_ID", []string{"Fire", "Flood East", "Flood West", "Storm"}},
	} {
		var whole ogcFeatures
		s.do("", http.MethodGet, key+list.path, nil).JSON(t, &whole)
		if !slices.Equal(whole.names(), list.all) || whole.NumberMatched != len(list.all) || whole.NumberReturned != len(list.all) {
			t.Errorf("%s: %v, %d of %d", list.path, whole.names(), whole.NumberReturned, whole.NumberMatched)
		}
		if linkTo(t, whole.Links, "self"); slices.ContainsFunc(whole.Links, func(l ogcLink) bool { return l.Rel == "next" }) {
			t.Errorf("%s: of one page, %+v", list.path, whole.Links)
		}
		var names []string
		pages := 0
		for next := key + list.path + "&limit=2"; next != ""; pages++ {
			var page ogcFeatures
			s.do("", http.MethodGet, next, nil).JSON(t, &page)
			if page.NumberMatched != len(list.all) || page.NumberReturned != len(page.Features) || page.NumberReturned > 2 {
				t.Errorf("%s: %d hazards, the document gives %d of %d", next, len(page.Features), page.NumberReturned, page.NumberMatched)
			}
			names, next = append(names, page.names()...), ""
			for _, l := range page.Links {
				if l.Rel == "next" {
					next = strings.TrimPrefix(l.Href, s.URL())
				}
			}
		}
		if slices.Sort(names); !slices.Equal(names, list.all) || pages != (len(list.all)+1)/2 {
			t.Errorf("%s: by the links of %d pages %v", list.path, pages, names)
		}
	}
	for form, next := range map[string]string{"kml": `<NetworkLink><name>The next page, of 5 hazards in all</name><Link><href>([^<]+)</href>`, "atom": `<link rel="next" type="application/atom\+xml" href="([^"]+)"/>`,
		"rss": `<atom:link rel="next" type="application/rss\+xml" href="([^"]+)"/>`} {
		a := s.do("", http.MethodGet, key+"/hazards?limit=3&f="+form, nil)
		m := regexp.MustCompile(next).FindSubmatch(a.Body)
		if m == nil {
			t.Fatalf("%s has no next link: %s", form, a.Body)
		}
		rest := s.do("", http.MethodGet, strings.TrimPrefix(html.UnescapeString(string(m[1])), s.URL()), nil)
		if rest.Status != http.StatusOK || rest.Header.Get("Content-Type") != a.Header.Get("Content-Type") || regexp.MustCompile(next).Match(rest.Body) {
			t.Errorf("the second page in %s: %d %s", form, rest.Status, rest.Body)
		}
	}
}
