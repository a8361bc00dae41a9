package population

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/hazardd/hazardd/internal/geo/raster"
)

// A grid file has these parts: a magic; each tile with people, packed; an index (for each tile the
// people, the missing people, and the size of its pack in bytes); a JSON header; and the header's
// length with its checksum. A tile has one float32 per cell, row by row from the north-west, in
// planes of bytes, compressed by Zstandard with a checksum. A negative sign means that the raster
// has no data there; then the number is the number of people in the built-in grid.
const (
	magic = "hazardd people 1\n"
	tail  = 8
	// FileName is the name of the grid file in a data folder.
	FileName = "population.grid"
)

// These are the limits of rasters.
const (
	maxWidth  = 200_000       // pixels
	maxPixels = 8_000_000_000 // in total: a tenth of the world at 100 m
	maxTiles  = 500_000
	maxBuffer = 256 << 20 // bytes of rows that are read together
	maxHead   = 1 << 20
)

// Unit is the unit of a raster's values.
type Unit string

// The units.
const (
	Counts  Unit = "counts"  // people in a pixel
	Density Unit = "density" // people per square kilometer
)

// About describes a raster.
type About struct {
	Name  string // name of the data, for people
	Year  int
	Terms string // license and attribution
	Unit  Unit
	// Trust accepts a raster whose number of people differs widely from the built-in grid.
	Trust bool
}

// head is the header of a file.
type head struct {
	About
	raster.Frame
	Width  int // size in cells; the last tiles may extend beyond
	Height int
	ID     string
	Index  int64 // offset of the index
	Digest string
	People float64
}

// Converted describes the result of a conversion.
type Converted struct {
	People  float64 // number of people in the raster
	Builtin float64 // number of people in the built-in grid where the raster has data
	Missing float64 // number of people in the built-in grid where the raster has no data
	Bytes   int64
}

// far is the factor by which the people of a raster and of the built-in grid may differ; a larger
// difference is probably a wrong unit. It is checked only if the built-in grid has at least some
// people there.
const (
	far  = 3
	some = 10_000
)

// convert writes a raster as a grid for open. It keeps only some rows of the raster in memory,
// whatever its size. NaN and negative values count as unknown.
func convert(ctx context.Context, r *raster.GeoTIFF, about About, to io.Writer) (*Converted, error) {
	if about.Unit != Counts && about.Unit != Density {
		return nil, fmt.Errorf("unit: %q is neither %s nor %s", about.Unit, Counts, Density)
	}
	h, err := frameOf(r)
	if err != nil {
		return nil, err
	}
	h.About = about
	w := &gridWriter{to: to, head: *h, hash: sha256.New()}
	if w.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	defer w.pack.Close()
	if err := w.write([]byte(magic)); err != nil {
		return nil, err
	}
	if err := w.tiles(ctx, r); err != nil {
		return nil, err
	}
	c := &w.converted
	if ratio := c.People / max(c.Builtin, 1); !about.Trust && c.Builtin >= some && (ratio > far || ratio < 1.0/far) {
		return nil, fmt.Errorf("the raster has %.0f people where the built-in data have %.0f: are its values %s? If the raster is correct, add --trust", c.People, c.Builtin, other(about.Unit))
	}
	if c.People == 0 {
		return nil, errors.New("the raster has no people")
	}
	err = w.end()
	c.Bytes = w.at
	return c, err
}

func other(u Unit) Unit {
	if u == Counts {
		return Density
	}
	return Counts
}

// frameOf lays tiles over a raster.
func frameOf(r *raster.GeoTIFF) (*head, error) {
	const hair = 1e-3
	east := r.West + r.CellX*float64(r.Width)
	switch {
	case math.Abs(r.CellX-r.CellY)*float64(max(r.Width, r.Height)) > r.CellX/100:
		return nil, fmt.Errorf("pixels of %v × %v degrees are not square: gdalwarp -tr %v %v makes them so", r.CellX, r.CellY, r.CellY, r.CellY)
	case r.CellX > builtin.Cell+1e-9:
		return nil, fmt.Errorf("pixels of %v degrees are larger than those of the built-in data, %v", r.CellX, builtin.Cell)
	case r.West < -180-r.CellX-hair || east > 180+r.CellX+hair:
		return nil, fmt.Errorf("longitudes from %v to %v are outside -180 to 180: gdalwarp -te -180 -90 180 90 shifts the raster", r.West, east)
	case r.Width > maxWidth || int64(r.Width)*int64(r.Height) > maxPixels:
		return nil, fmt.Errorf("%d × %d pixels; at most %d wide, and %d in total: gdalwarp -tr %v %v makes a coarser raster", r.Width, r.Height, maxWidth, int64(maxPixels), 1.0/120, 1.0/120)
	}
	h := &head{Frame: raster.Frame{West: r.West, North: r.North, Cell: r.CellX, Side: 64}, Width: r.Width, Height: r.Height}
	for {
		h.Cols, h.Rows = (r.Width+h.Side-1)/h.Side, (r.Height+h.Side-1)/h.Side
		if h.Cols*h.Rows <= maxTiles {
			return h, nil
		}
		h.Side *= 2
	}
}

