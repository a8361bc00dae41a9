package gdacs

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/town"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
)

// site is the address of GDACS's website.
const site = "https://www.gdacs.org/"

// form is the form of a document. A higher form has more detail about an event.
type form int64

const (
	capForm form = iota
	rssForm
	fileForm // the file gdacs.geojson
	listForm
	detailForm
	geometryForm
)

// event is the content of a document about one event, in GDACS's words. All forms of documents are
// converted to it.
type event struct {
	form                    form
	code, number, episode   string // "EQ", "1554511", "1721183"
	name                    string // "LALA-26", "Mayon", "East Africa-2026"; empty for most types
	country                 string
	level, highest          string   // alert levels: level of the episode, highest of the event
	titles                  []string // other texts that begin with the level: "Green flood alert in …"
	from, to, modified      string
	magnitude               string // magnitude of an earthquake, if it has a member of its own
	severity                string // in words: "Magnitude 5.8M, Depth:10km"
	impact                  string // people affected, in words
	glide, sourceID, agency string
	temporary, current      string
	refs                    []string
	point                   *hazard.Point
	areas                   []hazard.Area
	links                   []link
	notes                   string // figures of impact, as text
	exercise, cancelled     bool
	seconds                 string // a date with the right seconds for from; its hour may differ
	doubts                  []string
	mended                  []string // notes about repaired or invalid parts
}

func (e *event) key() string { return e.code + e.number }

// fault names a field, its value and what was expected.
func fault(field, value, expected string) string {
	return field + ": " + quote(value) + ", expected " + expected
}

// clockSkew is the tolerated difference between GDACS's clocks and ours: some of its times are off
// by hours.
const clockSkew = day

// Limits of an event's dates: droughts last for years, and no data can be from next month.
const (
	longest  = 10 * 365 * day
	farAhead = 30 * day
)

// dates are the times of an event.
type dates struct{ from, to, modified hazard.Instant }

// dates reads the times of the event. The notes describe what is replaced; reason says why there is
// no time at all.
func (e *event) dates(now hazard.Instant) (d dates, notes []string, reason string) {
	const aDate = "a date such as 2026-07-28T03:34:05"
	read := func(field, value string) (hazard.Instant, bool) {
		at, err := date(value)
		if err != nil && strings.TrimSpace(value) != "" {
			e.mended = append(e.mended, fault(field, value, aDate))
		}
		return at, err == nil
	}
	var hasFrom, hasTo, hasModified bool
	d.from, hasFrom = read("fromdate", e.from)
	d.to, hasTo = read("todate", e.to)
	switch {
	case !hasFrom && !hasTo:
		return d, nil, fault("fromdate", e.from, aDate)
	case !hasFrom:
		d.from = d.to
	default:
		if d.from = e.exact(d.from); !hasTo {
			d.to = d.from
		}
	}
	if d.modified, hasModified = read("datemodified", e.modified); !hasModified {
		d.modified = max(d.from, d.to) // gdacs.geojson and old documents do not contain the time of revision
	}
	if d.from > now.Add(clockSkew) { // a forecast date or a mistake, because GDACS only lists events that have been observed
		notes = append(notes, fmt.Sprintf("fromdate: %v is in the future", d.from))
		d.from = min(d.modified, d.to, now)
	}
	return d, notes, ""
}

