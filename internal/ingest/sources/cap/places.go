package cap

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
)

// Places are the shapes of places that alerts name only by codes. The zero value is empty. They are
// immutable.
type Places struct{ shapes map[string]geo.Shape }

// ReadPlaces reads a GeoJSON FeatureCollection whose features have the properties "code" and
// "type", the vocabulary of the code ("EMMA_ID", "WARNCELLID", "CLC", …). MeteoAlarm publishes its
// regions in this format. Features with the same code form one place.
func ReadPlaces(text []byte) (Places, error) {
	var doc struct {
		Type     string `json:"type"`
		Features []struct {
			Properties struct {
				Code string `json:"code"`
				Type string `json:"type"`
			} `json:"properties"`
			Geometry jsontext.Value `json:"geometry"`
		} `json:"features"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return Places{}, fmt.Errorf("not the GeoJSON that is expected: %w", err)
	}
	if doc.Type != "FeatureCollection" {
		return Places{}, fmt.Errorf("type: %.40q, expected FeatureCollection", doc.Type)
	}
	parts := map[string][]geo.Shape{}
	for i, f := range doc.Features {
		code, kind := strings.TrimSpace(f.Properties.Code), strings.TrimSpace(f.Properties.Type)
		if code == "" || kind == "" {
			return Places{}, fmt.Errorf("features/%d/properties: code %q, type %q, expected both, such as AT001 and EMMA_ID", i, code, kind)
		}
		s, err := geo.ParseLoose(f.Geometry)
		if err != nil {
			return Places{}, fmt.Errorf("features/%d (%s): geometry: %w", i, code, err)
		}
		name := placeName(kind, code)
		parts[name] = append(parts[name], s)
	}
	p := Places{shapes: map[string]geo.Shape{}}
	for name, all := range parts {
		s, err := geo.Union(all...)
		if err != nil {
			return Places{}, fmt.Errorf("%s: %w", name, err)
		}
		p.shapes[name] = s
	}
	return p, nil
}

// placeName returns the code of a place as in reports.
func placeName(vocabulary, code string) string {
	for _, v := range vocabularies {
		if strings.EqualFold(v.name, vocabulary) {
			return v.prefix + code
		}
	}
	return vocabulary + ":" + code
}

// Shape returns the shape of the place with that code, and whether it is known.
func (p Places) Shape(_ context.Context, code string) (geo.Shape, bool) {
	s, ok := p.shapes[code]
	return s, ok
}
