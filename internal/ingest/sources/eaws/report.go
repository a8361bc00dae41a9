package eaws

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// levels is the table of danger levels (European avalanche danger scale).
var levels = []level{
	{"very_high", "5 Very high", hazard.Warning, "numerous very large natural avalanches, also in moderately steep terrain: roads and settlements"},
	{"high", "4 High", hazard.Watch, "triggering is likely on many slopes; natural avalanches, in some cases large"},
	{"considerable", "3 Considerable", hazard.Advisory, "a single person can trigger; half of all fatal accidents"},
	{"moderate", "2 Moderate", hazard.NoSeverity, ""},
	{"low", "1 Low", hazard.NoSeverity, ""},
	{"no_snow", "no snow", hazard.NoSeverity, ""},
	{"no_rating", "no rating", hazard.NoSeverity, ""},
}

// level is a level of danger of the EAWS: its value in a bulletin, its number and word, and what it is worth to us, and why.
type level struct {
	value, words string
	severity     hazard.Severity
	basis        string
}

// worst is the worst level of a bulletin. The notes name those that are not known.
func (d *bulletin) worst() (level, []string) {
	var notes []string
	worst := len(levels) - 1
	for _, r := range d.Ratings {
		i := slices.IndexFunc(levels, func(l level) bool { return strings.EqualFold(r.Value, l.value) })
		if i < 0 {
			notes = append(notes, fmt.Sprintf("dangerRatings/mainValue: %q, expected low to very_high, no_snow or no_rating", lenient.ExcerptText(r.Value)))
			continue
		}
		worst = min(worst, i)
	}
	return levels[worst], notes
}

// reports converts a bulletin: a report for each warning service whose regions it has. It returns a
// reason if there are none.
func (d *bulletin) reports(now hazard.Instant) (all []hazard.Report, reason string) {
	level, notes := d.worst()
	switch {
	case len(d.Ratings) == 0 || len(d.Regions) == 0:
		return nil, "dangerRatings, regions: missing, expected the danger levels and the regions of the bulletin"
	case len(notes) > 0 && level.severity == hazard.NoSeverity: // an unknown word must not hide a danger
		level.words, level.severity = "of unknown level", hazard.Advisory
	case level.severity == hazard.NoSeverity:
		return nil, source.Ignoring + "the danger is below level 3, considerable"
	}
	start, errStart := instant(d.Valid.Start)
	end, errEnd := instant(d.Valid.End)
	published, errPublished := instant(d.Published)
	if errPublished != nil {
		if strings.TrimSpace(d.Published) != "" {
			notes = append(notes, "publicationTime: "+errPublished.Error())
		}
		published = start
	}
	if errStart != nil {
		notes = append(notes, "validTime/startTime: "+errStart.Error())
		start = cmp.Or(published, now)
	}
	published = cmp.Or(published, start)
	groups, names := map[service][]string{}, map[service][]string{}
	for _, r := range d.Regions {
		id := strings.TrimSpace(r.ID)
		if !regionForm.MatchString(id) {
			notes = append(notes, fmt.Sprintf("regions/regionID: %q, expected the code of a region such as AT-07-14-01", lenient.ExcerptText(r.ID)))
			continue
		}
		s := serviceOf(id)
		groups[s], names[s] = append(groups[s], id), append(names[s], cmp.Or(lenient.Clip(hazard.CleanLine(r.Name), 100), id))
	}
	for s, ids := range groups {
		r := hazard.Report{
			Source: Name, Key: slices.Min(ids), Version: int64(published), Type: hazard.Avalanche, Severity: level.severity, Category: hazard.Event, Start: start,
			Name:    "Avalanche danger " + level.words + " - " + lenient.Names(names[s], 120) + ", " + s.title,
			Renewed: &start, Country: s.country, Level: level.words, URL: pages[s.country], Creator: creators[s.country],
			Instruction: advice(d.Advice),
		}
		if errEnd == nil {
			r.End = &end
		} else {
			notes = append(notes, "validTime/endTime: "+errEnd.Error())
		}
		r.Comment, r.Refs = Name+":"+r.Key, []string{Name + ":" + r.Key}
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			r.Places = append(r.Places, "EAWS:"+id)
		}
		if s.state != "" {
			r.Within = []string{"area:" + s.state}
		}
		r.Description = d.describe(names[s])
		if start > now.Add(3*24*time.Hour) {
			r.Suspect = fmt.Sprintf("validTime/startTime: %v is in the future", start)
		}
		source.Note(&r, notes...)
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, lenient.Joined("; ", append(notes, "regions: none, expected the regions of the bulletin")...)
	}
	slices.SortFunc(all, func(a, b hazard.Report) int { return cmp.Compare(a.Key, b.Key) })
	return all, ""
}

