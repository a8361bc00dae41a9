// Package eaws reads the avalanche bulletins of the European Avalanche Warning Services, in CAAML v6
// as JSON (github.com/canadianavalancheassociation/caaml-bulletin-eaws).
//
// A document has the bulletins of a day, each for a group of micro-regions, which the forecasters
// group anew every day; a bulletin's id is new every day too. The event is the first of the regions
// of a bulletin in each warning service; the version is when it was published. A later bulletin takes
// the place of the one before: what a list no longer has is over, and nothing lasts longer than its
// validTime. Danger levels 3 (considerable) and above, in any height or part of the day, are hazards.
//
// The outlines of the regions are not built in: no license of theirs was found
// (gitlab.com/eaws/eaws-regions). The state around them stands in, or the country; an operator who
// has the outlines gives them as areas with codes such as "EAWS:AT-07-14-01".
//
// feed.go reads the document, report.go has the tables and makes the reports. Parse is a pure
// function, safe for concurrent use, and needs memory proportional to the payload.
package eaws
