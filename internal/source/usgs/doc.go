// Package usgs reads the earthquakes of the United States Geological Survey: the GeoJSON summary feeds, the answers of
// the FDSN event query in GeoJSON, and the GeoJSON detail of one event.
//
// It promises that a summary and a detail that say the same come to the same name, description and severity; that a
// record which cannot be read costs neither its neighbours nor, in a payload that was cut off, those before it; and that
// what a report shows to people holds no markup, no control characters and no address but of http and https.
//
// It does not know whether an event is missing from a feed because it was deleted or because it grew old: no Batch of
// this package is Whole, and only a record that says so itself ends an event.
package usgs
