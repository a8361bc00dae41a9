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

// read reads one shape.
func (c shapeCache) read(ctx context.Context, q *sqlc.Queries, digest string) (geo.Shape, error) {
	if s, ok := c.Get(digest); ok {
		return s, nil
	}
	text, err := q.Geometry(ctx, digest)
	if err != nil {
		return geo.Shape{}, found(err, "geometry %s", digest)
	}
	if err := intactGeometry(digest, text); err != nil {
		return geo.Shape{}, err
	}
	s, err := geo.ReadStored(text)
	if err != nil {
		return geo.Shape{}, fmt.Errorf("geometry %s: %w", digest, err)
	}
	c.Put(digest, s, s.Size())
	return s, nil
}

// shapesOf reads the shapes of refs, without damaged ones; see Quarantine. Without any, a hazard is
// at its point.
func (s *core) shapesOf(ctx context.Context, q *sqlc.Queries, refs []hazard.AreaRef) ([]geo.Shape, error) {
	var shapes []geo.Shape
	for _, ref := range refs {
		shape, err := s.shapes.read(ctx, q, ref.Digest)
		switch {
		case err == nil:
			shapes = append(shapes, shape)
		case !s.store.Quarantine.geometry(ref.Digest, err):
			return nil, err
		}
	}
	return shapes, nil
}

// Shapes returns the geometries of refs, in order, without damaged ones.
func (s *Hazards) Shapes(ctx context.Context, refs []hazard.AreaRef) ([]geo.Shape, error) {
	return s.shapesOf(ctx, s.readQ, refs)
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
	shapes, err := x.store.Hazards.Shapes(ctx, f.Refs(h))
	return err == nil && f.MatchAt(h, f.Places(h, shapes), recorded), err
}
