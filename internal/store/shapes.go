package store

import (
	"context"
	"fmt"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// maxShapes bounds the cache of shapes, in bytes. It holds everything active on a day of disasters.
const maxShapes = 32 << 20

// shapeCache caches shapes by the digests of their texts. It is safe for concurrent use.
type shapeCache struct{ *lru.Cache[string, geo.Shape] }

func newShapeCache() shapeCache { return shapeCache{lru.New[string, geo.Shape](maxShapes)} }

// of reads the shapes of refs.
func (c shapeCache) of(ctx context.Context, q *sqlc.Queries, refs []hazard.AreaRef) ([]geo.Shape, error) {
	var shapes []geo.Shape
	for _, ref := range refs {
		s, ok := c.Get(ref.Digest)
		if !ok {
			text, err := q.Geometry(ctx, ref.Digest)
			if err != nil {
				return nil, fmt.Errorf("geometry %s: %w", ref.Digest, storeError(err))
			}
			if err := intactGeometry(ref.Digest, text); err != nil {
				return nil, err
			}
			if s, err = geo.ReadStored(text); err != nil {
				return nil, fmt.Errorf("geometry %s: %w", ref.Digest, err)
			}
			c.Put(ref.Digest, s, s.Size())
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// Shapes returns the geometries of refs, in order.
func (s *Hazards) Shapes(ctx context.Context, refs []hazard.AreaRef) ([]geo.Shape, error) {
	return s.shapes.of(ctx, s.readQ, refs)
}

// Selection is a filter that reads what it needs from the store. It is safe for concurrent use.
type Selection struct {
	store  *Store
	filter query.Filter
}

// Select returns a Selection for a filter.
func (s *Search) Select(f query.Filter) *Selection { return &Selection{s.store, f} }

// Match reports whether a recorded state of a hazard matches the filter; it ignores an end that has
// passed since. It resolves the filter's ref each time, because the result may change.
func (x *Selection) Match(ctx context.Context, h *hazard.Hazard) (bool, error) {
	f := x.filter
	if err := x.store.Search.Resolve(ctx, &f); err != nil {
		return false, err
	}
	const recorded = hazard.MinInstant // earlier than any end
	if !f.MatchRecord(h, recorded) || !f.NeedsShapes() {
		return f.MatchRecord(h, recorded), nil
	}
	shapes, err := x.store.Hazards.Shapes(ctx, h.Areas)
	return err == nil && f.MatchAt(h, query.Footprint(h, shapes), recorded), err
}
