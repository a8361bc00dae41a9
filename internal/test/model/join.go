package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// partOf lists the events of a hazard.
func (w *World) partOf(h *Hazard) []*event {
	return slices.DeleteFunc(slices.Clone(w.events), func(e *event) bool { return e.hazard != h })
}

func (e *event) before(o *event) int {
	return cmp.Or(cmp.Compare(e.Source, o.Source), cmp.Compare(e.Key, o.Key))
}

func pairOf(a, b *event) [2]Name {
	if a.before(b) > 0 {
		a, b = b, a
	}
	return [2]Name{a.Name, b.Name}
}

// regroup determines which events are one hazard. It starts from people's decisions only. So the
// result depends on the events alone, not on the order of their arrival. self, if not nil, may be
// new.
func (w *World) regroup(self *event) {
	var groups [][]*event
	for _, e := range w.events {
		if e.hazard != nil || e == self {
			groups = append(groups, []*event{e})
		}
	}
	find := func(e *event) int {
		return slices.IndexFunc(groups, func(g []*event) bool { return slices.Contains(g, e) })
	}
	unite := func(a, b *event, byRule bool) {
		i, j := find(a), find(b)
		if i == j || w.split(groups[i], groups[j]) || byRule && a.heard.head.Type != hazard.Cyclone && shareSource(groups[i], groups[j]) ||
			w.protected(groups[i])+w.protected(groups[j]) > 1 || a.drill != b.drill {
			return
		}
		groups[i] = append(groups[i], groups[j]...)
		groups = slices.Delete(groups, j, j+1)
	}
	// Editors' hazards that had no event when a person moved events there.
	for _, h := range w.Hazards {
		if maker := w.maker(h); maker != nil {
			for _, e := range w.partOf(h) {
				if e.why == byPerson && e != maker && !w.foundOne(e) {
					unite(maker, e, false)
				}
			}
		}
	}
	// First people's decisions, then names, then rules with the best fit first.
	type pair struct {
		a, b *event
		far  float64
	}
	var found, names, rules []pair
	for i, a := range w.events {
		for _, b := range w.events[i+1:] {
			if find(a) < 0 || find(b) < 0 {
				continue
			}
			p := pair{a, b, misfit(&a.heard, &b.heard)}
			if a.before(b) > 0 {
				p.a, p.b = b, a
			}
			if w.one[pairOf(a, b)] {
				found = append(found, pair{p.a, p.b, 0})
			}
			if shareName(a, b) {
				names = append(names, pair{p.a, p.b, 0})
			}
			if (a.Source != b.Source || a.heard.head.Type == hazard.Cyclone) && p.far <= 1 {
				rules = append(rules, p)
			}
		}
	}
	for i, pairs := range [][]pair{found, names, rules} {
		slices.SortFunc(pairs, func(p, q pair) int {
			return cmp.Or(cmp.Compare(p.far, q.far), p.a.before(q.a), p.b.before(q.b))
		})
		for _, p := range pairs {
			unite(p.a, p.b, i == 2)
		}
	}
	w.house(groups, self)
}

// maker returns the event that always stays with a hazard: the event that made it, or for an
// editor's hazard its first event.
func (w *World) maker(h *Hazard) *event {
	if i := slices.IndexFunc(w.events, func(e *event) bool { return slices.Contains(e.alsoMade, h) }); i >= 0 {
		return w.events[i]
	}
	events := w.partOf(h)
	if len(events) == 0 {
		return nil
	}
	order := []reason{made, byPerson, byRule}
	return slices.MinFunc(events, func(a, b *event) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.why), slices.Index(order, b.why)), a.before(b))
	})
}

func (w *World) split(a, b []*event) bool {
	return slices.ContainsFunc(a, func(x *event) bool {
		return slices.ContainsFunc(b, func(y *event) bool {
			one, decided := w.one[pairOf(x, y)]
			return decided && !one
		})
	})
}

// foundOne reports whether a person declared an event to be one with another.
func (w *World) foundOne(e *event) bool {
	for pair, one := range w.one {
		if one && (pair[0] == e.Name || pair[1] == e.Name) {
			return true
		}
	}
	return false
}

func shareSource(a, b []*event) bool {
	return slices.ContainsFunc(a, func(x *event) bool {
		return slices.ContainsFunc(b, func(y *event) bool { return x.Source == y.Source })
	})
}

// protected counts the active hazards of a group of events that are under people's control. No
// source ends such a hazard.
func (w *World) protected(g []*event) (n int) {
	for _, h := range w.goOn(g) {
		if h.source == "" && h.Now().Status == hazard.Active {
			n++
		}
	}
	return n
}

