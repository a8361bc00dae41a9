// Package areafile reads areas from common file formats: GeoJSON, KML, KMZ, GML, and shapefiles in
// ZIP archives.
//
// Files come from outside: decompression and memory use have limits, whatever a file says about
// itself. Errors are *hazard.InvalidError. They name the member of the archive, the position in it,
// and what was expected.
package areafile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/shapefile"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Limits of a file.
const (
	MaxFile      = 4 << 20  // bytes
	maxUnpacked  = 16 << 20 // bytes of a decompressed member of an archive
	maxAreas     = 200
	maxPositions = geo.MaxPositions // of all areas together; the area of a hazard has the same limit
	maxMembers   = 100
	maxFeatures  = 10_000
	maxSteps     = 12_000_000 // of work on all areas together (geo/work.go), about 300 ms
	maxName      = 200        // bytes
)

// Area is an area of a file.
type Area struct {
	Name  string // its name in the file, or ""
	Shape geo.Shape
}

// File is the content of a file.
type File struct {
	Format string // "GeoJSON", "KML", "GML", "shapefile"
	Areas  []Area // at least one, in the order of the file
	Whole  geo.Shape
	// Left is the number of features without an area, points and lines, that were left out.
	Left int
}

// Read reads the areas of a file. It recognizes the format by the content, and repairs areas in the
// same way as those of feeds (geo.ParseLoose).
func Read(doc []byte) (*File, error) {
	c := &collector{}
	if err := c.file(doc); err != nil {
		return nil, &hazard.InvalidError{Faults: []hazard.Fault{{Detail: hazard.CleanLine(err.Error())}}}
	}
	f := &File{Format: c.format, Areas: c.areas, Left: c.left}
	all := make([]geo.Shape, len(c.areas))
	for i, a := range c.areas {
		all[i] = a.Shape
	}
	var err error
	f.Whole, err = geo.Union(all...)
	return f, err
}

// collector collects the areas of a file.
type collector struct {
	format string
	areas  []Area
	read   int // positions so far
	steps  int // of work so far
	left   int
}

const expected = "expected GeoJSON, KML, KMZ, GML, or a shapefile in a ZIP archive"

func (c *collector) file(doc []byte) error {
	var err error
	if shapefile.IsArchive(doc) {
		err = c.archive(doc)
	} else {
		err = c.text(doc)
	}
	if err == nil && len(c.areas) == 0 {
		err = errors.New("the file has no areas, expected polygons")
		if c.left > 0 {
			err = fmt.Errorf("the file has no areas, only %d points or lines, expected polygons", c.left)
		}
	}
	return err
}

// text reads a file that is not an archive.
func (c *collector) text(doc []byte) error {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
	begin := bytes.TrimLeft(doc, " \t\r\n")
	switch {
	case len(begin) == 0:
		return fmt.Errorf("the file is empty, %s", expected)
	case begin[0] == '{':
		c.format = "GeoJSON"
		return c.geoJSON(doc)
	case begin[0] == '<' || bytes.HasPrefix(doc, []byte{0xff, 0xfe}) || bytes.HasPrefix(doc, []byte{0xfe, 0xff}):
		return c.xml(doc)
	case bytes.HasPrefix(doc, []byte{0, 0, 0x27, 0x0a}):
		return errors.New("it is a part of a shapefile, expected a ZIP archive of .shp, .dbf and .prj")
	}
	return fmt.Errorf("it begins with %q, %s", hazard.CleanLine(string(begin[:min(len(begin), 20)])), expected)
}

// archive reads the shapefiles of an archive. If there are none, it reads the first member that is
// a text with areas, such as the KML of a KMZ.
func (c *collector) archive(doc []byte) error {
	z, err := zip.NewReader(bytes.NewReader(doc), int64(len(doc)))
	if err != nil {
		return fmt.Errorf("the archive cannot be read: %w", err)
	}
	if len(z.File) > maxMembers {
		return fmt.Errorf("%d files in the archive, expected at most %d", len(z.File), maxMembers)
	}
	var text *zip.File
	for _, f := range z.File {
		switch strings.ToLower(path.Ext(f.Name)) {
		case ".shp":
			c.format = "shapefile"
			layers, err := shapefile.Read(doc)
			if err != nil {
				return err
			}
			for _, l := range layers {
				for i, feature := range l.Features {
					if err := c.feature(feature); err != nil {
						return fmt.Errorf("%s.shp: shape %d: %w", l.Name, i+1, err)
					}
				}
			}
			return nil
		case ".kml", ".gml", ".geojson", ".json":
			if text == nil {
				text = f
			}
		}
	}
	if text == nil {
		return errors.New("the archive has no file with areas, expected .kml, .gml, .geojson, or .shp with .dbf and .prj")
	}
	r, err := text.Open()
	if err != nil {
		return fmt.Errorf("%s: %w", text.Name, err)
	}
	content, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("%s: %w", text.Name, err)
	}
	if len(content) > maxUnpacked {
		return fmt.Errorf("%s has more than %d bytes after decompression", text.Name, maxUnpacked)
	}
	if err := c.text(content); err != nil {
		return fmt.Errorf("%s: %w", text.Name, err)
	}
	return nil
}

