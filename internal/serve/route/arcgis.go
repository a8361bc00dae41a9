package route

import ()

// ArcGISPath is where ArcGIS looks for services.
const ArcGISPath = "/arcgis/rest/"

// arcgisError is the error format of ArcGIS, which stands beside the members of a problem.
type arcgisError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Details []string `json:"details"`
}

// The paths of a layer's query: by GET, by POST if it is too long for an address, and with a read
// key.
const (
	ArcGISQueryPath   = ArcGISPath + "services/hazards/FeatureServer/{layer}/query"
	ArcGISQueryByPost = "POST " + ArcGISQueryPath
)
