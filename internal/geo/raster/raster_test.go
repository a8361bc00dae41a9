package raster

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
)

// The shares of a polygon's cells add up to its area, on frames with several cell sizes, and each
// share is between 0 and 1.
func TestSharesAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		side := 1 + r.IntN(8)
		f := Frame{West: -20, North: 20, Cell: 0.1 + r.Float64(), Side: side}
		f.Cols, f.Rows = int(40/f.Cell/float64(side))+1, int(40/f.Cell/float64(side))+1
		n := 3 + r.IntN(20)
		var ring []string
		want := 0.0
		var xs, ys []float64
		for i := range n {
			a, d := 2*math.Pi*float64(i)/float64(n), 1+r.Float64()*15
			x, y := math.Round(d*math.Cos(a)*1e6)/1e6, math.Round(d*math.Sin(a)*1e6)/1e6
			xs, ys = append(xs, x), append(ys, y)
			ring = append(ring, fmt.Sprintf("[%.6f,%.6f]", x, y))
		}
		for i := range n {
			j := (i + 1) % n
			want += (xs[i]*ys[j] - xs[j]*ys[i]) / 2
		}
		s, err := geo.ParseGeoJSON([]byte(`{"type":"Polygon","coordinates":[[` + strings.Join(append(ring, ring[0]), ",") + `]]}`))
		if err != nil {
			continue
		}
		got := 0.0
		err = f.Cover(s, func(col, row int, share float64, shares []float64) error {
			if col < 0 || row < 0 || col >= f.Cols || row >= f.Rows {
				t.Fatalf("tile %d, %d", col, row)
			}
			if shares == nil {
				got += share * float64(side*side)
			}
			for _, share := range shares {
				if share < 0 || share > 1 {
					t.Fatalf("a share of %v", share)
				}
				got += share
			}
			return nil
		})
		if got *= f.Cell * f.Cell; err != nil || math.Abs(got-want) > 1e-6*want {
			t.Errorf("%v square degrees, want %v; %v", got, want, err)
		}
	}
}
