package geo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// reader reads one geometry: it turns the tree of a parser into a Shape.
type reader struct {
	loose            bool
	positions, parts int // counted so far
	work             *work
	to               Unproject // nil: positions are longitude and latitude
}

// Unproject returns the longitude and latitude in degrees of a position in another reference system,
// or no numbers where that has no such position.
type Unproject func(first, second float64) (lon, lat float64)

// xy is a longitude and a latitude in degrees, as written.
type xy struct{ lon, lat float64 }

// tree is a geometry as written. The coordinates of each kind are stored as a list of polygons,
// each a list of rings or lines, each a list of positions. A Point is one polygon with one line of
// one position. A collection has members instead.
type tree struct {
	kind    string // the kind in GeoJSON: Point, MultiPoint, …
	coords  [][][]xy
	members []tree
}

// fault is what is wrong with a geometry, and where: polygon 2, ring 1, position 3, counted from 1.
type fault struct {
	where []string
	what  string
}

func (f *fault) Error() string {
	if len(f.where) == 0 {
		return f.what
	}
	return strings.Join(f.where, ", ") + ": " + f.what
}

func faultf(format string, args ...any) error {
	return &fault{what: fmt.Sprintf(format, args...)}
}

// at adds to err the name of the part where it arose, and its index, which starts at 0.
func at(name string, i int, err error) error {
	if f, ok := errors.AsType[*fault](err); ok {
		return &fault{append([]string{fmt.Sprintf("%s %d", name, i+1)}, f.where...), f.what}
	}
	return err
}

// position counts a position that is being read.
func (r *reader) position() error {
	limit := MaxPositions
	if r.loose {
		limit = maxLoosePositions
	}
	if r.positions++; r.positions > limit {
		return faultf("more than %d positions", limit)
	}
	return nil
}

// part counts a point, line or ring that is being read.
func (r *reader) part() error {
	limit := maxParts
	if r.loose {
		limit = maxLooseParts
	}
	if r.parts++; r.parts > limit {
		return faultf("more than %d points, lines and rings", limit)
	}
	return nil
}

// collection is a geometry under construction.
type collection struct {
	Shape
	// rest is the positions of dropped rings and lines, used if nothing else is left.
	rest []position
}

// shape returns the geometry of t.
func (r *reader) shape(t tree) (Shape, error) {
	if r.work = requestWork(); r.loose {
		r.work = looseWork(0) // plus the steps granted for each polygon
	}
	var c collection
	if err := r.collect(t, &c); err != nil {
		return Shape{}, err
	}
	if c.IsZero() {
		if len(c.rest) == 0 {
			return Shape{}, faultf("holds no position")
		}
		c.Shape = inWorld(r.work, hull(c.rest))
	}
	if r.loose {
		r.work.grant(r.positions * looseSteps)
	}
	areas, err := joined(r.work, c.polygons)
	if _, costly := errors.AsType[*CostError](err); costly && !r.loose {
		return Shape{}, err
	}
	c.polygons, c.apart, c.coarse = areas.polygons, areas.apart, c.coarse || areas.coarse
	return canonical(c.Shape), nil
}

func (r *reader) collect(t tree, c *collection) error {
	switch t.kind {
	case "GeometryCollection":
		if len(t.members) == 0 && !r.loose {
			return faultf("a GeometryCollection without geometries, expected one or more")
		}
		for i, m := range t.members {
			if err := r.collect(m, c); err != nil {
				return at("geometry", i, err)
			}
		}
		return nil
	case "Point":
		p, err := r.check(t.coords[0][0][0])
		c.points = append(c.points, inTurn(p))
		return err
	case "MultiPoint":
		ps, err := r.checkAll(t.coords[0][0], 1)
		for _, p := range ps {
			c.points = append(c.points, inTurn(p))
		}
		return err
	case "LineString":
		return r.line(t.coords[0][0], c)
	case "MultiLineString":
		if len(t.coords[0]) == 0 && !r.loose {
			return faultf("a MultiLineString without lines, expected one or more")
		}
		for i, l := range t.coords[0] {
			if err := r.line(l, c); err != nil {
				return at("line", i, err)
			}
		}
		return nil
	case "Polygon":
		return r.polygon(t.coords[0], c)
	default: // MultiPolygon
		if len(t.coords) == 0 && !r.loose {
			return faultf("a MultiPolygon without polygons, expected one or more")
		}
		for i, p := range t.coords {
			if err := r.polygon(p, c); err != nil {
				return at("polygon", i, err)
			}
		}
		return nil
	}
}

