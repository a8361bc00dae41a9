// Package vigicrues reads the flood vigilance of France: the GeoJSON of the river stretches that the
// state watches, each with its color (www.vigicrues.gouv.fr/services/1/InfoVigiCru.geojson).
//
// The event is the stretch, identified by its code; a list states the color of every stretch. Green
// means that no vigilance is needed: a stretch that turns green is over, as is one that a list no
// longer names. The list has no times, so the version is the time of reading.
//
// A stretch is a line. The alert area is what lies within 2 km of it: the map of Vigicrues draws
// lines only, and those who live by the river are meant.
//
// No public recording of the GeoJSON was found. It is read as public programs do (kalisio/k-vigicrues
// and others), and tests make one from recorded levels of all stretches in the publisher's JSON-LD.
//
// feed.go reads the document, report.go has the table of colors and makes the report. Parse is a pure
// function, safe for concurrent use, and needs memory proportional to the payload.
package vigicrues
