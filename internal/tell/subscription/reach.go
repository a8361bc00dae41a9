package subscription

import (
	"context"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// Reach returns how many subscriptions would be notified of a new hazard with these areas.
func (s *Service) Reach(ctx context.Context, h *hazard.Hazard, areas []geo.Shape) (n int, err error) {
	if s.Key == nil {
		return 0, nil
	}
	if err := s.sync(ctx); err != nil {
		return 0, err
	}
	shapes := query.Footprint(h, areas)
	assets, err := s.assetsNear(ctx, shapes)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.near(shapes, assets, func(slot *slot) {
		if slot.criteria.match(h, s.Counting) {
			n++
		}
	})
	return n, nil
}
