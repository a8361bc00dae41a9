package fuse

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// maxCluster bounds how many events are compared with each other. Even the aftershocks of a great
// earthquake have fewer within the seconds that matter.
const maxCluster = 300

// The prefixes of reasons for a join by a name or a rule. Any other reason is a person's decision,
// which holds whatever the sources report.
const (
	fromName = "named "
	fromRule = "near "
)

// decided reports whether a person's decision joined an event to its hazard.
func decided(joined string) bool {
	return joined != "" && !strings.HasPrefix(joined, fromName) && !strings.HasPrefix(joined, fromRule)
}

// cluster is the set of events around one event: those near it, or with a common name or hazard,
// and those around these in turn. It divides them into groups, one per hazard. The groups depend
// only on the events and on people's decisions, not on the order of arrival:
//
//   - The event that made a hazard stays with it.
//   - Events that a person found to be one are one.
//   - Events that share a name are one.
//   - Then the two groups with the events that fit best by the rule of their type are one, and so
//     on. Only the rule of cyclones puts two events of one source together.
//   - Events that a person has split are never in one group, whatever is in between. Nor are two
//     active hazards that people decide about.
type cluster struct {
	w       *writer
	events  []*store.Event
	at      map[store.EventName]int      // event → index in events
	hazards map[int64]*hazard.Hazard     // hazards of the events
	found   store.Verdicts               // people's decisions about pairs of events
	refs    map[store.EventName][]string // event → its names at other sources
	groups  *sets                        // events that are the same
	made    map[int][]int64              // root of a group → hazards that its events created
	name    []string                     // event → a name that it shares with another event
	// touched are the hazards to settle → the hazard that the last leaving event moved to
	touched map[int64]int64
	slight  bool               // self is too slight to make a hazard
	again   bool               // other events wait for the hazard that self is to make
	own     *hazard.EventState // the state of self
	put     store.Event        // an event that is the same as self and that a decision put into its hazard
	heir    map[int64]int64    // ending hazard → the new hazard of the event that created it
}

// clusterOf collects the events around self, the event of group g. refs are self's names at other
// sources; named are events with a common name. With moved, a person's decision has just moved
// events: then the events that share a name with one of them may be in any hazard. Otherwise they
// are in the same one, unless a split keeps them away.
func (w *writer) clusterOf(self *store.Event, refs []string, named []store.Event, g *group, drill, moved bool) (*cluster, error) {
	c := &cluster{w: w, events: []*store.Event{self}, at: map[store.EventName]int{self.Name(): 0}, hazards: map[int64]*hazard.Hazard{},
		refs: map[store.EventName][]string{}, found: store.Verdicts{}, made: map[int][]int64{},
		touched: map[int64]int64{}, heir: map[int64]int64{}, put: g.put}
	for _, a := range append(g.absorbed, absorbed{hazardID: self.HazardID}) { // without those that leave, others may match again
		if err := c.addHazard(a.hazardID, drill); err != nil {
			return nil, err
		}
	}
	if err := c.addHazardsOf(named, drill); err != nil {
		return nil, err
	}
	found, err := w.tx.Events.Verdicts(self.Name())
	if err != nil {
		return nil, err
	}
	c.refs[self.Name()] = refs // not all of self's names are stored yet
	maps.Copy(c.found, found)
	for i := 0; i < len(c.events) && len(c.events) < maxCluster; i++ {
		around, err := w.near(c.events[i])
		if err != nil {
			return nil, err
		}
		for other, v := range c.found[c.events[i].Name()] {
			if _, here := c.at[other]; here || v != store.One {
				continue
			}
			if e, ok, err := w.tx.Events.Find(other); err != nil {
				return nil, err
			} else if ok {
				around = append(around, e)
			}
		}
		if moved || len(c.found) > 0 {
			names, err := w.tx.Events.Names(c.events[i].Name())
			if err != nil {
				return nil, err
			}
			called, err := w.called(c.events[i], union(names, c.refs[c.events[i].Name()]))
			if err != nil {
				return nil, err
			}
			around = append(around, called...)
		}
		if err := c.addHazardsOf(around, drill); err != nil {
			return nil, err
		}
	}
	c.groups, c.name = newSets(len(c.events)), make([]string, len(c.events))
	return c, c.partition(named, g.made)
}

