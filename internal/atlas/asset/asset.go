// Package asset reads the places that organizations watch, such as schools, hospitals and offices,
// from CSV and GeoJSON, row by row and within limits. Package exposure finds those that a hazard
// reaches.
package asset

import (
	"fmt"
	"math"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// The limits of what an organization keeps.
const (
	MaxAssets    = 200_000
	MaxFile      = 64 << 20 // bytes of a file
	maxRecord    = 1 << 20  // bytes of a row, or of a feature
	maxPositions = 2_000    // positions of one area
	maxName      = 200      // characters
	maxKind      = 60
	maxID        = 100
)

// Asset is a place of an organization: a point, or an area.
type Asset struct {
	N              int64  // its row in the file that was loaded, from 1
	ID, Name, Kind string // as the organization gives them; Name is never empty
	Lon, Lat       float64
	// Area is the asset's own area; zero: it is a point.
	Area geo.Shape
}

// Bounds is the narrowest box that holds the asset.
func (a *Asset) Bounds() geo.Box {
	if a.Area.IsZero() {
		return geo.Box{West: a.Lon, South: a.Lat, East: a.Lon, North: a.Lat}
	}
	return geo.BoundsOf(a.Area)
}

// Set is what an organization has loaded: one file.
type Set struct {
	ID     int64
	Org    int64
	Count  int64
	Areas  int64 // how many of Count are areas
	Box    geo.Box
	Loaded hazard.Instant
	By     string // who loaded it
}

// Grow counts an asset with these bounds in.
func (s *Set) Grow(b geo.Box) {
	if b.West > b.East {
		b.West, b.East = -180, 180
	}
	if s.Count++; s.Count == 1 {
		s.Box = b
		return
	}
	s.Box = geo.Box{West: min(s.Box.West, b.West), South: min(s.Box.South, b.South), East: max(s.Box.East, b.East), North: max(s.Box.North, b.North)}
}

// Summary says in a line what the set holds.
func (s *Set) Summary() string {
	return fmt.Sprintf("%d points, %d areas, from %v, %v to %v, %v", s.Count-s.Areas, s.Areas, s.Box.West, s.Box.South, s.Box.East, s.Box.North)
}

// Cells: assets are found by cells of half a degree, by an ordinary index that both databases have.
const (
	cellsPerDegree = 2
	cellColumns    = 360 * cellsPerDegree
	cellRows       = 180 * cellsPerDegree
	// WideCell is the cell of areas that reach over more than one: they are looked through by their boxes.
	WideCell = -1
)

func column(lon float64) int64 { return clamp((lon+180)*cellsPerDegree, cellColumns) }
func row(lat float64) int64    { return clamp((lat+90)*cellsPerDegree, cellRows) }

func clamp(v float64, size int64) int64 { return max(0, min(int64(math.Floor(v)), size-1)) }

// Cell is the cell that a box lies in.
func Cell(b geo.Box) int64 {
	c, r := column(b.West), row(b.South)
	if b.West > b.East || column(b.East) != c || row(b.North) != r {
		return WideCell
	}
	return r*cellColumns + c
}

// Range is the cells from First to Last.
type Range struct{ First, Last int64 }

// maxRanges is how many ranges of cells are asked for one by one: what is higher is looked through as one band around the world.
const maxRanges = 64

// Ranges are the cells in which a box may have assets, and that of wide areas. The box does not cross the antimeridian.
func Ranges(b geo.Box) []Range {
	south, north := row(b.South), row(b.North)
	all := []Range{{WideCell, WideCell}}
	if north-south >= maxRanges {
		return append(all, Range{south * cellColumns, north*cellColumns + cellColumns - 1})
	}
	for r := south; r <= north; r++ {
		all = append(all, Range{r*cellColumns + column(b.West), r*cellColumns + column(b.East)})
	}
	return all
}
