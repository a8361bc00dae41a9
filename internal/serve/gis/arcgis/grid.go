package arcgis

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
)

// grid is what coordinates are rounded to: whole cells from an origin. Answers in PBF always have
// one, answers in JSON if the query asks for it (quantizationParameters).
type grid struct {
	cell float64 // width of a cell, in units of the reference
	x, y float64 // origin
	up   bool    // y grows to the north: originPosition lowerLeft
	thin bool    // positions in one cell are one position: mode view
}

// gridOf returns the finest grid of a reference. A step across the whole world must fit in 32 bits.
// The cell is a millionth of a degree, the unit of stored positions, or 2 cm.
func gridOf(s crs.System) grid {
	if s.Geographic() {
		return grid{cell: 1e-6}
	}
	return grid{cell: 0.02}
}

// defaultCells is how many cells cover the extent of a query that names no tolerance (the
// documentation of quantizationParameters in ArcGIS's REST API).
const defaultCells = 10_000

// readGrid reads quantizationParameters. offset is maxAllowableOffset, or 0.
func readGrid(text string, offset float64, out crs.System) (*grid, error) {
	var given struct {
		Mode      string          `json:"mode"`
		Origin    string          `json:"originPosition"`
		Tolerance float64         `json:"tolerance"`
		Extent    *quantizeExtent `json:"extent"`
	}
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, errors.New(`expected {"mode": "view", "originPosition": "upperLeft", "tolerance": number, "extent": {"xmin", "ymin", "xmax", "ymax"}}`)
	}
	g := gridOf(out)
	switch given.Mode {
	case "", "view":
		g.thin = true
	case "edit":
	default:
		return nil, fmt.Errorf("mode: %.40q is not one of view, edit", given.Mode)
	}
	switch given.Origin {
	case "", "upperLeft":
	case "lowerLeft":
		g.up = true
	default:
		return nil, fmt.Errorf("originPosition: %.40q is not one of upperLeft, lowerLeft", given.Origin)
	}
	if e := given.Extent; e != nil {
		if !(e.XMin <= e.XMax && e.YMin <= e.YMax) {
			return nil, errors.New("extent: expected xmin below xmax and ymin below ymax")
		}
		if e.Reference != nil && e.Reference.code() != 0 {
			if s, ok := crs.Named(e.Reference.code()); !ok || s.Code != out.Code {
				return nil, fmt.Errorf("extent: its spatialReference must be that of outSR, %d", out.Code)
			}
		}
		if g.x, g.y = e.XMin, e.YMax; g.up {
			g.y = e.YMin
		}
		g.cell = max((e.XMax-e.XMin)/defaultCells, g.cell)
	}
	if tolerance := max(given.Tolerance, 0); tolerance > 0 {
		g.cell = max(tolerance, gridOf(out).cell)
	} else if offset > 0 {
		g.cell = max(offset, gridOf(out).cell)
	}
	if math.IsInf(g.cell, 0) {
		return nil, errors.New("tolerance: expected a number of units of the spatial reference")
	}
	return &g, nil
}

type quantizeExtent struct {
	XMin      float64    `json:"xmin"`
	YMin      float64    `json:"ymin"`
	XMax      float64    `json:"xmax"`
	YMax      float64    `json:"ymax"`
	Reference *wellKnown `json:"spatialReference"`
}

// wellKnown is a spatial reference in a request.
type wellKnown struct {
	WKID   int `json:"wkid"`
	Latest int `json:"latestWkid"`
}

func (w *wellKnown) code() int { return max(w.WKID, w.Latest) }

// on returns the cell of a position in units of the reference.
func (g *grid) on(x, y float64) (cx, cy int64) {
	dy := g.y - y
	if g.up {
		dy = -dy
	}
	return int64(math.Round((x - g.x) / g.cell)), int64(math.Round(dy / g.cell))
}

// transform is the member of an answer in JSON that says how its grid lies.
func (g *grid) transform() any {
	origin := "upperLeft"
	if g.up {
		origin = "lowerLeft"
	}
	return struct {
		Origin    string     `json:"originPosition"`
		Scale     [2]float64 `json:"scale"`
		Translate [2]float64 `json:"translate"`
	}{origin, [2]float64{g.cell, g.cell}, [2]float64{g.x, g.y}}
}

// cell is a position on a grid.
type cell struct{ x, y int64 }

// cells puts a part of a geometry on the grid. closed means a ring. A ring or a line that is smaller
// than a cell keeps the outline of one, so that no hazard vanishes from a map of the world; a hole
// that small is filled: nil.
func (g *grid) cells(p part, s crs.System) []cell {
	all := make([]cell, 0, len(p.line))
	for i := range p.line {
		at := p.line[i]
		if p.backward {
			at = p.line[len(p.line)-1-i]
		}
		x, y := g.on(s.Project(at[0], at[1]))
		if c := (cell{x, y}); !g.thin || len(all) == 0 || all[len(all)-1] != c {
			all = append(all, c)
		}
	}
	switch {
	case !g.thin || len(all) >= 4 || !p.closed && len(all) >= 2 || len(all) == 0:
		return all
	case p.hole:
		return nil
	case p.closed:
		c := all[0]
		return []cell{c, {c.x + 1, c.y}, {c.x + 1, c.y + 1}, {c.x, c.y + 1}, c} // clockwise where y points down
	default:
		return append(all, cell{all[0].x + 1, all[0].y})
	}
}

// part is a ring or a path.
type part struct {
	line     []geo.Position
	backward bool // to be read from its end
	closed   bool
	hole     bool
}

// parts returns the rings or paths of s for a layer's kind of geometry. Esri's outer rings run
// clockwise, holes counterclockwise: the reverse of GeoJSON. A line that is the area of a hazard is
// a ring there and back, so that a layer of areas draws it too.
func parts(kind Kind, s geo.Shape) (all []part) {
	switch kind {
	case Areas:
		for _, p := range s.Polygons() {
			for i, ring := range p {
				all = append(all, part{line: ring, backward: true, closed: true, hole: i > 0})
			}
		}
		if all == nil {
			for _, line := range s.Lines() {
				there := append([]geo.Position{}, line...)
				for i := len(line) - 2; i >= 0; i-- {
					there = append(there, line[i])
				}
				all = append(all, part{line: there, closed: true})
			}
		}
	case Tracks:
		for _, line := range s.Lines() {
			all = append(all, part{line: line})
		}
	}
	return all
}

// appendCells writes cells in JSON as Esri's quantized geometries have them: the first position, then
// steps.
func appendCells(b []byte, all []cell) []byte {
	var last cell
	b = append(b, '[')
	for i, c := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, c.x-last.x, 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, c.y-last.y, 10)
		b = append(b, ']')
		last = c
	}
	return append(b, ']')
}
