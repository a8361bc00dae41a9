// Package jma reads the tsunami warnings of the Japan Meteorological Agency: the Atom index of what it issues on earthquakes, tsunamis and
// volcanoes, and the documents of its "disaster prevention information XML" on tsunamis (VTSE41), by their public description.
//
// The event is the tsunami, by the EventID of the earthquake that causes it. Each document restates all coasts, so the newest counts. It goes
// on until a document lifts the warnings of all coasts, or takes them back; what says neither, or cannot be read, ends nothing.
//
// Earthquakes are left to USGS and EMSC: the agency gives their origin to the minute, by which nobody can tell that two reports are of one.
// Its weather warnings name areas whose shapes are not built in.
//
// feed.go is the index and the document, report.go the table of levels and the report. Parse is a pure function, may be called
// concurrently, and needs memory in proportion to the payload.
package jma
