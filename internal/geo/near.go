package geo

import "math"

// Reach is what of a shape is near a place: made once of some shapes, and asked of many places. It is immutable.
type Reach struct {
	areas index // of sides below
	sides []side
	lines index // of what, beside the boundaries of areas, is near: lines and points too
	all   []side
}

// NewReach makes a Reach of all shapes together. Its cost is that of sorting their positions.
func NewReach(shapes ...Shape) *Reach {
	r := &Reach{}
	for _, s := range shapes {
		r.sides = appendSides(r.sides, s.polygons, 1)
		r.all = append(r.all, s.sidesIn(box{-halfTurn, -quarterTurn, halfTurn, quarterTurn})...)
	}
	r.areas, r.lines = *indexed(r.sides), *indexed(r.all)
	return r
}

// Holds reports whether a place, longitude before latitude in degrees, lies in one of the areas. Of a place on a boundary it may say either.
func (r *Reach) Holds(lon, lat float64) bool {
	p := position{toMicro(lon), toMicro(lat)}
	winding := int32(0)
	_ = r.areas.search(unbounded(), box{p.x, -quarterTurn, p.x, p.y}, func(i int) error {
		if s := r.sides[i]; s.a.x <= p.x && p.x < s.b.x && cross(s.a, s.b, p) > 0 {
			winding += s.weight
		}
		return nil
	})
	return winding > 0
}

// Distance is how far a place is from the nearest place of the shapes, in metres, as far as it is at most that much: 0 inside an area. far
// reports that it is more. A line between two positions is straight on a map of longitude and latitude; within 300 km the distance to it is right to 1 %.
func (r *Reach) Distance(lon, lat, most float64) (metres float64, far bool) {
	if r.Holds(lon, lat) {
		return 0, false
	}
	metres = math.Inf(1)
	for _, b := range (Box{lon, lat, lon, lat}).Widened(most) {
		_ = r.lines.search(unbounded(), box{toMicro(b.West), toMicro(b.South), toMicro(b.East), toMicro(b.North)}, func(i int) error {
			metres = min(metres, r.all[i].distance(lon, lat))
			return nil
		})
	}
	return metres, metres > most
}

// DistanceOf is Distance of a shape: of its nearest place, 0 where it has a place in common with one of the shapes.
func (r *Reach) DistanceOf(s Shape, most float64) (metres float64, far bool) {
	own := NewReach(s)
	metres = math.Inf(1)
	for _, o := range own.all { // two shapes that are apart are nearest at an end of a side
		for _, p := range []position{o.a, o.b} {
			lon, lat := degrees(p.x), degrees(p.y)
			if d, _ := r.Distance(lon, lat, min(most, metres)); d < metres {
				metres = d
			}
			if metres == 0 {
				return 0, false
			}
		}
	}
	for _, b := range BoundsOf(s).Widened(most) {
		_ = r.lines.search(unbounded(), box{toMicro(b.West), toMicro(b.South), toMicro(b.East), toMicro(b.North)}, func(i int) error {
			side := r.all[i]
			for _, p := range []position{side.a, side.b} {
				if d, _ := own.Distance(degrees(p.x), degrees(p.y), min(most, metres)); d < metres {
					metres = d
				}
			}
			_ = own.lines.search(unbounded(), side.box(), func(j int) error {
				if side.meets(own.all[j]) {
					metres = 0
				}
				return nil
			})
			return nil
		})
	}
	return metres, metres > most
}

// Widened is the box with all places at most metres from it, in parts that do not cross the antimeridian.
func (b Box) Widened(metres float64) []Box {
	wide := Box{South: Around(0, b.South, metres).South, North: Around(0, b.North, metres).North}
	farthest := b.North // from the equator: meridians are nearest there
	if math.Abs(b.South) > math.Abs(b.North) {
		farthest = b.South
	}
	more, width := Around(0, farthest, metres).East, b.East-b.West
	if width < 0 {
		width += 360
	}
	if width+2*more >= 360 {
		return []Box{{-180, wide.South, 180, wide.North}}
	}
	if wide.West, wide.East = Wrap(b.West-more), Wrap(b.East+more); wide.West <= wide.East {
		return []Box{wide}
	}
	return []Box{{wide.West, wide.South, 180, wide.North}, {-180, wide.South, wide.East, wide.North}}
}

// distance is how far a place is from the side, in metres.
func (s side) distance(lon, lat float64) float64 {
	// On a plane that touches the sphere at the place, as far as what is nearest is asked for.
	shrink := math.Cos(radians(lat))
	x := func(p position) float64 { return math.Remainder(degrees(p.x)-lon, 360) * shrink }
	y := func(p position) float64 { return degrees(p.y) - lat }
	ax, ay := x(s.a), y(s.a)
	dx, dy := x(s.b)-ax, y(s.b)-ay
	if length := dx*dx + dy*dy; length > 0 {
		t := min(1, max(0, -(ax*dx+ay*dy)/length))
		ax, ay = ax+t*dx, ay+t*dy
	}
	if shrink == 0 {
		return Distance(lon, lat, lon, lat+ay)
	}
	return Distance(lon, lat, lon+ax/shrink, lat+ay)
}

// unbounded is the work of what costs no more than what it looks at.
func unbounded() *work { return &work{left: math.MaxInt} }
