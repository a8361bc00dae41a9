// Package calfire reads the incidents of the California Department of Forestry and Fire Protection:
// its GeoJSON (incidents.fire.ca.gov, GeoJsonList), and the older lists with the same members,
// {"Incidents": […]} and a plain array.
//
// The event is the incident, identified by its UniqueId; the version is its last update. An
// incident that is no longer active is over. A missing incident means nothing, because each list
// starts again with the year.
//
// The interagency fire center reports most of these fires too, but has no id in common, so they are
// joined by name and place. The department updates the size and containment of its own fires
// sooner, and in more detail.
//
// feed.go reads the document, report.go has the tables and makes the report. Parse is a pure
// function, safe for concurrent use, and needs memory proportional to the payload.
package calfire
