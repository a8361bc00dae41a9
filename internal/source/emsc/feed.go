package emsc

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// maxBytes bounds a payload. The polled query has 120 kB; the 430 recorded earthquakes of a month and a region have 256 kB.
const maxBytes = 16 << 20

// feature is an earthquake as the portal gives it (seismicportal.eu/fdsn-wsevent.html; there is no description of the members,
// so the sentences are from the recordings). Members that are not named here are not read.
type feature struct {
	// ID is the same as properties.unid.
	ID         string     `json:"id"`
	Geometry   geometry   `json:"geometry"`
	Properties properties `json:"properties"`
}

type geometry struct {
	Type string `json:"type"`
	// Coordinates are longitude and latitude in degrees, and the *height* in km: 15 km deep is -15, where FDSN services and
	// properties.depth say 15.
	Coordinates []frame.Number `json:"coordinates"`
}

type properties struct {
	// UNID is the portal's name of the event: the day and a number within it, "20250426_0000198".
	UNID string `json:"unid"`
	// SourceID is the event's number in SourceCatalog: with "EMSC-RTS" (real time system), the number of its page at emsc-csem.org.
	// It is written as a string.
	SourceID      label  `json:"source_id"`
	SourceCatalog string `json:"source_catalog"`
	// Time and LastUpdate are ISO 8601 in UTC with "Z" and one to six decimals of a second.
	Time       string `json:"time"`
	LastUpdate string `json:"lastupdate"`
	// Region is the name of the Flinn-Engdahl region, in capitals: "DODECANESE ISLANDS, GREECE".
	Region string       `json:"flynn_region"`
	Lat    frame.Number `json:"lat"`
	Lon    frame.Number `json:"lon"`
	// Depth is in km below sea level.
	Depth frame.Number `json:"depth"`
	// EvType is how certain (k known, s suspected) what kind of event is: e earthquake, m mine explosion …
	EvType string `json:"evtype"`
	// Auth is the network whose solution this is: "EMSC" for the centre's own, else "AFAD", "NOA" …
	Auth    string       `json:"auth"`
	Mag     frame.Number `json:"mag"`
	MagType string       `json:"magtype"`
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

// Room is reserved for as many reports as a payload can hold by its size, in bytes, and the least recorded feature; but not
// for more than a query is asked for a few times over, since what claims to be a list may be anything.
const (
	leastRecord = 400
	maxReserve  = 1000
)

// Parse reads a FeatureCollection (the answer of a query), a Feature, or a message of the web socket ({"action":…,"data":…}), told
// apart by their members. Records are read one after the other: one that is no JSON, or not of the expected types, makes
// a Reject, and its neighbours stay.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	err := p.document(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if p.unkept > 0 {
		p.batch.Rejects = append(p.batch.Rejects, source.Reject{
			Record: "features",
			Reason: fmt.Sprintf("%d further records could not be read", p.unkept),
		})
	}
	return p.batch, err
}

type parser struct {
	now    hazard.Instant
	batch  source.Batch
	unkept int // rejects beyond maxRejects
}

// document reads the outermost object.
func (p *parser) document(doc []byte) error {
	c := frame.Cursor{Doc: doc}
	switch c.Next() {
	case '{':
	case frame.End:
		return source.Errorf("an empty payload, expected GeoJSON")
	case '<':
		return source.Errorf("HTML or XML instead of GeoJSON: %s", frame.Excerpt(doc))
	default:
		return source.Errorf("%s, expected a GeoJSON object", frame.Excerpt(doc))
	}
	head := map[string][]byte{} // the members that say what the document is
	listed := false
	err := c.Members(func(name string) error {
		switch name {
		case "type", "features", "action", "data", "status", "title", "detail", "error", "message":
		default:
			_, err := c.Value()
			return err
		}
		if _, twice := head[name]; twice {
			return source.Errorf("%s: the member is there twice", name)
		}
		if head[name] = nil; name == "features" && c.Next() == '[' {
			listed = true
			p.batch.Reports = make([]hazard.Report, 0, min(len(doc)/leastRecord, maxReserve))
			return c.Elements(func(i int, raw []byte) { p.record(raw, "features/"+strconv.Itoa(i)) })
		}
		raw, err := c.Value()
		head[name] = raw
		return err
	})
	kind, action := frame.Word(head["type"]), frame.Word(head["action"])
	if kind != "FeatureCollection" && (kind != "" || err == nil) {
		p.batch, p.unkept = source.Batch{}, 0 // features of something else
	}
	if err != nil {
		return err
	}
	switch {
	case kind == "Feature":
		p.record(bytes.TrimSpace(doc[:c.At]), "feature")
	case kind == "FeatureCollection" && listed:
	case kind == "FeatureCollection":
		return source.Errorf("features: %s, expected an array", cmp.Or(frame.Excerpt(head["features"]), "missing"))
	case action == "create" || action == "update": // what was updated is told by its lastupdate as well
		p.record(head["data"], "data")
	case head["action"] != nil:
		return source.Errorf("action: %s, expected create or update", frame.Excerpt(head["action"]))
	default:
		if said := complaint(head); said != "" {
			return source.Errorf("an error message instead of earthquakes: %s", said)
		}
		return source.Errorf("type: %s, expected FeatureCollection or Feature", cmp.Or(frame.Excerpt(head["type"]), "missing"))
	}
	if c.Next() != frame.End {
		return source.Errorf("%s after the end of the document, at byte %d", frame.Excerpt(doc[c.At:]), c.At)
	}
	return nil
}

// complaint is what a document says of an error: the members of RFC 9457, and those that servers write instead.
func complaint(head map[string][]byte) string {
	var said []string
	for _, name := range []string{"status", "title", "error", "message", "detail"} {
		if raw, ok := head[name]; ok {
			said = append(said, frame.Excerpt(raw))
		}
	}
	return strings.Join(said, ", ")
}

// record reads a feature, which stands at where in the payload.
func (p *parser) record(raw []byte, where string) {
	p.batch.Read++
	var f feature
	if err := frame.UnmarshalObject(raw, &f); err != nil {
		if p.full() {
			p.unkept++
			return
		}
		p.reject(cmp.Or(eventID(frame.Word(frame.Member(raw, "id"))), where), frame.Fault(err, raw), raw)
		return
	}
	r, reason := f.report(p.now)
	if reason != "" {
		p.reject(cmp.Or(f.key(), where), reason, raw)
		return
	}
	p.batch.Reports = append(p.batch.Reports, r)
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
