package hans

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "hans/getElevatedVolcanoes-20260727.json", At: "2026-07-27T20:00:00Z",
	// Without these, the volcano, its state or the notice would be unknown. Either member may
	// contain the time.
	Needed: []string{"vnum", "volcano_name", "alert_level", "color_code", "notice_identifier", "sent_unixtime", "sent_utc"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(records(a(), "7", a("311120", "332010", "WATCH", "NORMAL"))), string(records(capped(), capped("52.0765", "95", "WATCH", "?"))))
}
