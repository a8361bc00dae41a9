package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/web"
)

// mapFile serves the files of the map: scripts, style sheet, basemap.
func (a *Map) mapFile(w http.ResponseWriter, r *http.Request) error {
	if !a.page.Has(r.URL.Path) {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no such file of the map"}
	}
	a.page.ServeHTTP(w, r)
	return nil
}

// index serves the map to a browser. Other clients get a pointer to the documentation.
func (a *Map) index(w http.ResponseWriter, r *http.Request) error {
	if strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		if a.Public.On() || route.Keyed(r) != nil {
			return a.openMap(w, r)
		}
		if len(a.operator()) > 0 {
			return a.openDocument(w, r, web.Map, nil, nil)
		}
		a.page.ServeHTTP(w, r)
		return nil
	}
	h := w.Header()
	h.Set("Vary", "Accept")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, `hazardd serves what is dangerous right now, where, and how bad.

POST %[1]s/authorize        {"username": …, "password": …} gives tokens; send "Authorization: Bearer <accessToken>" from then on
GET  %[1]s/hazards/active   the active hazards, most severe first
GET  %[1]s/hazards/types    the types of hazards; /hazards/severities and /hazards/categories too
GET  %[1]s/sources          where it comes from, and how fresh it is
GET  %[1]s/readyz           whether the service is ready; %[1]s/metrics for its operator's monitoring
GET  %[1]s/docs             everything else; /openapi.json for programs

A browser gets the map at this address.
`, a.BaseURL) // fails only if the client has gone
	return nil
}

// streetsMark tells the map where the operator's basemap is (web/src/streets.ts): on this server,
// or an archive that the browser reads directly.
func streetsMark(streets *basemap.Streets, at *url.URL) []byte {
	var said any
	switch s := streets; {
	case s != nil:
		said = map[string]any{
			"tiles": "basemap/" + s.Name + "/{z}/{x}/{y}.mvt", "minzoom": s.MinZoom, "maxzoom": s.MaxZoom, "bounds": s.Bounds, "attribution": s.Attribution,
		}
	case at != nil:
		said = map[string]any{"archive": at.String()}
	default:
		return nil
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // texts and numbers always encode
	}
	return []byte(`<meta name="hazardd-basemap" content="` + html.EscapeString(string(text)) + `">`)
}

// Markers that tell a document's scripts that no login is needed: either the server is public, or
// the document's address has a read key, which the scripts put in front of every address that they
// request.
const (
	publicMark = `<meta name="hazardd-open" content="public">`
	keyMark    = `<meta name="hazardd-open" content="key">`
)

// openMap serves the map to readers without an account. If the link names a hazard (?h=), the page
// has a preview of it.
func (a *Map) openMap(w http.ResponseWriter, r *http.Request) error {
	if route.Keyed(r) != nil {
		return a.openDocument(w, r, web.Map, nil, []byte(keyMark))
	}
	leave, err := a.Visitors.Enter(r, a.ClientAddr(r), a.Time())
	if err != nil {
		return err
	}
	defer leave()
	r = a.Opening(r)
	var head []byte
	if a.Public == route.PublicMap {
		head = []byte(publicMark)
	}
	if id, err := uuid.Parse(r.URL.Query().Get("h")); err == nil {
		now := a.Now()
		h, ok := a.Live.View(now).HazardByUUID(id)
		if !ok {
			if h, err = a.Store.Hazards.ByUUID(r.Context(), id); err == nil {
				h = h.ExpireAt(now)
			} else if !errors.Is(err, hazard.ErrNotFound) {
				return err
			}
		}
		if h != nil {
			preview, err := a.Preview(h, "/?h="+id.String(), now).HTML()
			if err != nil {
				return err
			}
			head = append(head, preview...)
		}
	}
	return a.openDocument(w, r, web.Map, nil, head)
}

// embed serves the widget for frames on the pages of EmbedSites and on our own.
func (a *Map) embed(w http.ResponseWriter, r *http.Request) error {
	if a.Public != route.PublicMap && route.Keyed(r) == nil {
		return &route.Problem{Status: http.StatusNotFound, Detail: "the widget is not open here; the operator opens it with --public=map, or shares a link with a read key"}
	}
	frames := append([]string{"'self'"}, a.EmbedSites...)
	if slices.Contains(a.EmbedSites, "*") {
		frames = []string{"*"}
	}
	mark := keyMark
	if route.Keyed(r) == nil {
		r, mark = a.Opening(r), publicMark
	}
	return a.openDocument(w, r, web.Widget, frames, []byte(mark))
}

// openDocument serves a document of the map with additions to its head.
func (a *Map) openDocument(w http.ResponseWriter, r *http.Request, document string, frames []string, head []byte) error {
	connect := ""
	if document == web.Map {
		head, connect = append(head[:len(head):len(head)], a.operator()...), a.connect
	}
	html := a.page.With(document, head)
	if html == nil {
		r.URL.Path = "/"
		a.page.ServeHTTP(w, r) // it reports that the map was not built
		return nil
	}
	h := w.Header()
	h["Content-Type"] = route.HTMLType
	h.Set("Content-Security-Policy", a.page.Policy(document, frames, connect))
	h.Set("Permissions-Policy", route.MapPermissions)
	if frames == nil {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	return route.Send(w, r, encoded.NewBody(html, false), route.CacheControl(r, false), variesPage)
}

var variesPage = []string{"Accept, Accept-Encoding"}
