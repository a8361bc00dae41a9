// Package region knows the outlines of countries, and the areas for the codes that warnings use,
// without network.
//
// Countries are the countries and territories of ISO 3166-1 and Kosovo, from Natural Earth at
// 1:10,000,000, simplified: fine enough to find the country of a place, and coarse as a substitute
// for an unknown area. Borders are those of the data, except that Crimea and Western Sahara follow
// the United Nations; notes name disputes.
//
// Codes are those of the US National Weather Service (UGC, SAME), MeteoAlarm (EMMA_ID, and the NUTS
// and FIPS codes with the same meaning), Deutscher Wetterdienst (WARNCELLID), Taiwan, China (CPEAS)
// and Japan (JMA). Operators can add others: see ReadFolder.
//
// The data are part of the program. A scheme is unpacked on first use, and recently used areas are
// cached: less than 32 MB in total. Coordinates are WGS 84, longitude before latitude, in degrees.
// All functions are safe for concurrent use.
package region
