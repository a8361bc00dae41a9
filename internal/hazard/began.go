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
	// Certain is set for the origin of an earthquake, and for what another server passes on.
	Certain bool `json:"certain,omitzero"`
}

// lookBack is how long before its issue a report must put the start to state when the event began.
// A start nearer to its issue, such as the last full hour, only says that the event goes on now.
const lookBack = time.Hour

// states reports whether b states when the event began, which corrects all that was said before: it is
// certain, or a start long before its issue.
func (b Began) states() bool {
	return b.Certain || b.Start < Instant(b.Version).Add(-lookBack)
}

// compareBegan orders what was said by its time of issue. Of one issue the first counts: one that is
// certain, or else the earliest start.
func compareBegan(a, b Began) int {
	certain := func(b Began) int {
		if b.Certain {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(certain(a), certain(b)), cmp.Compare(a.Start, b.Start))
}

// says returns what a report itself says about the start.
func (r *Report) says() Began {
	return Began{r.Version, r.Start, r.Type == Earthquake || r.Relayed}
}

// said returns what the reports of the part have said about its start, the earliest first. An ending
// says nothing, unless there is nothing else.
func (r *Report) said() (all []Began, ending bool) {
	if len(r.Begun) > 0 {
		return r.Begun, false
	}
	return []Began{r.says()}, r.Ended != ""
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
	r.Begun = relevant(all)
	if len(r.Begun) == 1 && r.Begun[0] == r.says() && r.Ended == "" {
		r.Begun = nil
	}
}

// relevant returns what was said about a start, the earliest first, without what firstStart need not
// know whatever else was said: what a later statement corrects, and what was said after a start that
// is certain, or that is not later and had come when it was said. Of one start that had come, the last report counts.
func relevant(all []Began) []Began {
	all = slices.SortedFunc(slices.Values(all), compareBegan)
	all = slices.CompactFunc(all, func(a, b Began) bool { return a.Version == b.Version })
	var kept []Began
	for _, b := range all {
		if b.states() {
			kept = []Began{b}
			continue
		}
		if len(kept) > 0 && kept[0].Certain {
			continue
		}
		came := func(k Began) bool { return k.Start <= Instant(k.Version) }
		if came(b) {
			kept = slices.DeleteFunc(kept, func(k Began) bool { return came(k) && k.Start == b.Start && !k.states() })
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
// source states when the event began (Began.states), which alone moves one that is certain. Each message
// about some places only says when it takes effect there. The parts are sorted, the oldest first.
func firstStart(parts []Report) Instant {
	first := map[int64]Began{} // what counts of each issue
	whole := map[int64]bool{}  // the issues with a report about the whole event
	for i := range parts {
		p := &parts[i]
		about := len(p.Places) == 0
		whole[p.Version] = whole[p.Version] || about
		said, ending := p.said()
		if ending {
			continue
		}
		for _, b := range said {
			whole[b.Version] = whole[b.Version] || about
			if had, ok := first[b.Version]; !ok || compareBegan(b, had) < 0 {
				first[b.Version] = b
			}
		}
	}
	var start Began
	for i, version := range slices.Sorted(maps.Keys(first)) {
		b := first[version]
		moves := b.Start < start.Start || whole[version] && (b.states() || start.Start > Instant(version))
		if i == 0 || moves && (b.states() || !start.Certain) {
			start = b
		}
	}
	if len(first) == 0 {
		return parts[len(parts)-1].Start
	}
	return start.Start
}
