// Package bmkg reads the earthquakes of Indonesia's agency for meteorology, climatology and
// geophysics (BMKG): the lists of the latest fifteen of M 5 and more, and of the latest fifteen
// that were felt, as JSON (data.bmkg.go.id/gempabumi).
//
// A record has neither an id nor a time of update. The event is named by its origin
// (seismic.Named), so that it stays the same if its origin is revised by some seconds; its version
// is the time of reading. A list has only fifteen earthquakes, so a missing one means nothing. Each
// list is a Part, because the lists contain different data about an earthquake.
//
// The agency's feed of CAP alerts on the same earthquakes is off by default (package official). It
// contains neither the seconds of the origin, which are needed to join them with those of other
// sources, nor where they were felt.
//
// A record that says that a tsunami is possible (Potensi) makes a report of a tsunami beside that
// of the earthquake. One that says that none is possible ends that tsunami at the time of reading.
package bmkg
