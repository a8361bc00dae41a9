// Package vectortile draws active hazards in Mapbox Vector Tiles (specification 2.1) of the Web
// Mercator grid (WebMercatorQuad of OGC 17-083r4).
//
// A tile has up to three layers. danger is the surface of danger: per place only the worst level, and
// equal levels are one area. areas has one feature a hazard, points one point a hazard. The surface is
// painted into a grid of half pixels, worst level first, and its edges are traced. So a tile costs the
// same however many areas overlap in it, and an area of any size is in it, within one pixel of a tile
// that is 512 pixels wide.
//
// The same hazards give the same bytes. A tile reveals nothing that is not in a hazard's public record.
package vectortile

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/hazard"
)

// MaxZoom is the deepest zoom with tiles. Closer, their coordinates are finer than a screen's pixels.
const MaxZoom = 12

// WorstImportance is the importance from which a warning is of the worst kind.
const WorstImportance = 70

// The layers of a tile.
const (
	Danger = "danger"
	Areas  = "areas"
	Points = "points"
)

// Lengths in units of a tile, of which it is extent wide. A pixel is 8 units.
const (
	extent = 4096
	pixel  = extent / 512
	cell   = pixel / 2 // of the grid in which danger is painted
	buffer = 8 * pixel // what a tile also shows of its neighbors, for lines along its edges
)

// Limits of what one tile holds, which keep it below 60 kB.
const (
	manyAreas   = 1_500 // more areas than this: only those at least smallArea wide, the most important first
	mostAreas   = 250   // so many of them
	smallArea   = 4 * pixel
	manyPoints  = 200        // more points than this: one for each pointCell, and those of the worst kind
	pointCell   = 40 * pixel // what a symbol and its number need
	mostWorst   = 100        // points of the worst kind that always have their own place
	maxOutlines = 48 << 20   // bytes of projected geometry that are kept
)

// Shapes reads geometries, in order, without damaged ones.
type Shapes interface {
	Shapes(ctx context.Context, refs []hazard.AreaRef) ([]geo.Shape, error)
}

// Drawer draws tiles. It is safe for concurrent use.
type Drawer struct {
	shapes   Shapes
	outlines *lru.Cache[outlineKey, *outline]
	grids    sync.Pool // of *grid
	seed     maphash.Seed
}

// New returns a Drawer that reads geometries from shapes.
func New(shapes Shapes) *Drawer {
	return &Drawer{shapes: shapes, outlines: lru.New[outlineKey, *outline](maxOutlines), grids: sync.Pool{New: func() any { return new(grid) }}, seed: maphash.MakeSeed()}
}

// Surface is a set of hazards to draw, the most important first. It is immutable.
type Surface struct {
	items []*item
	of    map[*hazard.Hazard]*item
}

// item is a hazard as tiles show it.
type item struct {
	h          *hazard.Hazard
	refs       []hazard.AreaRef // what is drawn of it: areas, or outlines of the region that it is somewhere in
	rank       float64          // see hazard.Rank
	importance int
	class      uint8 // orders what is painted: the greatest covers the others
	boxes      []box // around what is drawn
	at         xy    // its point
	sum        uint64
}

// xy is a place of the world in Web Mercator: 0, 0 is northwest, 1, 1 southeast.
type xy struct{ x, y float64 }

// box is a part of the world in Web Mercator.
type box struct{ west, north, east, south float64 }

// Surface returns the surface of hazards. What before has of the same hazards is not read again; before
// may be nil.
func (d *Drawer) Surface(ctx context.Context, hazards iter.Seq[*hazard.Hazard], before *Surface) (*Surface, error) {
	s := &Surface{of: map[*hazard.Hazard]*item{}}
	for h := range hazards {
		var it *item
		if before != nil {
			it = before.of[h]
		}
		if it == nil {
			var err error
			if it, err = d.item(ctx, h); err != nil {
				return nil, err
			}
		}
		s.items, s.of[h] = append(s.items, it), it
	}
	slices.SortFunc(s.items, func(a, b *item) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(a.h.ID, b.h.ID)) })
	return s, nil
}

