package hans

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Once, all 1,352 notices were held when the positions of volcanoes could not be fetched.
func TestVolcanoesArePlacedWithoutNetwork(t *testing.T) {
	offline := Places{Kept: func(context.Context, string) (string, error) { return "", errors.New("never fetched") }}
	for code, want := range map[string]hazard.Point{
		"gvp:311120": {Lon: -176.13, Lat: 52.076}, "gvp:332010": {Lon: -155.287, Lat: 19.421}, "gvp:321050": {Lon: -122.18, Lat: 46.2}, "gvp:284211": {Lon: 144.775, Lat: 14.601},
		"gvp:999999": {}, "gvp:": {}, "311120": {},
	} {
		s, ok := offline.Shape(t.Context(), code)
		if ok != (want != hazard.Point{}) {
			t.Errorf("%s: known %v", code, ok)
		}
		if !ok {
			continue
		}
		if lon, lat := s.Point(); math.Abs(lon-want.Lon) > 1e-6 || math.Abs(lat-want.Lat) > 1e-6 {
			t.Errorf("%s: at %v %v, want %v", code, lon, lat, want)
		}
	}
	n := 0
	for line := range strings.Lines(volcanoes) {
		code, _, _ := strings.Cut(line, "\t")
		if _, ok := offline.Shape(t.Context(), "gvp:"+code); !ok || regions[code[:3]] == "" && code[0] != '3' {
			t.Errorf("%q cannot be read", line)
		}
		n++
	}
	if n < 180 {
		t.Errorf("%d volcanoes", n)
	}
}
