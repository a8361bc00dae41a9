package gdacs

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxBytes bounds a payload. The largest recorded list has 1.6 MB (RSS, 14 kB per event), the
// largest file with geometry 2.2 MB.
const maxBytes = 32 << 20

// feature is an event, or a polygon of one, in the API and in gdacs.geojson.
type feature struct {
	Geometry   jsontext.Value `json:"geometry"`
	Properties *properties    `json:"properties"`
}

// properties are the properties of a feature. Some numbers and booleans are strings ("false"), in
// gdacs.geojson all of them. Members without a field here are not read: bbox and latitude repeat
// the point, and shakemap[].conditions has latitude and longitude swapped.
type properties struct {
	EventType text `json:"eventtype"` // EQ, TC, FL, VO, DR, WF, TS
	EventID   text `json:"eventid"`   // the identity, together with the type; the polygons of gdacs.geojson have none
	EpisodeID text `json:"episodeid"` // counts the revisions of the event, except for EQ, where it is an unrelated number
	EventName text `json:"eventname"` // "LALA-26", "Mayon", " Southern Africa-2018"; empty for EQ, FL, WF
	Glide     text `json:"glide"`     // GLIDE number; assigned late, and only to few events

	AlertLevel        text `json:"alertlevel"`        // the highest level of the event
	EpisodeAlertLevel text `json:"episodealertlevel"` // the present level
	AlertLevelEpisode text `json:"alertlevelepisode"` // the same in gdacs.geojson
	Description       text `json:"description"`       // may begin with the level, like the next member
	HTMLDescription   text `json:"htmldescription"`
	IsTemporary       text `json:"istemporary"`
	IsCurrent         text `json:"iscurrent"` // only used for earthquakes

	FromDate     text `json:"fromdate"`     // UTC, without zone
	ToDate       text `json:"todate"`       // time of the last data, always in the past
	DateModified text `json:"datemodified"` // time of the last revision; missing in gdacs.geojson and before 2022

	Country  text `json:"country"`  // names separated by commas, some of them empty; a sea region for EQ
	Source   text `json:"source"`   // agency that provided the data: NEIC, NOAA, JTWC, GLOFAS, GWIS, GDO, a VAAC
	SourceID text `json:"sourceid"` // the agency's own id; only in geteventdata

	Class        text `json:"Class"`        // Point_Centroid, or the kind of polygon
	FeatureType  text `json:"featuretype"`  // WindRadii for the wind at one time
	PolygonDate  text `json:"polygondate"`  // the time of a polygon
	PolygonLabel text `json:"polygonlabel"` // "Uncertainty Cones", "Intensity 5"
	Forecast     text `json:"forecast"`     // whether a segment of a track is a forecast
	Link         text `json:"link"`         // address of the page with type, event and episode
	URL          struct {
		Report text `json:"report"` // the same in the API
	} `json:"url"`

	SeverityData struct {
		Severity     text `json:"severity"`     // magnitude of EQ, km/h, ha, km²; 0 for FL and VO
		SeverityText text `json:"severitytext"` // "Magnitude 5.8M, Depth:10km"
	} `json:"severitydata"`
	Severity text `json:"severity"` // used by gdacs.geojson

	Images    jsontext.Value `json:"images"`    // id → address; only in geteventdata, like the next two
	Documents jsontext.Value `json:"documents"` // file name → address
	Sendai    jsontext.Value `json:"sendai"`    // figures of impact
}

// text is a string, or a number or boolean written as a string; empty for null.
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
		b, _ := jsontext.AppendUnquote(nil, v) // the only possible error is invalid UTF-8, which is allowed
		*t = text(b)
	case '0', 't', 'f':
		*t = text(v)
	default:
		return &lenient.Unexpected{Found: lenient.Excerpt(v), Expected: "a string or a number"}
	}
	return nil
}

// tolerant accepts invalid UTF-8, which is removed when texts are cleaned. It also accepts duplicate
// members: it is unclear which one counts, but that only matters for members that are read.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Parse reads a document of GDACS in any of the supported forms, which it recognizes by content. A
// record is an event, with its polygons if the document contains them.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
// An event whose polygons may be cut off gets none.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	text, err := lenient.JSON(payload)
	c := lenient.Cursor{Doc: text}
	switch first := c.Next(); {
	case err != nil:
	case first == lenient.End:
		err = source.Errorf("an empty payload, expected GeoJSON, RSS or CAP")
	case first == '{':
		err = p.json(text)
	case first == '<':
		err = p.xml(text)
	default:
		err = source.Errorf("begins with %s, expected GeoJSON, RSS or CAP", quote(string(text[:min(len(text), maxQuote)])))
	}
	return p.Done(), err
}

type parser struct {
	lenient.Batch
	now   hazard.Instant
	alien int // features of other kinds
	// lasting holds the keys of the earthquakes that last because they are listed.
	lasting []string

	groups []*group
	byID   map[string]*group
}

// group holds the features of one episode of an event.
type group struct {
	event    *event // nil until a feature could be read
	raw      []byte // the first feature as received
	where    string
	centroid bool // event comes from the centroid
	shapes   []shape
	notes    []string // about unreadable parts
}

// add adds the report of an event.
func (p *parser) add(e *event, where string, raw []byte) {
	r, reason := e.report(p.now)
	if reason != "" {
		if isNumber(e.number) {
			where = hazard.CleanLine(lenient.Clip(e.key(), maxID))
		}
		p.Reject(lenient.At(where), raw, append(e.mended, reason)...)
		return
	}
	p.Reports = append(p.Reports, r)
	if e.lasts(r.Severity) {
		p.Current = true
		p.lasting = append(p.lasting, r.Key)
	}
}

