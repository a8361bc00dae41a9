package geo

import "slices"

// cross returns the cross product of ab and ac: positive where c lies left of the line from a to b.
// It is exact.
func cross(a, b, c position) int64 {
	abx, aby := int64(b.x)-int64(a.x), int64(b.y)-int64(a.y)
	acx, acy := int64(c.x)-int64(a.x), int64(c.y)-int64(a.y)
	return abx*acy - aby*acx
}

// doubleArea returns twice the area of r in square millionths of a degree, negative if r runs
// clockwise. It is exact for a ring that does not touch itself: intermediate sums may overflow, but
// the last one does not.
func doubleArea(r ring) int64 {
	var sum int64
	for i := 1; i+1 < len(r); i++ {
		sum += cross(r[0], r[i], r[i+1])
	}
	return sum
}

// compact returns r without repeated neighboring positions.
func compact(r ring) ring {
	r = slices.Compact(r)
	for len(r) > 1 && r[0] == r[len(r)-1] {
		r = r[:len(r)-1]
	}
	return r
}

// span returns the westernmost and the easternmost longitude of l.
func span(l []position) (west, east int32) {
	west, east = l[0].x, l[0].x
	for _, p := range l {
		west, east = min(west, p.x), max(east, p.x)
	}
	return west, east
}

// shifted returns l moved to the east.
func shifted(l []position, by int32) []position {
	if by == 0 {
		return l
	}
	moved := make([]position, len(l))
	for i, p := range l {
		moved[i] = position{p.x + by, p.y}
	}
	return moved
}

// collinear reports whether all of r lies on one line.
func collinear(r ring) bool {
	for i := 2; i < len(r); i++ {
		if cross(r[0], r[1], r[i]) != 0 {
			return false
		}
	}
	return true
}

// selfTouch returns where r touches itself, as the starts of two sides. r must not repeat a
// position next to it.
func selfTouch(w *work, r ring) (at [2]position, meets bool, err error) {
	seen := make(map[position]bool, len(r))
	for _, p := range r {
		if seen[p] {
			return [2]position{p, p}, true, nil
		}
		seen[p] = true
	}
	sides := appendRing(nil, r, 1)
	err = pairs(w, sides, func(i, j int) bool {
		s, t := sides[i], sides[j]
		_, crosses := crossing(s, t)
		if crosses || s.within(t.a) || s.within(t.b) || t.within(s.a) || t.within(s.b) {
			at, meets = [2]position{r[i], r[j]}, true
		}
		return !meets
	})
	return at, meets, err
}

// covers reports whether p lies in the polygon or on its boundary.
func (pg polygon) covers(p position) bool {
	inside := false
	for _, r := range pg {
		for i, a := range r {
			b := r[(i+1)%len(r)]
			if p == a || newSide(a, b, 1).within(p) {
				return true
			}
			if (a.y > p.y) != (b.y > p.y) && (cross(a, b, p) > 0) == (b.y > a.y) {
				inside = !inside
			}
		}
	}
	return inside
}
