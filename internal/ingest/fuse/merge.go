package fuse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Join merges hazard from into into on a person's decision. into keeps all events and products, and
// from ends with into as its successor. why is stored with each moved event. The caller checks the
// author's rights.
func (in *Intake) Join(ctx context.Context, tx *store.Tx, from, into *hazard.Hazard, why string) error {
	w := in.writer(ctx, tx, "")
	if err := into.MayAbsorb(from, w.now); err != nil {
		return err
	}
	moving, errA := tx.Events.Of(from.ID)
	staying, errB := tx.Events.Of(into.ID)
	verdicts, errC := tx.Events.VerdictsOfHazard(from.ID)
	if err := errors.Join(errA, errB, errC); err != nil {
		return err
	}
	for i := range moving {
		for j := range staying {
			a, b := moving[i].Name(), staying[j].Name()
			if verdicts[a][b] == store.Apart {
				m := w.leaving(from.ID)
				m.Joined = append(m.Joined, [2]store.EventName{a, b})
			}
			if err := tx.Events.SaveVerdict(a, b, store.One); err != nil {
				return err
			}
		}
		w.noteEvent(&moving[i], into.ID)
		moving[i].HazardID, moving[i].Joined = into.ID, why
		if err := tx.Events.Save(&moving[i]); err != nil {
			return err
		}
	}
	if err := w.moveProducts(from.ID, into.ID); err != nil {
		return err
	}
	if len(moving) > 0 { // the decision may make other events match
		if err := w.regroup(&moving[0], into); err != nil {
			return err
		}
	}
	if err := w.renew(into.ID); err != nil {
		return err
	}
	together, err := tx.Hazard(into.ID)
	if err != nil {
		return err
	}
	if !together.ActiveAt(w.now) {
		return fmt.Errorf("%w: hazard %d would end with this merge: according to their last reports, both together have been over since %s; end hazard %d instead",
			hazard.ErrConflict, into.ID, together.End, from.ID)
	}
	return errors.Join(w.endEmptied(), w.endAs(from, together))
}

// Part splits an event from the others of a hazard on a person's decision; neither a name nor a
// rule rejoins them. The event that created the hazard keeps it, and the others leave. Another
// event leaves, for the hazard that it created before the join, or for a new one. Part returns the
// id of the event's hazard. The caller checks the author's rights.
func (in *Intake) Part(ctx context.Context, tx *store.Tx, hazardID int64, src, event string) (int64, error) {
	events, i, err := oneOfSeveral(tx, hazardID, src, event)
	if err != nil {
		return 0, err
	}
	w := in.writer(ctx, tx, src)
	out := &events[i]
	found, err := tx.Events.Verdicts(out.Name())
	if err != nil {
		return 0, err
	}
	split := &store.Split{HazardID: hazardID, Event: out.Name(), Joined: out.Joined}
	for j := range events {
		if j == i {
			continue
		}
		other := events[j].Name()
		split.Found = append(split.Found, store.Found{EventName: other, Before: found[out.Name()][other]})
		if err := tx.Events.SaveVerdict(out.Name(), other, store.Apart); err != nil {
			return 0, err
		}
	}
	if decided(out.Joined) { // the decision is undone
		out.Joined = fromRule + "it"
		if err := tx.Events.Save(out); err != nil {
			return 0, err
		}
	}
	before, err := tx.Hazard(hazardID)
	if err != nil {
		return 0, err
	}
	if err := w.regroup(out, before); err != nil {
		return 0, err
	}
	now, ok, err := tx.Events.Find(out.Name())
	if err == nil && !ok {
		err = fmt.Errorf("%w: event %s:%s is too slight, or has no place, to be a hazard of its own", hazard.ErrConflict, src, event)
	}
	if err != nil {
		return 0, err
	}
	h, err := w.agree(before)
	if err != nil {
		return 0, err
	}
	if h == before { // without the event, the others match another hazard: this one ends by a merge that can be undone
		return now.HazardID, w.endEmptied()
	}
	w.stamp(h)
	if err := tx.SaveHazardAs(hazard.HazardSplit, h, before); err != nil {
		return 0, err
	}
	return now.HazardID, errors.Join(w.endEmptied(), w.keepSplit(split, events))
}

// oneOfSeveral returns the events of a hazard and the index of the named one, which must not be the
// only one.
func oneOfSeveral(tx *store.Tx, hazardID int64, src, event string) (events []store.Event, i int, err error) {
	events, err = tx.Events.Of(hazardID)
	i = slices.IndexFunc(events, func(e store.Event) bool { return e.Source == src && e.Key == event })
	switch {
	case err != nil:
	case i < 0:
		err = fmt.Errorf("%w: hazard %d has no event %s:%s", hazard.ErrNotFound, hazardID, src, event)
	case len(events) == 1:
		err = fmt.Errorf("%w: %s:%s is the only event of hazard %d", hazard.ErrConflict, src, event, hazardID)
	}
	return events, i, err
}

// keepSplit stores what is needed to undo a split: where the events moved.
func (w *writer) keepSplit(s *store.Split, events []store.Event) error {
	for i := range events {
		e, ok, err := w.tx.Events.Find(events[i].Name())
		if err != nil {
			return err
		}
		if joined := events[i].Joined; !ok || e.HazardID != s.HazardID {
			if e.Name() == s.Event {
				joined = s.Joined
			}
			moved := store.MovedEvent{EventName: events[i].Name(), To: e.HazardID, Joined: joined}
			if !ok {
				moved.Shapes = events[i].Shapes // otherwise the event itself has them
			}
			s.Events = append(s.Events, moved)
		}
	}
	h, err := w.tx.Hazard(s.HazardID)
	if err != nil {
		return err
	}
	s.Change, s.Loose = h.Version, w.leaving(h.ID).Loose
	return w.tx.Merges.SaveSplit(s)
}

// Take processes a held report that a person has released, or that nothing holds back any more.
func (in *Intake) Take(ctx context.Context, tx *store.Tx, r hazard.Report) (Result, error) {
	w := in.writer(ctx, tx, r.Source)
	given := []hazard.Report{r}
	w.input, w.opts.History = input{given: given, others: othersOf(given, r.Source, tx.Events.Starting)}, true
	_, err := w.reports(nil)
	return *w.res, err
}

func (in *Intake) writer(ctx context.Context, tx *store.Tx, src string) *writer {
	res := newResult()
	return &writer{in: in, ctx: ctx, tx: tx, src: src, now: tx.Now(), res: &res}
}

// withoutSources records that an editor's hazard has no more events.
func (w *writer) withoutSources(id int64) error {
	before, err := w.tx.Hazard(id)
	if err != nil {
		return err
	}
	h := new(*before)
	h.Sources, h.Measurements, h.Shapes = nil, nil, nil
	if before.Source != "" || h.Equal(before) {
		return nil
	}
	w.stamp(h)
	return w.tx.SaveHazard(h, before)
}

// emptied is a hazard whose events have moved to another.
type emptied struct{ id, into int64 }

// endEmptied ends the hazards whose events have moved to others, after those are settled. An
// editor's hazard stays active, because no source may end it. One that is over gets its successor,
// unless an editor ended it.
func (w *writer) endEmptied() error {
	gone := map[int64]int64{}
	for _, e := range w.emptied {
		gone[e.id] = e.into
	}
	for _, e := range w.emptied {
		last := e.into
		for range w.emptied { // the target may have been emptied too
			if next, ok := gone[last]; ok && next != e.id {
				last = next
			}
		}
		before, errA := w.tx.Hazard(e.id)
		into, errB := w.successor(last)
		err := errors.Join(errA, errB)
		if err != nil {
			return err
		}
		active := before.Status == hazard.Active
		switch over := into.MayAbsorb(before, w.now) != nil; {
		case ofPeople(before), !active && (over || before.Reason == hazard.EndMerged || before.EditedField("status")):
			err = w.withoutSources(before.ID)
		default:
			err = errors.Join(w.moveProducts(before.ID, into.ID), w.endAs(before, into))
		}
		if err != nil {
			return err
		}
	}
	w.emptied = nil
	return w.tellReplaced()
}

