package cap

import (
	"errors"
	"fmt"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Practice is what is known of how the sender of a feed behaves where CAP leaves it open, or where
// senders differ from CAP. The zero value is "unknown", which errs towards showing: a warning counts
// until its own end or a successor that references it, and absence ends nothing.
type Practice struct {
	Name string // of the sender or the kind of feed, for people
	// Lists is what the feed's list means. Its Identity and NoEnd repeat the fields below in words.
	Lists source.Lists
	// Identity is how a later message of the same warning is known, besides its references.
	Identity Identity
	Expires  Expires
	Early    Early
	Cancels  string // how the sender takes a warning back, for people
	// Languages is how the sender writes in several languages, for people.
	Languages string
}

// Identity is how the messages of one warning are known. References come first: a message with
// references belongs to the warning of those. It never depends on the level, which changes.
type Identity string

// The identities.
const (
	ByUnknown    Identity = ""
	ByReferences Identity = "references"
	// ByIdentifier means that a warning keeps its identifier while sent moves.
	ByIdentifier Identity = "identifier"
	// ByIncident means that incidents and the code of the event stay.
	ByIncident Identity = "incident"
	// ByArea means that the words for the area, and the event, stay.
	ByArea Identity = "area"
	// ByDay means one warning for each area, type and day of its onset. A message may name several
	// areas, and the next one some of them.
	ByDay Identity = "day"
	// ByWindow means one warning for each type, set of areas, onset and end.
	ByWindow Identity = "window"
	// ByEdges means references. Besides, one warning is cut into messages with touching times.
	ByEdges Identity = "edges"
)

// identities explains the identities, for people.
var identities = map[Identity]string{
	ByUnknown: "unknown", ByReferences: "references", ByIdentifier: "the identifier", ByIncident: "incidents and code of the event", ByArea: "words of the area, and event",
	ByDay: "area, type and day", ByWindow: "areas, type and times", ByEdges: "references; touching times are one",
}

func (i Identity) String() string { return identities[i] }

// Expires is what a sender writes as expires.
type Expires string

// The meanings of expires.
const (
	ExpiresUnknown Expires = ""
	ExpiresEnd     Expires = "end"   // the end of the warning
	ExpiresStamp   Expires = "stamp" // a time that moves with each issue of the list, and no end
	ExpiresNever   Expires = "never" // nothing
)

// Early is what an expires means that is not after sent, in a message that does not say otherwise
// that it is over.
type Early string

// The meanings.
const (
	EarlyUnknown Early = ""
	EarlyNoEnd   Early = "no end" // the warning goes on
	EarlyOver    Early = "over"   // it is over, or moved
)

// lists returns Lists with the words for its table.
func (p *Practice) lists() source.Lists {
	l := p.Lists
	if l == (source.Lists{}) && p.Identity == ByUnknown {
		return l
	}
	l.Identity, l.NoEnd = p.Identity.String(), p.noEnd()
	return l
}

// noEnd returns what a missing or impossible end means, for people.
func (p *Practice) noEnd() string {
	switch {
	case p.Lists.InForce == source.Yes:
		return "it lasts until the list drops it"
	case p.Early == EarlyOver:
		return "24 h from its issue, and over if the end is not after that"
	}
	return "24 h from its issue"
}

// Check validates the practice. Its error names the fields.
func (p *Practice) Check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, ok := identities[p.Identity]; !ok {
		fault("identity: %.20q, expected references, identifier, incident, area, day, window, edges or unknown", string(p.Identity))
	}
	switch p.Expires {
	case ExpiresUnknown, ExpiresEnd, ExpiresStamp, ExpiresNever:
	default:
		fault("expires: %.20q, expected end, stamp, never or unknown", string(p.Expires))
	}
	switch p.Early {
	case EarlyUnknown, EarlyNoEnd, EarlyOver:
	default:
		fault("early: %.20q, expected no end, over or unknown", string(p.Early))
	}
	if p.Expires == ExpiresStamp && p.Lists.InForce != source.Yes {
		fault("expires: a stamp is no end, so what is listed must be in force")
	}
	return errors.Join(errs...)
}
