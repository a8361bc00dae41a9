package ogc

import (
	"maps"
	"math"
	"strconv"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/vectortile"
)

// WebMercatorQuad is the grid of the tiles, and the id of the only tileset (OGC 17-083r4, annex D.1).
const WebMercatorQuad = "WebMercatorQuad"

// mvt is the media type of tiles.
const mvt = "application/vnd.mapbox-vector-tile"

// quadURI names the grid, and webMercator its reference system.
const (
	quadURI     = "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad"
	webMercator = "http://www.opengis.net/def/crs/EPSG/0/3857"
	relTMS      = "http://www.opengis.net/def/rel/ogc/1.0/tiling-scheme"
	relVector   = "http://www.opengis.net/def/rel/ogc/1.0/tilesets-vector"
	relSchemes  = "http://www.opengis.net/def/rel/ogc/1.0/tiling-schemes"
)

// halfWorld is half the width of the world in Web Mercator, in meters.
const halfWorld = 20037508.342789244

// TileJSON describes tiles (TileJSON 3.0.0).
type TileJSON struct {
	TileJSON    string        `json:"tilejson"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Attribution string        `json:"attribution"`
	Scheme      string        `json:"scheme"`
	Tiles       []string      `json:"tiles"`
	MinZoom     int           `json:"minzoom"`
	MaxZoom     int           `json:"maxzoom"`
	Bounds      [4]float64    `json:"bounds"`
	Layers      []VectorLayer `json:"vector_layers"`
}

// VectorLayer is a layer in TileJSON.
type VectorLayer struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	MinZoom     int               `json:"minzoom"`
	MaxZoom     int               `json:"maxzoom"`
	Fields      map[string]string `json:"fields"`
}

// tileLayer describes a layer of the tiles. dimension is that of its geometry.
type tileLayer struct {
	id, description string
	dimension       int
	fields          map[string]string // what they are
}

func tileLayers() []tileLayer {
	const (
		id, uuid, severity = "Number: hazard_ID", "String: UUID of the hazard", "String: severity_ID"
		kind, category     = "String: type_ID", "String: category_ID"
		place              = "String: exact, code, region, country or point"
		knownAs            = "String: name of the region or country, where place_kind is one of them"
	)
	return []tileLayer{
		{vectortile.Danger, "The surface of danger: per place only the worst level, equal levels as one area.", 2,
			map[string]string{"severity": severity, "worst": "Boolean: a warning of importance 70 or more"}},
		{vectortile.Areas, "The areas of each hazard; as lines the outline of a region that it is somewhere in. Where more than 1,500 meet a tile, those that are easily seen, the most important first.", 2,
			map[string]string{"hazard_ID": id, "uuid": uuid, "severity": severity, "type": kind, "category": category, "place_kind": place, "place_known_as": knownAs}},
		{vectortile.Points, "The point of each hazard. Where more than 200 are in a tile, one stands for others near it.", 0,
			map[string]string{"hazard_ID": id, "uuid": uuid, "rank": "Number: greater is more important, as in sort=importance", "type": kind, "severity": severity, "category": category,
				"importance": "Number: from 0 to 100", "headline": "String: what, how bad, where, until when, in the reader's language", "place_kind": place, "place_known_as": knownAs, "more": "Number: of others of its level near it, which have no point in this tile"}},
	}
}

// NewTileJSON returns the description of tiles with that detail, at an address with {z}, {x} and {y}.
func NewTileJSON(address string, detail vectortile.Detail) TileJSON {
	edge := math.Atan(math.Sinh(math.Pi)) * 180 / math.Pi
	edge = math.Floor(edge*1e6) / 1e6
	t := TileJSON{TileJSON: "3.0.0", Name: "hazardd", Description: "Active hazards: where it is dangerous now, and how bad.", Attribution: "hazardd", Scheme: "xyz",
		Tiles: []string{address}, MaxZoom: vectortile.MaxZoom, Bounds: [4]float64{-180, -edge, 180, edge}}
	for _, l := range tileLayers() {
		if !detail.HasLayer(l.id) {
			continue
		}
		maps.DeleteFunc(l.fields, func(name, _ string) bool { return !detail.HasProperty(name) })
		t.Layers = append(t.Layers, VectorLayer{l.id, l.description, 0, vectortile.MaxZoom, l.fields})
	}
	return t
}

// TilesetList lists tilesets (OGC 20-057, section 9).
type TilesetList struct {
	Links    []format.Link `json:"links"`
	Tilesets []Tileset     `json:"tilesets"`
}

// Tileset describes the tiles of one grid (OGC 17-083r4, section 8).
type Tileset struct {
	Title    string         `json:"title"`
	DataType string         `json:"dataType"`
	CRS      string         `json:"crs"`
	Grid     string         `json:"tileMatrixSetURI"`
	GridID   string         `json:"tileMatrixSetId"`
	Links    []format.Link  `json:"links"`
	Limits   []tileLimits   `json:"tileMatrixSetLimits,omitzero"`
	Layers   []tilesetLayer `json:"layers,omitzero"`
}

type tileLimits struct {
	Matrix string `json:"tileMatrix"`
	MinRow int    `json:"minTileRow"`
	MaxRow int    `json:"maxTileRow"`
	MinCol int    `json:"minTileCol"`
	MaxCol int    `json:"maxTileCol"`
}

type tilesetLayer struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	DataType    string `json:"dataType"`
	Dimension   int    `json:"geometryDimension"`
	Properties  object `json:"propertiesSchema"`
}

// Tilesets returns the list of tilesets at base/ogc/tiles.
func Tilesets(base string) TilesetList {
	t := newTileset(base)
	return TilesetList{[]format.Link{link(base+"/ogc/tiles", "self", JSON, "This document")}, []Tileset{t}}
}

func newTileset(base string) Tileset {
	address := base + "/ogc/tiles/" + WebMercatorQuad
	return Tileset{Title: "Active hazards", DataType: "vector", CRS: webMercator, Grid: quadURI, GridID: WebMercatorQuad, Links: []format.Link{
		link(address, "self", JSON, "The tileset"),
		{Href: address + "/{tileMatrix}/{tileRow}/{tileCol}", Rel: "item", Type: mvt, Title: "A tile", Templated: true},
		link(base+"/ogc/tileMatrixSets/"+WebMercatorQuad, relTMS, JSON, "The grid"),
		link(base+"/tiles.json", "describedby", JSON, "The same tiles as TileJSON"),
	}}
}

// TilesetOf returns the description of the tileset at base/ogc/tiles/WebMercatorQuad.
func TilesetOf(base string) Tileset {
	t := newTileset(base)
	for z := range vectortile.MaxZoom + 1 {
		t.Limits = append(t.Limits, tileLimits{strconv.Itoa(z), 0, 1<<z - 1, 0, 1<<z - 1})
	}
	for _, l := range tileLayers() {
		properties := object{}
		for name, what := range l.fields {
			properties[name] = object{"description": what}
		}
		t.Layers = append(t.Layers, tilesetLayer{l.id, l.description, "vector", l.dimension, object{"type": "object", "properties": properties}})
	}
	return t
}

// GridList lists grids of tiles.
type GridList struct {
	Grids []GridLink `json:"tileMatrixSets"`
}

// GridLink is a grid in a list.
type GridLink struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	URI   string        `json:"uri"`
	Links []format.Link `json:"links"`
}

// TileMatrixSets returns the list of grids at base/ogc/tileMatrixSets.
func TileMatrixSets(base string) GridList {
	return GridList{[]GridLink{{WebMercatorQuad, "Google Maps compatible, Web Mercator", quadURI,
		[]format.Link{link(base+"/ogc/tileMatrixSets/"+WebMercatorQuad, "self", JSON, "The grid")}}}}
}

// Grid is a grid of tiles (OGC 17-083r4, section 6).
type Grid struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	URI      string   `json:"uri"`
	Axes     []string `json:"orderedAxes"`
	CRS      string   `json:"crs"`
	Scales   string   `json:"wellKnownScaleSet"`
	Matrices []matrix `json:"tileMatrices"`
}

type matrix struct {
	ID     string     `json:"id"`
	Scale  float64    `json:"scaleDenominator"`
	Cell   float64    `json:"cellSize"` // meters
	Corner string     `json:"cornerOfOrigin"`
	Origin [2]float64 `json:"pointOfOrigin"`
	Width  int        `json:"tileWidth"` // pixels
	Height int        `json:"tileHeight"`
	Cols   int        `json:"matrixWidth"`
	Rows   int        `json:"matrixHeight"`
}

// Quad returns WebMercatorQuad as far as it has tiles.
func Quad() Grid {
	const tile = 256      // pixels of a tile in the definition of the grid
	const pixel = 0.28e-3 // meters: the standardized pixel of scale denominators
	g := Grid{ID: WebMercatorQuad, Title: "Google Maps compatible, Web Mercator", URI: quadURI, Axes: []string{"X", "Y"}, CRS: webMercator,
		Scales: "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible"}
	for z := range vectortile.MaxZoom + 1 {
		cell := 2 * halfWorld / tile / float64(int(1)<<z)
		g.Matrices = append(g.Matrices, matrix{strconv.Itoa(z), cell / pixel, cell, "topLeft", [2]float64{-halfWorld, halfWorld}, tile, tile, 1 << z, 1 << z})
	}
	return g
}

func zooms() (list []string) {
	for z := range vectortile.MaxZoom + 1 {
		list = append(list, strconv.Itoa(z))
	}
	return list
}

// tilePaths returns the paths of the tiles in the definition of the API. get makes an operation.
func tilePaths(get func(id, summary string, parameters []any, ok object) object) object {
	ref := func(name string) object { return object{"$ref": "#/components/parameters/" + name} }
	answer := func(description, mediaType string) object {
		return object{"description": description, "content": object{mediaType: object{"schema": object{"type": "object"}}}}
	}
	tile := answer("A Mapbox Vector Tile with the layers danger, areas and points", mvt)
	tile["content"] = object{mvt: object{"schema": object{"type": "string", "format": "binary"}}}
	set, style := ref("tileMatrixSetId"), object{"name": "styleId", "in": "path", "required": true, "schema": object{"type": "string", "enum": []string{DangerStyle}}}
	return object{
		"/tiles":                   get("tiles.dataset.vector.getTileSetsList", "The tilesets", nil, answer("The tilesets", JSON)),
		"/tiles/{tileMatrixSetId}": get("tiles.dataset.vector.getTileSet", "The tileset of a grid", []any{set}, answer("The tileset", JSON)),
		"/tiles/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}": get("tiles.dataset.vector.getTile", "A tile of the active hazards", []any{set, ref("tileMatrix"), ref("tileRow"), ref("tileCol")}, tile),
		"/styles":                           get("getStyles", "The styles of the tiles", nil, answer("The styles", JSON)),
		"/styles/{styleId}":                 get("getStyle", "A style of the tiles, for MapLibre and QGIS", []any{style}, answer("The style", MapboxStyle)),
		"/tileMatrixSets":                   get("getTileMatrixSetsList", "The grids of tiles", nil, answer("The grids", JSON)),
		"/tileMatrixSets/{tileMatrixSetId}": get("getTileMatrixSet", "A grid of tiles", []any{set}, answer("The grid", JSON)),
	}
}
