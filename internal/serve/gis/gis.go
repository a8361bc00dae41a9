// Package gis serves hazards to programs for maps: OGC API – Features and Tiles, ArcGIS, vector tiles,
// and the tiles of the operator's basemap. The documents of the two interfaces are in the packages ogc and arcgis.
package gis

import (
	"github.com/hazardd/hazardd/internal/atlas/basemap"
	"github.com/hazardd/hazardd/internal/geo/lru"
	"github.com/hazardd/hazardd/internal/serve/gis/arcgis"
	"github.com/hazardd/hazardd/internal/serve/read"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// OGC serves OGC API – Features.
type OGC struct {
	*read.Hazards
	drawn *lru.Cache[string, []drawing] // shapes of active hazards, by digest
}

// NewOGC returns the handlers of OGC API – Features.
func NewOGC(h *read.Hazards) *OGC { return &OGC{h, lru.New[string, []drawing](maxDrawings)} }

// Routes adds OGC API – Features.
func (a *OGC) Routes() {
	a.Readable("GET /ogc", a.ogcLanding)
	a.Readable("GET /ogc/{$}", a.ogcLanding)
	a.Readable("GET /ogc/conformance", a.ogcConformance)
	a.Readable("GET /ogc/api", a.ogcAPI)
	a.Readable("GET /ogc/collections", a.ogcCollections)
	a.Readable("GET /ogc/collections/{collection}", a.ogcCollection)
	a.Readable("GET /ogc/collections/{collection}/queryables", a.ogcQueryables)
	a.Readable("GET /ogc/collections/{collection}/schema", a.ogcSchema)
	a.Readable("GET /ogc/collections/{collection}/items", a.ogcItems)
	a.Readable("GET /ogc/collections/{collection}/items/{hazard}", a.Holds(route.CostOfShapes, a.ogcItem))
}

// ArcGIS serves the feature service of ArcGIS.
type ArcGIS struct{ *read.Hazards }

// Routes adds the feature service.
func (a *ArcGIS) Routes() {
	a.Readable("GET /arcgis/rest/info", a.arcgisDocument(arcgis.Info))
	a.Readable("GET /arcgis/rest/services", a.arcgisDocument(arcgis.Catalog))
	a.Readable("GET /arcgis/rest/services/hazards/FeatureServer", a.arcgisDocument(a.arcgisService))
	a.Readable("GET /arcgis/rest/services/hazards/FeatureServer/layers", a.arcgisDocument(a.arcgisLayers))
	a.Readable("GET /arcgis/rest/services/hazards/FeatureServer/{layer}", a.arcgisLayer)
	a.Readable("GET /arcgis/rest/services/hazards/FeatureServer/{layer}/{object}", a.arcgisFeature)
	a.Readable("GET "+route.ArcGISQueryPath, a.arcgisQuery)
	a.Readable(route.ArcGISQueryByPost, a.arcgisQuery)
	a.Open("POST /key/{key}"+route.ArcGISQueryPath, a.WithKey)
}

// Tiles serves the tiles of the operator's basemap.
type Tiles struct {
	*route.Router
	Streets func() *basemap.Streets // gives nil while there is none
}

// Routes adds the tiles.
func (a *Tiles) Routes() {
	a.Open("GET /basemap/{basemap}/{z}/{x}/{tile}", a.streetTile)
}
