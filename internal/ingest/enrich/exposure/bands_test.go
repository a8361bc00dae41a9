package exposure

import (
	"math"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
)

// A closed contour surrounds an area. An open one leads out of the map, so its area is unknown.
func TestWhatContoursEnclose(t *testing.T) {
	for _, tt := range []struct {
		text  string
		km2   float64
		whole bool
	}{
		{`{"type":"MultiLineString","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]],[[10,0],[11,0],[11,1],[10,1],[10,0]]]}`, 2 * 12364, true},
		{`{"type":"MultiLineString","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]],[[10,0],[11,0],[11,1]]]}`, 12364, false},
		{`{"type":"LineString","coordinates":[[0,0],[1,0]]}`, 0, false},
	} {
		s, err := geo.ParseLoose([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		areas, whole := Enclosed(s)
		got := 0.0
		for _, a := range areas {
			got += a.AreaKm2()
		}
		if whole != tt.whole || math.Abs(got-tt.km2) > 0.01*tt.km2 {
			t.Errorf("%s: %.0f km2, whole %v; want %.0f, %v", tt.text, got, whole, tt.km2, tt.whole)
		}
	}
}