func (d *Drawer) item(ctx context.Context, h *hazard.Hazard) (*item, error) {
	importance := hazard.ImportanceOf(h)
	it := &item{h: h, refs: h.Drawn(), importance: importance.Score, class: uint8(h.Severity), at: xy{worldX(h.Longitude), worldY(h.Latitude)}}
	if h.Severity == hazard.Warning && it.importance >= WorstImportance {
		it.class = worst
	}
	it.rank, _ = hazard.Rank(h)
	shapes, err := d.shapes.Shapes(ctx, it.refs)
	if err != nil {
		return nil, err
	}
	for _, s := range shapes {
		b := geo.BoundsOf(s)
		north, south := worldY(b.North), worldY(b.South)
		if b.West > b.East { // across the antimeridian
			it.boxes = append(it.boxes, box{worldX(b.West), north, 1, south}, box{0, north, worldX(b.East), south})
			continue
		}
		it.boxes = append(it.boxes, box{worldX(b.West), north, worldX(b.East), south})
	}
	it.sum = d.sum(it)
	return it, nil
}

// sum returns a hash of everything that a tile says of a hazard.
func (d *Drawer) sum(it *item) uint64 {
	var sum maphash.Hash
	sum.SetSeed(d.seed)
	number := func(n uint64) { sum.Write(binary.LittleEndian.AppendUint64(nil, n)) }
	text := func(s string) {
		number(uint64(len(s)))
		sum.WriteString(s)
	}
	number(uint64(it.h.ID))
	number(uint64(it.h.Version)) // what a headline says
	number(math.Float64bits(it.rank))
	number(uint64(it.importance))
	number(uint64(it.h.Severity))
	number(math.Float64bits(it.h.Longitude))
	number(math.Float64bits(it.h.Latitude))
	for _, s := range []string{it.h.UUID.String(), string(it.h.Type), string(it.h.Category), string(it.h.Place()), it.h.PlaceKnownAs, it.h.Name, it.h.Description} {
		text(s)
	}
	for _, r := range it.refs {
		text(string(r.Role))
		text(r.Digest)
	}
	return sum.Sum64()
}

// Part is what one tile shows of a surface.
type Part struct {
	At    ID
	items []*item // whose areas or points it shows, the most important first
	// Sum is equal for two parts of one tile if they show the same.
	Sum uint64
}

// ID is the address of a tile. X counts from the west, Y from the north.
type ID struct{ Z, X, Y int }

// Valid reports whether there is such a tile.
func (t ID) Valid() bool {
	return t.Z >= 0 && t.Z <= MaxZoom && t.X >= 0 && t.Y >= 0 && t.X>>t.Z == 0 && t.Y>>t.Z == 0
}

// Part returns what a tile shows of the surface.
func (s *Surface) Part(at ID) *Part {
	p := &Part{At: at}
	n := float64(int(1) << at.Z)
	const around = float64(buffer) / extent
	view := box{(float64(at.X) - around) / n, (float64(at.Y) - around) / n, (float64(at.X) + 1 + around) / n, (float64(at.Y) + 1 + around) / n}
	for _, it := range s.items {
		if it.meets(view) || it.pointIn(at) {
			p.items = append(p.items, it)
			p.Sum = (p.Sum ^ it.sum) * 0x9E3779B97F4A7C15 // depends on the order
		}
	}
	return p
}

// Empty reports whether the tile shows nothing.
func (p *Part) Empty() bool { return len(p.items) == 0 }

// meets reports whether something that is drawn of the hazard may be in view, which may reach beyond
// the antimeridian.
func (it *item) meets(view box) bool {
	for _, b := range it.boxes {
		if b.north > view.south || b.south < view.north {
			continue
		}
		for turn := -1.0; turn <= 1; turn++ {
			if b.west+turn <= view.east && b.east+turn >= view.west {
				return true
			}
		}
	}
	return false
}

