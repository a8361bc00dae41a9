package nws

import (
	"errors"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

func TestZoneURLAndParseZoneAgree(t *testing.T) {
	for place, tt := range map[string]struct{ url, kind string }{
		"INC005":      {"https://api.weather.gov/zones/county/INC005", "county"},
		"HIZ043":      {"https://api.weather.gov/zones/forecast/HIZ043", "public"},
		"PZZ130":      {"https://api.weather.gov/zones/forecast/PZZ130", "coastal"},
		"fire/CAZ071": {"https://api.weather.gov/zones/fire/CAZ071", "fire"},
	} {
		if got := ZoneURL(place); got != tt.url {
			t.Errorf("ZoneURL(%q) = %q, want %q", place, got, tt.url)
		}
		payload := text(object{
			"type": "Feature", "geometry": object{"type": "Polygon", "coordinates": []int{}},
			"properties": object{"id": strings.TrimPrefix(place, "fire/"), "type": tt.kind, "name": "Windward  Haleakala"},
		})
		got, geometry, name, err := parseZone(payload)
		if got != place || name != "Windward Haleakala" || string(geometry) != `{"coordinates":[],"type":"Polygon"}` || err != nil {
			t.Errorf("ParseZone(%s) = %q, %s, %q, %v", payload, got, geometry, name, err)
		}
	}
}

func TestPlaceWithoutAddress(t *testing.T) {
	for _, place := range []string{"", "SAME:018005", "fire/CAC071", "fire/", "hiz043", "HIZ43", "../HIZ043", "HIZ043?x", "HIZALL", "fire/fire/CAZ071"} {
		if got := ZoneURL(place); got != "" {
			t.Errorf("ZoneURL(%q) = %q, want none", place, got)
		}
	}
}

func TestBadZoneIsAnError(t *testing.T) {
	good := `{"type":"Feature","geometry":{"type":"MultiPolygon","coordinates":[]},"properties":{"id":"HIZ043","type":"public","name":"x"}}`
	if _, _, _, err := parseZone([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for want, payload := range map[string]string{
		"empty payload":                        "",
		"HTML":                                 "<html>",
		"ends early":                           good[:len(good)-1],
		"expected the end":                     good + good,
		"problem document: Not Found: no zone": `{"type":"https://api.weather.gov/problems/NotFound","title":"Not Found","detail":"no zone"}`,
		`type: "FeatureCollection"`:            `{"type":"FeatureCollection","features":[]}`,
		"geometry of HIZ043: null, expected Polygon":                      strings.Replace(good, `{"type":"MultiPolygon","coordinates":[]}`, `null`, 1),
		"geometry of HIZ043: null or missing":                             strings.Replace(good, `"geometry"`, `"shape"`, 1),
		`geometry of HIZ043: {"type":"Point"`:                             strings.Replace(good, "MultiPolygon", "Point", 1),
		`properties/id: "043"`:                                            strings.Replace(good, "HIZ043", "043", 1),
		`properties/id: "HIC043" of type "fire", expected a code such as`: strings.NewReplacer("HIZ043", "HIC043", "public", "fire").Replace(good),
	} {
		place, geometry, name, err := parseZone([]byte(payload))
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !strings.Contains(bad.Reason, want) || bad.Cut != (want == "ends early" || want == "expected the end") {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
		if place != "" || geometry != nil || name != "" {
			t.Errorf("%s: %q, %s, %q beside an error", payload, place, geometry, name)
		}
	}
}

// Every place in the recorded alerts has an address, except those that have only SAME codes.
func TestRecordedPlacesHaveAddresses(t *testing.T) {
	test.NoRace(t)
	for _, pattern := range []string{"active-2026*.json", "full-*.json", "iowa-*.json", "active-hilo-hi.json"} {
		for _, rec := range recordings(t, pattern) {
			for _, r := range parsed(t, rec.payload, rec.at).Reports {
				if len(r.Places) == 0 {
					t.Errorf("%s: %s names no place", rec.name, r.Part)
				}
				for _, p := range r.Places {
					if ZoneURL(p) == "" && !strings.HasPrefix(p, "SAME:") {
						t.Errorf("%s: %s has no address", rec.name, p)
					}
				}
			}
		}
	}
}
