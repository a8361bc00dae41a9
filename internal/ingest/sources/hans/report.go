package hans

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// level is a row of the mapping table, for an alert level, or for a color if there is no alert
// level.
type level struct {
	alert    string // empty if none is assigned
	colour   string // empty for any
	severity hazard.Severity
	ended    bool   // not a hazard, and ends one
	means    string // explanation for people
	basis    string
}

// The sources that the citations of the table name.
const (
	system     = "usgs.gov/programs/VHP/volcanic-alert-levels-characterize-conditions-us-volcanoes"
	colourOnly = "judgement: the colour's usual partner, usgs.gov/volcano/alert-level-icons"
	unassigned = "usgs.gov/volcano/alert-level-icons: too few instruments to tell that a volcano is in its background state"
)

// levels is the mapping table; the first row that fits is used. The alert level on the ground
// determines our level, and the color is only shown: WATCH with RED means ash without people below,
// WARNING with ORANGE lava without ash.
var levels = []level{
	{alert: "WARNING", severity: hazard.Warning, basis: system,
		means: "a hazardous eruption is imminent, under way or suspected"},
	{alert: "WATCH", severity: hazard.Watch, basis: system,
		means: "heightened or escalating unrest with an increased potential of eruption, or an eruption that poses limited hazards"},
	{alert: "ADVISORY", severity: hazard.Advisory, basis: system,
		means: "signs of unrest above the known background, or activity that has decreased from a higher level"},
	{alert: "NORMAL", ended: true, basis: system, means: "the volcano is in its background state"},
	{colour: "RED", severity: hazard.Warning, basis: colourOnly, means: "an eruption with much ash is imminent or under way"},
	{colour: "ORANGE", severity: hazard.Watch, basis: colourOnly, means: "an eruption is likely, or under way with little ash"},
	{colour: "YELLOW", severity: hazard.Advisory, basis: colourOnly, means: "signs of unrest above the known background"},
	{colour: "GREEN", ended: true, basis: colourOnly, means: "the volcano is in its background state"},
	{colour: "-", ended: true, basis: unassigned, means: "no level is assigned to the volcano"},
}

// levelOf returns the row of an alert level and a color, and whether the table contains it.
func levelOf(alert, colour string) (l level, known bool) {
	if alert == "UNASSIGNED" {
		alert = ""
	}
	if colour == "UNASSIGNED" || colour == "" {
		colour = "-"
	}
	for _, l := range levels {
		if l.alert == alert && (l.colour == "" || l.colour == colour) {
			return l, true
		}
	}
	for _, l := range levels { // an unknown alert level: use the color until somebody has checked the report
		if l.colour == colour && !l.ended {
			return l, false
		}
	}
	return level{severity: hazard.Information, means: "not known here"}, false
}

// kinds are the types of notice (volcanoes.usgs.gov/hans-public).
var kinds = map[string]string{
	"DU": "daily update", "WU": "weekly update", "MU": "monthly update", "VN": "Volcano Activity Notice", "VAN": "Volcano Activity Notice",
	"VV": "Volcano Activity Notice and Volcano Observatory Notice for Aviation", "VONA": "Volcano Observatory Notice for Aviation",
	"VO": "Volcano Observatory Notice for Aviation", "IS": "information statement", "SR": "status report",
}

// regions are the regions of volcanoes by the first three digits of their number (volcano.si.edu,
// regions and subregions).
var regions = map[string]string{
	"311": "Alaska", "312": "Alaska", "313": "Alaska", "314": "Alaska", "315": "Alaska", "321": "Washington", "322": "Oregon",
	"323": "California", "332": "Hawaii", "284": "Northern Mariana Islands", "244": "American Samoa",
}

const (
	// life is how long a level lasts after its notice. USGS writes at least weekly about volcanoes
	// above NORMAL, and the list usually ends a level sooner. A month is for the case that the
	// lists themselves fail (our judgment).
	life = 30 * 24 * time.Hour
	// skew is how far in the future the time of sending may be.
	skew = time.Hour
	// farBack is how old the latest notice of a volcano above NORMAL may be.
	farBack = 366 * 24 * time.Hour
)

