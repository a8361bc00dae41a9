package geo

import (
	"cmp"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// earthRadius is the mean radius of the WGS 84 ellipsoid in meters.
const earthRadius = 6_371_008.8

// Distance returns the shortest distance in meters on a sphere between two places, each longitude
// before latitude in degrees. The error of the sphere is at most 0.6 %.
func Distance(lon1, lat1, lon2, lat2 float64) float64 {
	sinLat := math.Sin(radians(lat2-lat1) / 2)
	sinLon := math.Sin(radians(lon2-lon1) / 2)
	h := sinLat*sinLat + math.Cos(radians(lat1))*math.Cos(radians(lat2))*sinLon*sinLon
	return 2 * earthRadius * math.Asin(min(1, math.Sqrt(h)))
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// Bounds returns the narrowest box that contains s, in degrees. If it crosses the antimeridian,
// west is greater than east. The bounds of the zero Shape are NaN.
func (s Shape) Bounds() (west, south, east, north float64) {
	if s.IsZero() {
		nan := math.NaN()
		return nan, nan, nan, nan
	}
	boxWest, lowest, boxEast, highest := s.bounds()
	if boxWest > boxEast { // the antimeridian itself has two longitudes
		if boxWest == halfTurn {
			boxWest = -halfTurn
		}
		if boxEast == -halfTurn {
			boxEast = halfTurn
		}
	}
	return degrees(boxWest), degrees(lowest), degrees(boxEast), degrees(highest)
}

// bounds is Bounds of a nonzero Shape, in the unit of positions. The antimeridian keeps the
// longitude that the positions have.
func (s Shape) bounds() (west, south, east, north int32) {
	type interval struct{ west, east int32 }
	var intervals []interval
	lowest, highest := int32(quarterTurn), int32(-quarterTurn)
	add := func(ps []position) {
		w, e := span(ps)
		intervals = append(intervals, interval{w, e})
		for _, p := range ps {
			lowest, highest = min(lowest, p.y), max(highest, p.y)
		}
	}
	for _, p := range s.polygons {
		add(p[0])
	}
	for _, l := range s.lines {
		add(l)
	}
	for i := range s.points {
		add(s.points[i : i+1])
	}
	slices.SortFunc(intervals, func(a, b interval) int { return cmp.Compare(a.west, b.west) })
	// The box is the world without the widest gap between intervals. Start with the gap across the
	// antimeridian.
	w, e := intervals[0].west, intervals[0].east
	for _, v := range intervals {
		e = max(e, v.east)
	}
	widest := w + fullTurn - e
	boxWest, boxEast := w, e
	reached := intervals[0].east
	for _, v := range intervals[1:] {
		if gap := v.west - reached; gap > widest {
			widest, boxWest, boxEast = gap, v.west, reached
		}
		reached = max(reached, v.east)
	}
	return boxWest, lowest, boxEast, highest
}

// AreaKm2 returns the area of s in square kilometers on a sphere. Its sides are straight on a map
// of longitude and latitude, as in RFC 7946. The area of lines and points is 0.
func (s Shape) AreaKm2() float64 {
	area := 0.0
	for _, p := range s.polygons {
		area += sphericalArea(p)
	}
	return area * earthRadius * earthRadius / 1e6
}

// sphericalArea returns the area of p on the sphere of radius one.
func sphericalArea(p polygon) float64 {
	area := 0.0
	for _, r := range p { // holes run the other way and count as negative
		for i, a := range r {
			b := r[(i+1)%len(r)]
			lat1, lat2 := radians(degrees(a.y)), radians(degrees(b.y))
			height := math.Sin((lat1 + lat2) / 2) // the mean of the sine along the side
			if d := (lat2 - lat1) / 2; math.Abs(d) > 1e-9 {
				height *= math.Sin(d) / d
			}
			area -= radians(degrees(b.x)-degrees(a.x)) * height
		}
	}
	return area
}

// Point returns a representative place of s. For areas it is their centroid if it lies in one of
// them, or else a place inside the largest. For lines it is the middle of the longest, for points
// the one nearest to their middle. Parts on both sides of the antimeridian are joined for this. If
// s has areas, only they count, or else only its lines. The point of the zero Shape is NaN.
func (s Shape) Point() (lon, lat float64) {
	if s.IsZero() {
		return math.NaN(), math.NaN()
	}
	p := inTurn(s.together().point())
	if west, _, east, _ := s.Bounds(); west <= east && (p.x == halfTurn && east < 180 || p.x == -halfTurn && west > -180) {
		p.x = -p.x // use the longitude of the antimeridian that the bounds have
	}
	return degrees(p.x), degrees(p.y)
}

// together returns s in one piece: parts west of its bounds are moved a turn to the east.
func (s Shape) together() Shape {
	west, _, east, _ := s.Bounds()
	if west <= east {
		return s
	}
	start := toMicro(west)
	move := func(ps []position) []position {
		if w, _ := span(ps); w >= start {
			return ps
		}
		return shifted(ps, fullTurn)
	}
	var t Shape
	for _, p := range s.polygons {
		moved := polygon{move(p[0])}
		for _, hole := range p[1:] {
			moved = append(moved, shifted(hole, moved[0][0].x-p[0][0].x))
		}
		t.polygons = append(t.polygons, moved)
	}
	for _, l := range s.lines {
		t.lines = append(t.lines, move(l))
	}
	for i := range s.points {
		t.points = append(t.points, move(s.points[i:i+1])...)
	}
	return t
}

// point returns the representative point of s, which may lie east of 180 degrees.
func (s Shape) point() position {
	switch {
	case len(s.polygons) > 0:
		return areaPoint(s.polygons)
	case len(s.lines) > 0:
		longest, length := s.lines[0], 0.0
		for _, l := range s.lines {
			if n := libLine(l, millionths).Length(); n > length {
				longest, length = l, n
			}
		}
		xy, _ := libLine(longest, millionths).InterpolatePoint(0.5).XY()
		return position{int32(math.Round(xy.X)), int32(math.Round(xy.Y))}
	}
	var x, y float64
	for _, p := range s.points {
		x, y = x+float64(p.x), y+float64(p.y)
	}
	n := float64(len(s.points))
	return slices.MinFunc(s.points, func(a, b position) int {
		far := func(p position) float64 { return math.Hypot(float64(p.x)-x/n, float64(p.y)-y/n) }
		return cmp.Compare(far(a), far(b))
	})
}

func areaPoint(polygons []polygon) position {
	if p, ok := rounded(libMultiPolygon(polygons, millionths).Centroid()); ok {
		for _, pg := range polygons {
			if pg.covers(p) {
				return p
			}
		}
	}
	largest, most := polygons[0], sphericalArea(polygons[0])
	for _, pg := range polygons[1:] {
		if area := sphericalArea(pg); cmp.Less(most, area) {
			largest, most = pg, area
		}
	}
	if p, ok := rounded(libPolygon(largest, millionths).PointOnSurface()); ok && largest.covers(p) {
		return p
	}
	return largest[0][0]
}

// rounded returns the position of a point, if it is not empty.
func rounded(p geom.Point) (position, bool) {
	xy, ok := p.XY()
	return position{int32(math.Round(xy.X)), int32(math.Round(xy.Y))}, ok
}
