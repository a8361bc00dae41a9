package nifc

import (
	"testing"

	"github.com/hazardd/hazardd/internal/source/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "nifc/incidents-20260727.geojson", At: "2026-07-27T20:00:00Z", List: "features",
	// Without its kind nobody knows whether it is a wildfire or a burn that is wanted; its point is the only place that this fire has.
	Needed: []string{"properties", "properties/IrwinID", "properties/UniqueFireIdentifier", "properties/IncidentTypeCategory", "properties/IncidentTypeKind", "geometry"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }
