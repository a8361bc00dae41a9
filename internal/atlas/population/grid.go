package population

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/andybalholm/brotli"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/raster"
)

//go:generate sh -c "cd gen && npm ci --silent && go run . $HAZARDD_SHARED/population/gpw-v4.11-density-2020-15min.tif"

//go:embed grid.bin.br
var packed []byte

// Grid is a grid with the number of people in each cell.
type Grid struct {
	raster.Frame
	Name  string // name of the data, for people: "GPW v4.11 and GeoNames"
	Year  int    // year of the people; 0: unknown
	Terms string // license and attribution
	// ID identifies the grid. It changes with every value.
	ID string

	totals        []float32 // people by tile, row by row from the north-west
	width, height int       // size in cells; the last tiles may extend beyond
	// missing is the number of people by tile that the built-in grid has where this one has no
	// data. nil means that this grid has data everywhere.
	missing []float32
	// fallback is used where this grid has no data; nil means that it has data everywhere.
	fallback *Grid
	// cells returns the people in each cell of a tile, row by row. A negative number means no data;
	// its absolute value is the number of people in the built-in grid.
	cells func(tile int, into []float64) error
	// rough reports that the distribution of people within a tile is only estimated.
	rough bool
}

// builtin is the frame of the built-in grid.
var builtin = raster.Frame{West: -180, North: 90, Cell: 1.0 / 24, Side: 6, Cols: 1440, Rows: 720}

// Builtin returns the grid that is part of the program. It is unpacked on first use, and then needs
// 5 MB.
var Builtin = sync.OnceValues(func() (*Grid, error) { return unpack(packed) })

// degreeKm is the length of a degree of latitude in kilometers.
const degreeKm = 111.195

// urban is the assumed density of towns, in people per square kilometer. It turns a town's
// population into an area.
const urban = 4000

// most is the maximum share of a tile's people that live in its towns.
const maxTownShare = 0.95

// allLand is the mask of a tile that is all land.
const allLand = 1<<36 - 1

// unpack reads the file that the generator (gen/main.go) wrote: numbers as varints. Each tile with
// people, in order, has the distance to the previous tile, the number of people, and the mask of
// its land plus 1. The mask has one bit per cell from the north-west; 0 means all land.
func unpack(packed []byte) (*Grid, error) {
	data, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, fmt.Errorf("population: %w", err)
	}
	g := &Grid{Frame: builtin, width: builtin.Cols * builtin.Side, height: builtin.Rows * builtin.Side, Name: "GPW v4.11 (CIESIN) and GeoNames", Year: 2020, rough: true, ID: fmt.Sprintf("gpw-4.11-2020/%d", len(packed)),
		Terms: "Gridded Population of the World, version 4.11, CIESIN, Columbia University, doi:10.7927/H49C6VHW, CC BY 4.0; GeoNames, geonames.org, CC BY 4.0"}
	g.totals = make([]float32, g.Cols*g.Rows)
	var tiles []int32 // tiles that are not all land, in order
	var masks []uint64
	r := bytes.NewReader(data)
	for tile := -1; r.Len() > 0; {
		skip, err1 := binary.ReadUvarint(r)
		people, err2 := binary.ReadUvarint(r)
		mask, err3 := binary.ReadUvarint(r)
		if err := errors.Join(err1, err2, err3); err != nil || skip > uint64(len(g.totals)) || mask > allLand {
			return nil, fmt.Errorf("population: after tile %d: %v", tile, err)
		}
		if tile += 1 + int(skip); tile >= len(g.totals) {
			return nil, fmt.Errorf("population: tile %d of %d", tile, len(g.totals))
		}
		g.totals[tile] = float32(people)
		if mask != 0 {
			tiles, masks = append(tiles, int32(tile)), append(masks, mask-1)
		}
	}
	tiles, masks = slices.Clip(tiles), slices.Clip(masks)
	x := townIndex()
	g.cells = func(tile int, into []float64) error {
		mask := uint64(allLand)
		if i, ok := slices.BinarySearch(tiles, int32(tile)); ok {
			mask = masks[i]
		}
		first, end := x.in(tile)
		towns := make([]spot, 0, end-first)
		for _, t := range x.towns[first:end] {
			towns = append(towns, spot{float32((t.Lon-g.West)/g.Cell - float64(tile%g.Cols*g.Side)), float32((g.North-t.Lat)/g.Cell - float64(tile/g.Cols*g.Side)), float32(t.People)})
		}
		g.spread(tile, mask, towns, into)
		return nil
	}
	return g, nil
}

