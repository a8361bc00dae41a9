package format

import (
	"github.com/hazardd/hazardd/internal/geo"
)

// What the entries of Atom and RSS feeds have in common.

// geoRSS is the geometry of an entry in GeoRSS Simple (OGC 17-002r1): latitude before longitude. An
// entry has one geometry, because most readers support only one: a polygon without holes, a single
// line, a box around an area of several parts, or else the point. A box never crosses the
// antimeridian, because readers would draw it around the world.
type geoRSS struct {
	Point   string `xml:"georss:point,omitempty"`
	Line    string `xml:"georss:line,omitempty"`
	Polygon string `xml:"georss:polygon,omitempty"`
	Box     string `xml:"georss:box,omitempty"`
}

func (e *Entry) geoRSS() (g geoRSS) {
	h := e.Hazard
	if h.Somewhere() { // its point is no place where it is, and readers show nothing else
		return g
	}
	shape, _ := e.shape()
	polygons, lines, points := shape.Polygons(), shape.Lines(), shape.Points()
	west, south, east, north := shape.Bounds()
	switch {
	case len(polygons) == 1 && len(polygons[0]) == 1 && len(lines)+len(points) == 0:
		g.Polygon = pairs(polygons[0][0], ' ', ' ')
	case len(lines) == 1 && len(polygons)+len(points) == 0:
		g.Line = pairs(lines[0], ' ', ' ')
	case len(polygons)+len(lines) > 0 && west < east && south < north:
		g.Box = pairs([]geo.Position{{west, south}, {east, north}}, ' ', ' ')
	default:
		g.Point = pairs([]geo.Position{{h.Longitude, h.Latitude}}, ' ', ' ')
	}
	return g
}
