package nws

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "nws/full-20260514T1635Z.json", At: "2026-05-14T16:35:00Z", List: "features",
	// Without these, it is unknown which message it is, when it was issued, whether it is a test,
	// or what it is about.
	Needed: []string{"properties", "properties/id", "properties/status", "properties/scope", "properties/event", "properties/parameters/VTEC"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(text(tornado())), string(collection(nationalTitle, tornado(), with(tornado(), object{"ends": nil}))),
		`{"type":"FeatureCollection","features":[null,{},7,"`)
}
