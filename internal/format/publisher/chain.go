package publisher

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Kind is the effect of a message on those before it (CAP 1.2, section 3.2.1, msgType).
type Kind string

// These are the kinds of messages.
const (
	Alert  Kind = "Alert"
	Update Kind = "Update"
	Cancel Kind = "Cancel"
)

// Status is what a message is (CAP 1.2, section 3.2.1, status).
type Status string

// These are the statuses of messages.
const (
	Actual   Status = "Actual"
	Exercise Status = "Exercise"
	Test     Status = "Test"
)

// Message is a change of a hazard that is published as a CAP message.
type Message struct {
	Number int64 // number of the change
	Hazard int64
	Org    int64
	Kind   Kind
	Drill  bool // the hazard is an exercise
	Sent   hazard.Instant
	First  int64 // number of the Alert with which the chain begins

	// The rest is set by Published.
	Status  Status
	Profile *Profile // under which it is published
	// After is the number of the last change before it was published: Number-1, or more if
	// publishing was paused then.
	After int64
}

// Chain finds the messages among the changes of one hazard and its products. The zero Chain is
// ready to use; Add each change once, in order.
//
// A change is a message if the hazard then reads differently: it was created, changed, ended by a
// person or source, or reactivated, or a public file was added, replaced or removed. That its end
// has passed is not a message, because the message before gives that time. A redaction rewrites
// states, and is a message itself. After that, two redacted states may look the same although they
// differed, so each change of a redacted state is a message. So no message ever stops being one.
type Chain struct {
	hazard   *hazard.Hazard
	files    map[int64]string // what a message says about each product, by product number
	content  [sha256.Size]byte
	kind     Kind // kind of the last message; empty if there is none
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
	content := c.says()
	if c.kind != "" && content == c.content && !(change.Hazard != nil && change.Redacts()) {
		return
	}
	over := h.Status == hazard.Expired && h.Reason != hazard.EndExpired || !h.ActiveAt(change.At) && c.kind != ""
	kind := Update
	switch {
	case over && (c.kind == "" || c.kind == Cancel && !change.Redacts()):
		c.content = content
		return // there is nothing to cancel
	case over:
		kind = Cancel
	case c.kind == "" || c.kind == Cancel:
		kind, c.first = Alert, change.Number
	}
	c.content, c.kind = content, kind
	c.Messages = append(c.Messages, Message{Number: change.Number, Hazard: h.ID, Org: h.OrgID, Kind: kind, Drill: h.Drill(), Sent: change.At, First: c.first})
}

// Published returns the messages of one hazard that are published under the settings, in the order
// of their changes.
//
// The first published message of a chain is its Alert, the later ones are Updates, and its end is a
// Cancel. The status belongs to the chain: hubs ignore a Test that ends an Actual alert. So a chain
// that began as Actual ends as Actual, also if the organization has turned to tests. If the hazard
// becomes a drill, it is canceled as Actual. What began as a Test or an Exercise is left as it is
// when the hazard is published with another status, and a new chain begins.
//
// Changes while the organization has paused publishing are not messages. When it resumes, the last
// of them is published if earlier messages of the chain stand: nothing that no longer holds stays in
// force.
func Published(all []Message, settings Settings) []Message {
	var out []Message
	var last Message // the last published one
	for i, m := range all {
		m.After = m.Number - 1
		if m.Profile = settings.At(m.Org, m.Number); m.Profile == nil {
			m.After, m.Profile = settings.resumed(m.Org, m.Number)
			again := i+1 < len(all) && all[i+1].Number <= m.After // another change of the same pause
			if m.Profile == nil || again || last.Kind == "" || last.Kind == Cancel {
				continue
			}
		}
		if m.Status = Actual; m.Drill {
			m.Status = Exercise
		} else if m.Profile.Test {
			m.Status = Test
		}
		switch stands := last.Kind == Alert || last.Kind == Update; {
		case m.Kind == Cancel && !stands:
			if last.Kind == "" || all[i-1].Kind != Cancel {
				continue // what it cancels was not published, or is canceled
			}
			m.First, m.Status = last.First, last.Status // a redaction rewrites it
		case m.Kind == Cancel:
			m.First, m.Status = last.First, last.Status
		case stands && last.Status == Actual && m.Status == Exercise:
			m.Kind, m.First, m.Status = Cancel, last.First, Actual
		case stands && (m.Status == last.Status || last.Status == Actual):
			m.Kind, m.First, m.Status = Update, last.First, last.Status
		default:
			m.Kind, m.First = Alert, m.Number
		}
		out, last = append(out, m), m
	}
	return out
}

// ComparePublished orders messages as they were published.
func ComparePublished(a, b Message) int {
	return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(a.Number, b.Number))
}

// fileOf returns what a message says about a product. It is empty unless the product is a public
// file.
func fileOf(p *hazard.Product) string {
	if p.Deleted || p.Restricted() || p.Hidden || p.File == nil {
		return ""
	}
	content := p.Title + "\x00" + p.File.Digest + "\x00" + p.File.Name
	if len(p.Redacted) > 0 {
		content += "\x00" + strconv.FormatInt(p.Version, 10)
	}
	return content
}

// says returns a digest of everything that a message says about the hazard.
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
