// Package nswrfs reads the fires of the New South Wales Rural Fire Service: the GeoJSON of its
// major incidents (www.rfs.nsw.gov.au/feeds/majorIncidents.json), which contains the fire warnings
// of the state.
//
// The event is the incident, identified by the number in its guid; the version is its pubDate. A
// list that was read to its end is Whole: an incident that it no longer contains is over.
//
// The service's feed of CAP alerts on the same incidents is off by default (package official). This
// feed was recorded over several days, and contains more: the size of a fire, the state of the
// response, and whether it is really a hazard reduction or an accident.
//
// feed.go reads the document, report.go has the tables and makes the report. Parse is a pure
// function, safe for concurrent use, and needs memory proportional to the payload.
package nswrfs
