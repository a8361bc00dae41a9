package town_test

import (
	_ "embed"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/town"
)

//go:embed testdata/zones.txt
var places string

// The page and the map have the same time zone, for 3,000 places all over the world as the map's
// package gives them.
func TestTheZonesAreThoseOfTheMap(t *testing.T) {
	for line := range strings.Lines(places) {
		var latitude, longitude float64
		var want string
		if _, err := fmt.Sscan(line, &latitude, &longitude, &want); err != nil {
			t.Fatal(line, err)
		}
		if got := town.ZoneName(latitude, longitude); got != want {
			t.Errorf("%g, %g: %s, want %s", latitude, longitude, got, want)
		}
		if town.Zone(latitude, longitude) == nil {
			t.Errorf("%s is not known", want)
		}
	}
}

func TestNoPlaceHasNoZone(t *testing.T) {
	for _, p := range [][2]float64{{91, 0}, {0, 181}, {math.NaN(), 0}, {0, math.Inf(1)}} {
		if got := town.ZoneName(p[0], p[1]); got != "" || town.Zone(p[0], p[1]) != nil {
			t.Errorf("%v: %s", p, got)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Fuzz(func(t *testing.T, latitude, longitude float64) {
		if name := town.ZoneName(latitude, longitude); (name == "") != !(math.Abs(latitude) <= 90 && math.Abs(longitude) <= 180) {
			t.Errorf("%g, %g: %q", latitude, longitude, name)
		}
	})
}
