package geo

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

func mustWKT(t testing.TB, text string) Shape {
	t.Helper()
	s, err := ParseWKT(text)
	if err != nil {
		t.Fatalf("ParseWKT(%.100q): %v", text, err)
	}
	return s
}

func mustLoose(t testing.TB, text string) Shape {
	t.Helper()
	s, err := ParseLoose([]byte(text))
	if err != nil {
		t.Fatalf("ParseLoose(%.100q): %v", text, err)
	}
	return s
}

func TestCanonicalText(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"an outer ring is turned counterclockwise and starts at its smallest position": {
			"POLYGON((5 5,5 0,0 0,0 5,5 5))",
			`{"type":"Polygon","coordinates":[[[0,0],[5,0],[5,5],[0,5],[0,0]]]}`,
		},
		"a hole is turned clockwise": {
			"POLYGON((0 0,5 0,5 5,0 5,0 0),(1 1,2 1,2 2,1 1))",
			`{"type":"Polygon","coordinates":[[[0,0],[5,0],[5,5],[0,5],[0,0]],[[1,1],[2,2],[2,1],[1,1]]]}`,
		},
		"six decimals, no exponent, no negative zero": {
			"LINESTRING(-0.0000001 1e-6,100.12345649 -0.5)",
			`{"type":"LineString","coordinates":[[0,0.000001],[100.123456,-0.5]]}`,
		},
		"points are sorted and each is kept once": {
			"MULTIPOINT(3 3,(1 1),3 3)",
			`{"type":"MultiPoint","coordinates":[[1,1],[3,3]]}`,
		},
		"one member makes no collection of it": {
			"GEOMETRYCOLLECTION(MULTIPOINT((1 2)))",
			`{"type":"Point","coordinates":[1,2]}`,
		},
		"a collection is flattened, areas first": {
			"GEOMETRYCOLLECTION(POINT(9 9),GEOMETRYCOLLECTION(LINESTRING(0 0,1 1),POLYGON((0 0,1 0,1 1,0 0))))",
			`{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},` +
				`{"type":"LineString","coordinates":[[0,0],[1,1]]},{"type":"Point","coordinates":[9,9]}]}`,
		},
		"polygons that share a side are joined": {
			"MULTIPOLYGON(((0 0,1 0,1 1,0 1,0 0)),((1 0,2 0,2 1,1 1,1 0)))",
			`{"type":"Polygon","coordinates":[[[0,0],[1,0],[2,0],[2,1],[1,1],[0,1],[0,0]]]}`,
		},
		"heights and measures are dropped": {
			"LINESTRING ZM (0 0 9 9, 1 1 9 9)",
			`{"type":"LineString","coordinates":[[0,0],[1,1]]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustWKT(t, tt.in).GeoJSON(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTheAntimeridianIsCut(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a polygon": {
			"POLYGON((179 0,-179 0,-179 1,179 1,179 0))",
			"MULTIPOLYGON(((-180 0,-179 0,-179 1,-180 1,-180 0)),((179 0,180 0,180 1,179 1,179 0)))",
		},
		"a polygon that only reaches it": {
			"POLYGON((179 0,-180 0,-180 1,179 1,179 0))",
			"POLYGON((179 0,180 0,180 1,179 1,179 0))",
		},
		"a polygon that repeats it on both sides": {
			"POLYGON((170 0,180 0,-180 0,-170 0,-170 1,-180 1,180 1,170 1,170 0))",
			"MULTIPOLYGON(((-180 0,-170 0,-170 1,-180 1,-180 0)),((170 0,180 0,180 1,170 1,170 0)))",
		},
		"a polygon with a hole across it": {
			"POLYGON((170 0,-170 0,-170 9,170 9,170 0),(179 4,-179 4,-179 5,179 5,179 4))",
			"MULTIPOLYGON(((-180 0,-170 0,-170 9,-180 9,-180 5,-179 5,-179 4,-180 4,-180 0)),((170 0,180 0,180 4,179 4,179 5,180 5,180 9,170 9,170 0)))",
		},
		"a polygon with a hole on the far side": {
			"POLYGON((170 0,-170 0,-170 9,170 9,170 0),(-176 4,-175 4,-175 5,-176 4))",
			"MULTIPOLYGON(((-180 0,-170 0,-170 9,-180 9,-180 0),(-176 4,-175 5,-175 4,-176 4)),((170 0,180 0,180 9,170 9,170 0)))",
		},
		"a line":                             {"LINESTRING(179 0,-179 2)", "MULTILINESTRING((179 0,180 1),(-180 1,-179 2))"},
		"a line that starts on it":           {"LINESTRING(180 0,-179 2)", "LINESTRING(-180 0,-179 2)"},
		"a line along it":                    {"LINESTRING(180 0,180 2)", "LINESTRING(-180 0,-180 2)"},
		"a line there and back":              {"LINESTRING(179 0,-179 0,179 0)", "MULTILINESTRING((179 0,180 0),(-180 0,-179 0,-180 0),(180 0,179 0))"},
		"a whole parallel":                   {"LINESTRING(-180 5,180 5)", "LINESTRING(-180 5,0 5,180 5)"},
		"a point on it has one of two names": {"POINT(180 5)", "POINT(180 5)"},
		"a ring round the north pole": {
			"POLYGON((0 80,90 80,180 80,-90 80,0 80))",
			"POLYGON((-180 80,-90 80,0 80,90 80,180 80,180 90,90 90,0 90,-90 90,-180 90,-180 80))",
		},
		"a ring round the south pole": {
			"POLYGON((0 -80,120 -80,-120 -80,0 -80))",
			"POLYGON((-180 -90,-90 -90,0 -90,90 -90,180 -90,180 -80,120 -80,0 -80,-120 -80,-180 -80,-180 -90))",
		},
		"the whole world stays whole": {
			"POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))",
			"POLYGON((-180 -90,0 -90,180 -90,180 90,0 90,-180 90,-180 -90))",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustWKT(t, tt.in)
			if got := s.WKT(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := mustWKT(t, s.WKT()); again.WKT() != s.WKT() {
				t.Errorf("read again it is %s", again.WKT())
			}
		})
	}
}

func TestARingBetweenTwoParallels(t *testing.T) {
	s := mustWKT(t, "POLYGON((0 60,120 60,-120 60,0 60),(0 70,-120 70,120 70,0 70))")
	want := mustWKT(t, "POLYGON((-180 60,180 60,180 70,-180 70,-180 60))")
	if got, want := s.AreaKm2(), want.AreaKm2(); math.Abs(got-want) > want/1e6 {
		t.Errorf("%s has %g km², want %g", s.WKT(), got, want)
	}
}

func TestRefusalsSayWhatAndWhere(t *testing.T) {
	for in, want := range map[string]string{
		"POLYGON((0 0,1 0,1 1,0 2))":                                             "ring 1: the ring is not closed, its last position must be its first",
		"POLYGON((0 0,9 0,9 9,0 0),(1 1,2 1,200 2,1 1))":                         "ring 2, position 3: longitude 200 is outside -180 to 180",
		"MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((0 0,1 91,1 1,0 0)))":                 "polygon 2, ring 1, position 2: latitude 91 is outside -90 to 90 (the longitude comes first)",
		"POLYGON((0 0,1 0,2 0,0 0))":                                             "ring 1: the ring has no area",
		"POLYGON((0 0,1 1e-7,0 1e-7,0 0))":                                       "ring 1: the ring has no area",
		"POLYGON((0 0,2 0,2 2,1 0,0 2,0 0))":                                     "ring 1: the ring meets itself after (0 0) and (1 0), expected one that does not",
		"POLYGON((0 0,5 0,5 5,0 5,0 0),(7 7,8 7,8 8,7 7))":                       "the holes of the polygon cross each other or its outer ring, or lie outside of it",
		"POLYGON((0 0,5 0,5 5,0 5,0 0),(4 4,6 4,6 6,4 4))":                       "the holes of the polygon cross each other or its outer ring, or lie outside of it",
		"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,8 1,8 8,1 8,1 1),(2 2,3 2,3 3,2 2))": "the holes of the polygon cross each other or its outer ring, or lie outside of it",
		"GEOMETRYCOLLECTION(POINT(1 2),POINT(1 x))":                              `geometry 2, position 1: "x" at character 39 is not a number of degrees`,
		"POLYGON((180 0,-180 0,180 0,-180 0,180 0))":                             "ring 1: the ring has no area",
		"LINESTRING(1 1,1 1)":                                                    "the line has no length, expected two different positions",
		"LINESTRING(1 1)":                                                        "1 positions, expected at least 2",
		"POINT Z (1 2)":                                                          "position 1: character 13 is ')', expected a number",
		"POINT(1 2 3)":                                                           "position 1: character 11 is '3', expected a comma or )",
		"POLYGON EMPTY":                                                          "the geometry is empty",
	} {
		if s, err := ParseWKT(in); err == nil || err.Error() != want {
			t.Errorf("ParseWKT(%s) = %s, %v\nwant the error %s", in, s.WKT(), err, want)
		}
	}
	for in, want := range map[string]string{
		``:                                      "the text is empty, expected a geometry object",
		`null`:                                  "expected a geometry object",
		`{"type":"Point","coordinates":[1,2]}x`: "text after the geometry, expected the end",
		`{"type":"Point","type":"Point","coordinates":[1,2]}`:                                      `duplicate object member name "type"`,
		`{"type":"Point","coordinates":[1,2}`:                                                      `not JSON: invalid character '}' after array element (expecting ',' or ']') within "/coordinates" after offset 34`,
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,"1"],[0,0]]]}`:                           "ring 1, position 3: a value that is not a number, expected an array of longitude and latitude in degrees",
		`{"type":"LineString","coordinates":[[0,0],[1e999,0]]}`:                                    "position 2: 1e999 is out of range",
		`{"type":"LineString","coordinates":[0,1]}`:                                                "position 1: expected an array of longitude and latitude in degrees",
		`{"coordinates":[0,1]}`:                                                                    "type is missing, expected the name of a geometry",
		`{"type":"Point"}`:                                                                         "a Point has coordinates, and no geometries",
		`{"type":"Polygon","coordinates":[0,1]}`:                                                   "ring 1: expected an array of positions",
		`{"type":"GeometryCollection","geometries":[1]}`:                                           "geometry 1: expected a geometry object",
		`{"type":"GeometryCollection","geometries":[],"coordinates":[]}`:                           "a GeometryCollection has geometries, and no coordinates",
		strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 9) + strings.Repeat("]}", 9): strings.Repeat("geometry 1, ", 7) + "geometry 1: collections within each other more than 8 deep",
	} {
		if s, err := ParseGeoJSON([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("ParseGeoJSON(%s) = %s, %v\nwant the error %s", in, s.WKT(), err, want)
		}
	}
}

func TestLimitsHold(t *testing.T) {
	line := func(n int) string { return "LINESTRING(0 0" + strings.Repeat(",1 1,0 0", n/2) + ")" }
	if _, err := ParseWKT(line(MaxPositions - 2)); err != nil {
		t.Error(err)
	}
	if _, err := ParseWKT(line(MaxPositions)); err == nil || !strings.Contains(err.Error(), "more than 20000 positions") {
		t.Errorf("got %v", err)
	}
	if _, err := ParseGeoJSON([]byte(strings.Repeat("[", 1_000_000))); err == nil {
		t.Error("took a million brackets")
	}
}

// comb returns a valid polygon whose sides are all close to each other.
func comb(teeth int) string {
	var b strings.Builder
	for i := range teeth {
		x := float64(i) * 0.004
		fmt.Fprintf(&b, "%g 50,%g 0,", x+50, x)
	}
	return "POLYGON((" + b.String() + "90 50,90 51,50 51,50 50))"
}

func TestAPolygonMadeToBeSlowIsRefused(t *testing.T) {
	if _, err := ParseWKT(comb(500)); err != nil {
		t.Error(err)
	}
	if _, err := ParseWKT(comb(9_000)); err == nil || err.Error() != "its sides lie too close to each other to be checked in 100 ms; simplify it" {
		t.Errorf("got %v", err)
	}
}

func TestLooseReadingMends(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"an open ring":               {`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}`, "POLYGON((0 0,1 0,1 1,0 0))"},
		"a bow tie, both wings":      {`{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`, "MULTIPOLYGON(((0 0,1 1,0 2,0 0)),((1 1,2 0,2 2,1 1)))"},
		"a spike":                    {`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[2,5],[2,2],[0,2],[0,0]]]}`, "POLYGON((0 0,2 0,2 2,0 2,0 0))"},
		"a spike along a side":       {`{"type":"Polygon","coordinates":[[[0,0],[5,0],[2,0],[2,2],[0,2],[0,0]]]}`, "POLYGON((0 0,2 0,2 2,0 2,0 0))"},
		"a ring walked twice":        {`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0],[2,0],[2,2],[0,0]]]}`, "POLYGON((0 0,2 0,2 2,0 0))"},
		"a hole that is half out":    {`{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[3,1],[5,1],[5,2],[3,2],[3,1]]]}`, "POLYGON((0 0,4 0,4 1,3 1,3 2,4 2,4 4,0 4,0 0))"},
		"a degenerate hole":          {`{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[3,1],[3,1],[3,1],[3,1]]]}`, "POLYGON((0 0,4 0,4 4,0 0))"},
		"a ring of one position":     {`{"type":"Polygon","coordinates":[[[3,1],[3,1],[3,1],[3,1]]]}`, "POINT(3 1)"},
		"a ring on the antimeridian": {`{"type":"Polygon","coordinates":[[[180,0],[-180,0],[180,0],[-180,0]]]}`, "POINT(180 0)"},
		"a ring of two positions":    {`{"type":"Polygon","coordinates":[[[3,1],[4,1],[3,1]]]}`, "LINESTRING(3 1,4 1)"},
		"a degenerate second part":   {`{"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[0,0]]],[[[3,1],[3,1],[3,1],[3,1]]]]}`, "POLYGON((0 0,4 0,4 4,0 0))"},
		"longitudes beyond 180":      {`{"type":"Polygon","coordinates":[[[179,0],[181,0],[181,1],[179,1],[179,0]]]}`, "MULTIPOLYGON(((-180 0,-179 0,-179 1,-180 1,-180 0)),((179 0,180 0,180 1,179 1,179 0)))"},
		"a point beyond 180":         {`{"type":"Point","coordinates":[190,1]}`, "POINT(-170 1)"},
		"more numbers, old members":  {`{"type":"Point","coordinates":[1,2,3,4],"crs":null,"type":"Point"}`, "POINT(1 2)"},
		"an empty line beside":       {`{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[]},{"type":"Point","coordinates":[1,2]}]}`, "POINT(1 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustLoose(t, tt.in).WKT(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	for _, in := range []string{
		`{"type":"Polygon","coordinates":[]}`,
		`{"type":"GeometryCollection","geometries":[]}`,
		`{"type":"Point","coordinates":[0,91]}`,
		`{"type":"Polygon","coordinates":[[[0,0],[361,0],[1,1],[0,0]]]}`,
		`null`,
		``,
	} {
		if s, err := ParseLoose([]byte(in)); err == nil {
			t.Errorf("took %s as %s", in, s.WKT())
		}
	}
}

func TestRepresentativePoint(t *testing.T) {
	for name, tt := range map[string]struct {
		in       string
		lon, lat float64
	}{
		"the centroid of a square":            {"POLYGON((0 0,2 0,2 2,0 2,0 0))", 1, 1},
		"in a crescent, not beside it":        {"POLYGON((0 0,4 0,4 4,0 4,0 3,3 3,3 1,0 1,0 0))", 3.5, 2},
		"in the largest of several":           {"MULTIPOLYGON(((0 0,2 0,2 2,0 2,0 0)),((10 0,13 0,13 3,10 3,10 0)))", 11.5, 1.5},
		"in the middle of the antimeridian":   {"POLYGON((178 0,-178 0,-178 2,178 2,178 0))", 180, 1},
		"a little east of the antimeridian":   {"POLYGON((179 0,-177 0,-177 2,179 2,179 0))", -179, 1},
		"halfway along the longest line":      {"MULTILINESTRING((0 0,1 0),(10 0,10 4))", 10, 2},
		"a point":                             {"POINT(3 4)", 3, 4},
		"the middlemost point":                {"MULTIPOINT(1 1,2 2,9 9)", 2, 2},
		"of points across the antimeridian":   {"MULTIPOINT(178 0,-179 0,-178 0)", -179, 0},
		"of the area, whatever else is there": {"GEOMETRYCOLLECTION(POLYGON((0 0,2 0,2 2,0 2,0 0)),POINT(9 9))", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustWKT(t, tt.in)
			lon, lat := s.Point()
			if lon != tt.lon || lat != tt.lat {
				t.Errorf("Point of %s = %v %v, want %v %v", s.WKT(), lon, lat, tt.lon, tt.lat)
			}
		})
	}
	if lon, lat := (Shape{}).Point(); lon == lon || lat == lat {
		t.Errorf("the zero Shape has the point %v %v", lon, lat)
	}
}

