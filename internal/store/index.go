package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store/find"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// This file keeps the search tables of package find up to date with the log.

// bounds returns the bounding box of a hazard's areas, or of its point.
func (t *txn) bounds(h *hazard.Hazard) (geo.Box, error) {
	shapes, err := t.store.shapesOf(t.ctx, t.q, h.Areas)
	if err != nil {
		return geo.Box{}, err
	}
	return geo.BoundsOf(query.Footprint(h, shapes)...), nil
}

// rankAnew recomputes the ranks of active hazards, once per version of the rules of importance.
// Unchanged hazards would otherwise keep old ranks or have none.
func (s *core) rankAnew(ctx context.Context) error {
	const name = "importance"
	if version, err := s.readQ.Meta(ctx, name); err == nil && version == hazard.ImportanceVersion {
		return nil
	} else if err != nil && !none(err) {
		return storeError(err)
	}
	for after, more := int64(0), true; more; {
		err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
			w := find.Begin(ctx, tx, s.ix, nil)
			ids, err := q.ActiveHazardsAfter(ctx, sqlc.ActiveHazardsAfterParams{After: after, MaxRows: catchUpBatch})
			if err != nil {
				return err
			}
			for _, id := range ids {
				h, err := hazardByID(ctx, q, id)
				if err == nil {
					err = w.Values(h)
				}
				if err != nil {
					return err
				}
				after = id
			}
			if more = len(ids) == catchUpBatch; more {
				return nil
			}
			return q.SetMeta(ctx, sqlc.SetMetaParams{Name: name, Value: hazard.ImportanceVersion})
		})
		if err != nil {
			return fmt.Errorf("order hazards by importance: %w", err)
		}
	}
	return nil
}

// catchUpBatch is how many changes are indexed in one transaction; other writers wait for it.
const catchUpBatch = 2000

// catchUp indexes the hazards that a program of an earlier schema has written without indexing
// them.
func (s *core) catchUp(ctx context.Context) error {
	for {
		done, err := s.readQ.Counter(ctx, "found")
		if err != nil {
			return storeError(err)
		}
		last, err := s.readQ.Counter(ctx, "change")
		if err != nil || done >= last {
			return storeError(err)
		}
		upTo := min(last, done+catchUpBatch)
		err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
			t := newTx(&txn{ctx: ctx, tx: tx, q: q, store: s.store})
			t.found = find.Begin(ctx, tx, s.ix, t.bounds)
			ids, err := q.ChangedHazards(ctx, sqlc.ChangedHazardsParams{After: done, UpTo: upTo})
			if err != nil {
				return err
			}
			for _, id := range ids {
				h, err := t.Hazard(id)
				if err != nil {
					return err
				}
				moments, err := q.MomentsOfHazard(ctx, id)
				if err != nil {
					return err
				}
				if err := t.found.Anew(h, hazard.Instant(moments.FirstMs), hazard.Instant(moments.LastMs)); err != nil {
					return err
				}
			}
			if err := q.Searchable(ctx, sqlc.SearchableParams{Last: upTo, Before: done}); err != nil {
				return err
			}
			return t.found.End()
		})
		if err != nil {
			return fmt.Errorf("make hazards findable: %w", err)
		}
	}
}