func (r *reader) check(p xy) (position, error) {
	limit := 180.0
	if r.loose {
		limit = 360
	}
	if r.to != nil {
		first, second := p.lon, p.lat
		if p.lon, p.lat = r.to(first, second); !(math.Abs(p.lon) <= limit && math.Abs(p.lat) <= 90) { // also rejects no numbers
			return position{}, faultf("%v, %v is nowhere in the reference system", first, second)
		}
	}
	switch {
	case !(-limit <= p.lon && p.lon <= limit):
		return position{}, faultf("longitude %v is outside -%v to %v", p.lon, limit, limit)
	case !(-90 <= p.lat && p.lat <= 90):
		return position{}, faultf("latitude %v is outside -90 to 90 (the longitude comes first)", p.lat)
	}
	return position{toMicro(p.lon), toMicro(p.lat)}, nil
}

// checkAll checks positions. Unless they are read loosely, there must be at least minimum.
func (r *reader) checkAll(ps []xy, minimum int) ([]position, error) {
	if len(ps) < minimum && !r.loose {
		return nil, faultf("%d positions, expected at least %d", len(ps), minimum)
	}
	out := make([]position, len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = r.check(p); err != nil {
			return nil, at("position", i, err)
		}
	}
	return out, nil
}

func (r *reader) line(coords []xy, c *collection) error {
	l, err := r.checkAll(coords, 2)
	if err != nil {
		return err
	}
	var lines [][]position
	if l = slices.Compact(l); len(l) > 1 {
		lines = cutLine(l)
	}
	if len(lines) == 0 {
		if !r.loose {
			return faultf("the line has no length, expected two different positions")
		}
		c.rest = append(c.rest, l...)
	}
	c.lines = append(c.lines, lines...)
	return nil
}

func (r *reader) polygon(coords [][]xy, c *collection) error {
	if len(coords) == 0 && !r.loose {
		return faultf("a polygon without rings, expected an outer ring")
	}
	var p polygon
	for i, ps := range coords {
		checked, err := r.ring(ps)
		if err != nil {
			return at("ring", i, err)
		}
		if len(checked) < 3 {
			if i > 0 {
				continue // a hole without area removes nothing
			}
			c.rest = append(c.rest, checked...)
			return nil
		}
		p = append(p, checked)
	}
	if len(p) == 0 {
		return nil
	}
	if r.loose {
		c.looseArea(r.work, p)
		return nil
	}
	return c.area(r.work, p)
}

// ring checks one ring. A ring that is read loosely may have fewer than three positions and may
// touch itself.
func (r *reader) ring(coords []xy) (ring, error) {
	if len(coords) < 4 && !r.loose {
		return nil, faultf("%d positions, expected at least 4, the last of them the first again", len(coords))
	}
	ps, err := r.checkAll(coords, 0)
	if err != nil {
		return nil, err
	}
	if !r.loose && ps[0] != ps[len(ps)-1] {
		return nil, faultf("the ring is not closed, its last position must be its first")
	}
	got := compact(ps)
	if r.loose {
		return got, nil
	}
	if len(got) < 3 {
		return nil, faultf("the ring has no area")
	}
	return got, nil
}

// area adds the polygon p, or returns why it is not valid.
func (c *collection) area(w *work, p polygon) error {
	flat, err := laid(w, p, nearerPole)
	if err != nil {
		return err
	}
	polygons, err := valid(w, flat)
	if err != nil {
		return err
	}
	c.polygons = append(c.polygons, polygons...)
	return nil
}

