package serve_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// M1, M4: one answer gives the positions of all active hazards, and one the areas in a window.
func TestActiveAreas(t *testing.T) {
	s := start(t)
	type draft = map[string]any
	make := func(name string, longitude float64, area any) int64 {
		t.Helper()
		d := draft{"hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WARNING", "latitude": 1, "longitude": longitude}
		if area != nil {
			d["area"] = area
		}
		var h struct {
			ID int64 `json:"hazard_ID"`
		}
		s.do("red", "POST", "/hazards", d).JSON(t, &h)
		return h.ID
	}
	square := draft{"type": "Polygon", "coordinates": [][][2]float64{{{0, 0}, {2, 0}, {2, 2}, {0, 2}, {0, 0}}}}
	fiji := draft{"type": "MultiPolygon", "coordinates": [][][][2]float64{{{{178, 0}, {180, 0}, {180, 2}, {178, 2}, {178, 0}}}, {{{-180, 0}, {-179, 0}, {-179, 2}, {-180, 2}, {-180, 0}}}}}
	area, point, across := make("area", 1, square), make("point", 7, nil), make("across", 179, fiji)
	over := make("over", 1, square)
	s.do("red", "PATCH", fmt.Sprintf("/hazards/%d", over), draft{"status": "E"})
	type places struct {
		Features []struct {
			ID         int64
			BBox       [4]float64
			Geometry   json.RawMessage
			Properties struct {
				Updated string `json:"update_Date"`
				Role    string
			}
		}
	}
	boxes := func(query string) (places, map[int64][4]float64) {
		t.Helper()
		var got places
		a := s.do("reader", "GET", "/hazards/active/areas"+query, nil)
		if a.Status != 200 || a.Header.Get("Content-Type") != "application/geo+json" || a.Header.Get("Hazardd-Change") == "" {
			t.Fatalf("%s: %d %s %s", query, a.Status, a.Header, a.Body)
		}
		a.JSON(t, &got)
		by := map[int64][4]float64{}
		for _, f := range got.Features {
			by[f.ID] = f.BBox
		}
		return got, by
	}
	all, by := boxes("")
	want := map[int64][4]float64{area: {0, 0, 2, 2}, point: {7, 1, 7, 1}, across: {178, 0, -179, 2}}
	if fmt.Sprint(by) != fmt.Sprint(want) || string(all.Features[0].Geometry) != "null" || len(all.Features[0].Properties.Updated) != 13 {
		t.Errorf("boxes: %v, want %v", by, want)
	}
	some, by := boxes(fmt.Sprintf("?ids=%d,%d,%d,4711", across, over, area))
	if len(by) != 2 || !strings.Contains(string(some.Features[0].Geometry), "MultiPolygon") || some.Features[1].Properties.Role != "alert" {
		t.Errorf("areas of ids: %+v", some)
	}
	if _, by := boxes("?ids=4711"); len(by) != 0 {
		t.Errorf("areas of none: %v", by)
	}
	for query, fault := range map[string]string{"?ids=": "not a hazard_ID", "?ids=x": "not a hazard_ID", "?ids=0": "not a hazard_ID", "?id=1": "is not known",
		"?ids=1" + strings.Repeat(",1", 500): "expected at most 500"} {
		if a := s.do("reader", "GET", "/hazards/active/areas"+query, nil); a.Status != 400 || !strings.Contains(string(a.Body), fault) {
			t.Errorf("%.20s: %d %s", query, a.Status, a.Body)
		}
	}
}
