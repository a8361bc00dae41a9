package serve_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// tileWorld has a wildfire with an area, a flood without one, and a drill.
func tileWorld(t *testing.T, alter ...func(*app.Config)) *world {
	s := start(t, alter...)
	square := func(west int) map[string]any {
		return map[string]any{"type": "Polygon", "coordinates": [][][]int{{{west, 40}, {west + 10, 40}, {west + 10, 50}, {west, 50}, {west, 40}}}}
	}
	s.made("red", "/hazards", flood("hazard_Name", "Fire", "type_ID", "WILDFIRE", "severity_ID", "WARNING", "longitude", 15, "latitude", 45, "area", square(10)))
	s.made("red", "/hazards", flood("hazard_Name", "Flood", "longitude", 40, "latitude", 45))
	s.made("red", "/hazards", flood("hazard_Name", "Drill", "longitude", 65, "latitude", 45, "category_ID", "EXERCISE", "area", square(60)))
	return s
}

func TestTiles(t *testing.T) {
	s := tileWorld(t)
	get := func(path string, header ...string) (string, http.Header) {
		t.Helper()
		a := s.do("reader", http.MethodGet, path, nil, header...)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/vnd.mapbox-vector-tile" || a.Header.Get("Hazardd-Change") == "" && !strings.Contains(path, "at=") {
			t.Fatalf("%s: %d %v %.300s", path, a.Status, a.Header, a.Body)
		}
		return string(a.Body), a.Header
	}
	has := func(tile string, words ...string) {
		t.Helper()
		for _, w := range words {
			if absent, ok := strings.CutPrefix(w, "-"); ok == strings.Contains(tile, strings.TrimPrefix(w, "-")) {
				t.Errorf("%q in the tile: %v", absent, !ok)
			}
		}
	}
	tile, header := get("/tiles/2/2/1.mvt")
	has(tile, "danger", "areas", "points", "WARNING", "WATCH", "WILDFIRE", "FLOOD", "headline", "Fire", "-EXERCISE")
	some, someHeader := get("/tiles/2/2/1.mvt?layers=danger,areas&properties=severity,worst")
	has(some, "danger", "areas", "-points", "severity", "worst", "WARNING", "-WILDFIRE", "-uuid", "-hazard_ID", "-headline", "-Fire")
	if l := someHeader.Get("Content-Language"); l != "" || header.Get("Content-Language") == "" {
		t.Errorf("a tile without headlines is in %q", l)
	}
	drills, _ := get("/tiles/2/2/1.mvt?category=EXERCISE")
	has(drills, "EXERCISE", "danger", "-WILDFIRE")
	fires, _ := get("/tiles/2/2/1.mvt?type=WILDFIRE")
	has(fires, "WILDFIRE", "danger", "-FLOOD")
	for _, query := range []string{"?intersects=POINT(15%2045)", "?filter=type_ID%3D%27WILDFIRE%27", "?bbox=11,41,12,42"} {
		if one, _ := get("/tiles/2/2/1.mvt" + query); one != fires {
			t.Errorf("%s is another tile than type=WILDFIRE", query)
		}
	}
	if empty, _ := get("/tiles/2/0/3.mvt"); empty != "" {
		t.Errorf("an empty tile has %d bytes", len(empty))
	}
	if over, _ := get("/tiles/2/2/1.mvt?status=E"); over != "" {
		t.Errorf("a tile of what is over has %d bytes", len(over))
	}
	if row, _ := get("/ogc/tiles/WebMercatorQuad/2/1/2?f=mvt"); row != tile {
		t.Error("OGC API – Tiles serves another tile")
	}
	before := s.Now()

	// What changes elsewhere, products and drafts change no tile.
	s.product("red", s.made("red", "/hazards", flood("longitude", -100)).HazardID, note("security_Flag", "R"))
	if a := s.do("reader", http.MethodGet, "/tiles/2/2/1.mvt", nil, "If-None-Match", header.Get("ETag")); a.Status != http.StatusNotModified {
		t.Errorf("after a change elsewhere: %d", a.Status)
	}
	second := s.made("red", "/hazards", flood("longitude", 16, "latitude", 46, "severity_ID", "ADVISORY"))
	if more, now := get("/tiles/2/2/1.mvt"); more == tile || now.Get("ETag") == header.Get("ETag") {
		t.Error("a new hazard is not in the tile")
	}
	if past, _ := get("/tiles/2/2/1.mvt?at=" + before.String()); past != tile {
		t.Error("the tile of an earlier moment is another than then")
	}
	s.do("red", http.MethodPatch, "/hazards/"+second.UUID, `{"status":"E"}`)
	if again, now := get("/tiles/2/2/1.mvt"); again != tile || now.Get("ETag") != header.Get("ETag") {
		t.Error("the same hazards give another tile")
	}

	for _, path := range []string{"/tiles/13/0/0.mvt", "/tiles/2/4/0.mvt", "/tiles/2/0/-1.mvt", "/tiles/2/0/0.png", "/ogc/tiles/WorldCRS84Quad/0/0/0", "/ogc/tiles/none", "/ogc/tileMatrixSets/none"} {
		wantProblem(t, s.do("reader", http.MethodGet, path, nil), http.StatusNotFound)
	}
	for _, path := range []string{"/tiles/0/0/0.mvt?limit=1", "/tiles/0/0/0.mvt?type=NONE", "/tiles/0/0/0.mvt?layers=lines", "/tiles/0/0/0.mvt?layers=", "/tiles.json?properties=name", "/ogc/tiles?f=html", "/ogc/tiles/WebMercatorQuad/0/0/0?f=png"} {
		wantProblem(t, s.do("reader", http.MethodGet, path, nil), http.StatusBadRequest)
	}
	if a := s.do("", http.MethodGet, "/tiles/0/0/0.mvt", nil); a.Status != http.StatusForbidden {
		t.Errorf("without a token: %d", a.Status)
	}
}

