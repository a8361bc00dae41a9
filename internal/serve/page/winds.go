package page

import (
	"cmp"
	"slices"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Arrival is when a forecast has a storm somewhere: at least that wind at a town or, without a town
// and a band, its center on land in that country. Forecasts are hours apart, so it may come before.
type Arrival struct {
	Town    *town.Town
	Country string // ISO 3166-1 alpha-2
	By      hazard.Instant
	Band    *hazard.Band
}

// Arrivals returns the first landfall of a storm's center, and at most so many towns that its
// forecast winds reach, in order of time.
func Arrivals(shapes []hazard.Shape, now hazard.Instant, most int) []Arrival {
	list := []Arrival{}
	for _, w := range windsAt(shapes, now, most) {
		list = append(list, Arrival{&w.Town, w.Town.Country, w.By, &w.Band})
	}
	if by, country, ok := landfall(shapes, now); ok {
		list = append(list, Arrival{Country: country, By: by})
	}
	slices.SortStableFunc(list, func(a, b Arrival) int { return cmp.Compare(a.By, b.By) })
	return list
}

// windAt is a wind that a forecast has at a town: it is at least that strong by that time. Forecasts
// are hours apart, so it may come before.
type windAt struct {
	Town town.Town
	By   hazard.Instant
	Band hazard.Band
}

// windsAt returns at most so many towns that the forecast winds of a storm reach, in order of time:
// those with the strongest winds, and of these the largest. Each has its strongest wind.
func windsAt(shapes []hazard.Shape, now hazard.Instant, most int) []windAt {
	type key struct {
		name     string
		lon, lat float64
	}
	worst := map[key]windAt{}
	for i := range shapes {
		s := &shapes[i]
		if s.Role != hazard.WindShape || !s.Forecast || s.From <= now || s.Band == nil || s.Band.Kind != hazard.Wind {
			continue
		}
		area, err := geo.ParseGeoJSON([]byte(s.Geometry))
		if err != nil {
			continue // drawn nowhere either
		}
		box := geo.BoundsOf(area)
		for t := range town.Between(box.South, box.North) {
			k := key{t.Name, t.Lon, t.Lat}
			had, ok := worst[k]
			if !box.Contains(t.Lon, t.Lat) || ok && (had.Band.Value > s.Band.Value || had.Band.Value == s.Band.Value && had.By <= s.From) || !geo.Intersects(geo.Place(t.Lon, t.Lat), area) {
				continue
			}
			worst[k] = windAt{t, s.From, *s.Band}
		}
	}
	all := make([]windAt, 0, len(worst))
	for _, w := range worst {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b windAt) int {
		return cmp.Or(cmp.Compare(b.Band.Value, a.Band.Value), cmp.Compare(b.Town.People, a.Town.People), cmp.Compare(a.Town.Name, b.Town.Name))
	})
	all = all[:min(len(all), most)]
	slices.SortStableFunc(all, func(a, b windAt) int { return cmp.Compare(a.By, b.By) })
	return all
}

// landfall returns the first forecast position of a storm that is on land after one at sea, and its
// country; ok is false if there is none. The center comes ashore before it.
func landfall(shapes []hazard.Shape, now hazard.Instant) (by hazard.Instant, country string, ok bool) {
	var positions []*hazard.Shape
	for i := range shapes {
		if s := &shapes[i]; s.Role == hazard.PositionShape {
			positions = append(positions, s)
		}
	}
	slices.SortStableFunc(positions, func(x, y *hazard.Shape) int { return cmp.Compare(x.From, y.From) })
	atSea := false
	for _, s := range positions {
		p := readShape([]byte(s.Geometry)).points
		if len(p) != 1 {
			continue
		}
		on := region.CountriesAt(p[0][0], p[0][1], 0)
		if len(on) > 0 && atSea && s.Forecast && s.From > now {
			return s.From, on[0].Code, true
		}
		atSea = len(on) == 0
	}
	return 0, "", false
}

// winds says which forecast winds reach which towns, and when the center comes ashore.
func (c *Hazard) winds(shapes []hazard.Shape) (list []forecast) {
	for _, w := range windsAt(shapes, c.Now, briefRows) {
		name := w.Town.Name
		if land := gazetteer.CountryName(w.Town.Country, c.language().ID); land != "" {
			name += ", " + land
		}
		list = append(list, forecast{At: c.at(w.By, c.Now), Where: name, What: c.say("windOrMore", "value", c.measure(&hazard.Measurement{Name: w.Band.Kind, Value: w.Band.Value}))})
	}
	if by, country, ok := landfall(shapes, c.Now); ok {
		list = append(list, forecast{At: c.at(by, c.Now), Where: gazetteer.CountryName(country, c.language().ID), What: c.say("centerAshore")})
	}
	return list
}
