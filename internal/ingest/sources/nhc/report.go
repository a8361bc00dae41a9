package nhc

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cyclone"
)

// class is a row of the table of classes.
type class struct {
	codes string // in the list and the layers
	words string // in RSS and texts, and for people
	// wind is used if only the class is known: the lowest wind of the class, in kt.
	wind float64
	// spent means that it is no longer, or not yet, a tropical cyclone: INFORMATION below the wind
	// of a tropical storm.
	spent bool
}

// classes lists the codes of CurrentStorms.json and of the ATCF (nrlmry.navy.mil/atcf_web, best
// track format). Longer words come before those that they contain. MH is the layers' code for a
// major hurricane; PT and the last three only occur in the layers.
var classes = []class{
	{codes: "PC", words: "Potential Tropical Cyclone", wind: 0},
	{codes: "PTC PT EX", words: "Post-Tropical Cyclone", spent: true},
	{codes: "", words: "Remnants of", spent: true},
	{codes: "STD SD", words: "Subtropical Depression", wind: 0},
	{codes: "STS SS", words: "Subtropical Storm", wind: 34},
	{codes: "TD", words: "Tropical Depression", wind: 0},
	{codes: "TS", words: "Tropical Storm", wind: 34},
	{codes: "HU MH", words: "Hurricane", wind: 64},
	{codes: "", words: "Super Typhoon", wind: 130},
	{codes: "TY ST", words: "Typhoon", wind: 64},
	{codes: "", words: "Tropical Cyclone", wind: 0},
	{codes: "LO WV DB IN", words: "Low Pressure Area", spent: true},
}

func classOfCode(code string) *class {
	code = strings.ToUpper(strings.TrimSpace(code))
	for i := range classes {
		if code != "" && slices.Contains(strings.Fields(classes[i].codes), code) {
			return &classes[i]
		}
	}
	return nil
}

// classOfWords returns the class at the beginning of text, and the rest: the name.
func classOfWords(text string) (c *class, rest string) {
	text = strings.TrimSpace(text)
	for i := range classes {
		w := classes[i].words
		if len(text) >= len(w) && strings.EqualFold(text[:len(w)], w) && (len(text) == len(w) || text[len(w)] == ' ') {
			return &classes[i], strings.TrimSpace(text[len(w):])
		}
	}
	return nil, text
}

// form is a row of the table of forms: where a report comes from, and how much earlier than its
// hour it counts. Among reports of the same hour, the list counts as the latest, so it has
// precedence.
type form struct {
	part  string // used before the number of the advisory
	early int64  // in ms
}

var (
	formList   = form{"list", 0}
	formRSS    = form{"rss", 0} // contains the minute of sending, which is before the hour
	formText   = form{"text", 1}
	formPoints = form{"points", 2}
	formLine   = form{"line", 3}
)

// others is the table of documents and features that make no report, with the reasons.
var others = map[string]string{
	"outlook": "a tropical weather outlook, in RSS, text or KML, or a layer of it (gtwo): its areas have no identity from one issue to the next, " +
		"and in words no place",
	"public": "a public advisory, or a forecast/advisory without its text: says of a storm in words what the list says in numbers; linked as a product",
	"document": "a discussion, wind speed probabilities, graphics, a translation, a statement: about a storm that has its own item; the list links " +
		"those that people want",
	"none":          "an item that says that there is no storm",
	"cone":          "a forecast cone: where the centre may go, not where danger is; places outside are hit too: it is drawn, and is no area",
	"wind":          "wind radii: of one position, in a layer that lags behind: they are drawn",
	"watch-warning": "watches and warnings as lines along the coast: the alerts of the Weather Service have them with zones and words",
	"past":          "the track so far: its positions are revised, and segments are there twice: they are drawn",
}

// ignore counts a record that makes no report, for a reason in the table.
func (p *parser) ignore(record, row string) {
	if others[row] == "" {
		panic("no reason to ignore " + row)
	}
	p.Ignore(record, others[row])
}

// fix is the state of a storm at one time, from any form.
type fix struct {
	id       string // ATCF identity in capitals
	name     string
	class    *class         // nil if unknown
	wind     lenient.Number // in kt
	gusts    lenient.Number
	pressure lenient.Number // in hPa
	movement string
	headline string
	point    *hazard.Point
	issued   hazard.Instant
	// advisory is its number, with its letter; empty if unknown.
	advisory string
	// track holds the present and forecast positions of the storm, in order of time. Some forms
	// contain only a part of them.
	track []hazard.Point
	last  bool // the center's last advisory on this storm
	url   string
	// documents are the products in the list, by member; nil for other forms.
	documents map[string]document
	doubts    []string
	notes     []string // about unreadable parts
}

