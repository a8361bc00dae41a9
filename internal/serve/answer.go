package serve

import (
	"net/http"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/store/view"
)

// Header values that all answers share; using them needs no allocation.
var (
	jsonType     = []string{"application/json"}
	revalidate   = []string{"private, no-cache"}
	noStore      = []string{"no-store"}
	varies       = []string{"Authorization, Accept, Accept-Encoding, Accept-Language"}
	codingValues = [...][]string{encoded.Gzip: {"gzip"}, encoded.Zstd: {"zstd"}, encoded.Brotli: {"br"}}
)

// minCompressed is the smallest body that is compressed, in bytes. A smaller one fits one packet
// anyway.
const minCompressed = 1200

// staleView is the age at which answers say how old the view is. A reachable store confirms the
// view at least once a second.
const staleView = 3 * time.Second

// answerList writes an answer from the view, with its freshness.
func (a *API) answerList(w http.ResponseWriter, r *http.Request, v *view.View, body *encoded.Body, now hazard.Instant) error {
	a.tellView(w, v, now)
	return answer(w, r, body)
}

// answerShared is answerList for a body that several readers share. The body counts toward the
// caller's budget while it is sent.
func (a *API) answerShared(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, body *encoded.Body, now hazard.Instant) error {
	if err := a.readers.Begin(who.Name, body); err != nil {
		return err
	}
	defer a.readers.End(who.Name, body)
	return a.answerList(w, r, v, body, now)
}

// tellView sets the headers that say which view an answer is from, and how fresh it is.
func (a *API) tellView(w http.ResponseWriter, v *view.View, now hazard.Instant) {
	h := w.Header()
	h["Hazardd-Change"] = v.Digits()
	h["Hazardd-Sources"] = a.Freshness()
	a.tellViewAge(w, now)
}

// tellViewAge sets the header with the view's age, if the store was unreachable lately.
func (a *API) tellViewAge(w http.ResponseWriter, now hazard.Instant) {
	if age := now.Time().Sub(a.Live.ReadAt().Time()); age > staleView {
		w.Header()["Hazardd-View-Age"] = []string{strconv.Itoa(int(age.Seconds()))}
	}
}

// answerJSON writes a value that is not part of the view.
func answerJSON(w http.ResponseWriter, r *http.Request, value any, restricted bool) error {
	body, err := jsonBody(value, restricted)
	if err != nil {
		return err
	}
	return answer(w, r, body)
}

// answer writes a body, as JSON unless the header says otherwise. Caches must revalidate it before
// reuse; for the public see cacheControl.
func answer(w http.ResponseWriter, r *http.Request, body *encoded.Body) error {
	return send(w, r, body, cacheControl(r, body.Restricted), varies)
}

// send writes a body in the client's preferred encoding, or 304 if the client already has it (RFC
// 9110 section 13.1.2).
func send(w http.ResponseWriter, r *http.Request, body *encoded.Body, cache, vary []string) error {
	h := w.Header()
	coding := encoded.Identity
	if len(body.Bytes(encoded.Identity)) >= minCompressed {
		coding = encoded.Prefer(r.Header["Accept-Encoding"])
	}
	h["Etag"] = body.ETag(coding)
	if others := h["Vary"]; others != nil { // set by CORS
		h["Vary"] = append(others, vary...)
	} else {
		h["Vary"] = vary
	}
	h["Cache-Control"] = cache
	if encoded.Matches(r.Header["If-None-Match"], body.ETag(coding)[0]) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = jsonType
	}
	if coding != encoded.Identity {
		h["Content-Encoding"] = codingValues[coding]
	}
	h["Content-Length"] = body.Length(coding)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes(coding)) // fails only if the client has gone
	}
	return nil
}
