package model

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"hazardd/internal/hazard"
)

// tooLate is how long ago an event may have ended that still makes a hazard.
const tooLate = 7 * 24 * time.Hour

// Report is a payload of a source that comes now.
func (w *World) Report(reports []hazard.Report, at instant) {
	w.Pass(at)
	for i := range reports {
		w.report(&reports[i])
	}
	w.settle(at)
}

// event is what a source knows under key; nil if it told nothing of it.
func (w *World) event(name Name) *event {
	for _, e := range w.events {
		if e.Name == name {
			return e
		}
	}
	return nil
}

func (w *World) report(r *hazard.Report) {
	name := Name{r.Source, r.Key}
	e := w.event(name)
	if e == nil {
		e = &event{Name: name}
		w.events = append(w.events, e)
	}
	e.told = append(e.told, telling{at: w.now, report: r})
	if e.hazard != nil {
		return
	}
	if s := e.word(w.now); s.ended == hazard.EndWithdrawn || s.over() < w.now.Add(-tooLate) {
		if r.Ended == "" { // what says that it is over is remembered: the report that it ends may come after it
			e.told = e.told[:len(e.told)-1]
		}
		return
	}
	e.hazard = &Hazard{UUID: hazard.EventUUID(r.Source, r.Key), source: r.Source, made: w.now, creator: r.Creator}
	w.Hazards = append(w.Hazards, e.hazard)
}

// Withdraw is that a source lists an event no longer.
func (w *World) Withdraw(name Name, reason hazard.EndReason, at instant) {
	w.Pass(at)
	if e := w.event(name); e != nil && e.hazard != nil {
		e.told = append(e.told, telling{at: at, withdrawn: reason})
	}
	w.settle(at)
}

// Create is that an editor makes a hazard. It reports whether that may be.
func (w *World) Create(id uuid.UUID, user string, fields map[string]any, at instant) bool {
	w.Pass(at)
	h := &Hazard{UUID: id, made: at, creator: user, decided: []*decision{{fields: maps.Clone(fields)}}}
	s := w.state(h)
	if s.End < s.Start || s.Status == hazard.Expired {
		return false
	}
	w.Hazards = append(w.Hazards, h)
	w.settle(at)
	return true
}

// Patch is that an editor sets fields of a hazard. It reports whether that may be.
func (w *World) Patch(h *Hazard, fields map[string]any, at instant) bool {
	w.Pass(at)
	was, draft := h.Now(), *h.Now()
	differ := map[string]any{}
	for field, value := range fields {
		if was.get(field) != value {
			differ[field] = value
			draft.set(field, value)
		}
	}
	over := was.Status == hazard.Expired
	switch {
	case draft.End < draft.Start,
		draft.Category != was.Category && !(was.Category == hazard.Event && draft.Category == hazard.Response),
		over && draft.End != was.End && draft.End > at, // what is over is not extended
		over && was.AutoExpire && !draft.AutoExpire:    // nor made to last
		return false
	}
	d := &decision{fields: differ, marks: slices.Sorted(maps.Keys(differ))}
	_, lat := differ["latitude"]
	if _, lon := differ["longitude"]; lat || lon { // a position is set as one
		differ["latitude"], differ["longitude"] = draft.Latitude, draft.Longitude
	}
	w.decide(h, d)
	w.settle(at)
	return true
}

// decide keeps a decision. A hazard that is part of another stays what it is, but for the decision.
func (w *World) decide(h *Hazard, d *decision) {
	h.decided = append(h.decided, d)
}

// End is that an editor ends a hazard: it is over, or (retracted, with a note) it never was. It
// reports whether that may be.
func (w *World) End(h *Hazard, reason hazard.EndReason, note string, at instant) bool {
	w.Pass(at)
	s := h.Now()
	switch {
	case reason == hazard.EndAllClear && s.Status == hazard.Expired, s.Reason == hazard.EndRetracted:
		return true // nothing to do
	}
	end := s.End
	if s.Status == hazard.Active {
		end = max(at, s.Start)
	}
	w.decide(h, &decision{ended: reason, end: end, note: note})
	w.settle(at)
	return true
}
