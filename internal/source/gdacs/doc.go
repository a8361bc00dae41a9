// Package gdacs reads the events of the Global Disaster Alert and Coordination System of the United Nations and the
// European Commission: the lists, single events and geometry documents of its API (GeoJSON), its file gdacs.geojson, its
// RSS feeds, and its CAP index and CAP messages.
//
// An event is its type and number ("EQ1554511"), whatever document tells of it. Each document makes one report per event,
// the whole of it; the last digits of its Version tell how full the document is, so that documents of one moment come to
// the same in whatever order they are read: geometry before event data before list before RSS before CAP.
//
// feed.go is the JSON documents, xml.go the RSS and CAP ones, mapping.go the tables from GDACS's words to ours, event.go what
// all forms say of an event and the report that it makes, geometry.go what of its shapes is an area, product.go its maps
// and documents, text.go its dates and names.
//
// It promises that a record which cannot be read costs neither its neighbours nor, in a payload that was cut off, those
// before it. It never says that an event is over, since GDACS does not: iscurrent is false for volcanoes and droughts that go
// on, and lists leave out what is not new. Events end by the age of their data. So no Batch of this package is Whole. But an
// earthquake has no new data: one of Orange or Red goes on while the list of events calls it current, and then until two lists
// do not (Source.Lasts). If the list cannot be read any more it ends 24 h after it was last called current, at Red 72 h.
package gdacs
