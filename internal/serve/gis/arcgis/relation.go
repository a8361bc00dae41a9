package arcgis

import (
	"fmt"

	"github.com/peterstace/simplefeatures/geom"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// The values of spatialRel. Each says what the geometry of the query does with that of a feature
// (esriSpatialRelEnum).
const (
	intersects = "esriSpatialRelIntersects"
	envelopes  = "esriSpatialRelEnvelopeIntersects"
	contains   = "esriSpatialRelContains"
	within     = "esriSpatialRelWithin"
	crosses    = "esriSpatialRelCrosses"
	overlaps   = "esriSpatialRelOverlaps"
	touches    = "esriSpatialRelTouches"
)

func relations() []string {
	return []string{intersects, envelopes, contains, within, crosses, overlaps, touches}
}

// relation is a condition of a query that the search of the store does not know. It is tested with
// the geometry of each hazard that the search finds.
type relation struct {
	name   string
	shape  geo.Shape
	metres float64 // above 0: at most that far away, instead of name
}

// holds reports whether the geometry of a feature is in the relation.
func (r *relation) holds(feature geo.Shape) (bool, error) {
	if r.metres > 0 {
		_, far := geo.NewReach(r.shape).DistanceOf(feature, r.metres)
		return !far, nil
	}
	if r.name == intersects || r.name == envelopes {
		return geo.Intersects(r.shape, feature), nil
	}
	asked, err := geometryOf(r.shape)
	if err != nil {
		return false, err
	}
	other, err := geometryOf(feature)
	if err != nil {
		return false, err
	}
	relate := map[string]func(a, b geom.Geometry) (bool, error){contains: geom.Contains, within: geom.Within, crosses: geom.Crosses, overlaps: geom.Overlaps, touches: geom.Touches}
	return relate[r.name](asked, other)
}

func geometryOf(s geo.Shape) (geom.Geometry, error) {
	g, err := geom.UnmarshalWKB(s.WKB(), geom.NoValidate{})
	if err != nil {
		return g, fmt.Errorf("spatialRel: %w", err)
	}
	return g, nil
}

// Shape returns the geometry of a hazard in the layer. shape is what the hazard shows.
func (l *Layer) Shape(h *hazard.Hazard, shape geo.Shape) geo.Shape {
	if l.Kind == Points {
		return geo.Place(h.Longitude, h.Latitude)
	}
	return shape
}