// json reads a FeatureCollection (a list, gdacs.geojson, a geometry document) or a single Feature
// (an event).
func (p *parser) json(payload []byte) error {
	doc, err := lenient.Collection{}.Features(payload, "events", &p.Batch, func(where func() string, raw []byte) {
		f := listForm
		if where() == "feature" {
			f = detailForm
		}
		p.feature(where, raw, f)
	})
	switch kind := doc.Word("type"); {
	case kind != "FeatureCollection" && kind != "Feature" && (kind != "" || err == nil):
		return err // not a document of GDACS
	case err == nil && p.alien > 0 && len(p.groups) == 0:
		p.Clear()
		return source.Errorf("properties/eventtype: missing in all of %d features, expected events", p.alien)
	}
	if n := len(p.groups); n > 0 && doc.Object == nil { // cut off: some polygons of the last event may be missing
		p.groups[n-1].shapes = nil
	}
	p.finish()
	if err != nil || doc.Listed == "" {
		return err
	}
	p.Lasting = append([]string{}, p.lasting...)
	for _, r := range p.Done().Rejects { // a reject may be about an earthquake that lasts
		if !isEvent.MatchString(r.Record) {
			p.Lasting = nil
			break
		}
		p.Lasting = append(p.Lasting, r.Record)
	}
	return nil
}

// isEvent matches the key of an event.
var isEvent = regexp.MustCompile(`^[A-Z]{2}[0-9]+$`)

// feature adds a feature to the group of its event.
func (p *parser) feature(where func() string, raw []byte, f form) {
	got, notes := lenient.Read[feature](&p.Batch, where, raw)
	if got == nil {
		return
	}
	if got.Properties == nil {
		p.Reject(where, raw, append(notes, "properties: missing, expected an object")...)
		return
	}
	e := got.Properties.event(f)
	if e.code == "" {
		p.alien++
		p.Reject(where, raw, append(notes, fault("properties/eventtype", "", "one of EQ, TC, FL, VO, DR, WF, TS"))...)
		return
	}
	p.Batch.Read-- // finish counts records by event
	g := p.group(e, where(), raw)
	class := string(got.Properties.Class)
	if isShape.MatchString(class) && !strings.HasPrefix(class, "Point_Centroid") {
		g.notes = append(g.notes, notes...)
		if g.event == nil {
			g.event = e
		}
		if role(e.code, class) != "" || strings.HasPrefix(class, "Poly_Circle") {
			g.shapes = append(g.shapes, shape{class: class, step: e.step(class, string(got.Properties.FeatureType)), geometry: got.Geometry,
				date: string(got.Properties.PolygonDate), label: string(got.Properties.PolygonLabel), forecast: string(got.Properties.Forecast) == "true"})
		}
		return
	}
	if g.centroid { // a second feature of the same event
		g = p.group(&event{code: e.code, number: e.number, episode: e.episode + "/" + where()}, where(), raw)
	}
	g.notes = append(g.notes, notes...)
	g.event, g.centroid, g.where, g.raw = e, true, where(), raw
	if kind, coordinates := geometryParts(got.Geometry); kind == "Point" {
		if lon, lat := lenient.Position(coordinates); lon.Known && lat.Known {
			if reason := e.place(lon.Value, lat.Value); reason != "" {
				e.doubts = append(e.doubts, reason)
			}
		}
	}
}

// isShape matches the class of a part of an event. A feature with any other class is the event
// itself.
var isShape = regexp.MustCompile(`^(?:Poly|Line|Point)_`)

// step reports whether a wind polygon shows a single time.
func (e *event) step(class, featureType string) bool {
	return featureType == "WindRadii" || strings.HasPrefix(class, "Poly_WindRadii")
}

// group returns the group of an event's episode.
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

// finish makes the reports of the groups. A list with polygons is a geometry document of the event,
// unless it lacks the time of revision (gdacs.geojson).
func (p *parser) finish() {
	for _, g := range p.groups {
		p.Batch.Read++
		e := g.event
		e.mended = g.notes
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
		n := len(p.Reports)
		p.add(e, g.where, g.raw)
		if len(p.Reports) > n {
			if shapes := e.drawn(g.shapes, p.Reports[n].Start); len(shapes) > 0 {
				p.Drawings = append(p.Drawings, source.Drawing{Key: p.Reports[n].Key, Part: "geometry", Version: p.Reports[n].Version, Shapes: shapes})
			}
		}
	}
	p.groups = nil
}

// event returns the event that the properties describe.
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

// pairs returns the members of an object of addresses. It ignores an invalid object, because
// nothing important depends on it.
func pairs(raw jsontext.Value, prefix string) []link {
	var all map[string]text
	if raw.Kind() != '{' || json.Unmarshal(raw, &all, tolerant) != nil {
		return nil
	}
	var links []link
	for name, address := range all {
		title := lenient.Clip(hazard.CleanLine(name), maxName)
		links = append(links, link{id: prefix + title, title: title, address: string(address)})
	}
	slices.SortFunc(links, func(a, b link) int { return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.address, b.address)) })
	return links
}

// maxFigures bounds the displayed figures of impact. The largest recorded number is 16.
const maxFigures = 100

// figures returns the reported numbers of victims and damage in GDACS's words, the latest of each
// kind.
func figures(raw jsontext.Value) string {
	var all []struct {
		Latest      bool `json:"latest"`
		Description text `json:"description"`
		Inserted    text `json:"dateinsert"`
	}
	if raw.Kind() != '[' || json.Unmarshal(raw, &all, tolerant) != nil {
		return ""
	}
	var lines []string
	for _, f := range all {
		line := lenient.Clip(hazard.CleanLine(lenient.Clip(string(f.Description), maxText)), 4*maxName)
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
