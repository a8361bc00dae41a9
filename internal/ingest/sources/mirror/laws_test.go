package mirror_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: func(payload []byte, now hazard.Instant) (source.Batch, error) {
		return mirror.Parse(payload, mirror.Name, schemes, now)
	},
	Files:  []string{"base-interface/HpSrvSearchTestOrder.json", "base-interface/hpsrvhazard01.json", "base-interface/hpsrvsearch.json"},
	At:     "2025-02-07T00:00:00Z",
	Needed: []string{"uuid", "severity_ID", "category_ID", "status", "latitude", "longitude"},
	// A server with times of another kind is rejected.
	Decides: []string{"last_Update"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }
