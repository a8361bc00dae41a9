package avalanchecanada

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// list is a list in the form of the recorded products, each of one level in the alpine.
func list(levels ...string) string {
	var all []string
	for i, l := range levels {
		all = append(all, fmt.Sprintf(`{"id":"p%d_a","url":"https://avalanche.ca/forecasts/p%d","type":"avalancheforecast","area":{"id":"a%d"},"owner":{"value":"avalanche-canada","display":"Avalanche Canada"},
			"report":{"forecaster":"Avalanche Canada","dateIssued":"2025-12-19T00:00:00Z","validUntil":"2025-12-20T00:00:00Z","title":%q,"highlights":"<p>Care &amp; caution.</p>",
			"dangerRatings":[{"date":{"value":"2025-12-20T00:00:00Z","display":"Friday"},"ratings":{"alp":{"rating":{"value":%q,"display":""}},"tln":{"rating":{"value":"moderate","display":""}},"btl":{"rating":{"value":"low","display":""}}}},
			{"date":{"value":"2025-12-21T00:00:00Z","display":"Saturday"},"ratings":{"alp":{"rating":{"value":"extreme","display":""}},"tln":{"rating":{"value":"low","display":""}},"btl":{"rating":{"value":"low","display":""}}}}],
			"problems":[{"type":{"value":"windslab","display":"Wind slab"}}]}}`, i, i, i, []string{"Spearhead-Tantalus", "Cirrus-Wilson-Icefields", "Spray - KLakes", "Howson", "Nowhere known"}[i%5], l))
	}
	return "[" + strings.Join(all, ",") + "]"
}

var laws = sourcetest.Source{
	Parse: Parse, Payload: []byte(list("considerable", "high", "extreme", "considerable", "high")), At: "2025-12-19T12:00:00Z",
	Needed: []string{"report/dangerRatings", "report/title"}, Decides: []string{"report/dangerRatings/*/ratings/*/rating/value", "type", "report/validUntil", "report/dangerRatings/*/date/value"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `[null,{},7,"`) }

// TestRecorded compares all recorded products with their raw values.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	for file, want := range map[string]struct {
		severity hazard.Severity
		key      string
		inside   [2]float64 // Whistler, Lake Louise
	}{
		"sea-to-sky-20251219": {hazard.Advisory, "brandywine", [2]float64{-122.95, 50.08}}, "banff-20251228": {hazard.Advisory, "banff", [2]float64{-116.18, 51.42}},
		"chic-chocs-20251226": {}, "haines-pass-20251206": {}, "corner-brook-early-season-20251001": {},
	} {
		payload := recordings.Read(t, "feeds/avalanche-canada/product-"+file+".json")
		var raw struct {
			Report struct {
				DateIssued, ValidUntil time.Time
				Title                  string
			}
		}
		if err := json.Unmarshal(payload, &raw); err != nil {
			t.Fatal(err)
		}
		b, err := Parse(payload, hazard.At(raw.Report.DateIssued.Add(time.Hour)))
		if err != nil || b.Whole || len(b.Rejects) > 0 || len(b.Reports)+b.Ignored != 1 || (len(b.Reports) == 1) != (want.key != "") {
			t.Fatalf("%s: %v %+v", file, err, b)
		}
		if want.key == "" {
			continue
		}
		r := b.Reports[0]
		if r.Key != want.key || r.Severity != want.severity || !r.Start.Time().Equal(raw.Report.DateIssued) || !r.End.Time().Equal(raw.Report.ValidUntil) || len(r.Notes) > 0 {
			t.Errorf("%s: %+v", file, r)
		}
		if names := namesIn(raw.Report.Title); slices.ContainsFunc(names, func(n string) bool { return subregions[n] == circle{} }) || !strings.Contains(r.Name, names[0]) {
			t.Errorf("%s: %q names %q", file, r.Name, names)
		}
		shape, err := geo.ParseLoose([]byte(r.Areas[0].Geometry))
		if reach := geo.NewReach(shape); err != nil || !reach.Holds(want.inside[0], want.inside[1]) || reach.Holds(-113.5, 53.5) { // Edmonton
			t.Errorf("%s: %v, %s", file, err, r.Areas[0].Geometry)
		}
	}
}

func TestLevels(t *testing.T) {
	for value, want := range map[string]hazard.Severity{
		"low": 0, "moderate": 0, "norating": 0, "earlyseason": 0, "spring": 0, "considerable": hazard.Advisory, "high": hazard.Watch, "extreme": hazard.Warning, "severe": hazard.Advisory,
	} {
		b, err := Parse([]byte(list(value)), laws.Now(t))
		if err != nil || !b.Whole || (len(b.Reports) == 1) != (want > 0) {
			t.Fatalf("%s: %v %+v", value, err, b)
		}
		if want > 0 && (b.Reports[0].Severity != want || (len(b.Reports[0].Notes) > 0) != (value == "severe")) {
			t.Errorf("%s: %+v", value, b.Reports[0])
		}
	}
	b, _ := Parse([]byte(list("low", "considerable", "considerable", "low", "high")), laws.Now(t))
	if len(b.Reports) != 3 || b.Reports[0].Key != "cirrus-wilson" || b.Reports[1].Key != "spray-klakes" || b.Reports[2].Key != "nowhere-known" || !slices.Equal(b.Reports[2].Places, []string{"ISO3166-1:CA"}) {
		t.Errorf("%+v", b.Reports)
	}
	const said = "Friday: alpine 3 Considerable, tree line 2 Moderate, below tree line 1 Low.\nProblems: Wind slab.\nCare & caution.\nForecast by Avalanche Canada."
	if r := b.Reports[0]; r.Description != said || r.Called != "Cirrus-Wilson; Icefields" {
		t.Errorf("%q %q", r.Called, r.Description)
	}
	if b, err := Parse([]byte(list("high")), laws.Now(t).Add(24*time.Hour)); err != nil || len(b.Reports) > 0 || b.Ignored != 1 {
		t.Errorf("after its end: %v %+v", err, b)
	}
	if _, err := Parse([]byte(`{"message":"not found"}`), laws.Now(t)); err == nil {
		t.Error("an error message is read as a list")
	}
}