func TestBounds(t *testing.T) {
	for in, want := range map[string][4]float64{
		"POINT(3 4)":                                          {3, 4, 3, 4},
		"POLYGON((0 0,2 0,2 2,0 2,0 0))":                      {0, 0, 2, 2},
		"POLYGON((179 0,-179 0,-179 1,179 1,179 0))":          {179, 0, -179, 1},
		"POLYGON((-180 0,-179 0,-179 1,-180 0))":              {-180, 0, -179, 1},
		"POLYGON((180 0,179 0,179 1,180 0))":                  {179, 0, 180, 1},
		"POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))": {-180, -90, 180, 90},
		"MULTIPOINT(-100 0,100 0)":                            {100, 0, -100, 0},
		"MULTIPOINT(-80 0,80 0)":                              {-80, 0, 80, 0},
		"MULTIPOINT(180 0,-170 0)":                            {-180, 0, -170, 0},
		"LINESTRING(170 1,-170 3)":                            {170, 1, -170, 3},
	} {
		s := mustWKT(t, in)
		west, south, east, north := s.Bounds()
		if got := [4]float64{west, south, east, north}; got != want {
			t.Errorf("Bounds of %s = %v, want %v", in, got, want)
		}
	}
}

func TestMeasures(t *testing.T) {
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
		}
	}
	world := 4 * math.Pi * earthRadius * earthRadius / 1e6
	near("the whole world", mustWKT(t, "POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))").AreaKm2(), world, 1)
	near("a hemisphere", mustWKT(t, "POLYGON((0 0,120 0,-120 0,0 0))").AreaKm2(), world/2, 1)
	near("an octant", mustWKT(t, "POLYGON((0 0,90 0,90 90,0 90,0 0))").AreaKm2(), world/8, 1)
	near("a square with a hole", mustWKT(t, "POLYGON((0 0,2 0,2 2,0 2,0 0),(0.5 0.5,1.5 0.5,1.5 1.5,0.5 1.5,0.5 0.5))").AreaKm2(),
		mustWKT(t, "POLYGON((0 0,2 0,2 2,0 2,0 0))").AreaKm2()-mustWKT(t, "POLYGON((0.5 0.5,1.5 0.5,1.5 1.5,0.5 1.5,0.5 0.5))").AreaKm2(), 1e-3)
	near("a line", mustWKT(t, "LINESTRING(0 0,1 1)").AreaKm2(), 0, 0)
	near("a degree of the equator", Distance(0, 0, 1, 0), 111_195, 1)
	near("across the antimeridian", Distance(179.5, 0, -179.5, 0), 111_195, 1)
	near("to the other side", Distance(0, 0, 180, 0), math.Pi*earthRadius, 1)
	near("Paris to New York", Distance(2.3522, 48.8566, -74.0060, 40.7128), 5_837_000, 2_000)
}

