// Package jma reads the Japan Meteorological Agency's information on tsunamis, earthquakes and
// weather: the Atom indexes, and documents of its "disaster prevention information XML" by their
// public description. These are the tsunami warnings (VTSE41), the hypocenters (VXSE52), the
// hypocenters with intensities (VXSE53), the weather warnings (VPWW55 to VPWW61) and the flood
// forecasts of designated rivers (VXKO50 to VXKO89).
//
// A tsunami is identified by the EventID of the earthquake that causes it, and an earthquake by
// "quake-" and its EventID. Each document on a tsunami repeats all coasts, so the newest counts.
// The tsunami lasts until a document lifts the warnings of all coasts or cancels them. An
// unreadable document, or one that does neither, ends nothing. A document with intensities replaces
// those without. An earthquake is over when the agency cancels the last document about it.
//
// The agency gives the time of origin to the minute. The second is derived from the EventID, which
// is when a station first detected the earthquake, and from the travel time of its waves
// (quake.go). It is needed to join the earthquake with those of other services. A tsunami refers to
// its earthquakes by their EventIDs.
//
// Some documents are not read: the first report of intensities without a hypocenter (VXSE51), which
// has no place, and which the others follow within minutes; the later notice of a more exact
// hypocenter (VXSE61), which does not repeat the intensities that determine the level; information
// about earthquakes and eruptions far from Japan, because the form calls both great earthquakes;
// early warnings (EEW), which are not in the public index.
//
// Weather warnings have no number. The event is the phenomenon in the area of the office, so a
// warning that is lifted and issued again is the same event. Each document contains everything that
// is in force there, so the newest counts, and only the last two of a kind and area in an index are
// read. A warning that a document does not contain is over. One document makes a report for each
// phenomenon of its kind; those without anything in force are not hazards.
//
// The map of the agency's site (bosai/warning/data/r8/map.json) has everything in force in one
// document, but it is not a published interface, and is not read. Neither are the old documents
// (VPWW53, VPWW54), which say the same until 2028, and the summary of all offices that comes every ten
// minutes (VPWS50). The form is that of real documents of May 2026.
//
// A flood forecast is identified by the forecast area of its river. Each document replaces the one
// before, and one that lifts the warning ends it. The landslide warnings in the old form (VXWW50) are
// not read: they are level 4 of the landslide warnings among VPWW55 to VPWW61.
//
// feed.go reads the index and the document. report.go reads the head, and has the table of levels
// and the report of tsunamis. quake.go has those of earthquakes, weather.go has the tables and the
// reports of weather warnings, and river.go those of rivers. Parse is a pure function, safe for concurrent use, and needs
// memory proportional to the payload.
package jma
