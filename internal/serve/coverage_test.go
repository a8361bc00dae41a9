package serve_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/coverage"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/serve"
)

// office returns a weather service of a country.
func office(name, country string) source.Source {
	return source.Source{Name: name, Title: name, Attribution: "Office of " + name, Types: []hazard.Type{hazard.Storm, hazard.Flood},
		Coverage: []source.Coverage{{Role: source.RoleResponsible, Countries: []string{country}, Cite: "a test"}}}
}

// silent configures Austria as covered, and Switzerland as stale.
func silent(c *serve.Config) {
	c.Sources = func(context.Context) ([]poll.Status, error) {
		read := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		return []poll.Status{{Name: "austria", State: poll.OK, LastSuccess: &read}, {Name: "swiss", State: poll.Stale, LastSuccess: &read}}, nil
	}
	c.Readings = func() coverage.Readings {
		states, _ := c.Sources(context.Background())
		return poll.Readings(states)
	}
	m, err := coverage.New([]source.Source{office("austria", "AT"), office("swiss", "CH")})
	if err != nil {
		panic(err)
	}
	c.Coverage = m
}

func TestCoverageOfAPlace(t *testing.T) {
	s := handle(t, silent)
	var got struct {
		Answer    string
		Countries []struct{ Code string }
		Sources   []struct {
			Name, Authority, State string
			Types                  []string
		}
	}
	a := s.do("reader", "GET", "/coverage?point=16.37,48.21&type=FLOOD", "")
	a.JSON(t, &got)
	if got.Answer != "covered" || got.Countries[0].Code != "AT" || got.Sources[0].Authority != "Office of austria" || len(got.Sources[0].Types) != 1 {
		t.Errorf("%s", a.Body)
	}
	for query, want := range map[string]string{"point=7.45,46.95": "stale", "point=2.35,48.86": "unknown", "point=16.37,48.21&type=FLOOD,TSUNAMI": "unknown", "point=-180,90": "unknown"} {
		if s.do("reader", "GET", "/coverage?"+query, "").JSON(t, &got); got.Answer != want {
			t.Errorf("%s: %s, want %s", query, got.Answer, want)
		}
	}
	for query, want := range map[string]string{"point=16.37": "is not lon,lat", "point=181,0": "from -180 to 180", "point=NaN,0": "is not lon,lat", "point=1,2&type=RAIN": "is not a type; expected one of",
		"point=1,2&point=1,3": "is given 2 times", "at=2026-01-01T00:00:00Z": "is not known"} {
		if a := s.do("reader", "GET", "/coverage?"+query, ""); a.Status != 400 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s, want %s", query, a.Status, a.Body, want)
		}
	}
}

func TestTheLayerOfCoverageIsMadeOnce(t *testing.T) {
	s := handle(t, silent)
	a := s.do("reader", "GET", "/coverage", "")
	var layer struct {
		Type     string
		Features []struct{ Properties struct{ Code, State string } }
	}
	a.JSON(t, &layer)
	words := map[string]string{}
	for _, f := range layer.Features {
		words[f.Properties.Code] = f.Properties.State
	}
	if layer.Type != "FeatureCollection" || words["AT"] != "covered" || words["CH"] != "stale" || words["FR"] != "unknown" || a.Header.Get("Content-Type") != "application/geo+json" {
		t.Errorf("%s: %s %s %s", a.Header.Get("Content-Type"), words["AT"], words["CH"], words["FR"])
	}
	if b := s.do("reader", "GET", "/coverage", "", "If-None-Match", a.Header.Get("ETag")); b.Status != 304 {
		t.Errorf("the layer is sent again: %d", b.Status)
	}
	if b := s.do("reader", "GET", "/coverage?type=TSUNAMI", "", "If-None-Match", a.Header.Get("ETag")); b.Status != 200 {
		t.Errorf("another layer: %d", b.Status)
	}
}

