package query

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
)

// boxSteps is in how many pieces the side of a box on a grid is cut, because it is curved in degrees.
const boxSteps = 16

// NewBox reads a box by its lower and its upper corner in a reference system, in the order of its
// axes. In systems of degrees and in Web Mercator its sides are meridians and parallels, and it may
// cross the antimeridian. In other systems it is an area.
func NewBox(corners [4]float64, in crs.Reference) (*geo.Box, *Area, error) {
	switch {
	case in.Code == crs.Mercator:
		return mercatorBox(corners, in)
	case in.Geographic():
		west, south := in.To(corners[0], corners[1])
		east, north := in.To(corners[2], corners[3])
		box := geo.Box{West: west, South: south, East: east, North: north}
		if box.Shape().IsZero() {
			return nil, nil, fmt.Errorf("expected longitudes from -180 to 180, latitudes from -90 to 90, %s, south below north", in.Order())
		}
		box = box.BothSides()
		return &box, nil, nil
	case !(corners[0] < corners[2] && corners[1] < corners[3]):
		return nil, nil, fmt.Errorf("expected the lower corner before the upper one, %s", in.Order())
	}
	var ring []string
	from := [2]float64{corners[0], corners[1]}
	for _, to := range [][2]float64{{corners[2], corners[1]}, {corners[2], corners[3]}, {corners[0], corners[3]}, {corners[0], corners[1]}} {
		for n := range boxSteps {
			part := float64(n) / boxSteps
			ring = append(ring, fmt.Sprintf("%f %f", from[0]+(to[0]-from[0])*part, from[1]+(to[1]-from[1])*part))
		}
		from = to
	}
	shape, err := geo.ParseWKTIn("POLYGON(("+strings.Join(ring, ",")+","+ring[0]+"))", in.To)
	if err != nil {
		return nil, nil, err
	}
	return nil, NewShapeArea(shape), nil
}

// mercatorBox reads a box in Web Mercator. Where the map ends, the box reaches to the pole. Maps that
// show the world more than once ask for more than the world.
func mercatorBox(corners [4]float64, in crs.Reference) (*geo.Box, *Area, error) {
	west, south := in.To(corners[0], corners[1])
	east, north := in.To(corners[2], corners[3])
	if !(west <= east && south <= north) || math.IsInf(east-west, 0) { // also rejects no numbers
		return nil, nil, errors.New("the lower corner before the upper one, " + in.Order())
	}
	box := geo.Box{West: -180, South: south, East: 180, North: north}
	if east-west < 360 {
		box.West, box.East = geo.Wrap(math.Mod(west, 360)), geo.Wrap(math.Mod(east, 360))
	}
	const close = 1e-6
	if south <= -crs.Edge+close {
		box.South = -90
	}
	if north >= crs.Edge-close {
		box.North = 90
	}
	box = box.BothSides()
	return &box, nil, nil
}
