package intake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// rule says when events of different sources are one, where none of them names the other.
type rule struct {
	// window is how far apart their beginnings may lie at the most.
	window time.Duration
	// within is how far apart they may lie at the most, in kilometers; 0: at any distance, or the window alone leaves few.
	within float64
	// far tells how badly two events fit, from 0 (the same) to 1 (just), above 1: they are not one.
	far func(a, b *store.Event) float64
}

// The distances within which events of a type may be one, in kilometers.
const (
	volcanoKm  = 10
	wildfireKm = 5
)

// rules by type of hazard. For other types nothing is guessed.
var rules = map[hazard.Type]rule{
	// USGS PDL, docs/indexer.md (association): 16 s and 100 km, the nearest. 60 s would catch aftershocks.
	hazard.Earthquake: {16 * time.Second, 0, func(a, b *store.Event) float64 {
		return math.Hypot(seconds(a, b)/16, kilometres(a, b)/100)
	}},
	// One name in one season is one storm, in whatever basin it has gone to.
	hazard.Cyclone: {45 * 24 * time.Hour, 0, func(a, b *store.Event) float64 {
		return whether(a.Called != "" && strings.EqualFold(a.Called, b.Called) && overlap(a, b, 3*24*time.Hour))
	}},
	// A volcano does not move: within 10 km it is the same, and it is the same eruption while one goes on.
	hazard.Volcano: {365 * 24 * time.Hour, volcanoKm, func(a, b *store.Event) float64 {
		if !overlap(a, b, 8*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / volcanoKm
	}},
	// Fires near each other are many; a common name beside the place makes them one.
	hazard.Wildfire: {60 * 24 * time.Hour, wildfireKm, func(a, b *store.Event) float64 {
		if !shareWord(a.Called, b.Called) || !overlap(a, b, 7*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / wildfireKm
	}},
}

// sameEruption is how long a volcano may be quiet within one eruption (volcano.si.edu, "current eruptions": no breaks of more than three
// months). Its number alone names the mountain, whose eruptions are one hazard each.
const sameEruption = 90 * 24 * time.Hour

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

// mayJoin tells whether a report too slight to make a hazard may be a word on one that others made.
func (w *writer) mayJoin(r *hazard.Report) bool {
	rule, ok := rules[r.Type]
	if len(r.Refs) > 0 || !ok {
		return len(r.Refs) > 0
	}
	list, ok := w.others.starts[r.Type]
	if !ok {
		events, err := w.tx.EventsStarting(r.Type, w.others.from.Add(-rule.window), w.others.to.Add(rule.window))
		if err != nil {
			return true // the error comes again where it can be told
		}
		for _, e := range events {
			if e.Source != w.src {
				list = append(list, e.Start)
			}
		}
		w.others.starts[r.Type] = list
	}
	i, _ := slices.BinarySearch(list, r.Start.Add(-rule.window))
	return i < len(list) && list[i] <= r.Start.Add(rule.window)
}

// join finds the hazard that a group's event is part of: by what sources call it, else by the rule of its type. Hazards found to be one
// become one, the oldest. It returns why the event is part of it; empty if it made it.
func (w *writer) join(g *group, own *hazard.Said) (why string, err error) {
	self := &store.Event{Source: w.src, Key: g.event, HazardID: g.hazardID, Type: own.Head.Type, Start: own.Head.Start, End: own.Over(), Point: own.Head.Point,
		Called: own.Head.Called}
	moved := true // whether it is to be compared anew
	if g.hazardID != 0 {
		if before, ok, err := w.tx.FindEvent(self.Name()); err != nil {
			return "", err
		} else if ok {
			self.Joined = before.Joined
			moved = before.Type != self.Type || before.Start != self.Start || before.Called != self.Called || !samePoint(before.Point, self.Point)
		}
	}
	drill, err := w.drill(g, own)
	if err != nil {
		return "", err
	}
	if err := w.joinByUUID(g, self, own); err != nil {
		return "", err
	}
	if err := w.joinByName(g, self, own.Head.Refs, drill); err != nil {
		return "", err
	}
	if rule, ok := rules[self.Type]; ok && moved && byRule(self.Joined) {
		if err := w.regroup(self, rule, drill); err != nil {
			return "", err
		}
	}
	g.hazardID = self.HazardID
	return self.Joined, nil
}

// drill reports whether a group's event is a drill: what its hazard is, whatever its source says later; of a new one, what its source says.
func (w *writer) drill(g *group, own *hazard.Said) (bool, error) {
	if g.hazardID == 0 {
		return own.Head.Category == hazard.Exercise, nil
	}
	h, err := w.tx.Hazard(g.hazardID)
	return err == nil && h.Drill(), err
}

// fromRule begins the reason of events that a rule has joined, not a name or a person.
const fromRule = "near "

// byRule tells whether nothing but a rule, if anything, made an event part of its hazard.
func byRule(joined string) bool { return joined == "" || strings.HasPrefix(joined, fromRule) }

func samePoint(a, b *hazard.Point) bool {
	return a == nil || b == nil || *a == *b // a place that follows from areas is not compared
}

// joinByUUID makes a new event part of the hazard that has its uuid already, where a server relays the one or the other: what was mirrored
// there and back is the same hazard, and so is what its own source tells later. A merged hazard leads to its successor.
func (w *writer) joinByUUID(g *group, self *store.Event, own *hazard.Said) error {
	if g.hazardID != 0 {
		return nil
	}
	id := own.Head.UUID
	if id == uuid.Nil {
		id = hazard.EventUUID(w.src, g.event)
	}
	h, err := w.tx.HazardByUUID(id)
	if err == nil {
		h, err = w.successor(h.ID)
	}
	if errors.Is(err, hazard.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if h.Drill() != (own.Head.Category == hazard.Exercise) {
		return nil
	}
	if !own.Head.Relayed {
		all, err := w.said(h.ID, "")
		if err != nil {
			return err
		}
		if len(all) == 0 || slices.ContainsFunc(all, func(s hazard.Said) bool { return !s.Head.Relayed }) {
			return nil
		}
	}
	g.hazardID, self.HazardID, self.Joined = h.ID, h.ID, "has the same uuid"
	return nil
}

// maxSuccessors bounds how many times a hazard is followed to the one that it was merged into.
const maxSuccessors = 10

// joinByName makes one hazard of those whose events have a name in common with this one.
func (w *writer) joinByName(g *group, self *store.Event, refs []string, drill bool) error {
	var linked []int64
	for _, a := range g.absorbed {
		linked = append(linked, a.hazardID)
	}
	// What others call it, and what it is called by others.
	for _, key := range g.keys {
		if ref := w.src + ":" + key; w.refs[ref] {
			refs = append(refs[:len(refs):len(refs)], ref)
		}
	}
	var refused []store.EventName
	if len(refs) > 0 {
		var err error
		if refused, err = w.tx.Parted(self.Name()); err != nil {
			return err
		}
	}
	for _, ref := range refs {
		events, err := w.tx.Called(ref)
		if err != nil {
			return err
		}
		for _, e := range events {
			if e.Name() == self.Name() || e.HazardID == self.HazardID || slices.Contains(refused, e.Name()) {
				continue
			}
			if strings.HasPrefix(ref, "gvp:") {
				if of, ok, err := w.tx.FindEvent(e.Name()); err != nil {
					return err
				} else if ok && !overlap(self, &of, sameEruption) {
					continue
				}
			}
			// A tsunami is a hazard of its own, beside the earthquake that made it.
			h, err := w.tx.Hazard(e.HazardID)
			if err != nil {
				return err
			}
			if (h.Type == hazard.Tsunami) == (self.Type == hazard.Tsunami) && h.Drill() == drill {
				linked, self.Joined = append(linked, e.HazardID), "named "+ref
			}
		}
	}
	if len(linked) == 0 {
		return nil
	}
	if self.HazardID != 0 {
		linked = append(linked, self.HazardID)
	}
	slices.Sort(linked)
	linked = slices.Compact(linked)
	keep, others, err := w.keeper(linked)
	if err != nil {
		return err
	}
	for _, other := range others {
		if err := w.absorbHazard(keep, other); err != nil {
			return err
		}
	}
	for _, a := range g.absorbed {
		if err := w.tx.RenameEvent(w.src, a.event, g.event); err != nil {
			return err
		}
	}
	if self.HazardID == 0 || slices.Contains(others, self.HazardID) {
		self.HazardID = keep
	}
	return nil
}

// maxCluster bounds how many events are compared with each other: the swarm after a great earthquake has fewer within its seconds.
const maxCluster = 300

// regroup compares an event with those of other sources near it, and they with those near them, and makes each hazard of them what
// fits best: the two nearest first, of one source never more than one. The outcome depends on the events alone, not on the order in which
// they came, so one that fits better takes the place of another, which is on its own again, or joins a third.
func (w *writer) regroup(self *store.Event, rule rule, drill bool) error {
	all, err := w.cluster(self, rule, drill)
	if err != nil || len(all) == 1 {
		return err
	}
	groups, err := w.partition(all, rule)
	if err != nil {
		return err
	}
	return w.rearrange(self, groups)
}

// cluster are the events around one, that one first: drills around a drill, real ones around a real one.
func (w *writer) cluster(self *store.Event, rule rule, drill bool) ([]*store.Event, error) {
	all := []*store.Event{self}
	for i := 0; i < len(all) && len(all) < maxCluster; i++ {
		near, err := w.near(all[i], self.Type, rule)
		if err != nil {
			return nil, err
		}
		for j := range near {
			e := &near[j]
			if rule.far(all[i], e) > 1 || slices.ContainsFunc(all, func(k *store.Event) bool { return k.Name() == e.Name() }) {
				continue
			}
			if h, err := w.tx.Hazard(e.HazardID); err != nil {
				return nil, err
			} else if h.Drill() == drill {
				all = append(all, e)
			}
		}
	}
	return all, nil
}

// near are the events of a type that a rule may make one with e.
func (w *writer) near(e *store.Event, typ hazard.Type, rule rule) ([]store.Event, error) {
	from, to := e.Start.Add(-rule.window), e.Start.Add(rule.window)
	switch {
	case rule.within == 0:
		return w.tx.EventsStarting(typ, from, to)
	case e.Point == nil:
		return nil, nil // no distance from it is known
	}
	return w.tx.EventsNear(typ, from, to, geo.Around(e.Point.Lon, e.Point.Lat, rule.within*1000))
}

// pair is two events of different sources, and how badly they fit.
type pair struct {
	a, b int
	far  float64
}

// partition puts events together that are one.
func (w *writer) partition(all []*store.Event, rule rule) ([][]*store.Event, error) {
	group := make([]int, len(all)) // event → the group's first event
	for i := range group {
		group[i] = i
	}
	unite := func(a, b int) {
		for i, from := 0, group[b]; i < len(group); i++ {
			if group[i] == from {
				group[i] = group[a]
			}
		}
	}
	var pairs []pair
	for i, a := range all {
		refused, err := w.tx.Parted(a.Name())
		if err != nil {
			return nil, err
		}
		for j, b := range all[:i] {
			switch {
			case a.HazardID != 0 && a.HazardID == b.HazardID && !(byRule(a.Joined) && byRule(b.Joined)):
				unite(i, j) // a name or a person said so
			case a.Source != b.Source && !slices.Contains(refused, b.Name()):
				if far := rule.far(a, b); far <= 1 {
					pairs = append(pairs, pair{i, j, far})
				}
			}
		}
	}
	slices.SortFunc(pairs, func(p, q pair) int {
		return cmp.Or(cmp.Compare(p.far, q.far), comparePair(all, p, q))
	})
	sources := func(g int) (list []string) {
		for i, e := range all {
			if group[i] == g {
				list = append(list, e.Source)
			}
		}
		return list
	}
	for _, p := range pairs {
		a, b := group[p.a], group[p.b]
		ofA := sources(a)
		if a != b && !slices.ContainsFunc(sources(b), func(s string) bool { return slices.Contains(ofA, s) }) {
			unite(p.a, p.b)
		}
	}
	byFirst := map[int][]*store.Event{}
	for i, e := range all {
		byFirst[group[i]] = append(byFirst[group[i]], e)
	}
	groups := slices.Collect(maps.Values(byFirst))
	for _, g := range groups {
		slices.SortFunc(g, compareEvents)
	}
	// The group that has the oldest hazard first: it goes on with it.
	slices.SortFunc(groups, func(a, b []*store.Event) int {
		return cmp.Or(cmp.Compare(oldest(a), oldest(b)), compareEvents(a[0], b[0]))
	})
	return groups, nil
}

func compareEvents(a, b *store.Event) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key))
}

