package tsunami

import (
	"testing"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestLaws(t *testing.T) {
	sourcetest.Laws(t, sourcetest.Source{
		Parse: Parse, File: "tsunami/derived-ntwc-cap-2022.json", At: "2022-08-17T02:06:00Z", List: "alerts",
		// The centers send XML, whose laws package cap tests. This tests the JSON form, in which
		// each of these facts is a single member.
		Needed: []string{"identifier", "sender", "sent", "status", "scope", "incidents", "info_list"},
	})
}
