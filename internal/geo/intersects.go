package geo

// Intersects reports whether a and b have a place in common; boundaries count. The two sides of the
// antimeridian are not the same place. If the check needs more than requestSteps, it returns true,
// so that a search finds too much rather than too little.
//
// It is exact about the positions. A library was 100 times as slow for an area of 10,000 positions
// and a circle, because it copied and indexed both completely, and had no limit.
func Intersects(a, b Shape) bool {
	meet, err := intersect(requestWork(), a, b)
	return meet || err != nil
}

// SurelyIntersects is Intersects, but returns false for shapes whose check needs too much work. So
// a search for hazards that do not meet a place also finds too much rather than too little.
func SurelyIntersects(a, b Shape) bool {
	meet, err := intersect(requestWork(), a, b)
	return meet && err == nil
}

// stepsOfPositions is how many positions count as one step when only their location is checked.
const stepsOfPositions = 8

func intersect(w *work, a, b Shape) (bool, error) {
	if a.IsZero() || b.IsZero() {
		return false, nil
	}
	if err := w.spend((a.positions() + b.positions()) / stepsOfPositions); err != nil {
		return false, err
	}
	boxA, boxB := a.box(), b.box()
	if !boxA.meets(boxB) {
		return false, nil
	}
	common := box{max(boxA.minX, boxB.minX), max(boxA.minY, boxB.minY), min(boxA.maxX, boxB.maxX), min(boxA.maxY, boxB.maxY)}
	// If they intersect, a part of one begins in the other, or their boundaries, lines and points
	// meet.
	if inside, err := anyInside(w, a.startsIn(common), b.polygons); inside || err != nil {
		return inside, err
	}
	if inside, err := anyInside(w, b.startsIn(common), a.polygons); inside || err != nil {
		return inside, err
	}
	return sidesMeet(w, a.sidesIn(common), b.sidesIn(common))
}

// box returns the box around s on a map that ends at the antimeridian. s is not zero.
func (s Shape) box() box {
	all := box{halfTurn, quarterTurn, -halfTurn, -quarterTurn}
	for _, p := range s.polygons {
		all = all.with(boxOf(p[0]))
	}
	for _, l := range s.lines {
		all = all.with(boxOf(l))
	}
	for _, p := range s.points {
		all = all.with(box{p.x, p.y, p.x, p.y})
	}
	return all
}

// sidesIn returns the sides of areas, the parts of lines, and the points of s that may lie in b. A
// point is a side of length 0.
func (s Shape) sidesIn(b box) []side {
	var sides []side
	add := func(from, to position) {
		// This comparison comes before ordering, because most of a large shape is left out.
		if max(from.x, to.x) >= b.minX && min(from.x, to.x) <= b.maxX && max(from.y, to.y) >= b.minY && min(from.y, to.y) <= b.maxY {
			sides = append(sides, newSide(from, to, 1))
		}
	}
	for _, p := range s.polygons {
		for _, r := range p {
			last := r[len(r)-1]
			for _, next := range r {
				add(last, next)
				last = next
			}
		}
	}
	for _, l := range s.lines {
		for i := range l[1:] {
			add(l[i], l[i+1])
		}
	}
	for _, p := range s.points {
		add(p, p)
	}
	return sides
}

// startsIn returns one position in b, the first, of each part of s that has one. The parts are
// outer rings, lines and points.
func (s Shape) startsIn(b box) []position {
	var starts []position
	add := func(p position) {
		if b.meets(box{p.x, p.y, p.x, p.y}) {
			starts = append(starts, p)
		}
	}
	for _, p := range s.polygons {
		add(p[0][0])
	}
	for _, l := range s.lines {
		add(l[0])
	}
	for _, p := range s.points {
		add(p)
	}
	return starts
}

// few is the number of items up to which each is compared with all others, because an index would
// cost more.
const few = 8

// sidesMeet reports whether one of the sides has a place in common with one of the others.
func sidesMeet(w *work, sides, others []side) (bool, error) {
	if len(sides) > len(others) {
		sides, others = others, sides
	}
	if len(sides) <= few {
		if err := w.spend(len(sides) * len(others)); err != nil {
			return false, err
		}
		for _, s := range sides {
			for _, t := range others {
				if s.meets(t) {
					return true, nil
				}
			}
		}
		return false, nil
	}
	if err := w.spend(len(sides) * stepsPerSide); err != nil {
		return false, err
	}
	tree := indexed(sides)
	for _, t := range others {
		err := tree.search(w, t.box(), func(i int) error {
			if sides[i].meets(t) {
				return errEnough
			}
			return nil
		})
		if err == errEnough {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// meets reports whether s and t have a place in common, including their ends. Either may be a
// point.
func (s side) meets(t side) bool {
	if !s.box().meets(t.box()) {
		return false
	}
	apart := func(s, t side) bool { // reports whether t lies on one side of the line through s
		a, b := cross(s.a, s.b, t.a), cross(s.a, s.b, t.b)
		return a > 0 && b > 0 || a < 0 && b < 0
	}
	return !apart(s, t) && !apart(t, s)
}

// anyInside reports whether one of the places lies in one of the polygons, which may overlap. For a
// place on a boundary it may return either.
func anyInside(w *work, places []position, polygons []polygon) (bool, error) {
	if len(places) == 0 || len(polygons) == 0 {
		return false, nil
	}
	sides := appendSides(nil, polygons, 1)
	// The winding number of a place is the sum over the sides below it.
	below := func(s side, p position) int32 {
		if s.a.x <= p.x && p.x < s.b.x && cross(s.a, s.b, p) > 0 {
			return s.weight
		}
		return 0
	}
	if err := w.spend(len(sides)); err != nil {
		return false, err
	}
	if len(places) <= few {
		for _, p := range places {
			var winding int32
			for _, s := range sides {
				winding += below(s, p)
			}
			if winding > 0 {
				return true, nil
			}
		}
		return false, nil
	}
	if err := w.spend(len(sides) * stepsPerSide); err != nil {
		return false, err
	}
	tree := indexed(sides)
	for _, p := range places {
		var winding int32
		err := tree.search(w, box{p.x, -quarterTurn, p.x, p.y}, func(i int) error {
			winding += below(sides[i], p)
			return nil
		})
		if err != nil {
			return false, err
		}
		if winding > 0 {
			return true, nil
		}
	}
	return false, nil
}
