package geo_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
)

// star returns a ring of n corners around a place. It is as irregular as a coast and never crosses
// itself.
func star(rnd *rand.Rand, lon, lat float64, n int) geo.Shape {
	var b strings.Builder
	first, far := "", 1.0
	for i := range n {
		far = max(0.5, min(1.5, far+(rnd.Float64()-0.5)*8/float64(n)))
		angle := 2 * math.Pi * float64(i) / float64(n)
		corner := fmt.Sprintf("[%.6f,%.6f]", lon+far*math.Cos(angle), lat+far*math.Sin(angle))
		if i == 0 {
			first = corner
		}
		b.WriteString(corner + ",")
	}
	s, err := geo.ParseGeoJSON([]byte(`{"type":"Polygon","coordinates":[[` + b.String() + first + `]]}`))
	if err != nil {
		panic(err)
	}
	return s
}

func TestAnOutlineLosesNoPlace(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]geo.Shape{
		"a circle":            geo.Circle(10, 50, 40_000),
		"a coast":             star(rnd, 20, 10, 700),
		"a coast of thousand": star(rnd, -70, -30, 3000),
		"at the antimeridian": geo.Circle(179.9, -17, 80_000),
		"at the pole":         geo.Circle(0, 89.5, 200_000),
	}
	two, err := geo.Union(star(rnd, 5, 5, 400), star(rnd, 7.2, 5, 400), geo.Circle(40, 5, 1000))
	if err != nil {
		t.Fatal(err)
	}
	shapes["two that touch, and one far away"] = two
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, most := range []int{20, 100, 1000} {
				out := s.Outline(most)
				polygons := out.Polygons()
				if len(polygons) == 0 {
					t.Fatal("nothing is left")
				}
				for _, p := range polygons {
					if len(p) != 1 || len(p[0]) > most || p[0][0] != p[0][len(p[0])-1] || len(p[0]) < 4 {
						t.Errorf("most %d: a polygon of %d rings, the first of %d positions", most, len(p), len(p[0]))
					}
				}
				both, err := geo.Union(out, s)
				if err != nil {
					t.Fatal(err)
				}
				if lost := both.AreaKm2()/out.AreaKm2() - 1; lost > 1e-5 {
					t.Errorf("most %d: %.6f of the outline is lost", most, lost)
				}
				if more := out.AreaKm2() / s.AreaKm2(); more > 1.5 {
					t.Errorf("most %d: the outline is %.2f times as large", most, more)
				}
			}
		})
	}
	if !geo.Circle(1, 1, 0).Outline(100).IsZero() {
		t.Error("a point has an outline")
	}
}
