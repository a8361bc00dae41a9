package raster

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test/recordings"
)

func open(t *testing.T, name string) *GeoTIFF {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenGeoTIFF(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func values(t *testing.T, r *GeoTIFF) []float64 {
	t.Helper()
	all := make([]float64, r.Width*r.Height)
	for y := 0; y < r.Height; y += 7 { // not aligned with blocks
		if err := r.Rows(y, min(7, r.Height-y), all[y*r.Width:]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// GDAL has written the same raster in each form; all must give the same numbers.
func TestEveryFormIsReadAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("gdal_translate"); err != nil {
		t.Skip("needs gdal-bin")
	}
	from := recordings.Path(t, "population/gpw-v4.11-density-2020-15min.tif")
	dir := t.TempDir()
	translate := func(name string, options ...string) string {
		to := filepath.Join(dir, name)
		if text, err := exec.Command("gdal_translate", append(options, "-q", "-srcwin", "700", "120", "201", "150", from, to)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return to
	}
	first := open(t, translate("plain.tif", "-co", "COMPRESS=NONE"))
	if first.Width != 201 || first.Height != 150 || first.CellX != 0.25 || math.Abs(first.West+5) > 1e-9 || math.Abs(first.North-60) > 1e-9 {
		t.Fatalf("%+v", first)
	}
	want := values(t, first)
	known := 0
	for _, v := range want {
		if !math.IsNaN(v) {
			known++
		}
	}
	if known < 1000 || known == len(want) {
		t.Fatalf("%d of %d values", known, len(want))
	}
	for name, options := range map[string]string{
		"lzw":      "-co COMPRESS=LZW -co PREDICTOR=3 -co TILED=YES -co BLOCKXSIZE=64 -co BLOCKYSIZE=64",
		"deflate":  "-co COMPRESS=DEFLATE -co PREDICTOR=3",
		"packbits": "-co COMPRESS=PACKBITS",
		"zstd":     "-co COMPRESS=ZSTD -co TILED=YES",
		"big":      "-co BIGTIFF=YES -co COMPRESS=DEFLATE",
		"motorola": "-co ENDIANNESS=BIG -co COMPRESS=LZW",
		"double":   "-ot Float64",
		"cog":      "-of COG -co COMPRESS=DEFLATE -co BLOCKSIZE=128",
		"int32":    "-ot Int32 -a_nodata -1 -co COMPRESS=LZW -co PREDICTOR=2",
		"uint16":   "-ot UInt16 -a_nodata 65535 -co COMPRESS=DEFLATE -co PREDICTOR=2",
	} {
		got := values(t, open(t, translate(name+".tif", strings.Fields(options)...)))
		whole := name == "int32" || name == "uint16"
		for i := range want {
			switch {
			case whole && math.IsNaN(want[i]): // clamped, because only the no-data value changes
			case whole && math.Abs(got[i]-want[i]) <= 0.5, got[i] == want[i], math.IsNaN(got[i]) && math.IsNaN(want[i]):
			default:
				t.Fatalf("%s: value %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	mercator := filepath.Join(dir, "mercator.tif")
	if text, err := exec.Command("gdalwarp", "-q", "-t_srs", "EPSG:3857", filepath.Join(dir, "plain.tif"), mercator).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	data, _ := os.ReadFile(mercator)
	if _, err := OpenGeoTIFF(bytes.NewReader(data), int64(len(data))); err == nil || !strings.Contains(err.Error(), "WGS 84") {
		t.Errorf("another projection: %v", err)
	}
}

// Any bytes give either an error or numbers.
func FuzzOpenGeoTIFF(f *testing.F) {
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x01\x00\x00\x01\x03\x00\x01\x00\x00\x00\x01\x00\x00\x00"))
	f.Add([]byte("MM\x00+\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("GIF89a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := OpenGeoTIFF(bytes.NewReader(data), int64(len(data)))
		if err != nil || r.Width > 4096 {
			return
		}
		_ = r.Rows(0, 1, make([]float64, r.Width))
	})
}
