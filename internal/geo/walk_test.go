package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWithoutHolesIsTheSameArea(t *testing.T) {
	for name, text := range map[string]string{
		"one hole":             "POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,2 8,8 8,8 2,2 2))",
		"holes side by side":   "POLYGON((0 0,10 0,10 10,0 10,0 0),(1 1,1 2,2 2,2 1,1 1),(4 4,4 6,6 6,6 4,4 4),(1 8,2 9,3 8,1 8))",
		"an island in a hole":  "MULTIPOLYGON(((0 0,10 0,10 10,0 10,0 0),(2 2,2 8,8 8,8 2,2 2)),((4 4,6 4,6 6,4 6,4 4),(4.9 4.9,4.9 5.1,5.1 5.1,5.1 4.9,4.9 4.9)))",
		"a hole at the seam":   "POLYGON((170 0,-170 0,-170 10,170 10,170 0),(178 4,178 6,-178 6,-178 4,178 4))",
		"beside a line":        "GEOMETRYCOLLECTION(POLYGON((0 0,10 0,10 10,0 10,0 0),(2 2,2 8,8 8,8 2,2 2)),LINESTRING(20 20,30 30))",
		"a hole in the corner": "POLYGON((0 0,10 0,10 10,0 10,0 0),(0 0,1 2,2 1,0 0))",
	} {
		t.Run(name, func(t *testing.T) { checkWithoutHoles(t, mustWKT(t, text)) })
	}
}

func TestWithoutHolesOfAnyShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := mustArea(t, genStar().Draw(t, "star"))
		for _, hole := range rapid.SliceOfN(genStar(), 0, 3).Draw(t, "holes") {
			left, err := difference(requestWork(), whole.polygons, mustArea(t, hole).polygons)
			if err != nil {
				t.Skip(err)
			}
			whole = canonical(Shape{polygons: left})
		}
		if whole.IsZero() {
			t.Skip("nothing is left")
		}
		checkWithoutHoles(t, whole)
	})
}

func mustArea(t *rapid.T, star string) Shape {
	s, err := ParseWKT("POLYGON" + star)
	if err != nil {
		t.Skip(err)
	}
	return s
}

func checkWithoutHoles(t interface{ Fatalf(string, ...any) }, s Shape) {
	open := s.WithoutHoles()
	for _, p := range open.Polygons() {
		if len(p) != 1 {
			t.Fatalf("%s has a hole left: %s", s.WKT(), open.WKT())
		}
		if r := p[0]; len(r) < 4 || r[0] != r[len(r)-1] {
			t.Fatalf("%s: a ring that is not closed: %v", s.WKT(), r)
		}
	}
	if len(open.Lines()) != len(s.Lines()) || len(open.Points()) != len(s.Points()) {
		t.Fatalf("%s lost lines or points: %s", s.WKT(), open.WKT())
	}
	// Rounding the ends of cuts to a millionth of a degree moves them by at most a tenth of a
	// meter.
	if a, b := s.AreaKm2(), open.AreaKm2(); math.Abs(a-b) > 1e-6*a+0.5 {
		t.Fatalf("%s is %v km², without holes %v", s.WKT(), a, b)
	}
	joined, err := Union(open, s)
	if err != nil {
		t.Fatalf("%s: %v", open.WKT(), err)
	}
	if a, b := s.AreaKm2(), joined.AreaKm2(); math.Abs(a-b) > 1e-6*a+0.5 {
		t.Fatalf("%s is %v km², together with itself without holes %v", s.WKT(), a, b)
	}
}
