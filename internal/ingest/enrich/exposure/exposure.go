// Package exposure keeps the count of people up to date for each active hazard: outside the write
// path, on one node at a time, as a separate change.
//
// A hazard needs a count if its state has no exposure for its present areas, or one from another
// grid, and has an area or a shape. The state alone decides this. So a killed worker leaves nothing
// behind: the next one finds the same work. Counting runs outside any transaction. A result that says
// the same as the state is no change. The transaction that writes the others checks them again, and
// drops those whose areas have changed meanwhile; it is short, so that it holds up no other writer.
// last_Update does not change, because the base record stays the same.
package exposure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/clock"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/store/lease"
	"github.com/hazardd/hazardd/internal/store/view"
)

// The intervals and limits of the worker.
const (
	leaseName = "exposure"
	every     = 500 * time.Millisecond // how often it looks for changed areas
	again     = 10 * time.Second       // after an error
	maxBatch  = 50                     // hazards in one pass
	maxTime   = 2 * time.Second        // maximum time of counting before results are written
	maxWrite  = 100 * time.Millisecond // after that a transaction takes no further hazard
)

// Config is what a worker needs. No field may be nil.
type Config struct {
	Store *store.Store
	View  func(now hazard.Instant) *view.View
	Grid  func() (*population.Grid, error)
	Clock hazard.Clock
	Log   *slog.Logger
}

// Run counts until ctx ends, while this node has the lease.
func Run(ctx context.Context, c Config) error {
	holder := lease.Holder()
	for {
		lost := lease.Lost(c.Log, "counts people")
		_, err := lease.Hold(ctx, c.Store.Leases, leaseName, holder, lost, func(ctx context.Context, _ *lease.Lease) { c.lead(ctx) })
		wait := lease.Try
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("cannot take the lease to count people; exposures wait", "error", err)
			wait = again
		}
		if clock.Sleep(ctx, wait) != nil {
			return nil
		}
	}
}

// lead counts where necessary until ctx ends. It uses at most half of one processor.
func (c Config) lead(ctx context.Context) {
	checked := map[int64]checkedState{}
	warned, by := false, ""
	for ctx.Err() == nil {
		began := time.Now()
		if grid, err := c.Grid(); err == nil && grid.ID != by {
			if by != "" { // the people in all active hazards are counted again
				c.Log.Info("counting people with other data from now on", "method", grid.Name, "year", grid.Year)
				clear(checked)
			}
			by = grid.ID
		}
		n, err := c.pass(ctx, checked)
		wait := max(every, time.Since(began))
		if n == maxBatch {
			wait = time.Since(began)
		}
		if err != nil && ctx.Err() == nil {
			if !warned {
				c.Log.Warn("cannot count people; exposures wait", "error", err)
			}
			wait = again
		}
		warned = err != nil
		clock.Sleep(ctx, wait)
	}
}

// checkedState is the version of a hazard that needs no count.
type checkedState struct {
	version int64
	seen    int64 // number of the view that last contained it
}

// pass counts for some of the hazards that need it, the most severe first, and returns for how
// many.
func (c Config) pass(ctx context.Context, checked map[int64]checkedState) (int, error) {
	grid, err := c.Grid()
	if err != nil {
		return 0, err
	}
	present := c.View(c.Clock.Now())
	var need []*hazard.Hazard
	for h := range present.Hazards(view.Filter{}, nil) {
		if old := checked[h.ID]; old.version == h.Version {
			checked[h.ID] = checkedState{h.Version, present.Number()}
			continue
		}
		if e := h.Exposed(); e != nil && e.Grid == grid.ID || !h.Countable() {
			checked[h.ID] = checkedState{h.Version, present.Number()}
			continue
		}
		if need = append(need, h); len(need) == maxBatch {
			break
		}
	}
	if len(need) < maxBatch { // all were seen
		for id, s := range checked {
			if s.seen != present.Number() {
				delete(checked, id)
			}
		}
	}
	counted := map[int64]*hazard.Exposure{}
	var versions []*hazard.Hazard
	for began := time.Now(); len(need) > 0 && time.Since(began) < maxTime && ctx.Err() == nil; need = need[1:] {
		h := need[0]
		e, err := Count(ctx, c.Store, grid, h)
		versions = append(versions, h)
		if err != nil {
			if ctx.Err() != nil {
				return 0, err
			}
			c.Log.Warn("cannot count the people of a hazard", "hazard", h.ID, "error", err) // the other hazards are still counted
			// It is not known, and that is a result: who waits for a number of people is told.
			e = &hazard.Exposure{Of: h.ExposureKey(), Grid: grid.ID, Why: hazard.WhyDamaged, Method: grid.Name, Year: grid.Year}
		}
		if !h.Exposure.Equal(e) {
			counted[h.ID] = e
		}
	}
	if err := c.save(ctx, counted); err != nil {
		return 0, err
	}
	for _, h := range versions { // the change makes a new version, which is checked when it appears in the view
		checked[h.ID] = checkedState{h.Version, present.Number()}
	}
	return len(versions), nil
}

// save writes exposures, in transactions of at least one hazard and then of maxWrite.
func (c Config) save(ctx context.Context, counted map[int64]*hazard.Exposure) error {
	for ids := slices.Sorted(maps.Keys(counted)); len(ids) > 0; {
		done := 0
		_, err := c.Store.Write(ctx, c.Clock, store.Origin{}, func(tx *store.Tx) error {
			for began := time.Now(); done < len(ids) && (done == 0 || time.Since(began) < maxWrite); done++ {
				if err := save(tx, ids[done], counted[ids[done]]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		ids = ids[done:]
	}
	return nil
}

// save writes the exposure of a hazard, unless its areas have changed, or it has ended.
func save(tx *store.Tx, id int64, e *hazard.Exposure) error {
	before, err := tx.Hazard(id)
	if errors.Is(err, hazard.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if !before.ActiveAt(tx.Now()) || before.ExposureKey() != e.Of || before.Exposure.Equal(e) {
		return nil
	}
	h := *before
	h.Exposure = e
	return tx.SaveHazard(&h, before)
}

// AreasOf reads the areas of h.
func AreasOf(ctx context.Context, s *store.Store, h *hazard.Hazard) ([]population.Area, error) {
	kept, err := s.Log.Areas(ctx, h.Areas)
	if err != nil {
		return nil, fmt.Errorf("areas of hazard %d: %w", h.ID, err)
	}
	var areas []population.Area
	for _, a := range kept {
		shape, err := geo.ReadStored(a.Geometry)
		if err != nil {
			return nil, fmt.Errorf("areas of hazard %d: %w", h.ID, err)
		}
		areas = append(areas, population.Area{Role: a.Role, Shape: shape})
	}
	return areas, nil
}

// Count counts the people who live where h is: nobody, if that is not known. It reads the areas from
// the store.
func Count(ctx context.Context, s *store.Store, grid *population.Grid, h *hazard.Hazard) (*hazard.Exposure, error) {
	if h.Somewhere() {
		return &hazard.Exposure{Of: h.ExposureKey(), Grid: grid.ID, Why: hazard.WhyNoPlace, Method: grid.Name, Year: grid.Year}, nil
	}
	areas, err := AreasOf(ctx, s, h)
	if err != nil {
		return nil, err
	}
	drawn, err := bands(ctx, s, h)
	if err != nil {
		return nil, fmt.Errorf("shapes of hazard %d: %w", h.ID, err)
	}
	return population.Expose(grid, h.ExposureKey(), areas, drawn, h.Longitude, h.Latitude)
}
