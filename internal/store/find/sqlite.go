package find

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// What searches need of SQLite alone is in this file: how the tables that hazards are found by are written, and the statements that
// ask them. migrations/sqlite makes the tables. They hold nothing that is not in the table of hazards and in the log.

type sqliteIndexer struct{}

// The statements that write the tables.
const (
	sqliteAgain = `UPDATE searchable SET n = $1, changed_ms = $2, last_update_ms = $3 WHERE id = $4 AND made_ms <= $2`
	sqliteSave  = `INSERT INTO searchable (id, n, made_ms, changed_ms, active, autoexpire, type_id, severity, category_id, source, start_ms, end_ms, last_update_ms, areas,
			west, south, east, north, name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
		ON CONFLICT (id) DO UPDATE SET n = excluded.n, made_ms = min(made_ms, excluded.made_ms), changed_ms = excluded.changed_ms, active = excluded.active,
			autoexpire = excluded.autoexpire, type_id = excluded.type_id, severity = excluded.severity, category_id = excluded.category_id,
			source = excluded.source, start_ms = excluded.start_ms, end_ms = excluded.end_ms, last_update_ms = excluded.last_update_ms,
			areas = excluded.areas, west = excluded.west, south = excluded.south, east = excluded.east, north = excluded.north, name = excluded.name
		RETURNING made_ms`
	sqliteBox = `INSERT OR REPLACE INTO hazard_boxes (rid, west, east, south, north, since, until, kind, kind_too, updated, updated_too)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`
	sqliteNoBox  = `DELETE FROM hazard_boxes WHERE rid = $1`
	sqliteWrites = `INSERT OR REPLACE INTO hazard_writes (id, made, changed) VALUES ($1, $2, $3)`
	sqliteWords  = `INSERT OR REPLACE INTO hazard_words (rowid, name, description) VALUES ($1, $2, $3)`
)

// SQLite is the Tables of SQLite.
type SQLite struct{}

// Index implements Tables.
func (SQLite) Index() Index { return sqliteIndexer{} }

