package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/geo/raster"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve/route"
)

type exposureAnswer struct {
	People, Low, High *int64
	Text, Why, Method string
	Year              *int
	Bands             []struct {
		Kind   string
		People *int64
	}
	Places []struct {
		Name, Country, Direction string
		Population               int64
		Inside                   bool
	}
	Regions     []struct{ Code, Name, By string }
	RegionsText string `json:"regions_text"`
}

// awaitExposure requests a path until the people are counted. If by lists methods, the count must
// use one of them.
func (w *world) awaitExposure(path string, by ...string) exposureAnswer {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		a := w.do("reader", http.MethodGet, path+"/exposure", nil)
		if a.Status == http.StatusOK {
			var got exposureAnswer
			if a.JSON(w.t, &got); len(by) == 0 || slices.Contains(by, got.Method) {
				return got
			}
		} else if a.Status != http.StatusAccepted || a.Header.Get("Retry-After") == "" {
			w.t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
		}
		if time.Now().After(end) {
			w.t.Fatalf("nobody counted: %d %s", a.Status, a.Body)
		}
	}
}

const tokyo = `{"type":"Polygon","coordinates":[[[139.5,35.5],[140,35.5],[140,36],[139.5,36],[139.5,35.5]]]}`

// The people are counted soon after a write, and again when the area changes. The count is a
// separate change that leaves the base record unchanged (M12).
func TestExposureOfAHazard(t *testing.T) {
	s := start(t, func(c *app.Config) { c.NoExposure = false })
	h := s.hazard("red", "longitude", 139.7, "latitude", 35.7, "area", json.RawMessage(tokyo))
	path := "/hazards/" + h.UUID
	before := s.do("reader", http.MethodGet, path, nil)
	got := s.awaitExposure(path)
	if got.People == nil || *got.People < 10e6 || *got.People > 25e6 || *got.Low >= *got.People || *got.High <= *got.People || got.Year == nil || *got.Year != 2020 {
		t.Fatalf("exposure %+v", got)
	}
	if got.Places[0].Name != "Tokyo" || !got.Places[0].Inside || got.Regions[0].Code != "JP" || !strings.Contains(got.Text, "million people") {
		t.Errorf("exposure %+v", got)
	}
	if after := s.do("reader", http.MethodGet, path, nil); string(after.Body) != string(before.Body) || after.Header.Get("ETag") != before.Header.Get("ETag") {
		t.Errorf("the record was\n%s\nand is\n%s", before.Body, after.Body)
	}
	var changes []struct {
		Type, Time string
		Fields     []struct {
			Field    string
			From, To *int64
		}
	}
	s.do("reader", http.MethodGet, path+"/changes", nil).JSON(t, &changes)
	if len(changes) != 2 || changes[1].Type != "hazard.updated" || len(changes[1].Fields) != 1 || changes[1].Fields[0].Field != "people" ||
		changes[1].Fields[0].From != nil || *changes[1].Fields[0].To != *got.People {
		t.Errorf("changes %+v", changes)
	}
	var list struct {
		Features []struct {
			Properties struct {
				People *int64
			}
		}
	}
	s.do("reader", http.MethodGet, "/hazards/active?f=geojson", nil).JSON(t, &list)
	if n := list.Features[0].Properties.People; n == nil || *n != *got.People {
		t.Errorf("GeoJSON says %v", n)
	}

	// The area becomes a point: the number of people is unknown, and not 0.
	if a := s.do("red", http.MethodPatch, path, `{"area":null}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if got := s.awaitExposure(path); got.People != nil || got.Why == "" || got.Text != "not known" || len(got.Places) == 0 || got.Places[0].Inside {
		t.Errorf("of a point %+v", got)
	}
	var then exposureAnswer
	s.do("reader", http.MethodGet, path+"/exposure?at="+changes[0].Time, nil).JSON(t, &then)
	if then.People != nil || then.Why == "" {
		t.Errorf("as of %s %+v", changes[0].Time, then)
	}
	if a := s.do("reader", http.MethodGet, path+"/exposure?f=csv", nil); a.Status != http.StatusOK || !strings.HasPrefix(string(a.Body), "name,country,population") || !strings.Contains(string(a.Body), "\r\nTokyo,JP,") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	var towns struct {
		Features []struct {
			Geometry struct{ Coordinates []float64 }
		}
	}
	if s.do("reader", http.MethodGet, path+"/exposure?f=geojson", nil).JSON(t, &towns); len(towns.Features) == 0 || len(towns.Features[0].Geometry.Coordinates) != 2 {
		t.Errorf("towns %+v", towns)
	}
	for path, want := range map[string]int{path + "/exposure?f=kml": 400, path + "/exposure?x=1": 400, "/hazards/999/exposure": 404, "/hazards/x/exposure": 400} {
		if a := s.do("reader", http.MethodGet, path, nil); a.Status != want {
			t.Errorf("%s: %d, want %d", path, a.Status, want)
		}
	}
	if a := s.do("red", http.MethodPost, path+"/retract", `{"reason":"r"}`); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if got := s.do("reader", http.MethodGet, path+"/exposure", nil); got.Status != http.StatusOK {
		t.Errorf("of an ended hazard: %d %s", got.Status, got.Body)
	}
}

// States and provinces come after the countries. If their boundaries are unknown, they are those
// with towns of the area.
func TestExposureNamesStatesAndProvinces(t *testing.T) {
	t.Parallel() // it waits more than it works
	s := start(t, func(c *app.Config) { c.NoExposure = false })
	for _, tt := range []struct {
		lon, lat float64 // middle of a square
		want     string
	}{
		{-84.55, 39.1, "US US-IN US-KY US-OH"}, // around Cincinnati
		{-88.65, 40, "US US-IL"},
		{-117.05, 32.6, "MX US US-CA MX.02"},          // San Diego and Tijuana
		{139.75, 35.75, "JP JP.40 JP.34 JP.04 JP.14"}, // Tokyo, Saitama, Chiba, Ibaraki
		{16.9, 48.15, "AT SK SK.02 AT.03"},            // Bratislava, Lower Austria
		{5, 23, "DZ"},                                 // a desert, without a town
	} {
		got := ""
		area := fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}`, tt.lon-0.3, tt.lat-0.2, tt.lon+0.3, tt.lat-0.2, tt.lon+0.3, tt.lat+0.2, tt.lon-0.3, tt.lat+0.2, tt.lon-0.3, tt.lat-0.2)
		for _, r := range s.awaitExposure("/hazards/" + s.hazard("red", "longitude", tt.lon, "latitude", tt.lat, "area", json.RawMessage(area)).UUID).Regions {
			got += " " + r.Code
			if r.Name == "" || (r.By == "towns") != strings.Contains(r.Code, ".") {
				t.Errorf("%+v", r)
			}
		}
		if got != " "+tt.want {
			t.Errorf("%v, %v: %q, want %q", tt.lon, tt.lat, got, tt.want)
		}
	}
}

