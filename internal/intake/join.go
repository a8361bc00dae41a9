package intake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// rule says when events of different sources are one, where none of them names the other.
type rule struct {
	// window is how far apart their beginnings may lie at the most.
	window time.Duration
	// far tells how badly two events fit, from 0 (the same) to 1 (just), above 1: they are not one.
	far func(a, b *store.Event) float64
}

// rules by type of hazard. For other types nothing is guessed.
var rules = map[hazard.Type]rule{
	// USGS PDL, docs/indexer.md (association): 16 s and 100 km, the nearest. 60 s would catch aftershocks.
	hazard.Earthquake: {16 * time.Second, func(a, b *store.Event) float64 {
		return math.Hypot(seconds(a, b)/16, kilometres(a, b)/100)
	}},
	// One name in one season is one storm, in whatever basin it has gone to.
	hazard.Cyclone: {45 * 24 * time.Hour, func(a, b *store.Event) float64 {
		return whether(a.Called != "" && strings.EqualFold(a.Called, b.Called) && overlap(a, b, 3*24*time.Hour))
	}},
	// A volcano does not move: within 10 km it is the same, and it is the same eruption while one goes on.
	hazard.Volcano: {365 * 24 * time.Hour, func(a, b *store.Event) float64 {
		if !overlap(a, b, 8*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / 10
	}},
	// Fires near each other are many; a common name beside the place makes them one.
	hazard.Wildfire: {60 * 24 * time.Hour, func(a, b *store.Event) float64 {
		if !shareWord(a.Called, b.Called) || !overlap(a, b, 7*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / 5
	}},
}

func seconds(a, b *store.Event) float64 { return math.Abs(float64(a.Start-b.Start)) / 1000 }

// kilometres between two events; infinitely many where one has no place.
func kilometres(a, b *store.Event) float64 {
	if a.Point == nil || b.Point == nil {
		return math.Inf(1)
	}
	return geo.Distance(a.Point.Lon, a.Point.Lat, b.Point.Lon, b.Point.Lat) / 1000
}

// overlap tells whether two events went on at one time, give or take slack.
func overlap(a, b *store.Event, slack time.Duration) bool {
	return a.Start <= b.End.Add(slack) && b.Start <= a.End.Add(slack)
}

func whether(same bool) float64 {
	if same {
		return 0
	}
	return math.Inf(1)
}

// shareWord tells whether two proper names have a word in common that says something.
func shareWord(a, b string) bool {
	words := func(s string) []string {
		return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" -_,./()", r) }), func(w string) bool {
			return len(w) < 3 || slices.Contains([]string{"fire", "wildfire", "the", "complex", "incident", "prescribed"}, w)
		})
	}
	other := words(b)
	return slices.ContainsFunc(words(a), func(w string) bool { return slices.Contains(other, w) })
}

// candidates are the events of other sources, of a type, that may be one with some event of the batch.
func (w *writer) candidates(typ hazard.Type) ([]store.Event, error) {
	if list, ok := w.others[typ]; ok {
		return list, nil
	}
	window := rules[typ].window
	list, err := w.tx.EventsStarting(typ, w.from.Add(-window), w.to.Add(window))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e store.Event) bool { return e.Source == w.src })
	if w.others == nil {
		w.others = map[hazard.Type][]store.Event{}
	}
	w.others[typ] = list
	return list, nil
}

// mayJoin tells whether a report too slight to make a hazard may be a word on one that others made.
func (w *writer) mayJoin(r *hazard.Report) bool {
	if len(r.Refs) > 0 {
		return true
	}
	rule, ok := rules[r.Type]
	if !ok {
		return false
	}
	list, err := w.candidates(r.Type)
	if err != nil {
		return true // the error comes again where it can be told
	}
	i, _ := slices.BinarySearchFunc(list, r.Start.Add(-rule.window), func(e store.Event, at hazard.Instant) int { return cmp.Compare(e.Start, at) })
	return i < len(list) && list[i].Start <= r.Start.Add(rule.window)
}

