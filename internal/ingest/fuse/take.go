package fuse

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
)

// take makes the changes of one event: it loads what is stored of it, decides what becomes of it,
// finds the hazard that it belongs to, and saves them.
func (w *writer) take(g *group) error {
	stored, known, err := w.tx.Events.Find(store.EventName{Source: w.src, Key: g.event}) // earlier events in the batch may have moved it
	if err != nil {
		return err
	}
	before := &stored
	if !known {
		before = nil
	}
	if err := w.absorb(g); err != nil {
		return err
	}
	e, err := w.load(g, &stored)
	if err != nil {
		return err
	}
	d := decide(e, w.now, w.opts)
	if err := w.saveParts(g, &d); err != nil {
		return err
	}
	switch d.outcome {
	case held:
		return nil
	case unchanged:
		w.res.Unchanged++
		w.res.Events[g.event] = true
		return nil
	case ignored:
		return w.ignore(g, &d)
	}
	at := spot{hazardID: stored.HazardID, why: stored.Joined}
	if d.compare {
		if at, err = w.join(g, before, &d); err != nil {
			return err
		}
	}
	if at.hazardID == 0 && d.slight {
		return w.ignore(g, &d)
	}
	return w.save(g, &d, at)
}

// load returns what is known of the group's event, of which stored is the zero value if it is new.
// Suspect reports are held.
func (w *writer) load(g *group, stored *store.Event) (*event, error) {
	e := &event{key: g.event, inHazard: stored.HazardID != 0, shapes: stored.Shapes, reports: g.reports, held: make([]bool, len(g.reports)),
		drawings: g.drawings, renamed: len(g.fresh) > 0 || len(g.absorbed) > 0}
	e.active = w.active[g.event]
	var err error
	if e.parts, err = w.tx.Reports.Of(w.src, g.event); err != nil { // a new event may have earlier reports without a place, or from before it was known
		return nil, err
	}
	late := false // names from a report that was superseded count too
	for i := range g.reports {
		r := &g.reports[i]
		if r.Suspect != "" {
			believed, err := w.suspect(w.asGiven(g, i), r.Suspect)
			if err != nil {
				return nil, err
			}
			e.held[i] = !believed
		}
		late = late || len(r.Refs) > 0 && slices.ContainsFunc(e.parts, func(p hazard.Report) bool { return p.Name == "" && p.Part == r.Part && p.Version >= r.Version })
	}
	if late {
		e.refs, err = w.tx.Events.Refs(store.EventName{Source: w.src, Key: g.event})
	}
	return e, err
}

// saveParts stores the parts of an event that have changed.
func (w *writer) saveParts(g *group, d *decision) error {
	for i := range d.saves {
		payload := w.opts.Payload
		if d.saves[i].report < g.carried {
			payload = ""
		}
		if d.saves[i].part.Name == "" { // it stays superseded
			if err := w.tx.Reports.Strip(g.event, &d.saves[i].part); err != nil {
				return err
			}
			continue
		}
		if err := w.tx.Reports.Save(g.event, &d.saves[i].part, payload); err != nil {
			return err
		}
	}
	return nil
}

// ignore removes the new reports of an event that creates no hazard. Reports of its end stay,
// because reports that they end may come later or again. Parts of an event that left its hazard
// stay too, because what they superseded must not return.
func (w *writer) ignore(g *group, d *decision) error {
	w.res.Ignored++
	for i := range d.parts {
		if !slices.Contains(d.added, d.parts[i].Part) || d.parts[i].Ended != "" {
			continue
		}
		if err := w.tx.Reports.Forget(w.src, g.event, d.parts[i].Part); err != nil {
			return err
		}
	}
	return nil
}

// save updates the hazard of an event, or makes a new one, and stores the event with its products.
func (w *writer) save(g *group, d *decision, at spot) error {
	others, err := w.derived(at.hazardID, nameOf(&d.state))
	if err != nil {
		return err
	}
	isNew, newUUID := at.hazardID == 0, uuid.Nil
	if isNew {
		if newUUID, err = w.freeUUID(d.state.Head.UUID, w.src, g.event); err != nil {
			return err
		}
	}
	if at.left != 0 {
		left, err := w.tx.Hazard(at.left)
		if err != nil {
			return err
		}
		d.state.Head.Category = category(left, &d.state.Head)
	}
	h, different, err := w.settle(at.hazardID, newUUID, append(others, d.state))
	if errors.Is(err, errNoPlace) {
		return w.holdUnplaced(g, &d.state, at.left)
	}
	if err != nil {
		return err
	}
	if at.left != 0 {
		if err := w.moveProducts(at.left, h.ID, w.event(&d.state, h.ID)); err != nil {
			return err
		}
	}
	moved, err := w.saveProducts(g, h, &d.state, others, isNew && at.left == 0)
	if err != nil {
		return err
	}
	if err := w.remember(g, h, d, at.why, isNew); err != nil {
		return err
	}
	if d.drew || at.left != 0 { // the event had left its hazard and was forgotten until now
		if err := w.tx.Events.SaveShapes(nameOf(&d.state), d.shapes); err != nil {
			return err
		}
	}
	if at.again {
		self, _, err := w.tx.Events.Find(nameOf(&d.state))
		if err != nil {
			return err
		}
		if err := errors.Join(w.regroup(&self, h), w.renew(h.ID)); err != nil {
			return err
		}
	}
	if len(g.absorbed) > 0 || slices.ContainsFunc(g.awaited(w.src), func(ref string) bool { return w.refs[ref] }) {
		w.went = append(w.went, nameOf(&d.state))
	}
	w.count(g, d, isNew, different || moved)
	return nil
}

