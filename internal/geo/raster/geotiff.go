package raster

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/image/tiff/lzw"
)

// Limits of what is read.
const (
	maxPixels = 1 << 20  // per side; 40 m at the equator
	maxBlock  = 64 << 20 // bytes of a decompressed block
	maxBlocks = 16 << 20
	maxTag    = 256 << 20 // bytes of a tag's value
)

// GeoTIFF is an open file with one number per pixel in WGS 84 longitude and latitude: TIFF 6.0 or
// BigTIFF with the keys of GeoTIFF 1.1, with strips or tiles, of integers or floats, uncompressed or
// with LZW, Deflate, PackBits or Zstandard. Of cloud-optimized files, it is the full resolution.
//
// It reads a block when it is needed, so its memory does not depend on the size of the file: it
// holds the index of the blocks and one block. It is not safe for concurrent use.
type GeoTIFF struct {
	Width, Height int
	West, North   float64 // of the corner of the first pixel, in degrees
	CellX, CellY  float64 // size of a pixel in degrees; both positive
	Date          string  // the tag DateTime, or ""

	r                       io.ReaderAt
	order                   binary.ByteOrder
	blockWidth, blockHeight int
	across, down            int // number of blocks
	offsets, sizes          []uint64
	bits, format            int
	compression, predictor  int
	empty                   float64 // the value that means no data
	hasEmpty                bool
	unzip                   *zstd.Decoder
	packed, raw             []byte
	read                    int // index of the block in values; -1 for none
	values                  []float64
}

// The supported tags (TIFF 6.0; GeoTIFF 1.1; GDAL).
const (
	tagWidth         = 256
	tagHeight        = 257
	tagBits          = 258
	tagCompression   = 259
	tagStripOffsets  = 273
	tagSamples       = 277
	tagRowsPerStrip  = 278
	tagStripSizes    = 279
	tagPlanar        = 284
	tagDateTime      = 306
	tagPredictor     = 317
	tagTileWidth     = 322
	tagTileHeight    = 323
	tagTileOffsets   = 324
	tagTileSizes     = 325
	tagSampleFormat  = 339
	tagPixelScale    = 33550
	tagTiepoint      = 33922
	tagTransform     = 34264
	tagGeoKeys       = 34735
	tagGDALNoData    = 42113
	keyModelType     = 1024
	keyRasterType    = 1025
	keyGeographic    = 2048
	modelGeographic  = 2
	pixelIsPoint     = 2
	wgs84            = 4326
	compressNone     = 1
	compressLZW      = 5
	compressDeflate  = 8
	compressOldZip   = 32946
	compressPackBits = 32773
	compressZstd     = 50000
)

// OpenGeoTIFF reads the description of a raster in a file of size bytes.
func OpenGeoTIFF(r io.ReaderAt, size int64) (*GeoTIFF, error) {
	tags, order, err := readTags(r, size)
	if err != nil {
		return nil, err
	}
	t := &GeoTIFF{r: r, order: order, read: -1}
	if err := t.describe(tags); err != nil {
		return nil, err
	}
	if err := t.place(tags); err != nil {
		return nil, err
	}
	t.unzip, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock))
	return t, err
}

type tags map[uint16]tag

type tag struct {
	kind  uint16
	bytes []byte
	order binary.ByteOrder
}

// sizeOf holds the sizes of the types of TIFF 6.0 and BigTIFF, in bytes.
var sizeOf = map[uint16]uint64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}

// tagReader reads the tags of a file: their entries are longer in BigTIFF.
type tagReader struct {
	r     io.ReaderAt
	size  int64 // of the file
	order binary.ByteOrder
	big   bool
}

