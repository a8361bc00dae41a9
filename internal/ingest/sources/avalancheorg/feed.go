package avalancheorg

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
)

// zone is a forecast zone.
type zone struct {
	ID         lenient.Number `json:"id"`
	Geometry   jsontext.Value `json:"geometry"` // a Polygon or MultiPolygon
	Properties struct {
		Name      string         `json:"name"`
		Center    string         `json:"center"`
		State     string         `json:"state"` // two letters
		OffSeason bool           `json:"off_season"`
		Advice    string         `json:"travel_advice"`
		Level     lenient.Number `json:"danger_level"` // 1 to 5, the highest of the day over all heights; -1 is no rating
		Start     string         `json:"start_date"`   // issued, UTC; null where nothing is published
		End       string         `json:"end_date"`     // expires, UTC
		Link      string         `json:"link"`
		Warning   struct {
			Product string `json:"product"` // warning, watch or special; null without one
			Start   string `json:"start_date"`
			End     string `json:"end_date"`
			Reason  string `json:"reason"`
		} `json:"warning"`
	} `json:"properties"`
}

// levels is the table of levels, by danger_level (North American Public Avalanche Danger Scale).
var levels = map[float64]struct {
	word     string
	severity hazard.Severity
	basis    string
}{
	3: {"Considerable", hazard.Advisory, "dangerous conditions: natural avalanches possible, human-triggered likely"},
	4: {"High", hazard.Watch, "very dangerous conditions: travel is not recommended"},
	5: {"Extreme", hazard.Warning, "avoid all avalanche terrain: natural avalanches certain"},
}

// products are the levels of the products that a zone may have besides its rating.
var products = map[string]hazard.Severity{"warning": hazard.Warning, "watch": hazard.Watch, "special": hazard.Advisory}

var tag = regexp.MustCompile(`<[^<>]*>`)

// plain returns the text of HTML.
func plain(s string) string {
	return hazard.CleanLine(html.UnescapeString(tag.ReplaceAllString(lenient.Clip(s, 8<<10), " ")))
}

// Parse reads the map layer as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID: func(raw []byte) string { return lenient.Scalar(lenient.Member(raw, "id")) },
		Events: func(record string, _ []byte) []string {
			if _, err := strconv.Atoi(record); err == nil {
				return []string{record}
			}
			return nil
		},
	}
	doc, err := lenient.Collection{}.Features(payload, "forecast zones", &b, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(z *zone) (*hazard.Report, string) { return z.report(now) })
	})
	b.Whole = err == nil && doc.Listed != "" && b.Batch.Read > 0
	return b.Done(), err
}

// report converts a zone. It returns a reason if there is no danger, or it is rejected.
func (z *zone) report(now hazard.Instant) (*hazard.Report, string) {
	p := &z.Properties
	if !z.ID.Known || z.ID.Value < 1 || z.ID.Value != float64(int64(z.ID.Value)) || z.ID.Value > 1e12 {
		return nil, fmt.Sprintf("id: %s, expected the number of a zone", z.ID.Said())
	}
	key := strconv.FormatInt(int64(z.ID.Value), 10)
	var notes []string
	level := levels[p.Level.Value]
	words, severity := level.word, level.severity
	if words != "" {
		words = fmt.Sprintf("%.0f %s", p.Level.Value, words)
	}
	product := strings.ToLower(strings.TrimSpace(p.Warning.Product))
	warned := products[product]
	if product != "" && warned == 0 {
		notes = append(notes, fmt.Sprintf("properties/warning/product: %q, expected warning, watch or special", lenient.ExcerptText(p.Warning.Product)))
		warned = hazard.Advisory
	}
	switch severity = max(severity, warned); {
	case severity == hazard.NoSeverity && p.OffSeason:
		return nil, source.Ignoring + "a zone that is out of season"
	case severity == hazard.NoSeverity && (!p.Level.Known || p.Level.Value < 1):
		return nil, source.Ignoring + "a zone without a rating"
	case severity == hazard.NoSeverity && p.Level.Value < 3:
		return nil, source.Ignoring + "the danger is below level 3, considerable"
	case severity == hazard.NoSeverity:
		notes = append(notes, fmt.Sprintf("properties/danger_level: %s, expected -1 or 1 to 5", p.Level.Said()))
		severity, words = hazard.Advisory, "of unknown level"
	}
	start, end := when(&notes, "start_date", cmp.Or(p.Start, p.Warning.Start)), when(&notes, "end_date", cmp.Or(p.End, p.Warning.End))
	if warned > level.severity { // the warning may end before or after the forecast
		if at := when(&notes, "warning/end_date", p.Warning.End); at != nil && (end == nil || *at > *end) {
			end = at
		}
	}
	if start == nil {
		start = &now
	}
	if end != nil && *end <= now {
		return nil, source.Ignoring + "the forecast has expired"
	}
	name := cmp.Or(lenient.Clip(hazard.CleanLine(p.Name), 200), "zone "+key)
	r := &hazard.Report{
		Source: Name, Key: key, Version: int64(*start), Type: hazard.Avalanche, Severity: severity, Category: hazard.Event, Start: *start, End: end,
		Renewed: start, Called: name, Level: words, Country: "US", Refs: []string{Name + ":" + key},
		URL: lenient.WebAddress(p.Link), Comment: Name + ":" + key, Creator: lenient.Clip(cmp.Or(hazard.CleanLine(p.Center), "avalanche.org"), 200),
		Instruction: plain(p.Advice),
	}
	r.Name = "Avalanche danger " + words
	if words == "" {
		r.Name = "Avalanche " + product
	}
	r.Name += " - " + lenient.Joined(", ", name, lenient.Clip(hazard.CleanLine(p.State), 40), "United States")
	reason := plain(p.Warning.Reason)
	if warned > 0 {
		reason = lenient.Joined(": ", "Avalanche "+product, reason) + "."
	}
	r.Description = hazard.Clean(lenient.Joined("\n", reason, "Highest danger of the day over all heights: "+cmp.Or(words, "no rating")+".", "Forecast by "+r.Creator+"."))
	if shape, err := geo.ParseLoose(z.Geometry); err == nil {
		r.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: shape.GeoJSON()}}
	} else {
		return nil, "geometry: " + lenient.ExcerptText(err.Error())
	}
	if *start > now.Add(24*time.Hour) {
		r.Suspect = fmt.Sprintf("properties/start_date: %v is in the future", *start)
	} else if w := seismic.NotReal(name); w != "" {
		r.Suspect = "properties/name says " + w
	}
	source.Note(r, notes...)
	return r, ""
}

// when reads a time, or returns nil and notes what is wrong. A missing one is not wrong.
func when(notes *[]string, member, text string) *hazard.Instant {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	at, _, err := lenient.Time(text, nil)
	if err != nil {
		*notes = append(*notes, "properties/"+member+": "+err.Error())
		return nil
	}
	return &at
}
