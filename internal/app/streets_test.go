package app

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/serve/page/browser"
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

func TestABasemapThatCannotBeShownIsRefusedAtTheStart(t *testing.T) {
	raster := basemaptest.Streets()
	raster.Kind = 2
	for where, want := range map[string]string{
		raster.File(t):                            "expected 1 (vector tiles, mvt)",
		"/nowhere/city.pmtiles":                   "no such file",
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
