package exposure

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/hazardd/hazardd/internal/atlas/asset"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// The default distances within which assets are listed: from a hazard without an area, and around
// the area of one with an area.
const (
	NearKm   = 100
	BesideKm = 25
)

// Where is where a hazard is: its alert area, or else its impact area, or else its lines and
// points.
type Where struct {
	// HasArea reports that assets can be inside.
	HasArea bool
	reach   *geo.Reach
	bounds  geo.Box
}

// WhereIs reads where h is.
func WhereIs(ctx context.Context, s *store.Store, h *hazard.Hazard) (*Where, error) {
	areas, err := AreasOf(ctx, s, h)
	if err != nil {
		return nil, err
	}
	w := &Where{}
	var shapes []geo.Shape
	for _, role := range []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea} {
		for _, a := range areas {
			if a.Role == role && a.Shape.AreaKm2() > 0 {
				shapes = append(shapes, a.Shape)
			}
		}
		if len(shapes) > 0 {
			w.HasArea = true
			break
		}
	}
	if !w.HasArea && !h.Somewhere() {
		shapes = append(shapes, geo.Place(h.Longitude, h.Latitude))
		for _, a := range areas {
			shapes = append(shapes, a.Shape)
		}
	}
	w.reach, w.bounds = geo.NewReach(shapes...), geo.BoundsOf(shapes...)
	return w, nil
}

// AssetAt is an asset with its position relative to a hazard.
type AssetAt struct {
	asset.Asset
	Org    int64
	Inside bool  // in the area, at least in part
	Metres int64 // distance from the hazard, to the nearest 100 m; 0: inside
	set    int64
}

// Place is the position of an asset in a list: the nearest first, then by organization, then in the
// order of loading.
type Place struct{ Metres, Set, N int64 }

// Place returns the asset's place in the list.
func (a *AssetAt) Place() Place { return Place{a.Metres, a.set, a.N} }

// compare orders places.
func (p Place) compare(o Place) int {
	return cmp.Or(cmp.Compare(p.Metres, o.Metres), cmp.Compare(p.Set, o.Set), cmp.Compare(p.N, o.N))
}

// Wanted selects the assets of a query.
type Wanted struct {
	Org   func(org int64) bool
	Km    float64 // maximum distance from the hazard; 0: inside only
	After *Place  // only assets after this one
	Limit int
}

// Reached lists the assets that a hazard reaches.
type Reached struct {
	Sets   []asset.Set // of the organizations in the query
	Inside int64
	Near   int64 // number outside, within the distance
	List   []AssetAt
	More   bool // there are more after the last of List
}

// Assets lists the assets where a hazard is. It visits and counts all of them, but keeps no more
// than the limit in memory.
func (w *Where) Assets(ctx context.Context, s *store.Store, wanted Wanted) (*Reached, error) {
	r := &Reached{}
	first := &farthest{}
	err := s.Assets.Read(ctx, wanted.Org, func(all *store.AssetReader) error {
		r.Sets = all.Sets
		for i := range all.Sets {
			set := &all.Sets[i]
			err := all.In(ctx, set, w.bounds.Widened(wanted.Km*1000), func(a *asset.Asset) {
				at, ok := w.at(a, wanted.Km)
				if !ok {
					return
				}
				if at.Org, at.set = set.Org, set.ID; at.Inside {
					r.Inside++
				} else {
					r.Near++
				}
				if wanted.After != nil && at.Place().compare(*wanted.After) <= 0 {
					return
				}
				if heap.Push(first, at); first.Len() > wanted.Limit {
					heap.Pop(first)
					r.More = true
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.List = *first
	slices.SortFunc(r.List, func(a, b AssetAt) int { return a.Place().compare(b.Place()) })
	return r, nil
}

// at returns the position of an asset relative to the hazard. ok is false if it is farther than km.
func (w *Where) at(a *asset.Asset, km float64) (at AssetAt, ok bool) {
	var metres float64
	var far bool
	if a.Area.IsZero() {
		metres, far = w.reach.Distance(a.Lon, a.Lat, km*1000)
	} else {
		metres, far = w.reach.DistanceOf(a.Area, km*1000)
	}
	if far {
		return at, false
	}
	at = AssetAt{Asset: *a, Inside: w.HasArea && metres == 0}
	if !at.Inside {
		at.Metres = int64(math.Round(metres/100)) * 100
	}
	return at, true
}

// farthest is a heap of assets with the last in order at the top.
type farthest []AssetAt

func (f farthest) Len() int           { return len(f) }
func (f farthest) Less(i, j int) bool { return f[i].Place().compare(f[j].Place()) > 0 }
func (f farthest) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *farthest) Push(x any)        { *f = append(*f, x.(AssetAt)) }
func (f *farthest) Pop() any {
	last := (*f)[len(*f)-1]
	*f = (*f)[:len(*f)-1]
	return last
}