// goOn lists the hazards that stay with the events of a group.
func (w *World) goOn(g []*event) (list []*Hazard) {
	for _, h := range w.Hazards {
		if maker := w.maker(h); maker != nil && slices.Contains(g, maker) {
			list = append(list, h)
		}
	}
	return list
}

// house assigns a hazard to each group: the oldest that its events made, or else one that an event
// of the group made earlier, or else a new one. A hazard without events is merged into the hazard
// to which the event that made it has moved.
func (w *World) house(groups [][]*event, self *event) {
	type home struct {
		events []*event
		list   []*Hazard
	}
	var homes []home
	for _, g := range groups {
		slices.SortFunc(g, (*event).before)
		homes = append(homes, home{g, w.goOn(g)})
	}
	age := func(g home) int {
		if len(g.list) == 0 {
			return len(w.Hazards)
		}
		return slices.Index(w.Hazards, g.list[0])
	}
	slices.SortFunc(homes, func(a, b home) int { return cmp.Or(age(a)-age(b), a.events[0].before(b.events[0])) })
	makers := map[*Hazard]*event{}
	for _, h := range w.Hazards {
		makers[h] = w.maker(h)
	}
	for _, g := range homes {
		var into *Hazard
		var maker *event
		if len(g.list) > 0 {
			into = slices.MinFunc(g.list, func(a, b *Hazard) int { return cmp.Or(w.worth(a) - w.worth(b)) })
		}
		for _, e := range g.events {
			if into == nil {
				if into = w.former(e); into != nil {
					maker = e
				}
			}
		}
		for _, e := range g.events {
			if s := e.word(w.now); into == nil && e != self && !s.head.Minor && !s.nowhere() {
				into, maker = w.newHazard(e), e
			}
		}
		if into == nil && slices.Contains(g.events, self) && !(self.slight && self.heard.head.Minor) && !self.heard.nowhere() {
			into, maker = w.newHazard(self), self
		}
		for _, e := range g.events {
			switch {
			case into == nil: // all events are too slight or have no place
				w.leaveProducts(e)
				e.hazard, e.drawn = nil, nil
				continue
			case e == maker:
				w.move(e, into)
				e.why = made
			case e.put == into && (e.hazard != into || e.why != made):
				w.move(e, into)
				e.why = byPerson
			case e.hazard != into && e.why != byPerson:
				w.move(e, into)
				e.why = byRule
			}
			w.move(e, into)
		}
	}
	var empty []*Hazard
	for _, h := range w.Hazards {
		if len(w.partOf(h)) == 0 && h.kept == nil && h.source != "" {
			w.keep(h)
			empty = append(empty, h)
		}
	}
	w.settle(w.now)
	for _, h := range empty {
		w.absorb(h, makers[h].hazard, false)
	}
	w.settle(w.now)
}

// keep fixes the present state of a hazard.
func (w *World) keep(h *Hazard) {
	s := *h.Now()
	if h.kept == nil { // otherwise its events had left it before
		h.wasActive, h.absorbed, h.carried = s.Status == hazard.Active, false, nil
	}
	h.kept, h.keptDecisions = &s, len(h.decided)
}

// worth orders hazards that become one: active hazards of people first, hazards ended by an editor
// last.
func (w *World) worth(h *Hazard) int {
	s := h.Now()
	switch {
	case h.source == "" && s.Status == hazard.Active:
		return 0
	case s.EditedField("status") && s.Status == hazard.Expired:
		return 2
	}
	return 1
}

// former returns the hazard that an event once made and that now has no event. It returns nil if
// there is none, or if an editor has ended it.
func (w *World) former(e *event) *Hazard {
	for _, h := range w.Hazards {
		if h.UUID == hazard.EventUUID(e.Source, e.Key) && h.source == e.Source && len(w.partOf(h)) == 0 && !h.Now().EditedField("status") {
			if h.kept != nil && h.absorbed {
				h.void(h.mergedAt)
				if n := len(h.Ends) - 1; n >= 0 && h.Ends[n].into != nil { // that merge is undone
					h.Ends = h.Ends[:n]
				}
				w.bringBack(h, h.carried, e)
				h.goesOn = h.wasActive
			}
			h.kept = nil
			return h
		}
	}
	return nil
}

