package page

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/place"
	"github.com/hazardd/hazardd/internal/population"
	"github.com/hazardd/hazardd/internal/words"
)

// Lands is where a hazard lies: its countries and their divisions.
type Lands struct {
	Countries []string // two letters (ISO 3166-1)
	Divisions []population.Region
	// Sea means that it has no area, and that its point lies in no country. Off is the nearest one then; nil: none is within MostOff.
	Sea bool
	Off *place.Nearby
	// Name is the name of a country in the language of the reader; nil: that in English.
	Name func(code string) string
}

// MostOff is how far it is looked for a country, in meters, from a point in none.
const MostOff = 500_000

// LandsOf finds where a hazard lies whose people were counted, or which has no area: then its point alone counts. Otherwise it is not known.
func LandsOf(h *hazard.Hazard, divisions []population.Region) (l Lands) {
	l.Divisions = divisions
	if e := h.Exposed(); e != nil {
		l.Countries = e.Countries
	}
	if len(l.Countries) > 0 || !Pointed(h) {
		return l
	}
	near := place.CountriesAt(h.Longitude, h.Latitude, MostOff)
	for _, c := range near {
		if c.Metres == 0 {
			l.Countries = append(l.Countries, c.Code)
		}
	}
	if l.Sea = len(l.Countries) == 0; l.Sea && len(near) > 0 {
		l.Off = &near[0]
	}
	return l
}

// Pointed reports whether of a hazard only a point or a line is known.
func Pointed(h *hazard.Hazard) bool {
	if e := h.Exposed(); e != nil {
		return e.Why == hazard.WhyNoArea
	}
	return !slices.ContainsFunc(h.Areas, func(a hazard.AreaRef) bool { return a.Role == hazard.AlertArea || a.Role == hazard.ImpactArea })
}

// few is how many names stand in a list; then how many more there are.
const few = 5

// landsSaid are countries and divisions in words. Of divisions that are known by their towns Note says so.
type landsSaid struct{ Countries, Divisions, Note string }

func (l *Lands) said(language *words.Language) (s landsSaid) {
	list := func(names []string) string {
		if len(names) <= few+1 { // "and 1 more" takes as much room as its name
			return strings.Join(names, ", ")
		}
		return language.Say("andMore", "names", strings.Join(names[:few], ", "), "n", strconv.Itoa(len(names)-few))
	}
	var countries, divisions []string
	for _, code := range l.Countries {
		countries = append(countries, l.name(code))
	}
	for _, d := range l.Divisions {
		divisions = append(divisions, d.Name)
		if d.ByTowns {
			s.Note = language.Say("byTowns")
		}
	}
	s.Countries, s.Divisions = list(countries), list(divisions)
	switch {
	case l.Off != nil:
		s.Countries = language.Say("offLand", "country", l.name(l.Off.Code), "km", strconv.Itoa(int(math.Ceil(l.Off.Metres/1000))))
	case l.Sea:
		s.Countries = language.Say("atSea", "km", strconv.Itoa(MostOff/1000))
	}
	return s
}

func (l *Lands) name(code string) string {
	if l.Name != nil {
		return l.Name(code)
	}
	if c, ok := place.CountryByCode(code); ok {
		return c.Name
	}
	return code
}

// Words say where a hazard lies in one line; empty: it is not known.
func (l *Lands) Words(language *words.Language) string {
	s := l.said(language)
	var parts []string
	if s.Countries != "" {
		parts = append(parts, language.Say("briefCountries")+": "+s.Countries)
	}
	if s.Divisions != "" {
		text := language.Say("provinces") + ": " + s.Divisions
		if s.Note != "" {
			text += " (" + s.Note + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ". ")
}
