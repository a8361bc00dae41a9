package cap

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test/recordings"
)

// collection returns a document for ReadPlaces with the given features.
func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`)
}

func regionFeature(kind, code, geometry string) string {
	return fmt.Sprintf(`{"type":"Feature","properties":{"code":%q,"type":%q,"name":"a name","country":"XX"},"geometry":%s}`, code, kind, geometry)
}

func box(west, south, east, north float64) string {
	return fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]v,%[2]v],[%[3]v,%[2]v],[%[3]v,%[4]v],[%[1]v,%[4]v],[%[1]v,%[2]v]]]}`, west, south, east, north)
}

func TestPlacesOfAnOperator(t *testing.T) {
	p, err := ReadPlaces(collection(regionFeature("EMMA_ID", "AT001", box(10, 47, 11, 48)), regionFeature("EMMA_ID", "AT001", box(11, 47, 12, 48)), regionFeature("WARNCELLID", "812345", box(8, 50, 9, 51)),
		regionFeature("NUTS3", "AT130", box(16, 48, 17, 49))))
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]string{"EMMA_ID:AT001": "10 47 12 48", "WARNCELLID:812345": "8 50 9 51", "NUTS3:AT130": "16 48 17 49", "AT001": "", "EMMA_ID:AT002": ""} {
		s, ok := p.Shape(t.Context(), code)
		got := ""
		if ok {
			west, south, east, north := s.Bounds()
			got = fmt.Sprint(west, south, east, north)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                   "not the GeoJSON that is expected",
		"[]":                 "not the GeoJSON that is expected",
		`{"type":"Feature"}`: `type: "Feature", expected FeatureCollection`,
		string(collection(regionFeature("", "AT001", box(1, 2, 3, 4)))):             `features/0/properties: code "AT001", type "", expected both`,
		string(collection(regionFeature("EMMA_ID", "AT001", `{"type":"Polygon"}`))): "features/0 (AT001): geometry: ",
		string(collection(regionFeature("EMMA_ID", "AT001", "null"))):               "features/0 (AT001): geometry: ",
		string(collection(`{"type":"Feature","properties":null,"geometry":null}`)):  "features/0/properties: ",
	} {
		if _, err := ReadPlaces([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want %s", text, err, want)
		}
	}
}

// MeteoAlarm's regions are replaced by boxes that were derived from them. Each place in the
// recorded warnings has a box, except for Croatia, which has none.
func TestRegionsOfMeteoAlarmPlaceItsWarnings(t *testing.T) {
	var boxes map[string]struct{ BBox [4]float64 }
	if err := json.Unmarshal(recordings.Read(t, "feeds/meteoalarm/derived-emma-areas.json"), &boxes); err != nil {
		t.Fatal(err)
	}
	var features []string
	for code, b := range boxes {
		features = append(features, regionFeature("EMMA_ID", code, box(b.BBox[0], b.BBox[1], b.BBox[2], b.BBox[3])))
	}
	p, err := ReadPlaces(collection(features...))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{"api-croatia-202401.json": 14, "api-bosnia-herzegovina-202401.json": 0, "api-germany-20260420.json": 0} {
		batch, err := Parse(Config{Name: "meteoalarm", URL: "https://example.org/"}, recordings.Read(t, "feeds/meteoalarm/"+file), at(t, "2026-04-20T21:17:00Z"))
		if err != nil || len(batch.Reports) == 0 {
			t.Fatalf("%s: %d reports, error %v", file, len(batch.Reports), err)
		}
		missing := map[string]bool{}
		for _, r := range batch.Reports {
			for _, code := range r.Places {
				if _, ok := p.Shape(t.Context(), code); !ok {
					missing[code] = true
				}
			}
		}
		if len(missing) != want {
			t.Errorf("%s: no shape of %v", file, missing)
		}
	}
}
