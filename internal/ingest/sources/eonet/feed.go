package eonet

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxBytes bounds a payload. 99 recorded events with 471 positions have 600 kB in GeoJSON, the longer form.
const maxBytes = 32 << 20

// api is the address of the events.
const api = "https://eonet.gsfc.nasa.gov/api/v3/events"

// facts are the common members of an event and of each of its features
// (eonet.gsfc.nasa.gov/docs/v3). Members without a field here are not read.
type facts struct {
	ID    string `json:"id"` // "EONET_15547": identifies the event
	Title string `json:"title"`
	// Description is only present for a few events: a sentence or two, for wildfires about their
	// location.
	Description string `json:"description"`
	// Closed is when the event ended, usually only a date; "may or may not accurately represent the
	// absolute ending of the event". It is null while the event is open.
	Closed     string         `json:"closed"`
	Categories []category     `json:"categories"`
	Sources    []reference    `json:"sources"`
	Geometries jsontext.Value `json:"geometries"` // used by version 2.1; version 3 has geometry
	Magnitude                 // in a GeoJSON feature: the magnitude at its position
	Date       string         `json:"date"` // in a GeoJSON feature
	Dates      []string       `json:"geometryDates"`
}

// Magnitude is the size or strength of the event at a position; null if it is not measured.
type Magnitude struct {
	Value lenient.Number `json:"magnitudeValue"`
	// Unit is "kts" (storms), "acres" (fires), "NM^2" (icebergs) and others.
	Unit string `json:"magnitudeUnit"`
}

type category struct {
	ID    string `json:"id"` // "severeStorms"; a number in version 2.1
	Title string `json:"title"`
}

// reference is a page or document of a source about the event. An event often has several.
type reference struct {
	ID  string `json:"id"`  // "JTWC", "SIVolcano", "GDACS", "PDC", "IRWIN" …
	URL string `json:"url"` // with HTML entities: "…?eventtype=VO&amp;eventid=512"
}

// event is an event in the JSON form.
type event struct {
	facts
	Geometry []placement `json:"geometry"`
}

// placement is a position with its date. Several of them are a track, usually in order of time.
type placement struct {
	Magnitude
	Date        string         `json:"date"`
	Type        string         `json:"type"` // Point or Polygon
	Coordinates jsontext.Value `json:"coordinates"`
}

// feature is a position of an event in the GeoJSON form; an event has one feature for each
// position. A feature of Type LineString contains a whole track, with its dates in geometryDates
// ("2021-03-26 00:00:00", without zone), but neither sources nor magnitudes.
type feature struct {
	Properties facts `json:"properties"`
	Geometry   struct {
		Type        string         `json:"type"`
		Coordinates jsontext.Value `json:"coordinates"`
	} `json:"geometry"`
}

// Parse reads a list of events ({"events":…}), a single event, or a FeatureCollection of either,
// which it recognizes by their members. An unreadable position does not affect others. Read counts
// events in JSON, and features in GeoJSON.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, byID: map[string]*gathered{}, Batch: lenient.Batch{ID: func(raw []byte) string {
		return cmp.Or(eventID(lenient.Word(lenient.Member(raw, "id"))), eventID(lenient.Word(lenient.Member(lenient.Member(raw, "properties"), "id"))))
	}}}
	err := p.document(payload)
	if errors.Is(err, errOld) {
		return source.Batch{}, err
	}
	p.finish()
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now hazard.Instant
	// The events with their records, in the order of the payload.
	events []*gathered
	byID   map[string]*gathered
	old    bool // a record has the format of version 2.1
}

// gathered combines the records of a payload about one event.
type gathered struct {
	facts
	records   int
	positions []position
	undated   []position
	notes     []string // about unreadable parts
	raw       []byte   // the first record, which is stored if the event is rejected
}

// errOld rejects version 2.1. Its categories are numbers and its events have no magnitude, so half
// of its data would be lost silently.
var errOld = source.Errorf("EONET version 2.1 (geometries), expected version 3 (geometry)")

var list = lenient.Collection{
	Want: "events", Lists: []string{"events", "features"}, Heads: append([]string{"type", "categories", "geometry", "geometries", "id"}, lenient.Complaints...),
}

