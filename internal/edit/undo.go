package edit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// Undo undoes a merge, or a person's split, end or retraction: body is {"change": number}. It
// restores the state from before, except for later changes of other things. If what that change did
// was itself changed later, the error is hazard.ErrConflict and says what changed. The author must
// have the right to write each hazard of the change. Undo returns the hazard that is active again.
// The new states say which change they undo.
func (e *Editor) Undo(ctx context.Context, who Author, id Ref, match Match, text []byte, clock hazard.Clock) (done Done[hazard.Hazard], err error) {
	change, err := asked(who, undoFields, text)
	if err != nil {
		return done, err
	}
	done.Last, err = e.decide(ctx, who, about(deedUndo, id, text), clock, func(tx *store.Tx) error {
		h, _, err := present(tx, who, id, match)
		if err != nil {
			return err
		}
		tx.Undoing(change)
		undone := h.ID
		split, errS := tx.Merges.Split(change)
		merge, errM := tx.Merges.Get(change)
		switch {
		case errS == nil && e.concerns(split, h):
			undone, err = split.HazardID, e.undoSplit(ctx, tx, who, split)
		case errM == nil && (merge.From == h.ID || merge.Into == h.ID):
			undone, err = merge.From, e.undoMerge(ctx, tx, who, merge)
		case !absent(errS):
			err = errS
		case !absent(errM):
			err = errM
		default:
			err = e.undoEnd(ctx, tx, h, change)
		}
		if err != nil {
			return err
		}
		done.State, err = tx.Hazard(undone)
		return err
	})
	return done, err
}

// absent reports whether err is nil or only says that there is no such thing.
func absent(err error) bool { return err == nil || errors.Is(err, hazard.ErrNotFound) }

func (e *Editor) undoMerge(ctx context.Context, tx *store.Tx, who Author, m *store.Merge) error {
	from, errFrom := tx.Hazard(m.From)
	into, errInto := tx.Hazard(m.Into)
	if err := errors.Join(errFrom, errInto); err != nil {
		return err
	}
	if err := errors.Join(who.mayWrite(from), who.mayWrite(into)); err != nil {
		return err
	}
	last, err := tx.Merges.Last(from.ID)
	if err != nil {
		return err
	}
	if from.Reason != hazard.EndMerged || last.Change != m.Change {
		return changedSince(tx, from, "the end of hazard %d", from.ID)
	}
	if into.Reason == hazard.EndMerged {
		return changedSince(tx, into, "hazard %d, which it was merged into, was merged itself: undo that first", into.ID)
	}
	return e.intake.Unjoin(ctx, tx, m)
}

// concerns reports whether a hazard is the one that was split, or one that its events have moved
// to.
func (e *Editor) concerns(s *store.Split, h *hazard.Hazard) bool {
	return s.HazardID == h.ID || slices.ContainsFunc(s.Events, func(m store.MovedEvent) bool { return m.To == h.ID })
}

func (e *Editor) undoSplit(ctx context.Context, tx *store.Tx, who Author, s *store.Split) error {
	ids := []int64{s.HazardID}
	for _, m := range s.Events {
		if m.To != 0 {
			ids = append(ids, m.To)
		}
	}
	for _, id := range ids {
		h, err := tx.Hazard(id)
		if err != nil {
			return err
		}
		if err := who.mayWrite(h); err != nil {
			return err
		}
		if id == s.HazardID && h.Reason == hazard.EndMerged {
			return changedSince(tx, h, "hazard %d, which was split, was merged: undo that first", id)
		}
	}
	return e.intake.Unpart(ctx, tx, s)
}

func (e *Editor) undoEnd(ctx context.Context, tx *store.Tx, h *hazard.Hazard, change int64) error {
	c, err := tx.Change(change)
	if errors.Is(err, hazard.ErrNotFound) || err == nil && c.HazardID != h.ID {
		bad := &hazard.InvalidError{}
		bad.Add("change", "%d is not a change of hazard %d; GET /hazards/%d/changes lists them", change, h.ID, h.ID)
		return bad
	}
	if err != nil {
		return err
	}
	notUndone := fmt.Errorf("%w: change %d is not a merge, nor a person's split, end or retraction, or it was already undone", hazard.ErrConflict, change)
	if c.Hazard == nil || c.Actor == "" || c.Hazard.Status != hazard.Expired || c.Hazard.Reason == hazard.EndMerged {
		return notUndone
	}
	before, err := tx.HazardAsOf(h.ID, change-1)
	if err != nil {
		return err
	}
	if before.Status == hazard.Expired && before.Reason == c.Hazard.Reason {
		return notUndone
	}
	if h.Status != c.Hazard.Status || h.Reason != c.Hazard.Reason || h.End != c.Hazard.End || h.Severity != c.Hazard.Severity {
		return changedSince(tx, h, "the end of hazard %d", h.ID)
	}
	return e.intake.Restore(ctx, tx, h, before)
}

// changedSince returns the conflict for something that was changed after the change to be undone.
func changedSince(tx *store.Tx, h *hazard.Hazard, what string, args ...any) error {
	last, err := tx.Change(h.Version)
	if err != nil {
		return err
	}
	by := "by the service"
	switch {
	case last.Actor != "":
		by = "by " + last.Actor
	case last.Source != "":
		by = "by source " + last.Source
	}
	return fmt.Errorf("%w: changed since: %s (change %d, %s, %s)", hazard.ErrConflict, fmt.Sprintf(what, args...), last.Number, last.Kind, by)
}

var undoFields = only("change", integer)
