package browser

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
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
		if a.streets != nil {
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