// join finds the hazard that a group's event is part of: by what sources call it, else by the rule of its type. Hazards found to be one
// become one, the oldest. It returns why the event is part of it; empty if it made it, or was part of it before.
func (w *writer) join(g *group, own *hazard.Said) (why string, err error) {
	refused, err := w.tx.Parted(w.src, g.event)
	if err != nil {
		return "", err
	}
	var linked []int64
	for _, a := range g.absorbed {
		linked = append(linked, a.hazardID)
	}
	for _, ref := range own.Head.Refs {
		events, err := w.tx.Called(ref)
		if err != nil {
			return "", err
		}
		for _, e := range events {
			// A tsunami is a hazard of its own, beside the earthquake that made it.
			h, err := w.tx.Hazard(e.HazardID)
			if err != nil {
				return "", err
			}
			if e.Source == w.src && e.Key == g.event || slices.Contains(refused, e.HazardID) || (h.Type == hazard.Tsunami) != (own.Head.Type == hazard.Tsunami) {
				continue
			}
			linked, why = append(linked, e.HazardID), "named: "+ref
		}
	}
	if g.hazardID == 0 && len(linked) == 0 {
		if why, err = w.joinByRule(g, own, refused); err != nil || g.hazardID != 0 {
			return why, err
		}
	}
	if g.hazardID != 0 {
		linked = append(linked, g.hazardID)
	}
	slices.Sort(linked)
	if linked = slices.Compact(linked); len(linked) == 0 {
		return "", nil
	}
	keep := linked[0]
	for _, other := range linked[1:] {
		if err := w.absorbHazard(keep, other, cmp.Or(why, "the same event of "+w.src)); err != nil {
			return "", err
		}
	}
	for _, a := range g.absorbed {
		if err := w.tx.RenameEvent(w.src, a.event, g.event); err != nil {
			return "", err
		}
	}
	if g.hazardID == keep {
		why = w.reason(g)
	}
	g.hazardID = keep
	return why, nil
}

// reason is why an event that is known has been part of its hazard.
func (w *writer) reason(g *group) string {
	events, err := w.tx.Events(g.hazardID)
	if err != nil {
		return ""
	}
	for _, e := range events {
		if e.Source == w.src && e.Key == g.event {
			return e.Joined
		}
	}
	return ""
}

// joinByRule finds the hazard whose events of other sources fit the group's event best. Of one source only one event is part of a
// hazard by rule: the better of two, and the other is on its own again.
func (w *writer) joinByRule(g *group, own *hazard.Said, refused []int64) (why string, err error) {
	rule, ok := rules[own.Head.Type]
	if !ok {
		return "", nil
	}
	list, err := w.candidates(own.Head.Type)
	if err != nil {
		return "", err
	}
	self := &store.Event{Source: w.src, Key: g.event, Type: own.Head.Type, Start: own.Head.Start, End: own.Over(), Point: own.Head.Point, Called: own.Head.Called}
	best, bestFar := store.Event{}, math.Inf(1)
	var rival *store.Event
	for _, e := range list {
		if max(self.Start-e.Start, e.Start-self.Start) > hazard.Instant(rule.window.Milliseconds()) || slices.Contains(refused, e.HazardID) {
			continue
		}
		far := rule.far(self, &e)
		if far > 1 || far >= bestFar {
			continue
		}
		other, otherFar, err := w.rival(e.HazardID, rule)
		if err != nil {
			return "", err
		}
		if other != nil && otherFar <= far {
			continue
		}
		best, bestFar, rival = e, far, other
	}
	if best.HazardID == 0 {
		return "", nil
	}
	if rival != nil {
		if err := w.displace(rival); err != nil {
			return "", err
		}
	}
	g.hazardID = best.HazardID
	return fmt.Sprintf("%s:%s began %.1f s and %.0f km from it", best.Source, best.Key, seconds(self, &best), kilometres(self, &best)), nil
}

// rival is the event of our source that is part of a hazard already, and how well it fits there: perfectly, if it was named.
func (w *writer) rival(hazardID int64, rule rule) (*store.Event, float64, error) {
	events, err := w.tx.Events(hazardID)
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(events, func(e store.Event) bool { return e.Source == w.src })
	if i < 0 {
		return nil, 0, nil
	}
	own, far := events[i], math.Inf(1)
	if strings.HasPrefix(own.Joined, "named: ") {
		return &own, 0, nil
	}
	for _, e := range events {
		if e.Source == w.src {
			continue
		}
		if strings.HasPrefix(e.Joined, "named: ") {
			far = 0
		}
		far = min(far, rule.far(&own, &e))
	}
	return &own, far, nil
}
