package find

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// Cells find hazards by type and place on SQLite: migrations/sqlite/0038_cells.sql has the columns.
// They know where the southwest corner of a hazard's box lies, and how large the box is at most. Of
// hazards that have ended their index also knows the position in the standard order.

// size is a size of boxes. Numbers are in hundredths of a degree.
type size struct {
	extent int  // of a box, at most
	cell   int  // the extent of a cell
	from   int  // the number of the first cell
	belts  bool // cells go all round
}

var sizes = []size{{1200, 1200, 1_000_000, false}, {300, 600, 2_000_000, false}, {100, 300, 3_000_000, false}, {0, 300, 4_000_000, false}, {1200, 1200, 5_000_000, true}}

// cells is a row of neighbouring cells, from one to another, and the corners in them that may be of a
// box that is sought: west, east, south, north.
type cells [6]int

// hundredths is a number of degrees as the columns have it.
func hundredths(degrees float64) int { return int(degrees * 100) }

// cellsOf returns the cells of all boxes that may meet b, and also of those that are nowhere.
func cellsOf(b geo.Box, nowhere bool) (all []cells) {
	const round, north = 36_000, 19_000
	all = []cells{{0, 0, math.MinInt32, math.MaxInt32, math.MinInt32, math.MaxInt32}}
	add := func(s size, west, east, south, north int) {
		for row := south / s.cell; row <= north/s.cell; row++ {
			first := s.from + row*1000
			all = append(all, cells{first + west/s.cell, first + east/s.cell, west, east, south, north})
		}
	}
	for _, s := range sizes {
		reach := s.extent + 2 // with what is lost by rounding
		inside := func(n, most int) int { return min(max(n, 0), most) }
		south, most := inside(hundredths(b.South+90)-reach, north), inside(hundredths(b.North+90)+1, north)
		west, east := inside(hundredths(b.West+180)-reach, round), inside(hundredths(b.East+180)+1, round)
		switch {
		case s.belts:
			for row := south / s.cell; row <= most/s.cell; row++ {
				all = append(all, cells{s.from + row*1000, s.from + row*1000, 0, round, south, most})
			}
		case b.West <= b.East:
			add(s, west, east, south, most)
		case west <= east: // all round
			add(s, 0, round, south, most)
		default:
			add(s, west, round, south, most)
			add(s, 0, east, south, most)
		}
		if nowhere && s.extent == 0 && most < north {
			add(s, 0, round, north-1, north)
		}
	}
	return all
}

// inside returns the condition that a row lies in one of these cells, for an index that has the columns but
// not their order.
func inside(all []cells) condition {
	south, north := math.MaxInt32, math.MinInt32
	of := make([][]cells, len(sizes)+1) // the corners of each million of cells
	for _, c := range all[1:] {
		south, north = min(south, c[4]), max(north, c[5])
		corners := cells{0, 0, c[2], c[3], c[4], c[5]}
		if i := c[0] / 1_000_000; !slices.Contains(of[i], corners) {
			of[i] = append(of[i], corners)
		}
	}
	c := conditionOf("(s.y BETWEEN ? AND ? OR s.cell < 1000000) AND CASE s.cell / 1000000", south, north)
	for _, i := range []int{4, 3, 2, 1, 5} { // the most frequent first
		c.text += fmt.Sprintf(" WHEN %d THEN FALSE", i)
		for _, o := range of[i] {
			c.text += " OR s.x BETWEEN ? AND ? AND s.y BETWEEN ? AND ?"
			c.args = append(c.args, o[2], o[3], o[4], o[5])
		}
	}
	c.text += " ELSE TRUE END"
	return c
}

// The parts of a question for cells: its types, and its cells.
const (
	cellTypes   = `SELECT value AS id FROM json_each(?)`
	cellPresent = `SELECT min(type_id) FROM searchable UNION ALL SELECT (SELECT min(type_id) FROM searchable WHERE type_id > t.id) FROM t WHERE t.id IS NOT NULL`
	cellRows    = `r AS MATERIALIZED (SELECT value ->> 0 AS c1, value ->> 1 AS c2, value ->> 2 AS x1, value ->> 3 AS x2, value ->> 4 AS y1, value ->> 5 AS y2 FROM json_each(?))`
	cellEach    = `r AS MATERIALIZED (SELECT value AS c FROM json_each(?))`
	cellHolds   = `s.cell BETWEEN r.c1 AND r.c2 AND s.x BETWEEN r.x1 AND r.x2 AND s.y BETWEEN r.y1 AND r.y2`
)

// endedIn returns a query for the hazards of the filter's types that have ended and whose boxes may
// meet its first: their numbers, and what the standard order wants. cells is the table r of the cells, and
// holds the condition for a row in one of them.
func (f sqliteFinder) endedIn(cells, holds condition) condition {
	types := condition{text: cellPresent}
	if of := f.having; of != nil || len(f.Filter.Types) > 0 {
		types = conditionOf(cellTypes, list(f.types()))
	}
	return conditionOf("WITH RECURSIVE t (id) AS ("+types.text+"), "+cells.text+
		" SELECT s.id, s.severity, s.last_update_ms FROM t CROSS JOIN r CROSS JOIN searchable s INDEXED BY searchable_by_cell ON s.type_id = t.id AND "+holds.text+" WHERE NOT s.active",
		slices.Concat(types.args, cells.args, holds.args)...)
}

// activeIn returns a query for the numbers of the active hazards whose boxes may meet the filter's
// first.
func (f sqliteFinder) activeIn(cells string) condition {
	return conditionOf("WITH "+cellRows+" SELECT s.id FROM r CROSS JOIN searchable s INDEXED BY searchable_active_by_cell ON "+cellHolds+" WHERE s.active", cells)
}

// cells returns the access path along the cells of the filter's first box; ok is false if it has
// none.
func (f sqliteFinder) cells() (way access, ok bool) {
	bounds := f.Filter.Bounds()
	if bounds == nil {
		return way, false
	}
	in := list(cellsOf(bounds[0], f.Filter.Possible))
	way.ended, way.active = f.endedIn(conditionOf(cellRows, in), conditionOf(cellHolds)), f.activeIn(in)
	both := conditionOf("SELECT id FROM ("+way.ended.text+") UNION ALL SELECT id FROM ("+way.active.text+")", append(append([]any{}, way.ended.args...), way.active.args...)...)
	way.from = conditionOf("(SELECT id FROM ("+both.text+") ORDER BY 1 LIMIT -1) c CROSS JOIN searchable s ON s.id = c.id", both.args...)
	way.some = both
	return way, true
}

// graded returns a query like ended for the hazards of one severity, its last argument, or none if there
// are too many cells to look into each for that.
func (f sqliteFinder) graded(ctx context.Context) (c condition, err error) {
	const most = 1500
	if f.WhereLater {
		return c, nil
	}
	types, err := f.typesThere(ctx)
	if err != nil {
		return c, err
	}
	rows := cellsOf(f.Filter.Bounds()[0], f.Filter.Possible)
	each := map[int]bool{} // at the antimeridian one may be in two rows
	for _, row := range rows {
		for cell := row[0]; cell <= row[1]; cell++ {
			if each[cell] = true; len(each)*len(types) > most {
				return c, nil
			}
		}
	}
	in := inside(rows)
	return f.endedIn(conditionOf(cellEach, list(slices.Sorted(maps.Keys(each)))), conditionOf("s.cell = r.c AND "+in.text+" AND s.severity = ?", in.args...)), nil
}

// listCells is size of the access path along cells, of at most so many rows.
func (f sqliteFinder) listCells(ctx context.Context, way *access, most int) (float64, error) {
	if f.Filter.Life != nil {
		most = fewRows // of more the tree leaves out those of other times
	}
	limited := fmt.Sprintf(" LIMIT %d", most+1)
	texts := make([]string, 3)
	if err := f.Tx.QueryRowContext(ctx, "SELECT json_group_array(id), json_group_array(severity), json_group_array(last_update_ms) FROM ("+way.ended.text+limited+")",
		way.ended.args...).Scan(&texts[0], &texts[1], &texts[2]); err != nil {
		return 0, err
	}
	columns := make([][]int64, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &columns[i]); err != nil {
			return 0, err
		}
	}
	ids := columns[0]
	if len(ids) > most {
		return maxRows + 1, nil
	}
	active, err := f.numbers(ctx, way.active.text+limited, way.active.args...)
	if err != nil || len(ids)+len(active) > most {
		return maxRows + 1, err
	}
	ended := make([]candidate, len(ids))
	for i, id := range ids {
		at := fives(hazard.Instant(columns[2][i]))
		ended[i] = candidate{id: id, severity: hazard.Severity(columns[1][i]), from: at, to: at}
	}
	return way.listed(ended, active), nil
}

// byCells is Each in the standard order along cells. Their index knows the order of what has ended,
// so rows are read in parts, until enough are found; in few cells, one severity after the other.
func (f sqliteFinder) byCells(ctx context.Context, way *access, after *query.Key, where condition, order string, found func(Row) (bool, error)) error {
	of := func(from condition, yield func(Row, error) bool) bool {
		ask := conditionOf("SELECT s.id FROM ("+from.text+") s", from.args...)
		if after != nil {
			behind := f.behind(*after)
			ask = conditionOf(ask.text+" WHERE "+behind.text, append(ask.args, behind.args...)...)
		}
		ask.text += " ORDER BY " + order
		part, first := manyRows, math.MaxInt32
		if f.Limit > 0 {
			part = f.Limit + f.Limit/4 + 1
			first = 4 * part // all are rarely needed
		}
		ids, err := f.numbers(ctx, fmt.Sprintf("%s LIMIT %d", ask.text, first), ask.args...)
		for all := len(ids) < first; err == nil; part = min(2*part, manyRows) {
			n := min(part, len(ids))
			near := slices.Sorted(slices.Values(ids[:n])) // neighbours are often on one page
			if n > 0 && !f.yieldPart(ctx, rowsOf(near), where, order, yield) {
				return false
			}
			if ids = ids[n:]; len(ids) > 0 {
				continue
			}
			if all {
				return true
			}
			all = true
			ids, err = f.numbers(ctx, fmt.Sprintf("%s LIMIT -1 OFFSET %d", ask.text, first), ask.args...)
		}
		yield(Row{}, err)
		return false
	}
	ended := func(yield func(Row, error) bool) {
		if way.graded.text == "" {
			of(way.ended, yield)
			return
		}
		for below := hazard.Warning + 1; ; {
			severity, ok, err := f.severityBelow(ctx, f.types(), below)
			if err != nil {
				yield(Row{}, err)
			}
			if err != nil || !ok || !of(conditionOf(way.graded.text, append(slices.Clone(way.graded.args), int64(severity))...), yield) {
				return
			}
			below = severity
		}
	}
	active := func(yield func(Row, error) bool) {
		f.yield(ctx, conditionOf("("+way.active.text+") c CROSS JOIN searchable s ON s.id = c.id", way.active.args...), where, order, yield)
	}
	return f.merge([]iter.Seq2[Row, error]{active, ended}, found)
}

// dense reports whether the order leads to a page sooner than cells do, of which there are many, by a
// sample of all hazards. It also sets how far the order is followed: what is wanted may all lie behind
// what is not.
func (f sqliteFinder) dense(ctx context.Context, total float64) (bool, error) {
	const (
		parts, neighbours = 40, 25 // of the sample
		orderCost         = 0.9    // of a row of the order, in microseconds
		cellCost          = 1.2    // of one in a cell, found and sorted
	)
	var ids []int64
	for i := range parts {
		first := int64(total * (float64(i) + 0.5) / parts)
		for j := range int64(neighbours) {
			ids = append(ids, first+j)
		}
	}
	var typed condition
	among(&typed, "s.type_id", f.types(), func(t hazard.Type) any { return string(t) })
	in := f.meets(f.Filter.Bounds()[0])
	one := Question{Filter: f.Filter, sources: f.sources, Named: f.Named}
	one.filtered()
	rows := rowsOf(ids)
	var order, near, wanted float64
	err := f.Tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum("+in.text+"), 0), coalesce(sum("+one.where.text+"), 0) FROM "+rows.text+" WHERE "+typed.text,
		slices.Concat(in.args, one.where.args, rows.args, typed.args)...).Scan(&order, &near, &wanted)
	expected := float64(f.Limit) * order / max(wanted, 0.5)
	f.far = int(3*expected) + 5000
	return expected*orderCost < near/(parts*neighbours)*total*cellCost, err
}

// list returns values as SQLite's json_each takes them.
func list[T any](all []T) string {
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // numbers and texts
	}
	return string(text)
}
