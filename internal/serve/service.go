package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/web"
)

// jsonBody encodes a value.
func jsonBody(value any, restricted bool) (*encoded.Body, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return encoded.NewBody(text, restricted), nil
}

// sourceStatus is a source's state, with the number of reports held for an editor.
type sourceStatus struct {
	poll.Status `json:",inline"`
	Held        []heldReport `json:"held"`
	// Delays are measured by this node since its start, by stage; nil means none.
	Delays map[delay.Stage]*delay.Summary `json:"delays"`
}

// delaysOf summarizes the delays of a source.
func (a *API) delaysOf(source string) map[delay.Stage]*delay.Summary {
	all := map[delay.Stage]*delay.Summary{}
	for _, stage := range delay.Stages {
		all[stage] = a.Delays.Of(source, stage)
	}
	return all
}

// heldReport is a report that is hidden until an editor decides about it.
type heldReport struct {
	ID       int64  `json:"id"`
	Event    string `json:"event"`
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Received string `json:"received"`
}

// maxListed is how many held reports and errors of a source are listed.
const maxListed = 50

// sources serves the state of every source.
func (a *API) sources(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := noQuery(r); err != nil {
		return err
	}
	states, err := a.Sources(r.Context())
	away := errors.Is(err, hazard.ErrUnavailable) && states != nil // the header reports it
	if err != nil && !away {
		return err
	}
	list := []sourceStatus{}
	for _, s := range states {
		held := []heldReport{}
		if !away && who.Role != auth.Public { // unconfirmed reports are not public
			if held, err = a.heldReports(r, s.Name); err != nil {
				return err
			}
		}
		if who.Role != auth.Admin {
			s = s.Public()
		}
		list = append(list, sourceStatus{s, held, a.delaysOf(s.Name)})
	}
	now := a.now()
	body, err := jsonBody(list, false)
	if err != nil {
		return err
	}
	return a.answerList(w, r, a.Live.View(now), body, now)
}

func (a *API) heldReports(r *http.Request, source string) ([]heldReport, error) {
	held, err := a.Store.HeldReports(r.Context(), source, maxListed)
	list := []heldReport{}
	for _, h := range held {
		list = append(list, heldReport{h.ID, h.Report.Key, h.Report.Name, h.Why(), h.Received.String()})
	}
	return list, err
}

// knownSource returns a 404 unless the source in the path exists.
func (a *API) knownSource(r *http.Request) (string, error) {
	name := r.PathValue("source")
	states, err := a.Sources(r.Context())
	if err != nil {
		return "", err
	}
	var names []string
	for _, s := range states {
		if s.Name == name {
			return name, nil
		}
		names = append(names, s.Name)
	}
	return "", unknownID("source", name, names)
}

func role(who *auth.Caller, roles ...auth.Role) error {
	for _, r := range roles {
		if who.Role == r {
			return nil
		}
	}
	return fmt.Errorf("%w: this takes the role %s; %s has the role %s", hazard.ErrForbidden, roles[0], who.Name, who.Role)
}

