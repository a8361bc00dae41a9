package admin

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// sourceStatus is a source's state, with the number of reports held for an editor.
type sourceStatus struct {
	poll.Status `json:",inline"`
	Held        []heldReport `json:"held"`
	// Delays are measured by this node since its start, by stage; nil means none.
	Delays map[delay.Stage]*delay.Summary `json:"delays"`
}

// delaysOf summarizes the delays of a source.
func (a *Sources) delaysOf(source string) map[delay.Stage]*delay.Summary {
	all := map[delay.Stage]*delay.Summary{}
	for _, stage := range delay.Stages {
		all[stage] = a.Delays.Of(source, stage)
	}
	return all
}

// heldReport is a report that is hidden until an editor decides about it.
type heldReport struct {
	ID       int64  `json:"id"`
	Event    string `json:"event"`
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Received string `json:"received"`
}

// maxListed is how many held reports and errors of a source are listed.
const maxListed = 50

// sources serves the state of every source.
func (a *Sources) sources(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	states, err := a.Sources(r.Context())
	away := errors.Is(err, hazard.ErrUnavailable) && states != nil // the header reports it
	if err != nil && !away {
		return err
	}
	list := []sourceStatus{}
	for _, s := range states {
		held := []heldReport{}
		if !away && who.Role != auth.Public { // unconfirmed reports are not public
			if held, err = a.heldReports(r, s.Name); err != nil {
				return err
			}
		}
		if who.Role != auth.Admin {
			s = s.Public()
		}
		list = append(list, sourceStatus{s, held, a.delaysOf(s.Name)})
	}
	now := a.Now()
	body, err := route.JSONBody(list, false)
	if err != nil {
		return err
	}
	return a.AnswerList(w, r, a.Live.View(now), body, now)
}

func (a *Sources) heldReports(r *http.Request, source string) ([]heldReport, error) {
	held, err := a.Store.Reports.Held(r.Context(), source, maxListed)
	list := []heldReport{}
	for _, h := range held {
		list = append(list, heldReport{h.ID, h.Report.Key, h.Report.Name, h.Why(), h.Received.String()})
	}
	return list, err
}

// pollSource requests a poll of a source.
func (a *Sources) pollSource(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	name, err := a.KnownSource(r)
	if err != nil {
		return err
	}
	if err := a.PollNow(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// maxBegun is for how many payloads the list of errors shows the beginning, because each must be
// opened.
const maxBegun = 20

// sourceError is a recorded error of a source.
type sourceError struct {
	Record string `json:"record"` // empty means the whole payload
	Reason string `json:"reason"`
	First  string `json:"first"`
	Last   string `json:"last"`
	Times  int64  `json:"times"`
	Raw    string `json:"raw"` // as received, truncated, with invalid UTF-8 replaced; empty if the payload is no longer stored
	// Payload is the SHA-256 of the payload: the rejected one, or the one that held the record. GET
	// /payloads/{payload-id} serves it while it is stored.
	Payload string `json:"payload,omitzero"`
}

type sourceErrors struct {
	Errors []sourceError `json:"errors"`
	Held   []heldReport  `json:"held"`
}

// sourceErrors serves a source's rejected records and held reports, to editors only, because it is
// unchecked content from outside.
func (a *Sources) sourceErrors(r *http.Request, _ *auth.Caller) (out sourceErrors, err error) {
	name, err := a.KnownSource(r)
	if err != nil {
		return out, err
	}
	kept, err := a.Store.Sources.Errors(r.Context(), name, maxListed)
	if err != nil {
		return out, err
	}
	held, err := a.heldReports(r, name)
	if err != nil {
		return out, err
	}
	out = sourceErrors{[]sourceError{}, held}
	for i, e := range kept {
		if e.Record == "" && len(e.Raw) == 0 && i < maxBegun {
			if e.Raw, err = a.Evidence.Beginning(r.Context(), e.Payload, source.MaxKept); err != nil {
				return out, err
			}
		}
		out.Errors = append(out.Errors, sourceError{e.Record, strings.ToValidUTF8(e.Reason, "\uFFFD"), e.First.String(), e.Last.String(), e.Times,
			strings.ToValidUTF8(string(e.Raw), "\uFFFD"), e.Payload})
	}
	return out, nil
}
