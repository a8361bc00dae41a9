package serve_test

import (
	"net/http"
	"strings"
	"testing"
)

// The areas of a file are returned as GeoJSON, and the map's form of them is accepted as a hazard's
// area. Errors give their place in the file.
func TestReadAreasOfAFile(t *testing.T) {
	s := start(t)
	const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document>
<Placemark><name>Quay</name><Polygon><outerBoundaryIs><LinearRing><coordinates>10,53 11,53 11,54 10,54 10,53</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>
<Placemark><name>Island</name><Polygon><outerBoundaryIs><LinearRing><coordinates>10.5,53.5 12,53.5 12,55 10.5,55 10.5,53.5</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>
<Placemark><Point><coordinates>1,2</coordinates></Point></Placemark></Document></kml>`
	a := s.do("red", http.MethodPost, "/areas/read", kml)
	var got struct {
		Type, Format string
		Features     []struct {
			Geometry   struct{ Type string }
			Properties struct {
				Name string
				Km2  float64 `json:"area_km2"`
			}
		}
		Left  int `json:"left_out"`
		Whole any
	}
	a.JSON(t, &got)
	if a.Status != http.StatusOK || got.Type != "FeatureCollection" || got.Format != "KML" || len(got.Features) != 2 || got.Left != 1 || got.Features[0].Properties.Name != "Quay" || got.Features[0].Properties.Km2 != 7354.5 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	small := strings.Replace(kml, "10,53 11,53 11,54 10,54 10,53", "10,53 10.0001,53 10.0001,53.0001 10,53.0001 10,53", 1)
	if a := s.do("red", http.MethodPost, "/areas/read", small); !strings.Contains(string(a.Body), `"area_km2":0.0000744,`) {
		t.Errorf("a small area: %d %s", a.Status, a.Body)
	}
	if a := s.do("red", http.MethodPost, "/hazards", map[string]any{"hazard_Name": "Flood", "type_ID": "FLOOD", "severity_ID": "WATCH", "latitude": 53.5, "longitude": 10.5, "area": got.Whole}); a.Status != http.StatusCreated {
		t.Errorf("as the area of a hazard: %d %s", a.Status, a.Body)
	}
	for body, want := range map[string]string{
		strings.Replace(kml, "11,53", "11;53", 1): "line 2: coordinates: ",
		"name,lon,lat": "expected GeoJSON, KML",
		"":             "the file is empty",
	} {
		if a := s.do("red", http.MethodPost, "/areas/read", body); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), want) {
			t.Errorf("%.20q: %d %s, want %q", body, a.Status, a.Body, want)
		}
	}
	if a := s.do("reader", http.MethodPost, "/areas/read", kml); a.Status != http.StatusForbidden {
		t.Errorf("a reader: %d", a.Status)
	}
	if a := s.do("red", http.MethodPost, "/areas/read", strings.Repeat(" ", 4<<20+1)); a.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large file: %d", a.Status)
	}
}
