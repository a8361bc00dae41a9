// Package avalancheorg reads the avalanche danger of the United States: the map layer of
// avalanche.org, which has a polygon and a danger level for each forecast zone of the country's
// avalanche centers (github.com/NationalAvalancheCenter/Avalanche.org-Public-API-Docs).
//
// The event is the zone, by its number; the version is when its forecast was issued. Levels 3
// (considerable) and above are hazards, and so are zones with a warning product. A forecast counts
// until it expires, whatever the list says then: the documentation asks that nothing is shown longer.
// A zone that the next lists show at a lower level, or not at all, is over.
//
// Times have no zone and are UTC: in both recordings of zone 2815 they are the instants of the
// product's published_time and expires_time, which have one.
//
// feed.go reads the document and makes the reports. Parse is a pure function, safe for concurrent
// use, and needs memory proportional to the payload.
package avalancheorg
