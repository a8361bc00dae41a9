package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What Reach says of a place agrees with what the shape and a circle around the place say.
func TestReachAgreesWithCircles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genGrid().Draw(t, "shape")
		lon, lat := rapid.Float64Range(-12, 12).Draw(t, "lon"), rapid.Float64Range(-12, 12).Draw(t, "lat")
		r := NewReach(s)
		if r.Holds(lon, lat) && !Intersects(s, Place(lon, lat)) {
			t.Fatalf("%s does not hold %v %v", s.WKT(), lon, lat)
		}
		metres, far := r.Distance(lon, lat, 300_000)
		if far {
			if Intersects(s, Circle(lon, lat, 290_000)) {
				t.Fatalf("%s is within 290 km of %v %v, not %v", s.WKT(), lon, lat, metres)
			}
			return
		}
		if !Intersects(s, Circle(lon, lat, metres*1.02+50)) {
			t.Fatalf("%s is more than %v m from %v %v", s.WKT(), metres, lon, lat)
		}
		if metres > 100 && Intersects(s, Circle(lon, lat, metres*0.97-20)) {
			t.Fatalf("%s is nearer than %v m to %v %v", s.WKT(), metres, lon, lat)
		}
	})
}

func TestReachAcrossTheAntimeridian(t *testing.T) {
	r := NewReach(Place(-179.9, 0))
	if metres, far := r.Distance(179.9, 0, 50_000); far || math.Abs(metres-Distance(179.9, 0, -179.9, 0)) > 1 {
		t.Errorf("%v m, far %v", metres, far)
	}
	if _, far := r.Distance(170, 0, 50_000); !far {
		t.Error("1,100 km are not far")
	}
}
