package town

import (
	_ "embed"
	"strings"
	"time"
	_ "time/tzdata" // also where the machine knows no zones
)

// zonesText has the names of the zones in its first line, and their tree in the second. It is made of
// the npm package @photostructure/tz-lookup 11.7.0 (CC0), which the map uses too (gen/zones.mjs).
//
//go:embed zones.txt
var zonesText string

var zoneNames, zoneTree = readZones()

func readZones() (names []string, tree string) {
	first, rest, _ := strings.Cut(zonesText, "\n")
	return strings.Fields(first), rest
}

// The tree has cells of the world at its top, 48 by 24, and four quarters below each. A cell or
// quarter is two characters, a number in base 56: one of the last numbers is that of a zone, any
// other is the distance to the quarters.
const (
	zoneColumns, zoneRows = 48, 24
	zoneTop               = 2 * zoneColumns * zoneRows
	zoneBase, zoneDigit   = 56, '#'
	zoneNumbers           = zoneBase * zoneBase
)

// ZoneName returns the name of the time zone of a place, such as Asia/Tokyo, or "" if the latitude or
// longitude is invalid. Near borders, and at sea, it is a guess.
func ZoneName(latitude, longitude float64) string {
	if !(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180) {
		return ""
	}
	if latitude == 90 {
		return "Etc/GMT"
	}
	// A little more than the circle: 180 degrees east is in the last column.
	x, y := zoneColumns*(180+longitude)/360.00000000000006, zoneRows*(90-latitude)/180.00000000000003
	column, row := int(x), int(y)
	at := 2 * (zoneColumns*row + column)
	number := func() int { return zoneBase*(int(zoneTree[at])-zoneDigit) + int(zoneTree[at+1]) - zoneDigit }
	n := number()
	for part := -1; n+len(zoneNames) < zoneNumbers; n = number() {
		part += n + 1
		x, y = 2*(x-float64(column)), 2*(y-float64(row))
		column, row = int(x)%2, int(y)%2
		at = zoneTop + 8*part + 4*row + 2*column
	}
	return zoneNames[n+len(zoneNames)-zoneNumbers]
}

// Zone returns the time zone of a place, or nil if it is unknown.
func Zone(latitude, longitude float64) *time.Location {
	name := ZoneName(latitude, longitude)
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil // a zone that this release of Go does not know yet
	}
	return zone
}
