package gdacs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// maxBytes bounds a payload. The greatest recorded list has 1.6 MB (RSS, 14 kB for an event), the greatest file with geometry 2.2 MB.
const maxBytes = 32 << 20

// feature is an event, or a polygon of one, in the API and in gdacs.geojson.
type feature struct {
	Type       string         `json:"type"`
	Geometry   jsontext.Value `json:"geometry"`
	Properties *properties    `json:"properties"`
}

// properties are those of a feature. Numbers and booleans are strings in places ("false"), in gdacs.geojson all of them. Members
// that are not named here are not read: bbox and latitude are the point again, shakemap[].conditions has latitude and longitude
// swapped.
type properties struct {
	EventType text `json:"eventtype"` // EQ, TC, FL, VO, DR, WF, TS
	EventID   text `json:"eventid"`   // with the type the identity; the polygons of gdacs.geojson have none
	EpisodeID text `json:"episodeid"` // counts the states of the event, but for EQ, where it is a number of its own
	EventName text `json:"eventname"` // "LALA-26", "Mayon", " Southern Africa-2018"; empty for EQ, FL, WF
	Glide     text `json:"glide"`     // GLIDE number, assigned late, to few

	AlertLevel        text `json:"alertlevel"`        // the highest of the event
	EpisodeAlertLevel text `json:"episodealertlevel"` // the present one
	AlertLevelEpisode text `json:"alertlevelepisode"` // the same in gdacs.geojson
	Description       text `json:"description"`       // begins with the level in places, as the next does
	HTMLDescription   text `json:"htmldescription"`
	IsTemporary       text `json:"istemporary"`
	IsCurrent         text `json:"iscurrent"` // followed for earthquakes alone

	FromDate     text `json:"fromdate"`     // UTC, without zone
	ToDate       text `json:"todate"`       // the last data: always past
	DateModified text `json:"datemodified"` // the last revision; not in gdacs.geojson, nor before 2022

	Country  text `json:"country"`  // names between commas, some of them empty; a sea region for EQ
	Source   text `json:"source"`   // agency of the data: NEIC, NOAA, JTWC, GLOFAS, GWIS, GDO, a VAAC
	SourceID text `json:"sourceid"` // the agency's own id; in geteventdata only

	Class       text `json:"Class"`       // Point_Centroid, or what polygon it is
	FeatureType text `json:"featuretype"` // WindRadii: the wind at one time
	Link        text `json:"link"`        // address of the page with type, event and episode
	URL         struct {
		Report text `json:"report"` // the same in the API
	} `json:"url"`

	SeverityData struct {
		Severity     text `json:"severity"`     // magnitude of EQ, km/h, ha, km²; 0 for FL and VO
		SeverityText text `json:"severitytext"` // "Magnitude 5.8M, Depth:10km"
	} `json:"severitydata"`
	Severity text `json:"severity"` // of gdacs.geojson

	Images    jsontext.Value `json:"images"`    // id → address; in geteventdata only, as are:
	Documents jsontext.Value `json:"documents"` // file name → address
	Sendai    jsontext.Value `json:"sendai"`    // figures of impact
}

// text is a string, or a number or boolean in its place; empty for null.
type text string

func (t *text) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*t = ""
	case '"':
		b, _ := jsontext.AppendUnquote(nil, v) // its error is the invalid UTF-8 that is allowed
		*t = text(b)
	case '0', 't', 'f':
		*t = text(v)
	default:
		return fmt.Errorf("%s, expected a string or a number", said(string(v)))
	}
	return nil
}

// lenient: bytes that are not UTF-8 cost no event, they go when the text is cleaned. Which of two members of one name counts
// nobody can say, but only where they matter.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// maxRejects bounds the rejects of one payload that are kept one by one.
const maxRejects = 1000

