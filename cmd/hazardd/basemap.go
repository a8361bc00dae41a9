package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/atlas/region"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/net/ranges"
)

type basemapCmd struct {
	Get basemapGetCmd `cmd:"" help:"Cut a region out of a PMTiles archive: streets for the map."`
}

type basemapGetCmd struct {
	Region  string `arg:"" help:"Region: west,south,east,north in degrees, a country such as de, the code of an area such as UGC:TXC029 or one of --areas, or a GeoJSON file."`
	From    string `required:"" placeholder:"FILE|URL" help:"Archive to cut from. Of an address only the needed parts are read; Protomaps has builds of all the world."`
	To      string `default:"basemap.pmtiles" type:"path" placeholder:"FILE" help:"File to write."`
	MaxZoom int    `default:"14" placeholder:"ZOOM" help:"Last zoom: 14 has all streets, 15 buildings too; each zoom more takes about twice the space."`
	Areas   string `type:"path" placeholder:"DIR" help:"Folder of GeoJSON files with your own areas for the codes in alerts, one file per scheme of codes."`
}

// Validate checks the flags.
func (b *basemapGetCmd) Validate() error {
	if b.MaxZoom < 0 || b.MaxZoom > 22 {
		return fmt.Errorf("--max-zoom: %d is not from 0 to 22", b.MaxZoom)
	}
	return nil
}

// basemapWritten is the written archive, as JSON.
type basemapWritten struct {
	File  string `json:"file"`
	Tiles uint64 `json:"tiles"`
	Bytes int64  `json:"bytes"`
	Zoom  int    `json:"max_zoom"`
}

// Run writes the archive. A file of that name is replaced once the new one is complete.
func (b *basemapGetCmd) Run(ctx context.Context, c *console) error {
	area, margin, err := b.area(ctx)
	if err != nil {
		return fmt.Errorf("%q: %w", b.Region, err)
	}
	from, done, err := openTiles(ctx, b.From)
	if err != nil {
		return err
	}
	defer done()
	cut, err := basemap.NewCut(ctx, from, area, margin, b.MaxZoom)
	if err != nil {
		return fmt.Errorf("%s: %w", oneLine(b.From), err)
	}
	c.note("%d tiles up to zoom %d, %d MB", cut.Tiles, cut.MaxZoom, cut.Bytes()>>20)
	size, err := b.write(ctx, c, cut)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was written", oneLine(b.From), err)
	}
	return c.print(basemapWritten{b.To, cut.Tiles, size, cut.MaxZoom}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "wrote %s: %d tiles up to zoom %d, %d bytes; show it with basemap: %s in hazardd.yaml\n", oneLine(b.To), cut.Tiles, cut.MaxZoom, size, oneLine(b.To))
		return err
	})
}

// write writes the archive beside its place, and then moves it there.
func (b *basemapGetCmd) write(ctx context.Context, c *console, cut *basemap.Cut) (size int64, err error) {
	file, err := os.CreateTemp(filepath.Dir(b.To), ".basemap-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	said := c.now()
	err = cut.Write(ctx, file, func(bytes uint64) {
		if c.now().Sub(said) >= 10*time.Second {
			said = c.now()
			c.note("%d of %d MB", bytes>>20, cut.Bytes()>>20)
		}
	})
	if err == nil {
		err = file.Sync()
	}
	info, statErr := file.Stat()
	if err = errors.Join(err, statErr, file.Close()); err != nil {
		return 0, err
	}
	if err := os.Chmod(file.Name(), 0o644); err != nil { // what it holds is public
		return 0, err
	}
	return info.Size(), os.Rename(file.Name(), b.To)
}

// openTiles opens a file or an address.
func openTiles(ctx context.Context, where string) (from *io.SectionReader, done func(), err error) {
	if u, err := url.Parse(where); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		remote, err := ranges.Open(ctx, &http.Client{Transport: transport}, where)
		if err != nil {
			return nil, nil, err
		}
		return remote.Section(), transport.CloseIdleConnections, nil
	}
	file, err := os.Open(where)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file; expected a PMTiles archive", where)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return io.NewSectionReader(file, 0, info.Size()), func() { _ = file.Close() }, nil // only read
}

// countryMargin is how far, in degrees, the outline of a country may be wrong (region.Outline).
const countryMargin = 0.2

// area returns the region, and how many degrees around it belong to it.
func (b *basemapGetCmd) area(ctx context.Context) (geo.Shape, float64, error) {
	text := strings.TrimSpace(b.Region)
	if strings.Count(text, ",") == 3 {
		west, south, east, north, err := geo.ParseBBox(text)
		return geo.Box{West: west, South: south, East: east, North: north}.Shape(), 0, err
	}
	if s := region.Outline(text); !s.IsZero() {
		return s, countryMargin, nil
	}
	var finder region.Finder
	if b.Areas != "" {
		own, err := region.ReadFolder(b.Areas)
		if err != nil {
			return geo.Shape{}, 0, err
		}
		finder.Own = func() *region.Own { return own }
	}
	if s, ok := finder.Shape(ctx, text); ok {
		return s, 0, nil
	}
	if ext := strings.ToLower(filepath.Ext(text)); ext == ".geojson" || ext == ".json" {
		content, err := os.ReadFile(text)
		if err != nil {
			return geo.Shape{}, 0, err
		}
		s, err := geo.ParseGeoJSON(content)
		return s, 0, err
	}
	return geo.Shape{}, 0, errors.New("not a region; expected west,south,east,north in degrees, a country such as de, the code of an area such as UGC:TXC029, or a GeoJSON file")
}
