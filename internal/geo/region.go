package geo

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"
)

// This file joins, cuts and repairs areas. It is exact: all positions are whole numbers, and the
// results are valid.
//
// Areas are given by the directed sides of their rings. The winding number of a place is how often
// the rings go round it counterclockwise. If outer rings run counterclockwise and holes clockwise,
// it is the number of areas that contain the place. Sides are split where they meet, until they
// meet at their ends only. Then the winding number is known on both sides of each, and the boundary
// of any condition on it can be followed.

// maxRounds is how often sides are split again, since the points where they meet are rounded. Two
// rounds usually suffice.
const maxRounds = 20

// errIntricate reports that sides still meet after maxRounds.
var errIntricate = errors.New("too complex")

// side is a part of a boundary, from the smaller position a to b. Left of it the winding number is higher by weight.
type side struct {
	a, b   position
	weight int32
	fresh  bool // split has not compared it with others yet
}

// appendSides appends the sides of polygons with the given weight. Their rings may run either way.
func appendSides(to []side, polygons []polygon, weight int32) []side {
	for _, p := range polygons {
		for i, r := range p {
			w := weight
			if (doubleArea(r) > 0) != (i == 0) {
				w = -w
			}
			to = appendRing(to, r, w)
		}
	}
	return to
}

// appendRing appends the sides of r, in its direction, with the given weight.
func appendRing(to []side, r ring, weight int32) []side {
	for i, a := range r {
		to = append(to, newSide(a, r[(i+1)%len(r)], weight))
	}
	return to
}

func newSide(a, b position, weight int32) side {
	if comparePositions(a, b) > 0 {
		return side{b, a, -weight, true}
	}
	return side{a, b, weight, true}
}

// net returns sides sorted, with sides between the same positions combined, and without those whose
// weight is then 0. It reorders sides.
func net(sides []side) []side {
	slices.SortFunc(sides, func(s, t side) int {
		if s.a != t.a {
			return comparePositions(s.a, t.a)
		}
		return comparePositions(s.b, t.b)
	})
	out := sides[:0]
	for _, s := range sides {
		if s.a == s.b {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].a == s.a && out[last].b == s.b {
			out[last].weight += s.weight
			out[last].fresh = out[last].fresh && s.fresh
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].weight == 0 {
			out = out[:last]
		}
		out = append(out, s)
	}
	if last := len(out) - 1; last >= 0 && out[last].weight == 0 {
		out = out[:last]
	}
	return out
}

func indexed(sides []side) *index {
	return newIndex(len(sides), func(i int) box { return sides[i].box() })
}

func (s side) box() box {
	return box{s.a.x, min(s.a.y, s.b.y), s.b.x, max(s.a.y, s.b.y)}
}

