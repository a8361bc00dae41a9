package sse

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/store/follow"
	"github.com/hazardd/hazardd/wire"
)

// variant identifies the variants of a change's event text. It combines the number of products that
// the reader may see, times product, with three flags. It is a small number, so that it can be a
// map key without an allocation.
type variant int64

const (
	left      variant = 1 << iota // the hazard no longer matches the filter
	deleted                       // the reader learns only that the product was deleted, without its texts
	enveloped                     // it is a CloudEvent
	named                         // for a reader without an account: without login names
	product
	// language is multiplied by one plus the index of the text in whose language the hazard is; 0
	// means as stored.
	language variant = 1 << 40
)

// event returns the event of a change for a member of orgs and the cursor's filter, or nil if there
// is nothing to send.
func (c *Cursor) event(ctx context.Context, e *follow.Entry, orgs []int64) ([]byte, error) {
	seen := e.SeenBy(orgs)
	if seen == nil {
		return nil, nil
	}
	var v variant
	if seen != &e.Change {
		v = deleted
	}
	if c.filter != nil {
		before, after, err := e.States(ctx)
		if err != nil {
			return nil, err
		}
		pass, err := c.filter.Match(ctx, after.Named(c.names))
		if err == nil && !pass && before != nil && before != after {
			if pass, err = c.filter.Match(ctx, before.Named(c.names)); pass {
				v |= left
			}
		}
		if err != nil || !pass {
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
				v += product
			}
		}
	}
	if c.envelope {
		v |= enveloped
	}
	if c.names != nil {
		v |= named
	}
	if e.Hazard != nil {
		v += variant(c.reader.Text(e.Hazard)+1) * language
	}
	return e.Text(v, func() ([]byte, error) {
		if i := int(v / language); i > 0 {
			inOther := *seen
			inOther.Hazard = seen.Hazard.In(&seen.Hazard.Texts[i-1])
			seen = &inOther
		}
		seen = seen.Named(c.names)
		shown := wire.FromChange(seen, int(v%language/product), c.hub.base)
		shown.Left = v&left != 0
		var told any = &shown
		if v&enveloped != 0 {
			told = new(shown.CloudEvent(c.hub.base, c.hub.source()))
		}
		data, err := json.Marshal(told)
		if err != nil {
			return nil, fmt.Errorf("change %d: %w", e.Number, err)
		}
		return fmt.Appendf(make([]byte, 0, len(data)+64), "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Kind, data), nil
	})
}
