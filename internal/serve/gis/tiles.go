package gis

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/vectortile"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/lang"
	"github.com/hazardd/hazardd/internal/lang/words"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/ogc"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Bytes of what is kept.
const (
	maxTiles    = 32 << 20
	maxSurfaces = 8 << 20 // of filters and of earlier moments
	sizeOfItem  = 16      // of a surface that shares its hazards with another
)

// noHazardTile is the answer for an address that no tile has.
var noHazardTile = &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("no such tile; /tiles.json says where they are, at zooms 0 to %d", vectortile.MaxZoom)}

// VectorTiles serves the active hazards as vector tiles: the surface of danger, areas and points.
type VectorTiles struct {
	*read.Hazards
	drawer  *vectortile.Drawer
	bodies  *lru.Cache[tileKey, *encoded.Body]
	making  singleflight.Group
	pencils chan struct{} // holds a token for each tile that is being drawn
	empty   *encoded.Body

	mu   sync.Mutex // guards seen, and lets one request make the surface of a view
	seen seen
}

// seen are the surfaces of a view.
type seen struct {
	view     *view.View
	all      *vectortile.Surface          // of all hazards
	narrowed *lru.Cache[string, narrowed] // by what narrows them
}

// narrowed is a surface of some hazards, and the change that it is as of.
type narrowed struct {
	surface *vectortile.Surface
	number  int64
}

// tileKey identifies a tile by what it shows. So a change elsewhere makes no tile anew.
type tileKey struct {
	at       vectortile.ID
	sum      uint64
	detail   vectortile.Detail
	language string // of headlines
	day      int64  // since 1970: headlines name days
}

// NewVectorTiles returns the handlers of vector tiles.
func NewVectorTiles(h *read.Hazards) *VectorTiles {
	return &VectorTiles{Hazards: h, drawer: vectortile.New(h.Store.Hazards), bodies: lru.New[tileKey, *encoded.Body](maxTiles), pencils: make(chan struct{}, runtime.GOMAXPROCS(0)),
		empty: encoded.NewBody(nil, false)}
}

// Routes adds the tiles, by themselves and as OGC API – Tiles.
func (a *VectorTiles) Routes() {
	a.Readable("GET /tiles.json", a.tileJSON)
	a.Readable("GET /tiles/{z}/{x}/{tile}", a.tile)
	a.Readable("GET /ogc/tiles", a.tileDocument(func(base string) any { return ogc.Tilesets(base) }))
	a.Readable("GET /ogc/tiles/{tileset}", a.tileDocument(func(base string) any { return ogc.TilesetOf(base) }))
	a.Readable("GET /ogc/tiles/{tileset}/{z}/{y}/{x}", a.ogcTile)
	a.Readable("GET /ogc/tileMatrixSets", a.tileDocument(func(base string) any { return ogc.TileMatrixSets(base) }))
	a.Readable("GET /ogc/styles", a.tileDocument(func(base string) any { return ogc.Styles(base) }))
	a.Readable("GET /ogc/styles/{style}", a.tileDocument(func(base string) any { return ogc.Style(base) }))
	a.Readable("GET /ogc/tileMatrixSets/{tileset}", a.tileDocument(func(string) any { return ogc.Quad() }))
}

// asked is what a tile is to show.
type asked struct {
	query.Query
	detail vectortile.Detail
}

// wanted parses what a tile is to show. also are other parameters that are known.
func (a *VectorTiles) wanted(r *http.Request, also ...string) (q asked, values url.Values, err error) {
	if values, err = route.OptionalValues(r); err != nil {
		return q, nil, err
	}
	of, faults := query.ParseSet(values, append(also, route.LangParameter, "layers", "properties")...)
	if faults != nil {
		return q, nil, faults
	}
	q.Query = of
	for name, some := range map[string]func(vectortile.Detail, string) (vectortile.Detail, error){"layers": vectortile.Detail.SomeLayers, "properties": vectortile.Detail.SomeProperties} {
		if !values.Has(name) {
			continue
		}
		if q.detail, err = some(q.detail, values.Get(name)); err != nil {
			return q, nil, route.BadParameter(name, "%v", err)
		}
	}
	if err := a.IsPast(r.Context(), q.At); err != nil {
		return q, nil, err
	}
	return q, values, a.KnowSources(r.Context(), q.Sources)
}

// tileJSON describes the tiles as TileJSON 3.0.0.
func (a *VectorTiles) tileJSON(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	q, values, err := a.wanted(r)
	if err != nil {
		return err
	}
	address := a.Base(r) + "/tiles/{z}/{x}/{y}.mvt"
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return route.AnswerJSON(w, r, ogc.NewTileJSON(address, q.detail), false)
}