// pairs calls f with the indices i < j of each pair of sides that may meet, until f returns false.
func pairs(w *work, sides []side, f func(i, j int) bool) error {
	if err := w.spend(len(sides) * stepsPerSide); err != nil {
		return err
	}
	tree := indexed(sides)
	for i := range sides {
		err := tree.search(w, sides[i].box(), func(j int) error {
			if i < j && !f(i, j) {
				return errEnough
			}
			return nil
		})
		if err == errEnough {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxNear is how many sides may be looked through without an index for each side, on average: that
// takes less time than to index it.
const maxNear = 64

// near does the same as pairs for sides in the order of net, with the pairs in another order, and
// without those of two sides that are not fresh. It looks through the sides that begin beside each
// side, to the east, unless they are many or of areas that may be invalid: which of those are too
// complex to repair does not depend on it, so there it compares all pairs.
func near(w *work, sides []side, f func(i, j int)) error {
	end, passed := make([]int, len(sides)), 0 // end is the first side that begins too far in the east
	var fresh []int
	for i, s := range sides {
		if s.fresh {
			fresh = append(fresh, i)
		}
		n := sort.Search(len(sides)-i, func(k int) bool { return sides[i+k].a.x > s.b.x })
		end[i] = i + n
		passed += n
	}
	if !w.valid || passed > maxNear*len(sides) {
		return pairs(w, sides, func(i, j int) bool {
			f(i, j)
			return true
		})
	}
	if err := w.spend(len(sides) * stepsPerSide); err != nil {
		return err
	}
	for i, s := range sides {
		low, high := min(s.a.y, s.b.y), max(s.a.y, s.b.y)
		look := func(j int) {
			if t := &sides[j]; min(t.a.y, t.b.y) <= high && low <= max(t.a.y, t.b.y) {
				f(i, j)
			}
		}
		if s.fresh {
			fresh = fresh[1:]
			for j := i + 1; j < end[i]; j++ {
				look(j)
			}
			continue
		}
		for _, j := range fresh {
			if j >= end[i] {
				break
			}
			look(j)
		}
	}
	return nil
}

// errEnough ends a search that has found a result.
var errEnough = errors.New("enough")

// crossing returns the rounded point where s and t cross, and whether they cross inside both.
func crossing(s, t side) (position, bool) {
	a, b := cross(s.a, s.b, t.a), cross(s.a, s.b, t.b)
	c, d := cross(t.a, t.b, s.a), cross(t.a, t.b, s.b)
	if a == 0 || b == 0 || c == 0 || d == 0 || (a > 0) == (b > 0) || (c > 0) == (d > 0) {
		return position{}, false
	}
	share := float64(c) / (float64(c) - float64(d))
	return position{
		s.a.x + int32(math.Round(share*(float64(s.b.x)-float64(s.a.x)))),
		s.a.y + int32(math.Round(share*(float64(s.b.y)-float64(s.a.y)))),
	}, true
}

// within reports whether p lies on s but at neither end.
func (s side) within(p position) bool {
	return p != s.a && p != s.b && s.a.x <= p.x && p.x <= s.b.x &&
		min(s.a.y, s.b.y) <= p.y && p.y <= max(s.a.y, s.b.y) && cross(s.a, s.b, p) == 0
}

// split returns the sides, combined as by net and split wherever they meet.
func split(w *work, sides []side) ([]side, error) {
	for range maxRounds {
		sides = net(sides)
		at := make(map[int][]position)
		err := near(w, sides, func(i, j int) {
			s, t := sides[i], sides[j]
			if p, ok := crossing(s, t); ok {
				w.cross()
				if p != s.a && p != s.b {
					at[i] = append(at[i], p)
				}
				if p != t.a && p != t.b {
					at[j] = append(at[j], p)
				}
				return
			}
			for _, p := range [...]position{s.a, s.b} {
				if t.within(p) {
					at[j] = append(at[j], p)
				}
			}
			for _, p := range [...]position{t.a, t.b} {
				if s.within(p) {
					at[i] = append(at[i], p)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		if len(at) == 0 {
			return sides, nil
		}
		next := make([]side, 0, len(sides)+2*len(at))
		for i, s := range sides {
			if len(at[i]) == 0 {
				s.fresh = false
				next = append(next, s)
				continue
			}
			from := s.a
			slices.SortFunc(at[i], func(p, q position) int {
				return cmp.Or(cmp.Compare(reach(s.a, p), reach(s.a, q)), comparePositions(p, q))
			})
			for _, p := range at[i] {
				next = append(next, newSide(from, p, s.weight))
				from = p
			}
			next = append(next, newSide(from, s.b, s.weight))
		}
		sides = next
	}
	return nil, errIntricate
}

// reach returns the distance from a to p along both axes. It grows along any side from a.
func reach(a, p position) int64 {
	dx, dy := int64(p.x)-int64(a.x), int64(p.y)-int64(a.y)
	return max(dx, -dx) + max(dy, -dy)
}

// region returns the area where inside is true for the winding number given by sides. The polygons
// it returns are valid together. It reorders sides.
func region(w *work, sides []side, inside func(winding int32) bool) ([]polygon, error) {
	sides, err := split(w, sides)
	if err != nil {
		return nil, err
	}
	if err := w.spend(len(sides) * stepsPerMeshSide); err != nil {
		return nil, err
	}
	m, err := newMesh(w, sides)
	if err != nil {
		return nil, err
	}
	return m.polygons(w, inside)
}

// mesh is a set of sides that meet at their ends only. Side i is stored as two half sides: 2i from
// a to b, 2i+1 from b to a.
type mesh struct {
	sides []side
	// around holds the half sides, ordered by start and then counterclockwise from the west. place
	// is the inverse.
	around, place []int
	// first and last bound the half sides in around that have the same start.
	first, last []int
	left        []int32 // winding number left of each half side
}

func (m *mesh) start(h int) position {
	if h%2 == 0 {
		return m.sides[h/2].a
	}
	return m.sides[h/2].b
}

func (m *mesh) end(h int) position { return m.start(h ^ 1) }

// rise returns by how much the winding number is higher left of h than right of it.
func (m *mesh) rise(h int) int32 {
	if h%2 == 0 {
		return m.sides[h/2].weight
	}
	return -m.sides[h/2].weight
}

func newMesh(w *work, sides []side) (*mesh, error) {
	n := 2 * len(sides)
	m := &mesh{
		sides: sides, around: make([]int, n), place: make([]int, n),
		first: make([]int, n), last: make([]int, n), left: make([]int32, n),
	}
	type half struct {
		start uint64 // rank
		h     int
	}
	halves := make([]half, n)
	for h := range halves {
		halves[h] = half{m.start(h).rank(), h}
	}
	slices.SortFunc(halves, func(g, h half) int { return cmp.Compare(g.start, h.start) })
	for i := 0; i < n; {
		j := i
		for ; j < n && halves[j].start == halves[i].start; j++ {
			m.around[j] = halves[j].h
		}
		group := m.around[i:j]
		slices.SortFunc(group, func(g, h int) int { return compareAngles(m.start(g), m.end(g), m.end(h)) })
		for k, h := range group {
			m.place[h], m.first[h], m.last[h] = i+k, i, j
		}
		i = j
	}
	return m, m.wind(w)
}

// compareAngles orders p and q counterclockwise around centre, from the west.
func compareAngles(centre, p, q position) int {
	upper := func(p position) int {
		if p.y < centre.y || p.y == centre.y && p.x < centre.x {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(upper(p), upper(q)), cmp.Compare(0, cross(centre, p, q)))
}

// beginWestOf returns how many sides begin west of x: they are the first.
func (m *mesh) beginWestOf(x int32) int {
	return sort.Search(len(m.sides), func(i int) bool { return m.sides[i].a.x >= x })
}

// wind finds the winding number left of each half side.
func (m *mesh) wind(w *work) error {
	known := make([]bool, len(m.around))
	var queue []int
	// turn sets the numbers around the start of h, given the one right of h.
	turn := func(h int, right int32) {
		for i := m.first[h]; i < m.place[h]; i++ {
			right -= m.rise(m.around[i])
		}
		for i := m.first[h]; i < m.last[h]; i++ {
			g := m.around[i]
			right += m.rise(g)
			m.left[g], known[g] = right, true
			queue = append(queue, g)
		}
	}
	var tree *index
	passed := 0 // sides that were looked through without it
	for i := 0; i < len(m.around); i++ {
		h := m.around[i]
		if known[h] {
			continue
		}
		// No side connected to h reaches farther west, or as far west and lower. So the winding
		// number just west of its start follows from the sides below that point.
		p := m.start(h)
		var below int32
		count := func(s side) {
			if s.a.x < p.x && p.x <= s.b.x && cross(s.a, s.b, p) > 0 {
				below += s.weight
			}
		}
		if west := m.beginWestOf(p.x); w.valid && passed+west <= maxNear*len(m.sides) {
			passed += west
			for _, s := range m.sides[:west] {
				count(s)
			}
		} else {
			if tree == nil {
				tree = indexed(m.sides)
			}
			if err := tree.search(w, box{p.x, math.MinInt32, p.x, p.y}, func(j int) error {
				count(m.sides[j])
				return nil
			}); err != nil {
				return err
			}
		}
		turn(h, below)
		for len(queue) > 0 {
			g := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			if !known[g^1] {
				turn(g^1, m.left[g])
			}
		}
	}
	return nil
}

// polygons returns the area where inside is true.
func (m *mesh) polygons(w *work, inside func(winding int32) bool) ([]polygon, error) {
	boundary := make([]bool, len(m.around)) // half-edges with the area only on their left
	for h := range boundary {
		boundary[h] = inside(m.left[h]) && !inside(m.left[h^1])
	}
	var polygons []polygon
	var holes []ring
	for _, h := range m.around {
		if !boundary[h] {
			continue
		}
		// Follow the boundary of one piece of the area, and always take the turn that keeps the
		// most area.
		var path ring
		for g := h; boundary[g]; {
			boundary[g] = false
			path = append(path, m.start(g))
			back := m.place[g^1]
			g = m.around[back]
			for next := back; ; {
				if next--; next < m.first[g] {
					next = m.last[g] - 1
				}
				if c := m.around[next]; inside(m.left[c]) && !inside(m.left[c^1]) {
					g = c
					break
				}
			}
		}
		// Where the path touches itself, it consists of an outer ring and holes, or of holes only.
		var outer polygon
		var inner []ring
		for _, r := range loops(path) {
			if doubleArea(r) > 0 {
				outer = append(outer, r)
			} else {
				inner = append(inner, r)
			}
		}
		if outer == nil {
			holes = append(holes, inner...)
			continue
		}
		polygons = append(polygons, append(outer, inner...))
	}
	for _, hole := range holes {
		// The midpoint of a side, times two: it lies on no other ring.
		middle := position{hole[0].x + hole[1].x, hole[0].y + hole[1].y}
		parent := -1
		for i, p := range polygons {
			if err := w.spend(1 + len(p[0])/4); err != nil {
				return nil, err
			}
			if encloses(p[0], middle) && (parent < 0 || doubleArea(p[0]) < doubleArea(polygons[parent][0])) {
				parent = i
			}
		}
		if parent >= 0 {
			polygons[parent] = append(polygons[parent], hole)
		}
	}
	return polygons, nil
}

// loops splits a closed path into rings that do not touch themselves.
func loops(path ring) []ring {
	var rings []ring
	var open ring
	at := make(map[position]int, len(path))
	for _, p := range closed(path) {
		i, ok := at[p]
		if !ok {
			at[p] = len(open)
			open = append(open, p)
			continue
		}
		rings = append(rings, slices.Clone(open[i:]))
		for _, q := range open[i+1:] {
			delete(at, q)
		}
		open = open[:i+1]
	}
	return rings
}

// encloses reports whether the point at half of twice lies in r. It must not lie on r.
func encloses(r ring, twice position) bool {
	inside := false
	for i, a := range r {
		b := r[(i+1)%len(r)]
		a, b := position{2 * a.x, 2 * a.y}, position{2 * b.x, 2 * b.y}
		if (a.y > twice.y) != (b.y > twice.y) && (cross(a, b, twice) > 0) == (b.y > a.y) {
			inside = !inside
		}
	}
	return inside
}

func covered(winding int32) bool { return winding > 0 }

// union returns the area that polygons, each of them valid, cover together.
func union(w *work, polygons []polygon) ([]polygon, error) {
	return region(w, appendSides(nil, polygons, 1), covered)
}

// difference returns the area of polygons without the area of holes.
func difference(w *work, polygons, holes []polygon) ([]polygon, error) {
	if len(holes) == 0 {
		return polygons, nil
	}
	holes, err := union(w, holes)
	if err != nil {
		return nil, err
	}
	if polygons, err = union(w, polygons); err != nil {
		return nil, err
	}
	return region(w, appendSides(appendSides(nil, polygons, 1), holes, -1), covered)
}

// mended returns the area of a polygon that may be invalid. A place belongs to it if the outer ring
// goes round it and no hole does.
func mended(w *work, p polygon) ([]polygon, error) {
	nonzero := func(winding int32) bool { return winding != 0 }
	outer, err := region(w, appendRing(nil, p[0], 1), nonzero)
	if err != nil {
		return nil, err
	}
	var holes []polygon
	for _, r := range p[1:] {
		hole, err := region(w, appendRing(nil, r, 1), nonzero)
		if err != nil {
			return nil, err
		}
		holes = append(holes, hole...)
	}
	return difference(w, outer, holes)
}

// clipped returns the part of p between two longitudes. p must be valid.
func clipped(w *work, p polygon, west, east int32) ([]polygon, error) {
	const beyond = quarterTurn + 1
	band := polygon{{{west, -beyond}, {east, -beyond}, {east, beyond}, {west, beyond}}}
	sides := appendSides(appendSides(nil, []polygon{p}, 1), []polygon{band}, 1)
	return region(w, sides, func(winding int32) bool { return winding > 1 })
}
