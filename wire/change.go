package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Change is a change of the log as hazardd tells it: in lists, in the event stream and to webhooks. The base interface has none.
type Change struct {
	Change int64  `json:"change"`
	Time   string `json:"time"` // RFC 3339, UTC
	Type   string `json:"type"`
	// Left: the hazard does not pass the reader's filter any more; nothing more is told of it unless it comes back.
	Left bool `json:"left,omitzero"`
	// Late: it comes long after the change, to a webhook. What it tells is as of Change, which is the latest; Changes are all that it tells
	// of.
	Late    bool    `json:"late,omitzero"`
	Changes []int64 `json:"changes,omitzero"`
	// User is who made it, Source which source's report did; neither: the service itself, at the hazard's end, or once it has counted the people.
	User   string `json:"user,omitzero"`
	Source string `json:"source,omitzero"`
	// Of a change that ended a hazard: why, and what took its place.
	Reason    string `json:"reason,omitzero"`
	Successor string `json:"successor,omitzero"`
	Note      string `json:"note,omitzero"`
	Retracted bool   `json:"retracted,omitzero"`
	// Undoes is the number of the change that this one took back: a merge, a split, an end or a retraction.
	Undoes int64 `json:"undoes,omitzero"`
	// Fields are the fields that differ from the state before; in the history of one hazard only.
	Fields []FieldChange `json:"fields,omitzero"`
	// Redacted are the marks of what was removed from this state for good.
	Redacted []Redaction `json:"redacted,omitzero"`
	// One of them is the state after the change.
	Hazard  *Hazard  `json:"hazard,omitzero"`
	Product *Product `json:"product,omitzero"`
}

// Redaction says that fields were removed for good, by whom, when (RFC 3339, UTC) and why.
type Redaction struct {
	Fields []string `json:"fields"`
	User   string   `json:"user"`
	Time   string   `json:"time"`
	Reason string   `json:"reason"`
}

// FieldChange is one field's value before and after a change.
type FieldChange struct {
	Field string         `json:"field"`
	From  jsontext.Value `json:"from"`
	To    jsontext.Value `json:"to"`
}

// FromChange is c as readers see it. total is how many products of the hazard the reader may know of as of the change; it does not
// matter for a change of a product. base is the service's public address.
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
	shown.Undoes = c.Hazard.Undoes
	shown.Reason, shown.Note, shown.Retracted = string(c.Hazard.Reason), c.Hazard.Note, c.Hazard.Reason == hazard.EndRetracted
	if c.Hazard.Successor != uuid.Nil {
		shown.Successor = c.Hazard.Successor.String()
	}
	return shown
}
