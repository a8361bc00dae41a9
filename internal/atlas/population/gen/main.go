// Makes ../grid.bin.br, which ../grid.go reads, from people per square kilometer of land (GPW
// v4.11, 0.25 degrees; its checksum is below) and the land of Natural Earth (npm package
// world-atlas). ../README.md describes the steps.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"slices"

	"github.com/andybalholm/brotli"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/raster"
)

const pinned = "6be604e349c381b4a2b7c55b29b71e70d3dcea2bffdbb426c9e9428010c40911"

// someLand is the share of land from which a cell counts as land.
const someLand = 0.3

// radius of the Earth in kilometers, the same as in internal/geo.
const radius = 6371.0088

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: gen GPW.tif")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != pinned {
		return fmt.Errorf("%s is another file: its SHA-256 is %x", name, sum)
	}
	tiff, err := raster.OpenGeoTIFF(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	frame := raster.Frame{West: -180, North: 90, Cell: 1.0 / 24, Side: 6, Cols: 1440, Rows: 720}
	if tiff.Width != frame.Cols || tiff.Height != frame.Rows {
		return fmt.Errorf("%d × %d pixels", tiff.Width, tiff.Height)
	}
	density := make([]float64, frame.Cols*frame.Rows)
	if err := tiff.Rows(0, tiff.Height, density); err != nil {
		return err
	}
	land, err := shares(frame)
	if err != nil {
		return err
	}
	var out []byte
	var total, islands float64
	last, tiles := -1, 0
	for tile, d := range density {
		if math.IsNaN(d) || d <= 0 {
			continue
		}
		var km2, best float64
		var mask uint64
		bestCell := 14 // a cell in the middle
		for i := range 36 {
			row := tile/frame.Cols*frame.Side + i/frame.Side
			north := (90 - float64(row)*frame.Cell) * math.Pi / 180
			south := (90 - float64(row+1)*frame.Cell) * math.Pi / 180
			cell := radius * radius * frame.Cell * math.Pi / 180 * (math.Sin(north) - math.Sin(south))
			share := land[tile*36+i]
			km2 += cell * float64(share)
			if share >= someLand {
				mask |= 1 << i
			}
			if float64(share) > best {
				best, bestCell = float64(share), i
			}
			if km2 == 0 && i == 35 { // people, but no known land: an island, assumed to be a tenth of a cell
				km2 = cell / 10
				islands += d * km2
			}
		}
		if mask == 0 {
			mask = 1 << bestCell
		}
		people := math.Round(d * km2)
		if people == 0 {
			continue
		}
		total += people
		out = binary.AppendUvarint(out, uint64(tile-last-1))
		out = binary.AppendUvarint(out, uint64(people))
		if mask == 1<<36-1 {
			out = append(out, 0)
		} else {
			out = binary.AppendUvarint(out, mask+1)
		}
		last, tiles = tile, tiles+1
	}
	var packed bytes.Buffer
	w := brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: 11, LGWin: 24})
	_, err = w.Write(out)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	fmt.Printf("%.0f people in %d cells of 0.25 degrees, %.0f of them on islands that are not known; %d bytes\n", total, tiles, islands, packed.Len())
	return os.WriteFile("../grid.bin.br", packed.Bytes(), 0o644)
}

// shares returns the shares of land in the cells of each tile.
func shares(frame raster.Frame) ([]float32, error) {
	data, err := os.ReadFile("node_modules/world-atlas/land-10m.json")
	if err != nil {
		return nil, err
	}
	var topology struct {
		Transform struct{ Scale, Translate [2]float64 }
		Arcs      [][][2]float64
		Objects   struct {
			Land struct {
				Geometries []struct {
					Type string
					Arcs [][][]int
				}
			}
		}
	}
	if err := json.Unmarshal(data, &topology); err != nil {
		return nil, err
	}
	for _, arc := range topology.Arcs {
		x, y := 0.0, 0.0
		for i := range arc {
			x, y = x+arc[i][0], y+arc[i][1]
			arc[i] = [2]float64{x*topology.Transform.Scale[0] + topology.Transform.Translate[0], y*topology.Transform.Scale[1] + topology.Transform.Translate[1]}
		}
	}
	land := make([]float32, frame.Cols*frame.Rows*36)
	polygons := 0
	for _, g := range topology.Objects.Land.Geometries {
		if g.Type != "MultiPolygon" {
			return nil, fmt.Errorf("a geometry of type %q", g.Type)
		}
		for _, p := range g.Arcs {
			polygon := make([][]geo.Position, len(p))
			south := true // Antarctica has no people, and surrounds the pole
			for i, ring := range p {
				for _, arc := range ring {
					polygon[i] = follow(polygon[i], topology.Arcs, arc)
				}
				south = south && polygon[i][0][1] < -60
				orient(polygon[i], i == 0)
			}
			if south {
				continue
			}
			polygons++
			for _, turn := range []float64{-360, 0, 360} { // parts beyond 180 degrees are at the other end of the frame
				err := frame.CoverPolygons([][][]geo.Position{shifted(polygon, -turn)}, func(col, row int, share float64, shares []float64) error {
					for i := range 36 {
						if shares != nil {
							share = shares[i]
						}
						land[(row*frame.Cols+col)*36+i] += float32(share)
					}
					return nil
				})
				if err != nil {
					return nil, err
				}
			}
		}
	}
	fmt.Printf("%d polygons of land\n", polygons)
	return land, nil
}

// follow adds an arc to a ring, backwards if its number is negative. Longitudes continue beyond 180
// degrees.
func follow(ring []geo.Position, arcs [][][2]float64, n int) []geo.Position {
	backwards := n < 0
	if backwards {
		n = ^n
	}
	for i := range arcs[n] {
		p := geo.Position(arcs[n][i])
		if backwards {
			p = geo.Position(arcs[n][len(arcs[n])-1-i])
		}
		if len(ring) > 0 {
			last := ring[len(ring)-1]
			p[0] -= 360 * math.Round((p[0]-last[0])/360)
			if p == last {
				continue
			}
		}
		ring = append(ring, p)
	}
	return ring
}

// orient makes a ring counterclockwise or clockwise.
func orient(ring []geo.Position, counterclockwise bool) {
	area := 0.0
	for i := 1; i < len(ring); i++ {
		area += ring[i-1][0]*ring[i][1] - ring[i][0]*ring[i-1][1]
	}
	if area > 0 != counterclockwise {
		slices.Reverse(ring)
	}
}

func shifted(polygon [][]geo.Position, by float64) [][]geo.Position {
	moved := make([][]geo.Position, len(polygon))
	for i, ring := range polygon {
		for _, p := range ring {
			moved[i] = append(moved[i], geo.Position{p[0] + by, p[1]})
		}
	}
	return moved
}
