package read

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/hazardd/hazardd/internal/auth"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/store/view"
)

// staleView is the age at which answers say how old the view is. A reachable store confirms the
// view at least once a second.
const staleView = 3 * time.Second

// AnswerList writes an answer from the view, with its freshness.
func (a *Hazards) AnswerList(w http.ResponseWriter, r *http.Request, v *view.View, body *encoded.Body, now hazard.Instant) error {
	a.SetView(w, v, now)
	return route.Answer(w, r, body)
}

// answerShared is AnswerList for a body that several readers share. The body counts toward the
// caller's budget while it is sent.
func (a *Hazards) answerShared(w http.ResponseWriter, r *http.Request, who *auth.Caller, v *view.View, body *encoded.Body, now hazard.Instant) error {
	payer := a.Payer(r, who)
	if err := a.readers.Begin(payer, body); err != nil {
		return err
	}
	defer a.readers.End(payer, body)
	return a.AnswerList(w, r, v, body, now)
}

// SetView sets the headers that say which view an answer is from, and how fresh it is.
func (a *Hazards) SetView(w http.ResponseWriter, v *view.View, now hazard.Instant) {
	h := w.Header()
	h["Hazardd-Change"] = v.Digits()
	h["Hazardd-Sources"] = a.Freshness()
	a.setViewAge(w, now)
}

// setViewAge sets the header with the view's age, if the store was unreachable lately.
func (a *Hazards) setViewAge(w http.ResponseWriter, now hazard.Instant) {
	if age := now.Time().Sub(a.Live.ReadAt().Time()); age > staleView {
		w.Header()["Hazardd-View-Age"] = []string{strconv.Itoa(int(age.Seconds()))}
	}
}

// AnswerOnce answers a search by what answer makes, which costs much processor time: once per change
// and audience. said is all that it depends on besides q, the path and the rights of the reader.
func (a *Hazards) AnswerOnce(w http.ResponseWriter, r *http.Request, who *auth.Caller, q *query.Query, cost int64, said string, answer func(w http.ResponseWriter, r *http.Request) error) error {
	a.SetPlace(r.Context(), w, q)
	if q.At != nil { // of the past is not asked often
		return a.HoldInTurns(w, r, who, cost, answer)
	}
	// Headlines tell days.
	now := a.Now()
	body, err := a.HeldOnce(r, who, cost, fmt.Sprintf("%s\n%s\n%d", said, q.Values().Encode(), now.Time().Unix()/(24*60*60)), answer)
	if errors.Is(err, encoded.ErrLarge) {
		return a.HoldInTurns(w, r, who, cost, answer)
	}
	if err != nil {
		return err
	}
	maps.Copy(w.Header(), body.Header)
	w.Header()["Hazardd-Sources"] = a.Freshness()
	a.setViewAge(w, now)
	payer := a.Payer(r, who)
	if err := a.readers.Begin(payer, body); err != nil {
		return err
	}
	defer a.readers.End(payer, body)
	return route.Answer(w, r, body)
}
