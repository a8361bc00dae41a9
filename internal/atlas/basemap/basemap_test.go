package basemap

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers are from the specification of PMTiles 3, section 4.1.
func TestTileNumbers(t *testing.T) {
	for at, want := range map[[3]int]uint64{{0, 0, 0}: 0, {1, 0, 0}: 1, {1, 0, 1}: 2, {1, 1, 1}: 3, {1, 1, 0}: 4, {2, 0, 0}: 5, {12, 3423, 1763}: 19078479} {
		if got := tileID(at[0], at[1], at[2]); got != want {
			t.Errorf("%v: %d, want %d", at, got, want)
		}
	}
}

func message(number protowire.Number, b, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), content)
}

// The square of the specification of vector tiles, section 4.3.5, as a feature with a name and a number.
func TestTilesAreRead(t *testing.T) {
	geometry := []byte{9, 6, 12, 18, 10, 12, 24, 44, 15} // MoveTo 3 6, LineTo 8 12, LineTo 20 34, ClosePath
	feature := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 3)
	feature = message(2, feature, []byte{0, 0, 1, 1})
	feature = message(4, feature, geometry)
	layer := message(1, nil, []byte("land"))
	layer = message(2, layer, feature)
	layer = message(3, layer, []byte("name"))
	layer = message(3, layer, []byte("people"))
	layer = message(4, layer, message(1, nil, []byte("Ahoy")))
	layer = message(4, layer, protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 1200))
	layer = protowire.AppendVarint(protowire.AppendTag(layer, 5, protowire.VarintType), 40)
	list, err := read(message(3, nil, layer), 0, 0, 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	f := list[0]
	if f.Layer != "land" || f.Kind != Polygon || f.Name != "Ahoy" || f.Is["people"] != 1200 {
		t.Errorf("%+v", f)
	}
	var lons []float64
	for _, at := range f.Parts[0] {
		lons = append(lons, at[0])
	}
	if diff := cmp.Diff([]float64{-153, -108, 0, -153}, lons); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{"nothing": nil, "something else": make([]byte, 200), "a head alone": append([]byte("PMTiles\x03"), make([]byte, 119)...)} {
		if _, err := Open(io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := read([]byte{26, 200}, 0, 0, 0); err == nil {
		t.Error("a truncated tile is accepted")
	}
}