// The places of reports.
const (
	placeStorm = "storm"
	placeTrack = "track"
)

// life is how long a storm lasts after its last advisory: four times the interval of six hours.
const life = 24 * time.Hour

// skew is how far in the future the time of an advisory may be: its hour is up to an hour after its
// issue, and clocks differ.
const skew = 3 * time.Hour

// add adds the reports of a fix. If it cannot, it returns the reason.
func (p *parser) add(f fix, from form) (reason string) {
	nr, _ := strconv.Atoi(f.id[2:4])
	invest := nr >= 90
	if !f.wind.Known && f.class == nil {
		return "intensity: " + lenient.Nothing + ", expected a wind in kt, or a classification"
	}
	if f.wind.Known && (f.wind.Value < 0 || f.wind.Value > 300) {
		if f.class == nil {
			return "intensity: " + f.wind.Said() + ", expected a wind in kt"
		}
		f.notes = append(f.notes, "intensity: "+f.wind.Said()+", expected a wind in kt")
		f.wind = lenient.Number{}
	}
	f.name = readable(f.name)
	f.advisory = advisoryNumber(f.advisory)
	if d, ok := f.documents["publicAdvisory"]; ok && f.advisory == "" {
		f.advisory = advisoryNumber(cmp.Or(d.AdvNum, f.documents["forecastAdvisory"].AdvNum))
	}
	year, _ := strconv.Atoi(f.id[4:])
	why := f.doubts
	if f.issued > p.now.Add(skew) {
		why = append(why, fmt.Sprintf("the advisory's time %v is in the future", f.issued))
	}
	// Seasons end with the year, but a storm of December may last into January.
	if y := f.issued.Time().Year(); y != year && y != year+1 {
		why = append(why, fmt.Sprintf("id: %s is of %d, the advisory of %d", f.id, year, y))
	}
	if *f.point == (hazard.Point{}) {
		why = append(why, "no place: the position is 0, 0")
	}
	if nr >= 50 && !invest { // ATCF: 01-49 storms, 50-79 internal, 80-89 training, 90-99 disturbances (invests)
		why = append(why, fmt.Sprintf("id: %s has a number for training and internal use", f.id))
	}
	if w := notReal(f.name + " " + f.headline); w != "" {
		why = append(why, "the text says "+w)
	}
	key := strings.ToLower(f.id)
	r := hazard.Report{
		Source:   Name,
		Key:      key,
		Part:     from.part + "/" + cmp.Or(f.advisory, f.issued.Time().Format("200601021504")),
		Version:  int64(f.issued) - from.early,
		Name:     f.title(),
		Type:     hazard.Cyclone,
		Severity: f.severity(invest),
		Category: hazard.Event,
		Start:    f.issued,
		LifeMS:   life.Milliseconds(),
		Point:    f.point,
		Places:   []string{placeStorm},
		Refs:     []string{"atcf:" + f.id},
		Called:   properName(f.name),
		Level:    f.levelWords(),
		URL:      cmp.Or(f.url, lenient.WebAddress(f.documents["forecastGraphics"].URL), site),
		Comment:  Name + ":" + key,
		Creator:  "NHC",
		Suspect:  strings.Join(why, "; "),
	}
	r.Description = f.description()
	r.Products = f.products(&r)
	source.Note(&r, f.notes...)
	source.Measure(&r, hazard.Wind, f.wind.Value*source.KmhPerKnot, f.wind.Known)
	source.Measure(&r, hazard.Gust, f.gusts.Value*source.KmhPerKnot, f.gusts.Known)
	source.Measure(&r, hazard.Pressure, f.pressure.Value, f.pressure.Known)
	p.Reports = append(p.Reports, r)
	if line := lineOf(f.track); line != "" {
		// This part only shows the track. It must not have a severity, because a delayed track
		// would keep an old one.
		r.Part, r.Version, r.Places = r.Part+"/track", r.Version-4, []string{placeTrack}
		r.Severity, r.Products, r.Measurements = hazard.Information, nil, nil
		r.Areas = []hazard.Area{{Role: hazard.TrackArea, Geometry: line}}
		p.Reports = append(p.Reports, r)
	}
	return ""
}

