package hazard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ShapeRole says what a shape is.
type ShapeRole string

// The roles of shapes. The areas of a hazard say where to alert people; a shape is something that a
// source drew for a certain time.
const (
	AreaShape      ShapeRole = "area"        // where a model or an authority expects an impact
	ConeShape      ShapeRole = "cone"        // where the center of a storm may go
	TrackShape     ShapeRole = "track"       // past or expected path
	PositionShape  ShapeRole = "position"    // past, present or expected position at one time
	WindShape      ShapeRole = "wind radius" // where the wind is at least the value of the band
	ContourShape   ShapeRole = "contour"     // line where a quantity has the value of the band
	PerimeterShape ShapeRole = "perimeter"   // the edge of a wildfire at a time
	CoastShape     ShapeRole = "coast"       // a stretch of coast, with the arrival time of a wave
	AshShape       ShapeRole = "ash"         // a cloud of volcanic ash
	ExtentShape    ShapeRole = "extent"      // observed from above: flooded or burnt land, or the frame of such a map
)

// ShapeRoles returns the roles in drawing order: areas at the bottom, positions on top.
func ShapeRoles() []ShapeRole {
	return []ShapeRole{AreaShape, ExtentShape, ConeShape, AshShape, WindShape, PerimeterShape, ContourShape, CoastShape, TrackShape, PositionShape}
}

// The limits of shapes. A ShakeMap has 17 contours with 20,000 positions together; a storm has 100
// shapes.
const (
	MaxShapes         = 1000    // per document
	MaxShapePositions = 100_000 // positions of all shapes in one document
	MaxShapeBytes     = 4 << 20 // bytes of all shapes in one document
	MaxShapeParts     = 8       // present documents per event
	maxShapesRefs     = 32      // present documents per hazard
)

// Band is the value that distinguishes shapes of the same role: the intensity of a contour, the
// wind of a radius.
type Band struct {
	Kind  Quantity `json:"kind"`
	Value float64  `json:"value"` // in the quantity's unit; for a scale of words the position of the word, from 1
}

// Unit returns the unit of the band, or "".
func (b Band) Unit() string {
	info, _ := b.Kind.Info()
	return info.Unit
}

// String formats the band for people: "8", "118.5 km/h", "orange".
func (b Band) String() string {
	m := Measurement{Name: b.Kind, Value: b.Value}
	if word := m.Word(); word != "" {
		return word
	}
	text := strconv.FormatFloat(b.Value, 'f', -1, 64)
	if unit := b.Unit(); unit != "" {
		text += " " + unit
	}
	return text
}

// Shape is a geometry with a meaning, as a source drew it.
type Shape struct {
	Role ShapeRole `json:"role"`
	Band *Band     `json:"band,omitzero"`
	// From and To are the first and last moment of validity, equal for a single moment. To is 0
	// while the shape is valid until further notice.
	From Instant `json:"from"`
	To   Instant `json:"to,omitzero"`
	// Forecast means that the shape is expected, not observed.
	Forecast bool `json:"forecast,omitzero"`
	// Label is the source's label, one line for people. It names neither the hazard nor a person.
	Label  string `json:"label,omitzero"`
	Source string `json:"source,omitzero"` // name of the source. Intake sets it
	// Geometry is the text of a GeoJSON geometry, longitude before latitude, WGS84.
	Geometry string `json:"geometry"`
}

// Check returns an error unless the shape has a role, a time, a geometry, and a known quantity for
// its band.
func (s *Shape) Check() error {
	switch {
	case !slices.Contains(ShapeRoles(), s.Role):
		return fmt.Errorf("role: %q, expected one of %q", s.Role, ShapeRoles())
	case s.From == 0 || s.From < MinInstant || s.From > MaxInstant:
		return fmt.Errorf("time of a %s: %d, expected an instant", s.Role, int64(s.From))
	case s.To != 0 && (s.To < s.From || s.To > MaxInstant):
		return fmt.Errorf("time of a %s: until %v, expected no earlier than %v", s.Role, s.To, s.From)
	case s.Geometry == "":
		return fmt.Errorf("geometry of a %s: missing", s.Role)
	}
	if s.Band != nil {
		info, ok := s.Band.Kind.Info()
		if !ok {
			return fmt.Errorf("band of a %s: %q is not a quantity", s.Role, s.Band.Kind)
		}
		if low, high := info.Range(); !(s.Band.Value >= low && s.Band.Value <= high) {
			return fmt.Errorf("band of a %s: %s %v, expected %v to %v", s.Role, s.Band.Kind, s.Band.Value, low, high)
		}
	}
	return nil
}

