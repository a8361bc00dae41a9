package nifc

import (
	"testing"

	"github.com/hazardd/hazardd/internal/source/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "nifc/incidents-20260727.geojson", At: "2026-07-27T20:00:00Z", List: "features",
	Needed: []string{"properties", "properties/IrwinID", "properties/UniqueFireIdentifier", "properties/IncidentTypeCategory", "properties/IncidentTypeKind",
		"properties/IncidentName", "properties/*Date*", "properties/*DateTime_dt", "properties/IncidentSize", "properties/PercentContained", "geometry"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }
