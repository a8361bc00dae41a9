package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"hazardd/internal/hazard"
	"hazardd/internal/store"
)

// Merge makes hazard from part of hazard into, because an editor found them to be one: into goes on with all events and products, from
// ends and names its successor.
func (in *Intake) Merge(ctx context.Context, from, into int64, by store.Origin, now hazard.Instant) (last int64, err error) {
	return in.store.Write(ctx, now, by, func(tx *store.Tx) error {
		w := &writer{in: in, ctx: ctx, tx: tx, now: now, res: &Result{}}
		a, errA := tx.Hazard(from)
		b, errB := tx.Hazard(into)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if from == into || a.Reason == hazard.EndMerged || b.Reason == hazard.EndMerged {
			return fmt.Errorf("%w: %d and %d are one already", hazard.ErrConflict, from, into)
		}
		moving, errA := tx.Events(from)
		staying, errB := tx.Events(into)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		for i := range moving {
			for j := range staying {
				if err := tx.Part(moving[i].Name(), staying[j].Name(), false); err != nil {
					return err
				}
			}
			moving[i].Joined = "found by " + by.User
			if err := tx.SaveEvent(&moving[i]); err != nil {
				return err
			}
		}
		if err := w.absorbHazard(into, from); err != nil {
			return err
		}
		return w.resettle(into)
	})
}

// Split takes an event out of a hazard, because an editor found it to be another: it becomes a hazard of its own, and no rule joins them
// again. The number of that hazard is id.
func (in *Intake) Split(ctx context.Context, hazardID int64, src, event string, by store.Origin, now hazard.Instant) (id, last int64, err error) {
	last, err = in.store.Write(ctx, now, by, func(tx *store.Tx) error {
		events, err := tx.Events(hazardID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(events, func(e store.Event) bool { return e.Source == src && e.Key == event })
		if i < 0 {
			return fmt.Errorf("%w: hazard %d has no event %s:%s", hazard.ErrNotFound, hazardID, src, event)
		}
		if len(events) == 1 {
			return fmt.Errorf("%w: %s:%s is the only event of hazard %d", hazard.ErrConflict, src, event, hazardID)
		}
		for j := range events {
			if j == i {
				continue
			}
			if err := tx.Part(events[i].Name(), events[j].Name(), true); err != nil {
				return err
			}
		}
		w := &writer{in: in, ctx: ctx, tx: tx, src: src, now: now, res: &Result{}}
		if id, err = w.alone(&events[i]); err != nil {
			return err
		}
		before, err := tx.Hazard(hazardID)
		if err != nil {
			return err
		}
		rest, err := w.said(hazardID, "")
		if err != nil {
			return err
		}
		said := hazard.Combine(rest, now)
		h, err := w.state(before.UUID, before, &said, w.place(&said))
		if err != nil {
			return err
		}
		stamp(h, now)
		h.UpdateUser = by.User
		return tx.SaveHazardAs(hazard.HazardSplit, h, before)
	})
	return id, last, err
}

// resettle makes a hazard what its sources say of it now.
func (w *writer) resettle(id int64) error {
	all, err := w.said(id, "")
	if err != nil || len(all) == 0 {
		return err
	}
	_, _, _, err = w.settle(id, uuid.Nil, all)
	return err
}

// absorbHazard makes all events and products of hazard other those of keep, and ends other.
func (w *writer) absorbHazard(keep, other int64) error {
	into, err := w.tx.Hazard(keep)
	if err != nil {
		return err
	}
	before, err := w.tx.Hazard(other)
	if err != nil {
		return err
	}
	if err := w.tx.MoveEvents(other, keep); err != nil {
		return err
	}
	if err := w.moveProducts(other, keep, nil); err != nil {
		return err
	}
	return w.endMerged(before, into.UUID)
}

// endMerged ends a hazard whose events are part of another now, if it has not ended before.
func (w *writer) endMerged(before *hazard.Hazard, successor uuid.UUID) error {
	if before.Status != hazard.Active {
		return nil
	}
	ended := *before
	end(&ended, hazard.EndMerged, w.now)
	ended.Successor = successor
	stamp(&ended, w.now)
	return w.tx.SaveHazardAs(hazard.HazardMerged, &ended, before)
}

// moveProducts makes the products of hazard from those of hazard to: of one source, or, with nil, all.
func (w *writer) moveProducts(from, to int64, src *string) error {
	products, err := w.tx.Products(from)
	if err != nil {
		return err
	}
	for _, p := range products {
		if src != nil && p.Source != *src {
			continue
		}
		moved := *p
		moved.HazardID, moved.Updated = to, w.now
		if err := w.tx.SaveProduct(&moved); err != nil {
			return err
		}
	}
	return nil
}

// settleOrEnd makes a hazard what its sources say of it now; one that no event is part of any more has become part of hazard into.
func (w *writer) settleOrEnd(id, into int64) error {
	events, err := w.tx.Events(id)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		return w.resettle(id)
	}
	before, err := w.tx.Hazard(id)
	if err != nil {
		return err
	}
	if into == 0 {
		return w.endMerged(before, uuid.Nil)
	}
	successor, err := w.tx.Hazard(into)
	if err != nil {
		return err
	}
	return w.endMerged(before, successor.UUID)
}

// alone makes a hazard of one event that was part of another, with the products that its source gave, and returns its number.
func (w *writer) alone(e *store.Event) (int64, error) {
	parts, err := w.tx.Reports(e.Source, e.Key)
	if err != nil {
		return 0, err
	}
	own := hazard.Derive(parts, w.now)
	if own.Head.Minor { // no hazard is made of it
		return 0, w.tx.DropEvent(e.Source, e.Key)
	}
	id, err := w.freeUUID(e.Source, e.Key)
	if err != nil {
		return 0, err
	}
	h, _, _, err := w.settle(0, id, []hazard.Said{own})
	if err != nil {
		return 0, err
	}
	from := e.HazardID
	e.HazardID, e.Joined = h.ID, ""
	if err := w.tx.SaveEvent(e); err != nil {
		return 0, err
	}
	return h.ID, w.moveProducts(from, h.ID, &e.Source)
}

// freeUUID is the uuid of an event; another one that follows from it if the hazard that it made has gone on without it.
func (w *writer) freeUUID(src, key string) (uuid.UUID, error) {
	for n := 1; ; n++ {
		name := key
		if n > 1 {
			name += "#" + strconv.Itoa(n)
		}
		id := hazard.EventUUID(src, name)
		if _, err := w.tx.HazardByUUID(id); errors.Is(err, hazard.ErrNotFound) {
			return id, nil
		} else if err != nil {
			return uuid.Nil, err
		}
	}
}
