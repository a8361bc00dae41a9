package basemap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
)

// content is that of a tile: in the east all are the same, as the sea is.
func content(z, x, y int) string {
	if x >= 1<<z*3/4 {
		return "sea"
	}
	name := fmt.Sprintf("tile %d/%d/%d", z, x, y)
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return name + strings.Repeat("!", int(sum.Sum32()%997)) // directories of such lengths do not compress
}

// world returns an archive of all tiles up to a zoom, and a section of it.
func world(t *testing.T, maxZoom int) *io.SectionReader {
	t.Helper()
	byID := map[uint64]string{}
	for z := 0; z <= maxZoom; z++ {
		for x := range 1 << z {
			for y := range 1 << z {
				byID[tileID(z, x, y)] = content(z, x, y)
			}
		}
	}
	var tiles bytes.Buffer
	var entries []entry
	places := map[string]uint64{}
	for id := range uint64(len(byID)) {
		text := byID[id]
		at, ok := places[text]
		if !ok {
			at = uint64(tiles.Len())
			places[text] = at
			tiles.WriteString(text)
		}
		if last := len(entries) - 1; last >= 0 && entries[last].offset == at {
			entries[last].run++
		} else {
			entries = append(entries, entry{id, at, uint64(len(text)), 1})
		}
	}
	root, leaves, err := directories(entries)
	if err != nil {
		t.Fatal(err)
	}
	metadata := []byte(`{"vector_layers":[{"id":"earth"},{"id":"water"},{"id":"roads"},{"id":"places"}]}`)
	head := make([]byte, headBytes)
	copy(head, "PMTiles\x03")
	at := uint64(headBytes)
	for i, n := range []int{len(root), len(metadata), len(leaves), tiles.Len()} {
		binary.LittleEndian.PutUint64(head[8+16*i:], at)
		binary.LittleEndian.PutUint64(head[16+16*i:], uint64(n))
		at += uint64(n)
	}
	head[97], head[98], head[99], head[101] = gzipped, plain, vector, byte(maxZoom)
	for i, n := range []int32{-1800000000, -850000000, 1800000000, 850000000} {
		binary.LittleEndian.PutUint32(head[102+4*i:], uint32(n))
	}
	// Metadata are plain here: the cut copies them as they are, and reads none.
	all := bytes.Join([][]byte{head, root, metadata, leaves, tiles.Bytes()}, nil)
	return io.NewSectionReader(bytes.NewReader(all), 0, int64(len(all)))
}

// A cut holds the tiles that meet the region, as the source has them, and no others.
func TestACutHoldsTheTilesOfARegion(t *testing.T) {
	source := world(t, 7)
	if h, err := readHead(source); err != nil || h.leaves.length == 0 {
		t.Fatalf("%v, %+v: the source has one directory alone", err, h)
	}
	for name, c := range map[string]struct {
		area    geo.Shape
		maxZoom int
	}{
		"a box":                 {geo.Box{West: 9.7, South: 53.4, East: 10.3, North: 53.7}.Shape(), 7},
		"fewer zooms":           {geo.Box{West: -20, South: -30, East: 100, North: 60}.Shape(), 5},
		"more than there are":   {geo.Box{West: 60, South: -30, East: 120, North: 60}.Shape(), 14},
		"over the antimeridian": {geo.Box{West: 170, South: -30, East: -170, North: 10}.Shape(), 6},
		"a circle":              {geo.Circle(-100, 40, 400_000), 7},
		"all":                   {geo.Box{West: -180, South: -85, East: 180, North: 85}.Shape(), 7},
	} {
		t.Run(name, func(t *testing.T) {
			cut, err := NewCut(t.Context(), source, c.area, 0, c.maxZoom)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := cut.Write(t.Context(), &out, func(uint64) {}); err != nil {
				t.Fatal(err)
			}
			data := io.NewSectionReader(bytes.NewReader(out.Bytes()), 0, int64(out.Len()))
			h, err := readHead(data)
			if err != nil {
				t.Fatal(err)
			}
			a := &Archive{data: data, leaves: h.leaves.offset, tiles: h.tiles.offset, internal: h.internal}
			if a.root, err = a.directory(h.root); err != nil {
				t.Fatal(err)
			}
			read := map[span][]entry{}
			directory := func(at span) ([]entry, error) {
				list, ok := read[at]
				if !ok {
					list, err = a.directory(at)
					read[at] = list
				}
				return list, err
			}
			var n uint64
			for z := 0; z <= 7; z++ {
				for x := range 1 << z {
					for y := range 1 << z {
						at, err := a.find(tileID(z, x, y), directory)
						if err != nil {
							t.Fatal(err)
						}
						if at.length == 0 && z > 5 && (x+y)%7 > 0 {
							continue
						}
						wanted := z <= c.maxZoom && geo.Intersects(c.area, tileBox(z, x, y, 0))
						if wanted != (at.length > 0) {
							t.Fatalf("%d/%d/%d: is there %v, wanted %v", z, x, y, at.length > 0, wanted)
						}
						if !wanted {
							continue
						}
						n++
						got, err := a.unpack(at, plain)
						if err != nil || string(got) != content(z, x, y) {
							t.Fatalf("%d/%d/%d: %q, %v", z, x, y, got, err)
						}
					}
				}
			}
			if n != cut.Tiles || h.maxZoom != min(c.maxZoom, 7) {
				t.Errorf("%d tiles up to zoom %d, it says %d up to %d", n, h.maxZoom, cut.Tiles, cut.MaxZoom)
			}
		})
	}
}

// Beyond the zoom at which tiles are compared with the region, all in a tile come with it.
func TestDeepTilesComeWithTheTileThatTheyAreIn(t *testing.T) {
	list := wanted(geo.Place(10, 53.55), 0, 13, 14)
	n := 1 << coarsest
	x, y := int(190.0/360*float64(n)), 0
	for latitude(float64(y+1)/float64(n)) > 53.55 {
		y++
	}
	var tiles uint64
	for _, w := range list {
		tiles += w.end - w.first
	}
	if tiles != 4+16 {
		t.Errorf("%d tiles of two zooms below one tile: %v", tiles, list)
	}
	for _, at := range [][3]int{{13, 2 * x, 2 * y}, {13, 2*x + 1, 2*y + 1}, {14, 4 * x, 4*y + 3}, {14, 4*x + 3, 4 * y}} {
		id := tileID(at[0], at[1], at[2])
		found := false
		for _, w := range list {
			found = found || w.first <= id && id < w.end
		}
		if !found {
			t.Errorf("%v is not in %v", at, list)
		}
	}
}

func TestACutSaysWhatIsWrong(t *testing.T) {
	source := world(t, 2)
	if _, err := NewCut(t.Context(), io.NewSectionReader(strings.NewReader("no archive"), 0, 10), geo.Place(0, 0), 0, 5); err == nil || !strings.Contains(err.Error(), "PMTiles") {
		t.Error(err)
	}
	if _, err := NewCut(t.Context(), source, geo.Shape{}, 0, 2); err == nil || !strings.Contains(err.Error(), "no tile in the region") {
		t.Error(err)
	}
}
