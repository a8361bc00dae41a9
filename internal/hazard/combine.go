package hazard

import (
	"cmp"
	"slices"
)

// authority lists the sources whose word counts, the most authoritative first, by type of hazard; docs/sources.md gives the reasons.
// Sources that are not named come after those that are, in the order of their names, so that the outcome never depends on the
// order of arrival.
var authority = map[Type][]string{
	Earthquake: {"usgs", "emsc", "gdacs", "eonet"},
	Tsunami:    {"tsunami", "nws", "gdacs"},
	Cyclone:    {"nhc", "nws", "gdacs", "eonet"},
	Volcano:    {"hans", "gvp", "gdacs", "eonet"},
	Wildfire:   {"nifc", "nws", "gdacs", "copernicus", "eonet"},
}

// anyType is the order for all other types: national services, then models, then those who tell of a response, who have no level, then curators.
var anyType = []string{"nws", "gdacs", "copernicus", "eonet"}

// Rank is how little a source's word counts on hazards of a type: the least rank is the most authoritative.
func (t Type) Rank(source string) int {
	order, ok := authority[t]
	if !ok {
		order = anyType
	}
	if i := slices.Index(order, source); i >= 0 {
		return i
	}
	// A source configured by an operator (a national CAP feed) speaks with its own authority: before those who model and curate.
	if i := slices.Index(order, "gdacs"); i >= 0 && !slices.Contains(anyType, source) {
		return i
	}
	return len(order)
}

// Combine says what all sources together say of one hazard at now: what each says (at least one), in whatever order they came.
//
// Each field comes from the most authoritative source in force that has it, so that a downgrade by that source lowers the level
// and a lesser source's word never does. The hazard goes on while any source says so; its category is RESPONSE once any source
// tells of a response. Products stay each source's own, and are not combined here.
//
// What is relayed does not count where anybody speaks for himself, and is over as soon as one who relays it says so: servers that mirror
// each other in a ring would otherwise keep alive for ever what each knows from the other alone.
func Combine(all []Said, now Instant) Said {
	all = counting(all)
	slices.SortFunc(all, func(a, b Said) int {
		return cmp.Or(
			cmp.Compare(a.Head.Type.Rank(a.Head.Source), b.Head.Type.Rank(b.Head.Source)),
			cmp.Compare(a.Head.Source, b.Head.Source), cmp.Compare(a.Head.Key, b.Head.Key))
	})
	inForce := slices.DeleteFunc(slices.Clone(all), func(s Said) bool { return !s.inForce(now) })
	counted := inForce
	if len(counted) == 0 {
		counted = all
	}
	said := counted[0]
	said.PlacesOf = said.Head.Source
	head := &said.Head
	for _, s := range counted[1:] {
		// A minor word of an authority is still its word; a place is taken from whoever has one.
		if head.Point == nil && len(head.Areas) == 0 && len(said.Places) == 0 {
			head.Point = s.Head.Point
		}
		if len(head.Areas) == 0 && len(said.Places) == 0 {
			head.Areas, said.Places, said.Within, said.PlacesOf = s.Head.Areas, s.Places, s.Within, s.Head.Source
		}
		head.Called = cmp.Or(head.Called, s.Head.Called)
		head.URL = cmp.Or(head.URL, s.Head.URL)
		said.End = max(said.End, s.End)
		said.Open = said.Open || s.Open
	}
	if len(inForce) == 0 {
		// Over for all: since the last of them said so, and for the reason that the most authoritative gave.
		for _, s := range all {
			if s.Ended == "" {
				said.Ended, said.EndedAt = "", 0 // one of them simply ran out: the end is an expiry
			}
		}
		for _, s := range all {
			said.End = max(said.End, s.Over())
			if said.Ended != "" {
				said.EndedAt = max(said.EndedAt, s.Over())
			}
		}
	}
	for _, s := range all {
		if s.Head.Category == Response && head.Category != Exercise {
			head.Category = Response
		}
	}
	return said
}

// counting are those whose word counts: who speaks for himself, else those who relay, and of them only who says that it is over, if
// one does.
func counting(all []Said) []Said {
	kept := slices.DeleteFunc(slices.Clone(all), func(s Said) bool { return s.Head.Relayed })
	if len(kept) > 0 {
		return kept
	}
	kept = slices.DeleteFunc(slices.Clone(all), func(s Said) bool { return s.Ended == "" })
	if len(kept) > 0 {
		return kept
	}
	return slices.Clone(all)
}