// pointIn reports whether the hazard's point is in a tile. Every point is in exactly one of each zoom.
func (it *item) pointIn(t ID) bool { return tileOf(it.at.x, t.Z) == t.X && tileOf(it.at.y, t.Z) == t.Y }

func tileOf(v float64, z int) int {
	n := 1 << z
	return min(max(int(v*float64(n)), 0), n-1)
}

// worldX returns the place of a longitude, from -180 to 180 degrees.
func worldX(lon float64) float64 { return lon/360 + 0.5 }

// worldY returns the place of a latitude. Beyond 85.06 degrees it is less than 0 or more than 1.
func worldY(lat float64) float64 {
	lat = min(max(lat, -89.9), 89.9)
	return 0.5 - math.Asinh(math.Tan(lat*math.Pi/180))/(2*math.Pi)
}

// Draw draws the tile of a part, as far as it is wanted. headline says a hazard in a sentence; nil means
// that none is said.
func (d *Drawer) Draw(ctx context.Context, p *Part, wanted Detail, headline func(*hazard.Hazard) (string, error)) ([]byte, error) {
	if p.Empty() {
		return nil, nil
	}
	seen := make([]drawn, 0, len(p.items))
	for _, it := range p.items {
		w, err := d.drawn(ctx, it, p.At)
		if err != nil {
			return nil, err
		}
		seen = append(seen, w)
	}
	var tile []byte
	if wanted.HasLayer(Danger) {
		tile = d.danger(seen, wanted).append(tile)
	}
	if wanted.HasLayer(Areas) {
		tile = areas(seen, wanted, p.At.Z).append(tile)
	}
	if !wanted.HasLayer(Points) {
		return tile, nil
	}
	all, err := points(p, wanted, headline)
	return all.append(tile), err
}

// drawn is what a tile shows of a hazard, in units of the tile, from its northwest corner.
type drawn struct {
	*item
	parts []part
}

// part is one of a hazard's geometries, moved into the tile.
type part struct {
	*outline
	role   hazard.AreaRole
	dx, dy int32 // from units of the world to those of the tile
}

// drawn returns what a tile shows of a hazard.
func (d *Drawer) drawn(ctx context.Context, it *item, at ID) (drawn, error) {
	w := drawn{item: it}
	world := int32(extent) << at.Z
	for _, ref := range it.refs {
		o, err := d.outline(ctx, ref, at.Z)
		if err != nil {
			return w, err
		}
		if o == nil {
			continue
		}
		for _, turn := range [...]int32{0, -world, world} {
			p := part{o, ref.Role, turn - int32(at.X)*extent, -int32(at.Y) * extent}
			if o.east+p.dx >= -buffer && o.west+p.dx <= extent+buffer && o.south+p.dy >= -buffer && o.north+p.dy <= extent+buffer {
				w.parts = append(w.parts, p)
			}
		}
	}
	return w, nil
}

// worst is the class of warnings of the worst kind. The other classes are the severities.
const worst = uint8(hazard.Warning) + 1

// danger returns the layer of the surface of danger.
func (d *Drawer) danger(seen []drawn, wanted Detail) *layer {
	g := d.grids.Get().(*grid)
	defer d.grids.Put(g)
	g.clear()
	for class := worst; class > 0; class-- {
		for _, w := range seen {
			if w.class != class || w.h.Somewhere() {
				continue
			}
			for _, p := range w.parts {
				if p.role != hazard.TrackArea && p.role != hazard.PointArea {
					g.paint(p, class)
				}
			}
		}
	}
	l := newLayer(Danger, wanted)
	for class, polygons := range g.trace() {
		if len(polygons) == 0 {
			continue
		}
		severity := hazard.Severity(min(uint8(class), uint8(hazard.Warning)))
		l.add(0, polygonType, appendPolygons(nil, polygons), l.text("severity", severity.String()), l.flag("worst", uint8(class) == worst))
	}
	return l
}

