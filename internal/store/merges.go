package store

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/db"
)

// Merge is what became of two hazards when they became one: what it takes to take that back.
type Merge struct {
	Change     int64          `json:"change"` // the change that ended From
	From, Into int64          // the hazard that ended, and its successor
	Events     []MovedEvent   `json:"events,omitzero"`
	Products   []MovedProduct `json:"products,omitzero"`
	Joined     [][2]EventName `json:"joined,omitzero"` // pairs that were parted before
	Loose      []MovedProduct `json:"loose,omitzero"`  // what stayed, or went, without the folder that it was in
}

// MovedEvent is an event that went from one hazard to another, and why it was part of the one.
type MovedEvent struct {
	EventName
	To     int64  `json:"to"`
	Joined string `json:"why,omitzero"`
	// Shapes are what its source had drawn, of an event that is part of no hazard now.
	Shapes []hazard.ShapesRef `json:"shapes,omitzero"`
}

// MovedProduct is a product that went from one hazard to another, and the folder that it was in.
type MovedProduct struct {
	ID     int64 `json:"id"`
	To     int64 `json:"to"`
	Parent int64 `json:"parent,omitzero"`
}

// Split is what became of a hazard that a person split: what it takes to take that back.
type Split struct {
	Change   int64          `json:"change"` // the last of the hazard by that
	HazardID int64          `json:"hazard"`
	Event    EventName      `json:"event"`        // what was found to be another than the rest
	Joined   string         `json:"why,omitzero"` // why it was part of the hazard
	Found    []Found        `json:"found"`        // of each other event
	Events   []MovedEvent   `json:"events"`       // what left the hazard; To 0: it is too slight to be part of any
	Loose    []MovedProduct `json:"loose,omitzero"`
}

// Found is what people had found before about an event and another.
type Found struct {
	EventName
	Before Verdict `json:"before,omitzero"`
}

// SaveSplit keeps what a split moved.
func (t *Tx) SaveSplit(s *Split) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return t.q.AddSplit(t.ctx, db.AddSplitParams{N: s.Change, HazardID: s.HazardID, Body: string(body)})
}

// Split is what the split of a change moved. ErrNotFound: the change was no split, or was taken back.
func (t *Tx) Split(change int64) (*Split, error) {
	body, err := t.q.Split(t.ctx, change)
	if err != nil {
		return nil, found(err, "a split by change %d", change)
	}
	s := &Split{}
	if err := json.Unmarshal([]byte(body), s); err != nil {
		return nil, fmt.Errorf("split: %w", err)
	}
	return s, nil
}

// DropSplit forgets a split that is taken back.
func (t *Tx) DropSplit(change int64) error { return t.q.DropSplit(t.ctx, change) }

// SaveMerge keeps what a merge moved.
func (t *Tx) SaveMerge(m *Merge) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.q.AddMerge(t.ctx, db.AddMergeParams{N: m.Change, FromID: m.From, IntoID: m.Into, Body: string(body)})
}

// Merge is what the merge of a change moved. ErrNotFound: the change was no merge, or was taken back.
func (t *Tx) Merge(change int64) (*Merge, error) {
	body, err := t.q.Merge(t.ctx, change)
	if err != nil {
		return nil, found(err, "a merge by change %d", change)
	}
	return decodeMerge(body)
}

// LastMerge is the latest merge that ended a hazard. ErrNotFound: none did, or all were taken back.
func (t *Tx) LastMerge(from int64) (*Merge, error) {
	body, err := t.q.LastMerge(t.ctx, from)
	if err != nil {
		return nil, found(err, "a merge of hazard %d", from)
	}
	return decodeMerge(body)
}

func decodeMerge(body string) (*Merge, error) {
	m := &Merge{}
	if err := json.Unmarshal([]byte(body), m); err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return m, nil
}

// DropMerge forgets a merge that is taken back.
func (t *Tx) DropMerge(change int64) error { return t.q.DropMerge(t.ctx, change) }

// Undoing notes that the transaction takes back a change: the states of hazards that it writes say so.
func (t *Tx) Undoing(change int64) { t.undoes = change }

// Change is the change of that number, or ErrNotFound.
func (t *Tx) Change(n int64) (hazard.Change, error) {
	row, err := t.q.ChangeByNumber(t.ctx, n)
	if err != nil {
		return hazard.Change{}, found(err, "change %d", n)
	}
	return decodeChange(db.ChangesSinceRow(row))
}

// HazardAsOf is the state of a hazard as of change n, or ErrNotFound if it was not there yet.
func (t *Tx) HazardAsOf(hazardID, n int64) (*hazard.Hazard, error) {
	row, err := t.q.HazardAt(t.ctx, db.HazardAtParams{HazardID: hazardID, AtN: n})
	if err != nil {
		return nil, found(err, "hazard %d as of change %d", hazardID, n)
	}
	return decodeHazard(row.N, row.Body)
}
