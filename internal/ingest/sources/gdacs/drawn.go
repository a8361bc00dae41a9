package gdacs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// drawnRow is a row of the table of drawn shapes.
type drawnRow struct {
	class, kinds string // beginning of the class, and event types with it, as in areaRow
	role         hazard.ShapeRole
	wind         float64 // km/h; 0 for none
	label        string
}

// drawnRows is the table of drawn shapes; the first row that fits is used. The colors of winds are
// not alert levels (gdacs.org/Knowledge, "Tropical cyclones").
var drawnRows = []drawnRow{
	{"Poly_Affected", "FL", hazard.ExtentShape, 0, "Affected area"},
	{"Poly_area", "FL", hazard.ExtentShape, 0, "Affected area"},
	{"Poly_area", "WF", hazard.PerimeterShape, 0, "Burnt area"},
	{"Poly_area", "DR", hazard.AreaShape, 0, "Area in drought"},
	{"Poly_Green", "TC", hazard.WindShape, 60, "Wind of 60 km/h and more"},
	{"Poly_Orange", "TC", hazard.WindShape, 90, "Wind of 90 km/h and more"},
	{"Poly_Red", "TC", hazard.WindShape, 120, "Wind of 120 km/h and more"},
	{"Poly_Cones", "TC", hazard.ConeShape, 0, "Forecast cone of the center"},
	{"Line_Line_", "TC", hazard.TrackShape, 0, "Track"},
}

// drawn returns the drawn shapes of an event that began at start. Their times are those of the
// shapes, or else of the event's last data.
func (e *event) drawn(shapes []shape, start hazard.Instant) (all []hazard.Shape) {
	last, err := date(e.to)
	if err != nil || last < start {
		last = start
	}
	tracks := map[bool][]string{}
	for _, s := range shapes {
		kind, coordinates := geometryParts(s.geometry)
		width, height, ok := extent(coordinates)
		if !ok || max(width, height) == 0 {
			continue
		}
		one := hazard.Shape{From: start, To: last, Geometry: `{"type":"` + kind + `","coordinates":` + string(coordinates) + `}`}
		if n, isShaking := strings.CutPrefix(s.class, shaking); isShaking && e.code == "EQ" {
			intensity, ok := number(n)
			if !ok || intensity < 1 || intensity > 12 {
				continue
			}
			one.Role, one.Band, one.Label = hazard.AreaShape, &hazard.Band{Kind: hazard.Intensity, Value: intensity}, "Shaking"
			all = append(all, one)
			continue
		}
		i := slices.IndexFunc(drawnRows, func(r drawnRow) bool { return strings.HasPrefix(s.class, r.class) && strings.Contains(r.kinds, e.code) })
		if i < 0 {
			continue
		}
		row := drawnRows[i]
		one.Role, one.Label = row.role, row.label
		if row.wind > 0 {
			one.Band = &hazard.Band{Kind: hazard.Wind, Value: row.wind}
		}
		if row.role == hazard.TrackShape {
			if kind == "LineString" && !slices.Contains(tracks[s.forecast], string(coordinates)) {
				tracks[s.forecast] = append(tracks[s.forecast], string(coordinates))
			}
			continue
		}
		if (kind != "Polygon" && kind != "MultiPolygon") || width == 0 || height == 0 {
			continue
		}
		if at, err := date(s.date); s.step && err == nil {
			one.From, one.To, one.Forecast = at, at, at > last
		}
		if row.role == hazard.ConeShape {
			one.From, one.To, one.Forecast = last, 0, true
		}
		all = append(all, one)
	}
	for _, forecast := range []bool{false, true} {
		if lines := tracks[forecast]; len(lines) > 0 {
			slices.Sort(lines)
			one := hazard.Shape{Role: hazard.TrackShape, From: start, To: last, Label: "Track so far", Geometry: `{"type":"MultiLineString","coordinates":[` + strings.Join(lines, ",") + `]}`}
			if forecast {
				one.From, one.To, one.Forecast, one.Label = last, 0, true, "Forecast track"
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b hazard.Shape) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.From, b.From), cmp.Compare(a.Geometry, b.Geometry))
	})
	return all
}
