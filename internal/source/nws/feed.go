package nws

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// api is where the service publishes alerts and zones.
const api = "https://api.weather.gov/"

// nationalTitle is the title of the list of everything in force. Lists of a state or a point have a longer one.
const nationalTitle = "Current watches, warnings, and advisories"

// feature is one message: a CAP 1.2 alert with one info block, flattened (api.weather.gov/openapi.json, AlertGeoJson).
type feature struct {
	Type string `json:"type"`
	URL  string `json:"id"` // the API's own document of the message
	// Geometry is the polygon of a storm-based warning. It is null where the warning is for whole zones.
	Geometry   jsontext.Value `json:"geometry"`
	Properties *alert         `json:"properties"`
}

// alert is the message itself. The sentences are those of CAP 1.2 and of the service's documentation of its API.
type alert struct {
	URL           string      `json:"@id"`           // the API's own document of the message
	ID            string      `json:"id"`            // identifies the message, not the event
	Area          string      `json:"areaDesc"`      // names of the zones or counties, separated by "; "
	Geocode       geocode     `json:"geocode"`       // the same as codes
	AffectedZones []string    `json:"affectedZones"` // addresses of the zones' shapes
	References    []reference `json:"references"`    // earlier messages that this one follows
	Sent          string      `json:"sent"`          // when the message was issued
	Effective     string      `json:"effective"`     // from when the message holds
	Onset         string      `json:"onset"`         // when the event is expected to begin
	Expires       string      `json:"expires"`       // when the message wants renewal: not the end of the event
	Ends          string      `json:"ends"`          // when the event is expected to end; null: until further notice
	Status        string      `json:"status"`        // Actual, Exercise, System, Test, Draft
	MessageType   string      `json:"messageType"`   // Alert, Update, Cancel, Ack, Error
	Scope         string      `json:"scope"`         // Public, Restricted, Private; not in older documents
	Severity      string      `json:"severity"`      // Extreme, Severe, Moderate, Minor, Unknown
	Certainty     string      `json:"certainty"`     // Observed, Likely, Possible, Unlikely, Unknown
	Urgency       string      `json:"urgency"`       // Immediate, Expected, Future, Past, Unknown
	Event         string      `json:"event"`         // one of the names of /alerts/types
	SenderName    string      `json:"senderName"`    // the office
	Headline      string      `json:"headline"`
	Description   string      `json:"description"` // wrapped at 69 columns
	Instruction   string      `json:"instruction"`
	Parameters    struct {
		VTEC []string `json:"VTEC"`
		// Headline is the forecaster's own headline, where Headline is made by a program.
		Headline []string `json:"NWSheadline"`
		// Expired lists earlier messages that References leaves out because they have expired: "sender,identifier,sent …".
		Expired []string `json:"expiredReferences"`
		// Threats of damage (NWSI 10-511, 10-922): CATASTROPHIC is an emergency, as the forecaster calls it in the text.
		FlashFloodThreat   []string `json:"flashFloodDamageThreat"`
		TornadoThreat      []string `json:"tornadoDamageThreat"`
		ThunderstormThreat []string `json:"thunderstormDamageThreat"`
		MaxWindGust        []string `json:"maxWindGust"` // "60 MPH", "Up to 50 MPH"
		MaxHailSize        []string `json:"maxHailSize"` // inches: "1.25", "Up to .75"; "0.00" is none
	} `json:"parameters"`
}

type geocode struct {
	SAME []string `json:"SAME"` // counties and marine areas: 0, FIPS state, FIPS county
	UGC  []string `json:"UGC"`  // counties (third letter C) and zones (Z)
}

type reference struct {
	Identifier string `json:"identifier"`
	Sent       string `json:"sent"`
}

var list = frame.Collection{
	Want: "alerts", Lists: []string{"features"}, Heads: append([]string{"type", "pagination", "properties"}, frame.Complaints...),
}

