// Package arcgis provides the documents of an ArcGIS feature service (GeoServices REST
// Specification, as in ArcGIS Server 10.81): service and layers, queries, and features in Esri's
// JSON.
//
// All requests are read-only. A layer has one kind of geometry, as ArcGIS requires: points (every
// hazard has one), areas, or tracks. Object ids are the numbers of hazards, which never change.
// Positions are longitude and latitude in WGS 84, or in the reference of package crs that a query
// requests.
package arcgis

import (
	"slices"
	"strings"
	"sync"

	"github.com/hazardd/hazardd/internal/atlas/symbol"
	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// version is the release of ArcGIS Server whose answers this package imitates.
const version = 10.81

// The maximum number of features in one answer of a layer of points, and of one of areas or tracks.
// ArcGIS asks for pages side by side, by this number, and takes a shorter page for the last one. So
// a page is never shorter while there is more, and the number is one that fits.
const (
	maxPoints = 2_000
	maxShapes = 500
)

// most returns the maximum number of features in one answer of the layer.
func (l *Layer) most() int {
	if l.Kind == Points {
		return maxPoints
	}
	return maxShapes
}

// objectID is the field of object ids.
const objectID = "hazard_ID"

// Kind is the kind of a layer's geometries, with Esri's name.
type Kind string

// The kinds.
const (
	Points Kind = "esriGeometryPoint"
	Areas  Kind = "esriGeometryPolygon"
	Tracks Kind = "esriGeometryPolyline"
)

// Layer is one layer of the service.
type Layer struct {
	ID          int
	Name        string
	Description string
	Kind        Kind
	Active      bool // only active hazards
}

// Layers returns the layers of the service. The ID of each is its index.
func Layers() []Layer {
	all := []Layer{
		{Name: "Active hazards", Description: "The point of each hazard that goes on.", Kind: Points, Active: true},
		{Name: "Areas of active hazards", Description: "The area of each hazard that goes on and has one.", Kind: Areas, Active: true},
		{Name: "Tracks of active hazards", Description: "The track of each hazard that goes on and has one, and no area.", Kind: Tracks, Active: true},
		{Name: "Hazards", Description: "The point of each hazard, active or over.", Kind: Points},
		{Name: "Areas of hazards", Description: "The area of each hazard that has one, active or over.", Kind: Areas},
		{Name: "Tracks of hazards", Description: "The track of each hazard that has one and no area, active or over.", Kind: Tracks},
	}
	for i := range all {
		all[i].ID = i
	}
	return all
}

// roles returns the values of the field area_role for hazards of the layer; nil means all hazards.
func (l *Layer) roles() []string {
	switch l.Kind {
	case Areas:
		return []string{string(hazard.AlertArea), string(hazard.ImpactArea)}
	case Tracks:
		return []string{string(hazard.TrackArea)}
	}
	return nil
}

// Field is a field of features.
type Field struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Alias    string  `json:"alias"`
	Nullable bool    `json:"nullable"`
	Editable bool    `json:"editable"`
	Length   int     `json:"length,omitzero"` // of texts, in characters
	Domain   *string `json:"domain"`          // always null

	column int          // index in format.Columns; -1: none
	field  *query.Field // the field in conditions; nil: it cannot be used there
}

// The types of fields.
const (
	oidType     = "esriFieldTypeOID"
	textType    = "esriFieldTypeString"
	wholeType   = "esriFieldTypeInteger"
	numberType  = "esriFieldTypeDouble"
	momentType  = "esriFieldTypeDate"
	textLength  = 32_000
	shortLength = 255
)

