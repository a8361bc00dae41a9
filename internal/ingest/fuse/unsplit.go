package fuse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Unpart takes a split back: what was decided of the events is as before, and those that left are part of the hazard again, as far as
// what their sources say now allows. The hazards that they leave end as merged. What was changed since of other things stays. Its error
// is hazard.ErrConflict, and names what, if an event is no longer where the split put it, or was decided about since, or if an
// active hazard would end by it. Who may do that is the caller's business.
func (in *Intake) Unpart(ctx context.Context, tx *store.Tx, s *store.Split) error {
	w := in.writer(ctx, tx, "")
	events, err := w.stillSplit(s)
	if err != nil {
		return err
	}
	for _, f := range s.Found {
		if err := tx.Events.SaveVerdict(s.Event, f.EventName, f.Before); err != nil {
			return err
		}
	}
	left, going := map[int64]store.EventName{}, map[int64][]*store.Event{} // hazard that events leave → the first of them, and all
	for i := range events {
		e := &events[i]
		from, joined := e.HazardID, s.Joined
		if j := slices.IndexFunc(s.Events, func(m store.MovedEvent) bool { return m.EventName == e.Name() }); j >= 0 {
			joined = s.Events[j].Joined
		}
		leaves := from != 0 && from != s.HazardID
		if leaves {
			if _, known := left[from]; !known {
				left[from] = e.Name()
			}
			w.noteEvent(e, s.HazardID)
			going[from] = append(going[from], e)
		}
		e.HazardID, e.Joined = s.HazardID, joined
		if err := tx.Events.Save(e); err != nil {
			return err
		}
		if from == 0 {
			if err := tx.Events.SaveShapes(e.Name(), e.Shapes); err != nil {
				return err
			}
		}
	}
	if err := w.moveGiven(going, s.HazardID); err != nil {
		return err
	}
	before, err := tx.Hazard(s.HazardID)
	if err != nil {
		return err
	}
	for i := range events { // each brings along what has joined it since
		e, ok, err := tx.Events.Find(events[i].Name())
		if err != nil {
			return err
		}
		if ok {
			if err := w.regroup(&e, before); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(w.refile(s), w.renew(s.HazardID)); err != nil {
		return err
	}
	for i := range events { // where it is by now, one that was part of no hazard gives its products again
		e, ok, err := tx.Events.Find(events[i].Name())
		if err == nil && ok && e.HazardID != s.HazardID {
			err = w.renew(e.HazardID)
		}
		if err != nil {
			return err
		}
	}
	if err := w.endLeft(left); err != nil {
		return err
	}
	after, err := tx.Hazard(s.HazardID)
	if err == nil && after.Version == before.Version { // the history says that it was taken back
		after = new(*after)
		w.stamp(after)
		err = tx.SaveHazard(after, before)
	}
	return errors.Join(err, tx.Merges.DropSplit(s.Change))
}

// stillSplit lists the events that a split parted from each other, the one that was found to be another first, and of the others those
// that left. Its error is hazard.ErrConflict if they are no longer as the split left them.
func (w *writer) stillSplit(s *store.Split) (events []store.Event, err error) {
	var since []string
	found, err := w.tx.Events.Verdicts(s.Event)
	if err != nil {
		return nil, err
	}
	for _, f := range s.Found {
		if found[s.Event][f.EventName] != store.Apart {
			since = append(since, fmt.Sprintf("somebody decided about %s:%s since", f.Source, f.Key))
		}
	}
	moved := s.Events
	if !slices.ContainsFunc(moved, func(m store.MovedEvent) bool { return m.EventName == s.Event }) {
		moved = append([]store.MovedEvent{{EventName: s.Event, To: s.HazardID, Joined: s.Joined}}, moved...)
	}
	for _, m := range moved {
		e, ok, err := w.tx.Events.Find(m.EventName)
		if err == nil && !ok && m.To == 0 {
			e, ok, err = w.known(m.EventName)
			e.Shapes = m.Shapes
		} else if err == nil && (!ok || m.To != 0 && e.HazardID != m.To) {
			since = append(since, fmt.Sprintf("event %s:%s is part of hazard %d now", m.Source, m.Key, e.HazardID))
		}
		if err != nil {
			return nil, err
		}
		if ok && (m.To != 0 || e.HazardID == 0) {
			events = append(events, e)
		}
	}
	if since != nil {
		return nil, fmt.Errorf("%w: the split of change %d cannot be undone: %s", hazard.ErrConflict, s.Change, strings.Join(since, "; "))
	}
	slices.SortStableFunc(events, func(a, b store.Event) int { return first(a.Name() == s.Event, b.Name() == s.Event) })
	return events, nil
}

// known is an event that is part of no hazard, as its source last described it, and whether it has told anything of it.
func (w *writer) known(name store.EventName) (store.Event, bool, error) {
	state, known, err := w.stateOf(name)
	if err != nil || !known {
		return store.Event{}, false, err
	}
	return *w.event(&state, 0), true, nil
}

// refile puts the products that lost their folder by a split back into it, where both are part of the hazard and it was not put elsewhere since.
func (w *writer) refile(s *store.Split) error {
	for _, loose := range s.Loose {
		p, errP := w.tx.Product(loose.ID)
		folder, errF := w.tx.Product(loose.Parent)
		if err := errors.Join(errP, errF); err != nil {
			return err
		}
		if p.Deleted || folder.Deleted || p.ParentID != 0 || p.HazardID != s.HazardID || folder.HazardID != s.HazardID {
			continue
		}
		p = new(*p)
		p.ParentID, p.Updated = folder.ID, w.now
		if err := w.tx.SaveProduct(p); err != nil {
			return err
		}
	}
	return nil
}

// endLeft settles the hazards that events have left, each with the first of those, and ends what has none any more. No active hazard ends by that
// in one that is over.
func (w *writer) endLeft(left map[int64]store.EventName) error {
	for _, id := range slices.Sorted(maps.Keys(left)) {
		e, _, err := w.tx.Events.Find(left[id])
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(w.emptied, func(x emptied) bool { return x.id == id }) {
			if err := w.settleOrEmpty(id, e.HazardID); err != nil {
				return err
			}
		}
	}
	for _, x := range w.emptied {
		h, errH := w.tx.Hazard(x.id)
		into, errI := w.successor(x.into)
		if err := errors.Join(errH, errI); err != nil {
			return err
		}
		if _, ok := left[x.id]; ok && h.ActiveAt(w.now) && !into.ActiveAt(w.now) {
			return fmt.Errorf("%w: hazard %d is active and would end with this, since hazard %d is over", hazard.ErrConflict, h.ID, into.ID)
		}
	}
	return w.endEmptied()
}
