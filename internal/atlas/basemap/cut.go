package basemap

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"

	"github.com/hazardd/hazardd/internal/geo"
)

// Cut is a part of an archive that is to be written as an archive of its own: the tiles of a region, up to a zoom.
type Cut struct {
	Tiles   uint64 // tiles that it holds; equal ones may share their content
	MaxZoom int

	data     *io.SectionReader
	head     *head
	from     [headBytes]byte
	bounds   geo.Box
	entries  []entry // by number, offsets from the beginning of the new archive's tiles
	contents []span  // of the source, by place, in the order of the new archive
	bytes    uint64
}

const (
	headBytes = 127
	// coarsest is the last zoom at which tiles are compared with the region; deeper ones follow the tile that they are in.
	coarsest = 12
	// maxRoot is how much the first directory may be, so that a reader gets it with the header in one request (specification, section 4).
	maxRoot = 16384 - headBytes
	// leafEntries is the number of entries in a directory below the first.
	leafEntries = 4096
	// maxGap and maxChunk bound what is read at once: gaps between contents up to maxGap are read with them.
	maxGap   = 64 << 10
	maxChunk = 8 << 20
)

// NewCut reads the directories of an archive, and finds the tiles that meet the area, or come nearer to it than margin degrees. maxZoom
// is the last zoom; the archive's own if that is less.
func NewCut(ctx context.Context, data *io.SectionReader, area geo.Shape, margin float64, maxZoom int) (*Cut, error) {
	h, err := readHead(data)
	if err != nil {
		return nil, err
	}
	if h.internal != plain && h.internal != gzipped {
		return nil, fmt.Errorf("its directories are compressed by %d; expected 1 (none) or 2 (gzip)", h.internal)
	}
	if h.minZoom > h.maxZoom || h.maxZoom > deepestZoom {
		return nil, fmt.Errorf("its zooms are %d to %d; expected a first and a last one, of 0 to %d", h.minZoom, h.maxZoom, deepestZoom)
	}
	c := &Cut{data: data, head: h, MaxZoom: min(maxZoom, h.maxZoom), bounds: geo.BoundsOf(area)}
	if c.MaxZoom < h.minZoom {
		return nil, fmt.Errorf("the archive begins at zoom %d, and zoom %d is asked for", h.minZoom, c.MaxZoom)
	}
	if _, err := data.ReadAt(c.from[:], 0); err != nil {
		return nil, err
	}
	a := &Archive{data: data, leaves: h.leaves.offset, tiles: h.tiles.offset, internal: h.internal}
	root, err := a.directory(h.root)
	if err != nil {
		return nil, fmt.Errorf("its first directory cannot be read: %w", err)
	}
	if err := c.collect(ctx, a, root, wanted(area, margin, h.minZoom, c.MaxZoom), 0); err != nil {
		return nil, err
	}
	if len(c.entries) == 0 {
		return nil, errors.New("the archive has no tile in the region")
	}
	c.place()
	return c, nil
}

// numbers are those of tiles from the first up to, and without, the end.
type numbers struct{ first, end uint64 }

// wanted returns the tiles of an area, in ascending order. A tile on the Hilbert curve is followed by all that lie in it, at each zoom.
func wanted(area geo.Shape, margin float64, minZoom, maxZoom int) (list []numbers) {
	deepest := min(maxZoom, coarsest)
	var visit func(z, x, y int)
	visit = func(z, x, y int) {
		if !geo.Intersects(area, tileBox(z, x, y, margin)) {
			return
		}
		id := tileID(z, x, y)
		if z >= minZoom {
			list = append(list, numbers{id, id + 1})
		}
		if z < deepest {
			for i := range 4 {
				visit(z+1, 2*x+i%2, 2*y+i/2)
			}
			return
		}
		for below := z + 1; below <= maxZoom; below++ {
			size := uint64(1) << (2 * (below - z))
			first := tileID(below, 0, 0) + (id-tileID(z, 0, 0))*size
			if below >= minZoom {
				list = append(list, numbers{first, first + size})
			}
		}
	}
	visit(0, 0, 0)
	slices.SortFunc(list, func(a, b numbers) int { return cmp.Compare(a.first, b.first) })
	merged := list[:0]
	for _, n := range list {
		if last := len(merged) - 1; last >= 0 && merged[last].end == n.first {
			merged[last].end = n.end
		} else {
			merged = append(merged, n)
		}
	}
	return merged
}

// tileBox returns a tile's area, and margin degrees around it.
func tileBox(z, x, y int, margin float64) geo.Shape {
	n := float64(int(1) << z)
	west, east := float64(x)/n*360-180, float64(x+1)/n*360-180
	return geo.Box{
		West: max(west-margin, -180), East: min(east+margin, 180),
		South: max(latitude(float64(y+1)/n)-margin, -90), North: min(latitude(float64(y)/n)+margin, 90),
	}.Shape()
}

// collect adds the entries of a directory, and of those below it, that are in the list.
func (c *Cut) collect(ctx context.Context, a *Archive, list []entry, want []numbers, depth int) error {
	if depth > 3 {
		return errors.New("the archive has too many levels of directories")
	}
	for i, e := range list {
		end := e.id + e.run
		if e.run == 0 {
			if end = 1 << 62; i+1 < len(list) {
				end = list[i+1].id
			}
		}
		first, _ := slices.BinarySearchFunc(want, e.id, func(n numbers, id uint64) int { return cmp.Compare(n.end, id+1) })
		if first == len(want) || want[first].first >= end {
			continue
		}
		if e.run == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			below, err := a.directory(span{a.leaves + e.offset, e.length})
			if err != nil {
				return fmt.Errorf("a directory cannot be read: %w", err)
			}
			if err := c.collect(ctx, a, below, want, depth+1); err != nil {
				return err
			}
			continue
		}
		for _, n := range want[first:] {
			if n.first >= end {
				break
			}
			from := max(e.id, n.first)
			c.entries = append(c.entries, entry{from, e.offset, e.length, min(end, n.end) - from})
			c.Tiles += min(end, n.end) - from
		}
	}
	return nil
}

