package calfire

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is an incident in GeoJSON. Its geometry repeats the point in its properties.
type feature struct {
	Properties *incident `json:"properties"`
}

// incident has the members of an incident in all lists.
type incident struct {
	UniqueID  string         `json:"UniqueId"`
	Name      string         `json:"Name"`
	Type      string         `json:"Type"` // Wildfire, Fire, Hazmat, Flood, Earthquake; null in the older lists
	Location  string         `json:"Location"`
	County    string         `json:"County"`   // several are separated by commas
	Counties  []string       `json:"Counties"` // counties in the older list
	AdminUnit string         `json:"AdminUnit"`
	Started   string         `json:"Started"`
	Updated   string         `json:"Updated"`
	Acres     lenient.Number `json:"AcresBurned"`      // may go down as well as up
	Contained lenient.Number `json:"PercentContained"` // may go down as well as up
	Longitude lenient.Number `json:"Longitude"`
	Latitude  lenient.Number `json:"Latitude"`
	URL       string         `json:"Url"`          // may begin with /
	Page      string         `json:"CanonicalUrl"` // address of the page in the older list
	Condition string         `json:"ConditionStatement"`
	// These members say whether the fire is active: IsActive, Active in the older list, and Final
	// for the last report.
	IsActive jsontext.Value `json:"IsActive"`
	Active   jsontext.Value `json:"Active"`
	Final    jsontext.Value `json:"Final"`
	// Public is false if the incident is not published.
	Public jsontext.Value `json:"Public"`
}

var idForm = regexp.MustCompile(`^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// id returns the name of an incident, or "" if it has none.
func id(text string) string {
	if text = strings.ToLower(strings.TrimSpace(text)); !idForm.MatchString(text) {
		return ""
	}
	return text
}

// Parse reads a list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string {
		if inner := lenient.Member(raw, "properties"); inner != nil {
			raw = inner
		}
		return id(lenient.Word(lenient.Member(raw, "UniqueId")))
	}}
	record := func(where func() string, raw []byte) {
		if lenient.Member(raw, "properties") == nil && !bytes.HasPrefix([]byte(where()), []byte("features/")) && where() != "feature" {
			lenient.Record(&b, where, raw, func(i *incident) (*hazard.Report, string) { return i.report(now) })
			return
		}
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) {
			if f.Properties == nil {
				return nil, "properties: " + lenient.Nothing + ", expected an object"
			}
			return f.Properties.report(now)
		})
	}
	text, err := lenient.JSON(payload)
	if err != nil {
		return source.Batch{}, err
	}
	c := lenient.Cursor{Doc: text}
	if c.Next() == '[' {
		err = lenient.List(text, "incidents", record)
		return b.Done(), err
	}
	k := lenient.Collection{Want: "incidents", Lists: []string{"Incidents"}}
	if bytes.Contains(text, []byte(`"Incidents"`)) {
		_, err = k.Read(text, record)
		return b.Done(), err
	}
	_, err = lenient.Collection{}.Features(text, "incidents", &b, record)
	return b.Done(), err
}
