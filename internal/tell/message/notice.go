// Package message writes the messages that tell people about hazards: subject, plain text, HTML, and short forms.
//
// All functions depend on their arguments alone and may be called concurrently: the same Notice gives the same bytes, so that a repeated
// attempt sends the same message. Texts of authorities and editors are shown as text: what could start markup, add a
// line to a header, turn the direction of writing or hide in a line is removed or escaped, and long texts are cut. The words around them are
// those of internal/lang/words in the reader's language. A drill says so before anything else, in the subject and in the body.
package message

import (
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Kind says why a message is sent.
type Kind string

// The kinds of messages.
const (
	First      Kind = "first"      // the hazard concerns the reader for the first time
	Changed    Kind = "changed"    // something that matters changed
	Ended      Kind = "ended"      // it is over
	Withdrawn  Kind = "withdrawn"  // it was cancelled, or was a mistake
	Correction Kind = "correction" // what was told before was wrong
	Summary    Kind = "summary"    // many hazards at once (a storm)
	Digest     Kind = "digest"     // what a subscription collected, at the time that it sets
	Confirm    Kind = "confirm"    // asks whether the address wants messages; Link confirms
	Test       Kind = "test"       // shows that a channel works
)

// Notice is one message to one reader.
type Notice struct {
	ID     string // names the message; the same for each attempt at it
	Thread string // names the conversation: one for each subscription and hazard; may be empty
	Kind   Kind
	At     time.Time // when the change that is told was committed
	// Late is how late the message is; 0: in time. What is late says so, and says what holds now.
	Late         time.Duration
	Subscription uuid.UUID
	Name         string         // of the subscription, as its owner calls it; may be empty
	Language     []string       // BCP 47, the most wanted first
	Zone         *time.Location // of the reader; nil: UTC alone
	Items        []Item         // one; several in a summary or digest; none in confirm and test
	More         int            // hazards left out of a summary or digest
	// Absolute addresses; empty without a public address of the service. Link is the hazard's page (of Confirm: the page that confirms), Manage the page
	// of the subscription, Unsubscribe ends it by one POST (RFC 8058) and asks on GET.
	Link, Manage, Unsubscribe string
}

// Item is a hazard in a message.
type Item struct {
	Hazard     hazard.Hazard // as it is told; its texts are chosen by the languages of the Notice
	Changed    []Change      // what matters and changed since the last message; nil in the first
	Place      string        // the reader's place that it concerns, by the reader's or a gazetteer's name
	DistanceKM *float64      // from that place; nil: not known; 0: the place is inside
	People     *int64        // who live in the area; nil: not known
	Reason     string        // why it ended, was withdrawn or is corrected, in a person's words; empty: Hazard.Reason says it
	Authority  string        // who says so: the title of the source or organization; empty: Hazard.Source
	Link       string        // of the hazard's page; may be empty
	// Picture draws the map of the hazard as a PNG of that width in pixels; nil: there is none. It is called by channels that show one.
	Picture func(width int) ([]byte, error)
}

// Change is a value that matters and changed. From and To are as machines write them, by Field:
//
//   - "severity", "type", "category": the identifiers of the vocabulary ("WATCH" to "WARNING")
//   - "name", "instruction": texts; "instruction" may have From and To empty: it changed
//   - "start", "end": RFC 3339; empty: not known
//   - "people", "distance": numbers, people and kilometers
//   - "area": "outside", "near" or "inside", of the reader's place
//   - a hazard.Quantity, such as "magnitude": its value as a decimal number, in the unit of the quantity; empty: not known
type Change struct {
	Field    string
	From, To string
}
