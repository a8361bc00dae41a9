// Package find keeps the tables that hazards are found by, and asks them. They differ by database and are derived: they hold
// nothing that is not in the table of hazards and in the log. A Writing keeps them as part of the transaction that saves the
// hazards; a Finder answers a Question with rows, in order. What a row does not tell (exact places, phrases), and what the
// past was, is left to who asks.
package find

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// Tables are the tables of one kind of database: SQLite or Postgres.
type Tables interface {
	// Index writes them.
	Index() Index
	// Finder asks them.
	Finder(q *Question) Finder
}

// Index writes the tables.
type Index interface {
	// touch records a change that moves h in no index but that of the time of its last change. It reports false if h must be indexed again.
	touch(w *Writing, h *hazard.Hazard, at hazard.Instant) (bool, error)
	// whole makes the hazard h found as it is now, in its box. before is the state that it replaces, nil if that is not known.
	// made and changed are when it was written first, as far as is known here, and last. Its texts are left to text.
	whole(w *Writing, h, before *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error
	// text notes the words of a hazard.
	text(w *Writing, id int64, name, description []string) error
}

// Finder asks the tables that hazards are found by, in one reading transaction.
type Finder interface {
	// Each calls found with the rows after a place in the order (nil: all), in that order, until found returns false.
	Each(ctx context.Context, after *query.Key, found func(Row) (bool, error)) error
	// Count counts the rows, without looking at any. It is asked only if rows tell of the text that is asked for, and of the place.
	Count(ctx context.Context) (int64, error)
	// WrittenAround lists the hazards that had been written by a moment and were written again after it: their present state is not
	// that of the moment. Active ones are among them in any case.
	WrittenAround(ctx context.Context, at hazard.Instant) ([]int64, error)
	// TellsText tells whether rows are exactly those that say what is asked for.
	TellsText() bool
}

// Writing keeps the tables in step with what one transaction writes.
type Writing struct {
	ctx   context.Context
	tx    *sql.Tx
	index Index
	boxOf func(*hazard.Hazard) (geo.Box, error)
	texts map[int64]*hazard.Hazard // those whose words are still to be written
}

// Begin makes a Writing of a transaction. boxOf is asked for the box of a hazard whose row is written whole.
func Begin(ctx context.Context, tx *sql.Tx, index Index, boxOf func(*hazard.Hazard) (geo.Box, error)) *Writing {
	return &Writing{ctx, tx, index, boxOf, map[int64]*hazard.Hazard{}}
}

// Save makes the hazard h found as it is now, changed at a moment. before is the state that it replaces, nil for a new one. Most changes of a hazard
// are the time of a report and little else: the tables that are dear to write are written only when it matters to them.
func (w *Writing) Save(h, before *hazard.Hazard, at hazard.Instant) error {
	if err := w.values(h, before, false); err != nil {
		return err
	}
	if before != nil && sameSearched(h, before) {
		if enough, err := w.index.touch(w, h, at); err != nil || enough {
			return err
		}
		before = nil // of a program that did not know these tables, or written as of an earlier moment than ever before
	}
	return w.whole(h, before, at, at)
}

// Anew makes the hazard h found, of which nothing is known but when it was written first and last.
func (w *Writing) Anew(h *hazard.Hazard, made, changed hazard.Instant) error {
	if err := w.values(h, nil, true); err != nil {
		return err
	}
	return w.whole(h, nil, made, changed)
}

// value is a row of hazard_values: what a hazard is found and sorted by, in the unit of the quantity.
type value struct {
	quantity hazard.Quantity
	is       float64
}

func valuesOf(h *hazard.Hazard) (all []value) {
	if h == nil {
		return nil
	}
	for _, m := range h.Measurements {
		all = append(all, value{m.Name, m.Value})
	}
	if rank, ok := hazard.Rank(h); ok {
		all = append(all, value{importance, rank})
	}
	return all
}

// importance is the quantity under which the rank of an active hazard stands among the values.
const importance hazard.Quantity = "importance"

// Values writes the values of h anew, whatever is there of them.
func (w *Writing) Values(h *hazard.Hazard) error { return w.values(h, nil, true) }

// values keeps the values of a hazard, if they are not those of before. afresh: what is there of it is not known.
func (w *Writing) values(h, before *hazard.Hazard, afresh bool) error {
	are, were := valuesOf(h), valuesOf(before)
	sameType := before != nil && h.Type == before.Type
	if !afresh && slices.Equal(are, were) && (before == nil || sameType) {
		return nil
	}
	lost := func(v value) bool {
		return !slices.ContainsFunc(are, func(o value) bool { return o.quantity == v.quantity })
	}
	clear := afresh || slices.ContainsFunc(were, lost)
	if clear {
		if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM hazard_values WHERE hazard_id = $1`, h.ID); err != nil {
			return err
		}
	}
	for _, v := range are {
		if !clear && sameType && slices.Contains(were, v) {
			continue
		}
		if _, err := w.tx.ExecContext(w.ctx, `INSERT INTO hazard_values (hazard_id, quantity, type_id, value) VALUES ($1, $2, $3, $4)
			ON CONFLICT (hazard_id, quantity) DO UPDATE SET type_id = excluded.type_id, value = excluded.value`, h.ID, string(v.quantity), string(h.Type), v.is); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writing) whole(h, before *hazard.Hazard, made, changed hazard.Instant) error {
	if before == nil || !sameText(h, before) {
		w.texts[h.ID] = h
	}
	box, err := w.boxOf(h)
	if err != nil {
		return err
	}
	if !(box.South <= box.North) { // no numbers
		box = nowhere
	}
	return w.index.whole(w, h, before, box, made, changed)
}

// End writes the words of the hazards whose texts have changed. It is left to the end of a transaction, since FTS5 would make a segment
// of its own of what it has got whenever another statement follows that may have to be undone.
func (w *Writing) End() error {
	for _, id := range slices.Sorted(maps.Keys(w.texts)) {
		name, description := query.WordsOf(w.texts[id])
		if err := w.index.text(w, id, name, description); err != nil {
			return err
		}
	}
	return nil
}

// sameSearched tells whether two states differ at most in what index has a short way for.
func sameSearched(h, o *hazard.Hazard) bool {
	return h.Status == hazard.Active && o.Status == hazard.Active && h.AutoExpire == o.AutoExpire && h.Type == o.Type && h.Severity == o.Severity && h.Category == o.Category &&
		h.Source == o.Source && slices.Equal(h.Sources, o.Sources) && h.Start == o.Start && h.End == o.End && samePlace(h, o) && sameText(h, o)
}

func samePlace(h, o *hazard.Hazard) bool {
	return h.Longitude == o.Longitude && h.Latitude == o.Latitude && slices.Equal(h.Areas, o.Areas)
}

func sameText(h, o *hazard.Hazard) bool {
	return h.Name == o.Name && h.Description == o.Description && hazard.EqualTexts(h.Texts, o.Texts)
}

// nowhere is the box of a hazard without a place.
var nowhere = geo.Box{West: 0, South: 100, East: 0, North: 100}

// halves are the boxes that a box is made of that may cross the antimeridian.
func halves(b geo.Box) []geo.Box {
	if b.West <= b.East {
		return []geo.Box{b}
	}
	return []geo.Box{{West: b.West, East: 180, South: b.South, North: b.North}, {West: -180, East: b.East, South: b.South, North: b.North}}
}
