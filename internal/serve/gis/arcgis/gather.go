package arcgis

import (
	"bytes"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Gathers reports whether all matches must be looked at before the first is written: to test a
// relation, for an order that the store does not know, or for their extent.
func (q *Query) Gathers() bool { return q.relation != nil || q.sorted || q.Answer == Extent }

// NeedsShapes reports whether Gathered.Add needs the geometries of hazards.
func (q *Query) NeedsShapes() bool { return q.relation != nil || q.Answer == Extent }

// Gathered are the matches of a query: their numbers in the order of the query, and the box around
// them. It holds a few values of each, so that many fit.
type Gathered struct {
	q                      *Query
	rows                   []gathered
	west, south, east, top float64 // in units of outSR
}

type gathered struct {
	id   int64
	keys []any
}

// NewGathered starts with no match.
func NewGathered(q *Query) *Gathered {
	return &Gathered{q: q, west: math.Inf(1), south: math.Inf(1), east: math.Inf(-1), top: math.Inf(-1)}
}

// Add adds a hazard that the search found, unless it is not in the relation of the query. shape is
// its geometry in the layer; it may be zero without NeedsShapes.
func (g *Gathered) Add(h *hazard.Hazard, shape geo.Shape) error {
	if r := g.q.relation; r != nil {
		if ok, err := r.holds(shape); err != nil || !ok {
			return err
		}
	}
	row := gathered{id: h.ID}
	if g.q.sorted {
		for _, o := range g.q.sort {
			row.keys = append(row.keys, fieldNamed(o.column).field.Value(h))
		}
	}
	g.rows = append(g.rows, row)
	if g.q.Answer == Extent {
		west, south, east, north := shape.Bounds()
		for _, at := range [][2]float64{{west, south}, {west, north}, {east, south}, {east, north}} {
			x, y := g.q.OutSR.Project(at[0], at[1])
			g.west, g.south, g.east, g.top = min(g.west, x), min(g.south, y), max(g.east, x), max(g.top, y)
		}
	}
	return nil
}

// IDs returns the numbers of all matches in the order of the query.
func (g *Gathered) IDs() []int64 {
	if g.q.sorted {
		slices.SortStableFunc(g.rows, func(a, b gathered) int {
			for i, o := range g.q.sort {
				c := compare(a.keys[i], b.keys[i])
				if o.descending {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0 // found in the order of their numbers
		})
	}
	ids := make([]int64, len(g.rows))
	for i := range g.rows {
		ids[i] = g.rows[i].id
	}
	return ids
}

// WriteExtent writes the answer to returnExtentOnly: the box around all matches, with their number if
// that was asked for too. Without a match, its corners are the text NaN, as in ArcGIS.
func WriteExtent(out *bytes.Buffer, q *Query, g *Gathered) error {
	answer := struct {
		Count  *int `json:"count,omitzero"`
		Extent any  `json:"extent"`
	}{}
	if n := len(g.rows); q.counted {
		answer.Count = &n
	}
	if len(g.rows) > 0 {
		answer.Extent = extent{g.west, g.south, g.east, g.top, referenceOf(q.OutSR.Code)}
	} else {
		answer.Extent = map[string]any{"xmin": "NaN", "ymin": "NaN", "xmax": "NaN", "ymax": "NaN", "spatialReference": referenceOf(q.OutSR.Code)}
	}
	text, err := json.Marshal(answer)
	out.Write(text)
	return err
}
