// Package nifc reads the wildfires of the United States' National Interagency Fire Center: the
// current incident locations and the current fire perimeters of its Wildland Fire Interagency
// Geospatial Services (WFIGS), as GeoJSON of ArcGIS.
//
// The event is the incident, identified by its id in IRWIN, the agencies' register; other sources
// refer to it as irwin:GUID. Its unique fire id is another name, nifc:YYYY-UNIT-NUMBER. The two
// services report one event in two parts: the location for the place "incident", the perimeter for
// the place "perimeter", both with the same incident data. So each service renews its own part,
// hazard.Derive combines point and area, and either service can end the event.
//
// Only wildfires become hazards: prescribed fires are set on purpose. A complex is the sum of its
// fires, which the list of locations has too, with the complex's id (CpxID). While it lists any of
// them that goes on, they are shown and the complex is not. Reports are then made of the complex (the
// recorded one was modified by ICS-209), so that NIFC may remove the fires as not updated: from then
// on the complex is shown in their place. A fire is over when it is declared contained, controlled or
// out, because NIFC then removes it from its current lists. NIFC also removes fires that were not
// updated for 3, 8 or 14 days, depending on size. So a fire in neither list is over. A Batch is
// Whole if its list was read to its end and ArcGIS did not say that there is more; only the lists
// of both services together show what is missing. A fire lives for seven days from its last
// modification, listed or not.
//
// feed.go reads the document, mapping.go has the tables, report.go makes the reports, and text.go
// the texts. Parse is a pure function, safe for concurrent use, and needs memory proportional to
// the payload.
package nifc
