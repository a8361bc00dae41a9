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
	var names []Name // each event of the payload, in the order in which it is first named
	for _, r := range reports {
		if name := (Name{r.Source, r.Key}); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		e := w.event(name)
		if e == nil {
			e = &event{Name: name}
			w.events = append(w.events, e)
		}
		for i := range reports {
			if r := &reports[i]; r.Source == name.Source && r.Key == name.Key {
				e.told = append(e.told, telling{at: w.now, report: r})
			}
		}
		w.heard(e)
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

// heard works out what follows from what came of an event.
func (w *World) heard(e *event) {
	e.heard = e.word(w.now)
	if e.hazard == nil && (e.heard.ended == hazard.EndWithdrawn || e.heard.over() < w.now.Add(-tooLate)) {
		// What says that it is over is remembered: the report that it ends may come after it.
		e.told = slices.DeleteFunc(e.told, func(t telling) bool { return t.at == w.now && t.report.Ended == "" })
		return
	}
	w.regroup(e)
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

// Merge is that a person finds hazard from to be the same as hazard into. It reports whether that may be.
func (w *World) Merge(from, into *Hazard, at instant) bool {
	w.Pass(at)
	if from == into || from.Now().Reason == hazard.EndMerged || from.drill() != into.drill() || into.Now().Status != hazard.Active {
		return false
	}
	for _, e := range w.partOf(from) {
		for _, o := range w.partOf(into) {
			w.one[pairOf(e, o)] = true
		}
		e.hazard, e.why = into, byPerson
	}
	w.keep(from)
	w.regroup(nil)
	w.absorb(from, into, true)
	w.settle(at)
	return true
}

// Split is that a person finds an event of a hazard to be another than the rest. It reports whether that may be.
func (w *World) Split(h *Hazard, name Name, at instant) bool {
	w.Pass(at)
	e := w.event(name)
	if e == nil || e.hazard != h || len(w.partOf(h)) == 1 {
		return false
	}
	for _, o := range w.partOf(h) {
		if o != e {
			w.one[pairOf(e, o)] = false
		}
	}
	if e.why == byPerson {
		e.why = byRule
	}
	w.regroup(nil)
	w.settle(at)
	if s := *h.Now(); s.At != at { // it is a change of the hazard, whatever else is
		s.At, s.LastUpdate = at, at
		h.Past = append(h.Past, s)
	}
	return true
}