// Parse reads a document of GDACS, in any of the forms that the package knows, told apart by its content. A record is an
// event, with its polygons where the document has them.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless; of an event whose
// polygons may be cut off, none is kept.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	payload = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(payload), []byte("\ufeff")))
	var err error
	switch {
	case len(payload) == 0:
		err = source.Errorf("an empty payload, expected GeoJSON, RSS or CAP")
	case payload[0] == '{':
		err = p.json(payload)
	case payload[0] == '<':
		err = p.xml(payload)
	default:
		err = source.Errorf("begins with %s, expected GeoJSON, RSS or CAP", said(string(payload[:min(len(payload), maxSaid)])))
	}
	if p.unkept > 0 {
		p.batch.Rejects = append(p.batch.Rejects, source.Reject{
			Record: "document", Reason: fmt.Sprintf("%d further records could not be read", p.unkept),
		})
	}
	return p.batch, err
}

type parser struct {
	now    hazard.Instant
	batch  source.Batch
	unkept int // rejects beyond maxRejects
	alien  int // features of something else
	// lasting are the keys of the earthquakes that go on because they are listed.
	lasting []string

	groups []*group
	byID   map[string]*group
}

// group are the features of one episode of an event.
type group struct {
	event    *event // nil until a feature could be read
	raw      []byte // of the first feature
	where    string
	centroid bool // event is that of the centroid
	shapes   []shape
}

// full tells whether no more rejects are kept.
func (p *parser) full() bool { return len(p.batch.Rejects) >= maxRejects }

// reject notes a record that could not be read.
func (p *parser) reject(record, reason string, raw []byte) {
	if p.full() {
		p.unkept++
		return
	}
	p.batch.Rejects = append(p.batch.Rejects, source.Reject{Record: record, Reason: reason, Raw: source.Keep(raw)})
}

// add makes the report of an event.
func (p *parser) add(e *event, where string, raw []byte) {
	r, reason := e.report(p.now)
	if reason != "" {
		if isNumber(e.number) {
			where = hazard.CleanLine(clip(e.key(), maxID))
		}
		p.reject(where, reason, raw)
		return
	}
	p.batch.Reports = append(p.batch.Reports, r)
	if e.lasts(r.Severity) {
		p.batch.Current = true
		p.lasting = append(p.lasting, r.Key)
	}
}

// json reads a FeatureCollection (a list, gdacs.geojson, a geometry document) or a Feature (an event).
func (p *parser) json(payload []byte) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(payload), lenient)
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	var kind, complaint string
	var hasFeatures, hasProperties bool
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return p.cut(broken(dec, err))
		}
		member := name.String()
		if member == "features" && dec.PeekKind() == '[' {
			if hasFeatures {
				p.groups, p.batch = nil, source.Batch{}
				return source.Errorf("features: given twice, expected once")
			}
			hasFeatures = true
			if err := p.features(dec, payload); err != nil {
				return p.cut(err)
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return p.cut(broken(dec, err))
		}
		switch member {
		case "type":
			kind = word(v)
		case "properties":
			hasProperties = true
		case "title", "detail", "message", "Message", "error":
			complaint = joined(", ", complaint, word(v))
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return p.cut(broken(dec, err))
	}
	switch {
	case kind == "FeatureCollection" && hasFeatures:
	case kind == "Feature" && hasProperties && !hasFeatures:
		p.feature(payload, single, detailForm)
	default:
		p.groups, p.batch, p.unkept = nil, source.Batch{}, 0
		if complaint != "" {
			return source.Errorf("an error message instead of events: %s", said(complaint))
		}
		return source.Errorf("type: %s, expected FeatureCollection with features, or Feature", said(kind))
	}
	if p.alien > 0 && len(p.groups) == 0 {
		p.batch = source.Batch{}
		return source.Errorf("properties/eventtype: missing in all of %d features, expected events", p.alien)
	}
	p.finish()
	if _, err := dec.ReadToken(); err != io.EOF {
		return source.Errorf("something follows the document, at byte %d, expected its end", dec.InputOffset())
	}
	if hasFeatures {
		p.batch.Lasting = append([]string{}, p.lasting...)
	}
	for _, r := range p.batch.Rejects { // it may be of an earthquake that goes on
		if !isEvent.MatchString(r.Record) {
			p.batch.Lasting = nil
			break
		}
		p.batch.Lasting = append(p.batch.Lasting, r.Record)
	}
	return nil
}

