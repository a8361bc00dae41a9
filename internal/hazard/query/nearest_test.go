package query_test

import (
	"testing"

	"github.com/hazardd/hazardd/internal/hazard/query"
)

func TestTheNearestWordIsTheOneThatWasMeant(t *testing.T) {
	words := []string{"language", "rank", "usgs", "de-dwd-de", "official"}
	for given, want := range map[string]string{
		"lang": "language", "ragn": "rank", "usgz": "usgs", "DE_DWD": "de-dwd-de", "oficial": "official", "x": "", "somewhere": "",
	} {
		if got := query.NearestWord(given, words); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
