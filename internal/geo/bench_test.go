package geo

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// patchwork returns rows × columns areas of 4 × perSide positions that share their winding sides,
// as counties do.
func patchwork(b *testing.B, rows, columns, perSide int) []Shape {
	corner := func(i, j float64) string {
		return fmt.Sprintf("%.6f %.6f", -100+0.5*j+0.05*math.Sin(7*i+j), 30+0.5*i+0.05*math.Sin(5*j+2*i))
	}
	var shapes []Shape
	for i := range rows {
		for j := range columns {
			var ring []string
			for _, side := range [][4]float64{{0, 0, 0, 1}, {0, 1, 1, 0}, {1, 1, 0, -1}, {1, 0, -1, 0}} {
				for k := range perSide {
					share := float64(k) / float64(perSide)
					ring = append(ring, corner(float64(i)+side[0]+side[2]*share, float64(j)+side[1]+side[3]*share))
				}
			}
			shapes = append(shapes, mustWKT(b, "POLYGON(("+strings.Join(append(ring, ring[0]), ",")+"))"))
		}
	}
	return shapes
}

func BenchmarkUnionOf140Counties(b *testing.B) {
	shapes := patchwork(b, 10, 14, 16)
	for b.Loop() {
		if s, err := Union(shapes...); err != nil || s.apart {
			b.Fatal("not joined", err)
		}
	}
}

func BenchmarkUnionOf140OverlappingAreas(b *testing.B) {
	var shapes []Shape
	for i := range 140 {
		shapes = append(shapes, Circle(-100+0.3*float64(i%14), 30+0.3*float64(i/14), 40_000))
	}
	for b.Loop() {
		if s, err := Union(shapes...); err != nil || s.apart {
			b.Fatal("not joined", err)
		}
	}
}

func BenchmarkParseWKTOfTheMostPositions(b *testing.B) {
	var ring []string
	for i := range MaxPositions - 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / (MaxPositions - 1))
		r := 20 + math.Sin(float64(i))
		ring = append(ring, fmt.Sprintf("%.6f %.6f", r*cos, r*sin))
	}
	text := "POLYGON((" + strings.Join(append(ring, ring[0]), ",") + "))"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseWKT(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRefuseTheIntricate(b *testing.B) {
	text := comb(9_000)
	for b.Loop() {
		if _, err := ParseWKT(text); err == nil {
			b.Fatal("taken")
		}
	}
}
