package gpkg_test

import (
	"database/sql"
	"encoding/binary"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/format/gpkg"
)

// The checks follow the specification's abstract tests, by requirement.
func TestAGeoPackageIsAsTheSpecificationSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a #1?%.gpkg")
	layer := gpkg.Layer{Name: `flo"ods`, Title: "Floods", Changed: time.Date(2026, 11, 2, 6, 0, 0, 5e6, time.UTC),
		Columns: []gpkg.Column{{Name: "name", Type: gpkg.Text}, {Name: "n", Type: gpkg.Integer}, {Name: "x", Type: gpkg.Real}, {Name: "at", Type: gpkg.DateTime}}}
	w, err := gpkg.Create(t.Context(), file, layer)
	if err != nil {
		t.Fatal(err)
	}
	wkb := binary.LittleEndian.AppendUint32([]byte{1}, 1) // a point
	for _, v := range []float64{9.5, -53} {
		wkb = binary.LittleEndian.AppendUint64(wkb, math.Float64bits(v))
	}
	if err := gpkg.AddRow(w, wkb, gpkg.Box{West: 9.5, South: -53, East: 9.5, North: -53}, "Łódź 'x'", int64(1)<<40, 0.5, "2026-11-02T06:00:00.000Z"); err != nil {
		t.Fatal(err)
	}
	if err := gpkg.AddRow(w, nil, gpkg.Box{}, "", nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := gpkg.AddRow(w, nil, gpkg.Box{}, "too few"); err == nil {
		t.Error("a row with too few values is accepted")
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for query, want := range map[string]string{
		`PRAGMA application_id`:                         "1196444487", // requirement 2: GPKG
		`PRAGMA user_version`:                           "10300",
		`PRAGMA integrity_check`:                        "ok", // requirement 6
		`SELECT count(*) FROM pragma_foreign_key_check`: "0",  // requirement 7
		`SELECT group_concat(srs_id) FROM (SELECT srs_id FROM gpkg_spatial_ref_sys ORDER BY srs_id)`:                  "-1,0,4326", // requirement 11
		`SELECT data_type||' '||table_name||' '||srs_id||' '||min_x||' '||max_y||' '||last_change FROM gpkg_contents`: `features flo"ods 4326 9.5 -53.0 2026-11-02T06:00:00.005Z`,
		`SELECT column_name||' '||geometry_type_name||' '||srs_id||z||m FROM gpkg_geometry_columns`:                   "geom GEOMETRY 432600",
		`SELECT hex(geom) FROM "flo""ods" WHERE fid = 1`:                                                              "47500003E6100000" + "00000000000023400000000000002340" + "0000000000804AC00000000000804AC0" + "0101000000" + "00000000000023400000000000804AC0", // requirement 19
		`SELECT count(*) FROM "flo""ods" WHERE geom IS NULL AND n IS NULL AND name = ''`:                              "1",
		`SELECT extension_name||' '||column_name||' '||scope FROM gpkg_extensions WHERE table_name = 'flo"ods'`:       "gpkg_rtree_index geom write-only",
		`SELECT group_concat(id||' '||minx||' '||maxy) FROM "rtree_flo""ods_geom"`:                                    "1 9.5 -53.0",
		`SELECT count(*) FROM sqlite_master WHERE type = 'trigger'`:                                                   "6",
		`SELECT group_concat(type) FROM pragma_table_info('flo"ods')`:                                                 "INTEGER,GEOMETRY,TEXT,INTEGER,DOUBLE,DATETIME",
	} {
		var got string
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", query, got, err, want)
		}
	}
	ogrinfo, err := exec.LookPath("ogrinfo")
	if err != nil {
		t.Skip("ogrinfo is missing: install gdal-bin")
	}
	out, err := exec.CommandContext(t.Context(), ogrinfo, "-ro", "-al", file).CombinedOutput()
	for _, want := range []string{"using driver `GPKG' successful", "Feature Count: 2", "POINT (9.5 -53)", "name (String) = Łódź 'x'", "n (Integer64) = 1099511627776", "at (DateTime) = 2026/11/02 06:00:00+00", `ID["EPSG",4326]`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("GDAL's output lacks %q: %v %s", want, err, out)
		}
	}
	// The index is used, and programs that edit the file update it: GDAL has the functions that its
	// triggers call.
	sum := func(sql string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), ogrinfo, "-q", "-sql", sql, file).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ERROR") {
			t.Errorf("%s: %v %s", sql, err, out)
		}
		return string(out)
	}
	if has := sum(`SELECT HasSpatialIndex('flo"ods', 'geom')`); !strings.Contains(has, "HasSpatialIndex (Integer) = 1") {
		t.Errorf("GDAL finds no index: %s", has)
	}
	sum(`DELETE FROM "flo""ods" WHERE fid = 1`)
	if left := sum(`SELECT count(*) AS n FROM "rtree_flo""ods_geom"`); !strings.Contains(left, "n (Integer) = 0") {
		t.Errorf("the box of a feature that GDAL removed is still there: %s", left)
	}
	if strings.Contains(string(out), "Warning") || strings.Contains(string(out), "ERROR") {
		t.Errorf("GDAL complains: %s", out)
	}
}