var numberForm = regexp.MustCompile(`^[1-9][0-9]{5}$`)

// number returns the volcano's number in the Smithsonian's catalog, or "" if it is invalid.
func (v *volcano) number() string {
	if n := strings.TrimSpace(v.Number); numberForm.MatchString(n) {
		return n
	}
	return ""
}

// called returns the volcano's name.
func (v *volcano) called() string {
	return hazard.CleanLine(lenient.Clip(cmp.Or(v.Name, strings.TrimSuffix(v.NameAppended, " Volcano")), maxName))
}

// maxName bounds a name, in bytes.
const maxName = 200

// report converts a record. Its error names the field, the value and what was expected.
func (v *volcano) report(now hazard.Instant) (hazard.Report, error) {
	vn := v.number()
	if vn == "" {
		return hazard.Report{}, fmt.Errorf("vnum: %q, expected a volcano number of six digits", lenient.ExcerptText(v.Number))
	}
	name := v.called()
	if name == "" {
		return hazard.Report{}, fmt.Errorf("volcano_name: missing, expected the name of volcano %s", vn)
	}
	alert, colour := word(v.AlertLevel), word(v.ColorCode)
	if alert == "" && colour == "" {
		return hazard.Report{}, fmt.Errorf("alert_level: missing, expected NORMAL, ADVISORY, WATCH, WARNING or UNASSIGNED")
	}
	sent, field, err := v.sent()
	if err != nil {
		return hazard.Report{}, err
	}
	l, known := levelOf(alert, colour)
	kind := hazard.CleanLine(lenient.Clip(cmp.Or(v.NoticeType, v.NoticeTypeCAP), lenient.MaxExcerpt))
	kind = cmp.Or(kinds[strings.ToUpper(kind)], kind, "notice")
	notice := hazard.CleanLine(lenient.Clip(v.Notice, maxName))

	r := hazard.Report{
		Source:   Name,
		Key:      vn,
		Refs:     []string{"gvp:" + vn},
		Part:     cmp.Or(notice, sent.String()),
		Places:   []string{placePrefix + vn},
		Version:  int64(sent),
		Name:     "Volcanic Activity - " + lenient.Joined(", ", name, cmp.Or(regions[vn[:3]], "United States")),
		Type:     hazard.Volcano,
		Severity: cmp.Or(l.severity, hazard.Information),
		Category: hazard.Event,
		Start:    sent,
		LifeMS:   life.Milliseconds(),
		Called:   name,
		Level:    lenient.Joined("/", alert, colour),
		URL:      lenient.WebAddress(v.NoticeURL),
		Comment:  Name + ":" + vn,
		Creator:  "USGS",
	}
	source.Rate(&r, hazard.VolcanoAlert, alert)
	source.Rate(&r, hazard.AviationColor, colour)
	if l.ended {
		r.Ended, r.Minor = hazard.EndAllClear, true
	}
	var doubts []string
	if v.Latitude.Known || v.Longitude.Known {
		var fault string
		if r.Point, fault = v.point(); fault != "" {
			doubts = append(doubts, fault)
		}
		r.Part += "/cap" // this form of the notice has more data than those in other lists
	}
	if !known {
		doubts = append(doubts, fmt.Sprintf("alert_level, color_code: %q, %q are not in the mapping table", lenient.ExcerptText(alert), lenient.ExcerptText(colour)))
	}
	r.Suspect = strings.Join(append(doubts, v.timeDoubts(sent, field, l.ended, now)...), "; ")

	when := sent.Time().Format("2 January 2006 15:04 UTC")
	observatory := cmp.Or(hazard.CleanLine(lenient.Clip(v.Observatory, maxName)), "USGS")
	if observatory != "USGS" {
		observatory += " (USGS)"
	}
	levels := []string{}
	if alert != "" {
		levels = append(levels, "volcano alert level "+alert)
	}
	if colour != "" {
		levels = append(levels, "aviation colour code "+colour)
	}
	synopsis := hazard.Clean(lenient.Clip(v.Synopsis, maxSynopsis))
	r.Description = lenient.Joined("\n\n",
		fmt.Sprintf("%s: %s, by %s of %s.", name, strings.Join(levels, ", "), article(kind), when),
		synopsis,
		fmt.Sprintf("The level means: %s. Set by: %s.", l.means, observatory))
	r.Description = hazard.Clean(r.Description)
	r.Products = products(&r, upper(kind)+", "+when, synopsis)
	return r, nil
}

