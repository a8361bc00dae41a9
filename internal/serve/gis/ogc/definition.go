package ogc

import (
	"maps"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// object is a JSON object.
type object map[string]any

// Definition returns the definition of the API at base/ogc in OpenAPI 3.0 (requirements class
// oas30).
func Definition(base string) any {
	var types, severities, categories []string
	for _, t := range hazard.Types() {
		types = append(types, string(t.ID))
	}
	for _, s := range hazard.Severities() {
		severities = append(severities, s.ID)
	}
	for _, c := range hazard.Categories() {
		categories = append(categories, string(c.ID))
	}
	enum := func(values []string) object { return object{"type": "string", "enum": values} }
	several := func(name, description string, of object) object {
		return object{"name": name, "in": "query", "description": description + " Several are separated by commas.", "style": "form", "explode": false,
			"schema": object{"type": "array", "items": of}}
	}
	one := func(name, description string, schema object) object {
		return object{"name": name, "in": "query", "description": description, "style": "form", "explode": false, "schema": schema} // as required by requirements 18 and 25
	}
	reference := func(name, description string) object {
		return one(name, description, object{"type": "string", "format": "uri", "enum": crs.References(), "default": crs.CRS84})
	}
	answer := func(description, mediaType, schema string) object {
		return object{"description": description, "content": object{mediaType: object{"schema": object{"$ref": "#/components/schemas/" + schema}}, HTML: object{"schema": object{"type": "string"}}}}
	}
	get := func(id, summary string, parameters []any, ok object) object {
		responses := object{"200": ok, "400": object{"$ref": "#/components/responses/bad"}, "403": object{"$ref": "#/components/responses/refused"},
			"404": object{"$ref": "#/components/responses/none"}, "406": object{"$ref": "#/components/responses/form"}}
		return object{"get": object{"operationId": id, "summary": summary, "tags": []string{"features"}, "parameters": parameters, "responses": responses}}
	}
	ref := func(name string) object { return object{"$ref": "#/components/parameters/" + name} }
	f := ref("f")
	problem := func(description string) object {
		return object{"description": description, "content": object{"application/problem+json": object{"schema": object{"type": "object"}}}}
	}
	link := object{"type": "object", "required": []string{"href", "rel"}, "properties": object{"href": object{"type": "string"}, "rel": object{"type": "string"},
		"type": object{"type": "string"}, "title": object{"type": "string"}}}
	links := object{"type": "array", "items": object{"$ref": "#/components/schemas/link"}}
	text := object{"type": "string"}
	feature := object{"type": "object", "required": []string{"type", "geometry", "properties"}, "properties": object{"type": enum([]string{"Feature"}), "id": text,
		"geometry": object{"type": "object", "nullable": true}, "properties": object{"type": "object", "nullable": true}, "links": links}}
	paths := object{
		"/":            get("landing", "The landing page", []any{f}, answer("Where all begins", JSON, "page")),
		"/conformance": get("conformance", "What this API conforms to", []any{f}, answer("The requirements classes", JSON, "conformance")),
		"/api":         get("definition", "This document", []any{f}, object{"description": "OpenAPI 3.0", "content": object{OpenAPI: object{"schema": object{"type": "object"}}}}),
		"/collections": get("collections", "All collections", []any{f}, answer("The collections", JSON, "page")),
	}
	maps.Copy(paths, tilePaths(get))
	// Each collection has its own path, because clients such as GDAL look for the parameters of the
	// path that they read.
	for _, s := range Sets() {
		path, name := "/collections/"+s.ID, camel(s.ID)
		parameters := []any{ref("bbox"), ref("datetime"), ref("limit"), ref("filter"), ref("filter-lang"), ref("filter-crs"), ref("cursor"), ref("crs"), ref("bbox-crs"), ref("properties"), ref("skipGeometry"), f}
		if s.OfHazards {
			parameters = append(parameters, ref("q"), ref("possible"))
		}
		if s.Own == nil {
			parameters = append(parameters, ref("sortby"))
		}
		for _, property := range slices.Sorted(maps.Keys(s.Parameters())) {
			parameters = append(parameters, ref(property))
		}
		// Every property is a parameter that filters by its value (requirement
		// /req/queryables-query-parameters/parameters).
		for _, f := range s.Queryables() {
			if f.Kind != query.PlaceField && s.Parameters()[f.Name] == "" {
				parameters = append(parameters, one(f.Name, f.Title+": this value alone.", object{"type": propertyOf(&f).Type}))
			}
		}
		item := "uuid"
		if s.Own != nil {
			item = "feature"
		}
		paths[path] = get("describe"+name, "About the collection: "+s.Title, []any{f}, answer("The collection", JSON, "collection"))
		paths[path+"/items"] = get("items"+name, "Features of the collection: "+s.Title, parameters, answer("A page of features", GeoJSON, "features"))
		paths[path+"/queryables"] = get("queryables"+name, "What filters of the collection may ask about: "+s.Title, []any{f}, answer("A JSON Schema", Schema, "queryables"))
		paths[path+"/schema"] = get("schema"+name, "What features of the collection are: "+s.Title, []any{f}, answer("A JSON Schema", Schema, "schema"))
		paths[path+"/items/{"+item+"}"] = get("item"+name, "One feature of the collection: "+s.Title, []any{ref(item), ref("crs"), ref("properties"), ref("skipGeometry"), f}, answer("The feature", GeoJSON, "feature"))
	}
	return object{
		"openapi": "3.0.3",
		"info": object{"title": "hazardd features", "version": "1.0.0",
			"description": "Hazards and what belongs to them as OGC API – Features – Parts 1, 2 and 3. The whole service is described at " + base + "/openapi.json."},
		"servers":  []object{{"url": base + "/ogc"}},
		"tags":     []object{{"name": "features"}},
		"paths":    paths,
		"security": []object{{"token": []string{}}, {}},
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
				"description": "Of POST /authorize; or a read-only key in the address, /key/KEY/ogc."}},
			"parameters": object{
				"uuid":        object{"name": "uuid", "in": "path", "required": true, "description": "UUID or number of a hazard.", "schema": text},
				"feature":     object{"name": "feature", "in": "path", "required": true, "description": "Id of a feature.", "schema": text},
				"bbox":        object{"name": "bbox", "in": "query", "description": "West, south, east, north in degrees (CRS84), or the lower and the upper corner in bbox-crs; with six numbers the heights are not looked at. West above east crosses the antimeridian.", "style": "form", "explode": false, "schema": object{"type": "array", "minItems": 4, "maxItems": 6, "items": object{"type": "number"}}},
				"possible":    one("possible", "With a place: also hazards that are only known to be somewhere in a region or country there (place_kind region or country).", object{"type": "boolean", "default": false}),
				"datetime":    one("datetime", "A moment or an interval (RFC 3339), open with .. at either end: features whose time meets it.", text),
				"limit":       one("limit", "The most features of a page. More than 1000 is 1000.", object{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
				"type_ID":     several("type_ID", "Types.", enum(types)),
				"severity_ID": several("severity_ID", "Severities.", enum(severities)),
				"category_ID": several("category_ID", "Categories.", enum(categories)),
				"status":      several("status", "A is active, E is over.", enum([]string{"A", "E"})),
				"source":      several("source", "Names of sources.", text),
				"q":           one("q", "Words in name and description.", text),
				"filter":      one("filter", "A condition on the properties that queryables lists, in CQL2.", text),
				// The last name is from a draft: if it is there, GDAL leaves filters to the server.
				"filter-lang":     one("filter-lang", "The language of the filter.", object{"type": "string", "enum": []string{query.CQL2Text, query.CQL2JSON, query.CQLText}, "default": query.CQL2Text}),
				"filter-crs":      one("filter-crs", "The reference system of positions in the filter.", object{"type": "string", "format": "uri", "enum": crs.References(), "default": crs.CRS84}),
				"crs":             reference("crs", "The reference system of positions in the answer, in its order of axes."),
				"bbox-crs":        reference("bbox-crs", "The reference system of bbox, in its order of axes."),
				"properties":      several("properties", "The properties of features in the answer; without it all.", text),
				"skipGeometry":    one("skipGeometry", "The geometry of features in the answer is null.", object{"type": "boolean", "default": false}),
				"sortby":          one("sortby", "The order: a property, with - before it for the greatest first. "+strings.Join(Sorts(), ", ")+"; or measurements.magnitude and the like.", text),
				"cursor":          one("cursor", "Where the page begins: as the link to it says.", text),
				"tileMatrixSetId": object{"name": "tileMatrixSetId", "in": "path", "required": true, "schema": enum([]string{WebMercatorQuad})},
				"tileMatrix":      object{"name": "tileMatrix", "in": "path", "required": true, "description": "The zoom.", "schema": enum(zooms())},
				"tileRow":         object{"name": "tileRow", "in": "path", "required": true, "description": "The row, from the north.", "schema": object{"type": "integer", "minimum": 0}},
				"tileCol":         object{"name": "tileCol", "in": "path", "required": true, "description": "The column, from the west.", "schema": object{"type": "integer", "minimum": 0}},
				"f":               one("f", "The form of the answer; without it, what Accept asks for.", enum([]string{"json", "html"})),
			},
			"responses": object{
				"bad":     problem("A parameter is wrong or not known: errors name each."),
				"refused": object{"description": "No token, or one that is not good.", "content": object{"text/plain": object{"schema": text}}},
				"none":    problem("No such collection or feature."),
				"form":    problem("None of the forms that Accept asks for."),
			},
			"schemas": object{
				"link":        link,
				"page":        object{"type": "object", "required": []string{"links"}, "properties": object{"title": text, "description": text, "links": links, "collections": object{"type": "array", "items": object{"$ref": "#/components/schemas/collection"}}}},
				"conformance": object{"type": "object", "required": []string{"conformsTo"}, "properties": object{"conformsTo": object{"type": "array", "items": text}}},
				"collection": object{"type": "object", "required": []string{"id", "links"}, "properties": object{"id": text, "title": text, "description": text, "links": links,
					"extent": object{"type": "object"}, "itemType": text, "crs": object{"type": "array", "items": text}}},
				"schema":     object{"type": "object", "required": []string{"$schema", "$id", "type", "properties"}, "properties": object{"$schema": text, "$id": text, "type": enum([]string{"object"}), "properties": object{"type": "object"}}},
				"queryables": object{"type": "object", "required": []string{"$schema", "$id", "type", "properties"}, "properties": object{"$schema": text, "$id": text, "type": enum([]string{"object"}), "title": text, "properties": object{"type": "object"}}},
				"feature":    feature,
				"features": object{"type": "object", "required": []string{"type", "features"}, "properties": object{"type": enum([]string{"FeatureCollection"}),
					"features": object{"type": "array", "items": object{"$ref": "#/components/schemas/feature"}}, "links": links,
					"timeStamp": object{"type": "string", "format": "date-time"}, "numberMatched": object{"type": "integer"}, "numberReturned": object{"type": "integer"}}},
			},
		},
	}
}

// camel returns the id of a collection as a part of an operation's name.
func camel(id string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(id, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
