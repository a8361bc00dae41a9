// Package emsc reads the earthquakes of the European-Mediterranean Seismological Centre as its seismic portal gives them: the
// GeoJSON of the FDSN event query, a single feature of it, and a message of the portal's web socket.
//
// It promises that the three forms of one record come to the same report; that a record which cannot be read costs neither
// its neighbours nor, in a payload that was cut off, those before it; and that what a report shows to people holds no
// markup, no control characters and no address but of https.
//
// One earthquake may be there under several unids: they stay reports of their own, for one source does not join what it
// does not say to be one. Neither does a missing record say anything: the centre has no word for a deleted event, and a
// query is a window, so no Batch of this package is Whole. Only a record that says to be no earthquake ends an event.
package emsc
