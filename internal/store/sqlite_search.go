package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"hazardd/internal/geo"
	"hazardd/internal/hazard"
	"hazardd/internal/search"
	"hazardd/internal/store/db"
)

// What searches need of SQLite alone is in this file: the tables that hazards are found by, how they are written, and the statements that
// ask them. They hold nothing that is not in the table of hazards and in the log.

// sqliteMigrations are what SQLite needs beside the migrations of those names.
var sqliteMigrations = map[string]string{"0003_search.sql": searchSchema}

const searchSchema = `
-- What is sorted and filtered by, in rows so narrow that a scan of a million is bearable. The box is that of the areas, or the point; one
-- north of the pole is of a hazard without a place.
CREATE TABLE searchable (
    id             INTEGER PRIMARY KEY,
    n              INTEGER NOT NULL,
    made_ms        INTEGER NOT NULL, -- when it was written first
    changed_ms     INTEGER NOT NULL, -- and last: from then on the present state holds
    active         INTEGER NOT NULL,
    autoexpire     INTEGER NOT NULL,
    type_id        TEXT NOT NULL,
    severity       INTEGER NOT NULL,
    category_id    TEXT NOT NULL,
    source         TEXT NOT NULL,
    start_ms       INTEGER NOT NULL,
    end_ms         INTEGER NOT NULL,
    last_update_ms INTEGER NOT NULL,
    areas          INTEGER NOT NULL, -- whether it has areas: else the box is the point
    west REAL NOT NULL, south REAL NOT NULL, east REAL NOT NULL, north REAL NOT NULL
);
CREATE INDEX searchable_by_type ON searchable (type_id, severity DESC, last_update_ms DESC, id);
CREATE INDEX searchable_by_update ON searchable (last_update_ms, id);
CREATE INDEX searchable_by_start ON searchable (start_ms, id);
CREATE INDEX searchable_by_end ON searchable (end_ms, id);
CREATE INDEX searchable_by_category ON searchable (category_id);
CREATE INDEX searchable_by_source ON searchable (source);
CREATE INDEX searchable_active ON searchable (id) WHERE active;

-- Where, when and what: rid is twice the hazard's number, and one more for the eastern half of a box that crosses the antimeridian. Numbers
-- are kept in 32 bits and rounded outward, so that what is found is a little too much, never too little. While a hazard is active, until is for
-- ever: its updates need not touch this tree. kind is a hash of the type, which others may share. Units are such that none outweighs the others
-- where the tree parts its nodes: degrees, five days, and kinds up to 60.
CREATE VIRTUAL TABLE hazard_boxes USING rtree(rid, west, east, south, north, since, until, kind, kind_too);

-- From when to when a hazard was written, in days; while it is active, for ever.
CREATE VIRTUAL TABLE hazard_writes USING rtree(id, made, changed);

-- The words of names and descriptions, as package search has them: the tokenizer only parts them at blanks.
CREATE VIRTUAL TABLE hazard_words USING fts5(name, description, content='', contentless_delete=1, tokenize='ascii');
`

// nowhere is the box of a hazard without a place.
var nowhere = geo.Box{West: 0, South: 100, East: 0, North: 100}

// indexer writes the tables that hazards are found by.
type indexer struct{ touch, save, box, noBox, writes, words *sql.Stmt }

