package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/poll"
	"github.com/hazardd/hazardd/wire"
)

// report is what one source says of a hazard now.
type report struct {
	Source string `json:"source"`
	// SourceState is how the source is now, as in GET /sources: of what a stale one says, nobody knows whether it still says so. LastSuccess is
	// when it was last read; absent: never, or not by this service.
	SourceState string     `json:"source_state"`
	LastSuccess *time.Time `json:"last_success,omitzero"`
	Event       string     `json:"event"` // the source's own key
	// Joined says why the source's event is part of this hazard; empty: it made it.
	Joined     string        `json:"joined,omitzero"`
	Version    string        `json:"version"` // of the latest message, milliseconds since 1970
	Name       string        `json:"name"`
	Text       string        `json:"description,omitzero"`
	TypeID     string        `json:"type_ID"`
	SeverityID string        `json:"severity_ID"`
	Level      string        `json:"level,omitzero"` // the source's own word
	StartDate  string        `json:"start_Date"`
	EndDate    string        `json:"end_Date"`
	Ended      string        `json:"ended,omitzero"` // why, if the source ended it
	Point      *hazard.Point `json:"point,omitzero"`
	// Measurements are what the source measured; absent: nothing.
	Measurements []measurement `json:"measurements,omitempty"`
	Refs         []string      `json:"refs"`
	URL          string        `json:"url,omitzero"`
	// Notes say what of it is a guess or could not be read; absent: nothing.
	Notes []string `json:"notes,omitzero"`
	// Texts are the source's own words in each of its languages, those of Name first; absent: it does not say them apart.
	Texts []saidText `json:"texts,omitzero"`
	// Payloads are those that the report is made of and that are still kept, the latest first, at most maxPayloads.
	Payloads []payloadLink `json:"payloads,omitzero"`
}

// saidText is one info block of an alert.
type saidText struct {
	Language    string   `json:"language"`
	Own         bool     `json:"own,omitzero"` // the name and the description of the report are made of it
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

// maxPayloads bounds the payloads that one report names: a warning in a hundred messages is made of as many.
const maxPayloads = 10

// reports serves what each source says of a hazard.
func (a *API) reports(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := noQuery(r); err != nil {
		return err
	}
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	events, err := a.Store.EventReports(r.Context(), h.ID)
	if err != nil {
		return err
	}
	states, err := a.Sources(r.Context())
	if err != nil {
		return err
	}
	list := []report{}
	for _, e := range events {
		state := poll.Status{State: poll.Disabled} // one that is configured no longer
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
			Ended: string(said.Ended), Point: head.Point, Refs: namesOf(head.Refs), URL: head.URL, Notes: head.Notes, Measurements: measurementsOf(head.Measurements), Texts: saidTexts(head.Texts)})
	}
	return answerJSON(w, r, list, false)
}

// texts serves what is said of a hazard in each of its languages.
func (a *API) texts(w http.ResponseWriter, r *http.Request, _ *auth.Caller) error {
	if err := noQuery(r); err != nil {
		return err
	}
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	list := saidTexts(h.Texts)
	if list == nil {
		list = []saidText{}
	}
	return answerJSON(w, r, list, false)
}

// relatedHazard is a hazard that has to do with another.
type relatedHazard struct {
	Relation string      `json:"relation"` // what it is to the other: "caused by" or "causes"
	Why      string      `json:"why"`
	Hazard   wire.Hazard `json:"hazard"`
}

// related serves the hazards that have to do with one.
func (a *API) related(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	values, err := query(r, langParameter)
	if err != nil {
		return err
	}
	wish, err := a.wish(r, values)
	if err != nil {
		return err
	}
	reader := wish.Reader()
	now := a.now()
	h, err := a.findHazard(r, a.Live.View(now), now)
	if err != nil {
		return err
	}
	found, err := a.Intake.Related(r.Context(), h.ID)
	if err != nil {
		return err
	}
	list := []relatedHazard{}
	for _, f := range found {
		products, err := a.Store.Products(r.Context(), f.Hazard.ID, who.Orgs)
		if err != nil {
			return err
		}
		list = append(list, relatedHazard{string(f.Relation), f.Why, wire.FromHazard(reader.Of(f.Hazard.ExpireAt(now)), len(products), a.BaseURL)})
	}
	sayLanguages(w, reader.Used())
	return answerJSON(w, r, list, false)
}

// namesOf returns the refs that are names.
func namesOf(refs []string) []string {
	return slices.DeleteFunc(append([]string{}, refs...), func(r string) bool { return strings.HasPrefix(r, hazard.AgainRef) })
}
