package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

	products atomic.Pointer[[]*hazard.Product] // those that the hazard had then; nil: not read yet

	mu    sync.Mutex // guards what follows
	texts map[variant][]byte
}

// variant is what the text of an event depends on, beside the change.
type variant struct {
	total   int // products of the hazard that the reader may know of
	left    bool
	deleted bool // the reader is told that the product was deleted, without its texts
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
	if e.Product != nil && !e.Product.Open() {
		return nil
	}
	_, err := e.text(ctx, h, &e.Change, false, nil)
	return err
}

// concerns reports whether what the entry says depends on who may read the product numbered id, and was made when that was not today's audience.
func (e *entry) concerns(id int64, today hazard.Audience) bool {
	if e.Product != nil {
		return e.Product.ID == id && !e.Product.Today().Equal(today)
	}
	counted := e.products.Load()
	return counted == nil || slices.ContainsFunc(*counted, func(p *hazard.Product) bool { return p.ID == id && !p.Today().Equal(today) })
}

// anew is the entry without what was made of it, for whoever may read the product numbered id today.
func (e *entry) anew(id int64, today hazard.Audience) *entry {
	fresh := newEntry(e.Change)
	if e.Product != nil && e.Product.ID == id {
		p := *e.Product
		p.Present = &today
		fresh.Product = &p
	}
	return fresh
}

// event is the event as a member of orgs sees it through the filter; nil if there is nothing to see.
func (e *entry) event(ctx context.Context, h *Hub, f Filter, orgs []int64) ([]byte, error) {
	seen := e.SeenBy(orgs)
	if seen == nil {
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
	return e.text(ctx, h, seen, left, orgs)
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

// text is the event's text for a member of orgs, who sees the change as seen.
func (e *entry) text(ctx context.Context, h *Hub, seen *hazard.Change, left bool, orgs []int64) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := variant{left: left, deleted: seen != &e.Change}
	same := e.Product == nil || e.Product.Open() // for everybody
	if e.Hazard != nil {
		products, err := e.counted(ctx, h.log)
		if err != nil {
			return nil, err
		}
		for _, p := range products {
			same = same && p.Open()
			if p.VisibleTo(orgs) {
				v.total++
			}
		}
	}
	if t, ok := e.texts[v]; ok {
		return t, nil
	}
	shown := wire.FromChange(seen, v.total, h.base)
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

// counted lists the products that the hazard had as of the change.
func (e *entry) counted(ctx context.Context, log Log) ([]*hazard.Product, error) {
	if known := e.products.Load(); known != nil {
		return *known, nil
	}
	var products []*hazard.Product
	if e.Kind != hazard.HazardCreated {
		var err error
		if products, err = log.ProductsAsOf(ctx, e.HazardID, e.Number); err == nil {
			err = log.JudgeByPresent(ctx, products)
		}
		if err != nil {
			return nil, err
		}
	}
	e.products.Store(&products)
	return products, nil
}