// regroup divides the events around e, an event of hazard h, again: after a person's decision, or
// because h is available now. The caller then settles h itself and ends emptied hazards.
func (w *writer) regroup(e *store.Event, h *hazard.Hazard) error {
	refs, errR := w.tx.Events.Refs(e.Name())
	names, errN := w.tx.Events.Names(e.Name())
	if err := errors.Join(errR, errN); err != nil {
		return err
	}
	named, err := w.called(e, names)
	if err != nil {
		return err
	}
	c, err := w.clusterOf(e, refs, named, &group{}, h.Drill(), true)
	if err != nil {
		return err
	}
	if err := c.rearrange(nil); err != nil {
		return err
	}
	but := h.ID
	if left, err := w.tx.Events.Of(h.ID); err != nil {
		return err
	} else if len(left) == 0 {
		but = 0
	}
	return c.settle(but)
}

func (c *cluster) addHazardsOf(events []store.Event, drill bool) error {
	for _, e := range events {
		if err := c.addHazard(e.HazardID, drill); err != nil {
			return err
		}
	}
	return nil
}

// addHazard adds the events of a hazard if it is a drill, or if it is real, as drill says.
func (c *cluster) addHazard(id int64, drill bool) error {
	if _, known := c.hazards[id]; id == 0 || known {
		return nil
	}
	h, err := c.w.tx.Hazard(id)
	if err != nil {
		return err
	}
	if c.hazards[id] = h; h.Drill() != drill {
		return nil
	}
	events, errE := c.w.tx.Events.Of(id)
	refs, errR := c.w.tx.Events.RefsOfHazard(id)
	found, errF := c.w.tx.Events.VerdictsOfHazard(id)
	if err := errors.Join(errE, errR, errF); err != nil {
		return err
	}
	maps.Copy(c.refs, refs)
	maps.Copy(c.found, found)
	for i := range events {
		if _, known := c.at[events[i].Name()]; !known {
			c.at[events[i].Name()] = len(c.events)
			c.events = append(c.events, &events[i])
		}
	}
	return nil
}

// near returns the other events that the rule of e's type may join with e.
func (w *writer) near(e *store.Event) (near []store.Event, err error) {
	rule, ok := rules[e.Type]
	from, to := e.Start.Add(-rule.window), e.Start.Add(rule.window)
	switch {
	case !ok:
	case rule.within == 0:
		if !rule.renumbers && e.Source == w.src && w.others != nil {
			if others, err := w.others.near(e.Type, e.Start); err != nil || !others {
				return nil, err
			}
		}
		near, err = w.tx.Events.Starting(e.Type, from, to)
	case e.Point != nil: // without a point, no distance is known
		near, err = w.tx.Events.Near(e.Type, from, to, geo.Around(e.Point.Lon, e.Point.Lat, rule.within*1000), e.Source)
	}
	return slices.DeleteFunc(near, func(o store.Event) bool {
		return o.Name() == e.Name() || !rule.compares(o.Source, e.Source) || rule.far(e, &o) > 1
	}), err
}

func (c *cluster) partition(named []store.Event, made []int64) error {
	c.stay(made)
	self := c.groups.root(0)
	c.made[self] = append(c.made[self], made...)
	links, err := c.links(named)
	if err != nil {
		return err
	}
	for _, p := range append(c.foundOne(), links...) {
		c.unite(p.a, p.b)
	}
	for _, p := range c.pairs() {
		rule := rules[c.events[p.a].Type]
		if !c.anyTwo(p.a, p.b, func(a, b *store.Event) bool { return !rule.compares(a.Source, b.Source) }) {
			c.unite(p.a, p.b)
		}
	}
	return nil
}

// stay groups the event that created a hazard with events that a decision put there without naming
// another event: events of an editor's hazard, and events with its UUID. If none of its events
// created the hazard, the first of them keeps it.
func (c *cluster) stay(made []int64) {
	byHazard := map[int64][]int{}
	for i, e := range c.events {
		if e.HazardID != 0 {
			byHazard[e.HazardID] = append(byHazard[e.HazardID], i)
		}
	}
	join := func(maker int, members []int) {
		for _, i := range members {
			if e := c.events[i]; i != maker && decided(e.Joined) && !c.namesAnother(e) && !c.apart(maker, i) {
				c.groups.unite(maker, i)
			}
		}
	}
	for id, members := range byHazard {
		if slices.Contains(made, id) {
			continue
		}
		slices.SortFunc(members, func(i, j int) int { return compareMakers(*c.events[i], *c.events[j]) })
		c.made[members[0]] = []int64{id}
		join(members[0], members)
	}
	for _, id := range made { // self keeps it
		join(0, byHazard[id])
	}
}

