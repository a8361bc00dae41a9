// Package nga reads the broadcast warnings to ships of the US National Geospatial-Intelligence
// Agency: NAVAREA IV and XII, HYDROLANT, HYDROPAC and HYDROARC (msi.nga.mil/api/swagger-ui.html).
//
// The event is the message, by its area, number and year; the version is its time of issue. Most
// messages are no danger: lights that are out, surveys, cables. Only what endangers is a hazard, by
// the table of dangers in report.go. The text gives positions and areas (position.go).
//
// A message is over when the list no longer has it, when its own time comes ("CANCEL THIS MSG 251516Z
// APR 23"), or when another cancels it ("CANCEL NAVAREA IV 414/23"). A list that was read to its end
// is Whole. What drifts is shown for 30 days: then nobody knows where it is.
//
// Parse is a pure function, safe for concurrent use, and needs memory proportional to the payload.
package nga
