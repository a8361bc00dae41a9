package fuse

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// rule says when events, usually of different sources, are the same without a common name.
type rule struct {
	// window is the largest time between their starts.
	window time.Duration
	// within is their largest distance in kilometers; 0 means any distance, or that the window
	// leaves only few.
	within float64
	// far returns how badly two events match, from 0 (the same) to 1 (the limit); above 1 they are
	// different.
	far func(a, b *store.Event) float64
	// renumbers means that a source may give an event another key, so that two of its events may be one.
	renumbers bool
}

// compares reports whether the rule is for events of these two sources.
func (r *rule) compares(source, other string) bool { return r.renumbers || source != other }

// The largest distances between events of a type, in kilometers.
const (
	volcanoKm  = 10
	wildfireKm = 5
	namelessKm = 2 // between fires of which one has no name, as when satellites detected it
)

// rules by type of hazard. Other types have none.
var rules = map[hazard.Type]rule{
	// USGS PDL, docs/indexer.md (association): 16 s and 100 km, the nearest. 60 s would catch aftershocks.
	hazard.Earthquake: {window: 16 * time.Second, far: func(a, b *store.Event) float64 {
		return math.Hypot(seconds(a, b)/16, kilometres(a, b)/100)
	}},
	// One name in one season is one storm. The centers give it a new number when it crosses into
	// another basin, and keep its name (Bonnie of 2022 was AL02, then EP04).
	hazard.Cyclone: {window: 45 * 24 * time.Hour, renumbers: true, far: func(a, b *store.Event) float64 {
		if a.Called == "" || !strings.EqualFold(a.Called, b.Called) || !overlap(a, b, 3*24*time.Hour) {
			return math.Inf(1)
		}
		return 0
	}},
	// A volcano does not move: within 10 km it is the same volcano, with the same eruption while
	// one lasts.
	hazard.Volcano: {window: 365 * 24 * time.Hour, within: volcanoKm, far: func(a, b *store.Event) float64 {
		if !overlap(a, b, 8*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / volcanoKm
	}},
	// Many fires are close to each other. A common word in the name besides the place makes them
	// one or, without a name, nearly the same place (D30: one of EONET and one of GDACS, 1.3 km).
	hazard.Wildfire: {window: 60 * 24 * time.Hour, within: wildfireKm, far: func(a, b *store.Event) float64 {
		switch {
		case !overlap(a, b, 7*24*time.Hour):
			return math.Inf(1)
		case a.Called == "" || b.Called == "":
			return kilometres(a, b) / namelessKm
		case !shareWord(a.Called, b.Called):
			return math.Inf(1)
		}
		return kilometres(a, b) / wildfireKm
	}},
}

func seconds(a, b *store.Event) float64 { return math.Abs(float64(a.Start-b.Start)) / 1000 }

// kilometres returns the distance between two events, infinite if one has no place.
func kilometres(a, b *store.Event) float64 {
	if a.Point == nil || b.Point == nil {
		return math.Inf(1)
	}
	return geo.Distance(a.Point.Lon, a.Point.Lat, b.Point.Lon, b.Point.Lat) / 1000
}

// overlap reports whether two events were active at the same time, within slack.
func overlap(a, b *store.Event, slack time.Duration) bool {
	return a.Start <= b.End.Add(slack) && b.Start <= a.End.Add(slack)
}

// shareWord reports whether two proper names have a significant word in common.
func shareWord(a, b string) bool {
	words := func(s string) []string {
		return slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" -_,./()", r) }), func(w string) bool {
			return len(w) < 3 || slices.Contains([]string{"fire", "wildfire", "the", "complex", "incident", "prescribed"}, w)
		})
	}
	other := words(b)
	return slices.ContainsFunc(words(a), func(w string) bool { return slices.Contains(other, w) })
}

// mayJoin reports whether a report that is too slight to create a hazard may belong to an existing
// one.
func (w *writer) mayJoin(r *hazard.Report) bool {
	called := func(key string) bool { return w.refs[w.src+":"+key] }
	if len(r.Refs) > 0 || called(r.Key) || slices.ContainsFunc(r.Aliases, called) {
		return true
	}
	others, err := w.others.near(r.Type, r.Start)
	return others || err != nil // the error is reported in a later step
}

