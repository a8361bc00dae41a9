package app

import (
	"os"
	"path/filepath"
	"testing"
)

// People can subscribe to a country, a state of the US, and the operator's own areas.
func TestRegionsOfSubscriptions(t *testing.T) {
	dir := t.TempDir()
	own := `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"code":"CH-ZH"},"geometry":{"type":"Polygon","coordinates":[[[8.3,47.1],[9,47.1],[9,47.7],[8.3,47.7],[8.3,47.1]]]}}]}`
	if err := os.WriteFile(filepath.Join(dir, "ISO3166-2.geojson"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := NewSources(SourceSettings{Areas: dir})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]bool{"CH-ZH": true, "US-MA": true, "KE": true, "CH-BE": false, "US-XX": false, "XX": false, "": false} {
		if shape, _, ok := s.outline(code); ok != want || ok == shape.IsZero() {
			t.Errorf("%q: %v, want %v", code, ok, want)
		}
	}
}
