// Package geo handles the geometry of hazards: it reads geometry of users and feeds, measures,
// joins and writes it.
//
// All geometry is WGS 84, longitude before latitude, in decimal degrees. Heights and measures are
// dropped. Coordinates are rounded to six decimals (0.11 m) on input. Everything after that is
// exact about the rounded ones, so text written by this package reads back as the same text.
//
// A Shape stays within -180 to 180: geometry across the antimeridian is cut there (RFC 7946,
// section 3.1.9). The line between two positions is the shorter way, so a ring from 179 to -179 is
// 2 degrees wide. Only a step from -180 to 180 itself may go round the world. A ring that winds
// round a pole contains the pole on its side of the equator.
//
// Read text of users with ParseWKT and ParseGeoJSON, which reject invalid geometry and say where it
// is. Read feeds and stored text with ParseLoose, which repairs what it can. A Shape is immutable
// and safe for concurrent use. No function panics on any input.
package geo

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// These are the limits on one geometry. Users have the lower limits, because each position costs
// time of a request. Feeds and stored text have the higher limits.
const (
	MaxPositions      = 20_000  // positions that ParseWKT and ParseGeoJSON accept
	maxLoosePositions = 200_000 // positions that ParseLoose accepts
	maxDepth          = 8       // nesting of geometry collections

	maxParts      = 2_000  // points, lines and rings in total that ParseWKT and ParseGeoJSON accept
	maxLooseParts = 10_000 // the same for ParseLoose
)

// micro is one degree in the unit of positions, which is a millionth of a degree.
const micro = 1_000_000

const (
	quarterTurn = 90 * micro
	halfTurn    = 180 * micro
	fullTurn    = 360 * micro
)

// position is a place in millionths of a degree: x is the longitude, y the latitude. While a ring
// is being read, x may exceed -180 to 180 degrees by up to one and a half turns, which fits into an
// int32.
type position struct{ x, y int32 }

func comparePositions(a, b position) int {
	return cmp.Compare(a.rank(), b.rank())
}

// rank is p as one number, by x and then by y.
func (p position) rank() uint64 {
	return uint64(uint32(p.x)^1<<31)<<32 | uint64(uint32(p.y)^1<<31)
}

// ring is a closed line; its first position is not repeated at the end.
type ring []position

// polygon is an outer ring and its holes.
type polygon []ring

// A Shape is a set of areas, lines and points. The zero Shape is no geometry at all.
//
// Nested collections are flattened when they are read, because only the places matter.
type Shape struct {
	polygons []polygon // outer ring counterclockwise, holes clockwise, sorted
	lines    [][]position
	points   []position // sorted

	// apart reports that polygons may overlap, because joining them failed. They are written one by
	// one.
	apart bool
	// coarse is the result of Coarse.
	coarse bool
}

// IsZero reports whether s is no geometry.
func (s Shape) IsZero() bool {
	return len(s.polygons) == 0 && len(s.lines) == 0 && len(s.points) == 0
}

// IsPoint reports whether s is one point and nothing else.
func (s Shape) IsPoint() bool {
	return len(s.polygons) == 0 && len(s.lines) == 0 && len(s.points) == 1
}

// Coarse reports whether exact work on s failed or would have cost too much when s was made. Then a
// polygon became its convex hull, or overlapping polygons were not joined. No place is lost by
// that. The text of s does not contain it.
func (s Shape) Coarse() bool { return s.coarse }

// Size returns the approximate memory size of s in bytes, including its index.
func (s Shape) Size() int { return 128 + 40*s.positions() }

// Positions returns the number of positions in s.
func (s Shape) Positions() int { return s.positions() }

// Sum returns a SHA-256 digest of s. Different shapes have different digests.
func (s Shape) Sum() [sha256.Size]byte {
	h := sha256.New()
	var buffer []byte
	number := func(n int) { buffer = binary.LittleEndian.AppendUint64(buffer, uint64(n)) }
	list := func(at []position) {
		number(len(at))
		for _, p := range at {
			buffer = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(buffer, uint32(p.x)), uint32(p.y))
		}
		_, _ = h.Write(buffer) // never fails
		buffer = buffer[:0]
	}
	buffer = append(buffer, fmt.Sprint(s.apart, s.coarse)...)
	number(len(s.polygons))
	for _, p := range s.polygons {
		number(len(p))
		for _, r := range p {
			list(r)
		}
	}
	number(len(s.lines))
	for _, l := range s.lines {
		list(l)
	}
	list(s.points)
	return [sha256.Size]byte(h.Sum(nil))
}

