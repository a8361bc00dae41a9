// Package eafloods reads the flood warnings and flood alerts of England: the list of the Environment
// Agency's flood monitoring API (environment.data.gov.uk/flood-monitoring/doc/reference).
//
// The event is the warning of a flood area, identified by the area's code; the version is the latest
// change of its message or level. An entry of level 4 says that the warning is over. A list that was
// read to its end is Whole: an area that is not in it has no warning.
//
// The list has no shapes. The shape of each flood area is fetched once. Until then the hazard is
// placed in the country.
//
// Times have no zone and are local: in the recording, of the day after the clocks went forward,
// messages of 08:42 and 08:01 speak of levels "at 8:30 am" and "at 7:45 am".
//
// feed.go reads the documents, report.go has the table of levels and makes the report. Parse is a
// pure function, safe for concurrent use, and needs memory proportional to the payload.
package eafloods
