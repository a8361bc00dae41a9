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
	r := referenceOf(q.OutSR.Code)
	b = appendMessage(b, 8, appendNumber(appendNumber(nil, 1, uint64(r.WKID)), 2, uint64(r.Latest)))
	g := q.grid()
	scale := appendDouble(appendDouble(nil, 1, g.cell), 2, g.cell)
	translate := appendDouble(appendDouble(nil, 1, g.x), 2, g.y)
	var transform []byte
	if g.up {
		transform = appendNumber(nil, 1, 1) // quantizeOriginPostion: lowerLeft
	}
	b = appendMessage(b, 12, appendMessage(appendMessage(transform, 2, scale), 3, translate))
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
func appendShape(b []byte, kind Kind, s geo.Shape, lon, lat float64, q *Query) []byte {
	g := q.grid()
	all := parts(kind, s)
	if kind == Points {
		all = []part{{line: []geo.Position{{lon, lat}}}}
		g.thin = false
	}
	if len(all) == 0 {
		return b
	}
	var lengths, steps []byte
	for _, p := range all {
		cells := g.cells(p, q.OutSR)
		if cells == nil {
			continue
		}
		lengths = protowire.AppendVarint(lengths, uint64(len(cells)))
		var last cell
		for _, c := range cells {
			steps = protowire.AppendVarint(steps, protowire.EncodeZigZag(c.x-last.x))
			steps = protowire.AppendVarint(steps, protowire.EncodeZigZag(c.y-last.y))
			last = c
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
