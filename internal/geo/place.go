package geo

import (
	"math"
	"slices"
)

// Place returns the point at a longitude and a latitude in degrees. It returns the zero Shape if
// they are out of range.
func Place(lon, lat float64) Shape {
	p, err := (&reader{}).check(xy{lon, lat})
	if err != nil {
		return Shape{}
	}
	return Shape{points: []position{p}}
}

// A Box is a part of the world between two meridians and two parallels, in degrees. If west is
// greater than east, it crosses the antimeridian. It includes its borders.
type Box struct{ West, South, East, North float64 }

// Shape returns the box as an area, or as a line or a point if it has no width or no height. It
// returns the zero Shape for an invalid box.
func (b Box) Shape() Shape {
	sw, errSW := (&reader{}).check(xy{b.West, b.South})
	ne, errNE := (&reader{}).check(xy{b.East, b.North})
	if errSW != nil || errNE != nil || sw.y > ne.y {
		return Shape{}
	}
	if sw.x <= ne.x {
		return canonical(rectangle(sw, ne))
	}
	s := rectangle(sw, position{halfTurn, ne.y})
	t := rectangle(position{-halfTurn, sw.y}, ne)
	s.polygons, s.lines, s.points = append(s.polygons, t.polygons...), append(s.lines, t.lines...), append(s.points, t.points...)
	return canonical(s)
}

// BothSides returns b. If b ends at the antimeridian, the result also contains the antimeridian
// under its other longitude: a box from 170 to 180 then contains places at -180.
func (b Box) BothSides() Box {
	if b.West == -180 && b.East < 180 {
		b.West = 180
	}
	if b.East == 180 && b.West > -180 {
		b.East = -180
	}
	return b
}

// BothSides returns s. If s touches the antimeridian, the result also contains the same places
// under their other longitude.
func (s Shape) BothSides() Shape {
	all := Shape{polygons: s.polygons, lines: slices.Clone(s.lines), points: slices.Clone(s.points), apart: s.apart, coarse: s.coarse}
	mirrored := func(p position) (position, bool) { return position{-p.x, p.y}, p.x == halfTurn || p.x == -halfTurn }
	along := func(a, b position) { // a and b are the ends of the side of an area, or of a part of a line
		a, okA := mirrored(a)
		b, okB := mirrored(b)
		switch {
		case okA && okB && a.x == b.x && a.y != b.y:
			all.lines = append(all.lines, []position{a, b})
		case okA:
			all.points = append(all.points, a)
		}
	}
	for _, p := range s.polygons {
		for _, r := range p {
			for i, a := range r {
				along(a, r[(i+1)%len(r)])
			}
		}
	}
	for _, l := range s.lines {
		for i := range l {
			along(l[i], l[min(i+1, len(l)-1)])
		}
	}
	for _, p := range s.points {
		along(p, p)
	}
	return canonical(all)
}

func rectangle(sw, ne position) Shape {
	switch {
	case sw == ne:
		return Shape{points: []position{sw}}
	case sw.x == ne.x || sw.y == ne.y:
		return Shape{lines: [][]position{{sw, ne}}}
	}
	return Shape{polygons: []polygon{{{sw, {ne.x, sw.y}, ne, {sw.x, ne.y}}}}}
}

// Around returns a box with all places at most radiusMetres from the place, as measured by
// Distance, and also the area of Circle. It is the narrowest such box, except for a margin of a few
// meters.
func Around(lon, lat, radiusMetres float64) Box {
	const margin = 1e-5 // degrees, for rounding of positions and of the calculations here
	angle := radiusMetres / earthRadius * 180 / math.Pi
	b := Box{-180, max(-90, lat-angle-margin), 180, min(90, lat+angle+margin)}
	if b.South == -90 || b.North == 90 {
		return b // it contains a pole, or nearly does
	}
	width := math.Asin(min(1, math.Sin(radians(angle))/math.Cos(radians(lat))))*180/math.Pi*(1+margin) + margin
	b.West, b.East = lon-width, lon+width
	if b.West < -180 {
		b.West += 360
	}
	if b.East > 180 {
		b.East -= 360
	}
	return b
}

// BoundsOf returns the narrowest box that contains all shapes. It also handles places on the
// antimeridian that are given with the longitude of the other side, which Bounds does not. Its
// numbers are NaN without a shape.
func BoundsOf(shapes ...Shape) Box {
	var all Shape
	for _, s := range shapes {
		all.polygons, all.lines, all.points = append(all.polygons, s.polygons...), append(all.lines, s.lines...), append(all.points, s.points...)
	}
	if all.IsZero() {
		nan := math.NaN()
		return Box{nan, nan, nan, nan}
	}
	w, s, e, n := all.bounds()
	return Box{degrees(w), degrees(s), degrees(e), degrees(n)}
}

// Overlaps reports whether b and o have a place in common. The two sides of the antimeridian do not
// count as the same place.
func (b Box) Overlaps(o Box) bool {
	return b.South <= o.North && o.South <= b.North && b.meets(o)
}

// meets is Overlaps for the longitudes alone.
func (b Box) meets(o Box) bool {
	switch {
	case b.West <= b.East && o.West <= o.East:
		return b.West <= o.East && o.West <= b.East
	case b.West <= b.East:
		return b.East >= o.West || b.West <= o.East
	case o.West <= o.East:
		return o.East >= b.West || o.West <= b.East
	}
	return b.West > b.East && o.West > o.East // both contain the antimeridian; an invalid box meets nothing
}

// Contains reports whether a place lies in b.
func (b Box) Contains(lon, lat float64) bool { return b.Holds(Box{lon, lat, lon, lat}) }

// Holds reports whether all of o lies in b.
func (b Box) Holds(o Box) bool {
	if !(b.South <= o.South && o.North <= b.North) {
		return false
	}
	switch {
	case b.West <= b.East && o.West <= o.East:
		return b.West <= o.West && o.East <= b.East
	case b.West <= b.East:
		return b.West == -180 && b.East == 180
	case o.West <= o.East:
		return o.West >= b.West || o.East <= b.East
	}
	return o.West >= b.West && o.East <= b.East
}

// Wrap returns a longitude between -180 and 180 degrees. lon may be beyond by at most one turn: a
// place just beyond the antimeridian is on its other side.
func Wrap(lon float64) float64 {
	switch {
	case lon > 180:
		return lon - 360
	case lon < -180:
		return lon + 360
	}
	return lon
}