// document reads the outermost object.
func (p *parser) document(payload []byte) error {
	doc, err := list.Read(payload, func(where func() string, raw []byte) {
		if strings.HasPrefix(where(), "features/") {
			p.feature(where, raw)
		} else {
			p.event(where, raw)
		}
	})
	kind := doc.Word("type")
	if doc.Listed == "features" && kind != "FeatureCollection" && (kind != "" || err == nil) {
		p.Clear() // the features are not events
		p.events, doc.Listed = nil, ""
	}
	if doc.Head["id"] != nil && doc.Head["geometry"] != nil && kind == "" && doc.Object != nil {
		p.event(func() string { return "event" }, doc.Object)
		doc.Listed = "event"
	}
	switch {
	case p.old || doc.Head["geometries"] != nil:
		return errOld
	case err != nil || doc.Listed != "":
		return err
	case doc.Head["events"] != nil || doc.Head["features"] != nil:
		return source.Errorf("events: %s, expected an array", lenient.Excerpt(slices.Concat(doc.Head["events"], doc.Head["features"])))
	case doc.Head["categories"] != nil:
		return source.Errorf("a list of categories, expected events")
	}
	if complaint := doc.Complaint(); complaint != "" {
		return source.Errorf("an error message instead of events: %s", complaint)
	}
	return source.Errorf("events: missing, expected an array")
}

// event reads an event in the JSON form.
func (p *parser) event(where func() string, raw []byte) {
	e, notes := lenient.Read[event](&p.Batch, where, raw)
	if e == nil {
		return
	}
	if e.Geometries != nil {
		p.old = true
		return
	}
	g := p.gather(&e.facts, where, raw, notes)
	if g == nil || g.none() {
		return
	}
	for i := range e.Geometry {
		at := &e.Geometry[i]
		g.add(fmt.Sprintf("geometry/%d/", i), at.Type, at.Coordinates, at.Date, at.Magnitude)
	}
}

// feature reads a feature in the GeoJSON form.
func (p *parser) feature(where func() string, raw []byte) {
	f, notes := lenient.Read[feature](&p.Batch, where, raw)
	if f == nil {
		return
	}
	g := p.gather(&f.Properties, where, raw, notes)
	if g == nil || g.none() {
		return
	}
	if f.Geometry.Type != "LineString" {
		g.add("geometry/", f.Geometry.Type, f.Geometry.Coordinates, f.Properties.Date, f.Properties.Magnitude)
		return
	}
	c := lenient.Cursor{Doc: f.Geometry.Coordinates} // valid JSON, because the whole record was decoded
	if c.Next() != '[' {
		g.note("geometry/coordinates: " + cmp.Or(lenient.Excerpt(f.Geometry.Coordinates), lenient.Nothing) + ", expected an array")
		return
	}
	n := 0
	_ = c.Elements(func(i int, at []byte) {
		date := ""
		if i < len(f.Properties.Dates) {
			date = f.Properties.Dates[i]
		}
		g.add(fmt.Sprintf("geometry/coordinates/%d/", i), "Point", at, date, Magnitude{})
		n++
	})
	if n != len(f.Properties.Dates) {
		g.note(fmt.Sprintf("properties/geometryDates: %d dates, expected one for each of %d positions", len(f.Properties.Dates), n))
	}
}

// gather adds a record to the earlier records of its event. It returns nil if the record has no
// event id.
func (p *parser) gather(f *facts, where func() string, raw []byte, notes []string) *gathered {
	id := eventID(f.ID)
	if id == "" {
		p.Reject(where, raw, append(notes, fmt.Sprintf("id: %s, expected an id such as EONET_15547", cmp.Or(lenient.ExcerptText(f.ID), lenient.Nothing)))...)
		return nil
	}
	g := p.byID[id]
	if g == nil {
		g = &gathered{facts: *f, raw: raw}
		g.ID = id
		p.byID[id] = g
		p.events = append(p.events, g)
	}
	g.records++
	g.note(notes...)
	for i, s := range f.Sources {
		if s.ID == "" && s.URL == "" {
			g.note(fmt.Sprintf("sources/%d: neither id nor url, expected one of them", i))
		}
	}
	// The features of an event repeat its common members, except for lines, which have fewer of
	// them. max makes the result independent of their order.
	g.Title = max(g.Title, f.Title)
	g.Description = max(g.Description, f.Description)
	g.Closed = max(g.Closed, f.Closed)
	if len(f.Sources) > len(g.Sources) {
		g.Sources = f.Sources
	}
	if len(f.Categories) > len(g.Categories) {
		g.Categories = f.Categories
	}
	return g
}

// maxNotes bounds the notes of an event; more would not help.
const maxNotes = 100

func (g *gathered) note(faults ...string) {
	if len(g.notes) < maxNotes {
		g.notes = append(g.notes, faults...)
	}
}

// finish makes the reports of the gathered events.
func (p *parser) finish() {
	for _, g := range p.events {
		r, reason := g.report(p.now)
		slices.Sort(g.notes)
		g.notes = slices.Compact(g.notes)
		switch {
		case reason != "":
			for range g.records - 1 { // the other features of the event
				if rule, ignored := strings.CutPrefix(reason, source.Ignoring); ignored {
					p.Ignore(g.ID, rule)
				}
			}
			p.Decline(func() string { return g.ID }, g.raw, reason, g.notes...)
		default:
			source.Note(r, g.notes...)
			p.Reports = append(p.Reports, *r)
			p.Further += g.records - 1
		}
	}
}
