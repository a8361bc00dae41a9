package emsc

import (
	"cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// maxBytes bounds a payload. The polled query has 120 kB; the 430 recorded earthquakes of a month and a region have 256 kB.
const maxBytes = 16 << 20

// feature is an earthquake as the portal sends it (seismicportal.eu/fdsn-wsevent.html; the members
// are not documented, so these descriptions are from recordings). Members without a field here are
// not read.
type feature struct {
	// ID is the same as properties.unid.
	ID         string     `json:"id"`
	Geometry   geometry   `json:"geometry"`
	Properties properties `json:"properties"`
}

type geometry struct {
	Type string `json:"type"`
	// Coordinates are longitude and latitude in degrees, and the *height* in km: a depth of 15 km
	// is -15, while FDSN services and properties.depth use 15.
	Coordinates []lenient.Number `json:"coordinates"`
}

type properties struct {
	// UNID is the portal's name of the event: the day and a number on that day, "20250426_0000198".
	UNID string `json:"unid"`
	// SourceID is the event's number in SourceCatalog. In "EMSC-RTS" (real time system), it is the
	// number of the event's page at emsc-csem.org.
	SourceID      string `json:"source_id"`
	SourceCatalog string `json:"source_catalog"`
	// Time and LastUpdate are ISO 8601 in UTC with "Z" and one to six decimals of a second.
	Time       string `json:"time"`
	LastUpdate string `json:"lastupdate"`
	// Region is the name of the Flinn-Engdahl region, in capitals: "DODECANESE ISLANDS, GREECE".
	Region string         `json:"flynn_region"`
	Lat    lenient.Number `json:"lat"`
	Lon    lenient.Number `json:"lon"`
	// Depth is in km below sea level.
	Depth lenient.Number `json:"depth"`
	// EvType says how certain (k known, s suspected) and what kind the event is: e earthquake, m
	// mine explosion …
	EvType string `json:"evtype"`
	// Auth is the network whose solution this is: "EMSC" for the center's own, otherwise "AFAD",
	// "NOA" …
	Auth    string         `json:"auth"`
	Mag     lenient.Number `json:"mag"`
	MagType string         `json:"magtype"`
}

// Parse reads a FeatureCollection (the response of a query), a Feature, or a message of the
// WebSocket ({"action":…,"data":…}), which it recognizes by their members.
//
// The error, if any, is a *source.PayloadError. The Batch still contains the part before the error.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := lenient.Batch{ID: func(raw []byte) string {
		return cmp.Or(eventID(lenient.Word(lenient.Member(lenient.Member(raw, "properties"), "unid"))), eventID(lenient.Word(lenient.Member(raw, "id"))))
	}}
	record := func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return f.report(now) })
	}
	doc, err := lenient.Collection{Heads: []string{"action", "data"}}.Features(payload, "earthquakes", &b, record)
	if action := doc.Head["action"]; action != nil && doc.Object != nil && doc.Listed == "" && doc.Head["type"] == nil {
		switch lenient.Word(action) {
		case "create", "update": // lastupdate also shows an update
			record(func() string { return "data" }, doc.Head["data"])
			return b.Done(), nil
		}
		err = source.Errorf("action: %s, expected create or update", lenient.Excerpt(action))
	}
	return b.Done(), err
}