func (f *fix) severity(invest bool) hazard.Severity {
	wind := f.wind.Value
	if !f.wind.Known && f.class != nil {
		wind = f.class.wind
	}
	// While there are advisories, a storm that is no longer tropical is as dangerous as its wind
	// (Oscar of 2018, 65 kt).
	if spent := f.class != nil && f.class.spent; invest || spent && wind < cyclone.StormForce {
		return hazard.Information
	}
	return cyclone.Level(wind)
}

// title returns a name such as "Hurricane Lala".
func (f *fix) title() string {
	words := "Tropical Cyclone"
	if f.class != nil {
		words = f.class.words
	}
	return strings.TrimSpace(words + " " + cmp.Or(f.name, f.id))
}

// levelWords returns the center's own words for the strength.
func (f *fix) levelWords() string {
	switch {
	case f.class == nil:
		return ""
	case f.class.words == "Remnants of":
		return "Remnants"
	}
	return f.class.words
}

// numbers are the words for storms without a name.
var numbers = strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
	"eighteen nineteen twenty thirty forty")

// properName returns name, unless it is a number in words ("Two", "Twenty-One", "Two-C").
func properName(name string) string {
	first, _, _ := strings.Cut(strings.ToLower(name), "-")
	if slices.Contains(numbers, first) || strings.ContainsAny(name, "0123456789") || strings.EqualFold(name, "invest") {
		return ""
	}
	return name
}

// maxName bounds a storm's name, in bytes.
const maxName = 60

// readable converts a name in capitals to normal case.
func readable(name string) string {
	name = lenient.Clip(strings.Trim(hazard.CleanLine(lenient.Clip(name, 4*maxName)), " ,;-."), maxName)
	if name != strings.ToUpper(name) {
		return name
	}
	begins := true
	return strings.Map(func(r rune) rune {
		was := begins
		begins = !unicode.IsLetter(r) && r != '\''
		if was {
			return unicode.ToTitle(r)
		}
		return unicode.ToLower(r)
	}, name)
}

var likeNumber = regexp.MustCompile(`^0*(\d{1,3}[A-Z]?)$`)

// advisoryNumber returns the number of an advisory without leading zeros, "36A", or "" if s is
// invalid.
func advisoryNumber(s string) string {
	m := likeNumber.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(s)))
	if m == nil {
		return ""
	}
	return m[1]
}

var likeATCF = regexp.MustCompile(`(?i)^(al|ep|cp)\d{2}(19|20)\d{2}$`)

// atcfID returns s in capitals if it is an ATCF identity in one of the center's basins, otherwise
// "".
func atcfID(s string) string {
	s = strings.TrimSpace(s)
	if !likeATCF.MatchString(s) {
		return ""
	}
	return strings.ToUpper(s)
}

// basins are named by the first letters of the identity.
var basins = map[string]string{"AL": "Atlantic", "EP": "Eastern Pacific", "CP": "Central Pacific"}

// description describes what is known, one line for each fact.
func (f *fix) description() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	if f.headline != "" {
		say("%s\n", f.headline)
	}
	say("Center near %s, %s", degrees(f.point.Lat, "N", "S"), degrees(f.point.Lon, "E", "W"))
	if f.movement != "" {
		say(", moving %s", f.movement)
	}
	say(".\n")
	if f.wind.Known {
		say("Maximum sustained winds: %s kt (%.0f km/h)", whole(f.wind.Value), math.Round(f.wind.Value*1.852/5)*5)
		if f.gusts.Known {
			say(", gusts to %s kt", whole(f.gusts.Value))
		}
		say(".\n")
	}
	if f.pressure.Known && f.pressure.Value > 800 && f.pressure.Value < 1100 {
		say("Minimum central pressure: %s hPa.\n", whole(f.pressure.Value))
	}
	if f.last {
		say("This is the last advisory of the center on this system.\n")
	}
	say("Classified %s by the National Hurricane Center", cmp.Or(f.levelWords(), "in an unknown way"))
	if f.advisory != "" {
		say(", advisory %s", f.advisory)
	}
	say(", %s UTC. Basin: %s. ATCF: %s.", f.issued.Time().Format("2006-01-02 15:04"), basins[f.id[:2]], f.id)
	return b.String()
}

func whole(v float64) string { return strconv.FormatFloat(math.Round(v), 'f', 0, 64) }

