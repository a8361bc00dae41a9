package vigicrues

import (
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is a stretch of a river.
type feature struct {
	Geometry   jsontext.Value `json:"geometry"` // a LineString or MultiLineString
	Properties properties     `json:"properties"`
}

type properties struct {
	Code  string         `json:"CdEntCru"`   // "AP1"
	Name  string         `json:"LbEntCru"`   // "Sambre"
	Lower string         `json:"lbentcru"`   // the name, as some answers have it
	Level lenient.Number `json:"NivInfViCr"` // 1 green, 2 yellow, 3 orange, 4 red
}

// codeForm matches the code of a stretch: the letters of its forecasting service, and a number.
var codeForm = regexp.MustCompile(`^[A-Z]{2}[0-9]{1,4}[A-Z]?$`)

func code(text string) string {
	if text = strings.ToUpper(strings.TrimSpace(text)); codeForm.MatchString(text) {
		return text
	}
	return ""
}

// Parse reads the list as of now. The error is a *source.PayloadError. If its Cut is true, the
// records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{
		ID: func(raw []byte) string {
			return code(lenient.Word(lenient.Member(lenient.Member(raw, "properties"), "CdEntCru")))
		},
		Events: lenient.OneEvent(codeForm),
	}
	doc, err := lenient.Collection{}.Features(payload, "river stretches", &b, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return f.report(now) })
	})
	b.Current = true
	// Every stretch is in each list. One without any is not what the publisher means by "all green".
	b.Whole = err == nil && doc.Listed != "" && b.Batch.Read > 0
	return b.Done(), err
}
