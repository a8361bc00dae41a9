package eonet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// maxBytes bounds a payload. 99 recorded events with 471 positions have 600 kB in GeoJSON, the longer form.
const maxBytes = 32 << 20

// api is where the events are.
const api = "https://eonet.gsfc.nasa.gov/api/v3/events"

// facts are what an event and each feature of it have in common (eonet.gsfc.nasa.gov/docs/v3). Members that are not named here
// are not read.
type facts struct {
	ID    string `json:"id"` // "EONET_15547": unique for the event
	Title string `json:"title"`
	// Description is there for few: a sentence or two, of wildfires where they are.
	Description string `json:"description"`
	// Closed is when the event ended, as a date mostly; "may or may not accurately represent the absolute ending of the event". Null
	// while it is open.
	Closed     string         `json:"closed"`
	Categories []category     `json:"categories"`
	Sources    []reference    `json:"sources"`
	Geometries jsontext.Value `json:"geometries"` // version 2.1; version 3 has geometry
	Magnitude                 // of a GeoJSON feature: at its position
	Date       string         `json:"date"` // of a GeoJSON feature
	Dates      []string       `json:"geometryDates"`
}

// Magnitude is how great the event was at a position, null where nobody measures that.
type Magnitude struct {
	Value frame.Number `json:"magnitudeValue"`
	// Unit is "kts" (storms), "acres" (fires), "NM^2" (icebergs) and others.
	Unit string `json:"magnitudeUnit"`
}

type category struct {
	ID    label  `json:"id"` // "severeStorms"; in version 2.1 a number
	Title string `json:"title"`
}

// reference is a page or document of a source that reports the event. Several for one event are usual.
type reference struct {
	ID  string `json:"id"`  // "JTWC", "SIVolcano", "GDACS", "PDC", "IRWIN" …
	URL string `json:"url"` // with the entities of HTML: "…?eventtype=VO&amp;eventid=512"
}

// event is an event of the JSON form.
type event struct {
	facts
	Geometry []placement `json:"geometry"`
}

// placement is a position with its date: a track, mostly in order of time.
type placement struct {
	Magnitude
	Date        string         `json:"date"`
	Type        string         `json:"type"` // Point or Polygon
	Coordinates jsontext.Value `json:"coordinates"`
}

// feature is a position of an event in the GeoJSON form: as many features as the event has positions. Those of Type LineString hold a
// whole track, with its dates in geometryDates ("2021-03-26 00:00:00", without zone), but neither sources nor magnitudes.
type feature struct {
	Properties facts `json:"properties"`
	Geometry   struct {
		Type        string         `json:"type"`
		Coordinates jsontext.Value `json:"coordinates"`
	} `json:"geometry"`
}

// label is a text that may be written as a number.
type label string

func (l *label) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*l = ""
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
	case '"':
		*l = label(frame.Word(raw))
	case '0':
		*l = label(raw)
	default:
		return &frame.Unexpected{Found: frame.Excerpt(raw), Expected: "a string"}
	}
	return nil
}

// maxRejects bounds the rejects of one payload that are kept one by one: a list whose every record is unreadable says no more
// by its ten-thousandth.
const maxRejects = 1000

// Parse reads a list of events ({"events":…}), one event, or a FeatureCollection of either, told apart by their members. Records are
// read one after the other: one that is no JSON, or not of the expected types, makes a Reject, and its neighbours stay; so does a
// position. Read counts events of JSON, features of GeoJSON.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, byID: map[string]*gathered{}}
	err := p.document(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if errors.Is(err, errOld) {
		return source.Batch{}, err
	}
	p.finish()
	if p.unkept > 0 {
		p.batch.Rejects = append(p.batch.Rejects, source.Reject{
			Record: "events",
			Reason: fmt.Sprintf("%d further records could not be read", p.unkept),
		})
	}
	return p.batch, err
}

type parser struct {
	now    hazard.Instant
	batch  source.Batch
	unkept int // rejects beyond maxRejects
	// What was read of each event, in the order in which they came.
	events []*gathered
	byID   map[string]*gathered
	old    bool // a record is of version 2.1
}

// gathered is what the records of a payload say of one event.
type gathered struct {
	facts
	records   int
	positions []position
	raw       []byte // the first record, to be kept if the event makes no report
}

// errOld refuses version 2.1, whose categories are numbers and whose events have no magnitude: half of what it says would be lost
// silently.
var errOld = source.Errorf("EONET version 2.1 (geometries), expected version 3 (geometry)")

