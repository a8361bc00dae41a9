package geo

import "math"

// Reach answers how near places are to some shapes. It is built once and queried for many places.
// It is immutable.
type Reach struct {
	areas index // of sides below
	sides []side
	lines index // lines, points and the boundaries of areas
	all   []side
}

// NewReach makes a Reach of all shapes together. It costs as much as sorting their positions.
func NewReach(shapes ...Shape) *Reach {
	r := &Reach{}
	for _, s := range shapes {
		r.sides = appendSides(r.sides, s.polygons, 1)
		r.all = append(r.all, s.sidesIn(box{-halfTurn, -quarterTurn, halfTurn, quarterTurn})...)
	}
	r.areas, r.lines = *indexed(r.sides), *indexed(r.all)
	return r
}

// Holds reports whether a place, longitude before latitude in degrees, lies in one of the areas.
// For a place on a boundary it may return either.
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

// Distance returns the distance in meters from a place to the nearest place of the shapes, and 0
// inside an area. If it is more than maxMetres, far is true. A line between two positions is straight on
// a map of longitude and latitude. Within 300 km the distance to it is accurate to 1 %.
func (r *Reach) Distance(lon, lat, maxMetres float64) (metres float64, far bool) {
	if r.Holds(lon, lat) {
		return 0, false
	}
	metres = math.Inf(1)
	for _, b := range (Box{lon, lat, lon, lat}).Widened(maxMetres) {
		_ = r.lines.search(unbounded(), box{toMicro(b.West), toMicro(b.South), toMicro(b.East), toMicro(b.North)}, func(i int) error {
			metres = min(metres, r.all[i].distance(lon, lat))
			return nil
		})
	}
	return metres, metres > maxMetres
}

// DistanceOf is Distance for a shape: the distance of its nearest place, and 0 if it has a place in
// common with one of the shapes.
func (r *Reach) DistanceOf(s Shape, maxMetres float64) (metres float64, far bool) {
	own := NewReach(s)
	metres = math.Inf(1)
	for _, o := range own.all { // for two separate shapes, the shortest distance starts at an end of a side
		for _, p := range []position{o.a, o.b} {
			lon, lat := degrees(p.x), degrees(p.y)
			if d, _ := r.Distance(lon, lat, min(maxMetres, metres)); d < metres {
				metres = d
			}
			if metres == 0 {
				return 0, false
			}
		}
	}
	for _, b := range BoundsOf(s).Widened(maxMetres) {
		_ = r.lines.search(unbounded(), box{toMicro(b.West), toMicro(b.South), toMicro(b.East), toMicro(b.North)}, func(i int) error {
			side := r.all[i]
			for _, p := range []position{side.a, side.b} {
				if d, _ := own.Distance(degrees(p.x), degrees(p.y), min(maxMetres, metres)); d < metres {
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
	return metres, metres > maxMetres
}

// Widened returns the box with all places at most that many meters from b, in parts that do not
// cross the antimeridian.
func (b Box) Widened(metres float64) []Box {
	wide := Box{South: Around(0, b.South, metres).South, North: Around(0, b.North, metres).North}
	farthest := b.North // farthest from the equator, where meridians are closest together
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

// distance returns how far a place is from the side, in meters.
func (s side) distance(lon, lat float64) float64 {
	// Use a plane that touches the sphere at the place. It is accurate for the short distances that
	// matter here.
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

// unbounded returns a budget for work whose cost is proportional to its input.
func unbounded() *work { return &work{left: math.MaxInt} }