// keeper returns the hazard that keeps the events of all ids: an active one that people decide
// about, otherwise one that no editor has ended, otherwise the oldest.
func (w *writer) keeper(ids []int64) (int64, error) {
	hazards := make([]*hazard.Hazard, len(ids))
	for i, id := range ids {
		var err error
		if hazards[i], err = w.tx.Hazard(id); err != nil {
			return 0, err
		}
	}
	closed := func(h *hazard.Hazard) bool { return h.EditedField("status") && h.Status == hazard.Expired }
	best := slices.MinFunc(hazards, func(a, b *hazard.Hazard) int {
		return cmp.Or(first(ofPeople(a) && a.ActiveAt(w.now), ofPeople(b) && b.ActiveAt(w.now)), first(!closed(a), !closed(b)), cmp.Compare(a.ID, b.ID))
	})
	return best.ID, nil
}

// first orders elements for which it is true before the others.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// ofPeople reports whether people decide about a hazard: an editor created it, or an organization
// owns it.
func ofPeople(h *hazard.Hazard) bool { return h.Source == "" || h.OrgID != hazard.NoOrg }

// successor returns the hazard with that id, or the one that it was merged into.
func (w *writer) successor(id int64) (*hazard.Hazard, error) {
	h, err := w.tx.Hazard(id)
	for range maxSuccessors {
		if err != nil || h.Reason != hazard.EndMerged || h.Successor == uuid.Nil {
			break
		}
		h, err = w.tx.HazardByUUID(h.Successor)
	}
	return h, err
}

// endAs ends a hazard that was merged into hazard into. If into is over too, because all reports of
// both are, it ends for the same reason: only an active hazard can absorb another.
func (w *writer) endAs(before, into *hazard.Hazard) error {
	ended := *before
	reason := hazard.EndMerged
	if into.MayAbsorb(before, w.now) != nil {
		reason = cmp.Or(into.Reason, hazard.EndExpired)
	}
	at := max(w.now, before.Start)
	if before.Status != hazard.Active {
		at = before.End
	}
	end(&ended, reason, at)
	ended.Successor = into.UUID
	w.stamp(&ended)
	kind := hazard.HazardExpired
	if reason == hazard.EndMerged {
		kind = hazard.HazardMerged
	}
	if err := w.tx.SaveHazardAs(kind, &ended, before); err != nil {
		return err
	}
	m := w.leaving(before.ID)
	m.Change, m.Into = ended.Version, into.ID
	return errors.Join(w.tx.Merges.Save(m), w.tx.SetWake(before.ID, hazard.MaxInstant)) // it does not change any more
}

// leaving returns what has moved away from a hazard in this transaction, so that a merge can be
// undone.
func (m *moves) leaving(id int64) *store.Merge {
	if m.merges == nil {
		m.merges = map[int64]*store.Merge{}
	}
	if m.merges[id] == nil {
		m.merges[id] = &store.Merge{From: id}
	}
	return m.merges[id]
}

// noteEvent records that an event is about to move to another hazard.
func (m *moves) noteEvent(e *store.Event, to int64) {
	left := m.leaving(e.HazardID)
	m.went = append(m.went, e.Name())
	left.Events = append(left.Events, store.MovedEvent{EventName: e.Name(), To: to, Joined: e.Joined})
}

