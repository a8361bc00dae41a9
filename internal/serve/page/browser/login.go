package browser

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
	"github.com/hazardd/hazardd/internal/serve/route"
)

// openSession exchanges an access token for a cookie session that can read pages.
func (a *Login) openSession(w http.ResponseWriter, _ *http.Request, who *auth.Caller) error {
	now := a.Now()
	token, err := a.Auth.Page(who, now)
	if errors.Is(err, auth.ErrInvalidToken) {
		route.InvalidToken(w)
		return nil
	}
	if err != nil {
		return err
	}
	a.Cookies.SetCookie(w, token, now)
	w.Header()["Cache-Control"] = route.NoStore
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// closeSession ends the session of the cookie. It needs no access token: at logout it may have
// expired.
func (a *Login) closeSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.endSession(w, r); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// endSession ends the session and deletes its cookie. This is the only change that the cookie
// grants.
func (a *Login) endSession(w http.ResponseWriter, r *http.Request) error {
	if err := a.Cookies.SameOrigin(r); err != nil {
		return err
	}
	w.Header()["Cache-Control"] = route.NoStore
	a.Cookies.ClearCookie(w) // always delete the cookie, even if the rest fails
	return a.Auth.EndPage(r.Context(), a.Cookies.Token(r), a.Origin(r), a.Now())
}

// loginPage shows the login form, or redirects if the visitor is logged in.
func (a *Login) loginPage(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if _, err := a.Auth.VerifyPage(a.Cookies.Token(r), a.Now()); err == nil {
		a.seeOther(w, next)
		return nil
	}
	return a.answerLogin(w, http.StatusOK, &pages.Login{Frame: a.frame(r), Next: next})
}

// login handles the form. Limits, checks and status codes are the same as for POST /authorize.
func (a *Login) login(w http.ResponseWriter, r *http.Request) error {
	if err := a.Cookies.SameOrigin(r); err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, route.MaxLogin)
	if err != nil {
		return err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["username"]) != 1 || len(form["password"]) != 1 {
		// The body may hold a password, so the error repeats nothing of it.
		return &route.Problem{Status: http.StatusBadRequest, Detail: "the form is incomplete: expected the fields username and password, each once"}
	}
	again := &pages.Login{Frame: a.frame(r), Next: localPath(form.Get("next")), Username: hazard.CleanLine(form.Get("username"))}
	now := a.Now()
	from := a.Origin(r)
	from.Code = form.Get("otp")
	token, err := a.Auth.AuthorizePage(r.Context(), form.Get("username"), auth.Password(form.Get("password")), from, now)
	if limited, ok := errors.AsType[*auth.LimitedError](err); ok {
		again.Error = again.Language.Say("tooMany", "span", inWords(again.Language, limited.RetryAfter))
		w.Header().Set("Retry-After", route.RetryAfter(limited.RetryAfter))
		return a.answerLogin(w, http.StatusTooManyRequests, again)
	}
	if errors.Is(err, auth.ErrFactor) {
		again.Factor, again.Error = true, again.Language.Say("codeNeeded")
		w.Header()[route.SecondFactor], w.Header()["Www-Authenticate"] = []string{auth.FactorKinds(err)}, []string{route.Realm}
		return a.answerLogin(w, http.StatusUnauthorized, again)
	}
	if errors.Is(err, auth.ErrNeedsFactor) {
		again.Error = again.Language.Say("factorNeeded")
		return a.answerLogin(w, http.StatusForbidden, again)
	}
	if errors.Is(err, auth.ErrDenied) {
		again.Error = again.Language.Say("denied")
		w.Header().Set("WWW-Authenticate", route.Realm)
		return a.answerLogin(w, http.StatusUnauthorized, again)
	}
	if err != nil {
		return err
	}
	a.Cookies.SetCookie(w, token, now)
	a.Cookies.SetDevice(w, token.Device)
	a.seeOther(w, again.Next)
	return nil
}

// logout ends the session, from a page.
func (a *Login) logout(w http.ResponseWriter, r *http.Request) error {
	if err := a.endSession(w, r); err != nil {
		return err
	}
	a.seeOther(w, "/login")
	return nil
}

func (a *Login) answerLogin(w http.ResponseWriter, status int, form *pages.Login) error {
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
