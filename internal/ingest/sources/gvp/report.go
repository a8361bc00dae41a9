package gvp

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// row is a row of the mapping table: the report's words for the activity of a volcano.
type row struct {
	activity string // the words in the title
	called   string // our words for it, before the volcano's name
	basis    string
}

// The sources that the citations of the table name.
const (
	criteria = "volcano.si.edu/reports_weekly.cfm, kinds of report; level: volcano.si.edu/faq, alert levels: none are to be invented"
	formerly = "earlier kinds of report, volcano.si.edu/reports_weekly.cfm?weekstart=20130227"
)

// rows is the mapping table. All rows are VOLCANO and INFORMATION. An unknown activity is held for
// a person to check.
var rows = []row{
	{"New Eruptive Activity", "Volcanic Eruption", criteria},
	{"Continuing Eruptive Activity", "Volcanic Eruption", criteria},
	{"New Unrest", "Volcanic Unrest", criteria},
	{"Continuing Unrest", "Volcanic Unrest", criteria},
	{"Other Observations", "Volcanic Activity", criteria},
	{"New Activity/Unrest", "Volcanic Activity", formerly},
	{"Ongoing Activity", "Volcanic Activity", formerly},
	{"Ongoing Unrest", "Volcanic Unrest", formerly},
}

const (
	// life is how long a report is valid from its publication: a week, and a day in case the next
	// one is late (our judgment).
	life = 8 * 24 * time.Hour
	// skew is how far in the future the publication of a report may be: the feed's own offsets
	// differ by an hour.
	skew = 24 * time.Hour
	// farOff is the largest time between the week of a report and its publication. Reports usually
	// appear the day after their week.
	farOff = 60 * 24 * time.Hour
)

// report converts an item. Its error names the field, the value and what was expected.
func report(it *item, now hazard.Instant) (hazard.Report, error) {
	vn := number(it)
	if vn == "" {
		return hazard.Report{}, fmt.Errorf("guid: %q, expected an address that ends in #vn_ and a volcano number of six digits", lenient.ExcerptText(it.guid))
	}
	t := readTitle(it.title)
	if t.name == "" {
		return hazard.Report{}, fmt.Errorf("title: %q, expected Name (Country) - Report for … - …", lenient.ExcerptText(it.title))
	}
	published, err := parseTime(it.pubDate)
	switch {
	case err == nil:
	case strings.TrimSpace(it.pubDate) == "" && t.weekKnown:
		published = hazard.At(t.to.AddDate(0, 0, 1)) // reports appear the day after their week
	default:
		return hazard.Report{}, fmt.Errorf("pubDate: %q, expected a date as in RFC 1123", lenient.ExcerptText(it.pubDate))
	}

	r := hazard.Report{
		Source:   Name,
		Key:      vn,
		Refs:     []string{"gvp:" + vn},
		Part:     published.Time().Format(time.DateOnly),
		Places:   []string{"gvp:" + vn},
		Version:  int64(published),
		Type:     hazard.Volcano,
		Severity: hazard.Information,
		Category: hazard.Event,
		Called:   t.name,
		Level:    t.activity,
		Start:    published,
		Renewed:  &published,
		LifeMS:   life.Milliseconds(),
		URL:      lenient.WebAddress(it.guid),
		Comment:  Name + ":" + vn,
		Creator:  "Smithsonian GVP",
	}
	if t.weekKnown {
		r.Start, r.Part = hazard.At(t.from), t.from.Format(time.DateOnly)
	}
	called, known := "Volcanic Activity", false
	for _, row := range rows {
		if strings.EqualFold(row.activity, t.activity) {
			called, known, r.Level = row.called, true, row.activity
		}
	}
	r.Name = called + " - " + lenient.Joined(", ", t.name, t.country)

	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	if !known {
		doubt("title: %q is not in the mapping table", lenient.ExcerptText(t.activity))
	}
	if published > now.Add(skew) {
		doubt("pubDate: %v is in the future", published)
	}
	if t.weekKnown && (r.Start > published || hazard.At(t.to) < published.Add(-farOff)) {
		doubt("title: the week from %s does not fit pubDate %v", r.Part, published)
	}
	var fault string
	if r.Point, fault = readPoint(it.point); fault != "" {
		doubt("%s", fault)
	}
	r.Suspect = strings.Join(doubts, "; ")

	text, links := plainText(it.description)
	title := "Weekly report"
	if t.week != "" {
		title += " for " + t.week
	}
	r.Description = lenient.Joined("\n\n",
		fmt.Sprintf("Smithsonian / USGS Weekly Volcanic Activity Report, published on %s: %s.",
			lenient.Joined(" for the week of ", published.Time().Format("2 January 2006"), t.week), r.Level),
		text)
	r.Products = products(&r, title, text, links)
	return r, nil
}

