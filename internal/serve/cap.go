package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/cap"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/tell/publish"
)

// maxIndexes bounds the cached indexes of messages, in bytes.
const maxIndexes = 16 << 20

// authorities serves the messages of organizations that publish their hazards.
type authorities struct {
	messages *publish.Publisher
	indexes  *lru.Cache[string, *encoded.Body]
}

// published returns the published messages as of the same change as the lists.
func (a *API) published(r *http.Request) (*publish.View, error) {
	return a.authorities.messages.At(r.Context(), a.Live.View(a.now()).Number())
}

// capMessage serves one message. It only changes if it is redacted.
func (a *API) capMessage(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := noQuery(r); err != nil {
		return err
	}
	identifier, ok := strings.CutSuffix(r.PathValue("message"), ".xml")
	if !ok {
		return &problem{Status: http.StatusNotFound, Detail: "no such path: messages are at /cap/{identifier}.xml, and listed in /cap/feed.atom"}
	}
	return a.holding(w, r, who, costOfObject, func(w http.ResponseWriter) error {
		v, err := a.published(r)
		if err != nil {
			return err
		}
		text, err := a.authorities.messages.Document(r.Context(), v, identifier, a.base(r))
		if err != nil {
			return err
		}
		w.Header()["Content-Type"] = []string{"application/cap+xml"}
		return answer(w, r, encoded.NewBody(text, keyed(r) != nil))
	})
}

// capIndex serves the feed of messages, or an archive of it, in one of its formats.
func (a *API) capIndex(f publish.Form, mediaType string) protected {
	return func(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
		values, err := onlyParameters(r, "org", "archive")
		if err != nil {
			return err
		}
		org, title := auth.Org{}, "Alerts"
		if values.Has("org") {
			if org, err = a.orgNamed(values.Get("org")); err != nil {
				return badParameter("org", "%.60q names no organization", values.Get("org"))
			}
			title = "Alerts of " + org.Name
		}
		archive, err := intParameter(values, "archive", -1, 0, 1<<31)
		if err != nil {
			return err
		}
		return a.holding(w, r, who, costOfPage, func(w http.ResponseWriter) error {
			v, err := a.published(r)
			if err != nil {
				return err
			}
			base := a.base(r)
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
			body, ok := a.authorities.indexes.Get(key)
			if !ok {
				text, err := a.authorities.messages.Index(r.Context(), v, org.ID, title, f, int(archive), base, address)
				if err != nil {
					return err
				}
				body = encoded.NewBody(text, keyed(r) != nil)
				a.authorities.indexes.Put(key, body, 2*len(text))
			}
			w.Header()["Content-Type"] = []string{mediaType}
			return answer(w, r, body)
		})
	}
}

// orgNamed returns the organization with that acronym or id.
func (a *API) orgNamed(name string) (auth.Org, error) {
	orgs := a.Auth.Orgs()
	i := slices.IndexFunc(orgs, func(o auth.Org) bool { return o.Acronym == name || strconv.FormatInt(o.ID, 10) == name })
	if i < 0 {
		return auth.Org{}, fmt.Errorf("%w: organization %.60q", hazard.ErrNotFound, name)
	}
	return orgs[i], nil
}

// publishing serves the publishing settings of an organization.
func (a *API) publishing(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := noQuery(r); err != nil {
		return err
	}
	org, err := a.orgNamed(r.PathValue("org"))
	if err != nil {
		return err
	}
	settings, err := a.Store.Publishing(r.Context())
	if err != nil {
		return err
	}
	p := settings.Now(org.ID)
	if p == nil {
		return fmt.Errorf("%w: organization %s does not publish", hazard.ErrNotFound, org.Acronym)
	}
	return answerJSON(w, r, p, true)
}

// setPublishing changes the publishing settings of an organization.
func (a *API) setPublishing(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := role(who, auth.Admin); err != nil {
		return err
	}
	if err := noQuery(r); err != nil {
		return err
	}
	org, err := a.orgNamed(r.PathValue("org"))
	if err != nil {
		return err
	}
	body, err := readBody(w, r, cap.MaxProfile)
	if err != nil {
		return err
	}
	p, err := cap.Parse(org.ID, org.Name, body)
	if err != nil {
		return err
	}
	if err := a.Store.SetPublishing(r.Context(), p, *a.auditOf(r, who, auth.ActionPublish, org, p.Summary())); err != nil {
		return err
	}
	return answerJSON(w, r, p, true)
}