type gridWriter struct {
	to        io.Writer
	head      head
	hash      hash.Hash
	pack      *zstd.Encoder
	at        int64
	people    []float32
	missing   []float32
	sizes     []uint32
	converted Converted
}

func (w *gridWriter) write(b []byte) error {
	w.hash.Write(b)
	n, err := w.to.Write(b)
	w.at += int64(n)
	return err
}

// tiles reads the raster and writes its tiles.
func (w *gridWriter) tiles(ctx context.Context, r *raster.GeoTIFF) error {
	side, width := w.head.Side, r.Width
	rows := side * max(1, min((r.BlockHeight()+side-1)/side, maxBuffer/8/width/side)) // so that each block is usually read once
	values := make([]float64, min(rows, r.Height)*width)
	columns := make([]int32, width) // columns of the built-in grid
	for x := range columns {
		col, _ := cellOf(r.West+(float64(x)+0.5)*r.CellX, 0)
		columns[x] = int32(col)
	}
	grid, err := Builtin()
	if err != nil {
		return err
	}
	from := builtinRows{grid: grid, tile: -1}
	cells := make([]float32, side*side)
	for top := 0; top < r.Height; top += rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(rows, r.Height-top)
		if err := r.Rows(top, n, values); err != nil {
			return err
		}
		if err := w.fill(r, &from, top, n, values, columns); err != nil {
			return err
		}
		for y := 0; y < n; y += side {
			for x := 0; x < width; x += side {
				for i := range cells {
					cells[i] = 0
				}
				for j := range min(side, n-y) {
					for i, v := range values[(y+j)*width+x : (y+j)*width+min(x+side, width)] {
						cells[j*side+i] = rounded(v)
					}
				}
				if err := w.tile(cells); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fill converts values to people, starting with row top. For unknown values it stores the negative
// number of people in the built-in grid. If the raster has any value in a cell of that grid, it is
// taken to include all people of the cell, because the coasts of the two differ.
func (w *gridWriter) fill(r *raster.GeoTIFF, from *builtinRows, top, n int, values []float64, columns []int32) error {
	lat := func(y int) float64 { return r.North - (float64(top+y)+0.5)*r.CellY }
	share := r.CellX * r.CellX / (builtin.Cell * builtin.Cell)
	known := make([]bool, builtin.Cols*builtin.Side)
	for y := 0; y < n; {
		_, row := cellOf(0, lat(y))
		end := y + 1
		for ; end < n; end++ {
			if _, next := cellOf(0, lat(end)); next != row {
				break
			}
		}
		people, err := from.row(row)
		if err != nil {
			return err
		}
		clear(known)
		for at := y; at < end; at++ {
			for x, v := range values[at*r.Width : (at+1)*r.Width] {
				if v >= 0 && !math.IsInf(v, 0) {
					known[columns[x]] = true
				}
			}
		}
		for ; y < end; y++ {
			km2 := 1.0
			if w.head.Unit == Density {
				km2 = pixelKm2(lat(y), r.CellX)
			}
			line := values[y*r.Width : (y+1)*r.Width]
			for x, v := range line {
				there := people[columns[x]] * share
				if v >= 0 && !math.IsInf(v, 0) {
					line[x] = v * km2
					w.converted.Builtin += there
					continue
				}
				if known[columns[x]] {
					w.converted.Builtin += there
					there = 0
				}
				line[x] = math.Copysign(there, -1)
			}
		}
	}
	return nil
}

// pixelKm2 returns the area of a pixel with that many degrees, on a sphere of the Earth's mean
// radius.
func pixelKm2(lat, degrees float64) float64 {
	const radius = 6371.0088
	rad := math.Pi / 180
	return radius * radius * degrees * rad * (math.Sin((lat+degrees/2)*rad) - math.Sin((lat-degrees/2)*rad))
}

// rounded keeps 12 binary digits, down to a thousandth of a person. More precision than the data
// has would waste space.
func rounded(v float64) float32 {
	if math.Abs(v) < 5e-4 {
		return float32(math.Copysign(0, v))
	}
	return math.Float32frombits((math.Float32bits(float32(v)) + 1<<10) &^ (1<<11 - 1))
}

// tile writes the next tile.
func (w *gridWriter) tile(cells []float32) error {
	var people, missing float64
	for _, v := range cells {
		if math.Signbit(float64(v)) {
			missing -= float64(v)
		} else {
			people += float64(v)
		}
	}
	w.converted.People += people
	w.converted.Missing += missing
	w.people, w.missing = append(w.people, float32(people)), append(w.missing, float32(missing))
	if people == 0 && missing == 0 {
		w.sizes = append(w.sizes, 0)
		return nil
	}
	planes := make([]byte, 4*len(cells))
	for i, v := range cells {
		bits := math.Float32bits(v)
		for p := range 4 {
			planes[p*len(cells)+i] = byte(bits >> (8 * p))
		}
	}
	packed := w.pack.EncodeAll(planes, nil)
	w.sizes = append(w.sizes, uint32(len(packed)))
	return w.write(packed)
}

// end writes the parts after the tiles.
func (w *gridWriter) end() error {
	w.head.Index, w.head.People = w.at, w.converted.People
	index := make([]byte, 0, 12*len(w.sizes))
	for i := range w.sizes {
		index = binary.LittleEndian.AppendUint32(index, math.Float32bits(w.people[i]))
		index = binary.LittleEndian.AppendUint32(index, math.Float32bits(w.missing[i]))
		index = binary.LittleEndian.AppendUint32(index, w.sizes[i])
	}
	sum := sha256.Sum256(index)
	w.head.Digest = hex.EncodeToString(sum[:])
	if err := w.write(index); err != nil {
		return err
	}
	about, err := json.Marshal(w.head.About)
	if err != nil {
		return err
	}
	w.hash.Write(about) // the same figures with another name are different data
	w.head.ID = "file/" + hex.EncodeToString(w.hash.Sum(nil)[:12])
	text, err := json.Marshal(w.head)
	if err != nil {
		return err
	}
	text = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(text, uint32(len(text))), crc32.ChecksumIEEE(text))
	return w.write(text)
}

// builtinRows returns the people of the built-in grid, one row of cells at a time.
type builtinRows struct {
	grid *Grid
	tile int // the row of tiles in memory
	held []float64
}

func (b *builtinRows) row(row int) ([]float64, error) {
	g := b.grid
	width := g.Cols * g.Side
	if b.tile != row/g.Side {
		b.tile, b.held = row/g.Side, make([]float64, g.Side*width)
		cells := make([]float64, g.Side*g.Side)
		for col := range g.Cols {
			if g.totals[b.tile*g.Cols+col] == 0 {
				continue
			}
			if err := g.cells(b.tile*g.Cols+col, cells); err != nil {
				return nil, err
			}
			for i, v := range cells {
				b.held[i/g.Side*width+col*g.Side+i%g.Side] = v
			}
		}
	}
	return b.held[row%g.Side*width:][:width], nil
}

// damaged says that a grid cannot be read because of err.
func damaged(err error) error {
	return fmt.Errorf("the grid of people is damaged, or was written by another version: %w", err)
}

// readHead reads the header of a grid of size bytes.
func readHead(read func(at, n int64) ([]byte, error), size int64) (h head, err error) {
	if begin, err := read(0, int64(len(magic))); err != nil || string(begin) != magic {
		return h, damaged(errors.New("its first bytes are not those of a grid file"))
	}
	end, err := read(size-tail, tail)
	if err != nil {
		return h, err
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > maxHead {
		return h, damaged(fmt.Errorf("its header has %d bytes", length))
	}
	text, err := read(size-tail-length, length)
	if err != nil {
		return h, err
	}
	if crc32.ChecksumIEEE(text) != binary.LittleEndian.Uint32(end[4:]) {
		return h, damaged(errors.New("the checksum of its header is wrong"))
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, damaged(err)
	}
	if h.Side < 1 || h.Side > 4096 || h.Cols < 1 || h.Rows < 1 || h.Cols > maxTiles || h.Rows > maxTiles || h.Cols*h.Rows > maxTiles || !(h.Cell > 0) {
		return h, damaged(fmt.Errorf("%d × %d tiles of %d", h.Cols, h.Rows, h.Side))
	}
	return h, nil
}

// open reads a grid that convert wrote. It keeps the index in memory, 16 bytes per tile, and reads
// tiles on demand. Where the grid has no data, the built-in one is used.
func open(r io.ReaderAt, size int64) (*Grid, error) {
	read := func(at, n int64) ([]byte, error) {
		if at < 0 || n < 0 || at > size-n {
			return nil, damaged(io.ErrUnexpectedEOF)
		}
		b := make([]byte, n)
		if _, err := r.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return b, nil
	}
	h, err := readHead(read, size)
	if err != nil {
		return nil, err
	}
	n := h.Cols * h.Rows
	index, err := read(h.Index, 12*int64(n))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(index); hex.EncodeToString(sum[:]) != h.Digest {
		return nil, damaged(errors.New("the checksum of its index is wrong"))
	}
	fallback, err := Builtin()
	if err != nil {
		return nil, err
	}
	g := &Grid{Frame: h.Frame, Name: h.Name, Year: h.Year, Terms: h.Terms, ID: h.ID, width: h.Width, height: h.Height, totals: make([]float32, n), missing: make([]float32, n), fallback: fallback}
	offsets, at := make([]int64, n+1), int64(len(magic))
	for i := range n {
		entry := index[12*i:]
		g.totals[i], g.missing[i] = math.Float32frombits(binary.LittleEndian.Uint32(entry)), math.Float32frombits(binary.LittleEndian.Uint32(entry[4:]))
		offsets[i] = at
		at += int64(binary.LittleEndian.Uint32(entry[8:]))
	}
	offsets[n] = at
	tileBytes := 4 * h.Side * h.Side
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(tileBytes)+1<<20))
	if err != nil {
		return nil, err
	}
	g.cells = func(tile int, into []float64) error {
		packed, err := read(offsets[tile], offsets[tile+1]-offsets[tile])
		if err != nil {
			return err
		}
		planes, err := unpack.DecodeAll(packed, make([]byte, 0, tileBytes))
		if err != nil || len(planes) != tileBytes {
			return damaged(fmt.Errorf("tile %d: %d bytes, %w", tile, len(planes), err))
		}
		size := tileBytes / 4
		for i := range into {
			into[i] = float64(math.Float32frombits(uint32(planes[i]) | uint32(planes[size+i])<<8 | uint32(planes[2*size+i])<<16 | uint32(planes[3*size+i])<<24))
		}
		return nil
	}
	return g, nil
}

// Folder provides the grid for counting: the one in a data folder or, if there is none, the
// built-in one. It notices when the file is added, changed or removed.
type Folder struct {
	path string
	mu   sync.Mutex
	seen fs.FileInfo // of the open file; nil: there is none
	grid *Grid
}

// NewFolder returns a Folder for a data folder.
func NewFolder(dir string) *Folder { return &Folder{path: filepath.Join(dir, FileName)} }

// Grid returns the current grid for counting. A damaged file is an error, because counts from other
// data would be shown as counts from the loaded data.
func (f *Folder) Grid() (*Grid, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.seen, f.grid = nil, nil
		return Builtin()
	}
	if err != nil {
		return nil, err
	}
	if f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) && f.seen.Size() == info.Size() {
		return f.grid, nil
	}
	file, err := os.Open(f.path) // closed when no count uses it any more
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	grid, err := open(file, info.Size())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w; load it again, or remove it", f.path, err), file.Close())
	}
	f.seen, f.grid = info, grid
	return grid, nil
}

// Load writes a raster into a data folder, completely or not at all. Folder then uses it.
func Load(ctx context.Context, r *raster.GeoTIFF, about About, dir string) (c *Converted, err error) {
	file, err := os.CreateTemp(dir, FileName+".*.tmp")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(file.Name()))
		}
	}()
	if c, err = convert(ctx, r, about, file); err != nil {
		return nil, err
	}
	if err := errors.Join(file.Chmod(0o644), file.Sync()); err != nil {
		return nil, err
	}
	if _, err := open(file, c.Bytes); err != nil {
		return nil, err
	}
	if err := os.Rename(file.Name(), filepath.Join(dir, FileName)); err != nil {
		return nil, err
	}
	return c, file.Close()
}
