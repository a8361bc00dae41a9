// Package basemap reads basemaps: the built-in one (web/basemap) with land, lakes, rivers, borders
// and towns, and the operator's own with streets. Both are vector tiles in a PMTiles archive.
//
// It reads PMTiles version 3 (https://github.com/protomaps/PMTiles, spec/v3). Of the built-in
// archive it also decodes tiles: Mapbox Vector Tiles version 2.1, without values that are neither
// text nor number. An Archive is immutable, and keeps neither the archive's bytes nor tiles in
// memory.
package basemap

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/encoding/protowire"
)

// Archive is a basemap.
type Archive struct {
	data     *io.SectionReader
	leaves   uint64 // where the directories below the first are
	tiles    uint64 // where the tiles are
	root     []entry
	MaxZoom  int  // the last with tiles
	internal byte // compression of directories
}

// entry is a run of tiles with the same content, or, with run 0, a directory of the next level.
type entry struct{ id, offset, length, run uint64 }

// MaxTile is the most that a directory or a tile may be, in bytes, without compression.
const MaxTile = 16 << 20

// head is the header of an archive (specification, section 3).
type head struct {
	root, metadata, leaves, tiles span
	internal, compression, kind   byte // compressions of directories and of tiles, type of tiles
	minZoom, maxZoom              int
	bounds                        [4]float64 // west, south, east, north, degrees
}

// span is a part of an archive, in bytes from its beginning.
type span struct{ offset, length uint64 }

// The numbers in the header of an archive.
const (
	plain   = 1 // compression
	gzipped = 2
	vector  = 1 // type of tiles: Mapbox Vector Tiles
)

// readHead reads the header of an archive and checks that all its parts are there.
func readHead(data *io.SectionReader) (*head, error) {
	var b [127]byte
	if _, err := data.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(b[:7]) != "PMTiles" || b[7] != 3 {
		return nil, fmt.Errorf("not a PMTiles archive of version 3: it begins with %q, expected \"PMTiles\\x03\"", b[:8])
	}
	at := func(i int) span {
		return span{binary.LittleEndian.Uint64(b[i:]), binary.LittleEndian.Uint64(b[i+8:])}
	}
	h := &head{root: at(8), metadata: at(24), leaves: at(40), tiles: at(56), internal: b[97], compression: b[98], kind: b[99], minZoom: int(b[100]), maxZoom: int(b[101])}
	for i := range h.bounds {
		h.bounds[i] = float64(int32(binary.LittleEndian.Uint32(b[102+4*i:]))) / 1e7
	}
	for _, part := range []span{h.root, h.metadata, h.leaves, h.tiles} {
		if size := uint64(data.Size()); part.offset > size || part.length > size-part.offset {
			return nil, fmt.Errorf("the archive is cut off: it has %d bytes, and its header names a part of %d bytes from %d on", size, part.length, part.offset)
		}
	}
	return h, nil
}

// Open reads the head of the archive that is built in, and reads data as tiles are asked for.
func Open(data *io.SectionReader) (*Archive, error) {
	h, err := readHead(data)
	if err != nil {
		return nil, err
	}
	if h.internal != gzipped || h.compression != gzipped || h.kind != vector {
		return nil, fmt.Errorf("compressions %d and %d, tiles of type %d; expected 2 (gzip) and 1 (vector)", h.internal, h.compression, h.kind)
	}
	a := &Archive{data: data, leaves: h.leaves.offset, tiles: h.tiles.offset, MaxZoom: h.maxZoom, internal: h.internal}
	a.root, err = a.directory(h.root)
	return a, err
}

// part returns the bytes of a part of the archive.
func (a *Archive) part(at span) (*io.SectionReader, error) {
	if size := uint64(a.data.Size()); at.offset > size || at.length > size-at.offset {
		return nil, errors.New("the archive is cut off")
	}
	return io.NewSectionReader(a.data, int64(at.offset), int64(at.length)), nil
}

