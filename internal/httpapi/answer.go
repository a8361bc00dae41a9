package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"hazardd/internal/hazard"
	"hazardd/internal/live"
)

// Header values that every answer shares, ready to be put into a header without an allocation.
var (
	jsonType     = []string{"application/json"}
	revalidate   = []string{"private, no-cache"}
	noStore      = []string{"no-store"}
	varies       = []string{"Authorization, Accept, Accept-Encoding"}
	codingValues = [...][]string{live.Gzip: {"gzip"}, live.Zstd: {"zstd"}, live.Brotli: {"br"}}
)

// minCompressed is the size from which a body is worth compressing, in bytes: below it fits one packet anyway.
const minCompressed = 1200

// staleView is the age from which a view says how old it is: the store answers at least each second, or it is away.
const staleView = 3 * time.Second

// answerList writes an answer from the view, and how fresh it is.
func (a *API) answerList(w http.ResponseWriter, r *http.Request, v *live.View, body *live.Body, now hazard.Instant) error {
	h := w.Header()
	h["Hazardd-Change"] = v.Digits()
	h["Hazardd-Sources"] = a.Freshness()
	a.tellViewAge(w, now)
	return answer(w, r, body)
}

// tellViewAge says how old the view is, if the store could not be read lately.
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

// answer writes a body, as JSON unless the header says otherwise, that must not be reused without asking again.
func answer(w http.ResponseWriter, r *http.Request, body *live.Body) error {
	cache := revalidate
	if body.Restricted {
		cache = noStore
	}
	return send(w, r, body, cache, varies)
}

// send writes a body in the coding that the client prefers, or 304 if it has it already (RFC 9110 section 13.1.2).
func send(w http.ResponseWriter, r *http.Request, body *live.Body, cache, vary []string) error {
	h := w.Header()
	coding := live.Identity
	if len(body.Bytes(live.Identity)) >= minCompressed {
		coding = prefer(r.Header["Accept-Encoding"])
	}
	h["Etag"] = body.ETag(coding)
	if others := h["Vary"]; others != nil { // of CORS
		h["Vary"] = append(others, vary...)
	} else {
		h["Vary"] = vary
	}
	h["Cache-Control"] = cache
	if matches(r.Header["If-None-Match"], body.ETag(coding)[0]) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = jsonType
	}
	if coding != live.Identity {
		h["Content-Encoding"] = codingValues[coding]
	}
	h["Content-Length"] = body.Length(coding)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body.Bytes(coding)) // a reader who has gone
	}
	return nil
}

// preferred is the order among codings that a client likes equally: what costs us least to make comes first.
var preferred = [...]live.Encoding{live.Zstd, live.Brotli, live.Gzip}

// prefer is the coding that Accept-Encoding likes best of those that we have (RFC 9110 section 12.5.3). Identity is what is left:
// a client that refuses even that gets it all the same, since it can do nothing with an error.
func prefer(values []string) live.Encoding {
	if len(values) == 0 {
		return live.Identity
	}
	var quality [live.Brotli + 1]float64
	for i := range quality {
		quality[i] = -1 // not named
	}
	all := -1.0
	for _, value := range values {
		for rest := value; rest != ""; {
			var item string
			item, rest, _ = strings.Cut(rest, ",")
			name, params, _ := strings.Cut(item, ";")
			q := qvalue(params)
			switch name = strings.TrimSpace(name); {
			case name == "*":
				all = q
			case strings.EqualFold(name, "identity"):
				quality[live.Identity] = q
			case strings.EqualFold(name, "gzip") || strings.EqualFold(name, "x-gzip"):
				quality[live.Gzip] = q
			case strings.EqualFold(name, "zstd"):
				quality[live.Zstd] = q
			case strings.EqualFold(name, "br"):
				quality[live.Brotli] = q
			}
		}
	}
	// Among what is liked equally a coding wins over none.
	best, bestQ := live.Identity, 0.0
	for _, e := range preferred {
		q := quality[e]
		if q < 0 {
			q = all
		}
		if q > bestQ {
			best, bestQ = e, q
		}
	}
	if quality[live.Identity] > bestQ {
		return live.Identity
	}
	return best
}

// qvalue reads the weight of an item (RFC 9110 section 12.4.2): 1 without one, 0 if it cannot be read.
func qvalue(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(value, 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// matches tells whether an If-None-Match list names etag, by weak comparison.
func matches(values []string, etag string) bool {
	for _, value := range values {
		for rest := value; rest != ""; {
			var tag string
			tag, rest, _ = strings.Cut(rest, ",")
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}