// spot is the hazard that an event belongs to.
type spot struct {
	hazardID int64  // 0 for a new one
	why      string // why the event belongs to it; "" if it created it
	left     int64  // its earlier hazard, if it is to create a new one
	again    bool   // other events wait for the new hazard
}

// join finds the hazard of a group's event: by names, by the rule of its type, and by people's
// decisions. If the event changes which other events are the same, they move too. before is the
// stored event, nil for a new one.
func (w *writer) join(g *group, before *store.Event, d *decision) (at spot, err error) {
	own := &d.state
	self := w.event(own, 0)
	moved := true // whether it must be compared again
	drill := own.Head.Category == hazard.Exercise
	if before != nil {
		self.HazardID, self.Joined = before.HazardID, before.Joined
		moved = before.Type != self.Type || before.Start != self.Start || before.End != self.End || before.Called != self.Called ||
			!samePoint(before.Point, self.Point)
		h, err := w.tx.Hazard(self.HazardID) // its hazard, whatever its source reports later
		if err != nil {
			return at, err
		}
		drill = h.Drill()
	} else if err := w.joinByUUID(self, own); err != nil {
		return at, err
	}
	named, refs, err := w.namesakes(g, before, self, union(own.Head.Refs, d.refs), moved)
	if err != nil {
		return at, err
	}
	_, byRule := rules[self.Type]
	if before != nil && !byRule { // with another type, it may have been joined by that type's rule
		_, byRule = rules[before.Type]
	}
	elsewhere := slices.ContainsFunc(named, func(e store.Event) bool { return e.HazardID != self.HazardID })
	together := len(named) > 0
	if !together && moved && self.HazardID != 0 { // a name may no longer mean it
		events, err := w.tx.Events.Of(self.HazardID)
		if err != nil {
			return at, err
		}
		together = len(events) > 1
	}
	if !elsewhere && len(g.absorbed) == 0 && !(moved && (byRule || together)) {
		return spot{hazardID: self.HazardID, why: self.Joined}, nil
	}
	if before != nil {
		if refs, err = w.tx.Events.Refs(self.Name()); err != nil {
			return at, err
		}
	}
	c, err := w.clusterOf(self, refs, named, g, drill, false)
	if err != nil {
		return at, err
	}
	c.slight, c.own = d.slight, own
	from := self.HazardID
	if err := c.rearrange(self); err != nil {
		return at, err
	}
	for _, a := range g.absorbed {
		c.leave(a.hazardID, self.HazardID)
	}
	if err := c.settle(self.HazardID); err != nil { // settle its own hazard with the present state of self
		return at, err
	}
	at = spot{hazardID: self.HazardID, why: self.Joined, again: c.again}
	if self.HazardID == 0 {
		at.left = from
	}
	return at, nil
}

// namesakes stores the names of a group's event at other sources, and returns the other events that
// share a name with it and are the same. Of a new event it also returns all these names.
func (w *writer) namesakes(g *group, before, self *store.Event, refs []string, moved bool) (same []store.Event, all []string, err error) {
	for _, ref := range refs {
		if err := w.addRef(ref, g.event); err != nil {
			return nil, nil, err
		}
	}
	names := refs
	for _, key := range g.keys { // and other sources' names with its keys
		if ref := w.src + ":" + key; w.refs[ref] {
			names = append(names, ref)
		}
	}
	if moved { // each name that it ever had may now mean something else
		earlier := w.tx.Events.Names
		if before == nil { // its keys are those of the reports
			earlier = w.tx.Events.Refs
		}
		if all, err = earlier(self.Name()); err != nil {
			return nil, nil, err
		}
		names = union(names, all)
	}
	same, err = w.called(self, names)
	return same, all, err
}

// event returns the stored form of an event of a hazard, for comparisons.
func (w *writer) event(own *hazard.EventState, hazardID int64) *store.Event {
	head := &own.Head
	return &store.Event{Source: head.Source, Key: head.Key, HazardID: hazardID, Type: head.Type, Start: head.Start, End: own.Over(), Point: w.where(own),
		Called: head.Called}
}

