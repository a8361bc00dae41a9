// Package region knows where countries are, and the areas behind the codes that warnings name, without network.
//
// Countries are the countries and territories of ISO 3166-1 and Kosovo, from Natural Earth at 1:10,000,000, simplified: fine enough to
// say in which country a place is, and coarse, as the outline that stands in for an area that nobody knows. Who holds what is as the data
// have it, except that Crimea and Western Sahara are as the United Nations have them; what is disputed is said in notes.
//
// Codes are those of the US National Weather Service (UGC, SAME), MeteoAlarm (EMMA_ID, and NUTS and FIPS codes that mean the same),
// Deutscher Wetterdienst (WARNCELLID), Taiwan, China (CPEAS) and Japan (JMA). An operator adds others: see ReadFolder.
//
// Everything is part of the program, and unpacked by scheme when it is first asked for; areas are made when they are asked for, and those
// used last are kept. With all schemes unpacked that is less than 32 MB, half of it
// areas. Coordinates are WGS 84, longitude before latitude, in degrees. Any
// number of goroutines may ask at once.
package region
