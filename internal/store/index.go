package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/search"
	"hazardd/internal/store/db"
)

// This file writes, in each transaction, what hazards are found by, and reads it by conditions, as far as the databases agree about it. Those
// tables hold nothing that is not in the table of hazards and in the log.

// index makes the hazard h found as it is now. before is the state that it replaces, nil for a new one. Most changes of a hazard
// are the time of a report and little else: the tables that are dear to write are written only when it matters to them.
func (t *Tx) index(h, before *hazard.Hazard) error {
	if before != nil && sameSearched(h, before) {
		if enough, err := t.store.ix.touch(t, h); err != nil || enough {
			return err
		}
		before = nil // of a program that did not know these tables, or written as of an earlier moment than ever before
	}
	return t.indexWhole(h, before, t.at, t.at)
}

func (t *Tx) indexWhole(h, before *hazard.Hazard, made, changed hazard.Instant) error {
	if before == nil || !sameText(h, before) {
		t.texts[h.ID] = [2]string{h.Name, h.Description}
	}
	return t.store.ix.whole(t, h, before, made, changed)
}

// sameSearched tells whether two states differ at most in what index has a short way for.
func sameSearched(h, o *hazard.Hazard) bool {
	return h.Status == hazard.Active && o.Status == hazard.Active && h.AutoExpire == o.AutoExpire && h.Type == o.Type && h.Severity == o.Severity && h.Category == o.Category &&
		h.Source == o.Source && slices.Equal(h.Sources, o.Sources) && h.Start == o.Start && h.End == o.End && samePlace(h, o) && sameText(h, o)
}

func samePlace(h, o *hazard.Hazard) bool {
	return h.Longitude == o.Longitude && h.Latitude == o.Latitude && slices.Equal(h.Areas, o.Areas)
}

func sameText(h, o *hazard.Hazard) bool { return h.Name == o.Name && h.Description == o.Description }

// bounds is the box of a hazard's areas, or its point.
func (t *Tx) bounds(h *hazard.Hazard) (geo.Box, error) {
	shapes, err := t.store.shapes.of(t.ctx, t.q, h.Areas)
	if err != nil {
		return geo.Box{}, err
	}
	box := geo.BoundsOf(search.Footprint(h, shapes)...)
	if !(box.South <= box.North) { // no numbers
		box = nowhere
	}
	return box, nil
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

// indexTexts writes the words of the hazards whose texts have changed. It is left to the end of a transaction, since FTS5 would make a segment
// of its own of what it has got whenever another statement follows that may have to be undone.
func (t *Tx) indexTexts() error {
	for _, id := range slices.Sorted(maps.Keys(t.texts)) {
		if err := t.store.ix.text(t, id, search.Words(t.texts[id][0]), search.Words(t.texts[id][1])); err != nil {
			return err
		}
	}
	return nil
}

// catchUpBatch is how many changes are made up for in one transaction: other writers wait no longer than that.
const catchUpBatch = 2000

// catchUp makes hazards found that a program wrote which did not know how: that of the schema before.
func (s *Store) catchUp(ctx context.Context) error {
	for {
		done, err := s.readQ.Counter(ctx, "searchable")
		if err != nil {
			return storeError(err)
		}
		last, err := s.readQ.Counter(ctx, "change")
		if err != nil || done >= last {
			return storeError(err)
		}
		upTo := min(last, done+catchUpBatch)
		err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx, q *db.Queries) error {
			t := &Tx{ctx: ctx, tx: tx, q: q, store: s, texts: map[int64][2]string{}}
			ids, err := q.ChangedHazards(ctx, db.ChangedHazardsParams{After: done, UpTo: upTo})
			if err != nil {
				return err
			}
			for _, id := range ids {
				h, err := t.Hazard(id)
				if err != nil {
					return err
				}
				moments, err := q.MomentsOfHazard(ctx, id)
				if err != nil {
					return err
				}
				if err := t.indexWhole(h, nil, hazard.Instant(moments.FirstMs), hazard.Instant(moments.LastMs)); err != nil {
					return err
				}
			}
			if err := q.Searchable(ctx, db.SearchableParams{Last: upTo, Before: done}); err != nil {
				return err
			}
			return t.indexTexts()
		})
		if err != nil {
			return fmt.Errorf("make hazards findable: %w", err)
		}
	}
}