// pollSource requests a poll of a source.
func (a *API) pollSource(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Admin); err != nil {
		return err
	}
	name, err := a.knownSource(r)
	if err != nil {
		return err
	}
	if err := a.PollNow(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// maxBegun is for how many payloads the list of errors shows the beginning, because each must be
// opened.
const maxBegun = 20

// sourceError is a recorded error of a source.
type sourceError struct {
	Record string `json:"record"` // empty means the whole payload
	Reason string `json:"reason"`
	First  string `json:"first"`
	Last   string `json:"last"`
	Times  int64  `json:"times"`
	Raw    string `json:"raw"` // as received, truncated, with invalid UTF-8 replaced; empty if the payload is no longer stored
	// Payload is the SHA-256 of the payload: the rejected one, or the one that held the record. GET
	// /payloads/{payload-id} serves it while it is stored.
	Payload string `json:"payload,omitzero"`
}

// sourceErrors serves a source's rejected records and held reports, to editors only, because it is
// unchecked content from outside.
func (a *API) sourceErrors(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	if err := noQuery(r); err != nil {
		return err
	}
	name, err := a.knownSource(r)
	if err != nil {
		return err
	}
	kept, err := a.Store.SourceErrors(r.Context(), name, maxListed)
	if err != nil {
		return err
	}
	held, err := a.heldReports(r, name)
	if err != nil {
		return err
	}
	out := struct {
		Errors []sourceError `json:"errors"`
		Held   []heldReport  `json:"held"`
	}{[]sourceError{}, held}
	for i, e := range kept {
		if e.Record == "" && len(e.Raw) == 0 && i < maxBegun {
			if e.Raw, err = a.Evidence.Beginning(r.Context(), e.Payload, source.MaxKept); err != nil {
				return err
			}
		}
		out.Errors = append(out.Errors, sourceError{e.Record, strings.ToValidUTF8(e.Reason, "\uFFFD"), e.First.String(), e.Last.String(), e.Times,
			strings.ToValidUTF8(string(e.Raw), "\uFFFD"), e.Payload})
	}
	return answerJSON(w, r, out, true)
}

// decideHeld releases or dismisses a held report: {"decision": "released" | "dismissed"}.
func (a *API) decideHeld(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Editor, auth.Admin); err != nil { // before the answer reveals which sources exist
		return err
	}
	source, err := a.knownSource(r)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("held"), 10, 64)
	if err != nil || id < 1 {
		return badParameter("held-id", "%q is not a number (1, 2, 3 …)", r.PathValue("held"))
	}
	body, err := readBody(w, r, maxLogin)
	if err != nil {
		return err
	}
	res, err := a.Edit.Decide(r.Context(), a.author(r, who), source, id, a.ifMatch(r), body, a.clock())
	if err != nil {
		return a.orDrafted(w, err)
	}
	a.visible(r.Context(), res.Last)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// healthz reports that the process answers.
func (a *API) healthz(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, noStore
	_, _ = w.Write([]byte(`{"status":"ok"}`)) // fails only if the client has gone
	return nil
}

// readyz reports whether a load balancer should send requests here.
func (a *API) readyz(w http.ResponseWriter, _ *http.Request) error {
	now := a.now()
	status, reason, code := "ready", "", http.StatusOK
	if err := a.Ready(); err != nil {
		status, reason, code = "not ready", err.Error(), http.StatusServiceUnavailable
	}
	text, err := json.Marshal(struct {
		Status string `json:"status"`
		Reason string `json:"reason,omitzero"`
		Change int64  `json:"change"`
		AgeMS  int64  `json:"view_age_ms"`
	}{status, reason, a.Live.View(now).Number(), max(0, int64(now-a.Live.ReadAt()))})
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"] = jsonType, noStore
	w.WriteHeader(code)
	_, _ = w.Write(text) // fails only if the client has gone
	return nil
}

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
func (a *API) icon(w http.ResponseWriter, r *http.Request) error {
	bodies, err := icons()
	if err != nil {
		return err
	}
	body, ok := bodies[r.PathValue("icon")]
	if !ok {
		return &problem{Status: http.StatusNotFound, Detail: "no such icon; GET /hazards/types lists them as type_icon"}
	}
	h := w.Header()
	h["Etag"] = body.ETag(encoded.Identity)
	h.Set("Cache-Control", "public, max-age=86400")
	h.Set("Content-Type", "image/png")
	http.ServeContent(w, r, "", hazard.Instant(0).Time(), bytes.NewReader(body.Bytes(encoded.Identity)))
	return nil
}

// mapFile serves the files of the map: scripts, style sheet, basemap.
func (a *API) mapFile(w http.ResponseWriter, r *http.Request) error {
	if !a.page.Has(r.URL.Path) {
		return &problem{Status: http.StatusNotFound, Detail: "no such file of the map"}
	}
	a.page.ServeHTTP(w, r)
	return nil
}

// index serves the map to a browser. Other clients get a pointer to the documentation.
func (a *API) index(w http.ResponseWriter, r *http.Request) error {
	if strings.Contains(strings.Join(r.Header["Accept"], ","), "text/html") {
		if a.Public.on() || keyed(r) != nil {
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