// A map reads the outlines once, and the words again and again; or the words of its window alone.
func TestTheLayerOfCoverageInParts(t *testing.T) {
	s := handle(t, silent)
	words := func(query string) map[string]string {
		var layer struct {
			Features []struct {
				Geometry   any
				Properties struct{ Code, State string }
			}
		}
		s.do("reader", "GET", "/coverage?"+query, "").JSON(t, &layer)
		found := map[string]string{}
		for _, f := range layer.Features {
			found[f.Properties.Code] = f.Properties.State
			if (f.Geometry == nil) != strings.Contains(query, "geometry=none") {
				t.Errorf("%s: the geometry of %s is %v", query, f.Properties.Code, f.Geometry)
			}
		}
		return found
	}
	if got := words("geometry=none"); len(got) < 240 || got["AT"] != "covered" || got["CH"] != "stale" || got["FR"] != "unknown" {
		t.Errorf("%d words, AT %s, CH %s, FR %s", len(got), got["AT"], got["CH"], got["FR"])
	}
	// Around the lake of Constance; its box meets that of France.
	for _, query := range []string{"geometry=none&bbox=9.3,47.2,9.8,47.6", "bbox=9.3,47.2,9.8,47.6"} {
		if diff := cmp.Diff(map[string]string{"AT": "covered", "CH": "stale", "DE": "unknown", "LI": "unknown"}, words(query)); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
	if got := words("geometry=none&bbox=179,-20,-179,-15"); got["FJ"] != "unknown" || len(got) != 1 {
		t.Errorf("across the antimeridian: %v", got)
	}
	a := s.do("reader", "GET", "/coverage?geometry=topology", "")
	if text := string(a.Body); a.Status != 200 || !strings.HasPrefix(text, `{"type":"Topology"`) || strings.Contains(text, "covered") || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("outlines: %d %s %.200s", a.Status, a.Header.Get("Content-Type"), text)
	}
	if b := s.do("reader", "GET", "/coverage?geometry=topology", "", "If-None-Match", a.Header.Get("ETag")); b.Status != 304 {
		t.Errorf("the outlines are sent again: %d", b.Status)
	}
	for query, want := range map[string]string{"geometry=all": "is none of none, topology", "geometry=topology&type=FLOOD": "leave out type and bbox", "geometry=topology&bbox=1,2,3,4": "leave out type and bbox",
		"geometry=none&point=1,2": "leave out point", "bbox=1,2,3,4&point=1,2": "leave out point", "bbox=1,2,3": "bbox"} {
		if a := s.do("reader", "GET", "/coverage?"+query, ""); a.Status != 400 || !strings.Contains(string(a.Body), want) {
			t.Errorf("%s: %d %s, want %s", query, a.Status, a.Body, want)
		}
	}
}

// Every list of a place says whether its silence means anything; no other list does.
func TestListsOfAPlaceSayWhetherTheyAreCovered(t *testing.T) {
	s := handle(t, silent)
	const vienna, bern = "bbox=16.3,48.1,16.4,48.2", "near=7.45,46.95&radius=1000"
	for path, want := range map[string]string{
		"/hazards/active?" + vienna:                               `covered; covered=4; stale=0; unknown=0; sources="austria"`,
		"/hazards/active?f=geojson&" + vienna:                     `covered; covered=4; stale=0; unknown=0; sources="austria"`,
		"/hazards/active/severity/WARNING?" + bern:                `stale; covered=0; stale=1; unknown=0; lacking="CH"; sources="swiss"`,
		"/hazards/active/severity/WARNING?severity=WATCH&" + bern: `stale; covered=0; stale=1; unknown=0; lacking="CH"; sources="swiss"`,
		"/hazards?" + bern + "&type=TSUNAMI":                      `unknown; covered=0; stale=0; unknown=1; lacking="CH"`,
		"/hazards/count?" + bern:                                  `stale; covered=0; stale=1; unknown=0; lacking="CH"; sources="swiss"`,
		"/hazards?intersects=POINT(16.37%2048.21)":                `covered; covered=1; stale=0; unknown=0; sources="austria"`,
		"/hazards?f=csv&intersects=POLYGON((13%2047,15%2047,15%2047.5,13%2047.5,13%2047))&" + "bbox=0,40,20,50": `covered; covered=25; stale=0; unknown=0; sources="austria"`,
		"/ogc/collections/hazards/items?" + vienna:                                                              `covered; covered=4; stale=0; unknown=0; sources="austria"`,
		"/ogc/collections/active-hazards/items?f=html&" + vienna:                                                `covered; covered=4; stale=0; unknown=0; sources="austria"`,
		// A condition may name the place.
		"/hazards?filter=S_INTERSECTS(geometry,POINT(16.37%2048.21))":                            `covered; covered=1; stale=0; unknown=0; sources="austria"`,
		"/hazards?filter=type_ID%3D'TSUNAMI'%20AND%20S_INTERSECTS(geometry,POINT(7.45%2046.95))": `unknown; covered=0; stale=0; unknown=1; lacking="CH"`,
		"/hazards?filter=NOT%20S_INTERSECTS(geometry,POINT(16.37%2048.21))":                      "",
		"/hazards/active":     "",
		"/hazards?type=FLOOD": "",
		"/hazards?at=" + s.time().UTC().Add(-time.Second).Format(time.RFC3339) + "&" + vienna: "",
	} {
		a := s.do("reader", "GET", path, "")
		if got := a.Header.Get("Hazardd-Coverage"); a.Status != http.StatusOK || got != want {
			t.Errorf("%s: %d, %q, want %q", path, a.Status, got, want)
		}
	}
}