// condition is a part of a WHERE clause and its arguments, in the order of its question marks.
type condition struct {
	text string
	args []any
}

func conditionOf(text string, args ...any) condition { return condition{text, args} }

func (c *condition) add(text string, args ...any) {
	if c.text != "" {
		c.text += " AND "
	}
	c.text += text
	c.args = append(c.args, args...)
}

// among adds that a column has one of some values. Column and its kind of value are ours, the values go over as arguments.
func among[T any](c *condition, column string, values []T, arg func(T) any) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = arg(v)
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

// finding is what is to be found.
type finding struct {
	tx     *sql.Tx
	filter *search.Filter
	// sources are the values of the column source that the filter lets through, if it names any.
	sources []string
	sort    search.Sort
	limit   int // rows that are likely to be wanted; 0: all
	// where is what every row must be; filled from the filter, and from the moment that is asked about.
	where condition
	// way forces a way to the rows, for tests, where there are several; 0 chooses.
	way int
	// textLater: the rows are not told by the text that is asked for, or not exactly. To whoever reads few of them, looking into each is less
	// work than a list of all that have a common word.
	textLater bool
	// withBodies: rows are read with their states, from c.
	withBodies bool
	// coming are hazards whose rows are looked at next, in order: if one's body is wanted, so is that of the next, in all likelihood.
	coming []int64
}

// filtered adds the conditions of the filter that the columns of searchable tell. What they let through is exact but for places, of which only the
// boxes are looked at, and for hazards that are past their end and still active by their row.
func (f *finding) filtered() {
	c, q := &f.where, f.filter
	among(c, "s.type_id", q.Types, func(t hazard.Type) any { return string(t) })
	among(c, "s.severity", q.Severities, func(v hazard.Severity) any { return int64(v) })
	among(c, "s.category_id", q.Categories, func(v hazard.Category) any { return string(v) })
	among(c, "s.active", q.Statuses, func(v hazard.Status) any { return v == hazard.Active })
	f.fromSources(c)
	if q.Life != nil {
		c.add("s.start_ms <= ? AND (s.end_ms >= ? OR s.active AND NOT s.autoexpire)", int64(q.Life.To), int64(q.Life.From))
	}
	if q.UpdatedSince != nil {
		c.add("s.last_update_ms >= ?", int64(*q.UpdatedSince))
	}
	for _, b := range q.Bounds() {
		c.add("s.south <= ? AND s.north >= ?", b.North, b.South)
		if b.West <= b.East {
			c.add("CASE WHEN s.west <= s.east THEN s.west <= ? AND s.east >= ? ELSE s.west <= ? OR s.east >= ? END", b.East, b.West, b.East, b.West)
		} else {
			c.add("(s.west > s.east OR s.east >= ? OR s.west <= ?)", b.West, b.East)
		}
	}
}

// sourceText is what the column source says of a hazard: the names that it is found by, between blanks; nothing if that is Editors alone.
func sourceText(h *hazard.Hazard) string {
	names := search.SourcesOf(h)
	if len(names) == 1 && names[0] == search.Editors {
		return ""
	}
	return strings.Join(names, " ")
}

