package gvp

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestLaws(t *testing.T) {
	sourcetest.Laws(t, sourcetest.Source{Parse: Parse, File: "gvp/WeeklyVolcanoRSS-20260917-excerpt.xml", At: "2026-09-17T23:59:00Z", Element: "item",
		Needed: []string{"title", "guid", "pubDate", "point"}})
}
