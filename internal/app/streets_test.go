package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/serve/page/browser"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/basemaptest"
)

func TestALayerThatCannotBeShownIsRefusedAtTheStart(t *testing.T) {
	good := browser.Layer{Name: "radar", URL: "https://tiles.example.org/{z}/{x}/{y}.png", Attribution: "The weather service", Opacity: 1}
	for want, change := range map[string]func(*browser.Layer){
		"expected up to 32 of a-z":    func(l *browser.Layer) { l.Name = "Radar 1" },
		"script-src */":               func(l *browser.Layer) { l.URL = "https://a;script-src */{z}/{x}/{y}.png" },
		"expected https://HOST/":      func(l *browser.Layer) { l.URL = "ftp://tiles.example.org/{z}/{x}/{y}.png" },
		"without user, fragment":      func(l *browser.Layer) { l.URL = "https://{s}.example.org/{z}/{x}/{y}.png" },
		"plain http":                  func(l *browser.Layer) { l.URL = "http://tiles.example.org/tiles.json" },
		"attribution: missing":        func(l *browser.Layer) { l.Attribution = "" },
		"min-zoom, max-zoom: 9, 3":    func(l *browser.Layer) { l.MinZoom, l.MaxZoom = 9, 3 },
		"size: 300":                   func(l *browser.Layer) { l.Size = 300 },
		"opacity: 2":                  func(l *browser.Layer) { l.Opacity = 2 },
		"refresh: 15s":                func(l *browser.Layer) { l.Refresh = 15 * time.Second },
		`hosts: "a b"`:                func(l *browser.Layer) { l.Hosts = []string{"a b"} },
		"radar: name: is given twice": func(l *browser.Layer) {},
	} {
		l := good
		change(&l)
		_, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Settings: Settings{DataDir: t.TempDir(), Listen: "127.0.0.1:0", PublicURL: "https://hazards.example.org", Layers: []browser.Layer{good, l}}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "layers: ") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

func TestAnAddressOfABasemapThatCannotBeShownIsRefusedAtTheStart(t *testing.T) {
	for where, want := range map[string]string{
		"ftp://tiles.example.org/city.pmtiles":    "neither a file nor the address of a PMTiles archive",
		"https://a;script-src */city.pmtiles":     "neither a file nor the address of a PMTiles archive",
		"https://u:p@tiles.example.org/x.pmtiles": "without user and fragment",
		"http://tiles.example.org/city.pmtiles":   "plain http",
	} {
		_, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Settings: Settings{DataDir: t.TempDir(), Listen: "127.0.0.1:0", PublicURL: "https://hazards.example.org", Basemap: where}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "basemap: ") {
			t.Errorf("%s: %v; want %q", where, err, want)
		}
	}
}

// A file that is missing, damaged or of another kind stops nothing: the map has no streets, and the service
// says so.
func TestAServerStartsWithoutItsBasemap(t *testing.T) {
	test.Seconds(t)
	raster := basemaptest.Streets()
	raster.Kind = 2
	damaged := filepath.Join(t.TempDir(), "damaged.pmtiles")
	if err := os.WriteFile(damaged, []byte("PMTiles"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(basemaptest.Streets().File(t))
	if err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{raster.File(t): "expected 1 (vector tiles, mvt)", "/nowhere/city.pmtiles": "no such file", damaged: "damaged.pmtiles"} {
		s, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Settings: Settings{DataDir: t.TempDir(), Listen: "127.0.0.1:0", Basemap: where}})
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if found := s.Store.Quarantine.Found()["the basemap"]; found == nil || !strings.Contains(found.Error(), want) {
			t.Errorf("%s: %v; want %q", where, found, want)
		}
		s.Store.Quarantine.Recheck(t.Context())
		if s.Store.Quarantine.Found()["the basemap"] == nil {
			t.Errorf("%s: forgotten", where)
		}
		if where == damaged { // it is repaired
			if err := os.WriteFile(damaged, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			s.Store.Quarantine.Recheck(t.Context())
			if found := s.Store.Quarantine.Found(); len(found) > 0 || s.streets.get() == nil {
				t.Errorf("%v after the repair", found)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
