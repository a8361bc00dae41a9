package format

import (
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Shape returns the geometry that the formats show: the areas of the first role that has any, or the
// point.
func (e *Entry) Shape() geo.Shape {
	s, _ := e.shape()
	return s
}

// shape returns the geometry of the hazard and its role: all areas of its first role.
func (e *Entry) shape() (geo.Shape, hazard.AreaRole) {
	for _, role := range hazard.ShownRoles() {
		var shapes []geo.Shape
		for _, a := range e.Areas {
			if a.Role != role {
				continue
			}
			// What is stored can be read; should it not, the hazard still has its point.
			if s, err := geo.ReadStored(a.Geometry); err == nil {
				shapes = append(shapes, s)
			}
		}
		if len(shapes) == 1 && !shapes[0].IsZero() {
			return shapes[0], role
		}
		if s, err := geo.Union(shapes...); err == nil {
			return s, role
		}
	}
	return geo.Circle(e.Hazard.Longitude, e.Hazard.Latitude, 0), hazard.PointArea
}

// appendDegrees writes a number of degrees.
func appendDegrees(b []byte, degrees float64) []byte {
	return geo.AppendDegrees(b, degrees)
}

// pairs writes positions with the latitude first, as GeoRSS and CAP have them: within is between latitude and longitude, between
// is between positions.
func pairs(ps []geo.Position, within, between byte) string {
	b := make([]byte, 0, len(ps)*20)
	for i, p := range ps {
		if i > 0 {
			b = append(b, between)
		}
		b = append(appendDegrees(b, p[1]), within)
		b = appendDegrees(b, p[0])
	}
	return string(b)
}

// extent is the box around everything added, in constant memory: it records the covered part of
// each degree of longitude.
type extent struct {
	cells        [360]cellRange // eastward from -180
	south, north float64
	any          bool
}

type cellRange struct {
	west, east float64
	used       bool
}

// add adds a box; one that crosses the antimeridian has its west east of its east.
func (x *extent) add(west, south, east, north float64) {
	if west > east {
		x.add(west, south, 180, north)
		x.add(-180, south, east, north)
		return
	}
	if !x.any {
		x.south, x.north, x.any = south, north, true
	}
	x.south, x.north = min(x.south, south), max(x.north, north)
	first, last := min(int(west+180), 359), min(int(east+180), 359)
	for i := first; i <= last; i++ {
		c := &x.cells[i]
		w, e := max(west, float64(i-180)), min(east, float64(i-179))
		if !c.used {
			*c = cellRange{w, e, true}
		}
		c.west, c.east = min(c.west, w), max(c.east, e)
	}
}

// box returns the world without its widest uncovered gap, to a degree; west is greater than east if
// it crosses the antimeridian (RFC 7946, section 5.2).
func (x *extent) box() (west, south, east, north float64) {
	var used []cellRange
	for _, c := range x.cells {
		if c.used {
			used = append(used, c)
		}
	}
	west, east = used[0].west, used[len(used)-1].east
	widest := west + 360 - east
	for i, c := range used[1:] {
		if gap := c.west - used[i].east; gap > widest {
			widest, west, east = gap, c.west, used[i].east
		}
	}
	return west, x.south, east, x.north
}