// report returns the report of an event, or the reason why there is none.
func (e *event) report(now hazard.Instant) (r hazard.Report, reason string) {
	k := kindOf(e.code)
	if k == nil {
		return r, fault("eventtype", e.code, "one of EQ, TC, FL, VO, DR, WF, TS")
	}
	if !isNumber(e.number) {
		return r, fault("eventid", e.number, "a number")
	}
	level, severity, notes := e.alert()
	if level == "" {
		return r, fault("episodealertlevel", cmp.Or(strings.TrimSpace(e.level), e.highest), "Green, Orange or Red")
	}
	d, wrong, reason := e.dates(now)
	if reason != "" {
		return r, reason
	}
	q := e.quake()
	r = hazard.Report{
		Source:   Name,
		Key:      e.key(),
		Version:  e.version(d.modified),
		Type:     k.typ,
		Severity: severity,
		Category: hazard.Event,
		Start:    d.from,
		LifeMS:   k.life.Milliseconds(),
		Renewed:  k.renewed(d),
		Point:    e.point,
		Areas:    e.areas,
		Level:    level,
		URL:      site + "report.aspx?eventtype=" + e.code + "&eventid=" + e.number,
		Creator:  "GDACS",
		Notes:    append(notes, wrong...),
	}
	source.Note(&r, e.mended...)
	source.Rate(&r, hazard.GDACSLevel, level)
	if f := byType[k.typ]; f != nil {
		f(e, &r, q, now)
	}
	countries := places(e.country)
	r.Name = e.title(k, countries, q)
	r.Description = e.description(k, countries, d, level, q)
	if k.typ != hazard.Cyclone { // it names countries that a storm far out at sea may reach
		source.InCountries(&r, countries)
	}
	r.Refs = e.allRefs()
	r.Products = e.products(&r, d.modified)
	if !r.Minor {
		r.Detail = e.detail(k, severity)
	}
	r.Suspect = strings.Join(e.suspicions(&r, d, now), "; ")
	if e.cancelled {
		r.Ended = hazard.EndCancelled
	}
	if e.exercise { // an exercise may have the number of a real event
		r.Key, r.Refs, r.Category, r.Detail = "exercise:"+r.Key, nil, hazard.Exercise, ""
	}
	r.Comment = Name + ":" + r.Key
	return r, ""
}

// renewed returns when an event was last known to go on; nil if its documents do not say so.
func (k *kind) renewed(d dates) *hazard.Instant {
	switch {
	case k.renew == byRevision && d.modified <= d.to.Add(lateRevision):
		return new(max(d.modified, d.to))
	case k.renew == byRevision, k.renew == byData:
		return new(d.to)
	}
	return nil
}

// byType is what documents say about the events of one type alone.
var byType = map[hazard.Type]func(e *event, r *hazard.Report, q shock, now hazard.Instant){
	hazard.Earthquake: func(e *event, r *hazard.Report, q shock, now hazard.Instant) {
		source.Measure(r, hazard.Magnitude, q.magnitude, q.magnitude > 0)
		source.Measure(r, hazard.Depth, q.depth, q.hasDepth)
		if r.Severity == hazard.Warning {
			r.LifeMS = redQuakeLife.Milliseconds()
		}
		if e.lasts(r.Severity) {
			if listed := min(now-now%listStep, r.Start.Add(longestListed)); listed > r.Start {
				r.Renewed = new(listed)
			}
		}
		r.Minor = r.Severity == hazard.Information && q.magnitude > 0 && q.magnitude < minQuake
	},
	hazard.Cyclone: func(e *event, r *hazard.Report, _ shock, _ hazard.Instant) {
		r.Severity = max(r.Severity, stormLevel(e.severity))
		if storm := proper(e.name); isProper(storm) {
			r.Called = storm
		}
		if id := e.stormID(proper(e.name), r.Start); id != "" {
			e.refs = append(e.refs, "atcf:"+id)
		}
	},
	hazard.Volcano: func(e *event, r *hazard.Report, _ shock, _ hazard.Instant) { r.Called = proper(e.name) },
	hazard.Wildfire: func(e *event, r *hazard.Report, _ shock, _ hazard.Instant) {
		area, ok := e.firstNumber(fireSeverity)
		source.Measure(r, hazard.BurntArea, area, ok)
	},
	hazard.Drought: func(e *event, r *hazard.Report, _ shock, _ hazard.Instant) {
		area, ok := e.firstNumber(droughtSeverity)
		source.Measure(r, hazard.DroughtArea, area, ok)
	},
}

// alert returns the present level of the event. It is the level of the episode, or else of the
// event. If that is not a valid level, other words are used: the level of the event, then the first
// word of a title, and last a score in place of the level (gdacs.org/Knowledge: a score from 1 is
// Orange, from 2 Red). notes describes the invalid level.
func (e *event) alert() (level string, severity hazard.Severity, notes []string) {
	words := slices.DeleteFunc([]string{strings.TrimSpace(e.level), strings.TrimSpace(e.highest)}, func(w string) bool { return w == "" })
	if len(words) == 0 {
		return "", hazard.NoSeverity, nil
	}
	if level, severity = levelOf(words[0]); level != "" {
		return level, severity, nil
	}
	notes = []string{fault("the alert level", words[0], "Green, Orange or Red")}
	for _, title := range e.titles {
		if m := headlineLevel.FindStringSubmatch(strings.TrimSpace(title)); m != nil {
			words = append(words, m[1])
		}
	}
	for _, word := range words[1:] {
		if level, severity = levelOf(word); level != "" {
			return level, severity, notes
		}
	}
	switch score, ok := number(words[0]); {
	case !ok:
		return "", hazard.NoSeverity, nil
	case score >= 2:
		return "Red", hazard.Warning, notes
	case score >= 1:
		return "Orange", hazard.Watch, notes
	}
	return "Green", hazard.Information, notes
}

