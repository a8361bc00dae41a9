package intake

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
	namelessKm = 2 // of fires of which one has no name, as where satellites saw it
)

// rules by type of hazard. For other types nothing is guessed.
var rules = map[hazard.Type]rule{
	// USGS PDL, docs/indexer.md (association): 16 s and 100 km, the nearest. 60 s would catch aftershocks.
	hazard.Earthquake: {16 * time.Second, 0, func(a, b *store.Event) float64 {
		return math.Hypot(seconds(a, b)/16, kilometres(a, b)/100)
	}},
	// One name in one season is one storm, in whatever basin it has gone to.
	hazard.Cyclone: {45 * 24 * time.Hour, 0, func(a, b *store.Event) float64 {
		if a.Called == "" || !strings.EqualFold(a.Called, b.Called) || !overlap(a, b, 3*24*time.Hour) {
			return math.Inf(1)
		}
		return 0
	}},
	// A volcano does not move: within 10 km it is the same, and it is the same eruption while one goes on.
	hazard.Volcano: {365 * 24 * time.Hour, volcanoKm, func(a, b *store.Event) float64 {
		if !overlap(a, b, 8*24*time.Hour) {
			return math.Inf(1)
		}
		return kilometres(a, b) / volcanoKm
	}},
	// Fires near each other are many; a common name beside the place makes them one, or, where one has no name, a place that is
	// hardly apart (D30: one of EONET and one of GDACS, 1.3 km).
	hazard.Wildfire: {60 * 24 * time.Hour, wildfireKm, func(a, b *store.Event) float64 {
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
	called := func(key string) bool { return w.refs[w.src+":"+key] }
	if len(r.Refs) > 0 || called(r.Key) || slices.ContainsFunc(r.Aliases, called) {
		return true
	}
	rule, ok := rules[r.Type]
	if !ok {
		return false
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

// join finds the hazard that a group's event is part of: by what sources call it, by the rule of its
// type, and by what people decided. Where the event changes which other events are one, they move
// too. It returns why the event is part of its hazard; empty if it made it.
func (w *writer) join(g *group, own *hazard.Said, slight bool) (why string, err error) {
	self := w.event(own, g.hazardID)
	moved := true // whether it is to be compared anew
	if before := g.before; before != nil {
		self.Joined = before.Joined
		moved = before.Type != self.Type || before.Start != self.Start || before.End != self.End || before.Called != self.Called ||
			!samePoint(before.Point, self.Point)
	}
	drill := own.Head.Category == hazard.Exercise
	if g.hazardID != 0 { // what its hazard is, whatever its source says later
		h, err := w.tx.Hazard(g.hazardID)
		if err != nil {
			return "", err
		}
		drill = h.Drill()
	}
	if err := w.joinByUUID(g, self, own); err != nil {
		return "", err
	}
	refs := union(own.Head.Refs, g.refs)
	for _, ref := range refs {
		if err := w.addRef(ref, g.event); err != nil {
			return "", err
		}
	}
	names := slices.Clone(refs)
	for _, key := range g.keys { // and what others call it by its keys
		if ref := w.src + ":" + key; w.refs[ref] {
			names = append(names, ref)
		}
	}
	if moved { // each name that it ever had may have another meaning now
		earlier := w.tx.Names
		if g.before == nil { // its keys are those of the reports
			earlier = w.tx.Refs
		}
		more, err := earlier(self.Name())
		if err != nil {
			return "", err
		}
		names = union(names, more)
	}
	named, err := w.called(self, names)
	if err != nil {
		return "", err
	}
	_, byRule := rules[self.Type]
	if g.before != nil && !byRule { // of another type, it may have been joined by the rule of that
		_, byRule = rules[g.before.Type]
	}
	elsewhere := slices.ContainsFunc(named, func(e store.Event) bool { return e.HazardID != self.HazardID })
	together := len(named) > 0
	if !together && moved && self.HazardID != 0 { // a name may no longer mean it
		events, err := w.tx.Events(self.HazardID)
		if err != nil {
			return "", err
		}
		together = len(events) > 1
	}
	if !elsewhere && len(g.absorbed) == 0 && !(moved && (byRule || together)) {
		return self.Joined, nil
	}
	if refs, err = w.tx.Refs(self.Name()); err != nil {
		return "", err
	}
	c, err := w.clusterOf(self, refs, named, g, drill)
	if err != nil {
		return "", err
	}
	c.slight, c.own = slight, own
	from := self.HazardID
	if err := c.rearrange(self); err != nil {
		return "", err
	}
	for _, a := range g.absorbed {
		c.leave(a.hazardID, self.HazardID)
	}
	if err := c.settle(self.HazardID); err != nil { // its own is settled with what self says now
		return "", err
	}
	if g.hazardID = self.HazardID; from != 0 && self.HazardID == 0 {
		g.left = from
	}
	return self.Joined, nil
}

// event is what is kept of an event of a hazard, of which own is said, to compare others with.
func (w *writer) event(own *hazard.Said, hazardID int64) *store.Event {
	head := &own.Head
	return &store.Event{Source: head.Source, Key: head.Key, HazardID: hazardID, Type: head.Type, Start: head.Start, End: own.Over(), Point: w.where(own),
		Called: head.Called}
}

// where is where an event is for the rules, by what its own source says: its point, unless it is far off; else the middle of its area. nil: it
// does not say.
func (w *writer) where(own *hazard.Said) *hazard.Point {
	p := own.Head.Point
	if p != nil && own.Head.Type != hazard.Wildfire || rules[own.Head.Type].far == nil {
		return p
	}
	shapes, _, _ := w.named(own)
	placed := w.in.areas.place(own.Head.Areas, shapes)
	if len(placed) == 0 || p != nil && !isFarOff(&own.Head, placed) {
		return p
	}
	lon, lat := placed[0].shape.Point()
	return &hazard.Point{Lon: round(lon), Lat: round(lat)}
}

// nowhere reports whether nothing that is said of an event tells where it is.
func (w *writer) nowhere(own *hazard.Said) bool {
	alone := *own
	return own.Head.Point == nil && len(w.place(&alone, []hazard.Said{alone})) == 0
}

func samePoint(a, b *hazard.Point) bool { return a == b || a != nil && b != nil && *a == *b }

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
	if !own.Head.Relayed && (len(all) == 0 || slices.ContainsFunc(all, func(s hazard.Said) bool { return !s.Head.Relayed })) {
		return nil
	}
	found, err := w.tx.VerdictsOfEvent(self.Name())
	if err != nil || slices.ContainsFunc(all, func(s hazard.Said) bool { return found[self.Name()][nameOf(&s)] == store.Apart }) {
		return err
	}
	for i := range all { // wherever that event goes, this one goes
		if name := nameOf(&all[i]); id == all[i].Head.UUID || id == hazard.EventUUID(name.Source, name.Key) {
			if err := w.tx.SaveVerdict(self.Name(), name, store.One); err != nil {
				return err
			}
		}
	}
	g.hazardID, self.HazardID, self.Joined = h.ID, h.ID, "has the same uuid"
	return nil
}

// maxSuccessors bounds how many times a hazard is followed to the one that it was merged into.
const maxSuccessors = 10

// called lists the other events that one of names makes one with e: those that have it too.
func (w *writer) called(e *store.Event, names []string) (all []store.Event, err error) {
	for _, name := range names {
		called, err := w.tx.Called(name)
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

// namesMean reports whether two events that have the name ref in common are one. Names come round: the number of a volcano names the
// mountain, whose eruptions are one hazard each. A tsunami is a hazard of its own, beside the earthquake that made it. Two alerts of
// one feed are no two languages of one.
func namesMean(ref string, a, b *store.Event) bool {
	if a.Source == b.Source && strings.HasPrefix(ref, hazard.AgainElsewhereRef) || strings.HasPrefix(ref, waits) {
		return false
	}
	return (a.Type == hazard.Tsunami) == (b.Type == hazard.Tsunami) && overlap(a, b, keyLife)
}
