// Package nifc reads the wildfires of the United States' National Interagency Fire Center: the current incident locations and
// the current fire perimeters of its Wildland Fire Interagency Geospatial Services (WFIGS), GeoJSON answers of ArcGIS.
//
// The event is the incident, by its id in IRWIN, the agencies' register, which other sources name as irwin:GUID; the unique
// fire id, by which others know it too, is nifc:YYYY-UNIT-NUMBER. The two services speak of one event in two parts: the
// location for the place "incident", the perimeter for the place "perimeter", both with the same incident data. So each
// renews its own part, hazard.Derive puts point and area together, and what either service ends is ended.
//
// Only wildfires make hazards: prescribed fires are lit on purpose, and a complex is the sum of fires that are listed one by
// one. A fire is over when it is declared contained, controlled or out, for so NIFC itself takes it from its current lists.
// It also takes from them what nobody has updated for 3, 8 or 14 days, by size. What is in neither list is therefore over: a
// Batch is Whole when its list was read to its end and ArcGIS did not say that there is more; only the lists of both services
// together tell what is missing. A fire lives for seven days from its last modification, listed or not.
//
// feed.go is the document, mapping.go the tables, report.go the reports, text.go the words. Parse is a pure function, may be
// called concurrently, and needs memory in proportion to the payload.
package nifc
