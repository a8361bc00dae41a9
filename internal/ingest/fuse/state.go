package fuse

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// hazardOf returns the hazard after what its sources reported, before it is known whether anything differs. Fields that an editor has set stay.
func (w *writer) hazardOf(newUUID uuid.UUID, before *hazard.Hazard, state *hazard.EventState, at *place) (*hazard.Hazard, error) {
	head := &state.Head
	h := &hazard.Hazard{
		UUID: newUUID, Status: hazard.Active, AutoExpire: true, Created: w.now, OrgID: -1, AppID: 0,
		Source: head.Source, Creator: head.Creator, Category: hazard.Event,
	}
	if before != nil {
		h = new(*before)
	}
	if h.Sources = state.Sources; slices.Equal(state.Sources, []string{h.Source}) {
		h.Sources = nil
	}
	h.Measurements = hazard.Since(w.now, h.Measurements, head.Measurements)
	h.Shapes = state.Shapes
	if before != nil && before.Source == "" { // an editor made it; sources add to what is known of it, and say nothing over the editor's word
		return h, nil
	}
	set := func(field string, f func()) {
		if !h.EditedField(field) {
			f()
		}
	}
	holdPoint(head, at.areas)
	set("hazard_Name", func() { h.Name = hazard.CleanLine(head.Name) })
	set("description", func() { h.Description = described(head) })
	set("instruction", func() { h.Instruction = hazard.Clean(head.Instruction) })
	h.Texts = textsOf(h, head)
	set("type_ID", func() { h.Type = head.Type })
	set("category_ID", func() { h.Category = category(before, head) })
	set("start_Date", func() { h.Start = head.Start })
	set("snc_url", func() { h.URL = head.URL })
	set("comment_Text", func() { h.Comment = hazard.Clean(head.Comment) })
	set("severity_ID", func() { h.Severity = head.Severity })
	set("autoexpire", func() { h.AutoExpire = !state.Open })
	if err := w.position(h, state, at); err != nil {
		return nil, err
	}
	if h.EditedField("status") { // an editor ended or retracted it: the source does not bring it back, nor moves its start behind that end
		h.Start = min(h.Start, h.End)
		return h, nil
	}
	h.Successor = uuid.Nil
	if state.Ended != "" {
		at := max(state.EndedAt, h.Start)
		switch {
		case !h.EditedField("end_Date"):
		case h.Status == hazard.Active: // it was the end of what goes on, which a source has ended now
			h.Edited = slices.DeleteFunc(slices.Clone(h.Edited), func(field string) bool { return field == "end_Date" })
		default:
			at, h.Start = h.End, min(h.Start, h.End)
		}
		end(h, state.Ended, at)
		if !h.EditedField("end_Date") {
			h.EndGiven = state.EndGiven || state.Ended != hazard.EndExpired
		}
		return h, w.succeed(h, head)
	}
	set("end_Date", func() { h.End, h.EndGiven = state.End, state.EndGiven })
	if h.EditedField("end_Date") {
		h.Start = min(h.Start, h.End)
	}
	if h.End < h.Start { // some sources say so; the type's life is the best guess, and the report keeps their words
		info, _ := h.Type.Info()
		h.End, h.EndGiven = h.Start.Add(info.Life), false
	}
	if h.AutoExpire && h.End <= w.now {
		h.Status, h.Reason = hazard.Expired, hazard.EndExpired
	} else {
		h.Status, h.Reason = hazard.Active, ""
	}
	return h, nil
}

// category is that of a hazard after what its sources reported; without a category, EVENT. What was a drill before stays one, and what was real stays real.
func category(before *hazard.Hazard, head *hazard.Report) hazard.Category {
	state := cmp.Or(head.Category, hazard.Event)
	switch {
	case before == nil || before.Drill() == (state == hazard.Exercise):
		return state
	case before.Drill():
		return hazard.Exercise
	}
	return hazard.Event
}

// farOff is how far from its perimeter the point of a wildfire is believed, in meters: where it began lies in it or nearby.
const farOff = 5_000

// isFarOff reports whether the point of a wildfire lies far from its perimeter, which was drawn from the air.
func isFarOff(head *hazard.Report, placed []placedArea) bool {
	p := head.Point
	return head.Type == hazard.Wildfire && p != nil && len(placed) > 0 && !placed[0].shape.IsPoint() &&
		!geo.Intersects(geo.Circle(p.Lon, p.Lat, farOff), placed[0].shape)
}

// holdPoint drops a point that is far off.
func holdPoint(head *hazard.Report, placed []placedArea) {
	p := head.Point
	if !isFarOff(head, placed) {
		return
	}
	head.Notes = append(slices.Clone(head.Notes), fmt.Sprintf("the position %.4f, %.4f lies more than %d km off the perimeter, and is not used", p.Lat, p.Lon, farOff/1000))
	head.Point = nil
}

// described returns the description for a reader, with a paragraph for each note on what was guessed
// or could not be read.
func described(head *hazard.Report) string {
	text := head.Description
	for _, n := range head.Notes {
		text += hazard.NoteBegins + n
	}
	return hazard.Clean(text)
}