// compareMakers orders the events of a hazard: the first one keeps the hazard.
func compareMakers(a, b store.Event) int {
	return cmp.Or(first(a.Joined == "", b.Joined == ""), first(decided(a.Joined), decided(b.Joined)), compareEvents(&a, &b))
}

// namesAnother reports whether a person decided that an event is the same as another.
func (c *cluster) namesAnother(e *store.Event) bool {
	return slices.Contains(slices.Collect(maps.Values(c.found[e.Name()])), store.One)
}

// foundOne returns the pairs of events that people decided are the same.
func (c *cluster) foundOne() (pairs []pair) {
	for i, e := range c.events {
		for j, o := range c.events[:i] {
			if c.found[e.Name()][o.Name()] == store.One {
				pairs = append(pairs, pair{a: i, b: j})
			}
		}
	}
	return c.sort(pairs)
}

// pair is two events of a cluster, and how badly they match by a rule.
type pair struct {
	a, b int
	far  float64
}

// links returns the pairs of events with a common name.
func (c *cluster) links(named []store.Event) (links []pair, err error) {
	link := func(i, j int, name string) {
		links = append(links, pair{a: i, b: j})
		c.name[i], c.name[j] = cmp.Or(c.name[i], name), cmp.Or(c.name[j], name)
	}
	called := map[string][]int{} // name → events with it
	for i, e := range c.events {
		own := e.Source + ":" + e.Key
		called[own] = append(called[own], i)
		for _, ref := range c.refs[e.Name()] {
			called[ref] = append(called[ref], i)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(called)) {
		of := called[ref]
		scheme, key, _ := strings.Cut(ref, ":")
		_, first := c.at[store.EventName{Source: scheme, Key: key}]
		if !first && slices.ContainsFunc(c.events, func(e *store.Event) bool { return e.Source == scheme }) {
			// A source may know an event by several keys.
			event, _, err := c.w.tx.Events.Key(scheme, key)
			if err != nil && !errors.Is(err, hazard.ErrNotFound) {
				return nil, err
			}
			if i, ok := c.at[store.EventName{Source: scheme, Key: event}]; ok && err == nil && !slices.Contains(of, i) {
				of = append(of, i)
			}
		}
		for n, i := range of {
			for _, j := range of[:n] {
				if i != j && namesMean(ref, c.events[i], c.events[j]) {
					link(i, j, ref)
				}
			}
		}
	}
	for i := range named { // by names of the first event that are not stored yet
		if j, ok := c.at[named[i].Name()]; ok {
			link(0, j, c.events[0].Source+":"+c.events[0].Key)
		}
	}
	return c.sort(links), nil
}

// pairs returns the pairs of events that match by the rule of their type, best
// first.
func (c *cluster) pairs() (pairs []pair) {
	for i, a := range c.events {
		for j, b := range c.events[:i] {
			rule, ok := rules[a.Type]
			if !ok || a.Type != b.Type || !rule.compares(a.Source, b.Source) {
				continue
			}
			if apart := max(a.Start, b.Start) - min(a.Start, b.Start); apart > hazard.Instant(rule.window.Milliseconds()) {
				continue
			}
			if far := rule.far(a, b); far <= 1 {
				pairs = append(pairs, pair{i, j, far})
			}
		}
	}
	return c.sort(pairs)
}

// sort orders pairs by how badly they match, equal ones by name, regardless of the order within a
// pair.
func (c *cluster) sort(pairs []pair) []pair {
	ordered := func(p pair) (*store.Event, *store.Event) {
		a, b := c.events[p.a], c.events[p.b]
		if compareEvents(a, b) > 0 {
			a, b = b, a
		}
		return a, b
	}
	slices.SortFunc(pairs, func(p, q pair) int {
		a, b := ordered(p)
		x, y := ordered(q)
		return cmp.Or(cmp.Compare(p.far, q.far), compareEvents(a, x), compareEvents(b, y))
	})
	return pairs
}

func compareEvents(a, b *store.Event) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Key, b.Key))
}

// anyTwo reports whether is holds for any event of a's group and any of b's.
func (c *cluster) anyTwo(a, b int, is func(a, b *store.Event) bool) bool {
	others := c.groups.of(b)
	return slices.ContainsFunc(c.groups.of(a), func(i int) bool {
		return slices.ContainsFunc(others, func(j int) bool { return is(c.events[i], c.events[j]) })
	})
}