// tile serves a tile at its address in TileJSON.
func (a *VectorTiles) tile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	q, _, err := a.wanted(r)
	if err != nil {
		return err
	}
	y, ok := strings.CutSuffix(r.PathValue("tile"), ".mvt")
	if !ok {
		return noHazardTile
	}
	return a.answerTile(w, r, who, &q, r.PathValue("z"), r.PathValue("x"), y)
}

// ogcTile serves a tile at its address in OGC API – Tiles.
func (a *VectorTiles) ogcTile(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	q, values, err := a.wanted(r, "f")
	if err == nil {
		err = knownTileset(r)
	}
	if err != nil {
		return err
	}
	if f := values.Get("f"); f != "" && f != "mvt" && f != vectorTile {
		return route.BadParameter("f", "%.40q is not mvt", f)
	}
	return a.answerTile(w, r, who, &q, r.PathValue("z"), r.PathValue("x"), r.PathValue("y"))
}

// vectorTile is the media type of tiles.
const vectorTile = "application/vnd.mapbox-vector-tile"

func (a *VectorTiles) answerTile(w http.ResponseWriter, r *http.Request, who *auth.Caller, q *asked, z, x, y string) error {
	var at vectortile.ID
	for text, n := range map[*int]string{&at.Z: z, &at.X: x, &at.Y: y} {
		v, err := strconv.ParseUint(n, 10, 31)
		if err != nil {
			return noHazardTile
		}
		*text = int(v)
	}
	if !at.Valid() {
		return noHazardTile
	}
	now := a.Now()
	v := a.Live.View(now)
	surface, number, err := a.surface(r.Context(), v, &q.Query, who, now)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, r.URL.Query())
	if err != nil {
		return err
	}
	moment, language := now, words.Best(wish.Tags()...)
	if q.At != nil {
		moment = *q.At
	}
	body, err := a.body(r.Context(), surface.Part(at), q.detail, language, moment)
	if err != nil {
		return err
	}
	if body != a.empty && q.detail.Speaks() {
		route.SetLanguages(w, []string{language.ID})
	}
	w.Header().Set("Content-Type", vectorTile)
	if q.At != nil {
		a.SetFreshness(r.Context(), w, number, true)
		return route.Answer(w, r, body)
	}
	return a.AnswerList(w, r, v, body, now)
}

// body returns the tile of a part. Requests that need the same one at once wait for the first of them.
func (a *VectorTiles) body(ctx context.Context, p *vectortile.Part, detail vectortile.Detail, language *words.Language, moment hazard.Instant) (*encoded.Body, error) {
	if p.Empty() {
		return a.empty, nil
	}
	key := tileKey{at: p.At, sum: p.Sum, detail: detail}
	if detail.Speaks() {
		key.language, key.day = language.ID, moment.Time().Unix()/(24*60*60)
	}
	if body, ok := a.bodies.Get(key); ok {
		return body, nil
	}
	made, err, _ := a.making.Do(fmt.Sprint(key), func() (any, error) {
		a.pencils <- struct{}{}
		defer func() { <-a.pencils }()
		ctx := context.WithoutCancel(ctx)
		spoken, err := lang.Parse(language.ID)
		if err != nil {
			return nil, err
		}
		reader := spoken.Reader()
		text, err := a.drawer.Draw(ctx, p, detail, func(h *hazard.Hazard) (string, error) {
			said, err := a.Headlines.Of(ctx, reader.Of(h), language, moment)
			return said.Headline, err
		})
		if err != nil {
			return nil, err
		}
		body := encoded.NewBody(text, false)
		a.bodies.Put(key, body, 2*len(text)+512)
		return body, nil
	})
	if err != nil {
		return nil, err
	}
	return made.(*encoded.Body), nil
}

// of returns the surfaces of a view.
func (a *VectorTiles) of(ctx context.Context, v *view.View) (seen, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen.view != v {
		all, err := a.drawer.Surface(ctx, withoutTotals(v.Hazards(view.Filter{}, nil)), a.seen.all)
		if err != nil {
			return seen{}, err
		}
		a.seen = seen{v, all, lru.New[string, narrowed](maxSurfaces)}
	}
	return a.seen, nil
}

