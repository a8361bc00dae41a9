// Package nws reads the alerts of the National Weather Service of the United States from
// api.weather.gov (GeoJSON, one feature per CAP message), and the shapes of the zones in them.
//
// An event has many messages. If the service tracks it by VTEC, its Valid Time Event Code, the
// event is identified by the office, phenomenon, significance, number and year in that code.
// Otherwise it is the chain of messages that refer to one another. Each message makes one report
// per VTEC string, with a Part named after the message, so that hazard.Derive gets the same event
// from the messages in any order.
//
// feed.go reads the document, vtec.go the code. mapping.go has the table from the service's words
// to ours, report.go makes the reports, and zone.go handles the codes of places. Parse and
// parseZone are pure functions, safe for concurrent use, and need memory proportional to the
// payload. The shape of a place in a report is at ZoneURL, with the code that parseZone finds
// there; ZoneURL is empty if there is none.
package nws
