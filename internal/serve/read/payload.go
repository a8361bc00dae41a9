package read

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// payloadLink identifies a payload as received.
type payloadLink struct {
	SHA256   string `json:"sha256"`
	Received string `json:"received"` // when this content was first received
	Source   string `json:"source"`
	// URL is where it came from, without secrets; absent for a file.
	URL string `json:"url,omitzero"`
	// Href is the address of the payload, for editors.
	Href string `json:"href"`
}

// payloadsOf lists the stored payloads behind a source's report of an event.
func (a *Details) payloadsOf(ctx context.Context, e *store.EventReports) ([]payloadLink, error) {
	said := slices.Clone(e.Said)
	slices.SortStableFunc(said, func(x, y store.Said) int { return cmp.Compare(y.Received, x.Received) })
	var list []payloadLink
	known := map[string]bool{"": true}
	for _, s := range said {
		if known[s.Payload] || len(known) > maxPayloads {
			continue
		}
		known[s.Payload] = true
		r, err := a.Store.Evidence.FirstReceiptOf(ctx, s.Payload, e.Source)
		if errors.Is(err, hazard.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, payloadLink{SHA256: s.Payload, Received: r.Read.String(), Source: r.Source, URL: r.Address, Href: a.BaseURL + "/payloads/" + s.Payload})
	}
	return list, nil
}
