package intake

import (
	"context"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// maxDue is how many hazards end, and how many are derived again, in one transaction: other writers wait for it.
const maxDue = 100

// Pass records what time alone has changed up to now, by clock: hazards end, and hazards of which a
// part or a source has run out are derived again. A running service calls it at each moment that
// store.NextMoment names.
func (in *Intake) Pass(ctx context.Context, clock hazard.Clock) error {
	for {
		more := false
		_, err := in.store.Write(ctx, clock, store.Origin{}, func(tx *store.Tx) error {
			due, err := tx.Due(maxDue)
			if err != nil {
				return err
			}
			for _, h := range due {
				if err := tx.SaveHazard(h.ExpireAt(tx.Now()), h); err != nil {
					return err
				}
			}
			if more = len(due) == maxDue; more {
				return nil
			}
			ids, err := tx.Wakes(maxDue)
			if err != nil {
				return err
			}
			more = len(ids) == maxDue
			for _, id := range ids {
				// It is woken again at a later moment than this one, so that none comes twice.
				if err := tx.Woken(id); err != nil {
					return err
				}
				if err := in.writer(ctx, tx, "").renew(id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || !more {
			return err
		}
	}
}

// PassUntil records what time alone has changed up to now, each change as of its own moment: what
// Pass would have recorded in a service that ran all the time. Imports and replays call it before
// each payload.
func (in *Intake) PassUntil(ctx context.Context, now hazard.Instant) error {
	for {
		at, any, err := in.store.NextMoment(ctx)
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
			_, err = w.products(h, &all[i].Head)
		}
	}
	return err
}
