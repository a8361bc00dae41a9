package store

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/search"
	"hazardd/internal/store/db"
)

// maxShapes bounds the text of the geometries whose shapes are kept, in bytes; the shapes take about half of that. It is enough for all
// that is active on a day of disasters.
const maxShapes = 48 << 20

// shapeCache keeps shapes by the digests of their texts, those that were asked for last. It is safe for concurrent use.
type shapeCache struct {
	mu    sync.Mutex
	size  int // bytes of text
	byKey map[string]*list.Element
	used  *list.List // of *cachedShape, the latest first
}

type cachedShape struct {
	digest string
	shape  geo.Shape
	size   int
}

func newShapeCache() *shapeCache {
	return &shapeCache{byKey: map[string]*list.Element{}, used: list.New()}
}

func (c *shapeCache) get(digest string) (geo.Shape, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[digest]
	if !ok {
		return geo.Shape{}, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*cachedShape).shape, true
}

func (c *shapeCache) put(digest string, s geo.Shape, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[digest]; ok {
		return
	}
	c.byKey[digest] = c.used.PushFront(&cachedShape{digest, s, size})
	for c.size += size; c.size > maxShapes; {
		oldest := c.used.Remove(c.used.Back()).(*cachedShape)
		delete(c.byKey, oldest.digest)
		c.size -= oldest.size
	}
}

// of reads the shapes that refs name.
func (c *shapeCache) of(ctx context.Context, q *db.Queries, refs []hazard.AreaRef) ([]geo.Shape, error) {
	var shapes []geo.Shape
	for _, ref := range refs {
		s, ok := c.get(ref.Digest)
		if !ok {
			text, err := q.Geometry(ctx, ref.Digest)
			if err != nil {
				return nil, fmt.Errorf("geometry %s: %w", ref.Digest, storeError(err))
			}
			if s, err = geo.ParseLoose([]byte(text)); err != nil {
				return nil, fmt.Errorf("geometry %s: %w", ref.Digest, err)
			}
			c.put(ref.Digest, s, len(text))
		}
		shapes = append(shapes, s)
	}
	return shapes, nil
}

// Shapes are the geometries that refs name, in their order.
func (s *Store) Shapes(ctx context.Context, refs []hazard.AreaRef) ([]geo.Shape, error) {
	return s.shapes.of(ctx, s.readQ, refs)
}

// Selection is a filter that reads of the store what it needs. It is safe for concurrent use.
type Selection struct {
	store  *Store
	filter search.Filter
}

// Select makes a Selection of a filter.
func (s *Store) Select(f search.Filter) *Selection { return &Selection{s, f} }

// Match tells whether the filter lets a state of a hazard through, as it was recorded: an end that has come since is another state. What
// somebody's id leads to is looked up each time, since that may change.
func (x *Selection) Match(ctx context.Context, h *hazard.Hazard) (bool, error) {
	f := x.filter
	if err := x.store.Resolve(ctx, &f); err != nil {
		return false, err
	}
	const recorded = hazard.MinInstant // before any end
	if !f.MatchRecord(h, recorded) || !f.NeedsShapes() {
		return f.MatchRecord(h, recorded), nil
	}
	shapes, err := x.store.Shapes(ctx, h.Areas)
	return err == nil && f.MatchPlace(search.Footprint(h, shapes)), err
}
