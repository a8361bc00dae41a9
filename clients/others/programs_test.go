package others

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/postgres"
	"github.com/hazardd/hazardd/internal/test/server"
)

// installedOfDebian skips the test where one of the programs, which are in Debian's packages, is not
// installed.
func installedOfDebian(t *testing.T, packages string, programs ...string) {
	t.Helper()
	test.Seldom(t)
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed (%s): .ci/needs", p, packages)
		}
	}
}

// runScript runs a program, with the variables, and returns what it prints.
func runScript(t *testing.T, variables []string, command ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Env = append(append(os.Environ(), "HOME="+t.TempDir()), variables...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", command, err, out, errs.Bytes())
	}
	return string(out)
}

// debianPython is the Python that has Debian's modules. It skips the test where one is missing.
func debianPython(t *testing.T, modules string) string {
	t.Helper()
	test.Seldom(t)
	const python = "/usr/bin/python3"
	if err := exec.CommandContext(t.Context(), python, "-c", "import "+modules).Run(); err != nil {
		t.Skipf("%s are not installed: .ci/needs", modules)
	}
	return python
}

func TestReadersOfFeeds(t *testing.T) {
	installedOfDebian(t, "newsboat, rss2email", "newsboat", "r2e")
	python := debianPython(t, "feedparser")
	runScript(t, append(manyHazards(t, 40, 25), "FOLDER="+t.TempDir()), python, "-B", "feeds_read.py")
}

func TestGeoPandas(t *testing.T) {
	python := debianPython(t, "geopandas")
	runScript(t, manyHazards(t, 40, 25), python, "-B", "geopandas_reads.py")
}

func TestOWSLib(t *testing.T) {
	python := debianPython(t, "owslib")
	runScript(t, manyHazards(t, 40, 25), python, "-B", "owslib_reads.py")
}

func TestR(t *testing.T) {
	installedOfDebian(t, "r-cran-sf", "Rscript")
	if err := exec.CommandContext(t.Context(), "Rscript", "-e", "library(sf)").Run(); err != nil {
		t.Skip("r-cran-sf is not installed: .ci/needs")
	}
	runScript(t, manyHazards(t, 40, 25), "Rscript", "--vanilla", "sf_reads.R")
}

func TestDuckDB(t *testing.T) {
	test.Slow(t)
	installed(t, "duckdb")
	run(t, "duckdb/duckdb.test.mjs", manyHazards(t, 40, 25)...)
}

// wget reads the file of a product, and goes on with one that was cut.
func TestWget(t *testing.T) {
	installedOfDebian(t, "wget", "wget")
	s, content := server.Serve(t), make([]byte, 3<<20)
	_, _ = rand.Read(content)
	var made struct{ UUID string }
	s.Do("red", "POST", "/hazards", json.RawMessage(`{"hazard_Name":"Flood of the Elbe","type_ID":"FLOOD","severity_ID":"WARNING","latitude":53.5,"longitude":10}`)).JSON(t, &made)
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	if err := m.WriteField("product", `{"title":"Satellite image","product_Type":"FILE_PRODUCT"}`); err != nil {
		t.Fatal(err)
	}
	part, err := m.CreateFormFile("file", "image.tif")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	s.Do("red", "POST", "/hazards/"+made.UUID+"/products", form.Bytes(), "Content-Type", m.FormDataContentType()).JSON(t, &made)
	var key struct{ Key string }
	s.Do("red", "POST", "/keys", map[string]string{"title": "wget"}).JSON(t, &key)
	address, dir := s.URL()+"/key/"+key.Key+"/products/"+made.UUID+"/file", t.TempDir()

	runScript(t, nil, "wget", "--quiet", "--content-disposition", "--directory-prefix", dir, address)
	if got, err := os.ReadFile(dir + "/image.tif"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("by its name: %d bytes, %v", len(got), err)
	}
	cut := dir + "/cut.tif"
	if err := os.WriteFile(cut, content[:1<<20], 0o600); err != nil {
		t.Fatal(err)
	}
	runScript(t, nil, "wget", "--continue", "--server-response", "--output-file", dir+"/log", "--output-document", cut, address)
	log, _ := os.ReadFile(dir + "/log")
	if got, err := os.ReadFile(cut); err != nil || !bytes.Equal(got, content) || !bytes.Contains(log, []byte("206 Partial Content")) || !bytes.Contains(log, []byte("bytes 1048576-3145727/3145728")) {
		t.Errorf("%d bytes, %v\n%s", len(got), err, log)
	}
	runScript(t, nil, "wget", "--continue", "--quiet", "--output-document", cut, address) // it is whole: 416 is no fault
	if got, err := os.ReadFile(cut); err != nil || !bytes.Equal(got, content) {
		t.Errorf("again: %d bytes, %v", len(got), err)
	}
}

