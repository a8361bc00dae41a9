// Package model specifies how hazards are made, as a program for tests. It is slow and simple, and
// has no store, cache or incremental state. It keeps all reports and decisions, and computes all
// hazards anew at every moment. Its results must equal those of the service at every moment;
// docs/how-hazards-are-made.md explains the rules.
//
// It shares data types with the service, but no rules.
package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

type instant = hazard.Instant

// Name names an event by its source and the source's key.
type Name struct{ Source, Key string }

// World is everything that happened so far, and the hazards that result from it.
type World struct {
	Hazards  []*Hazard // in the order of their creation
	By       Person    // the person who decides
	Held     []*Held   // reports that look wrong, in the order of arrival
	events   []*event
	one      map[[2]Name]bool // a person's decision about two events: whether they are one
	now      instant
	products []*Product            // products of people
	changed  map[*event][]*Product // products of sources that people changed, by the events that provided them
	removed  map[uuid.UUID]bool    // products of sources that people deleted
	folders  map[*event][]*Product // folders that events last provided
	gave     map[uuid.UUID]*Hazard // the hazard of every product that an event ever provided
	moved    map[*Hazard][]move    // the events that left each hazard in the current step
	sources  Sources
}

// Sources are the facts about sources that the rules depend on.
type Sources struct {
	// Order lists the sources by hazard type, the most authoritative first. The type "" stands for
	// all types without an entry. The source "" stands for all sources not listed, in the order of
	// their names.
	Order map[hazard.Type][]string
	// Places lists the places that a geometry covers. Point returns a representative point of an
	// area, for sources that give none. Near reports whether a point lies within 5 km of an area.
	Places func(geometry string) []string
	Point  func(Area) hazard.Point
	Near   func(hazard.Point, Area) bool
	// Classes are the names of cyclone classes, by wind speed.
	Classes []string
}

// New returns a world in which nothing has happened.
func New(sources Sources) *World {
	return &World{sources: sources, one: map[[2]Name]bool{}, removed: map[uuid.UUID]bool{}, changed: map[*event][]*Product{}, folders: map[*event][]*Product{}, gave: map[uuid.UUID]*Hazard{}}
}

// Hazard is one hazard of the world.
type Hazard struct {
	UUID    uuid.UUID
	Past    []State // a new state for each moment at which it changed
	source  string  // source of the event that created it; empty for an editor's
	made    instant
	first   word // the state of the event that created it, at that time
	drill   bool // never changes
	org     int64
	creator string
	decided []*decision // people's decisions about it, in order
	kept    *State      // its fixed state after its events became part of another hazard
	// keptDecisions is the number of decisions that the fixed state includes.
	keptDecisions int
	wasActive     bool // its status when its events became part of another hazard
	absorbed      bool // the merge ended it or set its end reason
	mergedAt      int  // first of the decisions about it that came with the merge or later
	carried       []*carried
	goesOn        bool               // it counts as active now, because its end was undone
	redacted      []hazard.Redaction // texts removed for good
	// Ends are its ends by a person and its merges into another hazard, in order.
	Ends []*End
	// Splits are the splits that people made of the hazard, in order, without those that were
	// undone.
	Splits []*Split
}

// State is the state of a hazard from a moment on.
type State struct {
	At instant
	hazard.Hazard
	Area Area
}

// decision is a person's decision about a hazard: values of fields by their names in the base
// interface, and whether the hazard has ended.
type decision struct {
	fields map[string]any
	marks  []string // the fields that the person set: no source changes them
	ended  hazard.EndReason
	end    instant // when ended is set
	note   string
	// successor is the hazard that had replaced it by then, if ended is set.
	successor uuid.UUID
}

// Now returns the state of the hazard at the latest moment.
func (h *Hazard) Now() *State { return &h.Past[len(h.Past)-1] }

// Events lists the events that a hazard has at the latest moment.
func (w *World) Events(h *Hazard) (names []Name) {
	for _, e := range w.partOf(h) {
		names = append(names, e.Name)
	}
	return names
}

