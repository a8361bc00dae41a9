package geonet

import (
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// feature is an earthquake.
type feature struct {
	Geometry struct {
		Type        string           `json:"type"`
		Coordinates []lenient.Number `json:"coordinates"` // longitude, latitude
	} `json:"geometry"`
	Properties quake `json:"properties"`
}

// quake has the members of a feature (api.geonet.org.nz, "Quakes").
type quake struct {
	PublicID  string         `json:"publicID"`
	Time      string         `json:"time"`  // time of origin, RFC 3339
	Depth     lenient.Number `json:"depth"` // in km
	Magnitude lenient.Number `json:"magnitude"`
	MMI       lenient.Number `json:"mmi"` // calculated for the closest locality; -1 means not felt
	Locality  string         `json:"locality"`
	Quality   string         `json:"quality"` // best, preliminary, automatic, deleted
}

// Parse reads the response of a query as of now. The error is a *source.PayloadError. If its Cut is
// true, the records before the error are good.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{Batch: source.Batch{Current: true}}
	_, err := lenient.Collection{}.Features(payload, "earthquakes", &b, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return f.report(now) })
	})
	return b.Done(), err
}
