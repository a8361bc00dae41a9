package jma

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// life is how long a document is valid without another. While warnings are in force, the agency
// issues a new document at least when observed waves change them.
const life = 36 * time.Hour

// level is a row of the table of levels.
type level struct {
	codes    string // in the code table "tsunami warnings, advisories and forecasts"
	word     string // prefix of the name of the kind
	english  string // the agency's translation (jma.go.jp, "Tsunami Warnings/Advisories, Tsunami Information")
	severity hazard.Severity
	basis    string
}

// levels are in order of danger.
var levels = []level{
	{"52 53", "大津波警報", "Major Tsunami Warning", hazard.Warning, "over 3 m: evacuate at once (JMA, criteria of tsunami warnings)"},
	{"51", "津波警報", "Tsunami Warning", hazard.Warning, "up to 3 m: evacuate at once"},
	{"62", "津波注意報", "Tsunami Advisory", hazard.Advisory, "up to 1 m: leave the water and the shore"},
	{"71 72 73", "津波予報", "Tsunami Forecast (slight sea level change)", hazard.Information, "below 0.2 m: no damage expected"},
}

// unknown is the level of an unknown kind: a new word must not hide a warning.
var unknown = level{english: "Tsunami notice of an unknown kind", severity: hazard.Advisory}

// lifted are the codes of kinds that are not in force: none, warning lifted, advisory lifted.
var lifted = []string{"00", "50", "60"}

// levelOf returns the level of a kind, or nil if it is lifted. known is false if neither its name
// nor its code is known.
func levelOf(name, code string) (l *level, known bool) {
	switch {
	case strings.Contains(name, "解除"), name == "津波なし", name == "" && slices.Contains(lifted, code):
		return nil, true
	}
	for i := range levels {
		if l := &levels[i]; strings.HasPrefix(name, l.word) || name == "" && slices.Contains(strings.Fields(l.codes), code) {
			return l, true
		}
	}
	return &unknown, false
}

var eventForm = regexp.MustCompile(`^\d{14}$`)

// coordinateForm matches latitude, longitude and height in meters (ISO 6709): "+38.0+142.9-10000/".
var coordinateForm = regexp.MustCompile(`^([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)([+-]\d+)?/$`)

// cancelled is the Head/InfoType of a document that cancels the one before it.
const cancelled = "取消"

// head is the common head of the documents about earthquakes, tsunamis and weather.
type head struct {
	title, headTitle string // Control/Title, Head/Title
	category         hazard.Category
	events           []string // EventIDs of earthquakes, earliest first; of a river, its forecast area
	issued           hazard.Instant
	version          int64
	infoType         string
	headline         string
	notes            []string
}

// headOf reads the head of a document. If it cannot, it returns the reason. It returns nil without
// a reason if the document is not about a hazard.
func headOf(n *lenient.Node) (h *head, reason string) {
	h = &head{title: get(n, "Control", "Title"), headTitle: get(n, "Head", "Title"), category: hazard.Event, infoType: get(n, "Head", "InfoType"),
		headline: hazard.Clean(at(n, "Head", "Headline", "Text").Text)}
	known := false
	for _, title := range titles {
		known = known || strings.HasPrefix(h.title, title)
	}
	switch {
	case h.title == "":
		return nil, "Control/Title: missing, expected one of " + strings.Join(titles, ", ")
	case !known:
		return nil, source.Ignoring + "a document of another kind (Control/Title)"
	}
	switch status := get(n, "Control", "Status"); status {
	case "通常", "":
	case "訓練":
		h.category = hazard.Exercise
	case "試験":
		return nil, source.Ignoring + "a test (Control/Status 試験)"
	default:
		return nil, fmt.Sprintf("Control/Status: %q, expected 通常, 訓練 or 試験", lenient.ExcerptText(status))
	}
	h.events = strings.Fields(get(n, "Head", "EventID"))
	form, digits := eventForm, 14
	if strings.HasPrefix(h.title, titleOfRiver) {
		form, digits = riverForm, 12
	}
	if strings.HasPrefix(h.title, titleOfWeather) {
		h.events = nil // weather warnings have no earthquake
	} else if len(h.events) == 0 || slices.ContainsFunc(h.events, func(id string) bool { return !form.MatchString(id) }) || len(h.events) > 20 {
		return nil, fmt.Sprintf("Head/EventID: %q, expected %d digits", lenient.ExcerptText(get(n, "Head", "EventID")), digits)
	}
	slices.Sort(h.events) // if there are several earthquakes, the first is the event's name
	issued, note, err := lenient.Time(get(n, "Head", "ReportDateTime"), japan)
	if err != nil {
		return nil, "Head/ReportDateTime: " + err.Error()
	}
	if note != "" {
		h.notes = append(h.notes, "Head/ReportDateTime: "+note)
	}
	if !slices.Contains([]string{"発表", "訂正", cancelled}, h.infoType) {
		h.notes = append(h.notes, fmt.Sprintf("Head/InfoType: %q, expected 発表, 訂正 or 取消", lenient.ExcerptText(h.infoType)))
	}
	// The time of issue is in whole minutes, and a correction may follow within the minute. The time of
	// sending has seconds.
	h.issued, h.version = issued, int64(issued)
	if sent, _, err := lenient.Time(get(n, "Control", "DateTime"), nil); err == nil && sent > issued.Add(-seismic.Skew) && sent < issued.Add(seismic.Skew) {
		h.version = int64(sent)
	}
	return h, ""
}

