package write

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store"
)

// joinList is the answer of GET /joins.
type joinList struct {
	Matched int    `json:"matched"` // number on all pages
	Joins   []join `json:"joins"`   // most doubtful first
}

// join is an event that a rule joined to an active hazard.
type join struct {
	ID       uuid.UUID `json:"id"`
	HazardID int64     `json:"hazard_ID"`
	UUID     uuid.UUID `json:"uuid"`
	Name     string    `json:"hazard_Name"`
	TypeID   string    `json:"type_ID"`
	Event    joined    `json:"event"` // the joined event
	With     joined    `json:"with"`  // the best matching event of another source
	// Score is how well the two match by the rule of their type: 1 for the same place and time,
	// down to 0 at the rule's limit or beyond it by now.
	Score float64 `json:"score"`
	// Kilometers is the distance between the two, absent if one has no place. Seconds is the time
	// between their starts.
	Kilometers *float64 `json:"kilometers,omitzero"`
	Seconds    float64  `json:"seconds"`
	Reason     string   `json:"reason"` // why the rule joined them, for people
	Confirmed  bool     `json:"confirmed"`
	Href       string   `json:"href"` // GET /hazards/{hazard-id}/reports: what the sources report
}

// joined identifies an event of a source, as POST /hazards/{hazard-id}/split and confirm take it.
type joined struct {
	Source string `json:"source"`
	Event  string `json:"event"`
}

// maxJoinsPage is the largest page of joins, joinsPage the default.
const (
	joinsPage    = 100
	maxJoinsPage = 1000
)

// joins serves the joins made by rules to editors, most doubtful first, so that they confirm or
// split them.
func (a *Handlers) joins(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	values, err := route.Parameters(r, "type", "max_score", "state", "limit")
	if err != nil {
		return err
	}
	limit, err := route.IntParameter(values, "limit", joinsPage, 1, maxJoinsPage)
	if err != nil {
		return err
	}
	only, faults := query.ParseFilter(map[string][]string{"type": values["type"]})
	if values.Has("type") && faults != nil {
		return faults
	}
	most, err := route.FloatParameter(values, "max_score", 1, 0, 1)
	if err != nil {
		return err
	}
	confirmed := false
	if values.Has("state") {
		switch state := values.Get("state"); state {
		case "doubtful":
		case "confirmed":
			confirmed = true
		default:
			return route.BadParameter("state", "%.60q is neither doubtful nor confirmed", state)
		}
	}
	found, err := a.Intake.Joins(r.Context())
	if err != nil {
		return err
	}
	view := a.Live.View(a.Now())
	list := joinList{Joins: []join{}}
	for i := range found {
		j := &found[i]
		h, active := view.Hazard(j.HazardID)
		if !active || rounded(j.Score) > most || j.Confirmed != confirmed || len(only.Types) > 0 && !slices.Contains(only.Types, h.Type) {
			continue
		}
		if list.Matched++; len(list.Joins) == int(limit) {
			continue
		}
		one := join{ID: j.ID(), HazardID: h.ID, UUID: h.UUID, Name: h.Name, TypeID: string(h.Type), Event: nameOf(&j.Event), With: nameOf(&j.With), Score: rounded(j.Score),
			Seconds: j.Apart.Seconds(), Reason: j.Event.Joined, Confirmed: j.Confirmed, Href: a.BaseURL + "/hazards/" + h.UUID.String() + "/reports"}
		if !math.IsInf(j.Kilometers, 0) {
			km := rounded(j.Kilometers)
			one.Kilometers = &km
		}
		list.Joins = append(list.Joins, one)
	}
	return route.AnswerJSON(w, r, list, true)
}

// judge records an editor's decision whether the events of a join are one hazard.
func (a *Handlers) judge(w http.ResponseWriter, r *http.Request, who *auth.Caller) error {
	if err := route.Role(who, auth.Editor, auth.Admin); err != nil {
		return err
	}
	id, err := uuid.Parse(r.PathValue("join"))
	if err != nil {
		return route.BadParameter("join-id", "%.60q is not a uuid", r.PathValue("join"))
	}
	body, err := writeBody(w, r)
	if err != nil {
		return err
	}
	found, err := a.Intake.Joins(r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(j fuse.Join) bool { return j.ID() == id })
	if i < 0 {
		return fmt.Errorf("%w: join %s", hazard.ErrNotFound, id)
	}
	done, err := a.Edit.Judge(r.Context(), a.author(r, who), &found[i], a.ifMatch(r), body, a.Clock())
	if err != nil {
		return err
	}
	return a.answerHazard(w, r, who, done)
}

func nameOf(e *store.Event) joined { return joined{e.Source, e.Key} }

// rounded rounds to three decimals.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
