// Package cap parses alerts in the Common Alerting Protocol, versions 1.0, 1.1 and 1.2 (OASIS), of
// any authority: a CAP document, an RSS or Atom index that links to such documents or contains
// them, an EDXL envelope, and CAP as JSON from MeteoAlarm and NINA. A Config describes one feed.
//
// An event is a chain of messages. Its key is the sender, identifier and time of issue of the
// oldest referenced message, or its own. Where the sender's practice is known, a message without
// references belongs to the warning with the same identity instead (Practice). Updates are matched by sender and identifier only, because
// some authorities write wrong times there; a Cancel must match in full. Each thing in a message
// (its languages count as one) becomes a report, with the codes of its areas as places, so that
// ended and active areas can coexist; hazard.Derive combines them in any order. An update replaces
// all earlier messages of its event. A Cancel ends everything it refers to, and later updates of
// those messages do not reactivate it. A message with several kinds of event makes one hazard, with
// the worst of them, because an update need not repeat what it ends.
//
// Codes for events take precedence over words, and words over guesses. An unknown event is shown
// with a general type and a note. DTDs, entities and addresses in documents are never followed.
//
// config.go configures a feed. feed.go parses the document and the index, which package lenient
// splits; json.go parses the JSON forms. codes.go and words.go hold the vocabularies, mapping.go
// the levels and precedence, practice.go says how senders differ, identity.go and warning.go match
// messages to events, time.go and place.go read
// times and places, testwords.go finds tests, text.go makes text for people, and report.go makes
// the reports. All functions are pure, safe for concurrent use, and need memory proportional to the
// payload.
package cap
