// Package mirror reads another server of the base interface as a source: its active hazards, and their products.
//
// A hazard keeps its uuid, which is its key, and its products keep theirs. What the other server restricts to organizations, or what lies
// in a folder that it restricts, is never read into a report, whatever the account may see there. A file stays where it is: its product
// becomes a hyperlink to it.
//
// A Mirror reads the whole list of active hazards each time, asks for products only where the list tells of a change, and looks at some
// that it has not asked for in a long time. What it has read counts as known only after Taken: if a batch could not be taken in, the
// next Read says the same again. The list is complete, so what is missing in it is over at that server.
//
// feed.go is the document, report.go makes a report of a hazard with the one table of types, product.go makes the product tree, and
// mirror.go decides what to ask for. Answers are read by package frame, as other sources' are. Parse, for files, is a pure function. A Mirror has one request in flight and belongs to one
// goroutine.
package mirror
