package browser

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// Logins at an OpenID provider. While the user is at the provider, the browser keeps the login's
// secret in a cookie; the server stores nothing until the login has succeeded. An application of
// this server then fetches its tokens with a second cookie, which is valid once and for a minute.
// Tokens never appear in an address, and no other cookie grants tokens.

// providerCookie and handoverCookie are suffixes of the page cookie's name, for a login in progress
// and for a completed one.
const (
	providerCookie = "-login"
	handoverCookie = "-handover"
)

// The limits per address for logins at the provider, because each may cost a request to the
// provider.
const (
	providerRate   = 10 // per second
	providerBurst  = 60
	providerMemory = 1 << 20 // bytes for the most recent addresses
	providerSize   = 128     // bytes per address
)

// attempts counts requests about provider logins by address.
type attempts struct {
	byAddr *lru.Cache[netip.Prefix, *rate.Limiter]
}

func newAttempts() attempts { return attempts{lru.New[netip.Prefix, *rate.Limiter](providerMemory)} }

func (t attempts) take(addr netip.Addr, now time.Time) error {
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	from, _ := addr.Prefix(bits) // all invalid addresses count as the same one
	limiter, ok := t.byAddr.Get(from)
	if !ok {
		limiter = rate.NewLimiter(providerRate, providerBurst)
		t.byAddr.Put(from, limiter, providerSize)
	}
	if limiter.AllowN(now, 1) {
		return nil
	}
	return &hazard.LimitError{Limit: "provider-logins", Kind: hazard.LimitShare, RetryAfter: time.Second,
		Detail: fmt.Sprintf("more than %d requests per second from your address for logins at the provider (limit provider-logins); wait and retry", providerRate)}
}

// loginMethods lists the ways to log in.
func (a *Login) loginMethods(w http.ResponseWriter, r *http.Request) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	type provider struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	methods := struct {
		Password bool      `json:"password"`
		Passkeys bool      `json:"passkeys"`
		Provider *provider `json:"provider"`
	}{Password: true, Passkeys: a.Auth.Factors().PasskeysOff() == ""}
	if a.Provider != nil {
		methods.Provider = &provider{a.ProviderTitle, a.BaseURL + "/login/provider"}
	}
	return route.AnswerJSON(w, r, methods, false)
}

// needProvider returns an error if no provider is set, or if an address sends too many requests.
func (a *Login) needProvider(r *http.Request) error {
	if a.Provider == nil {
		return &route.Problem{Status: http.StatusNotFound, Detail: "this server has no login provider; log in with a user name and a password"}
	}
	return a.attempts.take(a.ClientAddr(r), a.Time())
}

// toProvider redirects a browser to the provider.
func (a *Login) toProvider(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	address, secret, err := a.Provider.Begin(r.Context())
	if err != nil {
		return a.ProviderProblem(r, err)
	}
	next := localPath(r.URL.Query().Get("next"))
	value := string(secret) + "~" + base64.RawURLEncoding.EncodeToString([]byte(next))
	if len(value) > 3000 { // browsers drop larger cookies
		value = string(secret) + "~"
	}
	a.Cookies.PutFor(w, providerCookie, value, int(oidc.StateLife/time.Second), http.SameSiteLaxMode)
	h := w.Header()
	h.Set("Location", address)
	h["Cache-Control"] = route.NoStore
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// fromProvider handles the redirect back from the provider.
func (a *Login) fromProvider(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	kept, encoded, _ := strings.Cut(route.OnlyCookie(r, a.Cookies.Name+providerCookie), "~")
	answer, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a.ProviderProblem(r, fmt.Errorf("%w: its parameters cannot be read", oidc.ErrRefused))
	}
	now := a.Now()
	id, err := a.Provider.Finish(r.Context(), answer, oidc.Secret(kept))
	if err != nil {
		return a.ProviderProblem(r, err)
	}
	// The provider accepts a code once; this check makes the browser's secret valid only once too,
	// whatever the provider does.
	if err := a.Auth.Once(r.Context(), oidc.Secret(kept).ID(), now.Add(oidc.StateLife)); errors.Is(err, hazard.ErrConflict) {
		return a.ProviderProblem(r, fmt.Errorf("%w: it was used before", oidc.ErrRefused))
	} else if err != nil {
		return err
	}
	login, err := a.Auth.AuthorizeIdentity(r.Context(), id, a.Origin(r), now)
	if err != nil {
		return a.ProviderProblem(r, err)
	}
	// Not earlier: a response forged by another site must not end the login in progress.
	a.Cookies.PutFor(w, providerCookie, "", -1, http.SameSiteLaxMode)
	a.Cookies.SetCookie(w, login.Page, now)
	a.Cookies.PutFor(w, handoverCookie, login.Handover, 60, http.SameSiteStrictMode)
	next := "/"
	if text, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && len(text) > 0 {
		next = localPath(string(text))
	}
	a.seeOther(w, next)
	return nil
}

// providerTokens gives an application of this server the tokens of the login that its browser has
// just completed at the provider.
func (a *Login) providerTokens(w http.ResponseWriter, r *http.Request) error {
	if err := a.Cookies.SameOrigin(r); err != nil {
		return err
	}
	if err := a.needProvider(r); err != nil {
		return err
	}
	handover := route.OnlyCookie(r, a.Cookies.Name+handoverCookie)
	pair, err := a.Auth.RedeemHandover(r.Context(), handover, a.Now())
	if err != nil {
		return err
	}
	a.Cookies.PutFor(w, handoverCookie, "", -1, http.SameSiteStrictMode)
	return route.AnswerPair(w, r, pair)
}

// providerLogout handles the provider's notice that a login has ended there (OpenID Connect
// Back-Channel Logout 1.0).
func (a *Login) providerLogout(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["logout_token"]) != 1 {
		return &route.Problem{Status: http.StatusBadRequest, Detail: "the form must have the field logout_token, once"}
	}
	notice, err := a.Provider.Notice(r.Context(), form.Get("logout_token"))
	if err != nil {
		return a.ProviderProblem(r, err)
	}
	if err := a.Auth.EndIdentity(r.Context(), a.Provider.Issuer(), notice.Subject, notice.Session, notice.Issued, a.Now()); err != nil {
		return err
	}
	// Only after the logout: if it failed and the provider repeats the notice, the repetition must
	// not count as handled.
	if err := a.Auth.Once(r.Context(), notice.ID, notice.Until); err != nil && !errors.Is(err, hazard.ErrConflict) {
		return err
	}
	w.Header()["Cache-Control"] = route.NoStore
	w.WriteHeader(http.StatusOK)
	return nil
}
