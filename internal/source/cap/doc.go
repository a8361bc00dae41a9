// Package cap reads alerts in the Common Alerting Protocol, versions 1.0, 1.1 and 1.2 (OASIS), of any authority: a CAP document, an RSS
// or Atom index that links to such documents or holds them, an EDXL envelope, and CAP as JSON as MeteoAlarm and NINA send it.
// Which feeds there are is configuration: a Config names one of them.
//
// An event is a chain of messages. Its key is the triple of sender, identifier and time of issue of the oldest message that a message
// refers to, else its own. Updates find their event by sender and identifier alone, for some authorities write wrong times there;
// a Cancel must match in full. What a message says counts for each info block and its areas: one report for each thing that the
// message says (its languages are one thing), with the codes of the areas as places, so that ended and active areas stand side by
// side and hazard.Derive makes the event of them in whatever order they came. An update takes the place of all earlier messages
// of its event; a Cancel ends all that it refers to, and later updates of those do not bring them back. A message of several
// kinds of event makes one hazard: the worst of them, for an update need not name again what it ends.
//
// Codes for events go before words, and words before guesses: an event that neither knows is shown under a general type, with a note. No DTD, no
// entity, no address of a document is ever followed here.
//
// config.go names a feed. feed.go is the document and the index, which package frame cuts into alerts and entries; json.go reads
// the JSON forms. codes.go and words.go are the vocabularies, mapping.go the levels and what goes before what, identity.go says which messages
// speak of one event, time.go when it is, place.go where, testwords.go whether it is meant, text.go makes text for people, and
// report.go makes the reports. All functions are pure, may be called concurrently, and need memory in proportion to the payload.
package cap
