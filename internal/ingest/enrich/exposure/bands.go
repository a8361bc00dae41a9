package exposure

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/atlas/population"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// maxBands is the maximum number of bands counted for a hazard: those with the worst values.
const maxBands = 16

// bandKey identifies a band.
type bandKey struct {
	kind  string
	value float64
}

// bands returns the areas that sources have drawn for a hazard. Areas of the same quantity and
// value are joined, for example the wind radii of all times. Inside a closed contour the value is
// as bad as on it, or worse. An open contour ends at the edge of its source's map, so its area is
// unknown.
func bands(ctx context.Context, s *store.Store, h *hazard.Hazard) ([]population.Drawn, error) {
	shapes, open := map[bandKey][]geo.Shape{}, map[bandKey]bool{}
	for _, ref := range h.Shapes {
		kept, err := s.Hazards.ShapesOf(ctx, ref)
		if err != nil {
			return nil, err
		}
		for _, d := range kept {
			key := bandKey{kind: string(d.Role)}
			if d.Band != nil {
				key = bandKey{string(d.Band.Kind), d.Band.Value}
			}
			shape, err := geo.ParseLoose([]byte(d.Geometry))
			switch {
			case err != nil || d.Role == hazard.TrackShape || d.Role == hazard.PositionShape || d.Role == hazard.CoastShape:
			case shape.AreaKm2() > 0:
				shapes[key] = append(shapes[key], shape)
			case d.Role == hazard.ContourShape:
				rings, whole := Enclosed(shape)
				shapes[key] = append(shapes[key], rings...)
				open[key] = open[key] || !whole
			}
		}
	}
	var drawn []population.Drawn
	for key, parts := range shapes {
		d := population.Drawn{Kind: key.kind, Value: key.value}
		if len(parts) > 0 && !open[key] {
			whole, err := geo.Union(parts...)
			if err != nil {
				return nil, err
			}
			d.Shape = whole
		}
		drawn = append(drawn, d)
	}
	slices.SortFunc(drawn, func(a, b population.Drawn) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Value, a.Value))
	})
	return drawn[:min(len(drawn), maxBands)], nil
}

// Enclosed returns the areas within closed lines, and whether all lines are closed.
func Enclosed(s geo.Shape) (areas []geo.Shape, whole bool) {
	whole = true
	for _, line := range s.Lines() {
		if len(line) < 4 || line[0] != line[len(line)-1] {
			whole = false
			continue
		}
		text, err := json.Marshal(struct {
			Type        string           `json:"type"`
			Coordinates [][]geo.Position `json:"coordinates"`
		}{"Polygon", [][]geo.Position{line}})
		if err != nil {
			whole = false
			continue
		}
		if area, err := geo.ParseLoose(text); err == nil && area.AreaKm2() > 0 {
			areas = append(areas, area)
		}
	}
	return areas, whole
}
