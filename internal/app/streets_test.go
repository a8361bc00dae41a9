package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/test/basemaptest"
)

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
