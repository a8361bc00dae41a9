package vectortile

import (
	"context"
	"math"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// point is a place in units of a tile at some zoom, of the whole world or of one tile. x goes east, y
// goes south.
type point struct{ x, y int32 }

// ring is a closed line, whose first point is not repeated, or an open line.
type ring []point

// outline is a geometry in units of the world at one zoom, simplified to an eighth of a pixel.
type outline struct {
	polygons                 [][]ring // outer ring, then holes
	lines                    []ring
	west, north, east, south int32 // around it
}

type outlineKey struct {
	digest string
	z      int
}

// outline returns a geometry at a zoom; nil if it is damaged or only points.
func (d *Drawer) outline(ctx context.Context, ref hazard.AreaRef, z int) (*outline, error) {
	key := outlineKey{ref.Digest, z}
	if o, ok := d.outlines.Get(key); ok {
		return o, nil
	}
	shapes, err := d.shapes.Shapes(ctx, []hazard.AreaRef{ref})
	if err != nil || len(shapes) == 0 {
		return nil, err
	}
	o, size := project(shapes[0], z)
	d.outlines.Put(key, o, size)
	return o, nil
}

// project returns a shape at a zoom, and its size in bytes; nil if it is only points.
func project(s geo.Shape, z int) (*outline, int) {
	o := &outline{west: math.MaxInt32, north: math.MaxInt32, east: math.MinInt32, south: math.MinInt32}
	size := 128
	see := func(r ring) ring {
		for _, p := range r {
			o.west, o.east, o.north, o.south = min(o.west, p.x), max(o.east, p.x), min(o.north, p.y), max(o.south, p.y)
		}
		size += 24 + 8*len(r)
		return r
	}
	for _, polygon := range s.Polygons() {
		var rings []ring
		for i, r := range polygon {
			if ring := see(projected(r, z, true)); i == 0 || len(ring) > 2 {
				rings = append(rings, ring)
			}
		}
		o.polygons = append(o.polygons, rings)
	}
	for _, l := range s.Lines() {
		o.lines = append(o.lines, see(projected(l, z, false)))
	}
	if o.polygons == nil && o.lines == nil {
		return nil, size
	}
	return o, size
}

// projected returns a line at a zoom. closed says that its last position repeats the first, and that
// it is the edge of an area.
func projected(l []geo.Position, z int, closed bool) ring {
	world := float64(int(extent) << z)
	out := make(ring, 0, min(len(l), 64))
	put := func(x, y float64) {
		p := point{int32(math.Round(min(max(x, -buffer), world+buffer))), int32(math.Round(min(max(y, -buffer), world+buffer)))}
		if n := len(out); n > 0 && max(p.x-out[n-1].x, out[n-1].x-p.x, p.y-out[n-1].y, out[n-1].y-p.y) < 2 {
			return
		}
		out = append(out, p)
	}
	// A shape across the antimeridian is cut there. That cut is no edge of the area: it goes beyond the
	// side of the world, where tiles do not show it.
	beyond := func(i int) float64 {
		lon := l[i][0]
		if !closed || lon != 180 && lon != -180 {
			return 0
		}
		n := len(l) - 1
		if l[(i+1)%n][0] == lon || l[(i+n-1)%n][0] == lon {
			return math.Copysign(buffer, lon)
		}
		return 0
	}
	if closed && len(l) > 1 {
		for i := range l[:len(l)-1] {
			at := xy{worldX(l[i][0])*world + beyond(i), worldY(l[i][1]) * world}
			put(at.x, at.y)
			next := (i + 1) % (len(l) - 1)
			along(l[i], l[next], world, put)
		}
		if n := len(out); n > 1 && out[0] == out[n-1] {
			out = out[:n-1]
		}
		return out
	}
	for i := range l {
		put(worldX(l[i][0])*world, worldY(l[i][1])*world)
		if i+1 < len(l) {
			along(l[i], l[i+1], world, put)
		}
	}
	return out
}

// along puts the places between two positions where the line between them, which is straight in
// degrees (RFC 7946, section 3.1.1), is more than a quarter of a pixel from the straight line in Web
// Mercator.
func along(a, b geo.Position, world float64, put func(x, y float64)) {
	dx, dy := math.Abs(b[0]-a[0]), math.Abs(b[1]-a[1])
	if dx*world/360 < pixel || dy*world/360 < pixel {
		return
	}
	// The distance is at most the second derivative of worldY times dy²/8.
	lat := min(max(math.Abs(a[1]), math.Abs(b[1])), 85) * math.Pi / 180
	dy *= math.Pi / 180
	off := world / (2 * math.Pi) * math.Tan(lat) / math.Cos(lat) * dy * dy / 8
	n := int(min(math.Sqrt(off/(pixel/4)), 256))
	for i := 1; i <= n; i++ {
		t := float64(i) / float64(n+1)
		put(worldX(a[0]+t*(b[0]-a[0]))*world, worldY(a[1]+t*(b[1]-a[1]))*world)
	}
}

// moved returns a ring in units of the tile.
func (p *part) moved(r ring) ring {
	out := make(ring, len(r))
	for i, at := range r {
		out[i] = point{at.x + p.dx, at.y + p.dy}
	}
	return out
}

// polygonsIn returns the polygons of a part as far as they are in the tile and its buffer. What is
// smaller than a cell of the grid is a cell, and what is too thin has a width.
func (p *part) polygonsIn(z int) [][]ring {
	var all [][]ring
	for _, polygon := range p.polygons {
		var rings []ring
		for i, r := range polygon {
			r = p.moved(r)
			if i == 0 {
				r = thick(r)
			}
			if r = clipped(r); doubleArea(r) != 0 {
				rings = append(rings, simplified(r, slack(z)))
			} else if i == 0 {
				break
			}
		}
		if len(rings) > 0 {
			all = append(all, rings)
		}
	}
	return all
}

// thick returns the outer ring of an area, or instead of one that is hardly an area at this zoom a cell
// or a narrow one.
func thick(r ring) ring {
	if size := doubleArea(r); max(size, -size) >= 2*cell*cell {
		return r
	}
	a := r[farthest(r, r[0])]
	b := r[farthest(r, a)]
	if max(abs(a.x-b.x), abs(a.y-b.y)) <= 2*cell {
		x, y := (a.x+b.x-cell)/2, (a.y+b.y-cell)/2
		return ring{{x, y}, {x + cell, y}, {x + cell, y + cell}, {x, y + cell}}
	}
	aside := point{cell / 2, 0}
	if abs(a.x-b.x) > abs(a.y-b.y) {
		aside = point{0, cell / 2}
	}
	return ring{a, b, {b.x + aside.x, b.y + aside.y}, {a.x + aside.x, a.y + aside.y}}
}

// doubleArea returns twice the area of a ring; it is positive if the ring is clockwise on the screen.
func doubleArea(r ring) int64 {
	sum := int64(0)
	for i, p := range r {
		q := r[(i+1)%len(r)]
		sum += int64(p.x)*int64(q.y) - int64(q.x)*int64(p.y)
	}
	return sum
}

// clipped returns a ring as far as it is in the tile and its buffer (Sutherland and Hodgman, 1974).
func clipped(r ring) ring {
	const low, high = -buffer, extent + buffer
	for side := range 4 {
		in := func(p point) bool { return [...]bool{p.x >= low, p.x <= high, p.y >= low, p.y <= high}[side] }
		if all(r, in) {
			continue
		}
		var out ring
		for i, p := range r {
			q := r[(i+1)%len(r)]
			if in(p) {
				out = append(out, p)
			}
			if in(p) != in(q) {
				limit := int32([...]int{low, high, low, high}[side])
				if side < 2 {
					out = append(out, point{limit, between(p.y, q.y, limit-p.x, q.x-p.x)})
				} else {
					out = append(out, point{between(p.x, q.x, limit-p.y, q.y-p.y), limit})
				}
			}
		}
		r = out
	}
	return r
}

func all(r ring, in func(point) bool) bool {
	for _, p := range r {
		if !in(p) {
			return false
		}
	}
	return true
}

// between returns the value at part of the way from a to b.
func between(a, b, part, whole int32) int32 {
	return a + int32(math.Round(float64(b-a)*float64(part)/float64(whole)))
}

// linesIn returns the lines of a part as far as they are in the tile and its buffer.
func (p *part) linesIn() []ring {
	var all []ring
	for _, l := range p.lines {
		all = append(all, cut(p.moved(l))...)
	}
	return all
}

// edges returns the edges of a part as lines, which nobody fills, as far as they are in the tile and
// its buffer.
func (p *part) edges(z int) []ring {
	all := p.linesIn()
	for _, polygon := range p.polygons {
		for _, r := range polygon {
			r = simplified(p.moved(r), slack(z))
			all = append(all, cut(append(r, r[0]))...)
		}
	}
	return all
}

// cut returns the pieces of a line that are in the tile and its buffer.
func cut(l ring) []ring {
	var all []ring
	var piece ring
	end := func() {
		if len(piece) > 1 {
			all = append(all, piece)
		}
		piece = nil
	}
	for i := 1; i < len(l); i++ {
		from, to, ok := inside(l[i-1], l[i])
		if !ok {
			end()
			continue
		}
		if piece == nil || from != piece[len(piece)-1] {
			end()
			piece = ring{from}
		}
		if to != from {
			piece = append(piece, to)
		}
	}
	end()
	return all
}

// inside returns the piece of the line from a to b that is in the tile and its buffer (Liang and
// Barsky, 1984).
func inside(a, b point) (from, to point, ok bool) {
	const low, high = -buffer, extent + buffer
	t0, t1 := 0.0, 1.0
	dx, dy := float64(b.x-a.x), float64(b.y-a.y)
	for _, e := range [...][2]float64{{-dx, float64(a.x) - low}, {dx, high - float64(a.x)}, {-dy, float64(a.y) - low}, {dy, high - float64(a.y)}} {
		switch {
		case e[0] == 0 && e[1] < 0:
			return a, b, false
		case e[0] < 0:
			t0 = max(t0, e[1]/e[0])
		case e[0] > 0:
			t1 = min(t1, e[1]/e[0])
		}
	}
	if t0 > t1 {
		return a, b, false
	}
	at := func(t float64) point {
		return point{int32(math.Round(float64(a.x) + t*dx)), int32(math.Round(float64(a.y) + t*dy))}
	}
	return at(t0), at(t1), true
}
