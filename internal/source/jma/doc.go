// Package jma reads what the Japan Meteorological Agency says of tsunamis, earthquakes and weather: the Atom indexes of what it issues, and of its "disaster
// prevention information XML" the tsunami warnings (VTSE41), the hypocenters (VXSE52), the hypocenters with intensities (VXSE53) and the weather
// warnings (VPWW55 to VPWW61), by their public description.
//
// The event is the tsunami by the EventID of the earthquake that causes it, or the earthquake, as "quake-" and its EventID. Each document on a tsunami
// restates all coasts, so the newest counts. It goes on until a document lifts the warnings of all coasts, or takes them back; what says
// neither, or cannot be read, ends nothing. A document with intensities takes the place of those without; an earthquake is over when the agency takes
// back the last document that stands.
//
// The agency gives origins to the minute. The second follows from the EventID, which is when a station first saw the earthquake, and from how long its
// waves take there (quake.go): by it the earthquake joins those of other services. A tsunami names its earthquakes by their EventIDs.
//
// What is not read: the flash of intensities without a hypocenter (VXSE51), which nobody could place, and which the others follow within minutes; the later
// notice of a more exact hypocenter (VXSE61), which does not restate the intensities that the level depends on; what the agency says of earthquakes and
// eruptions far from Japan, whose form calls both great earthquakes; early warnings (EEW), which are not in the public index.
//
// Weather warnings have no number. The event is the phenomenon in the area of the office: what is lifted and issued again is the same. Each document says
// all that is in force there, so the newest counts, and of an index only the last two of a kind and area are read. What a document does not name is over. One
// document makes a report for each phenomenon of its kind; those of which nothing is in force make no hazard.
//
// feed.go is the index and the document, report.go what its head says, and the table of levels and the report of tsunamis, quake.go those of
// earthquakes, weather.go the tables and the reports of weather warnings. Parse is a pure function, may be called concurrently, and needs memory in proportion to the payload.
package jma