// products returns the product tree of a report.
func products(r *hazard.Report, title, text string, links []link) []hazard.ReportProduct {
	at := hazard.Instant(r.Version)
	tree := []hazard.ReportProduct{{Key: Name, Title: "Smithsonian Global Volcanism Program", Type: hazard.FolderProduct, Time: at}}
	add := func(p hazard.ReportProduct) {
		p.Parent, p.Time = Name, at
		tree = append(tree, p)
	}
	if text != "" {
		add(hazard.ReportProduct{Key: "text", Title: title, Type: hazard.TextProduct, Data: text, Comment: r.Level})
	}
	if r.URL != "" {
		add(hazard.ReportProduct{Key: "report", Title: "Weekly Volcanic Activity Report", Type: hazard.URLProduct, Data: r.URL})
	}
	add(hazard.ReportProduct{
		Key: "profile", Title: "Volcano profile", Type: hazard.URLProduct, Data: "https://volcano.si.edu/volcano.cfm?vn=" + r.Key,
	})
	seen := map[string]bool{}
	for _, l := range links {
		if seen[l.address] {
			continue
		}
		seen[l.address] = true
		words := hazard.CleanLine(lenient.Clip(l.words, lenient.MaxExcerpt))
		if words == "" {
			words = l.address
		}
		add(hazard.ReportProduct{Key: "link/" + l.address, Title: words, Type: hazard.URLProduct, Data: l.address})
	}
	return tree
}

var numbers = []*regexp.Regexp{
	regexp.MustCompile(`#vn_([1-9][0-9]{5})$`),
	regexp.MustCompile(`[?&]vn=([1-9][0-9]{5})\b`),
}

// number returns the volcano's number in the Smithsonian's catalog, or "" if the item does not
// contain it.
func number(it *item) string {
	for _, address := range []string{it.guid, it.link} {
		for _, form := range numbers {
			if m := form.FindStringSubmatch(strings.TrimSpace(lenient.Clip(address, 2000))); m != nil {
				return m[1]
			}
		}
	}
	return ""
}

// title is the parsed title of an item.
type title struct {
	name, country, activity string
	week                    string // as written
	from, to                time.Time
	weekKnown               bool
}

var (
	titleForm = regexp.MustCompile(`^(.+?)(?: ?\(([^()]+)\))? - Report for (.*?) - (.+)$`)
	weekForm  = regexp.MustCompile(`^([0-9]{1,2} [A-Z][a-z]+)( [0-9]{4})? ?- ?([0-9]{1,2} [A-Z][a-z]+) ([0-9]{4})$`)
)

// maxWords bounds a title, in bytes. The longest recorded one has 100.
const maxWords = 400

func readTitle(s string) title {
	s = strings.NewReplacer("–", "-", "—", "-").Replace(hazard.CleanLine(html.UnescapeString(lenient.Clip(s, maxWords))))
	m := titleForm.FindStringSubmatch(s)
	if m == nil {
		return title{}
	}
	t := title{name: strings.TrimSpace(m[1]), country: strings.TrimSpace(m[2]), week: m[3], activity: strings.TrimSpace(m[4])}
	w := weekForm.FindStringSubmatch(m[3])
	if w == nil {
		return t
	}
	to, err := time.Parse("2 January 2006", w[3]+" "+w[4])
	if err != nil {
		return t
	}
	year := w[2]
	if year == "" {
		year = " " + w[4]
	}
	from, err := time.Parse("2 January 2006", w[1]+year)
	if err != nil {
		return t
	}
	if from.After(to) && w[2] == "" { // a week across the end of a year: only the second year is written
		from = from.AddDate(-1, 0, 0)
	}
	if !from.After(to) && to.Sub(from) <= 31*24*time.Hour {
		t.from, t.to, t.weekKnown = from, to, true
	}
	return t
}

// zones are the zone names of RFC 822 that the feed may use instead of an offset.
var zones = strings.NewReplacer(" EDT", " -0400", " EST", " -0500", " GMT", " +0000", " UTC", " +0000", " UT", " +0000", " Z", " +0000")

// parseTime parses a date as in RFC 822, with a year of four digits.
func parseTime(s string) (hazard.Instant, error) {
	s = zones.Replace(hazard.CleanLine(lenient.Clip(s, lenient.MaxExcerpt)))
	if _, after, ok := strings.Cut(s, ","); ok {
		s = strings.TrimSpace(after)
	}
	t, err := time.Parse("2 Jan 2006 15:04:05 -0700", s)
	if err != nil {
		t, err = time.Parse("2 Jan 2006 15:04 -0700", s)
	}
	if err != nil {
		return 0, err
	}
	at := hazard.At(t)
	if at < hazard.MinInstant || at > hazard.MaxInstant {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return at, nil
}

// readPoint parses "latitude longitude". If the position is not plausible, it returns the reason.
func readPoint(s string) (*hazard.Point, string) {
	words := strings.FieldsFunc(lenient.Clip(s, lenient.MaxExcerpt), func(r rune) bool { return r <= ' ' || r == ',' })
	fault := fmt.Sprintf("georss:point: %q, expected latitude and longitude in degrees", lenient.ExcerptText(s))
	if len(words) != 2 {
		return nil, fault
	}
	lat, err1 := strconv.ParseFloat(words[0], 64)
	lon, err2 := strconv.ParseFloat(words[1], 64)
	if err1 != nil || err2 != nil || math.IsNaN(lat) || math.IsNaN(lon) {
		return nil, fault
	}
	if math.Abs(lat) > 90 && math.Abs(lon) <= 90 { // latitude and longitude are swapped
		lat, lon = lon, lat
	}
	if lon > 180 && lon <= 360 { // a longitude from 0 to 360
		lon -= 360
	}
	if math.Abs(lat) > 90 || math.Abs(lon) > 180 {
		return nil, fault
	}
	if lat == 0 && lon == 0 {
		return nil, "georss:point: 0 0, expected the volcano's position"
	}
	return &hazard.Point{Lon: lon, Lat: lat}, ""
}
