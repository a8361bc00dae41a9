package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
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
	MayDecide  []string         `json:"may_decide,omitzero"` // the users who may decide about a waiting draft
	Seen       []seenBy         `json:"seen,omitzero"`       // who of them has seen it
	Reminded   string           `json:"reminded,omitzero"`   // when its author last reminded others of it
}

type seenBy struct {
	User string `json:"user"`
	Time string `json:"time"`
}

// lapsed is the state of a draft that expired before a decision.
const lapsed store.DraftState = "lapsed"

// The limits of a list of drafts.
const (
	draftsPage    = 100
	maxDraftsPage = 1000
)

func (a *Handlers) draftOf(ctx context.Context, d *store.Draft) (out draft, err error) {
	out = draft{ID: d.ID, State: d.State, Author: d.Author, Created: d.Created.String(), Expires: d.Expires.String(), Deed: d.Deed, Hazard: d.Hazard, Request: d.Body,
		DecidedBy: d.DecidedBy, Reason: d.Reason}
	if d.Decided > 0 {
		out.Decided = d.Decided.String()
	}
	if d.State == store.DraftWaiting && d.Expires <= a.Now() {
		out.State = lapsed
	}
	if err := json.Unmarshal(d.Shown, &out.Shown); err != nil || out.State != store.DraftWaiting {
		return out, err
	}
	out.MayDecide = a.Edit.Deciders(d)
	marks, err := a.Edit.DraftMarks(ctx, d)
	for _, m := range marks {
		switch m.Kind {
		case store.DraftSeen:
			out.Seen = append(out.Seen, seenBy{m.Who, m.At.String()})
		case store.DraftReminded:
			out.Reminded = m.At.String()
		}
	}
	return out, err
}

// orDrafted answers that a change waits for a second person, if err says so. Otherwise it returns
// err.
func (a *Handlers) orDrafted(w http.ResponseWriter, r *http.Request, err error) error {
	drafted, ok := errors.AsType[*edit.DraftedError](err)
	if !ok {
		return err
	}
	shown, err := a.draftOf(r.Context(), &drafted.Draft)
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

// drafts lists the drafts that the caller may decide about or wrote, latest first: the waiting ones or,
// with state=all, all.
func (a *Handlers) drafts(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, "state", "limit", "next")
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
	after, err := draftPlace(values.Get("next"))
	if err != nil {
		return err
	}
	found, err := a.Edit.Drafts(r.Context(), a.author(r, who), state != "all", after, int(limit)+1, a.Now()) // one more, to know whether another page follows
	if err != nil {
		return err
	}
	if len(found) > int(limit) {
		found = found[:limit]
		last, next := found[limit-1], r.URL.Query()
		next.Set("next", fmt.Sprintf("%d.%s", last.Created, last.ID))
		a.LinkNext(w, r, next)
	}
	if rule := a.Edit.Rule(); rule != "" {
		w.Header().Set("Hazardd-Approval", rule)
	}
	list := make([]draft, len(found))
	for i := range found {
		if list[i], err = a.draftOf(r.Context(), &found[i]); err != nil {
			return err
		}
		list[i].Details = nil // it may be long
	}
	return route.AnswerJSON(w, r, list, true)
}

// draftPlace reads the parameter next of a list of drafts: the time and the id of the last one before.
func draftPlace(text string) (p store.DraftPlace, err error) {
	if text == "" {
		return p, nil
	}
	at, id, _ := strings.Cut(text, ".")
	created, err := strconv.ParseInt(at, 10, 64)
	if err == nil {
		p.ID, err = uuid.Parse(id)
	}
	if err != nil {
		return p, route.BadParameter("next", "%.80q is not from the Link of an earlier page", text)
	}
	p.Created = hazard.Instant(created)
	return p, nil
}

// draftCount is how many drafts wait.
type draftCount struct {
	ToDecide int64  `json:"to_decide"`       // that the caller may decide about; for a service that watches drafts, all
	Mine     int64  `json:"mine"`            // that the caller wrote
	Oldest   string `json:"oldest,omitzero"` // when the oldest of those to decide was written
}

func (a *Handlers) countDrafts(r *http.Request, who *auth.Caller) (n draftCount, err error) {
	counts, err := a.Edit.CountDrafts(r.Context(), a.author(r, who), a.Now())
	n = draftCount{ToDecide: counts.ToDecide, Mine: counts.Mine}
	if counts.ToDecide > 0 {
		n.Oldest = counts.Oldest.String()
	}
	return n, err
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
	d, err := a.Edit.ReadDraft(r.Context(), a.author(r, who), id, a.Now())
	if err != nil {
		return out, err
	}
	return a.draftOf(r.Context(), &d)
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
	shown, err := a.draftOf(r.Context(), &d)
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, shown, fmt.Sprintf("%s/drafts/%s", a.BaseURL, id), false)
}

// remindOfDraft reminds those who may decide of a draft.
func (a *Handlers) remindOfDraft(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	id, err := draftID(r, who)
	if err != nil {
		return err
	}
	d, err := a.Edit.Remind(r.Context(), a.author(r, who), id, a.Now())
	if err != nil {
		return err
	}
	shown, err := a.draftOf(r.Context(), &d)
	if err != nil {
		return err
	}
	return route.WrittenJSON(w, shown, fmt.Sprintf("%s/drafts/%s", a.BaseURL, id), false)
}
