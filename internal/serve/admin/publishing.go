package admin

import (
	"fmt"
	"net/http"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/format/publisher"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// publishing serves the publishing settings of an organization.
func (a *Accounts) publishing(r *http.Request, _ *auth.Caller) (*publisher.Profile, error) {
	org, err := a.Org(r.PathValue("org"))
	if err != nil {
		return nil, err
	}
	settings, err := a.Store.Publishing.Settings(r.Context())
	if err != nil {
		return nil, err
	}
	p := settings.Now(org.ID)
	if p == nil {
		return nil, fmt.Errorf("%w: organization %s does not publish", hazard.ErrNotFound, org.Acronym)
	}
	return p, nil
}

// setPublishing changes the publishing settings of an organization.
func (a *Accounts) setPublishing(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	org, err := a.Org(r.PathValue("org"))
	if err != nil {
		return err
	}
	body, err := route.ReadBody(w, r, publisher.MaxProfile)
	if err != nil {
		return err
	}
	p, err := publisher.Parse(org.ID, org.Name, body)
	if err != nil {
		return err
	}
	if err := a.Store.Publishing.Set(r.Context(), p, *a.Audit(r, who, auth.ActionPublish, org, p.Summary())); err != nil {
		return err
	}
	return route.AnswerJSON(w, r, p, true)
}
