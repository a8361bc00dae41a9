package httpapi_test

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

func TestASearchIsGivenAsAGeoPackage(t *testing.T) {
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
	// What is restricted is counted for members alone.
	h := s.hazard("red", "hazard_Name", "Secret")
	s.product("red", h.HazardID, note("title", "Secret", "security_Flag", "R"))
	for user, want := range map[string]string{"red": "1", "reader": "0"} {
		var n string
		if err := open(user, "/hazards?f=gpkg").QueryRow(`SELECT product_total FROM hazards WHERE hazard_Name = 'Secret'`).Scan(&n); err != nil || n != want {
			t.Errorf("%s sees %s products, %v; want %s", user, n, err, want)
		}
	}
	for _, path := range []string{"/hazards?f=gpkg&limit=5", "/hazards/active?f=gpkg", "/hazards?f=gpkg&type=x"} {
		wantProblem(t, s.do("reader", http.MethodGet, path, nil), http.StatusBadRequest)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "hazardd-*.gpkg")); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