func TestCircle(t *testing.T) {
	for _, tt := range []struct{ lon, lat, radius float64 }{
		{0, 0, 1000}, {-122.4, 37.8, 50_000}, {179.99, -17, 20_000}, {-180, 65, 300_000},
		{10, 89.9, 100_000}, {10, -85, 1_000_000}, {40, 90, 500_000}, {-75, 1, 9_999_999}, {13, 52, 20},
	} {
		s := Circle(tt.lon, tt.lat, tt.radius)
		angle := tt.radius / earthRadius
		want := 2 * math.Pi * (1 - math.Cos(angle)) * earthRadius * earthRadius / 1e6
		if got := s.AreaKm2(); math.Abs(got-want) > want*0.1 {
			t.Errorf("Circle(%v) has %g km², want about %g: %s", tt, got, want, s.WKT())
		}
		if !Intersects(s, mustWKT(t, fmt.Sprintf("POINT(%v %v)", tt.lon, tt.lat))) {
			t.Errorf("Circle(%v) does not hold its centre: %s", tt, s.WKT())
		}
		if again := mustWKT(t, s.WKT()); again.WKT() != s.WKT() {
			t.Errorf("Circle(%v) = %s, read again %s", tt, s.WKT(), again.WKT())
		}
	}
	for _, radius := range []float64{0, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2} {
		s := Circle(5, 5, radius)
		if again := mustWKT(t, s.WKT()); again.WKT() != s.WKT() {
			t.Errorf("a circle of %v m is %s, read again %s", radius, s.WKT(), again.WKT())
		}
	}
	if s := Circle(5, 5, 0); s.WKT() != "POINT(5 5)" {
		t.Errorf("a circle of no radius is %s", s.WKT())
	}
	for _, s := range []Shape{Circle(math.NaN(), 0, 1), Circle(0, 91, 1), Circle(0, 0, -1), Circle(0, 0, math.NaN())} {
		if !s.IsZero() {
			t.Errorf("a circle without a radius is %s", s.WKT())
		}
	}
}