// sourceTexts lists the values of the column source that hold a name which the filter wants. There are as many values as sources report
// together, which is few; each is found behind the one before, by the index.
func (f *finding) sourceTexts(ctx context.Context) (texts []string, err error) {
	rows, err := f.tx.QueryContext(ctx, `WITH RECURSIVE s (source) AS (SELECT min(source) FROM searchable
		UNION ALL SELECT (SELECT min(source) FROM searchable WHERE source > s.source) FROM s WHERE s.source IS NOT NULL)
		SELECT source FROM s WHERE source IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		names := strings.Fields(cmp.Or(text, search.Editors))
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(f.filter.Sources, n) }) {
			texts = append(texts, text)
		}
	}
	return texts, rows.Err()
}

// fromSources adds that a hazard has an event of one of the sources that the filter wants.
func (f *finding) fromSources(c *condition) {
	if len(f.filter.Sources) > 0 && len(f.sources) == 0 {
		c.add("FALSE")
	}
	among(c, "s.source", f.sources, func(s string) any { return s })
}

// row is what is found of one hazard: enough to tell its place in the order, and perhaps whether it is where it should be.
type row struct {
	id    int64
	key   search.Key
	areas bool
	box   geo.Box
	body  string // its state, if the rows were read with it
}

// notDue is the condition of hazards that are not past their end, or whose end is recorded.
const notDue = "NOT (s.active AND s.autoexpire AND s.end_ms <= ?)"

const rowColumns = "s.id, s.severity, s.start_ms, s.end_ms, s.last_update_ms, s.areas, s.west, s.south, s.east, s.north"

// orders are the orders of rows.
var orders = map[search.Order]struct{ ascending, descending string }{
	search.BySeverity:   {"s.severity DESC, s.last_update_ms DESC, s.id", ""},
	search.ByLastUpdate: {"s.last_update_ms, s.id", "s.last_update_ms DESC, s.id DESC"},
	search.ByStart:      {"s.start_ms, s.id", "s.start_ms DESC, s.id DESC"},
	search.ByEnd:        {"s.end_ms, s.id", "s.end_ms DESC, s.id DESC"},
	search.ByNumber:     {"s.id", "s.id DESC"},
}

func (f *finding) order() string {
	if f.sort.Descending {
		return orders[f.sort.By].descending
	}
	return orders[f.sort.By].ascending
}

// sections are the rows after a place, in order: those beside it, then those of the next value, and so on.
func (f *finding) sections(after search.Key) []condition {
	column := map[search.Order]string{search.ByLastUpdate: "s.last_update_ms", search.ByStart: "s.start_ms", search.ByEnd: "s.end_ms"}[f.sort.By]
	greater := ">"
	if f.sort.Descending {
		greater = "<"
	}
	switch f.sort.By {
	case search.BySeverity:
		severity, moment := int64(after.Severity), int64(after.Moment)
		return []condition{
			conditionOf("s.severity = ? AND s.last_update_ms = ? AND s.id > ?", severity, moment, after.ID),
			conditionOf("s.severity = ? AND s.last_update_ms < ?", severity, moment),
			conditionOf("s.severity < ?", severity),
		}
	case search.ByNumber:
		return []condition{conditionOf("s.id "+greater+" ?", after.ID)}
	}
	return []condition{
		conditionOf(column+" = ? AND s.id "+greater+" ?", int64(after.Moment), after.ID),
		conditionOf(column+" "+greater+" ?", int64(after.Moment)),
	}
}

// behind is one condition for all rows after a place.
func (f *finding) behind(after search.Key) condition {
	var parts, args = []string(nil), []any(nil)
	for _, p := range f.sections(after) {
		parts, args = append(parts, "("+p.text+")"), append(args, p.args...)
	}
	return conditionOf("("+strings.Join(parts, " OR ")+")", args...)
}

// read calls found with the rows of a query until it returns false, and tells whether it did not.
func (f *finding) read(ctx context.Context, query string, args []any, found func(row) (bool, error)) (more bool, err error) {
	rows, err := f.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var severity, start, end, updated int64
		into := []any{&r.id, &severity, &start, &end, &updated, &r.areas, &r.box.West, &r.box.South, &r.box.East, &r.box.North, &r.body}
		if !f.withBodies {
			into = into[:len(into)-1]
		}
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		r.key = f.sort.Key(&hazard.Hazard{ID: r.id, Severity: hazard.Severity(severity), Start: hazard.Instant(start), End: hazard.Instant(end), LastUpdate: hazard.Instant(updated)})
		if more, err := found(r); err != nil || !more {
			return false, err
		}
	}
	return true, rows.Err()
}

// numbers asks for a list of numbers.
func (f *finding) numbers(ctx context.Context, query string, args ...any) (all []int64, err error) {
	rows, err := f.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
