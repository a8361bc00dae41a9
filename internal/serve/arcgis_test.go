package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

const featureServer = "/arcgis/rest/services/hazards/FeatureServer"

type arcgisFeatures struct {
	ObjectIDFieldName     string
	GeometryType          string
	SpatialReference      struct{ WKID, LatestWKID int }
	Fields                []struct{ Name, Type string }
	ExceededTransferLimit bool
	Features              []arcgisFeature
	Count                 int
	ObjectIDs             []int64
}

type arcgisFeature struct {
	Attributes map[string]any
	Geometry   struct {
		X, Y  float64
		Rings [][][]float64
		Paths [][][]float64
	}
}

func (f *arcgisFeatures) names() string {
	var names []string
	for _, x := range f.Features {
		names = append(names, fmt.Sprint(x.Attributes["hazard_Name"]))
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// queryLayer queries a layer. Parameters are names and values, alternately.
func (w *world) queryLayer(layer int, parameters ...string) (f arcgisFeatures) {
	w.t.Helper()
	values := url.Values{"outFields": {"*"}}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	a := w.do("reader", http.MethodGet, fmt.Sprintf("%s/%d/query?%s", featureServer, layer, values.Encode()), nil)
	if a.Status != http.StatusOK {
		w.t.Fatalf("%v: %d %s", parameters, a.Status, a.Body)
	}
	a.JSON(w.t, &f)
	return f
}

func TestAFeatureServiceDescribesItself(t *testing.T) {
	s := scenery(t)
	var service struct {
		Layers []struct {
			ID           int
			GeometryType string
		}
		MaxRecordCount int
		Capabilities   string
	}
	s.do("reader", http.MethodGet, featureServer+"?f=json", nil).JSON(t, &service)
	if len(service.Layers) != 6 || service.Capabilities != "Query" || service.MaxRecordCount != 500 {
		t.Errorf("service %+v", service)
	}
	for _, l := range service.Layers {
		var layer struct {
			ID            int
			GeometryType  string
			ObjectIDField string
			Fields        []struct{ Name, Type string }
		}
		s.do("reader", http.MethodGet, fmt.Sprintf("%s/%d?f=pjson", featureServer, l.ID), nil).JSON(t, &layer)
		names := map[string]string{}
		for _, f := range layer.Fields {
			names[f.Name] = f.Type
		}
		if layer.ID != l.ID || layer.GeometryType != l.GeometryType || layer.ObjectIDField != "hazard_ID" || names["hazard_ID"] != "esriFieldTypeOID" || names["start_time"] != "esriFieldTypeDate" ||
			names["measurements_magnitude"] != "esriFieldTypeDouble" || names["importance"] != "esriFieldTypeInteger" {
			t.Errorf("layer %+v", layer)
		}
	}
	var all struct{ Layers []struct{ ID int } }
	s.do("reader", http.MethodGet, featureServer+"/layers", nil).JSON(t, &all)
	if len(all.Layers) != 6 || all.Layers[5].ID != 5 {
		t.Errorf("layers %+v", all)
	}
	for path, want := range map[string]string{"/arcgis/rest/info": `"currentVersion":10.81`, "/arcgis/rest/services?f=json": `"type":"FeatureServer"`} {
		if a := s.do("reader", http.MethodGet, path, nil); a.Status != http.StatusOK || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for path, status := range map[string]int{"/6": 404, "/x": 404, "/-1/query": 404, "?f=html": 400} {
		p := wantProblem(t, s.do("reader", http.MethodGet, featureServer+path, nil), status)
		if p.Detail == "" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if a := s.do("reader", http.MethodGet, featureServer+"/0/query?f=xml", nil); !strings.Contains(string(a.Body), `"error":{"code":400,"message":"Bad Request","details":["f: `) {
		t.Errorf("ArcGIS does not find the error in %s", a.Body)
	}
}

func TestALayerIsQueried(t *testing.T) {
	s := scenery(t)
	everything := "Fire Flood East Flood West Over Storm"
	for _, tt := range []struct {
		layer      int
		parameters []string
		want       string
	}{
		{0, nil, "Fire Flood East Flood West Storm"},
		{1, nil, "Fire"},
		{2, nil, ""},
		{3, nil, everything},
		{4, []string{"where", "1=1"}, "Fire"},
		{3, []string{"where", "type_ID = 'FLOOD' AND severity_rank <= 3"}, "Flood East"},
		{3, []string{"where", "UPPER(hazard_Name) LIKE 'FLOOD%' AND start_time > TIMESTAMP '2001-01-01 00:00:00'"}, "Flood East Flood West"},
		{3, []string{"where", "measurements_magnitude IS NULL AND area_role = 'alert'"}, "Fire"},
		{3, []string{"where", "measurements_magnitude > 1"}, ""},
		{3, []string{"geometry", "-110,30,-90,50"}, "Flood West"},
		{3, []string{"geometry", `{"xmin":-110,"ymin":30,"xmax":-90,"ymax":50}`, "geometryType", "esriGeometryEnvelope"}, "Flood West"},
		{3, []string{"geometry", `{"xmin":-12000000,"ymin":3500000,"xmax":-10000000,"ymax":6500000,"spatialReference":{"wkid":102100}}`}, "Flood West"},
		{3, []string{"geometry", "-12000000,3500000,-10000000,6500000", "inSR", "3857"}, "Flood West"},
		{3, []string{"geometry", "170,-30,190,0"}, "Storm"},
		{3, []string{"geometry", "-1000,-90,1000,90"}, everything},
		{4, []string{"geometry", "10.5,50.5", "geometryType", "esriGeometryPoint"}, "Fire"},
		{3, []string{"geometry", "10.5,50.5", "geometryType", "esriGeometryPoint"}, ""}, // its area is there, and its point is not
		{3, []string{"geometry", `{"rings":[[[8,48],[8,52],[12,52],[12,48],[8,48]]]}`, "geometryType", "esriGeometryPolygon"}, "Fire"},
		{3, []string{"geometry", `{"rings":[[[-180,-80],[-180,80],[179,80],[179,-80],[-180,-80]],[[8,48],[12,48],[12,52],[8,52],[8,48]]]}`, "geometryType", "esriGeometryPolygon"}, "Flood East Flood West Over"},
		{3, []string{"geometry", `{"paths":[[[0,50],[20,50]]]}`, "geometryType", "esriGeometryPolyline"}, "Fire"},
		{3, []string{"geometry", `{"points":[[100,40],[0,0]]}`, "geometryType", "esriGeometryMultipoint"}, "Flood East Over"},
		{4, []string{"geometry", "8,48,12,52", "spatialRel", "esriSpatialRelContains"}, "Fire"},
		{4, []string{"geometry", "8,48,10,52", "spatialRel", "esriSpatialRelContains"}, ""},
		{4, []string{"geometry", "8,48,10,52", "spatialRel", "esriSpatialRelOverlaps"}, "Fire"},
		{4, []string{"geometry", "10.2,50.2", "geometryType", "esriGeometryPoint", "spatialRel", "esriSpatialRelWithin"}, "Fire"},
		{4, []string{"geometry", `{"paths":[[[0,50],[20,50]]]}`, "geometryType", "esriGeometryPolyline", "spatialRel", "esriSpatialRelCrosses"}, "Fire"},
		{4, []string{"geometry", "11,49,12,51", "spatialRel", "esriSpatialRelTouches"}, "Fire"},
		{4, []string{"geometry", "11.5,50", "geometryType", "esriGeometryPoint", "distance", "40", "units", "esriSRUnit_Kilometer"}, "Fire"},
		{4, []string{"geometry", "11.5,50", "geometryType", "esriGeometryPoint", "distance", "20", "units", "esriSRUnit_StatuteMile"}, ""},
		{3, []string{"geometry", "-100.1,40", "geometryType", "esriGeometryPoint", "distance", "10000"}, "Flood West"},
		{3, []string{"geometry", "-100.1,40", "geometryType", "esriGeometryPoint", "distance", "8000"}, ""},
		{3, []string{"geometry", "500000,5500000,700000,5600000", "inSR", "32632"}, "Fire"},
		{3, []string{"where", "start_time > CURRENT_TIMESTAMP - INTERVAL '30' DAY AND start_time < CURRENT_TIMESTAMP + INTERVAL '1' DAY", "returnDistinctValues", "false"}, everything},
		{3, []string{"orderByFields", "type_ID DESC, hazard_Name", "resultRecordCount", "2"}, "Fire Storm"},
		{3, []string{"orderByFields", "type_ID, hazard_Name DESC", "resultOffset", "2", "resultRecordCount", "2"}, "Flood East Storm"},
		{3, []string{"time", "null,100000000000"}, ""},
		{3, []string{"time", "100000000000,null"}, everything},
		{3, []string{"objectIds", "1,3,99"}, "Fire Flood West"},
		{0, []string{"objectIds", "5"}, ""},
		{3, []string{"orderByFields", "hazard_ID DESC", "resultRecordCount", "2"}, "Over Storm"},
		{3, []string{"resultOffset", "1", "resultRecordCount", "2"}, "Fire Flood East"},
		{3, []string{"resultOffset", "9"}, ""},
		{3, []string{"returnZ", "false", "cacheHint", "true", "sqlFormat", "standard"}, everything},
	} {
		f := s.queryLayer(tt.layer, tt.parameters...)
		if f.names() != tt.want {
			t.Errorf("%d %v: %s, want %s", tt.layer, tt.parameters, f.names(), tt.want)
		}
		if f := s.queryLayer(tt.layer, append(tt.parameters, "returnCountOnly", "true", "resultRecordCount", "", "resultOffset", "")...); !slices.Contains(tt.parameters, "resultOffset") && !slices.Contains(tt.parameters, "resultRecordCount") && f.Count != len(strings.Fields(strings.NewReplacer("Flood ", "Flood").Replace(tt.want))) {
			t.Errorf("%d %v: counted %d, want %s", tt.layer, tt.parameters, f.Count, tt.want)
		}
	}
	if f := s.queryLayer(3, "resultRecordCount", "2"); !f.ExceededTransferLimit || len(f.Features) != 2 {
		t.Errorf("a page does not say that there is more: %+v", f)
	}
	if f := s.queryLayer(3, "returnIdsOnly", "true"); !slices.Equal(f.ObjectIDs, []int64{1, 2, 3, 4, 5}) || f.ObjectIDFieldName != "hazard_ID" {
		t.Errorf("ids %+v", f)
	}
	west := s.queryLayer(0, "where", "hazard_Name = 'Flood West'", "outSR", "102100", "outFields", "start_time,people")
	if len(west.Features) != 1 || len(west.Features[0].Attributes) != 3 || west.SpatialReference.LatestWKID != 3857 || west.Features[0].Geometry.X != -11131949.079 || west.Features[0].Geometry.Y != 4865942.28 {
		t.Errorf("in Web Mercator: %+v", west)
	}
	if began, ok := west.Features[0].Attributes["start_time"].(float64); !ok || began < 1e11 {
		t.Errorf("a moment is %v", west.Features[0].Attributes["start_time"])
	}
	fire := s.queryLayer(4)
	if rings := fire.Features[0].Geometry.Rings; fmt.Sprint(rings) != "[[[9 49] [9 51] [11 51] [11 49] [9 49]]]" {
		t.Errorf("the outside of an area does not run clockwise: %v", rings)
	}
	plain := s.queryLayer(0, "returnGeometry", "false")
	if plain.GeometryType != "" || len(plain.Features) != 4 {
		t.Errorf("without geometry: %+v", plain)
	}
	var geoJSON struct {
		Features []struct {
			ID         int
			Geometry   struct{ Type string }
			Properties map[string]any
		}
	}
	a := s.do("reader", http.MethodGet, featureServer+"/1/query?f=geojson&outFields=hazard_Name", nil)
	if a.JSON(t, &geoJSON); a.Header.Get("Content-Type") != "application/geo+json" || len(geoJSON.Features) != 1 || geoJSON.Features[0].Properties["hazard_Name"] != "Fire" || geoJSON.Features[0].ID != 3 || geoJSON.Features[0].Geometry.Type != "Polygon" {
		t.Errorf("%s", a.Body)
	}
}

func TestALayerIsCounted(t *testing.T) {
	s := scenery(t)
	rows := func(parameters ...string) string {
		f := s.queryLayer(3, append([]string{"outFields", ""}, parameters...)...)
		var all []string
		for _, x := range f.Features {
			var row []string
			for _, column := range f.Fields {
				row = append(row, fmt.Sprint(x.Attributes[column.Name]))
			}
			all = append(all, strings.Join(row, " "))
		}
		return strings.Join(all, ", ")
	}
	const count = `{"statisticType":"count","onStatisticField":"hazard_ID","outStatisticFieldName":"n"}`
	for _, tt := range []struct {
		parameters []string
		want       string
	}{
		{[]string{"outStatistics", "[" + count + "]"}, "5"},
		{[]string{"outStatistics", "[" + count + "]", "where", "type_ID = 'RIOT' OR type_ID = 'TORNADO'"}, "0"},
		{[]string{"outStatistics", "[" + count + "]", "groupByFieldsForStatistics", "type_ID"}, "FLOOD 3, STORM 1, WILDFIRE 1"},
		{[]string{"outStatistics", "[" + count + "]", "groupByFieldsForStatistics", "type_ID", "orderByFields", "n DESC, type_ID DESC", "resultRecordCount", "2"}, "FLOOD 3, WILDFIRE 1"},
		{[]string{"outStatistics", `[{"statisticType":"max","onStatisticField":"latitude"},{"statisticType":"MIN","onStatisticField":"latitude"},{"statisticType":"avg","onStatisticField":"hazard_ID"},{"statisticType":"sum","onStatisticField":"hazard_ID"},{"statisticType":"var","onStatisticField":"hazard_ID"},{"statisticType":"min","onStatisticField":"hazard_Name"},{"statisticType":"sum","onStatisticField":"people"}]`}, "50 -18 3 15 2.5 Fire <nil>"},
		{[]string{"returnDistinctValues", "true", "outFields", "status,severity_ID"}, "A ADVISORY, A WATCH, E WATCH"},
	} {
		if got := rows(tt.parameters...); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.parameters, got, tt.want)
		}
	}
}

// plainly sends a request as programs of ArcGIS do, which know nothing of the OpenAPI document.
func (w *world) plainly(method, path, form string) []byte {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+featureServer+path, strings.NewReader(form))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.Token("reader"))
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Errorf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	return text
}

