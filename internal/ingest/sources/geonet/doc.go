// Package geonet reads the earthquakes of GeoNet, the geological hazard monitoring of New Zealand:
// the GeoJSON of its query for earthquakes of a shaking intensity (api.geonet.org.nz/quake).
//
// The event is the earthquake, identified by its publicID. A record has no time of update, so its
// version is the time of reading; an unchanged record changes nothing. The query returns the latest
// hundred earthquakes, so a missing one is only too old: no Batch of this package is Whole. A
// record of quality "deleted" was not an earthquake, and withdraws it.
//
// feed.go reads the document, report.go has the table of levels and makes the report. Parse is a
// pure function, safe for concurrent use, and needs memory proportional to the payload.
package geonet
