package read

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	pages "github.com/hazardd/hazardd/internal/serve/page"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// DarkTheme parses the theme of a map, dark or light; the default is light.
func DarkTheme(values url.Values) (bool, error) {
	theme := values.Get("theme")
	if theme != "" && theme != "light" && theme != "dark" {
		return false, route.BadParameter("theme", "%.40q is neither light nor dark", theme)
	}
	return theme == "dark", nil
}

// SetSVG sets the headers of an SVG, in which a browser must neither run nor load anything.
func SetSVG(w http.ResponseWriter) {
	w.Header()["Content-Type"] = []string{"image/svg+xml"}
	w.Header().Set("Content-Security-Policy", nothingRuns)
}

// nothingRuns is the Content-Security-Policy of answers that are no pages.
const nothingRuns = "sandbox; default-src 'none'"

// The limits of map pictures.
const (
	maxPictures   = 16 << 20 // bytes of cached pictures: about a hundred of the usual size
	costOfPicture = 28 << 20 // bytes that drawing one may take
	pictureSize   = 1200     // default width, in pixels
)

// pictureKey identifies a picture of one state of a hazard.
type pictureKey struct {
	hazard  uuid.UUID
	version int64
	over    bool
	width   int
}

// mapPicture serves a hazard's map as a picture. It is drawn once per change of the hazard and
// size.
func (a *Pictures) mapPicture(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "size", "v") // v makes chats see a new picture after a change
	if err != nil {
		return err
	}
	width, err := route.IntParameter(values, "size", pictureSize, pages.MinPicture, pages.MaxPicture)
	if err != nil {
		return err
	}
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	key := pictureKey{h.UUID, h.Version, !h.ActiveAt(now), int(width)}
	w.Header()["Content-Type"] = []string{"image/png"}
	r.Header.Del("Accept-Encoding") // pictures are already compressed
	return a.drawnOnce(w, r, who, key, costOfPicture, func() ([]byte, error) {
		areas, err := a.Store.Log.Areas(r.Context(), h.Viewed())
		if err != nil {
			return nil, err
		}
		drawn, err := a.DrawnOn(r.Context(), h)
		if err != nil {
			return nil, err
		}
		m := pages.Map{Hazard: h, Areas: areas, Ground: a.Ground, Over: key.over, Shapes: drawn}
		return m.PNG(key.width)
	})
}

// drawnOnce answers with the picture of a key from the cache, or draws it. Only one is drawn at a
// time, so that many requests use one processor at most.
func (a *Pictures) drawnOnce(w http.ResponseWriter, r *http.Request, who *auth.Caller, key any, cost int64, draw func() ([]byte, error)) error {
	if body, ok := a.drawn.Get(key); ok {
		return route.Answer(w, r, body)
	}
	return a.Hold(w, r, who, cost, func(w http.ResponseWriter) error {
		select {
		case a.pencil <- struct{}{}:
			defer func() { <-a.pencil }()
		case <-r.Context().Done():
			return r.Context().Err()
		}
		body, ok := a.drawn.Get(key)
		if !ok { // no other request drew it in the meantime
			picture, err := draw()
			if err != nil {
				return err
			}
			body = encoded.NewBody(picture, false)
			a.drawn.Put(key, body, len(picture))
		}
		return route.Answer(w, r, body)
	})
}

// maxCorners bounds the corners of the areas in a window. A hundred counties, as the weather
// service draws them, have a tenth of that.
const maxCorners = 400_000

// windowKey identifies a picture of a window in one state of all hazards.
type windowKey struct {
	number         int64
	at             hazard.Instant
	lon, lat, zoom float64
	width, height  int64
	dark, nowhere  bool
	filter, words  string
}

// mostImportant returns the default window, around the most important hazard that is not a drill.
// ok is false if there is none.
func mostImportant(v *view.View) (lon, lat, zoom float64, ok bool) {
	var first *hazard.Hazard
	var key query.Key
	for h := range v.Hazards(view.Filter{}, nil) {
		if h.Drill() || h.Somewhere() {
			continue
		}
		if k := byImportance.Key(h); first == nil || byImportance.Compare(k, key) < 0 {
			first, key = h, k
		}
	}
	if first == nil {
		return 0, 0, pages.MinWindowZoom, false
	}
	return first.Longitude, max(-85, min(85, first.Latitude)), 4, true
}

