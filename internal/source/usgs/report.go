package usgs

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// maxBytes bounds a payload. A week of all magnitudes has 1.5 MB, the greatest answer of the FDSN query (20,000 events)
// about 15 MB.
const maxBytes = 32 << 20

// level is a row of the mapping table: the conditions that an earthquake meets, and what it is then. A condition that is
// zero is none.
type level struct {
	pager    string  // colour; "-" while PAGER has not spoken
	mag      float64 // at least
	depth    float64 // km, less than; an unknown depth counts as shallow
	mmi      float64 // at least
	severity hazard.Severity
	life     time.Duration
	minor    bool
	basis    string
}

const (
	usualLife = 24 * time.Hour // base interface: no end is said; judgement, PDC and GDACS keep earthquakes for days
	greatLife = 72 * time.Hour // judgement: search and rescue counts in three days
)

// levels is the mapping table: the first row that fits decides. Magnitude decides until PAGER has spoken (20 to 30 minutes
// after the origin); then PAGER does in both directions, with floors so that a great earthquake never looks trivial.
var levels = []level{
	{pager: "red", severity: hazard.Warning, life: greatLife,
		basis: "PAGER scale: 1,000 deaths or $1 B and more, international response"},
	{pager: "orange", severity: hazard.Watch, life: usualLife,
		basis: "PAGER scale: 100 deaths or $100 M and more, national response"},
	{pager: "yellow", mag: 7.0, severity: hazard.Watch, life: usualLife,
		basis: "floor, judgement: 3 of 3 recorded events of M 7 and more are green"},
	{pager: "green", mag: 7.0, severity: hazard.Watch, life: usualLife,
		basis: "floor, as above"},
	{pager: "yellow", severity: hazard.Advisory, life: usualLife,
		basis: "PAGER scale: 1 death or $1 M and more, local or regional response"},
	{pager: "green", mag: 6.0, severity: hazard.Advisory, life: usualLife,
		basis: "floor, judgement: 10 of 11 recorded events of M 6.0 to 6.9 are green"},
	{pager: "-", mag: 7.0, depth: 100, severity: hazard.Warning, life: greatLife,
		basis: "judgement: a great and shallow earthquake nobody has assessed yet"},
	{pager: "-", mag: 6.0, severity: hazard.Watch, life: usualLife,
		basis: "judgement; deep earthquakes of M 7 and more are here too"},
	{pager: "-", mag: 5.0, severity: hazard.Advisory, life: usualLife,
		basis: "judgement: 52 of 54 recorded events of M 5.0 to 5.9 with a colour are green"},
	{mag: 4.5, severity: hazard.Information, life: usualLife,
		basis: "threshold: M 4.5, from which USGS lists earthquakes worldwide"},
	{mmi: 4.0, severity: hazard.Information, life: usualLife,
		basis: "threshold: intensity IV, felt indoors by many (Modified Mercalli)"},
	{severity: hazard.Information, life: usualLife, minor: true,
		basis: "below the thresholds: no hazard, but an update of one that was above them"},
}

// pagerWords are the colours of PAGER and what they mean (earthquake.usgs.gov/data/pager).
var pagerWords = map[string]string{
	"green":  "no deaths and losses below 1 million US dollars are most likely",
	"yellow": "some deaths or losses of more than 1 million US dollars are likely; the response is usually local or regional",
	"orange": "100 deaths or more, or losses of more than 100 million US dollars are likely; the response is usually national",
	"red":    "1,000 deaths or more, or losses of more than 1 billion US dollars are likely; the response is usually international",
}

// quake is an earthquake as the mapping sees it: its properties, some of them made fit for use.
type quake struct {
	*properties
	place string // on one line, empty if nothing is said of it
	pager string // colour of PAGER; empty while it has said none that is known ("pending")
	depth number
}

func quakeOf(f *feature) *quake {
	q := &quake{
		properties: &f.Properties,
		place:      frame.Clip(strings.Trim(hazard.CleanLine(frame.Clip(f.Properties.Place, 4*maxPlace)), " ,;-"), maxPlace),
		depth:      f.Geometry.Coordinates.depth,
	}
	if colour := strings.ToLower(strings.TrimSpace(q.Alert)); pagerWords[colour] != "" {
		q.pager = colour
	}
	return q
}

// maxPlace bounds the words for a place, in bytes. The longest recorded has under 60.
const maxPlace = 200

func (q *quake) level() *level {
	for i := range levels {
		l := &levels[i]
		if (l.pager == "" || l.pager == cmp.Or(q.pager, "-")) &&
			(l.mag == 0 || q.Mag.known && q.Mag.value >= l.mag) &&
			(l.depth == 0 || !q.depth.known || q.depth.value < l.depth) &&
			(l.mmi == 0 || q.MMI.known && q.MMI.value >= l.mmi) {
			return l
		}
	}
	panic("the last level has no condition")
}

// renewable is how long after an earthquake its products renew it. Later ones, some by years, are for the record.
const renewable = 30 * 24 * time.Hour

// skew is by how much USGS and we may tell the time differently.
const skew = 10 * time.Minute

