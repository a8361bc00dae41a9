package page

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

func shapeOf(t testing.TB, text string) geo.Shape {
	t.Helper()
	s, err := geo.ParseGeoJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drawnWindow returns the SVG of a window, after checking that it is well formed and has no
// external references.
func drawnWindow(t testing.TB, w *Window) string {
	t.Helper()
	svg := w.SVG()
	elements(t, svg, func(e xml.StartElement) {
		for _, a := range e.Attr {
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("<%s %s=%q>", e.Name.Local, a.Name.Local, a.Value)
			}
		}
	})
	return string(svg)
}

func placed(id int64, severity hazard.Severity, category hazard.Category, lon, lat float64, shapes ...geo.Shape) Placed {
	h := &hazard.Hazard{ID: id, Type: hazard.Flood, Severity: severity, Category: category, Longitude: lon, Latitude: lat}
	for range shapes {
		h.Areas = append(h.Areas, hazard.AreaRef{Role: hazard.AlertArea})
	}
	return Placed{h, shapes}
}

func TestAWindowLeavesNoHazardOut(t *testing.T) {
	w := &Window{Longitude: 179, Latitude: 0, Zoom: 3, Width: 800, Height: 800}
	for i := range 3 {
		w.Hazards = append(w.Hazards, placed(int64(i+1), hazard.Advisory, hazard.Event, 178, 10)) // all at one place
	}
	w.Hazards = append(w.Hazards, placed(4, hazard.Warning, hazard.Event, -179, 12), // beyond the antimeridian
		placed(5, hazard.Warning, hazard.Exercise, 178, 10), placed(6, hazard.Watch, hazard.Event, 0, 0) /* on the other side of the world */)
	text := drawnWindow(t, w)
	if n := strings.Count(text, `<use href="#s`); n != 3 {
		t.Errorf("%d symbols, want one for the advisories, one for the warning and one for the drill", n)
	}
	if !strings.Contains(text, ">+2</text>") || strings.Contains(text, ">+3</text>") {
		t.Error("the advisories at one place are not counted, or the drill is among them")
	}
	if strings.Count(text, `stroke-dasharray="6 5"`) != 1 {
		t.Error("the drill has no ring")
	}
	// Its color comes with the first of its kind: the most severe is drawn last, and the drill
	// below real hazards.
	last := text[strings.LastIndex(text, "<defs>"):]
	if !strings.Contains(last, colourOfSeverity(hazard.Warning)) {
		t.Error("the warning is not on top")
	}
}

func TestACrowdBecomesDots(t *testing.T) {
	w := &Window{Longitude: 0, Latitude: 0, Zoom: 3, Width: 1200, Height: 1200}
	n := int64(0)
	for x := -100; x < 100; x += 4 {
		for y := -60; y < 60; y += 10 {
			n++
			w.Hazards = append(w.Hazards, placed(n, hazard.Watch, hazard.Event, float64(x), float64(y)))
		}
	}
	text := drawnWindow(t, w)
	symbols, dots := strings.Count(text, `<use href="#s`), strings.Count(text, fmt.Sprintf(`r="%.1f"`, dotRadius))
	if symbols != maxSymbols || dots < 20 {
		t.Errorf("%d symbols and %d dots of %d hazards", symbols, dots, n)
	}
}