// comparePair orders pairs that fit equally by their names, whichever of the two comes first.
func comparePair(all []*store.Event, p, q pair) int {
	sorted := func(p pair) (*store.Event, *store.Event) {
		a, b := all[p.a], all[p.b]
		if compareEvents(a, b) > 0 {
			a, b = b, a
		}
		return a, b
	}
	a, b := sorted(p)
	c, d := sorted(q)
	return cmp.Or(compareEvents(a, c), compareEvents(b, d))
}

// oldest is the least number of a hazard that one of the events is part of.
func oldest(events []*store.Event) int64 {
	id := int64(math.MaxInt64)
	for _, e := range events {
		if e.HazardID != 0 {
			id = min(id, e.HazardID)
		}
	}
	return id
}

// rearrange makes the hazards what the groups say. The event self is not written: who asked will do that.
func (w *writer) rearrange(self *store.Event, groups [][]*store.Event) error {
	taken := map[int64]bool{}
	touched := map[int64]int64{} // hazards to settle → where the last event that left one has gone
	for _, g := range groups {
		var free []int64
		for _, e := range g {
			if e.HazardID != 0 && !taken[e.HazardID] && !slices.Contains(free, e.HazardID) {
				free = append(free, e.HazardID)
			}
		}
		into := int64(0)
		switch len(free) {
		case 0:
		case 1:
			into = free[0]
		default:
			var err error
			if into, _, err = w.keeper(free); err != nil {
				return err
			}
		}
		if into == 0 && len(g) == 1 && g[0] == self {
			self.HazardID, self.Joined = 0, ""
			continue // a new hazard, if it is not too slight: as if nothing had been near
		}
		if into == 0 { // they were part of hazards that go on without them
			first := g[0]
			if first == self && len(g) > 1 {
				first = g[1]
			}
			was := first.HazardID
			id, err := w.alone(first)
			if err != nil || id == 0 {
				return err
			}
			into, touched[was] = id, id
		}
		taken[into] = true
		for _, e := range g {
			if e.HazardID == into {
				continue
			}
			from := e.HazardID
			if from != 0 {
				w.noteEvent(e, into)
			}
			e.HazardID, e.Joined = into, reasonFor(e, g)
			if from != 0 {
				touched[from] = into
				if err := w.moveProducts(from, into, e); err != nil {
					return err
				}
			}
			if e == self {
				continue
			}
			if err := w.tx.SaveEvent(e); err != nil {
				return err
			}
			touched[into] = into
		}
	}
	if self.HazardID != 0 {
		// Written now, so that what is settled below counts it where it is.
		if err := w.tx.SaveEvent(self); err != nil {
			return err
		}
		delete(touched, self.HazardID) // it is settled with what self says now
	}
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		if err := w.settleOrEmpty(id, touched[id]); err != nil {
			return err
		}
	}
	return nil
}

// reasonFor says why an event is part of a group.
func reasonFor(e *store.Event, g []*store.Event) string {
	best := -1
	for i, o := range g {
		if o != e && (best < 0 || rules[e.Type].far(e, o) < rules[e.Type].far(e, g[best])) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	o := g[best]
	return fmt.Sprintf("%s%s:%s, which began %.1f s and lies %.0f km from it", fromRule, o.Source, o.Key, seconds(e, o), kilometres(e, o))
}
