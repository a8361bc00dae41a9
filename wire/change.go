package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Change is a change of the log, as hazardd returns it in lists and sends it in event streams and
// to webhooks. The base interface has no changes.
type Change struct {
	Change int64  `json:"change"`
	Time   string `json:"time"` // RFC 3339, UTC
	Type   string `json:"type"`
	// Left means that the hazard no longer matches the reader's filter. No more changes of it
	// follow unless it matches again.
	Left bool `json:"left,omitzero"`
	// Late means that a webhook gets this message long after the change. It describes the state as
	// of Change, and Changes lists all changes that it covers.
	Late    bool    `json:"late,omitzero"`
	Changes []int64 `json:"changes,omitzero"`
	// User is the user who made the change, Source the source whose report made it. If both are
	// empty, the service made it: at the hazard's end, or after it counted the people.
	User   string `json:"user,omitzero"`
	Source string `json:"source,omitzero"`
	// Reason says why a hazard ended, Successor is the UUID of the hazard that replaces it.
	Reason    string `json:"reason,omitzero"`
	Successor string `json:"successor,omitzero"`
	Note      string `json:"note,omitzero"`
	Retracted bool   `json:"retracted,omitzero"`
	// Undoes is the number of the change that this one undid: a merge, split, end or retraction.
	Undoes int64 `json:"undoes,omitzero"`
	// Fields are the fields that differ from the state before. Only the history of one hazard has
	// them.
	Fields []FieldChange `json:"fields,omitzero"`
	// Redacted lists what was permanently removed from this state.
	Redacted []Redaction `json:"redacted,omitzero"`
	// PlaceKind says how well the place of the hazard is known. If it is region or country, the hazard
	// is somewhere in PlaceKnownAs, and its point only stands for that.
	PlaceKind    string `json:"place_kind,omitzero"`
	PlaceKnownAs string `json:"place_known_as,omitzero"`
	// The state after the change: exactly one of the two is set.
	Hazard  *Hazard  `json:"hazard,omitzero"`
	Product *Product `json:"product,omitzero"`
}

// Redaction says which fields were permanently removed, by whom, when (RFC 3339, UTC) and why.
type Redaction struct {
	Fields []string `json:"fields"`
	User   string   `json:"user"`
	Time   string   `json:"time"`
	Reason string   `json:"reason"`
}

// FieldChange is the value of one field before and after a change.
type FieldChange struct {
	Field string         `json:"field"`
	From  jsontext.Value `json:"from"`
	To    jsontext.Value `json:"to"`
}

// FromChange converts c to its JSON form. total is the number of products of the hazard that the
// reader may see as of the change; for a change of a product it is ignored. base is the service's
// public address without a trailing slash.
func FromChange(c *hazard.Change, total int, base string) Change {
	shown := Change{Change: c.Number, Time: c.At.Time().Format(time.RFC3339Nano), Type: string(c.Kind), User: c.Actor, Source: c.Source}
	for _, m := range c.Redactions() {
		shown.Redacted = append(shown.Redacted, Redaction{m.Fields, m.User, m.At.Time().Format(time.RFC3339Nano), m.Reason})
	}
	if c.Product != nil {
		shown.Product = new(FromProduct(c.Product, base))
		return shown
	}
	shown.Hazard = new(FromHazard(c.Hazard, total, base))
	shown.Undoes, shown.PlaceKind, shown.PlaceKnownAs = c.Hazard.Undoes, string(c.Hazard.Place()), c.Hazard.PlaceKnownAs
	shown.Reason, shown.Note, shown.Retracted = string(c.Hazard.Reason), c.Hazard.Note, c.Hazard.Reason == hazard.EndRetracted
	if c.Hazard.Successor != uuid.Nil {
		shown.Successor = c.Hazard.Successor.String()
	}
	return shown
}