// surface returns the surface of the hazards that q wants, and the change that it is as of. Drills are
// in it only if q asks for them. Requests for the same one at once wait for the first of them, and for
// no other.
func (a *VectorTiles) surface(ctx context.Context, v *view.View, q *query.Query, who *auth.Caller, now hazard.Instant) (*vectortile.Surface, int64, error) {
	ctx = context.WithoutCancel(ctx) // others wait for it
	of, err := a.of(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	if !read.Narrow(&q.Statuses, hazard.Active) {
		empty, err := a.drawer.Surface(ctx, func(func(*hazard.Hazard) bool) {}, nil)
		return empty, v.Number(), err
	}
	name := q.Values().Encode()
	if n, ok := of.narrowed.Get(name); ok {
		return n.surface, n.number, nil
	}
	made, err, _ := a.making.Do(fmt.Sprintf("%p %s", v, name), func() (any, error) { return a.narrow(ctx, of, q, who, name, now) })
	if err != nil {
		return nil, 0, err
	}
	n := made.(narrowed)
	return n.surface, n.number, nil
}

// narrow makes and keeps the surface of the hazards that q wants. name is q's name.
func (a *VectorTiles) narrow(ctx context.Context, of seen, q *query.Query, who *auth.Caller, name string, now hazard.Instant) (n narrowed, err error) {
	var hazards []*hazard.Hazard
	n.number = of.view.Number()
	if err := a.Store.Search.Resolve(ctx, &q.Filter); err != nil {
		return n, err
	}
	size := sizeOfItem
	if q.At != nil {
		size = 1 << 10
		hazards, n.number, err = a.hazardsAt(ctx, q, who)
	} else {
		hazards, err = a.matching(ctx, of.view, &q.Filter, now)
	}
	if err != nil {
		return n, err
	}
	if !slices.Contains(q.Categories, hazard.Exercise) {
		hazards = slices.DeleteFunc(hazards, func(h *hazard.Hazard) bool { return h.Category == hazard.Exercise })
	}
	if n.surface, err = a.drawer.Surface(ctx, slices.Values(hazards), of.all); err != nil {
		return n, err
	}
	of.narrowed.Put(name, n, size*(len(hazards)+1))
	return n, nil
}

func withoutTotals(list iter.Seq2[*hazard.Hazard, int]) iter.Seq[*hazard.Hazard] {
	return func(yield func(*hazard.Hazard) bool) {
		for h := range list {
			if !yield(h) {
				return
			}
		}
	}
}

// matching returns the active hazards that match a filter.
func (a *VectorTiles) matching(ctx context.Context, v *view.View, f *query.Filter, now hazard.Instant) (list []*hazard.Hazard, err error) {
	for h := range v.Hazards(view.Filter{}, nil) {
		ok := f.MatchRecord(h, now)
		if ok && f.NeedsShapes() {
			shapes, err := a.Store.Hazards.Shapes(ctx, f.Refs(h))
			if err != nil {
				return nil, err
			}
			ok = f.MatchAt(h, f.Places(h, shapes), now)
		}
		if ok {
			list = append(list, h)
		}
	}
	return list, nil
}

// hazardsAt returns the hazards that were active at an earlier moment.
func (a *VectorTiles) hazardsAt(ctx context.Context, q *query.Query, who *auth.Caller) (list []*hazard.Hazard, number int64, err error) {
	if _, _, err := a.CountWithin(ctx, *q, "at"); err != nil {
		return nil, 0, err
	}
	_, number, err = a.Each(ctx, *q, who, func(h *hazard.Hazard, _ int) (bool, error) {
		list = append(list, h)
		return true, nil
	})
	return list, number, err
}

// knownTileset refuses a tileset that there is not.
func knownTileset(r *http.Request) error {
	if id := r.PathValue("tileset"); id != ogc.WebMercatorQuad {
		return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no tileset %.60q; expected %s", id, ogc.WebMercatorQuad)}
	}
	return nil
}

// tileDocument serves a document of OGC API – Tiles, which is JSON.
func (a *VectorTiles) tileDocument(document func(base string) any) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
		values, err := route.Parameters(r, "f", route.LangParameter)
		if err != nil {
			return err
		}
		if f := values.Get("f"); f != "" && f != "json" {
			return route.BadParameter("f", "%.40q is not json", f)
		}
		if strings.Contains(r.Pattern, "{tileset}") {
			if err := knownTileset(r); err != nil {
				return err
			}
		}
		if strings.Contains(r.Pattern, "{style}") {
			if id := r.PathValue("style"); id != ogc.DangerStyle {
				return &route.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("there is no style %.40q; expected %s", id, ogc.DangerStyle)}
			}
			w.Header().Set("Content-Type", ogc.MapboxStyle)
		}
		return route.AnswerJSON(w, r, document(a.Base(r)), false)
	}
}
