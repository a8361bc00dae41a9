// Package gvp reads the Weekly Volcanic Activity Report of the Smithsonian Institution's Global
// Volcanism Program and the US Geological Survey, in its RSS form: one item per volcano and week.
//
// The event is the volcano, identified by its number in the Smithsonian's catalog; other sources
// refer to it as gvp:NNNNNN. Each week's item is one Part that replaces the week before, so that
// hazard.Derive takes the start from the first week, in whatever order the weeks arrive. A report
// is valid for a week: it lives eight days from its publication, and a volcano without a later
// report ends after that.
//
// The text mentions alert levels that others have set. The Smithsonian asks that no levels be
// derived from it, so the level is always INFORMATION. The list does not contain every erupting
// volcano, so no Batch of this package is Whole.
//
// feed.go reads the document, report.go has the mapping table and makes the reports, and text.go
// converts HTML to text. Parse is a pure function, safe for concurrent use, and needs memory
// proportional to the payload.
package gvp
