// Package mirror reads another server of the base interface as a source: its active hazards, and
// their products.
//
// A hazard keeps its UUID, which is its key, and its products keep theirs. Hazards and products
// that the other server restricts to organizations, and the content of restricted folders, are
// never read into a report, even if the account may see them there. A file is not copied: its
// product becomes a hyperlink to it.
//
// A Mirror reads the whole list of active hazards each time. It requests products if the list shows
// a change, and also for a few hazards whose products were not requested for a long time. The data
// of a Read only counts as known after Taken: if a batch could not be processed, the next Read
// returns the same again. The list is complete, so a missing hazard is over at that server.
//
// feed.go reads the document, report.go makes the report of a hazard and has the table of types,
// product.go makes the product tree, and mirror.go decides what to request. Package lenient parses
// the responses, as for other sources. Parse, for files, is a pure function. A Mirror has one
// request in flight and belongs to one goroutine.
package mirror
