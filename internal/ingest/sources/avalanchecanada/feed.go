package avalanchecanada

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// life is how long a forecast without an end counts.
const life = 24 * time.Hour

// circle stands for a subregion.
type circle struct {
	lon, lat float64 // degrees
	km       float64 // radius
}

// word is a word of an enumeration, with what people read.
type word struct {
	Value   string `json:"value"`
	Display string `json:"display"`
}

// rating is the danger at a height.
type rating struct {
	Rating word `json:"rating"` // "considerable", "3 - Considerable"
}

// product is a forecast for a group of subregions.
type product struct {
	Type string `json:"type"` // avalancheforecast
	URL  string `json:"url"`
	Area struct {
		ID string `json:"id"` // changes with the outline
	} `json:"area"`
	Owner  word `json:"owner"`
	Report struct {
		Forecaster string `json:"forecaster"`
		Issued     string `json:"dateIssued"`
		Until      string `json:"validUntil"`
		Title      string `json:"title"` // names of subregions, joined by hyphens
		Highlights string `json:"highlights"`
		Days       []day  `json:"dangerRatings"`
		Problems   []struct {
			Type word `json:"type"`
		} `json:"problems"`
	} `json:"report"`
}

// day is the danger of a day at each height.
type day struct {
	Date    word `json:"date"` // the end of the local day, in UTC; "Friday"
	Ratings struct {
		Alpine   rating `json:"alp"`
		Treeline rating `json:"tln"`
		Below    rating `json:"btl"`
	} `json:"ratings"`
}

// level is a row of the table of levels.
type level struct {
	value, words string
	severity     hazard.Severity
	basis        string
}

// levels are by the value of a rating, the worst first (North American Public Avalanche Danger
// Scale).
var levels = []level{
	{"extreme", "5 Extreme", hazard.Warning, "avoid all avalanche terrain: natural avalanches certain"},
	{"high", "4 High", hazard.Watch, "very dangerous conditions: travel is not recommended"},
	{"considerable", "3 Considerable", hazard.Advisory, "dangerous conditions: natural avalanches possible, human-triggered likely"},
	{"moderate", "2 Moderate", hazard.NoSeverity, ""},
	{"low", "1 Low", hazard.NoSeverity, ""},
	{"spring", "spring conditions", hazard.NoSeverity, ""},
	{"earlyseason", "early season", hazard.NoSeverity, ""},
	{"summer", "summer", hazard.NoSeverity, ""},
	{"offseason", "off season", hazard.NoSeverity, ""},
	{"noforecast", "no forecast", hazard.NoSeverity, ""},
	{"norating", "no rating", hazard.NoSeverity, ""},
}

// Parse reads the list of products, or one product, as of now. The error is a *source.PayloadError.
// If its Cut is true, the records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string { return lenient.Word(lenient.Member(raw, "id")) }}
	one := false
	if text := bytes.TrimSpace(payload); len(text) > 0 && text[0] == '{' {
		if lenient.Member(text, "report") == nil {
			return b.Done(), source.Errorf("no list of products: %s, expected an array", lenient.Excerpt(text))
		}
		payload, one = slices.Concat([]byte("["), text, []byte("]")), true
	}
	err := lenient.List(payload, "products", func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(p *product) (*hazard.Report, string) { return p.report(now) })
	})
	b.Whole = err == nil && !one && b.Batch.Read > 0
	return b.Done(), err
}

// worst returns the worst level of the days that begin before until; a day is given by its end.
func (p *product) worst(until hazard.Instant, notes *[]string) (found *level, said []string) {
	for _, d := range p.Report.Days {
		if end, _, err := lenient.Time(d.Date.Value, nil); err == nil && end.Add(-24*time.Hour) >= until {
			continue
		} else if err != nil {
			*notes = append(*notes, "report/dangerRatings/date: "+err.Error())
		}
		var heights []string
		for _, h := range []struct{ name, value, display string }{
			{"alpine", d.Ratings.Alpine.Rating.Value, d.Ratings.Alpine.Rating.Display}, {"tree line", d.Ratings.Treeline.Rating.Value, d.Ratings.Treeline.Rating.Display},
			{"below tree line", d.Ratings.Below.Rating.Value, d.Ratings.Below.Rating.Display},
		} {
			i := slices.IndexFunc(levels, func(l level) bool {
				return strings.EqualFold(strings.TrimSpace(h.value), l.value) || h.value == "" && strings.HasPrefix(h.display, l.words[:1]+" - ")
			})
			l := &level{words: "of unknown level", severity: hazard.Advisory} // an unknown word must not hide a danger
			if i >= 0 {
				l = &levels[i]
			} else {
				*notes = append(*notes, fmt.Sprintf("report/dangerRatings/ratings: %q, expected low to extreme, or norating", lenient.ExcerptText(h.value)))
			}
			if found == nil || l.severity > found.severity {
				found = l
			}
			heights = append(heights, h.name+" "+l.words)
		}
		said = append(said, cmp.Or(hazard.CleanLine(d.Date.Display), "Danger")+": "+strings.Join(heights, ", ")+".")
	}
	return found, said
}

