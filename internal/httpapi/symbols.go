package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/reply"
	"github.com/hazardd/hazardd/internal/symbol"
)

// symbolSize is the edge of a PNG that was asked for without a size, in pixels.
const symbolSize = 64

// How long an answer may be reused: for ever what is asked for under the version that it has, else a day, as icons.
var (
	forVersion = []string{"public, max-age=31536000, immutable"}
	forDay     = []string{"public, max-age=86400"}
	variesSVG  = []string{"Accept-Encoding"}
)

// symbol serves the symbol of hazards of a type, category and severity (base interface, section 1.5), as SVG or PNG.
func (a *API) symbol(w http.ResponseWriter, r *http.Request) error {
	name, format, _ := strings.Cut(r.PathValue("file"), ".")
	s, err := knownSymbol(r.PathValue("type"), r.PathValue("category"), name, format)
	if err != nil {
		return err
	}
	parameters := []string{"v"}
	if format == "png" {
		parameters = append(parameters, "size")
	}
	asked, err := query(r, parameters...)
	if err != nil {
		return err
	}
	cache := forDay
	if asked.Get("v") == symbol.Version { // an older page names an older one: it gets what there is, but may not keep it
		cache = forVersion
	}
	key := symbolKey{Symbol: s}
	if format == "png" {
		key.size = symbolSize
		if asked.Has("size") {
			if key.size, err = strconv.Atoi(asked.Get("size")); err != nil || key.size < symbol.MinSize || key.size > symbol.MaxSize {
				return badParameter("size", "%q is not a number of pixels from %d to %d", asked.Get("size"), symbol.MinSize, symbol.MaxSize)
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
		return send(w, r, body, cache, variesSVG)
	}
	h["Etag"] = body.ETag(reply.Identity)
	h["Cache-Control"] = cache
	h.Set("Content-Type", "image/png")
	http.ServeContent(w, r, "", hazard.Instant(0).Time(), bytes.NewReader(body.Bytes(reply.Identity)))
	return nil
}

// knownSymbol is the symbol that a path names, or the problem of all of it that is not known.
func knownSymbol(typ, category, severity, format string) (symbol.Symbol, error) {
	p := &problem{Status: http.StatusNotFound}
	unknown := func(what, value string, known []string) {
		detail := fmt.Sprintf("%q is no %s; these are: %s", value, what, strings.Join(known, ", "))
		p.Errors = append(p.Errors, fault{Parameter: what + "-id", Detail: detail})
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
		p.Errors = append(p.Errors, fault{Parameter: "format", Detail: fmt.Sprintf("%q is neither svg nor png, as in /symbols/FLOOD/EVENT/WARNING.svg", format)})
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

// The bounds of what symbols may cost. Anybody may ask for any of the 620 in each of 497 sizes, and the largest takes 30 ms to draw.
const (
	maxSymbolBytes = 32 << 20 // of bodies kept; all of them in half a dozen sizes of a map take less
	maxSymbolWaits = 64       // requests that wait until theirs is drawn
)

// symbols holds those that were asked for. One is drawn at a time, so that a flood of sizes takes one processor at most.
type symbols struct {
	draw  chan struct{} // holds one token, of who may draw
	waits chan struct{}

	mu     sync.Mutex
	bodies map[symbolKey]*reply.Body
	bytes  int
}

// symbolKey is a symbol in a size in pixels; 0: the SVG.
type symbolKey struct {
	symbol.Symbol
	size int
}

func newSymbols() *symbols {
	return &symbols{draw: make(chan struct{}, 1), waits: make(chan struct{}, maxSymbolWaits), bodies: map[symbolKey]*reply.Body{}}
}

// get is the symbol from what is kept, or drawn.
func (s *symbols) get(ctx context.Context, key symbolKey) (*reply.Body, error) {
	if body := s.kept(key); body != nil {
		return body, nil
	}
	select {
	case s.waits <- struct{}{}:
		defer func() { <-s.waits }()
	default:
		return nil, &problem{Status: http.StatusServiceUnavailable, Detail: "too many symbols are being drawn; ask again", retry: time.Second}
	}
	select {
	case s.draw <- struct{}{}:
		defer func() { <-s.draw }()
	case <-ctx.Done():
		return nil, &problem{Status: http.StatusServiceUnavailable, Detail: "the request was given up", retry: time.Second}
	}
	if body := s.kept(key); body != nil { // drawn while we waited
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
	body := reply.NewBody(image, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+len(image) > maxSymbolBytes {
		clear(s.bodies) // what is in use is soon drawn again
		s.bytes = 0
	}
	s.bodies[key] = body
	s.bytes += len(image)
	return body, nil
}

func (s *symbols) kept(key symbolKey) *reply.Body {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[key]
}
