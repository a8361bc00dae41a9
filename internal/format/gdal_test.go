package format_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// feature is a hazard as GeoJSON, from GDAL or from us.
type feature struct {
	ID         any             `json:"id"`
	Geometry   json.RawMessage `json:"geometry"`
	Properties map[string]any  `json:"properties"`
}

func features(t testing.TB, doc []byte) []feature {
	t.Helper()
	var c struct{ Features []feature }
	if err := json.Unmarshal(doc, &c); err != nil {
		t.Fatalf("%v in %.2000s", err, doc)
	}
	return c.Features
}

// byGDAL reads a document with GDAL: each of the layers, or the only one.
func byGDAL(t testing.TB, driver string, f format.Format, layers []string, entries []*format.Entry) []feature {
	t.Helper()
	name := filepath.Join(t.TempDir(), f.FileName("hazards"))
	if err := os.WriteFile(name, document(t, f, options(false), entries...), 0o600); err != nil {
		t.Fatal(err)
	}
	if told := string(program(t, "ogrinfo", name)); !strings.Contains(told, "using driver `"+driver+"' successful") {
		t.Errorf("GDAL takes %s for something else:\n%s", driver, told)
	}
	if layers == nil {
		layers = []string{""}
	}
	var all []feature
	for _, layer := range layers {
		args := []string{"-f", "GeoJSON", "/vsistdout/", name}
		if layer != "" {
			args = append(args, layer)
		}
		all = append(all, features(t, program(t, "ogr2ogr", args...))...)
	}
	return all
}

// forGDAL runs a test on the samples, and on the recorded hazards.
func forGDAL(t *testing.T, test func(t *testing.T, entries []*format.Entry)) {
	t.Run("samples", func(t *testing.T) { test(t, samples()) })
	t.Run("recorded", func(t *testing.T) { test(t, recordedHazards(t).present) })
}

// want returns what every reader must find, from our own GeoJSON.
func want(t testing.TB, entries []*format.Entry, got []feature) []feature {
	t.Helper()
	list := features(t, document(t, format.GeoJSON, options(false), entries...))
	if len(list) != len(entries) || len(got) != len(entries) {
		t.Fatalf("%d hazards are %d features, GDAL reads %d", len(entries), len(list), len(got))
	}
	return list
}

// sameAttributes compares the fields of two features, except for the named ones. A format may only
// have text, and dates have various forms.
func sameAttributes(t testing.TB, want, got feature, but ...string) {
	t.Helper()
	skip := map[string]bool{"roles": true}
	for _, name := range but {
		skip[name] = true
	}
	plain := func(all map[string]any) map[string]string {
		out := map[string]string{}
		for name := range want.Properties {
			if skip[name] {
				continue
			}
			switch v := all[name].(type) {
			case nil:
			case string:
				out[name] = moment(strings.ReplaceAll(strings.Trim(strings.Map(printable, v), " \n"), "\r\n", "\n"))
			default:
				text, _ := json.Marshal(v)
				out[name] = string(text)
			}
			if out[name] == "" || out[name] == "{}" { // an empty object is empty text elsewhere, like a missing value
				delete(out, name)
			}
		}
		return out
	}
	if diff := cmp.Diff(plain(want.Properties), plain(got.Properties)); diff != "" {
		t.Errorf("%v differs (-ours +GDAL):\n%s", want.Properties["hazard_Name"], diff)
	}
}

// printable removes characters that XML and C cannot represent.
func printable(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' {
		return -1
	}
	return r
}

