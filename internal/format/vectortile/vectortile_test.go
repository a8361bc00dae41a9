package vectortile

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
)

// kept are geometries by digest.
type kept map[string]geo.Shape

func (k kept) Shapes(_ context.Context, refs []hazard.AreaRef) (list []geo.Shape, err error) {
	for _, r := range refs {
		list = append(list, k[r.Digest])
	}
	return list, nil
}

// world is a set of hazards with their geometries.
type world struct {
	kept
	hazards []*hazard.Hazard
}

// add adds a hazard with an area, which is WKT.
func (w *world) add(t testing.TB, severity hazard.Severity, kind hazard.Type, area string) *hazard.Hazard {
	t.Helper()
	s, err := geo.ParseWKT(area)
	if err != nil {
		t.Fatal(err)
	}
	n := len(w.hazards) + 1
	h := &hazard.Hazard{ID: int64(n), UUID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n)), Type: kind, Category: hazard.Event, Severity: severity, Status: hazard.Active}
	h.Longitude, h.Latitude = s.Point()
	digest := fmt.Sprint("digest", n)
	if w.kept == nil {
		w.kept = kept{}
	}
	w.kept[digest] = s
	h.Areas = []hazard.AreaRef{{Role: hazard.AlertArea, Digest: digest}}
	w.hazards = append(w.hazards, h)
	return h
}