// timeDoubts returns why the time of a notice, from a field, must be checked by a person.
func (v *volcano) timeDoubts(sent hazard.Instant, field string, ended bool, now hazard.Instant) (doubts []string) {
	switch {
	case sent > now.Add(skew):
		doubts = append(doubts, fmt.Sprintf("%s: %v is in the future", field, sent))
	case !ended && sent < now.Add(-farBack):
		doubts = append(doubts, fmt.Sprintf("%s: %v is more than a year ago", field, sent))
	}
	if utc, err := parseTime(v.SentUTC); err == nil && field == "sent_unixtime" && max(utc-sent, sent-utc) > hazard.Instant(skew.Milliseconds()) {
		doubts = append(doubts, fmt.Sprintf("sent_utc: %v, but sent_unixtime is %v", utc, sent))
	}
	return doubts
}

// maxSynopsis bounds a synopsis, in bytes.
const maxSynopsis = 16 << 10

// article returns a kind of notice with the article before it.
func article(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}

// upper returns s with a capital first letter.
func upper(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

// products returns the product tree of a notice.
func products(r *hazard.Report, notice, synopsis string) []hazard.ReportProduct {
	tree := []hazard.ReportProduct{{Key: Name, Title: "USGS volcano notices", Type: hazard.FolderProduct, Time: r.Start}}
	if synopsis != "" {
		tree = append(tree, hazard.ReportProduct{
			Key: "synopsis", Parent: Name, Title: "Synopsis", Type: hazard.TextProduct, Data: synopsis, Comment: r.Level, Time: r.Start,
		})
	}
	if r.URL != "" {
		tree = append(tree, hazard.ReportProduct{
			Key: "notice", Parent: Name, Title: notice, Type: hazard.URLProduct, Data: r.URL, Comment: r.Level, Time: r.Start,
		})
	}
	return tree
}

// sent returns when the notice was sent, and the field with that time.
func (v *volcano) sent() (hazard.Instant, string, error) {
	if ms := v.SentUnix.Value * 1000; v.SentUnix.Known && ms > 0 && ms <= float64(hazard.MaxInstant) {
		return hazard.Instant(math.Floor(ms)), "sent_unixtime", nil
	}
	for _, f := range []struct{ name, text string }{{"sent_utc", v.SentUTC}, {"sent_date_cap", v.SentCAP}} {
		if f.text == "" {
			continue
		}
		at, err := parseTime(f.text)
		if err != nil {
			return 0, "", fmt.Errorf("%s: %q, expected a time such as 2026-07-27 19:44:38", f.name, lenient.ExcerptText(f.text))
		}
		return at, f.name, nil
	}
	return 0, "", fmt.Errorf("sent_unixtime: missing, expected when the notice was sent")
}

// parseTime parses a time in UTC without zone, or one with an offset.
func parseTime(s string) (hazard.Instant, error) {
	t, err := time.Parse(time.DateTime, strings.TrimSpace(s))
	if err != nil {
		t, err = time.Parse(time.RFC3339, strings.TrimSpace(s))
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

// word returns a word of the system in capitals.
func word(s string) string {
	return strings.ToUpper(hazard.CleanLine(lenient.Clip(s, lenient.MaxExcerpt)))
}