func (w *World) newHazard(e *event) *Hazard {
	h := &Hazard{UUID: hazard.EventUUID(e.Source, e.Key), source: e.Source, org: hazard.NoOrg, made: w.now, creator: e.heard.head.Creator, drill: e.drill, first: e.heard}
	if id := e.heard.head.UUID; id != uuid.Nil && !slices.ContainsFunc(w.Hazards, func(o *Hazard) bool { return o.UUID == id }) {
		h.UUID = id
	}
	for n := 2; slices.ContainsFunc(w.Hazards, func(o *Hazard) bool { return o.UUID == h.UUID }); n++ {
		h.UUID = hazard.EventUUID(e.Source, fmt.Sprint(e.Key, "#", n))
	}
	w.Hazards = append(w.Hazards, h)
	return h
}

// absorb ends a hazard that was merged into another.
func (w *World) absorb(h, into *Hazard, byPerson bool) {
	s := h.kept
	reason := hazard.EndMerged
	if into.Now().Status != hazard.Active {
		reason = cmp.Or(into.Now().Reason, hazard.EndExpired)
	}
	before := *s
	if s.Status == hazard.Active || reason == hazard.EndMerged && (!s.EditedField("status") || byPerson) {
		if s.Status == hazard.Active {
			s.End = max(w.now, s.Start)
		}
		if !h.absorbed {
			h.absorbed, h.mergedAt = true, h.keptDecisions
		}
		s.Status, s.Reason, s.Successor = hazard.Expired, reason, into.UUID
		taken := w.carry(h, into)
		h.carried = append(slices.Clone(h.carried), taken...)
		if reason == hazard.EndMerged {
			h.Ends = append(h.Ends, &End{carried: taken, At: w.now, Reason: reason, hazard: h, since: len(h.decided), before: before, into: into, moves: w.moved[h]})
		}
		if reason != hazard.EndExpired && !s.EditedField("severity_ID") {
			s.Severity = hazard.Termination
		}
	}
}

// shareName reports whether two events share a name and a time: one names the other, or both name a
// third.
func shareName(a, b *event) bool {
	return (a.heard.head.Type == hazard.Tsunami) == (b.heard.head.Type == hazard.Tsunami) && slices.ContainsFunc(a.names(), func(name string) bool {
		return slices.Contains(b.names(), name) && overlap(&a.heard, &b.heard, keyLife)
	})
}

// names returns all names that an event ever had.
func (e *event) names() []string {
	names := append([]string{e.Source + ":" + e.Key}, e.refs...)
	for _, key := range e.keys {
		names = append(names, e.Source+":"+key)
	}
	for _, t := range e.told {
		if t.report != nil {
			names = append(names, t.report.Refs...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// misfit returns how badly two events fit by the rule of their type, from 0 (the same) to 1 (just
// fits). If it is greater, they are two events.
func misfit(a, b *word) float64 {
	if a.head.Type != b.head.Type {
		return math.Inf(1)
	}
	km := math.Inf(1)
	if a.point != nil && b.point != nil {
		km = geo.Distance(a.point.Lon, a.point.Lat, b.point.Lon, b.point.Lat) / 1000
	}
	switch t := a.head.Type; {
	case !together(t, a.start, b.start):
	case t == hazard.Earthquake:
		return math.Hypot(math.Abs(float64(a.start-b.start))/16_000, km/100)
	case t == hazard.Cyclone && overlap(a, b, 3*day) && a.called != "" && strings.EqualFold(a.called, b.called):
		return 0
	case t == hazard.Volcano && overlap(a, b, 8*day):
		return km / 10
	case t == hazard.Wildfire && overlap(a, b, 7*day) && (a.called == "" || b.called == ""):
		return km / 2
	case t == hazard.Wildfire && overlap(a, b, 7*day) && shareWord(a.called, b.called):
		return km / 5
	}
	return math.Inf(1)
}

const day = 24 * time.Hour

// together reports whether two events of a type that begin at these moments may be one by the rule
// of the type.
func together(t hazard.Type, a, b instant) bool {
	most, ok := map[hazard.Type]time.Duration{hazard.Earthquake: 16 * time.Second, hazard.Cyclone: 45 * day, hazard.Volcano: 365 * day, hazard.Wildfire: 60 * day}[t]
	return ok && a <= b.Add(most) && b <= a.Add(most)
}

// shareWord reports whether two names share a word that identifies a fire.
func shareWord(a, b string) bool {
	for _, word := range strings.Fields(strings.ToLower(a)) {
		if len(word) > 2 && word != "fire" && word != "complex" && slices.Contains(strings.Fields(strings.ToLower(b)), word) {
			return true
		}
	}
	return false
}

func overlap(a, b *word, slack time.Duration) bool {
	return a.start <= b.over().Add(slack) && b.start <= a.over().Add(slack)
}