// saveProducts stores the products of an event, and removes those of absorbed events.
func (w *writer) saveProducts(g *group, h *hazard.Hazard, own *hazard.EventState, others []hazard.EventState, isNew bool) (changed bool, err error) {
	if changed, err = w.products(h, &own.Head, isNew); err != nil {
		return false, err
	}
	if len(w.went) > 0 { // an event from another hazard may have ended there without a record
		for i := range others {
			if _, err := w.products(h, &others[i].Head, false); err != nil {
				return false, err
			}
		}
	}
	for _, a := range g.absorbed {
		if _, err := w.gone(h.ID, store.EventName{Source: w.src, Key: a.event}, nil); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// count counts the event in the result.
func (w *writer) count(g *group, d *decision, isNew, different bool) {
	switch {
	case isNew:
		w.res.New++
	case different:
		w.res.Updated++
	default:
		w.res.Unchanged++
	}
	if (isNew || different) && len(w.res.Issued) < maxIssued {
		newest := slices.MaxFunc(g.reports, func(a, b hazard.Report) int { return cmp.Compare(a.Version, b.Version) })
		w.res.Issued = append(w.res.Issued, hazard.Instant(newest.Version))
	}
	w.res.Events[g.event] = true
	if detail := d.state.Head.Detail; detail != "" && (d.changed || isNew) {
		w.res.Details = append(w.res.Details, detail)
	}
}

// asGiven returns a report of a group as received. It is held in this form, because its names may
// mean another event later.
func (w *writer) asGiven(g *group, i int) *hazard.Report {
	if i < g.carried {
		return &g.reports[i]
	}
	return new(w.given[g.from[i-g.carried]].Whole())
}

// suspect holds a report, unless an editor has released the same one before; believed reports that.
func (w *writer) suspect(r *hazard.Report, reason string) (believed bool, err error) {
	isNew, decision, err := w.tx.Reports.Hold(r, reason)
	if err != nil || decision == store.Released {
		return err == nil, err
	}
	if decision == store.Dismissed {
		w.res.Ignored++
		return false, nil
	}
	w.res.Held++
	if isNew {
		w.res.Suspects = append(w.res.Suspects, source.Reject{Record: r.Key + " " + r.Part, Reason: reason})
	}
	return false, nil
}

// holdUnplaced holds the reports of an event that is new, or has left hazard left, until its place
// is known. Events that are over are dropped.
func (w *writer) holdUnplaced(g *group, state *hazard.EventState, left int64) error {
	if left != 0 {
		if _, err := w.gone(left, nameOf(state), nil); err != nil {
			return err
		}
	}
	if state.Ended != "" {
		w.res.Ignored++
		return nil
	}
	reason := store.NoPlace + ": the report gives neither a position nor an area that can be read"
	if len(state.Places) > 0 {
		reason = fmt.Sprintf("%s: no shape is known of %s", store.NoPlace, sample(state.Places))
	}
	for i := range g.reports {
		if _, err := w.suspect(w.asGiven(g, i), reason); err != nil {
			return err
		}
	}
	return nil
}

// sample lists the first few of many words.
func sample(words []string) string {
	const maxWords = 5
	text := fmt.Sprint(words[:min(len(words), maxWords)])
	if len(words) > maxWords {
		text += fmt.Sprintf(" and %d more", len(words)-maxWords)
	}
	return text
}

// remember stores the event's names and the data for comparisons, and removes superseded reports.
func (w *writer) remember(g *group, h *hazard.Hazard, d *decision, joined string, isNew bool) error {
	own, parts := &d.state, d.parts
	if d.compare {
		e := w.event(own, h.ID)
		e.Joined = joined
		if err := w.tx.Events.Save(e); err != nil {
			return err
		}
	}
	for _, key := range append(w.lower(g), append(g.keys, g.event)...) {
		if err := w.tx.Events.AddKey(w.src, key, g.event); err != nil {
			return err
		}
	}
	for i := range g.reports {
		if issue := g.reports[i].Issue; issue != "" {
			if err := w.addRef(issueRef(w.src, issue), g.event); err != nil {
				return err
			}
		}
	}
	if next := own.Head.Successor; next != "" {
		if err := w.addRef(successorRef(w.src+":"+next), g.event); err != nil {
			return err
		}
	}
	for i := range parts {
		// Parts without places, or that replace others, may still affect late parts. What a list
		// holds counts again once it drops the others.
		if p := &parts[i]; !own.Owned[p.Part] && p.Name != "" && len(p.Places) > 0 && len(p.Replaces) == 0 && (p.Listed == nil || p.Ended != "") {
			if err := w.tx.Reports.Strip(g.event, p); err != nil {
				return err
			}
		}
	}
	placed := g.reports
	if isNew { // its held reports come with it
		placed = parts
	}
	for i := range placed {
		// Held reports have the source's original names.
		for _, key := range slices.Compact([]string{placed[i].Key, plainName(placed[i].Key)}) {
			if err := w.tx.Reports.Placed(w.src, key, placed[i].Part); err != nil {
				return err
			}
		}
	}
	return nil
}