// isEvent matches the key of an event.
var isEvent = regexp.MustCompile(`^[A-Z]{2}[0-9]+$`)

// features reads the array of features, each on its own.
func (p *parser) features(dec *jsontext.Decoder, payload []byte) error {
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		v, err := dec.ReadValue()
		if err != nil {
			return broken(dec, err)
		}
		end := dec.InputOffset()
		p.feature(payload[end-int64(len(v)):end], i, listForm)
	}
	if _, err := dec.ReadToken(); err != nil {
		return broken(dec, err)
	}
	return nil
}

// single is the place among features of one that is the document.
const single = -1

// feature reads the i-th feature into the group of its event.
func (p *parser) feature(raw []byte, i int, f form) {
	where := func() string {
		if i == single {
			return "feature"
		}
		return "features/" + strconv.Itoa(i)
	}
	var got feature
	err := json.Unmarshal(raw, &got, lenient)
	switch {
	case err != nil:
	case got.Type != "Feature":
		err = errors.New(fault("type", got.Type, "Feature"))
	case got.Properties == nil:
		err = errors.New("properties: missing, expected an object")
	}
	if err != nil {
		p.batch.Read++
		if p.full() {
			p.unkept++ // nobody need be told why
			return
		}
		p.reject(where(), readable(err), raw)
		return
	}
	e := got.Properties.event(f)
	if e.code == "" {
		p.alien++
		p.batch.Read++
		p.reject(where(), fault("properties/eventtype", "", "one of EQ, TC, FL, VO, DR, WF, TS"), raw)
		return
	}
	g := p.group(e, where(), raw)
	class := string(got.Properties.Class)
	if class != "" && !strings.HasPrefix(class, "Point_Centroid") {
		if g.event == nil {
			g.event = e
		}
		if role(e.code, class) != "" || strings.HasPrefix(class, "Poly_Circle") {
			g.shapes = append(g.shapes, shape{class: class, step: e.step(class, string(got.Properties.FeatureType)), geometry: got.Geometry})
		}
		return
	}
	if g.centroid { // the same event a second time
		g = p.group(&event{code: e.code, number: e.number, episode: e.episode + "/" + where()}, where(), raw)
	}
	g.event, g.centroid, g.where, g.raw = e, true, where(), raw
	if kind, coordinates := geometryParts(got.Geometry); kind == "Point" {
		var at []float64
		if json.Unmarshal(coordinates, &at) == nil && len(at) >= 2 {
			if reason := e.place(at[0], at[1]); reason != "" {
				e.doubts = append(e.doubts, reason)
			}
		}
	}
}

// step tells whether a wind polygon is that of one time.
func (e *event) step(class, featureType string) bool {
	return featureType == "WindRadii" || strings.HasPrefix(class, "Poly_WindRadii")
}

// group is the group of an event's episode.
func (p *parser) group(e *event, where string, raw []byte) *group {
	id := e.code + e.number + "/" + e.episode
	g := p.byID[id]
	if g == nil {
		g = &group{where: where, raw: raw}
		if p.byID == nil {
			p.byID = map[string]*group{}
		}
		p.byID[id] = g
		p.groups = append(p.groups, g)
	}
	return g
}

// finish makes the reports of the groups. What has polygons is a geometry document of the event, unless it does not say when it
// was revised (gdacs.geojson).
func (p *parser) finish() {
	for _, g := range p.groups {
		p.batch.Read++
		e := g.event
		if len(g.shapes) > 0 && e.form == listForm {
			e.form = geometryForm
		}
		if e.modified == "" && e.form != detailForm {
			e.form = fileForm
		}
		e.areas = areas(e.code, g.shapes)
		if e.point == nil && !g.centroid {
			if lon, lat, ok := middle(g.shapes); ok {
				e.point = &hazard.Point{Lon: lon, Lat: lat}
			}
		}
		p.add(e, g.where, g.raw)
	}
	p.groups = nil
}