// ShapesRef refers to the stored shapes of one document by the hexadecimal SHA-256 of their text.
type ShapesRef struct {
	Source string `json:"source"`
	// Part distinguishes the documents of an event: "cone", "wind", "contours".
	Part string `json:"part"`
	// Version orders the documents of a part: the greatest counts. It is usually the time of issue
	// in milliseconds.
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

// same reports whether two references have the same shapes. A repeated issue does not count as a
// change.
func (r ShapesRef) same(o ShapesRef) bool {
	return r.Source == o.Source && r.Part == o.Part && r.Digest == o.Digest
}

// Title returns a title for people: "Contour, intensity 6", "Wind radius, 63 km/h, forecast".
func (s *Shape) Title() string {
	text := strings.ToUpper(string(s.Role[:1])) + string(s.Role[1:])
	if s.Label != "" {
		text = s.Label
	}
	if s.Band != nil {
		info, _ := s.Band.Kind.Info()
		if value := s.Band.String(); !strings.Contains(text, value) {
			text += ", " + strings.ToLower(info.Title) + " " + value
		}
	}
	if s.Forecast && !strings.Contains(strings.ToLower(text), "forecast") {
		text += ", forecast"
	}
	return text
}

// bandColors are the colors of bands: each applies from a minimum value, greatest first.
var bandColors = map[Quantity][]struct {
	from  float64
	color string
}{
	// The intensity scale of ShakeMap (Worden et al. 2020, ShakeMap Manual, "Intensity scale"), by
	// whole degrees.
	Intensity: {{9.5, "#c80000"}, {8.5, "#ff0000"}, {7.5, "#ff9100"}, {6.5, "#ffc800"}, {5.5, "#ffff00"}, {4.5, "#7aff93"}, {3.5, "#80ffff"}, {2.5, "#a0e6ff"},
		{1.5, "#bfccff"}, {0, "#ffffff"}},
	// The usual colors of the Saffir-Simpson scale (5 to 1), then tropical storm and depression, by
	// the one-minute wind in km/h: 136, 113, 96, 83, 64, 50 and 34 kt. Neighbors differ in
	// lightness, so that they can be distinguished without hue.
	Wind: {{252, "#a5003c"}, {208, "#d7301f"}, {177, "#fc8d59"}, {153, "#fdae61"}, {118, "#fee08b"}, {92, "#a1dab4"}, {62.5, "#41b6c4"}, {0, "#2c7fb8"}},
	// The levels of GDACS, in colors that readers with red-green blindness can distinguish.
	GDACSLevel: {{3, "#b2182b"}, {2, "#f4a259"}, {1, "#5ab4ac"}},
}

// roleColors are the colors of shapes without a band.
var roleColors = map[ShapeRole]string{AreaShape: "#756bb1", ConeShape: "#4d4d4d", TrackShape: "#1a1a1a", PositionShape: "#1a1a1a", WindShape: "#41b6c4",
	ContourShape: "#7f7f7f", PerimeterShape: "#b2182b", CoastShape: "#08519c", AshShape: "#636363", ExtentShape: "#2b8cbe"}

// Growth holds the colors of a fire's perimeters where several are drawn, from the oldest to the
// newest, each lighter than the one before.
var Growth = [...]string{"#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7"}

// Color returns the color of the shape, as #rrggbb: from the published scale of its band, otherwise
// from its role.
func (s *Shape) Color() string {
	if s.Band != nil {
		for _, c := range bandColors[s.Band.Kind] {
			if s.Band.Value >= c.from {
				return c.color
			}
		}
	}
	return roleColors[s.Role]
}
