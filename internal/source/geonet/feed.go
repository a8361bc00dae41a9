package geonet

import (
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// feature is an earthquake.
type feature struct {
	Geometry struct {
		Type        string         `json:"type"`
		Coordinates []frame.Number `json:"coordinates"` // longitude, latitude
	} `json:"geometry"`
	Properties quake `json:"properties"`
}

// quake are the members of a feature (api.geonet.org.nz, "Quakes").
type quake struct {
	PublicID  string       `json:"publicID"`
	Time      string       `json:"time"`  // of origin, RFC 3339
	Depth     frame.Number `json:"depth"` // km
	Magnitude frame.Number `json:"magnitude"`
	MMI       frame.Number `json:"mmi"` // calculated at the closest locality; -1: too slight
	Locality  string       `json:"locality"`
	Quality   string       `json:"quality"` // best, preliminary, automatic, deleted
}

// Parse reads the answer of a query as of now. An error is a *source.PayloadError; what was read before it is good if it is Cut.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := source.Batch{Current: true}
	var rejects source.Rejects
	doc, err := frame.Collection{Want: "GeoJSON", Lists: []string{"features"}, Heads: append([]string{"type"}, frame.Complaints...)}.Read(payload,
		func(where func() string, raw []byte) {
			b.Read++
			var f feature
			notes, err := frame.Decode(raw, &f)
			reason := ""
			if err != nil {
				reason = frame.Fault(err, raw)
			}
			var r hazard.Report
			if reason == "" {
				r, reason = f.report(now)
			}
			if reason != "" {
				rejects.Add(source.Reject{Record: where(), Reason: reason, Raw: source.Keep(raw)})
				return
			}
			r.Notes = append(notes, r.Notes...)
			b.Reports = append(b.Reports, r)
		})
	b.Rejects = rejects.List()
	if err == nil && (doc.Listed == "" || doc.Word("type") != "FeatureCollection") {
		err = source.Errorf("no FeatureCollection with features: %s", doc.Complaint())
	}
	return b, err
}
