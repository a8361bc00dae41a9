package vectortile

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of the messages in vector_tile.proto of the specification.
const (
	tileLayers protowire.Number = 3

	layerName     protowire.Number = 1
	layerFeatures protowire.Number = 2
	layerKeys     protowire.Number = 3
	layerValues   protowire.Number = 4
	layerExtent   protowire.Number = 5
	layerVersion  protowire.Number = 15

	featureID       protowire.Number = 1
	featureTags     protowire.Number = 2
	featureType     protowire.Number = 3
	featureGeometry protowire.Number = 4

	valueText   protowire.Number = 1
	valueDouble protowire.Number = 3
	valueWhole  protowire.Number = 4
	valueFlag   protowire.Number = 7
)

// The types of geometry.
const (
	pointType   = 1
	lineType    = 2
	polygonType = 3
)

// The commands of a geometry (section 4.3.1).
const (
	moveTo    = 1
	lineTo    = 2
	closePath = 7
)

// layer is a layer that is being encoded.
type layer struct {
	name     string
	detail   Detail
	features []byte
	keys     []string
	values   [][]byte
	keyAt    map[string]uint32
	valueAt  map[string]uint32
}

func newLayer(name string, detail Detail) *layer {
	return &layer{name: name, detail: detail, keyAt: map[string]uint32{}, valueAt: map[string]uint32{}}
}

// tag returns the indexes of a key and a value, or noTag.
func (l *layer) tag(key string, value []byte) [2]uint32 {
	if !l.detail.HasProperty(key) {
		return noTag
	}
	k, ok := l.keyAt[key]
	if !ok {
		k = uint32(len(l.keys))
		l.keyAt[key], l.keys = k, append(l.keys, key)
	}
	v, ok := l.valueAt[string(value)]
	if !ok {
		v = uint32(len(l.values))
		l.valueAt[string(value)], l.values = v, append(l.values, value)
	}
	return [2]uint32{k, v}
}

func (l *layer) text(key, value string) [2]uint32 {
	return l.tag(key, protowire.AppendString(protowire.AppendTag(nil, valueText, protowire.BytesType), value))
}

func (l *layer) number(key string, value int64) [2]uint32 {
	return l.tag(key, protowire.AppendVarint(protowire.AppendTag(nil, valueWhole, protowire.VarintType), uint64(value)))
}

func (l *layer) real(key string, value float64) [2]uint32 {
	return l.tag(key, protowire.AppendFixed64(protowire.AppendTag(nil, valueDouble, protowire.Fixed64Type), math.Float64bits(value)))
}

func (l *layer) flag(key string, value bool) [2]uint32 {
	return l.tag(key, protowire.AppendVarint(protowire.AppendTag(nil, valueFlag, protowire.VarintType), protowire.EncodeBool(value)))
}

// add adds a feature; an id of 0 is none.
func (l *layer) add(id uint64, kind uint64, geometry []uint32, tags ...[2]uint32) {
	var f []byte
	if id > 0 {
		f = protowire.AppendVarint(protowire.AppendTag(f, featureID, protowire.VarintType), id)
	}
	flat := make([]uint32, 0, 2*len(tags))
	for _, t := range tags {
		if t != noTag {
			flat = append(flat, t[0], t[1])
		}
	}
	f = appendPacked(f, featureTags, flat)
	f = protowire.AppendVarint(protowire.AppendTag(f, featureType, protowire.VarintType), kind)
	f = appendPacked(f, featureGeometry, geometry)
	l.features = protowire.AppendBytes(protowire.AppendTag(l.features, layerFeatures, protowire.BytesType), f)
}

func appendPacked(b []byte, field protowire.Number, list []uint32) []byte {
	size := 0
	for _, v := range list {
		size += protowire.SizeVarint(uint64(v))
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

// append appends the layer to a tile, unless it is empty.
func (l *layer) append(tile []byte) []byte {
	if len(l.features) == 0 {
		return tile
	}
	b := protowire.AppendVarint(protowire.AppendTag(nil, layerVersion, protowire.VarintType), 2)
	b = protowire.AppendString(protowire.AppendTag(b, layerName, protowire.BytesType), l.name)
	b = append(b, l.features...)
	for _, k := range l.keys {
		b = protowire.AppendString(protowire.AppendTag(b, layerKeys, protowire.BytesType), k)
	}
	for _, v := range l.values {
		b = protowire.AppendBytes(protowire.AppendTag(b, layerValues, protowire.BytesType), v)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, layerExtent, protowire.VarintType), extent)
	return protowire.AppendBytes(protowire.AppendTag(tile, tileLayers, protowire.BytesType), b)
}

// path appends commands to a geometry. Its positions are relative to the last one.
type path struct {
	out  []uint32
	last point
}

func (p *path) command(id, count int) { p.out = append(p.out, uint32(id&7|count<<3)) }

func (p *path) to(at point) {
	p.out = append(p.out, zigzag(at.x-p.last.x), zigzag(at.y-p.last.y))
	p.last = at
}

func zigzag(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }

func (p *path) line(r ring) {
	p.command(moveTo, 1)
	p.to(r[0])
	p.command(lineTo, len(r)-1)
	for _, at := range r[1:] {
		p.to(at)
	}
}

// appendPolygons appends polygons (section 4.3.4.4): outer rings clockwise on the screen, holes the
// other way.
func appendPolygons(b []uint32, polygons [][]ring) []uint32 {
	p := path{out: b}
	for _, rings := range polygons {
		for i, r := range rings {
			if outer := doubleArea(r) > 0; outer != (i == 0) {
				r = reversed(r)
			}
			p.line(r)
			p.command(closePath, 1)
		}
	}
	return p.out
}

func reversed(r ring) ring {
	out := make(ring, len(r))
	for i, at := range r {
		out[len(r)-1-i] = at
	}
	return out
}

func appendLines(b []uint32, lines []ring) []uint32 {
	p := path{out: b}
	for _, l := range lines {
		p.line(l)
	}
	return p.out
}

func appendPoint(b []uint32, at point) []uint32 {
	p := path{out: b}
	p.command(moveTo, 1)
	p.to(at)
	return p.out
}
