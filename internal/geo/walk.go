package geo

import "slices"

// Position is a place in degrees, longitude before latitude, as GeoJSON writes it.
type Position [2]float64

// Polygons returns the areas of s: for each its outer ring, counterclockwise, and then its holes,
// clockwise. The last position of a ring repeats its first.
func (s Shape) Polygons() [][][]Position {
	all := make([][][]Position, len(s.polygons))
	for i, p := range s.polygons {
		for _, r := range p {
			all[i] = append(all[i], inDegrees(closed(r)))
		}
	}
	return all
}

// Lines returns the lines of s.
func (s Shape) Lines() [][]Position {
	all := make([][]Position, len(s.lines))
	for i, l := range s.lines {
		all[i] = inDegrees(l)
	}
	return all
}

// Points returns the points of s.
func (s Shape) Points() []Position { return inDegrees(s.points) }

func inDegrees(ps []position) []Position {
	all := make([]Position, len(ps))
	for i, p := range ps {
		all[i] = Position{degrees(p.x), degrees(p.y)}
	}
	return all
}

// WithoutHoles returns the same area in polygons without holes, for formats without holes. A
// polygon with holes is cut along meridians through them. Where a cut meets a side, the point is
// rounded as all positions are. A hole is filled if it is too narrow to cut (a millionth of a
// degree) or cannot be cut, so no place of s is lost. The polygons touch along the cuts and are not
// joined again.
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

// opened returns p in polygons without holes. It halves p along a meridian through the middle one
// of its holes, and then halves the parts. So each side is visited only as often as the number of
// holes can be halved.
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
			if len(part) >= len(p) { // rounding has created a hole
				part = part[:1]
			}
			pieces = append(pieces, opened(w, part)...)
		}
	}
	return pieces
}
