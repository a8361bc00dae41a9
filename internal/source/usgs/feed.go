package usgs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// feature is an earthquake as a summary feed, the FDSN query and the detail document give it
// (earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php and geojson_detail.php). Members that are not named here are
// not read.
type feature struct {
	// ID is network and code of the preferred origin. It may change while the event goes on: properties.ids then has both.
	ID         string     `json:"id"`
	Properties properties `json:"properties"`
	Geometry   geometry   `json:"geometry"`
}

type geometry struct {
	Type        string      `json:"type"`
	Coordinates coordinates `json:"coordinates"`
}

// coordinates are longitude and latitude in degrees, and the depth in km below sea level: negative above it. Each of them
// may be null, and the depth may be missing.
type coordinates struct{ lon, lat, depth number }

func (c *coordinates) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = coordinates{}
	if dec.PeekKind() != '[' {
		value, err := dec.ReadValue()
		if err != nil || value.Kind() == 'n' {
			return err
		}
		return &unexpected{frame.Excerpt(value), "an array"}
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		var n number
		if err := n.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		switch i {
		case 0:
			c.lon = n
		case 1:
			c.lat = n
		case 2:
			c.depth = n
		}
	}
	_, err := dec.ReadToken()
	return err
}

// Unexpected is a value that is not of the expected type.
type unexpected struct{ found, expected string }

func (e *unexpected) Error() string { return e.found + ", expected " + e.expected }

type properties struct {
	// Mag may be negative (very small events), and null until there is one. MagType is its kind: ml, mb, mww …
	Mag     number `json:"mag"`
	MagType string `json:"magType"`
	// Place is "12 km NE of X, Country", a region's name, or the event's own name once it was given one
	// ("2025 Southern Tibetan Plateau Earthquake"). Title is "M 7.1 - " and the place; until 2013 it could be missing.
	Place string `json:"place"`
	Title string `json:"title"`
	// Time and Updated are milliseconds since 1970, negative before it.
	Time    number `json:"time"`
	Updated number `json:"updated"`
	URL     string `json:"url"`
	// Detail is the address of the detail document; the detail document itself does not have it.
	Detail string `json:"detail"`
	// Felt counts the reports of "Did You Feel It?", CDI is the strongest intensity among them. The feeds of 2013 write 0 for
	// none.
	Felt ornament `json:"felt"`
	CDI  ornament `json:"cdi"`
	// MMI is the greatest intensity that ShakeMap estimates (Modified Mercalli).
	MMI number `json:"mmi"`
	// Alert is the colour of PAGER, null as long as PAGER has said nothing: of most events it never says anything.
	Alert string `json:"alert"`
	// Status is "automatic", "reviewed" or "deleted"; in capitals in 2013.
	Status string `json:"status"`
	// Tsunami is 1 for great events in oceanic regions: look at tsunami.gov. It does not say that there is a tsunami.
	Tsunami ornament `json:"tsunami"`
	// IDs has the ids of all networks that know the event, Types the kinds of its products, both between commas: ",us1,nc2,".
	IDs   string `json:"ids"`
	Types string `json:"types"`
	// Type is "earthquake", "quarry blast" (in 2013 also "quarry"), "explosion", "ice quake" …: seismic events of all sorts.
	Type string `json:"type"`
	// Products is there in the detail alone: kind → array of product, the preferred first. It is read product by product.
	Products jsontext.Value `json:"products"`
}

// product is a revision of one product, from one contributor.
type product struct {
	UpdateTime number `json:"updateTime"`
	// Status is "UPDATE", "DELETE", or free: ground-failure writes "WARNING" there, which is no level of a hazard.
	Status string `json:"status"`
	// Properties are strings, numbers too ("9.212"), and those that are not known may be "nan".
	Properties jsontext.Value `json:"properties"`
	// Contents is path → content; an empty array when there is none. The path "" holds its bytes inline.
	Contents jsontext.Value `json:"contents"`
}

func (p *product) deleted() bool { return strings.EqualFold(p.Status, "DELETE") }

type content struct {
	URL   string `json:"url"`
	Bytes string `json:"bytes"`
}

// number is a number that may be missing. It is also read from a string, as all numbers of a product's properties are
// written; "nan" and "" are missing.
type number struct {
	value float64
	known bool
}

func (n *number) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*n = number{}
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	text := raw
	switch raw.Kind() {
	case 'n':
		return nil
	case '0':
	case '"':
		if text, err = jsontext.AppendUnquote(nil, raw); err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(string(text))) {
		case "", "nan", "null":
			return nil
		}
	default:
		return &unexpected{frame.Excerpt(raw), "a number"}
	}
	v, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return &unexpected{frame.Excerpt(raw), "a number"}
	}
	*n = number{v, true}
	return nil
}

// instant is the number as milliseconds, and whether it is a moment that can be.
func (n number) instant() (hazard.Instant, bool) {
	ok := n.known && n.value >= float64(hazard.MinInstant) && n.value <= float64(hazard.MaxInstant)
	if !ok {
		return 0, false
	}
	return hazard.Instant(math.Floor(n.value)), true
}

// ornament is a number on which nothing depends: when it cannot be read it counts as missing.
type ornament struct{ number }

