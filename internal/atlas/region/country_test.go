package region

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCountriesAt(t *testing.T) {
	for name, tt := range map[string]struct {
		lon, lat, metres float64
		want             string
	}{
		"inside":                      {8.55, 47.37, 0, "CH"},
		"a lake inside":               {32.9, -1.0, 0, "UG"},
		"at sea":                      {-30, 30, 100_000, ""},
		"an enclave":                  {28.2, -29.5, 0, "LS"},
		"a small state":               {12.4533, 41.9029, 2_000, "VA IT"},
		"a coast":                     {-9.50, 38.70, 5_000, "PT"},
		"an atoll":                    {179.19, -8.52, 20_000, "TV"},
		"across the antimeridian":     {-179.99, -16.5, 30_000, "FJ"},
		"a longitude beyond 180":      {185, 66.5, 0, "RU"},
		"the south pole":              {0, -90, 0, "AQ"},
		"part of a state of its own":  {-53, 4, 0, "GF"},
		"Crimea, by the UN":           {34.1, 45.0, 0, "UA"},
		"Western Sahara, by the UN":   {-13.2, 27.1, 0, "EH"},
		"Laayoune's north is Morocco": {-11, 28.4, 0, "MA"},
		"claimed by two":              {77.2, 35.4, 0, "IN PK"},
		"no place":                    {0, 95, 1000, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range CountriesAt(tt.lon, tt.lat, tt.metres) {
				got = append(got, c.Code)
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("CountriesAt(%v, %v, %v) = %q, want %q", tt.lon, tt.lat, tt.metres, g, tt.want)
			}
		})
	}
}

func TestEveryCountryHasAnOutlineAroundItsOwnPoint(t *testing.T) {
	all := Countries()
	if len(all) != 250 {
		t.Errorf("%d countries, want the 249 of ISO 3166-1 and Kosovo", len(all))
	}
	for _, c := range all {
		s := Outline(strings.ToLower(c.Code))
		if len(s.Polygons()) == 0 || c.Name == "" {
			t.Errorf("%s %q: outline %.60q", c.Code, c.Name, s.WKT())
			continue
		}
		if n := len(s.GeoJSON()); n > 64<<10 {
			t.Errorf("%s: the outline has %d bytes, which is too much for a substitute area", c.Code, n)
		}
		lon, lat := s.Point()
		at := CountriesAt(lon, lat, 5_000)
		if len(at) == 0 || at[0].Code != c.Code {
			t.Errorf("%s: its point %.3f %.3f is in %v", c.Code, lon, lat, at)
		}
	}
}

func TestCountriesOfTheCatalogAreKnown(t *testing.T) {
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set")
	}
	text, err := os.ReadFile(filepath.Join(shared, "cap-feeds", "feeds.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		code := strings.ToUpper(strings.Split(row, "\t")[1])
		if i == 0 || code == "XX" || len(code) != 2 { // XX is a test feed; three letters are an alpha-3
			continue
		}
		if _, ok := CountryByCode(code); !ok {
			t.Errorf("row %d: no country %s", i+1, code)
		}
	}
}

func BenchmarkCountriesAt(b *testing.B) {
	CountriesAt(0, 0, 0)
	for b.Loop() {
		CountriesAt(8.55, 47.37, 100_000)
	}
}

func TestNoPolygonGoesRoundTheWorld(t *testing.T) {
	tab := countries()
	for _, p := range tab.polygons {
		if p.east-p.west > 180 && tab.atlas.areas[p.area].code != "AQ" {
			t.Errorf("%s has a polygon from %v to %v", tab.atlas.areas[p.area].code, p.west, p.east)
		}
	}
}
