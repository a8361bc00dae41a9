package whodon

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// news is a report.
type news struct {
	Title     string `json:"Title"` // "Marburg virus disease – Rwanda"
	Published string `json:"PublicationDateAndTime"`
	Page      string `json:"ItemDefaultUrl"` // "/2024-DON540"
	Event     struct {
		ID    string `json:"EventId"` // "2024-E000416", with line breaks around it
		Title string `json:"Title"`
		Start string `json:"EmergencyEventStartDate"`
	} `json:"EmergencyEvent"`
}

var (
	pageForm  = regexp.MustCompile(`^/?(\d{4}-DON\d{1,5})$`)
	eventForm = regexp.MustCompile(`^\d{4}-E\d{3,9}$`)
	// dash is between disease and country: a dash of any kind with a blank on one side, or the last
	// hyphen, as in "(H5N2)-Mexico".
	dash = regexp.MustCompile(`\s+[-–—]\s*|[-–—]\s+|[–—]`)
)

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string {
		return strings.Trim(lenient.Word(lenient.Member(raw, "ItemDefaultUrl")), "/ ")
	}}
	doc, err := lenient.Collection{Want: "Disease Outbreak News", Lists: []string{"value"}, Heads: lenient.Complaints}.Read(payload, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(n *news) (*hazard.Report, string) { return n.report(now) })
	})
	if err == nil && doc.Listed == "" {
		err = source.Errorf("no news: %s, expected the member value", cmp.Or(lenient.ExcerptText(doc.Complaint()), lenient.Nothing))
	}
	return b.Done(), err
}

// report converts a report. It returns a reason if it is ignored or rejected.
func (n *news) report(now hazard.Instant) (*hazard.Report, string) {
	title := lenient.Clip(hazard.CleanLine(n.Title), 300)
	m := pageForm.FindStringSubmatch(strings.TrimSpace(n.Page))
	if m == nil || title == "" {
		return nil, fmt.Sprintf("ItemDefaultUrl, Title: %q, %q, expected a page such as /2024-DON540, and a title", lenient.ExcerptText(n.Page), lenient.ExcerptText(n.Title))
	}
	disease, place := split(title)
	codes := countries(place)
	if len(codes) == 0 { // of a report without a country in its title, the event may have one
		if d, p := split(hazard.CleanLine(n.Event.Title)); len(countries(p)) > 0 {
			disease, place, codes = cmp.Or(disease, d), p, countries(p)
		}
	}
	if len(codes) == 0 {
		return nil, source.Ignoring + "a report about a region, several countries or the world: it has no place"
	}
	var notes []string
	published, _, err := lenient.Time(n.Published, nil)
	if err != nil {
		notes = append(notes, "PublicationDateAndTime: "+err.Error())
		published = now
	}
	key := strings.ToUpper(hazard.CleanLine(n.Event.ID))
	if !eventForm.MatchString(key) {
		key = lenient.Cut(gazetteer.Fold(disease), 80) + "/" + strings.Join(codes, "+")
	}
	start := published
	if at, _, err := lenient.Time(n.Event.Start, nil); err == nil && at < published && at > published.Add(-10*365*24*time.Hour) {
		start = at
	}
	var places []string
	for _, c := range codes {
		places = append(places, "ISO3166-1:"+c)
	}
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(published), Name: title,
		Description: fmt.Sprintf("The World Health Organization reported this outbreak on %s.", published.Time().UTC().Format("2 January 2006")),
		Type:        hazard.Biomedical, Severity: hazard.Advisory, Category: hazard.Event, Start: start, Renewed: &published, LifeMS: life.Milliseconds(),
		Places: places, Country: codes[0], Called: disease, Refs: []string{Name + ":" + key}, Comment: m[1],
		URL: "https://www.who.int/emergencies/disease-outbreak-news/item/" + m[1], Creator: "WHO",
	}
	if published > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("PublicationDateAndTime: %v is in the future", published)
	}
	source.Note(r, notes...)
	return r, ""
}

// split returns the disease and the place of a title.
func split(title string) (disease, place string) {
	if at := dash.FindAllStringIndex(title, -1); len(at) > 0 {
		last := at[len(at)-1]
		return strings.TrimSpace(title[:last[0]]), strings.TrimSpace(title[last[1]:])
	}
	if i := strings.LastIndexByte(title, '-'); i > 0 && len(countries(title[i+1:])) > 0 {
		return strings.TrimSpace(title[:i]), strings.TrimSpace(title[i+1:])
	}
	return title, ""
}

// countries returns the ISO 3166-1 alpha-2 codes of the countries that a text names, in its order, or
// none unless it names nothing else.
func countries(text string) (codes []string) {
	text = lenient.Clip(text, 300)
	if text == "" {
		return nil
	}
	if c := source.CountryOf(text); c != "" {
		return []string{c}
	}
	for _, name := range strings.Split(strings.NewReplacer(" and ", ",", " & ", ",", ";", ",").Replace(text), ",") {
		c := ""
		if strings.TrimSpace(name) != "" {
			c = source.CountryOf(name)
		}
		if c == "" {
			return nil
		}
		codes = append(codes, c)
	}
	return codes
}
