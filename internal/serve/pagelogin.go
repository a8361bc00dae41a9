package serve

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
	pages "github.com/hazardd/hazardd/internal/serve/page"
)

// Pages use a cookie, which browsers send by themselves. Any site can make a browser send a
// request, so the cookie grants reading pages and nothing else. The API accepts the Authorization
// header only.

// visits holds how browsers reach the pages.
type visits struct {
	root   string // path of the public address
	secure bool   // the public address is https
	cookie string // name of the cookie
	guard  *http.CrossOriginProtection
}

// newVisits takes the service's public address.
func newVisits(base string) visits {
	v := visits{cookie: "hazardd", guard: http.NewCrossOriginProtection()}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return v
	}
	v.root, v.secure = strings.TrimRight(u.EscapedPath(), "/"), u.Scheme == "https"
	if v.secure {
		// The prefix keeps other hosts of the domain and plain HTTP from setting the cookie (RFC
		// 6265bis, section 4.1.3.2).
		v.cookie = "__Host-hazardd"
	} else if port := u.Port(); port != "" {
		// Cookies ignore ports: without the suffix, two servers on one machine would log out each
		// other's visitors.
		v.cookie += "-" + port
	}
	// Needed for browsers without Sec-Fetch-Site behind a proxy that does not pass on the Host. A
	// malformed origin trusts nobody.
	_ = v.guard.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	return v
}

// setCookie gives the browser a session for pages. SameSite=Lax: a link in an email opens a page,
// but other sites can do nothing else.
func (v *visits) setCookie(w http.ResponseWriter, token auth.PageToken, now hazard.Instant) {
	v.put(w, token.Text, max(1, int(token.Expires-now)/1000))
}

func (v *visits) clearCookie(w http.ResponseWriter) { v.put(w, "", -1) }

// putFor sets a cookie for a login at the provider; a negative age deletes it.
func (v *visits) putFor(w http.ResponseWriter, what, value string, maxAge int, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{Name: v.cookie + what, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: site})
}

