package page

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// Lands is where a hazard lies: its countries and their divisions.
type Lands struct {
	Countries []string // two letters (ISO 3166-1)
	Divisions []population.Region
	// Sea reports that the hazard has no area, and its point lies in no country. Off is then the
	// nearest country; nil if none is within maxError.
	Sea bool
	Off *region.Nearby
	// Name returns the name of a country in the reader's language; nil means English.
	Name func(code string) string
}

// maxError is the maximum distance, in meters, from a point in no country to the nearest country.
const maxError = 500_000

// LandsOf returns where a hazard lies. This is known if its people were counted, or if it has no
// area; then only its point counts.
func LandsOf(h *hazard.Hazard, divisions []population.Region) (l Lands) {
	l.Divisions = divisions
	if e := h.Exposed(); e != nil {
		l.Countries = e.Countries
	}
	if len(l.Countries) > 0 || !Pointed(h) {
		return l
	}
	near := region.CountriesAt(h.Longitude, h.Latitude, maxError)
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

// Pointed reports whether only a point or a line of a hazard is known.
func Pointed(h *hazard.Hazard) bool {
	if h.Somewhere() {
		return false
	}
	if e := h.Exposed(); e != nil {
		return e.Why == hazard.WhyNoArea
	}
	return !slices.ContainsFunc(h.Areas, func(a hazard.AreaRef) bool { return a.Role == hazard.AlertArea || a.Role == hazard.ImpactArea })
}

// few is the maximum number of names in a list. After them, the list says how many more there are.
const few = 5

// landsSaid are countries and divisions in words. Note says if divisions are known by their towns
// only.
type landsSaid struct{ Countries, Divisions, Note string }

func (l *Lands) said(language *words.Language) (s landsSaid) {
	list := func(names []string) string {
		if len(names) <= few+1 { // "and 1 more" takes as much room as the name
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
		s.Countries = language.Say("atSea", "km", strconv.Itoa(maxError/1000))
	}
	return s
}

func (l *Lands) name(code string) string {
	if l.Name != nil {
		return l.Name(code)
	}
	if c, ok := region.CountryByCode(code); ok {
		return c.Name
	}
	return code
}

// Words returns one line that says where a hazard lies; empty if unknown.
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
