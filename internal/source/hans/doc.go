// Package hans reads the volcano notices of the United States Geological Survey, as its Hazard Notification System publishes
// them (volcanoes.usgs.gov/hans-public/api): the lists of volcanoes with their alert level and aviation colour code, and the
// positions of volcanoes.
//
// The event is the volcano, by its number in the Smithsonian's catalogue, which other sources name as gvp:NNNNNN. Each notice
// is one Part that takes the place of the notice before, so that hazard.Derive finds the first notice as the start, whatever
// the order in which notices come. A volcano is a hazard from ADVISORY up; NORMAL and UNASSIGNED end it. The lists hold every
// volcano above NORMAL, none when all is quiet, so what leaves a list that was read completely is back to NORMAL: such a
// Batch is Whole.
//
// The list of elevated volcanoes has no positions. Its reports name the volcano as a place instead; PlaceURL is where the
// place's position is, ParsePlace reads it there, and Places finds it among those that were fetched.
//
// feed.go is the document, report.go the mapping table and the reports, place.go the positions. All functions are pure, may
// be called concurrently, and need memory in proportion to the payload.
package hans
