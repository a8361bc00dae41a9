package read

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/tell/publish"
)

// maxIndexes bounds the cached indexes of messages, in bytes.
const maxIndexes = 16 << 20

// published returns the published messages as of the same change as the lists.
func (a *Authorities) published(r *http.Request) (*publish.View, error) {
	return a.messages.At(r.Context(), a.Live.View(a.Now()).Number())
}

// capMessage serves one message. It only changes if it is redacted.
func (a *Authorities) capMessage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	identifier, ok := strings.CutSuffix(r.PathValue("message"), ".xml")
	if !ok {
		return &route.Problem{Status: http.StatusNotFound, Detail: "no such path: messages are at /cap/{identifier}.xml, and listed in /cap/feed.atom"}
	}
	return a.Hold(w, r, who, route.CostOfObject, func(w http.ResponseWriter) error {
		v, err := a.published(r)
		if err != nil {
			return err
		}
		text, err := a.messages.Document(r.Context(), v, identifier, a.Base(r))
		if err != nil {
			return err
		}
		w.Header()["Content-Type"] = []string{"application/cap+xml"}
		return route.Answer(w, r, encoded.NewBody(text, route.Keyed(r) != nil))
	})
}

// capIndex serves the feed of messages, or an archive of it, in one of its formats.
func (a *Authorities) capIndex(f publish.Form, mediaType string) route.Protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		values, err := route.Parameters(r, "org", "archive")
		if err != nil {
			return err
		}
		org, title := auth.Org{}, "Alerts"
		if values.Has("org") {
			if org, err = a.Org(values.Get("org")); err != nil {
				return route.BadParameter("org", "%.60q names no organization", values.Get("org"))
			}
			title = "Alerts of " + org.Name
		}
		archive, err := route.IntParameter(values, "archive", -1, 0, 1<<31)
		if err != nil {
			return err
		}
		return a.Hold(w, r, who, route.CostOfPage, func(w http.ResponseWriter) error {
			v, err := a.published(r)
			if err != nil {
				return err
			}
			base := a.Base(r)
			address := func(archive int) string {
				at := url.Values{}
				if org.ID != 0 {
					at.Set("org", org.Acronym)
				}
				if archive >= 0 {
					at.Set("archive", strconv.Itoa(archive))
				}
				if len(at) == 0 {
					return base + "/cap/feed." + string(f)
				}
				return base + "/cap/feed." + string(f) + "?" + at.Encode()
			}
			key := fmt.Sprint(v.Key, " ", address(int(archive)))
			body, ok := a.indexes.Get(key)
			if !ok {
				text, err := a.messages.Index(r.Context(), v, org.ID, title, f, int(archive), base, address)
				if err != nil {
					return err
				}
				body = encoded.NewBody(text, route.Keyed(r) != nil)
				a.indexes.Put(key, body, 2*len(text))
			}
			w.Header()["Content-Type"] = []string{mediaType}
			if at := v.Changed(org.ID); at != 0 && archive < 0 { // a redaction rewrites entries of archives
				w.Header().Set("Last-Modified", at.Time().UTC().Format(http.TimeFormat))
			}
			return route.Answer(w, r, body)
		})
	}
}
