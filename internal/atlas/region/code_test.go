package region

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/test"
)

func TestCodes(t *testing.T) {
	for code, km2 := range map[string]float64{ // 0: unknown
		"INC005":                             1_060,  // Bartholomew County, Indiana
		"UGC:INC005":                         1_060,  // the same
		"018005":                             1_060,  // as a SAME code
		"SAME:118005":                        1_060,  // a part of it
		"FIPS6:018005":                       1_060,  // with the name of SAME's predecessor
		"018000":                             94_300, // Indiana
		"INCALL":                             94_300,
		"INC000":                             94_300,
		"02261":                              0,
		"002261":                             95_400, // Valdez-Cordova, which was divided in 2019
		"AKC261":                             95_400,
		"PZZ530":                             789,    // San Pablo, Suisun and San Francisco Bays
		"emma_id:AT001":                      19_200, // Niederösterreich
		"NUTS2:AT12":                         19_200,
		"CPEAS Geographic Code:110000000000": 16_400, // Beijing
		"Taiwan_Geocode_112:09007000":        41.9,   // Lienchiang
		"urn:example:profile:EMMA_ID:AT001":  19_200,
		"WARNCELLID:202006000":               1.2,   // the Alster
		"JMA_AREA:150010":                    4_680, // Kaetsu, the lower part of Niigata
		"JMA_AREA:1510000":                   730,   // the city of Niigata
		"jma_area:201":                       2_200, // the coast of Aomori on the Pacific
		"JMA_AREA:1632100":                   0,     // Funahashi, whose outline was too coarse
		"INZ997":                             0,
		"HIZALL":                             18_400,
		"fire/CAZ071":                        0,
		"EMMA_ID:":                           0,
		"iso-3166-1-alpha-2:US":              0, // a country is not the area of a warning, so its outline may be used instead
		"area:Siersburg":                     0,
		"":                                   0,
	} {
		s, ok := Finder{}.Shape(t.Context(), code)
		if got := s.AreaKm2(); ok != (km2 > 0) || got < km2*0.97-0.1 || got > km2*1.03+0.1 {
			t.Errorf("%q: %.1f km², %v, want %v km²", code, got, ok, km2)
		}
		if Known(ParseCode(code)) != ok {
			t.Errorf("Known(%q) = %v, want %v", code, !ok, ok)
		}
	}
}

func TestCountryOfCode(t *testing.T) {
	for code, want := range map[string]string{
		"INZ997": "US", "PRC001": "PR", "GMZ650": "US", "BCZ160": "CA", "XXZ001": "", "072001": "PR", "SAME:018005": "US",
		"EMMA_ID:SE999": "SE", "EMMA_ID:EI001": "IE", "NUTS2:EL11": "GR", "NUTS3:UKI1": "GB", "NUTS1:DEB": "DE", "EMMA_ID:XX001": "",
		"WARNCELLID:913071001": "DE", "CPEAS:370614000000": "CN", "iso-3166-1-alpha-2:us": "US", "ISO 3166-2:AU_SA": "AU",
		"LGD District Code:600": "IN", "JMA_AREA:130010": "JP", "layer:EC-MSC-SMC:1.0:CLC:067200": "CA", "area:Sweden": "", "profile:CAP-CP:Location:0.3:4716053": "", "": "",
		"SAME:": "", "EMMA_ID:S": "", "UGC:X": "",
	} {
		if got := countryOfCode(code); got != want {
			t.Errorf("CountryOfCode(%q) = %q, want %q", code, got, want)
		}
	}
	if s, of := OutlineOf([]string{"AKZ997", "BCZ160"}, "LS", nil); len(of) != 2 || of[0].Code != "CA" || of[1].Code != "US" || s.AreaKm2() < 15e6 {
		t.Errorf("OutlineOf two countries = %v, %.0f km²", of, s.AreaKm2())
	}
	if _, of := OutlineOf([]string{"area:x"}, "", []string{"LS"}); len(of) != 1 || of[0].Code != "LS" {
		t.Errorf("OutlineOf a name = %v, want the given country", of)
	}
	if s, of := OutlineOf([]string{"area:x"}, "", nil); of != nil || !s.IsZero() {
		t.Errorf("OutlineOf nothing = %v", of)
	}
}

