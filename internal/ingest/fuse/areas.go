package fuse

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxMended bounds the cache of repaired shapes of reports, in bytes, and maxPoints that of the points
// that stand for them. Sources repeat most shapes in every poll.
const (
	maxMended = 32 << 20
	maxPoints = 1 << 20
)

// areas repairs the areas of reports. A batch's areas are repaired before its transaction begins,
// so that other writers do not wait; the transaction finds them in the cache. It is safe for
// concurrent use.
type areas struct {
	mended *lru.Cache[digest, geo.Shape]
	points *lru.Cache[digest, hazard.Point] // by the key of a joined shape
}

type digest [sha256.Size]byte

func newAreas() areas {
	return areas{lru.New[digest, geo.Shape](maxMended), lru.New[digest, hazard.Point](maxPoints)}
}

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

// point returns the point that stands for an area, as geo.Shape.Point.
func (a areas) point(p *placedArea) hazard.Point {
	at, ok := a.points.Get(p.key)
	if !ok {
		at.Lon, at.Lat = p.shape.Point()
		a.points.Put(p.key, at, len(p.key)+pointSize)
	}
	return at
}

// pointSize is about how many bytes a point takes in the cache, without its key.
const pointSize = 100

// joined returns the union of shapes with these keys, and its own key; ok is false if there are none.
func (a areas) joined(shapes []geo.Shape, keys []digest) (s geo.Shape, key digest, ok bool) {
	all := []byte("joined")
	for _, k := range slices.SortedFunc(slices.Values(keys), func(a, b digest) int { return bytes.Compare(a[:], b[:]) }) { // their order does not matter
		all = append(all, k[:]...)
	}
	key = sha256.Sum256(all)
	if s, ok = a.mended.Get(key); ok {
		return s, key, true
	}
	s, err := geo.Union(shapes...) // the only possible error is that there are no shapes
	if err == nil {
		a.mended.Put(key, s, s.Size())
	}
	return s, key, err == nil
}

// prepare repairs the areas of reports, joins the shapes of each event's places, and finds the point
// that stands for each, until ctx ends. Built-in shapes are decompressed here. So a transaction finds them in the cache, unless the
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
		if placed := a.place(state.Head.Areas, named); len(placed) > 0 && state.Head.Point == nil {
			a.point(&placed[0])
		}
	}
}

// placedArea is the area of a hazard in one role.
type placedArea struct {
	role  hazard.AreaRole
	shape geo.Shape
	key   digest // of the shape, if place has made it
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
		if all, key, ok := a.joined(shapes, keys); ok {
			placed = append(placed, placedArea{role, all, key})
		}
	}
	return placed
}

// place is where an event is, as well as it is known.
type place struct {
	areas []placedArea // one shape per role, in the order of areaRoles
	coded bool         // shapes behind codes are among them
	// Where no area and no point is known, the event is somewhere in these: kind is region or country,
	// knownAs names them, and point stands for them. Otherwise kind is empty.
	kind     hazard.PlaceKind
	knownAs  string
	standIns []placedArea
	point    hazard.Point
}

// unknown reports whether not even a region or country is known.
func (p *place) unknown() bool { return len(p.areas) == 0 && p.kind == "" }

// place returns where an event is. If a wider place, or the region or country, replaces an unknown
// shape, it adds a note to state. all holds the reports of all sources that state combines.
func (w *writer) place(state *hazard.EventState, all []hazard.EventState) place {
	named, missing, wider := w.named(state)
	at := place{areas: w.in.areas.place(state.Head.Areas, named), coded: len(named) > 0}
	switch {
	case len(missing) == 0:
	case wider:
		remark(state, "the area is that of wider places: no shape is known of all of %s", sample(state.Places))
	case len(named) > 0:
		remark(state, "the area lacks places with unknown shapes: %s", sample(missing))
	case len(at.areas) == 0 && state.Ended == "":
		return w.standIn(state, all)
	}
	return at
}

// remark adds a note to a state.
func remark(state *hazard.EventState, format string, args ...any) {
	state.Head.Notes = append(slices.Clone(state.Head.Notes), fmt.Sprintf(format, args...))
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

// standIn returns the place of a hazard if no shape of its places is known: the area from another of
// its sources, or else its point, or else the regions that its places are in, or else its country. It
// is not used for joins (see where).
func (w *writer) standIn(state *hazard.EventState, all []hazard.EventState) place {
	home, ok := w.in.known.Countries[state.PlacesOf]
	if !ok { // its places are parts of events; words alone say where
		words := slices.DeleteFunc(slices.Concat(state.Places, state.Within), func(p string) bool { return !strings.HasPrefix(p, inWords) })
		at, _ := regionsOf(words, state.Head.Country, nil)
		if at.kind == "" || state.Head.Point != nil {
			return place{}
		}
		remark(state, "the place is only known as %s", at.knownAs)
		return at
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
			return place{areas: placed, coded: len(shapes) > 0}
		}
	}
	if state.Head.Point != nil {
		remark(state, "only the position is known: no shape is known of %s", sample(state.Places))
		return place{}
	}
	for _, places := range [][]string{state.Places, state.Within} {
		if at, ok := regionsOf(places, state.Head.Country, home); ok {
			if strings.HasPrefix(places[0], inWords) { // the same words
				remark(state, "the place is only known as %s", at.knownAs)
			} else {
				remark(state, "the place is only known as %s: no shape is known of %s", at.knownAs, sample(places))
			}
			return at
		}
	}
	outline, countries := region.OutlineOf(state.Places, state.Head.Country, home)
	if outline.IsZero() {
		return place{}
	}
	at := place{kind: hazard.PlaceCountry, standIns: []placedArea{{role: hazard.OutlineOfPlace, shape: outline}}}
	var names []string
	for _, c := range countries {
		names = append(names, c.Name)
	}
	at.knownAs = strings.Join(names, ", ")
	at.point.Lon, at.point.Lat = outline.Point()
	remark(state, "the place is only known as %s: no shape is known of %s", at.knownAs, sample(state.Places))
	return at
}

// inWords begins a place that a report names in words.
const inWords = "area:"

// regionsOf returns the regions that places with unknown shapes are in: those around their codes, and
// those named by their words in the country. It is not ok unless each place is known to be in one.
func regionsOf(places []string, country string, home []string) (at place, ok bool) {
	if country == "" && len(home) == 1 {
		country = home[0]
	}
	var all []region.Wider
	for _, p := range places {
		if text, ok := strings.CutPrefix(p, inWords); ok {
			found := gazetteer.Regions(country, text)
			if len(found) == 0 {
				return place{}, false
			}
			all = append(all, found...)
			continue
		}
		r, ok := region.WiderOf(p)
		if !ok {
			return place{}, false
		}
		all = append(all, r)
	}
	var names []string
	for _, r := range all {
		if slices.Contains(names, r.Name) {
			continue
		}
		role := hazard.ExtentOfPlace
		if r.Outlined {
			role = hazard.OutlineOfPlace
		}
		names = append(names, r.Name)
		at.standIns = append(at.standIns, placedArea{role: role, shape: r.Shape})
	}
	if len(names) == 0 || len(names) > maxRegions {
		return place{}, false
	}
	at.kind, at.knownAs = hazard.PlaceRegion, strings.Join(names, ", ")
	at.point.Lon, at.point.Lat = all[0].Lon, all[0].Lat // of several the first: between them may be none
	return at, true
}

// maxRegions bounds the regions that stand in for one hazard: of more, the country tells as much.
const maxRegions = 12
