package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Front is the name of the proxy before all nodes. The name of the node that answered is known
// nevertheless.
const Front = "front"

// A Write is a request that changes something, and its result as the client knows it. Every write
// uses a new name, so that each state is unique.
type Write struct {
	Client  int
	To      string // where it was sent: a node, or Front
	Node    string // the node that answered; empty: unknown
	Hazard  string // uuid
	Product string // uuid of a product that is created or deleted; empty: the hazard is written
	Deletes bool   // deletes the product
	// Before is the hazard's name required by If-Match; empty if none. After is its new name.
	Before, After string
	Ends          bool // the hazard is named After, and ends
	Start, End    time.Time
	Last          time.Duration // duration of the last of several tries of one write
	Status        int           // status of the answer; 0: no answer
	Error         string
}

// Acknowledged reports whether the client was told that the write was done.
func (w *Write) Acknowledged() bool { return w.Status >= 200 && w.Status < 300 }

// Refused reports whether the client was told that the write was not done. A write that is neither
// acknowledged nor refused may have been done, or may still be done.
func (w *Write) Refused() bool { return w.Status >= 400 && w.Status < 500 }

func (w *Write) String() string {
	what := fmt.Sprintf("client %d at %s: %q of hazard %s", w.Client, w.To, w.After, w.Hazard)
	if w.Product != "" {
		what = fmt.Sprintf("client %d at %s: product %s, deleted %v", w.Client, w.To, w.Product, w.Deletes)
	}
	return fmt.Sprintf("%s, answered with %d by %s at %s after %v %s", what, w.Status, w.Node, w.End.Format(clockTime), w.End.Sub(w.Start).Round(time.Millisecond), w.Error)
}

const clockTime = "15:04:05.000"

// A Read is a request for the active hazards.
type Read struct {
	Client     int
	To, Node   string
	Start, End time.Time
	Status     int   // 0: no answer, or an incomplete one
	Change     int64 // number of the change that the answer includes
	Body       []byte
	Error      string
}

// An Event is one event of a stream.
type Event struct {
	Number int64
	Text   string // JSON text of the change
	Reset  bool   // the history was replaced, and continues after Number
	At     time.Time
	Node   string
}

// A Stream is all events that one reader received from the beginning of the log on, over any number
// of connections.
type Stream struct {
	Client int
	To     string
	Events []Event
}

// A Change is one change of the log, as in GET /changes.
type Change struct {
	Number  int64
	Text    string
	Type    string
	User    string
	Hazard  string // uuid; also set for changes of products
	Name    string // the hazard's name after the change
	Active  bool
	Ends    time.Time // when the hazard expires; zero: never
	Total   string    // its number of products
	Product string    // uuid
}

// A Window is a time in which something was broken.
type Window struct{ From, To time.Time }

func (w Window) overlaps(from, to time.Time) bool { return from.Before(w.To) && to.After(w.From) }

// A History is everything that was observed.
type History struct {
	Writes  []Write
	Reads   []Read
	Streams []*Stream
	Log     []Change
	// Refusing are the times in which a node does not answer, because it is dead or stopped. Cut
	// are the times in which it has no database. Both include the delays that a client should
	// tolerate.
	Refusing, Cut map[string][]Window
	// Failovers are the times in which another server became the primary. They begin when the old
	// primary lost contact with its standby (Lossy) or died.
	Failovers []Window
	Lossy     bool // the new primary may lack changes that the old one acknowledged
}

// member holds the fields of a hazard or a product that the checker reads.
type member struct {
	UUID       string `json:"uuid"`
	ID         int64  `json:"hazard_ID"`
	Name       string `json:"hazard_Name"`
	Status     string `json:"status"`
	AutoExpire string `json:"autoexpire"`
	End        string `json:"end_Date"`
	Total      string `json:"product_total"`
}

// ends returns when a hazard expires; zero: never.
func (m *member) ends() (time.Time, error) {
	if m.AutoExpire != "Y" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(m.End, 10, 64)
	return time.UnixMilli(ms), err
}

// ParseLog parses changes, which are JSON objects in the order of the log, from its beginning.
func ParseLog(texts []json.RawMessage) ([]Change, error) {
	log := make([]Change, 0, len(texts))
	uuids := map[int64]string{}
	for _, text := range texts {
		var c struct {
			Change  int64
			Type    string
			User    string
			Hazard  *member
			Product *member
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, fmt.Errorf("%w: %s", err, text)
		}
		if (c.Hazard == nil) == (c.Product == nil) {
			return nil, fmt.Errorf("not the change of exactly one hazard or product: %s", text)
		}
		change := Change{Number: c.Change, Text: string(text), Type: c.Type, User: c.User}
		if h := c.Hazard; h != nil {
			ends, err := h.ends()
			if err != nil {
				return nil, err
			}
			uuids[h.ID] = h.UUID
			change.Hazard, change.Name, change.Active, change.Ends, change.Total = h.UUID, h.Name, h.Status == "A", ends, h.Total
		} else {
			change.Hazard, change.Product = uuids[c.Product.ID], c.Product.UUID
		}
		log = append(log, change)
	}
	return log, nil
}
