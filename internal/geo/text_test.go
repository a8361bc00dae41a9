package geo

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestDegreesAreTheShortestText(t *testing.T) {
	check := func(v float64) {
		if got, want := string(AppendDegrees(nil, v)), strconv.FormatFloat(v, 'f', -1, 64); got != want {
			t.Errorf("%v is written %s, not %s", v, got, want)
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, -0.000001, 1e-7, 179.999999, -180, 180, 360, 1000, 1e300, math.NaN(), math.Inf(1), 12.3456785, 0.1 + 0.2} {
		check(v)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(rapid.Float64().Draw(t, "any"))
		check(degrees(rapid.Int32Range(-halfTurn, halfTurn).Draw(t, "micro")))
	})
}
