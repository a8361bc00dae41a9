// Package nws reads the alerts of the National Weather Service of the United States, as api.weather.gov publishes them
// (GeoJSON, one feature per CAP message), and the shapes of the zones that they name.
//
// One event is many messages. An event that the service tracks by VTEC, its Valid Time Event Code, is the office,
// phenomenon, significance, number and year of that code; any other is the chain of the messages that refer to one
// another. Each message makes one report per VTEC string, its Part named after the message, so that hazard.Derive makes
// the event of the messages in whatever order they came.
//
// feed.go is the document, vtec.go reads the code, mapping.go is the one table from the service's words to ours, report.go
// makes the reports, and zone.go knows the codes of places. Parse and ParseZone are pure functions of their arguments, may
// be called concurrently, and need memory in proportion to the payload. A place that a report names has a shape at ZoneURL
// under the code that ParseZone finds there, or ZoneURL is empty.
package nws
