package route

import (
	"context"
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// KeyPath is the beginning of paths with a read key.
const KeyPath = "/key/"

// WithKey serves reads with a key in the address, for clients that cannot send headers: /key/KEY
// followed by any readable path. The key is removed before the request is routed, so handlers and
// logs never see it.
func (a *Router) WithKey(w http.ResponseWriter, r *http.Request) error {
	text := r.PathValue("key")
	if Keyed(r) != nil {
		return &Problem{Status: http.StatusNotFound, Detail: "no such path"}
	}
	who, err := a.Auth.VerifyReadKey(auth.KeyText(text))
	if err != nil {
		InvalidToken(w)
		return nil
	}
	prefix := KeyPath + text
	r = r.WithContext(context.WithValue(r.Context(), keyedContext{}, &keyedCaller{who, prefix}))
	http.StripPrefix(prefix, a.mux).ServeHTTP(w, r)
	return nil
}

// keyedCaller is a caller with a read key, and the path prefix of the key.
type keyedCaller struct {
	who    *auth.Caller
	prefix string
}

type keyedContext struct{}

// Keyed returns the caller of a request with a read key, or nil.
func Keyed(r *http.Request) *keyedCaller {
	k, _ := r.Context().Value(keyedContext{}).(*keyedCaller)
	return k
}

// Base returns the prefix for links in an answer to r, so that the caller can follow them.
func (a *Router) Base(r *http.Request) string {
	if k := Keyed(r); k != nil {
		return a.BaseURL + k.prefix
	}
	return a.BaseURL
}

// Caller returns the caller of a request, by its token or by a read key.
func (a *Router) Caller(r *http.Request, now hazard.Instant) (*auth.Caller, error) {
	if k := Keyed(r); k != nil {
		return k.who, nil
	}
	if ticketed(r) {
		return a.useTicket(r, now)
	}
	token := bearer(r.Header)
	who, err := a.Auth.Verify(token, now)
	if err != nil && a.Provider != nil && token != "" {
		return a.providerCaller(r, token, now)
	}
	return who, err
}
