package geo

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genStar generates a polygon with a corner in each of some directions from its middle. The corners
// are often on a coarse grid, so that polygons share corners and sides, and often across the
// antimeridian.
func genStar() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(3, 12).Draw(t, "corners")
		lon := float64(rapid.SampledFrom([]int{0, 1, 2, 3, 179, 180, -179, 90}).Draw(t, "lon"))
		lat := float64(rapid.IntRange(-3, 3).Draw(t, "lat"))
		grid := rapid.SampledFrom([]float64{1, 10, 1e6}).Draw(t, "grid")
		var corners []string
		for i := range n {
			r := rapid.Float64Range(0.5, 4).Draw(t, "r")
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x := math.Remainder(math.Round((lon+r*cos)*grid)/grid, 360)
			corners = append(corners, fmt.Sprintf("%v %v", x, math.Round((lat+r*sin)*grid)/grid))
		}
		return "((" + strings.Join(append(corners, corners[0]), ",") + "))"
	})
}

func genText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		position := func() string {
			return fmt.Sprintf("%v %v", rapid.Float64Range(-180, 180).Draw(t, "lon"), rapid.Float64Range(-90, 90).Draw(t, "lat"))
		}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return "POINT(" + position() + ")"
		case 1:
			return "LINESTRING(" + position() + "," + position() + "," + position() + ")"
		case 2:
			return "MULTIPOINT(" + position() + "," + position() + ")"
		case 3:
			return "MULTIPOLYGON(" + strings.Join(rapid.SliceOfN(genStar(), 1, 4).Draw(t, "stars"), ",") + ")"
		}
		return "GEOMETRYCOLLECTION(POLYGON" + genStar().Draw(t, "star") + ",POINT(" + position() + "))"
	})
}

func genShape() *rapid.Generator[Shape] {
	return rapid.Custom(func(t *rapid.T) Shape {
		s, err := ParseWKT(genText().Draw(t, "text"))
		if err != nil {
			t.Skip(err)
		}
		return s
	})
}

// checkShape checks the promises of every Shape.
func checkShape(t interface{ Fatalf(string, ...any) }, s Shape) {
	text := s.GeoJSON()
	for name, parse := range map[string]func() (Shape, error){
		"ParseGeoJSON": func() (Shape, error) { return ParseGeoJSON([]byte(text)) },
		"ParseLoose":   func() (Shape, error) { return ParseLoose([]byte(text)) },
		"ParseWKT":     func() (Shape, error) { return ParseWKT(s.WKT()) },
	} {
		again, err := parse()
		if err != nil {
			t.Fatalf("%s of %s: %v", name, text, err)
		}
		if again.GeoJSON() != text {
			t.Fatalf("%s of %s is %s", name, text, again.GeoJSON())
		}
	}
	if got, want := s.WKT(), s.geometry(degrees).AsText(); got != want {
		t.Fatalf("WKT is %s, and the library's is %s", got, want)
	}
	p := storedParser{rest: text}
	if stored, ok := p.shape(); !ok || p.rest != "" || stored.GeoJSON() != text || stored.apart != s.apart {
		t.Fatalf("the shape stored as %s is read as %s, %v, rest %q", text, stored.GeoJSON(), ok, p.rest)
	}
	if err := s.geometry(millionths).Validate(); err != nil && !s.apart {
		t.Fatalf("%s is not valid: %v", text, err)
	}
	west, south, east, north := s.Bounds()
	lon, lat := s.Point()
	inside := west <= lon && lon <= east
	if west > east {
		inside = west <= lon || lon <= east
	}
	if !inside || !(south <= lat && lat <= north) {
		t.Fatalf("the point %v %v of %s is outside of its bounds %v %v %v %v", lon, lat, text, west, south, east, north)
	}
	if len(s.polygons) > 0 {
		p := position{toMicro(lon), toMicro(lat)}
		other := p // the other longitude of the antimeridian
		if abs(p.x) == halfTurn {
			other.x = -p.x
		}
		if !slices.ContainsFunc(s.polygons, func(pg polygon) bool { return pg.covers(p) || pg.covers(other) }) {
			t.Fatalf("the point %v %v of %s is not in it", lon, lat, text)
		}
	}
	if a := s.AreaKm2(); !(a >= 0) || (len(s.polygons) > 0) != (a > 0) {
		t.Fatalf("%s has an area of %v", text, a)
	}
}

func TestWhatWasReadKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkShape(t, genShape().Draw(t, "shape")) })
}

func TestUnionDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := rapid.SliceOfN(genShape(), 1, 8).Draw(t, "shapes")
		want, err := Union(shapes...)
		if err != nil {
			t.Fatal(err)
		}
		checkShape(t, want)
		rand.New(rand.NewSource(1)).Shuffle(len(shapes), func(i, j int) { shapes[i], shapes[j] = shapes[j], shapes[i] })
		got, err := Union(shapes...)
		if err != nil || got.GeoJSON() != want.GeoJSON() {
			t.Fatalf("in another order the result is %s, %v, not %s", got.GeoJSON(), err, want.GeoJSON())
		}
	})
}

func TestUnionCoversWhatItsPartsCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shapes := rapid.SliceOfN(genShape(), 1, 8).Draw(t, "shapes")
		var parts []polygon
		for _, s := range shapes {
			parts = append(parts, s.polygons...)
		}
		if len(parts) == 0 {
			t.Skip("no areas")
		}
		got, err := Union(shapes...)
		if err != nil || got.apart {
			t.Fatalf("could not join %v: %v", shapes, err)
		}
		covers := func(polygons []polygon, p position) bool {
			return slices.ContainsFunc(polygons, func(pg polygon) bool { return pg.covers(p) })
		}
		for range 50 {
			p := parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")][0][0]
			p.x += rapid.Int32Range(-4*micro, 4*micro).Draw(t, "dx")
			p.y += rapid.Int32Range(-4*micro, 4*micro).Draw(t, "dy")
			want := covers(parts, p)
			nearBoundary := false // where rounding may change the result
			for _, d := range []position{{-3, -3}, {3, -3}, {3, 3}, {-3, 3}} {
				nearBoundary = nearBoundary || covers(parts, position{p.x + d.x, p.y + d.y}) != want
			}
			if !nearBoundary && covers(got.polygons, p) != want {
				t.Fatalf("%s covers %v: %v, but its parts: %v", got.WKT(), p, !want, want)
			}
		}
	})
}

func TestLooseReadingMendsAnyRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grid := rapid.SampledFrom([]int{3, 10, 1000}).Draw(t, "grid")
		n := rapid.IntRange(1, 3).Draw(t, "rings")
		var rings []string
		for range n {
			var ps []string
			for range rapid.IntRange(1, 20).Draw(t, "positions") {
				x, y := rapid.IntRange(0, grid).Draw(t, "x"), rapid.IntRange(0, grid).Draw(t, "y")
				ps = append(ps, fmt.Sprintf("[%v,%v]", float64(x)/100, float64(y)/100))
			}
			rings = append(rings, "["+strings.Join(ps, ",")+"]")
		}
		text := `{"type":"Polygon","coordinates":[` + strings.Join(rings, ",") + `]}`
		s, err := ParseLoose([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		checkShape(t, s)
	})
}

func TestCirclesKeepPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Circle(rapid.Float64Range(-180, 180).Draw(t, "lon"), rapid.Float64Range(-90, 90).Draw(t, "lat"),
			rapid.Float64Range(0, 12_000_000).Draw(t, "radius"))
		checkShape(t, s)
	})
}
