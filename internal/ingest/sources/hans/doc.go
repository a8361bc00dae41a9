// Package hans reads the volcano notices of the United States Geological Survey from its Hazard
// Notification System (volcanoes.usgs.gov/hans-public/api): the lists of volcanoes with their alert
// level and aviation color code, and the positions of volcanoes.
//
// The event is the volcano, identified by its number in the Smithsonian's catalog; other sources
// refer to it as gvp:NNNNNN. Each notice is one Part that replaces the notice before, so that
// hazard.Derive takes the start from the first notice, in whatever order the notices arrive. A
// volcano is a hazard from ADVISORY up; NORMAL and UNASSIGNED end it. The lists contain every
// volcano above NORMAL, and may be empty. So a volcano that is missing in a completely read list is
// back to NORMAL: such a Batch is Whole.
//
// The list of elevated volcanoes has no positions. Its reports contain the volcano as a place
// instead. PlaceURL returns the address of the place's position, ParsePlace parses it, and Places
// finds it among the fetched ones.
//
// feed.go reads the document, report.go has the mapping table and makes the reports, and place.go
// handles the positions. All functions are pure, safe for concurrent use, and need memory
// proportional to the payload.
package hans
