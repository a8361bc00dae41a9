package ogc

import (
	"slices"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/format/vectortile"
	"github.com/hazardd/hazardd/internal/hazard"
)

// DangerStyle is the id of the only style.
const DangerStyle = "danger"

// MapboxStyle is the media type of styles for MapLibre and QGIS.
const MapboxStyle = "application/vnd.mapbox.style+json"

// StyleList lists styles (OGC 20-009, section 7).
type StyleList struct {
	Default string        `json:"default"`
	Styles  []StyleLink   `json:"styles"`
	Links   []format.Link `json:"links"`
}

// StyleLink is a style in a list.
type StyleLink struct {
	ID    string        `json:"id"`
	Title string        `json:"title"`
	Links []format.Link `json:"links"`
}

// Styles returns the list of styles at base/ogc/styles.
func Styles(base string) StyleList {
	address := base + "/ogc/styles"
	return StyleList{DangerStyle, []StyleLink{{DangerStyle, "The surface of danger", []format.Link{link(address+"/"+DangerStyle, "stylesheet", MapboxStyle, "For MapLibre and QGIS")}}},
		[]format.Link{link(address, "self", JSON, "This document")}}
}

// Style returns the style of the tiles, as the MapLibre Style Specification (version 8) has it. Its
// expressions are those that QGIS converts: each layer has one severity and one color.
func Style(base string) any {
	opacity := map[string]float64{"WARNING": 0.72, "WATCH": 0.36, "ADVISORY": 0.13}
	var areas, points []any
	for _, s := range slices.Backward(hazard.Severities()) { // the worst lies on top
		color, only := symbol.Hex(s.Colour), []any{"==", []any{"get", "severity"}, s.ID}
		layer := func(name, kind, source string, paint object) object {
			return object{"id": name + "-" + s.ID, "type": kind, "source": "hazards", "source-layer": source, "filter": only, "paint": paint}
		}
		if opacity[s.ID] > 0 {
			areas = append(areas, layer("danger", "fill", vectortile.Danger, object{"fill-color": color, "fill-opacity": opacity[s.ID]}))
		}
		areas = append(areas, layer("outline", "line", vectortile.Danger, object{"line-color": color, "line-width": 1}))
		points = append(points, layer("point", "circle", vectortile.Points,
			object{"circle-color": color, "circle-radius": 4, "circle-stroke-color": "#000000", "circle-stroke-width": 1}))
	}
	return object{"version": 8, "name": "hazardd: the surface of danger", "sources": object{"hazards": object{"type": "vector", "url": base + "/tiles.json"}}, "layers": append(areas, points...)}
}
