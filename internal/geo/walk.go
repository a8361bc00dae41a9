package geo

import "slices"

// Position is a place in degrees, longitude before latitude, as GeoJSON writes it.
type Position [2]float64

// Polygons are the areas of s: of each its outer ring, counterclockwise, and then its holes, clockwise. The last position of a
// ring is its first again.
func (s Shape) Polygons() [][][]Position {
	all := make([][][]Position, len(s.polygons))
	for i, p := range s.polygons {
		for _, r := range p {
			all[i] = append(all[i], inDegrees(closed(r)))
		}
	}
	return all
}

// Lines are the lines of s.
func (s Shape) Lines() [][]Position {
	all := make([][]Position, len(s.lines))
	for i, l := range s.lines {
		all[i] = inDegrees(l)
	}
	return all
}

// Points are the points of s.
func (s Shape) Points() []Position { return inDegrees(s.points) }

func inDegrees(ps []position) []Position {
	all := make([]Position, len(ps))
	for i, p := range ps {
		all[i] = Position{degrees(p.x), degrees(p.y)}
	}
	return all
}

// WithoutHoles is the same area in polygons without holes: a polygon that has some is cut along meridians through them, for
// formats that know outlines alone. Where a cut meets a side it is rounded as all positions are. A hole too narrow to be cut
// (a millionth of a degree), or that cannot be, is filled: no place of s is lost. The polygons touch along the cuts and are
// apart: they are not joined again.
func (s Shape) WithoutHoles() Shape {
	if !slices.ContainsFunc(s.polygons, func(p polygon) bool { return len(p) > 1 }) {
		return s
	}
	open := s
	open.polygons, open.apart = nil, true
	w := looseWork(s.positions())
	for _, p := range s.polygons {
		open.polygons = append(open.polygons, opened(w, p)...)
	}
	return canonical(open)
}

// opened is p in polygons without holes. It halves p along a meridian through the middle one of its holes, and then the halves, so
// that a side is looked at only as often as holes can be halved.
func opened(w *work, p polygon) []polygon {
	if len(p) == 1 {
		return []polygon{p}
	}
	var through []int32
	for _, hole := range p[1:] {
		if west, east := span(hole); east-west > 1 {
			through = append(through, west+(east-west)/2)
		}
	}
	if len(through) == 0 {
		return []polygon{p[:1]}
	}
	slices.Sort(through)
	x := through[len(through)/2]
	west, east := span(p[0])
	var pieces []polygon
	for _, half := range [][2]int32{{west, x}, {x, east}} {
		parts, err := clipped(w, p, half[0], half[1])
		if err != nil {
			return []polygon{p[:1]}
		}
		for _, part := range parts {
			if len(part) >= len(p) { // rounding has made a hole where there was none
				part = part[:1]
			}
			pieces = append(pieces, opened(w, part)...)
		}
	}
	return pieces
}