// document reads the outermost object.
func (p *parser) document(doc []byte) error {
	c := frame.Cursor{Doc: doc}
	switch c.Next() {
	case '{':
	case frame.End:
		return source.Errorf("an empty payload, expected events")
	case '<':
		return source.Errorf("HTML or XML instead of events: %s", frame.Excerpt(doc))
	default:
		return source.Errorf("%s, expected an object with events", frame.Excerpt(doc))
	}
	head := map[string][]byte{} // the members that say what the document is
	listed := ""                // the list that was read
	err := c.Members(func(name string) error {
		switch name {
		case "type", "events", "features", "categories", "geometry", "geometries", "id", "error", "message", "status", "detail":
		default:
			_, err := c.Value()
			return err
		}
		if _, twice := head[name]; twice {
			return source.Errorf("%s: the member is there twice", name)
		}
		head[name] = nil
		if (name == "events" || name == "features") && c.Next() == '[' {
			if listed != "" {
				return source.Errorf("%s beside %s, expected one of them", name, listed)
			}
			listed = name
			read := p.event
			if name == "features" {
				read = p.feature
			}
			return c.Elements(func(i int, raw []byte) { read(raw, name+"/"+strconv.Itoa(i)) })
		}
		raw, err := c.Value()
		head[name] = raw
		return err
	})
	kind := frame.Word(head["type"])
	if listed == "features" && kind != "FeatureCollection" && (kind != "" || err == nil) {
		*p = parser{now: p.now, byID: map[string]*gathered{}} // features of something else
		listed = ""
	}
	switch {
	case p.old || head["geometries"] != nil:
		return errOld
	case err != nil:
		return err
	case listed != "":
	case head["id"] != nil && head["geometry"] != nil && kind == "":
		p.event(bytes.TrimSpace(doc[:c.At]), "event")
		if p.old {
			return errOld
		}
	case head["events"] != nil || head["features"] != nil:
		return source.Errorf("events: %s, expected an array", frame.Excerpt(slices.Concat(head["events"], head["features"])))
	case head["categories"] != nil:
		return source.Errorf("a list of categories, expected events")
	default:
		if said := complaint(head); said != "" {
			return source.Errorf("an error message instead of events: %s", said)
		}
		return source.Errorf("events: missing, expected an array")
	}
	if c.Next() != frame.End {
		return source.Errorf("%s after the end of the document, at byte %d", frame.Excerpt(doc[c.At:]), c.At)
	}
	return nil
}

// complaint is what a document says of an error.
func complaint(head map[string][]byte) string {
	var said []string
	for _, name := range []string{"status", "error", "message", "detail"} {
		if raw, ok := head[name]; ok {
			said = append(said, frame.Excerpt(raw))
		}
	}
	return strings.Join(said, ", ")
}

// event reads an event of the JSON form.
func (p *parser) event(raw []byte, where string) {
	p.batch.Read++
	var e event
	if err := frame.UnmarshalObject(raw, &e); err != nil {
		p.unreadable(cmp.Or(eventID(frame.Word(frame.Member(raw, "id"))), where), err, raw)
		return
	}
	if e.Geometries != nil {
		p.old = true
		return
	}
	g := p.gather(&e.facts, raw, where)
	if g == nil || g.none() {
		return
	}
	for i := range e.Geometry {
		at := &e.Geometry[i]
		if err := g.add(at.Type, at.Coordinates, at.Date, at.Magnitude); err != nil {
			p.reject(eventID(e.ID), fmt.Sprintf("geometry/%d/%v", i, err), raw)
		}
	}
}

// feature reads a feature of the GeoJSON form.
func (p *parser) feature(raw []byte, where string) {
	p.batch.Read++
	var f feature
	if err := frame.UnmarshalObject(raw, &f); err != nil {
		p.unreadable(cmp.Or(eventID(frame.Word(frame.Member(frame.Member(raw, "properties"), "id"))), where), err, raw)
		return
	}
	g := p.gather(&f.Properties, raw, where)
	if g == nil || g.none() {
		return
	}
	id := eventID(f.Properties.ID)
	if f.Geometry.Type != "LineString" {
		if err := g.add(f.Geometry.Type, f.Geometry.Coordinates, f.Properties.Date, f.Properties.Magnitude); err != nil {
			p.reject(id, fmt.Sprintf("geometry/%v", err), raw)
		}
		return
	}
	c := frame.Cursor{Doc: f.Geometry.Coordinates} // is JSON: a part of what was read as such
	if c.Next() != '[' {
		p.reject(id, "geometry/coordinates: "+cmp.Or(frame.Excerpt(f.Geometry.Coordinates), frame.Nothing)+", expected an array", raw)
		return
	}
	n := 0
	_ = c.Elements(func(i int, at []byte) {
		date := ""
		if i < len(f.Properties.Dates) {
			date = f.Properties.Dates[i]
		}
		if err := g.add("Point", at, date, Magnitude{}); err != nil {
			p.reject(id, fmt.Sprintf("geometry/coordinates/%d: %v", i, err), raw)
		}
		n++
	})
	if n != len(f.Properties.Dates) {
		p.reject(id, fmt.Sprintf("properties/geometryDates: %d dates, expected one for each of %d positions", len(f.Properties.Dates), n), raw)
	}
}

// gather finds what was read of the event before, and adds what is new; nil if the record names no event.
func (p *parser) gather(f *facts, raw []byte, where string) *gathered {
	id := eventID(f.ID)
	if id == "" {
		p.reject(where, fmt.Sprintf("id: %s, expected an id such as EONET_15547", cmp.Or(frame.ExcerptText(f.ID), frame.Nothing)), raw)
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
	// The features of an event repeat what it is, but for those of lines, which say less; and whatever their order, it comes to the same.
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

// finish makes the reports of what was gathered.
func (p *parser) finish() {
	for _, g := range p.events {
		r, reason := g.report(p.now)
		switch {
		case reason != "":
			p.reject(g.ID, reason, g.raw)
		case r == nil:
			p.batch.Ignored += g.records
		default:
			p.batch.Reports = append(p.batch.Reports, *r)
		}
	}
}

// unreadable notes a record that is not JSON, or not of the expected types.
func (p *parser) unreadable(record string, err error, raw []byte) {
	if p.full() {
		p.unkept++
		return
	}
	p.reject(record, frame.Fault(err, raw), raw)
}

// full tells whether no more rejects are kept: then nobody need say why either.
func (p *parser) full() bool { return len(p.batch.Rejects) >= maxRejects }

// reject notes a record that could not be read, or is not to be believed.
func (p *parser) reject(record, reason string, raw []byte) {
	if p.full() {
		p.unkept++
		return
	}
	p.batch.Rejects = append(p.batch.Rejects, source.Reject{Record: record, Reason: reason, Raw: source.Keep(raw)})
}