func (ix sqliteIndexer) touch(w *Writing, h *hazard.Hazard, at hazard.Instant) (bool, error) {
	done, err := w.tx.ExecContext(w.ctx, sqliteAgain, h.Version, int64(at), int64(h.LastUpdate), h.ID)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

func (ix sqliteIndexer) whole(w *Writing, h, before *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error {
	active := h.Status == hazard.Active
	var first int64
	err := w.tx.QueryRowContext(w.ctx, sqliteSave, h.ID, h.Version, int64(made), int64(changed), active, h.AutoExpire, string(h.Type), int64(h.Severity),
		string(h.Category), sourceText(h), int64(h.Start), int64(h.End), int64(h.LastUpdate), hasShapes(h), box.West, box.South, box.East, box.North, query.FoldedName(h.Name)).Scan(&first)
	if err != nil {
		return err
	}
	if before == nil || first == int64(made) || !active || before.Status != h.Status || h.Type != before.Type || h.Start != before.Start || !samePlace(h, before) {
		return ix.place(w, h, box, hazard.Instant(first), changed)
	}
	return nil
}

// words: FTS5 writes a segment before the commit. At the second mark it writes it already, so that an
// error of it is known while the transaction can go on without.
func (ix sqliteIndexer) words(w *Writing, f func() error) error {
	if _, err := w.tx.ExecContext(w.ctx, `SAVEPOINT words`); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = w.tx.ExecContext(w.ctx, `SAVEPOINT written; RELEASE written`)
	}
	if err != nil {
		_, undone := w.tx.ExecContext(w.ctx, `ROLLBACK TO words`)
		err = errors.Join(err, undone)
	}
	_, released := w.tx.ExecContext(w.ctx, `RELEASE words`)
	return errors.Join(err, released)
}

func (ix sqliteIndexer) text(w *Writing, id int64, name, description []string) error {
	_, err := w.tx.ExecContext(w.ctx, sqliteWords, id, strings.Join(name, " "), strings.Join(description, " "))
	return err
}

func (ix sqliteIndexer) place(w *Writing, h *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error {
	until, grade, updated := max(h.Start, h.End), h.Severity, h.LastUpdate
	if h.Status == hazard.Active { // its severity and its updates change more often than its place
		until, changed, grade, updated = hazard.MaxInstant, hazard.MaxInstant, 0, hazard.MaxInstant
	}
	kind := kindOf(h.Type, grade)
	if _, err := w.tx.ExecContext(w.ctx, sqliteWrites, h.ID, days(made), days(max(made, changed))); err != nil {
		return err
	}
	parts := halves(box)
	for i := range int64(2) {
		var err error
		if i < int64(len(parts)) {
			_, err = w.tx.ExecContext(w.ctx, sqliteBox, 2*h.ID+i, parts[i].West, parts[i].East, box.South, box.North, fives(h.Start), fives(until), kind, kind+kindWidth, fives(updated))
		} else {
			_, err = w.tx.ExecContext(w.ctx, sqliteNoBox, 2*h.ID+i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kindOf maps a type to a stable number from 0 to 60, plus a little for the severity of an ended
// hazard. 0 means that there is no number. Types are at least kindStep apart. The number has 32
// bits, as in the trees, so that severityOf finds the severity again.
func kindOf(t hazard.Type, severity hazard.Severity) float64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(t)) // it does not fail
	return float64(float32(float64(sum.Sum32()%(1<<20))*kindStep + float64(severity)*gradeStep))
}

const (
	kindStep  = 60.0 / (1 << 20)
	gradeStep = kindStep / 6
	// kindWidth is the extent of a hazard along its kind. Boxes without width all have the volume
	// 0, and never grow in volume; SQLite would put a hazard into the first node of its kind,
	// wherever that lies.
	kindWidth = kindStep / 2
)

// severityOf returns the severity that was given to kindOf.
func severityOf(kind float64) hazard.Severity {
	grades := int64(math.Round(kind / gradeStep))
	return hazard.Severity(grades % 6)
}

// days returns an instant in days since 1970, and fives in units of five days. Times beyond 1860
// and 2079, such as forever, are cut to these, because a few of them would blow up the nodes of a
// tree.
func days(i hazard.Instant) float64 { return min(max(float64(i)/86_400_000, -40_000), 40_000) }

func fives(i hazard.Instant) float64 { return days(i) / 5 }

// access is an access path: it finds all hazards that can match the filter, and maybe others.
type access struct {
	from condition // FROM clause: s are rows of searchable
	some condition // SELECT 1 for each of them, or more, for counting
	// quick selects 1 for some of them, if that is faster than the first row of some. It is empty
	// if not.
	quick condition
	// words means that it selects the rows of hazards with the words of the filter, by number.
	words bool
	// types means that the path uses the types only, which another path may use too. tree means
	// that it uses the tree of boxes.
	types, tree bool
	// placed are the hazards of which the tree knows the position in the standard order, sorted as
	// far as it knows. unplaced are the IDs of the others: active hazards, and those written by a
	// program that did not store it. Both are empty before they are counted.
	placed   []candidate
	unplaced []int64
	// ended and active are the parts of a path along cells: ended knows the position in the standard
	// order, too. graded is ended for one severity, if that pays.
	ended, active, graded condition
}

// inOrder reports whether the path knows the standard order.
func (a *access) inOrder() bool { return len(a.placed) > 0 || a.ended.text != "" }

// candidate is a hazard as the tree knows it.
type candidate struct {
	id       int64
	severity hazard.Severity
	// from and to bound its last update, in units of five days.
	from, to float64
}

// ordered are the indexes of searchable that yield hazards in a sort order; by severity, within
// each type.
var ordered = map[query.Order]string{query.BySeverity: "searchable_by_type", query.ByLastUpdate: "searchable_by_update", query.ByStart: "searchable_by_start", query.ByEnd: "searchable_by_end"}

// sqliteFinder chooses the access path itself, because SQLite does not estimate how many rows its
// trees and indexes yield. Ways for tests: 1 is the order, the others are those of accesses.
type sqliteFinder struct{ *Question }

// Finder implements Tables.
func (SQLite) Finder(f *Question) Finder {
	f.byType, f.numbered = "hazard_values INDEXED BY hazard_values_by_type", func(query string) string { return query }
	return sqliteFinder{f}
}

// TellsText implements Finder. The table has the words, but not their order.
func (f sqliteFinder) TellsText() bool { return f.Filter.TextIsWords() }

// conditions adds the conditions of the filter, without its text if each row is checked for it
// later.
func (f sqliteFinder) conditions(text bool) {
	f.filtered()
	if f.Filter.ByNumber() {
		f.where.add("s.id IN (SELECT value FROM json_each(?))", list(f.Filter.Hazards))
	}
	if text && f.Filter.Text != nil {
		f.where.add("s.id IN (SELECT rowid FROM hazard_words WHERE hazard_words MATCH ?)", wordsQuery(f.Filter.Text))
	}
}

// wordsQuery returns an FTS5 query for all words of the text. They are quoted; no word contains
// quotes.
func wordsQuery(text []query.Phrase) string {
	var terms []string
	for _, p := range text {
		for i, w := range p.Words {
			term := `"` + w + `"`
			if p.Prefix && i == len(p.Words)-1 {
				term += " *"
			}
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, " AND ")
}

// accesses lists the access paths for the filter, usually the narrowest first.
func (f sqliteFinder) accesses() []access {
	q := f.Filter
	var all []access
	add := func(from, some string, args ...any) {
		all = append(all, access{from: condition{from, args}, some: condition{some, args}})
	}
	if q.ByNumber() {
		add(rowsOf(nil).text, "SELECT 1 FROM json_each(?)", list(q.Hazards))
	}
	if way, ok := f.cells(); ok {
		all = append(all, way)
	}
	if boxes := f.boxes(); boxes.text != "" {
		// In the order of the rows, neighbours of which are often on one page. LIMIT -1 keeps SQLite from leaving the order out.
		add("(SELECT DISTINCT rid >> 1 AS id FROM ("+boxes.text+") ORDER BY 1 LIMIT -1) c CROSS JOIN searchable s ON s.id = c.id", boxes.text, boxes.args...)
		all[len(all)-1].tree = true
	}
	if q.Text != nil {
		add("(SELECT rowid AS id FROM hazard_words WHERE hazard_words MATCH ?) c CROSS JOIN searchable s ON s.id = c.id",
			"SELECT rowid FROM hazard_words WHERE hazard_words MATCH ?", wordsQuery(q.Text))
		all[len(all)-1].words = true
		// FTS5 merges the rows of all words that begin so before it gives the first. Those of the word itself it gives one by one.
		whole := slices.Clone(q.Text)
		for i := range whole {
			whole[i].Prefix = false
		}
		if query := wordsQuery(whole); query != wordsQuery(q.Text) {
			all[len(all)-1].quick = conditionOf("SELECT 1 FROM hazard_words WHERE hazard_words MATCH ?", query)
		}
	}
	all = append(all, f.measuredAccesses()...)
	all = append(all, f.eitherAccesses()...)
	index := func(name, condition string, args ...any) {
		some := "SELECT 1 FROM searchable s INDEXED BY " + name + " WHERE " + condition
		all = append(all, access{from: conditionOf("searchable s INDEXED BY " + name), some: conditionOf(some, args...)})
	}
	columns := []struct {
		index string
		c     condition
	}{{"searchable_by_type", condition{}}, {"searchable_by_source", condition{}}, {"searchable_by_category", condition{}}}
	among(&columns[0].c, "s.type_id", q.Types, func(t hazard.Type) any { return string(t) })
	f.fromSources(&columns[1].c)
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

// measuredAccesses lists the access paths along the ranges of values in the filter.
func (f sqliteFinder) measuredAccesses() (all []access) {
	for _, m := range f.Filter.Measures {
		where := measured(m, "")
		among(&where, "type_id", f.types(), func(t hazard.Type) any { return string(t) })
		rows := "FROM hazard_values INDEXED BY hazard_values_by_type WHERE " + where.text
		all = append(all, access{
			from: conditionOf("(SELECT hazard_id AS id "+rows+" ORDER BY 1 LIMIT -1) c CROSS JOIN searchable s ON s.id = c.id", where.args...),
			some: conditionOf("SELECT 1 "+rows, where.args...),
		})
	}
	return all
}

// maxKinds is the maximum number of types for which the tree is queried one by one; for more, it
// is queried once for all.
const maxKinds = 5

// boxes queries the tree for the first box of the filter, with its time and types.
func (f sqliteFinder) boxes() condition {
	q := f.Filter
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
		parts = nil
		for _, half := range halves(b) {
			part := condition{where.text, slices.Clone(where.args)}
			part.add("south <= ? AND north >= ? AND west <= ? AND east >= ?", half.North, half.South, half.East, half.West)
			parts = append(parts, part)
		}
		if q.Possible { // and those that are nowhere
			part := condition{where.text, slices.Clone(where.args)}
			part.add("south >= 99")
			parts = append(parts, part)
		}
	}
	if f.boxesKnowTypes() {
		var typed []condition
		for _, part := range parts {
			for _, t := range f.types() {
				one := condition{part.text, slices.Clone(part.args)}
				one.add("kind <= ? AND kind_too >= ?", kindOf(t, hazard.Warning), kindOf(t, 0))
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
		all.text += "SELECT rid, kind, updated, updated_too FROM hazard_boxes WHERE " + part.text
		all.args = append(all.args, part.args...)
	}
	return all
}

func (f sqliteFinder) boxesKnowTypes() bool { return len(f.types()) <= maxKinds }

// How the way is chosen: rows that are so few that nothing else is asked, and rows up to which are counted.
const (
	fewRows = 500
	maxRows = 8_000
)

// choose finds the access path that reads the fewest rows: along the order until enough are found,
// or all rows of one condition. It counts the rows of each condition up to a limit. A wrong choice
// only costs time.
//
// The number of rows along the order is estimated, as if each condition matched the same share
// everywhere. For times that is far off: what began years ago comes after everything updated since.
// So a path with counted rows is preferred to the estimate.
func (f sqliteFinder) choose(ctx context.Context) (way *access, err error) {
	if f.having, err = f.measuredTypes(ctx); err != nil {
		return nil, err
	}
	all := f.accesses()
	if f.Way > 0 {
		if f.Way == 1 || f.Way-2 >= len(all) {
			return nil, nil
		}
		return &all[f.Way-2], nil
	}
	var total float64
	if err := f.Tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM searchable`).Scan(&total); err != nil {
		return nil, err
	}
	const lookupCost = 3                                                         // a row that is looked up by its number and sorted costs that much more than the next of an index
	alone := f.Limit > 0 && f.Filter.Life == nil && f.Filter.UpdatedSince == nil // the order may do without any of the ways
	limit := maxRows
	if alone { // of more rows in the tree the order is the better way
		limit = min(limit, max(fewRows, int(math.Sqrt(float64(f.Limit)*total/lookupCost))))
	}
	density, fewest := 1.0, float64(maxRows+1)
	celled := false
	for i := range all {
		switch {
		case all[i].types && (celled || way != nil && f.boxesKnowTypes()):
			continue // the boxes were counted, and are fewer
		case all[i].tree && celled:
			continue // it parts its nodes by time, of which the filter says nothing
		case all[i].ended.text != "":
			celled = f.Filter.Life == nil
		}
		only := celled && alone && f.Sort.By == query.BySeverity && all[i].ended.text != "" && !slices.ContainsFunc(all[i+1:], func(a access) bool { return !a.types && !a.tree })
		most := limit
		if only {
			most = fewRows
		}
		n, err := f.size(ctx, &all[i], most, total)
		if err != nil {
			return nil, err
		}
		if n < fewest {
			way, fewest = &all[i], n
		}
		if n <= fewRows {
			return way, nil
		}
		density *= min(1, n/max(total, 1))
		if only {
			if all[i].graded, err = f.graded(ctx); err != nil || all[i].graded.text != "" {
				return &all[i], err
			}
			if dense, err := f.dense(ctx, total); err != nil || dense {
				return nil, err
			}
			return &all[i], nil
		}
	}
	if way == nil || !alone || f.Sort.By == query.BySeverity && way.inOrder() { // the tree knows the position of nearly all
		return way, nil
	}
	if float64(f.Limit)/density < lookupCost*fewest {
		return nil, nil
	}
	return way, nil
}

// size returns the number of rows of an access path, up to maxRows plus one. The tree and cells are read
// up to limit rows; more count as maxRows plus one. These rows are kept in way, because reading them
// again would be expensive. total is the number of all hazards.
func (f sqliteFinder) size(ctx context.Context, way *access, limit int, total float64) (n float64, err error) {
	if way.ended.text != "" {
		return f.listCells(ctx, way, limit)
	}
	if !way.tree {
		for _, c := range []condition{way.quick, way.some} {
			if c.text == "" || n > maxRows {
				continue
			}
			if way.words && c.text == way.some.text {
				return f.listWords(ctx, way, total)
			}
			query := fmt.Sprintf("SELECT count(*) FROM (%s LIMIT %d)", c.text, maxRows+1)
			if err := f.Tx.QueryRowContext(ctx, query, c.args...).Scan(&n); err != nil {
				return 0, err
			}
		}
		return n, nil
	}
	rows, err := f.Tx.QueryContext(ctx, fmt.Sprintf("SELECT rid >> 1, kind, updated, updated_too FROM (%s LIMIT %d)", way.some.text, limit+1), way.some.args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var all []candidate
	for rows.Next() {
		var c candidate
		var kind float64
		if err := rows.Scan(&c.id, &kind, &c.from, &c.to); err != nil {
			return 0, err
		}
		c.severity = severityOf(kind)
		all = append(all, c)
	}
	if rows.Err() != nil || len(all) > limit {
		return maxRows + 1, rows.Err()
	}
	// One that crosses the antimeridian may be there twice.
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	all = slices.CompactFunc(all, func(a, b candidate) bool { return a.id == b.id })
	var placed []candidate
	var unplaced []int64
	for _, c := range all {
		if c.placed() {
			placed = append(placed, c)
		} else {
			unplaced = append(unplaced, c.id)
		}
	}
	return way.listed(placed, unplaced), nil
}

// listed keeps what was listed of an access path, in order, and returns the number of its rows.
func (a *access) listed(placed []candidate, unplaced []int64) float64 {
	ids := slices.Clone(unplaced)
	for _, c := range placed {
		ids = append(ids, c.id)
	}
	slices.Sort(ids) // neighbours are often on one page
	slices.SortStableFunc(placed, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.severity, a.severity), cmp.Compare(b.to, a.to))
	})
	a.from, a.placed, a.unplaced = rowsOf(ids), placed, unplaced
	return float64(len(ids))
}

// listWords is size of an access path along words. If there are many, a list of the hazards with them,
// made where the order needs it, is cheaper than the states along the order only if these are more: how
// many there are of both is estimated from the last.
func (f sqliteFinder) listWords(ctx context.Context, way *access, total float64) (n float64, err error) {
	const stateCost = 24 // a state along the order costs that much more than the next of a list
	const sample = 2 * fewRows
	list := func(until int64, most int) ([]int64, error) { // the newest: a page is mostly from these
		ids, err := f.list(ctx, fmt.Sprintf("%s AND rowid <= ? ORDER BY rowid DESC LIMIT %d", way.some.text, most), append(slices.Clone(way.some.args), until)...)
		slices.Reverse(ids)
		return ids, err
	}
	ids, err := list(math.MaxInt64, sample)
	if err != nil {
		return 0, err
	}
	complete, all := len(ids) < sample, 0.0
	if !complete {
		all = sample * total / max(1, total-float64(ids[0]))
	}
	if !complete && all < maxRows {
		rest, err := list(ids[0]-1, maxRows)
		if err != nil {
			return 0, err
		}
		ids, complete = append(rest, ids...), len(rest) < maxRows
	}
	if complete {
		f.withWords, way.from = &wordList{last: ids}, rowsOf(ids)
		return float64(len(ids)), nil
	}
	tries := 0
	if f.Limit == 0 || all*all > stateCost*float64(f.Limit)*total {
		if f.Limit == 0 || f.Sort.By != query.BySeverity || f.Filter.Where != nil {
			return maxRows + 1, nil
		}
		tries = 4 * f.Limit
	}
	f.withWords = &wordList{tries: tries, last: ids, from: ids[0], span: max(1, int64(blockOfWords*total/all)), blocks: map[int64][]int64{}, list: func(from, to int64) ([]int64, error) {
		return f.list(ctx, way.some.text+" AND rowid BETWEEN ? AND ?", append(slices.Clone(way.some.args), from, to)...)
	}}
	return all, nil
}

// blockOfWords is the number of hazards in a block of a wordList.
const blockOfWords = 1000

// wordList knows which hazards have the words of a filter. It lists the last, and others in blocks of
// neighbouring numbers: a page in an order of time is from few of these. Where the states along the order
// should be fewer it first lets so many through, which the caller checks: it may be that none of them has
// what else is wanted.
type wordList struct {
	tries  int
	last   []int64 // sorted
	from   int64   // the first of last; 0: last are all
	span   int64   // of the numbers of a block
	blocks map[int64][]int64
	list   func(from, to int64) ([]int64, error)
}

func (l *wordList) has(id int64) (bool, error) {
	if l.tries > 0 {
		l.tries--
		return true, nil
	}
	ids := l.last
	if id < l.from {
		var listed bool
		var err error
		i := id / l.span
		if ids, listed = l.blocks[i]; !listed {
			if ids, err = l.list(i*l.span, (i+1)*l.span-1); err != nil {
				return false, err
			}
			l.blocks[i] = ids
		}
	}
	_, has := slices.BinarySearch(ids, id)
	return has, nil
}

// list returns the integers that a query yields. SQLite hands them over as one text, which costs less
// than a row for each.
func (f sqliteFinder) list(ctx context.Context, query string, args ...any) ([]int64, error) {
	var text string
	if err := f.Tx.QueryRowContext(ctx, "SELECT json_group_array(rowid) FROM ("+query+")", args...).Scan(&text); err != nil {
		return nil, err
	}
	all := []int64{}
	return all, json.Unmarshal([]byte(text), &all)
}

// placed reports whether the tree knows the position of the hazard in the standard order. Programs
// before schema 31 wrote zeros instead of the last update.
func (c candidate) placed() bool {
	return c.severity > 0 && (c.from != 0 || c.to != 0) && c.to < fives(hazard.MaxInstant)
}

func numbersOf(all []candidate) []int64 {
	ids := make([]int64, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	slices.Sort(ids) // neighbours are often on one page
	return ids
}

// rowsOf returns the FROM clause for the rows of hazards by ID.
func rowsOf(ids []int64) condition {
	return conditionOf("json_each(?) c CROSS JOIN searchable s ON s.id = c.value", list(ids))
}

// Each calls found with the rows after a position in the order (nil means all), in that order,
// until found returns false.
func (f sqliteFinder) Each(ctx context.Context, after *query.Key, found func(Row) (bool, error)) error {
	way, err := f.choose(ctx)
	if err != nil {
		return err
	}
	if way == nil {
		among(&f.where, "s.type_id", f.having, func(t hazard.Type) any { return string(t) })
	}
	byWords := way != nil && way.words
	tried := f.withWords != nil && f.withWords.tries > 0
	if way != nil && tried {
		f.withWords, tried = nil, false
	}
	if f.withWords != nil && !byWords {
		all := found
		found = func(r Row) (bool, error) {
			if has, err := f.withWords.has(r.ID); err != nil || !has {
				return err == nil, err
			}
			return all(r)
		}
	}
	f.TextLater = way == nil && f.withWords == nil || tried || !f.TellsText()
	f.WithBodies = f.WhereLater || f.TextLater && f.Filter.Text != nil // one statement for each would take most of the time
	f.byValue = f.Sort.ByValue()
	f.conditions(way != nil && !byWords && f.withWords == nil)
	f.leaveOutDue()
	if f.byValue {
		return f.eachByValue(ctx, way, after, found)
	}
	order := f.order()
	if way != nil {
		return f.along(ctx, way, after, order, found)
	}
	if f.Sort.By == query.BySeverity {
		last := after
		err := f.byTypes(ctx, after, order, func(r Row) (bool, error) {
			last = &r.Key
			return found(r)
		})
		if errors.Is(err, errFar) {
			way, _ := f.cells()
			err = f.along(ctx, &way, last, order, found)
		}
		return err
	}
	from := "searchable s"
	if index := ordered[f.Sort.By]; index != "" {
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

// along is Each along an access path.
func (f sqliteFinder) along(ctx context.Context, way *access, after *query.Key, order string, found func(Row) (bool, error)) error {
	where := condition{f.where.text, slices.Clone(f.where.args)}
	if after != nil {
		behind := f.behind(*after)
		where.add(behind.text, behind.args...)
	}
	if f.Sort.By == query.BySeverity && len(way.placed) > 0 && !f.WithBodies {
		return f.byPlace(ctx, way, after, where, order, found)
	}
	if f.Sort.By == query.BySeverity && way.ended.text != "" && !f.WithBodies {
		return f.byCells(ctx, way, after, where, order, found)
	}
	_, err := f.rows(ctx, way.from, where, order, found)
	return err
}

// errFar means that the order has been followed as far as it may be.
var errFar = errors.New("the order is too long a way")

// byTypes is Each in the standard order: of one severity after the other it reads each type separately, and
// merges them. A type without anything that is wanted is so read no further than the page needs.
func (f sqliteFinder) byTypes(ctx context.Context, after *query.Key, order string, found func(Row) (bool, error)) error {
	types, err := f.typesThere(ctx)
	if err != nil {
		return err
	}
	in, bounds := conditionOf("TRUE"), f.Filter.Bounds()
	if bounds != nil {
		in = inside(cellsOf(bounds[0], f.Filter.Possible))
	}
	skip := bounds != nil || f.withWords != nil && f.Filter.Where == nil // the index may decide more than words
	walked := 0
	for below := hazard.Warning + 1; ; {
		severity, ok, err := f.severityBelow(ctx, types, below)
		if err != nil || !ok {
			return err
		}
		below = severity
		if len(f.Filter.Severities) > 0 && !slices.Contains(f.Filter.Severities, severity) || after != nil && severity > after.Severity {
			continue
		}
		sections := []condition{{}}
		if after != nil && severity == after.Severity {
			sections = f.sections(*after)[:2] // those of the severity
		}
		var streams []iter.Seq2[Row, error]
		for _, t := range types {
			streams = append(streams, func(yield func(Row, error) bool) {
				for _, section := range sections {
					of := conditionOf("s.type_id = ? AND s.severity = ?", string(t), int64(severity))
					if section.text != "" {
						of.add(section.text, section.args...)
					}
					if skip {
						if !f.walk(ctx, of, in, order, &walked, yield) {
							return
						}
						continue
					}
					where := condition{f.where.text, slices.Clone(f.where.args)}
					where.add(of.text, of.args...)
					if !f.yield(ctx, conditionOf("searchable s INDEXED BY searchable_by_type"), where, order, yield) {
						return
					}
				}
			})
		}
		more := true
		err = f.merge(streams, func(r Row) (_ bool, err error) {
			more, err = found(r)
			return more, err
		})
		if err != nil || !more {
			return err
		}
	}
}

// severityBelow returns the next lower severity that hazards of these types have.
func (f sqliteFinder) severityBelow(ctx context.Context, types []hazard.Type, below hazard.Severity) (_ hazard.Severity, ok bool, err error) {
	var next sql.NullInt64
	err = f.Tx.QueryRowContext(ctx, `SELECT max(severity) FROM (SELECT (SELECT max(severity) FROM searchable WHERE type_id = t.value AND severity < ?) AS severity FROM json_each(?) t)`,
		int64(below), list(types)).Scan(&next)
	return hazard.Severity(next.Int64), next.Valid, err
}

// walk yields the rows of a section of a type along the order, and reports whether more are wanted. The
// index says which of them lie inside and have the words; only these are looked up, in parts that grow,
// because of most types few are wanted.
func (f sqliteFinder) walk(ctx context.Context, section, inside condition, order string, walked *int, yield func(Row, error) bool) bool {
	const (
		step = 64 // one row of so many is returned even if it is outside, to count the rows that are read
		most = 64 // looked up at once
	)
	failed := func(err error) bool { yield(Row{}, err); return false }
	rows, err := f.Tx.QueryContext(ctx, fmt.Sprintf("SELECT s.id, %s FROM searchable s INDEXED BY searchable_by_type WHERE %s AND (%[1]s OR s.id %% %[3]d = 0) ORDER BY %[4]s", inside.text, section.text, step, order),
		slices.Concat(inside.args, section.args, inside.args)...)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	var ids []int64
	part := 1
	lookUp := func() bool {
		slices.Sort(ids) // neighbours are often on one page
		more := len(ids) == 0 || f.yieldPart(ctx, rowsOf(ids), f.where, order, yield)
		ids, part = ids[:0], min(2*part, most)
		return more
	}
	for rows.Next() {
		var id int64
		var in bool
		if err := rows.Scan(&id, &in); err != nil {
			return failed(err)
		}
		if id%step == 0 {
			if *walked += step; f.far > 0 && *walked > f.far {
				return failed(errFar)
			}
		}
		if in && f.withWords != nil {
			if in, err = f.withWords.has(id); err != nil {
				return failed(err)
			}
		}
		if in {
			if ids = append(ids, id); len(ids) == part && !lookUp() {
				return false
			}
		}
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return lookUp()
}

// eachByValue is Each in the order of a quantity. Without an access path it reads the index, separately
// for each type.
func (f sqliteFinder) eachByValue(ctx context.Context, way *access, after *query.Key, found func(Row) (bool, error)) error {
	more := true
	wanted := func(r Row) (_ bool, err error) {
		more, err = found(r)
		return more, err
	}
	for _, half := range f.halvesByValue(after) {
		where := condition{f.where.text, slices.Clone(f.where.args)}
		where.add(half.where.text, half.where.args...)
		var err error
		switch {
		case half.lacks && way == nil:
			// By number: SQLite would sort all hazards of a type, of which there are many if it is no way.
			_, err = f.valuedRows(ctx, "NULL AS value", conditionOf("searchable s NOT INDEXED"), where, half.order, wanted)
		case half.lacks:
			_, err = f.valuedRows(ctx, "NULL AS value", way.from, where, half.order, wanted)
		case way != nil:
			from := condition{way.from.text + " CROSS JOIN hazard_values o ON o.hazard_id = s.id", way.from.args}
			_, err = f.valuedRows(ctx, "o.value", from, where, half.order, wanted)
		default:
			var streams []iter.Seq2[Row, error]
			for _, t := range f.types() {
				streams = append(streams, func(yield func(Row, error) bool) {
					one := condition{where.text, slices.Clone(where.args)}
					one.add("o.type_id = ?", string(t))
					from := conditionOf("hazard_values o INDEXED BY hazard_values_by_type CROSS JOIN searchable s ON s.id = o.hazard_id")
					if _, err := f.valuedRows(ctx, "o.value", from, one, half.order, func(r Row) (bool, error) { return yield(r, nil), nil }); err != nil {
						yield(Row{}, err)
					}
				})
			}
			err = f.merge(streams, wanted)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// byPlace is Each if the tree knows the approximate order. It reads rows in parts, in that order,
// until enough are found, because reading them costs most. The other rows are merged with them.
func (f sqliteFinder) byPlace(ctx context.Context, way *access, after *query.Key, where condition, order string, found func(Row) (bool, error)) error {
	rest := way.placed
	if after != nil { // what comes before that place for certain
		rest = slices.DeleteFunc(slices.Clone(rest), func(c candidate) bool {
			return c.severity > after.Severity || c.severity == after.Severity && c.from > fives(after.Moment)
		})
	}
	placed := func(yield func(Row, error) bool) {
		var read []Row // and not yielded yet, in order
		part := f.Limit + f.Limit/4 + 1
		if f.Limit == 0 {
			part = len(rest)
		}
		for ; len(rest) > 0; part *= 2 {
			n := min(part, len(rest))
			_, err := f.rows(ctx, rowsOf(numbersOf(rest[:n])), where, order, func(r Row) (bool, error) {
				read = append(read, r)
				return true, nil
			})
			if err != nil {
				yield(Row{}, err)
				return
			}
			rest = rest[n:]
			slices.SortFunc(read, func(a, b Row) int { return f.Sort.Compare(a.Key, b.Key) })
			f.comes(read)
			for len(read) > 0 && (len(rest) == 0 || before(read[0].Key, rest[0])) {
				if !yield(read[0], nil) {
					return
				}
				read = read[1:]
			}
		}
	}
	unplaced := func(yield func(Row, error) bool) {
		if len(way.unplaced) > 0 {
			f.yield(ctx, rowsOf(way.unplaced), where, order, yield)
		}
	}
	return f.merge([]iter.Seq2[Row, error]{unplaced, placed}, found)
}

// before reports whether a position is before c, and so surely before everything after c in the
// tree.
func before(k query.Key, c candidate) bool {
	return k.Severity > c.severity || k.Severity == c.severity && fives(k.Moment) > c.to
}

// yield yields rows, and reports whether more are wanted.
func (f sqliteFinder) yield(ctx context.Context, from, where condition, order string, yield func(Row, error) bool) bool {
	more, err := f.rows(ctx, from, where, order, func(r Row) (bool, error) { return yield(r, nil), nil })
	if err != nil {
		yield(Row{}, err)
	}
	return err == nil && more
}

// yieldPart is yield of rows that are few: all are read before the first is yielded.
func (f sqliteFinder) yieldPart(ctx context.Context, from, where condition, order string, yield func(Row, error) bool) bool {
	var part []Row
	_, err := f.rows(ctx, from, where, order, func(r Row) (bool, error) { part = append(part, r); return true, nil })
	if err != nil {
		yield(Row{}, err)
		return false
	}
	f.comes(part)
	for _, r := range part {
		if !yield(r, nil) {
			return false
		}
	}
	return true
}

// merge calls found with the rows of several sorted sequences, in order, until it returns false.
func (f sqliteFinder) merge(all []iter.Seq2[Row, error], found func(Row) (bool, error)) error {
	type stream struct {
		next func() (Row, error, bool)
		head Row
	}
	var streams []stream
	for _, rows := range all {
		next, stop := iter.Pull2(rows)
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
			if f.Sort.Compare(streams[i].head.Key, streams[first].head.Key) < 0 {
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

// typesThere returns the types that can match the filter, without those that no hazard has if it names none.
func (f sqliteFinder) typesThere(ctx context.Context) (_ []hazard.Type, err error) {
	if len(f.Filter.Types) == 0 && f.having == nil {
		f.having, err = f.present(ctx)
	}
	return f.types(), err
}

// present lists the types that exist; the index finds each from the one before.
func (f sqliteFinder) present(ctx context.Context) (all []hazard.Type, err error) {
	for last := ""; ; {
		var next sql.NullString
		if err := f.Tx.QueryRowContext(ctx, `SELECT min(type_id) FROM searchable WHERE type_id > ?`, last).Scan(&next); err != nil || !next.Valid {
			return all, err
		}
		last = next.String
		all = append(all, hazard.Type(last))
	}
}

// rows calls found with rows until it returns false. It reports whether found always returned true.
func (f sqliteFinder) rows(ctx context.Context, from, where condition, order string, found func(Row) (bool, error)) (more bool, err error) {
	return f.valuedRows(ctx, "", from, where, order, found)
}

// valuedRows is rows with the value by which they are sorted.
func (f sqliteFinder) valuedRows(ctx context.Context, value string, from, where condition, order string, found func(Row) (bool, error)) (more bool, err error) {
	rowsInOrder := func(columns string) string {
		query := "SELECT " + columns + " FROM " + from.text
		if where.text != "" {
			query += " WHERE " + where.text
		}
		return query + " ORDER BY " + order
	}
	query := rowsInOrder(f.columns(value))
	if f.WithBodies { // each is read when its row's turn comes: to sort them would be dear. LIMIT -1 keeps SQLite from doing so.
		query = "SELECT " + f.columns("s.value") + ", c.body FROM (" + rowsInOrder(f.columns(value)) + " LIMIT -1) s CROSS JOIN changes c ON c.n = s.n"
	}
	return f.read(ctx, query, slices.Concat(from.args, where.args), found)
}

// Count implements Finder. It counts what matches, whether past its end or not, and then takes away
// what is past its end and not recorded so, of which there are few: an index that holds the columns
// of the filter is counted without looking at the rows.
func (f sqliteFinder) Count(ctx context.Context) (n int64, err error) {
	f.Limit = 0
	way, err := f.choose(ctx)
	if err != nil {
		return 0, err
	}
	f.conditions(true)
	if way == nil && len(f.Filter.Measures) > 0 {
		if way, err = f.measuredWay(ctx); err != nil {
			return 0, err
		}
	}
	from, where := conditionOf("searchable s"), f.where
	if way != nil {
		from = way.from
	}
	if f.onlyMeasured() { // the index counts those that have such a value
		some := f.measuredAccesses()[0].some
		from, where = conditionOf("("+some.text+")", some.args...), condition{}
	}
	return f.count(ctx, from, where, "searchable s INDEXED BY searchable_active")
}

// measuredWay returns the access path along the first range of values, or nil if it is so wide that
// reading all hazards is no slower.
func (f sqliteFinder) measuredWay(ctx context.Context) (*access, error) {
	const wide = 200_000
	all := f.measuredAccesses()
	var n int64
	query := fmt.Sprintf("SELECT count(*) FROM (%s LIMIT %d)", all[0].some.text, wide)
	if err := f.Tx.QueryRowContext(ctx, query, all[0].some.args...).Scan(&n); err != nil || n == wide {
		return nil, err
	}
	return &all[0], nil
}

// WrittenAround implements Finder.
func (f sqliteFinder) WrittenAround(ctx context.Context, at hazard.Instant) (ids []int64, err error) {
	return f.numbers(ctx, `SELECT s.id FROM (SELECT id FROM hazard_writes WHERE made <= ? AND changed >= ?) c
		CROSS JOIN searchable s ON s.id = c.id WHERE s.changed_ms > ?`, days(at), days(at), int64(at))
}