// valid returns p cut at the antimeridian, or what is wrong with p. Holes may share a side with
// each other or with the outer ring; then they are joined. A *CostError is returned unchanged.
func valid(w *work, p flatPolygon) ([]polygon, error) {
	failed := func(err error, format string, args ...any) error {
		if _, costly := errors.AsType[*CostError](err); costly {
			return err
		}
		return faultf(format, args...)
	}
	for i, r := range p.polygon {
		if collinear(r) {
			return nil, at("ring", i, faultf("the ring has no area"))
		}
		switch place, meets, err := selfTouch(w, r); {
		case err != nil:
			return nil, at("ring", i, failed(err, "the ring is %v", err))
		case meets:
			a, b := place[0], place[1]
			return nil, at("ring", i, faultf("the ring meets itself after (%v %v) and (%v %v), expected one that does not",
				degrees(a.x), degrees(a.y), degrees(b.x), degrees(b.y)))
		}
	}
	if p.winds || len(p.polygon) == 1 {
		polygons, err := cut(w, p)
		if err != nil || len(polygons) == 0 {
			return nil, failed(err, "the polygon cannot be cut at the antimeridian")
		}
		return polygons, nil
	}
	polygons, err := difference(w, []polygon{p.polygon[:1]}, holesOf(p.polygon))
	if err != nil {
		return nil, failed(err, "the polygon is %v", err)
	}
	// Where rings cross, or a hole lies outside, a hole removes less than its own area.
	left := doubleAreas(polygons)
	for _, hole := range holesOf(p.polygon) {
		left += doubleAreas([]polygon{hole})
	}
	if left != doubleAreas([]polygon{p.polygon[:1]}) {
		return nil, faultf("the holes of the polygon cross each other or its outer ring, or lie outside of it")
	}
	if len(polygons) == 0 {
		return nil, faultf("the polygon has no area, its holes take all of it")
	}
	var all []polygon
	for _, q := range polygons {
		pieces, err := cutPolygon(w, q)
		if err != nil {
			return nil, failed(err, "the polygon is %v", err)
		}
		all = append(all, pieces...)
	}
	return all, nil
}

// holesOf returns the holes of p as areas.
func holesOf(p polygon) []polygon {
	var holes []polygon
	for i := range p[1:] {
		holes = append(holes, p[i+1:i+2])
	}
	return holes
}

// doubleAreas returns twice the area of polygons in square millionths of a degree.
func doubleAreas(polygons []polygon) int64 {
	var sum int64
	for _, p := range polygons {
		for i, r := range p {
			if a := doubleArea(r); (a > 0) == (i == 0) {
				sum += a
			} else {
				sum -= a
			}
		}
	}
	return sum
}

// looseArea adds the polygon p and repairs it if it is not valid. If that fails or costs too much,
// it adds the convex hull, so that no place is lost.
func (c *collection) looseArea(w *work, p polygon) {
	positions := 0
	for _, r := range p {
		positions += len(r)
	}
	w.grant(positions * looseSteps)
	flat, err := laid(w, p, nearerPole)
	if err != nil {
		c.hull(w, p[0])
		return
	}
	if polygons, err := valid(w, flat); err == nil {
		c.polygons = append(c.polygons, polygons...)
		return
	}
	polygons, err := mended(w, flat.polygon)
	if err == nil && len(polygons) == 0 {
		c.rest = append(c.rest, flat.polygon[0]...)
		return
	}
	var pieces []polygon
	for _, m := range polygons {
		var cut []polygon
		if cut, err = cutPolygon(w, m); err != nil {
			break
		}
		pieces = append(pieces, cut...)
	}
	if err != nil {
		c.hull(w, flat.polygon[0])
		return
	}
	c.polygons = append(c.polygons, pieces...)
}

// hull adds the convex hull of r and marks the shape as coarse.
func (c *collection) hull(w *work, r ring) {
	w.grant(minSteps) // enough for its sides, which are few or sorted
	s := inWorld(w, hull(r))
	c.coarse = true
	c.polygons = append(c.polygons, s.polygons...)
	c.lines = append(c.lines, s.lines...)
	c.points = append(c.points, s.points...)
}
