package cap

import (
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func parseFeed(payload []byte, now hazard.Instant) (source.Batch, error) {
	return Parse(feed, payload, now)
}

var lawsOfXML = sourcetest.Source{Parse: parseFeed, Element: "alert", At: "2026-08-12T12:00:00Z",
	Needed: []string{"identifier", "sender", "sent", "status", "scope", "@xmlns"}, Files: []string{
		"cap/canada-2026/20260802-chain50-01-alert.cap", "cap/canada-2026/20260808-chain86-01-alert.cap", "cap/canada-2026/20260808-chain88-01-alert.cap",
		"cap/canada-2026/20260810-chain89-01-alert.cap", "cap/canada-2026/20260810-chain90-01-alert.cap", "cap/canada-2026/20260812-chain51-01-alert.cap",
	}}

var lawsOfJSON = sourcetest.Source{
	Parse: parseFeed, File: "meteoalarm/api-germany-20260420.json", At: "2026-04-20T12:00:00Z", List: "warnings",
	Needed: []string{"alert", "alert/identifier", "alert/sender", "alert/status", "alert/scope", "alert/sent", "alert/references"},
}

func TestLawsOfXML(t *testing.T) { sourcetest.Laws(t, lawsOfXML) }

func TestLawsOfJSON(t *testing.T) { sourcetest.Laws(t, lawsOfJSON) }

// A list that speaks for its warnings is another matter: one that is cut does not say what it replaces.
func TestLawsOfPractices(t *testing.T) {
	for _, p := range []Practice{{Identity: ByDay}, {Identity: ByWindow, Early: EarlyOver}} {
		t.Run(string(p.Identity), func(t *testing.T) {
			laws := lawsOfJSON
			laws.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) { return Parse(of(p), payload, now) }
			sourcetest.Laws(t, laws)
		})
	}
}
