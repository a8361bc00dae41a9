package vectortile

import (
	"math"
	"slices"
)

// side is the number of cells of a grid's side: a tile with its buffer.
const side = (extent + 2*buffer) / cell

// grid is a raster of the dangerous area: each cell holds the worst severity there.
type grid struct {
	class [side * side]uint8 // what is painted; 0 is nothing
	// next leads from a painted cell to the right, to the next cell that is not painted; a cell that is
	// not painted leads to itself. So no cell is painted twice.
	next [side * (side + 1)]uint16
	free int // cells that are not painted

	crossings []uint32 // of the rows of cells with the polygon that is being painted: row, column
	spans     []span
	rows      [side + 1]int // where the spans of a row begin
	traced    [side * side / 64]uint64
}

func (g *grid) clear() {
	clear(g.class[:])
	clear(g.traced[:])
	for row := range side {
		line := g.next[row*(side+1) : (row+1)*(side+1)]
		for i := range line {
			line[i] = uint16(i)
		}
	}
	g.free = side * side
}

// paint fills the cells that a part covers or touches, except those that hold something worse.
func (g *grid) paint(p part, class uint8) {
	if g.free == 0 {
		return
	}
	dx, dy := p.dx+buffer, p.dy+buffer
	for _, polygon := range p.polygons {
		g.crossings = g.crossings[:0]
		for _, r := range polygon {
			for i, a := range r {
				b := r[0]
				if i+1 < len(r) {
					b = r[i+1]
				}
				a, b = point{a.x + dx, a.y + dy}, point{b.x + dx, b.y + dy}
				g.cross(a, b)
				g.line(a, b, class)
			}
		}
		slices.Sort(g.crossings)
		for i := 0; i+1 < len(g.crossings); i += 2 {
			from, to := g.crossings[i], g.crossings[i+1]
			g.fill(int(from>>16), int(from&0xffff), int(to&0xffff), class)
		}
	}
	for _, l := range p.lines {
		for i, a := range l {
			b := l[min(i+1, len(l)-1)]
			g.line(point{a.x + dx, a.y + dy}, point{b.x + dx, b.y + dy}, class)
		}
	}
}

// cross records where an edge crosses the middles of rows. Every polygon crosses a row an even number
// of times: what is left or right of the grid counts at its side.
func (g *grid) cross(a, b point) {
	if a.y == b.y {
		return
	}
	if a.y > b.y {
		a, b = b, a
	}
	first, end := max(ceil(a.y-cell/2), 0), min(ceil(b.y-cell/2), side)
	slope := float64(b.x-a.x) / float64(b.y-a.y)
	for row := first; row < end; row++ {
		x := float64(a.x) + (float64(row*cell+cell/2)-float64(a.y))*slope
		column := min(max(math.Ceil((x-cell/2)/cell), 0), side)
		g.crossings = append(g.crossings, uint32(row)<<16|uint32(column))
	}
}

// ceil returns the number of cells in a length, rounded up.
func ceil(v int32) int { return int(-(-v >> 2)) }

// fill paints the cells of a row from one column up to another.
func (g *grid) fill(row, from, to int, class uint8) {
	next := g.next[row*(side+1) : (row+1)*(side+1)]
	cells := g.class[row*side : (row+1)*side]
	for column := from; column < to; {
		if n := int(next[column]); n != column { // the first that is not painted
			next[column] = next[n]
			column = n
			continue
		}
		begin := column
		for column < to && cells[column] == 0 {
			cells[column] = class
			column++
		}
		for i := begin; i < column; i++ {
			next[i] = uint16(column)
		}
		g.free -= column - begin
	}
}

