// Package emsc reads the earthquakes of the European-Mediterranean Seismological Centre from its
// seismic portal: the GeoJSON of the FDSN event query, a single feature of it, and a message of the
// portal's WebSocket.
//
// The three forms of one record give the same report. An unreadable record does not affect its
// neighbors, nor the records before it in a payload that was cut off. Texts for people contain no
// markup and no control characters, and only https addresses.
//
// One earthquake may have several unids. These stay separate reports, because the source does not
// say that they are the same. A missing record means nothing either: the center has no notice of a
// deleted event, and a query is a window of time, so no Batch of this package is Whole. Only a
// record that says that it is not an earthquake ends an event.
package emsc