// areas returns the layer with one feature a hazard: polygons, or lines for what is only a stand-in.
func areas(seen []drawn, wanted Detail, z int) *layer {
	l, left := newLayer(Areas, wanted), len(seen)
	crowded := len(seen) > manyAreas
	if crowded {
		left = mostAreas
	}
	for _, w := range seen {
		if left == 0 {
			break
		}
		if len(w.parts) == 0 || crowded && !slices.ContainsFunc(w.parts, func(p part) bool { return p.east-p.west >= smallArea || p.south-p.north >= smallArea }) {
			continue
		}
		left--
		var polygons [][]ring
		var lines []ring
		for _, p := range w.parts {
			if w.h.Somewhere() {
				lines = append(lines, p.edges(z)...)
				continue
			}
			polygons, lines = append(polygons, p.polygonsIn(z)...), append(lines, p.linesIn()...)
		}
		tags := func() [][2]uint32 {
			list := [][2]uint32{l.number("hazard_ID", w.h.ID), l.text("uuid", w.h.UUID.String()), l.text("severity", w.h.Severity.String()), l.text("type", string(w.h.Type)),
				l.text("category", string(w.h.Category)), l.text("place_kind", string(w.h.Place()))}
			if w.h.Somewhere() {
				list = append(list, l.text("place_known_as", w.h.PlaceKnownAs))
			}
			return list
		}
		if len(polygons) > 0 {
			l.add(uint64(w.h.ID), polygonType, appendPolygons(nil, polygons), tags()...)
		}
		if len(lines) > 0 {
			l.add(uint64(w.h.ID), lineType, appendLines(nil, lines), tags()...)
		}
	}
	return l
}

// points returns the layer of points. Where there are many, a point stands for the others of its level
// near it, and says how many more there are.
func points(p *Part, wanted Detail, headline func(*hazard.Hazard) (string, error)) (*layer, error) {
	type spot struct {
		*item
		x, y int32
		more int64
	}
	var all []*spot
	n := float64(int(1) << p.At.Z)
	for _, it := range p.items {
		if it.pointIn(p.At) {
			place := func(v float64, tile int) int32 {
				return int32(min(max(math.Floor((v*n-float64(tile))*extent), 0), extent-1))
			}
			all = append(all, &spot{item: it, x: place(it.at.x, p.At.X), y: place(it.at.y, p.At.Y)})
		}
	}
	list := all
	if len(all) > manyPoints {
		list = nil
		type key struct{ x, y int32 }
		taken, alone := map[key]*spot{}, mostWorst
		for _, s := range all {
			k := key{s.x / pointCell, s.y / pointCell}
			first := taken[k]
			if first != nil && (s.class != worst || alone == 0) {
				if s.h.Severity == first.h.Severity {
					first.more++
				}
				continue
			}
			if first == nil {
				taken[k] = s
			} else {
				alone--
			}
			list = append(list, s)
		}
	}
	l := newLayer(Points, wanted)
	for _, s := range list {
		tags := [][2]uint32{l.number("hazard_ID", s.h.ID), l.text("uuid", s.h.UUID.String()), l.real("rank", s.rank), l.text("type", string(s.h.Type)), l.text("severity", s.h.Severity.String()),
			l.text("category", string(s.h.Category)), l.number("importance", int64(s.importance)), l.text("place_kind", string(s.h.Place()))}
		if s.h.Somewhere() {
			tags = append(tags, l.text("place_known_as", s.h.PlaceKnownAs))
		}
		if headline != nil && wanted.Speaks() {
			said, err := headline(s.h)
			if err != nil {
				return l, err
			}
			tags = append(tags, l.text("headline", said))
		}
		if s.more > 0 {
			tags = append(tags, l.number("more", s.more))
		}
		l.add(uint64(s.h.ID), pointType, appendPoint(nil, point{s.x, s.y}), tags...)
	}
	return l, nil
}
