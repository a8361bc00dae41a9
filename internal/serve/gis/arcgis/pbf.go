package arcgis

import (
	"bytes"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hazardd/hazardd/internal/geo"
)

// PBFType is the media type of answers in the form pbf: a FeatureCollectionPBuffer of Esri's
// specification (github.com/Esri/arcgis-pbf, version 1). The names of fields and messages below are
// those in its FeatureCollection.proto.
const PBFType = "application/x-protobuf"

// Field numbers of the oneof in QueryResult.
const (
	featureResult protowire.Number = 1
	countResult   protowire.Number = 2
	idsResult     protowire.Number = 3
)

// pbfTypes are the numbers of FieldType. pbfKinds are the numbers of GeometryType.
var (
	pbfTypes = map[string]uint64{wholeType: 1, numberType: 3, textType: 4, momentType: 5, oidType: 6}
	pbfKinds = map[Kind]uint64{Points: 0, Tracks: 2, Areas: 3}
)

const sqlTypeOther = 16

// gridOf returns the cell size of the grid that coordinates are on, in units of the spatial
// reference. A step across the whole world must fit in 32 bits. The cell is a millionth of a
// degree, the unit of stored positions, or 2 cm.
func gridOf(wkid int) float64 {
	if wkid == mercator {
		return 0.02
	}
	return 1e-6
}

func appendNumber(b []byte, field protowire.Number, v uint64) []byte {
	if v == 0 { // a missing value is 0
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return appendMessage(b, field, []byte(strings.ToValidUTF8(text, "\ufffd")))
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

func appendDouble(b []byte, field protowire.Number, v float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(v))
}

// appendFields appends Fields of a FeatureResult.
func appendFields(b []byte, fields []Field) []byte {
	for _, f := range fields {
		m := appendText(nil, 1, f.Name)
		m = appendNumber(m, 2, pbfTypes[f.Type])
		m = appendText(m, 3, f.Alias)
		b = appendMessage(b, 13, appendNumber(m, 4, sqlTypeOther))
	}
	return b
}

// appendHead appends the part of a FeatureResult before its features.
func appendHead(b []byte, layer *Layer, q *Query, fields []Field) []byte {
	b = appendText(b, 1, objectID)
	b = appendNumber(b, 7, pbfKinds[layer.Kind])
	r := referenceOf(q.OutSR)
	b = appendMessage(b, 8, appendNumber(appendNumber(nil, 1, uint64(r.WKID)), 2, uint64(r.Latest)))
	grid := gridOf(q.OutSR)
	scale := appendDouble(appendDouble(nil, 1, grid), 2, grid)
	translate := appendDouble(appendDouble(nil, 1, 0), 2, 0)
	b = appendMessage(b, 12, appendMessage(appendMessage(nil, 2, scale), 3, translate)) // the origin is at the upper left, and y points down
	return appendFields(b, fields)
}

// appendValue appends a Value in the type of its field. The Value for nil has no content.
func appendValue(b []byte, f *Field, v any) []byte {
	var m []byte
	signed := func(field protowire.Number, n int64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), protowire.EncodeZigZag(n))
	}
	number := func(n int64, x float64) []byte {
		switch {
		case f.Type == oidType && n >= 0 && n <= math.MaxUint32:
			return protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.VarintType), uint64(n))
		case f.Type == wholeType && n == int64(int32(n)):
			return signed(4, n)
		case f.Type == numberType:
			return appendDouble(nil, 3, x)
		}
		return signed(8, n)
	}
	switch v := v.(type) {
	case string:
		m = appendText(nil, 1, v)
	case int64:
		m = number(v, float64(v))
	case float64:
		m = number(int64(v), v)
	}
	return appendMessage(b, 1, m)
}

// appendShape appends the Geometry of a feature, if it has any of the layer's kind. It contains the
// positions of the parts. Each position except the first of a part is a step from the one before.
func appendShape(b []byte, kind Kind, s geo.Shape, lon, lat float64, wkid int) []byte {
	grid := gridOf(wkid)
	on := func(at geo.Position) (x, y int64) {
		lon, lat := at[0], at[1]
		if wkid == mercator {
			lon, lat = toMercator(lon, lat)
		}
		return int64(math.Round(lon / grid)), int64(math.Round(-lat / grid))
	}
	parts, backward := parts(kind, s)
	if kind == Points {
		parts = [][]geo.Position{{{lon, lat}}}
	}
	if len(parts) == 0 {
		return b
	}
	var lengths, steps []byte
	for _, part := range parts {
		lengths = protowire.AppendVarint(lengths, uint64(len(part)))
		var x, y int64
		for i := range part {
			at := part[i]
			if backward {
				at = part[len(part)-1-i]
			}
			toX, toY := on(at)
			steps = protowire.AppendVarint(steps, protowire.EncodeZigZag(toX-x))
			steps = protowire.AppendVarint(steps, protowire.EncodeZigZag(toY-y))
			x, y = toX, toY
		}
	}
	m := appendNumber(nil, 1, pbfKinds[kind])
	if kind != Points {
		m = appendMessage(m, 2, lengths)
	}
	return appendMessage(b, 2, appendMessage(m, 3, steps))
}

// wrapPBF turns the message in out into an answer. field is its field in QueryResult.
func wrapPBF(out *bytes.Buffer, field protowire.Number) {
	n := out.Len()
	head := protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(n))
	front := protowire.AppendVarint(protowire.AppendTag(appendText(nil, 1, "1"), 2, protowire.BytesType), uint64(len(head)+n))
	front = append(front, head...)
	out.Write(front) // reserves space
	all := out.Bytes()
	copy(all[len(front):], all[:n])
	copy(all, front)
}