func (o *ornament) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	err := o.number.UnmarshalJSONFrom(dec)
	if _, ok := errors.AsType[*unexpected](err); ok {
		return nil
	}
	return err
}

// options: bytes that are not UTF-8 do not cost an earthquake, they go when the text is cleaned. A member that is there
// twice does, since nobody can say which of them counts.
var options = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(false))

// maxRejects bounds the rejects of one payload that are kept one by one: a feed whose every record is unreadable says no
// more by its ten-thousandth.
const maxRejects = 1000

// Room is reserved for as many reports as a payload can hold by its size, in bytes, and the least recorded feature; but
// for no more than a week has, since what claims to be a feed may be anything.
const (
	leastRecord = 600
	maxReserve  = 2000
)

// Parse reads a FeatureCollection (a summary feed, or an answer of the FDSN query) or a single Feature (a detail), told
// apart by their type. Records are read one after the other: one that is no JSON, or not of the expected types, makes a
// Reject, and its neighbours stay.
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
	now     hazard.Instant
	batch   source.Batch
	unkept  int     // rejects beyond maxRejects
	feature feature // the one that is being read
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
		case "type", "features", "metadata", "status", "title", "detail", "error", "message":
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
			return c.Elements(func(i int, raw []byte) { p.record(raw, i) })
		}
		raw, err := c.Value()
		head[name] = raw
		return err
	})
	kind := frame.Word(head["type"])
	if kind != "FeatureCollection" && (kind != "" || err == nil) {
		p.batch, p.unkept = source.Batch{}, 0 // features of something else
	}
	if err != nil {
		return err
	}
	switch {
	case kind == "Feature":
		p.record(bytes.TrimSpace(doc[:c.At]), detail)
	case kind == "FeatureCollection" && listed:
	case kind == "FeatureCollection":
		return source.Errorf("features: %s, expected an array", cmp.Or(frame.Excerpt(head["features"]), "missing"))
	default:
		if said := complaint(head); said != "" {
			return source.Errorf("an error message instead of earthquakes: %s", said)
		}
		return source.Errorf("type: %s, expected FeatureCollection or Feature", cmp.Or(frame.Excerpt(head["type"]), "missing"))
	}
	if c.Next() != frame.End {
		return source.Errorf("%s after the end of the document, at byte %d", frame.Excerpt(doc[c.At:]), c.At)
	}
	return failure(head["metadata"])
}

// failure is the error that a FeatureCollection carries in its metadata: so a query may say that it failed.
func failure(raw []byte) error {
	var metadata struct {
		Status ornament `json:"status"`
		Title  string   `json:"title"`
		Error  string   `json:"error"`
	}
	if err := json.Unmarshal(raw, &metadata, options); err != nil || !metadata.Status.known || metadata.Status.value == 200 {
		return nil // nothing depends on the rest of it
	}
	return source.Errorf("metadata/status: %v (%s), expected 200", metadata.Status.value,
		frame.ExcerptText(cmp.Or(metadata.Error, metadata.Title)))
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

// detail stands for the place in features of a feature that is a document of its own.
const detail = -1

// record reads the i-th feature, or the detail.
func (p *parser) record(raw []byte, i int) {
	p.batch.Read++
	p.feature = feature{}
	reason, id := "", ""
	err := unmarshalObject(raw, &p.feature)
	switch {
	case err != nil && p.full():
		p.unkept++
		return
	case err != nil:
		reason, id = fault(err, raw), idIn(raw)
	default:
		reason, id = p.report(&p.feature, i == detail), eventID(p.feature.ID)
	}
	switch {
	case reason == "":
	case id != "":
		p.reject(id, reason, raw)
	case i == detail:
		p.reject("feature", reason, raw)
	default:
		p.reject("features/"+strconv.Itoa(i), reason, raw)
	}
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

var errNoObject = errors.New("expected an object")

func unmarshalObject(raw []byte, to any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return errNoObject
	}
	return json.Unmarshal(raw, to, options)
}

// idIn finds the id of a feature that could not be read as a whole; empty if it has none.
func idIn(raw []byte) string { return eventID(frame.Word(frame.Member(raw, "id"))) }

// fault says in one sentence which member of raw is wrong, what it is and what was expected.
func fault(err error, raw []byte) string {
	if err == errNoObject {
		return frame.Excerpt(raw) + ", " + err.Error()
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		u, ok := errors.AsType[*unexpected](err)
		if !ok {
			u = &unexpected{cmp.Or(frame.Excerpt(e.JSONValue), e.JSONKind.String()), "a string"}
			if e.GoType != nil && e.GoType.Kind() != reflect.String {
				u.expected = "an object"
			}
		}
		return memberName(e.JSONPointer) + ": " + u.Error()
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return memberName(e.JSONPointer) + ": the member is there twice"
		}
		return fmt.Sprintf("%s: not JSON at byte %d: %v", memberName(e.JSONPointer), e.ByteOffset, e.Err)
	}
	return err.Error()
}

func memberName(p jsontext.Pointer) string {
	return cmp.Or(frame.ExcerptText(strings.TrimPrefix(string(p), "/")), "the record")
}