func (v *visits) put(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: v.cookie, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// deviceCookie is the suffix of the cookie for a device that has logged in before.
const deviceCookie = "-device"

// setDevice marks a browser as one that has logged in. The cookie outlives the session, and grants
// nothing.
func (v *visits) setDevice(w http.ResponseWriter, token string) {
	if token != "" {
		http.SetCookie(w, &http.Cookie{Name: v.cookie + deviceCookie, Value: token, Path: "/", MaxAge: int(auth.DeviceLife / time.Second),
			Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
}

// device returns the token of the request's device, or "" if the device has never logged in.
func (v *visits) device(r *http.Request) string { return onlyCookie(r, v.cookie+deviceCookie) }

// token returns the page token of the request, or "" if there is none or more than one.
func (v *visits) token(r *http.Request) string { return onlyCookie(r, v.cookie) }

// onlyCookie returns the value of the cookie, or "" if there is none or more than one.
func onlyCookie(r *http.Request, name string) string {
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

// sameOrigin refuses a request that another site made the browser send.
func (v *visits) sameOrigin(r *http.Request) error {
	if err := v.guard.Check(r); err != nil {
		return &problem{Status: http.StatusForbidden, Detail: "the request comes from a page of another site; open this server's own page and try again"}
	}
	return nil
}

// openSession exchanges an access token for a cookie session that can read pages.
func (a *API) openSession(w http.ResponseWriter, _ *http.Request, who *auth.Caller) error {
	now := a.now()
	token, err := a.Auth.Page(who, now)
	if errors.Is(err, auth.ErrInvalidToken) {
		invalidToken(w)
		return nil
	}
	if err != nil {
		return err
	}
	a.visits.setCookie(w, token, now)
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// closeSession ends the session of the cookie. It needs no access token: at logout it may have
// expired.
func (a *API) closeSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.endSession(w, r); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endSession ends the session and deletes its cookie. This is the only change that the cookie
// grants.
func (a *API) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.visits.sameOrigin(r); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = noStore
	a.visits.clearCookie(w) // always delete the cookie, even if the rest fails
	return a.Auth.EndPage(r.Context(), a.visits.token(r), a.origin(r), a.now())
}

// loginPage shows the login form, or redirects if the visitor is logged in.
func (a *API) loginPage(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if _, err := a.Auth.VerifyPage(a.visits.token(r), a.now()); err == nil {
		a.seeOther(w, next)
		return nil
	}
	return a.answerLogin(w, http.StatusOK, &pages.Login{Frame: a.frame(r), Next: next})
}

// login handles the form. Limits, checks and status codes are the same as for POST /authorize.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	if err := a.visits.sameOrigin(r); err != nil {
		return err
	}
	body, err := readBody(w, r, maxLogin)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["username"]) != 1 || len(form["password"]) != 1 {
		// The body may hold a password, so the error repeats nothing of it.
		return &problem{Status: http.StatusBadRequest, Detail: "the form is incomplete: expected the fields username and password, each once"}
	}
	again := &pages.Login{Frame: a.frame(r), Next: localPath(form.Get("next")), Username: hazard.CleanLine(form.Get("username"))}
	now := a.now()
	token, err := a.Auth.AuthorizePage(r.Context(), form.Get("username"), auth.Password(form.Get("password")), a.origin(r), now)
	if limited, ok := errors.AsType[*auth.LimitedError](err); ok {
		again.Error = again.Language.Say("tooMany", "span", inWords(again.Language, limited.RetryAfter))
		w.Header().Set("Retry-After", retryAfter(limited.RetryAfter))
		return a.answerLogin(w, http.StatusTooManyRequests, again)
	}
	if errors.Is(err, auth.ErrDenied) {
		again.Error = again.Language.Say("denied")
		w.Header().Set("WWW-Authenticate", realm)
		return a.answerLogin(w, http.StatusUnauthorized, again)
	}
	if err != nil {
		return err
	}
	a.visits.setCookie(w, token, now)
	a.visits.setDevice(w, token.Device)
	a.seeOther(w, again.Next)
	return nil
}

// logout ends the session, from a page.
func (a *API) logout(w http.ResponseWriter, r *http.Request) error {
	if err := a.endSession(w, r); err != nil {
		return err
	}
	a.seeOther(w, "/login")
	return nil
}

func (a *API) answerLogin(w http.ResponseWriter, status int, form *pages.Login) error {
	if a.Provider != nil {
		form.Provider = a.ProviderTitle
	}
	html, err := form.HTML()
	if err != nil {
		return err
	}
	writeHTML(w, status, html)
	return nil
}

// seeOther redirects to a path of this server.
func (a *API) seeOther(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", a.visits.root+to)
	h["Cache-Control"] = noStore
	w.WriteHeader(http.StatusSeeOther)
}

// localPath returns next if it is a path of this server in canonical form, otherwise the root.
// Browsers read a backslash as a slash, skip tabs and line ends, and read two slashes as the
// beginning of a host.
func localPath(next string) string {
	const home = "/"
	for _, c := range []byte(next) {
		if c <= ' ' || c == '\\' || c >= 0x7f {
			return home
		}
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !strings.HasPrefix(next, "/") || path.Clean(u.Path) != u.Path ||
		u.Path == "/login" || u.Path == "/logout" {
		return home
	}
	to := u.EscapedPath()
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return to
}

// retryAfter formats a duration in whole seconds.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

func inWords(l *words.Language, d time.Duration) string {
	switch n := int((d + time.Second - 1) / time.Second); {
	case l != words.English():
		return l.Say("statusSeconds", "n", n)
	case n <= 1:
		return "a second"
	case n < 120:
		return strconv.Itoa(n) + " seconds"
	default:
		return strconv.Itoa((n+59)/60) + " minutes"
	}
}
