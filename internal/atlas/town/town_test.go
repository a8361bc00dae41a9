package town

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hazardd/hazardd/internal/geo"
)

func TestEveryTownIsRead(t *testing.T) {
	towns, err := all()
	if err != nil || len(towns.lat) < 45_000 {
		t.Fatalf("%v, %d towns", err, len(towns.lat))
	}
	for i, name := range towns.names {
		if i > 0 && towns.lat[i] < towns.lat[i-1] || math.Abs(float64(towns.lat[i])) > 90_000 || math.Abs(float64(towns.lon[i])) > 180_000 || name == "" || strings.ContainsAny(name[:1], "=+-@") || !utf8.ValidString(name) {
			t.Fatalf("town %d: %q at %d, %d", i, name, towns.lon[i], towns.lat[i])
		}
	}
}

// The division of nearly all towns is known.
func TestTownsKnowTheirDivision(t *testing.T) {
	want := map[string]string{"Kyoto JP": "JP.22 Kyoto", "Munich DE": "DE.02 Bavaria", "Gaziantep TR": "TR.83 Gaziantep", "Kolkata IN": "IN.28 West Bengal", "Baton Rouge US": "US.LA Louisiana"}
	unknown := 0
	for town := range Between(-90, 90) {
		d, ok := town.Division()
		if !ok {
			unknown++
		} else if len(d.Code) < 4 || d.Code[:3] != town.Country+"." || d.Name == "" {
			t.Fatalf("%s is in %+v", town.Name, d)
		}
		if w, known := want[town.Name+" "+town.Country]; known && w != d.Code+" "+d.Name {
			t.Errorf("%s is in %+v, want %s", town.Name, d, w)
		}
	}
	if unknown > 200 {
		t.Errorf("%d towns without a known division", unknown)
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		lon, lat       float64
		words, country string
	}{
		{22.417, -5.896, "Kananga", "CD"},
		{22.6, -5.7, "30 km NE of Kananga", "CD"},
		{-118.2437, 34.0522, "Los Angeles", "US"},
		{179.99, -16.8, "80 km SE of Labasa", "FJ"},
		{-140, 0, "", ""}, // the middle of the Pacific
		{0, 90, "", ""},
		{math.NaN(), 3, "", ""},
	} {
		near, ok := Nearest(tt.lon, tt.lat)
		if ok != (tt.words != "") || ok && (near.Words() != tt.words || near.Country != tt.country) {
			t.Errorf("%v, %v: %q, %s; want %q", tt.lon, tt.lat, near.Words(), near.Country, tt.words)
		}
	}
}

// The search for the nearest town looks at bands of latitude. It finds the same as a search of all
// towns.
func TestNearestIsTheNearestOfAll(t *testing.T) {
	towns, _ := all()
	for i := range 60 {
		lon, lat := math.Mod(float64(i)*137.5, 360)-180, math.Asin(2*(float64(i)+0.5)/60-1)*180/math.Pi
		best := float64(farthest)
		for j := range towns.lat {
			best = min(best, geo.Distance(lon, lat, float64(towns.lon[j])/1000, float64(towns.lat[j])/1000)/1000)
		}
		if near, ok := Nearest(lon, lat); ok != (best < farthest) || ok && near.Km != best {
			t.Errorf("%v, %v: %v km, want %v", lon, lat, near.Km, best)
		}
	}
}
