package httpapi

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
	pages "github.com/hazardd/hazardd/internal/page"
	"github.com/hazardd/hazardd/internal/words"
)

// Pages are read by people, whose browser shows a cookie by itself: it serves reading pages and nothing else, since any site can make a
// browser send a request. The API goes on to take the Authorization header alone.

// visits is what the API knows of how pages are reached.
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
		// The prefix keeps other hosts of the domain, and plain http, from setting it (RFC 6265bis, section 4.1.3.2).
		v.cookie = "__Host-hazardd"
	} else if port := u.Port(); port != "" {
		// Cookies do not know ports: two servers on one machine must not log each other's visitors out.
		v.cookie += "-" + port
	}
	// For browsers that send no Sec-Fetch-Site, behind a proxy that does not hand on the Host. A malformed origin trusts nobody.
	_ = v.guard.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	return v
}

// setCookie gives the browser a session that serves pages. SameSite=Lax: a link to a page works from a mail, and nothing but a link does.
func (v *visits) setCookie(w http.ResponseWriter, token auth.PageToken, now hazard.Instant) {
	v.put(w, token.Text, max(1, int(token.Expires-now)/1000))
}

func (v *visits) clearCookie(w http.ResponseWriter) { v.put(w, "", -1) }

// putFor sets a cookie of a login at the provider; of an age below 0 it ends.
func (v *visits) putFor(w http.ResponseWriter, what, value string, maxAge int, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{Name: v.cookie + what, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: site})
}

func (v *visits) put(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: v.cookie, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// deviceCookie is what follows the name of the cookie in that of a device that has logged in before.
const deviceCookie = "-device"

// setDevice makes a browser known as one that has logged in. The cookie outlives the session, and authorizes nothing.
func (v *visits) setDevice(w http.ResponseWriter, token string) {
	if token != "" {
		http.SetCookie(w, &http.Cookie{Name: v.cookie + deviceCookie, Value: token, Path: "/", MaxAge: int(auth.DeviceLife / time.Second),
			Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
}

// device is the token of the device that the request comes from; empty when it is none that has logged in.
func (v *visits) device(r *http.Request) string { return onlyCookie(r, v.cookie+deviceCookie) }

// token is the page token that the request carries; empty when it carries none, or more than one.
func (v *visits) token(r *http.Request) string { return onlyCookie(r, v.cookie) }

// onlyCookie is the value of the cookie of that name; empty when there is none, or more than one.
func onlyCookie(r *http.Request, name string) string {
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

// sameOrigin refuses a request that another site made a browser send.
func (v *visits) sameOrigin(r *http.Request) error {
	if err := v.guard.Check(r); err != nil {
		return &problem{Status: http.StatusForbidden, Detail: "the request comes from a page of another site; open this server's own page and try again"}
	}
	return nil
}

// openSession gives a browser whose application has an access token a session that serves pages.
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

// closeSession ends the session of the cookie. It needs no access token: who logs out may have none any more.
func (a *API) closeSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.endSession(w, r); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endSession makes the browser forget its session, and the session worthless. It is the one deed that the cookie authorizes.
func (a *API) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.visits.sameOrigin(r); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = noStore
	a.visits.clearCookie(w) // the browser forgets it whatever comes of the rest
	return a.Auth.EndPage(r.Context(), a.visits.token(r), a.origin(r), a.now())
}

// loginPage shows the form to log in, or goes on if there is no need to.
func (a *API) loginPage(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if _, err := a.Auth.VerifyPage(a.visits.token(r), a.now()); err == nil {
		a.seeOther(w, next)
		return nil
	}
	return a.answerLogin(w, http.StatusOK, &pages.Login{Frame: a.frame(r), Next: next})
}

// login takes the form: the limits, the work and the status codes are those of POST /authorize.
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
		// The body may hold a password: nothing of it is repeated.
		return &problem{Status: http.StatusBadRequest, Detail: "the form is not whole: expected the fields username and password, each once"}
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

// logout ends the session from a page.
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

// seeOther leads on to a path of this server.
func (a *API) seeOther(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", a.visits.root+to)
	h["Cache-Control"] = noStore
	w.WriteHeader(http.StatusSeeOther)
}

// localPath is next if it is a path of this server, in the form that we write it; else the root. Browsers take a backslash for a slash,
// skip tabs and line ends, and read two slashes as the begin of a host.
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

// retryAfter is a wait in whole seconds.
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
