package serve_test

import (
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Programs can read the severity in figures, now and as of each moment, with the source and the
// time since when each figure is known (D4).
func TestMeasurementsOfAHazard(t *testing.T) {
	s := start(t)
	usgs := quake("us7000a", 1)
	usgs.Measurements = []hazard.Measurement{{Name: hazard.Depth, Value: 12.5}, {Name: hazard.Magnitude, Value: 6.1, Scale: "mb"}}
	s.report(usgs)
	path := "/hazards/" + hazard.EventUUID("usgs", "us7000a").String()
	type row struct {
		Name                      string
		Value                     float64
		Word, Unit, Scale, Source string
		Time                      string
	}
	read := func(path string) (rows []row) {
		t.Helper()
		s.do("reader", http.MethodGet, path, nil).JSON(t, &rows)
		return rows
	}
	first := read(path + "/measurements")
	if len(first) != 2 || first[0].Time == "" || first[0].Time != first[1].Time {
		t.Fatalf("measured %+v, want two, known since the same time", first)
	}
	since := first[0].Time
	want := []row{{"depth_km", 12.5, "", "km", "", "usgs", since}, {"magnitude", 6.1, "", "", "mb", "usgs", since}}
	if !slices.Equal(first, want) {
		t.Errorf("measured %+v, want %+v", first, want)
	}

	for time.Now().UTC().Format("2006-01-02T15:04:05.000Z") == since { // the second report comes in a later millisecond
		runtime.Gosched()
	}
	usgs.Version++
	usgs.Measurements = []hazard.Measurement{{Name: hazard.Depth, Value: 12.5}, {Name: hazard.Magnitude, Value: 6.3, Scale: "mww"}, {Name: hazard.PagerLevel, Value: 3}}
	s.report(usgs)
	second := read(path + "/measurements")
	if len(second) != 3 || second[0] != first[0] || second[1].Time == since {
		t.Fatalf("measured %+v: the depth is known since %s, the magnitude is not", second, since)
	}
	later := second[1].Time
	want = []row{first[0], {"magnitude", 6.3, "", "", "mww", "usgs", later}, {"pager_level", 3, "orange", "", "", "usgs", later}}
	if !slices.Equal(second, want) {
		t.Errorf("measured %+v, want %+v", second, want)
	}
	if got := read(path + "/measurements?at=" + since); !slices.Equal(got, first) {
		t.Errorf("measured as of %s %+v, want %+v", since, got, first)
	}
	want = []row{first[0], first[1], second[1], second[2]}
	if got := read(path + "/measurements?earlier=true"); !slices.Equal(got, want) {
		t.Errorf("measured also earlier %+v, want %+v", got, want)
	}
	if got := read(path + "/measurements?earlier=true&at=" + since); !slices.Equal(got, first) {
		t.Errorf("measured also before %s %+v, want %+v", since, got, first)
	}
	if got := s.do("reader", http.MethodGet, path+"/measurements?earlier=2", nil); got.Status != http.StatusBadRequest {
		t.Errorf("earlier=2: %d", got.Status)
	}
	if got := s.do("reader", http.MethodGet, path+"/measurements?x=1", nil); got.Status != http.StatusBadRequest {
		t.Errorf("an unknown parameter: %d", got.Status)
	}
	if got := s.do("reader", http.MethodGet, "/hazards/999/measurements", nil); got.Status != http.StatusNotFound {
		t.Errorf("an unknown hazard: %d", got.Status)
	}

	var list struct {
		Features []struct {
			Properties struct{ Measurements map[string]float64 }
		}
	}
	s.do("reader", http.MethodGet, "/hazards?f=geojson", nil).JSON(t, &list)
	if got := list.Features[0].Properties.Measurements; got["magnitude"] != 6.3 || got["pager_level"] != 3 || len(got) != 3 {
		t.Errorf("GeoJSON says %v", got)
	}

	var known []struct{ Name, Unit string }
	s.do("reader", http.MethodGet, "/measurements", nil).JSON(t, &known)
	if len(known) != len(hazard.Quantities()) || known[0].Name != "magnitude" || known[1].Unit != "km" {
		t.Errorf("quantities %v", known)
	}
}