// TestAreasAreThoseOfTheOriginal compares some of the areas with their original data.
func TestAreasAreThoseOfTheOriginal(t *testing.T) {
	test.Seldom(t)
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set")
	}
	for scheme, every := range map[Scheme]int{UGC: 60, SAME: 10, EMMA: 30, WarnCellID: 3, Taiwan: 5, CPEAS: 60} {
		f, err := os.Open(filepath.Join(shared, "geocodes", string(scheme)+".ndjson.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(z)
		lines.Buffer(nil, 64<<20)
		n, compared, most := 0, 0, 0.0
		var differ, all float64
		for lines.Scan() {
			if n++; n%every != 0 {
				continue
			}
			var row struct {
				Code, Name string
				Geometry   json.RawMessage
			}
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			want, err := geo.ParseLoose(row.Geometry)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := Area(Code{scheme, row.Code})
			both, err := geo.Union(want, got)
			if !ok || err != nil {
				t.Errorf("%s %s (%s): known %v, %v", scheme, row.Code, row.Name, ok, err)
				continue
			}
			off := 2*both.AreaKm2() - want.AreaKm2() - got.AreaKm2()
			differ, all, compared, most = differ+off, all+want.AreaKm2(), compared+1, max(most, off/want.AreaKm2())
			if off > 0.12*want.AreaKm2() {
				t.Errorf("%s %s (%s): %.2f of %.2f km² differ", scheme, row.Code, row.Name, off, want.AreaKm2())
			}
			if lon, lat := want.Point(); !geo.Intersects(got, geo.Place(lon, lat)) {
				t.Errorf("%s %s (%s): its point %v %v is outside", scheme, row.Code, row.Name, lon, lat)
			}
		}
		if err := lines.Err(); err != nil || compared == 0 {
			t.Fatalf("%s: %d compared, %v", scheme, compared, err)
		}
		t.Logf("%s: %d of %d areas: %.2f %% of the area differs, of one at most %.1f %%", scheme, compared, n, 100*differ/all, 100*most)
	}
}

// TestTheAreasOfJapan checks all areas of Japan's warnings: each can be read, the regions and
// municipalities cover the country, and a coast is the sea near its line.
func TestTheAreasOfJapan(t *testing.T) {
	km2, n := map[int]float64{}, map[int]int{} // by the number of digits in codes
	for _, x := range atlases[JMA]().areas {
		s, ok := Area(Code{JMA, x.code})
		if !ok {
			t.Errorf("%s (%s) has no area", x.code, x.name)
		}
		km2[len(x.code)] += s.AreaKm2()
		n[len(x.code)]++
	}
	if n[3] != 66 || n[6] != 142 || n[7] != 1766 || km2[6] < 370e3 || km2[6] > 380e3 || km2[7] < 360e3 || km2[7] > 380e3 {
		t.Errorf("%v areas of %v km², want 66 coasts, 142 regions and 1,766 municipalities, of 378,000 km²", n, km2)
	}
	miyagi, _ := Area(Code{JMA, "220"})
	for place, want := range map[[2]float64]bool{
		{140.95, 38.22}: true, {141.0, 38.2}: true, // Sendai's shore, the sea before it
		{140.87, 38.26}: false, {141.2, 38.1}: false, {139.7, 35.7}: false, // the city's center, the open sea, Tokyo
	} {
		if got := geo.Intersects(miyagi, geo.Place(place[0], place[1])); got != want {
			t.Errorf("%v on the coast of Miyagi: %v, want %v", place, got, want)
		}
	}
}

// TestMemory loads everything, and compares the memory used with the package's comment.
func TestMemory(t *testing.T) {
	test.Seldom(t)
	load := func() {
		CountriesAt(0, 0, 0)
		for _, a := range []string{"INC005", "018000", "EMMA_ID:AT001", "WARNCELLID:202006000", "Taiwan_Geocode_112:09007000", "CPEAS:110000000000", "JMA_AREA:130010", "NUTS2:AT12"} {
			if _, ok := Area(ParseCode(a)); !ok {
				t.Errorf("%s is not known", a)
			}
		}
		for _, c := range Countries() {
			Outline(c.Code)
		}
		for _, n := range atlases[UGC]().areas { // the number of cached shapes is limited
			Area(Code{UGC, n.code})
		}
	}
	load()
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d kB in use, of them %d kB of shapes", m.HeapAlloc>>10, shapes.Size()>>10)
	if m.HeapAlloc > 32<<20 {
		t.Errorf("%d MB in use, want at most 32", m.HeapAlloc>>20)
	}
}

func TestABrokenAtlasIsAnErrorNotAPanic(t *testing.T) {
	for _, packed := range [][]byte{nil, []byte("x"), packedTaiwan[:len(packedTaiwan)/2]} {
		if _, err := readAtlas(packed); err == nil {
			t.Errorf("%d bytes are an atlas", len(packed))
		}
	}
}

func TestReadFolder(t *testing.T) {
	const square = `{"type":"Polygon","coordinates":[[[10,50],[11,50],[11,51],[10,51],[10,50]]]}`
	collection := func(features string) string { return `{"type":"FeatureCollection","features":[` + features + `]}` }
	feature := func(code, geometry string) string {
		return `{"type":"Feature","properties":{"code":` + code + `,"name":"x"},"geometry":` + geometry + `}`
	}
	write := func(files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	o, err := ReadFolder(write(map[string]string{
		"LGD District Code.geojson": collection(feature(`"600"`, square)),
		"emma_id.JSON":              collection(feature(`"AT001"`, square)),
		"README.md":                 "what is here", ".x.json": "{",
	}))
	if err != nil || o.Len() != 2 {
		t.Fatalf("%d areas, %v", o.Len(), err)
	}
	f := Finder{Own: func() *Own { return o }}
	for code, want := range map[string]string{
		"lgd district code:600": square, "LGD District Code:600": square, "EMMA_ID:AT001": square, // the operator's areas have priority over ours
		"LGD District Code:601": "",
	} {
		if s, _ := f.Shape(t.Context(), code); s.GeoJSON() != want {
			t.Errorf("%s: %.100q, want %q", code, s.GeoJSON(), want)
		}
	}
	if _, ok := f.Shape(t.Context(), "EMMA_ID:AT002"); !ok {
		t.Error("the operator's folder hides ours")
	}
	for want, files := range map[string]map[string]string{
		"no areas": {"README.md": ""},
		"A.geojson: not the GeoJSON that is expected":              {"A.geojson": "{"},
		"A.geojson: type: \"Feature\", expected FeatureCollection": {"A.geojson": feature(`"1"`, square)},
		"A.geojson: features/1/properties/code: missing or empty":  {"A.geojson": collection(feature(`"1"`, square) + "," + feature(`" "`, square))},
		"A.geojson: features/0/properties/code: the number 7":      {"A.geojson": collection(feature(`7`, square))},
		"A.geojson: features/0 (1): geometry: expected a Polygon":  {"A.geojson": collection(feature(`"1"`, `{"type":"Point","coordinates":[1,2]}`))},
		"A.geojson: features/0 (1): geometry: ":                    {"A.geojson": collection(feature(`"1"`, `{"type":"Polygon","coordinates":[[[500,0],[1,1],[2,2],[500,0]]]}`))},
		"a.json: 1: another file has an area of this code too":     {"A.geojson": collection(feature(`"1"`, square)), "a.json": collection(feature(`"1"`, square))},
	} {
		if _, err := ReadFolder(write(files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := ReadFolder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there is read")
	}
}

func BenchmarkArea(b *testing.B) {
	a := atlases[UGC]()
	i := 0
	for b.Loop() { // different codes, so that few are cached
		i = (i + 97) % len(a.areas)
		if _, err := a.shape(a.areas[i]); err != nil {
			b.Fatal(err)
		}
	}
}
