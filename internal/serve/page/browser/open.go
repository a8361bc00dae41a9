package browser

import (
	"errors"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/web"
)

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
			if h, err = a.Store.HazardByUUID(r.Context(), id); err == nil {
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
		head = append(head[:len(head):len(head)], a.streets...)
		if a.StreetsAt != nil {
			connect = a.StreetsAt.Scheme + "://" + a.StreetsAt.Host
		}
	}
	html := a.page.With(document, head)
	if html == nil {
		r.URL.Path = "/"
		a.page.ServeHTTP(w, r) // it reports that the map was not built
		return nil
	}
	h := w.Header()
	h["Content-Type"] = route.HtmlType
	h.Set("Content-Security-Policy", web.Policy(frames, connect))
	if frames == nil {
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	return route.Send(w, r, encoded.NewBody(html, false), route.CacheControl(r, false), variesPage)
}

var variesPage = []string{"Accept, Accept-Encoding"}
