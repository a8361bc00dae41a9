package serve_test

import (
	"bytes"
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"
)

func TestASearchIsGivenAsAPackage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := scenery(t)
	k := makeKey(t, s, "red")
	open := func(user, path string) *sql.DB {
		t.Helper()
		a := s.do(user, http.MethodGet, path, nil)
		if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/geopackage+sqlite3" {
			t.Fatalf("%s: %d %s %.300s", path, a.Status, a.Header.Get("Content-Type"), a.Body)
		}
		file := filepath.Join(t.TempDir(), "x.gpkg")
		if err := os.WriteFile(file, a.Body, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	for path, want := range map[string]string{
		"/hazards?f=gpkg": "Fire,Flood East,Flood West,Over,Storm",
		"/key/" + k.Key + "/hazards?f=gpkg&type=FLOOD&status=A": "Flood East,Flood West",
		"/hazards?f=gpkg&q=nothing":                             "",
	} {
		user := "reader"
		if path[1] == 'k' {
			user = ""
		}
		var names string
		if err := open(user, path).QueryRow(`SELECT coalesce(group_concat(hazard_Name), '') FROM (SELECT hazard_Name FROM hazards ORDER BY 1)`).Scan(&names); err != nil || names != want {
			t.Errorf("%s: %q, %v; want %q", path, names, err, want)
		}
	}
	// Restricted products are counted for members only.
	h := s.hazard("red", "hazard_Name", "Secret")
	s.product("red", h.HazardID, note("title", "Secret", "security_Flag", "R"))
	for _, path := range []string{"/hazards?f=gpkg", "/hazards?f=gpkg&status=A"} { // from the store, and from the view
		for user, want := range map[string]string{"red": "Fire 0,Flood East 0,Flood West 0,Over 0,Secret 1,Storm 0", "reader": "Fire 0,Flood East 0,Flood West 0,Over 0,Secret 0,Storm 0"} {
			if strings.HasSuffix(path, "A") {
				want = strings.Replace(want, "Over 0,", "", 1)
			}
			var totals string
			if err := open(user, path).QueryRow(`SELECT group_concat(hazard_Name || ' ' || product_total) FROM (SELECT * FROM hazards ORDER BY hazard_Name)`).Scan(&totals); err != nil || totals != want {
				t.Errorf("%s: %s sees %s, %v; want %s", path, user, totals, err, want)
			}
		}
	}
	for _, path := range []string{"/hazards?f=gpkg&limit=5", "/hazards?f=parquet&limit=5", "/hazards/active?f=parquet", "/hazards/active?f=gpkg", "/hazards?f=gpkg&type=x"} {
		wantProblem(t, s.do("reader", http.MethodGet, path, nil), http.StatusBadRequest)
	}
	a := s.do("", http.MethodGet, "/key/"+k.Key+"/hazards?f=parquet&type=FLOOD&status=A", nil)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/vnd.apache.parquet" || a.Header.Get("Content-Disposition") != `attachment; filename="hazards.parquet"` {
		t.Fatalf("%d %v %.300s", a.Status, a.Header, a.Body)
	}
	f, err := parquet.OpenFile(bytes.NewReader(a.Body), int64(len(a.Body)))
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]parquet.Row, f.NumRows())
	if n, err := f.RowGroups()[0].Rows().ReadRows(rows); n != 3 {
		t.Fatal(n, err)
	}
	for column, want := range map[string]string{"hazard_Name": "Flood East,Flood West,Secret", "type_ID": "FLOOD,FLOOD,FLOOD"} {
		leaf, _ := f.Schema().Lookup(column)
		var got []string
		for _, row := range rows {
			got = append(got, row[leaf.ColumnIndex].String())
		}
		if slices.Sort(got); strings.Join(got, ",") != want {
			t.Errorf("%s: %v, want %s", column, got, want)
		}
	}
	for column, kind := range map[string]parquet.Kind{"start_time": parquet.Int64, "geometry": parquet.ByteArray, "latitude": parquet.Double} {
		leaf, ok := f.Schema().Lookup(column)
		if !ok || leaf.Node.Type().Kind() != kind || rows[0][leaf.ColumnIndex].IsNull() {
			t.Errorf("%s: %v", column, leaf)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "hazardd-*.*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
