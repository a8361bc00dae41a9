package population

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/raster"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// gdal runs a program of GDAL.
func gdal(t *testing.T, name string, args ...string) string {
	t.Helper()
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// load loads a raster into a new folder.
func load(t *testing.T, file string, about About) (*Folder, *Converted, error) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	tiff, err := raster.OpenGeoTIFF(in, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c, err := Load(t.Context(), tiff, about, dir)
	if left, bad := filepath.Glob(filepath.Join(dir, "*.tmp")); bad != nil || len(left) > 0 {
		t.Errorf("what is left: %q, %v", left, bad)
	}
	return NewFolder(dir), c, err
}

// A finer raster of part of the world, as counts and as density, cloud-optimized, gives the same
// sums as GDAL. Where it has no data, the built-in data is used, and the answer says which.
func TestPeopleAreCountedByALoadedRaster(t *testing.T) {
	test.Seldom(t)
	if _, err := exec.LookPath("gdalwarp"); err != nil {
		t.Skip("needs gdal-bin")
	}
	from, dir := recordings.Path(t, "population/gpw-v4.11-density-2020-15min.tif"), t.TempDir()
	density, counts := filepath.Join(dir, "density.tif"), filepath.Join(dir, "counts.tif")
	// Italy in pixels of a kilometer. A second raster has 0.7 people for each person per square
	// kilometer, as if these were counts.
	gdal(t, "gdalwarp", "-q", "-r", "bilinear", "-te", "6", "36", "19", "47.5", "-tr", "0.00833333333333333", "0.00833333333333333", "-of", "COG", "-co", "BLOCKSIZE=128", "-co", "COMPRESS=DEFLATE", from, density)
	gdal(t, "gdal_translate", "-q", "-scale", "0", "1000000", "0", "700000", "-ot", "Float64", "-co", "COMPRESS=LZW", density, counts)
	about := About{Name: "Italy", Year: 2021, Terms: "CC BY", Unit: Density}
	if _, _, err := load(t, density, About{Unit: Counts, Name: "Italy"}); err != nil {
		t.Errorf("counts that are near density in pixels of 0.7 km²: %v", err)
	}
	folder, made, err := load(t, density, about)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *made)
	if made.People < 0.7*made.Builtin || made.People > 1.6*made.Builtin || made.Missing > 0.02*made.People { // its densities are of land alone, and its pixels include sea at the coasts
		t.Errorf("%+v", *made)
	}
	g, err := folder.Grid()
	if err != nil || g.ID == grid(t).ID {
		t.Fatalf("%+v, %v", g, err)
	}
	asCounts, _, err := load(t, counts, About{Name: "Italy", Year: 2021, Unit: Counts})
	if err != nil {
		t.Fatal(err)
	}
	c, err := asCounts.Grid()
	if err != nil {
		t.Fatal(err)
	}
	// GDAL's own sum of the pixels in boxes along pixel edges.
	r := rand.New(rand.NewPCG(7, 8))
	for range 4 {
		x, y, w, h := 200+r.IntN(900), 100+r.IntN(900), 40+r.IntN(200), 40+r.IntN(200)
		part := filepath.Join(dir, "part.tif")
		gdal(t, "gdal_translate", "-q", "-srcwin", whole(x), whole(y), whole(w), whole(h), counts, part)
		stats := gdal(t, "gdalinfo", "-stats", "--config", "GDAL_PAM_ENABLED", "NO", part)
		if strings.Contains(stats, "STATISTICS_VALID_PERCENT=0\n") { // all of it is sea
			continue
		}
		mean, share := number(t, stats, "STATISTICS_MEAN="), 100.0
		if strings.Contains(stats, "STATISTICS_VALID_PERCENT=") {
			share = number(t, stats, "STATISTICS_VALID_PERCENT=")
		}
		want := mean * share / 100 * float64(w*h)
		cell := 1.0 / 120
		got := sum(t, c, box(6+float64(x)*cell, 47.5-float64(y+h)*cell, 6+float64(x+w)*cell, 47.5-float64(y)*cell))
		if math.Abs(got-want) > 0.005*want+1 {
			t.Errorf("%d, %d, %d × %d: %.0f people, by GDAL %.0f", x, y, w, h, got, want)
		}
	}
	count := func(g *Grid, s geo.Shape) *hazard.Exposure {
		t.Helper()
		e, err := Expose(g, "k", []Area{{hazard.AlertArea, s}}, nil, 12, 42)
		if err != nil || e.People == nil || e.Grid != g.ID {
			t.Fatalf("%+v, %v", e, err)
		}
		return e
	}
	if e := count(g, box(12, 41.6, 13, 42.2)); e.Method != "Italy" || e.Year != 2021 || e.People.People < 2e6 {
		t.Errorf("Rome: %+v %+v", e, e.People)
	}
	if e := count(g, box(5, 41, 13, 42)); e.Method != grid(t).Name || e.Year != 2020 {
		t.Errorf("an area beyond the raster is counted by %s, %d", e.Method, e.Year)
	}
	// Another file with the same name is noticed, a damaged one is refused, and without one the
	// built-in data is used.
	data, err := os.ReadFile(folder.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{3, len(data) - 30, len(data) - 3000} {
		bad := append([]byte{}, data...)
		bad[at] ^= 4
		write(t, folder.path, bad)
		if _, err := folder.Grid(); err == nil || !strings.Contains(err.Error(), "load it again, or remove it") {
			t.Errorf("bit %d turned: %v", at, err)
		}
	}
	bad := append([]byte{}, data...)
	for i := len(magic); i < len(bad)/2; i += 200 {
		bad[i] ^= 4
	}
	write(t, folder.path, bad)
	if g, err := folder.Grid(); err != nil {
		t.Error(err)
	} else if e, err := Expose(g, "k", []Area{{hazard.AlertArea, box(8.01, 44.01, 12.99, 45.99)}}, nil, 10, 45); err == nil {
		t.Errorf("of tiles that are damaged %+v", e)
	}
	if err := os.Remove(folder.path); err != nil {
		t.Fatal(err)
	}
	if g, err := folder.Grid(); err != nil || g != grid(t) {
		t.Errorf("without a file: %v, %v", g, err)
	}
}

// A raster whose half GDAL has set to no data: there, the built-in data is used.
func TestNoDataIsNotNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("gdalwarp"); err != nil {
		t.Skip("needs gdal-bin")
	}
	from, dir := recordings.Path(t, "population/gpw-v4.11-density-2020-15min.tif"), t.TempDir()
	half, file := filepath.Join(dir, "half.tif"), filepath.Join(dir, "file.tif")
	gdal(t, "gdalwarp", "-q", "-te", "10", "44", "11", "46", "-tr", "0.02", "0.02", from, half)
	gdal(t, "gdalwarp", "-q", "-te", "10", "44", "12", "46", "-tr", "0.02", "0.02", half, file)
	if _, _, err := load(t, file, About{Name: "x", Unit: Counts, Year: 2021}); err != nil && !strings.Contains(err.Error(), "density") {
		t.Errorf("the wrong unit: %v", err)
	}
	folder, made, err := load(t, file, About{Name: "x", Unit: Density, Year: 2021})
	if err != nil || made.Missing < 1e6 {
		t.Fatalf("%+v, %v", made, err)
	}
	g, err := folder.Grid()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		west, east float64
		want       string
	}{{10.1, 10.9, "x"}, {10.5, 11.5, grid(t).Name}, {11.2, 11.8, grid(t).Name}} {
		s, want := box(tt.west, 44.5, tt.east, 45.5), tt.want
		e, err := Expose(g, "k", []Area{{hazard.AlertArea, s}}, nil, 11, 45)
		if err != nil || e.Method != want || e.People == nil || e.People.People < 1000 {
			t.Errorf("%s: %+v, %v, want %s", s.WKT(), e, err, want)
		}
	}
}

// Unusable rasters are refused.
func TestRastersThatAreRefused(t *testing.T) {
	for want, r := range map[string]raster.GeoTIFF{
		"not square": {Width: 100, Height: 100, West: 0, North: 10, CellX: 0.01, CellY: 0.02},
		"larger":     {Width: 100, Height: 100, West: 0, North: 10, CellX: 0.1, CellY: 0.1},
		"longitudes": {Width: 36000, Height: 100, West: 0, North: 10, CellX: 0.01, CellY: 0.01},
		"at most":    {Width: 360_000, Height: 180_000, West: -180, North: 90, CellX: 0.001, CellY: 0.001},
	} {
		if _, err := frameOf(&r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := open(strings.NewReader("x"), 1); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil { // as Load does: an open file is not changed
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func whole(n int) string { return strconv.Itoa(n) }

// number reads the number after a name in GDAL's output.
func number(t *testing.T, text, name string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, name)
	rest, _, _ = strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	if !ok || err != nil {
		t.Fatalf("%s in %s: %v", name, text, err)
	}
	return v
}