// unpack returns the bytes of a part without their compression.
func (a *Archive) unpack(at span, compression byte) ([]byte, error) {
	part, err := a.part(at)
	if err != nil {
		return nil, err
	}
	var r io.Reader = part
	if compression == gzipped {
		if r, err = gzip.NewReader(part); err != nil {
			return nil, err
		}
	}
	out, err := io.ReadAll(io.LimitReader(r, MaxTile+1))
	if err == nil && len(out) > MaxTile {
		err = errors.New("a tile or directory is too large")
	}
	return out, err
}

// directory reads a directory: its columns, one after the other.
func (a *Archive) directory(at span) ([]entry, error) {
	b, err := a.unpack(at, a.internal)
	if err != nil {
		return nil, err
	}
	next := func() uint64 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			err = errors.New("a directory is cut off")
			return 0
		}
		b = b[n:]
		return v
	}
	n := next()
	if n > uint64(len(b)) {
		return nil, errors.New("a directory is cut off")
	}
	list := make([]entry, n)
	for i := range list {
		if list[i].id = next(); i > 0 {
			list[i].id += list[i-1].id
		}
	}
	for i := range list {
		list[i].run = next()
	}
	for i := range list {
		list[i].length = next()
	}
	for i := range list {
		if v := next(); v > 0 {
			list[i].offset = v - 1
		} else if i > 0 {
			list[i].offset = list[i-1].offset + list[i-1].length
		}
	}
	return list, err
}

// Kind is what a feature consists of.
type Kind byte

// The kinds of features.
const (
	Point   Kind = 1
	Line    Kind = 2
	Polygon Kind = 3
)

// Feature is a feature of a tile.
type Feature struct {
	Layer string // land, lake, river, border, province, city, country, sea
	Kind  Kind
	Name  string             // empty: it has none
	Is    map[string]float64 // its numbers: from (the first zoom that it is shown at), people
	Parts [][][2]float64     // points, lines or rings: longitude and latitude, degrees
}

// Tile returns the features of a tile; none: there is nothing but sea.
func (a *Archive) Tile(z, x, y int) ([]Feature, error) {
	at, err := a.find(tileID(z, x, y), a.directory)
	if err != nil || at.length == 0 {
		return nil, err
	}
	content, err := a.unpack(at, gzipped)
	if err != nil {
		return nil, err
	}
	return read(content, z, x, y)
}

// find returns where the content of a tile is; length 0: there is no such tile. Directories below the first are read by directory.
func (a *Archive) find(id uint64, directory func(span) ([]entry, error)) (span, error) {
	list := a.root
	for range 4 { // levels of directories
		i, found := slices.BinarySearchFunc(list, id, func(e entry, id uint64) int { return cmp.Compare(e.id, id) })
		if !found {
			i--
		}
		if i < 0 {
			return span{}, nil
		}
		e := list[i]
		if e.run > 0 {
			if id-e.id >= e.run {
				return span{}, nil
			}
			return span{a.tiles + e.offset, e.length}, nil
		}
		var err error
		if list, err = directory(span{a.leaves + e.offset, e.length}); err != nil {
			return span{}, err
		}
	}
	return span{}, errors.New("the archive has too many levels of directories")
}

// tileID is the number of a tile: those of lower zooms first, then along the Hilbert curve.
func tileID(z, x, y int) uint64 {
	var id uint64
	for i := range z {
		id += 1 << (2 * i)
	}
	for s := 1 << z >> 1; s > 0; s >>= 1 {
		rx, ry := 0, 0
		if x&s > 0 {
			rx = 1
		}
		if y&s > 0 {
			ry = 1
		}
		id += uint64(s) * uint64(s) * uint64((3*rx)^ry)
		if ry == 0 {
			if rx == 1 {
				x, y = s-1-x, s-1-y
			}
			x, y = y, x
		}
	}
	return id
}

// fields calls f with each field of a message (Protocol Buffers encoding): a number for a varint, else the bytes.
func fields(b []byte, f func(number protowire.Number, kind protowire.Type, n uint64, content []byte)) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var value uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		f(number, kind, value, content)
		b = b[n:]
	}
	return nil
}

