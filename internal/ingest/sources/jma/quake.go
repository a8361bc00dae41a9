package jma

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// The documents about an earthquake, by Control/Title: its hypocenter, and its hypocenter with the
// intensities.
const (
	titleOfHypocenter = "震源に関する情報"
	titleOfIntensity  = "震源・震度に関する情報"
)

// titleFarAway is the Head/Title of a document about an earthquake, or about the eruption of a
// volcano, far from Japan. In both cases, the headline of the form says that there was a great
// earthquake (document of 2023-12-03 on Marapi, note 1).
const titleFarAway = "遠地地震に関する情報"

// The documents about an earthquake are parts of the event. The one with the intensities contains
// everything in the other one.
const (
	partHypocenter = "VXSE52"
	partIntensity  = "VXSE53"
)

// quakePrefix is the prefix of an earthquake's key. The EventID without it is the key of the
// tsunami.
const quakePrefix = "quake-"

// shindo is a row of the table of levels by the agency's seismic intensity, which is not
// Mercalli's.
type shindo struct {
	words    string // as written in documents
	severity hazard.Severity
	minor    bool
	basis    string
}

// intensities are in order of strength ("Tables explaining the JMA Seismic Intensity Scale", 2009).
// The agency issues an emergency warning from an intensity of 6-, and an earthquake early warning
// from 5-.
var intensities = []shindo{
	{"7", hazard.Warning, false, "people are thrown; buildings of reinforced concrete may collapse"},
	{"6+", hazard.Warning, false, "impossible to stand; many houses lean or collapse"},
	{"6-", hazard.Warning, false, "difficult to stand; walls and windows fall; the criterion of an emergency warning"},
	{"5+", hazard.Watch, false, "difficult to walk; unreinforced walls of concrete blocks may collapse"},
	{"5-", hazard.Advisory, false, "things fall from shelves; few weak houses are damaged"},
	{"4", hazard.Information, false, "most people are startled; no damage to speak of"},
	{"3", hazard.Information, false, "felt by most people in buildings, as the intensity IV from which other services' earthquakes are hazards"},
	{"2", hazard.Information, true, "felt by many people at rest"},
	{"1", hazard.Information, true, "felt by some people at rest"},
}

// quake returns the report of a document about an earthquake. If it cannot, it returns the reason.
// It returns nil without a reason if there is no earthquake near Japan.
func (p *parser) quake(n *lenient.Node, h *head) (r *hazard.Report, reason string) {
	if strings.HasPrefix(h.headTitle, titleFarAway) {
		return nil, source.Ignoring + "an earthquake far from Japan (遠地地震): other sources report it"
	}
	if len(h.events) != 1 {
		return nil, fmt.Sprintf("Head/EventID: %d numbers, expected that of one earthquake", len(h.events))
	}
	part := partIntensity
	if strings.HasPrefix(h.title, titleOfHypocenter) {
		part = partHypocenter
	}
	event := h.events[0]
	key := quakePrefix + event
	r = &hazard.Report{
		Source: Name, Key: key, Part: part, Version: h.version, Type: hazard.Earthquake, Category: h.category, Severity: hazard.Information,
		Start: h.issued, LifeMS: seismic.UsualLife.Milliseconds(), Name: "Earthquake - Japan", Country: "JP",
		Refs: []string{Name + ":" + key}, URL: "https://www.jma.go.jp/bosai/map.html?contents=earthquake_map&lang=en", Comment: Name + ":" + key, Creator: "JMA",
	}
	h.mark(r, p.now)
	if part == partIntensity {
		r.Replaces = []string{partHypocenter}
	}
	if h.infoType == cancelled {
		r.Ended, r.Minor = hazard.EndWithdrawn, true
		if t, ok := detected(event); ok {
			r.Start = min(t, h.issued)
		}
		return r, ""
	}
	body := at(n, "Body", "Earthquake")
	minute, _, err := lenient.Time(get(body, "OriginTime"), japan)
	if err != nil {
		return nil, "Body/Earthquake/OriginTime: " + err.Error()
	}
	o := originOf(body)
	if o.point == nil {
		return nil, fmt.Sprintf("Body/Earthquake/Hypocenter/Area/Coordinate: %q, expected latitude, longitude and depth such as +38.0+142.9-10000/", lenient.ExcerptText(get(body, "Hypocenter", "Area", "Coordinate")))
	}
	r.Start, r.Point = o.begin(minute, event), o.point
	q := seismic.Quake{Magnitude: o.magnitude, Kind: "mj", Depth: o.depth, At: o.point, Place: o.where}
	if near, ok := town.Nearest(o.point.Lon, o.point.Lat); ok {
		q.Place = near.Words()
		if c, ok := region.CountryByCode(near.Country); ok {
			q.Place += ", " + c.Name
		}
	}
	l := q.Level()
	severity, life, minor := l.Severity, l.Life, l.Minor
	greatest := get(n, "Body", "Intensity", "Observation", "MaxInt")
	row := slices.IndexFunc(intensities, func(i shindo) bool { return i.words == greatest })
	switch {
	case row >= 0:
		severity, minor = max(severity, intensities[row].severity), minor && intensities[row].minor
		r.Level = "JMA intensity " + greatest
	case greatest != "":
		source.Note(r, fmt.Sprintf("Body/Intensity/Observation/MaxInt: %q, expected an intensity from 1 to 7", lenient.ExcerptText(greatest)))
		minor = false
	case part == partHypocenter: // it follows a report of intensity 3 or more (JMA, "types of earthquake information")
		minor = false
	}
	if !o.magnitude.Known && strings.Contains(o.size, "巨大") { // "a huge earthquake of more than M 8", used until the magnitude is known
		severity, minor = hazard.Warning, false
	}
	if severity == hazard.Warning {
		life = seismic.GreatLife
	}
	r.Severity, r.Minor, r.LifeMS, r.Name = severity, minor, life.Milliseconds(), q.Name()
	r.Suspect = cmp.Or(r.Suspect, strings.Join(q.Doubts("OriginTime", minute, "Head/ReportDateTime", h.issued, p.now), "; "))
	q.Measure(r)
	r.Description = o.description(&q, n, h, minute, event, greatest)
	return r, ""
}

// origin is the place and strength of an earthquake in a document.
type origin struct {
	point     *hazard.Point
	depth     lenient.Number // in km
	magnitude lenient.Number
	where     string // name of the epicenter in the agency's words
	size      string // the magnitude in words, if it has no number
}

// originOf reads the element Earthquake.
func originOf(quake *lenient.Node) (o origin) {
	area := at(quake, "Hypocenter", "Area")
	o.where = get(area, "Name")
	for _, c := range all(area, "Coordinate") {
		m := coordinateForm.FindStringSubmatch(strings.TrimSpace(c.Text))
		if m == nil || o.point != nil {
			continue
		}
		if o.point = seismic.Position(number(m[2]), number(m[1])); o.point != nil && m[3] != "" {
			height := number(m[3])
			o.depth = lenient.Number{Value: -height.Value / 1000, Known: height.Known && height.Value <= 0 && height.Value >= -1_000_000}
		}
	}
	m := at(quake, "Magnitude")
	if o.magnitude = number(hazard.CleanLine(m.Text)); !o.magnitude.Known {
		o.size = hazard.CleanLine(m.Attr("description"))
	}
	return o
}

// The agency gives the time of origin to the minute. It names an earthquake by the second at which
// one of its stations first detected it: its earthquake early warnings contain both times to the
// second, and there the EventID is the ArrivalTime. The travel time of the first waves is known
// well enough to join the earthquake with one of another service.

const (
	nearKm   = 50.0  // up to this distance, waves travel in the crust
	crust    = 6.0   // km/s
	mantle   = 7.8   // km/s
	seeing   = 1.5   // seconds until a station recognizes a wave
	farthest = 400e3 // meters from Japan; beyond it, the time of detection is not used
	maxDelay = 4 * time.Minute
)

