package gazetteer

import (
	"slices"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
)

// beyond is the distance in meters from the towns of a division within which a point may lie in that
// division. Where few people live it is a guess.
const beyond = 50_000

// Regions returns the states or provinces of a country (alpha-2) that a text names, such as "Bihar",
// "Kerala, Tamil Nadu" or "Patna and Gaya districts of Bihar". It returns none unless every name in
// the text is known to be one of them, or a town in one of them: others may lie elsewhere.
func Regions(country, text string) []region.Wider {
	key := country + ":" + text
	if all, ok := regions.Get(key); ok {
		return all
	}
	all := findRegions(country, text)
	regions.Put(key, all, len(key)+200*len(all))
	return all
}

// regions keeps what was looked up last: sources repeat their texts. At most 1 MB.
var regions = lru.New[string, []region.Wider](1 << 20)

// maxRegions bounds the names in a text.
const maxRegions = 40

func findRegions(country, text string) []region.Wider {
	extents := town.DivisionsOf(country)
	if len(extents) == 0 {
		return nil
	}
	byName := map[string]int{}
	for i := range extents {
		byName[bare(Fold(extents[i].Name))] = i
	}
	var found []int
	var others, counties []string
	names := strings.FieldsFunc(separated(text), func(r rune) bool { return r == ';' })
	if len(names) > maxRegions {
		return nil
	}
	for _, name := range names {
		if country == "US" && isCounty(name) {
			counties = append(counties, Fold(name))
			continue
		}
		if name = bare(Fold(name)); name == "" {
			continue
		}
		i, ok := byName[name]
		if !ok {
			others = append(others, name)
			continue
		}
		found = append(found, i)
	}
	if len(counties) > 0 {
		if len(found) != 1 || len(others) > 0 {
			return nil
		}
		return countiesOf(extents[found[0]].Name, counties)
	}
	if len(found) == 0 || !townsIn(country, others, found, extents) {
		return nil
	}
	var all []region.Wider
	seen := map[int]bool{}
	for _, i := range found {
		if !seen[i] {
			seen[i] = true
			all = append(all, widerOf(country, &extents[i]))
		}
	}
	return all
}

// isCounty reports whether a name says that it is that of a county of the United States, or of what is
// one in Louisiana and Alaska.
func isCounty(name string) bool {
	words := strings.Fields(Fold(name))
	return len(words) > 1 && slices.Contains([]string{"county", "counties", "parish", "borough"}, words[len(words)-1])
}

// countiesOf returns counties of a state by their folded names, or none if one is not known.
func countiesOf(state string, names []string) (all []region.Wider) {
	for _, name := range names {
		words := strings.Fields(name)
		c, ok := countiesOfUS()[county{state, strings.Join(words[:len(words)-1], " ")}]
		if !ok {
			return nil
		}
		s, ok := region.Area(c.Code)
		if !ok {
			return nil
		}
		lon, lat := s.Point()
		all = append(all, region.Wider{Name: c.Name + " County, " + state, Lon: lon, Lat: lat, Shape: s, Outlined: true})
	}
	return all
}

// county is a county by its state and its folded name.
type county struct{ state, name string }

var countiesOfUS = sync.OnceValue(func() map[county]region.Named {
	all := map[county]region.Named{}
	for n := range region.Names() {
		if n.Scheme == region.UGC && len(n.Code.Code) == 6 && n.Code.Code[2] == 'C' {
			all[county{n.Region, Fold(n.Name)}] = n
		}
	}
	return all
})

// townsIn reports whether each name is that of a town in one of the divisions, and of no town in
// another one of the country.
func townsIn(country string, names []string, found []int, extents []town.Extent) bool {
	if len(names) == 0 {
		return true
	}
	divisions := map[string]bool{}
	for _, i := range found {
		divisions[extents[i].Code] = true
	}
	inside := map[string]bool{}
	for _, n := range names {
		inside[n] = false
	}
	for t := range town.Between(-90, 90) {
		if t.Country != country {
			continue
		}
		name := bare(Fold(t.Name))
		if _, wanted := inside[name]; !wanted {
			continue
		}
		d, ok := t.Division()
		if !ok || !divisions[d.Code] {
			return false
		}
		inside[name] = true
	}
	for _, in := range inside {
		if !in {
			return false
		}
	}
	return true
}

// widerOf returns a division with its outline, if one is built in.
func widerOf(country string, e *town.Extent) region.Wider {
	for _, s := range region.StatesOf(country) {
		if s.Name == e.Name {
			if w, ok := region.WiderOf(strings.TrimPrefix(s.Code, country+"-") + "Z000"); ok {
				return w
			}
		}
	}
	var parts []geo.Shape
	for _, b := range e.Box.Widened(beyond) {
		parts = append(parts, b.Shape())
	}
	w := region.Wider{Name: e.Name, Lon: e.Lon, Lat: e.Lat}
	w.Shape, _ = geo.Union(parts...) // there is at least one
	return w
}

// separated has one ; between the names of a text.
func separated(text string) string {
	text = strings.NewReplacer(" and ", ";", " & ", ";", ",", ";", "/", ";", " of ", ";", "\n", ";", "+", ";", "(", ";", ")", ";", ". ", ";").Replace(strings.TrimRight(text, ". "))
	return strings.Map(commas, text)
}

// kinds are the words for a division that stand before or behind its name.
var kinds = map[string]bool{
	"state": true, "states": true, "province": true, "provinces": true, "region": true, "district": true, "districts": true, "prefecture": true,
	"governorate": true, "department": true, "county": true, "territory": true, "the": true, "parts": true, "some": true, "of": true, "entire": true, "whole": true,
}

// bare is a folded name without words for what it is.
func bare(name string) string {
	words := strings.Fields(name)
	for len(words) > 0 && kinds[words[0]] {
		words = words[1:]
	}
	for len(words) > 0 && kinds[words[len(words)-1]] {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " ")
}
