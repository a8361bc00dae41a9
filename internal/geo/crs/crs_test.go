package crs_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo/crs"
)

// The figures are those of PROJ 9 (gdaltransform), within what a shift of datums leaves open.
func TestPositionsAreThoseOfTheRegister(t *testing.T) {
	for _, c := range []struct {
		code           int
		lon, lat, x, y float64
		within         float64
	}{
		{4326, 10, 53.5, 10, 53.5, 0},
		{3857, 10, 53.5, 1113194.908, 7076025.276, 0.01},
		{102100, -100, 40, -11131949.079, 4865942.280, 0.01},
		{32632, 10, 53.5, 566331.528, 5928359.088, 0.01},
		{25832, 10, 53.5, 566331.528, 5928359.088, 0.01},
		{3035, 10, 52, 4321000, 3210000, 0.01},
		{2154, 3, 46.5, 700000, 6600000, 0.01},
		{27700, -0.1275, 51.50722, 530050.08, 180360.61, 10},
		{32733, 15, -22, 500000, 7567173.042, 0.01},
	} {
		s, ok := crs.Named(c.code)
		if !ok {
			t.Fatalf("%d is not known", c.code)
		}
		x, y := s.Project(c.lon, c.lat)
		if math.Abs(x-c.x) > c.within || math.Abs(y-c.y) > c.within {
			t.Errorf("%d: %v, %v are at %.3f, %.3f; want %v, %v", c.code, c.lon, c.lat, x, y, c.x, c.y)
		}
	}
	if _, ok := crs.Named(1); ok {
		t.Error("1 is known")
	}
}

func TestAPositionComesBack(t *testing.T) {
	codes := []int{4326, 3857, 32632, 25832, 3035, 2154, 4258, 4269} // each for where it is used
	rapid.Check(t, func(t *rapid.T) {
		s, _ := crs.Named(rapid.SampledFrom(codes).Draw(t, "code"))
		lon, lat := rapid.Float64Range(6, 9).Draw(t, "lon"), rapid.Float64Range(42, 51).Draw(t, "lat")
		x, y := s.Project(lon, lat)
		if toLon, toLat := s.Unproject(x, y); math.Abs(toLon-lon) > 1e-6 || math.Abs(toLat-lat) > 1e-6 {
			t.Fatalf("%d: %v, %v come back as %v, %v", s.Code, lon, lat, toLon, toLat)
		}
	})
}

// Far from where a system is used its figures are wrong: then there are none.
func TestWhereASystemHasNoSuchPlace(t *testing.T) {
	for uri, places := range map[string]map[[2]float64]bool{
		crs.CRS84: {{180, 90}: true},
		"http://www.opengis.net/def/crs/EPSG/0/25832": {{9, 53}: true, {15, 53}: true, {25, 53}: true, {100, 40}: false, {-100, 40}: false, {-171, 0}: false},
		"http://www.opengis.net/def/crs/EPSG/0/32701": {{-177, -18}: true, {3, 50}: false},
		"http://www.opengis.net/def/crs/EPSG/0/27700": {{-0.1, 51.5}: true, {60, 50}: false},
		"http://www.opengis.net/def/crs/EPSG/0/2154":  {{3, 46.5}: true},
		"http://www.opengis.net/def/crs/EPSG/0/3857":  {{180, 85}: true, {0, 90}: true},
	} {
		r, ok := crs.Referred(uri)
		if !ok {
			t.Fatalf("%s is not known", uri)
		}
		for place, want := range places {
			at, ok := r.From(place[0], place[1])
			if ok != want {
				t.Errorf("%s: %v is at %v: %v, want %v", uri, place, at, ok, want)
			}
			if lon, lat := r.To(at[0], at[1]); ok && math.Abs(place[1]) < 90 && (math.Abs(math.Remainder(lon-place[0], 360)) > 1e-5 || math.Abs(lat-place[1]) > 1e-5) {
				t.Errorf("%s: %v comes back as %v, %v", uri, place, lon, lat)
			}
		}
	}
	for _, uri := range []string{"", "EPSG:4326", "http://www.opengis.net/def/crs/EPSG/0/", "http://www.opengis.net/def/crs/EPSG/0/04326", "http://www.opengis.net/def/crs/EPSG/0/102100", "http://www.opengis.net/def/crs/EPSG/0/1"} {
		if _, ok := crs.Referred(uri); ok {
			t.Errorf("%s is known", uri)
		}
	}
}