// AsOf returns the state of the hazard at a moment; nil if it did not exist yet.
func (h *Hazard) AsOf(t instant) *State {
	i, _ := slices.BinarySearchFunc(h.Past, t+1, func(s State, t instant) int { return cmp.Compare(s.At, t) })
	if i == 0 {
		return nil
	}
	return &h.Past[i-1]
}

// Active lists the UUIDs of the hazards that are active at a moment, in the order of lists.
func (w *World) Active(t instant) (list []uuid.UUID) {
	var active []*hazard.Hazard
	for i, h := range w.Hazards {
		if s := h.AsOf(t); s != nil && s.Status == hazard.Active && !(s.AutoExpire && s.End <= t) {
			state := s.Hazard
			state.ID = int64(i + 1)
			active = append(active, &state)
		}
	}
	slices.SortFunc(active, func(a, b *hazard.Hazard) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.LastUpdate, a.LastUpdate), cmp.Compare(a.ID, b.ID))
	})
	for _, h := range active {
		list = append(list, h.UUID)
	}
	return list
}

// Pass advances the time to a moment. It computes everything anew at each moment in between at
// which something ends.
func (w *World) Pass(to instant) {
	w.moved = map[*Hazard][]move{}
	for {
		next := to
		for _, h := range w.Hazards {
			if s := h.Now(); s.Status == hazard.Active && s.AutoExpire && s.End > w.now {
				next = min(next, s.End)
			}
		}
		for _, e := range w.events {
			for _, p := range e.parts() {
				if over := overAt(&p); over > w.now {
					next = min(next, over)
				}
				for _, t := range p.Texts {
					if t.Until > w.now {
						next = min(next, t.Until)
					}
				}
			}
		}
		w.settle(next)
		if next == to {
			return
		}
	}
}

// settle computes everything for a moment, and records the differences.
func (w *World) settle(t instant) {
	w.now = max(w.now, t)
	for _, h := range w.Hazards {
		w.settleOne(h)
	}
	w.leaveFolders()
	for _, e := range w.events {
		if e.hazard != nil {
			given := w.given(e)
			for _, p := range given {
				w.gave[p.UUID] = p.hazard
			}
			w.folders[e] = slices.DeleteFunc(given, func(p *Product) bool { return !p.Folder })
		}
	}
}

func (w *World) settleOne(h *Hazard) {
	s := w.state(h)
	s.At, h.goesOn = w.now, false
	if len(h.Past) > 0 {
		last := h.Now()
		s.LastUpdate = last.LastUpdate
		if same(&s, last) {
			return
		}
	}
	s.LastUpdate = w.now
	if len(h.Past) > 0 && h.Now().At == w.now {
		h.Past = h.Past[:len(h.Past)-1]
	}
	h.Past = append(h.Past, s)
}

func same(a, b *State) bool {
	return a.Hazard.Equal(&b.Hazard) && slices.Equal(a.Area, b.Area)
}

// Area lists the places where a hazard is, each with its role, sorted.
type Area []string