// cut makes the reports of what was read before the payload broke off. The polygons of the last event may be missing.
func (p *parser) cut(err error) error {
	if n := len(p.groups); n > 0 {
		p.groups[n-1].shapes = nil
	}
	p.finish()
	return err
}

// broken is the error of a payload that cannot be read further.
func broken(dec *jsontext.Decoder, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, at byte %d", dec.InputOffset()), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not JSON at byte %d: %s", dec.InputOffset(), said(err.Error())), Cut: true}
}

// word is the text of a JSON string; empty if v is none.
func word(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v)
	return string(b)
}

// readable is an error of the JSON reader as a sentence: the member, what it is, what was expected.
func readable(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return clip(hazard.CleanLine(err.Error()), 4*maxSaid)
	}
	member := cmp.Or(clip(hazard.CleanLine(strings.TrimPrefix(string(e.JSONPointer), "/")), maxSaid), "the record")
	if e.Err != nil {
		return member + ": " + clip(hazard.CleanLine(e.Err.Error()), 4*maxSaid)
	}
	return fmt.Sprintf("%s: a JSON %v, expected %v", member, e.JSONKind, e.GoType)
}

// event is what the properties say.
func (p *properties) event(f form) *event {
	e := &event{
		form: f, code: strings.ToUpper(strings.TrimSpace(string(p.EventType))),
		number: strings.TrimSpace(string(p.EventID)), episode: string(p.EpisodeID),
		name: string(p.EventName), country: string(p.Country),
		level: cmp.Or(string(p.EpisodeAlertLevel), string(p.AlertLevelEpisode)), highest: string(p.AlertLevel), titles: []string{string(p.HTMLDescription), string(p.Description)},
		from: string(p.FromDate), to: string(p.ToDate), modified: string(p.DateModified),
		magnitude: cmp.Or(string(p.SeverityData.Severity), string(p.Severity)), severity: string(p.SeverityData.SeverityText),
		glide: string(p.Glide), sourceID: string(p.SourceID), agency: string(p.Source), temporary: string(p.IsTemporary),
		current: string(p.IsCurrent),
	}
	if e.number == "" || e.episode == "" {
		if u, err := url.Parse(cmp.Or(string(p.Link), string(p.URL.Report))); err == nil {
			q := u.Query()
			e.number = cmp.Or(e.number, q.Get("eventid"))
			e.episode = cmp.Or(e.episode, q.Get("episodeid"))
		}
	}
	if f == detailForm {
		e.links = append(pairs(p.Images, ""), pairs(p.Documents, documentID)...)
		e.notes = figures(p.Sendai)
	}
	return e
}

// pairs are the members of an object of addresses. What is none is left out: nothing depends on it.
func pairs(raw jsontext.Value, prefix string) []link {
	var all map[string]text
	if raw.Kind() != '{' || json.Unmarshal(raw, &all, lenient) != nil {
		return nil
	}
	var links []link
	for name, address := range all {
		title := clip(hazard.CleanLine(name), maxName)
		links = append(links, link{id: prefix + title, title: title, address: string(address)})
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.address, b.address)) })
	return links
}

// maxFigures bounds the figures of impact that are shown. The greatest recorded number is 16.
const maxFigures = 100

// figures are the reported numbers of people hurt and of damage, in GDACS's words, the latest of each.
func figures(raw jsontext.Value) string {
	var all []struct {
		Latest      bool `json:"latest"`
		Description text `json:"description"`
		Inserted    text `json:"dateinsert"`
	}
	if raw.Kind() != '[' || json.Unmarshal(raw, &all, lenient) != nil {
		return ""
	}
	var lines []string
	for _, f := range all {
		line := clip(hazard.CleanLine(clip(string(f.Description), maxText)), 4*maxName)
		if !f.Latest || line == "" || len(lines) == maxFigures {
			continue
		}
		if at, err := date(string(f.Inserted)); err == nil {
			line += " (" + at.Time().Format("2006-01-02") + ")"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