// moveGiven moves the products of events, by the hazards that they leave, to hazard into: all together,
// because a person may have put a product of one into a folder of another.
func (w *writer) moveGiven(left map[int64][]*store.Event, into int64) error {
	for _, from := range slices.Sorted(maps.Keys(left)) {
		if err := w.moveProducts(from, into, left[from]...); err != nil {
			return err
		}
	}
	return nil
}

// moveProducts moves products between hazards: those that came with one of the events, or all if there
// are none. A product that is separated from its folder goes to the root.
func (w *writer) moveProducts(from, to int64, gaveThem ...*store.Event) error {
	products, err := w.tx.Products(from)
	if err != nil {
		return err
	}
	moves := map[int64]bool{}
	for _, p := range products {
		moves[p.ID] = len(gaveThem) == 0
		for _, e := range gaveThem {
			gave, err := w.gaveIt(p, from, e.Name())
			if err != nil {
				return err
			}
			moves[p.ID] = moves[p.ID] || gave
		}
	}
	left := map[int64]bool{} // folders that move without their contents
	for _, p := range products {
		after := *p
		if moves[p.ID] {
			after.HazardID = to
		}
		if p.ParentID != 0 && moves[p.ID] != moves[p.ParentID] {
			after.ParentID = 0
		}
		if after.Equal(p) {
			continue
		}
		m := w.leaving(from)
		if after.ParentID != p.ParentID {
			m.Loose = append(m.Loose, store.MovedProduct{ID: p.ID, Parent: p.ParentID})
		}
		if moves[p.ID] {
			m.Products = append(m.Products, store.MovedProduct{ID: p.ID, To: to, Parent: p.ParentID})
		}
		after.Updated = w.now
		if err := w.tx.SaveProduct(&after); err != nil {
			return err
		}
		if p.ParentID != 0 && !moves[p.ID] && moves[p.ParentID] {
			left[p.ParentID] = true
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(left)) {
		if err := w.in.Left(w.ctx, w.tx, folder); err != nil {
			return err
		}
	}
	return nil
}

// settleOrEmpty updates a hazard from its sources; one without events is merged into hazard into.
func (w *writer) settleOrEmpty(id, into int64) error {
	events, err := w.tx.Events.Of(id)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		return w.renew(id)
	}
	w.emptied = append(w.emptied, emptied{id, into})
	return nil
}

// alone makes a hazard of one event of another hazard, with the products from its source, and
// returns its id.
func (w *writer) alone(e *store.Event) (int64, error) {
	own, _, errS := w.stateOf(e.Name())
	own.Shapes = shown(e.Shapes)
	left, errL := w.tx.Hazard(e.HazardID)
	id, errF := w.freeUUID(own.Head.UUID, e.Source, e.Key)
	if err := errors.Join(errS, errL, errF); err != nil {
		return 0, err
	}
	own.Head.Category = category(left, &own.Head)
	h, _, err := w.settle(0, id, []hazard.EventState{own})
	if err != nil {
		return 0, err
	}
	from := e.HazardID
	e.HazardID, e.Joined = h.ID, ""
	w.went = append(w.went, e.Name())
	if err := w.tx.Events.Save(e); err != nil {
		return 0, err
	}
	if err := w.moveProducts(from, h.ID, e); err != nil {
		return 0, err
	}
	_, err = w.products(h, &own.Head, false)
	return h.ID, err
}

// freeUUID returns the UUID for a new hazard of an event: the one at its source, otherwise the one
// derived from its name. If another hazard still uses that UUID, or if one of the two is a drill
// and the other real, it returns a different one.
func (w *writer) freeUUID(given uuid.UUID, src, key string) (uuid.UUID, error) {
	if given != uuid.Nil {
		if h, err := ifAny(w.tx.HazardByUUID(given)); err != nil || h == nil {
			return given, err
		}
	}
	for n := 0; ; n++ {
		id := hazard.EventUUID(src, nth(key, "#", n))
		if h, err := ifAny(w.tx.HazardByUUID(id)); err != nil || h == nil {
			return id, err
		}
	}
}
