package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

func shakenHazard() *hazard.Hazard {
	return &hazard.Hazard{Name: "M 7.8", Type: hazard.Earthquake, Severity: hazard.Warning, Category: hazard.Event, Longitude: 94, Latitude: -5}
}

// The map of a hazard shows the shapes of its sources, each with a line in the legend. Forecasts
// are dashed.
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
		"perimeter": {[]hazard.Shape{perimeter(1_787_000_000_000), perimeter(1_787_000_000_000 + day)}, []string{">Perimeter, 17 Aug 2026<", ">Perimeter, 18 Aug 2026<", hazard.Growth[0], hazard.Growth[len(hazard.Growth)-1]}, nil},
		"two perimeters of a day": {[]hazard.Shape{perimeter(1_787_000_000_000), perimeter(1_787_000_000_000 - day/4), perimeter(1_787_000_000_000 + 2*day)},
			[]string{">Perimeter, 17 Aug 20:53 UTC<", ">Perimeter, 17 Aug 14:53 UTC<", ">Perimeter, 19 Aug 2026<"}, nil},
		"broken":  {[]hazard.Shape{{Role: hazard.ConeShape, From: 1, Geometry: `{"type":"Polygon","coordinates":[[[900,5]]]}`}, {Role: hazard.ConeShape, Geometry: `[`}}, []string{"</svg>"}, []string{"900"}},
		"nothing": {nil, []string{"</svg>"}, []string{`font-size="11"`}},
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

// A burnt area that fills the map leaves room for the legend.
func TestTheLegendOfAFireCoversNoneOfItsPerimeters(t *testing.T) {
	h := shakenHazard()
	h.Longitude, h.Latitude = -82, 0
	var shapes []hazard.Shape
	for i := range 4 {
		w, s := 0.8-0.2*float64(i), 0.5-0.1*float64(i) // as wide and high as the map
		shapes = append(shapes, hazard.Shape{Role: hazard.PerimeterShape, From: hazard.Instant(1_787_000_000_000 - int64(i)*86_400_000),
			Geometry: fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]g,%[3]g],[%[2]g,%[3]g],[%[2]g,%[4]g],[%[1]g,%[4]g],[%[1]g,%[3]g]]]}`, -82-w, -82+w, -s, s)})
	}
	m := Map{Hazard: h, Shapes: shapes}
	d := m.draw()
	all := m.readDrawn()
	if l, n := d.legendOf(all, patch{226, 136, 254, 164}); len(l.lines) != 4 || n != 0 {
		t.Errorf("the legend %+v covers %d", l, n)
	}
}

// The legend is where it covers least of the drawing. No time is written under it or under the
// symbol.
func TestTheLegendCoversNothingThatIsDrawn(t *testing.T) {
	for name, track := range map[string][2][2]float64{"to the north-east": {{-90, 28}, {-75, 43}}, "to the north-west": {{-75, 28}, {-90, 43}}, "to the east": {{-90, 28}, {-60, 28}}} {
		h := shakenHazard()
		h.Longitude, h.Latitude = track[0][0], track[0][1]
		shapes := []hazard.Shape{{Role: hazard.TrackShape, Forecast: true, From: 1_787_000_000_000, Geometry: fmt.Sprintf(`{"type":"LineString","coordinates":[[%g,%g],[%g,%g]]}`, track[0][0], track[0][1], track[1][0], track[1][1])}}
		for i := range 8 {
			f := float64(i) / 7
			shapes = append(shapes, hazard.Shape{Role: hazard.PositionShape, Forecast: true, From: hazard.Instant(1_787_000_000_000 + int64(i)*21_600_000),
				Geometry: fmt.Sprintf(`{"type":"Point","coordinates":[%g,%g]}`, track[0][0]+f*(track[1][0]-track[0][0]), track[0][1]+f*(track[1][1]-track[0][1]))})
		}
		m := Map{Hazard: h, Shapes: shapes}
		d := m.draw()
		x, y := d.xy(h.Longitude, h.Latitude)
		sign := patch{x - 14, y - 14, x + 14, y + 14}
		all := m.readDrawn()
		l, n := d.legendOf(all, sign)
		if len(l.lines) != 1 || n != 0 {
			t.Errorf("%s: the legend %+v covers %d", name, l, n)
		}
		times := 0
		for _, found := range regexp.MustCompile(`<text x="([0-9.]+)" y="([0-9.]+)" font-size="11"[^>]*>[0-9]+ Aug [0-9]+h UTC<`).FindAllStringSubmatch(d.String(), -1) {
			left, _ := strconv.ParseFloat(found[1], 64)
			base, _ := strconv.ParseFloat(found[2], 64)
			at := patch{left, base - 10, left + 60, base + 2}
			times++
			if at.meets(sign) || at.meets(l.patch) {
				t.Errorf("%s: the time at %v is under the symbol %v or the legend %v", name, at, sign, l.patch)
			}
		}
		if times < 2 {
			t.Errorf("%s: %d times are written", name, times)
		}
	}
}
