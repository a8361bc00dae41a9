package geo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sharedFile returns a file of the shared test material, which is not part of the repository.
func sharedFile(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("HAZARDD_SHARED")
	if dir == "" {
		t.Skip("HAZARDD_SHARED is not set: no shared test vectors")
	}
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type vector struct {
	V      json.RawMessage `json:"v"`
	Expect string          `json:"expect"`
	Why    string          `json:"why"`
}

func (v vector) text(t *testing.T) string {
	var s string
	if err := json.Unmarshal(v.V, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSharedVectors(t *testing.T) {
	var groups struct{ WKT, GeoJSON, BBox []vector }
	if err := json.Unmarshal(sharedFile(t, "vectors/geo/cases.json"), &groups); err != nil {
		t.Fatal(err)
	}
	run := func(group string, vectors []vector, parse func(*testing.T, vector) (string, error)) {
		if len(vectors) == 0 {
			t.Errorf("no vectors of group %s", group)
		}
		for _, v := range vectors {
			name := string(v.V)
			t.Run(group+"/"+name[:min(len(name), 60)], func(t *testing.T) {
				got, err := parse(t, v)
				choice, _, _ := strings.Cut(v.Expect, " ")
				t.Logf("%s (%s): %.200s, %v", v.Expect, v.Why, got, err)
				switch choice {
				case "accept":
					if err != nil {
						t.Errorf("refused %.200s (%s): %v", name, v.Why, err)
					}
				case "refuse", "refuse-or-null":
					if err == nil {
						t.Errorf("took %.200s (%s) as %s", name, v.Why, got)
					}
				case "accept-or-refuse", "refuse-or-repair", "refuse-or-ignore":
				default:
					t.Errorf("expect %q is not known to this test", v.Expect)
				}
			})
		}
	}
	run("wkt", groups.WKT, func(t *testing.T, v vector) (string, error) {
		s, err := ParseWKT(v.text(t))
		return s.WKT(), err
	})
	run("geojson", groups.GeoJSON, func(t *testing.T, v vector) (string, error) {
		s, err := ParseGeoJSON(v.V)
		return s.GeoJSON(), err
	})
	run("bbox", groups.BBox, func(t *testing.T, v vector) (string, error) {
		_, _, _, _, err := ParseBBox(v.text(t))
		return "", err
	})
}
