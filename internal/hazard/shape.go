package hazard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ShapeRole says what a shape is.
type ShapeRole string

// The roles of shapes. Unlike the areas of a hazard, which say whom to tell, each is what a source drew, with its time.
const (
	AreaShape      ShapeRole = "area"        // where a model or an authority expects an impact
	ConeShape      ShapeRole = "cone"        // where the center of a storm may go
	TrackShape     ShapeRole = "track"       // where it went, or will go
	PositionShape  ShapeRole = "position"    // where it was, is, or will be at one time
	WindShape      ShapeRole = "wind radius" // where the wind is at least as strong as the band
	ContourShape   ShapeRole = "contour"     // a line along which a quantity has the value of the band
	PerimeterShape ShapeRole = "perimeter"   // the edge of a wildfire at a time
	CoastShape     ShapeRole = "coast"       // a stretch of coast, with the time at which a wave comes
	AshShape       ShapeRole = "ash"         // a cloud of volcanic ash
	ExtentShape    ShapeRole = "extent"      // what was seen from above: flooded, burnt, or the frame of a map of that
)

// ShapeRoles lists the roles, in the order in which shapes are drawn: areas below, positions above.
func ShapeRoles() []ShapeRole {
	return []ShapeRole{AreaShape, ExtentShape, ConeShape, AshShape, WindShape, PerimeterShape, ContourShape, CoastShape, TrackShape, PositionShape}
}

// The bounds of shapes. A ShakeMap has 17 contours of 20,000 positions together; a storm 100 shapes.
const (
	MaxShapes         = 1000    // in one document of a source
	MaxShapePositions = 100_000 // in one document of a source, together
	MaxShapeBytes     = 4 << 20 // of the text of one document's shapes
	MaxShapeParts     = 8       // documents of one event that count at a time
	maxShapesRefs     = 32      // documents of one hazard that count at a time
)

// Band is the value that tells a shape from others of its role: the intensity of a contour, the wind of a radius.
type Band struct {
	Kind  Quantity `json:"kind"`
	Value float64  `json:"value"` // in the unit of the quantity; of a scale of words the place of the word, from 1
}

// Unit is the unit of the band; empty where it has none.
func (b Band) Unit() string {
	info, _ := b.Kind.Info()
	return info.Unit
}

// String is the band for people: "8", "118.5 km/h", "orange".
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

// Shape is a geometry with its meaning, as a source drew it.
type Shape struct {
	Role ShapeRole `json:"role"`
	Band *Band     `json:"band,omitzero"`
	// From and To are the first and the last moment for which it holds; equal for one moment. To is 0 while it holds until the source says
	// otherwise.
	From Instant `json:"from"`
	To   Instant `json:"to,omitzero"`
	// Forecast: it is expected, and was not observed.
	Forecast bool `json:"forecast,omitzero"`
	// Label is what the source calls it, in a line for people; it names neither the hazard nor a person.
	Label  string `json:"label,omitzero"`
	Source string `json:"source,omitzero"` // name of the source. Intake sets it
	// Geometry is the text of a GeoJSON geometry, longitude before latitude, WGS84.
	Geometry string `json:"geometry"`
}

// Check says what a shape lacks that every shape has: a role, a time, a geometry, and a band that is of a quantity.
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
			return fmt.Errorf("band of a %s: %q is no quantity", s.Role, s.Band.Kind)
		}
		if low, high := info.Range(); !(s.Band.Value >= low && s.Band.Value <= high) {
			return fmt.Errorf("band of a %s: %s %v, expected %v to %v", s.Role, s.Band.Kind, s.Band.Value, low, high)
		}
	}
	return nil
}

// ShapesRef names kept shapes of one document of a source, by the SHA-256 of their text, in hexadecimal.
type ShapesRef struct {
	Source string `json:"source"`
	// Part tells the documents of an event apart: "cone", "wind", "contours".
	Part string `json:"part"`
	// Version orders the documents of a part: the greatest is what counts. Usually the milliseconds of its time of issue.
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

// same reports whether two references name the same shapes: when they were issued again does not count.
func (r ShapesRef) same(o ShapesRef) bool {
	return r.Source == o.Source && r.Part == o.Part && r.Digest == o.Digest
}

// Title is what a shape is called, for people: "Contour, intensity 6", "Wind radius, 63 km/h, forecast".
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

// bandColors are the colors of bands, from the least value for which each holds, the greatest first.
var bandColors = map[Quantity][]struct {
	from  float64
	color string
}{
	// The ShakeMap scale of intensity (Worden et al. 2020, ShakeMap Manual, "Intensity scale"), by whole degrees.
	Intensity: {{9.5, "#c80000"}, {8.5, "#ff0000"}, {7.5, "#ff9100"}, {6.5, "#ffc800"}, {5.5, "#ffff00"}, {4.5, "#7aff93"}, {3.5, "#80ffff"}, {2.5, "#a0e6ff"},
		{1.5, "#bfccff"}, {0, "#ffffff"}},
	// The Saffir-Simpson scale in the colors that are usual for it (5 to 1), and below it tropical storm and depression, in km/h of the wind
	// over one minute: 136, 113, 96, 83, 64, 50 and 34 kt. Each is lighter or darker than its neighbors, so that it can be told without its hue.
	Wind: {{252, "#a5003c"}, {208, "#d7301f"}, {177, "#fc8d59"}, {153, "#fdae61"}, {118, "#fee08b"}, {92, "#a1dab4"}, {62.5, "#41b6c4"}, {0, "#2c7fb8"}},
	// The levels of GDACS, in tones that people who do not tell red from green tell apart.
	GDACSLevel: {{3, "#b2182b"}, {2, "#f4a259"}, {1, "#5ab4ac"}},
}

// roleColors are the colors of shapes without a band.
var roleColors = map[ShapeRole]string{AreaShape: "#756bb1", ConeShape: "#4d4d4d", TrackShape: "#1a1a1a", PositionShape: "#1a1a1a", WindShape: "#41b6c4",
	ContourShape: "#7f7f7f", PerimeterShape: "#b2182b", CoastShape: "#08519c", AshShape: "#636363", ExtentShape: "#2b8cbe"}

// Growth are the colors of the perimeters of a fire where several are drawn, the oldest first: each lighter than the one before.
var Growth = [...]string{"#67001f", "#b2182b", "#d6604d", "#f4a582", "#fddbc7"}

// Color is the color in which a shape is drawn, as #rrggbb: that of its band's published scale, or else of its role.
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