func prepareIndexer(ctx context.Context, d *sql.DB) (*indexer, error) {
	ix := &indexer{}
	for text, stmt := range map[string]**sql.Stmt{
		`UPDATE searchable SET n = $1, changed_ms = $2, last_update_ms = $3 WHERE id = $4 AND made_ms <= $2`: &ix.touch,
		`INSERT INTO searchable (id, n, made_ms, changed_ms, active, autoexpire, type_id, severity, category_id, source, start_ms, end_ms, last_update_ms, areas,
			west, south, east, north) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
		ON CONFLICT (id) DO UPDATE SET n = excluded.n, made_ms = min(made_ms, excluded.made_ms), changed_ms = excluded.changed_ms, active = excluded.active,
			autoexpire = excluded.autoexpire, type_id = excluded.type_id, severity = excluded.severity, category_id = excluded.category_id,
			source = excluded.source, start_ms = excluded.start_ms, end_ms = excluded.end_ms, last_update_ms = excluded.last_update_ms,
			areas = excluded.areas, west = excluded.west, south = excluded.south, east = excluded.east, north = excluded.north
		RETURNING made_ms`: &ix.save,
		`INSERT OR REPLACE INTO hazard_boxes (rid, west, east, south, north, since, until, kind, kind_too)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`: &ix.box,
		`INSERT OR REPLACE INTO hazard_writes (id, made, changed) VALUES ($1, $2, $3)`:       &ix.writes,
		`DELETE FROM hazard_boxes WHERE rid = $1`:                                            &ix.noBox,
		`INSERT OR REPLACE INTO hazard_words (rowid, name, description) VALUES ($1, $2, $3)`: &ix.words,
	} {
		var err error
		if *stmt, err = d.PrepareContext(ctx, text); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare statements: %w", storeError(err)), ix.Close())
		}
	}
	return ix, nil
}

