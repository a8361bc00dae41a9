package basemap_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/test/basemaptest"
)

func TestTilesOfStreetsAreReadAsTheyAre(t *testing.T) {
	for name, change := range map[string]func(*basemaptest.Archive){
		"as tools write it":              func(*basemaptest.Archive) {},
		"without compression":            func(a *basemaptest.Archive) { a.Internal, a.Compression = 1, 1 },
		"with directories of two levels": func(a *basemaptest.Archive) { a.Leaf = true },
	} {
		t.Run(name, func(t *testing.T) {
			archive := basemaptest.Streets()
			change(&archive)
			s, err := basemap.OpenStreets(archive.File(t))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if s.MinZoom != 0 || s.MaxZoom != 14 || s.Bounds != [4]float64{9, 53, 11, 54} || s.Attribution != "<b>Made by hand</b>" || s.Gzipped != (archive.Compression == 2) {
				t.Errorf("%+v", s)
			}
			for range 2 { // the second time from the cached directory
				tile, err := s.Tile(0, 0, 0)
				if err != nil || tile == nil {
					t.Fatalf("%v, %v", tile, err)
				}
				var r io.Reader = tile
				if s.Gzipped {
					if r, err = gzip.NewReader(tile); err != nil {
						t.Fatal(err)
					}
				}
				if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, archive.Tile) {
					t.Errorf("%q, %v", content, err)
				}
			}
			for _, at := range [][3]int{{1, 0, 0}, {14, 8647, 5303}, {15, 0, 0}, {0, 1, 0}, {0, 0, -1}, {-1, 0, 0}} {
				if tile, err := s.Tile(at[0], at[1], at[2]); tile != nil || err != nil {
					t.Errorf("%v: %v, %v; the archive does not hold it", at, tile, err)
				}
			}
		})
	}
}

func TestTheNameOfStreetsIsOfTheirContent(t *testing.T) {
	name := func(a basemaptest.Archive) string {
		s, err := basemap.OpenStreets(a.File(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Name
	}
	other := basemaptest.Streets()
	other.Tile = append(other.Tile, '!')
	if a, b := name(basemaptest.Streets()), name(basemaptest.Streets()); a != b || a == "" {
		t.Errorf("the same archive has the tags %q and %q", a, b)
	}
	if a, b := name(basemaptest.Streets()), name(other); a == b {
		t.Errorf("two archives are both %q", a)
	}
}

func TestAnArchiveThatTheMapCannotDrawIsRefused(t *testing.T) {
	for want, change := range map[string]func(*basemaptest.Archive){
		"not a PMTiles archive of version 3": func(a *basemaptest.Archive) { a.Version = 2 },
		"expected 1 (vector tiles, mvt)":     func(a *basemaptest.Archive) { a.Kind = 2 },
		"expected 1 (none) or 2 (gzip)":      func(a *basemaptest.Archive) { a.Compression = 4 },
		"its zooms are 9 to 3":               func(a *basemaptest.Archive) { a.Zooms = [2]byte{9, 3} },
		"its zooms are 0 to 31":              func(a *basemaptest.Archive) { a.Zooms = [2]byte{0, 31} },
		"its bounds are [9 53 9 54]":         func(a *basemaptest.Archive) { a.Bounds[2] = a.Bounds[0] },
		"its bounds are [-200":               func(a *basemaptest.Archive) { a.Bounds[0] = -2000000000 },
		"its layers are transportation, water; expected those of Protomaps' basemap, with earth": func(a *basemaptest.Archive) {
			a.Metadata = `{"vector_layers":[{"id":"transportation"},{"id":"water"}]}`
		},
		"its metadata cannot be read": func(a *basemaptest.Archive) { a.Metadata = "no JSON" },
	} {
		a := basemaptest.Streets()
		change(&a)
		path := a.File(t)
		if _, err := basemap.OpenStreets(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
	whole := basemaptest.Streets().Bytes()
	for cut := range whole {
		path := filepath.Join(t.TempDir(), "cut.pmtiles")
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := basemap.OpenStreets(path); err == nil {
			t.Fatalf("an archive that is truncated after %d of %d bytes is accepted", cut, len(whole))
		}
	}
	if _, err := basemap.OpenStreets(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := basemap.OpenStreets("/nowhere/streets.pmtiles"); err == nil {
		t.Error("nothing is taken")
	}
}
