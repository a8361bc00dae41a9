package vectortile

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// feature is a decoded feature of a tile, in units of the tile.
type feature struct {
	id    uint64
	kind  uint64
	rings []ring
	tags  map[string]any
}

// fields calls each for the fields of a message.
func fields(t testing.TB, b []byte, each func(n protowire.Number, v uint64, text []byte)) {
	t.Helper()
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has type %d", n, kind)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		each(n, v, text)
		b = b[size:]
	}
}

func packed(t testing.TB, b []byte) (list []uint32) {
	t.Helper()
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		list, b = append(list, uint32(v)), b[n:]
	}
	return list
}

// decoded returns the features of each layer of a tile.
func decoded(t testing.TB, tile []byte) map[string][]feature {
	t.Helper()
	layers := map[string][]feature{}
	fields(t, tile, func(n protowire.Number, _ uint64, b []byte) {
		if n != tileLayers {
			t.Fatalf("a tile has field %d", n)
		}
		name, keys, values := "", []string{}, []any{}
		fields(t, b, func(n protowire.Number, v uint64, b []byte) {
			switch n {
			case layerName:
				name = string(b)
			case layerKeys:
				keys = append(keys, string(b))
			case layerValues:
				fields(t, b, func(n protowire.Number, v uint64, b []byte) {
					values = append(values, map[protowire.Number]any{valueText: string(b), valueDouble: math.Float64frombits(v), valueWhole: int64(v), valueFlag: v == 1}[n])
				})
			case layerExtent:
				if v != extent {
					t.Fatalf("extent %d", v)
				}
			}
		})
		fields(t, b, func(n protowire.Number, _ uint64, b []byte) {
			if n == layerFeatures {
				layers[name] = append(layers[name], decodedFeature(t, b, keys, values))
			}
		})
	})
	return layers
}

func decodedFeature(t testing.TB, b []byte, keys []string, values []any) feature {
	f := feature{tags: map[string]any{}}
	fields(t, b, func(n protowire.Number, v uint64, b []byte) {
		switch n {
		case featureID:
			f.id = v
		case featureType:
			f.kind = v
		case featureTags:
			list := packed(t, b)
			for i := 0; i < len(list); i += 2 {
				f.tags[keys[list[i]]] = values[list[i+1]]
			}
		case featureGeometry:
			f.rings = decodedGeometry(t, packed(t, b))
		}
	})
	return f
}

func decodedGeometry(t testing.TB, list []uint32) (rings []ring) {
	var at point
	back := func(v uint32) int32 { return int32(v>>1) ^ -int32(v&1) }
	for len(list) > 0 {
		id, count := list[0]&7, int(list[0]>>3)
		list = list[1:]
		if id == closePath {
			continue
		}
		for range count {
			at = point{at.x + back(list[0]), at.y + back(list[1])}
			list = list[2:]
			if id == moveTo {
				rings = append(rings, nil)
			}
			rings[len(rings)-1] = append(rings[len(rings)-1], at)
		}
	}
	return rings
}

// covers reports whether a place is in the rings, by even and odd.
func covers(rings []ring, x, y float64) bool {
	in := false
	for _, r := range rings {
		for i, a := range r {
			b := r[(i+1)%len(r)]
			if (float64(a.y) > y) != (float64(b.y) > y) && x < float64(a.x)+(y-float64(a.y))*float64(b.x-a.x)/float64(b.y-a.y) {
				in = !in
			}
		}
	}
	return in
}