// Close gives the statements back.
func (ix *indexer) Close() error {
	var errs []error
	for _, stmt := range []*sql.Stmt{ix.touch, ix.save, ix.box, ix.noBox, ix.writes, ix.words} {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// index makes the hazard h found as it is now. before is the state that it replaces, nil for a new one. Most changes of a hazard
// are the time of a report and little else: the tables that are dear to write are written only when it matters to them.
func (t *Tx) index(h, before *hazard.Hazard) error {
	if before != nil && sameSearched(h, before) {
		done, err := t.tx.StmtContext(t.ctx, t.ix.touch).ExecContext(t.ctx, h.Version, int64(t.now), int64(h.LastUpdate), h.ID)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 1 {
			return err
		}
		before = nil // of a program that did not know these tables, or written as of an earlier moment than ever before
	}
	return t.indexWhole(h, before, t.now, t.now)
}

// sameSearched tells whether two states differ at most in what index has a short way for.
func sameSearched(h, o *hazard.Hazard) bool {
	return h.Status == hazard.Active && o.Status == hazard.Active && h.AutoExpire == o.AutoExpire && h.Type == o.Type && h.Severity == o.Severity && h.Category == o.Category &&
		h.Source == o.Source && h.Start == o.Start && h.End == o.End && samePlace(h, o) && sameText(h, o)
}

func samePlace(h, o *hazard.Hazard) bool {
	return h.Longitude == o.Longitude && h.Latitude == o.Latitude && slices.Equal(h.Areas, o.Areas)
}

func sameText(h, o *hazard.Hazard) bool { return h.Name == o.Name && h.Description == o.Description }

// indexWhole is index where more has changed. made and changed are when the hazard was written first, as far as is known here, and last.
func (t *Tx) indexWhole(h, before *hazard.Hazard, made, changed hazard.Instant) error {
	shapes, err := t.shapes.of(t.ctx, t.q, h.Areas)
	if err != nil {
		return err
	}
	box := geo.BoundsOf(search.Footprint(h, shapes)...)
	if !(box.South <= box.North) { // no numbers
		box = nowhere
	}
	active := h.Status == hazard.Active
	var first int64
	err = t.tx.StmtContext(t.ctx, t.ix.save).QueryRowContext(t.ctx, h.ID, h.Version, int64(made), int64(changed), active, h.AutoExpire, string(h.Type), int64(h.Severity),
		string(h.Category), h.Source, int64(h.Start), int64(h.End), int64(h.LastUpdate), len(h.Areas) > 0, box.West, box.South, box.East, box.North).Scan(&first)
	if err != nil {
		return err
	}
	if before == nil || first == int64(made) || !active || before.Status != h.Status || h.Type != before.Type || h.Start != before.Start || !samePlace(h, before) {
		if err := t.indexBox(h, box, hazard.Instant(first), changed); err != nil {
			return err
		}
	}
	if before == nil || !sameText(h, before) {
		t.texts[h.ID] = [2]string{h.Name, h.Description}
	}
	return nil
}

// indexTexts writes the words of the hazards whose texts have changed. It is left to the end of a transaction, since FTS5 would make a segment
// of its own of what it has got whenever another statement follows that may have to be undone.
func (t *Tx) indexTexts() error {
	for _, id := range slices.Sorted(maps.Keys(t.texts)) {
		name, description := search.Words(t.texts[id][0]), search.Words(t.texts[id][1])
		_, err := t.tx.StmtContext(t.ctx, t.ix.words).ExecContext(t.ctx, id, strings.Join(name, " "), strings.Join(description, " "))
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) indexBox(h *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error {
	until := max(h.Start, h.End)
	if h.Status == hazard.Active {
		until, changed = hazard.MaxInstant, hazard.MaxInstant
	}
	if _, err := t.tx.StmtContext(t.ctx, t.ix.writes).ExecContext(t.ctx, h.ID, days(made), days(max(made, changed))); err != nil {
		return err
	}
	parts := [][2]float64{{box.West, box.East}}
	if box.West > box.East {
		parts = [][2]float64{{box.West, 180}, {-180, box.East}}
	}
	for i := range int64(2) {
		var err error
		if i < int64(len(parts)) {
			_, err = t.tx.StmtContext(t.ctx, t.ix.box).ExecContext(t.ctx, 2*h.ID+i, parts[i][0], parts[i][1], box.South, box.North, fives(h.Start), fives(until), kindOf(h.Type))
		} else {
			_, err = t.tx.StmtContext(t.ctx, t.ix.noBox).ExecContext(t.ctx, 2*h.ID+i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kindOf is a number from 0 to 60 for a type, that stays the same.
func kindOf(t hazard.Type) float64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(t)) // it does not fail
	return float64(sum.Sum32()%(1<<20)) / (1 << 20) * 60
}

// days is an instant in days since 1970, and fives in five days. What lies further away than anybody asks for, as for ever does, is as far away as
// 1860 or 2079: else few such would blow up the nodes of a tree.
func days(i hazard.Instant) float64 { return min(max(float64(i)/86_400_000, -40_000), 40_000) }

func fives(i hazard.Instant) float64 { return days(i) / 5 }

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
			t := &Tx{ctx: ctx, tx: tx, q: q, ix: s.ix, shapes: s.shapes, texts: map[int64][2]string{}}
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

// access is a way to hazards that a filter may let through, all of them and more.
type access struct {
	from condition // FROM clause: s are rows of searchable
	some condition // SELECT 1 of each of them, or more, for counting
	// types: it looks at the types alone, which another way may have looked at too. tree: it asks the tree of boxes.
	types, tree bool
}

// Indexes of searchable by which sorted hazards come one by one, and the order of each.
var ordered = map[search.Order]struct{ index, ascending, descending string }{
	search.BySeverity:   {"searchable_by_type", "s.severity DESC, s.last_update_ms DESC, s.id", ""}, // within each type
	search.ByLastUpdate: {"searchable_by_update", "s.last_update_ms, s.id", "s.last_update_ms DESC, s.id DESC"},
	search.ByStart:      {"searchable_by_start", "s.start_ms, s.id", "s.start_ms DESC, s.id DESC"},
	search.ByEnd:        {"searchable_by_end", "s.end_ms, s.id", "s.end_ms DESC, s.id DESC"},
	search.ByNumber:     {"", "s.id", "s.id DESC"},
}

// finder asks the tables in one reading transaction.
type finder struct {
	tx     *sql.Tx
	filter *search.Filter
	sort   search.Sort
	limit  int // rows that are likely to be wanted; 0: all
	// where is what every row must be; filled from the filter, and from the moment that is asked about.
	where condition
	// way forces an access, for tests: 0 chooses, 1 is the order, the others are those of accesses.
	way int
	// textLater: the rows are not told by the text that is asked for. To whoever reads few of them, looking into each is less work than a list of
	// all that have a common word.
	textLater bool
}

// filtered adds the conditions of the filter. What they let through is exact but for places, of which only the boxes are looked at, and for
// hazards that are past their end and still active by their row.
func (f *finder) filtered() {
	c, q := &f.where, f.filter
	among(c, "s.type_id", q.Types, func(t hazard.Type) any { return string(t) })
	among(c, "s.severity", q.Severities, func(v hazard.Severity) any { return int64(v) })
	among(c, "s.category_id", q.Categories, func(v hazard.Category) any { return string(v) })
	among(c, "s.active", q.Statuses, func(v hazard.Status) any { return v == hazard.Active })
	among(c, "s.source", q.Sources, sourceArg)
	if q.Ref != "" {
		c.add("s.id IN (SELECT value FROM json_each(?))", numbers(q.Hazards))
	}
	if q.Life != nil {
		c.add("s.start_ms <= ? AND (s.end_ms >= ? OR s.active AND NOT s.autoexpire)", int64(q.Life.To), int64(q.Life.From))
	}
	if q.UpdatedSince != nil {
		c.add("s.last_update_ms >= ?", int64(*q.UpdatedSince))
	}
	if q.Text != nil && !f.textLater {
		c.add("s.id IN (SELECT rowid FROM hazard_words WHERE hazard_words MATCH ?)", wordsQuery(q.Text))
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

func sourceArg(name string) any {
	if name == search.Editors {
		return ""
	}
	return name
}

func numbers(ids []int64) string {
	text, err := json.Marshal(ids)
	if err != nil {
		panic(err) // numbers
	}
	return string(text)
}

// wordsQuery is the text in the language of FTS5: phrases are in double quotes, which no word holds.
func wordsQuery(text []search.Phrase) string {
	terms := make([]string, len(text))
	for i, p := range text {
		terms[i] = `"` + strings.Join(p.Words, " ") + `"`
		if p.Prefix {
			terms[i] += " *"
		}
	}
	return strings.Join(terms, " AND ")
}

// accesses lists the ways that the filter opens, the narrowest first as a rule.
func (f *finder) accesses() []access {
	q := f.filter
	var all []access
	add := func(from, some string, args ...any) {
		all = append(all, access{from: condition{from, args}, some: condition{some, args}})
	}
	if q.Ref != "" {
		add("json_each(?) c CROSS JOIN searchable s ON s.id = c.value", "SELECT 1 FROM json_each(?)", numbers(q.Hazards))
	}
	if boxes := f.boxes(); boxes.text != "" {
		// In the order of the rows, neighbours of which are often on one page. LIMIT -1 keeps SQLite from leaving the order out.
		add("(SELECT DISTINCT rid >> 1 AS id FROM ("+boxes.text+") ORDER BY 1 LIMIT -1) c CROSS JOIN searchable s ON s.id = c.id", boxes.text, boxes.args...)
		all[len(all)-1].tree = true
	}
	if q.Text != nil {
		add("(SELECT rowid AS id FROM hazard_words WHERE hazard_words MATCH ?) c CROSS JOIN searchable s ON s.id = c.id",
			"SELECT 1 FROM hazard_words WHERE hazard_words MATCH ?", wordsQuery(q.Text))
	}
	index := func(name, condition string, args ...any) {
		some := "SELECT 1 FROM searchable s INDEXED BY " + name + " WHERE " + condition
		all = append(all, access{from: conditionOf("searchable s INDEXED BY " + name), some: conditionOf(some, args...)})
	}
	columns := []struct {
		index string
		c     condition
	}{{"searchable_by_type", condition{}}, {"searchable_by_source", condition{}}, {"searchable_by_category", condition{}}}
	among(&columns[0].c, "s.type_id", q.Types, func(t hazard.Type) any { return string(t) })
	among(&columns[1].c, "s.source", q.Sources, sourceArg)
	among(&columns[2].c, "s.category_id", q.Categories, func(v hazard.Category) any { return string(v) })
	for _, column := range columns {
		if column.c.text != "" {
			index(column.index, column.c.text, column.c.args...)
			all[len(all)-1].types = column.index == "searchable_by_type"
		}
	}
	if len(q.Statuses) == 1 && q.Statuses[0] == hazard.Active {
		index("searchable_active", "s.active")
		all[len(all)-1].from.text = "(SELECT id FROM searchable WHERE active) c CROSS JOIN searchable s ON s.id = c.id"
	}
	if q.UpdatedSince != nil {
		index("searchable_by_update", "s.last_update_ms >= ?", int64(*q.UpdatedSince))
	}
	return all
}

func conditionOf(text string, args ...any) condition { return condition{text, args} }

// mostKinds is for how many types the tree is asked one by one; of more it is asked for all.
const mostKinds = 5

// boxes asks the tree for the first of the filter's boxes, its time, and its types.
func (f *finder) boxes() condition {
	q := f.filter
	bounds := q.Bounds()
	if bounds == nil && q.Life == nil {
		return condition{}
	}
	var where condition
	if q.Life != nil {
		where.add("since <= ? AND until >= ?", fives(q.Life.To), fives(q.Life.From))
	}
	parts := []condition{where}
	if bounds != nil {
		b := bounds[0]
		spans := [][2]float64{{b.West, b.East}}
		if b.West > b.East {
			spans = [][2]float64{{b.West, 180}, {-180, b.East}}
		}
		parts = nil
		for _, span := range spans {
			part := condition{where.text, slices.Clone(where.args)}
			part.add("south <= ? AND north >= ? AND west <= ? AND east >= ?", b.North, b.South, span[1], span[0])
			parts = append(parts, part)
		}
	}
	if f.boxesKnowTypes() {
		var typed []condition
		for _, part := range parts {
			for _, t := range q.Types {
				one := condition{part.text, slices.Clone(part.args)}
				one.add("kind <= ? AND kind_too >= ?", kindOf(t), kindOf(t))
				typed = append(typed, one)
			}
		}
		parts = typed
	}
	var all condition
	for i, part := range parts {
		if i > 0 {
			all.text += " UNION ALL "
		}
		all.text += "SELECT rid FROM hazard_boxes WHERE " + part.text
		all.args = append(all.args, part.args...)
	}
	return all
}

func (f *finder) boxesKnowTypes() bool {
	return len(f.filter.Types) > 0 && len(f.filter.Types) <= mostKinds
}

// How the way is chosen: rows that are so few that nothing else is asked, and rows up to which are counted.
const (
	fewRows  = 500
	mostRows = 8_000
)

// choose finds the way that reads the fewest rows: along the order until enough are found, or all that one condition lets through. It counts
// what each lets through, up to a bound. A wrong choice costs time, and nothing else.
//
// How many rows are read along the order can only be guessed, as if each condition let through its share of every stretch. With times that is
// far from it: what began years ago comes after all that was updated since. So a way whose rows are counted is preferred to the guess.
func (f *finder) choose(ctx context.Context) (way *access, err error) {
	all := f.accesses()
	if f.way > 0 {
		if f.way == 1 || f.way-2 >= len(all) {
			return nil, nil
		}
		return &all[f.way-2], nil
	}
	var total float64
	if err := f.tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM searchable`).Scan(&total); err != nil {
		return nil, err
	}
	density, least := 1.0, float64(mostRows+1)
	for i := range all {
		if all[i].types && way != nil && f.boxesKnowTypes() {
			continue // the boxes have told, and are fewer
		}
		n, err := f.size(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		if n < least {
			way, least = &all[i], n
		}
		if n <= fewRows {
			return way, nil
		}
		density *= min(1, n/max(total, 1))
	}
	if way == nil || f.limit == 0 || f.filter.Life != nil || f.filter.UpdatedSince != nil {
		return way, nil
	}
	const dearer = 3 // a row that is looked up by its number and sorted costs that much more than the next of an index
	if float64(f.limit)/density < dearer*least {
		return nil, nil
	}
	return way, nil
}

// size counts what a way lets through, up to one more than mostRows. What the tree gives is kept on the way, for asking it costs more than all else.
func (f *finder) size(ctx context.Context, way *access) (n float64, err error) {
	if !way.tree {
		query := fmt.Sprintf("SELECT count(*) FROM (%s LIMIT %d)", way.some.text, mostRows+1)
		return n, f.tx.QueryRowContext(ctx, query, way.some.args...).Scan(&n)
	}
	ids, err := f.numbers(ctx, fmt.Sprintf("SELECT rid >> 1 FROM (%s LIMIT %d)", way.some.text, mostRows+1), way.some.args...)
	if err != nil {
		return 0, err
	}
	if len(ids) <= mostRows {
		slices.Sort(ids)
		ids = slices.Compact(ids)
		way.from = conditionOf("json_each(?) c CROSS JOIN searchable s ON s.id = c.value", numbers(ids))
	}
	return float64(len(ids)), nil
}

// numbers asks for a list of numbers.
func (f *finder) numbers(ctx context.Context, query string, args ...any) (all []int64, err error) {
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

// row is what is found of one hazard: enough to tell its place in the order, and perhaps whether it is where it should be.
type row struct {
	id    int64
	key   search.Key
	areas bool
	box   geo.Box
}

const rowColumns = "s.id, s.severity, s.start_ms, s.end_ms, s.last_update_ms, s.areas, s.west, s.south, s.east, s.north"

// each calls found with the rows after a place in the order (nil: all), in that order, until found returns false.
func (f *finder) each(ctx context.Context, after *search.Key, found func(row) (bool, error)) error {
	way, err := f.choose(ctx)
	if err != nil {
		return err
	}
	f.textLater = way == nil
	f.filtered()
	order := ordered[f.sort.By].ascending
	if f.sort.Descending {
		order = ordered[f.sort.By].descending
	}
	if way != nil {
		where := f.where
		if after != nil {
			var parts, args = []string(nil), []any(nil)
			for _, p := range f.sections(*after) {
				parts, args = append(parts, "("+p.text+")"), append(args, p.args...)
			}
			where.add("("+strings.Join(parts, " OR ")+")", args...)
		}
		_, err := f.rows(ctx, way.from, where, order, found)
		return err
	}
	if f.sort.By == search.BySeverity {
		return f.byTypes(ctx, after, order, found)
	}
	from := "searchable s"
	if index := ordered[f.sort.By].index; index != "" {
		from += " INDEXED BY " + index
	}
	// Sections one after the other, each of which begins at its place in the index.
	sections := []condition{{}}
	if after != nil {
		sections = f.sections(*after)
	}
	for _, section := range sections {
		where := condition{f.where.text, slices.Clone(f.where.args)}
		if section.text != "" {
			where.add(section.text, section.args...)
		}
		if more, err := f.rows(ctx, conditionOf(from), where, order, found); err != nil || !more {
			return err
		}
	}
	return nil
}

// byTypes is each along the order of lists: of each type by itself, merged. How severe hazards are depends on their type, so that in one index
// for all, those of some types come after all others.
func (f *finder) byTypes(ctx context.Context, after *search.Key, order string, found func(row) (bool, error)) error {
	types := f.filter.Types
	if types == nil {
		var err error
		if types, err = f.types(ctx); err != nil {
			return err
		}
	}
	sections := []condition{{}}
	if after != nil {
		sections = f.sections(*after)
	}
	type stream struct {
		next func() (row, error, bool)
		head row
	}
	var streams []stream
	for _, t := range types {
		next, stop := iter.Pull2(func(yield func(row, error) bool) {
			for _, section := range sections {
				where := condition{f.where.text, slices.Clone(f.where.args)}
				where.add("s.type_id = ?", string(t))
				if section.text != "" {
					where.add(section.text, section.args...)
				}
				more, err := f.rows(ctx, conditionOf("searchable s INDEXED BY searchable_by_type"), where, order, func(r row) (bool, error) { return yield(r, nil), nil })
				if err != nil {
					yield(row{}, err)
				}
				if err != nil || !more {
					return
				}
			}
		})
		defer stop()
		s := stream{next: next}
		var err error
		var ok bool
		if s.head, err, ok = next(); err != nil {
			return err
		} else if ok {
			streams = append(streams, s)
		}
	}
	for len(streams) > 0 {
		first := 0
		for i := range streams {
			if f.sort.Compare(streams[i].head.key, streams[first].head.key) < 0 {
				first = i
			}
		}
		if more, err := found(streams[first].head); err != nil || !more {
			return err
		}
		var err error
		var ok bool
		if streams[first].head, err, ok = streams[first].next(); err != nil {
			return err
		} else if !ok {
			streams = slices.Delete(streams, first, first+1)
		}
	}
	return nil
}

// types lists the types that there are, each found behind the one before.
func (f *finder) types(ctx context.Context) (all []hazard.Type, err error) {
	for last := ""; ; {
		var next sql.NullString
		if err := f.tx.QueryRowContext(ctx, `SELECT min(type_id) FROM searchable WHERE type_id > ?`, last).Scan(&next); err != nil || !next.Valid {
			return all, err
		}
		last = next.String
		all = append(all, hazard.Type(last))
	}
}

// sections are the rows after a place, in order: those beside it, then those of the next value, and so on.
func (f *finder) sections(after search.Key) []condition {
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

// rows calls found with rows until it returns false, and tells whether it did not.
func (f *finder) rows(ctx context.Context, from, where condition, order string, found func(row) (bool, error)) (more bool, err error) {
	query := "SELECT " + rowColumns + " FROM " + from.text
	if where.text != "" {
		query += " WHERE " + where.text
	}
	rows, err := f.tx.QueryContext(ctx, query+" ORDER BY "+order, slices.Concat(from.args, where.args)...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		var severity, start, end, updated int64
		if err := rows.Scan(&r.id, &severity, &start, &end, &updated, &r.areas, &r.box.West, &r.box.South, &r.box.East, &r.box.North); err != nil {
			return false, err
		}
		r.key = f.sort.Key(&hazard.Hazard{ID: r.id, Severity: hazard.Severity(severity), Start: hazard.Instant(start), End: hazard.Instant(end), LastUpdate: hazard.Instant(updated)})
		if more, err := found(r); err != nil || !more {
			return false, err
		}
	}
	return true, rows.Err()
}

// count counts the rows, without looking at any.
func (f *finder) count(ctx context.Context) (n int64, err error) {
	f.limit = 0
	way, err := f.choose(ctx)
	if err != nil {
		return 0, err
	}
	f.filtered()
	from := conditionOf("searchable s")
	if way != nil {
		from = way.from
	}
	query := "SELECT count(*) FROM " + from.text
	if f.where.text != "" {
		query += " WHERE " + f.where.text
	}
	return n, f.tx.QueryRowContext(ctx, query, slices.Concat(from.args, f.where.args)...).Scan(&n)
}

// writtenAround lists the hazards that had been written by a moment and were written again after it: their present state is not
// that of the moment. Active ones are among them in any case.
func (f *finder) writtenAround(ctx context.Context, at hazard.Instant) (ids []int64, err error) {
	return f.numbers(ctx, `SELECT s.id FROM (SELECT id FROM hazard_writes WHERE made <= ? AND changed >= ?) c
		CROSS JOIN searchable s ON s.id = c.id WHERE s.changed_ms > ?`, days(at), days(at), int64(at))
}