// report converts a product. It returns a reason if there is no danger, or it is rejected.
func (p *product) report(now hazard.Instant) (*hazard.Report, string) {
	var notes []string
	issued, end := when(&notes, "dateIssued", p.Report.Issued), when(&notes, "validUntil", p.Report.Until)
	until := cmp.Or(issued, now).Add(life)
	if end > 0 {
		until = end
	}
	l, said := p.worst(until, &notes)
	switch {
	case len(p.Report.Days) == 0 && p.Type != "" && p.Type != "avalancheforecast":
		return nil, source.Ignoring + "a product that is no forecast"
	case len(p.Report.Days) == 0:
		return nil, "report/dangerRatings: missing, expected the danger of each day"
	case l == nil || l.severity == hazard.NoSeverity:
		return nil, source.Ignoring + "the danger is below level 3, considerable, or not rated"
	case until <= now:
		return nil, source.Ignoring + "the forecast has expired"
	}
	names := namesIn(hazard.CleanLine(p.Report.Title))
	key := slug(p.Area.ID)
	if len(names) > 0 {
		key = slug(slices.Min(names))
	}
	if key == "" {
		return nil, "report/title, area/id: missing, expected the subregions of the forecast"
	}
	start := cmp.Or(issued, now)
	creator := lenient.Clip(cmp.Or(hazard.CleanLine(p.Report.Forecaster), hazard.CleanLine(p.Owner.Display), "Avalanche Canada"), 200)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(start), Type: hazard.Avalanche, Severity: l.severity, Category: hazard.Event, Start: start, Renewed: &start,
		Name:   "Avalanche danger " + l.words + " - " + lenient.Joined(", ", cmp.Or(lenient.Names(names, 120), lenient.Clip(hazard.CleanLine(p.Report.Title), 120)), "Canada"),
		Called: lenient.Names(names, 120), Level: l.words, Country: "CA", Refs: []string{Name + ":" + key}, URL: lenient.WebAddress(p.URL), Comment: Name + ":" + key, Creator: creator,
		LifeMS: life.Milliseconds(),
	}
	if end > 0 {
		r.End, r.LifeMS = &end, 0
	}
	var problems []string
	for _, q := range p.Report.Problems {
		if name := hazard.CleanLine(cmp.Or(q.Type.Display, q.Type.Value)); name != "" {
			problems = append(problems, name)
		} else {
			notes = append(notes, "report/problems/type: missing")
		}
	}
	if len(problems) > 0 {
		said = append(said, "Problems: "+lenient.Names(problems, 300)+".")
	}
	r.Description = hazard.Clean(lenient.Joined("\n", append(said, plain(p.Report.Highlights), "Forecast by "+creator+".")...))
	place(r, names)
	if start > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("report/dateIssued: %v is in the future", start)
	} else if w := seismic.NotReal(p.Report.Title); w != "" {
		r.Suspect = "report/title says " + w
	}
	source.Note(r, notes...)
	return r, ""
}

// place gives a report the circles of its subregions, or Canada if none is known.
func place(r *hazard.Report, names []string) {
	var circles []geo.Shape
	for _, n := range names {
		if c, ok := subregions[n]; ok {
			circles = append(circles, geo.Circle(c.lon, c.lat, c.km*1000))
		}
	}
	if len(circles) > 0 {
		if shape, err := geo.Union(circles...); err == nil {
			r.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: shape.GeoJSON()}}
			return
		}
	}
	r.Places = []string{"ISO3166-1:CA"}
}

// namesIn returns the subregions that a title names: "Cirrus-Wilson-Icefields" are two, of which one
// has a hyphen. The longest name that is known counts. Words between names that are not known are
// names, too.
func namesIn(title string) (names []string) {
	words := strings.Split(title, "-")
	for len(words) > 0 {
		n := 1
		for i := min(len(words), 3); i > 1; i-- {
			if _, ok := subregions[strings.TrimSpace(strings.Join(words[:i], "-"))]; ok {
				n = i
				break
			}
		}
		if name := strings.TrimSpace(strings.Join(words[:n], "-")); name != "" {
			names = append(names, name)
		}
		words = words[n:]
	}
	return names
}

var (
	notInKey = regexp.MustCompile(`[^a-z0-9]+`)
	tag      = regexp.MustCompile(`<[^<>]*>`)
)

// slug returns a name as part of a key: "Spray - KLakes" is "spray-klakes".
func slug(name string) string {
	return lenient.Clip(strings.Trim(notInKey.ReplaceAllString(strings.ToLower(name), "-"), "-"), 60)
}

// plain returns the text of HTML.
func plain(s string) string {
	return hazard.CleanLine(html.UnescapeString(tag.ReplaceAllString(lenient.Clip(s, 8<<10), " ")))
}

// when reads a time, or returns 0 and notes what is wrong. A missing one is not wrong.
func when(notes *[]string, member, text string) hazard.Instant {
	if strings.TrimSpace(text) == "" {
		return 0
	}
	at, _, err := lenient.Time(text, nil)
	if err != nil {
		*notes = append(*notes, "report/"+member+": "+err.Error())
		return 0
	}
	return at
}
