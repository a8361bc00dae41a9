// Package whodon reads the Disease Outbreak News of the World Health Organization
// (www.who.int/emergencies/disease-outbreak-news), a few reports a month.
//
// The event is WHO's emergency event, as several reports are about one outbreak; a report without one
// is known by its disease and country. The version is the time of the report. WHO seldom says that an
// outbreak is over, so an event ends six weeks after the last report about it.
//
// A country is where an outbreak is, not its area: its outline stands in. A report about a region of
// WHO, several countries or the world has no place here, and is ignored by that rule.
//
// WHO's texts are licensed for non-commercial use: only the title, the date and the link are kept.
//
// Parse is a pure function, safe for concurrent use, and needs memory proportional to the payload.
package whodon