func readTags(r io.ReaderAt, size int64) (tags, binary.ByteOrder, error) {
	t := &tagReader{r: r, size: size}
	at, err := t.header()
	if err != nil {
		return nil, nil, err
	}
	countSize, entrySize := uint64(2), uint64(12)
	if t.big {
		countSize, entrySize = 8, 20
	}
	b, err := t.read(at, countSize)
	if err != nil {
		return nil, nil, err
	}
	var n uint64
	if t.big {
		n = t.order.Uint64(b)
	} else {
		n = uint64(t.order.Uint16(b))
	}
	if n > 4096 {
		return nil, nil, fmt.Errorf("%d tags", n)
	}
	entries, err := t.read(at+countSize, n*entrySize)
	if err != nil {
		return nil, nil, err
	}
	all := tags{}
	for ; len(entries) > 0; entries = entries[entrySize:] {
		name, kind := t.order.Uint16(entries), t.order.Uint16(entries[2:])
		if sizeOf[kind] == 0 {
			continue
		}
		bytes, err := t.value(name, sizeOf[kind], entries[4:entrySize])
		if err != nil {
			return nil, nil, err
		}
		all[name] = tag{kind, bytes, t.order}
	}
	return all, t.order, nil
}

// header reads the byte order and the form of the file, and returns the position of the tags.
func (t *tagReader) header() (at uint64, err error) {
	var head [16]byte
	if _, err := t.r.ReadAt(head[:], 0); err != nil {
		return 0, fmt.Errorf("not a TIFF file: %w", err)
	}
	switch string(head[:2]) {
	case "II":
		t.order = binary.LittleEndian
	case "MM":
		t.order = binary.BigEndian
	default:
		return 0, errors.New("not a TIFF file")
	}
	switch t.order.Uint16(head[2:]) {
	case 42:
		return uint64(t.order.Uint32(head[4:])), nil
	case 43:
		t.big = true
		return t.order.Uint64(head[8:]), nil
	}
	return 0, errors.New("not a TIFF file")
}

// value returns the values of a tag, each of some bytes; entry begins with their number.
func (t *tagReader) value(name uint16, each uint64, entry []byte) ([]byte, error) {
	count, value := uint64(t.order.Uint32(entry)), entry[4:]
	if t.big {
		count, value = t.order.Uint64(entry), entry[8:]
	}
	if count > maxTag/each {
		return nil, fmt.Errorf("tag %d has %d values", name, count)
	}
	if each*count <= uint64(len(value)) {
		return value[:each*count], nil
	}
	at := uint64(t.order.Uint32(value))
	if t.big {
		at = t.order.Uint64(value)
	}
	bytes, err := t.read(at, each*count)
	if err != nil {
		return nil, fmt.Errorf("tag %d: %w", name, err)
	}
	return bytes, nil
}

// read returns n bytes of the file.
func (t *tagReader) read(at, n uint64) ([]byte, error) {
	if at > uint64(t.size) || n > uint64(t.size)-at || n > maxTag {
		return nil, fmt.Errorf("the file is cut off, or damaged: %d bytes at %d of %d", n, at, t.size)
	}
	b := make([]byte, n)
	_, err := t.r.ReadAt(b, int64(at))
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return b, err
}

func (t tag) len() int {
	if each := sizeOf[t.kind]; each > 0 {
		return len(t.bytes) / int(each)
	}
	return 0
}

// uint returns value i of an unsigned tag, or 0 if there is none.
func (t tag) uint(i int) uint64 {
	if i >= t.len() {
		return 0
	}
	switch t.kind {
	case 1:
		return uint64(t.bytes[i])
	case 3:
		return uint64(t.order.Uint16(t.bytes[2*i:]))
	case 4, 13:
		return uint64(t.order.Uint32(t.bytes[4*i:]))
	case 16, 18:
		return t.order.Uint64(t.bytes[8*i:])
	}
	return 0
}

func (t tag) floats() []float64 {
	var all []float64
	for i := 0; t.kind == 12 && i < t.len(); i++ {
		all = append(all, math.Float64frombits(t.order.Uint64(t.bytes[8*i:])))
	}
	return all
}

func (t tag) text() string { return strings.TrimRight(string(t.bytes), "\x00 ") }

// one returns the first value of a tag, or without if the tag is missing.
func (all tags) one(name uint16, without uint64) int {
	if t, ok := all[name]; ok && t.len() > 0 {
		return int(min(t.uint(0), math.MaxInt32))
	}
	return int(without)
}