// line paints the cells along an edge.
func (g *grid) line(a, b point, class uint8) {
	const edge = side*cell - 1
	if max(a.x, b.x) < 0 || max(a.y, b.y) < 0 || min(a.x, b.x) > edge || min(a.y, b.y) > edge {
		return
	}
	if !within(a) || !within(b) {
		// inside works from the northwest corner of the tile.
		from, to, ok := inside(point{a.x - buffer, a.y - buffer}, point{b.x - buffer, b.y - buffer})
		if !ok {
			return
		}
		a, b = point{min(from.x+buffer, edge), min(from.y+buffer, edge)}, point{min(to.x+buffer, edge), min(to.y+buffer, edge)}
	}
	x, y := int(a.x>>2), int(a.y>>2)
	g.dot(x, y, class)
	n := max(abs(b.x-a.x), abs(b.y-a.y))/cell + 1
	dx, dy := float64(b.x-a.x)/float64(n), float64(b.y-a.y)/float64(n)
	for i := int32(1); i <= n; i++ {
		g.dot(int(float64(a.x)+float64(i)*dx)>>2, int(float64(a.y)+float64(i)*dy)>>2, class)
	}
}

func within(p point) bool { return p.x >= 0 && p.y >= 0 && p.x < side*cell && p.y < side*cell }

func abs(v int32) int32 { return max(v, -v) }

func (g *grid) dot(x, y int, class uint8) {
	if i := y*side + x; g.class[i] == 0 {
		g.class[i] = class
		g.next[y*(side+1)+x] = uint16(x + 1)
		g.free--
	}
}

// span is a run of cells of one class in a row. Spans that touch in neighboring rows are one area.
type span struct {
	from, to uint16
	class    uint8
	parent   int // a span of the same area; its own index for the first one
}

// trace returns the areas of each class as polygons, in units of the tile, from its northwest corner.
func (g *grid) trace() [worst + 1][][]ring {
	g.connect()
	var polygons [worst + 1][][]ring
	of := map[int]int{} // the index of an area's polygon, by its first span
	for row := range side {
		for _, s := range g.spans[g.rows[row]:g.rows[row+1]] {
			for x := int(s.from); x < int(s.to); x++ {
				if row > 0 && g.class[(row-1)*side+x] == s.class {
					continue
				}
				if i := row*side + x; g.traced[i/64]&(1<<(i%64)) != 0 {
					continue
				}
				r := simplified(g.loop(x, row, s.class), tolerance)
				area := g.root(g.spanAt(row, x))
				list := &polygons[s.class]
				// The first loop of an area, from the north, is its outer ring.
				if i, ok := of[area]; ok {
					(*list)[i] = append((*list)[i], r)
				} else {
					of[area] = len(*list)
					*list = append(*list, []ring{r})
				}
			}
		}
	}
	return polygons
}

// connect finds the spans, and which of them are one area.
func (g *grid) connect() {
	g.spans = g.spans[:0]
	for row := range side {
		g.rows[row] = len(g.spans)
		line := g.class[row*side : (row+1)*side]
		for x := 0; x < side; {
			class, from := line[x], x
			for x++; x < side && line[x] == class; x++ {
			}
			if class != 0 {
				g.spans = append(g.spans, span{uint16(from), uint16(x), class, len(g.spans)})
			}
		}
	}
	g.rows[side] = len(g.spans)
	for row := 1; row < side; row++ {
		above, end := g.rows[row-1], g.rows[row]
		for i := end; i < g.rows[row+1]; {
			if above == end {
				break
			}
			a, b := g.spans[above], g.spans[i]
			if a.class == b.class && a.from < b.to && b.from < a.to {
				x, y := g.root(above), g.root(i)
				g.spans[max(x, y)].parent = min(x, y)
			}
			if a.to <= b.to {
				above++
			} else {
				i++
			}
		}
	}
}

// root returns the first span of the area of span i.
func (g *grid) root(i int) int {
	for g.spans[i].parent != i {
		g.spans[i].parent = g.spans[g.spans[i].parent].parent
		i = g.spans[i].parent
	}
	return i
}

// spanAt returns the index of the span that holds a cell.
func (g *grid) spanAt(row, x int) int {
	i, found := slices.BinarySearchFunc(g.spans[g.rows[row]:g.rows[row+1]], x, func(s span, x int) int { return int(s.from) - x })
	if !found {
		i--
	}
	return g.rows[row] + i
}

// The directions in which loop goes; the area is on its right.
const (
	east = iota
	south
	west
	north
)

