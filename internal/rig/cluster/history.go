package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Front is the name of what stands before all nodes. Who answered for it is known by name all the same.
const Front = "front"

// A Write is a request that changes something, and what its client knows of it. Every state that is asked for has a name of its own, which nobody
// asks for twice.
type Write struct {
	Client  int
	To      string // where it was sent: a node, or Front
	Node    string // who answered; empty: not known
	Hazard  string // uuid
	Product string // uuid of the product that is made or deleted; empty: it is the hazard that is written
	Deletes bool   // the product
	// Before is the name that the hazard had to have (If-Match), empty: none; After the one that it gets.
	Before, After string
	Ends          bool // the hazard gets After, and ends
	Start, End    time.Time
	Last          time.Duration // what the last try took, of those that were one write
	Status        int           // of the answer; 0: none came
	Error         string
}

// Acknowledged: it is told that it was done.
func (w *Write) Acknowledged() bool { return w.Status >= 200 && w.Status < 300 }

// Refused: it is told that it was not done. What is neither may have been done, or be done yet.
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
	Status     int   // 0: no answer came, or not all of it
	Change     int64 // as of which the answer is, as it says
	Body       []byte
	Error      string
}

// An Event is one thing that a stream told.
type Event struct {
	Number int64
	Text   string // of the change
	Reset  bool   // the history was replaced, and goes on after Number
	At     time.Time
	Node   string
}

// A Stream is what one reader of events was told from the beginning of the log on, over as many connections as it took.
type Stream struct {
	Client int
	To     string
	Events []Event
}

// A Change is one of the log, as GET /changes gives it.
type Change struct {
	Number  int64
	Text    string
	Type    string
	User    string
	Hazard  string // uuid; of a product's change too
	Name    string // of the hazard, after it
	Active  bool
	Ends    time.Time // when the hazard ends by itself; zero: never
	Total   string    // how many products it has
	Product string    // uuid
}

// A Window is when something was broken.
type Window struct{ From, To time.Time }

func (w Window) overlaps(from, to time.Time) bool { return from.Before(w.To) && to.After(w.From) }

// A History is everything that was seen.
type History struct {
	Writes  []Write
	Reads   []Read
	Streams []*Stream
	Log     []Change
	// Refusing are the times at which a node does not answer, because it is dead or stopped; Cut those at which it has no database. Both are as
	// generous as a client would be.
	Refusing, Cut map[string][]Window
	// Failovers are the times at which another server became the primary: from the moment that the old one lost touch with its standby (Lossy)
	// or died.
	Failovers []Window
	Lossy     bool // the new primary may lack what the old one acknowledged
}

// member is what the checker reads of a hazard or a product.
type member struct {
	UUID       string `json:"uuid"`
	ID         int64  `json:"hazard_ID"`
	Name       string `json:"hazard_Name"`
	Status     string `json:"status"`
	AutoExpire string `json:"autoexpire"`
	End        string `json:"end_Date"`
	Total      string `json:"product_total"`
}

// ends returns when a hazard ends by itself, zero: never.
func (m *member) ends() (time.Time, error) {
	if m.AutoExpire != "Y" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(m.End, 10, 64)
	return time.UnixMilli(ms), err
}

// ParseLog reads changes, which are JSON objects in the order of the log, from its beginning on.
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
			return nil, fmt.Errorf("not the change of one thing: %s", text)
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
