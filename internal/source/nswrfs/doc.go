// Package nswrfs reads the fires of the New South Wales Rural Fire Service: the GeoJSON of its major incidents
// (www.rfs.nsw.gov.au/feeds/majorIncidents.json), which holds the fire warnings of the state.
//
// The event is the incident by the number in its guid, the version its pubDate. A list that was read to its end is Whole: an incident that it no longer
// names is over.
//
// The service's feed of CAP alerts on the same incidents is off by default (package official): of the two, this one was recorded over days, and says the size of
// a fire, what is done about it, and that it is no fire but a hazard reduction or an accident.
//
// feed.go is the document, report.go the tables and the report. Parse is a pure function, may be called concurrently, and needs
// memory in proportion to the payload.
package nswrfs