// Exposure, page and brief name in the reader's language the countries and provinces of a hazard,
// or for a storm at sea the nearest country.
func TestRegionsAreSaidInWords(t *testing.T) {
	s := start(t, func(c *app.Config) { c.NoExposure, c.Public = false, route.PublicRead })
	for _, tt := range []struct {
		lon, lat float64
		area     any
		lang     string
		want     []string
	}{
		{139.7, 35.7, json.RawMessage(tokyo), "en", []string{"Japan", "Tokyo, ", "those whose towns are known"}},
		{139.7, 35.7, json.RawMessage(tokyo), "fr", []string{"Japon", "Tokyo, ", "ceux dont des localités sont connues"}},
		{-86.1, 39.8, nil, "es", []string{"Estados Unidos", "Indiana"}},
		{-107.5, 19.5, nil, "en", []string{"none: Mexico is 214 km away"}},
	} {
		more := []any{"longitude", tt.lon, "latitude", tt.lat}
		if tt.area != nil {
			more = append(more, "area", tt.area)
		}
		id := s.hazard("red", more...).UUID
		s.awaitExposure("/hazards/" + id)
		var e exposureAnswer
		s.do("reader", http.MethodGet, "/hazards/"+id+"/exposure?lang="+tt.lang, nil).JSON(t, &e)
		texts := map[string]string{"exposure": e.RegionsText, "page": string(s.do("", http.MethodGet, "/h/"+id+"?lang="+tt.lang, nil, "Accept", "text/html").Body),
			"brief": string(s.do("reader", http.MethodGet, "/hazards/"+id+"/brief?lang="+tt.lang, nil).Body)}
		for what, text := range texts {
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s of %v, %v in %s: without %q: %.4000s", what, tt.lon, tt.lat, tt.lang, want, text)
				}
			}
		}
	}
}

