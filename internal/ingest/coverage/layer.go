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

// Properties are what is said of a feature.
type Properties struct {
	Kind string `json:"kind"` // country, area
	Code string `json:"code"` // ISO 3166-1 alpha-2; empty of an area
	Name string `json:"name"`
	LayerWord
}

// LayerWord is what is said of a feature, or of the world.
type LayerWord struct {
	State Word `json:"state"`
	// Types are the words by type. Types that are not there are unknown.
	Types map[hazard.Type]Word `json:"types"`
	// Sources are the names of all that speak for it, those that are not polled left out, and Responsible of those that are responsible.
	Sources     []string `json:"sources"`
	Responsible []string `json:"responsible"`
}

// Feature is a country, or an area that is none, with its word.
type Feature struct {
	ID         string
	Shape      geo.Shape
	Geometry   string // Shape as GeoJSON
	Properties Properties
}

// outlines are the countries as features without words.
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

// Layer writes the words as GeoJSON: a feature for each country of the world, and one for each area that sources state beside
// countries. What covers the world is in all of them, and in the member world. A statement about a part of a country counts for the
// country; where it matters, ask about the place. The word of an area that is no country is the worst of its types. Its size
// depends on the numbers of countries and sources alone.
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

// Features are those of Layer, in its order.
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

// layerWord is what statements say together. special: they are about some types, and nobody expects official warnings at
// large.
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

// Key is the same text for readings of which all words are the same.
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
