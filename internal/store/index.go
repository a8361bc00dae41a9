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
		return geo.Box{}, placeError{err}
	}
	return geo.BoundsOf(query.Footprint(h, shapes)...), nil
}

// rankAnew recomputes the ranks of active hazards, once per version of the rules of importance.
// Unchanged hazards would otherwise keep old ranks or have none.
func (s *core) rankAnew(ctx context.Context) error {
	err := s.onceForActive(ctx, "importance", hazard.ImportanceVersion, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries, id int64) error {
		h, err := hazardByID(ctx, q, id)
		if Broken(err) { // it keeps the order that it had, until it is mended and changes
			return nil
		}
		if err != nil {
			return err
		}
		t := newTx(&txn{ctx: ctx, tx: tx, q: q, store: s.store, found: find.Begin(ctx, tx, s.ix, nil)})
		return t.findable(func(w *find.Writing) error { return w.Values(h) })
	})
	if err != nil {
		return fmt.Errorf("order hazards by importance: %w", err)
	}
	return nil
}

// placeAnew has all active hazards derived again from their reports, once per version of the kinds of
// places. States of older programs do not have them.
func (s *core) placeAnew(ctx context.Context) error {
	err := s.onceForActive(ctx, "place kinds", hazard.PlaceVersion, func(ctx context.Context, _ *sql.Tx, q *sqlc.Queries, id int64) error {
		h, err := hazardByID(ctx, q, id)
		if err != nil { // damaged: it is derived again when it is mended
			return nil
		}
		return q.SetWake(ctx, sqlc.SetWakeParams{HazardID: id, AtMs: int64(h.LastUpdate), NowMs: int64(h.LastUpdate)}) // due at once, and not before it was written
	})
	if err != nil {
		return fmt.Errorf("derive places again: %w", err)
	}
	return nil
}

// onceForActive calls each with every active hazard, in transactions of catchUpBatch, unless the value
// that is stored under a name is the version already.
func (s *core) onceForActive(ctx context.Context, name, version string, each func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries, id int64) error) error {
	if done, err := s.readQ.Meta(ctx, name); err == nil && done == version {
		return nil
	} else if err != nil && !none(err) {
		return storeError(err)
	}
	for after, more := int64(0), true; more; {
		err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
			ids, err := q.ActiveHazardsAfter(ctx, sqlc.ActiveHazardsAfterParams{After: after, MaxRows: catchUpBatch})
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := each(ctx, tx, q, id); err != nil {
					return err
				}
				after = id
			}
			if more = len(ids) == catchUpBatch; more {
				return nil
			}
			return q.SetMeta(ctx, sqlc.SetMetaParams{Name: name, Value: version})
		})
		if err != nil {
			return err
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
		if err != nil || done >= last || s.spoiledBy.Load() != nil {
			return storeError(err)
		}
		upTo, err := s.upTo(ctx, done, last, catchUpBatch)
		if err != nil {
			return err
		}
		err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
			t := newTx(&txn{ctx: ctx, tx: tx, q: q, store: s.store})
			t.found = find.Begin(ctx, tx, s.ix, t.bounds)
			ids, err := q.ChangedHazards(ctx, sqlc.ChangedHazardsParams{After: done, UpTo: upTo})
			if err != nil {
				return err
			}
			for _, id := range ids {
				h, err := t.Hazard(id)
				if Broken(err) { // it cannot be found until it is mended and changes
					continue
				}
				if err != nil {
					return err
				}
				moments, err := q.MomentsOfHazard(ctx, id)
				if err != nil {
					return err
				}
				err = t.findable(func(w *find.Writing) error {
					return w.Anew(h, hazard.Instant(moments.FirstMs), hazard.Instant(moments.LastMs))
				})
				if err != nil && !Broken(err) {
					return err
				}
			}
			if err := t.findable((*find.Writing).End); err != nil || s.spoiledBy.Load() != nil {
				return err
			}
			return q.Searchable(ctx, sqlc.SearchableParams{Last: upTo, Before: done})
		})
		if s.spoiledBy.Load() != nil {
			return nil // keepSearchable goes on
		}
		if err != nil {
			return fmt.Errorf("index hazards for search: %w", err)
		}
	}
}

// upTo returns the end of the next batch of at most so many changes after done: where numbers are missing, as after a
// fork, it is far.
func (s *core) upTo(ctx context.Context, done, last, most int64) (int64, error) {
	var next sql.NullInt64
	if err := s.read.QueryRowContext(ctx, `SELECT min(n) FROM changes WHERE n > $1`, done).Scan(&next); err != nil {
		return 0, storeError(err)
	}
	if !next.Valid {
		return last, nil
	}
	return min(last, next.Int64+most), nil
}

// namesAtOnce is how many changes nameAll reads for one transaction.
const namesAtOnce = 500

// nameAll writes the names of hazards that a program of an earlier schema has written. It reads the
// states before each transaction, and writes no name of a hazard that has changed since.
func (s *core) nameAll(ctx context.Context) error {
	for {
		if err := s.disk.why(); err != nil {
			return err // and nobody reads who does not have to: see recover
		}
		done, err := s.readQ.Counter(ctx, "named")
		if err != nil {
			return storeError(err)
		}
		last, err := s.readQ.Counter(ctx, "change")
		if err != nil || done >= last {
			return storeError(err)
		}
		upTo, err := s.upTo(ctx, done, last, namesAtOnce)
		if err != nil {
			return err
		}
		ids, err := s.readQ.ChangedHazards(ctx, sqlc.ChangedHazardsParams{After: done, UpTo: upTo})
		if err != nil {
			return storeError(err)
		}
		var states []*hazard.Hazard
		for _, id := range ids {
			h, err := hazardByID(ctx, s.readQ, id)
			if err == nil {
				states = append(states, h)
			} else if !Broken(err) { // it is not found by its name until it is mended and changes
				return err
			}
		}
		err = s.inTx(Patient(ctx), func(ctx context.Context, tx *sql.Tx, q *sqlc.Queries) error {
			for _, h := range states {
				if _, err := tx.ExecContext(ctx, `UPDATE searchable SET name = $1 WHERE id = $2 AND n = $3`, query.FoldedName(h.Name), h.ID, h.Version); err != nil {
					return err
				}
			}
			return q.Named(ctx, sqlc.NamedParams{Last: upTo, Before: done})
		})
		if err != nil {
			return fmt.Errorf("write names for searches: %w", err)
		}
	}
}