var fields = sync.OnceValue(func() (all []Field) {
	for i, c := range format.Columns() {
		f := Field{Name: c.Name, Alias: c.Name, Type: textType, Length: shortLength, Nullable: true, column: i}
		if f.field = query.FieldNamed(c.Name, query.Fields()); f.field != nil {
			f.Alias = f.field.Title
		}
		switch {
		case c.Name == objectID:
			f.Type, f.Length, f.Nullable = oidType, 0, false
		case c.Kind == format.WholeColumn && strings.HasPrefix(c.Name, "people"): // may need more than 32 bits
			f.Type, f.Length = numberType, 0
		case c.Kind == format.WholeColumn:
			f.Type, f.Length = wholeType, 0
		case c.Kind == format.RealColumn:
			f.Type, f.Length = numberType, 0
		case c.Kind == format.MomentColumn:
			f.Type, f.Length = momentType, 8
		case slices.Contains([]string{"description", "comment_Text", "headline", "instruction", "roles", "measurements", "note", "importance_reason"}, c.Name):
			f.Length = textLength
		}
		all = append(all, f)
	}
	for _, q := range hazard.Quantities() {
		name := query.Measured + string(q.Name)
		f := query.FieldNamed(name, query.Fields())
		all = append(all, Field{Name: strings.ReplaceAll(name, ".", "_"), Alias: strings.TrimSpace(f.Title + " " + f.Unit), Type: numberType, Nullable: true, column: -1, field: f})
	}
	return all
})

// fieldNamed returns the field with that name, ignoring case; nil if there is none.
func fieldNamed(name string) *Field {
	i := slices.IndexFunc(fields(), func(f Field) bool { return strings.EqualFold(f.Name, name) })
	if i < 0 {
		return nil
	}
	return &fields()[i]
}

// reference is a spatial reference.
type reference struct {
	WKID   int `json:"wkid"`
	Latest int `json:"latestWkid"`
}

func referenceOf(wkid int) reference {
	if wkid == crs.Mercator {
		return reference{102100, crs.Mercator}
	}
	return reference{wkid, wkid}
}

// extent is a box.
type extent struct {
	XMin      float64   `json:"xmin"`
	YMin      float64   `json:"ymin"`
	XMax      float64   `json:"xmax"`
	YMax      float64   `json:"ymax"`
	Reference reference `json:"spatialReference"`
}

var world = extent{-180, -90, 180, 90, referenceOf(crs.WGS84)}

// Info returns the description of the server.
func Info() any {
	return struct {
		Version     float64 `json:"currentVersion"`
		FullVersion string  `json:"fullVersion"`
		Auth        struct {
			TokenBased bool `json:"isTokenBasedSecurity"`
		} `json:"authInfo"`
	}{Version: version, FullVersion: "10.8.1"}
}

type named struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Catalog returns the list of services.
func Catalog() any {
	return struct {
		Version  float64  `json:"currentVersion"`
		Folders  []string `json:"folders"`
		Services []named  `json:"services"`
	}{version, []string{}, []named{{"hazards", "FeatureServer"}}}
}

// short is the entry of a layer in the list of the service.
type short struct {
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Parent     int    `json:"parentLayerId"`
	Visible    bool   `json:"defaultVisibility"`
	Sub        []int  `json:"subLayerIds"`
	MinScale   int    `json:"minScale"`
	MaxScale   int    `json:"maxScale"`
	Type       string `json:"type"`
	Kind       Kind   `json:"geometryType"`
	NoEditMode bool   `json:"supportsDynamicLegends"`
}

// Service describes the service. copyright names the owners of the data.
func Service(copyright string) any {
	out := struct {
		Version     float64   `json:"currentVersion"`
		Title       string    `json:"serviceDescription"`
		Description string    `json:"description"`
		Copyright   string    `json:"copyrightText"`
		Versioned   bool      `json:"hasVersionedData"`
		Most        int       `json:"maxRecordCount"`
		Formats     string    `json:"supportedQueryFormats"`
		Can         string    `json:"capabilities"`
		Reference   reference `json:"spatialReference"`
		Initial     extent    `json:"initialExtent"`
		Full        extent    `json:"fullExtent"`
		Updates     bool      `json:"allowGeometryUpdates"`
		Units       string    `json:"units"`
		Layers      []short   `json:"layers"`
		Tables      []short   `json:"tables"`
	}{Version: version, Title: "Hazards", Description: "Hazards: earthquakes, storms, floods, fires and more; where, how bad, and what is known about them.", Copyright: copyright,
		Most: maxShapes, Formats: "JSON, geoJSON, PBF", Can: "Query", Reference: world.Reference, Initial: world, Full: world, Units: "esriDecimalDegrees", Tables: []short{}}
	for _, l := range Layers() {
		out.Layers = append(out.Layers, short{ID: l.ID, Name: l.Name, Parent: -1, Visible: l.Active, Type: "Feature Layer", Kind: l.Kind})
	}
	return out
}

