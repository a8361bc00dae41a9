package hazard

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Began is what one report said about when its event began.
type Began struct {
	Version int64   `json:"version"` // of the report
	Start   Instant `json:"start"`
}

// lookBack is how long before its issue a report must put the start to state when the event began.
// A start nearer to its issue, such as the last full hour, only says that the event goes on now.
const lookBack = time.Hour

// states reports whether r, or an earlier report of its part, stated with b when the event began,
// which corrects all that was said before: the origin of an earthquake, a start long before its
// issue, and what another server passes on.
func (r *Report) states(b Began) bool {
	return r.Type == Earthquake || r.Relayed || b.Start < Instant(b.Version).Add(-lookBack)
}

// compareBegan orders what was said by its time of issue.
func compareBegan(a, b Began) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Start, b.Start))
}

// said returns what the reports of the part have said about its start, the earliest first. An ending
// says nothing, unless there is nothing else.
func (r *Report) said() (all []Began, ending bool) {
	if len(r.Begun) > 0 {
		return r.Begun, false
	}
	return []Began{{r.Version, r.Start}}, r.Ended != ""
}

// RememberStart keeps in r, the state of a part after both of two reports, what they said about the
// start, as far as it may still count.
func (r *Report) RememberStart(a, b *Report) {
	all, ending := a.said()
	more, also := b.said()
	switch {
	case ending && also:
		r.Begun = nil
		return
	case ending:
		all = more
	case !also:
		all = append(slices.Clone(all), more...)
	}
	r.Begun = r.relevant(all)
	if len(r.Begun) == 1 && r.Begun[0] == (Began{r.Version, r.Start}) && r.Ended == "" {
		r.Begun = nil
	}
}

// relevant returns what was said about a start, the earliest first, without what firstStart need not
// know whatever else was said: what a later statement corrects, and what was said after a start that
// is not later and had come when it was said. Of one start that had come, the last report counts.
func (r *Report) relevant(all []Began) []Began {
	all = slices.Clone(all)
	slices.SortFunc(all, compareBegan)
	all = slices.Compact(all)
	var kept []Began
	for _, b := range all {
		if r.states(b) {
			if len(kept) != 1 || !r.states(kept[0]) || kept[0].Version != b.Version { // of one version, the earlier start counts
				kept = []Began{b}
			}
			continue
		}
		came := func(k Began) bool { return k.Start <= Instant(k.Version) }
		if came(b) {
			kept = slices.DeleteFunc(kept, func(k Began) bool { return came(k) && k.Start == b.Start && !r.states(k) })
		}
		if !slices.ContainsFunc(kept, func(k Began) bool { return came(k) && k.Start <= b.Start }) {
			kept = append(kept, b)
		}
	}
	return kept
}

// firstStart returns when an event began: the first start that its source gave stays. A later report
// that begins when it is issued says only that the event goes on; one that ends the event says
// nothing. A start moves if it has not come when another is given, if the other is earlier, or if the
// source states when the event began (states). Each message about some places only says when it
// takes effect there. The parts are sorted, the oldest first.
func firstStart(parts []Report) Instant {
	type issue struct {
		start  Instant
		stated bool // by the report with the earliest start
		said   bool
		whole  bool // a report about the whole event was issued then
	}
	issues := map[int64]*issue{}
	at := func(version int64, whole bool) *issue {
		if issues[version] == nil {
			issues[version] = &issue{}
		}
		issues[version].whole = issues[version].whole || whole
		return issues[version]
	}
	for i := range parts {
		p := &parts[i]
		whole := len(p.Places) == 0
		at(p.Version, whole)
		said, ending := p.said()
		if ending {
			continue
		}
		for _, b := range said {
			if is := at(b.Version, whole); !is.said || b.Start < is.start {
				is.start, is.stated, is.said = b.Start, p.states(b), true
			}
		}
	}
	start, known := MaxInstant, false
	for _, version := range slices.Sorted(maps.Keys(issues)) {
		if is := issues[version]; is.said && (!known || is.start < start || is.whole && (is.stated || start > Instant(version))) {
			start, known = is.start, true
		}
	}
	if !known {
		return parts[len(parts)-1].Start
	}
	return start
}
