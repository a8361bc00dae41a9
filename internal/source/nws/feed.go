package nws

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
	"hazardd/internal/source/frame"
)

// api is where the service publishes alerts and zones.
const api = "https://api.weather.gov/"

// nationalTitle is the title of the list of everything in force. Lists of a state or a point have a longer one.
const nationalTitle = "Current watches, warnings, and advisories"

// maxRejects is how many unreadable records a payload may hold: beyond it the payload, not the record, is at fault, and
// keeping each record would need more memory than the payload has.
const maxRejects = 1000

// feature is one message: a CAP 1.2 alert with one info block, flattened (api.weather.gov/openapi.json, AlertGeoJson).
type feature struct {
	Type string `json:"type"`
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

// lenient is how the document around the features is read: what is wrong inside one of them is that one's own affair.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Parse reads a FeatureCollection of alerts, or one alert. It returns a *source.PayloadError, beside what it could read,
// when the payload as a whole is not what the service publishes; Cut when only its end is missing or broken.
//
// The batch is Whole only if it can serve as proof of absence: the payload is the national list, read to its end, of one
// page, and not empty (hundreds of alerts are always in force). Copies of one message count as one record. Messages that
// share an id and the time of issue but not the content are all suspect.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now, seen: map[copyKey]*seen{}}
	err := p.document(payload)
	p.holdContradictions()
	if err != nil {
		return p.batch, err
	}
	if p.national {
		p.keepListed()
		p.batch.Whole = !p.paged && p.batch.Read > 0
	}
	return p.batch, nil
}

type parser struct {
	now      hazard.Instant
	batch    source.Batch
	seen     map[copyKey]*seen
	national bool // the title is that of the national list
	paged    bool // there is a next page
	// openEnded are the indices of reports whose end the service has not said.
	openEnded []int
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

func (p *parser) document(payload []byte) error {
	d, err := open(payload)
	if err != nil {
		return err
	}
	var words struct{ typ, title, detail string }
	var hasFeatures, hasProperties bool
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return broken(d, err)
		}
		switch member := name.String(); member {
		case "features":
			if hasFeatures {
				return source.Errorf("features: given twice, expected once")
			}
			hasFeatures = true
			if err := p.features(d, payload); err != nil {
				return err
			}
		case "type", "title", "detail":
			into := map[string]*string{"type": &words.typ, "title": &words.title, "detail": &words.detail}[member]
			if *into, err = stringValue(d); err != nil {
				return err
			}
		case "pagination":
			v, err := d.ReadValue()
			if err != nil {
				return broken(d, err)
			}
			var page struct {
				Next string `json:"next"`
			}
			p.paged = json.Unmarshal(v, &page, lenient...) != nil || page.Next != ""
		default:
			hasProperties = hasProperties || member == "properties"
			if err := d.SkipValue(); err != nil {
				return broken(d, err)
			}
		}
	}
	if err := finish(d); err != nil {
		return err
	}
	switch {
	case words.typ == "FeatureCollection" && hasFeatures:
		p.national = words.title == nationalTitle
		return nil
	case words.typ == "Feature" && hasProperties:
		return p.record(payload, "feature")
	}
	p.batch = source.Batch{} // whatever it was, it was no list of alerts
	p.seen = nil
	return notThis(words.typ, words.title, words.detail, `"FeatureCollection" or "Feature"`)
}

// features reads the array of features, each on its own.
func (p *parser) features(d *jsontext.Decoder, payload []byte) error {
	switch kind := d.PeekKind(); kind {
	case '[':
	case 0:
		_, err := d.ReadToken()
		return broken(d, err)
	default:
		return source.Errorf("features: %s, expected an array", kindName(kind))
	}
	if _, err := d.ReadToken(); err != nil {
		return broken(d, err)
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		v, err := d.ReadValue()
		if err != nil {
			return broken(d, err)
		}
		end := d.InputOffset()
		if err := p.record(payload[end-int64(len(v)):end], fmt.Sprintf("features/%d", i)); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return broken(d, err)
	}
	return nil
}

