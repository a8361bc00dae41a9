// Package usgs reads the earthquakes of the United States Geological Survey: the GeoJSON summary
// feeds, the responses of the FDSN event query in GeoJSON, and the GeoJSON detail of one event.
//
// A summary and a detail with the same data give the same name, description and severity. An
// unreadable record does not affect its neighbors, nor the records before it in a payload that was
// cut off. Texts for people contain no markup and no control characters, and only http and https
// addresses.
//
// The package does not know whether an event is missing in a feed because it was deleted or because
// it is too old. So no Batch of this package is Whole, and only a record that says so itself ends
// an event.
package usgs
