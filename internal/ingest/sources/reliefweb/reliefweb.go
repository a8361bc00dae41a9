package reliefweb

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Lives of disasters after their day. It is our judgment: the list has no end.
const (
	sudden = 14 * 24 * time.Hour
	slow   = 60 * 24 * time.Hour
)

// kind is a row of the table of kinds, by the first two letters of a GLIDE number
// (glidenumber.net, "Disaster Events": hazard codes).
type kind struct {
	code, name string
	typ        hazard.Type // "" if the kind is left to others
	life       time.Duration
}

var kinds = []kind{
	{"EP", "Epidemic", hazard.Biomedical, slow}, {"FL", "Flood", hazard.Flood, sudden}, {"FF", "Flash flood", hazard.Flood, sudden}, {"SS", "Storm surge", hazard.Flood, sudden},
	{"LS", "Landslide", hazard.Landslide, sudden}, {"MS", "Mud slide", hazard.Landslide, sudden}, {"AV", "Avalanche", hazard.Avalanche, sudden}, {"SL", "Slide", hazard.Landslide, sudden},
	{"DR", "Drought", hazard.Drought, slow}, {"CE", "Complex emergency", hazard.Conflict, slow}, {"AC", "Technological disaster", hazard.Accident, sudden},
	{"WF", "Wild fire", hazard.Wildfire, sudden}, {"FR", "Fire", hazard.Accident, sudden}, {"CW", "Cold wave", hazard.ExtremeTemperature, sudden}, {"HT", "Heat wave", hazard.ExtremeTemperature, sudden},
	{"ET", "Extreme temperature", hazard.ExtremeTemperature, sudden}, {"EC", "Extratropical cyclone", hazard.Storm, sudden}, {"ST", "Severe local storm", hazard.Storm, sudden},
	{"WV", "Violent wind", hazard.HighWind, sudden}, {"VW", "Violent wind", hazard.HighWind, sudden}, {"TO", "Tornado", hazard.Tornado, sudden}, {"IN", "Insect infestation", hazard.Occurrence, slow},
	{"FA", "Famine", hazard.Occurrence, slow}, {"OT", "Disaster", hazard.Occurrence, sudden},
	{code: "EQ", name: "earthquake"}, {code: "TC", name: "cyclone"}, {code: "VO", name: "volcano"}, {code: "TS", name: "tsunami"},
}

var (
	glideForm = regexp.MustCompile(`\b([A-Z]{2})-(\d{4})-(\d{6})-([A-Z]{3})\b`)
	linkForm  = regexp.MustCompile(`^https://reliefweb\.int/disaster/[a-z0-9-]{5,60}$`)
)

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{}
	text, err := lenient.Text(payload, "windows-1252") // the charset of bytes that are not UTF-8
	if err != nil {
		return b.Done(), err
	}
	_, err = lenient.XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}.Read(text, func(e lenient.Element) {
		where := lenient.At("items/" + strconv.Itoa(b.Batch.Read))
		b.Batch.Read++
		n, notes, err := e.Tree(lenient.Limits{Elements: 200})
		if err != nil {
			b.Reject(where, e.Raw, err.Error())
			return
		}
		r, reason := report(n, now)
		if reason != "" {
			b.Decline(where, e.Raw, reason, notes...)
			return
		}
		source.Note(r, notes...)
		b.Reports = append(b.Reports, *r)
	})
	return b.Done(), err
}

// report converts an item. It returns a reason if it is ignored or rejected.
func report(n *lenient.Node, now hazard.Instant) (*hazard.Report, string) {
	link := strings.TrimSpace(cmp.Or(n.Get("*", "link"), n.Get("*", "guid")))
	m := glideForm.FindStringSubmatch(strings.ToUpper(link))
	if m == nil {
		m = glideForm.FindStringSubmatch(strings.ToUpper(n.Get("*", "description")))
	}
	if m == nil {
		return nil, fmt.Sprintf("link: %q, expected an address with a GLIDE number", lenient.ExcerptText(link))
	}
	glide := m[0]
	var row *kind
	for i := range kinds {
		if kinds[i].code == m[1] {
			row = &kinds[i]
		}
	}
	switch {
	case row == nil:
		return nil, fmt.Sprintf("link: %s, expected a GLIDE number of a known kind", glide)
	case row.typ == "":
		return nil, source.Ignoring + "earthquakes, tsunamis, cyclones and volcanoes are left to those who watch them"
	}
	var notes []string
	place, err := language.ParseRegion(m[4])
	if err != nil || !place.IsCountry() {
		return nil, fmt.Sprintf("link: %s, expected the country's code of ISO 3166-1 at its end", glide)
	}
	start := now
	if at, err := time.Parse(time.RFC1123Z, strings.TrimSpace(n.Get("*", "pubDate"))); err == nil {
		start = hazard.At(at)
	} else {
		notes = append(notes, fmt.Sprintf("pubDate: %q, expected a time such as Sat, 27 Jun 2026 00:00:00 +0000", lenient.ExcerptText(n.Get("*", "pubDate"))))
	}
	title := lenient.Clip(hazard.CleanLine(n.Get("*", "title")), 300)
	if title == "" {
		title = row.name + " " + glide
	}
	r := &hazard.Report{
		Source: Name, Key: glide, Version: int64(start), Name: title, Description: "A disaster on ReliefWeb, GLIDE number " + glide + ".",
		Type: row.typ, Severity: hazard.Information, Category: hazard.Event, Start: start, LifeMS: row.life.Milliseconds(),
		Places: []string{"ISO3166-1:" + place.String()}, Country: place.String(), Refs: []string{"glide:" + glide}, Comment: glide, Creator: "ReliefWeb",
	}
	if linkForm.MatchString(link) {
		r.URL = link
	}
	if start > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("pubDate: %v is in the future", start)
	}
	source.Note(r, notes...)
	return r, ""
}
