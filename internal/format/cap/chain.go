package cap

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Kind is what a message does to those before it (CAP 1.2, section 3.2.1, msgType).
type Kind string

// The kinds.
const (
	Alert  Kind = "Alert"
	Update Kind = "Update"
	Cancel Kind = "Cancel"
)

// Message is a change of a hazard that is a CAP message.
type Message struct {
	Number int64 // of the change
	Hazard int64
	Org    int64
	Kind   Kind
	Sent   hazard.Instant
	First  int64 // number of the message of kind Alert that the chain begins with
}

// Chain finds the messages in the changes of one hazard and its products. Make it with the zero value, and Add each change once, in their order.
//
// A message is each change after which it says something else than before: the hazard was made, reads otherwise, ended by somebody's word,
// or began again; a file that everybody may read was added, replaced or removed. That its end was reached is none: the message before says when that
// is. A redaction rewrites states, and is a message itself; since two states that were redacted may read the same now though they
// did not, each alteration of a redacted state is one. So no message ceases to be one.
type Chain struct {
	hazard   *hazard.Hazard
	files    map[int64]string // what a message says of a product, by its number
	said     [sha256.Size]byte
	kind     Kind // of the last message; empty: none
	first    int64
	Messages []Message
}

// Add adds the next change.
func (c *Chain) Add(change *hazard.Change) {
	switch {
	case change.Product != nil:
		if c.files == nil {
			c.files = map[int64]string{}
		}
		p := change.Product
		if c.files[p.ID] = fileOf(p); c.files[p.ID] == "" {
			delete(c.files, p.ID)
		}
		if c.hazard == nil || !c.hazard.ActiveAt(change.At) {
			return
		}
	case change.Hazard != nil:
		before := c.hazard
		c.hazard = change.Hazard
		if before != nil && change.Hazard.Reason == hazard.EndExpired && change.Hazard.Updated == before.Updated {
			return // its end was reached
		}
	}
	h := c.hazard
	if h.OrgID == hazard.NoOrg {
		return
	}
	said := c.says()
	if c.kind != "" && said == c.said && !(change.Hazard != nil && change.Redacts()) {
		return
	}
	over := h.Status == hazard.Expired && h.Reason != hazard.EndExpired || !h.ActiveAt(change.At) && c.kind != ""
	kind := Update
	switch {
	case over && (c.kind == "" || c.kind == Cancel && !change.Redacts()):
		c.said = said
		return // there is nothing to cancel
	case over:
		kind = Cancel
	case c.kind == "" || c.kind == Cancel:
		kind, c.first = Alert, change.Number
	}
	c.said, c.kind = said, kind
	c.Messages = append(c.Messages, Message{Number: change.Number, Hazard: h.ID, Org: h.OrgID, Kind: kind, Sent: change.At, First: c.first})
}

// fileOf is what a message says of a product: nothing but of an open file.
func fileOf(p *hazard.Product) string {
	if p.Deleted || p.Restricted() || p.Hidden || p.File == nil {
		return ""
	}
	said := p.Title + "\x00" + p.File.Digest + "\x00" + p.File.Name
	if len(p.Redacted) > 0 {
		said += "\x00" + strconv.FormatInt(p.Version, 10)
	}
	return said
}

// says is a digest of all that a message says of the hazard, whoever reads it.
func (c *Chain) says() [sha256.Size]byte {
	h := c.hazard.Stored()
	var files []string
	for id, f := range c.files {
		files = append(files, strconv.FormatInt(id, 10)+" "+f)
	}
	slices.Sort(files)
	var altered hazard.Instant
	if len(h.Redacted) > 0 {
		altered = h.Updated
	}
	text, err := json.Marshal([]any{h.Name, h.Description, h.Type, h.Severity, h.Category, h.Status, h.Reason, h.Successor, h.Note, h.AutoExpire, h.Start, h.End, h.Longitude, h.Latitude,
		h.URL, h.Areas, h.Texts, h.OrgID, files, altered})
	if err != nil {
		panic(err) // of valid text and numbers
	}
	return sha256.Sum256(text)
}
