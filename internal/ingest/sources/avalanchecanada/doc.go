// Package avalanchecanada reads the avalanche forecasts of Canada: the list of products of Avalanche
// Canada, Parks Canada, Kananaskis Country and Avalanche Québec (docs.avalanche.ca).
//
// Forecasters group subregions anew every day, and a product's id and area are new with each group.
// The event is the first subregion of the title, by the alphabet; the version is when the forecast
// was issued. Levels 3 (considerable) and above, at any height, on any day of the forecast's validity
// are hazards. A forecast counts until its validUntil. What a list shows at a lower level, or not at
// all, is over.
//
// The list has no outlines, and the document that has them changes every day: circles around the
// middles of the subregions that the title names stand for them (subregions.go). A title with no name
// that is known is placed in Canada.
//
// feed.go reads the list and makes the reports. Parse is a pure function, safe for concurrent use,
// and needs memory proportional to the payload.
package avalanchecanada