func TestUnion(t *testing.T) {
	for name, tt := range map[string]struct {
		in   []string
		want string
	}{
		"overlapping areas": {
			[]string{"POLYGON((0 0,2 0,2 2,0 2,0 0))", "POLYGON((1 1,3 1,3 3,1 3,1 1))"},
			"POLYGON((0 0,2 0,2 1,3 1,3 3,1 3,1 2,0 2,0 0))",
		},
		"the same area twice": {
			[]string{"POLYGON((0 0,2 0,2 2,0 0))", "POLYGON((2 2,0 0,2 0,2 2))"},
			"POLYGON((0 0,2 0,2 2,0 0))",
		},
		"an area swallows points and lines": {
			[]string{"POINT(50 50)", "POLYGON((0 0,2 0,2 2,0 0))", "LINESTRING(0 0,9 9)"},
			"POLYGON((0 0,2 0,2 2,0 0))",
		},
		"without an area all is kept": {
			[]string{"POINT(5 5)", "LINESTRING(0 0,9 9)", "POINT(1 1)", "LINESTRING(0 0,9 9)"},
			"GEOMETRYCOLLECTION(LINESTRING(0 0,9 9),MULTIPOINT((1 1),(5 5)))",
		},
		"a hole is filled": {
			[]string{"POLYGON((0 0,9 0,9 9,0 9,0 0),(3 3,6 3,6 6,3 6,3 3))", "POLYGON((3 3,6 3,6 6,3 6,3 3))"},
			"POLYGON((0 0,9 0,9 9,0 9,0 0))",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var shapes []Shape
			for _, in := range tt.in {
				shapes = append(shapes, mustWKT(t, in))
			}
			got, err := Union(shapes...)
			if err != nil || got.WKT() != tt.want {
				t.Errorf("got  %s, %v\nwant %s", got.WKT(), err, tt.want)
			}
		})
	}
	if _, err := Union(Shape{}, Shape{}); err == nil {
		t.Error("the union without shapes is not empty")
	}
}

