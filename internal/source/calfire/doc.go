// Package calfire reads the incidents of the California Department of Forestry and Fire Protection: its GeoJSON
// (incidents.fire.ca.gov, GeoJsonList), and the older lists with the same members, {"Incidents": […]} and a plain array.
//
// The event is the incident by its UniqueId, the version its last update. An incident that is no longer active is over. A list proves no
// absence: each begins anew with the year.
//
// Most of these fires come with those of the interagency fire center too, which has no id in common: a name and a place join them. The department
// says more of the size and containment of its own, and sooner.
//
// feed.go is the document, report.go the tables and the report. Parse is a pure function, may be called concurrently, and needs
// memory in proportion to the payload.
package calfire