// apart reports whether a person has split any event of a's group from any of b's.
func (c *cluster) apart(a, b int) bool {
	return c.anyTwo(a, b, func(a, b *store.Event) bool { return c.found[a.Name()][b.Name()] == store.Apart })
}

// unite merges the groups of two events, unless people decided otherwise.
func (c *cluster) unite(a, b int) {
	into, from := c.groups.root(a), c.groups.root(b)
	if into == from || c.apart(a, b) {
		return
	}
	made := slices.Concat(c.made[into], c.made[from])
	if !c.mayBeOne(made) {
		return
	}
	c.made[into] = made
	delete(c.made, from)
	c.groups.unite(into, from)
}

// mayBeOne reports whether at most one of the hazards is active and decided by people, because no
// source may end such a hazard.
func (c *cluster) mayBeOne(hazards []int64) bool {
	protected := 0
	for _, id := range hazards {
		if h := c.hazards[id]; ofPeople(h) && h.ActiveAt(c.w.now) {
			protected++
		}
	}
	return protected <= 1
}

// rearrange makes each group a hazard. self, if not nil, is the first event. It is not stored yet,
// and keeps HazardID 0 if it is to create a new hazard.
func (c *cluster) rearrange(self *store.Event) error {
	groups := map[int][]*store.Event{}
	for i, e := range c.events {
		groups[c.groups.root(i)] = append(groups[c.groups.root(i)], e)
	}
	order := slices.Collect(maps.Keys(groups))
	for _, g := range groups {
		slices.SortFunc(g, compareEvents)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(oldest(c.made[a]), oldest(c.made[b])), compareEvents(groups[a][0], groups[b][0]))
	})
	for _, g := range order {
		if err := c.settleGroup(groups[g], c.made[g], self); err != nil {
			return err
		}
	}
	return nil
}

// settle updates the hazards that rearrange has touched, except one, to what their events report.
func (c *cluster) settle(but int64) error {
	delete(c.touched, but)
	for _, id := range slices.Sorted(maps.Keys(c.touched)) {
		if err := c.w.settleOrEmpty(id, cmp.Or(c.heir[id], c.touched[id])); err != nil {
			return err
		}
	}
	return nil
}

func oldest(hazards []int64) int64 {
	if len(hazards) == 0 {
		return math.MaxInt64
	}
	return slices.Min(hazards)
}

// settleGroup puts the events of a group into one hazard. It takes one of the hazards that they
// created; otherwise one that an event created before it was merged; otherwise a new one.
func (c *cluster) settleGroup(events []*store.Event, made []int64, self *store.Event) error {
	if len(made) > 0 {
		into, err := c.w.keeper(made)
		if err != nil {
			return err
		}
		for _, id := range made {
			if id != into {
				c.heir[id] = into
			}
		}
		return c.move(events, into, nil, self)
	}
	for _, maker := range events {
		into, err := c.w.former(maker)
		if err != nil {
			return err
		}
		if into != 0 {
			return c.move(events, into, maker, self)
		}
	}
	var slight []*store.Event // slight events, like those without a place, create no hazard and follow one that does
	for _, maker := range events {
		if maker == self {
			continue
		}
		if state, _, err := c.w.stateOf(maker.Name()); err != nil {
			return err
		} else if state.Head.Minor {
			slight = append(slight, maker)
			continue
		}
		from := maker.HazardID
		into, err := c.w.alone(maker)
		if errors.Is(err, errNoPlace) {
			slight = append(slight, maker)
			continue
		}
		if err != nil {
			return err
		}
		c.leave(from, into)
		return c.move(events, into, maker, self)
	}
	if slices.Contains(events, self) {
		makes := !c.slight && !c.w.nowhere(c.own)
		if self.HazardID != 0 {
			c.leave(self.HazardID, 0)
			if err := c.w.drop(self, !makes); err != nil { // until it has its hazard
				return err
			}
		}
		if self.HazardID, self.Joined = 0, ""; makes {
			c.again = slight != nil
			return nil
		}
	}
	for _, e := range slight {
		c.leave(e.HazardID, 0)
		if err := c.w.drop(e, true); err != nil {
			return err
		}
	}
	return nil
}

