// Package ogc provides the documents of OGC API – Features – Part 1: Core (OGC 17-069r4), Part 2:
// Coordinate Reference Systems (OGC 18-058r1) and Part 3: Filtering (OGC 19-079r2), and of OGC API – Tiles – Part 1: Core (OGC 20-057): the landing page, the conformance declaration, the collections, the
// queryables of filters, and the API definition in OpenAPI 3.0. The items themselves are GeoJSON,
// which package format writes.
//
// Documents depend on the address that the caller uses: all their links begin with it, so that
// readers with a key in the address can follow them. Positions are longitude, latitude in WGS 84
// (CRS84) unless another reference system is asked for; times are in UTC.
package ogc

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// The media types of the documents.
const (
	JSON    = "application/json"
	GeoJSON = "application/geo+json"
	HTML    = "text/html"
	OpenAPI = "application/vnd.oai.openapi+json;version=3.0"
)

// Page is a document for people and programs: its title, its links, and its content.
type Page struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []format.Link `json:"links"`
	// Collections is set only on the page of all collections.
	Collections []Collection `json:"collections,omitzero"`
	// CRS names the reference systems of all collections, on the same page.
	CRS []string `json:"crs,omitzero"`
}

// Conformance lists the requirements classes that are met (section 7.4).
type Conformance struct {
	ConformsTo []string `json:"conformsTo"`
}

// Collection describes a set of features (section 7.14).
type Collection struct {
	ID          string        `json:"id"`
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []format.Link `json:"links"`
	Extent      Extent        `json:"extent"`
	ItemType    string        `json:"itemType"`
	CRS         []string      `json:"crs"`
	StorageCRS  string        `json:"storageCrs"`
}

// Extent is the area and the time in which features of a collection may be.
type Extent struct {
	Spatial struct {
		BBox [][]float64 `json:"bbox"`
		CRS  string      `json:"crs"`
	} `json:"spatial"`
	Temporal struct {
		Interval [][]*string `json:"interval"`
		TRS      string      `json:"trs"`
	} `json:"temporal"`
}

// filters maps the feature properties that items can be filtered by (section 7.15.5) to the search
// parameters.
var filters = map[string]string{"type_ID": "type", "severity_ID": "severity", "category_ID": "category", "status": "status", "source": "source"}

// sorts maps the values of sortby to those of the parameter sort of searches.
var sorts = map[string]string{"-severity_rank": "severity", "last_update_time": "last_Update", "-last_update_time": "-last_Update", "start_time": "start_Date", "-start_time": "-start_Date",
	"end_time": "end_Date", "-end_time": "-end_Date", "-importance": "importance", "hazard_ID": "hazard_ID", "-hazard_ID": "-hazard_ID"}

// Sorts lists the values of sortby, apart from measurements.
func Sorts() []string { return slices.Sorted(maps.Keys(sorts)) }

// SortOf returns the parameter sort of a search for a value of sortby, and whether there is one. A
// leading + (or the blank that it is in an address) is the ascending order.
func SortOf(by string) (sort string, ok bool) {
	by = strings.TrimLeft(by, "+ ")
	if sort, ok = sorts[by]; ok {
		return sort, true
	}
	name, descending := strings.CutPrefix(by, "-")
	quantity, ok := strings.CutPrefix(name, query.Measured)
	if _, known := hazard.Quantity(quantity).Info(); !ok || !known {
		return "", false
	}
	if descending {
		quantity = "-" + quantity
	}
	return quantity, true
}

// link returns a link to href, which has that media type.
func link(href, rel, mediaType, title string) format.Link {
	return format.Link{Href: href, Rel: rel, Type: mediaType, Title: title}
}

// selves returns the links of a document to itself in both forms. form is the form of the document.
func selves(address, form, title string) []format.Link {
	links := []format.Link{link(address+"?f=json", "self", JSON, title), link(address+"?f=html", "alternate", HTML, title+", as a page")}
	if form == HTML {
		links[0].Rel, links[1].Rel = "alternate", "self"
	}
	return links
}

// Landing returns the landing page at base/ogc (section 7.2), in the form JSON or HTML.
func Landing(base, form string) Page {
	root := base + "/ogc"
	return Page{
		Title:       "hazardd",
		Description: "Hazards: earthquakes, storms, floods, fires and more; where, how bad, and what is known about them.",
		Links: append(selves(root, form, "This document"),
			link(root+"/api", "service-desc", OpenAPI, "The definition of this API"),
			link(base+"/docs", "service-doc", HTML, "The documentation of the whole service"),
			link(root+"/conformance", "conformance", JSON, "What this API conforms to"),
			link(root+"/collections", "data", JSON, "The collections"),
			link(root+"/tiles?f=json", relVector, JSON, "The surface of danger, as vector tiles"),
			link(root+"/styles?f=json", "http://www.opengis.net/def/rel/ogc/1.0/styles", JSON, "Styles of the tiles, for MapLibre and QGIS"),
			link(root+"/tileMatrixSets?f=json", relSchemes, JSON, "The grids of the tiles"),
			link(base+"/", "related", HTML, "The map")),
	}
}

