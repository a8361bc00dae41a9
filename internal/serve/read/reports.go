package read

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/wire"
)

// report is the present report of one source on a hazard.
type report struct {
	Source string `json:"source"`
	// SourceState is the present state of the source. If it is stale, its report may no longer be
	// true. LastSuccess is when the source was last read; absent if never by this service.
	SourceState string     `json:"source_state"`
	LastSuccess *time.Time `json:"last_success,omitzero"`
	Event       string     `json:"event"` // the source's own key
	// Joined says why the source's event is part of this hazard; empty if it created the hazard.
	Joined     string        `json:"joined,omitzero"`
	Version    string        `json:"version"` // version of the latest message, milliseconds since 1970
	Name       string        `json:"name"`
	Text       string        `json:"description,omitzero"`
	TypeID     string        `json:"type_ID"`
	SeverityID string        `json:"severity_ID"`
	Level      string        `json:"level,omitzero"` // severity in the source's own term
	StartDate  string        `json:"start_Date"`
	EndDate    string        `json:"end_Date"`
	Ended      string        `json:"ended,omitzero"` // why, if the source ended the event
	Point      *hazard.Point `json:"point,omitzero"`
	// Measurements are the source's measurements, absent if there are none.
	Measurements []measurement `json:"measurements,omitempty"`
	// How well the place of the hazard is known, from all its reports, and if that is region or country,
	// as what.
	PlaceKind    string   `json:"place_kind"`
	PlaceKnownAs string   `json:"place_known_as,omitzero"`
	Refs         []string `json:"refs"`
	URL          string   `json:"url,omitzero"`
	// Notes say which parts are estimates or were unreadable, absent if there are none.
	Notes []string `json:"notes,omitzero"`
	// Texts are the source's own texts by language, the language of Name first. Absent if the
	// source does not separate them.
	Texts []saidText `json:"texts,omitzero"`
	// Payloads are the stored payloads behind the report, latest first, at most maxPayloads.
	Payloads []payloadLink `json:"payloads,omitzero"`
}

// saidText is one info block of an alert.
type saidText struct {
	Language    string   `json:"language"`
	Own         bool     `json:"own,omitzero"` // the report's name and description come from this block
	Name        string   `json:"name"`
	Event       string   `json:"event,omitzero"`
	Headline    string   `json:"headline,omitzero"`
	Text        string   `json:"description,omitzero"`
	Instruction string   `json:"instruction,omitzero"`
	Responses   []string `json:"response_type,omitzero"`
	Sender      string   `json:"sender,omitzero"`
	Contact     string   `json:"contact,omitzero"`
	Web         string   `json:"web,omitzero"`
	Audience    string   `json:"audience,omitzero"`
	Area        string   `json:"area,omitzero"`
}

func saidTexts(texts []hazard.Text) []saidText {
	var all []saidText
	for i := range texts {
		t := &texts[i]
		all = append(all, saidText{t.Language, t.Own, t.Name, t.Event, t.Headline, t.Description, t.Instruction, t.Responses, t.Sender, t.Contact, t.Web, t.Audience, t.Area})
	}
	return all
}

// maxPayloads bounds the payloads listed per report: a warning in a hundred messages has as many.
const maxPayloads = 10

// reports serves what each source reports about a hazard.
func (a *Details) reports(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	events, err := a.Store.Reports.Of(r.Context(), h.ID)
	if err != nil {
		return err
	}
	states, err := a.Sources(r.Context())
	if err != nil {
		return err
	}
	list := []report{}
	for _, e := range events {
		state := poll.Status{State: poll.Disabled} // for a source that is no longer configured
		for _, s := range states {
			if s.Name == e.Source {
				state = s
			}
		}
		said := hazard.Derive(e.Parts, now)
		head := &said.Head
		payloads, err := a.payloadsOf(r.Context(), &e)
		if err != nil {
			return err
		}
		list = append(list, report{Payloads: payloads, Source: e.Source, SourceState: state.State, LastSuccess: state.LastSuccess, Event: e.Key, Joined: e.Joined, Version: strconv.FormatInt(head.Version, 10), Name: head.Name, Text: head.Description,
			TypeID: string(head.Type), SeverityID: head.Severity.String(), Level: head.Level, StartDate: head.Start.Digits(), EndDate: said.Over().Digits(),
			Ended: string(said.Ended), Point: head.Point, PlaceKind: string(h.Place()), PlaceKnownAs: h.PlaceKnownAs, Refs: namesOf(head.Refs), URL: head.URL, Notes: head.Notes, Measurements: measurementsOf(head.Measurements), Texts: saidTexts(head.Texts)})
	}
	return route.AnswerJSON(w, r, list, false)
}

// texts serves a hazard's texts in each of its languages.
func (a *Details) texts(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := route.NoQuery(r); err != nil {
		return err
	}
	h, err := a.hazardNowOrAt(r, nil)
	if err != nil {
		return err
	}
	list := saidTexts(h.Texts)
	if list == nil {
		list = []saidText{}
	}
	return route.AnswerJSON(w, r, list, false)
}

// relatedHazard is a hazard that is related to another.
type relatedHazard struct {
	Relation string      `json:"relation"` // a fuse.Relation
	Why      string      `json:"why"`
	Hazard   wire.Hazard `json:"hazard"`
}

// related serves the hazards related to one.
func (a *Details) related(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := route.Parameters(r, route.LangParameter)
	if err != nil {
		return err
	}
	wish, err := a.Wish(r, values)
	if err != nil {
		return err
	}
	reader := wish.Reader()
	now := a.Now()
	h, err := a.FindHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	found, err := a.Intake.Related(r.Context(), h.ID, now)
	if err != nil {
		return err
	}
	list, names := []relatedHazard{}, route.NamesFor(r.Context())
	for _, f := range found {
		products, err := a.Store.Hazards.Products(r.Context(), f.Hazard.ID, who.Orgs)
		if err != nil {
			return err
		}
		list = append(list, relatedHazard{string(f.Relation), f.Why, wire.FromHazard(reader.Of(f.Hazard.Named(names).ExpireAt(now)), len(products), a.BaseURL)})
	}
	route.SetLanguages(w, reader.Used())
	return route.AnswerJSON(w, r, list, false)
}

// namesOf returns the refs that are names.
func namesOf(refs []string) []string {
	return slices.DeleteFunc(append([]string{}, refs...), func(r string) bool { return strings.HasPrefix(r, hazard.AgainRef) })
}
