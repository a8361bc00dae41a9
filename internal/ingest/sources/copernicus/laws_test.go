package copernicus

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "copernicus-ems/rapidmapping-activations-list.json", At: "2026-07-06T11:41:00Z", List: "results",
	Needed: []string{"code", "countries", "sensitive", "drmPhase", "centroid", "name"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }
