package nifc

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "nifc/incidents-20260727.geojson", At: "2026-07-27T20:00:00Z", List: "features",
	// Without its kind it is unknown whether the fire is a wildfire or was set on purpose. The
	// point is this fire's only place.
	Needed: []string{"properties", "properties/IrwinID", "properties/UniqueFireIdentifier", "properties/IncidentTypeCategory", "properties/IncidentTypeKind", "geometry"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }
