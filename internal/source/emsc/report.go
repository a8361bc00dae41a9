package emsc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// level is a row of the table of levels: the conditions that an earthquake meets, and what it is then. A condition that is
// zero is none.
type level struct {
	mag      float64 // at least
	depth    float64 // km, less than; an unknown depth counts as shallow
	severity hazard.Severity
	life     time.Duration
	minor    bool
	basis    string
}

const (
	usualLife = 24 * time.Hour // judgement: no service says an end
	greatLife = 72 * time.Hour // judgement: search and rescue counts in three days
)

// levels: the first row that fits decides. The centre says how strong an earthquake was, not how bad, so the rows are those
// for an earthquake of which USGS PAGER has not spoken yet; once it has, its word counts before this one (intake).
var levels = []level{
	{mag: 7.0, depth: 100, severity: hazard.Warning, life: greatLife,
		basis: "judgement: a great and shallow earthquake nobody has assessed yet"},
	{mag: 6.0, severity: hazard.Watch, life: usualLife,
		basis: "judgement; deep earthquakes of M 7 and more are here too"},
	{mag: 5.0, severity: hazard.Advisory, life: usualLife,
		basis: "judgement: 52 of 54 recorded events of M 5.0 to 5.9 that PAGER has rated are green"},
	{mag: 4.5, severity: hazard.Information, life: usualLife,
		basis: "threshold: M 4.5, from which networks list earthquakes worldwide"},
	{severity: hazard.Information, life: usualLife, minor: true,
		basis: "below the threshold: no hazard, but an update of one that was above it"},
}

// kind is a row of the table of event types.
type kind struct {
	code  string // second letter of evtype, or the whole of it where it has two
	quake bool
	words string
}

// kinds are the types of the ISF bulletin format: how certain (k known, s suspected; f felt and d damaging are an older usage), and
// what (isc.ac.uk/iscbulletin/search/catalogue/csvoutput; Storchak et al. 2012, Nomenclature of Event Types, written with EMSC).
// Only what is coded as an earthquake is one.
var kinds = []kind{
	{"e", true, "earthquake"},
	{"i", false, "induced event"},
	{"r", false, "rock burst"},
	{"m", false, "mine explosion"},
	{"h", false, "chemical explosion"},
	{"x", false, "experimental explosion"},
	{"n", false, "nuclear explosion"},
	{"ls", false, "landslide"},
}

// kindOf is the row of an evtype; nil if the table has none, as for "uk", unknown.
func kindOf(evtype string) *kind {
	evtype = strings.ToLower(strings.TrimSpace(evtype))
	for i := range kinds {
		k := &kinds[i]
		if len(evtype) == 2 && (k.code == evtype || k.code == evtype[1:] && strings.ContainsRune("ksfd", rune(evtype[0]))) {
			return k
		}
	}
	return nil
}

// catalogue is a row of the table of other networks' catalogues: the scheme of a reference to one of its ids.
type catalogue struct{ name, scheme string }

// catalogues: source_catalog names where source_id counts. All recorded are the centre's own, "EMSC-RTS"; the others are those whose ids
// another source of ours uses.
var catalogues = []catalogue{
	{"USGS", "usgs"}, {"NEIC", "usgs"}, {"ANSS", "usgs"}, {"COMCAT", "usgs"},
}

const ownCatalogue = "EMSC-RTS"

// skew is by how much EMSC and we may tell the time differently.
const skew = 10 * time.Minute

// farFrom is how far apart, in degrees, the two positions of one record may be.
const farFrom = 0.1

// report maps a feature. It says why, if it cannot.
func (f *feature) report(now hazard.Instant) (r hazard.Report, reason string) {
	p := &f.Properties
	key := f.key()
	if key == "" {
		return r, fmt.Sprintf("properties/unid: %s, expected an id of at most %d letters and digits", cmp.Or(frame.ExcerptText(p.UNID), frame.Nothing), maxID)
	}
	if id := eventID(f.ID); id != "" && id != key {
		return r, fmt.Sprintf("properties/unid: %s, expected the id of the record, %s", frame.ExcerptText(p.UNID), id)
	}
	start, ok := parseTime(p.Time)
	if !ok {
		return r, "properties/time: " + cmp.Or(frame.ExcerptText(p.Time), frame.Nothing) + ", expected a time of ISO 8601"
	}
	updated, ok := parseTime(p.LastUpdate)
	if !ok {
		return r, "properties/lastupdate: " + cmp.Or(frame.ExcerptText(p.LastUpdate), frame.Nothing) + ", expected a time of ISO 8601"
	}
	k := kindOf(p.EvType)
	point, doubt, reason := f.point()
	withdrawn := k != nil && !k.quake
	if reason != "" && !withdrawn {
		return r, reason
	}
	q := quake{properties: p, depth: f.depth(), place: readable(p.Region)}
	l := q.level()
	r = hazard.Report{
		Source:      Name,
		Key:         key,
		Version:     int64(updated),
		Name:        q.name(point),
		Description: q.description(key, start),
		Type:        hazard.Earthquake,
		Severity:    l.severity,
		Category:    hazard.Event,
		Start:       start,
		LifeMS:      l.life.Milliseconds(),
		Minor:       l.minor,
		Point:       point,
		Refs:        p.refs(key),
		URL:         portal + key,
		Comment:     Name + ":" + key,
		Creator:     "EMSC",
	}
	if withdrawn { // what turns out to be a blast is no earthquake any more, and never was one
		r.Minor, r.Ended = true, hazard.EndWithdrawn
		return r, ""
	}
	var why []string
	if doubt != "" {
		why = append(why, doubt)
	}
	if k == nil {
		why = append(why, fmt.Sprintf("properties/evtype: %s, expected the code of a kind of event such as ke", cmp.Or(frame.ExcerptText(p.EvType), frame.Nothing)))
	}
	if start > now.Add(skew) {
		why = append(why, fmt.Sprintf("properties/time: %v is in the future", start))
	}
	if updated > now.Add(skew) {
		why = append(why, fmt.Sprintf("properties/lastupdate: %v is in the future", updated))
	}
	if updated < start.Add(-skew) {
		why = append(why, fmt.Sprintf("properties/lastupdate: %v is before the event at %v", updated, start))
	}
	if *point == (hazard.Point{}) && q.place == "" {
		why = append(why, "no place: geometry/coordinates are 0, 0, and properties/flynn_region is empty")
	}
	if w := notReal(p.Region); w != "" {
		why = append(why, fmt.Sprintf("properties/flynn_region says %s: %s", w, frame.ExcerptText(p.Region)))
	}
	r.Suspect = strings.Join(why, "; ")
	r.Products = p.products(&r)
	return r, ""
}

// key is the unid, else the id, which is the same.
func (f *feature) key() string { return cmp.Or(eventID(f.Properties.UNID), eventID(f.ID)) }

// maxID bounds an id. The recorded have 16 characters.
const maxID = 64

// eventID is s if it is an id such as the portal gives; else empty.
func eventID(s string) string {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.') {
			return ""
		}
	}
	if len(s) > maxID {
		return ""
	}
	return s
}

// parseTime reads an instant of ISO 8601. Without a zone it is UTC.
func parseTime(s string) (hazard.Instant, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			at := hazard.At(t)
			return at, at >= hazard.MinInstant && at <= hazard.MaxInstant
		}
	}
	return 0, false
}

// point is where the earthquake was. The record says it twice, so a fault of one of them shows: doubt says that they differ,
// fault why there is no position at all.
func (f *feature) point() (at *hazard.Point, doubt, fault string) {
	written := position(f.Properties.Lon, f.Properties.Lat)
	c := f.Geometry.Coordinates
	if f.Geometry.Type != "Point" || len(c) < 2 || !c[0].Known || !c[1].Known {
		if written != nil {
			return written, "", ""
		}
		return nil, "", fmt.Sprintf("geometry: %s with %d coordinates, expected a Point with longitude and latitude", cmp.Or(frame.ExcerptText(f.Geometry.Type), frame.Nothing), len(c))
	}
	drawn := position(c[0], c[1])
	switch {
	case drawn == nil && written == nil:
		return nil, "", fmt.Sprintf("geometry/coordinates: %s, %s, expected a longitude and a latitude", c[0].Said(), c[1].Said())
	case drawn == nil:
		return written, "", ""
	case written == nil || near(drawn, written):
		return drawn, "", ""
	case near(&hazard.Point{Lon: drawn.Lat, Lat: drawn.Lon}, written): // the two were exchanged
		return written, "", ""
	}
	return drawn, fmt.Sprintf("geometry/coordinates: %s, %s, expected the position of properties/lon and lat, %s, %s",
		c[0].Said(), c[1].Said(), f.Properties.Lon.Said(), f.Properties.Lat.Said()), ""
}

// position is a point on Earth; nil if there is none. Longitudes may run on to 360, as where a region lies across the antimeridian.
func position(lon, lat frame.Number) *hazard.Point {
	if !lon.Known || !lat.Known || math.Abs(lat.Value) > 90 || math.Abs(lon.Value) > 360 {
		return nil
	}
	x := lon.Value
	switch {
	case x > 180:
		x -= 360
	case x < -180:
		x += 360
	}
	return &hazard.Point{Lon: x, Lat: lat.Value}
}

func near(a, b *hazard.Point) bool {
	x := math.Abs(a.Lon - b.Lon)
	return min(x, 360-x) <= farFrom && math.Abs(a.Lat-b.Lat) <= farFrom
}

// depth is in km below sea level.
func (f *feature) depth() frame.Number {
	if f.Properties.Depth.Known {
		return f.Properties.Depth
	}
	if c := f.Geometry.Coordinates; len(c) > 2 && c[2].Known {
		return frame.Number{Value: -c[2].Value, Known: true}
	}
	return frame.Number{}
}

// refs are the names of the event: the centre's own, and that of another network whose solution was taken over.
func (p *properties) refs(key string) []string {
	all := []string{Name + ":" + key}
	for _, c := range catalogues {
		id := strings.ToLower(eventID(string(p.SourceID)))
		// A bare number is no id of such a network: theirs begin with their letters.
		if strings.EqualFold(strings.TrimSpace(p.SourceCatalog), c.name) && strings.IndexFunc(id, unicode.IsLetter) == 0 {
			all = append(all, c.scheme+":"+id)
		}
	}
	return all
}

// quake is an earthquake as the mapping sees it: its properties, some of them made fit for use.
type quake struct {
	*properties
	place string // in readable case, empty if nothing is said of it
	depth frame.Number
}

func (q *quake) level() *level {
	for i := range levels {
		l := &levels[i]
		if (l.mag == 0 || q.Mag.Known && q.Mag.Value >= l.mag) && (l.depth == 0 || !q.depth.Known || q.depth.Value < l.depth) {
			return l
		}
	}
	panic("the last level has no condition")
}

// maxPlace bounds the words for a place, in bytes. The longest recorded has 33.
const maxPlace = 200

// small are the words that names of regions write small.
var small = []string{"of", "the", "and", "off", "near", "in", "to", "coast", "region", "border", "reg", "offshore"}

// readable writes a region's name, which comes in capitals, as people do: "Near the coast of Western Turkey".
func readable(region string) string {
	region = frame.Clip(strings.Trim(hazard.CleanLine(frame.Clip(region, 4*maxPlace)), " ,;-"), maxPlace)
	if region != strings.ToUpper(region) {
		return region
	}
	var b strings.Builder
	b.Grow(len(region))
	for i, w := range strings.FieldsFunc(region, func(r rune) bool { return r == ' ' }) {
		w = strings.ToLower(w)
		if i > 0 {
			b.WriteByte(' ')
		}
		if i > 0 && slices.Contains(small, strings.Trim(w, ",.")) {
			b.WriteString(w)
			continue
		}
		begins := true
		for j, r := range w {
			// O'Higgins, Sak'art'velo, U.S., Turkey-Iran: after an apostrophe only where one letter stands before it.
			if begins {
				r = unicode.ToTitle(r)
			}
			begins = r == '-' || r == '.' || r == '(' || r == '/' || r == '\'' && j == 1
			b.WriteRune(r)
		}
	}
	return b.String()
}

// notReal is the word by which text says that it does not speak of a real event.
func notReal(text string) string {
	for w := range strings.FieldsFuncSeq(frame.Clip(text, 4*maxPlace), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, sign := range []string{"TEST", "EXERCISE", "DRILL"} {
			if strings.EqualFold(w, sign) {
				return sign
			}
		}
	}
	return ""
}

// name is what the event is called: "M 5.1 Earthquake - Crete, Greece".
func (q *quake) name(at *hazard.Point) string {
	where := q.place
	if where == "" && at != nil {
		where = fmt.Sprintf("%.2f %s, %.2f %s", math.Abs(at.Lat), side(at.Lat, "N", "S"), math.Abs(at.Lon), side(at.Lon, "E", "W"))
	}
	called := "Earthquake"
	if q.Mag.Known {
		called = "M " + decimal(q.Mag.Value) + " Earthquake"
	}
	if where == "" {
		return called
	}
	return called + " - " + where
}

func side(degrees float64, positive, negative string) string {
	if degrees < 0 {
		return negative
	}
	return positive
}

// decimal writes a number with one decimal, as magnitudes are; never as -0.0.
func decimal(v float64) string {
	if v = math.Round(v*10) / 10; v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// description tells people what is known, a line for each thing.
func (q *quake) description(key string, start hazard.Instant) string {
	var b strings.Builder
	say := func(words ...string) {
		for _, w := range words {
			b.WriteString(w)
		}
	}
	if q.Mag.Known {
		say("Magnitude ", decimal(q.Mag.Value))
		if kind := strings.ToLower(strings.TrimSpace(q.MagType)); kind != "" && kind != "m" && eventID(kind) != "" {
			say(" (", kind, ")")
		}
	} else {
		say("Magnitude not known yet")
	}
	if q.place != "" {
		say(", ", q.place)
	}
	say(".\n")
	if q.depth.Known {
		km := strconv.FormatFloat(math.Round(math.Abs(q.depth.Value)*10)/10, 'f', -1, 64)
		say("Depth: ", km, " km")
		if q.depth.Value < 0 && km != "0" {
			say(" above sea level")
		}
		say(".\n")
	}
	say("Time: ", start.Time().Format("2006-01-02 15:04:05"), " UTC.\n")
	if k := kindOf(q.EvType); k != nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(q.EvType)), "s") {
		say("Suspected, not confirmed, to be an earthquake.\n")
	}
	say("Reported by EMSC")
	if auth := frame.Clip(hazard.CleanLine(q.Auth), maxID); auth != "" && auth != "EMSC" {
		say(" with the solution of ", auth)
	}
	say(" as ", key, ".")
	return b.String()
}

// portal and page are the two pages of an event, before its unid and its number.
const (
	portal = "https://www.seismicportal.eu/eventdetails.html?unid="
	page   = "https://www.emsc-csem.org/Earthquake_information/earthquake.php?id="
)

// products are the pages of an event, in the folder of the source.
func (p *properties) products(r *hazard.Report) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{
		{Key: Name, Title: "EMSC", Type: hazard.FolderProduct, Time: r.Start},
		{Key: "event", Parent: Name, Title: "Event page", Type: hazard.URLProduct, Data: r.URL, Time: r.Start},
	}
	if id := string(p.SourceID); p.SourceCatalog == ownCatalogue && isNumber(id) {
		tree = append(tree, hazard.ReportProduct{Key: "information", Parent: Name, Title: "Earthquake information and felt reports",
			Type: hazard.URLProduct, Data: page + id, Time: r.Start})
	}
	return tree
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 12 && strings.Trim(s, "0123456789") == ""
}