// activePicture serves a window of the map of all active hazards as a picture. A phone shows it
// until its user wants to move the map. It does not depend on the caller.
func (a *Pictures) activePicture(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "longitude", "latitude", "zoom", "width", "height", "theme", "type", "severity", "category")
	if err != nil {
		return err
	}
	now := a.Now()
	v := a.Live.View(now)
	key := windowKey{number: v.Number(), at: v.At()}
	if key.lon, err = route.FloatParameter(values, "longitude", 0, -180, 180); err != nil {
		return err
	}
	if key.lat, err = route.FloatParameter(values, "latitude", 0, -85, 85); err != nil {
		return err
	}
	if key.zoom, err = route.FloatParameter(values, "zoom", pages.MinWindowZoom, pages.MinWindowZoom, pages.MaxWindowZoom); err != nil {
		return err
	}
	if !values.Has("longitude") && !values.Has("latitude") && !values.Has("zoom") {
		var ok bool
		key.lon, key.lat, key.zoom, ok = mostImportant(v)
		key.nowhere = !ok
	}
	if key.width, err = route.IntParameter(values, "width", 400, pages.MinWindow, pages.MaxWindow); err != nil {
		return err
	}
	if key.height, err = route.IntParameter(values, "height", 800, pages.MinWindow, pages.MaxWindow); err != nil {
		return err
	}
	if key.dark, err = DarkTheme(values); err != nil {
		return err
	}
	wanted := url.Values{}
	for _, name := range []string{"type", "severity", "category"} {
		if values.Has(name) {
			wanted[name] = values[name]
		}
	}
	filter, faults := query.ParseFilter(wanted)
	if faults != nil {
		return faults
	}
	readings := a.Readings()
	key.filter, key.words = filter.Values().Encode(), readings.Key()
	a.SetView(w, v, now)
	SetSVG(w)
	return a.drawnOnce(w, r, who, key, route.CostOfPage, func() ([]byte, error) {
		m := pages.Window{Longitude: key.lon, Latitude: key.lat, Zoom: key.zoom, Width: int(key.width), Height: int(key.height), Dark: key.dark, Nowhere: key.nowhere, Ground: a.Ground}
		corners := 0
		for h := range v.Hazards(view.Filter{}, nil) {
			if !filter.MatchRecord(h, now) {
				continue
			}
			shapes, err := a.Store.Hazards.Shapes(r.Context(), h.Areas)
			if err != nil {
				return nil, err
			}
			if !m.Sees(shapes) {
				shapes = nil
			}
			for _, s := range shapes {
				corners += s.Positions()
			}
			if corners > maxCorners {
				return nil, route.BadParameter("zoom", "the areas in this window have more than %d corners; zoom in", maxCorners)
			}
			m.Hazards = append(m.Hazards, pages.Placed{Hazard: h, Shapes: shapes})
		}
		if readings.Any() { // if no source is polled, the map says so
			for f := range a.Coverage.Features(readings) {
				if f.Properties.Kind == "country" && f.Properties.State == coverage.Unknown && m.Sees([]geo.Shape{f.Shape}) {
					m.Gaps = append(m.Gaps, f.Shape)
				}
			}
		}
		return m.SVG(), nil
	})
}

// Preview returns what chats show for a link to a hazard; path is the beginning of the link.
func (a *Hazards) Preview(h *hazard.Hazard, path string, now hazard.Instant) *pages.Preview {
	picture := fmt.Sprintf("%s/hazards/%s/map.png?size=%d&v=%d", a.BaseURL, h.UUID, pictureSize, h.Version)
	if !h.ActiveAt(now) {
		picture += ".over" // the picture changes at the end, before the end is recorded
	}
	return pages.NewPreview(h, now, a.BaseURL+path, picture)
}
