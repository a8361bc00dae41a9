package page

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

func shakenHazard() *hazard.Hazard {
	return &hazard.Hazard{Name: "M 7.8", Type: hazard.Earthquake, Severity: hazard.Warning, Category: hazard.Event, Longitude: 94, Latitude: -5}
}

// The map of a hazard draws what its sources draw, each with a line in the legend; what is expected is dashed.
func TestTheMapDrawsShapesWithALegend(t *testing.T) {
	line := func(role hazard.ShapeRole, kind hazard.Quantity, value float64, forecast bool) hazard.Shape {
		s := hazard.Shape{Role: role, From: 1_787_000_000_000, Forecast: forecast, Geometry: `{"type":"LineString","coordinates":[[93,-6],[95,-4]]}`}
		if kind != "" {
			s.Band = &hazard.Band{Kind: kind, Value: value}
		}
		return s
	}
	perimeter := func(at hazard.Instant) hazard.Shape {
		return hazard.Shape{Role: hazard.PerimeterShape, From: at, Geometry: `{"type":"Polygon","coordinates":[[[93,-6],[95,-4],[95,-6],[93,-6]]]}`}
	}
	const day = 86_400_000
	for name, tt := range map[string]struct {
		shapes     []hazard.Shape
		want, none []string
	}{
		"contours":  {[]hazard.Shape{line(hazard.ContourShape, hazard.Intensity, 6, false), line(hazard.ContourShape, hazard.Intensity, 6.5, false), line(hazard.ContourShape, hazard.Intensity, 2, false)}, []string{`stroke="#ffff00"`, ">Intensity 6<"}, []string{"Intensity 6.5", "Intensity 2", "dasharray"}},
		"a track":   {[]hazard.Shape{line(hazard.TrackShape, "", 0, true)}, []string{">Track, forecast<", "dasharray"}, nil},
		"perimeter": {[]hazard.Shape{perimeter(1_787_000_000_000), perimeter(1_787_000_000_000 + day)}, []string{">Perimeter, 17 Aug 2026<", ">Perimeter, 18 Aug 2026<", growth[0], growth[len(growth)-1]}, nil},
		"broken":    {[]hazard.Shape{{Role: hazard.ConeShape, From: 1, Geometry: `{"type":"Polygon","coordinates":[[[900,5]]]}`}, {Role: hazard.ConeShape, Geometry: `[`}}, []string{"</svg>"}, []string{"900"}},
		"nothing":   {nil, []string{"</svg>"}, []string{`font-size="11"`}},
	} {
		m := Map{Hazard: shakenHazard(), Shapes: tt.shapes}
		svg := string(m.SVG())
		for _, want := range tt.want {
			if !strings.Contains(svg, want) {
				t.Errorf("%s: no %q in %s", name, want, svg)
			}
		}
		for _, none := range tt.none {
			if strings.Contains(svg, none) {
				t.Errorf("%s: %q in %s", name, none, svg)
			}
		}
		for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if _, err := m.PNG(480); err != nil {
			t.Errorf("%s: as a picture: %v", name, err)
		}
	}
}