func degrees(d float64, positive, negative string) string {
	side := positive
	if d < 0 {
		side = negative
	}
	return strconv.FormatFloat(math.Round(math.Abs(d)*10)/10, 'f', 1, 64) + " " + side
}

// compass returns a direction in words and degrees.
func compass(d float64) string {
	names := []string{"north", "north-northeast", "northeast", "east-northeast", "east", "east-southeast", "southeast", "south-southeast",
		"south", "south-southwest", "southwest", "west-southwest", "west", "west-northwest", "northwest", "north-northwest"}
	return fmt.Sprintf("%s (%.0f°)", names[int(math.Round(d/22.5))%16], d)
}

// products returns the pages and files of the storm, in the folder of the source; nil if the form
// has none.
func (f *fix) products(r *hazard.Report) []hazard.ReportProduct {
	if f.documents == nil && f.url == "" {
		return nil
	}
	tree := []hazard.ReportProduct{{Key: Name, Title: "NHC", Type: hazard.FolderProduct, Time: r.Start}}
	if f.documents == nil {
		return append(tree, hazard.ReportProduct{Key: "public-advisory", Parent: Name, Title: "Public advisory", Type: hazard.URLProduct, Data: f.url, Time: r.Start})
	}
	for _, l := range links {
		d := f.documents[l.member]
		u := lenient.WebAddress(l.address(&d))
		if u == "" {
			continue
		}
		at, ok := parseTime(d.Issuance)
		if !ok || at > r.Start {
			at = r.Start
		}
		one := hazard.ReportProduct{Key: l.key, Parent: Name, Title: l.title, Type: hazard.URLProduct, Data: u, Time: at}
		if nr := advisoryNumber(d.AdvNum); nr != "" {
			one.Comment = "Advisory " + nr
		}
		tree = append(tree, one)
	}
	return tree
}

// maxTrack bounds the positions of a track. A forecast has at most nine.
const maxTrack = 200

// lineOf returns a track as GeoJSON, or "" if it has fewer than two positions.
func lineOf(track []hazard.Point) string {
	if len(track) > maxTrack {
		return ""
	}
	track = slices.Compact(slices.Clone(track))
	if len(track) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`{"type":"LineString","coordinates":[`)
	for i, p := range track {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "[%v,%v]", p.Lon, p.Lat)
	}
	b.WriteString("]}")
	line, err := geo.ParseLoose([]byte(b.String())) // splits it at the antimeridian, and rounds floating-point noise
	if err != nil {
		return ""
	}
	return line.GeoJSON()
}

// notReal returns the word in text that marks a storm as not real.
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

// onEarth returns the point of a longitude and a latitude, or nil if they are invalid. Longitudes
// may continue beyond the antimeridian.
func onEarth(lon, lat lenient.Number) *hazard.Point {
	x, y := lon.Value, lat.Value
	if !lon.Known || !lat.Known || math.Abs(y) > 90 || math.Abs(x) > 360 {
		return nil
	}
	switch {
	case x > 180:
		x -= 360
	case x < -180:
		x += 360
	}
	return &hazard.Point{Lon: x, Lat: y}
}

// near reports whether two positions of one record are the same except for rounding.
func near(a, b *hazard.Point) bool {
	x := math.Abs(a.Lon - b.Lon)
	return min(x, 360-x) <= 0.15 && math.Abs(a.Lat-b.Lat) <= 0.15
}

// lettered parses "30.3N": degrees and one of two letters, of which the second means negative.
func lettered(s, letters string) lenient.Number {
	s = strings.ToUpper(strings.TrimSpace(s))
	if s == "" {
		return lenient.Number{}
	}
	side := strings.IndexByte(letters, s[len(s)-1])
	v, err := strconv.ParseFloat(strings.TrimSpace(s[:len(s)-1]), 64)
	if side < 0 || err != nil || !(v >= 0 && v <= 360) {
		return lenient.Number{}
	}
	if side == 1 {
		v = -v
	}
	return lenient.Number{Value: v, Known: true}
}

// parseTime parses a time in ISO 8601 or RFC 1123, which the list and the RSS use.
func parseTime(s string) (hazard.Instant, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339, time.RFC1123, time.RFC1123Z} {
		if t, err := time.Parse(layout, s); err == nil {
			at := hazard.At(t)
			return at, at >= hazard.MinInstant && at <= hazard.MaxInstant
		}
	}
	return 0, false
}
