package region

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
)

// Limits of an operator's folder.
const (
	maxOwnFiles = 100
	maxOwnBytes = 256 << 20 // of all files together
	maxOwnAreas = 100_000   // they are kept in memory
)

// Own are areas of an operator, by code. They are immutable, and nil has none.
type Own struct{ areas map[Code]geo.Shape }

// Len returns the number of codes.
func (o *Own) Len() int {
	if o == nil {
		return 0
	}
	return len(o.areas)
}

// ReadFolder reads the areas in a folder of GeoJSON files, one for each scheme: its name without .geojson or .json is that of the
// scheme, as alerts write it, in any case of letters. A file is a FeatureCollection whose features have the property code, and may have
// name; features of one code are one area. Other files, and what begins with a dot, are passed over. An error names the file and, by
// its index, the feature.
func ReadFolder(dir string) (*Own, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	o := &Own{areas: map[Code]geo.Shape{}}
	files, left := 0, int64(maxOwnBytes)
	for _, e := range entries {
		ext := strings.ToLower(filepath.Ext(e.Name()))
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext != ".geojson" && ext != ".json" {
			continue
		}
		if files++; files > maxOwnFiles {
			return nil, fmt.Errorf("%s: more than %d files of areas", dir, maxOwnFiles)
		}
		path := filepath.Join(dir, e.Name())
		n, err := o.read(path, e.Name()[:len(e.Name())-len(ext)], left)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		left -= n
	}
	if len(o.areas) == 0 {
		return nil, fmt.Errorf("%s: no areas: expected files such as EMMA_ID.geojson, each a FeatureCollection", dir)
	}
	return o, nil
}

// read reads the file of a scheme of at most left bytes, and returns how many it has.
func (o *Own) read(path, scheme string, left int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() // read only
	text, err := io.ReadAll(io.LimitReader(f, left+1))
	if err != nil {
		return 0, err
	}
	if int64(len(text)) > left {
		return 0, fmt.Errorf("the folder has more than %d MB of areas: simplify them", maxOwnBytes>>20)
	}
	var doc struct {
		Type     string `json:"type"`
		Features []struct {
			Properties struct {
				Code any `json:"code"`
			} `json:"properties"`
			Geometry json.RawMessage `json:"geometry"`
		} `json:"features"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return 0, fmt.Errorf("not the GeoJSON that is expected: %w", err)
	}
	if doc.Type != "FeatureCollection" {
		return 0, fmt.Errorf("type: %.40q, expected FeatureCollection", doc.Type)
	}
	parts := map[Code][]geo.Shape{}
	for i, feature := range doc.Features {
		var code string
		switch v := feature.Properties.Code.(type) {
		case string:
			code = strings.TrimSpace(v)
		case float64:
			return 0, fmt.Errorf("features/%d/properties/code: the number %v, expected text: zeros at its beginning would be lost", i, v)
		}
		if code == "" {
			return 0, fmt.Errorf("features/%d/properties/code: missing or empty, expected the code as alerts write it", i)
		}
		s, err := geo.ParseLoose(feature.Geometry)
		if err != nil {
			return 0, fmt.Errorf("features/%d (%s): geometry: %w", i, code, err)
		}
		if len(s.Polygons()) == 0 {
			return 0, fmt.Errorf("features/%d (%s): geometry: expected a Polygon or MultiPolygon with an area", i, code)
		}
		c := ParseCode(scheme + ":" + code)
		parts[c] = append(parts[c], s)
	}
	for c, list := range parts {
		if len(o.areas) >= maxOwnAreas {
			return 0, fmt.Errorf("more than %d areas in the folder", maxOwnAreas)
		}
		if _, ok := o.areas[c]; ok {
			return 0, fmt.Errorf("%s: another file has an area of this code too", c.Code)
		}
		s, err := geo.Union(list...)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", c.Code, err)
		}
		o.areas[c] = s
	}
	return int64(len(text)), nil
}

// Finder finds areas by codes as reports name places: an operator's own first, then those that are built in. The zero value has the
// built-in ones alone. Own may give nil.
type Finder struct{ Own func() *Own }

// Shape returns the area of a code, and whether it is known.
func (f Finder) Shape(_ context.Context, code string) (geo.Shape, bool) {
	c := ParseCode(code)
	if f.Own != nil {
		if own := f.Own(); own != nil {
			if s, ok := own.areas[c]; ok {
				return s, true
			}
		}
	}
	return Area(c)
}

// maxOutlined is of how many countries an outline is made at most: places of more say nothing.
const maxOutlined = 12

// OutlineOf returns the outline of the countries that stand in for places whose areas are not known, and the countries: those that the
// codes name, else the country, else those at home. The zero Shape is returned where nothing tells the country.
func OutlineOf(codes []string, country string, home []string) (geo.Shape, []Country) {
	var named []Country
	add := func(code string) {
		c, ok := CountryByCode(code)
		if ok && !slices.ContainsFunc(named, func(n Country) bool { return n.Code == c.Code }) {
			named = append(named, c)
		}
	}
	for _, code := range codes {
		add(countryOfCode(code))
	}
	if len(named) == 0 {
		add(country)
	}
	if len(named) == 0 {
		for _, code := range home {
			add(code)
		}
	}
	if len(named) == 0 || len(named) > maxOutlined {
		return geo.Shape{}, nil
	}
	slices.SortFunc(named, func(a, b Country) int { return cmp.Compare(a.Code, b.Code) })
	shapes := make([]geo.Shape, len(named))
	for i, c := range named {
		shapes[i] = Outline(c.Code)
	}
	if len(shapes) == 1 {
		return shapes[0], named
	}
	all, err := geo.Union(shapes...)
	if err != nil { // nothing to join
		return geo.Shape{}, nil
	}
	return all, named
}
