package subscription

import (
	"context"
	"math"
	"slices"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/store"
)

// nearAsset is the asset of an organization that is nearest to a hazard.
type nearAsset struct {
	name   string
	metres float64 // 0 for inside
}

// mayKnow reports whether a user may know the assets of an organization: whether the user is a
// member now.
func (s *Service) mayKnow(user, organization string) bool {
	if user == "" {
		return false
	}
	id, ok := s.Org(organization)
	if !ok {
		return false
	}
	_, orgs, ok := s.Standing(user)
	return ok && slices.Contains(orgs, id)
}

// nearest returns the asset of each organization that is nearest to a hazard at the shapes, by
// acronym. within holds how far it may be in km. Organizations without one are left out.
func (s *Service) nearest(ctx context.Context, shapes []geo.Shape, within map[string]float64) (map[string]nearAsset, error) {
	acronyms := map[int64]string{}
	for acronym := range within {
		if id, ok := s.Org(acronym); ok {
			acronyms[id] = acronym
		}
	}
	if len(acronyms) == 0 {
		return nil, nil
	}
	reach, bounds, found := geo.NewReach(shapes...), geo.BoundsOf(shapes...), map[string]nearAsset{}
	err := s.Store.Assets.Read(ctx, func(org int64) bool { return acronyms[org] != "" }, func(all *store.AssetReader) error {
		for i := range all.Sets {
			set := &all.Sets[i]
			acronym := acronyms[set.Org]
			limit, best := within[acronym]*1000, nearAsset{metres: math.Inf(1)}
			err := all.In(ctx, set, bounds.Widened(limit), func(a *asset.Asset) {
				if best.metres == 0 {
					return
				}
				metres, far := 0.0, false
				if a.Area.IsZero() {
					metres, far = reach.Distance(a.Lon, a.Lat, limit)
				} else {
					metres, far = reach.DistanceOf(a.Area, limit)
				}
				if !far && metres < best.metres {
					best = nearAsset{a.Name, metres}
				}
			})
			if err != nil {
				return err
			}
			if !math.IsInf(best.metres, 1) {
				found[acronym] = best
			}
		}
		return nil
	})
	return found, err
}

// assetsNear is nearest for all organizations whose assets are in subscriptions.
func (s *Service) assetsNear(ctx context.Context, shapes []geo.Shape) (map[string]nearAsset, error) {
	s.mu.Lock()
	within := s.index.within()
	s.mu.Unlock()
	return s.nearest(ctx, shapes, within)
}
