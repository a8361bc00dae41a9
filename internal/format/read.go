package format

import (
	"context"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Store is what Read needs of a store.
type Store interface {
	// Areas reads the geometries that refs name.
	Areas(ctx context.Context, refs []hazard.AreaRef) ([]hazard.Area, error)
	// HazardChanges returns the changes of one hazard and its products numbered above n, in commit order, at most limit.
	HazardChanges(ctx context.Context, hazardID, n int64, limit int) ([]hazard.Change, error)
}

// changesAtOnce is how many changes are read in one piece.
const changesAtOnce = 1000

// Read returns the entry of a hazard as readers see it, with the number of products that the reader
// may see. It reads only the additional data that the format shows.
func Read(ctx context.Context, s Store, f Format, h *hazard.Hazard, products int) (*Entry, error) {
	e := &Entry{Hazard: h, Products: products}
	var err error
	if f != JSON && f != NDJSON {
		if e.Areas, err = s.Areas(ctx, h.Areas); err != nil {
			return nil, err
		}
	}
	if f != CAP {
		return e, nil
	}
	var changes []hazard.Change
	for after := int64(0); ; {
		more, err := s.HazardChanges(ctx, h.ID, after, changesAtOnce)
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
		if len(more) < changesAtOnce {
			e.Versions = Versions(changes)
			return e, nil
		}
		after = more[len(more)-1].Number
	}
}