func TestAreasThatCannotBeJoinedAreAllKept(t *testing.T) {
	s := canonical(Shape{apart: true, polygons: []polygon{
		{{{0, 0}, {2 * micro, 0}, {2 * micro, 2 * micro}}}, {{{0, 0}, {2 * micro, 0}, {0, 2 * micro}}},
	}})
	want := `{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[0,0],[2,0],[0,2],[0,0]]]},` +
		`{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}]}`
	if s.GeoJSON() != want {
		t.Errorf("got  %s\nwant %s", s.GeoJSON(), want)
	}
	if lon, lat := s.Point(); !(polygon{{{0, 0}, {2 * micro, 0}, {2 * micro, 2 * micro}, {0, 2 * micro}}}).covers(position{toMicro(lon), toMicro(lat)}) {
		t.Errorf("its point is %v %v", lon, lat)
	}
}

func TestWKB(t *testing.T) {
	want := "\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\x40"
	if got := mustWKT(t, "POINT(1 2)").WKB(); string(got) != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestTheZeroShapeIsNothing(t *testing.T) {
	var s Shape
	if !s.IsZero() || s.IsPoint() || s.GeoJSON() != "" || s.WKT() != "" || s.WKB() != nil || s.AreaKm2() != 0 || Intersects(s, s) {
		t.Errorf("the zero Shape is something: %q %q %x", s.GeoJSON(), s.WKT(), s.WKB())
	}
}

func ExampleUnion() {
	a, _ := ParseWKT("POLYGON((0 0,2 0,2 1,0 1,0 0))")
	b, _ := ParseGeoJSON([]byte(`{"type":"Polygon","coordinates":[[[2,0],[4,0],[4,1],[2,1],[2,0]]]}`))
	both, err := Union(a, b)
	fmt.Println(both.WKT(), err)
	fmt.Println(both.Point())
	// Output:
	// POLYGON((0 0,2 0,4 0,4 1,2 1,0 1,0 0)) <nil>
	// 2 0.5
}

// The library writes the same, from a value of its own.
func TestWKBIsThatOfTheLibrary(t *testing.T) {
	for _, text := range []string{
		"POINT(1 2)", "MULTIPOINT((1 2),(3 4))", "LINESTRING(0 0,1 1,2 0)", "MULTILINESTRING((0 0,1 1),(2 2,3 3,4 2))", "POLYGON((0 0,4 0,4 4,0 0))",
		"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 2,2 2,1 1))", "MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((5 5,6 5,6 6,5 5)))", "GEOMETRYCOLLECTION(POINT(-1.5 2),LINESTRING(0 0,1 1),POLYGON((0 0,1 0,1 1,0 0)))",
	} {
		s := mustWKT(t, text)
		if got, want := s.WKB(), s.geometry(degrees).AsBinary(); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", text, got, want)
		}
	}
}
