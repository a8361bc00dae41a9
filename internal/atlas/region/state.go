package region

import (
	"cmp"
	"slices"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
)

// A State is a first-order division of a country.
type State struct {
	Code string // ISO 3166-2
	Name string // as its authority writes it
	area *geo.Reach
}

// Holds reports whether a place lies in the state. Of a place on its boundary it may say either.
func (s *State) Holds(lon, lat float64) bool { return s.area.Holds(lon, lat) }

// StatesOf lists the states of a country (alpha-2) by code. Known are those of the United States and the District of Columbia, whose areas the codes
// of warnings hold; the territories have codes of ISO 3166-1.
func StatesOf(country string) []*State {
	if country != "US" {
		return nil
	}
	return statesOfUS()
}

var statesOfUS = sync.OnceValue(func() (all []*State) {
	for letters, number := range stateCodes {
		if number >= "60" { // a territory
			continue
		}
		c := Code{SAME, "0" + number + "000"}
		_, list := direct(c)
		area, ok := Area(c)
		if !ok {
			panic("codes/SAME.bin.br: no area of " + letters)
		}
		all = append(all, &State{"US-" + letters, list[0].name, geo.NewReach(area)})
	}
	slices.SortFunc(all, func(a, b *State) int { return cmp.Compare(a.Code, b.Code) })
	return all
})