// areal lists the types of geometries that may have an area.
var areal = map[string]bool{"Polygon": true, "MultiPolygon": true, "GeometryCollection": true}

// positionsIn counts the positions of a geometry in GeoJSON: the arrays that begin with a number.
func positionsIn(geometry []byte) (n int) {
	for rest := geometry; ; n++ {
		var found bool
		for {
			if _, rest, found = bytes.Cut(rest, []byte("[")); !found {
				return n
			}
			if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 && (rest[0] == '-' || '0' <= rest[0] && rest[0] <= '9') {
				break
			}
		}
	}
}

// add adds a geometry in GeoJSON. It leaves out a geometry without an area. What it costs to repair
// areas grows with their positions, so they are counted before.
func (c *collector) add(name string, geometry []byte) error {
	var is object
	if err := json.Unmarshal(geometry, &is, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err == nil && is.Type != "" && !areal[is.Type] {
		c.left++
		return nil
	}
	if c.read += positionsIn(geometry); c.read > maxPositions {
		return fmt.Errorf("more than %d positions; simplify the areas", maxPositions)
	}
	if len(c.areas) == maxAreas {
		return fmt.Errorf("more than %d areas", maxAreas)
	}
	s, steps, err := geo.ParseLooseCost(geometry)
	if err != nil {
		return err
	}
	if c.steps += steps; c.steps > maxSteps {
		return errors.New("the sides of the areas cross each other too often; simplify the areas")
	}
	if s.AreaKm2() == 0 {
		c.left++
		return nil
	}
	if len(s.Lines())+len(s.Points()) > 0 {
		if s, err = geo.Union(s); err != nil { // removes them
			return err
		}
	}
	c.areas = append(c.areas, Area{shortened(hazard.CleanLine(name)), s})
	return nil
}

func shortened(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "") + "…"
}

// object is a GeoJSON feature, collection or geometry.
type object struct {
	Type       string                    `json:"type"`
	Features   []jsontext.Value          `json:"features"`
	Geometry   jsontext.Value            `json:"geometry"`
	Properties map[string]jsontext.Value `json:"properties"`
	CRS        *struct {
		Properties struct {
			Name string `json:"name"`
		} `json:"properties"`
	} `json:"crs"`
}

func (c *collector) geoJSON(doc []byte) error {
	var o object
	if err := json.Unmarshal(doc, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("it is not GeoJSON: %w", err)
	}
	if o.CRS != nil {
		if name := o.CRS.Properties.Name; !strings.HasSuffix(name, "CRS84") && !strings.HasSuffix(name, ":4326") {
			return fmt.Errorf("crs: %q, expected degrees of WGS 84 (RFC 7946)", name)
		}
	}
	if o.Type != "FeatureCollection" {
		return c.feature(doc)
	}
	if len(o.Features) > maxFeatures {
		return fmt.Errorf("%d features, expected at most %d", len(o.Features), maxFeatures)
	}
	for i, f := range o.Features {
		if err := c.feature(f); err != nil {
			return fmt.Errorf("feature %d: %w", i+1, err)
		}
	}
	return nil
}

// names are properties that may contain the name of a feature, best first.
var names = []string{"name", "title", "label", "nam", "id"}

// feature reads a feature or a bare geometry.
func (c *collector) feature(value []byte) error {
	var o object
	if err := json.Unmarshal(value, &o, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return fmt.Errorf("it is not GeoJSON: %w", err)
	}
	switch {
	case o.Type == "" || o.Type == "FeatureCollection":
		return fmt.Errorf("type: %q, expected a Feature or a geometry", o.Type)
	case o.Type != "Feature":
		return c.add("", value)
	case len(o.Geometry) == 0 || o.Geometry.Kind() == 'n':
		c.left++
		return nil
	}
	name, from, best := "", "", len(names)+1
	for key, v := range o.Properties {
		i := slices.Index(names, strings.ToLower(key))
		if i < 0 && strings.HasSuffix(strings.ToLower(key), "name") { // poly_IncidentName
			i = len(names)
		}
		var text string
		if i >= 0 && (i < best || i == best && key < from) && v.Kind() == '"' && json.Unmarshal(v, &text) == nil && text != "" {
			name, from, best = text, key, i
		}
	}
	return c.add(name, o.Geometry)
}
