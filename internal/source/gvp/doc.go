// Package gvp reads the Weekly Volcanic Activity Report of the Smithsonian Institution's Global Volcanism Program and the
// US Geological Survey, in its RSS form: one item per volcano and week.
//
// The event is the volcano, by its number in the Smithsonian's catalogue, which other sources name as gvp:NNNNNN. Each week's
// item is one Part that takes the place of the week before, so that hazard.Derive finds the first week as the start,
// whatever the order in which weeks come. A report holds for a week: it lives eight days from its publication, and a
// volcano that is in no later report ends by that life.
//
// The text tells of alert levels that others have set. The Smithsonian asks that none be invented from it, so nothing here is
// ever more than INFORMATION. The list is no list of all that erupts: no Batch of this package is Whole.
//
// feed.go is the document, report.go the mapping table and the reports, text.go makes text of HTML. Parse is a pure function,
// may be called concurrently, and needs memory in proportion to the payload.
package gvp
