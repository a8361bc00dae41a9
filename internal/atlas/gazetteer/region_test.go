package gazetteer_test

import (
	"fmt"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/gazetteer"
	"github.com/hazardd/hazardd/internal/atlas/region"
)

func TestRegionsThatATextNames(t *testing.T) {
	for _, c := range []struct {
		country, text string
		want          string // names, and degrees of latitude and longitude without decimals
	}{
		{"IN", "Bihar", "[Bihar 25 85]"},
		{"IN", "KERALA", "[Kerala 10 76]"},
		{"IN", "State of Bihar.", "[Bihar 25 85]"},
		{"IN", "Patna and Gaya districts of Bihar", "[Bihar 25 85]"},
		{"IN", "Kerala, Tamil Nadu & Karnataka", "[Kerala 10 76 Tamil Nadu 11 78 Karnataka 14 76]"},
		{"IN", "Bihar, The Lowlands", "[]"},
		{"IN", "Bihar and Hyderabad", "[]"}, // in another state
		{"IN", "Patna", "[]"},               // a town is no region
		{"IN", "", "[]"},
		{"LS", "Bihar", "[]"},
		{"US", "Alaska", "[Alaska 63 -152]"},
		{"US", "Lake County, California", "[Lake County, California 39 -122]"},
		{"US", "Butte County, Tehama County, California", "[Butte County, California 39 -121 Tehama County, California 40 -122]"},
		{"US", "Nowhere County, California", "[]"},
		{"US", "Lake County", "[]"}, // of a dozen states
		{"XX", "Bihar", "[]"},
	} {
		var got []string
		for _, w := range gazetteer.Regions(c.country, c.text) {
			got = append(got, fmt.Sprintf("%s %d %d", w.Name, int(w.Lat), int(w.Lon)))
			if lon, lat := w.Lon, w.Lat; w.Shape.IsZero() || lon == 0 && lat == 0 {
				t.Errorf("%s %q: %s has no place", c.country, c.text, w.Name)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s %q: %v, want %s", c.country, c.text, got, c.want)
		}
	}
}

func TestTheRegionAroundACode(t *testing.T) {
	for code, want := range map[string]string{
		"PKZ999": "the waters around Alaska false", "058768": "the waters around Alaska false", "AKZ999": "Alaska true", "UGC:LMZ001": "Lake Michigan false",
		"002999": "Alaska true", "area:Alaska": "", "EMMA_ID:AT999": "", "XXZ001": "",
	} {
		got := ""
		if w, ok := region.WiderOf(code); ok {
			got = fmt.Sprint(w.Name, " ", w.Outlined)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}