// lasts reports whether an earthquake lasts as long as GDACS lists it: it is listed as current, and
// it may need international help. A document about a single event is not such a list.
func (e *event) lasts(s hazard.Severity) bool {
	return e.code == "EQ" && s >= hazard.Watch && strings.EqualFold(strings.TrimSpace(e.current), "true") &&
		(e.form == listForm || e.form == rssForm) && !e.exercise && !e.cancelled
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 12 && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// exact returns from with the seconds of another date. CAP only contains the minute of an
// earthquake, which does not distinguish it from its aftershocks.
func (e *event) exact(from hazard.Instant) hazard.Instant {
	const minute = hazard.Instant(time.Minute / time.Millisecond)
	at, err := date(e.seconds)
	if err != nil || from%minute != 0 || at.Time().Minute() != from.Time().Minute() {
		return from
	}
	return from.Add(time.Duration(at.Time().Second()) * time.Second)
}

// version orders the documents of an event: by the second of the last revision, then by episode,
// then by the detail of the form. The episode is needed because all episodes of an event have the
// dates of the last one. Earthquakes are an exception: their episodes are large numbers, and each
// has its own revision.
func (e *event) version(modified hazard.Instant) int64 {
	const second, forms, episodes = 1000, 10, 98
	at := int64(modified)
	at -= (at%second + second) % second
	if n, err := strconv.Atoi(e.episode); err == nil && e.code != "EQ" {
		at += forms * int64(min(max(n, 0), episodes))
	}
	return at + int64(e.form)
}

var (
	magnitudeText = regexp.MustCompile(`(?i)magnitude ([0-9.]+) ?M`)
	depthText     = regexp.MustCompile(`(?i)depth: ?(-?[0-9.]+) ?km`)
)

// shock is the size of an earthquake. The magnitude is 0 if it is unknown or if the event is not an
// earthquake.
type shock struct {
	magnitude, depth float64
	hasDepth         bool
}

func (e *event) quake() (q shock) {
	if e.code != "EQ" {
		return q
	}
	var ok bool
	q.magnitude, ok = number(e.magnitude)
	if m := magnitudeText.FindStringSubmatch(e.severity); m != nil && (!ok || q.magnitude == 0) {
		q.magnitude, ok = number(m[1])
	}
	if !ok || q.magnitude < 0 || q.magnitude > 11 {
		q.magnitude = 0
	}
	if m := depthText.FindStringSubmatch(e.severity); m != nil {
		q.depth, q.hasDepth = number(m[1])
	}
	return q
}

// title returns the name of the event: "M 5.8 Earthquake - China", "Wildfire - 30 km NE of Kananga,
// Democratic Republic of Congo (5763 ha)", "Tropical Cyclone Lala - United States".
func (e *event) title(k *kind, countries []string, q shock) string {
	what, where, region := k.label, "", ""
	name := proper(e.name)
	switch k.typ {
	case hazard.Earthquake:
		if q.magnitude > 0 {
			what = "M " + decimal(q.magnitude) + " " + what
		}
	case hazard.Cyclone:
		if name != "" {
			what += " " + name
		}
	case hazard.Drought:
		region = name
	}
	where = shortPlaces(countries, region)
	// A country may have hundreds of fires and several floods. The nearest town distinguishes them,
	// and for fires also the size (D15).
	size := ""
	if e.point != nil && (k.typ == hazard.Wildfire || k.typ == hazard.Flood) {
		if near, ok := town.Nearest(e.point.Lon, e.point.Lat); ok {
			where = lenient.Joined(", ", near.Words(), where)
		} else {
			where = lenient.Joined(", ", degrees(*e.point), where)
		}
	}
	if m := fireSeverity.FindStringSubmatch(e.severity); m != nil && k.typ == hazard.Wildfire {
		size = " (" + m[1] + " ha)"
	}
	switch {
	case k.typ == hazard.Volcano && name != "":
		where = lenient.Joined(", ", name, where)
	case where == "" && region != "":
		where = region
	case where == "" && e.point != nil && k.typ != hazard.Cyclone: // a storm at sea has a name instead
		where = degrees(*e.point)
	}
	return lenient.Clip(lenient.Joined(" - ", what, where), 2*maxName-len(size)) + size
}

// description describes what is known, one line for each fact.
func (e *event) description(k *kind, countries []string, d dates, level string, q shock) string {
	const dayForm, timeForm = "2006-01-02", "2006-01-02 15:04:05"
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	where := strings.Join(countries, ", ")
	switch {
	case q.magnitude > 0 && q.hasDepth:
		say("Magnitude %s, depth %s km.", decimal(q.magnitude), strconv.FormatFloat(math.Round(q.depth*10)/10, 'f', -1, 64))
	case q.magnitude > 0:
		say("Magnitude %s.", decimal(q.magnitude))
	}
	if s := e.inWords(k); s != "" {
		say("%s.", s)
	}
	if where != "" {
		say("%s: %s.", map[bool]string{true: "Countries", false: "Place"}[len(countries) > 1 && k.typ != hazard.Earthquake], where)
	}
	switch {
	case k.typ == hazard.Earthquake:
		say("Time: %s UTC.", d.from.Time().Format(timeForm))
	case d.to > d.from:
		say("From %s, data up to %s UTC.", d.from.Time().Format(dayForm), d.to.Time().Format("2006-01-02 15:04"))
	default:
		say("From %s UTC.", d.from.Time().Format("2006-01-02 15:04"))
	}
	if s := strings.TrimRight(hazard.CleanLine(strings.ReplaceAll(lenient.Clip(e.impact, maxText), "&", "")), " ."); s != "" {
		say("People: %s.", s)
	}
	line := fmt.Sprintf("GDACS alert level: %s (%s UTC)", level, d.modified.Time().Format("2006-01-02 15:04"))
	if other, _ := levelOf(e.highest); other != "" && other != level {
		line += "; of the event as a whole: " + other
	}
	lines = append(lines, line+".")
	if agency := hazard.CleanLine(lenient.Clip(e.agency, maxID)); agency != "" {
		say("Data: %s.", agency)
	}
	if glides := e.glides(); len(glides) > 0 {
		say("GLIDE: %s.", strings.Join(glides, ", "))
	}
	return hazard.Clean(strings.Join(lines, "\n"))
}

// For a cyclone, the text also contains the wind, but that is the maximum of its whole life, not
// the present one.
var (
	fireSeverity    = regexp.MustCompile(`(?i)impact for forest ?fire in ([0-9.]+) ha`)
	droughtSeverity = regexp.MustCompile(`(?i)agricultural drought in ([0-9.]+) km2`)
)

// firstNumber returns the number that the pattern finds in the text of the severity.
func (e *event) firstNumber(form *regexp.Regexp) (v float64, ok bool) {
	if m := form.FindStringSubmatch(e.severity); m != nil {
		return number(m[1])
	}
	return 0, false
}

// inWords returns the severity in GDACS's words, if it is meaningful: "Magnitude 0 " means unknown.
func (e *event) inWords(k *kind) string {
	s := strings.TrimRight(hazard.CleanLine(lenient.Clip(e.severity, maxText)), " .")
	switch {
	case s == "Magnitude 0":
		return ""
	case k.typ == hazard.Cyclone, k.typ == hazard.Drought, k.typ == hazard.Tsunami:
		return s
	case k.typ == hazard.Wildfire: // "Green impact for forestfire in 5763 ha"
		if m := fireSeverity.FindStringSubmatch(s); m != nil {
			return "Burnt area: " + m[1] + " ha"
		}
	}
	return ""
}

var (
	glideForm = regexp.MustCompile(`[A-Z]{2}-\d{4}-\d{6}-[A-Z]{3}`)
	// usgsForm matches the code of a network and its own number, as in us6000tga9. Other agencies
	// only give their name here.
	usgsForm = regexp.MustCompile(`^[a-z]{2}[a-z0-9]{4,14}$`)
	// gvpForm matches a volcano's number. Until 2020, the number of an eruption was that of the
	// volcano (VO284096 is Nishinoshima).
	gvpForm = regexp.MustCompile(`^[23]\d{5}$`)
)

func (e *event) glides() []string {
	all := glideForm.FindAllString(strings.ToUpper(lenient.Clip(e.glide, maxText)), 16)
	slices.Sort(all)
	return slices.Compact(all)
}

// allRefs returns the names of the event at other sources.
func (e *event) allRefs() []string {
	refs := []string{"gdacs:" + e.key()}
	for _, g := range e.glides() {
		refs = append(refs, "glide:"+g)
	}
	id := strings.ToLower(strings.TrimSpace(e.sourceID))
	if e.code == "EQ" && usgsForm.MatchString(id) && strings.ContainsAny(id, "0123456789") {
		refs = append(refs, "usgs:"+id)
	}
	if e.code == "VO" && gvpForm.MatchString(e.number) {
		refs = append(refs, "gvp:"+e.number)
	}
	for _, ref := range e.refs {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// stormID returns the identity of a storm that is called by its number ("FIFTEEN", "ONE-C") until
// it has a name, or "" if it is unknown. RSMC La Réunion uses different numbers.
func (e *event) stormID(storm string, from hazard.Instant) string {
	if e.point == nil || strings.EqualFold(strings.TrimSpace(e.agency), "RSMC") {
		return ""
	}
	words, letter := strings.ToUpper(storm), ""
	if n := len(words) - 2; n > 0 && words[n] == '-' {
		words, letter = words[:n], words[n+1:]
	}
	return cyclone.Identity(cyclone.Number(words), letter, *e.point, from)
}

// detail returns the address of the next more detailed document of the event: first its data, then
// its geometry if that shows the affected area.
func (e *event) detail(k *kind, s hazard.Severity) string {
	query := "?eventtype=" + e.code + "&eventid=" + e.number
	switch {
	case e.form < detailForm:
		return site + "gdacsapi/api/events/geteventdata" + query
	case e.form == detailForm && isNumber(e.episode) && (k.footprint || k.typ == hazard.Earthquake && s >= hazard.Watch):
		return site + "gdacsapi/api/polygons/getgeometry" + query + "&episodeid=" + e.episode
	}
	return ""
}

// suspicions returns the reasons why a readable report must be held until somebody has checked it.
func (e *event) suspicions(r *hazard.Report, d dates, now hazard.Instant) []string {
	why := slices.Clone(e.doubts)
	doubt := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	for _, late := range []struct {
		field string
		at    hazard.Instant
		ahead time.Duration
	}{{"todate", d.to, farAhead}, {"datemodified", d.modified, clockSkew}} {
		if late.at > now.Add(late.ahead) {
			doubt("%s: %v is in the future", late.field, late.at)
		}
	}
	if d.from < max(d.to, d.modified).Add(-longest) {
		doubt("fromdate: %v is ten years before the last data", d.from)
	}
	switch {
	case e.point == nil && len(e.areas) == 0:
		doubt("no place: the document gives neither a position nor an area")
	case r.Point != nil && *r.Point == (hazard.Point{}):
		doubt("coordinates: 0, 0, expected the position of the event")
	}
	if strings.EqualFold(strings.TrimSpace(e.temporary), "true") {
		doubt("istemporary: true, expected false")
	}
	for w := range strings.FieldsSeq(e.name) {
		if w = strings.Trim(w, "-_.,:()[]"); strings.EqualFold(w, "TEST") || strings.EqualFold(w, "EXERCISE") {
			doubt("eventname: %s says %s", quote(e.name), strings.ToUpper(w))
		}
	}
	return why
}

// place sets the position, longitude first. If latitude and longitude are obviously swapped, it
// corrects them and holds the report.
func (e *event) place(lon, lat float64) (reason string) {
	if math.Abs(lat) > 90 && math.Abs(lat) <= 180 && math.Abs(lon) <= 90 {
		e.doubts = append(e.doubts, fmt.Sprintf("coordinates: %v, %v, expected longitude and latitude; read as swapped", lon, lat))
		lon, lat = lat, lon
	}
	if !(math.Abs(lat) <= 90 && math.Abs(lon) <= 360) {
		return fmt.Sprintf("coordinates: %v, %v, expected longitude and latitude in degrees", lon, lat)
	}
	switch {
	case lon > 180:
		lon -= 360
	case lon < -180:
		lon += 360
	}
	e.point = &hazard.Point{Lon: lon, Lat: lat}
	return ""
}
