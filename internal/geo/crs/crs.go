// Package crs converts positions between WGS 84 and the coordinate reference systems of maps, by
// their EPSG codes: Web Mercator, UTM, and national grids of Europe and America. The formulas and
// the shifts of datums are those of the module wgs84, good to a few meters; Web Mercator is exact.
//
// Positions are longitude and latitude in degrees (WGS 84), and x and y (east and north) in the
// units of the system, whatever the order of its axes in the EPSG register is.
package crs

import (
	"math"
	"slices"
	"sync"

	"github.com/wroge/wgs84"
)

// The systems that most maps use.
const (
	WGS84    = 4326
	Mercator = 3857
)

// Radius is the radius of Web Mercator's sphere, in meters. Edge is the latitude where its square
// world ends.
const (
	Radius = 6_378_137
	Edge   = 85.05112877980659
)

// System is a coordinate reference system.
type System struct {
	Code int // of EPSG
	crs  wgs84.CoordinateReferenceSystem
}

var known = sync.OnceValue(func() map[int]wgs84.CoordinateReferenceSystem {
	all := map[int]wgs84.CoordinateReferenceSystem{}
	repository := wgs84.EPSG()
	for _, code := range repository.Codes() {
		if code != 4978 && code != 900913 { // no map's: from the center of the earth; and not of EPSG
			all[code] = repository.Code(code)
		}
	}
	return all
})

// aliases are the codes of Esri and of old programs for Web Mercator.
var aliases = []int{102100, 102113, 900913, 3785}

// Named returns the system with an EPSG code, or with one of Esri's for Web Mercator.
func Named(code int) (System, bool) {
	if slices.Contains(aliases, code) {
		code = Mercator
	}
	c, ok := known()[code]
	return System{code, c}, ok
}

// Codes returns the EPSG codes of all systems, in order.
func Codes() []int {
	var all []int
	for code := range known() {
		all = append(all, code)
	}
	slices.Sort(all)
	return all
}

// Geographic reports whether the system's positions are degrees.
func (s System) Geographic() bool {
	return slices.Contains([]int{WGS84, 4258, 4314, 4277, 4171, 4269}, s.Code)
}

// Project returns the position in the system's units. Web Mercator ends at Edge, so positions beyond
// it are moved there.
func (s System) Project(lon, lat float64) (x, y float64) {
	switch s.Code {
	case WGS84:
		return lon, lat
	case Mercator:
		lat = min(max(lat, -Edge), Edge)
		return Radius * lon * math.Pi / 180, Radius * math.Log(math.Tan(math.Pi/4+lat*math.Pi/360))
	}
	x, y, _ = wgs84.Transform(wgs84.LonLat(), s.crs)(lon, lat, 0)
	return x, y
}

// Unproject returns the longitude and latitude of a position in the system's units. They are no
// numbers where the system has no such position.
func (s System) Unproject(x, y float64) (lon, lat float64) {
	switch s.Code {
	case WGS84:
		return x, y
	case Mercator:
		return x / Radius * 180 / math.Pi, (2*math.Atan(math.Exp(y/Radius)) - math.Pi/2) * 180 / math.Pi
	}
	// The module's inverse of a transverse Mercator is off by meters at the edge of a zone.
	fromX, fromY := x, y
	for range 3 {
		lon, lat = s.roughly(fromX, fromY)
		backX, backY := s.Project(lon, lat)
		fromX, fromY = fromX+x-backX, fromY+y-backY
	}
	return s.roughly(fromX, fromY)
}

// roughly is the module's inverse of Project.
func (s System) roughly(x, y float64) (lon, lat float64) {
	lon, lat, _ = wgs84.Transform(s.crs, wgs84.LonLat())(x, y, 0)
	return lon, lat
}
