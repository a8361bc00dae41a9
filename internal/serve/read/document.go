package read

import (
	"context"
	"io"
	"iter"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// maxForms bounds the cache of hazards in formats other than JSON, in bytes. It holds the records of
// 5,000 hazards, a quarter with an area, and besides them most plain feeds.
const maxForms = 32 << 20

// Encode writes a document of hazards, each with the number of products that the reader may see and
// the format's additional data. Encoded hazards are cached.
func (a *Hazards) Encode(ctx context.Context, out io.Writer, from format.Store, f format.Format, o format.Options, list iter.Seq2[*hazard.Hazard, int]) error {
	if o.At == 0 {
		o.At = a.Now()
	}
	doc := format.NewWriter(out, f, o)
	for h, products := range list {
		if err := route.Pause(ctx); err != nil {
			return err
		}
		if err := a.forms.Write(ctx, doc, from, h, products); err != nil {
			return err
		}
	}
	return doc.Close()
}

// Row returns a hazard as a row of a table, with the number of products that the reader may see.
func (a *Hazards) Row(ctx context.Context, from format.Store, h *hazard.Hazard, products int) (*format.Row, error) {
	return a.forms.Row(ctx, from, h, products, a.BaseURL)
}