// positions implements Positions.
func (s Shape) positions() int {
	n := len(s.points)
	for _, p := range s.polygons {
		for _, r := range p {
			n += len(r)
		}
	}
	for _, l := range s.lines {
		n += len(l)
	}
	return n
}

// GeoJSON returns the canonical text of s: a geometry object of RFC 7946 without whitespace and
// with at most six decimals. Outer rings are counterclockwise and holes clockwise, each starting at
// its smallest position. Polygons and points are in ascending order, lines in their own. Shapes
// with the same text are equal. The zero Shape has the empty text.
func (s Shape) GeoJSON() string {
	return string(s.AppendGeoJSON(make([]byte, 0, 64+len("[-123.456789,12.345678],")*s.positions())))
}

// AppendGeoJSON appends what GeoJSON returns.
func (s Shape) AppendGeoJSON(b []byte) []byte {
	parts := s.parts()
	switch len(parts) {
	case 0:
		return b
	case 1:
		return parts[0].appendGeoJSON(b)
	}
	b = append(b, `{"type":"GeometryCollection","geometries":[`...)
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.appendGeoJSON(b)
	}
	return append(b, `]}`...)
}

// part is one geometry of a Shape for output: polygons, lines or points, one or several.
type part struct {
	polygons []polygon
	lines    [][]position
	points   []position
}

func (s Shape) parts() []part {
	var parts []part
	switch {
	case s.apart:
		for i := range s.polygons {
			parts = append(parts, part{polygons: s.polygons[i : i+1]})
		}
	case len(s.polygons) > 0:
		parts = append(parts, part{polygons: s.polygons})
	}
	if len(s.lines) > 0 {
		parts = append(parts, part{lines: s.lines})
	}
	if len(s.points) > 0 {
		parts = append(parts, part{points: s.points})
	}
	return parts
}

func (p part) appendGeoJSON(b []byte) []byte {
	kind, one := "Point", len(p.points) == 1
	switch {
	case len(p.polygons) > 0:
		kind, one = "Polygon", len(p.polygons) == 1
	case len(p.lines) > 0:
		kind, one = "LineString", len(p.lines) == 1
	}
	b = append(b, `{"type":"`...)
	if !one {
		b = append(b, "Multi"...)
	}
	b = append(b, kind...)
	b = append(b, `","coordinates":`...)
	switch {
	case len(p.polygons) > 0:
		b = appendList(b, p.polygons, !one, func(b []byte, p polygon) []byte {
			return appendList(b, p, true, func(b []byte, r ring) []byte {
				return appendList(b, closed(r), true, appendPosition)
			})
		})
	case len(p.lines) > 0:
		b = appendList(b, p.lines, !one, func(b []byte, l []position) []byte {
			return appendList(b, l, true, appendPosition)
		})
	default:
		b = appendList(b, p.points, !one, appendPosition)
	}
	return append(b, '}')
}

func appendList[T any](b []byte, list []T, brackets bool, one func([]byte, T) []byte) []byte {
	if brackets {
		b = append(b, '[')
	}
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	if brackets {
		b = append(b, ']')
	}
	return b
}

func appendPosition(b []byte, p position) []byte {
	b = append(b, '[')
	b = appendMicro(b, p.x)
	b = append(b, ',')
	b = appendMicro(b, p.y)
	return append(b, ']')
}

// WKT returns s as well-known text, with the coordinates in the order of GeoJSON. The zero Shape
// has the empty text.
func (s Shape) WKT() string {
	return string(s.AppendWKT(make([]byte, 0, 32+len("-123.456789 12.345678,")*s.positions())))
}

// AppendWKT appends what WKT returns.
func (s Shape) AppendWKT(b []byte) []byte {
	parts := s.parts()
	if len(parts) > 1 {
		return bracketed(append(b, "GEOMETRYCOLLECTION"...), parts, func(b []byte, p part) []byte { return p.appendWKT(b) })
	}
	for _, p := range parts {
		b = p.appendWKT(b)
	}
	return b
}