func (t *GeoTIFF) describe(all tags) error {
	t.Width, t.Height = all.one(tagWidth, 0), all.one(tagHeight, 0)
	if t.Width < 1 || t.Height < 1 || t.Width > maxPixels || t.Height > maxPixels {
		return fmt.Errorf("%d × %d pixels, expected 1 to %d in each direction", t.Width, t.Height, maxPixels)
	}
	t.bits, t.format = all.one(tagBits, 1), all.one(tagSampleFormat, 1)
	switch {
	case t.format >= 1 && t.format <= 2 && (t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64), t.format == 3 && (t.bits == 32 || t.bits == 64):
	default:
		return fmt.Errorf("values of %d bits in format %d, expected integers of 8 to 64 bits or floats of 32 or 64 bits", t.bits, t.format)
	}
	if n := all.one(tagSamples, 1); n != 1 {
		return fmt.Errorf("%d bands, expected one", n)
	}
	t.compression, t.predictor = all.one(tagCompression, compressNone), all.one(tagPredictor, 1)
	switch t.compression {
	case compressNone, compressLZW, compressDeflate, compressOldZip, compressPackBits, compressZstd:
	default:
		return fmt.Errorf("compression %d, expected none, LZW, Deflate, PackBits or Zstandard", t.compression)
	}
	if t.predictor < 1 || t.predictor > 3 || t.predictor == 3 && t.format != 3 || t.predictor == 2 && t.format == 3 {
		return fmt.Errorf("predictor %d is not supported for these values", t.predictor)
	}
	offsets, sizes := all[tagTileOffsets], all[tagTileSizes]
	if t.blockWidth, t.blockHeight = all.one(tagTileWidth, 0), all.one(tagTileHeight, 0); t.blockWidth == 0 || t.blockHeight == 0 {
		t.blockWidth, t.blockHeight = t.Width, min(all.one(tagRowsPerStrip, math.MaxInt32), t.Height)
		offsets, sizes = all[tagStripOffsets], all[tagStripSizes]
	}
	if t.blockHeight < 1 || t.blockWidth > maxBlock || t.blockHeight > maxBlock || t.blockWidth*t.blockHeight*t.bits/8 > maxBlock {
		return fmt.Errorf("blocks of %d × %d pixels are too large, expected at most %d bytes", t.blockWidth, t.blockHeight, maxBlock)
	}
	t.across, t.down = (t.Width+t.blockWidth-1)/t.blockWidth, (t.Height+t.blockHeight-1)/t.blockHeight
	n := t.across * t.down
	if n > maxBlocks || offsets.len() < n || sizes.len() < n {
		return fmt.Errorf("%d blocks, with %d offsets and %d sizes", n, offsets.len(), sizes.len())
	}
	t.offsets, t.sizes = make([]uint64, n), make([]uint64, n)
	for i := range n {
		t.offsets[i], t.sizes[i] = offsets.uint(i), sizes.uint(i)
	}
	if text := all[tagGDALNoData].text(); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("the value of no data is %q", text)
		}
		t.empty, t.hasEmpty = v, true
	}
	t.Date = all[tagDateTime].text()
	return nil
}

