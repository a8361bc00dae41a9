package hazard

import (
	"cmp"
	"slices"
	"strings"
)

// Authority lists the sources by type of hazard, most authoritative first. The name "" stands for
// all sources that are not listed: the last report of a source that is no longer configured still
// counts. Unlisted sources are ordered by name, so that the result never depends on the order of
// arrival.
type Authority map[Type][]string

// Rank returns the place of a source in the order for a type; the lowest is the most authoritative.
func (a Authority) Rank(t Type, source string) int {
	order := a[t]
	if i := slices.Index(order, source); i >= 0 {
		return i
	}
	if i := slices.Index(order, ""); i >= 0 {
		return i
	}
	return len(order)
}

// Combine returns the combined state of one hazard at now. all holds what each source reports for
// each event, at least one, in any order.
//
// Several events of one source are combined like the parts of one event, whatever their types: the
// highest level in force applies. Among sources, each field comes from the most authoritative one
// (by order) in force that has it. So a downgrade by that source lowers the level, and one by a
// lesser source does not. The hazard goes on while any source says so. When the last one is over,
// the hazard keeps its state from just before. Its category is RESPONSE once any source reports a
// response. Products stay with the event that they came with and are not combined here.
//
// A relayed report does not count beside a source of its own, and is over when the first relaying
// server says so. Otherwise servers that mirror each other in a ring would keep an event alive that
// each knows only from the others.
func Combine(all []EventState, order Authority, now Instant) EventState {
	var sources []string
	for _, s := range all {
		sources = append(sources, s.Head.Source)
	}
	all = storms(counting(all))
	slices.SortFunc(all, func(a, b EventState) int {
		return cmp.Or(
			cmp.Compare(order.Rank(a.Head.Type, a.Head.Source), order.Rank(b.Head.Type, b.Head.Source)),
			cmp.Compare(a.Head.Source, b.Head.Source), cmp.Compare(a.Head.Key, b.Head.Key))
	})
	next, last := MaxInstant, MinInstant
	for i := range all {
		next, last = min(next, all[i].Next), max(last, all[i].Over())
	}
	counted := slices.DeleteFunc(slices.Clone(all), func(s EventState) bool { return !s.inForce(now) })
	over := len(counted) == 0
	if over {
		counted = slices.DeleteFunc(slices.Clone(all), func(s EventState) bool { return s.Over() != last })
	}
	var state EventState
	for i := range counted {
		another := func(s EventState) bool { return s.Head.Source != counted[i].Head.Source }
		if i == 0 {
			state = ofOneSource(slices.DeleteFunc(slices.Clone(counted), another))
		} else if !slices.ContainsFunc(counted[:i], func(s EventState) bool { return !another(s) }) { // otherwise it is combined with the other events of its source
			s := ofOneSource(slices.DeleteFunc(slices.Clone(counted[i:]), another))
			state.add(&s)
		}
	}
	if over {
		// If one of them simply ran out, the end is an expiry. Otherwise the most authoritative
		// source gives the reason.
		if slices.ContainsFunc(counted, func(s EventState) bool { return s.Ended == "" }) {
			state.Ended, state.EndedAt = "", 0
		} else {
			state.Ended, state.EndedAt = counted[0].Ended, last
		}
		state.End = last
	}
	head := &state.Head
	if nameIsIdentity[head.Type] { // the best name outlives the report that it came from
		for _, s := range all {
			if s.Head.Type == head.Type && s.Ended != EndWithdrawn && !s.Head.Minor {
				if s.Head.Source != head.Source && head.Name != s.Head.Name {
					head.Name, head.Texts = s.Head.Name, nobodysOwn(head.Texts)
				}
				break
			}
		}
	}
	if head.Type == Cyclone {
		head.Name = classed(head, all)
	}
	for _, s := range all {
		if s.Head.Category == Response && head.Category != Exercise {
			head.Category = Response
		}
	}
	state.Shapes = nil
	for i := range counted {
		state.Shapes = append(state.Shapes, counted[i].Shapes...)
	}
	state.Shapes = state.Shapes[:min(len(state.Shapes), maxShapesRefs)]
	state.Next, state.Ending = next, slices.ContainsFunc(all, func(s EventState) bool { return s.Ending })
	state.Sources = each(sources)
	return state
}

// classes are the names of cyclones by wind speed; a name that contains another comes first.
// "Tropical Cyclone" is not one of them, because it fits any speed.
var classes = []string{
	"Super Typhoon", "Typhoon", "Major Hurricane", "Hurricane", "Severe Tropical Storm", "Tropical Storm", "Tropical Depression", "Severe Tropical Cyclone",
	"Super Cyclonic Storm", "Extremely Severe Cyclonic Storm", "Very Severe Cyclonic Storm", "Severe Cyclonic Storm", "Cyclonic Storm",
}

