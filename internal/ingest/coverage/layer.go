package coverage

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is a Feature as GeoJSON (RFC 7946).
type feature struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	BBox       [4]float64     `json:"bbox"`     // west, south, east, north; west is greater than east across the antimeridian
	Geometry   jsontext.Value `json:"geometry"` // null without outlines
	Properties Properties     `json:"properties"`
}

// Properties are the properties of a feature.
type Properties struct {
	Kind string `json:"kind"` // country, area
	Code string `json:"code"` // ISO 3166-1 alpha-2; empty of an area
	Name string `json:"name"`
	LayerWord
}

// LayerWord is the coverage of a feature, or of the world.
type LayerWord struct {
	State Word `json:"state"`
	// Types are the words by type. Types that are not there are unknown.
	Types map[hazard.Type]Word `json:"types"`
	// Sources are the names of all that speak for it, those that are not polled left out, and Responsible of those that are responsible.
	Sources     []string `json:"sources"`
	Responsible []string `json:"responsible"`
}

// Feature is a country, or another area, with its word.
type Feature struct {
	ID         string
	Shape      geo.Shape
	Geometry   string // Shape as GeoJSON
	Properties Properties
}

// outlines returns the countries as features without words.
var outlines = sync.OnceValue(func() []Feature {
	var all []Feature
	for _, c := range region.Countries() {
		shape := region.Outline(c.Code)
		if shape.IsZero() {
			continue
		}
		all = append(all, shapeFeature("country:"+c.Code, "country", c.Code, c.Name, shape))
	}
	return all
})

func shapeFeature(id, kind, code, name string, shape geo.Shape) Feature {
	return Feature{ID: id, Shape: shape, Geometry: shape.GeoJSON(), Properties: Properties{Kind: kind, Code: code, Name: name}}
}

// Part is a part of the layer; the zero Part is all of it.
type Part struct {
	Holds func(geo.Shape) bool // lets features through by their shape; nil: all
	Bare  bool                 // without geometries
}

// Layer writes the words as GeoJSON: a feature for each country, and for each other area in
// statements. What covers the world applies to all of them, and is in the member world. A statement
// about a part of a country counts for the country; for details, ask about a place. The word of an
// area that is not a country is the worst of its types. The size of the layer depends only on the
// numbers of countries and sources.
func (m *Map) Layer(out io.Writer, now Readings, part Part, types ...hazard.Type) error {
	world, err := json.Marshal(m.layerWord(m.anywhere, now, types, true), json.Deterministic(true))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, `{"type":"FeatureCollection","world":%s,"features":[`, world); err != nil {
		return err
	}
	between := ""
	for f := range m.Features(now, types...) {
		if part.Holds != nil && !part.Holds(f.Shape) {
			continue
		}
		if part.Bare {
			f.Geometry = "null"
		}
		b := geo.BoundsOf(f.Shape)
		if _, err := io.WriteString(out, between); err != nil {
			return err
		}
		between = ",\n"
		if err := json.MarshalWrite(out, feature{Type: "Feature", ID: f.ID, BBox: [4]float64{b.West, b.South, b.East, b.North}, Geometry: jsontext.Value(f.Geometry), Properties: f.Properties},
			json.Deterministic(true)); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, "]}")
	return err
}

// Features returns the features of Layer, in order.
func (m *Map) Features(now Readings, types ...hazard.Type) iter.Seq[Feature] {
	return func(yield func(Feature) bool) {
		for _, f := range outlines() {
			f.Properties.LayerWord = m.layerWord(slices.Concat(m.anywhere, m.countries[f.Properties.Code]), now, types, false)
			if !yield(f) {
				return
			}
		}
		for _, a := range m.areas {
			f := shapeFeature(a.id, "area", "", a.Name, a.Shape)
			f.Properties.LayerWord = m.layerWord(a.statements, now, types, true)
			if !yield(f) {
				return
			}
		}
	}
}

// layerWord returns the word of several statements. With special, they concern some types only, and
// official warnings in general are not expected.
func (m *Map) layerWord(covers []int, now Readings, types []hazard.Type, special bool) LayerWord {
	j := m.Judge(&Place{covers: covers}, now, types...)
	l := LayerWord{State: j.Word, Types: map[hazard.Type]Word{}, Sources: []string{}, Responsible: []string{}}
	if special && len(types) == 0 {
		l.State = ""
	}
	for _, t := range j.Types {
		if t.Word != Unknown {
			l.Types[t.Type] = t.Word
		}
		if special && len(types) == 0 {
			l.State = worse(l.State, t.Word)
		}
	}
	if l.State == "" {
		l.State = Unknown
	}
	for _, v := range j.Sources {
		if !v.Polled {
			continue
		}
		if !slices.Contains(l.Sources, v.Name) {
			l.Sources = append(l.Sources, v.Name)
		}
		if v.Role == source.RoleResponsible && !slices.Contains(l.Responsible, v.Name) {
			l.Responsible = append(l.Responsible, v.Name)
		}
	}
	return l
}

// Key returns a text that is the same for readings with the same words.
func (r Readings) Key() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r)) {
		s := r[name]
		b.WriteString(name)
		for _, f := range append([]Reading{s.Reading}, s.Feeds...) {
			fmt.Fprintf(&b, " %t %t", f.Polled, f.Fresh)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
