package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// farFromNamed is how far the position of an event may lie from the place that its source names, in
// meters: a fire at a border, or a place with a coarse outline. A lost sign or a changed order of
// numbers puts it much farther away.
const farFromNamed = 50_000

// Place compares the position of a report with the place that its source names in words, such as
// "Lake County, California", in a country (ISO 3166-1, two letters). A position that is missing, is
// 0,0, or lies elsewhere is not used: the report gets the named place and a note.
//
// A position gives way only to stronger evidence. It stays if it lies in the named place, or no
// farther away than a border may; if the name is not known, which contradicts nothing; and if
// whatever else the source says of where it is, such as "Road 9, Chowchilla", names a town of the
// country near the position: of two that agree and one that does not, the one is wrong. Then a note
// says so.
//
// It reports whether the report has a place.
func Place(r *hazard.Report, country, words, elsewhere string) bool {
	if p := r.Point; p != nil && *p == (hazard.Point{}) {
		r.Notes = append(r.Notes, "The position 0, 0 is none, and is not used.")
		r.Point = nil
	}
	named := gazetteer.Regions(country, words)
	if len(named) == 0 {
		return r.Point != nil
	}
	if p := r.Point; p != nil {
		for _, n := range named {
			if _, far := geo.NewReach(n.Shape).Distance(p.Lon, p.Lat, farFromNamed); !far {
				return true
			}
		}
		if near := townNear(p, country, elsewhere); near != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("The position %.4f, %.4f is not in %s, but near %s, which is named too: it is used.", p.Lat, p.Lon, words, near))
			return true
		}
		r.Notes = append(r.Notes, fmt.Sprintf("The position %.4f, %.4f is not in %s, and is not used.", p.Lat, p.Lon, words))
		r.Point = nil
	}
	if r.Country = country; len(r.Places) == 0 {
		r.Places = []string{"area:" + words}
	} else { // they name parts of the event
		r.Within = append(r.Within, "area:"+words)
	}
	return true
}

// farFromCountry is how far the position of an event may lie from the countries that its source names,
// in meters: in their waters, of 200 nautical miles, or on islands that are too small for their outlines.
const farFromCountry = 500_000

// InCountries compares the position of a report with the countries that its source names. A position
// far from all of them is not used: the report gets the countries and a note. A name that is not that
// of a country contradicts nothing.
func InCountries(r *hazard.Report, names []string) {
	var codes []string
	for _, name := range names {
		code := CountryOf(name)
		if code == "" {
			return
		}
		codes = append(codes, code)
	}
	if r.Point == nil || len(codes) == 0 {
		return
	}
	for _, far := range []float64{0, farFromCountry} { // most lie in one
		if slices.ContainsFunc(region.CountriesAt(r.Point.Lon, r.Point.Lat, far), func(c region.Nearby) bool { return slices.Contains(codes, c.Code) }) {
			return
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("The position %.4f, %.4f is far from %s, and is not used.", r.Point.Lat, r.Point.Lon, strings.Join(names, ", ")))
	r.Point, r.Country = nil, codes[0]
	for _, code := range codes {
		r.Places = append(r.Places, "ISO3166-1:"+code)
	}
}

// townNear returns a town of a country that a text names and that lies near a position, or "".
func townNear(p *hazard.Point, country, text string) string {
	const degrees = farFromNamed / 110_000.0
	said := " " + gazetteer.Fold(text) + " "
	for t := range town.Between(p.Lat-degrees, p.Lat+degrees) {
		if t.Country == country && strings.Contains(said, " "+gazetteer.Fold(t.Name)+" ") && geo.Distance(p.Lon, p.Lat, t.Lon, t.Lat) <= farFromNamed {
			return t.Name
		}
	}
	return ""
}
