package intake

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lru"
)

// maxMended bounds the shapes that are remembered of reports, in bytes. A source repeats most of them in every poll.
const maxMended = 32 << 20

// areas mends the areas of reports. Those of a batch are mended before its transaction begins, so that nobody waits for that;
// in it, they are found here. It is safe for concurrent use.
type areas struct{ mended *lru.Cache[digest, geo.Shape] }

type digest [sha256.Size]byte

func newAreas() areas { return areas{lru.New[digest, geo.Shape](maxMended)} }

// read returns the shape of the text of a geometry, and whether there is one.
func (a areas) read(text string) (geo.Shape, digest, bool) {
	key := digest(sha256.Sum256([]byte(text)))
	s, ok := a.mended.Get(key)
	if !ok {
		var err error
		if s, err = geo.ParseLoose([]byte(text)); err != nil {
			return geo.Shape{}, key, false
		}
		a.mended.Put(key, s, s.Size())
	}
	return s, key, true
}

// joined returns the union of shapes, whose texts have the keys; not ok if there are none. Without keys it is not remembered.
func (a areas) joined(shapes []geo.Shape, keys []digest) (geo.Shape, bool) {
	var key digest
	if len(keys) == len(shapes) {
		all := []byte("joined")
		for _, k := range keys {
			all = append(all, k[:]...)
		}
		key = sha256.Sum256(all)
		if s, ok := a.mended.Get(key); ok {
			return s, true
		}
	}
	s, err := geo.Union(shapes...) // its only error: nothing to join
	if err == nil && len(keys) == len(shapes) {
		a.mended.Put(key, s, s.Size())
	}
	return s, err == nil
}

// prepare mends the areas of reports, until ctx ends.
func (a areas) prepare(ctx context.Context, reports []hazard.Report) {
	for i := range reports {
		if ctx.Err() != nil {
			return
		}
		a.place(reports[i].Areas, nil)
	}
}

// placedArea is where a hazard is, in one role.
type placedArea struct {
	role  hazard.AreaRole
	shape geo.Shape
}

// areaRoles are the roles of areas, the one that tells best where the hazard is first.
var areaRoles = []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea, hazard.PointArea, hazard.TrackArea}

// place returns one shape for each role, in the order of areaRoles; named are shapes of places that belong to the alert area.
func (a areas) place(list []hazard.Area, named []geo.Shape) (placed []placedArea) {
	for _, role := range areaRoles {
		var shapes []geo.Shape
		var keys []digest
		for _, area := range list {
			if area.Role != role {
				continue
			}
			if s, key, ok := a.read(area.Geometry); ok {
				shapes, keys = append(shapes, s), append(keys, key)
			}
		}
		if role == hazard.AlertArea {
			shapes = append(shapes, named...)
		}
		if all, ok := a.joined(shapes, keys); ok {
			placed = append(placed, placedArea{role, all})
		}
	}
	return placed
}

// place is the area of what was said: one shape for each role, in the order of areaRoles; empty if nothing is known of it. Where
// the shape of a place is not known and a wider place is used instead, the notes of said get a line.
func (w *writer) place(said *hazard.Said) []placedArea {
	var named []geo.Shape
	if places := w.in.known.Places[said.PlacesOf]; places != nil {
		missing, wider := false, false
		for _, code := range said.Places {
			s, ok := places.Shape(w.ctx, code)
			missing = missing || !ok
			if ok {
				named = append(named, s)
			}
		}
		if missing {
			for _, code := range said.Within {
				if s, ok := places.Shape(w.ctx, code); ok {
					named = append(named, s)
					wider = true
				}
			}
		}
		if wider {
			said.Head.Notes = append(slices.Clone(said.Head.Notes), fmt.Sprintf("the area is that of wider places: no shape is known of all of %s", sample(said.Places)))
		}
	}
	return w.in.areas.place(said.Head.Areas, named)
}