// report maps a feature. It says why, if it cannot.
func (p *parser) report(f *feature, isDetail bool) (reason string) {
	q := quakeOf(f)
	deleted := strings.EqualFold(strings.TrimSpace(q.Status), "deleted")
	kind := strings.TrimSpace(q.Type)
	if kind == "" && !deleted {
		return "properties/type: " + nothing + ", expected a kind of event such as earthquake"
	}
	// What turns out to be a blast is no earthquake any more, and never was one.
	other := kind != "" && !strings.EqualFold(kind, "earthquake")
	deleted = deleted || other
	key := eventID(f.ID)
	if key == "" {
		return fmt.Sprintf("id: %s, expected an id of at most %d letters and digits", cmp.Or(frame.ExcerptText(f.ID), nothing), maxID)
	}
	updated, ok := q.Updated.instant()
	if !ok {
		return "properties/updated: " + q.Updated.said() + ", expected milliseconds since 1970"
	}
	var all products
	if isDetail {
		all = p.products(key, q.Products)
		deleted = deleted || all.deleted
	}
	start, ok := q.Time.instant()
	point, fault := f.point()
	switch {
	case deleted: // may have neither time nor place any more
		if !ok {
			start = updated
		}
	case !ok:
		return "properties/time: " + q.Time.said() + ", expected milliseconds since 1970"
	case point == nil:
		return fault
	}
	l := q.level()
	others := aliases(q.IDs, key)
	p.batch.Reports = append(p.batch.Reports, hazard.Report{
		Source:      Name,
		Key:         key,
		Aliases:     others,
		Version:     int64(updated),
		Name:        q.name(point),
		Description: q.description(start, append([]string{key}, others...)),
		Type:        hazard.Earthquake,
		Severity:    l.severity,
		Category:    hazard.Event,
		Start:       start,
		LifeMS:      l.life.Milliseconds(),
		Minor:       l.minor || other,
		Point:       point,
		URL:         webAddress(q.URL),
		Comment:     Name + ":" + key,
		Creator:     "USGS",
		Suspect:     q.suspect(start, updated, p.now, !deleted && *point == (hazard.Point{}) && q.place == ""),
	})
	r := &p.batch.Reports[len(p.batch.Reports)-1]
	switch {
	case deleted:
		r.Ended = hazard.EndWithdrawn
	case isDetail:
		r.Products = all.tree(r)
		if all.renewed != nil && *all.renewed < start.Add(renewable) {
			r.Renewed = all.renewed
		}
	case !l.minor && hasDetail(q.Types):
		r.Detail = detailAddress(q.Detail)
	}
	return ""
}

// nothing is what a reason says of a member that says nothing.
const nothing = "null or missing"

// said is the number as a reason quotes it.
func (n number) said() string {
	if !n.known {
		return nothing
	}
	return strconv.FormatFloat(n.value, 'g', -1, 64)
}

// maxID bounds an id. The longest recorded has 20 characters.
const maxID = 64

// eventID is a network's id of an event in lower case; empty if s is none.
func eventID(s string) string {
	if !isCode(s) {
		return ""
	}
	return strings.ToLower(s)
}

// isCode tells whether s is a code such as networks give: letters, digits and few signs.
func isCode(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return s != "" && len(s) <= maxID
}

// maxAliases bounds the ids of one event. The greatest recorded number is six.
const maxAliases = 64

// aliases are the ids of all networks but key.
func aliases(ids, key string) []string {
	var all []string
	for id := range strings.SplitSeq(ids, ",") {
		if id = eventID(id); id != "" && id != key && !slices.Contains(all, id) && len(all) < maxAliases {
			all = append(all, id)
		}
	}
	return all
}

// point is the feature's position, or why it has none.
func (f *feature) point() (at *hazard.Point, fault string) {
	if f.Geometry.Type != "Point" {
		return nil, fmt.Sprintf("geometry/type: %s, expected Point", cmp.Or(frame.ExcerptText(f.Geometry.Type), nothing))
	}
	g := &f.Geometry.Coordinates
	if !g.lon.known || math.Abs(g.lon.value) > 180 {
		return nil, "geometry/coordinates/0: " + g.lon.said() + ", expected a longitude from -180 to 180"
	}
	if !g.lat.known || math.Abs(g.lat.value) > 90 {
		return nil, "geometry/coordinates/1: " + g.lat.said() + ", expected a latitude from -90 to 90"
	}
	return &hazard.Point{Lon: g.lon.value, Lat: g.lat.value}, ""
}

// suspect says why a report that can be read is not to be shown before somebody has looked at it. An old event that was
// given a wrong year looks like a new one: a catalogue once moved an earthquake of 1925 to 2025, and it was announced.
func (q *quake) suspect(start, updated, now hazard.Instant, noPlace bool) string {
	var why []string
	if start > now.Add(skew) {
		why = append(why, fmt.Sprintf("properties/time: %v is in the future", start))
	}
	if updated > now.Add(skew) {
		why = append(why, fmt.Sprintf("properties/updated: %v is in the future", updated))
	}
	if updated < start.Add(-skew) {
		why = append(why, fmt.Sprintf("properties/updated: %v is before the event at %v", updated, start))
	}
	if noPlace {
		why = append(why, "no place: geometry/coordinates are 0, 0, and properties/place is empty")
	}
	text, where := frame.Clip(q.Title, 4*maxPlace), frame.Clip(q.Place, 4*maxPlace)
	if !strings.Contains(text, where) {
		text += " / " + where
	}
	if w := notReal(text); w != "" {
		why = append(why, fmt.Sprintf("the text says %s: %s", w, frame.ExcerptText(text)))
	}
	return strings.Join(why, "; ")
}