// HTTPie writes, reads, and asks whether anything is new.
func TestHTTPie(t *testing.T) {
	installedOfDebian(t, "httpie", "http")
	s := server.Serve(t)
	ask := func(user string, args ...string) string {
		t.Helper()
		return runScript(t, nil, append([]string{"http", "--ignore-stdin", "--check-status", "--body", "--auth-type", "bearer", "--auth", s.Token(user)}, args...)...)
	}
	var made struct {
		ID   int64 `json:"hazard_ID"`
		Name string
	}
	text := ask("red", "POST", s.URL()+"/hazards", "hazard_Name=Flood of the Elbe", "type_ID=FLOOD", "severity_ID=WARNING", "latitude:=53.5", "longitude:=10")
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.ID == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	var list []struct {
		ID int64 `json:"hazard_ID"`
	}
	text = ask("reader", s.URL()+"/hazards/active", "type==FLOOD", "near==10,53.5", "radius==1000")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 1 || list[0].ID != made.ID {
		t.Errorf("%v: %s", err, text)
	}
	if text := ask("reader", s.URL()+"/hazards/active", "type==STORM"); strings.TrimSpace(text) != "[]" {
		t.Errorf("storms: %s", text)
	}
	if text := ask("red", "PATCH", fmt.Sprint(s.URL(), "/hazards/", made.ID), "status=E"); !strings.Contains(text, `"E"`) {
		t.Errorf("ended: %s", text)
	}
}

// Gnumeric makes a sheet of the CSV, in which numbers are numbers and no text is a formula.
func TestSpreadsheets(t *testing.T) {
	installedOfDebian(t, "gnumeric", "ssconvert")
	s, dir := server.Serve(t), t.TempDir()
	const text = "=Two\nlines; a \"quote\", and a tab\t."
	names := []string{"Flood, \"great\"", "=1+1", "Überschwemmung in Köln", "0042"}
	for i, name := range names {
		s.Do("red", "POST", "/hazards", map[string]any{"hazard_Name": name, "type_ID": "FLOOD", "severity_ID": "WARNING", "description": text, "latitude": 53.5, "longitude": float64(i) - 0.25})
	}
	if err := os.WriteFile(dir+"/hazards.csv", s.Do("reader", "GET", "/hazards/active?f=csv&sort=hazard_ID", nil).Body, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"ods", "xlsx"} {
		runScript(t, nil, "ssconvert", "--import-encoding=UTF-8", dir+"/hazards.csv", dir+"/hazards."+form)
		runScript(t, nil, "ssconvert", "--recalc", dir+"/hazards."+form, dir+"/"+form+".csv")
		rows := table(t, dir+"/"+form+".csv")
		if len(rows) != len(names) {
			t.Fatalf("%s: %d rows: %v", form, len(rows), rows)
		}
		for i, row := range rows {
			if got := strings.TrimPrefix(row["hazard_Name"], "'"); got != names[i] && !(names[i] == "0042" && got == "42") {
				t.Errorf("%s: %q, want %q", form, got, names[i])
			}
			if got := strings.TrimPrefix(row["description"], "'"); got != text {
				t.Errorf("%s: described as %q, want %q", form, got, text)
			}
			if row["longitude"] != fmt.Sprint(float64(i)-0.25) || row["latitude"] != "53.5" {
				t.Errorf("%s: at %s, %s", form, row["longitude"], row["latitude"])
			}
		}
	}
}