func TestAWindowHasAreasAndGaps(t *testing.T) {
	area := shapeOf(t, `{"type":"Polygon","coordinates":[[[9.5,53.3],[10.5,53.3],[10.5,53.8],[9.5,53.8],[9.5,53.3]]]}`)
	far := shapeOf(t, `{"type":"Polygon","coordinates":[[[-70,53.3],[-69,53.3],[-69,53.8],[-70,53.8],[-70,53.3]]]}`)
	w := &Window{Longitude: 10, Latitude: 53.5, Zoom: 5, Width: 400, Height: 800, Gaps: []geo.Shape{far}}
	w.Hazards = []Placed{placed(1, hazard.Warning, hazard.Event, 40, 10, area)} // its point is outside the window
	text := drawnWindow(t, w)
	const warning, watch = `<g><use href="#a5" fill="#ff0000" opacity="0.72"/>`, `<g mask="url(#m4)"><use href="#a4" fill="#ffff00" opacity="0.36"/>`
	if !strings.Contains(text, warning) || strings.Contains(text, `<use href="#s`) || strings.Contains(text, `id="gap"`) {
		t.Errorf("an area in the window, a point and a gap elsewhere: %.3000s", text)
	}
	w.Hazards = append(w.Hazards, placed(2, hazard.Warning, hazard.Event, 40, 11, area), placed(3, hazard.Watch, hazard.Event, 40, 12, area), placed(4, hazard.Warning, hazard.Exercise, 40, 13, area))
	text = drawnWindow(t, w)
	if strings.Count(text, warning) != 1 || strings.Count(text, watch) != 1 || strings.Contains(text, "fill-opacity") {
		t.Errorf("two warnings, a watch and a drill at one place: one fill for each level, none for drills: %.3000s", text)
	}
	if mask := `<mask id="m4" maskUnits="userSpaceOnUse" x="0" y="0" width="400" height="800"><rect width="400" height="800" fill="#fff"/><use href="#a5"/></mask>`; !strings.Contains(text, mask) {
		t.Errorf("the watch shows through the warnings: no %s in %.3000s", mask, text)
	}
	w.Gaps = []geo.Shape{area}
	if text := drawnWindow(t, w); !strings.Contains(text, `url(#gap)`) {
		t.Error("a gap in the window is not hatched")
	}
	if !w.Sees([]geo.Shape{area}) || w.Sees([]geo.Shape{far}) || w.Sees(nil) {
		t.Error("Sees is wrong for places inside or outside the window")
	}
	east := &Window{Longitude: 179, Latitude: 0, Zoom: 5, Width: 800, Height: 800}
	if !east.Sees([]geo.Shape{shapeOf(t, `{"type":"Polygon","coordinates":[[[-179,-1],[-178,-1],[-178,1],[-179,1],[-179,-1]]]}`)}) {
		t.Error("a window across the antimeridian does not see places beyond it")
	}
	w.Ground = picturedMap(t).Ground
	if text := drawnWindow(t, w); w.Ground != nil && !strings.Contains(text, `{"name":"Hamburg","longitude":9.99`) && !strings.Contains(text, `{"name":"Hamburg","longitude":10`) {
		t.Errorf("no towns: %.200s", text[strings.Index(text, "<metadata>"):])
	}
}

func BenchmarkWindowOf2000Hazards(b *testing.B) {
	w := &Window{Longitude: 10, Latitude: 50, Zoom: 4, Width: 400, Height: 800, Ground: picturedMap(b).Ground}
	for i := range 2000 {
		x, y := -5+float64(i%50)*0.6, 35+float64(i/50)*0.7
		w.Hazards = append(w.Hazards, placed(int64(i+1), hazard.Advisory, hazard.Event, x, y,
			shapeOf(b, fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%[1]f,%[2]f],[%[3]f,%[2]f],[%[3]f,%[4]f],[%[1]f,%[4]f],[%[1]f,%[2]f]]]}`, x, y, x+.5, y+.5))))
	}
	var n int
	for b.Loop() {
		n = len(w.SVG())
	}
	b.ReportMetric(float64(n), "bytes")
}

// Steps are between rounded positions, so that a long coast ends at the right place.
func TestAPathIsShortAndDoesNotDrift(t *testing.T) {
	d := &drawing{width: 400, height: 400, scale: 1, north: 400, project: func(latitude float64) float64 { return latitude }}
	var line [][2]float64
	for i := range 300 {
		line = append(line, [2]float64{1.04 * float64(i), 50 + 0.54*float64(i%2)})
	}
	path := d.way(line, true)
	ways := readPath(path)
	if len(ways) != 1 || len(ways[0].points) != len(line) {
		t.Fatalf("%.200s: %d parts", path, len(ways))
	}
	for i, p := range ways[0].points {
		if x, y := d.xy(line[i][0], line[i][1]); math.Abs(p[0]-x) > 0.051 || math.Abs(p[1]-y) > 0.051 {
			t.Fatalf("position %d is at %v, not at %v, %v: %.200s", i, p, x, y, path)
		}
	}
	if n := len(path) / len(line); n > 6 {
		t.Errorf("%d bytes a position: %.200s", n, path)
	}
}
