package cyclone

import (
	"math"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestWindRadiiReachAsFarAsTheySay(t *testing.T) {
	for _, tt := range []struct {
		lon, lat  float64
		quadrants [4]float64
		area      float64 // km²: quarters of circles, at 1.852 km per nautical mile
	}{
		{-89, 28, [4]float64{120, 100, 80, 110}, math.Pi / 4 * 1.852 * 1.852 * (120*120 + 100*100 + 80*80 + 110*110)},
		{179.5, -15, [4]float64{60, 60, 60, 60}, math.Pi * 1.852 * 1.852 * 60 * 60},
		{-87.2, 29.4, [4]float64{0, 40, 0, 0}, math.Pi / 4 * 1.852 * 1.852 * 40 * 40},
	} {
		all := Shapes([]Fix{{At: 1, Point: hazard.Point{Lon: tt.lon, Lat: tt.lat}, Radii: []Radii{{34, tt.quadrants}}}})
		if len(all) != 2 || all[0].Role != hazard.PositionShape || all[1].Role != hazard.WindShape || all[1].Band.Value != 63 {
			t.Fatalf("shapes %+v, want the position and the wind", all)
		}
		s, err := geo.ParseLoose([]byte(all[1].Geometry))
		if err != nil || math.Abs(s.AreaKm2()/tt.area-1) > 0.02 {
			t.Errorf("at %v, %v: %.0f km² (%v), want %.0f", tt.lon, tt.lat, s.AreaKm2(), err, tt.area)
		}
	}
	for _, bad := range [][4]float64{{}, {-1, 1, 1, 1}, {5000, 1, 1, 1}, {math.NaN(), 1, 1, 1}} {
		if ring := sectors(hazard.Point{}, bad); ring != "" {
			t.Errorf("%v: %s", bad, ring)
		}
	}
}