// onSeaFloor are the seas with stations on the sea floor (S-net, DONET): west, south, east, north.
// Waves reach these stations before those on land. But they did not exist in the past, and are not
// always used.
var onSeaFloor = [][4]float64{{140, 33.5, 147, 42.5}, {132, 31.5, 137.5, 34.5}}

// travel returns the travel time of the first waves over a distance in kilometers, in seconds.
func travel(km float64) float64 { return min(km, nearKm)/crust + max(km-nearKm, 0)/mantle }

// delay returns how long after the earthquake a station in Japan detects it; ok is false if that is
// unknown.
func (o *origin) delay() (d time.Duration, ok bool) {
	if o.point == nil {
		return 0, false
	}
	land := math.Inf(1)
	for _, c := range region.CountriesAt(o.point.Lon, o.point.Lat, farthest) {
		if c.Code == "JP" {
			land = c.Metres / 1000
		}
	}
	if math.IsInf(land, 1) {
		return 0, false
	}
	seconds := travel(math.Hypot(land, o.depth.Value))
	for _, b := range onSeaFloor {
		if b[0] <= o.point.Lon && o.point.Lon <= b[2] && b[1] <= o.point.Lat && o.point.Lat <= b[3] {
			seconds = (2*seconds + travel(o.depth.Value)) / 3
		}
	}
	return time.Duration((seeing + seconds) * float64(time.Second)), true
}

// begin returns when the earthquake began. It is the time of detection minus the waves' travel time
// to the nearest station, but within the minute that the agency gives.
func (o *origin) begin(minute hazard.Instant, event string) hazard.Instant {
	seen, known := detected(event)
	delay, near := o.delay()
	if !known || !near || seen < minute || seen > minute.Add(time.Minute+maxDelay) {
		return minute
	}
	began := seen.Add(-delay.Round(time.Second))
	return max(minute, min(began, minute.Add(59*time.Second)))
}

// detected returns when an earthquake was first detected, from its EventID.
func detected(event string) (hazard.Instant, bool) {
	t, err := time.ParseInLocation("20060102150405", event, japan)
	return hazard.At(t), err == nil
}

// maxRegions bounds the regions in a description for one intensity.
const maxRegions = 30

// description describes the strength of the earthquake and where it was felt most, with the
// agency's names.
func (o *origin) description(q *seismic.Quake, n *lenient.Node, h *head, minute hazard.Instant, event, greatest string) string {
	var b strings.Builder
	if h.headline != "" {
		b.WriteString(h.headline + "\n")
	}
	q.Describe(&b, minute)
	b.WriteString("The time is given to the minute")
	if seen, ok := detected(event); ok {
		b.WriteString("; the earthquake is named by when it was first seen, " + seen.Time().Format("15:04:05") + " UTC")
	}
	b.WriteString(".\n")
	if o.where != "" {
		b.WriteString("Epicenter: " + strings.TrimSpace(o.where+" "+o.size) + ".\n")
	}
	if greatest != "" {
		b.WriteString("Greatest intensity on the scale of the agency: " + greatest + ".\n")
	}
	for _, item := range all(at(n, "Head", "Headline", "Information"), "Item") { // by region, strongest first
		var names []string
		for _, a := range all(at(item, "Areas"), "Area") {
			if name := get(a, "Name"); name != "" && len(names) < maxRegions {
				names = append(names, name)
			}
		}
		if kind := get(item, "Kind", "Name"); kind != "" && len(names) > 0 {
			b.WriteString(kind + ": " + strings.Join(names, ", ") + ".\n")
		}
	}
	for _, name := range []string{"ForecastComment", "FreeFormComment"} {
		comment := at(n, "Body", "Comments", name)
		if text := hazard.Clean(cmp.Or(at(comment, "Text").Text, comment.Text)); text != "" {
			b.WriteString(text + "\n")
		}
	}
	fmt.Fprintf(&b, "Issued by the Japan Meteorological Agency, %s UTC.", h.issued.Time().Format("2006-01-02 15:04"))
	return hazard.Clean(b.String())
}
