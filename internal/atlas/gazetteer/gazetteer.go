// Package gazetteer finds places by name, without network: countries in the eight languages of the
// pages, towns of 5,000 inhabitants or more, and the areas for the codes that warnings use
// (districts, zones, states, provinces).
//
// Names are compared without case, accents and punctuation (Fold). Towns and areas have one name
// each: that of GeoNames, or that of the authority.
//
// All names are sorted on first use, which takes some tenths of a second and 30 MB. After that a
// search is fast. It is safe for concurrent use.
package gazetteer

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
)

// Kind is what a place is.
type Kind string

// The kinds of places.
const (
	Country Kind = "country"
	Town    Kind = "town"
	Area    Kind = "area" // what a code of warnings means: a district, a zone, a state
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Country, Town, Area} }

// A Place is what a name can mean.
type Place struct {
	Kind    Kind
	Name    string // in the language that was asked for, as far as it is known there
	Code    string // SCHEME:CODE, as Find takes it; empty for a town
	Country string // ISO 3166-1 alpha-2; empty: not known
	Region  string // the state or province, where names recur from one to the next; empty: not known, or it is one
	People  int    // who live in a town
	// Lon and Lat stand for the place; Box holds all of it, of a town only its point. Degrees.
	Lon, Lat float64
	Box      geo.Box
	shape    geo.Shape // of what is no town
}

// Shape is all of the place. That of a country is coarse: its borders may be wrong by 20 km.
func (p Place) Shape() geo.Shape { return p.shape }

// isoScheme is the scheme of the codes of countries.
const isoScheme = "ISO3166-1"

// An entry is a place with what its order is made of.
type entry struct {
	Place
	weight int // of two places that a name fits alike the heavier comes first
}

// How heavy what has no inhabitants here is: a country before all towns, a state before all but the largest cities, a zone as a small town.
const (
	weightOfCountry = 1 << 30
	weightOfState   = 5_000_000
	weightOfArea    = 20_000
)

// A word is a place from which on a name fits a query: its beginning, or that of a word in it.
type word struct {
	rest  string // of the folded name, from the word on
	entry int32
	first bool // the word begins the name
}

// index is all names: words in ascending order of rest.
type index struct {
	entries []entry
	words   []word
}

// dictionaries have the names of countries, by language.
var dictionaries = map[string]*display.Dictionary{"en": display.English, "es": display.Spanish, "fr": display.French, "pt": display.Portuguese, "ar": display.Arabic,
	"hi": display.Hindi, "ja": display.Japanese, "id": display.Indonesian, "de": display.German, "it": display.Italian, "zh": display.SimplifiedChinese,
	"ru": display.Russian, "uk": display.Ukrainian, "tr": display.Turkish}

var ukrainian = strings.NewReplacer("ґ", "г", "Ґ", "Г")

var all = sync.OnceValue(func() *index {
	ix := &index{}
	for _, c := range region.Countries() {
		i := ix.add(entry{Place: Place{Kind: Country, Name: c.Name, Code: isoScheme + ":" + c.Code, Country: c.Code}, weight: weightOfCountry}, c.Name)
		folded := []string{Fold(c.Name)}
		for _, names := range dictionaries {
			if name := in(names, c.Code); name != "" && !slices.Contains(folded, Fold(name)) {
				folded = append(folded, Fold(name))
				ix.addName(i, name)
			}
		}
	}
	for n := range region.Names() {
		weight := weightOfArea
		if n.State {
			weight = weightOfState
		}
		ix.add(entry{Place: Place{Kind: Area, Name: n.Name, Code: string(n.Scheme) + ":" + n.Code.Code, Country: n.Country, Region: n.Region}, weight: weight}, n.Name)
	}
	for t := range town.Between(-90, 90) {
		division, _ := t.Division()
		ix.add(entry{Place: Place{Kind: Town, Name: t.Name, Country: t.Country, Region: division.Name, People: t.People, Lon: t.Lon, Lat: t.Lat, Box: geo.Box{West: t.Lon, South: t.Lat, East: t.Lon, North: t.Lat}},
			weight: t.People}, t.Name)
	}
	slices.SortFunc(ix.words, func(a, b word) int { return cmp.Or(cmp.Compare(a.rest, b.rest), cmp.Compare(a.entry, b.entry)) })
	return ix
})

func (ix *index) add(e entry, name string) int32 {
	ix.entries = append(ix.entries, e)
	i := int32(len(ix.entries) - 1)
	ix.addName(i, name)
	return i
}

func (ix *index) addName(i int32, name string) {
	folded := Fold(name)
	for at := 0; at < len(folded); {
		ix.words = append(ix.words, word{rest: folded[at:], entry: i, first: at == 0})
		next := strings.IndexByte(folded[at:], ' ')
		if next < 0 {
			break
		}
		at += next + 1
	}
}

// in is the name of a country in a language; empty: it has none there.
func in(names *display.Dictionary, code string) string {
	region, err := language.ParseRegion(code)
	if err != nil {
		return ""
	}
	name := names.Regions().Name(region)
	if names == display.Ukrainian { // as the orthography of 2019 has them; CLDR's in this version are older
		name = ukrainian.Replace(name)
	}
	return name
}

