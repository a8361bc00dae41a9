package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"hazardd/internal/hazard"
	"hazardd/wire"
)

// entry is a change, with what is known of it so far. What nobody asks for is not made.
type entry struct {
	hazard.Change
	weight int // bytes that it takes in memory, roughly
	// open is the event as everybody sees it; nil as long as it is not made, and if it differs between audiences.
	open   atomic.Pointer[[]byte]
	states atomic.Pointer[states]

	mu       sync.Mutex // guards what follows
	products []*hazard.Product
	counted  bool // products are known
	texts    map[variant][]byte
}

// variant is what the text of an event depends on, beside the change.
type variant struct {
	total int // products of the hazard that the reader may know of
	left  bool
}

// states are the hazard's before and after the change: the same for a change of a product; before is nil for a new hazard.
type states struct{ before, after *hazard.Hazard }

func newEntry(c hazard.Change) *entry {
	e := &entry{Change: c, weight: 4 << 10}
	if h := c.Hazard; h != nil {
		e.weight += 3 * (len(h.Name) + len(h.Description) + len(h.Comment) + len(h.Note))
	}
	if p := c.Product; p != nil {
		e.weight += 3 * (len(p.Title) + len(p.Data) + len(p.Comment) + len(p.Geometry))
	}
	return e
}

// prepare makes what most readers ask for.
func (e *entry) prepare(ctx context.Context, h *Hub) error {
	if e.Product != nil && e.Product.Restricted() {
		return nil
	}
	_, err := e.text(ctx, h, false, nil)
	return err
}

// event is the event as a member of orgs sees it through the filter; nil if there is nothing to see.
func (e *entry) event(ctx context.Context, h *Hub, f Filter, orgs []int64) ([]byte, error) {
	if !e.VisibleTo(orgs) {
		return nil, nil
	}
	left := false
	if f != nil {
		s, err := e.hazard(ctx, h.log)
		if err != nil {
			return nil, err
		}
		pass, err := f.Match(ctx, s.after)
		if err == nil && !pass && s.before != nil && s.before != s.after {
			left, err = f.Match(ctx, s.before)
		}
		if err != nil || !pass && !left {
			return nil, err
		}
	}
	if t := e.open.Load(); t != nil && !left {
		return *t, nil
	}
	return e.text(ctx, h, left, orgs)
}

// hazard is the hazard's states before and after the change.
func (e *entry) hazard(ctx context.Context, log Log) (*states, error) {
	if s := e.states.Load(); s != nil {
		return s, nil
	}
	s := &states{after: e.Hazard}
	var err error
	switch {
	case e.Product != nil:
		s.after, err = log.HazardAsOf(ctx, e.HazardID, e.Number)
		s.before = s.after
	case e.Kind != hazard.HazardCreated:
		if s.before, err = log.HazardAsOf(ctx, e.HazardID, e.Number-1); errors.Is(err, hazard.ErrNotFound) {
			err = nil // it begins with another kind of change: a split
		}
	}
	if err != nil {
		return nil, err
	}
	e.states.Store(s)
	return s, nil
}

// text is the event's text for a member of orgs, who may know of it.
func (e *entry) text(ctx context.Context, h *Hub, left bool, orgs []int64) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := variant{left: left}
	same := true // for everybody
	if e.Hazard != nil {
		if !e.counted && e.Kind != hazard.HazardCreated {
			var err error
			if e.products, err = h.log.ProductsAsOf(ctx, e.HazardID, e.Number); err != nil {
				return nil, err
			}
		}
		e.counted = true
		for _, p := range e.products {
			same = same && !p.Restricted()
			if p.VisibleTo(orgs) {
				v.total++
			}
		}
	}
	if t, ok := e.texts[v]; ok {
		return t, nil
	}
	shown := wire.FromChange(&e.Change, v.total, h.base)
	shown.Left = left
	data, err := json.Marshal(&shown)
	if err != nil {
		return nil, fmt.Errorf("change %d: %w", e.Number, err)
	}
	t := fmt.Appendf(make([]byte, 0, len(data)+64), "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data)
	if e.texts == nil {
		e.texts = map[variant][]byte{}
	}
	e.texts[v] = t
	if same && !left {
		e.open.Store(&t)
	}
	return t, nil
}
