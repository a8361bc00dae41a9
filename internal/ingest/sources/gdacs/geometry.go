package gdacs

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// shape is a polygon or line of an event.
type shape struct {
	class string // Poly_Affected …
	// step means the wind at one time. Otherwise the polygon is the swath of all times.
	step     bool
	geometry jsontext.Value
	date     string // time of a step
	label    string
	forecast bool // a forecast segment of a track
}

// role returns the role of a shape of that class for an event of that type, or "" if the shape is
// not an affected area.
func role(code, class string) hazard.AreaRole {
	if n, ok := strings.CutPrefix(class, shaking); ok && code == "EQ" {
		intensity, ok := number(n)
		switch {
		case ok && intensity >= minDamaging:
			return hazard.ImpactArea
		case ok && intensity >= minFelt:
			return hazard.AlertArea
		}
		return ""
	}
	for _, row := range areaRows {
		if strings.HasPrefix(class, row.class) && strings.Contains(row.kinds, code) {
			return row.role
		}
	}
	return ""
}

// areas returns the affected areas among shapes, in a fixed order. Winds at single times are only
// used if there is no swath of all times. Shapes without extent are left out (for example the wind
// of a storm that does not reach that strength). The segments of a track become the lines of one
// geometry.
func areas(code string, shapes []shape) []hazard.Area {
	swath := slices.ContainsFunc(shapes, func(s shape) bool { return !s.step && strings.HasPrefix(s.class, "Poly_Green") })
	var all []hazard.Area
	var track []string
	for _, s := range shapes {
		r := role(code, s.class)
		if r == "" || s.step && swath {
			continue
		}
		kind, coordinates := geometryParts(s.geometry)
		switch kind {
		case "LineString":
			track = append(track, string(coordinates))
		case "Polygon", "MultiPolygon":
			text := `{"type":"` + kind + `","coordinates":` + string(coordinates) + `}`
			if width, height, ok := extent(coordinates); ok && width > 0 && height > 0 {
				all = append(all, hazard.Area{Role: r, Geometry: text})
			}
		}
	}
	if len(track) > 0 {
		slices.Sort(track)
		text := `{"type":"MultiLineString","coordinates":[` + strings.Join(slices.Compact(track), ",") + `]}`
		if width, height, ok := extent([]byte(text[strings.IndexByte(text, '[') : len(text)-1])); ok && max(width, height) > 0 {
			all = append(all, hazard.Area{Role: hazard.TrackArea, Geometry: text})
		}
	}
	slices.SortFunc(all, func(a, b hazard.Area) int {
		return cmp.Or(strings.Compare(string(a.Role), string(b.Role)), strings.Compare(a.Geometry, b.Geometry))
	})
	return slices.Compact(all)
}

// extent returns the width and height of coordinates in degrees, at any depth of nesting, and
// whether they are valid positions. It does not check whether rings are simple; they are repaired
// when shapes are drawn.
func extent(coordinates []byte) (width, height float64, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(coordinates))
	west, east, south, north := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	axis := 0
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return east - west, north - south, err == io.EOF && west <= east && south <= north
		}
		switch token.Kind() {
		case '[':
			axis = 0
		case ']':
		case '0':
			v, known := number(token.String())
			switch axis++; {
			case !known:
				return 0, 0, false
			case axis == 1 && math.Abs(v) <= 360:
				west, east = min(west, v), max(east, v)
			case axis == 2 && math.Abs(v) <= 90:
				south, north = min(south, v), max(north, v)
			case axis <= 2:
				return 0, 0, false
			}
		default:
			return 0, 0, false
		}
	}
}

// geometryParts returns the type and the coordinates of a geometry, without blanks.
func geometryParts(raw jsontext.Value) (kind string, coordinates []byte) {
	var g struct {
		Type        string         `json:"type"`
		Coordinates jsontext.Value `json:"coordinates"`
	}
	if raw.Kind() != '{' || json.Unmarshal(raw, &g, lenient.Options, tolerant) != nil {
		return "", nil
	}
	_ = g.Coordinates.Compact() // it was decoded as JSON, so there is no error
	return g.Type, g.Coordinates
}

// middle returns the center of the circles among shapes, which are drawn around the position of the
// event. It is rounded to four decimals, like positions of GDACS.
func middle(shapes []shape) (lon, lat float64, ok bool) {
	for _, s := range shapes {
		if !strings.HasPrefix(s.class, "Poly_Circle") {
			continue
		}
		if circle, err := geo.ParseLoose(s.geometry); err == nil && circle.AreaKm2() > 0 {
			lon, lat = circle.Point()
			return math.Round(lon*1e4) / 1e4, math.Round(lat*1e4) / 1e4, true
		}
	}
	return 0, 0, false
}

// capPolygon returns a CAP polygon ("lat,lon lat,lon …") as GeoJSON, longitude first; nil if it is
// invalid.
func capPolygon(text string) jsontext.Value {
	var b bytes.Buffer
	b.WriteString(`{"type":"Polygon","coordinates":[[`)
	n := 0
	for pair := range strings.FieldsSeq(text) {
		first, second, _ := strings.Cut(pair, ",")
		lat, ok1 := number(first)
		lon, ok2 := number(second)
		if !ok1 || !ok2 {
			return nil
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		b.WriteString("[" + strconv.FormatFloat(geo.Wrap(lon), 'f', -1, 64) + "," + strconv.FormatFloat(lat, 'f', -1, 64) + "]")
	}
	if n < 4 {
		return nil
	}
	b.WriteString("]]}")
	return b.Bytes()
}