// A raster that is loaded while the service runs is used from then on. When it is removed, the
// built-in data is used.
func TestARasterIsTakenUpWithoutRestart(t *testing.T) {
	if _, err := exec.LookPath("gdal_create"); err != nil {
		t.Skip("needs gdal-bin")
	}
	var data string
	s := start(t, func(c *app.Config) { c.NoExposure, data = false, c.DataDir })
	path := "/hazards/" + s.hazard("red", "longitude", 10, "latitude", 53.5, "area", json.RawMessage(`{"type":"Polygon","coordinates":[[[9.9,53.4],[10.1,53.4],[10.1,53.6],[9.9,53.6],[9.9,53.4]]]}`)).UUID
	builtin := s.awaitExposure(path)
	file := filepath.Join(t.TempDir(), "hamburg.tif")
	// 100 × 100 pixels of a hundredth of a degree, with 100 people in each.
	if text, err := exec.Command("gdal_create", "-q", "-ot", "Float32", "-outsize", "100", "100", "-burn", "100", "-a_srs", "EPSG:4326", "-a_ullr", "9.5", "54", "10.5", "53", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	tiff, err := raster.OpenGeoTIFF(in, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := population.Load(t.Context(), tiff, population.About{Name: "Hamburg", Year: 2021, Unit: population.Counts, Trust: true}, data); err != nil {
		t.Fatal(err)
	}
	if got := s.awaitExposure(path, "Hamburg"); got.People == nil || *got.People != 40_000 || got.Year == nil || *got.Year != 2021 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(data, population.FileName)); err != nil {
		t.Fatal(err)
	}
	if got := s.awaitExposure(path, builtin.Method); *got.People != *builtin.People {
		t.Errorf("%+v, before %+v", got, builtin)
	}
}

// A service that does not count people says so.
func TestNobodyIsCountedWhereItIsOff(t *testing.T) {
	s := start(t)
	h := s.hazard("red")
	var got exposureAnswer
	s.do("reader", http.MethodGet, "/hazards/"+h.UUID+"/exposure", nil).JSON(t, &got)
	if got.People != nil || got.Why == "" {
		t.Errorf("%+v", got)
	}
}

// The reason for a missing count is in the reader's language, and in English by default.
func TestWhyNobodyIsCountedInTheLanguageOfTheReader(t *testing.T) {
	const english = "this server does not count people"
	s := start(t)
	path := "/hazards/" + s.hazard("red").UUID
	for lang, want := range map[string]string{"": english, "?lang=en": english, "?lang=fr": "ce serveur ne compte pas les personnes", "?lang=qq": english} {
		var got struct{ Why string }
		if s.do("reader", "GET", path+"/exposure"+lang, nil).JSON(t, &got); got.Why != want {
			t.Errorf("%s: %q, want %q", lang, got.Why, want)
		}
	}
}

// An exposure says by when the forecast winds of a cyclone reach a town (D3).
func TestArrivalsOfAStorm(t *testing.T) {
	s := start(t)
	now := hazard.At(time.Now())
	by := now.Add(12 * time.Hour)
	storm := quake("al092021", 1)
	storm.Type = hazard.Cyclone
	wind := hazard.Shape{Role: hazard.WindShape, Band: &hazard.Band{Kind: hazard.Wind, Value: 119}, From: by, To: by, Forecast: true,
		Geometry: `{"type":"Polygon","coordinates":[[[-90.3,29.8],[-89.9,29.8],[-89.9,30.1],[-90.3,30.1],[-90.3,29.8]]]}`}
	s.takeIn("nhc", source.Batch{Reports: []hazard.Report{storm}, Read: 1, Drawings: []source.Drawing{{Key: "al092021", Part: "wind ahead", Version: 1, Shapes: []hazard.Shape{wind}}}})
	var got struct {
		Arrivals []struct {
			By, Country, Town, Kind string
			Value                   float64
		}
	}
	s.do("reader", http.MethodGet, "/hazards/"+hazard.EventUUID("nhc", "al092021").String()+"/exposure", nil).JSON(t, &got)
	for _, a := range got.Arrivals {
		if a.Town == "New Orleans" && a.Country == "US" && a.By == by.String() && a.Kind == "wind_kmh" && a.Value == 119 {
			return
		}
	}
	t.Errorf("arrivals %+v, want New Orleans", got.Arrivals)
}

// A tsunami's exposure has the coasts with the times of its waves; an earthquake's the towns that it
// shook, estimated if no source drew contours.
func TestArrivalsOfAWaveAndShakingOfTowns(t *testing.T) {
	s := start(t)
	at := hazard.At(time.Now()).Add(time.Hour)
	wave := quake("t1", 1)
	wave.Type = hazard.Tsunami
	coast := func(label string, at hazard.Instant, forecast bool) hazard.Shape {
		return hazard.Shape{Role: hazard.CoastShape, From: at, To: at, Forecast: forecast, Label: label, Geometry: `{"type":"Point","coordinates":[141.9,39.6]}`}
	}
	quake := quake("q1", 1)
	quake.Point = &hazard.Point{Lon: 28.2, Lat: 40.8}
	quake.Measurements = []hazard.Measurement{{Name: hazard.Depth, Value: 10}, {Name: hazard.Magnitude, Value: 6.2}}
	s.takeIn("usgs", source.Batch{Reports: []hazard.Report{quake, wave}, Read: 2, Drawings: []source.Drawing{
		{Key: "t1", Part: "arrivals", Version: 1, Shapes: []hazard.Shape{coast("Miyako, 3 m", at, true), coast("Ofunato, measured 0.2 m", at.Add(-90*time.Minute), false)}}}})
	type shaken struct {
		Town, Text string
		Intensity  float64
		Estimated  bool
	}
	type told struct {
		Arrivals []struct {
			By, Coast string
			Observed  bool
		}
		Shaking []shaken
	}
	read := func(key string) (got told) {
		s.do("reader", http.MethodGet, "/hazards/"+hazard.EventUUID("usgs", key).String()+"/exposure?lang=de", nil).JSON(t, &got)
		return got
	}
	if got := read("t1"); len(got.Arrivals) != 2 || got.Arrivals[0].Coast != "Ofunato, measured 0.2 m" || !got.Arrivals[0].Observed || got.Arrivals[1].By != at.String() || got.Arrivals[1].Observed || got.Shaking != nil {
		t.Errorf("a wave: %+v", got)
	}
	got := read("q1")
	i := slices.IndexFunc(got.Shaking, func(s shaken) bool { return s.Town == "Istanbul" })
	if i < 0 || !got.Shaking[i].Estimated || got.Shaking[i].Text != "mäßige Erschütterungen" || got.Arrivals != nil {
		t.Errorf("an earthquake: %+v", got)
	}
}