// place reads where on Earth the raster is.
func (t *GeoTIFF) place(all tags) error {
	keys := all[tagGeoKeys]
	model, system, kind := uint64(0), uint64(0), uint64(0)
	for i := 1; i <= int(keys.uint(3)) && 4*i+3 < keys.len(); i++ {
		if value := keys.uint(4*i + 3); keys.uint(4*i+1) == 0 {
			switch keys.uint(4 * i) {
			case keyModelType:
				model = value
			case keyGeographic:
				system = value
			case keyRasterType:
				kind = value
			}
		}
	}
	if model != modelGeographic || system != wgs84 {
		return fmt.Errorf("the raster is not on WGS 84 longitudes and latitudes (EPSG:4326; model %d, system %d); convert it with gdalwarp -t_srs EPSG:4326", model, system)
	}
	scale, tie, matrix := all[tagPixelScale].floats(), all[tagTiepoint].floats(), all[tagTransform].floats()
	switch {
	case len(scale) >= 2 && len(tie) >= 6:
		t.CellX, t.CellY = scale[0], scale[1]
		t.West, t.North = tie[3]-tie[0]*scale[0], tie[4]+tie[1]*scale[1]
	case len(matrix) == 16 && matrix[1] == 0 && matrix[4] == 0:
		t.CellX, t.CellY, t.West, t.North = matrix[0], -matrix[5], matrix[3], matrix[7]
	default:
		return errors.New("the raster has no position, or is rotated")
	}
	if kind == pixelIsPoint {
		t.West, t.North = t.West-t.CellX/2, t.North+t.CellY/2
	}
	const hair = 1e-3
	ok := t.CellX > 0 && t.CellY > 0 && t.North <= 90+hair && t.North-t.CellY*float64(t.Height) >= -90-hair && t.West >= -360-hair && t.CellX*float64(t.Width) <= 360+hair
	if !ok {
		return fmt.Errorf("the raster lies at %v, %v with pixels of %v × %v degrees, which is not on Earth", t.West, t.North, t.CellX, t.CellY)
	}
	return nil
}

// Rows reads n rows, starting at row y from the north, into a slice of n × Width values. Pixels
// without data are NaN. A caller that always reads BlockHeight rows at a time reads each block only
// once.
func (t *GeoTIFF) Rows(y, n int, into []float64) error {
	if y < 0 || n < 0 || y+n > t.Height || len(into) < n*t.Width {
		return fmt.Errorf("rows %d to %d of %d", y, y+n, t.Height)
	}
	for by := y / t.blockHeight; n > 0 && by*t.blockHeight < y+n; by++ {
		for bx := range t.across {
			if err := t.block(by*t.across + bx); err != nil {
				return fmt.Errorf("block %d, %d: %w", bx, by, err)
			}
			x := bx * t.blockWidth
			w := min(t.blockWidth, t.Width-x)
			for row := max(y, by*t.blockHeight); row < min(y+n, (by+1)*t.blockHeight); row++ {
				from := (row - by*t.blockHeight) * t.blockWidth
				copy(into[(row-y)*t.Width+x:][:w], t.values[from:from+w])
			}
		}
	}
	return nil
}

// BlockHeight returns the number of rows in a block.
func (t *GeoTIFF) BlockHeight() int { return t.blockHeight }

// block reads block i into values.
func (t *GeoTIFF) block(i int) error {
	if t.read == i {
		return nil
	}
	t.read = -1
	height := t.blockHeight
	if t.blockWidth == t.Width { // the last strip may be shorter
		height = min(height, t.Height-i/t.across*t.blockHeight)
	}
	pixels, step := t.blockWidth*height, t.bits/8
	if t.values == nil {
		t.values = make([]float64, t.blockWidth*t.blockHeight)
	}
	if t.sizes[i] == 0 { // GDAL omits empty blocks
		for j := range t.values {
			t.values[j] = math.NaN()
		}
		t.read = i
		return nil
	}
	if t.sizes[i] > maxBlock*2 {
		return fmt.Errorf("%d bytes", t.sizes[i])
	}
	if uint64(cap(t.packed)) < t.sizes[i] {
		t.packed = make([]byte, t.sizes[i])
	}
	t.packed = t.packed[:t.sizes[i]]
	if n, err := t.r.ReadAt(t.packed, int64(t.offsets[i]&math.MaxInt64)); n < len(t.packed) {
		return fmt.Errorf("the file is cut off: %w", err)
	}
	if cap(t.raw) < t.blockWidth*t.blockHeight*step {
		t.raw = make([]byte, t.blockWidth*t.blockHeight*step)
	}
	t.raw = t.raw[:pixels*step]
	if err := t.unpack(); err != nil {
		return err
	}
	for row := range height {
		t.undo(t.raw[row*t.blockWidth*step : (row+1)*t.blockWidth*step])
	}
	order := t.order
	if t.predictor == 3 {
		order = binary.BigEndian
	}
	for j := range pixels {
		v := t.value(order, t.raw[j*step:])
		if t.hasEmpty && (v == t.empty || t.bits == 32 && t.format == 3 && float32(v) == float32(t.empty)) {
			v = math.NaN()
		}
		t.values[j] = v
	}
	t.read = i
	return nil
}

