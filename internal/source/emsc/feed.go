package emsc

import (
	"cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
	"github.com/hazardd/hazardd/internal/source/frame"
)

// maxBytes bounds a payload. The polled query has 120 kB; the 430 recorded earthquakes of a month and a region have 256 kB.
const maxBytes = 16 << 20

// feature is an earthquake as the portal gives it (seismicportal.eu/fdsn-wsevent.html; there is no description of the members,
// so the sentences are from the recordings). Members that are not named here are not read.
type feature struct {
	// ID is the same as properties.unid.
	ID         string     `json:"id"`
	Geometry   geometry   `json:"geometry"`
	Properties properties `json:"properties"`
}

type geometry struct {
	Type string `json:"type"`
	// Coordinates are longitude and latitude in degrees, and the *height* in km: 15 km deep is -15, where FDSN services and
	// properties.depth say 15.
	Coordinates []frame.Number `json:"coordinates"`
}

type properties struct {
	// UNID is the portal's name of the event: the day and a number within it, "20250426_0000198".
	UNID string `json:"unid"`
	// SourceID is the event's number in SourceCatalog: with "EMSC-RTS" (real time system), the number of its page at emsc-csem.org.
	SourceID      string `json:"source_id"`
	SourceCatalog string `json:"source_catalog"`
	// Time and LastUpdate are ISO 8601 in UTC with "Z" and one to six decimals of a second.
	Time       string `json:"time"`
	LastUpdate string `json:"lastupdate"`
	// Region is the name of the Flinn-Engdahl region, in capitals: "DODECANESE ISLANDS, GREECE".
	Region string       `json:"flynn_region"`
	Lat    frame.Number `json:"lat"`
	Lon    frame.Number `json:"lon"`
	// Depth is in km below sea level.
	Depth frame.Number `json:"depth"`
	// EvType is how certain (k known, s suspected) what kind of event is: e earthquake, m mine explosion …
	EvType string `json:"evtype"`
	// Auth is the network whose solution this is: "EMSC" for the centre's own, else "AFAD", "NOA" …
	Auth    string       `json:"auth"`
	Mag     frame.Number `json:"mag"`
	MagType string       `json:"magtype"`
}

// Parse reads a FeatureCollection (the answer of a query), a Feature, or a message of the web socket ({"action":…,"data":…}), told
// apart by their members.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	b := frame.Batch{ID: func(raw []byte) string {
		return cmp.Or(eventID(frame.Word(frame.Member(frame.Member(raw, "properties"), "unid"))), eventID(frame.Word(frame.Member(raw, "id"))))
	}}
	record := func(where func() string, raw []byte) {
		frame.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return f.report(now) })
	}
	doc, err := frame.Collection{Heads: []string{"action", "data"}}.Features(payload, "earthquakes", &b, record)
	if action := doc.Head["action"]; action != nil && doc.Object != nil && doc.Listed == "" && doc.Head["type"] == nil {
		switch frame.Word(action) {
		case "create", "update": // what was updated is told by its lastupdate as well
			record(func() string { return "data" }, doc.Head["data"])
			return b.Done(), nil
		}
		err = source.Errorf("action: %s, expected create or update", frame.Excerpt(action))
	}
	return b.Done(), err
}
