package push

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"hazardd/internal/tail"
	"hazardd/wire"
)

// variant is what the text of an event depends on, beside the change.
type variant struct {
	total   int // products of the hazard that the reader may know of
	left    bool
	deleted bool // the reader is told that the product was deleted, without its texts
}

// event is the event of a change as a member of orgs sees it through the cursor's filter; nil if there is nothing to see.
func (c *Cursor) event(ctx context.Context, e *tail.Entry, orgs []int64) ([]byte, error) {
	seen := e.SeenBy(orgs)
	if seen == nil {
		return nil, nil
	}
	v := variant{deleted: seen != &e.Change}
	if c.filter != nil {
		before, after, err := e.States(ctx)
		if err != nil {
			return nil, err
		}
		pass, err := c.filter.Match(ctx, after)
		if err == nil && !pass && before != nil && before != after {
			v.left, err = c.filter.Match(ctx, before)
		}
		if err != nil || !pass && !v.left {
			return nil, err
		}
	}
	if e.Hazard != nil {
		products, err := e.Products(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range products {
			if p.VisibleTo(orgs) {
				v.total++
			}
		}
	}
	return e.Text(v, func() ([]byte, error) {
		shown := wire.FromChange(seen, v.total, c.hub.base)
		shown.Left = v.left
		data, err := json.Marshal(&shown)
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", e.Number, err)
		}
		return fmt.Appendf(make([]byte, 0, len(data)+64), "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data), nil
	})
}
