package headline

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Around is what lies where a hazard is, independent of languages.
type Around struct {
	// Inside are the two largest towns in the area.
	Inside []town.Town
	// Near is the town by which the point is told, if one is within 100 km.
	Near *Near
	// Country is that of the point, as two letters; empty at sea. OffKm is then how far away
	// OffCountry is, the nearest; it is empty beyond 500 km.
	Country, OffCountry string
	OffKm               float64
	// Countries are those of the largest towns in the area, or of the point.
	Countries []string
	Zone      *time.Location
	// TwoZones means that the area lies in several time zones.
	TwoZones bool
	Area     bool // there is an area; otherwise only a point or a track
	Parts    int  // how many areas there are, such as zones
}

// Near is a town near a point.
type Near struct {
	town.Town
	Km      float64 // from the town to the point
	Bearing float64 // from the town to the point, in degrees
}

// The limits of rule 9: towns within 100 km, countries within 500 km.
const (
	nearKm      = 100
	offKm       = 500
	insideShown = 2
	kmPerDegree = 111.2
)

// AroundOf finds what lies in the areas of a hazard, those of its shown role,
// and around its point.
func AroundOf(h *hazard.Hazard, shapes ...geo.Shape) *Around {
	lon, lat := h.Longitude, h.Latitude
	a := &Around{Zone: town.Zone(lat, lon)}
	role := h.ShownRole()
	a.Area = len(shapes) > 0 && (role == hazard.AlertArea || role == hazard.ImpactArea) && !shapes[0].IsPoint()
	if h.Somewhere() {
		return a
	}
	if a.Area {
		a.Parts = len(shapes)
	}
	if a.Area {
		a.addInside(shapes)
	}
	a.Near = nearOf(lon, lat)
	for _, c := range region.CountriesAt(lon, lat, 100) {
		a.Country = c.Code
		break
	}
	if a.Country == "" {
		a.off(lon, lat)
	}
	if a.Country != "" && !slices.Contains(a.Countries, a.Country) && len(a.Countries) == 0 {
		a.Countries = append(a.Countries, a.Country)
	}
	return a
}

// off finds the nearest country of a point at sea.
func (a *Around) off(lon, lat float64) {
	for _, meters := range []float64{50_000, 200_000, offKm * 1000} {
		if list := region.CountriesAt(lon, lat, meters); len(list) > 0 {
			a.OffCountry, a.OffKm = list[0].Code, list[0].Metres/1000
			return
		}
	}
}

// addInside finds the largest towns in an area, and the time zones of towns in it.
func (a *Around) addInside(shapes []geo.Shape) {
	box := geo.BoundsOf(shapes...)
	var list []town.Town
	for t := range town.Between(box.South, box.North) {
		if box.Contains(t.Lon, t.Lat) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(x, y town.Town) int {
		return cmp.Or(cmp.Compare(y.People, x.People), strings.Compare(x.Name, y.Name))
	})
	const looked = 400 // towns: a ragged area may hold none of those in its box
	for _, t := range list[:min(len(list), looked)] {
		at := geo.Place(t.Lon, t.Lat)
		if !slices.ContainsFunc(shapes, func(s geo.Shape) bool { return geo.Intersects(at, s) }) {
			continue
		}
		if !slices.Contains(a.Countries, t.Country) {
			a.Countries = append(a.Countries, t.Country)
		}
		if a.Inside = append(a.Inside, t); len(a.Inside) == insideShown {
			return
		}
	}
}

// nearOf returns the town by which a point is told: of the five most relevant towns within 100 km,
// as GET /hazards/{hazard-id}/exposure lists them, the one with the most people for its distance
// (rule 9).
func nearOf(lon, lat float64) *Near {
	var list []Near
	width := nearKm / kmPerDegree / math.Max(math.Cos(lat*math.Pi/180), 0.02)
	for t := range town.Between(lat-nearKm/kmPerDegree, lat+nearKm/kmPerDegree) {
		if d := math.Abs(geo.Wrap(t.Lon - lon)); d > width {
			continue
		}
		if km := geo.Distance(lon, lat, t.Lon, t.Lat) / 1000; km <= nearKm {
			list = append(list, Near{Town: t, Km: km})
		}
	}
	if len(list) == 0 {
		return nil
	}
	relevance := func(n Near) float64 { return float64(n.People) / (10 + n.Km) }
	weight := func(n Near) float64 { return float64(n.People) / math.Pow(math.Max(n.Km, 1), 2.5) }
	slices.SortFunc(list, func(x, y Near) int { return cmp.Compare(relevance(y), relevance(x)) })
	const relevant = 5
	best := slices.MaxFunc(list[:min(len(list), relevant)], func(x, y Near) int { return cmp.Compare(weight(x), weight(y)) })
	best.Bearing = town.Bearing(best.Lon, best.Lat, lon, lat)
	return &best
}
