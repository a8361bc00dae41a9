package counties

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
)

func TestEveryCountyHasAnArea(t *testing.T) {
	states := make(map[string]int)
	total := 0.0
	for _, e := range table() {
		c := e.county()
		states[c.State]++
		total += c.Shape.AreaKm2()
		text := c.Shape.GeoJSON()
		if s, err := geo.ParseGeoJSON([]byte(text)); err != nil || s.GeoJSON() != text {
			t.Errorf("%s %s is not valid: %v", c.FIPS, c.Name, err)
		}
		if a := c.Shape.AreaKm2(); a < 1 {
			t.Errorf("%s %s has %g km²", c.FIPS, c.Name, a)
		}
		lon, lat := c.Shape.Point()
		if !geo.Intersects(c.Shape, geo.Circle(lon, lat, 0)) {
			t.Errorf("the point %v %v of %s %s lies outside of it", lon, lat, c.FIPS, c.Name)
		}
		if c.Name == "" {
			t.Errorf("%s has no name", c.FIPS)
		}
	}
	if n := len(table()); n != 3231 {
		t.Errorf("%d counties", n)
	}
	for state, want := range map[string]int{"TX": 254, "VA": 133, "CT": 8, "AK": 29, "DC": 1, "PR": 78, "VI": 3, "GU": 1, "AS": 3, "MP": 4} {
		if states[state] != want {
			t.Errorf("%d counties in %s, want %d", states[state], state, want)
		}
	}
	if len(states) != len(stateCodes) {
		t.Errorf("counties in %d states of %d", len(states), len(stateCodes))
	}
	const landAndCoastalWater = 9_400_000 // km², about
	if total < 0.97*landAndCoastalWater || total > 1.03*landAndCoastalWater {
		t.Errorf("all counties have %.0f km²", total)
	}
}

func TestTheTableIsSmall(t *testing.T) {
	if len(packed) > 400_000 {
		t.Errorf("counties.bin.gz has %d bytes", len(packed))
	}
}

func codes(cs []County) string {
	var fips []string
	for _, c := range cs {
		fips = append(fips, c.FIPS)
	}
	return strings.Join(fips, " ")
}

func TestBySAME(t *testing.T) {
	for name, tt := range map[string]struct{ same, want string }{
		"a whole county":                       {"018005", "18005"},
		"a part of a county is all of it":      {"418005", "18005"},
		"a whole state":                        {"010000", "10001 10003 10005"},
		"a city that is no part of a county":   {"051610", "51610"},
		"Connecticut by its counties":          {"009001", "09001"},
		"Connecticut's planning regions":       {"009110", ""},
		"Oglala Lakota":                        {"046102", "46102"},
		"Oglala Lakota by its code until 2015": {"046113", "46102"},
		"Kusilvak by its code until 2015":      {"002270", "02158"},
		"Chugach, split off in 2019":           {"002063", "02261"},
		"the Gulf":                             {"077650", ""},
		"the country":                          {"000000", ""},
		"a county that is not there":           {"018002", ""},
		"Canada has other codes":               {"035100A", ""},
		"five digits":                          {"18005", ""},
		"letters":                              {"INC005", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := codes(BySAME(tt.same)); got != tt.want {
				t.Errorf("BySAME(%q) = %q, want %q", tt.same, got, tt.want)
			}
		})
	}
}

func TestByUGC(t *testing.T) {
	for name, tt := range map[string]struct{ ugc, want string }{
		"a county":                {"INC005", "18005"},
		"a whole state":           {"DEC000", "10001 10003 10005"},
		"a whole state in words":  {"DEALL0", ""},
		"all counties of a state": {"DECALL", "10001 10003 10005"},
		"a territory":             {"GUC010", "66010"},
		"a forecast zone":         {"INZ021", ""},
		"a marine area":           {"GMZ650", ""},
		"no state":                {"XXC001", ""},
		"no number":               {"INC00A", ""},
		"too short":               {"INC05", ""},
		"nothing":                 {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := codes(ByUGC(tt.ugc)); got != tt.want {
				t.Errorf("ByUGC(%q) = %q, want %q", tt.ugc, got, tt.want)
			}
		})
	}
}