// record reads one feature. It fails only when there are too many bad ones.
func (p *parser) record(raw []byte, where string) error {
	var f feature
	err := json.Unmarshal(raw, &f, jsontext.AllowInvalidUTF8(true)) // no warning is lost for an accent
	if err == nil {
		err = f.check()
	}
	if err != nil {
		p.batch.Read++
		return p.reject(raw, where, reason(err))
	}
	m, err := read(&f, p.now)
	if err != nil {
		p.batch.Read++
		return p.reject(raw, where, err.Error())
	}
	key := copyKey{f.Properties.ID, m.sent}
	s := p.seen[key]
	switch {
	case s == nil:
		s = &seen{raw: raw}
		p.seen[key] = s
	case s.same(raw):
		return nil
	default:
		s.clash = true
	}
	p.batch.Read++
	if len(m.reports) == 0 {
		p.batch.Ignored++
	}
	for _, r := range m.reports {
		at := len(p.batch.Reports)
		s.reports = append(s.reports, at)
		if r.openEnded && r.Ended == "" {
			p.openEnded = append(p.openEnded, at)
		}
		p.batch.Reports = append(p.batch.Reports, r.Report)
	}
	return nil
}

// check tells what is missing without which a message can be neither named nor compared.
func (f *feature) check() error {
	switch {
	case f.Type != "Feature":
		return fmt.Errorf(`type: %.40q, expected "Feature"`, f.Type)
	case f.Properties == nil:
		return errors.New("properties: missing, expected an object")
	}
	id := f.Properties.ID
	switch {
	case id == "":
		return errors.New("properties/id: missing, expected the identifier of the message")
	case len(id) > maxID || hazard.CleanLine(id) != id:
		return fmt.Errorf("properties/id: %.40q, expected at most %d plain characters on one line", id, maxID)
	}
	return nil
}

// maxID bounds an identifier, in bytes. The service's have about 70.
const maxID = 255

func (p *parser) reject(raw []byte, where, why string) error {
	if len(p.batch.Rejects) == maxRejects {
		return source.Errorf("more than %d unreadable records, the last %s: %s", maxRejects, where, why)
	}
	// A second, forgiving look for the id alone: a person who looks into the reject can then find the message.
	id := frame.Word(frame.Member(frame.Member(raw, "properties"), "id"))
	p.batch.Rejects = append(p.batch.Rejects, source.Reject{
		Record: cmp.Or(hazard.CleanLine(cut(id, maxID)), where), Reason: why, Raw: source.Keep(raw), Events: names(raw, p.now),
	})
	return nil
}

// vtecIdentity is what a VTEC string says of the identity of its event, whatever is wrong with the rest.
var vtecIdentity = regexp.MustCompile(`^/[A-Z]\.[A-Z]{3}\.([A-Z0-9]{4})\.([A-Z0-9]{2})\.([A-Z])\.([0-9]{4})\.`)

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
		m := vtecIdentity.FindStringSubmatch(text)
		if m == nil {
			readable = readable && isHydrologic(text)
			return
		}
		v := vtec{action: "CON", office: m[1], phenomenon: m[2], significance: m[3][0], number: m[4]}
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
	id := hazard.CleanLine(cut(frame.Word(frame.Member(about, "id")), maxID))
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

// compact is raw without white space, in memory of its own.
func compact(raw []byte) jsontext.Value {
	v := jsontext.Value(raw).Clone()
	_ = v.Compact() // it was read before, so it is JSON
	return v
}

// holdContradictions marks messages that contradict each other under one id and time: nobody knows which is right.
func (p *parser) holdContradictions() {
	for _, s := range p.seen {
		if !s.clash {
			continue
		}
		for _, i := range s.reports {
			r := &p.batch.Reports[i]
			r.Suspect = joined("; ", r.Suspect, "another message of the same id and time of issue has other content")
		}
	}
}

