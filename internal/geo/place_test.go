package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestBoxShape(t *testing.T) {
	for name, tt := range map[string]struct {
		box  Box
		want string
	}{
		"an area":                        {Box{1, 2, 3, 4}, "POLYGON((1 2,3 2,3 4,1 4,1 2))"},
		"wider than half the world":      {Box{-170, -1, 170, 1}, "POLYGON((-170 -1,170 -1,170 1,-170 1,-170 -1))"},
		"the world":                      {Box{-180, -90, 180, 90}, "POLYGON((-180 -90,180 -90,180 90,-180 90,-180 -90))"},
		"across the antimeridian":        {Box{179, 0, -178, 1}, "MULTIPOLYGON(((-180 0,-178 0,-178 1,-180 1,-180 0)),((179 0,180 0,180 1,179 1,179 0)))"},
		"without width":                  {Box{1, 2, 1, 4}, "LINESTRING(1 2,1 4)"},
		"a point":                        {Box{1, 2, 1, 2}, "POINT(1 2)"},
		"from the antimeridian eastward": {Box{180, 0, -179, 1}, "GEOMETRYCOLLECTION(POLYGON((-180 0,-179 0,-179 1,-180 1,-180 0)),LINESTRING(180 0,180 1))"},
		"upside down":                    {Box{1, 4, 3, 2}, ""},
		"no numbers":                     {Box{math.NaN(), 0, 0, 0}, ""},
	} {
		if got := tt.box.Shape().WKT(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	if got := Place(10.00000049, -90).WKT(); got != "POINT(10 -90)" {
		t.Errorf("a place: %s", got)
	}
	if !Place(0, 91).IsZero() || !Place(math.Inf(1), 0).IsZero() {
		t.Error("an invalid place has a shape")
	}
}

func drawBox(t *rapid.T, name string) Box {
	lon := rapid.SampledFrom([]float64{-180, -179, -90, -1, 0, 1, 90, 179, 180})
	lat := rapid.SampledFrom([]float64{-90, -45, 0, 1, 45, 90})
	south, north := lat.Draw(t, name+" south"), lat.Draw(t, name+" north")
	return Box{lon.Draw(t, name+" west"), min(south, north), lon.Draw(t, name+" east"), max(south, north)}
}

// Overlaps and Holds of boxes agree with their shapes.
func TestBoxesMeetAsTheirShapesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawBox(t, "a"), drawBox(t, "b")
		meet := Intersects(a.Shape(), b.Shape())
		if a.Overlaps(b) != meet || b.Overlaps(a) != meet {
			t.Fatalf("%v and %v: overlap %v, shapes meet %v", a, b, a.Overlaps(b), meet)
		}
		if a.Holds(b) && (!meet || !a.Overlaps(b)) {
			t.Fatalf("%v holds %v but does not meet it", a, b)
		}
		if a.Holds(b) != holdsAll(a, b) {
			t.Fatalf("%v holds %v: %v", a, b, a.Holds(b))
		}
	})
}

// holdsAll checks many places of b.
func holdsAll(a, b Box) bool {
	in := func(box Box, lon, lat float64) bool { return Intersects(Place(lon, lat), box.Shape()) }
	for lon := -180.0; lon <= 180; lon += 0.5 {
		for _, lat := range []float64{b.South, b.North} {
			if in(b, lon, lat) && !in(a, lon, lat) {
				return false
			}
		}
	}
	return true
}

