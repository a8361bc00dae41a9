package fuse

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxMended bounds the cache of repaired shapes of reports, in bytes. Sources repeat most shapes in
// every poll.
const maxMended = 32 << 20

// areas repairs the areas of reports. A batch's areas are repaired before its transaction begins,
// so that other writers do not wait; the transaction finds them in the cache. It is safe for
// concurrent use.
type areas struct{ mended *lru.Cache[digest, geo.Shape] }

type digest [sha256.Size]byte

func newAreas() areas { return areas{lru.New[digest, geo.Shape](maxMended)} }

// read returns the shape of a geometry's text, and whether it is valid.
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

// joined returns the union of shapes with these keys; ok is false if there are none.
func (a areas) joined(shapes []geo.Shape, keys []digest) (geo.Shape, bool) {
	all := []byte("joined")
	for _, k := range slices.SortedFunc(slices.Values(keys), func(a, b digest) int { return bytes.Compare(a[:], b[:]) }) { // their order does not matter
		all = append(all, k[:]...)
	}
	key := digest(sha256.Sum256(all))
	if s, ok := a.mended.Get(key); ok {
		return s, true
	}
	s, err := geo.Union(shapes...) // the only possible error is that there are no shapes
	if err == nil {
		a.mended.Put(key, s, s.Size())
	}
	return s, err == nil
}

// prepare repairs the areas of reports, and joins the shapes of each event's places, until ctx
// ends. Built-in shapes are decompressed here. So a transaction finds them in the cache, unless the
// event has parts outside of the reports.
func (a areas) prepare(ctx context.Context, reports []hazard.Report, places source.Places, now hazard.Instant) {
	events := map[string][]hazard.Report{}
	for i := range reports {
		if r := &reports[i]; hasArea(r) {
			events[r.Key] = append(events[r.Key], *r)
		}
	}
	for _, parts := range events {
		if ctx.Err() != nil {
			return
		}
		state := hazard.Derive(parts, now)
		var named []geo.Shape
		if places != nil {
			named, _, _ = shapesOf(ctx, places, state.Places, state.Within)
		}
		a.place(state.Head.Areas, named)
	}
}

// placedArea is the area of a hazard in one role.
type placedArea struct {
	role  hazard.AreaRole
	shape geo.Shape
}

// areaRoles are the roles of areas, the best indication of a hazard's place first.
var areaRoles = []hazard.AreaRole{hazard.AlertArea, hazard.ImpactArea, hazard.PointArea, hazard.TrackArea}

// place returns one shape per role, in the order of areaRoles; named are shapes of places, which
// belong to the alert area.
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
			for _, s := range named {
				shapes, keys = append(shapes, s), append(keys, s.Sum())
			}
		}
		if all, ok := a.joined(shapes, keys); ok {
			placed = append(placed, placedArea{role, all})
		}
	}
	return placed
}

// place returns the area of an event: one shape per role, in the order of areaRoles; empty if
// unknown. If a wider place, or the outline of the country, replaces an unknown shape, it adds a
// note to state. all holds the reports of all sources that state combines.
func (w *writer) place(state *hazard.EventState, all []hazard.EventState) []placedArea {
	named, missing, wider := w.named(state)
	placed := w.in.areas.place(state.Head.Areas, named)
	switch {
	case len(missing) == 0:
	case wider:
		state.Head.Notes = append(slices.Clone(state.Head.Notes), fmt.Sprintf("the area is that of wider places: no shape is known of all of %s", sample(state.Places)))
	case len(named) > 0:
		state.Head.Notes = append(slices.Clone(state.Head.Notes), fmt.Sprintf("the area lacks places with unknown shapes: %s", sample(missing)))
	case len(placed) == 0 && state.Ended == "":
		return w.standIn(state, all)
	}
	return placed
}

// named returns the shapes of the places that came without a geometry, and the codes of unknown
// ones; wider reports whether wider places replace them.
func (w *writer) named(state *hazard.EventState) (shapes []geo.Shape, missing []string, wider bool) {
	places := w.in.known.Places[state.PlacesOf]
	if places == nil {
		return nil, state.Places, false
	}
	return shapesOf(w.ctx, places, state.Places, state.Within)
}

// shapesOf does the same as named, for the codes of places and of the wider places around them.
func shapesOf(ctx context.Context, places source.Places, codes, within []string) (shapes []geo.Shape, missing []string, wider bool) {
	for _, code := range codes {
		if s, ok := places.Shape(ctx, code); ok {
			shapes = append(shapes, s)
		} else {
			missing = append(missing, code)
		}
	}
	if len(missing) == 0 {
		return shapes, nil, false
	}
	for _, code := range within {
		if s, ok := places.Shape(ctx, code); ok {
			shapes = append(shapes, s)
			wider = true
		}
	}
	return shapes, missing, wider
}

// standIn returns the area of a hazard if no shape of its places is known: the area from another of
// its sources, or else the outline of the country, or nil. It is not used for joins (see where).
func (w *writer) standIn(state *hazard.EventState, all []hazard.EventState) []placedArea {
	home, ok := w.in.known.Countries[state.PlacesOf]
	if !ok {
		return nil
	}
	// Another source of the hazard may know the place better, although it has less authority.
	all = slices.SortedFunc(slices.Values(all), func(a, b hazard.EventState) int {
		return cmp.Or(cmp.Compare(a.Head.Source, b.Head.Source), cmp.Compare(a.Head.Key, b.Head.Key))
	})
	for i := range all {
		o := &all[i]
		if o.Ended != "" {
			continue
		}
		shapes, _, _ := w.named(o)
		if placed := w.in.areas.place(o.Head.Areas, shapes); len(placed) > 0 {
			return placed
		}
	}
	from := state.Head.Country
	if state.Head.Point != nil { // a point is better than the outline of a country
		from, home = "", nil
	}
	outline, countries := region.OutlineOf(state.Places, from, home)
	if outline.IsZero() {
		return nil
	}
	var names []string
	for _, c := range countries {
		names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Code))
	}
	state.Head.Notes = append(slices.Clone(state.Head.Notes), fmt.Sprintf("the area is all of %s: no shape is known of %s", strings.Join(names, " and "), sample(state.Places)))
	return []placedArea{{hazard.AlertArea, outline}}
}
