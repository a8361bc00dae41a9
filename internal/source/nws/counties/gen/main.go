// Command gen makes the table of counties from the us-atlas package, which npm ci has put into node_modules.
//
// It is run by go generate in the folder above; the README there tells the rest.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
)

func main() {
	log.SetFlags(0)
	in := flag.String("in", "gen/node_modules/us-atlas/counties-10m.json", "TopoJSON `file` of us-atlas")
	out := flag.String("out", "counties.bin.gz", "`file` to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		log.Fatal(err)
	}
}

func run(in, out string) error {
	text, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	var t topology
	if err := json.Unmarshal(text, &t); err != nil {
		return err
	}
	counties := t.Objects.Counties.Geometries
	slices.SortFunc(counties, func(a, b topoGeometry) int { return cmp.Compare(a.ID, b.ID) })

	// The file: the number of counties; of each the code, the length of the name, the name, and the number of polygons; of
	// each polygon the number of rings; of each ring the number of positions without the last, which is the first again; of
	// each position how far east and north it lies of the one before, which of the first in a county is 0 0. All numbers are
	// varints, the steps signed, in ten-thousandths of a degree.
	b := binary.AppendUvarint(nil, uint64(len(counties)))
	positions := 0
	for _, c := range counties {
		polygons, err := t.polygons(c)
		if err == nil {
			polygons, err = settled(polygons)
		}
		if err != nil {
			return fmt.Errorf("county %s %s: %w", c.ID, c.Properties.Name, err)
		}
		var code uint64
		if _, err := fmt.Sscanf(c.ID, "%05d", &code); err != nil || len(c.ID) != 5 {
			return fmt.Errorf("county %q: the code is not five digits", c.ID)
		}
		b = binary.AppendUvarint(b, code)
		b = binary.AppendUvarint(b, uint64(len(c.Properties.Name)))
		b = append(b, c.Properties.Name...)
		b = binary.AppendUvarint(b, uint64(len(polygons)))
		var last [2]int
		for _, rings := range polygons {
			b = binary.AppendUvarint(b, uint64(len(rings)))
			for _, ring := range rings {
				b = binary.AppendUvarint(b, uint64(len(ring)-1))
				for _, p := range ring[:len(ring)-1] {
					b = binary.AppendVarint(b, int64(p[0]-last[0]))
					b = binary.AppendVarint(b, int64(p[1]-last[1]))
					last = p
					positions++
				}
			}
		}
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d counties, %d positions, %d bytes", out, len(counties), positions, packed.Len())
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

// topology is what is needed of a TopoJSON file. See the TopoJSON format specification, section 2.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]int // each position by its distance from the one before
	Objects   struct {
		Counties struct{ Geometries []topoGeometry }
	}
}

type topoGeometry struct {
	ID         string
	Type       string
	Arcs       json.RawMessage
	Properties struct{ Name string }
}

// unitsPerDegree is the resolution of the table: 11 m, where that of us-atlas is 95 m from south to north and 400 m of
// longitude at the equator.
const unitsPerDegree = 10_000

// polygon is closed rings in units, each position longitude before latitude.
type polygon [][][2]int

func (t *topology) polygons(g topoGeometry) ([]polygon, error) {
	var arcs [][][]int
	switch g.Type {
	case "Polygon":
		var one [][]int
		if err := json.Unmarshal(g.Arcs, &one); err != nil {
			return nil, err
		}
		arcs = [][][]int{one}
	case "MultiPolygon":
		if err := json.Unmarshal(g.Arcs, &arcs); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("a geometry of type %q", g.Type)
	}
	var polygons []polygon
	for _, rings := range arcs {
		var p polygon
		for _, ring := range rings {
			var positions [][2]int
			for _, arc := range ring {
				next := t.arc(arc)
				if len(positions) > 0 {
					next = next[1:]
				}
				positions = append(positions, next...)
			}
			p = append(p, positions)
		}
		polygons = append(polygons, p)
	}
	return polygons, nil
}

// arc is one arc in units; the complement of its index means backwards.
func (t *topology) arc(i int) [][2]int {
	backwards := i < 0
	if backwards {
		i = ^i
	}
	var x, y int
	var positions [][2]int
	for _, d := range t.Arcs[i] {
		x, y = x+d[0], y+d[1]
		positions = append(positions, [2]int{
			units(float64(x)*t.Transform.Scale[0] + t.Transform.Translate[0]),
			units(float64(y)*t.Transform.Scale[1] + t.Transform.Translate[1]),
		})
	}
	if backwards {
		slices.Reverse(positions)
	}
	return positions
}

func units(degrees float64) int { return int(math.Round(degrees * unitsPerDegree)) }

// settled mends polygons, whose rings cross themselves here and there, until they are valid in units.
func settled(polygons []polygon) ([]polygon, error) {
	text := geoJSON(polygons)
	for range 10 {
		shape, err := geo.ParseLoose([]byte(text))
		if err != nil {
			return nil, err
		}
		if shape.AreaKm2() == 0 {
			shape = around(shape)
		}
		if shape.GeoJSON() == text {
			return polygons, nil
		}
		var g struct {
			Type        string
			Coordinates json.RawMessage
		}
		if err := json.Unmarshal([]byte(shape.GeoJSON()), &g); err != nil {
			return nil, err
		}
		var coordinates [][][][2]float64
		if g.Type == "Polygon" {
			coordinates = make([][][][2]float64, 1)
			err = json.Unmarshal(g.Coordinates, &coordinates[0])
		} else {
			err = json.Unmarshal(g.Coordinates, &coordinates)
		}
		if err != nil {
			return nil, fmt.Errorf("a %s is left: %w", g.Type, err)
		}
		polygons = nil
		for _, rings := range coordinates {
			var p polygon
			for _, ring := range rings {
				var r [][2]int
				for _, c := range ring {
					r = append(r, [2]int{units(c[0]), units(c[1])})
				}
				p = append(p, r)
			}
			polygons = append(polygons, p)
		}
		text = geoJSON(polygons)
	}
	return nil, errors.New("cannot be mended")
}

// around is the circle over s, which us-atlas has simplified to a line. It happens to Falls Church (51610): 2.6 km of line,
// in truth 5.3 km².
func around(s geo.Shape) geo.Shape {
	west, south, east, north := s.Bounds()
	lon, lat := s.Point()
	log.Printf("%s becomes a circle", s.WKT())
	return geo.Circle(lon, lat, geo.Distance(west, south, east, north)/2)
}

func geoJSON(polygons []polygon) string {
	type position [2]json.Number
	coordinates := make([][][]position, len(polygons))
	for i, rings := range polygons {
		for _, ring := range rings {
			var ps []position
			for _, p := range ring {
				ps = append(ps, position{number(p[0]), number(p[1])})
			}
			coordinates[i] = append(coordinates[i], ps)
		}
	}
	kind, value := "MultiPolygon", any(coordinates)
	if len(coordinates) == 1 {
		kind, value = "Polygon", coordinates[0]
	}
	text, err := json.Marshal(struct {
		Type        string `json:"type"`
		Coordinates any    `json:"coordinates"`
	}{kind, value})
	if err != nil {
		panic(err) // numbers only
	}
	return string(text)
}

func number(units int) json.Number {
	return json.Number(fmt.Sprintf("%v", float64(units)/unitsPerDegree))
}