// packed reads a packed list of varints.
func packed(b []byte) (list []uint64) {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return list
		}
		list, b = append(list, v), b[n:]
	}
	return list
}

// value is a value of a layer: a text or a number.
type value struct {
	text   string
	number float64
}

// read reads a tile (Mapbox Vector Tile 2.1, section 4).
func read(tile []byte, z, x, y int) (out []Feature, err error) {
	failed := fields(tile, func(number protowire.Number, _ protowire.Type, _ uint64, layer []byte) {
		if number == 3 && err == nil {
			var list []Feature
			list, err = readLayer(layer, z, x, y)
			out = append(out, list...)
		}
	})
	return out, errors.Join(failed, err)
}

func readLayer(layer []byte, z, x, y int) ([]Feature, error) {
	extent, name := 4096.0, ""
	var keys []string
	var values []value
	var raw [][]byte
	err := fields(layer, func(number protowire.Number, _ protowire.Type, n uint64, content []byte) {
		switch number {
		case 1:
			name = string(content)
		case 2:
			raw = append(raw, content)
		case 3:
			keys = append(keys, string(content))
		case 4:
			values = append(values, readValue(content))
		case 5:
			extent = float64(n)
		}
	})
	var out []Feature
	side := math.Exp2(float64(z))
	for _, b := range raw {
		f := Feature{Layer: name, Is: map[string]float64{}}
		var geometry []uint64
		err = errors.Join(err, fields(b, func(number protowire.Number, _ protowire.Type, n uint64, content []byte) {
			switch number {
			case 2:
				tags := packed(content)
				for i := 0; i+1 < len(tags); i += 2 {
					if tags[i] >= uint64(len(keys)) || tags[i+1] >= uint64(len(values)) {
						continue
					}
					if v := values[tags[i+1]]; keys[tags[i]] == "name" {
						f.Name = v.text
					} else {
						f.Is[keys[tags[i]]] = v.number
					}
				}
			case 3:
				f.Kind = Kind(n)
			case 4:
				geometry = packed(content)
			}
		}))
		f.Parts = parts(geometry, func(px, py int64) [2]float64 {
			lon := (float64(x)+float64(px)/extent)/side*360 - 180
			lat := math.Atan(math.Sinh(math.Pi*(1-2*(float64(y)+float64(py)/extent)/side))) * 180 / math.Pi
			return [2]float64{lon, lat}
		})
		out = append(out, f)
	}
	return out, err
}

func readValue(b []byte) (v value) {
	_ = fields(b, func(number protowire.Number, kind protowire.Type, n uint64, content []byte) {
		switch {
		case number == 1:
			v.text = string(content)
		case number == 3 && kind == protowire.Fixed64Type:
			v.number = math.Float64frombits(n)
		case number == 4 || number == 5 || number == 7:
			v.number = float64(n)
		case number == 6:
			v.number = float64(protowire.DecodeZigZag(n))
		}
	})
	return v
}

// parts reads the commands of a geometry (section 4.3): MoveTo begins a part, ClosePath ends a ring where it began.
func parts(commands []uint64, at func(x, y int64) [2]float64) (out [][][2]float64) {
	var x, y int64
	for i := 0; i < len(commands); {
		command, count := commands[i]&7, commands[i]>>3
		i++
		if command == 7 {
			if len(out) > 0 && len(out[len(out)-1]) > 0 {
				last := &out[len(out)-1]
				*last = append(*last, (*last)[0])
			}
			continue
		}
		for ; count > 0 && i+1 < len(commands); count-- {
			x, y = x+protowire.DecodeZigZag(commands[i]), y+protowire.DecodeZigZag(commands[i+1])
			i += 2
			if command == 1 || len(out) == 0 {
				out = append(out, nil)
			}
			out[len(out)-1] = append(out[len(out)-1], at(x, y))
		}
	}
	return out
}