// drop forgets an event that no longer belongs to a hazard; with slight also its products.
func (w *writer) drop(e *store.Event, slight bool) error {
	if slight {
		if _, err := w.gone(e.HazardID, e.Name(), nil); err != nil {
			return err
		}
	}
	w.went = append(w.went, e.Name())
	return w.tx.Events.Drop(e.Source, e.Key)
}

// leave marks a hazard to be settled, because events moved from it to hazard into.
func (c *cluster) leave(from, into int64) {
	if from != 0 {
		c.touched[from] = max(c.touched[from], into)
	}
}

// move moves events to hazard into. maker, if not nil, is the event that created it.
func (c *cluster) move(events []*store.Event, into int64, maker, self *store.Event) error {
	left := map[int64][]*store.Event{} // hazard → what leaves it
	for _, e := range events {
		put := e == self && into == c.put.HazardID
		if e.HazardID == into && (e.Joined == "" || e != maker && (!put || decided(e.Joined))) {
			continue
		}
		from := e.HazardID
		if from != 0 && from != into {
			c.w.noteEvent(e, into)
		}
		e.HazardID = into
		switch {
		case e == maker:
			e.Joined = ""
		case put:
			e.Joined = c.put.Joined
		case !decided(e.Joined):
			e.Joined = c.reason(e, events)
		}
		// Self is stored here too, so that every event is in its place when the hazards are
		// settled.
		if err := c.w.tx.Events.Save(e); err != nil {
			return err
		}
		c.leave(from, into)
		if from != 0 && from != into {
			left[from] = append(left[from], e)
		}
		if e != self {
			c.leave(into, into)
		}
	}
	return c.w.moveGiven(left, into)
}

// reason returns why an event belongs to a group.
func (c *cluster) reason(e *store.Event, group []*store.Event) string {
	if name := c.name[c.at[e.Name()]]; strings.HasPrefix(name, hazard.AgainRef) {
		return fromName + "alike: the same alert, issued again"
	} else if name != "" {
		return fromName + name
	}
	for _, o := range group {
		if c.found[e.Name()][o.Name()] == store.One {
			return fmt.Sprintf("%sone with %s:%s by a person", fromName, o.Source, o.Key)
		}
	}
	var best *store.Event
	rule, ok := rules[e.Type]
	for _, o := range group {
		if ok && o != e && o.Type == e.Type && (best == nil || rule.far(e, o) < rule.far(e, best)) {
			best = o
		}
	}
	if best == nil {
		return fromRule + "it"
	}
	return fmt.Sprintf("%s%s:%s, which began %.1f s and lies %.0f km from it", fromRule, best.Source, best.Key, seconds(e, best), kilometres(e, best))
}

// former returns the hazard that an event created before a name or a rule joined it to another, and
// undoes that merge. It returns 0 if there is none, or if an editor has ended it.
func (w *writer) former(e *store.Event) (int64, error) {
	h, err := ifAny(w.tx.HazardByUUID(hazard.EventUUID(e.Source, e.Key)))
	if err != nil || h == nil || h.Source != e.Source || h.EditedField("status") {
		return 0, err
	}
	if events, err := w.tx.Events.Of(h.ID); err != nil || len(events) > 0 {
		return 0, err
	}
	for left := false; !left; { // it may have been merged again without its events
		m, err := ifAny(w.tx.Merges.Last(h.ID))
		if err != nil {
			return 0, err
		}
		if m == nil {
			break
		}
		if err := w.reopen(m, e); err != nil {
			return 0, err
		}
		left = slices.ContainsFunc(m.Events, func(moved store.MovedEvent) bool { return moved.EventName == e.Name() })
	}
	return h.ID, nil
}

// reopen undoes the merge m, because event e reactivates the hazard that ended by it.
func (w *writer) reopen(m *store.Merge, e *store.Event) error {
	back := map[int64]int64{}
	for _, moved := range m.Products {
		p, err := w.tx.Product(moved.ID)
		if err != nil {
			return err
		}
		if given := p.Event != "" && (p.Source != e.Source || p.Event != e.Key); !p.Deleted && p.HazardID == moved.To && !given {
			back[p.ID] = moved.Parent
		}
	}
	before, err := w.tx.HazardAsOf(m.From, m.Change-1)
	if err != nil {
		return err
	}
	if w.reopened == nil {
		w.reopened = map[int64]*hazard.Hazard{}
	}
	w.reopened[m.From] = before
	return errors.Join(w.bringBack(m, back, *e), w.tx.Merges.Drop(m.Change))
}