// unpack decompresses packed into raw.
func (t *GeoTIFF) unpack() error {
	var from io.Reader
	switch t.compression {
	case compressNone:
		if copy(t.raw, t.packed) < len(t.raw) {
			return io.ErrUnexpectedEOF
		}
		return nil
	case compressZstd:
		if err := t.unzip.Reset(bytes.NewReader(t.packed)); err != nil {
			return err
		}
		from = t.unzip
	case compressLZW:
		r := lzw.NewReader(bytes.NewReader(t.packed), lzw.MSB, 8)
		defer r.Close()
		from = r
	case compressPackBits:
		return unpackBits(t.raw, t.packed)
	default:
		r, err := zlib.NewReader(bytes.NewReader(t.packed))
		if err != nil {
			return err
		}
		defer r.Close()
		from = r
	}
	_, err := io.ReadFull(from, t.raw)
	return err
}

// unpackBits decompresses the byte-oriented run lengths of TIFF 6.0, section 9 (PackBits).
func unpackBits(into, from []byte) error {
	for len(into) > 0 {
		if len(from) < 2 {
			return io.ErrUnexpectedEOF
		}
		switch n := int(int8(from[0])); {
		case n >= 0:
			if len(from) < n+2 || len(into) < n+1 {
				return io.ErrUnexpectedEOF
			}
			copy(into, from[1:n+2])
			into, from = into[n+1:], from[n+2:]
		case n == -128:
			from = from[1:]
		default:
			if len(into) < 1-n {
				return io.ErrUnexpectedEOF
			}
			for i := range 1 - n {
				into[i] = from[1]
			}
			into, from = into[1-n:], from[2:]
		}
	}
	return nil
}

// undo reverses the predictor in one row (TIFF 6.0, section 14; Adobe's Technical Note 3).
func (t *GeoTIFF) undo(row []byte) {
	step := t.bits / 8
	switch t.predictor {
	case 2:
		for i := step; i < len(row); i += step {
			a, b := row[i:], row[i-step:]
			switch step {
			case 1:
				a[0] += b[0]
			case 2:
				t.order.PutUint16(a, t.order.Uint16(a)+t.order.Uint16(b))
			case 4:
				t.order.PutUint32(a, t.order.Uint32(a)+t.order.Uint32(b))
			case 8:
				t.order.PutUint64(a, t.order.Uint64(a)+t.order.Uint64(b))
			}
		}
	case 3: // the first bytes of all pixels, then the second bytes and so on; most significant first
		for i := 1; i < len(row); i++ {
			row[i] += row[i-1]
		}
		n := len(row) / step
		plain := make([]byte, len(row))
		for i := range n {
			for j := range step {
				plain[i*step+j] = row[j*n+i]
			}
		}
		copy(row, plain)
	}
}

func (t *GeoTIFF) value(order binary.ByteOrder, b []byte) float64 {
	switch t.bits {
	case 8:
		if t.format == 2 {
			return float64(int8(b[0]))
		}
		return float64(b[0])
	case 16:
		if t.format == 2 {
			return float64(int16(order.Uint16(b)))
		}
		return float64(order.Uint16(b))
	case 32:
		switch v := order.Uint32(b); t.format {
		case 2:
			return float64(int32(v))
		case 3:
			return float64(math.Float32frombits(v))
		default:
			return float64(v)
		}
	}
	switch v := order.Uint64(b); t.format {
	case 2:
		return float64(int64(v))
	case 3:
		return math.Float64frombits(v)
	default:
		return float64(v)
	}
}
