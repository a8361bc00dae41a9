package shapefile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

// shp returns a file of shapes.
func shp(shapes ...[]byte) []byte {
	out := make([]byte, 100)
	binary.BigEndian.PutUint32(out, 9994)
	for i, s := range shapes {
		out = binary.BigEndian.AppendUint32(out, uint32(i+1))
		out = binary.BigEndian.AppendUint32(out, uint32(len(s)/2))
		out = append(out, s...)
	}
	return out
}

// shape returns a shape of lines or rings; of kind 1, a point.
func shape(kind uint32, parts ...[]float64) []byte {
	out := binary.LittleEndian.AppendUint32(nil, kind)
	n := 0
	for _, p := range parts {
		n += len(p) / 2
	}
	if kind > 1 {
		out = append(out, make([]byte, 32)...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(parts)))
		out = binary.LittleEndian.AppendUint32(out, uint32(n))
		n = 0
		for _, p := range parts {
			out = binary.LittleEndian.AppendUint32(out, uint32(n))
			n += len(p) / 2
		}
	}
	for _, p := range parts {
		for _, v := range p {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	}
	return out
}

// dbf returns a table of a text and a number.
func dbf(rows ...string) []byte {
	const begin, width = 32 + 2*32 + 1, 1 + 10 + 8
	out := make([]byte, begin)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(rows)))
	binary.LittleEndian.PutUint16(out[8:], begin)
	binary.LittleEndian.PutUint16(out[10:], width)
	copy(out[32:], "NAME")
	out[32+11], out[32+16] = 'C', 10
	copy(out[64:], "RADII")
	out[64+11], out[64+16] = 'N', 8
	out[begin-1] = '\r'
	for _, r := range rows {
		name, radii, _ := strings.Cut(r, "|")
		mark := " "
		if strings.HasPrefix(name, "*") {
			mark, name = "*", name[1:]
		}
		out = fmt.Appendf(out, "%s%-10s%8s", mark, name, radii)
	}
	return out
}

func archive(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, data := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

var (
	// Outer rings are clockwise.
	outer = []float64{0, 0, 0, 10, 10, 10, 10, 0, 0, 0}
	hole  = []float64{2, 2, 4, 2, 4, 4, 2, 4, 2, 2}
	other = []float64{20, 0, 20, 5, 25, 5, 20, 0}
)

func TestShapesBecomeGeoJSON(t *testing.T) {
	for want, s := range map[string][]byte{
		`{"type":"Point","coordinates":[1.5,-2]}`:                                shape(1, []float64{1.5, -2}),
		`{"type":"LineString","coordinates":[[0,0],[1,2]]}`:                      shape(3, []float64{0, 0, 1, 2}),
		`{"type":"MultiLineString","coordinates":[[[0,0],[1,2]],[[5,5],[6,6]]]}`: shape(13, []float64{0, 0, 1, 2}, []float64{5, 5, 6, 6}),
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[0,10],[10,10],[10,0],[0,0]],[[2,2],[4,2],[4,4],[2,4],[2,2]]],[[[20,0],[20,5],[25,5],[20,0]]]]}`: shape(5, hole, outer, other),
		`{"type":"Polygon","coordinates":[[[2,2],[4,2],[4,4],[2,4],[2,2]]]}`:                                                                            shape(5, hole),
	} {
		layers, err := Read(archive(t, map[string][]byte{"d/A_5day_pgn.SHP": shp(s), "d/a_5day_pgn.dbf": dbf("Ida|34.00"), "d/A_5day_pgn.prj": []byte(`GEOGCS["WGS 84"]`), "readme.txt": []byte("x")}))
		if err != nil || len(layers) != 1 || len(layers[0].Features) != 1 {
			t.Errorf("%s: %+v, %v", want, layers, err)
			continue
		}
		if got, full := string(layers[0].Features[0]), `{"type":"Feature","geometry":`+want+`,"properties":{"NAME":"Ida","RADII":34}}`; got != full || layers[0].Name != "A_5day_pgn" {
			t.Errorf("%s: %s, want %s", layers[0].Name, got, full)
		}
	}
}

// Null shapes and deleted rows make no features. Invalid numbers are null.
func TestRowsOfATable(t *testing.T) {
	point := shape(1, []float64{1, 2})
	layers, err := Read(archive(t, map[string][]byte{"a.shp": shp(point, binary.LittleEndian.AppendUint32(nil, 0), point, point), "a.dbf": dbf(`a"b|`, "null|1", "*gone|2", "c|-7.5")}))
	if err != nil || len(layers[0].Features) != 2 || !strings.HasSuffix(string(layers[0].Features[0]), `{"NAME":"a\"b","RADII":null}}`) || !strings.HasSuffix(string(layers[0].Features[1]), `{"NAME":"c","RADII":-7.5}}`) {
		t.Errorf("%s, %v", layers, err)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	point := shape(1, []float64{1, 2})
	many := map[string][]byte{}
	for i := range maxMembers + 1 {
		many[fmt.Sprint(i)] = nil
	}
	for want, files := range map[string]map[string][]byte{
		"no shapefile":      {"a.txt": nil},
		"does not start":    {"a.shp": []byte("x"), "a.dbf": dbf("a|1")},
		"table (.dbf) is":   {"a.shp": shp(point)},
		"fewer rows":        {"a.shp": shp(point, point), "a.dbf": dbf("a|1")},
		"not degrees":       {"a.shp": shp(point), "a.dbf": dbf("a|1"), "a.prj": []byte(`PROJCS["UTM"]`)},
		"not a position":    {"a.shp": shp(shape(1, []float64{1e6, 2})), "a.dbf": dbf("a|1")},
		"type 31":           {"a.shp": shp(shape(31, outer)), "a.dbf": dbf("a|1")},
		"ends too early":    {"a.shp": shp(point)[:110], "a.dbf": dbf("a|1")},
		"files in":          many,
		"after decompress":  {"a.shp": make([]byte, maxBytes+1)}, // compressed, this is a thousandth of that size
		"parts and":         {"a.shp": shp(shape(5, make([][]float64, maxParts+1)...)), "a.dbf": dbf("a|1")},
		"in the archive tw": {"a.shp": shp(point), "A.SHP": shp(point), "a.dbf": dbf("a|1")},
	} {
		if layers, err := Read(archive(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d layers, %v", want, len(layers), err)
		}
	}
	if _, err := Read([]byte("PK\x03\x04")); err == nil {
		t.Error("a truncated file is read")
	}
}

// Invalid files do not crash the program, and the result is valid JSON.
func FuzzRead(f *testing.F) {
	f.Add(shp(shape(5, hole, outer, other), shape(1, []float64{1, 2})), dbf("Ida|34", "x|y"))
	f.Add(shp(shape(13, outer)), dbf("Ida|34"))
	f.Fuzz(func(t *testing.T, shapes, table []byte) {
		layers, err := Read(archive(t, map[string][]byte{"a.shp": shapes, "a.dbf": table}))
		if err != nil {
			return
		}
		for _, l := range layers {
			for _, f := range l.Features {
				if !json.Valid(f) {
					t.Errorf("%s", f)
				}
			}
		}
	})
}