// where returns the place of an event for the rules, from its own source: its point, unless it is
// too far off, or else the middle of its area; nil if unknown.
func (w *writer) where(own *hazard.EventState) *hazard.Point {
	p := own.Head.Point
	if p != nil && own.Head.Type != hazard.Wildfire || rules[own.Head.Type].far == nil {
		return p
	}
	shapes, _, _ := w.named(own)
	placed := w.in.areas.place(own.Head.Areas, shapes)
	if len(placed) == 0 || p != nil && !isFarOff(&own.Head, placed) {
		return p
	}
	middle := w.in.areas.point(&placed[0])
	return &hazard.Point{Lon: round(middle.Lon), Lat: round(middle.Lat)}
}

// nowhere reports whether the place of an event is unknown.
func (w *writer) nowhere(own *hazard.EventState) bool {
	alone := *own
	at := w.place(&alone, []hazard.EventState{alone})
	return own.Head.Point == nil && at.unknown()
}

func samePoint(a, b *hazard.Point) bool { return a == b || a != nil && b != nil && *a == *b }

// joinByUUID joins a new event to the hazard that has its UUID, if one of the two is relayed: a
// hazard that was mirrored forth and back is the same, and so is a later report of its original
// source. A merged hazard leads to its successor.
func (w *writer) joinByUUID(self *store.Event, own *hazard.EventState) error {
	id := own.Head.UUID
	if id == uuid.Nil {
		id = hazard.EventUUID(self.Source, self.Key)
	}
	h, err := ifAny(w.tx.HazardByUUID(id))
	if err != nil || h == nil {
		return err
	}
	if h, err = w.successor(h.ID); err != nil || h.Drill() != (own.Head.Category == hazard.Exercise) {
		return err
	}
	all, err := w.derived(h.ID, store.EventName{})
	if err != nil {
		return err
	}
	if !own.Head.Relayed && (len(all) == 0 || slices.ContainsFunc(all, func(s hazard.EventState) bool { return !s.Head.Relayed })) {
		return nil
	}
	found, err := w.tx.Events.Verdicts(self.Name())
	if err != nil || slices.ContainsFunc(all, func(s hazard.EventState) bool { return found[self.Name()][nameOf(&s)] == store.Apart }) {
		return err
	}
	for i := range all { // it follows that event
		if name := nameOf(&all[i]); id == all[i].Head.UUID || id == hazard.EventUUID(name.Source, name.Key) {
			if err := w.tx.Events.SaveVerdict(self.Name(), name, store.One); err != nil {
				return err
			}
		}
	}
	self.HazardID, self.Joined = h.ID, "has the same uuid"
	return nil
}

// maxSuccessors bounds the chain of successors of a merged hazard.
const maxSuccessors = 10

// called returns the other events that share one of names with e and are the same.
func (w *writer) called(e *store.Event, names []string) (all []store.Event, err error) {
	for _, name := range names {
		called, err := w.tx.Events.Called(name)
		if err != nil {
			return nil, err
		}
		for _, o := range called {
			if o.Name() != e.Name() && namesMean(name, e, &o) && !slices.ContainsFunc(all, func(a store.Event) bool { return a.Name() == o.Name() }) {
				all = append(all, o)
			}
		}
	}
	return all, nil
}

// namesMean reports whether two events with the common name ref are the same. Names can repeat: a
// volcano's number identifies the mountain, but each eruption is a hazard. A tsunami is a hazard of
// its own beside its earthquake. Two alerts of one feed are not two languages of one alert.
func namesMean(ref string, a, b *store.Event) bool {
	if a.Source == b.Source && strings.HasPrefix(ref, hazard.AgainElsewhereRef) || strings.HasPrefix(ref, waits) || strings.HasPrefix(ref, issues) {
		return false
	}
	return (a.Type == hazard.Tsunami) == (b.Type == hazard.Tsunami) && overlap(a, b, keyLife)
}