// Parse reads a FeatureCollection of alerts, or one alert. It returns a *source.PayloadError, beside what it could read,
// when the payload as a whole is not what the service publishes; Cut when only its end is missing or broken.
//
// A message of which a part cannot be read is shown with a note on that part. The batch is Whole only if it can serve as proof of
// absence: the payload is the national list, read to its end, of one page, and not empty (hundreds of alerts are always in
// force). Copies of one message count as one record. Messages that share an id and the time of issue but not the content
// are all suspect.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := newParser(now)
	doc, err := list.Read(payload, p.record)
	kind := doc.Word("type")
	switch {
	case kind != "FeatureCollection" && (kind != "" || err == nil): // whatever it is, it is no list of alerts
		p = newParser(now)
		if err != nil {
			break
		}
		if kind != "Feature" || doc.Head["properties"] == nil {
			return source.Batch{}, notThis(kind, doc.Word("title"), doc.Word("detail"), `"FeatureCollection" or "Feature"`)
		}
		p.record(frame.At("feature"), doc.Object)
	case err == nil && doc.Listed == "":
		return source.Batch{}, source.Errorf("features: %s, expected an array", cmp.Or(frame.Excerpt(doc.Head["features"]), frame.Nothing))
	}
	p.holdContradictions()
	if err == nil && doc.Word("title") == nationalTitle {
		p.keepListed()
		p.Current = true
		p.Whole = !paged(doc.Head["pagination"]) && p.Batch.Read > 0
	}
	return p.Done(), err
}

// paged reports whether the list goes on at another address.
func paged(raw []byte) bool {
	next := frame.Member(raw, "next")
	return len(raw) > 0 && raw[0] != '{' || next != nil && string(next) != "null" && string(next) != `""`
}

type parser struct {
	frame.Batch
	now  hazard.Instant
	seen map[copyKey]*seen
	// openEnded are the indices of reports whose end the service has not said.
	openEnded []int
}

func newParser(now hazard.Instant) parser {
	return parser{now: now, seen: map[copyKey]*seen{}, Batch: frame.Batch{
		// A forgiving look for the id alone: a person who looks into the reject can then find the message.
		ID: func(raw []byte) string {
			return hazard.CleanLine(frame.Cut(frame.Word(frame.Member(frame.Member(raw, "properties"), "id")), maxID))
		},
		Events: func(_ string, raw []byte) []string { return names(raw, now) },
	}}
}

// copyKey is what two records have in common when they should be copies of one message.
type copyKey struct {
	id   string
	sent hazard.Instant
}

// seen is what was read under one copyKey.
type seen struct {
	raw     []byte            // of the first record
	sum     [sha256.Size]byte // of raw without white space, once hasSum
	hasSum  bool
	reports []int // of all records
	clash   bool  // not all of them are copies
}

// record reads one feature.
func (p *parser) record(where func() string, raw []byte) {
	f, notes := frame.Read[feature](&p.Batch, where, raw)
	if f == nil {
		return
	}
	var m message
	err := f.check()
	if err == nil {
		m, err = read(f, notes, p.now)
	}
	if err != nil {
		p.Reject(where, raw, append(notes, err.Error())...)
		return
	}
	key := copyKey{f.Properties.ID, m.sent}
	s := p.seen[key]
	switch {
	case s == nil:
		s = &seen{raw: raw}
		p.seen[key] = s
	case s.same(raw):
		p.Batch.Read-- // a copy
		return
	default:
		s.clash = true
	}
	if len(m.reports) == 0 {
		p.Ignored++
	}
	for _, r := range m.reports {
		at := len(p.Reports)
		s.reports = append(s.reports, at)
		if r.openEnded && r.Ended == "" {
			p.openEnded = append(p.openEnded, at)
		}
		p.Reports = append(p.Reports, r.Report)
	}
}

// check tells what is missing without which a message can be neither named nor compared.
func (f *feature) check() error {
	if f.Properties == nil {
		return fmt.Errorf("properties: %s, expected an object", frame.Nothing)
	}
	al := f.Properties
	if al.ID == "" { // the addresses end in it
		al.ID = path.Base(cmp.Or(al.URL, f.URL, "/"))
	}
	switch id := al.ID; {
	case id == "/":
		return errors.New("properties/id: missing, expected the identifier of the message")
	case len(id) > maxID || hazard.CleanLine(id) != id:
		return fmt.Errorf("properties/id: %.40q, expected at most %d plain characters on one line", id, maxID)
	}
	return nil
}