func TestBoundsOfSeveralAreThoseOfAllTogether(t *testing.T) {
	if got, want := BoundsOf(Place(170, 1), Place(-175, 3), Box{178, 0, 179, 2}.Shape()), (Box{170, 0, -175, 3}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := BoundsOf(Place(179, 1), Place(-180, 1)), (Box{179, 1, -180, 1}); got != want || !got.Overlaps(Box{-180, 0, -180, 2}) {
		t.Errorf("of a place on the antimeridian: got %v, want %v", got, want)
	}
	if got := BoundsOf(); got.Overlaps(Box{-180, -90, 180, 90}) || (Box{-180, -90, 180, 90}).Overlaps(got) || (Box{-180, -90, 180, 90}).Holds(got) {
		t.Errorf("the bounds without a shape, %v, meet the world", got)
	}
}

func TestAroundHoldsEveryPlaceThatIsNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lon, lat := rapid.Float64Range(-180, 180).Draw(t, "lon"), rapid.Float64Range(-90, 90).Draw(t, "lat")
		radius := rapid.Float64Range(1, 9_000_000).Draw(t, "radius")
		b := Around(lon, lat, radius)
		if !b.Overlaps(BoundsOf(Circle(lon, lat, radius))) || !b.Holds(BoundsOf(Circle(lon, lat, radius))) {
			t.Fatalf("%v does not hold the circle, %v", b, BoundsOf(Circle(lon, lat, radius)))
		}
		for range 50 {
			// A place on the circle, computed from bearing and distance.
			bearing, angle := rapid.Float64Range(0, 2*math.Pi).Draw(t, "bearing"), radius/earthRadius
			y := math.Asin(max(-1, min(1, math.Sin(radians(lat))*math.Cos(angle)+math.Cos(radians(lat))*math.Sin(angle)*math.Cos(bearing))))
			x := math.Atan2(math.Sin(bearing)*math.Sin(angle)*math.Cos(radians(lat)), math.Cos(angle)-math.Sin(radians(lat))*math.Sin(y))
			x, y = math.Remainder(lon+x*180/math.Pi, 360), y*180/math.Pi
			if p := BoundsOf(Place(x, y)); Distance(lon, lat, p.West, p.South) <= radius && !b.Overlaps(p) {
				t.Fatalf("%v does not hold %v, %.1f m away", b, p, Distance(lon, lat, p.West, p.South))
			}
		}
	})
	if b := Around(0, 0, 1000); b.East > 0.00905 || b.North > 0.00905 || b.East < 0.00899 {
		t.Errorf("a kilometre around the origin: %v", b)
	}
}

// The antimeridian has two longitudes, and a shape that contains it with one contains
// it with the other.
func TestBothSidesHoldTheAntimeridianByBothNames(t *testing.T) {
	shapes := []Shape{}
	for _, text := range []string{"POLYGON((170 5,180 5,180 15,170 15,170 5))", "POLYGON((-180 5,-170 5,-170 15,-180 10,-180 5))", "POLYGON((170 5,180 10,170 15,170 5))",
		"LINESTRING(170 0,180 10,180 20,170 20)", "MULTIPOINT(-180 10,180 20,3 10)", "POLYGON((0 0,10 0,10 15,0 15,0 0))", "POLYGON((170 5,-170 5,-170 15,170 15,170 5))"} {
		s, err := ParseWKT(text)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, s)
	}
	in := func(s Shape, lon, lat float64) bool { return Intersects(s, Place(lon, lat)) }
	rapid.Check(t, func(t *rapid.T) {
		b := drawBox(t, "box")
		both, area := b.BothSides(), rapid.SampledFrom(shapes).Draw(t, "shape")
		lat, lon := float64(rapid.IntRange(-90, 90).Draw(t, "latitude")), float64(rapid.IntRange(-179, 179).Draw(t, "longitude"))
		for _, tt := range []struct{ before, after Shape }{{b.Shape(), both.Shape()}, {area, area.BothSides()}} {
			want := in(tt.before, 180, lat) || in(tt.before, -180, lat)
			if east, west := in(tt.after, 180, lat), in(tt.after, -180, lat); east != want || west != want {
				t.Errorf("%s: latitude %v on the antimeridian: %v and %v, want %v", tt.before.WKT(), lat, east, west, want)
			}
			if in(tt.after, lon, lat) != in(tt.before, lon, lat) {
				t.Errorf("%s: %v %v", tt.before.WKT(), lon, lat)
			}
		}
	})
}
