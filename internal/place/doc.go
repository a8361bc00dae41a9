// Package place knows where countries are, without network.
//
// It holds the countries and territories of ISO 3166-1 and Kosovo, from Natural Earth at 1:10,000,000, simplified: fine enough to say
// in which country a place is, and coarse, as the outline that stands in for an area that nobody knows. Who holds what is as the data
// have it, except that Crimea and Western Sahara are as the United Nations have them; what is disputed is said in notes.
//
// Everything is part of the program, and unpacked when it is first asked for. Coordinates are WGS 84, longitude before latitude, in
// degrees. Any number of goroutines may ask at once.
package place
