package route

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang"
)

// LangParameter names the parameter with the reader's languages. It outranks Accept-Language.
const LangParameter = "lang"

// Wish returns the languages of a request: from the parameter lang, otherwise from Accept-Language,
// followed by the server's own.
func (a *Router) Wish(r *http.Request, values url.Values) (lang.Wish, error) {
	given, ok := values[LangParameter]
	switch {
	case !ok:
		return lang.Accepted(r.Header["Accept-Language"]).Or(a.Languages), nil
	case len(given) > 1:
		return lang.Wish{}, Repeated(LangParameter, len(given))
	}
	w, err := lang.Parse(given[0])
	if err != nil {
		return w, BadParameter(LangParameter, "%v", err)
	}
	return w.Or(a.Languages), nil
}

// ReaderOf returns a reader for a wish; nil returns all texts as stored.
func ReaderOf(wish lang.Wish) *lang.Reader {
	if wish.None() {
		return nil
	}
	return wish.Reader()
}

// InLanguage returns a hazard in the best language for the wish, and names that language in the answer.
func InLanguage(w http.ResponseWriter, h *hazard.Hazard, wish lang.Wish) *hazard.Hazard {
	reader := wish.Reader()
	h = reader.Of(h)
	SetLanguages(w, reader.Used())
	return h
}

// SetLanguages sets Content-Language if the languages of the answer's texts are known (RFC 9110,
// section 8.5).
func SetLanguages(w http.ResponseWriter, languages []string) {
	if len(languages) > 0 {
		w.Header()["Content-Language"] = []string{strings.Join(languages, ", ")}
	}
}
