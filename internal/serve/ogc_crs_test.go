package serve_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
)

// northFirst is a position.
var northFirst = regexp.MustCompile(`\[(-?[0-9.]+),(-?[0-9.]+)\]`)

// GDAL projects the positions of our items back: they are where they are in CRS84.
func TestGDALReadsOtherReferenceSystems(t *testing.T) {
	test.SeldomButRaced(t)
	if _, err := exec.LookPath("ogr2ogr"); err != nil {
		t.Skip("ogr2ogr is not installed")
	}
	s := scenery(t)
	read := func(file string) (all ogcFeatures) {
		t.Helper()
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	place := func(geometry json.RawMessage) (all []float64) {
		var g struct{ Coordinates any }
		_ = json.Unmarshal(geometry, &g)
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, x := range v {
					walk(x)
				}
			case float64:
				all = append(all, v)
			}
		}
		walk(g.Coordinates)
		return all
	}
	dir := t.TempDir()
	for code, name := range map[string]string{"25832": "Fire", "3857": "Flood West", "32647": "Flood East", "3035": "Fire", "31467": "Fire", "4326": "Flood West"} {
		filter := url.QueryEscape("hazard_Name = '" + name + "'")
		a := s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?filter="+filter+"&crs="+epsg+code, nil)
		if want := "<" + epsg + code + ">"; a.Status != 200 || a.Header.Get("Content-Crs") != want {
			t.Fatalf("%s: %d, Content-Crs %q: %.200s", code, a.Status, a.Header.Get("Content-Crs"), a.Body)
		}
		there, back := filepath.Join(dir, code+".geojson"), filepath.Join(dir, code+"-back.geojson")
		if slices.Contains([]string{"4326", "3035", "31467"}, code) { // north first, which GDAL's driver of GeoJSON does not expect
			a.Body = northFirst.ReplaceAll(a.Body, []byte("[$2,$1]"))
		}
		if err := os.WriteFile(there, a.Body, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "ogr2ogr", "-f", "GeoJSON", "-s_srs", "EPSG:"+code, "-t_srs", "EPSG:4326", back, there).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", code, err, out)
		}
		var plain ogcFeatures
		s.do("reader", http.MethodGet, "/ogc/collections/hazards/items?filter="+filter, nil).JSON(t, &plain)
		got := read(back)
		if len(got.Features) != 1 || len(plain.Features) != 1 {
			t.Fatalf("%s: %d features, %d in CRS84", code, len(got.Features), len(plain.Features))
		}
		for i, v := range place(plain.Features[0].Geometry) {
			if w := place(got.Features[0].Geometry); len(w) <= i || math.Abs(w[i]-v) > 5e-5 {
				t.Errorf("%s: %s came back as %s", code, plain.Features[0].Geometry, got.Features[0].Geometry)
				break
			}
		}
	}
}

func TestOrderAndPropertiesOfItems(t *testing.T) {
	s := scenery(t)
	items := func(parameters string) (f ogcFeatures) {
		t.Helper()
		a := s.do("reader", http.MethodGet, ogcFeaturesItems+"?"+parameters, nil)
		if a.JSON(t, &f); a.Status != 200 {
			t.Fatalf("%s: %d %s", parameters, a.Status, a.Body)
		}
		return f
	}
	numbers := func(parameters string) (all []float64) {
		for _, f := range items(parameters).Features {
			all = append(all, f.Properties["hazard_ID"].(float64))
		}
		return all
	}
	up := numbers("sortby=hazard_ID")
	down := numbers("sortby=-hazard_ID")
	if slices.Reverse(down); len(up) != 5 || !slices.IsSorted(up) || !slices.Equal(up, down) || !slices.Equal(up, numbers("sortby=%2Bhazard_ID")) {
		t.Errorf("up %v, down %v", up, down)
	}
	items("sortby=-measurements.magnitude")
	for _, f := range items("properties=hazard_Name,severity_ID&skipGeometry=true").Features {
		if string(f.Geometry) != "null" || len(f.Properties) != 2 || f.Properties["hazard_Name"] == nil {
			t.Errorf("%s %v", f.Geometry, f.Properties)
		}
	}
	for _, bad := range []string{"sortby=name", "sortby=hazard_ID,start_time", "properties=no", "skipGeometry=1", "crs=EPSG:4326"} {
		if a := s.do("reader", http.MethodGet, ogcFeaturesItems+"?"+bad, nil); a.Status != 400 {
			t.Errorf("%s: %d", bad, a.Status)
		}
	}
	if a := s.do("reader", http.MethodGet, "/ogc/collections/points/items?properties=hazard_Name&crs="+epsg+"3857", nil); a.Status != 200 || !strings.Contains(string(a.Body), `"properties":{"hazard_Name":`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
