package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/hazardd/hazardd/internal/serve/route"
)

// robots serves robots.txt. On a public server, crawlers may read the map, the pages of hazards and
// their pictures. The lists change faster than crawlers return.
func (a *Operations) robots(w http.ResponseWriter, r *http.Request) error {
	text := "User-agent: *\nDisallow: /\n"
	if a.Public.On() {
		text = "User-agent: *\nAllow: /$\nAllow: /?h=\nAllow: /h/\nAllow: /hazards/*/map.png\nAllow: /assets/\nAllow: /pages/\nAllow: /symbols/\nAllow: /favicon.ico\nDisallow: /\n"
	}
	return plainText(w, text)
}

// securityLife is how long security.txt is valid.
const securityLife = 180 * 24 * time.Hour

// securityText serves security.txt (RFC 9116), if a contact is configured.
func (a *Operations) securityText(w http.ResponseWriter, r *http.Request) error {
	if a.SecurityContact == "" {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no contact is set; the operator sets one with --security-contact"}
	}
	expires := a.Time().UTC().Add(securityLife).Truncate(24 * time.Hour) // the text changes once a day
	return plainText(w, fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s/.well-known/security.txt\n",
		a.SecurityContact, expires.Format(time.RFC3339), a.BaseURL))
}

func plainText(w http.ResponseWriter, text string) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write([]byte(text)) // fails only if the client has gone
	return nil
}
