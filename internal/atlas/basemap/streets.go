package basemap

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo/lru"
)

// Streets is an archive of the operator's with the streets of a part of the world: an extract of OpenStreetMap with the layers of Protomaps' basemap
// (https://docs.protomaps.com/basemaps/layers). It is immutable and safe for concurrent use. It keeps the file open, and of its content the directories
// alone that were used last: a file that is replaced by another of that name is read on until the next start.
type Streets struct {
	// Name is of the content: two files of one name hold the same tiles.
	Name string
	// MinZoom and MaxZoom are the first and the last with tiles.
	MinZoom, MaxZoom int
	// Bounds are west, south, east and north, in degrees.
	Bounds [4]float64
	// Attribution is what the archive's makers want to be shown, HTML; empty: nothing.
	Attribution string
	// Gzipped reports whether its tiles are compressed with gzip; else they are not.
	Gzipped bool

	archive *Archive
	leaves  *lru.Cache[span, []entry]
	file    *os.File
}

// drawn are the layers that an archive of streets must have: those without which a map would show a city as empty land, or as sea.
var drawn = []string{"earth", "water", "roads", "places"}

const (
	// deepestZoom is the last that a tile can be of: the numbers of deeper ones need more than 64 bits with those above them.
	deepestZoom = 30
	// leafBytes bounds the directories that are kept. One of an archive of all the world is about 1 MB.
	leafBytes  = 32 << 20
	entryBytes = 32
)

// OpenStreets opens an archive and checks that the map can draw it.
func OpenStreets(path string) (s *Streets, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file; expected a PMTiles archive")
	}
	return readStreets(io.NewSectionReader(file, 0, info.Size()), file)
}

func readStreets(data *io.SectionReader, file *os.File) (*Streets, error) {
	h, err := readHead(data)
	if err != nil {
		return nil, err
	}
	readable := []byte{plain, gzipped}
	west, south, east, north := h.bounds[0], h.bounds[1], h.bounds[2], h.bounds[3]
	switch {
	case h.kind != vector:
		return nil, fmt.Errorf("its tiles are of type %d; expected 1 (vector tiles, mvt)", h.kind)
	case !slices.Contains(readable, h.internal) || !slices.Contains(readable, h.compression):
		return nil, fmt.Errorf("its directories and tiles are compressed by %d and %d; expected 1 (none) or 2 (gzip)", h.internal, h.compression)
	case h.minZoom > h.maxZoom || h.maxZoom > deepestZoom:
		return nil, fmt.Errorf("its zooms are %d to %d; expected a first and a last one, of 0 to %d", h.minZoom, h.maxZoom, deepestZoom)
	case !(-180 <= west && west < east && east <= 180 && -90 <= south && south < north && north <= 90):
		return nil, fmt.Errorf("its bounds are %v; expected west, south, east and north within -180, -90, 180 and 90", h.bounds)
	}
	a := &Archive{data: data, leaves: h.leaves.offset, tiles: h.tiles.offset, MaxZoom: h.maxZoom, internal: h.internal}
	if a.root, err = a.directory(h.root); err != nil {
		return nil, fmt.Errorf("its first directory cannot be read: %w", err)
	}
	content, err := a.unpack(h.metadata, h.internal)
	if err != nil {
		return nil, fmt.Errorf("its metadata cannot be read: %w", err)
	}
	var about struct {
		Attribution string `json:"attribution"`
		Layers      []struct {
			ID string `json:"id"`
		} `json:"vector_layers"`
	}
	if err := json.Unmarshal(content, &about); err != nil {
		return nil, fmt.Errorf("its metadata cannot be read: %w", err)
	}
	var layers []string
	for _, l := range about.Layers {
		layers = append(layers, l.ID)
	}
	for _, name := range drawn {
		if !slices.Contains(layers, name) {
			return nil, fmt.Errorf("its layers are %s; expected those of Protomaps' basemap, with %s", strings.Join(layers, ", "), strings.Join(drawn, ", "))
		}
	}
	sum := sha256.New()
	fmt.Fprintln(sum, data.Size())
	for _, part := range []span{{0, 127}, h.root, h.metadata} {
		r, err := a.part(part)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(sum, r); err != nil {
			return nil, err
		}
	}
	return &Streets{
		Name:    base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12]),
		MinZoom: h.minZoom, MaxZoom: h.maxZoom, Bounds: h.bounds, Attribution: about.Attribution, Gzipped: h.compression == gzipped,
		archive: a, leaves: lru.New[span, []entry](leafBytes), file: file,
	}, nil
}

// Tile returns a tile as the archive holds it, read as it is sent; nil: there is no such tile.
func (s *Streets) Tile(z, x, y int) (*io.SectionReader, error) {
	if z < s.MinZoom || z > s.MaxZoom || x < 0 || y < 0 || x >= 1<<z || y >= 1<<z {
		return nil, nil
	}
	at, err := s.archive.find(tileID(z, x, y), s.directory)
	if err != nil || at.length == 0 {
		return nil, err
	}
	return s.archive.part(at)
}

func (s *Streets) directory(at span) ([]entry, error) {
	if list, ok := s.leaves.Get(at); ok {
		return list, nil
	}
	list, err := s.archive.directory(at)
	if err == nil {
		s.leaves.Put(at, list, entryBytes*len(list))
	}
	return list, err
}

// Close closes the file.
func (s *Streets) Close() error { return s.file.Close() }
