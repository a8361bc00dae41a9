package fuse

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// maxDue is how many hazards end, and how many are derived again, in one transaction; fewer while others wait (store.Tx.Yield).
const maxDue = 100

// Pass records what time alone has changed up to now, by clock: hazards end, and hazards of which a
// part or a source has run out are derived again. A running service calls it at each moment that
// NextMoment names. A hazard whose rows are damaged is left as it is, and its neighbors go on; Damaged names it until
// a later Pass finds it mended. That also takes in the reports that were kept back meanwhile.
func (in *Intake) Pass(ctx context.Context, clock hazard.Clock) error {
	damaged := map[int64]error{}
	for {
		more, err := in.passSome(ctx, clock, slices.Collect(maps.Keys(damaged)))
		if of, ok := errors.AsType[*store.HazardError](err); ok && store.Broken(of.Err) {
			damaged[of.ID] = of.Err // nothing is written of the transaction: once more, without it
			continue
		}
		if err != nil {
			return err
		}
		if !more {
			in.damaged.Store(&damaged)
			return in.takeUp(ctx, clock)
		}
	}
}

// takeUp takes in the reports that were kept back because something was damaged, as far as it is mended by now. Those that cannot be read themselves stay.
func (in *Intake) takeUp(ctx context.Context, clock hazard.Clock) error {
	kept, err := in.store.Reports.KeptBack(ctx)
	if err != nil {
		return err
	}
	broken, unreadable := map[store.EventName]bool{}, map[int64]error{}
	for _, k := range kept {
		name := store.EventName{Source: k.Report.Source, Key: k.Report.Key}
		if broken[name] {
			continue
		}
		var unread error
		_, err := in.store.Write(ctx, clock, store.Origin{Source: name.Source}, func(tx *store.Tx) error {
			held, err := tx.Reports.TakeUp(k.ID)
			if unread = err; err == nil {
				_, err = in.Take(ctx, tx, held.Report)
			}
			return err
		})
		switch {
		case errors.Is(unread, hazard.ErrNotFound): // somebody has decided about it meanwhile
		case store.Broken(unread):
			unreadable[k.ID] = unread
		case store.Broken(err):
			broken[name] = true
		case err != nil:
			return err
		}
	}
	in.unreadable.Store(&unreadable)
	return nil
}

// passSome does a part of Pass in one transaction, without some hazards. An error that one hazard has is a *store.HazardError.
func (in *Intake) passSome(ctx context.Context, clock hazard.Clock, but []int64) (more bool, err error) {
	_, err = in.store.Write(ctx, clock, store.Origin{}, func(tx *store.Tx) error {
		due, err := tx.Due(maxDue, but...)
		if err != nil {
			return err
		}
		for _, h := range due {
			if err := tx.SaveHazard(h.ExpireAt(tx.Now()), h); err != nil {
				return &store.HazardError{ID: h.ID, Err: err}
			}
			if more, err = tx.Yield(); more || err != nil {
				return err
			}
		}
		if more = len(due) == maxDue; more {
			return nil
		}
		ids, err := tx.Wakes(maxDue, but...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			// It is woken again at a later moment than this one, so that none comes twice.
			if err := errors.Join(tx.Woken(id), in.writer(ctx, tx, "").renew(id)); err != nil {
				return &store.HazardError{ID: id, Err: err}
			}
			if more, err = tx.Yield(); more || err != nil {
				return err
			}
		}
		more = len(ids) == maxDue
		return nil
	})
	return more, err
}

// Damaged are the hazards, by their numbers, that the last Pass left as they are because something of them is damaged, and what.
func (in *Intake) Damaged() map[int64]error {
	if damaged := in.damaged.Load(); damaged != nil {
		return *damaged
	}
	return nil
}

// Unreadable are the reports, by their numbers, that were kept back because something was damaged and that the last Pass could not read, and why.
func (in *Intake) Unreadable() map[int64]error {
	if unreadable := in.unreadable.Load(); unreadable != nil {
		return *unreadable
	}
	return nil
}

// NextMoment is the next moment at which a hazard changes by itself, and whether there is one; of what is damaged, none is known.
func (in *Intake) NextMoment(ctx context.Context) (hazard.Instant, bool, error) {
	return in.store.Hazards.NextMoment(ctx, slices.Collect(maps.Keys(in.Damaged()))...)
}

// PassUntil records what time alone has changed up to now, each change as of its own moment: what
// Pass would have recorded in a service that ran all the time. Imports and replays call it before
// each payload.
func (in *Intake) PassUntil(ctx context.Context, now hazard.Instant) error {
	for {
		at, any, err := in.NextMoment(ctx)
		if err != nil || !any || at > now {
			return err
		}
		if err := in.Pass(ctx, at); err != nil {
			return err
		}
	}
}

// renew makes a hazard and its products what its events say and give now: the products of a part
// that has run out go with it.
func (w *writer) renew(id int64) error {
	all, err := w.derived(id, store.EventName{})
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return w.withoutSources(id)
	}
	h, _, err := w.settle(id, uuid.Nil, all)
	for i := range all {
		if err == nil {
			_, err = w.products(h, &all[i].Head, false)
		}
	}
	return err
}
