package nswrfs

import (
	"html"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is an incident.
type feature struct {
	// Geometry is a Point, or a GeometryCollection of a point and polygons, nested to any depth.
	Geometry   jsontext.Value `json:"geometry"`
	Properties properties     `json:"properties"`
}

type properties struct {
	GUID     string `json:"guid"`     // an address that ends with the number of the incident
	Title    string `json:"title"`    // the name of the fire
	Category string `json:"category"` // Advice, Watch and Act, Emergency Warning, Not Applicable
	PubDate  string `json:"pubDate"`  // "18/03/2020 11:00:00 PM": day first, UTC
	Link     string `json:"link"`
	// Description contains the rest, "ALERT LEVEL: Advice <br />LOCATION: … <br />STATUS: Under
	// control": see fields.
	Description string `json:"description"`
}

// maxDescription bounds the part of a description that is read, in bytes. The longest recorded one
// has 600.
const maxDescription = 8 << 10

var (
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>`)
	tag       = regexp.MustCompile(`<[^<>]*>`)
)

// fields returns the parts of the description by their names in capitals.
func (p *properties) fields() map[string]string {
	all := map[string]string{}
	for _, line := range lineBreak.Split(lenient.Clip(p.Description, maxDescription), -1) {
		name, value, ok := strings.Cut(tag.ReplaceAllString(html.UnescapeString(line), " "), ":")
		if name = hazard.CleanLine(name); ok && all[name] == "" {
			all[name] = hazard.CleanLine(value)
		}
	}
	return all
}

// number returns the number of the incident, the last part of its guid, or "" if it has none.
func number(guid string) string {
	if guid = path.Base(strings.TrimSpace(guid)); !idForm.MatchString(guid) {
		return ""
	}
	return guid
}

var idForm = regexp.MustCompile(`^[0-9]{1,12}$`)

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID: func(raw []byte) string {
			return number(lenient.Word(lenient.Member(lenient.Member(raw, "properties"), "guid")))
		},
		Events: lenient.OneEvent(idForm),
	}
	doc, err := lenient.Collection{}.Features(payload, "incidents", &b, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return f.report(now) })
	})
	b.Whole = err == nil && doc.Listed != ""
	return b.Done(), err
}
