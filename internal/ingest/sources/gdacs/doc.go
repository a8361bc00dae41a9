// Package gdacs reads the events of the Global Disaster Alert and Coordination System of the United
// Nations and the European Commission: the lists, single events and geometry documents of its API
// (GeoJSON), its file gdacs.geojson, its RSS feeds, and its CAP index and CAP messages.
//
// An event is identified by type and number ("EQ1554511") in all documents. Each document makes one
// report per event, about the whole event. The last digits of its Version order the forms of
// documents by detail, so that documents of one moment give the same result in any order: geometry
// first, then event data, list, RSS and CAP.
//
// feed.go reads the JSON documents and xml.go RSS and CAP. mapping.go has the tables from GDACS's
// words to ours. event.go has what all forms have in common, and makes the report. geometry.go
// selects the shapes that are areas, product.go links maps and documents, and text.go reads dates
// and names.
//
// An unreadable record does not affect its neighbors, nor the records before it in a payload that
// was cut off. The package never reports that an event is over, because GDACS does not: iscurrent
// is false for volcanoes and droughts that continue, and lists only contain recent events. Events
// end by the age of their data. So no Batch of this package is Whole.
//
// Earthquakes are different, because they get no new data. An Orange or Red earthquake lasts while
// the list of events calls it current, until two lists do not (Source.Lasts). If the list is
// unreadable, it ends 24 h after it was last called current, or 72 h at level Red.
package gdacs
