package format

import (
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// What the entries of Atom and RSS feeds have in common.

// geoRSS is the geometry of an entry in GeoRSS Simple (OGC 17-002r1): latitude before longitude. An entry has one geometry, which is
// all that most readers take: the area if it is one polygon without holes, the way if it is one line, a box around an area of several
// parts, else the point. There is no box across the antimeridian: readers would draw it round the world.
type geoRSS struct {
	Point   string `xml:"georss:point,omitempty"`
	Line    string `xml:"georss:line,omitempty"`
	Polygon string `xml:"georss:polygon,omitempty"`
	Box     string `xml:"georss:box,omitempty"`
}

func (e *Entry) geoRSS() (g geoRSS) {
	h := e.Hazard
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

// entryTitle is the title of an entry: most readers show nothing else in their lists, so a drill and what is over say so there.
func entryTitle(h *hazard.Hazard) string {
	title := clean(h.Name)
	if h.Category == hazard.Exercise {
		title = "Exercise: " + title
	}
	if h.Status == hazard.Expired {
		title = "Ended: " + title
	}
	return title
}
