package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Reach agrees with the shape and with a circle around the place.
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

// The distance of two shapes is 0 exactly if they meet. It is the same from either side, and at
// most that of any of their places.
func TestReachOfAreas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genGrid().Draw(t, "a"), genGrid().Draw(t, "b")
		if a.IsZero() || b.IsZero() {
			return
		}
		const most = 300_000
		metres, far := NewReach(a).DistanceOf(b, most)
		if meet := Intersects(a, b); meet != (metres == 0) {
			t.Fatalf("%s and %s: %v m apart, meet: %v", a.WKT(), b.WKT(), metres, meet)
		}
		back, farBack := NewReach(b).DistanceOf(a, most)
		if far != farBack && min(metres, back) < most*0.97 || !far && !farBack && math.Abs(metres-back) > 0.03*metres+50 {
			t.Fatalf("%s and %s: %v m one way, %v m the other", a.WKT(), b.WKT(), metres, back)
		}
		for _, o := range NewReach(b).all {
			lon, lat := degrees(o.a.x), degrees(o.a.y)
			if d, tooFar := NewReach(a).Distance(lon, lat, most); !tooFar && (far || metres > d+1) {
				t.Fatalf("%s is %v m from %v %v, but %v m from %s", a.WKT(), d, lon, lat, metres, b.WKT())
			}
		}
	})
}

func TestWidenedBoxes(t *testing.T) {
	for _, tt := range []struct {
		box   Box
		km    float64
		parts int
		holds [][2]float64
		not   [][2]float64
	}{
		{Box{10, 50, 11, 51}, 0, 1, [][2]float64{{10, 50}, {11, 51}}, [][2]float64{{9.99, 50}, {11.01, 50}}},
		{Box{10, 50, 11, 51}, 100, 1, [][2]float64{{8.65, 50.5}, {10, 51.8}}, [][2]float64{{8.3, 50.5}}},
		{Box{179.9, 0, 179.95, 1}, 100, 2, [][2]float64{{-179.2, 0}, {179.1, 0}}, [][2]float64{{-178, 0}, {0, 0}}},
		{Box{179, 0, -179, 1}, 0, 2, [][2]float64{{180, 0}, {-180, 0}, {-179, 1}}, [][2]float64{{0, 0}}},
		{Box{10, 89.5, 11, 89.8}, 100, 1, [][2]float64{{-170, 89.6}}, [][2]float64{{10, 80}}},
	} {
		parts := tt.box.Widened(tt.km * 1000)
		if len(parts) != tt.parts {
			t.Errorf("%v by %v km: %v", tt.box, tt.km, parts)
		}
		in := func(p [2]float64) bool {
			for _, b := range parts {
				if b.Holds(Box{p[0], p[1], p[0], p[1]}) {
					return true
				}
			}
			return false
		}
		for _, p := range tt.holds {
			if !in(p) {
				t.Errorf("%v by %v km does not hold %v: %v", tt.box, tt.km, p, parts)
			}
		}
		for _, p := range tt.not {
			if in(p) {
				t.Errorf("%v by %v km holds %v: %v", tt.box, tt.km, p, parts)
			}
		}
	}
}