func (w *World) areaOf(list []hazard.Area) (all Area) {
	for _, a := range list {
		for _, place := range w.sources.Places(a.Geometry) {
			all = append(all, string(a.Role)+" "+place)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// state computes the present state of a hazard.
func (w *World) state(h *Hazard) State {
	if h.kept != nil {
		return w.edited(*h.kept, h)
	}
	s := State{Hazard: hazard.Hazard{UUID: h.UUID, Category: hazard.Event, Status: hazard.Active, OrgID: h.org,
		Created: h.made, Creator: h.creator, Source: h.source, Redacted: h.redacted}}
	if h.drill {
		s.Category = hazard.Exercise
	}
	said := w.said(h)
	for _, e := range w.partOf(h) {
		s.Sources = append(s.Sources, e.Source)
	}
	slices.Sort(s.Sources)
	if s.Sources = slices.Compact(s.Sources); slices.Equal(s.Sources, []string{h.source}) {
		s.Sources = nil
	}
	if said != nil {
		s.Measurements, s.Shapes = h.since(said.measured, w.now), shown(said.drawn)
	}
	if h.source == "" {
		said = nil // for an editor's hazard, editors decide all but the measurements and drawings of sources
	}
	if said != nil {
		r := said.head
		s.Name, s.Description, s.Type, s.Severity, s.Start, s.URL, s.Comment = said.name, r.Description, r.Type, said.severity, said.start, said.url, r.Comment
		if s.End, s.AutoExpire = said.end, !said.open; h.drill == (said.category == hazard.Exercise) {
			s.Category = said.category
		}
		if s.Texts = said.texts; slices.ContainsFunc(h.redacted, func(r hazard.Redaction) bool { return speaks(r.Fields) }) {
			s.Texts = nil // they would repeat it
		}
		s.Area = w.areaOf(said.areas)
		given := said.point
		if said.point = w.believedPoint(said); said.point == nil && given != nil {
			s.Description = strings.TrimSpace(s.Description + fmt.Sprintf("\n\nNote: the position %.4f, %.4f lies more than 5 km off the perimeter, and is not used", given.Lat, given.Lon))
		}
		was := State{Area: w.areaOf(h.first.areas)}
		if p := h.first.point; p != nil {
			was.Longitude, was.Latitude = p.Lon, p.Lat
		}
		if len(h.Past) > 0 {
			was = *h.Now()
		}
		if len(s.Area) == 0 && said.ended != "" { // a word that it is over says nothing of where it was
			s.Area = was.Area
		}
		s.Longitude, s.Latitude = was.Longitude, was.Latitude
		if said.point == nil && len(said.areas) > 0 {
			said.point = new(w.sources.Point(w.areaOf(said.areas)))
		}
		if said.point != nil {
			s.Longitude, s.Latitude = said.point.Lon, said.point.Lat
		}
		if said.ended != "" && (h.goesOn || len(h.Past) > 0 && h.Now().Status == hazard.Active) {
			// If a source explicitly ends an active hazard, the end_Date of an editor is void.
			for _, d := range h.decided {
				delete(d.fields, "end_Date")
				d.marks = slices.DeleteFunc(slices.Clone(d.marks), func(m string) bool { return m == "end_Date" })
			}
		}
	}
	ended, endSet := (*decision)(nil), said == nil
	for _, d := range h.decided {
		for _, field := range slices.Sorted(maps.Keys(d.fields)) {
			s.set(field, d.fields[field])
			endSet = endSet || field == "end_Date"
		}
		for _, field := range d.marks {
			if h.source != "" {
				s.MarkEdited(field)
			}
		}
		if d.ended != "" {
			ended = d
			s.Status, s.Reason, s.Note, s.Successor, s.End, endSet = hazard.Expired, d.ended, d.note, d.successor, d.end, true
			if d.ended == hazard.EndRetracted || h.source != "" {
				s.MarkEdited("status")
			}
			if d.ended == hazard.EndRetracted {
				s.Severity = hazard.Termination
				s.MarkEdited("severity_ID")
			}
		}
	}
	if endSet && said != nil {
		s.Start = min(s.Start, s.End)
	}
	switch {
	case ended != nil:
	case said != nil && said.ended != "":
		s.Status, s.Reason = hazard.Expired, said.ended
		if !endSet {
			s.End = max(said.endedAt, s.Start)
		}
		if next := w.meantAt(Name{said.head.Source, said.head.Successor}, overAt(&said.head)); said.head.Ended == hazard.EndSuperseded && next != nil &&
			next.hazard != h && next.hazard.drill == h.drill {
			s.Successor = next.hazard.UUID
		}
		if said.ended != hazard.EndExpired && !s.EditedField("severity_ID") {
			s.Severity = hazard.Termination
		}
	default:
		if said != nil && s.End < s.Start {
			s.End = s.Start.Add(life(s.Type))
		}
		if s.AutoExpire && s.End <= w.now {
			s.Status, s.Reason = hazard.Expired, hazard.EndExpired
		}
	}
	return s
}

// edited returns the fixed state of a hazard after later decisions.
func (w *World) edited(s State, h *Hazard) State {
	s.Redacted = h.redacted
	for _, d := range h.decided[h.keptDecisions:] {
		for _, field := range slices.Sorted(maps.Keys(d.fields)) {
			s.set(field, d.fields[field])
		}
		for _, field := range d.marks {
			if h.source != "" {
				s.MarkEdited(field)
			}
		}
		if d.ended != "" {
			s.Severity, s.Reason, s.Note = hazard.Termination, d.ended, d.note
			s.MarkEdited("status")
			s.MarkEdited("severity_ID")
		}
	}
	return s
}

// believedPoint returns the reported point. It returns nil for a wildfire's point that is far from
// its area.
func (w *World) believedPoint(s *word) *hazard.Point {
	if s.head.Type == hazard.Wildfire && s.point != nil && len(s.areas) > 0 && !w.sources.Near(*s.point, w.areaOf(s.areas)) {
		return nil
	}
	return s.point
}

// where returns where an event was according to its own source: the point, or else the middle of
// the area.
func (w *World) where(s *word) *hazard.Point {
	if p := w.believedPoint(s); p != nil || len(s.areas) == 0 {
		return p
	}
	return new(w.sources.Point(w.areaOf(s.areas)))
}

// since notes for each measurement since when it has its present value.
func (h *Hazard) since(measured []hazard.Measurement, now instant) (list []hazard.Measurement) {
	for _, m := range measured {
		m.Since = now
		if len(h.Past) > 0 {
			for _, o := range h.Now().Measurements {
				if since := o.Since; o.Name == m.Name && o.Value == m.Value && o.Scale == m.Scale && o.Source == m.Source {
					m.Since = since
				}
			}
		}
		list = append(list, m)
	}
	return list
}

// shown returns the shapes that exist. It leaves out parts for which a source no longer draws
// anything.
func shown(drawn []hazard.ShapesRef) (list []hazard.ShapesRef) {
	for _, ref := range drawn {
		if ref.Digest != "" {
			ref.Version = 0 // readers have no use for it
			list = append(list, ref)
		}
	}
	return list
}

func life(t hazard.Type) time.Duration {
	info, _ := t.Info()
	return info.Life
}

// set gives a field a value.
func (s *State) set(field string, value any) {
	switch field {
	case "hazard_Name":
		s.Name = value.(string)
	case "description":
		s.Description = value.(string)
	case "type_ID":
		s.Type = value.(hazard.Type)
	case "severity_ID":
		s.Severity = value.(hazard.Severity)
	case "category_ID":
		s.Category = value.(hazard.Category)
	case "autoexpire":
		s.AutoExpire = value.(bool)
	case "start_Date":
		s.Start = value.(instant)
	case "end_Date":
		s.End = value.(instant)
	case "comment_Text":
		s.Comment = value.(string)
	case "snc_url":
		s.URL = value.(string)
	case "note":
		s.Note = value.(string)
	case "latitude":
		s.Latitude = value.(float64)
	case "longitude":
		s.Longitude = value.(float64)
	case "area":
		s.Area = value.(Area)
	default:
		panic("no field " + field)
	}
}

// get returns the value of a field.
func (s *State) get(field string) any {
	return map[string]any{"hazard_Name": s.Name, "description": s.Description, "type_ID": s.Type, "severity_ID": s.Severity,
		"category_ID": s.Category, "autoexpire": s.AutoExpire, "start_Date": s.Start, "end_Date": s.End, "comment_Text": s.Comment, "snc_url": s.URL, "note": s.Note,
		"latitude": s.Latitude, "longitude": s.Longitude, "area": s.Area}[field]
}

// String lists the hazards with their events, for people.
func (w *World) String() (text string) {
	for _, h := range w.Hazards {
		text += fmt.Sprintf("%s %q %v\n", h.UUID, h.Now().Name, w.Events(h))
	}
	return text
}
