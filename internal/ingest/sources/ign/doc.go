// Package ign reads the earthquakes of Spain and its surroundings of the last ten days from the
// list of the national seismic network of the Instituto Geográfico Nacional (GeoRSS).
//
// An earthquake is named by the network's id (evid), which stays the same when its origin is
// revised. The feed contains no time of update, so the present list has the latest data. A missing
// earthquake means nothing: the list is a window of time, and small earthquakes leave it earlier.
//
// The times have no zone. They are in UTC: an evid contains the time at which SeisComP detected the
// earthquake, within 30 s of UTC, and in the recorded list it agrees with the time in the title,
// also on the Canary Islands and around summer time.
//
// feed.go reads the list, report.go makes reports. Parse is a pure function, safe for concurrent
// use, and needs memory proportional to the payload.
package ign
