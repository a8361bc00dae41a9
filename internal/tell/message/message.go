// Package message writes messages about hazards to people: subject, plain text, HTML, and short forms.
//
// All functions depend only on their arguments and may be called concurrently. The same Notice gives
// the same bytes, so a repeated attempt sends the same message. Texts of authorities and editors are
// shown as text: markup, line breaks in headers, and characters that are invisible or change the
// direction of writing are removed or escaped, and long texts are cut. The other words come from
// internal/lang/words, in the reader's language. A drill says that it is one first, in the subject and
// in the body.
package message

import (
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/format/headline"
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
	Correction Kind = "correction" // an earlier message was wrong
	Summary    Kind = "summary"    // many hazards at once (a storm)
	Digest     Kind = "digest"     // the messages of a day or a week, if the subscription wants that
	Confirm    Kind = "confirm"    // asks whether the address wants messages; Link or Code confirms
	Drafts     Kind = "drafts"     // changes wait for a second person, or wait no more
	Test       Kind = "test"       // shows that a channel works
)

// KindOfEnd returns the kind of a message about a hazard that ended.
func KindOfEnd(h *hazard.Hazard) Kind {
	switch h.Reason {
	case hazard.EndRetracted:
		return Correction
	case hazard.EndCancelled, hazard.EndWithdrawn:
		return Withdrawn
	}
	return Ended
}

// Notice is one message to one reader.
type Notice struct {
	ID     string // of the message; the same for each attempt
	Thread string // id of the conversation about a hazard with a subscription; may be empty
	Kind   Kind
	At     time.Time // when the change was committed
	// Late is how late the message is; 0 if it is in time. A late message says so, and describes the
	// present state.
	Late         time.Duration
	Subscription uuid.UUID
	Name         string         // of the subscription, given by its owner; may be empty
	Language     []string       // BCP 47, the preferred one first
	Zone         *time.Location // of the reader; nil for UTC only
	Items        []Item         // one; several in a summary or digest; none in confirm, drafts and test
	More         int            // hazards left out of a summary or digest
	// Absolute addresses, empty if the service has no public address. Link is the page of the hazard, or
	// for Confirm the page that confirms. Manage is the page of the subscription. Unsubscribe ends it by
	// one POST (RFC 8058), and asks on GET.
	Link, Manage, Unsubscribe string
	// Code confirms an address that can get no link, in a Confirm; the owner of the subscription enters it.
	Code string
	// Drafts are the changes that wait, or all those that wait no more, of a message of that kind. Link is
	// where they are decided. More are left out.
	Drafts []Draft
}

// Outcome is what became of a draft.
type Outcome string

// The outcomes of a draft.
const (
	Waiting  Outcome = ""
	Approved Outcome = "approved" // it is published
	Refused  Outcome = "refused"
	Lapsed   Outcome = "lapsed" // nobody decided in time
)

// Draft is a change that waits, or waited, for a second person.
type Draft struct {
	Name        string // of the hazard
	Type        hazard.Type
	Severity    hazard.Severity
	Exercise    bool
	Author      string
	Mine        bool   // of the reader, who does not decide about it
	People      *int64 // who would be reached; nil if unknown
	Subscribers int64
	Expires     hazard.Instant // it cannot be decided from then on
	Left        time.Duration  // until then
	Outcome     Outcome        // of a draft of the reader
	By          string         // who decided
	Reason      string         // why it was refused
}

// Item is a hazard in a message.
type Item struct {
	Hazard     hazard.Hazard    // as described; the languages of the Notice choose its texts
	Changed    []Change         // since the last message, if it matters; nil in the first one
	Around     *headline.Around // what lies where the hazard is; nil finds it from its point alone
	Place      string           // the reader's place that it concerns, as the reader or a gazetteer names it
	Anywhere   bool             // the reader named no place
	DistanceKM *float64         // from that place; nil if unknown, 0 if the place is inside
	People     *int64           // number of people in the area; nil if unknown
	Reason     string           // why it ended, was withdrawn or is corrected, in a person's words; empty if only Hazard.Reason is known
	Authority  string           // the title of the source or organization; empty for Hazard.Source
	Link       string           // of the hazard's page; may be empty
	// Picture draws the map of the hazard as a PNG of that width in pixels, for channels that show it; nil
	// if there is none.
	Picture func(width int) ([]byte, error)
}

// Change is a changed value that matters. The form of From and To depends on Field:
//
//   - "severity", "type", "category": the identifiers of the vocabulary ("WATCH" to "WARNING")
//   - "name", "instruction": texts; From and To of "instruction" may be empty
//   - "start", "end": RFC 3339; empty if unknown
//   - "people", "distance": numbers, people and kilometers
//   - "area": "outside", "near" or "inside", of the reader's place; "left" if the reader's filter no longer passes the hazard
//   - a hazard.Quantity, such as "magnitude": its value as a decimal number, in the unit of the quantity; empty if unknown
type Change struct {
	Field    string
	From, To string
}
