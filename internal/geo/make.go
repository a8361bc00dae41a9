package geo

import (
	"math"
	"strings"
)

// maxRadius is the maximum radius of a circle in meters: just under a quarter of the way round the
// world, so that no circle contains both poles.
const maxRadius = 10_000_000

// circleSides is the number of sides. With it, the area of a circle is too small by 0.2 %.
const circleSides = 64

// Circle returns the area around a place as a polygon of 64 sides. The place is longitude before
// latitude in degrees. The radius is in meters, at most 10,000 km; if it is less than the unit of
// positions, the result is the point. Circle returns the zero Shape for an invalid place or radius.
func Circle(lon, lat, radiusMetres float64) Shape {
	centre, err := (&reader{}).check(xy{lon, lat})
	if err != nil || !(radiusMetres >= 0) {
		return Shape{}
	}
	point := Shape{points: []position{centre}}
	angle := min(radiusMetres, maxRadius) / earthRadius
	sinLat, cosLat := math.Sincos(radians(lat))
	var r ring
	for i := range circleSides {
		sinBearing, cosBearing := math.Sincos(-2 * math.Pi * float64(i) / circleSides)
		y := math.Asin(max(-1, min(1, sinLat*math.Cos(angle)+cosLat*math.Sin(angle)*cosBearing)))
		x := math.Atan2(sinBearing*math.Sin(angle), cosLat*math.Cos(angle)-sinLat*math.Sin(angle)*cosBearing)
		x = math.Remainder(lon+x*180/math.Pi, 360)
		r = append(r, position{toMicro(x), toMicro(y * 180 / math.Pi)})
	}
	if r = compact(r); len(r) < 3 {
		return point
	}
	side := northPole
	if lat < 0 {
		side = southPole
	}
	w := requestWork()
	flat, err := laid(w, polygon{r}, side)
	if err != nil {
		return point
	}
	polygons, err := valid(w, flat)
	if err != nil { // so small that rounding has distorted it
		polygons = inWorld(w, hull(flat.polygon[0])).polygons
	}
	if len(polygons) == 0 {
		return point
	}
	all, err := joined(w, polygons)
	if err != nil {
		return point
	}
	return all
}

// ParseBBox reads a box that a user wrote: west,south,east,north in degrees. If west is greater
// than east, the box crosses the antimeridian. It accepts only four numbers in range, and rejects a
// south above the north.
func ParseBBox(s string) (west, south, east, north float64, err error) {
	names := []string{"west", "south", "east", "north"}
	fields := strings.Split(s, ",")
	if len(fields) != len(names) {
		return 0, 0, 0, 0, faultf("%d fields, expected west,south,east,north in degrees", len(fields))
	}
	var v [4]float64
	for i, name := range names {
		n, ok := parseNumber(strings.Trim(fields[i], " "))
		if !ok {
			return 0, 0, 0, 0, faultf("%s: %.30q is not a number of degrees", name, fields[i])
		}
		limit := 180.0
		if i%2 == 1 {
			limit = 90
		}
		if n < -limit || n > limit {
			return 0, 0, 0, 0, faultf("%s: %v is outside -%v to %v", name, n, limit, limit)
		}
		v[i] = n + 0 // avoid negative zero
	}
	if v[1] > v[3] {
		return 0, 0, 0, 0, faultf("south %v is above north %v", v[1], v[3])
	}
	return v[0], v[1], v[2], v[3], nil
}