// CountryName is the name of a country by its alpha-2 code in a language of the pages (words.Language.ID), in English where it is not known there.
func CountryName(code, lang string) string {
	if names := dictionaries[lang]; names != nil {
		if name := in(names, code); name != "" {
			return name
		}
	}
	c, _ := region.CountryByCode(code)
	return c.Name
}

// KnownAs is the regions and countries that a hazard is somewhere in (hazard.Hazard.PlaceKnownAs) in a language of the pages: the countries among
// them have names there, regions keep theirs.
func KnownAs(places, lang string) string {
	if dictionaries[lang] == nil || lang == "en" {
		return places
	}
	all := strings.Split(places, ", ")
	for i, name := range all {
		for _, c := range region.Countries() {
			if c.Name == name {
				all[i] = CountryName(c.Code, lang)
			}
		}
	}
	return strings.Join(all, ", ")
}

// How well a name fits, the best first.
const (
	fitsWhole = iota
	fitsBeginning
	fitsWord // in the name a word begins so
)

// Search finds the places that a query names, the best first: those of that very name, then those whose name begins so, then those in whose
// name a word begins so; each by how many people live there, countries before towns. Behind a comma may stand the country, or a part of its name, or the state:
// "Vienna, Austria", "Cairo, EG". No kinds are all. It returns those from from on, limit at most, and how many there are in all. Names are in the language of lang, an ID of words.
func Search(query, lang string, from, limit int, kinds ...Kind) (found []Place, total int) {
	name, within, _ := strings.Cut(strings.Map(commas, query), ",")
	name, within = Fold(name), Fold(within)
	if name == "" {
		return nil, 0
	}
	ix := all()
	key := fmt.Sprintf("%s,%s %q", name, within, kinds)
	order, ok := orders.Get(key)
	if !ok {
		order = ix.order(name, within, kinds)
		orders.Put(key, order, len(key)+4*len(order))
	}
	for _, i := range order[min(from, len(order)):min(from+limit, len(order))] {
		found = append(found, ix.placed(ix.entries[i].Place, lang))
	}
	return found, len(order)
}

// orders keeps what was looked for last: somebody types and pages, and a single letter fits a fifth of all names.
var orders = lru.New[string, []int32](maxOrders)

// maxOrders bounds them, in bytes.
const maxOrders = 2 << 20

// order lists the entries that fit, the best first.
func (ix *index) order(name, within string, kinds []Kind) []int32 {
	best := map[int32]int{}
	var inside func(*entry) bool
	if within != "" {
		inside = ix.within(within)
	}
	start := sort.Search(len(ix.words), func(i int) bool { return ix.words[i].rest >= name })
	for _, w := range ix.words[start:] {
		if !strings.HasPrefix(w.rest, name) {
			break
		}
		e := &ix.entries[w.entry]
		if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) || inside != nil && !inside(e) {
			continue
		}
		fit := fitsWord
		if w.first {
			fit = fitsBeginning
			if w.rest == name {
				fit = fitsWhole
			}
		}
		if had, ok := best[w.entry]; !ok || fit < had {
			best[w.entry] = fit
		}
	}
	order := make([]int32, 0, len(best))
	for i := range best {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		x, y := &ix.entries[a], &ix.entries[b]
		return cmp.Or(cmp.Compare(best[a], best[b]), cmp.Compare(y.weight, x.weight), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Code, y.Code), cmp.Compare(a, b))
	})
	return order
}

// commas makes the commas of other scripts ours.
func commas(r rune) rune {
	if strings.ContainsRune("،、，", r) {
		return ','
	}
	return r
}

// within reports whether a place is in what is written behind the comma. It looks at the name of each country and region once.
func (ix *index) within(folded string) func(e *entry) bool {
	countries, regions := map[string]bool{}, map[string]bool{}
	for _, c := range region.Countries() {
		countries[c.Code] = strings.EqualFold(c.Code, folded)
		for _, names := range dictionaries {
			name := in(names, c.Code)
			countries[c.Code] = countries[c.Code] || name != "" && strings.HasPrefix(Fold(name), folded)
		}
	}
	return func(e *entry) bool {
		fits, known := regions[e.Region]
		if !known {
			fits = e.Region != "" && strings.HasPrefix(Fold(e.Region), folded)
			regions[e.Region] = fits
		}
		return fits || countries[e.Country]
	}
}

// placed is a place with its name in a language, and with where it is.
func (ix *index) placed(p Place, lang string) Place {
	if p.Kind == Country {
		p.Name = CountryName(p.Country, lang)
	}
	switch p.Kind {
	case Town:
		p.shape = geo.Place(p.Lon, p.Lat)
		return p
	case Country:
		p.shape = region.Outline(p.Country)
	case Area:
		p.shape, _ = region.Area(region.ParseCode(p.Code))
	}
	p.Lon, p.Lat = p.shape.Point()
	p.Box.West, p.Box.South, p.Box.East, p.Box.North = p.shape.Bounds()
	return p
}

// byCode are the places that have a code.
var byCode = sync.OnceValue(func() map[string]int32 {
	codes := map[string]int32{}
	for i, e := range all().entries {
		if e.Code != "" {
			codes[e.Code] = int32(i)
		}
	}
	return codes
})

// Find returns the country or area of a code as Search gives it.
func Find(code, lang string) (Place, bool) {
	i, ok := byCode()[code]
	if !ok {
		return Place{}, false
	}
	return all().placed(all().entries[i].Place, lang), true
}
