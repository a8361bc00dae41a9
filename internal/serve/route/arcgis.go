package route

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// ArcGISPath is where ArcGIS looks for services.
const ArcGISPath = "/arcgis/rest/"

// The paths of a layer's query: by GET, by POST if it is too long for an address, and with a read
// key.
const (
	ArcGISQueryPath   = ArcGISPath + "services/hazards/FeatureServer/{layer}/query"
	ArcGISQueryByPost = "POST " + ArcGISQueryPath
)

// maxDocumentForm bounds the form by which a document is asked for, in bytes.
const maxDocumentForm = 16 << 10

// asArcGIS makes of a request to ArcGIS' interface what its routes expect. esri-leaflet, OpenLayers
// and others end addresses with a slash, and ask for documents by POST with a form. Other requests
// stay as they are.
func asArcGIS(w http.ResponseWriter, r *http.Request) {
	at := strings.Index(r.URL.Path, ArcGISPath)
	if at < 0 || at > 0 && !strings.HasPrefix(r.URL.Path, KeyPath) {
		return
	}
	address := *r.URL
	address.Path, address.RawPath = strings.TrimRight(r.URL.Path, "/"), ""
	r.URL = &address
	if r.Method != http.MethodPost || strings.HasSuffix(address.Path, "/query") {
		return
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocumentForm))
	if err != nil {
		return
	}
	if _, err := url.ParseQuery(string(body)); err != nil {
		return
	}
	r.Method = http.MethodGet
	r.Header.Del("Content-Type")
	r.Header.Del("If-None-Match") // a 304 is for GET and HEAD only (RFC 9110, section 13.1.2)
	r.Body, r.ContentLength = http.NoBody, 0
	address.RawQuery = strings.Trim(string(body)+"&"+address.RawQuery, "&")
}