// place gives each content its place in the new archive, in the order of the old one.
func (c *Cut) place() {
	for _, e := range c.entries {
		c.contents = append(c.contents, span{e.offset, e.length})
	}
	slices.SortFunc(c.contents, func(a, b span) int { return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.length, b.length)) })
	c.contents = slices.Compact(c.contents)
	at := make(map[span]uint64, len(c.contents))
	for i, s := range c.contents {
		at[s] = c.bytes
		c.bytes += s.length
		c.contents[i].offset += c.head.tiles.offset
	}
	for i, e := range c.entries {
		c.entries[i].offset = at[span{e.offset, e.length}]
	}
}

// Bytes returns the size of the tiles.
func (c *Cut) Bytes() uint64 { return c.bytes }

// Write writes the archive, and reads its tiles from the source as it does; written is called with the bytes of tiles so far.
func (c *Cut) Write(ctx context.Context, w io.Writer, written func(bytes uint64)) error {
	root, leaves, err := directories(c.entries)
	if err != nil {
		return err
	}
	a := &Archive{data: c.data}
	part, err := a.part(c.head.metadata)
	if err != nil {
		return err
	}
	metadata, err := io.ReadAll(io.LimitReader(part, MaxTile))
	if err != nil {
		return fmt.Errorf("its metadata cannot be read: %w", err)
	}
	for _, b := range [][]byte{c.header(len(root), len(metadata), len(leaves)), root, metadata, leaves} {
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	var done uint64
	for rest := c.contents; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, end := 1, rest[0].offset+rest[0].length
		for n < len(rest) && rest[n].offset <= end+maxGap && max(end, rest[n].offset+rest[n].length)-rest[0].offset <= maxChunk {
			end = max(end, rest[n].offset+rest[n].length)
			n++
		}
		from := rest[0].offset
		if end-from > max(maxChunk, MaxTile) {
			return errors.New("a tile is too large")
		}
		chunk := make([]byte, end-from)
		if _, err := c.data.ReadAt(chunk, int64(from)); err != nil {
			return fmt.Errorf("its tiles cannot be read: %w", err)
		}
		for _, s := range rest[:n] {
			if _, err := w.Write(chunk[s.offset-from:][:s.length]); err != nil {
				return err
			}
			done += s.length
		}
		rest = rest[n:]
		written(done)
	}
	return nil
}

// header returns the header of the new archive: that of the source, with other places, counts, zooms and bounds.
func (c *Cut) header(root, metadata, leaves int) []byte {
	b := c.from
	at := uint64(headBytes)
	for i, length := range []uint64{uint64(root), uint64(metadata), uint64(leaves), c.bytes} {
		binary.LittleEndian.PutUint64(b[8+16*i:], at)
		binary.LittleEndian.PutUint64(b[16+16*i:], length)
		at += length
	}
	for i, n := range []uint64{c.Tiles, uint64(len(c.entries)), uint64(len(c.contents))} {
		binary.LittleEndian.PutUint64(b[72+8*i:], n)
	}
	b[97] = gzipped
	b[101] = byte(c.MaxZoom)
	box, own := c.bounds, c.head.bounds
	if box.West > box.East { // it crosses the antimeridian
		box.West, box.East = -180, 180
	}
	west, south, east, north := max(box.West, own[0]), max(box.South, own[1]), min(box.East, own[2]), min(box.North, own[3])
	for i, degrees := range []float64{west, south, east, north} {
		binary.LittleEndian.PutUint32(b[102+4*i:], uint32(int32(degrees*1e7)))
	}
	b[118] = byte(min(int(b[118]), c.MaxZoom))
	binary.LittleEndian.PutUint32(b[119:], uint32(int32((west+east)/2*1e7)))
	binary.LittleEndian.PutUint32(b[123:], uint32(int32((south+north)/2*1e7)))
	return b[:]
}

// directories returns the first directory of entries, and the ones below it, if all do not fit into the first.
func directories(entries []entry) (root, leaves []byte, err error) {
	if root, err = packDirectory(entries); err != nil || len(root) <= maxRoot {
		return root, nil, err
	}
	for size := leafEntries; ; size *= 2 {
		leaves = nil
		var top []entry
		for part := range slices.Chunk(entries, size) {
			leaf, err := packDirectory(part)
			if err != nil {
				return nil, nil, err
			}
			top = append(top, entry{part[0].id, uint64(len(leaves)), uint64(len(leaf)), 0})
			leaves = append(leaves, leaf...)
		}
		if root, err = packDirectory(top); err != nil || len(root) <= maxRoot {
			return root, leaves, err
		}
	}
}

// packDirectory writes a directory: its columns, one after the other, with gzip (specification, section 4).
func packDirectory(entries []entry) ([]byte, error) {
	b := binary.AppendUvarint(nil, uint64(len(entries)))
	var last uint64
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.id-last)
		last = e.id
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.run)
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.length)
	}
	for i, e := range entries {
		if i > 0 && e.offset == entries[i-1].offset+entries[i-1].length {
			b = append(b, 0)
		} else {
			b = binary.AppendUvarint(b, e.offset+1)
		}
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// latitude returns the latitude in degrees of a place in Mercator's square, which is 0 in the north and 1 in the south.
func latitude(y float64) float64 { return math.Atan(math.Sinh(math.Pi*(1-2*y))) * 180 / math.Pi }
