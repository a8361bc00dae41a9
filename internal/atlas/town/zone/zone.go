// Package zone tells the time zone of a place, without network, by the data of the npm package @photostructure/tz-lookup 11.7.0 (CC0), which the
// map uses too: gen/zones.mjs wrote them here. Near borders, and at sea, the answer is a guess.
package zone

import (
	_ "embed"
	"strings"
	"time"
	_ "time/tzdata" // also where the machine knows no zones
)

//go:embed zones.txt
var data string

var names, tree = read()

func read() ([]string, string) {
	first, rest, _ := strings.Cut(data, "\n")
	return strings.Fields(first), rest
}

// The tree has cells of the world at its top, 48 by 24, and below each four quarters. A cell or quarter is two characters, a number to the base 56:
// one of the last is the number of a zone, any other says how far away the quarters are.
const (
	columns, rows = 48, 24
	top           = 2 * columns * rows
	base, first   = 56, '#'
	numbers       = base * base
)

// Name is the name of the zone of a place in the database of time zones, such as Asia/Tokyo; empty if the latitude or longitude is none.
func Name(latitude, longitude float64) string {
	if !(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180) {
		return ""
	}
	if latitude == 90 {
		return "Etc/GMT"
	}
	// A little more than the circle: 180 degrees east is in the last column.
	x, y := columns*(180+longitude)/360.00000000000006, rows*(90-latitude)/180.00000000000003
	column, row := int(x), int(y)
	at := 2 * (columns*row + column)
	number := func() int { return base*(int(tree[at])-first) + int(tree[at+1]) - first }
	n := number()
	for part := -1; n+len(names) < numbers; n = number() {
		part += n + 1
		x, y = 2*(x-float64(column)), 2*(y-float64(row))
		column, row = int(x)%2, int(y)%2
		at = top + 8*part + 4*row + 2*column
	}
	return names[n+len(names)-numbers]
}

// Of is the zone of a place; nil if it is not known.
func Of(latitude, longitude float64) *time.Location {
	name := Name(latitude, longitude)
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil // a zone that this release of Go does not know yet
	}
	return zone
}
