package httpapi

import (
	"fmt"
	"net/http"
	"time"
)

// robots tells crawlers what they may read: where the server is public the map and the pages of hazards, and the pictures of both. The lists are
// for programs that follow them, and change faster than a crawler comes by.
func (a *API) robots(w http.ResponseWriter, r *http.Request) error {
	text := "User-agent: *\nDisallow: /\n"
	if a.Public.on() {
		text = "User-agent: *\nAllow: /$\nAllow: /?h=\nAllow: /h/\nAllow: /hazards/*/map.png\nAllow: /assets/\nAllow: /pages/\nAllow: /symbols/\nAllow: /favicon.ico\nDisallow: /\n"
	}
	return plainText(w, text)
}

// securityLife is for how long a reader of security.txt may believe it.
const securityLife = 180 * 24 * time.Hour

// securityText says where to report a vulnerability (RFC 9116). Without a contact there is none.
func (a *API) securityText(w http.ResponseWriter, r *http.Request) error {
	if a.SecurityContact == "" {
		return &problem{Status: http.StatusNotFound, Detail: "no contact is set; the operator sets one with --security-contact"}
	}
	expires := a.Now().UTC().Add(securityLife).Truncate(24 * time.Hour) // one text a day
	return plainText(w, fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s/.well-known/security.txt\n",
		a.SecurityContact, expires.Format(time.RFC3339), a.BaseURL))
}

func plainText(w http.ResponseWriter, text string) error {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=3600")
	_, _ = w.Write([]byte(text)) // a reader who has gone
	return nil
}