// table reads a CSV file, by the names of the columns.
func table(t *testing.T, path string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			row[strings.TrimPrefix(all[0][i], "\ufeff")] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// Miller counts by columns of the CSV.
func TestMiller(t *testing.T) {
	installedOfDebian(t, "miller", "mlr")
	variables := manyHazards(t, 40, 25)
	out := runScript(t, nil, "mlr", "--icsv", "--ojson", "count-distinct", "-f", "severity_ID", "then", "sort", "-f", "severity_ID", fetched(t, variables, "/hazards/active?f=csv&limit=1000"))
	var counts []struct {
		Severity string `json:"severity_ID"`
		Count    int
	}
	if err := json.Unmarshal([]byte(out), &counts); err != nil || fmt.Sprint(counts) != "[{ADVISORY 13} {WARNING 14} {WATCH 13}]" {
		t.Errorf("%v: %s", err, out)
	}
}

// GPSBabel makes waypoints for navigation devices of the KML.
func TestGPSBabel(t *testing.T) {
	installedOfDebian(t, "gpsbabel", "gpsbabel")
	variables := manyHazards(t, 40, 0)
	out := runScript(t, nil, "gpsbabel", "-i", "kml", "-f", fetched(t, variables, "/hazards/active?f=kml&limit=1000"), "-o", "gpx", "-F", "-")
	var gpx struct {
		Waypoints []struct {
			Lat  float64 `xml:"lat,attr"`
			Lon  float64 `xml:"lon,attr"`
			Name string  `xml:"name"`
		} `xml:"wpt"`
	}
	if err := xml.Unmarshal([]byte(out), &gpx); err != nil {
		t.Fatal(err)
	}
	places := map[string][2]float64{}
	for _, w := range gpx.Waypoints {
		places[w.Name] = [2]float64{w.Lon, w.Lat}
	}
	if len(gpx.Waypoints) != 40 || places["Flood 0"] != [2]float64{0, 40} || places["Flood 5"] != [2]float64{2, 40} {
		t.Errorf("%d waypoints: %v", len(gpx.Waypoints), places)
	}
}

// fetched reads a path of the service, and returns the file that holds it.
func fetched(t *testing.T, variables []string, path string) string {
	t.Helper()
	address, _ := strings.CutPrefix(variables[slices.IndexFunc(variables, func(v string) bool { return strings.HasPrefix(v, "HAZARDD_URL=") })], "HAZARDD_URL=")
	answer, err := http.Get(address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, answer.StatusCode, err)
	}
	file := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// PostGIS has the collections as tables of another server (ogr_fdw), and takes GeoJSON as geometries.
func TestPostGIS(t *testing.T) {
	test.Seldom(t)
	d, err := sql.Open("pgx", postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, extension := range []string{"postgis", "ogr_fdw"} {
		if _, err := d.ExecContext(t.Context(), "CREATE EXTENSION "+extension); err != nil {
			t.Skipf("postgresql-15-postgis-3 and postgresql-15-ogr-fdw are not installed (.ci/needs): %v", err)
		}
	}
	const points, areas = 40, 25
	variables := manyHazards(t, points, areas)
	address, _ := strings.CutPrefix(variables[0], "HAZARDD_URL=")
	if _, err := d.ExecContext(t.Context(), fmt.Sprintf(`CREATE SERVER hazardd FOREIGN DATA WRAPPER ogr_fdw OPTIONS (datasource 'OAPIF:%s/ogc', format 'OAPIF');
		IMPORT FOREIGN SCHEMA ogr_all FROM SERVER hazardd INTO public`, address)); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(fetched(t, variables, "/hazards/active?f=geojson&limit=1000"))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"SELECT count(DISTINCT hazard_name) FROM points WHERE ST_GeometryType(geom) = 'ST_Point'":               points,
		"SELECT count(*) FROM areas WHERE ST_IsValid(geom) AND ST_SRID(geom) = 4326":                            areas,
		"SELECT count(*) FROM points WHERE severity_id = 'WARNING'":                                             (points + 2) / 3,
		"SELECT count(*) FROM points WHERE geom && ST_MakeEnvelope(-0.1, 39.9, 0.5, 40.1, 4326)":                2,
		"SELECT count(*) FROM areas a JOIN points p ON a.hazard_id = p.hazard_id AND ST_Covers(a.geom, p.geom)": areas,
		"SELECT round(ST_Area(geom::geography) / 1e6) FROM areas WHERE hazard_name = 'Flood 0'":                 852,
	} {
		var n int
		if err := d.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d (%v)", query, n, want, err)
		}
	}
	kinds := map[string]int{}
	rows, err := d.QueryContext(t.Context(), `SELECT ST_GeometryType(ST_GeomFromGeoJSON(f->>'geometry')), count(*) FROM jsonb_array_elements($1::jsonb->'features') f GROUP BY 1`, string(list))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind string
		var n int
		if err := rows.Scan(&kind, &n); err != nil {
			t.Fatal(err)
		}
		kinds[kind] = n
	}
	if want := map[string]int{"ST_Point": points - areas, "ST_Polygon": areas}; !maps.Equal(kinds, want) {
		t.Errorf("%v, want %v (%v)", kinds, want, rows.Err())
	}
}
