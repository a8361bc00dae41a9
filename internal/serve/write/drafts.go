package write

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// draft is a change that waits, or waited, for a second person.
type draft struct {
	ID         uuid.UUID        `json:"id"`
	State      store.DraftState `json:"state"`
	Author     string           `json:"author"`
	Created    string           `json:"created"`
	Expires    string           `json:"expires"` // after this time it cannot be decided
	Deed       string           `json:"deed"`
	Hazard     uuid.UUID        `json:"hazard_uuid"` // the hazard to publish
	edit.Shown                  // the hazard's content, and whom it reaches
	Request    jsontext.Value   `json:"request"`
	DecidedBy  string           `json:"decided_by,omitzero"`
	Decided    string           `json:"decided,omitzero"`
	Reason     string           `json:"reason,omitzero"`
}

// lapsed is the state of a draft that expired before a decision.
const lapsed store.DraftState = "lapsed"

// The limits of a list of drafts.
const (
	draftsPage    = 100
	maxDraftsPage = 1000
)

func (a *Handlers) draftOf(d *store.Draft) (out draft, err error) {
	out = draft{ID: d.ID, State: d.State, Author: d.Author, Created: d.Created.String(), Expires: d.Expires.String(), Deed: d.Deed, Hazard: d.Hazard, Request: d.Body,
		DecidedBy: d.DecidedBy, Reason: d.Reason}
	if d.Decided > 0 {
		out.Decided = d.Decided.String()
	}
	if d.State == store.DraftWaiting && d.Expires <= a.Now() {
		out.State = lapsed
	}
	return out, json.Unmarshal(d.Shown, &out.Shown)
}

// orDrafted answers that a change waits for a second person, if err says so. Otherwise it returns
// err.
func (a *Handlers) orDrafted(w http.ResponseWriter, err error) error {
	drafted, ok := errors.AsType[*edit.DraftedError](err)
	if !ok {
		return err
	}
	shown, err := a.draftOf(&drafted.Draft)
	if err != nil {
		return err
	}
	body, err := route.JSONBody(shown, true)
	if err != nil {
		return err
	}
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Content-Length"] = route.JSONType, route.NoStore, body.Length(encoded.Identity)
	h.Set("Location", fmt.Sprintf("%s/drafts/%s", a.BaseURL, shown.ID))
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body.Bytes(encoded.Identity)) // fails only if the client has gone
	return nil
}

// drafts lists the waiting drafts, oldest first. With state=all it also lists earlier ones, latest
// first.
func (a *Handlers) drafts(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "state", "limit")
	if err != nil {
		return err
	}
	limit, err := route.IntParameter(values, "limit", draftsPage, 1, maxDraftsPage)
	if err != nil {
		return err
	}
	state := cmp.Or(values.Get("state"), string(store.DraftWaiting))
	if state != string(store.DraftWaiting) && state != "all" {
		return route.BadParameter("state", "%.60q is neither waiting nor all", state)
	}
	found, err := a.Edit.Drafts(r.Context(), a.author(r, who), state != "all", int(limit), a.Now())
	if err != nil {
		return err
	}
	list := make([]draft, len(found))
	for i := range found {
		if list[i], err = a.draftOf(&found[i]); err != nil {
			return err
		}
	}
	return route.AnswerJSON(w, r, list, true)
}

// draftID returns the draft in the path, if the caller may decide about drafts.
func draftID(r *http.Request, who *auth.Caller) (uuid.UUID, error) {
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil {
		return uuid.Nil, err
	}
	text := r.PathValue("draft")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return id, route.BadParameter("draft-id", "%.100q is not a uuid", text)
	}
	return id, nil
}

func (a *Handlers) draft(r *http.Request, who *auth.Caller) (out draft, err error) {
	id, err := draftID(r, who)
	if err != nil {
		return out, err
	}
	d, err := a.Edit.Draft(r.Context(), a.author(r, who), id)
	if err != nil {
		return out, err
	}
	return a.draftOf(&d)
}

// approveDraft publishes a draft in the name of a second person.
func (a *Handlers) approveDraft(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := draftID(r, who)
	if err != nil {
		return err
	}
	done, err := a.Edit.Approve(r.Context(), a.author(r, who), id, a.Clock())
	if err != nil {
		return err
	}
	return a.answerHazard(w, r, who, done)
}

func (a *Handlers) refuseDraft(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := draftID(r, who)
	if err != nil {
		return err
	}
	body, err := writeBody(w, r)
	if err != nil {
		return err
	}
	d, err := a.Edit.Refuse(r.Context(), a.author(r, who), id, body, a.Clock())
	if err != nil {
		return err
	}
	shown, err := a.draftOf(&d)
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, shown, fmt.Sprintf("%s/drafts/%s", a.BaseURL, id), false)
}
