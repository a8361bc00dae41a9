package town

import (
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
)

// Extent is a division with what its towns tell of where it is.
type Extent struct {
	Division
	// Lon and Lat are those of the town nearest to the middle of the division's people.
	Lon, Lat float64
	Box      geo.Box // around its towns
}

// DivisionsOf lists the divisions of a country (ISO 3166-1, two letters) that have towns.
func DivisionsOf(country string) []Extent { return extents()[country] }

var extents = sync.OnceValue(func() map[string][]Extent {
	type sum struct {
		lon, lat, people float64
		towns            []Town
	}
	byCode := map[string]*sum{}
	var divisions []Division
	for t := range Between(-90, 90) {
		d, ok := t.Division()
		if !ok {
			continue
		}
		s := byCode[d.Code]
		if s == nil {
			s = &sum{}
			byCode[d.Code], divisions = s, append(divisions, d)
		}
		lon := t.Lon
		if len(s.towns) > 0 && lon-s.towns[0].Lon > 180 { // on the other side of the antimeridian
			lon -= 360
		} else if len(s.towns) > 0 && lon-s.towns[0].Lon < -180 {
			lon += 360
		}
		w := float64(max(t.People, 1))
		s.lon, s.lat, s.people = s.lon+w*lon, s.lat+w*t.Lat, s.people+w
		s.towns = append(s.towns, t)
	}
	all := map[string][]Extent{}
	for _, d := range divisions {
		s := byCode[d.Code]
		e := Extent{Division: d}
		lon, lat := geo.Wrap(s.lon/s.people), s.lat/s.people
		best := -1.0
		places := make([]geo.Shape, len(s.towns))
		for i, t := range s.towns {
			places[i] = geo.Place(t.Lon, t.Lat)
			if m := geo.Distance(lon, lat, t.Lon, t.Lat); best < 0 || m < best {
				best, e.Lon, e.Lat = m, t.Lon, t.Lat
			}
		}
		e.Box = geo.BoundsOf(places...)
		country, _, _ := strings.Cut(d.Code, ".")
		all[country] = append(all[country], e)
	}
	return all
})
