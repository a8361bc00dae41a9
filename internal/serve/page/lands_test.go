package page

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/lang/words"
)

// A hazard without an area lies in the country of its point. At sea, the page names the nearest
// country, or says that there is none.
func TestTheLandOfAPoint(t *testing.T) {
	for _, tt := range []struct {
		lon, lat float64
		want     string
	}{
		{-86.1, 39.8, "Countries: United States"},
		{-107.5, 19.5, "Countries: none: Mexico is 214 km away"},
		{-130, 0, "Countries: none: at sea, with no known land within 500 km"},
	} {
		h := &hazard.Hazard{Longitude: tt.lon, Latitude: tt.lat}
		uncounted := LandsOf(h, nil)
		h.Exposure = &hazard.Exposure{Of: h.ExposureKey(), Why: hazard.WhyNoArea}
		counted := LandsOf(h, nil)
		if a, b := uncounted.Words(words.English()), counted.Words(words.English()); a != tt.want || b != tt.want {
			t.Errorf("%v, %v: %q before its people were counted, and %q, want %q", tt.lon, tt.lat, a, b, tt.want)
		}
	}
	// For an area that was not counted yet, or that is in no known country, the point is not used.
	h := &hazard.Hazard{Longitude: -86.1, Latitude: 39.8, Areas: []hazard.AreaRef{{Role: hazard.AlertArea}}}
	if l := LandsOf(h, nil); l.Words(words.English()) != "" {
		t.Errorf("an area: %q", l.Words(words.English()))
	}
	h.Exposure = &hazard.Exposure{Of: h.ExposureKey()}
	if l := LandsOf(h, nil); l.Words(words.English()) != "" {
		t.Errorf("an area that was counted: %q", l.Words(words.English()))
	}
}

// Of several bands without people only the widest is shown, and of several unknown bands only the
// worst.
func TestBandsThatSayTheSameAreSaidOnce(t *testing.T) {
	html := pageOf(t, func(c *Hazard) {
		e := &hazard.Exposure{Of: c.Hazard.ExposureKey(), Method: "GPW"}
		for value, people := range []*hazard.Estimate{nil, nil, {People: 4000, Low: 3000, High: 5000}, {People: 4000, Low: 3000, High: 5000}, {}, {}, {}} {
			e.Bands = slices.Insert(e.Bands, 0, hazard.ExposedBand{Kind: string(hazard.Intensity), Value: float64(value + 2), People: people})
		}
		c.Hazard.Exposure = e
	})
	got := ""
	for _, m := range regexp.MustCompile(`where the intensity is (\d) or more</dt><dd>([^<]*)`).FindAllStringSubmatch(html, -1) {
		got += m[1] + ": " + m[2] + "; "
	}
	if want := "6: about 0 (0 to 0); 5: about 4,000 (3,000 to 5,000); 4: about 4,000 (3,000 to 5,000); 3: not known; "; got != want {
		t.Errorf("bands are %q, want %q", got, want)
	}
}

// Page and brief name a few countries and provinces, how many more there are, and how provinces are
// known, in each language.
func TestPageAndBriefNameProvinces(t *testing.T) {
	for _, l := range words.All() {
		alter := func(lands *Lands, divisions ...population.Region) func(*Hazard) {
			return func(c *Hazard) {
				c.Language, c.Lands = l, *lands
				c.Lands.Divisions = divisions
			}
		}
		brief := func(alter func(*Hazard)) string { return briefOf(t, func(b *Brief) { alter(b.Hazard) }) }
		var many []population.Region
		for i := range 17 {
			many = append(many, population.Region{Code: "JP.1", Name: "Province " + string(rune('A'+i)), ByTowns: true})
		}
		lands := &Lands{Countries: []string{"JP"}, Name: func(code string) string { return "the country " + code }}
		names := strings.Join([]string{"Province A", "Province B", "Province C", "Province D", "Province E"}, ", ")
		for _, html := range []string{brief(alter(lands, many...)), pageOf(t, alter(lands, many...))} {
			for _, want := range []string{"the country JP", l.Say("provinces"), l.Say("andMore", "names", names, "n", "12"), l.Say("byTowns")} {
				if !strings.Contains(html, want) {
					t.Errorf("%s: without %q", l.ID, want)
				}
			}
		}
		if html := brief(alter(lands, population.Region{Code: "US-IN", Name: "Indiana"})); !strings.Contains(html, "Indiana") || strings.Contains(html, l.Say("byTowns")) {
			t.Errorf("%s: a state whose boundary is known: %s", l.ID, html)
		}
		if html := pageOf(t, alter(&Lands{Sea: true})); !strings.Contains(html, l.Say("atSea", "km", "500")) {
			t.Errorf("%s: at sea: %s", l.ID, html)
		}
	}
}