// What ArcGIS draws with: numbers as colors, a box, one feature, addresses that end with a slash and
// documents by POST.
func TestAMapProgramFindsWhatItAsksFor(t *testing.T) {
	s := scenery(t)
	var layer struct {
		MaxRecordCount int
		DrawingInfo    struct {
			Renderer struct {
				UniqueValueInfos []struct {
					Value  string
					Symbol struct{ Color []int }
				}
			}
		}
		Quantized bool `json:"supportsCoordinatesQuantization"`
	}
	for _, path := range []string{"/1?f=json", "/1/?f=json"} {
		if err := json.Unmarshal(s.plainly(http.MethodGet, path, ""), &layer); err != nil {
			t.Fatal(err)
		}
		if !layer.Quantized || layer.MaxRecordCount != 500 {
			t.Errorf("%s: %+v", path, layer)
		}
	}
	for _, info := range layer.DrawingInfo.Renderer.UniqueValueInfos {
		if info.Value == "WARNING" && !slices.Equal(info.Symbol.Color, []int{255, 0, 0, 80}) || len(info.Symbol.Color) != 4 {
			t.Errorf("%s is drawn in %v", info.Value, info.Symbol.Color)
		}
	}
	for _, path := range []string{"", "/", "/layers", "/1", "/1/"} {
		if text := s.plainly(http.MethodPost, path, "f=json"); !strings.Contains(string(text), "currentVersion") {
			t.Errorf("POST %s: %s", path, text)
		}
	}
	var one struct{ Feature arcgisFeature }
	s.do("reader", http.MethodGet, featureServer+"/4/3?f=json", nil).JSON(t, &one)
	if one.Feature.Attributes["hazard_Name"] != "Fire" || len(one.Feature.Geometry.Rings) != 1 {
		t.Errorf("one feature: %+v", one)
	}
	for _, path := range []string{"/4/1", "/4/99", "/4/x"} { // a hazard without an area, none, no number
		wantProblem(t, s.do("reader", http.MethodGet, featureServer+path, nil), http.StatusNotFound)
	}
	var box struct {
		Count  int
		Extent struct{ XMin, YMin, XMax, YMax float64 }
	}
	s.do("reader", http.MethodGet, featureServer+"/4/query?returnExtentOnly=true&returnCountOnly=true", nil).JSON(t, &box)
	if box.Count != 1 || box.Extent != struct{ XMin, YMin, XMax, YMax float64 }{9, 49, 11, 51} {
		t.Errorf("extent %+v", box)
	}
	if a := s.do("reader", http.MethodGet, featureServer+"/4/query?returnExtentOnly=true&where=1=0", nil); !strings.Contains(string(a.Body), `"xmin":"NaN"`) {
		t.Errorf("extent of nothing: %s", a.Body)
	}
}

// Coordinates are whole cells of the grid that was asked for, as steps, in JSON as in PBF; an area that
// is smaller than a cell stays one.
func TestCoordinatesAreQuantized(t *testing.T) {
	s := scenery(t)
	type quantized struct {
		Transform struct {
			OriginPosition   string
			Scale, Translate [2]float64
		}
		Features []struct {
			Geometry struct {
				X, Y  int64
				Rings [][][2]int64
			}
		}
	}
	ask := func(layer, grid string) (q quantized) {
		t.Helper()
		s.do("reader", http.MethodGet, featureServer+"/"+layer+"/query?where=hazard_Name='Fire'&quantizationParameters="+url.QueryEscape(grid), nil).JSON(t, &q)
		if len(q.Features) != 1 {
			t.Fatalf("%+v", q)
		}
		return q
	}
	q := ask("4", `{"mode":"view","originPosition":"upperLeft","tolerance":0.5,"extent":{"xmin":0,"ymin":40,"xmax":20,"ymax":60,"spatialReference":{"wkid":4326}}}`)
	if q.Transform.Scale != [2]float64{0.5, 0.5} || q.Transform.Translate != [2]float64{0, 60} || q.Transform.OriginPosition != "upperLeft" || fmt.Sprint(q.Features[0].Geometry.Rings) != "[[[18 22] [0 -4] [4 0] [0 4] [-4 0]]]" {
		t.Errorf("%+v", q)
	}
	if q = ask("4", `{"originPosition":"lowerLeft","tolerance":0.5,"extent":{"xmin":0,"ymin":40,"xmax":20,"ymax":60}}`); fmt.Sprint(q.Features[0].Geometry.Rings) != "[[[18 18] [0 4] [4 0] [0 -4] [-4 0]]]" {
		t.Errorf("%+v", q)
	}
	if q = ask("4", `{"mode":"view","tolerance":100,"extent":{"xmin":-180,"ymin":-90,"xmax":180,"ymax":90}}`); fmt.Sprint(q.Features[0].Geometry.Rings) != "[[[2 0] [1 0] [0 1] [-1 0] [0 -1]]]" {
		t.Errorf("a small area: %+v", q)
	}
	if q = ask("3", `{"mode":"view","tolerance":0.5,"extent":{"xmin":0,"ymin":40,"xmax":20,"ymax":60}}`); q.Features[0].Geometry.X != 20 || q.Features[0].Geometry.Y != 20 {
		t.Errorf("a point: %+v", q)
	}
}

// A page is full while there is more, whatever its size: ArcGIS asks for pages side by side, and takes
// a shorter one for the last.
func TestAPageIsFullWhileThereIsMore(t *testing.T) {
	s := start(t)
	ring := make([]string, 0, 400)
	for i := range 400 {
		at := 2 * math.Pi * float64(i) / 400
		ring = append(ring, fmt.Sprintf("[%.6f,%.6f]", 10+math.Cos(at), 50+math.Sin(at)))
	}
	area := hazard.Area{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[` + strings.Join(append(ring, ring[0]), ",") + `]]}`}
	const n = 520
	at := s.Now()
	last, err := s.Store.Write(t.Context(), at, store.Origin{User: "red"}, func(tx *store.Tx) error {
		refs, err := tx.KeepAreas([]hazard.Area{area})
		if err != nil {
			return err
		}
		for i := range n {
			h := &hazard.Hazard{UUID: uuid.New(), Name: fmt.Sprint(i), Type: hazard.Flood, Severity: hazard.Watch, Category: hazard.Event, Status: hazard.Active,
				Start: at, End: at, Created: at, LastUpdate: at, Updated: at, OrgID: s.RedCross, Areas: refs}
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.settle(last)
	first := s.queryLayer(1)
	second := s.queryLayer(1, "resultOffset", "500")
	if len(first.Features) != 500 || !first.ExceededTransferLimit || len(second.Features) != n-500 || second.ExceededTransferLimit {
		t.Errorf("pages of %d and %d", len(first.Features), len(second.Features))
	}
}

// Unsupported parameters that would change the result are refused, and a hostile condition stays
// within its budget.
func TestAQueryThatCannotBeAnsweredIsRefused(t *testing.T) {
	s := start(t)
	for query, parameter := range map[string]string{
		"where=hazard_Name":                                         "where",
		"where=nothing=1":                                           "where",
		"where=1=1;DROP TABLE hazards":                              "where",
		"where=" + strings.Repeat("(", 60) + "1=1":                  "where",
		"where=type_ID IN ('A'" + strings.Repeat(",'A'", 600) + ")": "where",
		"where=page_url='x'":                                        "where",
		"objectIds=1,x":                                             "objectIds",
		"geometry=1,2,3":                                            "geometry",
		"geometry=5,1,4,2":                                          "geometry",
		"geometry={\"rings\":[[[1,2]]]}":                            "geometry",
		"geometry={\"rings\":[[[1,\"x\"]]]}":                        "geometry",
		"geometry={}":                                               "geometry",
		"geometry=NaN,1,2,3":                                        "geometry",
		"geometry=1,2,3,4&inSR=2180":                                "inSR",
		"geometry=1,2,3,4&spatialRel=esriSpatialRelIndexIntersects": "spatialRel",
		"geometry=1,2,3,4&distance=-1":                              "distance",
		"geometry=1,2,3,4&distance=1&units=esriSRUnit_Cubit":        "units",
		"orderByFields=nothing,end_time":                            "orderByFields",
		"quantizationParameters=[]":                                 "quantizationParameters",
		"quantizationParameters={\"mode\":\"x\"}":                   "quantizationParameters",
		"maxAllowableOffset=-1":                                     "maxAllowableOffset",
		"outSR=x":                                                   "outSR",
		"outSR=3857&f=geojson":                                      "outSR",
		"time=yesterday":                                            "time",
		"time=5,4":                                                  "time",
		"outFields=nothing":                                         "outFields",
		"returnCountOnly=maybe":                                     "returnCountOnly",
		"resultOffset=-1":                                           "resultOffset",
		"orderByFields=start_time UP":                               "orderByFields",
		"outStatistics=[]":                                          "outStatistics",
		"outStatistics=[{\"statisticType\":\"median\",\"onStatisticField\":\"hazard_ID\"}]": "outStatistics",
		"outStatistics=[{\"statisticType\":\"sum\",\"onStatisticField\":\"hazard_Name\"}]":  "outStatistics",
		"groupByFieldsForStatistics=type_ID":                                                "groupByFieldsForStatistics",
		"returnDistinctValues=true":                                                         "outFields",
		"having=count(*)>1":                                                                 "having",
		"distance=5":                                                                        "distance",
		"f=xml":                                                                             "f",
		"where=1=1&where=1=2":                                                               "where",
	} {
		var values []string
		for pair := range strings.SplitSeq(query, "&") {
			name, value, _ := strings.Cut(pair, "=")
			values = append(values, name+"="+url.QueryEscape(value))
		}
		p := wantProblem(t, s.do("reader", http.MethodGet, featureServer+"/3/query?"+strings.Join(values, "&"), nil), http.StatusBadRequest)
		if !slices.ContainsFunc(p.faults(), func(f string) bool { return strings.Contains(f, parameter) }) {
			t.Errorf("%s: faults %q", query, p.faults())
		}
	}
}

// GDAL reads the service with its own driver, here with a read key, page by page.
func TestGDALReadsTheFeatureService(t *testing.T) {
	test.SeldomButRaced(t)
	run := ogrinfo(t)
	s := scenery(t)
	k := makeKey(t, s, "red")
	layer := "ESRIJSON:" + s.URL() + "/key/" + k.Key + featureServer
	out := run("-ro", "-al", layer+"/0/query?where=1%3D1&outFields=*&f=json")
	for _, want := range []string{"Geometry: Point", "Feature Count: 4", "hazard_Name (String) = Flood West", "hazard_Name (String) = Storm", "POINT (-100 40)", "start_time (String) = 1", `ID["EPSG",4326]`} {
		if !strings.Contains(out, want) {
			t.Errorf("GDAL's output lacks %q: %s", want, out)
		}
	}
	if out = run("-ro", "-al", layer+"/4/query?where=1%3D1&outFields=*&f=json"); !strings.Contains(out, "Feature Count: 1") || !strings.Contains(out, "POLYGON ((9 49,9 51,11 51,11 49,9 49))") {
		t.Errorf("of areas GDAL reads %s", out)
	}
	if out = run("-ro", "-al", layer+"/3/query?where=type_ID%3D%27FLOOD%27&outFields=hazard_Name,type_ID&outSR=3857&f=json"); !strings.Contains(out, "Feature Count: 3") || !strings.Contains(out, "Pseudo-Mercator") {
		t.Errorf("of floods GDAL reads %s", out)
	}
	for i := range 15 {
		s.made("red", "/hazards", flood("hazard_Name", fmt.Sprint("Flood ", i), "latitude", i))
	}
	if out = run("-ro", "-al", "-oo", "FEATURE_SERVER_PAGING=YES", layer+"/3/query?where=1%3D1&outFields=hazard_Name&orderByFields=hazard_ID+ASC&resultRecordCount=6&f=json"); strings.Count(out, "OGRFeature(") != 20 {
		t.Errorf("by pages GDAL reads %d features: %s", strings.Count(out, "OGRFeature("), out)
	}
}

// ArcGIS sends long queries by POST: the answer is that of GET, for the same readers.
func TestAQueryMayComeAsAForm(t *testing.T) {
	s := scenery(t)
	public := scenery(t, func(c *app.Config) { c.Public = route.PublicRead })
	const form = "application/x-www-form-urlencoded"
	path := featureServer + "/0/query"
	k := makeKey(t, s, "red")
	for _, values := range []url.Values{{"where": {"type_ID = 'FLOOD'"}, "outFields": {"*"}, "f": {"json"}}, {"objectIds": {"1,2,3"}, "returnIdsOnly": {"true"}}, {"geometry": {"-110,30,-90,50"}, "f": {"geojson"}},
		{"where": {"1=1"}, "returnCountOnly": {"true"}}} {
		want := s.do("reader", http.MethodGet, path+"?"+values.Encode(), nil)
		got := s.do("reader", http.MethodPost, path, values.Encode(), "Content-Type", form, "If-None-Match", want.Header.Get("ETag"))
		if got.Status != http.StatusOK || string(got.Body) != string(want.Body) || got.Header.Get("Content-Type") != want.Header.Get("Content-Type") || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v: by POST %d %v %.300s, by GET %.300s", values, got.Status, got.Header, got.Body, want.Body)
		}
		if got := s.do("", http.MethodPost, "/key/"+k.Key+path, values.Encode(), "Content-Type", form); got.Status != http.StatusOK || len(got.Body) != len(want.Body) {
			t.Errorf("%v: with a key %d %.300s, want %.300s", values, got.Status, got.Body, want.Body)
		}
		if got := public.do("", http.MethodPost, path, values.Encode(), "Content-Type", form); got.Status != http.StatusOK || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v: to the public %d %.300s", values, got.Status, got.Body)
		}
	}
	if got := s.do("", http.MethodPost, path, "where=1=1", "Content-Type", form); got.Status != http.StatusForbidden {
		t.Errorf("without a token: %d", got.Status)
	}
	// Parameters in the address have priority, and none may be given twice.
	if got := s.do("reader", http.MethodPost, path+"?returnCountOnly=true", "where=type_ID+%3D+%27STORM%27", "Content-Type", form); string(got.Body) != `{"count":1}` {
		t.Errorf("in address and form: %d %s", got.Status, got.Body)
	}
	for _, tt := range []struct {
		body, kind string
		status     int
	}{{"f=json&where=x+%3D", form, 400}, {"where=%zz", form, 400}, {"where=1%3D1&where=2%3D2", form, 400}, {`{"where":"1=1"}`, "application/json", 415}, {"where=1%3D1", "", 415},
		{"where=" + strings.Repeat("x", 1<<20), form, 413}} {
		if got := s.do("reader", http.MethodPost, path, tt.body, "Content-Type", tt.kind); got.Status != tt.status {
			t.Errorf("%.40s as %q: %d %.200s, want %d", tt.body, tt.kind, got.Status, got.Body, tt.status)
		}
	}
	if got := public.do("", http.MethodPost, "/hazards", `{}`); got.Status != http.StatusForbidden {
		t.Errorf("the public writes: %d", got.Status)
	}
}