// loop follows the edge of an area from the upper left corner of a cell, eastward, and returns the
// middles of its first and last steps between turns: so steps of a slanted edge become a line. Cells
// that touch at a corner only are not connected.
func (g *grid) loop(x, y int, class uint8) ring {
	var r ring
	is := func(x, y int) bool {
		return x >= 0 && y >= 0 && x < side && y < side && g.class[y*side+x] == class
	}
	startX, startY, direction, turned := x, y, east, true
	for {
		var right, left bool
		middle := point{int32(x)*cell - buffer, int32(y)*cell - buffer}
		switch direction {
		case east:
			i := y*side + x
			g.traced[i/64] |= 1 << (i % 64)
			middle.x += cell / 2
			x++
			right, left = is(x, y), is(x, y-1)
		case south:
			middle.y += cell / 2
			y++
			right, left = is(x-1, y), is(x, y)
		case west:
			middle.x -= cell / 2
			x--
			right, left = is(x-1, y-1), is(x-1, y)
		case north:
			middle.y -= cell / 2
			y--
			right, left = is(x, y-1), is(x-1, y-1)
		}
		turn := 0
		if !right {
			turn = 1
		} else if left {
			turn = 3
		}
		if turned || turn != 0 {
			r = append(r, middle)
		}
		turned = turn != 0
		direction = (direction + turn) % 4
		if x == startX && y == startY && direction == east {
			return r
		}
	}
}

// tolerance is how far a simplified edge may be from the traced one, in units.
const tolerance = 2.5

// The zoom from which the edges of single areas are drawn, and how far they may be off until then.
const (
	edgesFrom = 7
	coarse    = 5
)

// slack returns how far the edge of an area may be off at a zoom. Tiles of the last zoom are also shown closer.
func slack(z int) float64 {
	switch {
	case z < edgesFrom:
		return coarse
	case z < MaxZoom:
		return tolerance
	}
	return 0
}

// chunk bounds the work of simplifying a long edge.
const chunk = 256

// simplified returns a ring with fewer points, whose edges are off by less than a distance (Douglas and
// Peucker, 1973). A ring that would vanish stays as it is.
func simplified(r ring, off float64) ring {
	if len(r) <= 8 {
		return r
	}
	out := make(ring, 0, len(r)/2)
	for from := 0; from < len(r); from += chunk {
		to := min(from+chunk, len(r))
		line := r[from:to:to]
		if to < len(r) {
			line = append(line, r[to])
		} else {
			line = append(line, r[0])
		}
		if len(r) <= chunk { // one line that ends where it begins: cut it where it is farthest
			far := farthest(line, line[0])
			out = append(append(out, thinned(line[:far+1], off)...), thinned(line[far:], off)...)
		} else {
			out = append(out, thinned(line, off)...)
		}
	}
	if len(out) < 3 || doubleArea(out) == 0 || doubleArea(out) > 0 != (doubleArea(r) > 0) {
		return r
	}
	return out
}

func farthest(l ring, from point) int {
	far, most := 0, int64(-1)
	for i, p := range l {
		dx, dy := int64(p.x-from.x), int64(p.y-from.y)
		if d := dx*dx + dy*dy; d > most {
			far, most = i, d
		}
	}
	return far
}

// thinned returns a line with fewer points, without the last one.
func thinned(l ring, off float64) ring {
	if len(l) <= 2 {
		return l[:max(len(l)-1, 0)]
	}
	a, b := l[0], l[len(l)-1]
	far, most := 0, off*off
	for i := 1; i < len(l)-1; i++ {
		if d := squareDistance(l[i], a, b); d > most {
			far, most = i, d
		}
	}
	if far == 0 {
		return l[:1]
	}
	head := thinned(l[:far+1:far+1], off)
	return append(slices.Clip(head), thinned(l[far:], off)...)
}

// squareDistance returns the square of how far p is from the line between a and b.
func squareDistance(p, a, b point) float64 {
	dx, dy := float64(b.x-a.x), float64(b.y-a.y)
	px, py := float64(p.x-a.x), float64(p.y-a.y)
	t := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		t = min(max((px*dx+py*dy)/length, 0), 1)
	}
	px, py = px-t*dx, py-t*dy
	return px*px + py*py
}