// moment returns a date in one form, whatever its form; it returns other text unchanged.
func moment(text string) string {
	for _, form := range []string{time.RFC3339, "2006/01/02 15:04:05Z07", "2006/01/02 15:04:05.999Z07", "2006-01-02T15:04:05Z07"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

func sameGeometry(t testing.TB, name any, want, got geo.Shape) {
	t.Helper()
	if want.GeoJSON() != got.GeoJSON() {
		t.Errorf("%v: ours is %.3000s\nGDAL reads %.3000s", name, want.WKT(), got.WKT())
	}
}

func TestGDALReadsGeoJSON(t *testing.T) {
	forGDAL(t, func(t *testing.T, entries []*format.Entry) {
		got := byGDAL(t, "GeoJSON", format.GeoJSON, nil, entries)
		for i, w := range want(t, entries, got) {
			sameAttributes(t, w, got[i])
			sameGeometry(t, w.Properties["hazard_Name"], shape(t, string(w.Geometry)), shape(t, string(got[i].Geometry)))
			if got[i].ID != entries[i].Hazard.UUID.String() {
				t.Errorf("id %v, want %v", got[i].ID, entries[i].Hazard.UUID)
			}
		}
	})
}

func TestGDALReadsCSV(t *testing.T) {
	forGDAL(t, func(t *testing.T, entries []*format.Entry) {
		got := byGDAL(t, "CSV", format.CSV, nil, entries)
		for i, w := range want(t, entries, got) {
			for name, v := range got[i].Properties { // a sign before the value keeps it from being read as a formula
				if text, ok := v.(string); ok && strings.HasPrefix(text, "'") {
					got[i].Properties[name] = text[1:]
				}
			}
			sameAttributes(t, w, got[i])
			sameGeometry(t, w.Properties["hazard_Name"], shape(t, string(w.Geometry)), shape(t, string(got[i].Geometry)))
		}
	})
}

func TestGDALReadsKML(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	forGDAL(t, func(t *testing.T, entries []*format.Entry) {
		var layers []string
		for _, e := range entries {
			for _, s := range hazard.Severities() {
				if s.Severity == e.Hazard.Severity && (len(layers) == 0 || layers[len(layers)-1] != s.Name) {
					layers = append(layers, s.Name)
				}
			}
		}
		got := byGDAL(t, "LIBKML", format.KML, layers, entries)
		for i, w := range want(t, entries, got) {
			h := entries[i].Hazard
			sameAttributes(t, w, got[i], "description") // KML's own description is HTML
			point := geo.Circle(h.Longitude, h.Latitude, 0)
			all := point
			if s := shape(t, string(w.Geometry)); !s.IsPoint() {
				all = shape(t, `{"type":"GeometryCollection","geometries":[`+point.GeoJSON()+","+s.GeoJSON()+"]}")
			}
			sameGeometry(t, h.Name, all, shape(t, string(got[i].Geometry)))
			begin, _ := got[i].Properties["begin"].(string)
			if want := second(h.Start).Time().Format(time.RFC3339Nano); moment(begin) != want {
				t.Errorf("%s begins %q, want %s", h.Name, begin, want)
			}
			if name := got[i].Properties["Name"]; name != strings.TrimSpace(h.Name) {
				t.Errorf("name %q, want %q", name, h.Name)
			}
		}
	})
}

func TestGDALReadsGeoRSS(t *testing.T) {
	forGDAL(t, func(t *testing.T, entries []*format.Entry) {
		got := byGDAL(t, "GeoRSS", format.Atom, nil, entries)
		for i, w := range want(t, entries, got) {
			h, p := entries[i].Hazard, got[i].Properties
			if p["id"] != "urn:uuid:"+h.UUID.String() || p["title"].(string) == "" || p["category_term"] != string(h.Type) || p["category2_term"] != h.Severity.String() ||
				p["link_href"] != base+"/h/"+h.UUID.String() || p["link2_type"] != "application/cap+xml" {
				t.Errorf("%s is %v", h.Name, p)
			}
			ours, theirs := shape(t, string(w.Geometry)), shape(t, string(got[i].Geometry))
			west, south, east, north := ours.Bounds()
			polygons, lines, points := ours.Polygons(), ours.Lines(), ours.Points()
			switch {
			case len(polygons) == 1 && len(polygons[0]) == 1 && len(lines)+len(points) == 0, len(polygons)+len(points) == 0 && len(lines) == 1:
				sameGeometry(t, h.Name, ours, theirs)
			case len(polygons)+len(lines) > 0 && west < east && south < north: // a box around all
				w2, s2, e2, n2 := theirs.Bounds()
				if [4]float64{west, south, east, north} != [4]float64{w2, s2, e2, n2} {
					t.Errorf("%s: bounds %v %v %v %v, GDAL reads %v %v %v %v", h.Name, west, south, east, north, w2, s2, e2, n2)
				}
			default:
				sameGeometry(t, h.Name, geo.Circle(h.Longitude, h.Latitude, 0), theirs)
			}
		}
	})
}
