package route

import (
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/net/listen"
	"github.com/hazardd/hazardd/internal/serve/encoded"
)

// Header values that all answers share; using them needs no allocation.
var (
	JSONType     = []string{"application/json"}
	revalidate   = []string{"private, no-cache"}
	NoStore      = []string{"no-store"}
	varies       = []string{"Authorization, Accept, Accept-Encoding, Accept-Language"}
	codingValues = [...][]string{encoded.Gzip: {"gzip"}, encoded.Zstd: {"zstd"}, encoded.Brotli: {"br"}}
)

// minCompressed is the smallest body that is compressed, in bytes. A smaller one fits one packet
// anyway.
const minCompressed = 1200

// AnswerJSON writes a value that is not part of the view.
func AnswerJSON(w http.ResponseWriter, r *http.Request, value any, restricted bool) error {
	body, err := JSONBody(value, restricted)
	if err != nil {
		return err
	}
	return Answer(w, r, body)
}

// Answer writes a body, as JSON unless the header says otherwise. Caches must revalidate it before
// reuse; for the public see CacheControl.
func Answer(w http.ResponseWriter, r *http.Request, body *encoded.Body) error {
	return Send(w, r, body, CacheControl(r, body.Restricted), varies)
}

// Send writes a body in the client's preferred encoding, or 304 if the client already has it (RFC
// 9110 section 13.1.2).
func Send(w http.ResponseWriter, r *http.Request, body *encoded.Body, cache, vary []string) error {
	h := w.Header()
	if k, ok := w.(*keeper); ok {
		k.body, body.Header = body, h
		return nil
	}
	coding := encoded.Identity
	if !body.Plain && len(body.Bytes(encoded.Identity)) >= minCompressed {
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
		unchanged(w)
		return nil
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = JSONType
	}
	if coding != encoded.Identity {
		h["Content-Encoding"] = codingValues[coding]
	}
	h["Content-Length"] = body.Length(coding)
	if r.Method == http.MethodHead {
		return nil
	}
	if body.InFile() {
		_, _ = body.WriteTo(w) // fails only if the client has gone
		return nil
	}
	if c := listen.Of(r.Context()); r.ProtoMajor == 1 && c.SendsMemory() {
		if m := body.Memory(coding); m != nil {
			c.More()
			_, _ = io.Copy(w, m.Reader()) // fails only if the client has gone
			return nil
		}
	}
	_, _ = w.Write(body.Bytes(coding)) // fails only if the client has gone
	return nil
}

// unchanged answers 304, without the headers that are the same in each answer of a path: the client
// keeps those that it has (RFC 9111 section 4.3.4). They would be up to a quarter of it.
func unchanged(w http.ResponseWriter) {
	for _, name := range []string{"X-Content-Type-Options", "Referrer-Policy", "Permissions-Policy", "Cross-Origin-Opener-Policy"} {
		delete(w.Header(), name)
	}
	w.WriteHeader(http.StatusNotModified)
}

// PagePolicy lets a page load only style sheets and images, and send forms, all to its own server.
// Scripts never run.
const PagePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// HTMLType is the Content-Type of pages.
var HTMLType = []string{"text/html; charset=utf-8"}

// LinkNext sets the link to the next page (RFC 8288).
func (a *Router) LinkNext(w http.ResponseWriter, r *http.Request, parameters url.Values) {
	w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, a.PageAddress(r, parameters)))
}

// PageAddress returns the address of the same path with other parameters.
func (a *Router) PageAddress(r *http.Request, parameters url.Values) string {
	return a.Base(r) + r.URL.EscapedPath() + "?" + parameters.Encode()
}

// JSONBody encodes a value.
func JSONBody(value any, restricted bool) (*encoded.Body, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return encoded.NewBody(text, restricted), nil
}

// Written answers a write: 201 with Location for something new, otherwise 200.
func Written(w http.ResponseWriter, body *encoded.Body, location string, isNew bool) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Length"] = JSONType, NoStore, body.Length(encoded.Identity)
	h.Set("Location", location)
	if isNew {
		w.WriteHeader(http.StatusCreated)
	}
	_, _ = w.Write(body.Bytes(encoded.Identity)) // fails only if the client has gone
	return nil
}

// WrittenJSON is written for a value that only its owner may see.
func WrittenJSON(w http.ResponseWriter, value any, location string, isNew bool) error {
	body, err := JSONBody(value, true)
	if err != nil {
		return err
	}
	return Written(w, body, location, isNew)
}
