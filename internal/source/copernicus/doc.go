// Package copernicus reads the activations of the Rapid Mapping of the Copernicus Emergency Management Service: the lists of
// its two interfaces, and the detail of one activation.
//
// An activation is the request of an authority for maps of an event. It says that a response is under way, and it names
// the event as GDACS and the International Charter know it; it has no level of its own. It lasts until it is closed. An
// activation that a list does not name has only left its page: no Batch of this package is Whole.
//
// feed.go is the documents, report.go the table of categories and the report, text.go dates, names and addresses. Parse is a
// pure function of its arguments. A record that cannot be read costs neither its neighbours nor, in a payload that was cut
// off, those before it.
package copernicus