// mark adds the doubts about the head to a report.
func (h *head) mark(r *hazard.Report, now hazard.Instant) {
	source.Note(r, h.notes...)
	if h.issued > now.Add(seismic.Skew) {
		r.Suspect = fmt.Sprintf("Head/ReportDateTime: %v is in the future", h.issued)
	}
}

// report returns the reports of a document. If it cannot, it returns the reason. It returns none
// without a reason if the document is not about a hazard.
func (p *parser) report(n *lenient.Node) (reports []hazard.Report, reason string) {
	h, reason := headOf(n)
	if h == nil {
		return nil, reason
	}
	if strings.HasPrefix(h.title, titleOfWeather) {
		return p.weather(n, h)
	}
	read := p.quake
	switch {
	case strings.HasPrefix(h.title, titleOfTsunami):
		read = p.tsunami
	case strings.HasPrefix(h.title, titleOfRiver):
		read = p.river
	}
	r, reason := read(n, h)
	if r == nil {
		return nil, reason
	}
	return []hazard.Report{*r}, ""
}

// tsunami returns the report of a document about a tsunami.
func (p *parser) tsunami(n *lenient.Node, h *head) (r *hazard.Report, reason string) {
	d := document{issued: h.issued, headline: h.headline}
	d.quake(n, h.events[0])
	r = &hazard.Report{
		Source: Name, Key: h.events[0], Aliases: h.events[1:], Version: h.version, Type: hazard.Tsunami, Category: h.category,
		Start: min(d.origin, h.issued), LifeMS: life.Milliseconds(), Renewed: &h.issued, Country: "JP", Places: []string{"JP"},
		Refs: []string{Name + ":" + h.events[0]}, URL: "https://www.jma.go.jp/bosai/map.html?contents=tsunami&lang=en", Comment: Name + ":" + h.events[0], Creator: "JMA",
	}
	for _, id := range h.events {
		r.Refs = append(r.Refs, schemeOfQuakes+":"+quakePrefix+id)
	}
	if d.point != nil {
		r.Refs = append(r.Refs, fmt.Sprintf("quake:%s@%.3f,%.3f", d.felt.Time().Format("2006-01-02T15:04:05Z"), d.point.Lat, d.point.Lon))
	}
	h.mark(r, p.now)
	d.coasts(n, r)
	if warned := d.warned(); len(warned) > 0 {
		r.Places = warned
	}
	switch {
	case h.infoType == cancelled:
		r.Ended = hazard.EndCancelled
	case d.worst == nil && d.lifted == 0 && !strings.Contains(d.headline, "解除"):
		return nil, "Body/Tsunami/Forecast: no coast, expected one at least, or a headline that warnings are lifted (解除)"
	case d.worst == nil:
		r.Ended = hazard.EndAllClear
	}
	worst := cmp.Or(d.worst, &levels[len(levels)-1])
	r.Severity, r.Level = worst.severity, worst.english
	r.Name = worst.english + " - Japan"
	if r.Ended != "" {
		r.Severity, r.Level, r.Name = hazard.Information, "", "Tsunami - Japan"
	}
	if until, _, err := lenient.Time(get(n, "Head", "ValidDateTime"), japan); err == nil && until > h.issued {
		r.End = &until
	}
	r.Description = d.description()
	p.Drawings = append(p.Drawings, d.drawing(r.Key, h.version))
	return r, ""
}

// drawing returns the warned coasts whose first wave is expected at a stated time, if their areas
// are built in. It is empty if nothing is in force.
func (d *document) drawing(key string, version int64) source.Drawing {
	drawn := source.Drawing{Key: key, Part: "coasts", Version: version}
	for _, a := range d.areas {
		if a.arrives == 0 || a.level.severity == hazard.Information {
			continue
		}
		if shape, ok := region.Area(region.ParseCode(placeOf + a.code)); ok {
			drawn.Shapes = append(drawn.Shapes, hazard.Shape{Role: hazard.CoastShape, From: a.arrives, To: a.arrives, Forecast: true,
				Label: strings.Join(slices.DeleteFunc([]string{a.name, a.level.english, a.height}, func(s string) bool { return s == "" }), ", "), Geometry: shape.GeoJSON()})
		}
	}
	slices.SortStableFunc(drawn.Shapes, func(a, b hazard.Shape) int { return cmp.Compare(a.From, b.From) })
	return drawn
}

// japan is the time zone of times without one.
var japan = time.FixedZone("JST", 9*3600)

// document is the content of a document about a tsunami.
type document struct {
	issued, origin hazard.Instant
	felt           hazard.Instant // time of origin, to the second if possible
	headline       string
	where          string // name of the hypocenter
	magnitude      string
	point          *hazard.Point
	worst          *level
	areas          []area // areas with something in force
	lifted         int    // number of coasts with nothing in force
}

type area struct {
	level                    *level
	name, code, height, wave string
	arrives                  hazard.Instant // of the first wave; 0 if not stated, or if it has arrived
}

// warned returns the codes of the warned coasts. If there are none, it returns the coasts with a
// slight change of the sea.
func (d *document) warned() (codes []string) {
	for _, a := range d.areas {
		if a.code != "" && (a.level.severity > hazard.Information || d.worst.severity == hazard.Information) {
			codes = append(codes, placeOf+a.code)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// placeOf is the prefix of the code of a place: a coast (three digits), a region (six) or a
// municipality (seven), as in the documents.
const placeOf = "JMA_AREA:"

// quake reads the earthquake. The seconds of its time of origin come from the event's name if the
// document does not contain them.
func (d *document) quake(n *lenient.Node, event string) {
	d.origin = d.issued
	if t, ok := detected(event); ok {
		d.origin = min(t, d.issued)
	}
	part := at(n, "Body", "Earthquake")
	o := originOf(part)
	d.felt, d.where, d.point, d.magnitude = d.origin, o.where, o.point, o.size
	if t, _, err := lenient.Time(get(part, "OriginTime"), japan); err == nil && t <= d.issued {
		d.origin, d.felt = t, o.begin(t, event)
	}
	if o.magnitude.Known {
		d.magnitude = "M " + hazard.CleanLine(at(part, "Magnitude").Text)
	}
}

// number parses a number; it rejects NaN.
func number(text string) lenient.Number {
	v, err := strconv.ParseFloat(text, 64)
	return lenient.Number{Value: v, Known: err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)}
}

// coasts reads what is in force for each coast.
func (d *document) coasts(n *lenient.Node, r *hazard.Report) {
	for _, item := range all(at(n, "Body", "Tsunami", "Forecast"), "Item") {
		a := area{name: cmp.Or(get(item, "Area", "Name"), "?"), code: get(item, "Area", "Code")}
		kind, code := get(item, "Category", "Kind", "Name"), get(item, "Category", "Kind", "Code")
		l, known := levelOf(kind, code)
		if !known {
			source.Note(r, fmt.Sprintf("Category/Kind of %s: %q (%s), expected a warning, an advisory or a forecast", a.name, lenient.ExcerptText(kind), lenient.ExcerptText(code)))
		}
		if l == nil {
			d.lifted++
			continue
		}
		a.level = l
		height := at(item, "MaxHeight", "TsunamiHeight")
		a.height = cmp.Or(hazard.CleanLine(height.Attr("description")), hazard.CleanLine(height.Attr("condition")))
		a.wave = get(item, "FirstHeight", "Condition")
		if t, _, err := lenient.Time(get(item, "FirstHeight", "ArrivalTime"), japan); err == nil {
			a.wave, a.arrives = t.Time().Format("15:04")+" UTC", t
		}
		d.areas = append(d.areas, a)
		if d.worst == nil || worse(l, d.worst) {
			d.worst = l
		}
	}
}

// worse reports whether a is the greater danger, by severity and then by row.
func worse(a, b *level) bool {
	if a.severity != b.severity {
		return a.severity > b.severity
	}
	row := func(l *level) int {
		return slices.IndexFunc(levels, func(of level) bool { return of.english == l.english })
	}
	return row(a) >= 0 && row(a) < row(b)
}

// maxAreas bounds the coasts in a description. Japan has 66.
const maxAreas = 70

// description describes what is expected for each coast, with the agency's names of coasts, the
// greatest danger first.
func (d *document) description() string {
	var b strings.Builder
	if d.headline != "" {
		b.WriteString(d.headline + "\n")
	}
	named := 0
	for i := range levels {
		d.list(&b, &levels[i], &named)
	}
	d.list(&b, &unknown, &named)
	if d.where != "" {
		fmt.Fprintf(&b, "Earthquake: %s %s.\n", d.where, d.magnitude)
	}
	fmt.Fprintf(&b, "Issued by the Japan Meteorological Agency, %s UTC.", d.issued.Time().Format("2006-01-02 15:04"))
	return hazard.Clean(b.String())
}

func (d *document) list(b *strings.Builder, l *level, named *int) {
	begun := false
	for _, a := range d.areas {
		if a.level.english != l.english || *named == maxAreas {
			continue
		}
		*named++
		if !begun {
			b.WriteString(l.english + ": ")
		} else {
			b.WriteString("; ")
		}
		begun = true
		b.WriteString(strings.Join(slices.DeleteFunc([]string{a.name, a.height, a.wave}, func(s string) bool { return s == "" }), " "))
	}
	if begun {
		b.WriteString(".\n")
	}
}