// What only some may know of is in nobody's tiles: restricted products belong to no tile, and what
// waits for a second person is no hazard yet.
func TestTilesAreTheSameForAll(t *testing.T) {
	s, _ := twoEditors(t, func(c *app.Config) { c.Public, c.ApproveWarnings = route.PublicRead, true })
	s.made("red", "/hazards", flood("longitude", 15, "latitude", 45))
	before := s.do("", http.MethodGet, "/tiles/1/1/0.mvt", nil)
	if a := s.do("red", http.MethodPost, "/hazards", flood("longitude", 17, "latitude", 47, "severity_ID", "WARNING")); a.Status != http.StatusAccepted {
		t.Fatalf("no draft: %d %s", a.Status, a.Body)
	}
	for _, user := range []string{"", "reader", "red", "fire", "root"} {
		a := s.do(user, http.MethodGet, "/tiles/1/1/0.mvt", nil)
		if a.Status != http.StatusOK || string(a.Body) != string(before.Body) {
			t.Errorf("%q reads another tile: %d", user, a.Status)
		}
	}
}

func TestTileDocuments(t *testing.T) {
	s := tileWorld(t)
	k := makeKey(t, s, "red")
	var j struct {
		TileJSON string
		Tiles    []string
		MinZoom  int
		MaxZoom  int
		Layers   []struct{ ID string } `json:"vector_layers"`
	}
	s.do("", http.MethodGet, "/key/"+k.Key+"/tiles.json?severity=WARNING,WATCH", nil).JSON(t, &j)
	if j.TileJSON != "3.0.0" || len(j.Tiles) != 1 || j.MinZoom != 0 || j.MaxZoom != 12 || len(j.Layers) != 3 || j.Layers[0].ID != "danger" {
		t.Fatalf("%+v", j)
	}
	path, ok := strings.CutPrefix(strings.NewReplacer("{z}", "1", "{x}", "1", "{y}", "0").Replace(j.Tiles[0]), s.URL())
	if a := s.do("", http.MethodGet, path, nil); !ok || a.Status != http.StatusOK || !strings.Contains(string(a.Body), "WARNING") {
		t.Errorf("%s: %d", path, a.Status)
	}
	j.Layers = nil
	s.do("reader", http.MethodGet, "/tiles.json?layers=danger", nil).JSON(t, &j)
	if len(j.Layers) != 1 || j.Layers[0].ID != "danger" || !strings.HasSuffix(j.Tiles[0], "?layers=danger") {
		t.Errorf("%+v", j)
	}
	var list struct {
		Tilesets []struct{ Links []ogcLink }
	}
	s.do("reader", http.MethodGet, "/ogc/tiles", nil).JSON(t, &list)
	if len(list.Tilesets) != 1 || !slices.ContainsFunc(list.Tilesets[0].Links, func(l ogcLink) bool { return strings.HasSuffix(l.Href, "/{tileMatrix}/{tileRow}/{tileCol}") }) {
		t.Errorf("%+v", list)
	}
	var set struct {
		Limits []any `json:"tileMatrixSetLimits"`
		Layers []any
	}
	s.do("reader", http.MethodGet, "/ogc/tiles/WebMercatorQuad", nil).JSON(t, &set)
	var grid struct {
		Matrices []struct{ ScaleDenominator float64 } `json:"tileMatrices"`
	}
	s.do("reader", http.MethodGet, "/ogc/tileMatrixSets/WebMercatorQuad", nil).JSON(t, &grid)
	if len(set.Limits) != 13 || len(set.Layers) != 3 || len(grid.Matrices) != 13 || int(grid.Matrices[0].ScaleDenominator) != 559082264 {
		t.Errorf("%+v %+v", set, grid)
	}
	if a := s.do("reader", http.MethodGet, "/ogc/tileMatrixSets", nil); !strings.Contains(string(a.Body), "WebMercatorQuad") {
		t.Errorf("%s", a.Body)
	}
}

func TestGDALReadsTiles(t *testing.T) {
	run := ogrinfo(t)
	s := tileWorld(t)
	path := filepath.Join(t.TempDir(), "2", "2", "1.mvt")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, s.do("reader", http.MethodGet, "/tiles/2/2/1.mvt", nil).Body, 0o644); err != nil {
		t.Fatal(err)
	}
	out := run("-ro", "-al", path)
	for _, want := range []string{"Layer name: danger", "Layer name: areas", "Layer name: points", "severity (String) = WARNING", "worst (Integer(Boolean)) = 0", "POLYGON ((", "type (String) = WILDFIRE",
		"place_kind (String) = exact", "Extent: (1112923."} { // 10 degrees east is 1,113,195 m, and a unit of this tile 2,446 m
		if !strings.Contains(out, want) {
			t.Errorf("GDAL's output lacks %q: %s", want, out)
		}
	}
}