func TestACountyIsWhereItBelongs(t *testing.T) {
	for fips, want := range map[string]struct {
		name, state string
		lon, lat    float64 // a place in it
	}{
		"06037": {"Los Angeles", "CA", -118.25, 34.05},
		"36061": {"New York", "NY", -73.97, 40.78},
		"51610": {"Falls Church", "VA", -77.171, 38.885},
		"15003": {"Honolulu", "HI", -157.95, 21.4},
		"66010": {"Guam", "GU", 144.8, 13.45},
		"02020": {"Anchorage", "AK", -149.8, 61.2},
	} {
		c, ok := ByFIPS(fips)
		if !ok || c.FIPS != fips || c.Name != want.name || c.State != want.state {
			t.Errorf("ByFIPS(%s) = %s %s %s, %v", fips, c.FIPS, c.Name, c.State, ok)
		}
		if !geo.Intersects(c.Shape, geo.Circle(want.lon, want.lat, 1000)) {
			t.Errorf("%s %s is not at %v %v", fips, c.Name, want.lon, want.lat)
		}
	}
}

func TestTheAleutiansCrossTheAntimeridian(t *testing.T) {
	c, _ := ByFIPS("02016")
	west, south, east, north := c.Shape.Bounds()
	if !(170 < west && west < 180 && -180 < east && east < -160 && 50 < south && north < 58) {
		t.Errorf("%s reaches from %v %v to %v %v", c.Name, west, south, east, north)
	}
}

func TestAllAskAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n := len(BySAME("048000")); n != 254 {
				t.Errorf("%d counties in Texas", n)
			}
		})
	}
	wg.Wait()
}

func TestABrokenTableIsAnError(t *testing.T) {
	if _, err := unpack(packed[:len(packed)/2]); err == nil {
		t.Error("half a table was read")
	}
	if _, err := unpack(nil); err == nil {
		t.Error("no table was read")
	}
}

// TestAlertsResolve resolves the codes of whole feeds of alerts on land.
func TestAlertsResolve(t *testing.T) {
	dir := os.Getenv("HAZARDD_SHARED")
	if dir == "" {
		t.Skip("HAZARDD_SHARED is not set: no recorded feeds")
	}
	var files []string
	for _, pattern := range []string{"full-*.json", "active-2026*.json"} {
		found, err := filepath.Glob(filepath.Join(dir, "feeds", "nws", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	// Islands that the map is too small for.
	unmapped := map[string]string{"060030": "Rose Atoll", "060040": "Swains Island"}
	seen := make(map[string]bool)
	missing := make(map[string]int)
	sameCodes, resolved, alerts, land, withArea := 0, 0, 0, 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var feed struct {
			Features []struct {
				Properties struct {
					Geocode struct{ SAME, UGC []string }
				}
			}
		}
		if err := json.Unmarshal(text, &feed); err != nil {
			t.Fatal(file, err)
		}
		for _, f := range feed.Features {
			g := f.Properties.Geocode
			alerts++
			for _, ugc := range g.UGC {
				if ugc[2] == 'C' && !strings.HasSuffix(ugc, "000") && len(ByUGC(ugc)) != 1 {
					t.Errorf("%s: county %s is not found", filepath.Base(file), ugc)
				}
			}
			atSea := func(ugc string) bool { return stateCodes[ugc[:2]] == "" }
			if slices.ContainsFunc(g.UGC, atSea) {
				continue
			}
			land++
			before := resolved
			for _, same := range g.SAME {
				sameCodes++
				seen[same] = true
				if BySAME(same) != nil {
					resolved++
				} else {
					missing[same]++
				}
			}
			if resolved > before {
				withArea++
			}
		}
	}
	t.Logf("%d of %d alerts are on land; %d of them get an area; %d of %d SAME codes resolve, of %d different ones all but %d",
		land, alerts, withArea, resolved, sameCodes, len(seen), len(missing))
	for same, n := range missing {
		if unmapped[same] == "" {
			t.Errorf("%s is not found, %d times", same, n)
		} else {
			t.Logf("%s (%s) is not found, %d times", same, unmapped[same], n)
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		if _, err := unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllShapes(b *testing.B) {
	for b.Loop() {
		t, err := unpack(packed)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range t {
			e.county()
		}
	}
}

func BenchmarkUnionOfTexas(b *testing.B) {
	var shapes []geo.Shape
	for _, c := range BySAME("048000") {
		shapes = append(shapes, c.Shape)
	}
	for b.Loop() {
		if _, err := geo.Union(shapes...); err != nil {
			b.Fatal(err)
		}
	}
}