// WKB returns s as well-known binary, little endian, with the coordinates in the order of GeoJSON;
// nil for the zero Shape.
func (s Shape) WKB() []byte {
	if s.IsZero() {
		return nil
	}
	parts := s.parts()
	b := make([]byte, 0, 64+24*s.positions())
	if len(parts) > 1 {
		b = appendWKBHead(b, wkbCollection, len(parts))
	}
	for _, p := range parts {
		b = p.appendWKB(b)
	}
	return b
}

// degrees returns v in degrees, as the number whose shortest text has at most six decimals.
func degrees(v int32) float64 { return float64(v) / micro }

// millionths keeps coordinates in the unit of positions, where whole numbers are exact.
func millionths(v int32) float64 { return float64(v) }

func toMicro(degrees float64) int32 { return int32(math.Round(degrees * micro)) }

// geometry returns s as a value of the geometry library, with its coordinates in the given unit.
func (s Shape) geometry(unit func(int32) float64) geom.Geometry {
	var all []geom.Geometry
	for _, p := range s.parts() {
		switch {
		case len(p.polygons) == 1:
			all = append(all, libPolygon(p.polygons[0], unit).AsGeometry())
		case len(p.polygons) > 1:
			all = append(all, libMultiPolygon(p.polygons, unit).AsGeometry())
		case len(p.lines) == 1:
			all = append(all, libLine(p.lines[0], unit).AsGeometry())
		case len(p.lines) > 1:
			lines := make([]geom.LineString, len(p.lines))
			for i, l := range p.lines {
				lines[i] = libLine(l, unit)
			}
			all = append(all, geom.NewMultiLineString(lines).AsGeometry())
		case len(p.points) == 1:
			all = append(all, libPoint(p.points[0], unit).AsGeometry())
		default:
			points := make([]geom.Point, len(p.points))
			for i, q := range p.points {
				points[i] = libPoint(q, unit)
			}
			all = append(all, geom.NewMultiPoint(points).AsGeometry())
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return geom.NewGeometryCollection(all).AsGeometry()
}

func libPoint(p position, unit func(int32) float64) geom.Point {
	return geom.NewPointXY(unit(p.x), unit(p.y))
}

func libLine(l []position, unit func(int32) float64) geom.LineString {
	c := make([]float64, 0, 2*len(l))
	for _, p := range l {
		c = append(c, unit(p.x), unit(p.y))
	}
	return geom.NewLineString(geom.NewSequence(c, geom.DimXY))
}

func libPolygon(p polygon, unit func(int32) float64) geom.Polygon {
	rings := make([]geom.LineString, len(p))
	for i, r := range p {
		rings[i] = libLine(closed(r), unit)
	}
	return geom.NewPolygon(rings)
}

func libMultiPolygon(ps []polygon, unit func(int32) float64) geom.MultiPolygon {
	polygons := make([]geom.Polygon, len(ps))
	for i, p := range ps {
		polygons[i] = libPolygon(p, unit)
	}
	return geom.NewMultiPolygon(polygons)
}

// closed returns r with its first position repeated at the end.
func closed(r ring) []position {
	return append(r[:len(r):len(r)], r[0])
}

// canonical returns s in the order and orientation that GeoJSON promises. It does not modify s.
func canonical(s Shape) Shape {
	s.polygons = slices.Clone(s.polygons)
	for i, p := range s.polygons {
		rings := make(polygon, len(p))
		for j, r := range p {
			rings[j] = canonicalRing(r, j == 0)
		}
		slices.SortFunc(rings[1:], compareRings)
		s.polygons[i] = rings
	}
	slices.SortFunc(s.polygons, comparePolygons)
	s.points = slices.Clone(s.points)
	slices.SortFunc(s.points, comparePositions)
	s.points = slices.Compact(s.points)
	return s
}

func canonicalRing(r ring, counterclockwise bool) ring {
	r = slices.Clone(r)
	if (doubleArea(r) > 0) != counterclockwise {
		slices.Reverse(r)
	}
	first := 0
	for i, p := range r {
		if comparePositions(p, r[first]) < 0 {
			first = i
		}
	}
	return slices.Concat(r[first:], r[:first])
}

func comparePolygons(a, b polygon) int {
	return slices.CompareFunc(a, b, compareRings)
}

func compareRings(a, b ring) int {
	return slices.CompareFunc(a, b, comparePositions)
}
