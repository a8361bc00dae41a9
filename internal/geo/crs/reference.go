package crs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// CRS84 names WGS 84 with the longitude first.
const CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

// epsg begins the names of the systems of EPSG's register (OGC 09-048r5, section 6).
const epsg = "http://www.opengis.net/def/crs/EPSG/0/"

// Reference is a system under its OGC name. Positions have the order of axes of the register: in
// many systems north, or the latitude, comes first.
type Reference struct {
	System
	URI        string
	northFirst bool
}

// northern are the projected systems whose first axis is north.
var northern = []int{3035, 3416, 31257, 31258, 31259, 31284, 31285, 31286, 31287, 31466, 31467, 31468, 31469}

// Referred returns the reference with an OGC name, such as
// http://www.opengis.net/def/crs/EPSG/0/25832.
func Referred(uri string) (Reference, bool) {
	if uri == CRS84 {
		s, _ := Named(WGS84)
		return Reference{s, uri, false}, true
	}
	digits, ok := strings.CutPrefix(uri, epsg)
	code, err := strconv.Atoi(digits)
	if !ok || err != nil || strconv.Itoa(code) != digits {
		return Reference{}, false
	}
	s, ok := known()[code]
	out := Reference{System{code, s}, uri, slices.Contains(northern, code)}
	out.northFirst = out.northFirst || out.Geographic()
	return out, ok
}

// References returns the OGC names of all references, CRS84 first.
func References() []string {
	all := []string{CRS84}
	for _, code := range Codes() {
		all = append(all, epsg+strconv.Itoa(code))
	}
	return all
}

// IsCRS84 reports whether positions are the longitude and latitude of WGS 84, in that order.
func (r Reference) IsCRS84() bool { return r.URI == CRS84 }

// Digits returns how many decimals a position needs: for a millimeter, or a ten-millionth of a
// degree.
func (r Reference) Digits() int {
	if r.Geographic() {
		return 7
	}
	return 3
}

// Order says which number of a position comes first, for errors.
func (r Reference) Order() string {
	switch {
	case r.IsCRS84():
		return "longitude before latitude"
	case r.Geographic():
		return "latitude before longitude"
	case r.northFirst:
		return "north before east"
	}
	return "east before north"
}

// lost is how far a position may be off after it was projected and projected back by the module, in
// degrees: that far from a zone of UTM, about 20 degrees, positions are wrong by 20 meters.
const lost = 0.004

// From returns the position of a longitude and latitude, in the order of the axes. ok is false where
// the system has no such position, as far from a zone of UTM. Web Mercator ends at Edge.
func (r Reference) From(lon, lat float64) (at [2]float64, ok bool) {
	x, y := r.Project(lon, lat)
	if r.Code != WGS84 && r.Code != Mercator {
		if !r.holds(lon, lat, x, y) {
			return at, false
		}
	}
	if r.northFirst {
		x, y = y, x
	}
	return [2]float64{x, y}, true
}

// holds reports whether x and y are right for the longitude and latitude.
func (r Reference) holds(lon, lat, x, y float64) bool {
	backLon, backLat := r.roughly(x, y)
	return math.Abs(backLat-lat) < lost && math.Abs(math.Remainder(backLon-lon, 360))*math.Cos(lat*math.Pi/180) < lost // also rejects no numbers
}

// To returns the longitude and latitude of a position whose numbers have the order of the axes. They
// are no numbers where the system has no such position.
func (r Reference) To(first, second float64) (lon, lat float64) {
	if r.northFirst {
		first, second = second, first
	}
	return r.Unproject(first, second)
}
