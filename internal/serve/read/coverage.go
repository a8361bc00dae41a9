package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Bounds of the caches of coverage, in bytes: layers for a few choices of types (700 kB each), and
// regions of recent lists (6 kB each).
const (
	maxLayers  = 8 << 20
	maxRegions = 4 << 20
)

// coverage serves who issues warnings for a place and whether those sources are polled, or the same
// as a layer for the whole world. It reports whether an empty answer means that there is no hazard.
func (a *Lists) coverage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "point", "type", "bbox", "geometry")
	if err != nil {
		return err
	}
	filter, faults := query.ParseFilter(url.Values{"type": values["type"], "bbox": values["bbox"]})
	if faults != nil {
		return faults
	}
	if !values.Has("point") {
		return a.coverageLayer(w, r, who, filter, values)
	}
	for _, name := range []string{"bbox", "geometry"} {
		if values.Has(name) {
			return route.BadParameter(name, "is about the layer: leave out point")
		}
	}
	lon, lat, err := coverage.ParsePoint(values.Get("point"))
	if err != nil {
		return route.BadParameter("point", "%v", err)
	}
	states, err := a.Sources(r.Context())
	if err != nil && (states == nil || !errors.Is(err, hazard.ErrUnavailable)) {
		return err
	}
	now := a.Now()
	body, err := route.JSONBody(a.Coverage.About(a.Coverage.At(lon, lat), poll.Readings(states), now, filter.Types...), false)
	if err != nil {
		return err
	}
	return a.AnswerList(w, r, a.Live.View(now), body, now)
}

// coverageLayer serves the state of all countries as GeoJSON, or their outlines. The whole layer is
// encoded once per change of a state.
func (a *Lists) coverageLayer(w http.ResponseWriter, r *http.Request, who *auth.Caller, filter query.Filter, values url.Values) error {
	readings := a.Readings()
	key := fmt.Sprint(values.Get("geometry"), filter.Types, "\n", readings.Key())
	part := coverage.Part{}
	write := func(out io.Writer) error { return a.Coverage.Layer(out, readings, part, filter.Types...) }
	kind := []string{GeoJSON}
	switch geometry := values.Get("geometry"); {
	case !values.Has("geometry"):
	case geometry == "none":
		part.Bare = true
	case geometry != "topology":
		return route.BadParameter("geometry", "%.60q is none of none, topology", geometry)
	case values.Has("type") || values.Has("bbox"):
		return route.BadParameter("geometry", "topology has all outlines and no words: leave out type and bbox")
	default:
		key, write, kind = "topology", a.Coverage.Outlines, route.JSONType
	}
	kept := filter.Box == nil // there are as many boxes as readers
	if !kept {
		part.Holds = func(s geo.Shape) bool { return filter.MatchPlace([]geo.Shape{s}) }
	}
	var body *encoded.Body
	ok := false
	if kept {
		body, ok = a.layers.Get(key)
	}
	if !ok {
		err := a.Hold(w, r, who, route.CostOfObject, func(http.ResponseWriter) error {
			var text bytes.Buffer
			if err := write(&text); err != nil {
				return err
			}
			body = encoded.NewBody(text.Bytes(), false)
			if kept {
				a.layers.Put(key, body, 2*text.Len()) // including its compressed forms
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	now := a.Now()
	w.Header()["Content-Type"] = kind
	return a.answerShared(w, r, who, a.Live.View(now), body, now)
}

// SetPlace sets the headers of lists for a place: SetCoverage, and how many active hazards the list
// leaves out because they are only known to be somewhere in a region or country there.
func (a *Hazards) SetPlace(ctx context.Context, w http.ResponseWriter, q *query.Query) {
	a.SetCoverage(w, q)
	if !q.NeedsShapes() || q.Possible || q.At != nil {
		return
	}
	possibly := q.Filter
	possibly.Possible = true
	if err := a.Store.Search.Resolve(ctx, &possibly); err != nil {
		return // no number is better than a wrong one
	}
	now, n := a.Now(), 0
	for h := range a.Live.View(now).Hazards(view.Filter{}, nil) {
		if !h.Somewhere() || !possibly.MatchRecord(h, now) || q.MatchAt(h, nil, now) {
			continue
		}
		shapes, err := a.Store.Hazards.Shapes(ctx, possibly.Refs(h))
		if err != nil {
			return
		}
		if possibly.MatchAt(h, shapes, now) {
			n++
		}
	}
	w.Header()["Hazardd-Possible"] = []string{strconv.Itoa(n) + `; with="possible=true"`}
}

// SetCoverage sets a header on lists for a place: whether an empty list means that there is no
// hazard. For earlier moments it is unknown how the sources were polled.
func (a *Hazards) SetCoverage(w http.ResponseWriter, q *query.Query) {
	wanted := q.Bounds()
	if len(wanted) == 0 || q.At != nil {
		return
	}
	places := query.Filter{Box: q.Box, Near: q.Near, Area: q.Area}
	if len(places.Bounds()) == 0 { // the place is part of a condition: use the box around it
		box := slices.MinFunc(wanted, smaller)
		places.Box = &box
	}
	lon, lat, _ := places.Middle()
	key := places.Values().Encode()
	region, ok := a.regions.Get(key)
	if !ok {
		// Each box holds the whole place; the smallest gives the best grid.
		box := slices.MinFunc(places.Bounds(), smaller)
		region = a.Coverage.Over(box, func(lon, lat float64) bool { return places.MatchPlace([]geo.Shape{geo.Place(lon, lat)}) }, lon, lat)
		a.regions.Put(key, region, region.Size()+len(key))
	}
	w.Header()["Hazardd-Coverage"] = []string{a.Coverage.Summary(region, a.Readings(), q.Implied().Types...)}
}

// smaller compares two boxes by size.
func smaller(x, y geo.Box) int { return int(extent(x) - extent(y)) }

// extent returns the size of a box, in thousandths of a square degree.
func extent(b geo.Box) float64 {
	width := b.East - b.West
	if width < 0 {
		width += 360
	}
	return width * (b.North - b.South) * 1000
}
