package serve_test

import (
	"bytes"
	"compress/gzip"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	pages "github.com/hazardd/hazardd/internal/serve/page/browser"
	"github.com/hazardd/hazardd/internal/serve/route"
	"github.com/hazardd/hazardd/internal/test/basemaptest"
	"github.com/hazardd/hazardd/web"
)

var basemapMark = regexp.MustCompile(`<meta name="hazardd-basemap" content="([^"]*)">`)

// Once, the map had no roads at city scale.
func TestTheMapIsToldOfStreetsWhichAreServedTileByTile(t *testing.T) {
	if !web.NewHandler().Built() {
		t.Skip("the map is not in this binary")
	}
	archive := basemaptest.Streets()
	for _, public := range []route.Public{"", route.PublicMap} {
		s := start(t, func(c *app.Config) { c.Basemap, c.Public = archive.File(t), public })
		page := s.do("", "GET", "/", nil, "Accept", "text/html")
		mark := basemapMark.FindSubmatch(page.Body)
		if page.Status != http.StatusOK || mark == nil {
			t.Fatalf("public %q: %d, the page does not say where streets are", public, page.Status)
		}
		said := html.UnescapeString(string(mark[1]))
		m := regexp.MustCompile(`"tiles":"(basemap/[A-Za-z0-9_-]+/)\{z\}/\{x\}/\{y\}\.mvt"`).FindStringSubmatch(said)
		if m == nil || !strings.Contains(said, `"bounds":[9,53,11,54]`) || !strings.Contains(said, `"maxzoom":14`) || !strings.Contains(said, "Made by hand") {
			t.Fatalf("it says %s", said)
		}
		if p := page.Header.Get("Content-Security-Policy"); !strings.Contains(p, "connect-src 'self';") {
			t.Errorf("streets of this server need no other origin: %s", p)
		}
		tile := "/" + m[1] + "0/0/0.mvt"
		plain := s.do("", "GET", tile, nil, "Accept-Encoding", "identity")
		if plain.Status != http.StatusOK || !bytes.Equal(plain.Body, archive.Tile) || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d %q %v", plain.Status, plain.Body, plain.Header)
		}
		packed := s.do("", "GET", tile, nil, "Accept-Encoding", "gzip, br")
		if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" || packed.Header.Get("Vary") != "Accept-Encoding" ||
			packed.Header.Get("Content-Type") != "application/vnd.mapbox-vector-tile" {
			t.Errorf("%v", packed.Header)
		}
		if r, err := gzip.NewReader(bytes.NewReader(packed.Body)); err != nil {
			t.Error(err)
		} else if content, err := io.ReadAll(r); err != nil || !bytes.Equal(content, archive.Tile) {
			t.Errorf("%q, %v", content, err)
		}
		if a := s.do("", "HEAD", tile, nil, "Accept-Encoding", "gzip"); a.Status != http.StatusOK || len(a.Body) > 0 {
			t.Errorf("HEAD: %d %q", a.Status, a.Body)
		}
		if a := s.do("", "GET", "/"+m[1]+"14/8647/5303.mvt", nil); a.Status != http.StatusNoContent || len(a.Body) > 0 {
			t.Errorf("a tile that does not exist: %d %q", a.Status, a.Body)
		}
		for _, path := range []string{m[1] + "15/0/0.mvt", m[1] + "0/1/0.mvt", m[1] + "0/0/1.mvt", m[1] + "0/0/0", m[1] + "-1/0/0.mvt", m[1] + "0/0/99999999999999999999.mvt", "basemap/other/0/0/0.mvt"} {
			if a := s.do("", "GET", "/"+path, nil); a.Status != http.StatusNotFound || strings.Contains(a.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %v", path, a.Status, a.Header)
			}
		}
	}
	s := start(t)
	if a := s.do("", "GET", "/", nil, "Accept", "text/html"); basemapMark.Match(a.Body) {
		t.Error("a server without streets announces some")
	}
	if a := s.do("", "GET", "/basemap/x/0/0/0.mvt", nil); a.Status != http.StatusNotFound {
		t.Errorf("a server without streets answers %d", a.Status)
	}
}

func TestTheMapMayReadAnArchiveElsewhereFromThatHostAlone(t *testing.T) {
	if !web.NewHandler().Built() {
		t.Skip("the map is not in this binary")
	}
	s := start(t, func(c *app.Config) {
		c.Basemap, c.Public = "https://tiles.example.org/a/city.pmtiles?x=\"1", route.PublicMap
	})
	page := s.do("", "GET", "/", nil, "Accept", "text/html")
	if p := page.Header.Get("Content-Security-Policy"); !strings.Contains(p, "connect-src 'self' https://tiles.example.org;") {
		t.Error(p)
	}
	mark := basemapMark.FindSubmatch(page.Body)
	if mark == nil || !strings.Contains(html.UnescapeString(string(mark[1])), `"archive":"https://tiles.example.org/a/city.pmtiles`) {
		t.Errorf("%q", mark)
	}
	if a := s.do("", "GET", "/embed", nil); strings.Contains(a.Header.Get("Content-Security-Policy"), "tiles.example.org") {
		t.Error("the widget, which has no map, may connect to the tiles' host")
	}
}

func TestTheMapMayReadLayersFromTheirHostsAlone(t *testing.T) {
	if !web.NewHandler().Built() {
		t.Skip("the map is not in this binary")
	}
	s := start(t, func(c *app.Config) {
		c.Layers = []pages.Layer{
			{Name: "radar", Title: "Radar & rain", URL: "https://radar.example.org:8443/{z}/{x}/{y}.png", Attribution: "The <weather> service", Opacity: 0.6, Refresh: 5 * time.Minute},
			{Name: "wind", URL: "https://radar.example.org:8443/wind.json", Hosts: []string{"tiles.example.org"}, Attribution: "The same", Opacity: 1},
			{Name: "own", URL: "/layers/own.pmtiles", Attribution: "We", Opacity: 1},
		}
	})
	page := s.do("", "GET", "/", nil, "Accept", "text/html")
	if p := page.Header.Get("Content-Security-Policy"); !strings.Contains(p, "connect-src 'self' https://radar.example.org:8443 https://tiles.example.org;") {
		t.Error(p)
	}
	mark := regexp.MustCompile(`<meta name="hazardd-layers" content="([^"]*)">`).FindSubmatch(page.Body)
	if mark == nil {
		t.Fatal("the page does not name the layers")
	}
	said := html.UnescapeString(string(mark[1]))
	for _, want := range []string{`"title":"Radar \u0026 rain","url":"https://radar.example.org:8443/{z}/{x}/{y}.png"`, `"opacity":0.6,"refresh":300`, `"title":"wind"`, `"url":"/layers/own.pmtiles"`} {
		if !strings.Contains(said, want) {
			t.Errorf("%s; want %s", said, want)
		}
	}
}
