package route

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Pages use a cookie, which browsers send by themselves. Any site can make a browser send a
// request, so the cookie grants reading pages and nothing else. The API accepts the Authorization
// header only.

// Cookies holds how browsers reach the pages.
type Cookies struct {
	Root   string // path of the public address
	secure bool   // the public address is https
	Name   string // name of the cookie
	guard  *http.CrossOriginProtection
}

// newCookies takes the service's public address.
func newCookies(base string) Cookies {
	v := Cookies{Name: "hazardd", guard: http.NewCrossOriginProtection()}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return v
	}
	v.Root, v.secure = strings.TrimRight(u.EscapedPath(), "/"), u.Scheme == "https"
	if v.secure {
		// The prefix keeps other hosts of the domain and plain HTTP from setting the cookie (RFC
		// 6265bis, section 4.1.3.2).
		v.Name = "__Host-hazardd"
	} else if port := u.Port(); port != "" {
		// Cookies ignore ports: without the suffix, two servers on one machine would log out each
		// other's visitors.
		v.Name += "-" + port
	}
	// Needed for browsers without Sec-Fetch-Site behind a proxy that does not pass on the Host. A
	// malformed origin trusts nobody.
	_ = v.guard.AddTrustedOrigin(u.Scheme + "://" + u.Host)
	return v
}

// SetCookie gives the browser a session for pages. SameSite=Lax: a link in an email opens a page,
// but other sites can do nothing else.
func (v *Cookies) SetCookie(w http.ResponseWriter, token auth.PageToken, now hazard.Instant) {
	v.put(w, token.Text, max(1, int(token.Expires-now)/1000))
}

// ClearCookie deletes the session's cookie.
func (v *Cookies) ClearCookie(w http.ResponseWriter) { v.put(w, "", -1) }

// PutFor sets a cookie for a login at the provider; a negative age deletes it.
func (v *Cookies) PutFor(w http.ResponseWriter, what, value string, maxAge int, site http.SameSite) {
	http.SetCookie(w, &http.Cookie{Name: v.Name + what, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: site})
}

func (v *Cookies) put(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{Name: v.Name, Value: value, Path: "/", MaxAge: maxAge, Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// deviceCookie is the suffix of the cookie for a device that has logged in before.
const deviceCookie = "-device"

// SetDevice marks a browser as one that has logged in. The cookie outlives the session, and grants
// nothing.
func (v *Cookies) SetDevice(w http.ResponseWriter, token string) {
	if token != "" {
		http.SetCookie(w, &http.Cookie{Name: v.Name + deviceCookie, Value: token, Path: "/", MaxAge: int(auth.DeviceLife / time.Second),
			Secure: v.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
}

// device returns the token of the request's device, or "" if the device has never logged in.
func (v *Cookies) device(r *http.Request) string { return OnlyCookie(r, v.Name+deviceCookie) }

// Token returns the page token of the request, or "" if there is none or more than one.
func (v *Cookies) Token(r *http.Request) string { return OnlyCookie(r, v.Name) }

// OnlyCookie returns the value of the cookie, or "" if there is none or more than one.
func OnlyCookie(r *http.Request, name string) string {
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 {
		return ""
	}
	return cookies[0].Value
}

// SameOrigin refuses a request that another site made the browser send.
func (v *Cookies) SameOrigin(r *http.Request) error {
	if err := v.guard.Check(r); err != nil {
		return &Problem{Status: http.StatusForbidden, Detail: "the request comes from a page of another site; open this server's own page and try again"}
	}
	return nil
}