func (w *world) draw(t testing.TB, z, x, y int) map[string][]feature {
	t.Helper()
	d := New(w.kept)
	s, err := d.Surface(t.Context(), slices.Values(w.hazards), nil)
	if err != nil {
		t.Fatal(err)
	}
	tile, err := d.Draw(t.Context(), s.Part(ID{z, x, y}), Detail{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, tile)
}

// random returns a polygon of a few corners around a place.
func random(r *rand.Rand, lon, lat, size float64) string {
	n := 3 + r.IntN(9)
	var b bytes.Buffer
	b.WriteString("POLYGON ((")
	first := ""
	for i := range n {
		a := 2 * math.Pi * (float64(i) + 0.7*r.Float64()) / float64(n)
		l := size * (0.3 + 0.7*r.Float64())
		at := fmt.Sprintf("%.6f %.6f", geo.Wrap(lon+l*math.Cos(a)), min(max(lat+l*math.Sin(a), -89), 89))
		if i == 0 {
			first = at
		}
		b.WriteString(at + ", ")
	}
	b.WriteString(first + "))")
	return b.String()
}

func randomWorld(t testing.TB, n int, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{}
	for range n {
		size := math.Exp(r.Float64()*7 - 5) // 0.007 to 7.4 degrees
		w.add(t, []hazard.Severity{hazard.Warning, hazard.Watch, hazard.Advisory, hazard.Information}[r.IntN(4)], []hazard.Type{hazard.Flood, hazard.Tornado}[r.IntN(2)],
			random(r, r.Float64()*360-180, r.Float64()*150-75, size))
	}
	return w
}

// classAt returns the class of the surface at a place of a tile.
func classAt(layers map[string][]feature, x, y float64) uint8 {
	for _, f := range layers[Danger] {
		if covers(f.rings, x, y) {
			if f.tags["worst"] == true {
				return worst
			}
			s, _ := hazard.ParseSeverity(f.tags["severity"].(string))
			return uint8(s)
		}
	}
	return 0
}

// TestDangerWithinAPixel compares the surface at random places of tiles with the areas of hazards.
func TestDangerWithinAPixel(t *testing.T) {
	test.SeldomButRaced(t)
	w := randomWorld(t, test.Rounds(2000, 400), 7)
	d := New(w.kept)
	s, err := d.Surface(t.Context(), slices.Values(w.hazards), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, z := range []int{2, 5, 9} {
		seen := map[ID]map[string][]feature{}
		for _, it := range s.items {
			shape := w.kept[it.refs[0].Digest]
			// A place in the area, and one near it.
			lon, lat := shape.Point()
			lon += (r.Float64() - 0.5) * 0.2 * float64(r.IntN(2))
			n := float64(int(1) << z)
			at := ID{z, tileOf(worldX(lon), z), tileOf(worldY(lat), z)}
			layers, ok := seen[at]
			if !ok {
				tile, err := d.Draw(t.Context(), s.Part(at), Detail{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				layers = decoded(t, tile)
				seen[at] = layers
			}
			x, y := (worldX(lon)*n-float64(at.X))*extent, (worldY(lat)*n-float64(at.Y))*extent
			// Within a pixel the surface is at least as bad as the areas, and the areas are at least as bad
			// as the surface.
			want, got := w.classAt(s, geo.Place(lon, lat)), classAt(layers, x, y)
			under := got < want
			for dx := -pixel; dx <= pixel && under; dx += 2 {
				for dy := -pixel; dy <= pixel && under; dy += 2 {
					under = classAt(layers, x+float64(dx), y+float64(dy)) < want
				}
			}
			const around = 1.0 / 512
			over := got > want && got > w.classAt(s, geo.Box{West: max(lon-around/n*360, -180), South: latitude(worldY(lat) + around/n), East: min(lon+around/n*360, 180), North: latitude(worldY(lat) - around/n)}.Shape())
			if under || over {
				t.Errorf("zoom %d, %.4f %.4f (hazard %d): the surface is %d, the areas say %d", z, lon, lat, it.h.ID, got, want)
			}
			i := slices.IndexFunc(layers[Areas], func(f feature) bool { return f.tags["hazard_ID"] == it.h.ID })
			if i < 0 {
				if it.pointIn(at) {
					t.Errorf("zoom %d: hazard %d is not in the layer of areas", z, it.h.ID)
				}
				continue
			}
			// The corners of the area are within a pixel of its edge in the tile, and those of the edge within a pixel of the area.
			edge := layers[Areas][i].rings
			for _, corner := range shape.Polygons()[0][0] {
				if math.Abs(corner[0]) == 180 {
					continue // where the antimeridian cuts it there is no edge
				}
				x, y := (worldX(corner[0])*n-float64(at.X))*extent, (worldY(corner[1])*n-float64(at.Y))*extent
				if min(x, y) > -pixel && max(x, y) < extent+pixel && !slices.ContainsFunc(edge, func(r ring) bool { return nearEdge(r, point{int32(x), int32(y)}) }) {
					t.Errorf("zoom %d: hazard %d has no edge near %.0f %.0f", z, it.h.ID, x, y)
				}
			}
			for _, p := range edge[0] {
				lon, lat := geo.Wrap(((float64(p.x)/extent+float64(at.X))/n-0.5)*360), latitude((float64(p.y)/extent+float64(at.Y))/n)
				if min(p.x, p.y) > 0 && max(p.x, p.y) < extent && !geo.Intersects(shape, geo.Box{West: max(lon-around/n*360, -180), South: latitude(worldY(lat) + around/n), East: min(lon+around/n*360, 180), North: latitude(worldY(lat) - around/n)}.Shape()) {
					t.Errorf("zoom %d: the edge of hazard %d is at %v, away from its area", z, it.h.ID, p)
				}
			}
		}
	}
}

// nearEdge reports whether a place is within a pixel of a ring's edge.
func nearEdge(r ring, p point) bool {
	for i, a := range r {
		if squareDistance(p, a, r[(i+1)%len(r)]) <= pixel*pixel {
			return true
		}
	}
	return false
}

// latitude is the reverse of worldY.
func latitude(y float64) float64 { return math.Atan(math.Sinh((0.5-y)*2*math.Pi)) * 180 / math.Pi }

// classAt returns the worst class that meets a place, by the areas.
func (w *world) classAt(s *Surface, place geo.Shape) (most uint8) {
	b := geo.BoundsOf(place)
	view := box{worldX(b.West), worldY(b.North), worldX(b.East), worldY(b.South)}
	for _, it := range s.items {
		if it.class > most && it.meets(view) && geo.Intersects(w.kept[it.refs[0].Digest], place) {
			most = it.class
		}
	}
	return most
}

func TestDangerShapes(t *testing.T) {
	t.Run("the worst covers the others", func(t *testing.T) {
		w := &world{}
		w.add(t, hazard.Advisory, hazard.Flood, "POLYGON ((0 0, 40 0, 40 40, 0 40, 0 0))")
		w.add(t, hazard.Watch, hazard.Flood, "POLYGON ((10 10, 30 10, 30 30, 10 30, 10 10))")
		w.add(t, hazard.Watch, hazard.Flood, "POLYGON ((15 10, 35 10, 35 30, 15 30, 15 10))")
		layers := w.draw(t, 2, 2, 1)
		if n := len(layers[Danger]); n != 2 {
			t.Fatalf("%d features, expected one for each level", n)
		}
		for _, f := range layers[Danger] {
			want := map[any]int{"ADVISORY": 2, "WATCH": 1}[f.tags["severity"]] // a ring and a hole; two watches are one area
			if len(f.rings) != want {
				t.Errorf("%v: %d rings, expected %d", f.tags, len(f.rings), want)
			}
			if doubleArea(f.rings[0]) <= 0 || want == 2 && doubleArea(f.rings[1]) >= 0 {
				t.Errorf("%v: a ring goes the wrong way", f.tags)
			}
		}
		if n := len(layers[Areas]); n != 3 {
			t.Errorf("%d areas, expected 3", n)
		}
	})
	t.Run("a small area has its cell", func(t *testing.T) {
		w := &world{}
		h := w.add(t, hazard.Warning, hazard.Flood, "POLYGON ((10 10, 10.00001 10, 10.00001 10.00001, 10 10))")
		for z := range MaxZoom + 1 {
			layers := w.draw(t, z, tileOf(worldX(h.Longitude), z), tileOf(worldY(h.Latitude), z))
			if len(layers[Danger]) != 1 || len(layers[Areas]) != 1 || len(layers[Points]) != 1 {
				t.Errorf("zoom %d: %d of danger, %d areas, %d points", z, len(layers[Danger]), len(layers[Areas]), len(layers[Points]))
			}
		}
	})
	t.Run("across the antimeridian and around a pole", func(t *testing.T) {
		w := &world{}
		w.add(t, hazard.Warning, hazard.Flood, "POLYGON ((170 -10, -170 -10, -170 10, 170 10, 170 -10))")
		w.add(t, hazard.Watch, hazard.Flood, "POLYGON ((0 70, 90 70, 180 70, -90 70, 0 70))")
		layers := w.draw(t, 1, 1, 1)
		if c := classAt(layers, extent-1, 100); c != uint8(hazard.Warning) {
			t.Errorf("west of the antimeridian: %d", c)
		}
		// The edge along the antimeridian is beyond the tile.
		for _, f := range layers[Danger] {
			for _, p := range f.rings[0] {
				if p.x > extent-2*pixel && p.x < extent+buffer-cell && p.y > pixel && p.y < 300 {
					t.Errorf("an edge at %v", p)
				}
			}
		}
		if c := classAt(w.draw(t, 1, 0, 1), 1, 100); c != uint8(hazard.Warning) {
			t.Errorf("east of the antimeridian: %d", c)
		}
		for x := range 4 {
			if c := classAt(w.draw(t, 2, x, 0), 2000, 5); c != uint8(hazard.Watch) {
				t.Errorf("near the pole, tile %d: %d", x, c)
			}
		}
	})
	t.Run("a stand-in is a line in the areas only", func(t *testing.T) {
		w := &world{}
		h := w.add(t, hazard.Warning, hazard.Flood, "POLYGON ((10 10, 20 10, 20 20, 10 20, 10 10))")
		h.Placed, h.PlaceKnownAs = hazard.PlaceRegion, "somewhere"
		h.Areas, h.StandIns = nil, []hazard.AreaRef{{Role: hazard.OutlineOfPlace, Digest: h.Areas[0].Digest}}
		layers := w.draw(t, 1, 1, 0)
		if len(layers[Danger]) != 0 || len(layers[Areas]) != 1 || layers[Areas][0].kind != lineType || layers[Areas][0].tags["place_kind"] != "region" || layers[Areas][0].tags["place_known_as"] != "somewhere" {
			t.Errorf("%+v", layers)
		}
		h.Placed = hazard.PlaceCountry
		if layers := w.draw(t, 1, 1, 0); len(layers[Areas]) != 0 || len(layers[Points]) != 1 {
			t.Errorf("a country: %+v", layers)
		}
	})
	t.Run("lines straight in degrees", func(t *testing.T) {
		w := &world{}
		w.add(t, hazard.Watch, hazard.Flood, "POLYGON ((0 0, 60 60, 0 60, 0 0))")
		z := 6
		lon, lat := 30.0, 30.0
		n := float64(int(1) << z)
		at := ID{z, tileOf(worldX(lon), z), tileOf(worldY(lat), z)}
		x, y := (worldX(lon)*n-float64(at.X))*extent, (worldY(lat)*n-float64(at.Y))*extent
		layers := w.draw(t, z, at.X, at.Y)
		if classAt(layers, x-2*pixel, y) == 0 || classAt(layers, x+2*pixel, y) != 0 {
			t.Error("the edge is not where the line in degrees is")
		}
	})
}

func TestDrawIsTheSame(t *testing.T) {
	w := randomWorld(t, 300, 5)
	var before []byte
	var sum uint64
	for range 3 {
		d := New(w.kept)
		d.seed = testSeed
		s, err := d.Surface(t.Context(), slices.Values(w.hazards), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Part(ID{1, 0, 0})
		tile, err := d.Draw(t.Context(), p, Detail{}, said)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && (!bytes.Equal(tile, before) || p.Sum != sum) {
			t.Fatal("the same hazards give another tile")
		}
		before, sum = tile, p.Sum
		slices.Reverse(w.hazards)
	}
}

var testSeed = New(nil).seed

// TestTenThousand holds the limits of issue U: a tile with 10,000 areas is at most 60 kB.
func TestTenThousand(t *testing.T) {
	d, s := tenThousand(t)
	for _, at := range []ID{{0, 0, 0}, {2, 0, 1}, {4, 3, 6}, {6, 14, 25}} {
		p := s.Part(at)
		tile, err := d.Draw(t.Context(), p, Detail{}, said)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, 5)
		z.Write(tile)
		z.Close()
		layers := decoded(t, tile)
		t.Logf("%v: %d hazards, %d bytes, %d gzip; %d areas, %d points", at, len(p.items), len(tile), b.Len(), len(layers[Areas]), len(layers[Points]))
		if b.Len() > 60_000 {
			t.Errorf("%v: %d bytes, expected at most 60,000", at, b.Len())
		}
	}
}

// said is a headline as long as they are.
func said(h *hazard.Hazard) (string, error) {
	return fmt.Sprintf("Flood warning for the creeks of county %d, 120 km from the coast, until Friday %02d:30.", h.ID, h.ID%24), nil
}

func tenThousand(t testing.TB) (*Drawer, *Surface) {
	r := rand.New(rand.NewPCG(1, 2))
	w := &world{}
	for range 10_000 {
		w.add(t, []hazard.Severity{hazard.Warning, hazard.Watch, hazard.Advisory, hazard.Information}[r.IntN(4)], []hazard.Type{hazard.Flood, hazard.Tornado}[r.IntN(2)],
			random(r, -125+58*r.Float64(), 25+24*r.Float64(), 0.1+r.Float64()))
	}
	d := New(w.kept)
	s, err := d.Surface(t.Context(), slices.Values(w.hazards), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

// BenchmarkTile draws a tile at 10,000 active areas.
func BenchmarkTile(b *testing.B) {
	d, s := tenThousand(b)
	for _, at := range []ID{{0, 0, 0}, {2, 0, 1}, {4, 3, 6}, {6, 14, 25}} {
		b.Run(fmt.Sprintf("zoom%d", at.Z), func(b *testing.B) {
			for b.Loop() {
				if _, err := d.Draw(b.Context(), s.Part(at), Detail{}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
