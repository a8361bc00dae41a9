package read

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// iconSize is the width and height of the icons, in pixels: "large" in the base interface, sharp on
// a dense screen.
const iconSize = 128

// icons renders all icons on first use.
var icons = sync.OnceValues(func() (map[string]*encoded.Body, error) {
	bodies := map[string]*encoded.Body{}
	for _, t := range hazard.Types() {
		png, err := symbol.PNG(strings.TrimSuffix(t.Icon, ".png"), iconSize)
		if err != nil {
			return nil, err
		}
		bodies[t.Icon] = encoded.NewBody(png, false)
	}
	return bodies, nil
})

// icon serves the pictogram of a hazard type (base interface, section 2.3).
func (a *Symbols) icon(w http.ResponseWriter, r *http.Request) error {
	bodies, err := icons()
	if err != nil {
		return err
	}
	body, ok := bodies[r.PathValue("icon")]
	if !ok {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no such icon; GET /hazards/types lists them as type_icon"}
	}
	h := w.Header()
	h["Etag"] = body.ETag(encoded.Identity)
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("Content-Type", "image/png")
	http.ServeContent(w, r, "", hazard.Instant(0).Time(), bytes.NewReader(body.Bytes(encoded.Identity)))
	return nil
}

// symbolSize is the default width and height of a PNG, in pixels.
const symbolSize = 64

// How long an answer may be cached: forever if the request names the current version, otherwise a
// day, as for icons.
var (
	CacheForVersion = []string{"public, max-age=31536000, immutable"}
	forDay          = []string{"public, max-age=86400"}
	VaryEncoding    = []string{"Accept-Encoding"}
)

// symbol serves the symbol of hazards of a type, category and severity (base interface, section 1.5), as SVG or PNG.
func (a *Symbols) symbol(w http.ResponseWriter, r *http.Request) error {
	name, format, _ := strings.Cut(r.PathValue("file"), ".")
	s, err := knownSymbol(r.PathValue("type"), r.PathValue("category"), name, format)
	if err != nil {
		return err
	}
	parameters := []string{"v"}
	if format == "png" {
		parameters = append(parameters, "size")
	}
	asked, err := route.Parameters(r, parameters...)
	if err != nil {
		return err
	}
	cache := forDay
	if asked.Get("v") == symbol.Version { // an older page asks for an older version: it gets the current one, but must not cache it
		cache = CacheForVersion
	}
	key := symbolKey{Symbol: s}
	if format == "png" {
		key.size = symbolSize
		if asked.Has("size") {
			if key.size, err = strconv.Atoi(asked.Get("size")); err != nil || key.size < symbol.MinSize || key.size > symbol.MaxSize {
				return route.BadParameter("size", "%q is not a number of pixels from %d to %d", asked.Get("size"), symbol.MinSize, symbol.MaxSize)
			}
		}
	}
	body, err := a.symbols.get(r.Context(), key)
	if err != nil {
		return err
	}
	h := w.Header()
	if format == "svg" {
		h.Set("Content-Type", "image/svg+xml")
		return route.Send(w, r, body, cache, VaryEncoding)
	}
	h["Etag"] = body.ETag(encoded.Identity)
	h["Cache-Control"] = cache
	h.Set("Content-Type", "image/png")
	http.ServeContent(w, r, "", hazard.Instant(0).Time(), bytes.NewReader(body.Bytes(encoded.Identity)))
	return nil
}

// knownSymbol returns the symbol in a path, or a problem that lists all unknown parts.
func knownSymbol(typ, category, severity, format string) (symbol.Symbol, error) {
	p := &route.Problem{Status: http.StatusNotFound}
	unknown := func(what, value string, known []string) {
		detail := fmt.Sprintf("%q is not a %s; expected one of %s", value, what, strings.Join(known, ", "))
		p.Errors = append(p.Errors, route.Fault{Parameter: what + "-id", Detail: detail})
	}
	s := symbol.Symbol{Type: hazard.Type(typ), Category: hazard.Category(category)}
	if _, ok := s.Type.Info(); !ok {
		unknown("type", typ, ids(hazard.Types(), func(t hazard.TypeInfo) string { return string(t.ID) }))
	}
	if _, ok := s.Category.Info(); !ok {
		unknown("category", category, ids(hazard.Categories(), func(c hazard.CategoryInfo) string { return string(c.ID) }))
	}
	var ok bool
	if s.Severity, ok = hazard.ParseSeverity(severity); !ok {
		unknown("severity", severity, ids(hazard.Severities(), func(s hazard.SeverityInfo) string { return s.ID }))
	}
	if format != "svg" && format != "png" {
		p.Errors = append(p.Errors, route.Fault{Parameter: "format", Detail: fmt.Sprintf("%q is neither svg nor png, as in /symbols/FLOOD/EVENT/WARNING.svg", format)})
	}
	if len(p.Errors) == 0 {
		return s, nil
	}
	var details []string
	for _, f := range p.Errors {
		details = append(details, f.Detail)
	}
	p.Detail = strings.Join(details, "; ")
	return s, p
}

func ids[T any](infos []T, id func(T) string) []string {
	list := make([]string, len(infos))
	for i, info := range infos {
		list[i] = id(info)
	}
	return list
}

// The limits of symbols. Anyone can request each of the 620 symbols in 497 sizes, and the largest
// takes 30 ms to draw.
const (
	maxSymbolBytes = 32 << 20 // bytes of cached symbols; a map needs less for all of them in six sizes
	maxSymbolWaits = 64       // requests that wait for a symbol to be drawn
)

// drawnSymbols caches the requested symbols. One is drawn at a time, so that a flood of sizes uses one
// processor at most.
type drawnSymbols struct {
	draw  chan struct{} // holds one token, for the request that draws
	waits chan struct{}

	mu     sync.Mutex
	bodies map[symbolKey]*encoded.Body
	bytes  int
}

// symbolKey is a symbol and its size in pixels; 0 means the SVG.
type symbolKey struct {
	symbol.Symbol
	size int
}

func newDrawnSymbols() *drawnSymbols {
	return &drawnSymbols{draw: make(chan struct{}, 1), waits: make(chan struct{}, maxSymbolWaits), bodies: map[symbolKey]*encoded.Body{}}
}

// get returns the symbol from the cache, or draws it.
func (s *drawnSymbols) get(ctx context.Context, key symbolKey) (*encoded.Body, error) {
	if body := s.kept(key); body != nil {
		return body, nil
	}
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return nil, &route.Problem{Status: http.StatusServiceUnavailable, Detail: "too many symbols are being drawn; retry", Retry: time.Second}
	}
	select {
	case s.draw <- struct{}{}:
		defer func() { <-s.draw }()
	case <-ctx.Done():
		return nil, &route.Problem{Status: http.StatusServiceUnavailable, Detail: "the request was canceled", Retry: time.Second}
	}
	if body := s.kept(key); body != nil { // another request drew it meanwhile
		return body, nil
	}
	var image []byte
	var err error
	if key.size == 0 {
		image, err = key.SVG()
	} else {
		image, err = key.PNG(key.size)
	}
	if err != nil {
		return nil, err
	}
	body := encoded.NewBody(image, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(image) > maxSymbolBytes {
		clear(s.bodies) // symbols in use are soon drawn again
		s.bytes = 0
	}
	s.bodies[key] = body
	s.bytes += len(image)
	return body, nil
}

func (s *drawnSymbols) kept(key symbolKey) *encoded.Body {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[key]
}