// pages and creators are the page and the name of the service of a country.
var (
	pages    = map[string]string{"CH": "https://www.slf.ch/en/avalanche-bulletin-and-snow-situation/", "AT": "https://avalanche.report/", "IT": "https://avalanche.report/"}
	creators = map[string]string{"CH": "SLF", "AT": "avalanche.report", "IT": "avalanche.report"}
)

func instant(s string) (hazard.Instant, error) {
	at, _, err := lenient.Time(s, nil)
	return at, err
}

var (
	lineBreak = regexp.MustCompile(`(?i)<(?:br|/p|/h[1-6]|/li)[^<>]*>`)
	tag       = regexp.MustCompile(`<[^<>]*>`)
	blanks    = regexp.MustCompile(`[ \t]*\n\s*`)
)

// text returns the text of HTML, or of plain text.
func text(s string) string {
	s = lineBreak.ReplaceAllString(lenient.Clip(s, 20_000), "\n")
	s = html.UnescapeString(tag.ReplaceAllString(s, ""))
	return hazard.Clean(blanks.ReplaceAllString(hazard.Clean(s), "\n"))
}

// periods are the parts of the day.
var periods = map[string]string{"earlier": "earlier in the day: ", "later": "later in the day: "}

// describe returns the danger by height and time of day, its kinds, and the forecasters' text.
func (d *bulletin) describe(names []string) string {
	var dangers, kinds []string
	for _, r := range d.Ratings {
		words := strings.ReplaceAll(lenient.ExcerptText(r.Value), "_", " ")
		for _, l := range levels {
			if strings.EqualFold(r.Value, l.value) {
				words = strings.ToLower(l.words)
			}
		}
		dangers = append(dangers, periods[strings.ToLower(r.Period)]+lenient.Joined(" ", words, r.Elevation.String()))
	}
	for _, p := range d.Problems {
		aspects := ""
		if n := len(p.Aspects); n > 0 && n < 8 {
			aspects = "facing " + hazard.CleanLine(strings.Join(p.Aspects[:min(n, 8)], ", "))
		}
		kinds = append(kinds, periods[strings.ToLower(p.Period)]+lenient.Joined(" ", strings.ReplaceAll(lenient.ExcerptText(p.Type), "_", " "), p.Elevation.String(), aspects))
	}
	lines := []string{}
	if len(dangers) > 0 {
		lines = append(lines, "Danger: "+strings.Join(dangers[:min(len(dangers), 12)], "; ")+".")
	}
	if len(kinds) > 0 {
		lines = append(lines, "Problems: "+strings.Join(kinds[:min(len(kinds), 12)], "; ")+".")
	}
	lines = append(lines, text(d.Highlights), text(d.Activity.Highlights), text(d.Activity.Comment), "Regions: "+lenient.Names(names, 3000)+".")
	return hazard.Clean(lenient.Joined("\n", lines...))
}

// String returns "above 2000 m", "below the tree line", or "" for all heights.
func (e elevation) String() string {
	said := func(word string, b bound) string {
		switch s := strings.TrimSuffix(hazard.CleanLine(lenient.Clip(string(b), 20)), ".0"); {
		case s == "":
			return ""
		case strings.EqualFold(s, "treeline"):
			return word + " the tree line"
		default:
			return word + " " + s + " m"
		}
	}
	return lenient.Joined(" and ", said("above", e.Lower), said("below", e.Upper))
}