// maxID bounds an identifier, in bytes. The service's have about 70.
const maxID = 255

// names are the names of the events that a rejected message may speak of; nil if it does not tell. An
// event with VTEC strings is known by these alone, so each of them must be readable.
func names(raw []byte, now hazard.Instant) (all []string) {
	about := frame.Member(raw, "properties")
	codes := frame.Member(frame.Member(about, "parameters"), "VTEC")
	if codes == nil {
		if bytes.Contains(raw, []byte(`"VTEC"`)) {
			return nil
		}
		return chainNames(about)
	}
	c := frame.Cursor{Doc: codes}
	if c.Next() != '[' {
		return nil
	}
	readable := true
	err := c.Elements(func(_ int, raw []byte) {
		text := strings.TrimSpace(frame.Word(raw))
		v, ok := identityOf(text)
		if !ok {
			readable = readable && isHydrologic(text)
			return
		}
		v.action = "CON"
		for _, at := range []hazard.Instant{now.Add(-turnOfYear), now, now.Add(turnOfYear)} {
			key, earlier := v.keys(at)
			all = append(append(all, key), earlier...)
		}
	})
	if err != nil || !readable || len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chainNames are the identifiers of a message without VTEC and of those that it follows; nil without its own.
func chainNames(about []byte) []string {
	id := hazard.CleanLine(frame.Cut(frame.Word(frame.Member(about, "id")), maxID))
	if id == "" {
		return nil
	}
	all := []string{id}
	c := frame.Cursor{Doc: frame.Member(about, "references")}
	if c.Next() == '[' {
		err := c.Elements(func(_ int, raw []byte) {
			all = append(all, hazard.CleanLine(frame.Word(frame.Member(raw, "identifier"))))
		})
		if err != nil {
			return nil
		}
	}
	return all
}

// same tells whether raw is a copy of the first record, whatever its white space.
func (s *seen) same(raw []byte) bool {
	if bytes.Equal(s.raw, raw) {
		return true
	}
	if !s.hasSum {
		s.sum, s.hasSum = digest(s.raw), true
	}
	return s.sum == digest(raw)
}

func digest(raw []byte) [sha256.Size]byte { return sha256.Sum256(compact(raw)) }

// compact is raw without white space, in memory of its own; as it is, if it is no JSON.
func compact(raw []byte) jsontext.Value {
	v := jsontext.Value(raw).Clone()
	_ = v.Compact()
	return v
}

// holdContradictions marks messages that contradict each other under one id and time: nobody knows which is right.
func (p *parser) holdContradictions() {
	for _, s := range p.seen {
		if !s.clash {
			continue
		}
		for _, i := range s.reports {
			r := &p.Reports[i]
			r.Suspect = frame.Joined("; ", r.Suspect, "another message of the same id and time of issue has other content")
		}
	}
}

// keepListed extends what has no end said, and whose renewal is overdue, as long as the service lists it: it is in force.
// The end is a round time, so that it does not move with each poll, and is extended before it comes: a list that has not
// changed may be read again only after 10 minutes.
func (p *parser) keepListed() {
	end := ceil(p.now.Add(30*time.Minute), 15*time.Minute)
	for _, i := range p.openEnded {
		if r := &p.Reports[i]; *r.End <= p.now.Add(grace) {
			r.End = new(end)
		}
	}
}

func ceil(t hazard.Instant, d time.Duration) hazard.Instant {
	step := hazard.Instant(d.Milliseconds())
	rest := t % step
	if rest < 0 {
		rest += step
	}
	if rest == 0 {
		return t
	}
	return t + step - rest
}

// notThis is the error of a JSON document of another kind: a problem document (RFC 9457) tells what is wrong.
func notThis(typ, title, detail, want string) error {
	if title != "" && detail != "" || strings.Contains(typ, "/problems/") {
		return source.Errorf("problem document: %s", hazard.CleanLine(frame.Cut(frame.Joined(": ", title, detail), 300)))
	}
	return source.Errorf("type: %.40q, expected %s", typ, want)
}