// Describe describes a layer.
func (l *Layer) Describe(copyright string) any {
	type relations = []struct{}
	return struct {
		Version     float64   `json:"currentVersion"`
		ID          int       `json:"id"`
		Name        string    `json:"name"`
		Type        string    `json:"type"`
		Description string    `json:"description"`
		Copyright   string    `json:"copyrightText"`
		Kind        Kind      `json:"geometryType"`
		Reference   reference `json:"sourceSpatialReference"`
		Extent      extent    `json:"extent"`
		Drawing     any       `json:"drawingInfo"`
		Display     string    `json:"displayField"`
		ObjectID    string    `json:"objectIdField"`
		GlobalID    string    `json:"globalIdField"`
		TypeID      string    `json:"typeIdField"`
		Fields      []Field   `json:"fields"`
		Time        any       `json:"timeInfo"`
		HasM        bool      `json:"hasM"`
		HasZ        bool      `json:"hasZ"`
		Attachments bool      `json:"hasAttachments"`
		Relations   relations `json:"relationships"`
		Templates   relations `json:"templates"`
		Types       relations `json:"types"`
		Indexes     relations `json:"indexes"`
		Most        int       `json:"maxRecordCount"`
		Standard    int       `json:"standardMaxRecordCount"`
		Formats     string    `json:"supportedQueryFormats"`
		Can         string    `json:"capabilities"`
		MinScale    int       `json:"minScale"`
		MaxScale    int       `json:"maxScale"`
		Visible     bool      `json:"defaultVisibility"`
		Statistics  bool      `json:"supportsStatistics"`
		Advanced    bool      `json:"supportsAdvancedQueries"`
		Quantized   bool      `json:"supportsCoordinatesQuantization"`
		Versioned   bool      `json:"isDataVersioned"`
		Queries     any       `json:"advancedQueryCapabilities"`
	}{Version: version, ID: l.ID, Name: l.Name, Type: "Feature Layer", Description: l.Description, Copyright: copyright, Kind: l.Kind, Reference: world.Reference, Extent: world,
		Drawing: l.drawing(), Display: "hazard_Name", ObjectID: objectID, Fields: fields(), Time: map[string]any{"startTimeField": "start_time", "endTimeField": "end_time", "trackIdField": nil,
			"timeReference": map[string]any{"timeZone": "UTC", "respectsDaylightSaving": false}},
		Relations: relations{}, Templates: relations{}, Types: relations{}, Indexes: relations{}, Most: l.most(), Standard: l.most(), Formats: "JSON, geoJSON, PBF", Can: "Query", Visible: l.Active,
		Statistics: true, Advanced: true, Quantized: true, Queries: map[string]bool{"supportsPagination": true, "supportsOrderBy": true, "supportsStatistics": true, "supportsDistinct": true, "useStandardizedQueries": true,
			"supportsReturningQueryExtent": true, "supportsQueryWithDistance": true, "supportsHavingClause": false, "supportsSqlExpression": false}}
}

// drawing returns the style that draws hazards in the colors of their severities.
func (l *Layer) drawing() any {
	type color = [4]int // numbers: bytes would be base64 in JSON
	line := func(c color, width float64) map[string]any {
		return map[string]any{"type": "esriSLS", "style": "esriSLSSolid", "color": c, "width": width}
	}
	var values []any
	for _, s := range hazard.Severities() {
		shade := func(c [3]uint8, opacity int) color { return color{int(c[0]), int(c[1]), int(c[2]), opacity} }
		full := shade(s.Colour, 255)
		var sign any
		switch l.Kind {
		case Points:
			sign = map[string]any{"type": "esriSMS", "style": "esriSMSCircle", "color": full, "size": 9, "outline": line(shade(symbol.Ink(s.Colour), 255), 1)}
		case Areas:
			sign = map[string]any{"type": "esriSFS", "style": "esriSFSSolid", "color": shade(s.Colour, 80), "outline": line(full, 1.5)}
		case Tracks:
			sign = line(full, 2)
		}
		values = append(values, map[string]any{"value": s.ID, "label": s.ID, "description": "", "symbol": sign})
	}
	return map[string]any{"renderer": map[string]any{"type": "uniqueValue", "field1": "severity_ID", "fieldDelimiter": ",", "uniqueValueInfos": values}, "transparency": 0}
}
