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
		for _, p := range e.parts() {
			e.told = slices.DeleteFunc(e.told, func(t telling) bool { return t.at == w.now && t.report.Part == p.Part && p.Ended == "" })
		}
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
	return true
}

// decide keeps a decision. A hazard that is part of another stays what it is, but for the decision.
func (w *World) decide(h *Hazard, d *decision) {
	before := *h.Now()
	h.decided = append(h.decided, d)
	w.settle(w.now)
	after := h.Now()
	if after.Status == hazard.Expired && after.Reason != hazard.EndMerged && (before.Status == hazard.Active || before.Reason != after.Reason) {
		h.Ends = append(h.Ends, &End{At: w.now, Reason: after.Reason, hazard: h, since: len(h.decided) - 1, before: before, after: *after})
	}
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
	return true
}

// Merge is that a person finds hazard from to be the same as hazard into. It reports whether that may be.
func (w *World) Merge(from, into *Hazard, at instant) bool {
	w.Pass(at)
	if from == into || from.Now().Reason == hazard.EndMerged || from.drill() != into.drill() || into.Now().Status != hazard.Active {
		return false
	}
	var parted [][2]Name // what a person had found to be two
	staying := w.partOf(into)
	for _, e := range w.partOf(from) {
		for _, o := range staying {
			if one, decided := w.one[pairOf(e, o)]; decided && !one {
				parted = append(parted, pairOf(e, o))
			}
			w.one[pairOf(e, o)] = true
		}
		w.move(e, into)
		e.why = byPerson
	}
	was, since := from.kept, from.keptDecisions
	w.keep(from)
	w.regroup(nil)
	w.absorb(from, into, true)
	end := from.Ends[len(from.Ends)-1]
	end.parted, end.kept, end.keptDecisions = parted, was, since
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
	if h.kept == nil {
		h.touch(at)
	}
	return true
}

// touch notes that a hazard has changed, whatever it says.
func (h *Hazard) touch(at instant) {
	if s := *h.Now(); s.At != at {
		s.At, s.LastUpdate = at, at
		h.Past = append(h.Past, s)
	}
}

// End is that a person ended a hazard, or that it became part of another.
type End struct {
	At            instant
	Reason        hazard.EndReason
	hazard        *Hazard
	since         int   // the decisions about the hazard from this one on came with it, or later
	before        State // of an end by a person: what the hazard was before and after
	after         State
	into          *Hazard // of a merge: what it became part of, nil for an end by a person
	moves         []move
	parted        [][2]Name // of a merge by a person: the events that had been found to be two
	kept          *State    // and what the hazard was kept as before, nil if it was not
	keptDecisions int
}

// move is that an event left a hazard.
type move struct {
	event *event
	to    *Hazard
	why   reason // why it was part of the hazard that it left
}

func (w *World) move(e *event, to *Hazard) {
	if e.hazard != nil && e.hazard != to {
		w.moved[e.hazard] = append(w.moved[e.hazard], move{e, to, e.why})
	}
	e.hazard = to
}

// Undo is that a person takes an end back: the hazard goes on as it would have without it. What
// became of its status, level and end since is void, other changes stay. It reports whether that may be.
func (w *World) Undo(end *End, at instant) bool {
	w.Pass(at)
	h, now := end.hazard, end.hazard.Now()
	if h.Ends[len(h.Ends)-1] != end || now.Reason != end.Reason {
		return false
	}
	older := h.kept != nil && end.since < h.keptDecisions // than that the events left
	if end.into == nil && (now.Status != end.after.Status || now.End != end.after.End || now.Severity != end.after.Severity || older && end.before.Status == hazard.Active) {
		return false
	}
	if b := &end.before; b.Reason == hazard.EndMerged && w.hazard(b.Successor).Now().Status != hazard.Active { // only what is active absorbs
		return false
	}
	if end.into != nil && !w.takeBack(end) {
		return false
	}
	h.Ends = h.Ends[:len(h.Ends)-1]
	h.void(end.since)
	if end.into == nil && older {
		k, b := h.kept, &end.before
		k.Status, k.Severity, k.End, k.AutoExpire, k.Reason, k.Successor, k.Note = b.Status, b.Severity, b.End, b.AutoExpire, b.Reason, b.Successor, b.Note
		k.Edited = slices.DeleteFunc(slices.Clone(k.Edited), func(m string) bool {
			return slices.Contains([]string{"status", "end_Date", "autoexpire", "severity_ID"}, m) && !b.EditedField(m)
		})
	}
	w.regroup(nil)
	w.settle(at)
	h.touch(at)
	return true
}

// void makes decisions about the status, the level and the end of a hazard void, from one on.
func (h *Hazard) void(from int) {
	for _, d := range h.decided[from:] {
		d.ended = ""
		for _, field := range []string{"end_Date", "autoexpire", "severity_ID"} {
			delete(d.fields, field)
			d.marks = slices.DeleteFunc(slices.Clone(d.marks), func(m string) bool { return m == field })
		}
	}
}

func (w *World) hazard(id uuid.UUID) *Hazard {
	return w.Hazards[slices.IndexFunc(w.Hazards, func(h *Hazard) bool { return h.UUID == id })]
}

// takeBack gives a hazard the events back that a merge took from it, and parts them from the others.
func (w *World) takeBack(merge *End) bool {
	if merge.into.Now().Reason == hazard.EndMerged || slices.ContainsFunc(merge.moves, func(m move) bool { return m.event.hazard != m.to }) {
		return false
	}
	for _, m := range merge.moves {
		m.event.hazard, m.event.why = merge.hazard, m.why
	}
	for _, pair := range merge.parted {
		w.one[pair] = false
	}
	for _, m := range merge.moves {
		for _, o := range w.partOf(merge.into) {
			w.one[pairOf(m.event, o)] = false
		}
	}
	merge.hazard.kept, merge.hazard.keptDecisions = merge.kept, merge.keptDecisions
	return true
}