// spot is a town in a tile, in cells from the tile's north-west corner.
type spot struct{ x, y, people float32 }

// spread distributes a tile's people over its cells: first to its towns, each a disc with the
// density of towns that thins out, and the rest evenly over its land.
func (g *Grid) spread(tile int, mask uint64, towns []spot, into []float64) {
	clear(into)
	total, inTowns := float64(g.totals[tile]), 0.0
	for _, t := range towns {
		inTowns += float64(t.people)
	}
	scale := 1.0
	if inTowns > maxTownShare*total {
		scale = maxTownShare * total / inTowns
	}
	lat := g.North - (float64(tile/g.Cols)+0.5)*g.Cell*float64(g.Side)
	high := g.Cell * degreeKm // height of a cell, km
	wide := high * math.Cos(lat*math.Pi/180)
	rest := total
	var weights [36]float64
	for _, t := range towns {
		radius := max(math.Sqrt(float64(t.people)/urban/math.Pi), high/2)
		sum := 0.0
		for i := range weights {
			weights[i] = 0
			if mask&(1<<i) != 0 {
				dx, dy := (float64(i%g.Side)+0.5-float64(t.x))*wide, (float64(i/g.Side)+0.5-float64(t.y))*high
				weights[i] = math.Exp(-(dx*dx + dy*dy) / (radius * radius))
				sum += weights[i]
			}
		}
		if sum < 1e-12 { // an island whose land is not in the mask
			continue
		}
		people := float64(t.people) * scale
		rest -= people
		for i, w := range weights {
			into[i] += people * w / sum
		}
	}
	n := 0.0
	for i := range into {
		if mask&(1<<i) != 0 {
			n++
		}
	}
	for i := range into {
		if mask&(1<<i) != 0 {
			into[i] += rest / n
		}
	}
}

// Total returns the number of people in the grid.
func (g *Grid) Total() float64 {
	sum := 0.0
	for _, people := range g.totals {
		sum += float64(people)
	}
	return sum
}

// holds reports whether all of an area lies on the grid.
func (g *Grid) holds(s geo.Shape) bool {
	const hair = 1e-6
	if s.IsZero() {
		return false
	}
	west, south, east, north := s.Bounds()
	gridEast, gridSouth := g.West+g.Cell*float64(g.width), g.North-g.Cell*float64(g.height)
	if gridEast-g.West > 360-hair {
		west, east = g.West, gridEast
	}
	return west <= east && west > g.West-hair && east < gridEast+hair && north < g.North+hair && south > gridSouth-hair
}

// Sum is an estimate of the people who live in an area, with a low and a high bound. The width of
// that range was chosen, and not checked against other counts; docs/how-hazards-are-made.md says how.
type Sum struct {
	People, Low, High float64
	// Missing is the number of people that the built-in grid has where this grid has no data. They
	// are not included in People.
	Missing float64
}

// census is the relative error of a grid's own figures: censuses are years old, and later figures
// are projections.
const census = 0.1

// sum adds up the people who live in the areas of s. Lines and points have none.
func (g *Grid) sum(s geo.Shape) (Sum, error) {
	var sum, missing, doubt float64
	cells := make([]float64, g.Side*g.Side)
	err := g.Cover(s, func(col, row int, share float64, shares []float64) error {
		tile := row*g.Cols + col
		total, absent := float64(g.totals[tile]), 0.0
		if g.missing != nil {
			absent = float64(g.missing[tile])
		}
		if total == 0 && absent == 0 {
			return nil
		}
		if shares == nil {
			sum += total * share
			missing += absent * share
			return nil
		}
		if err := g.cells(tile, cells); err != nil {
			return err
		}
		inside := 0.0
		for i, people := range cells {
			if people < 0 {
				missing -= people * shares[i]
				continue
			}
			inside += people * shares[i]
			if !g.rough {
				doubt += people * people * shares[i] * (1 - shares[i])
			}
		}
		sum += inside
		if g.rough { // for a tile that is cut, the distribution of its people is an estimate
			doubt += inside * max(total-inside, 0)
		}
		return nil
	})
	if err != nil {
		return Sum{}, err
	}
	sum, d := max(sum, 0), 0.8*math.Sqrt(max(doubt, 0))
	return Sum{People: sum, Low: max(0, sum*(1-census)-d), High: sum*(1+census) + d, Missing: missing}, nil
}
