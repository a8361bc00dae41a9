package serve_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// What is only known as a region or country has no area in any answer. A hazard of each kind of
// place goes through all of them.
func TestNoStandInIsTreatedAsAnArea(t *testing.T) {
	s := start(t)
	square := []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[-99,29],[-98,29],[-98,30],[-99,30],[-99,29]]]}`}}
	begun := now().Add(-time.Minute)
	alert := func(source, key string, alter func(*hazard.Report)) hazard.Report {
		r := hazard.Report{Source: source, Key: key, Part: key, Version: int64(begun), Name: "Gale Warning " + key, Type: hazard.Storm, Severity: hazard.Warning, Category: hazard.Event,
			Start: begun, End: new(begun.Add(6 * time.Hour)), Creator: "NWS"}
		alter(&r)
		return r
	}
	// San Antonio is in the square, in the county, and in the outline of the country.
	for _, r := range []hazard.Report{
		alert("nws", "exact", func(r *hazard.Report) { r.Areas = square }),
		alert("nws", "code", func(r *hazard.Report) { r.Places = []string{"TXC029"} }),
		alert("nws", "region", func(r *hazard.Report) { r.Places = []string{"TXZ999"} }),
		alert("nws", "country", func(r *hazard.Report) { r.Places = []string{"area:The Lowlands"}; r.Country = "US" }),
		alert("nws", "point", func(r *hazard.Report) { r.Point = &hazard.Point{Lon: -98.5, Lat: 29.4} }),
	} {
		res, err := builtIn().Intake(s.Store).Apply(t.Context(), "nws", source.Batch{Reports: []hazard.Report{r}, Read: 1}, hazard.At(time.Now()), fuse.Options{})
		if err != nil || res.New != 1 {
			t.Fatalf("%s: %+v, %v", r.Key, res, err)
		}
		s.settle(res.Last)
	}
	in := url.QueryEscape("POLYGON((-98.6 29.3,-98.4 29.3,-98.4 29.5,-98.6 29.5,-98.6 29.3))")
	certain, possible := []string{"code", "exact", "point"}, []string{"code", "country", "exact", "point", "region"}
	names := func(path string) (found []string) {
		t.Helper()
		var list []struct {
			Name string `json:"hazard_Name"`
		}
		a := s.do("reader", "GET", path, nil)
		if a.Status != 200 {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		a.JSON(t, &list)
		for _, h := range list {
			found = append(found, strings.TrimPrefix(h.Name, "Gale Warning "))
		}
		slices.Sort(found)
		return found
	}
	// Whoever asks for a place is told how many may be there, and how to read them.
	for path, want := range map[string]string{
		"/hazards?bbox=-98.6,29.3,-98.4,29.5":                         "2",
		"/hazards?bbox=-98.6,29.3,-98.4,29.5&f=geojson":               "2",
		"/hazards?bbox=-98.6,29.3,-98.4,29.5&ref=nws:region":          "1",
		"/hazards/active?near=-98.5,29.4&radius=1000":                 "2",
		"/hazards/active?bbox=-70.1,44.9,-70,45":                      "1", // Maine
		"/hazards/active?bbox=9,53,10,54":                             "0",
		"/hazards/active?bbox=-98.6,29.3,-98.4,29.5&severity=WATCH":   "0",
		"/hazards/active/severity/WARNING?bbox=-98.6,29.3,-98.4,29.5": "2",
		"/hazards/active/summary?intersects=" + in:                    "2",
		"/hazards/count?bbox=-98.6,29.3,-98.4,29.5":                   "2",
		"/ogc/collections/hazards/items?bbox=-98.6,29.3,-98.4,29.5":   "2",
		"/ogc/collections/points/items?bbox=-98.6,29.3,-98.4,29.5":    "2",
		"/hazards?filter=S_INTERSECTS(geometry,POINT(-98.5%2029.4))":  "2",
		"/arcgis/rest/services/hazards/FeatureServer/0/query?f=json&where=1%3D1&geometryType=esriGeometryEnvelope&inSR=4326&geometry=-98.6,29.3,-98.4,29.5": "", // the layer of points has them
		"/hazards?filter=NOT%20S_INTERSECTS(geometry,POINT(9%2053))":                                                                                        "2",
		"/hazards?bbox=-98.6,29.3,-98.4,29.5&possible=true":                                                                                                 "",
		"/hazards?bbox=-98.6,29.3,-98.4,29.5&at=" + begun.Time().UTC().Format(time.RFC3339):                                                                 "",
		"/hazards/active": "",
	} {
		if want != "" {
			want += `; with="possible=true"`
		}
		if a := s.do("reader", "GET", path, nil); a.Status != 200 || a.Header.Get("Hazardd-Possible") != want {
			t.Errorf("%s: %d, %q left out, want %q", path, a.Status, a.Header.Get("Hazardd-Possible"), want)
		}
	}
	session, err := s.assistant("/mcp", s.Token("reader"), "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := call(t, session, "search", map[string]any{"near_lon": -98.5, "near_lat": 29.4})
	if err != nil || !strings.Contains(got.Meaning, ": 2 active hazards") {
		t.Errorf("an assistant is told %q, %v", got.Meaning, err)
	}
	for _, list := range []string{"/hazards?", "/hazards/active?"} {
		for _, where := range []string{"bbox=-98.6,29.3,-98.4,29.5", "near=-98.5,29.4&radius=1000", "intersects=" + in, "bbox=-180,-90,180,90",
			"filter=S_INTERSECTS(geometry,POLYGON((-98.6%2029.3,-98.4%2029.3,-98.4%2029.5,-98.6%2029.5,-98.6%2029.3)))"} {
			if got := names(list + where); !slices.Equal(got, certain) {
				t.Errorf("%s%s: %v, want %v", list, where, got, certain)
			}
			if got := names(list + where + "&possible=true"); !slices.Equal(got, possible) {
				t.Errorf("%s%s&possible=true: %v, want %v", list, where, got, possible)
			}
		}
		if got := names(list + "bbox=9,53,10,54&possible=true"); got != nil {
			t.Errorf("%s: possibly in Hamburg: %v", list, got)
		}
		wantProblem(t, s.do("reader", "GET", list+"bbox=9,53,10,54&possible=perhaps", nil), 400)
	}

	var features struct {
		Features []struct {
			ID         string
			BBox       []float64
			Geometry   struct{ Type string }
			Properties struct {
				ID      int64  `json:"hazard_ID"`
				Name    string `json:"hazard_Name"`
				Kind    string `json:"place_kind"`
				KnownAs string `json:"place_known_as"`
				People  *int64 `json:"people"`
				Role    string `json:"area_role"`
			}
		}
	}
	s.do("reader", "GET", "/hazards/active?f=geojson", nil).JSON(t, &features)
	if len(features.Features) != len(possible) {
		t.Fatalf("%d hazards, want %d", len(features.Features), len(possible))
	}
	for _, f := range features.Features {
		p := f.Properties
		kind := strings.TrimPrefix(p.Name, "Gale Warning ")
		known := map[string]string{"region": "Texas", "country": "United States"}[kind]
		standIn := known != ""
		if p.Kind != kind || p.KnownAs != known {
			t.Errorf("%s: %s %q, want %q", kind, p.Kind, p.KnownAs, known)
		}
		if standIn && (f.Geometry.Type != "Point" || p.Role != "point" || p.People != nil) {
			t.Errorf("%s: geometry %s, role %s, people %v", kind, f.Geometry.Type, p.Role, p.People)
		}
		path := fmt.Sprintf("/hazards/%d", p.ID)
		text := func(path string) string {
			t.Helper()
			a := s.do("reader", "GET", path, nil)
			if a.Status != 200 && a.Status != 202 {
				t.Fatalf("%s: %d %s", path, a.Status, a.Body)
			}
			return string(a.Body)
		}
		for _, format := range []string{path + "?f=kml", path + "/alert-geography", "/hazards/active/areas?ids=" + digits(p.ID),
			"/ogc/collections/active-hazards/items/" + f.ID} {
			if got := text(format); standIn && (strings.Contains(got, "Polygon") || strings.Contains(got, "POLYGON")) {
				t.Errorf("%s: an area in %s: %.300s", kind, format, got)
			}
		}
		alert := text(path + "?f=cap")
		if standIn && (strings.Contains(alert, "<polygon>") || strings.Contains(alert, "<circle>") || !strings.Contains(alert, "<areaDesc>"+known+"</areaDesc>")) {
			t.Errorf("%s: the area of CAP: %s", kind, alert[strings.Index(alert, "<parameter>"):])
		}
		if !strings.Contains(alert, "<valueName>hazardd:placeKind</valueName><value>"+kind+"</value>") {
			t.Errorf("%s: CAP does not say how well the place is known", kind)
		}
		if feed := text("/hazards?f=atom&ref=nws:" + kind); standIn && strings.Contains(feed, "georss:") {
			t.Errorf("%s: a place in the feed", kind)
		}
		if brief := text(path + "/brief"); standIn != strings.Contains(brief, "Place known only as "+known) {
			t.Errorf("%s: the brief says where: %v", kind, !standIn)
		}
		var reports []struct {
			Kind string `json:"place_kind"`
		}
		if s.do("reader", "GET", path+"/reports", nil).JSON(t, &reports); len(reports) != 1 || reports[0].Kind != kind {
			t.Errorf("%s: reports %+v", kind, reports)
		}
		var exposed struct {
			People *int64
			Places []json.RawMessage
		}
		if s.do("reader", "GET", path+"/exposure", nil).JSON(t, &exposed); standIn && (exposed.People != nil || len(exposed.Places) > 0) {
			t.Errorf("%s: %v people, %d towns", kind, exposed.People, len(exposed.Places))
		}
	}
	// Points are points to draw at; a box finds them only as possible.
	for query, want := range map[string]int{"": 5, "bbox=-98.6,29.3,-98.4,29.5": 3, "bbox=-98.6,29.3,-98.4,29.5&possible=true": 5} {
		var got struct{ NumberReturned int }
		if s.do("reader", "GET", "/ogc/collections/points/items?"+query, nil).JSON(t, &got); got.NumberReturned != want {
			t.Errorf("OGC points %s: %d, want %d", query, got.NumberReturned, want)
		}
	}
	var layer struct {
		Fields []struct{ Name string }
	}
	s.do("reader", "GET", "/arcgis/rest/services/hazards/FeatureServer/0?f=json", nil).JSON(t, &layer)
	for _, name := range []string{"place_kind", "place_known_as"} {
		if !slices.ContainsFunc(layer.Fields, func(f struct{ Name string }) bool { return f.Name == name }) {
			t.Errorf("ArcGIS has no field %s", name)
		}
	}
}
