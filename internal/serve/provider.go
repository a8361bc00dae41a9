package serve

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

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/auth/oidc"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
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
func (a *API) loginMethods(w http.ResponseWriter, r *http.Request) error {
	if err := noQuery(r); err != nil {
		return err
	}
	type provider struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	methods := struct {
		Password bool      `json:"password"`
		Provider *provider `json:"provider"`
	}{Password: true}
	if a.Provider != nil {
		methods.Provider = &provider{a.ProviderTitle, a.BaseURL + "/login/provider"}
	}
	return answerJSON(w, r, methods, false)
}

// needProvider returns an error if no provider is set, or if an address sends too many requests.
func (a *API) needProvider(r *http.Request) error {
	if a.Provider == nil {
		return &problem{Status: http.StatusNotFound, Detail: "this server has no login provider; log in with a user name and a password"}
	}
	return a.attempts.take(a.clientAddr(r), a.Now())
}

// toProvider redirects a browser to the provider.
func (a *API) toProvider(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	address, secret, err := a.Provider.Begin(r.Context())
	if err != nil {
		return a.providerProblem(r, err)
	}
	next := localPath(r.URL.Query().Get("next"))
	value := string(secret) + "~" + base64.RawURLEncoding.EncodeToString([]byte(next))
	if len(value) > 3000 { // browsers drop larger cookies
		value = string(secret) + "~"
	}
	a.visits.putFor(w, providerCookie, value, int(oidc.StateLife/time.Second), http.SameSiteLaxMode)
	h := w.Header()
	h.Set("Location", address)
	h["Cache-Control"] = noStore
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// fromProvider handles the redirect back from the provider.
func (a *API) fromProvider(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	kept, encoded, _ := strings.Cut(onlyCookie(r, a.visits.cookie+providerCookie), "~")
	answer, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return a.providerProblem(r, fmt.Errorf("%w: its parameters cannot be read", oidc.ErrRefused))
	}
	now := a.now()
	id, err := a.Provider.Finish(r.Context(), answer, oidc.Secret(kept))
	if err != nil {
		return a.providerProblem(r, err)
	}
	// The provider accepts a code once; this check makes the browser's secret valid only once too,
	// whatever the provider does.
	if err := a.Auth.Once(r.Context(), oidc.Secret(kept).ID(), now.Add(oidc.StateLife)); errors.Is(err, hazard.ErrConflict) {
		return a.providerProblem(r, fmt.Errorf("%w: it was used before", oidc.ErrRefused))
	} else if err != nil {
		return err
	}
	login, err := a.Auth.AuthorizeIdentity(r.Context(), id, a.origin(r), now)
	if err != nil {
		return a.providerProblem(r, err)
	}
	// Not earlier: a response forged by another site must not end the login in progress.
	a.visits.putFor(w, providerCookie, "", -1, http.SameSiteLaxMode)
	a.visits.setCookie(w, login.Page, now)
	a.visits.putFor(w, handoverCookie, login.Handover, 60, http.SameSiteStrictMode)
	next := "/"
	if text, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && len(text) > 0 {
		next = localPath(string(text))
	}
	a.seeOther(w, next)
	return nil
}

// providerTokens gives an application of this server the tokens of the login that its browser has
// just completed at the provider.
func (a *API) providerTokens(w http.ResponseWriter, r *http.Request) error {
	if err := a.visits.sameOrigin(r); err != nil {
		return err
	}
	if err := a.needProvider(r); err != nil {
		return err
	}
	handover := onlyCookie(r, a.visits.cookie+handoverCookie)
	pair, err := a.Auth.RedeemHandover(r.Context(), handover, a.now())
	if err != nil {
		return err
	}
	a.visits.putFor(w, handoverCookie, "", -1, http.SameSiteStrictMode)
	return answerPair(w, r, pair)
}

// providerLogout handles the provider's notice that a login has ended there (OpenID Connect
// Back-Channel Logout 1.0).
func (a *API) providerLogout(w http.ResponseWriter, r *http.Request) error {
	if err := a.needProvider(r); err != nil {
		return err
	}
	body, err := readBody(w, r, maxLogin)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["logout_token"]) != 1 {
		return &problem{Status: http.StatusBadRequest, Detail: "the form must have the field logout_token, once"}
	}
	notice, err := a.Provider.Notice(r.Context(), form.Get("logout_token"))
	if err != nil {
		return a.providerProblem(r, err)
	}
	if err := a.Auth.EndIdentity(r.Context(), a.Provider.Issuer(), notice.Subject, notice.Session, notice.Issued, a.now()); err != nil {
		return err
	}
	// Only after the logout: if it failed and the provider repeats the notice, the repetition must
	// not count as handled.
	if err := a.Auth.Once(r.Context(), notice.ID, notice.Until); err != nil && !errors.Is(err, hazard.ErrConflict) {
		return err
	}
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(http.StatusOK)
	return nil
}

// providerProblem returns what the visitor sees of an error at the provider. The reason is only
// logged, because it may contain data of other people.
func (a *API) providerProblem(r *http.Request, err error) error {
	p := &problem{}
	switch {
	case errors.Is(err, oidc.ErrUnavailable):
		p.Status, p.retry = http.StatusServiceUnavailable, 10*time.Second
		p.Detail = "the login provider does not answer; retry soon, or log in with a local account. Open sessions continue"
	case errors.Is(err, oidc.ErrBusy):
		return &hazard.LimitError{Limit: "provider-exchanges", Kind: hazard.LimitCapacity, RetryAfter: 2 * time.Second,
			Detail: "too many logins at the provider are in progress (limit provider-exchanges); retry"}
	case errors.Is(err, oidc.ErrRefused):
		p.Status, p.Detail = http.StatusBadRequest, "this login at the provider is invalid: it was canceled, took too long, was used before, or was started in another browser; start again at /login"
	case errors.Is(err, auth.ErrNoAccess):
		p.Status, p.Detail = http.StatusForbidden, "you are logged in at the provider, but none of your groups there has access to this server; ask its administrator"
	case errors.Is(err, auth.ErrDenied):
		p.Status, p.Detail = http.StatusForbidden, "your account is disabled on this server; ask its administrator"
	default:
		return err
	}
	if ok, missed := a.refused.take("provider", a.now()); ok {
		a.Logger.WarnContext(r.Context(), "login at the provider failed", "error", err, "repeated", missed)
	}
	if p.Status == http.StatusForbidden {
		a.Auth.Refused(r.Context(), auth.Actor{Addr: a.clientAddr(r), Client: program(r)}, auth.ActionLogin, "", err.Error(), a.now())
	}
	return p
}

// providerCaller returns the caller of a token that the provider issued.
func (a *API) providerCaller(r *http.Request, token string, now hazard.Instant) (*auth.Caller, error) {
	id, expires, err := a.Provider.Bearer(r.Context(), token)
	if err != nil {
		return nil, err
	}
	return a.Auth.VerifyIdentity(r.Context(), id, expires, now)
}

// answerRefused answers a request whose token is invalid, or cannot be checked now.
func (a *API) answerRefused(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, oidc.ErrUnavailable), errors.Is(err, oidc.ErrBusy):
		a.fail(w, r, a.providerProblem(r, err))
	case errors.Is(err, auth.ErrInvalidToken), errors.Is(err, oidc.ErrRefused):
		invalidToken(w)
	default:
		a.fail(w, r, err)
	}
}