// classed returns the name of a cyclone with its class. If the source of the name gives no class,
// it takes the class from another source with the same proper name. So a join does not turn "Super
// Typhoon Dolphin" into "Tropical Cyclone Dolphin".
func classed(head *Report, all []EventState) string {
	const any = "Tropical Cyclone "
	rest, ok := strings.CutPrefix(head.Name, any)
	if !ok || head.Called == "" {
		return head.Name
	}
	for _, s := range all {
		for _, class := range classes {
			if storm, ok := strings.CutPrefix(s.Head.Name, class+" "); ok && s.Ended == "" && len(storm) >= len(head.Called) && strings.EqualFold(storm[:len(head.Called)], head.Called) {
				return class + " " + rest
			}
		}
	}
	return head.Name
}

// nameIsIdentity holds the types whose name identifies the event. For other types the name says how
// severe it is at the moment.
var nameIsIdentity = map[Type]bool{Earthquake: true, Volcano: true, Wildfire: true}

// storms leaves only the latest of the events that are one storm of one source, with the first start:
// its center has given it another number, and all that it says is about one place.
func storms(all []EventState) (kept []EventState) {
	for _, s := range all {
		i := slices.IndexFunc(kept, func(o EventState) bool {
			return s.Head.Type == Cyclone && o.Head.Type == Cyclone && s.Head.Source == o.Head.Source &&
				s.Head.Called != "" && strings.EqualFold(s.Head.Called, o.Head.Called)
		})
		if i < 0 {
			kept = append(kept, s)
			continue
		}
		start := min(s.Head.Start, kept[i].Head.Start)
		if cmp.Or(cmp.Compare(s.Head.Version, kept[i].Head.Version), cmp.Compare(s.Head.Key, kept[i].Head.Key)) > 0 {
			kept[i] = s
		}
		kept[i].Head.Start = start
	}
	return kept
}

// ofOneSource combines events of one source that are all in force, or all over, as Derive combines
// the parts of an event: the latest one applies to all places, at the highest level of any.
func ofOneSource(events []EventState) EventState {
	state := slices.MaxFunc(events, func(a, b EventState) int {
		return cmp.Or(cmp.Compare(a.Head.Version, b.Head.Version), cmp.Compare(a.Head.Key, b.Head.Key))
	})
	if len(events) == 1 {
		return state
	}
	head := &state.Head
	head.Areas, head.Notes, head.Measurements, state.Places, state.Within = nil, nil, nil, nil, nil
	for _, s := range events {
		if s.Head.Key != head.Key {
			head.Texts = append(head.Texts[:len(head.Texts):len(head.Texts)], nobodysOwn(s.Head.Texts)...)
		}
		head.Notes = addNotes(head.Notes, s.Head.Notes)
		head.Measurements = worst(head.Measurements, s.Head.Measurements)
		head.Severity = max(head.Severity, s.Head.Severity)
		head.Start = min(head.Start, s.Head.Start)
		head.Areas = append(head.Areas, s.Head.Areas...)
		state.Places = append(state.Places, s.Places...)
		state.Within = append(state.Within, s.Within...)
		state.lastUntil(&s)
	}
	head.Texts = BoundTexts(head.Texts)
	state.Within = each(state.Within)
	return state
}

// nobodysOwn returns texts without the mark that the hazard's name and description come from them.
func nobodysOwn(texts []Text) []Text {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i].Own = false
	}
	return texts
}

// add fills the fields that more authoritative sources leave empty.
func (state *EventState) add(s *EventState) {
	head := &state.Head
	if len(head.Areas) == 0 && len(state.Places) == 0 {
		// A minor report still counts if its source has authority. A place is taken from any source
		// that has one.
		if head.Point == nil {
			head.Point = s.Head.Point
		}
		if len(s.Head.Areas) > 0 || len(s.Places) > 0 {
			head.Areas, state.Places, state.Within, state.PlacesOf = s.Head.Areas, s.Places, s.Within, s.PlacesOf
		}
	}
	head.Measurements = lacking(head.Measurements, s.Head.Measurements)
	head.Texts = BoundTexts(otherLanguages(head.Texts, s.Head.Texts))
	head.Called = cmp.Or(head.Called, s.Head.Called)
	head.URL = cmp.Or(head.URL, s.Head.URL)
	head.Instruction = cmp.Or(head.Instruction, s.Head.Instruction)
	state.lastUntil(s)
}

// lastUntil makes the event last as long as s, if that is longer.
func (state *EventState) lastUntil(s *EventState) {
	if s.End > state.End {
		state.End, state.EndGiven = s.End, s.EndGiven
	}
	state.Open, state.Until = state.Open || s.Open, max(state.Until, s.Over())
}

// counting returns the reports that count: those of original sources. If there are none, it returns
// the relayed ones, and if any of these is over, only the one that ended first.
func counting(all []EventState) []EventState {
	kept := slices.DeleteFunc(slices.Clone(all), func(s EventState) bool { return s.Head.Relayed })
	if len(kept) > 0 {
		return kept
	}
	over := MaxInstant
	for _, s := range all {
		if s.Ended != "" {
			over = min(over, s.EndedAt)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(s EventState) bool { return over < MaxInstant && (s.Ended == "" || s.EndedAt > over) })
}
