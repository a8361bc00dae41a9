package fuse

import (
	"errors"
	"maps"
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// group is the transaction's reports about one event.
type group struct {
	event    string // its first key; for a new event the key of the first report
	reports  []hazard.Report
	from     []int              // indexes in input.given of those that were not carried
	carried  int                // how many of the first reports come from absorbed events
	keys     []string           // all names in the reports
	fresh    []string           // names that were unknown
	absorbed []absorbed         // other known events that are the same
	drawings []hazard.ShapesRef // drawings of the batch, and the shapes of absorbed events
	made     []int64            // hazards that the absorbed events created
	put      store.Event        // the last absorbed event that a person's decision put into its hazard
}

// absorbed is another event that is the same.
type absorbed struct {
	event    string
	hazardID int64
}

// group groups the reports that are not held back by event. Events linked by reports are the same.
func (w *writer) group(kept map[int]error) ([]*group, error) {
	var all []string
	for i := range w.given {
		all = append(append(all, w.given[i].Names()...), w.given[i].Earlier...)
	}
	known, err := meant(w.tx.Events.Named, w.src, all)
	if err != nil {
		return nil, err
	}
	l := newLinker(w, epochs(w.given, known), known)
	var asRefs []string
	for i := range l.reports {
		for _, name := range l.reports[i].Names() {
			asRefs = append(asRefs, w.src+":"+name)
		}
	}
	if w.refs, err = w.tx.Events.KnownRefs(asRefs); err != nil {
		return nil, err
	}
	for i := range l.reports {
		if kept[i] != nil {
			continue
		}
		if err := l.link(i); store.Broken(err) {
			return nil, &brokenError{[]int{i}, err}
		} else if err != nil {
			return nil, err
		}
	}
	groups := l.groups()
	var fresh []string
	var awaited []string // only few names identify events
	for _, g := range groups {
		if _, ok := l.events[g.event]; !ok {
			fresh = append(fresh, g.event)
		}
		awaited = append(awaited, g.awaited(w.src)...)
	}
	waiting, err := w.tx.Events.KnownRefs(awaited)
	maps.Copy(w.refs, waiting)
	return groups, errors.Join(err, w.tx.Events.Expect(w.src, fresh))
}

// awaited returns the names under which other events may wait for the group's event (successorRef).
func (g *group) awaited(src string) (refs []string) {
	for _, key := range g.keys {
		refs = append(refs, successorRef(src+":"+key))
	}
	for i := range g.reports {
		for _, ref := range g.reports[i].Refs {
			refs = append(refs, successorRef(ref))
		}
	}
	return refs
}

// linker finds out which reports of a transaction are about the same event, one after another.
type linker struct {
	w       *writer
	reports []hazard.Report        // with names that mean one event each
	known   map[string]store.Named // known events, by name
	events  map[string]store.Named // known events, by key
	sets    *sets                  // of reports about the same event
	of      map[string]int         // key of a known event, or unknown name → a report that means it
	means   [][]string             // report → keys of the known events that it names, and unknown names; empty if it is ignored
	keys    [][]string             // report → its names, unless it follows an event with an earlier key
}

func newLinker(w *writer, reports []hazard.Report, known map[string]store.Named) *linker {
	l := &linker{w: w, reports: reports, known: known, events: map[string]store.Named{}, sets: newSets(len(reports)),
		of: map[string]int{}, means: make([][]string, len(reports)), keys: make([][]string, len(reports))}
	for _, e := range known {
		l.events[e.Key] = e
	}
	return l
}

// link adds report i to the reports about the same event.
func (l *linker) link(i int) error {
	r := &l.reports[i]
	keys := r.Names()
	var means []string
	for _, name := range keys {
		if e, ok := l.known[name]; ok {
			name = e.Key
		}
		means = append(means, name)
	}
	issued, err := l.issued(r, means)
	if err != nil {
		return err
	}
	if issued != "" {
		means = append(means, issued)
	}
	followed, err := l.followed(r, means)
	switch {
	case err != nil:
		return err
	case followed != "":
		// The report's own key belongs to another event, now or later: numbers repeat each year.
		// The earlier key only applies to this report.
		means, keys = []string{followed}, nil
	default:
		r.Refs = union(r.Refs, plainNames(&l.w.given[i], r))
	}
	var linked []int // one report of each set
	for _, name := range means {
		if j, ok := l.of[name]; ok {
			linked = append(linked, l.sets.root(j))
		}
	}
	if linked == nil && r.Minor && !slices.ContainsFunc(means, func(name string) bool { return l.events[name].HazardID != 0 }) && !l.w.mayJoin(r) {
		l.w.res.Ignored++
		return nil
	}
	*r = r.Whole()
	linked = append(linked, i)
	slices.Sort(linked)
	for _, j := range linked[1:] {
		l.sets.unite(linked[0], j)
	}
	l.means[i], l.keys[i] = means, keys
	for _, name := range means {
		if _, ok := l.of[name]; !ok {
			l.of[name] = i
		}
	}
	return nil
}

// groups returns the linked reports, by event, in the order of their first reports.
func (l *linker) groups() (all []*group) {
	for i := range l.reports {
		if l.means[i] != nil && l.sets.root(i) == i {
			all = append(all, l.group(i))
		}
	}
	return all
}

// group returns the reports about the same event as report i.
func (l *linker) group(i int) *group {
	g := &group{from: l.sets.of(i)}
	var means []string
	for _, j := range g.from {
		g.reports = append(g.reports, l.reports[j])
		g.drawings = mergeShapes(g.drawings, l.w.drawings.of(l.w.given[j].Names()...))
		means = append(means, l.means[j]...)
		for _, key := range l.keys[j] {
			if !slices.Contains(g.keys, key) {
				g.keys = append(g.keys, key)
			}
		}
	}
	g.event = means[0]
	first := true
	for _, name := range means {
		e, ok := l.events[name]
		switch {
		case !ok:
		case first: // the first known one
			g.event, first = e.Key, false
		case e.Key != g.event && !slices.Contains(g.absorbed, absorbed{e.Key, e.HazardID}):
			g.absorbed = append(g.absorbed, absorbed{e.Key, e.HazardID})
		}
	}
	for _, name := range g.keys {
		if _, ok := l.known[name]; !ok {
			g.fresh = append(g.fresh, name)
		}
	}
	return g
}

// linked returns the keys and unknown names that reports link to one so far, including itself, and
// those reports.
func (l *linker) linked(name string) (names []string, reports []int) {
	i, ok := l.of[name]
	if !ok {
		return []string{name}, nil
	}
	reports = l.sets.of(i)
	for _, j := range reports {
		names = append(names, l.means[j]...)
	}
	return names, reports
}

// followed returns the event with an earlier key of a report, or "" if the report's own names,
// which mean own, are those of another event. If both exist, the event that covers the report's
// places is chosen.
func (l *linker) followed(r *hazard.Report, own []string) (string, error) {
	if len(r.Earlier) == 0 {
		return "", nil
	}
	var mine []string
	leads := false
	for _, name := range own {
		names, reports := l.linked(name)
		_, isKnown := l.events[name]
		mine, leads = append(mine, names...), leads || isKnown || reports != nil
	}
	for _, name := range r.Earlier {
		e, ok := l.known[name]
		if !ok { // an event that begins in this batch
			if j, begins := l.of[name]; begins && slices.ContainsFunc(l.sets.of(j), func(i int) bool { return l.reports[i].OverAt() > l.w.now }) {
				e, ok = store.Named{Key: name}, true
			}
		}
		if !ok || slices.Contains(mine, e.Key) {
			continue
		}
		if leads {
			theirs, _ := l.linked(e.Key)
			here, errH := l.cover(mine, r.Places)
			there, errT := l.cover(theirs, r.Places)
			if err := errors.Join(errH, errT); err != nil {
				return "", err
			}
			if here || !there {
				continue
			}
		}
		if e.HazardID == 0 {
			return e.Key, nil
		}
		if h, err := l.w.tx.Hazard(e.HazardID); err != nil {
			return "", err
		} else if h.ActiveAt(l.w.now) {
			return e.Key, nil
		}
	}
	return "", nil
}

// issued returns the event of which a report is another issue (Report.Issue), or "" if there is none or
// the report's own names, which mean own, are known.
func (l *linker) issued(r *hazard.Report, own []string) (string, error) {
	if r.Issue == "" || slices.ContainsFunc(own, func(name string) bool { _, ok := l.events[name]; return ok }) {
		return "", nil
	}
	events, err := l.w.tx.Events.Called(issueRef(l.w.src, r.Issue))
	if err != nil {
		return "", err
	}
	var latest *store.Event
	for i := range events {
		e := &events[i]
		h, err := l.w.tx.Hazard(e.HazardID)
		if err != nil {
			return "", err
		}
		if h.ActiveAt(l.w.now) && r.Start <= e.End && e.Start <= r.OverAt() && (latest == nil || e.Start > latest.Start) {
			latest = e
		}
	}
	if latest == nil {
		return "", nil
	}
	l.events[latest.Key] = store.Named{Key: latest.Key, HazardID: latest.HazardID, Start: latest.Start, End: latest.End}
	return latest.Key, nil
}

// issueRef is the name by which another issue of a warning finds its event.
func issueRef(src, issue string) string { return issues + src + ":" + issue }

const issues = "issue:"

// cover reports whether any part of events, stored or in the batch, covers one of places.
func (l *linker) cover(events, places []string) (bool, error) {
	for _, name := range events {
		parts, err := l.w.tx.Reports.Of(l.w.src, name)
		if err != nil {
			return false, err
		}
		_, reports := l.linked(name)
		for _, i := range reports {
			parts = append(parts, l.reports[i])
		}
		if slices.ContainsFunc(parts, func(p hazard.Report) bool {
			return slices.ContainsFunc(p.Places, func(place string) bool { return slices.Contains(places, place) })
		}) {
			return true, nil
		}
	}
	return false, nil
}

// absorb merges the absorbed events into the group's event: their reports and decisions apply to
// it.
func (w *writer) absorb(g *group) error {
	self := store.EventName{Source: w.src, Key: g.event}
	for i, a := range g.absorbed {
		name := store.EventName{Source: w.src, Key: a.event}
		e, _, errE := w.tx.Events.Find(name)
		parts, errP := w.tx.Reports.Of(w.src, a.event)
		verdicts, errA := w.tx.Events.Verdicts(name)
		refs, errR := w.tx.Events.Refs(name)
		beside, errB := w.tx.Events.Of(e.HazardID)
		if err := errors.Join(errE, errP, errA, errR, errB, w.tx.Events.Rename(w.src, a.event, g.event)); err != nil {
			return err
		}
		g.absorbed[i].hazardID = e.HazardID
		if decided(e.Joined) {
			g.put = e
		}
		g.drawings = mergeShapes(e.Shapes, g.drawings)
		if slices.SortFunc(beside, compareMakers); len(beside) > 0 && beside[0].Name() == name {
			g.made = append(g.made, e.HazardID)
		}
		for _, ref := range refs {
			if err := w.addRef(ref, g.event); err != nil {
				return err
			}
		}
		for other, v := range verdicts[name] {
			if err := w.tx.Events.SaveVerdict(self, other, v); err != nil {
				return err
			}
		}
		if err := w.keepStripped(g, parts); err != nil {
			return err
		}
		g.carry(parts)
	}
	for _, name := range g.fresh { // it has no hazard, but is known to be over
		if name == g.event {
			continue
		}
		parts, err := w.tx.Reports.Of(w.src, name)
		if err != nil {
			return err
		}
		g.carry(parts)
	}
	return nil
}

// carry adds the reports of an event under another key, without superseded ones.
func (g *group) carry(parts []hazard.Report) {
	parts = slices.DeleteFunc(parts, func(p hazard.Report) bool { return p.Name == "" })
	g.reports, g.carried = append(parts, g.reports...), g.carried+len(parts)
}

// keepStripped stores the superseded parts of an absorbed event, which still say when it began.
func (w *writer) keepStripped(g *group, parts []hazard.Report) error {
	have, err := w.tx.Reports.Of(w.src, g.event)
	if err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		if p.Name != "" || slices.ContainsFunc(have, func(o hazard.Report) bool { return o.Part == p.Part && o.Version >= p.Version }) {
			continue
		}
		if err := errors.Join(w.tx.Reports.Save(g.event, p, ""), w.tx.Reports.Strip(g.event, p)); err != nil {
			return err
		}
	}
	return nil
}