// keepListed extends what has no end said, and whose renewal is overdue, as long as the service lists it: it is in force.
// The end is a round time, so that it does not move with each poll, and is extended before it comes: a list that has not
// changed may be read again only after 10 minutes.
func (p *parser) keepListed() {
	end := ceil(p.now.Add(30*time.Minute), 15*time.Minute)
	for _, i := range p.openEnded {
		if r := &p.batch.Reports[i]; *r.End <= p.now.Add(grace) {
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

// open begins to read a JSON object.
func open(payload []byte) (*jsontext.Decoder, error) {
	switch text := bytes.TrimSpace(payload); {
	case len(text) == 0:
		return nil, source.Errorf("empty payload, expected a JSON object")
	case text[0] == '<':
		return nil, source.Errorf("HTML or XML (begins with %.40q), expected a JSON object", text[:min(len(text), 40)])
	case text[0] != '{':
		return nil, source.Errorf("begins with %.40q, expected a JSON object", text[:min(len(text), 40)])
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(payload), lenient...)
	if _, err := d.ReadToken(); err != nil {
		return nil, broken(d, err)
	}
	return d, nil
}

// finish reads the end of the object that open began, and that nothing follows it.
func finish(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return broken(d, err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return &source.PayloadError{Reason: "something follows the document, expected its end", Cut: true}
	}
	return nil
}

// broken is the error of a payload that cannot be read further: from here on nothing is known.
func broken(d *jsontext.Decoder, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &source.PayloadError{Reason: fmt.Sprintf("ends early, at %s", position(d)), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not JSON at %s: %v", position(d), err), Cut: true}
}

// position says where a decoder stands, for people.
func position(d *jsontext.Decoder) string {
	pointer := strings.TrimPrefix(string(d.StackPointer()), "/")
	if len(pointer) == 0 || len(pointer) > 100 {
		return fmt.Sprintf("byte %d", d.InputOffset())
	}
	return fmt.Sprintf("byte %d (%q)", d.InputOffset(), pointer)
}

// stringValue reads a value; it is empty if it is no string.
func stringValue(d *jsontext.Decoder) (string, error) {
	v, err := d.ReadValue()
	if err != nil {
		return "", broken(d, err)
	}
	if v.Kind() != '"' {
		return "", nil
	}
	text, _ := jsontext.AppendUnquote(nil, v) // its error is the invalid UTF-8 that was allowed
	return string(text), nil
}

// notThis is the error of a JSON document of another kind: a problem document (RFC 9457) tells what is wrong.
func notThis(typ, title, detail, want string) error {
	if title != "" && detail != "" || strings.Contains(typ, "/problems/") {
		return source.Errorf("problem document: %s", hazard.CleanLine(cut(joined(": ", title, detail), 300)))
	}
	return source.Errorf("type: %.40q, expected %s", typ, want)
}

// reason says which field of a record is of the wrong shape.
func reason(err error) string {
	if bad, ok := errors.AsType[*json.SemanticError](err); ok {
		want := "another kind of value"
		if bad.GoType != nil {
			want = wants[bad.GoType.Kind()]
		}
		return fmt.Sprintf("%s: %s, expected %s", field(bad.JSONPointer), kindName(bad.JSONKind), want)
	}
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%s: %v", field(bad.JSONPointer), bad.Err)
	}
	return err.Error()
}

// field is a JSON pointer for people.
func field(p jsontext.Pointer) string {
	return cmp.Or(strings.TrimPrefix(cut(string(p), 100), "/"), "record")
}

// wants are the JSON words for the Go kinds of the document's structs.
var wants = map[reflect.Kind]string{
	reflect.String: "a string", reflect.Slice: "an array", reflect.Struct: "an object", reflect.Pointer: "an object",
}

// kindName is the JSON word for a kind of value.
func kindName(k jsontext.Kind) string {
	switch k {
	case 0:
		return "missing"
	case '{', '}':
		return "object"
	case '[', ']':
		return "array"
	case '0':
		return "number"
	}
	return k.String()
}
