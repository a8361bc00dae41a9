package httpapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/tongue"
)

// langParameter names the languages that a reader wishes, before Accept-Language.
const langParameter = "lang"

// wish is what languages a request asks for: by its parameter lang, else by Accept-Language; behind those are the server's own.
func (a *API) wish(r *http.Request, values url.Values) (tongue.Wish, error) {
	given, ok := values[langParameter]
	switch {
	case !ok:
		return tongue.Accepted(r.Header["Accept-Language"]).Or(a.Languages), nil
	case len(given) > 1:
		return tongue.Wish{}, repeated(langParameter, len(given))
	}
	w, err := tongue.Parse(given[0])
	if err != nil {
		return w, badParameter(langParameter, "%v", err)
	}
	return w.Or(a.Languages), nil
}

// readerOf reads in the languages of a wish; nil: everything as it is stored.
func readerOf(wish tongue.Wish) *tongue.Reader {
	if wish.None() {
		return nil
	}
	return wish.Reader()
}

// readIn is a hazard in the language that meets the wish, which the answer names.
func readIn(w http.ResponseWriter, h *hazard.Hazard, wish tongue.Wish) *hazard.Hazard {
	reader := wish.Reader()
	h = reader.Of(h)
	sayLanguages(w, reader.Used())
	return h
}

// sayLanguages tells in which languages the texts of an answer are, if that is known (RFC 9110, section 8.5).
func sayLanguages(w http.ResponseWriter, languages []string) {
	if len(languages) > 0 {
		w.Header()["Content-Language"] = []string{strings.Join(languages, ", ")}
	}
}