// textsOf are the texts of a hazard of which head is said: none once its words were redacted, which must not come back in any language.
func textsOf(h *hazard.Hazard, head *hazard.Report) []hazard.Text {
	if slices.ContainsFunc(h.Redacted, func(r hazard.Redaction) bool {
		return slices.Contains(r.Fields, "description") || slices.Contains(r.Fields, "hazard_Name")
	}) {
		return nil
	}
	return head.Texts
}

// position sets the hazard's point and areas. Of a hazard that was ended by a message that says
// nothing of where it was, they stay; so they do while the shapes of its places are not known, but for
// a mere point, which tells no more than the hazard's own.
func (w *writer) position(h *hazard.Hazard, state *hazard.EventState, at *place) error {
	if !h.EditedField("area") {
		if err := w.area(h, state, at); err != nil {
			return err
		}
	}
	if h.EditedField("longitude") || h.EditedField("latitude") {
		return nil
	}
	switch head := &state.Head; {
	case head.Point != nil:
		h.Longitude, h.Latitude = head.Point.Lon, head.Point.Lat
	case len(at.areas) > 0:
		p := w.in.areas.point(&at.areas[0])
		h.Longitude, h.Latitude = round(p.Lon), round(p.Lat)
	case h.Somewhere() && at.kind != "":
		h.Longitude, h.Latitude = round(at.point.Lon), round(at.point.Lat)
	}
	if !(math.Abs(h.Longitude) <= 180 && math.Abs(h.Latitude) <= 90) {
		return fmt.Errorf("%w: %v %v", errBadPoint, h.Longitude, h.Latitude)
	}
	return nil
}

// area sets the hazard's areas, or its stand-ins.
func (w *writer) area(h *hazard.Hazard, state *hazard.EventState, at *place) error {
	known := state.Head.Point != nil || h.EditedField("longitude") || h.EditedField("latitude")
	awaited := w.in.known.Places[state.PlacesOf] != nil && len(state.Places) > 0
	switch {
	case len(at.areas) > 0:
		refs, err := w.keep(at.areas)
		if err != nil {
			return err
		}
		h.Displace()
		if h.Areas = refs; at.coded {
			h.Placed = hazard.PlaceCode
		}
	case at.kind != "" && !known:
		refs, err := w.keep(at.standIns)
		if err != nil {
			return err
		}
		h.Areas, h.Placed, h.PlaceKnownAs, h.StandIns = nil, at.kind, at.knownAs, refs
	case h.Somewhere() && known:
		h.Displace()
	case awaited:
		if len(h.Areas) == 1 && h.Areas[0].Role == hazard.PointArea {
			h.Areas = nil
		}
	case state.Ended == "":
		h.Displace()
		h.Areas = nil
	}
	return nil
}

// keep stores areas.
func (w *writer) keep(placed []placedArea) ([]hazard.AreaRef, error) {
	areas, shapes := make([]hazard.Area, len(placed)), make([]geo.Shape, len(placed))
	for i, p := range placed {
		areas[i], shapes[i] = hazard.Area{Role: p.role, Geometry: p.shape.GeoJSON()}, p.shape
	}
	return w.tx.KeepAreas(areas, shapes...)
}

// round keeps a position to about 10 cm.
func round(degrees float64) float64 { return math.Round(degrees*1e6) / 1e6 }

// succeed notes which hazard took the place of one that is over, if it is known by now; else it is noted when it becomes known.
func (w *writer) succeed(h *hazard.Hazard, head *hazard.Report) error {
	if head.Ended != hazard.EndSuperseded || head.Successor == "" {
		return nil
	}
	by, err := w.meantAt(head.Source, head.Successor, head.OverAt())
	if err != nil || by.Key == "" || by.HazardID == h.ID {
		return err
	}
	next, err := w.tx.Hazard(by.HazardID)
	if err == nil && next.Drill() == h.Drill() {
		h.Successor = next.UUID
	}
	return err
}

// successorRef is the name under which an event waits for the one, called ref, that took its place (query EventsReplaced).
func successorRef(ref string) string { return waits + ref }

const waits = "successor:"

// tellReplaced makes the hazards anew whose events were replaced by events that have become known, or part of other hazards.
func (w *writer) tellReplaced() error {
	for _, by := range w.went {
		waiting, err := w.tx.Events.Replaced(by)
		if err != nil {
			return err
		}
		for _, e := range waiting {
			if err := w.renew(e.HazardID); err != nil {
				return err
			}
		}
	}
	w.went = nil
	return nil
}

// end makes a hazard one that its source ended at a moment.
func end(h *hazard.Hazard, reason hazard.EndReason, at hazard.Instant) {
	h.Status, h.Reason, h.End = hazard.Expired, reason, at
	if reason != hazard.EndExpired && !h.EditedField("severity_ID") {
		h.Severity = hazard.Termination
	}
}

// stamp notes that the hazard changed now: by its sources, or by the user whose transaction it is.
func (w *writer) stamp(h *hazard.Hazard) {
	h.LastUpdate, h.Updated, h.UpdateUser = w.now, w.now, w.tx.Origin().User
}

func sameReport(a, b *hazard.Report) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// addRef notes what an event is called, for the events that come later in this batch too.
func (w *writer) addRef(ref, event string) error {
	if w.refs == nil {
		w.refs = map[string]bool{}
	}
	w.refs[ref] = true
	return w.tx.Events.AddRef(ref, w.src, event)
}
