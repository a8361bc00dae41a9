package intake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lru"
	"github.com/hazardd/hazardd/internal/place"
	"github.com/hazardd/hazardd/internal/source"
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

// joined returns the union of shapes, which have the keys; not ok if there are none.
func (a areas) joined(shapes []geo.Shape, keys []digest) (geo.Shape, bool) {
	all := []byte("joined")
	for _, k := range slices.SortedFunc(slices.Values(keys), func(a, b digest) int { return bytes.Compare(a[:], b[:]) }) { // their order tells nothing
		all = append(all, k[:]...)
	}
	key := digest(sha256.Sum256(all))
	if s, ok := a.mended.Get(key); ok {
		return s, true
	}
	s, err := geo.Union(shapes...) // its only error: nothing to join
	if err == nil {
		a.mended.Put(key, s, s.Size())
	}
	return s, err == nil
}

// prepare mends the areas of reports, and joins the shapes that those of one event name together, until ctx ends: what is built in is
// unpacked then. So a transaction finds them, unless the event has parts that are not among the reports.
func (a areas) prepare(ctx context.Context, reports []hazard.Report, places source.Places, now hazard.Instant) {
	events := map[string][]hazard.Report{}
	for i := range reports {
		if r := &reports[i]; tellsWhere(r) {
			events[r.Key] = append(events[r.Key], *r)
		}
	}
	for _, parts := range events {
		if ctx.Err() != nil {
			return
		}
		said := hazard.Derive(parts, now)
		var named []geo.Shape
		if places != nil {
			named, _, _ = shapesOf(ctx, places, said.Places, said.Within)
		}
		a.place(said.Head.Areas, named)
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

// place is the area of what was said: one shape for each role, in the order of areaRoles; empty if nothing is known of it. Where
// the shape of a place is not known and a wider place is used instead, the notes of said get a line; so they do where the outline of
// the country stands in for all of them. all are what the sources of the hazard say, of which said is made.
func (w *writer) place(said *hazard.Said, all []hazard.Said) []placedArea {
	named, missing, wider := w.named(said)
	placed := w.in.areas.place(said.Head.Areas, named)
	switch {
	case len(missing) == 0:
	case wider:
		said.Head.Notes = append(slices.Clone(said.Head.Notes), fmt.Sprintf("the area is that of wider places: no shape is known of all of %s", sample(said.Places)))
	case len(named) > 0:
		said.Head.Notes = append(slices.Clone(said.Head.Notes), fmt.Sprintf("the area lacks places whose shape is not known: %s", sample(missing)))
	case len(placed) == 0 && said.Ended == "":
		return w.standIn(said, all)
	}
	return placed
}

// named are the shapes of the places of what was said that came without a geometry, and the codes of those of which none is known; wider
// reports whether wider places stand in for them.
func (w *writer) named(said *hazard.Said) (shapes []geo.Shape, missing []string, wider bool) {
	places := w.in.known.Places[said.PlacesOf]
	if places == nil {
		return nil, said.Places, false
	}
	return shapesOf(w.ctx, places, said.Places, said.Within)
}

// shapesOf is named for the codes of places, and of those that they lie within.
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

// standIn is the area of a hazard none of whose places has a shape that is known: what another of its sources knows, else the outline of
// the country; nil where nothing tells that. It has no part in what joins events (see where).
func (w *writer) standIn(said *hazard.Said, all []hazard.Said) []placedArea {
	home, ok := w.in.known.Countries[said.PlacesOf]
	if !ok {
		return nil
	}
	// Another source of the hazard may know better where it is, though its word counts less.
	all = slices.SortedFunc(slices.Values(all), func(a, b hazard.Said) int {
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
	from := said.Head.Country
	if said.Head.Point != nil { // better than a country that its codes do not name
		from, home = "", nil
	}
	outline, countries := place.OutlineOf(said.Places, from, home)
	if outline.IsZero() {
		return nil
	}
	var names []string
	for _, c := range countries {
		names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Code))
	}
	said.Head.Notes = append(slices.Clone(said.Head.Notes), fmt.Sprintf("the area is all of %s: no shape is known of %s", strings.Join(names, " and "), sample(said.Places)))
	return []placedArea{{hazard.AlertArea, outline}}
}
