// Package copernicus reads the activations of the Rapid Mapping of the Copernicus Emergency
// Management Service: the lists of its two interfaces, and the detail of one activation.
//
// An activation is the request of an authority for maps of an event. It shows that a response is
// under way, and it contains the names of the event at GDACS and the International Charter; it has
// no level of severity. It lasts until it is closed. An activation that is missing in a list has
// only moved to another page, so no Batch of this package is Whole.
//
// feed.go reads the documents, report.go has the table of categories and makes the report, and
// text.go reads dates, names and addresses. Parse is a pure function of its arguments. An
// unreadable record does not affect its neighbors, nor the records before it in a payload that was
// cut off.
package copernicus
