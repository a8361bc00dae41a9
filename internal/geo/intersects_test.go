package geo

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"
	"pgregory.net/rapid"
)

// genGrid generates shapes on so few positions that most of them touch, share sides, or lie in
// holes of each other.
func genGrid() *rapid.Generator[Shape] {
	return rapid.Custom(func(t *rapid.T) Shape {
		n := func(name string) int { return rapid.IntRange(0, 8).Draw(t, name) }
		square := func(x, y, size int) string {
			return fmt.Sprintf("(%d %d,%d %d,%d %d,%d %d,%d %d)", x, y, x+size, y, x+size, y+size, x, y+size, x, y)
		}
		var text string
		x, y := n("x"), n("y")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			text = fmt.Sprintf("POINT(%d %d)", x, y)
		case 1:
			text = fmt.Sprintf("LINESTRING(%d %d,%d %d,%d %d)", x, y, n("x"), n("y"), n("x"), n("y"))
		case 2:
			text = fmt.Sprintf("POLYGON((%d %d,%d %d,%d %d,%d %d))", x, y, n("x"), n("y"), n("x"), n("y"), x, y)
		case 3:
			text = "POLYGON(" + square(x, y, 6) + "," + square(x+1, y+1, 4) + ")"
		case 4:
			text = "MULTIPOLYGON((" + square(x, y, 2) + "),(" + square(x+4, y+1, 3) + "," + square(x+5, y+2, 1) + "))"
		case 5: // more parts than are compared one by one
			var parts []string
			for i := range 12 {
				parts = append(parts, fmt.Sprintf("(%d %d)", x+i%4, y+i/4))
			}
			text = "MULTIPOINT(" + strings.Join(parts, ",") + ")"
		}
		s, err := ParseWKT(text)
		if err != nil {
			t.Skip(err)
		}
		return s
	})
}

func TestIntersectsAgreesWithTheLibrary(t *testing.T) {
	for name, gen := range map[string]*rapid.Generator[Shape]{"on a grid": genGrid(), "anywhere": genShape()} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
				want := geom.Intersects(a.geometry(millionths), b.geometry(millionths))
				if got, other := Intersects(a, b), Intersects(b, a); got != want || other != want {
					t.Fatalf("%s and %s: %v and the other way round %v, want %v", a.WKT(), b.WKT(), got, other, want)
				}
			})
		})
	}
}

// Areas of hazards that were not joined may overlap. A place inside two of them is inside the
// shape.
func TestIntersectsOfAreasThatOverlap(t *testing.T) {
	s := Shape{apart: true, polygons: append(Box{0, 0, 4, 4}.Shape().polygons, Box{1, 1, 5, 5}.Shape().polygons...)}
	if !Intersects(s, Box{2, 2, 3, 3}.Shape()) || Intersects(s, Box{4.5, 0, 5, 0.5}.Shape()) {
		t.Error("areas that overlap are not seen together")
	}
}

// rosette returns a shape of n positions.
func rosette(n int, lon, lat, radius float64) Shape {
	var r ring
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		r = append(r, position{toMicro(lon + radius*cos), toMicro(lat + radius*sin*(1+0.1*math.Sin(float64(i))))})
	}
	return Shape{polygons: []polygon{{r}}}
}

// zigzag returns a line of n slanting teeth. Two of them with different aside have their teeth
// between each other's.
func zigzag(n int, aside int32) Shape {
	const width, length = 20, 60_000
	var r ring
	for i := range int32(n) {
		r = append(r, position{i*width + aside, 0}, position{i*width + aside + length, length}, position{i*width + aside + 4, 0})
	}
	return Shape{lines: [][]position{r}}
}

func TestTheWorkOfIntersectsIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b  Shape
		steps int
		meet  bool
	}{
		"a large area and a circle":           {rosette(10_000, 0, 0, 1), Circle(1, 0, 50_000), 150_000, true},
		"a large area, a circle at its side":  {rosette(10_000, 0, 0, 1), Circle(1.1, 0.8, 10_000), 30_000, false},
		"two large areas far apart":           {rosette(10_000, 0, 0, 1), rosette(10_000, 5, 0, 1), 3000, false},
		"two large areas side by side":        {rosette(10_000, 0, 0, 1), rosette(10_000, 1.9, 1.2, 1), 500_000, false},
		"lines between whose teeth are lines": {zigzag(6000, 0), zigzag(6000, 10), requestSteps + 100, true}, // it ran out of steps
	} {
		w := requestWork()
		meet, err := intersect(w, tt.a, tt.b)
		if sure := SurelyIntersects(tt.a, tt.b); sure != (meet && err == nil) {
			t.Errorf("%s: surely %t", name, sure)
		}
		if meet = meet || err != nil; meet != tt.meet || meet != Intersects(tt.a, tt.b) {
			t.Errorf("%s: %v, %v", name, meet, err)
		}
		if w.spent > tt.steps {
			t.Errorf("%s: %d steps, want at most %d", name, w.spent, tt.steps)
		}
	}
}

func BenchmarkIntersects(b *testing.B) {
	for name, other := range map[string]Shape{"circle": Circle(1, 0, 50_000), "circle aside": Circle(1.1, 0.8, 10_000), "area": rosette(10_000, 0.5, 0, 1), "area aside": rosette(10_000, 1.9, 1.2, 1)} {
		large := rosette(10_000, 0, 0, 1)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Intersects(large, other)
			}
		})
		b.Run(name+", library", func(b *testing.B) {
			for b.Loop() {
				geom.Intersects(large.geometry(millionths), other.geometry(millionths))
			}
		})
	}
}
