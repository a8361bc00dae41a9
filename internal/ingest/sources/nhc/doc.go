// Package nhc reads the tropical cyclones of the National Hurricane Center and the Central Pacific
// Hurricane Center of the United States: CurrentStorms.json, the RSS of each basin, the text of a
// forecast/advisory, and the GeoJSON of its forecast track.
//
// A storm is identified by its ATCF identity (basin, number, year), even if its name or basin
// changes. Each advisory makes a report with its own Part, named after the form of the document and
// the advisory's number. Reports are about one of two places: "storm", the position and strength of
// the storm, and "track", its forecast track. So hazard.Derive takes the newest of each, in any
// order, the storm begins with its first advisory, and a delayed track does not affect the rest.
// For the same hour, the list has precedence over a forecast/advisory, and that over a layer of the
// map.
//
// A list is Whole. A storm that is in none of the lists has ended, or was passed on to another
// office (the Weather Prediction Center inland, JTWC west of the date line), whose storms are not
// in it; by the center's own contract it is over here. An empty list is valid: there are no storms.
// Each RSS is Whole for its basin, so a storm is only missing if all lists lack it.
//
// JTWC is another center with other documents: see package jtwc.
package nhc
