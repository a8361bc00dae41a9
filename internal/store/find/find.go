// Package find keeps the tables by which hazards are found up to date, and queries them.
//
// These tables differ by database. They are derived from the table of hazards and the log. A
// Writing updates them in the transaction that saves the hazards. A Finder answers a Question with
// rows, in order. The caller checks what a row cannot tell, such as exact places and phrases, and
// answers for the past from the log.
package find

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// Tables are the derived tables of one kind of database: SQLite or Postgres.
type Tables interface {
	// Index returns the code that writes the tables.
	Index() Index
	// Finder returns the code that answers q from the tables.
	Finder(q *Question) Finder
}

// Index writes the tables of one database.
type Index interface {
	// touch records a change of h that affects no index except that of the last change. It reports
	// false if h must be indexed again.
	touch(w *Writing, h *hazard.Hazard, at hazard.Instant) (bool, error)
	// whole indexes the state h with its box, except for its texts. before is the state that it
	// replaces; nil if unknown. made and changed are the times of the first known and of the last
	// write.
	whole(w *Writing, h, before *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error
	// words runs f, which calls text, so that what it wrote is in the tables when it returns.
	words(w *Writing, f func() error) error
	// text indexes the words of a hazard.
	text(w *Writing, id int64, name, description []string) error
}

// Finder answers a Question from the tables, in one read transaction.
type Finder interface {
	// Each calls found with the rows after a position in the order (nil means all), in that order,
	// until found returns false.
	Each(ctx context.Context, after *query.Key, found func(Row) (bool, error)) error
	// Count counts the rows without reading them. It may be called only if rows decide the
	// requested text and place.
	Count(ctx context.Context) (int64, error)
	// WrittenAround lists the hazards that were written by a time and again after it, so that their
	// present state is not that of the time. It may list other active hazards too.
	WrittenAround(ctx context.Context, at hazard.Instant) ([]int64, error)
	// TellsText reports whether rows decide the requested text.
	TellsText() bool
}

// Writing keeps the tables consistent with what one transaction writes.
type Writing struct {
	ctx   context.Context
	tx    *sql.Tx
	index Index
	boxOf func(*hazard.Hazard) (geo.Box, error)
	texts map[int64]*hazard.Hazard // hazards whose words must still be written
}

// Begin returns a Writing for a transaction. boxOf returns the box of a hazard whose row is written
// completely.
func Begin(ctx context.Context, tx *sql.Tx, index Index, boxOf func(*hazard.Hazard) (geo.Box, error)) *Writing {
	return &Writing{ctx, tx, index, boxOf, map[int64]*hazard.Hazard{}}
}

// Save indexes the state h, changed at a time. before is the state that it replaces; nil for a new
// hazard. Most changes affect little more than the time of a report, so the tables that are
// expensive to write are written only if needed.
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

// Anew indexes the state h of which nothing is known but the times of its first and last write.
func (w *Writing) Anew(h *hazard.Hazard, made, changed hazard.Instant) error {
	if err := w.values(h, nil, true); err != nil {
		return err
	}
	return w.whole(h, nil, made, changed)
}

// value is a row of hazard_values: a number by which a hazard is found and sorted, in the unit of
// its quantity.
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

// importance is the quantity for the rank of an active hazard.
const importance hazard.Quantity = "importance"

// Values replaces all values of h.
func (w *Writing) Values(h *hazard.Hazard) error { return w.values(h, nil, true) }

// values updates the values of h if they differ from those of before. If afresh is true, the rows
// that exist are unknown.
func (w *Writing) values(h, before *hazard.Hazard, afresh bool) error {
	current, previous := valuesOf(h), valuesOf(before)
	sameType := before != nil && h.Type == before.Type
	if !afresh && slices.Equal(current, previous) && (before == nil || sameType) {
		return nil
	}
	lost := func(v value) bool {
		return !slices.ContainsFunc(current, func(o value) bool { return o.quantity == v.quantity })
	}
	clear := afresh || slices.ContainsFunc(previous, lost)
	if clear {
		if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM hazard_values WHERE hazard_id = $1`, h.ID); err != nil {
			return err
		}
	}
	rows, args := "", []any{h.ID, string(h.Type)}
	for _, v := range current {
		if !clear && sameType && slices.Contains(previous, v) {
			continue
		}
		args = append(args, string(v.quantity), v.is)
		rows += fmt.Sprintf(", ($1, $%d, $2, $%d)", len(args)-1, len(args))
	}
	if rows == "" {
		return nil
	}
	_, err := w.tx.ExecContext(w.ctx, `INSERT INTO hazard_values (hazard_id, quantity, type_id, value) VALUES `+rows[2:]+`
		ON CONFLICT (hazard_id, quantity) DO UPDATE SET type_id = excluded.type_id, value = excluded.value`, args...)
	return err
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

// End writes the words of the hazards whose texts have changed. It must be called at the end of a
// transaction: FTS5 would write a new segment before every other statement that may be rolled back.
func (w *Writing) End() error {
	if len(w.texts) == 0 {
		return nil
	}
	return w.index.words(w, w.end)
}

func (w *Writing) end() error {
	for _, id := range slices.Sorted(maps.Keys(w.texts)) {
		name, description := query.WordsOf(w.texts[id])
		if err := w.index.text(w, id, name, description); err != nil {
			return err
		}
	}
	return nil
}

// sameSearched reports whether two states differ only in what touch can write.
func sameSearched(h, o *hazard.Hazard) bool {
	return h.Status == hazard.Active && o.Status == hazard.Active && h.AutoExpire == o.AutoExpire && h.Type == o.Type && h.Severity == o.Severity && h.Category == o.Category &&
		h.Source == o.Source && slices.Equal(h.Sources, o.Sources) && h.Start == o.Start && h.End == o.End && samePlace(h, o) && sameText(h, o)
}

func samePlace(h, o *hazard.Hazard) bool {
	return h.Longitude == o.Longitude && h.Latitude == o.Latitude && slices.Equal(h.Areas, o.Areas) && h.Somewhere() == o.Somewhere() && slices.Equal(h.StandIns, o.StandIns)
}

// hasShapes reports whether the place of a hazard is more than its box.
func hasShapes(h *hazard.Hazard) bool { return len(h.Areas) > 0 || h.Somewhere() }

func sameText(h, o *hazard.Hazard) bool {
	return h.Name == o.Name && h.Description == o.Description && hazard.EqualTexts(h.Texts, o.Texts)
}

// nowhere is the box of a hazard without a place: of one that is somewhere in a region or country.
var nowhere = geo.Box{West: 0, South: 100, East: 0, North: 100}

// halves splits a box that crosses the antimeridian.
func halves(b geo.Box) []geo.Box {
	if b.West <= b.East {
		return []geo.Box{b}
	}
	return []geo.Box{{West: b.West, East: 180, South: b.South, North: b.North}, {West: -180, East: b.East, South: b.South, North: b.North}}
}
