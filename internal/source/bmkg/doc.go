// Package bmkg reads the earthquakes of Indonesia's agency for meteorology, climatology and geophysics (BMKG): the lists of the latest
// fifteen of M 5 and more, and of the latest fifteen that were felt, as JSON (data.bmkg.go.id/gempabumi).
//
// A record has neither an id nor a time of update. The event is named by its origin (seismic.Named), so that one whose origin is revised by
// some seconds stays the same, and its version is when it was read. A list of fifteen proves no absence. Each list is a Part, since
// they say different things of one earthquake.
//
// The agency's feed of CAP alerts on the same earthquakes is off by default (package official): it has neither the origin to the second, by which
// they are one with what others report, nor where they were felt.
//
// A record that says that a tsunami may come (Potensi) makes a report of a tsunami beside that of the earthquake.
package bmkg
