// Package ign reads the earthquakes of Spain and its surroundings of the last ten days, as the national seismic network of the Instituto
// Geográfico Nacional lists them (GeoRSS).
//
// An earthquake is named by the network's id (evid), which stays the same when its origin is revised. The feed gives no time of an update, so
// what a list says now is the newest that is known. No list proves an absence: it is a window, and slight earthquakes leave it earlier.
//
// The times have no zone. They are UTC: an evid holds the time at which SeisComP met the earthquake, in 30 s of UTC, and in the recorded
// list it is that of the title, also on the Canary Islands and in summer time's neighborhood.
//
// feed.go reads the list, report.go makes reports. Parse is a pure function, may be called concurrently, and needs memory in proportion to
// the payload.
package ign
