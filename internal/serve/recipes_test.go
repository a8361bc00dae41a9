package serve_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// What docs/integrate.md says of Home Assistant and Grafana, which are not on this machine.
func TestOtherProgramsFindWhatTheRecipesName(t *testing.T) {
	s := scenery(t)
	// The library of Home Assistant's integration geo_json_events reads a feature by its id, its title,
	// and a point or a polygon.
	var feed struct {
		Type     string
		Features []struct {
			ID       string
			Geometry struct {
				Type        string
				Coordinates json.RawMessage
			}
			Properties struct{ Title string }
		}
	}
	s.do("reader", http.MethodGet, "/ogc/collections/points/items?limit=1000&bbox=-180,-90,180,90", nil).JSON(t, &feed)
	var titles []string
	for _, f := range feed.Features {
		var at [2]float64
		if err := json.Unmarshal(f.Geometry.Coordinates, &at); err != nil || f.ID == "" || f.Geometry.Type != "Point" {
			t.Errorf("%+v: %v", f, err)
		}
		titles = append(titles, f.Properties.Title)
	}
	slices.Sort(titles)
	if feed.Type != "FeatureCollection" || !slices.Equal(titles, []string{"Fire", "Flood East", "Flood West", "Storm"}) {
		t.Errorf("%s %q", feed.Type, titles)
	}
	// Grafana's data source Infinity.
	rows, err := csv.NewReader(bytes.NewReader(s.do("reader", http.MethodGet, "/hazards/active?f=csv", nil).Body)).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, column := range []string{"latitude", "longitude", "uuid"} {
		if !slices.Contains(rows[0], column) {
			t.Errorf("no column %s in %q", column, rows[0])
		}
	}
	var n struct{ Count *int }
	if s.do("reader", http.MethodGet, "/hazards/count?status=A&severity=WARNING", nil).JSON(t, &n); n.Count == nil {
		t.Error("no count")
	}
}
