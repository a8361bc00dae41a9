package store

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store/sqlc"
)

// Merge holds what is needed to undo a merge of two hazards.
type Merge struct {
	Change     int64          `json:"change"` // the change that ended From
	From, Into int64          // the hazard that ended, and its successor
	Events     []MovedEvent   `json:"events,omitzero"`
	Products   []MovedProduct `json:"products,omitzero"`
	Joined     [][2]EventName `json:"joined,omitzero"` // pairs that were split before
	Loose      []MovedProduct `json:"loose,omitzero"`  // products that were separated from their folder
}

// MovedEvent is an event that moved from one hazard to another, with the reason why it belonged to
// the first.
type MovedEvent struct {
	EventName
	To     int64  `json:"to"`
	Joined string `json:"why,omitzero"`
	// Shapes are the source's shapes, if the event belongs to no hazard now.
	Shapes []hazard.ShapesRef `json:"shapes,omitzero"`
}

// MovedProduct is a product that moved from one hazard to another, with its former folder.
type MovedProduct struct {
	ID     int64 `json:"id"`
	To     int64 `json:"to"`
	Parent int64 `json:"parent,omitzero"`
}

// Split holds what is needed to undo a person's split of a hazard.
type Split struct {
	Change   int64          `json:"change"` // the hazard's last change by the split
	HazardID int64          `json:"hazard"`
	Event    EventName      `json:"event"`        // the event that was split off
	Joined   string         `json:"why,omitzero"` // why it belonged to the hazard
	Found    []Found        `json:"found"`        // earlier verdicts about it and each other event
	Events   []MovedEvent   `json:"events"`       // events that left the hazard; To is 0 for an event that is too slight for a hazard of its own
	Loose    []MovedProduct `json:"loose,omitzero"`
}

// Found is an earlier verdict about a pair of events.
type Found struct {
	EventName
	Before Verdict `json:"before,omitzero"`
}

// SaveSplit stores what a split moved.
func (t *TxMerges) SaveSplit(s *Split) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return t.q.AddSplit(t.ctx, sqlc.AddSplitParams{N: s.Change, HazardID: s.HazardID, Body: string(body)})
}

// Split returns what the split with that change moved. It returns ErrNotFound if the change was no
// split, or was undone.
func (t *TxMerges) Split(change int64) (*Split, error) {
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

// DropSplit forgets a split that was undone.
func (t *TxMerges) DropSplit(change int64) error { return t.q.DropSplit(t.ctx, change) }

// Save stores what a merge moved.
func (t *TxMerges) Save(m *Merge) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.q.AddMerge(t.ctx, sqlc.AddMergeParams{N: m.Change, FromID: m.From, IntoID: m.Into, Body: string(body)})
}

// Get returns what the merge with that change moved. It returns ErrNotFound if the change was no
// merge, or was undone.
func (t *TxMerges) Get(change int64) (*Merge, error) {
	body, err := t.q.Merge(t.ctx, change)
	if err != nil {
		return nil, found(err, "a merge by change %d", change)
	}
	return decodeMerge(body)
}

// Last returns the latest merge that ended a hazard. It returns ErrNotFound if there was none,
// or all were undone.
func (t *TxMerges) Last(from int64) (*Merge, error) {
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

// MergedInto lists the hazards that were merged into one. Some may no longer be part of it: their states say.
func (s *Hazards) MergedInto(ctx context.Context, id int64) ([]int64, error) {
	ids, err := s.readQ.MergedInto(ctx, id)
	return ids, storeError(err)
}

// Drop forgets a merge that was undone.
func (t *TxMerges) Drop(change int64) error { return t.q.DropMerge(t.ctx, change) }

// Undoing marks the transaction as the undo of a change; the states of hazards that it writes
// record that.
func (t *Tx) Undoing(change int64) { t.undoes = change }

// Change returns the change with that number, or ErrNotFound.
func (t *Tx) Change(n int64) (hazard.Change, error) {
	row, err := t.q.ChangeByNumber(t.ctx, n)
	if err != nil {
		return hazard.Change{}, found(err, "change %d", n)
	}
	return decodeChange(sqlc.ChangesSinceRow(row))
}

// HazardAsOf returns the state of a hazard as of change n, or ErrNotFound if it did not exist yet.
func (t *Tx) HazardAsOf(hazardID, n int64) (*hazard.Hazard, error) {
	row, err := t.q.HazardAt(t.ctx, sqlc.HazardAtParams{HazardID: hazardID, AtN: n})
	if err != nil {
		return nil, found(err, "hazard %d as of change %d", hazardID, n)
	}
	return decodeHazard(row.N, row.Body)
}
