package page

import (
	"math"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// TestIntensityByDistance compares with values of the equation, reckoned by hand.
func TestIntensityByDistance(t *testing.T) {
	for _, tt := range []struct{ magnitude, km, want float64 }{{7, 10, 8.0344}, {7, 100, 5.6632}, {5, 20, 5.0191}, {6, 50, 5.1604}} {
		if got := intensityAt(tt.magnitude, tt.km); math.Abs(got-tt.want) > 0.0001 {
			t.Errorf("M %v at %v km: %v, want %v", tt.magnitude, tt.km, got, tt.want)
		}
	}
}

// TestShakingByTown checks which towns were shaken: by contours where a source drew some, else by an
// estimate, else nobody knows.
func TestShakingByTown(t *testing.T) {
	quake := func(magnitude, depth float64) *hazard.Hazard {
		return &hazard.Hazard{Type: hazard.Earthquake, Longitude: 28.2, Latitude: 40.8, Measurements: []hazard.Measurement{{Name: hazard.Depth, Value: depth}, {Name: hazard.Magnitude, Value: magnitude}}}
	}
	said := func(h *hazard.Hazard, intensity float64) *hazard.Hazard {
		h.Measurements = append(h.Measurements, hazard.Measurement{Name: hazard.Intensity, Value: intensity})
		return h
	}
	contour := func(value float64, geometry string) hazard.Shape {
		return hazard.Shape{Role: hazard.ContourShape, Band: &hazard.Band{Kind: hazard.Intensity, Value: value}, Geometry: geometry}
	}
	around := `{"type":"MultiLineString","coordinates":[[[28.5,40.7],[29.5,40.7],[29.5,41.5],[28.5,41.5],[28.5,40.7]]]}`
	inner := `{"type":"MultiLineString","coordinates":[[[28.9,40.95],[29.1,40.95],[29.1,41.1],[28.9,41.1],[28.9,40.95]]]}`
	open := `{"type":"MultiLineString","coordinates":[[[28.5,40.7],[29.5,40.7],[29.5,41.5]]]}`
	for name, tt := range map[string]struct {
		h         *hazard.Hazard
		shapes    []hazard.Shape
		istanbul  float64 // 0: not named
		estimated bool
	}{
		"the worst contour around a town": {quake(6.2, 10), []hazard.Shape{contour(5, around), contour(6.5, inner)}, 6.5, false},
		"an open contour encloses nobody": {quake(6.2, 10), []hazard.Shape{contour(5, around), contour(7, open)}, 5, false},
		"no contour":                      {quake(6.2, 10), nil, 5, true},
		"the source says less":            {said(quake(6.2, 10), 4.1), nil, 4.1, true},
		"the source says next to nothing": {said(quake(6.2, 10), 3.1), nil, 0, false},
		"a deep one":                      {quake(6.2, 120), nil, 0, false},
		"a small one":                     {quake(3, 10), nil, 0, false},
		"not an earthquake":               {&hazard.Hazard{Type: hazard.Flood}, []hazard.Shape{contour(5, around)}, 0, false},
	} {
		got := Shaken{}
		list := Shaking(tt.h, tt.shapes, 12)
		for i, s := range list {
			if s.Town.Name == "Istanbul" {
				got = s
			}
			if i > 0 && math.Floor(s.Intensity+0.5) > math.Floor(list[i-1].Intensity+0.5) {
				t.Errorf("%s: %v after %v", name, s, list[i-1])
			}
		}
		if math.Abs(got.Intensity-tt.istanbul) > 0.5 || got.Estimated != tt.estimated || len(list) > 12 {
			t.Errorf("%s: Istanbul %+v of %d, want %v", name, got, len(list), tt.istanbul)
		}
	}
}