// Conforms returns the conformance declaration.
func Conforms() Conformance {
	var all []string
	for _, part := range []struct {
		uri     string
		classes []string
	}{
		{"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/", []string{"core", "oas30", "html", "geojson"}},
		{"http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/", []string{"crs"}},
		{"http://www.opengis.net/spec/ogcapi-features-3/1.0/conf/", []string{"queryables", "queryables-query-parameters", "filter", "features-filter"}},
		{"http://www.opengis.net/spec/ogcapi-tiles-1/1.0/conf/", []string{"core", "tileset", "tilesets-list", "dataset-tilesets", "oas30", "mvt"}},
		{"http://www.opengis.net/spec/tms/2.0/conf/", []string{"tilematrixset", "tilematrixsetlimits", "json-tilematrixset", "json-tilematrixsetlimits", "tilesetmetadata", "json-tilesetmetadata"}},
		{"http://www.opengis.net/spec/cql2/1.0/conf/", []string{"cql2-text", "cql2-json", "basic-cql2", "advanced-comparison-operators", "case-insensitive-comparison",
			"basic-spatial-functions", "basic-spatial-functions-plus", "temporal-functions"}},
	} {
		for _, class := range part.classes {
			all = append(all, part.uri+class)
		}
	}
	return Conformance{all}
}

// Collections returns the page of all collections.
func Collections(base, form string) Page {
	p := Page{Title: "Collections", CRS: crs.References(), Description: "The collections of hazards, and of what belongs to them.", Links: selves(base+"/ogc/collections", form, "This document")}
	for _, s := range Sets() {
		c := s.Collection(base, form)
		c.CRS = []string{"#/crs"} // those of the page (OGC 18-058r1, section 6.2)
		p.Collections = append(p.Collections, c)
	}
	return p
}

// Collection describes the set.
func (s *Set) Collection(base, form string) Collection {
	out := Collection{ID: s.ID, Title: s.Title, Description: s.Description, ItemType: "feature", CRS: crs.References(), StorageCRS: crs.CRS84}
	address := base + "/ogc/collections/" + s.ID
	out.Links = append(selves(address, form, "This document"), link(address+"/items", "items", GeoJSON, out.Title), link(address+"/items?f=html", "items", HTML, out.Title+", as a page"),
		link(address+"/schema", "describedby", Schema, "What its features are"),
		link(address+"/schema", "describedBy", Schema, "What its features are, for programs that mind case"), // GDAL before 3.8
		link(address+"/queryables", relQueryables, Schema, "What filters can use"),
		link(address+"/queryables", "queryables", Schema, "What filters can use, as a draft called it")) // GDAL before 3.7 knows no other
	out.Extent.Spatial.BBox, out.Extent.Spatial.CRS = [][]float64{{-180, -90, 180, 90}}, crs.CRS84
	out.Extent.Temporal.Interval, out.Extent.Temporal.TRS = [][]*string{{nil, nil}}, "http://www.opengis.net/def/uom/ISO-8601/0/Gregorian"
	return out
}

// relQueryables is the relation of what can be filtered by (OGC 19-079r2, section 6.2).
const relQueryables = "http://www.opengis.net/def/rel/ogc/1.0/queryables"

// PageLinks returns the links of a page of features (section 7.15.7). values are the parameters of
// the request. cursor is the start of the next page; empty for the last page.
func PageLinks(base, id string, values url.Values, cursor string) []format.Link {
	address := base + "/ogc/collections/" + id + "/items"
	with := func(name, value string) string {
		v := maps.Clone(values)
		v.Set(name, value)
		return address + "?" + v.Encode()
	}
	links := []format.Link{link(with("f", "json"), "self", GeoJSON, "This page"), link(with("f", "html"), "alternate", HTML, "This page, for people"),
		link(base+"/ogc/collections/"+id, "collection", JSON, "The collection"),
		link(base+"/ogc/collections/"+id+"/queryables", relQueryables, Schema, "What filters can use")}
	if cursor != "" {
		links = append(links, link(with("cursor", cursor), "next", GeoJSON, "The next page"))
	}
	return links
}

// ItemLinks returns the links of one feature (section 7.17).
func ItemLinks(base, id, item string) []format.Link {
	collection := base + "/ogc/collections/" + id
	self := collection + "/items/" + url.PathEscape(item)
	return []format.Link{link(self, "self", GeoJSON, "This feature"), link(self+"?f=html", "alternate", HTML, "This feature, for people"), link(collection, "collection", JSON, "The collection")}
}

// Form returns the form that f names: JSON (also "geojson") or HTML. ok is false for any other
// name.
func Form(f string) (form string, ok bool) {
	switch strings.ToLower(f) {
	case "json", "geojson":
		return JSON, true
	case "html":
		return HTML, true
	}
	return "", false
}
