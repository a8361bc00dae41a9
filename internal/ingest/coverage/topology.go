package coverage

import (
	"io"
	"math"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/atlas/region"
)

// topology is a TopoJSON document (https://github.com/topojson/topojson-specification).
type topology struct {
	Type      string                `json:"type"`
	Transform transform             `json:"transform"`
	Objects   map[string]collection `json:"objects"`
	Arcs      [][][2]int32          `json:"arcs"` // the first position of an arc, and from then on how far each is from the one before
}

type transform struct {
	Scale     [2]float64 `json:"scale"`
	Translate [2]float64 `json:"translate"`
}

type collection struct {
	Type       string    `json:"type"`
	Geometries []outline `json:"geometries"`
}

// outline is the geometry of a Feature.
type outline struct {
	Type       string      `json:"type"`
	ID         string      `json:"id"`
	Properties outlineOf   `json:"properties"`
	Arcs       [][][]int32 `json:"arcs"`
}

type outlineOf struct {
	Kind string `json:"kind"`
	Code string `json:"code"`
	Name string `json:"name"`
}

// Outlines writes the geometries of all features of Layer as TopoJSON, with each border once. It
// contains no words, so it is the same for all readings.
func (m *Map) Outlines(out io.Writer) error {
	countries := region.Outlines()
	t := topology{Type: "Topology", Transform: transform{Scale: [2]float64{1 / countries.Unit, 1 / countries.Unit}}, Arcs: countries.Lines}
	all := collection{Type: "GeometryCollection"}
	for _, f := range outlines() {
		all.Geometries = append(all.Geometries, outline{"MultiPolygon", f.ID, outlineOf{f.Properties.Kind, f.Properties.Code, f.Properties.Name}, countries.Countries[f.Properties.Code]})
	}
	for _, a := range m.areas {
		o := outline{Type: "MultiPolygon", ID: a.id, Properties: outlineOf{Kind: "area", Name: a.Name}, Arcs: [][][]int32{}}
		for _, rings := range a.Shape.Polygons() {
			var lines [][]int32
			for _, ring := range rings {
				line := make([][2]int32, len(ring))
				for i, at := range ring {
					line[i] = [2]int32{int32(math.Round(at[0] * countries.Unit)), int32(math.Round(at[1] * countries.Unit))}
				}
				lines = append(lines, []int32{int32(len(t.Arcs))})
				t.Arcs = append(t.Arcs, line)
			}
			o.Arcs = append(o.Arcs, lines)
		}
		all.Geometries = append(all.Geometries, o)
	}
	for _, line := range t.Arcs { // they are our own
		for i := len(line) - 1; i > 0; i-- {
			line[i][0] -= line[i-1][0]
			line[i][1] -= line[i-1][1]
		}
	}
	t.Objects = map[string]collection{"coverage": all}
	return json.MarshalWrite(out, t)
}
