// Package raster reads grids of numbers over the Earth, and computes exactly which share of each cell
// of a grid lies inside an area. The share is in degrees, as in GDAL.
//
// Coordinates are WGS 84, longitude before latitude, in degrees. The work per area is limited
// (ErrIntricate). For any input, OpenGeoTIFF returns an error or numbers; it never panics.
package raster

import (
	"errors"
	"math"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
)

// ErrIntricate means that an area has so many long sides that its cells cannot be computed within
// the limit of work.
var ErrIntricate = errors.New("the area is too complex to compute its cells")

// maxSteps is how often sides of one area may cross from one cell to the next: about two seconds of
// work. The coast of a continent needs 100,000.
const maxSteps = 40_000_000

// Frame is the position of the cells: square tiles of side × side cells, starting at the north-west
// corner.
type Frame struct {
	West, North float64 // of the corner, in degrees
	Cell        float64 // side of a cell, degrees
	Side        int     // cells along a tile
	Cols, Rows  int     // tiles
}

// side is one side of a ring, in cells from the corner of the frame: x points east, y south.
type side struct{ x1, y1, x2, y2 float64 }

// Cover computes which share of each cell is inside s, which may have holes and several polygons.
// Lines and points have no inside. It calls visit for each tile that s may touch, row by row from
// the north. If all cells of a tile have the same share, shares is nil. Otherwise shares has the
// share of each cell, row by row from the north-west. visit must not keep the slice.
func (f *Frame) Cover(s geo.Shape, visit func(col, row int, share float64, shares []float64) error) error {
	return f.CoverPolygons(s.Polygons(), visit)
}

// CoverPolygons is Cover for polygons whose rings are closed, outer rings counterclockwise and holes clockwise. They may reach beyond the frame.
func (f *Frame) CoverPolygons(polygons [][][]geo.Position, visit func(col, row int, share float64, shares []float64) error) error {
	var sides []side
	width, height := float64(f.Cols*f.Side), float64(f.Rows*f.Side)
	left, right := math.Inf(1), math.Inf(-1)
	for _, rings := range polygons {
		for _, ring := range rings {
			for i := 1; i < len(ring); i++ {
				e := side{(ring[i-1][0] - f.West) / f.Cell, (f.North - ring[i-1][1]) / f.Cell, (ring[i][0] - f.West) / f.Cell, (f.North - ring[i][1]) / f.Cell}
				left, right = min(left, e.x1, e.x2), max(right, e.x1, e.x2)
				if e.y1 != e.y2 && max(e.y1, e.y2) > 0 && min(e.y1, e.y2) < height {
					sides = append(sides, e)
				}
			}
		}
	}
	if len(sides) == 0 || right <= 0 || left >= width {
		return nil
	}
	slices.SortFunc(sides, func(a, b side) int {
		switch ya, yb := min(a.y1, a.y2), min(b.y1, b.y2); {
		case ya < yb:
			return -1
		case ya > yb:
			return 1
		}
		return 0
	})
	b := band{Frame: f, first: max(int(left)/f.Side, 0), last: min(int(right)/f.Side, f.Cols-1), steps: maxSteps}
	b.make()
	var open []side // sides that reach into the band
	next := 0
	for row := max(int(min(sides[0].y1, sides[0].y2))/f.Side, 0); row < f.Rows && (next < len(sides) || len(open) > 0); row++ {
		bottom := float64((row + 1) * f.Side)
		for ; next < len(sides) && min(sides[next].y1, sides[next].y2) < bottom; next++ {
			open = append(open, sides[next])
		}
		for _, e := range open {
			if err := b.add(e, row); err != nil {
				return err
			}
		}
		if err := b.tell(row, visit); err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(e side) bool { return max(e.y1, e.y2) <= bottom })
	}
	return nil
}

// band is a row of tiles. A side that goes south adds the area to its right, and one that goes
// north subtracts it. So the share of a cell is the sum over the sides to its left in its row, and
// over those inside it.
type band struct {
	*Frame
	first, last int // tiles
	steps       int
	// Both are indexed by row and by cell from the first tile on. cover is what a side adds to all
	// cells to the right, within what it adds to the cell itself.
	cover, within [][]float64
	touched       []bool    // tiles
	shares        []float64 // of a tile
	sum           []float64 // running sum of each row of cells
}

func (b *band) make() {
	n := b.last - b.first + 1
	for range b.Side {
		b.cover, b.within = append(b.cover, make([]float64, n*b.Side)), append(b.within, make([]float64, n*b.Side))
	}
	b.touched, b.shares, b.sum = make([]bool, n), make([]float64, b.Side*b.Side), make([]float64, b.Side)
}

// add adds a side to the band of a row of tiles.
func (b *band) add(e side, row int) error {
	top := float64(row * b.Side)
	y1, y2 := e.y1-top, e.y2-top
	slope := (e.x2 - e.x1) / (e.y2 - e.y1)
	from, to := max(min(y1, y2), 0), min(max(y1, y2), float64(b.Side))
	sign := 1.0
	if y2 < y1 {
		sign = -1
	}
	west := float64(b.first * b.Side)
	for y := int(from); y < b.Side && float64(y) < to; y++ {
		a, z := max(from, float64(y)), min(to, float64(y+1))
		if z <= a {
			continue
		}
		xa, xz := e.x1+(a-y1)*slope-west, e.x1+(z-y1)*slope-west
		if err := b.row(y, xa, xz, sign*(z-a)); err != nil {
			return err
		}
	}
	return nil
}

// row adds a piece of a side within one row of cells, from x to x2. It goes south by dy.
func (b *band) row(y int, x, x2, dy float64) error {
	if x > x2 { // the direction along the row does not matter
		x, x2 = x2, x
	}
	n := len(b.cover[y])
	length := x2 - x
	for {
		if b.steps--; b.steps < 0 {
			return ErrIntricate
		}
		cell := max(int(math.Floor(x)), 0)
		if cell >= n {
			return nil // no cell lies to the right of it
		}
		end := min(x2, float64(cell+1))
		part := dy
		if length > 0 && end < x2 {
			part = dy * (end - x) / length
		}
		b.cover[y][cell] += part
		b.within[y][cell] += part * (1 - (max(x, 0)+max(end, 0))/2 + float64(cell))
		b.touched[cell/b.Side] = true
		if end >= x2 {
			return nil
		}
		dy, length, x = dy-part, x2-end, end
	}
}

// tell calls visit for the tiles of the band that are not outside, and empties the band.
func (b *band) tell(row int, visit func(col, row int, share float64, shares []float64) error) error {
	const hair = 1e-9
	clear(b.sum)
	for t := range b.touched {
		if !b.touched[t] {
			low, high := slices.Min(b.sum), slices.Max(b.sum)
			if high < hair {
				continue
			}
			if high-low < hair {
				if err := visit(b.first+t, row, min(high, 1), nil); err != nil {
					return err
				}
				continue
			}
		}
		for y := range b.Side {
			cover, within := b.cover[y][t*b.Side:(t+1)*b.Side], b.within[y][t*b.Side:(t+1)*b.Side]
			sum := b.sum[y]
			for x := range b.Side {
				b.shares[y*b.Side+x] = max(0, min(sum+within[x], 1))
				sum += cover[x]
			}
			if b.sum[y] = sum; b.touched[t] {
				clear(cover)
				clear(within)
			}
		}
		b.touched[t] = false
		if err := visit(b.first+t, row, 0, b.shares); err != nil {
			return err
		}
	}
	return nil
}
