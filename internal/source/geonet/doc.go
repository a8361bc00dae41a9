// Package geonet reads the earthquakes of GeoNet, the geological hazard monitoring of New Zealand: the GeoJSON of its query for
// earthquakes of a shaking intensity (api.geonet.org.nz/quake).
//
// The event is the earthquake by its publicID. A record has no time of update, so its version is when it was read; a payload that
// says the same again changes nothing. The query answers with the latest hundred, so a record that is missing has grown old: no
// Batch of this package is Whole. A record of quality "deleted" was no earthquake, and withdraws it.
//
// feed.go is the document, report.go the table of levels and the report. Parse is a pure function, may be called concurrently, and
// needs memory in proportion to the payload.
package geonet