// notReal is the word by which text says that it does not speak of a real event.
func notReal(text string) string {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, sign := range []string{"TEST", "EXERCISE", "DRILL"} {
			if strings.EqualFold(w, sign) {
				return sign
			}
		}
	}
	return ""
}

// name is what the event is called: "M 7.1 Earthquake - 12 km NE of X, Country", or the name that it was given.
func (q *quake) name(at *hazard.Point) string {
	where := q.place
	if where == "" && at != nil {
		where = fmt.Sprintf("%.2f %s, %.2f %s", math.Abs(at.Lat), side(at.Lat, "N", "S"), math.Abs(at.Lon), side(at.Lon, "E", "W"))
	}
	called := "Earthquake"
	if strings.Contains(strings.ToLower(where), "earthquake") {
		called = ""
	}
	if q.Mag.known {
		called = strings.TrimSpace("M " + decimal(q.Mag.value) + " " + called)
	}
	if called == "" || where == "" {
		return called + where
	}
	return called + " - " + where
}

func side(degrees float64, positive, negative string) string {
	if degrees < 0 {
		return negative
	}
	return positive
}

// decimal writes a number with one decimal, as magnitudes and intensities are; never as -0.0.
func decimal(v float64) string {
	if v = math.Round(v*10) / 10; v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// description tells people what is known, a line for each thing.
func (q *quake) description(start hazard.Instant, ids []string) string {
	var b strings.Builder
	b.Grow(512)
	say := func(words ...string) {
		for _, w := range words {
			b.WriteString(w)
		}
	}
	if q.Mag.known {
		say("Magnitude ", decimal(q.Mag.value))
		if isCode(q.MagType) {
			say(" (", q.MagType, ")")
		}
	} else {
		say("Magnitude not known yet")
	}
	if q.place != "" {
		say(", ", q.place)
	}
	say(".\n")
	if q.depth.known {
		km := strconv.FormatFloat(math.Round(math.Abs(q.depth.value)*10)/10, 'f', -1, 64)
		say("Depth: ", km, " km")
		if q.depth.value < 0 && km != "0" {
			say(" above sea level")
		}
		say(".\n")
	}
	say("Time: ", start.Time().Format("2006-01-02 15:04:05"), " UTC.\n")
	switch status := strings.ToLower(strings.TrimSpace(q.Status)); status {
	case "":
	case "automatic":
		say("Status: automatic, not yet reviewed by a seismologist.\n")
	case "reviewed":
		say("Status: reviewed by a seismologist.\n")
	default:
		say("Status: ", frame.Clip(hazard.CleanLine(status), maxID), ".\n")
	}
	if q.pager != "" {
		say("PAGER alert level: ", q.pager, " (", pagerWords[q.pager], ").\n")
	}
	if q.MMI.known {
		say("Estimated shaking: intensity up to ", decimal(q.MMI.value), " (MMI).\n")
	}
	if q.Felt.known && q.Felt.value >= 1 {
		say("Felt reports: ", strconv.FormatFloat(q.Felt.value, 'f', 0, 64))
		if q.CDI.known {
			say(", intensity up to ", decimal(q.CDI.value))
		}
		say(".\n")
	}
	if q.Tsunami.known && q.Tsunami.value >= 1 {
		say("Tsunami: USGS refers to tsunami.gov, which alone says whether there is a threat.\n")
	}
	say("Ids of the networks: ")
	for i, id := range ids {
		if i > 0 {
			say(", ")
		}
		say(id)
	}
	say(".")
	return b.String()
}

// maxAddress bounds a web address, in bytes, as browsers do.
const maxAddress = 2000

// base is what addresses without a host are resolved against.
var base = url.URL{Scheme: "https", Host: "earthquake.usgs.gov", Path: "/"}

// address reads a web address of http or https; nil if s is none. Blanks, control characters and letters beyond ASCII,
// which can make an address look like another, are in none.
func address(s string) *url.URL {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxAddress || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil
	}
	u, err := url.Parse(s)
	if err == nil && !u.IsAbs() {
		u, err = base.Parse(s)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return nil
	}
	return u
}

// webAddress is s as an absolute address; empty if it is none of http or https.
func webAddress(s string) string {
	if u := address(s); u != nil {
		return u.String()
	}
	return ""
}

// detailAddress is s if it is an address that we may ask for details: nothing that a feed names is fetched elsewhere.
func detailAddress(s string) string {
	u := address(s)
	if u == nil || u.Scheme != "https" || !strings.EqualFold(u.Host, base.Host) {
		return ""
	}
	return u.String()
}
