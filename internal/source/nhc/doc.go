// Package nhc reads the tropical cyclones of the National Hurricane Center and the Central Pacific Hurricane Center of the United
// States: CurrentStorms.json, the RSS of each basin, the text of a forecast/advisory, and the GeoJSON of its forecast track.
//
// A storm is its ATCF identity (basin, number, year), whatever it is called and wherever it goes. Each advisory is a message about
// it and makes a report of its own Part, named after the form that it came in and its number. Reports speak for one of two things
// (Places): "storm", where the storm is and how strong, and "track", where it is expected to go. So hazard.Derive takes the newest of
// each, in whatever order they came, the storm has begun with its first advisory, and a track that lags behind makes nothing else older. At
// one hour, the list says more than a forecast/advisory, and that more than a layer of the map.
//
// A list is Whole: a storm that is in none of the lists any more has ended, or has been passed on to another office (the Weather
// Prediction Center inland, JTWC west of the date line), which are not in it; by the centre's own contract it is over here. An
// empty list is data: there is no storm. Each RSS is Whole for its basin, so absence counts only when all lists agree.
//
// JTWC is another centre, with documents of another kind: package jtwc.
package nhc
