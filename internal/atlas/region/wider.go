package region

import (
	"cmp"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
)

// A Wider is a named region around a place whose own area is not known.
type Wider struct {
	Name     string // in English
	Lon, Lat float64
	// Shape is the region's outline if Outlined, otherwise a box around it.
	Shape    geo.Shape
	Outlined bool
}

// WiderOf returns the region that a code says its place is in, and whether there is one: the state of
// a county or zone of the United States, or the sea of one of its marine zones.
func WiderOf(code string) (Wider, bool) {
	c := ParseCode(code)
	letters := ""
	switch {
	case len(c.Code) != 6:
	case c.Scheme == UGC:
		letters = c.Code[:2]
	case c.Scheme == SAME:
		letters = cmp.Or(stateOf(c.Code[1:3]), seasOfSAME[c.Code[1:3]])
	}
	if name, ok := seas[letters]; ok {
		s, ok := seaOf(letters)
		if !ok {
			return Wider{}, false
		}
		lon, lat := s.Point()
		return Wider{Name: name, Lon: lon, Lat: lat, Shape: s}, true
	}
	state := Code{SAME, "0" + stateCodes[letters] + "000"}
	s, ok := Area(state)
	if stateCodes[letters] == "" || !ok {
		return Wider{}, false
	}
	_, list := direct(state)
	lon, lat := s.Point()
	return Wider{Name: list[0].name, Lon: lon, Lat: lat, Shape: s, Outlined: true}, true
}

// seas are the letters of marine zones and the waters that they lie in: NWS Directive 10-302, "Marine
// and coastal services abbreviations".
var seas = map[string]string{
	"AM": "the western Atlantic and the Caribbean off the United States", "AN": "the western North Atlantic off the United States",
	"GM": "the Gulf of Mexico off the United States", "LC": "Lake St. Clair", "LE": "Lake Erie", "LH": "Lake Huron", "LM": "Lake Michigan",
	"LO": "Lake Ontario", "LS": "Lake Superior", "PH": "the waters around Hawaii", "PK": "the waters around Alaska",
	"PM": "the western Pacific around Guam and Micronesia", "PS": "the waters around American Samoa",
	"PZ": "the eastern North Pacific off the United States", "SL": "the St. Lawrence River",
}

// seasOfSAME are the letters of seas by the two digits that SAME has for them (10-302, appendix C).
var seasOfSAME = map[string]string{
	"57": "PZ", "58": "PK", "59": "PH", "61": "PS", "65": "PM", "73": "AN", "75": "AM", "77": "GM", "91": "LS", "92": "LM",
	"93": "LH", "94": "LC", "96": "LE", "97": "LO", "98": "SL",
}

// boxesOfSeas are the boxes around the built-in zones of each sea.
var boxesOfSeas = sync.OnceValue(func() map[string]geo.Shape {
	zones := map[string][]geo.Shape{}
	last := ""
	for _, x := range atlases[UGC]().areas {
		letters, _, isZone := strings.Cut(x.code, "Z")
		if _, ok := seas[letters]; !ok || !isZone || x.code == last {
			continue
		}
		last = x.code
		if s, err := atlases[UGC]().shape(atlases[UGC]().find(x.code)...); err == nil {
			zones[letters] = append(zones[letters], s)
		}
	}
	boxes := map[string]geo.Shape{}
	for letters, all := range zones {
		boxes[letters] = geo.BoundsOf(all...).Shape()
	}
	return boxes
})

func seaOf(letters string) (geo.Shape, bool) {
	s, ok := boxesOfSeas()[letters]
	return s, ok
}
