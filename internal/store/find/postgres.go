package find

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// What searches need of PostgreSQL alone is in this file: how the tables that hazards are found by are written, and the statements that
// ask them. migrations/postgres makes the tables. PostgreSQL counts what its indexes let through, and chooses the way by itself.

// postgresIndexer prepares no statements; the driver does.
type postgresIndexer struct{}

// Postgres is the Tables of PostgreSQL.
type Postgres struct{}

// Index implements Tables.
func (Postgres) Index() Index { return postgresIndexer{} }

// touch needs no answer: it can write as of an earlier moment too, since the hazard is active; and no program without these tables knows PostgreSQL.
func (postgresIndexer) touch(w *Writing, h *hazard.Hazard, at hazard.Instant) (bool, error) {
	_, err := w.tx.ExecContext(w.ctx, `UPDATE searchable SET n = $1, changed_ms = $2, last_update_ms = $3, made_ms = least(made_ms, $2),
		written = CASE WHEN made_ms <= $2 THEN written ELSE int8range($2, NULL, '[]') END WHERE id = $4`,
		h.Version, int64(at), int64(h.LastUpdate), h.ID)
	return true, err
}

func (postgresIndexer) whole(w *Writing, h, _ *hazard.Hazard, box geo.Box, made, changed hazard.Instant) error {
	parts := halves(box)
	var second sql.NullString
	if len(parts) > 1 {
		second = sql.NullString{String: boxText(parts[1]), Valid: true}
	}
	active := h.Status == hazard.Active
	_, err := w.tx.ExecContext(w.ctx, `
		INSERT INTO searchable AS s (id, n, made_ms, changed_ms, active, autoexpire, type_id, severity, category_id, source, start_ms, end_ms, last_update_ms, areas,
			west, south, east, north, bounds, bounds2, life, written, name)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19::text::box, $20::text::box,
			int8range($11::bigint, CASE WHEN $5::boolean THEN NULL ELSE greatest($11::bigint, $12::bigint) END, '[]'),
			int8range($3::bigint, CASE WHEN $5::boolean THEN NULL ELSE greatest($3::bigint, $4::bigint) END, '[]'), $21)
		ON CONFLICT (id) DO UPDATE SET n = excluded.n, made_ms = least(s.made_ms, excluded.made_ms), changed_ms = excluded.changed_ms, active = excluded.active,
			autoexpire = excluded.autoexpire, type_id = excluded.type_id, severity = excluded.severity, category_id = excluded.category_id,
			source = excluded.source, start_ms = excluded.start_ms, end_ms = excluded.end_ms, last_update_ms = excluded.last_update_ms,
			areas = excluded.areas, west = excluded.west, south = excluded.south, east = excluded.east, north = excluded.north,
			bounds = excluded.bounds, bounds2 = excluded.bounds2, life = excluded.life, name = excluded.name,
			written = int8range(least(s.made_ms, excluded.made_ms), CASE WHEN $5::boolean THEN NULL ELSE greatest(s.made_ms, excluded.made_ms, excluded.changed_ms) END, '[]')`,
		h.ID, h.Version, int64(made), int64(changed), active, h.AutoExpire, string(h.Type), int64(h.Severity), string(h.Category), sourceText(h), int64(h.Start), int64(h.End),
		int64(h.LastUpdate), hasShapes(h), box.West, box.South, box.East, box.North, boxText(parts[0]), second, query.FoldedName(h.Name))
	return err
}

// boxText returns a box in the syntax of PostgreSQL.
func boxText(b geo.Box) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return fmt.Sprintf("(%s,%s),(%s,%s)", number(b.West), number(b.South), number(b.East), number(b.North))
}

func (postgresIndexer) words(_ *Writing, f func() error) error { return f() }

func (postgresIndexer) text(w *Writing, id int64, name, description []string) error {
	_, err := w.tx.ExecContext(w.ctx, `INSERT INTO hazard_words (id, words) VALUES ($1, array_to_tsvector($2::text[]))
		ON CONFLICT (id) DO UPDATE SET words = excluded.words`, id, append(append([]string{}, name...), description...)) // an empty list is none to the driver if it is nil
	return err
}

// postgresFinder reads as many rows as are expected with one statement, and then more.
type postgresFinder struct{ *Question }

// Finder implements Tables.
func (Postgres) Finder(f *Question) Finder {
	f.byType, f.numbered = "hazard_values", numbered
	return postgresFinder{f}
}

// TellsText implements Finder. A text vector has the words, but neither their order nor in which
// text they are.
func (f postgresFinder) TellsText() bool { return f.Filter.TextIsWords() }

// conditions adds the conditions of the filter, and returns one more that the index by place decides: it
// only follows from the others, and is empty without a box.
func (f postgresFinder) conditions() (place condition) {
	f.filtered()
	q := f.Filter
	if q.ByNumber() {
		f.where.add("s.id = ANY(?)", q.Hazards)
	}
	if q.Text != nil {
		f.where.add("s.id IN (SELECT id FROM hazard_words WHERE words @@ ?::text::tsquery)", wordsTSQuery(q.Text))
		f.TextLater = !f.TellsText()
	}
	life := condition{}
	if q.Life != nil { // where it holds for those that never end, too
		life.add("s.life && int8range(?, ?, '[]')", int64(q.Life.From), int64(max(q.Life.From, q.Life.To)))
		if q.Bounds() == nil {
			f.where.add(life.text, life.args...)
		}
	}
	for _, b := range q.Bounds() {
		var any condition
		var parts []string
		for _, half := range halves(b) {
			for _, column := range []string{"s.bounds", "s.bounds2"} {
				one := conditionOf(column+" && ?::text::box", boxText(half))
				if q.Life != nil {
					one.add(life.text, life.args...)
				}
				parts, any.args = append(parts, "("+one.text+")"), append(any.args, one.args...)
			}
		}
		if q.Possible { // and those that are nowhere
			parts, any.args = append(parts, "s.bounds && ?::text::box"), append(any.args, boxText(geo.Box{West: -1, East: 1, South: 99, North: 101}))
		}
		place.add("("+strings.Join(parts, " OR ")+")", any.args...)
	}
	return place
}

// wordsTSQuery returns a query for hazards with all words of the text. Words contain no quotes.
func wordsTSQuery(text []query.Phrase) string {
	var terms []string
	for _, p := range text {
		for i, w := range p.Words {
			term := "'" + w + "'"
			if p.Prefix && i == len(p.Words)-1 {
				term += ":*"
			}
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, " & ")
}

// Rows that are asked for at once, at least and at most.
const (
	leastRows = 100
	manyRows  = 5000
)

// Each reads rows in parts, and each part completely before found sees its first row, because found
// may query on the same connection.
func (f postgresFinder) Each(ctx context.Context, after *query.Key, found func(Row) (bool, error)) error {
	var err error
	if f.having, err = f.measuredTypes(ctx); err != nil {
		return err
	}
	types := f.having
	if len(types) > 1 { // without the one that no hazard has: of a single type there is an index in order
		types = types[1:]
	}
	among(&f.where, "s.type_id", types, func(t hazard.Type) any { return string(t) }) // PostgreSQL does not know that they have other severities
	f.byValue = f.Sort.ByValue()
	if f.Limit > 0 && !f.byValue {
		f.rowByRow = " OFFSET 0" // a page needs few
	}
	place := f.conditions()
	f.leaveOutDue()
	if f.byValue || f.Limit == 0 {
		f.add(place)
		place = condition{}
	}
	if f.byValue {
		return f.eachByValue(ctx, after, found)
	}
	from := conditionOf("searchable s")
	if narrow, err := f.narrow(ctx, place); err != nil {
		return err
	} else if narrow { // OFFSET keeps PostgreSQL from following the order, and where it is to do so nothing leads to the index
		from = conditionOf("(SELECT * FROM searchable s WHERE "+place.text+" OFFSET 0) s", place.args...)
	}
	var apart []hazard.Type
	if f.Sort.By == query.BySeverity && from.args == nil { // along the order
		if apart = types; types == nil {
			apart = f.Filter.Types
		}
	}
	_, err = f.parts(ctx, "", from, apart, after, func(after *query.Key) (condition, string) {
		if after == nil {
			return condition{}, f.order()
		}
		return f.behind(*after), f.order()
	}, found)
	return err
}

// add adds a condition to those of the filter; it may be empty.
func (f postgresFinder) add(c condition) {
	if c.text != "" {
		f.where.add(c.text, c.args...)
	}
}

// narrow reports whether the index by place leads to a page sooner than the order does. PostgreSQL takes
// every box for a two-hundredth of all hazards; a sample of them says how many there are.
func (f postgresFinder) narrow(ctx context.Context, place condition) (bool, error) {
	switch {
	case place.text == "" || f.Filter.ByNumber() || f.Way == 1:
		return false, nil
	case f.Way > 1:
		return true, nil
	}
	const sample = 500
	rowCost := 0.5 // of a row along the order, compared with one in a box: these lie apart in the table
	if f.Filter.Life != nil {
		rowCost = 2 // what began years ago comes last
	}
	typed := conditionOf("TRUE")
	if f.Sort.By == query.BySeverity {
		among(&typed, "s.type_id", f.Filter.Types, func(t hazard.Type) any { return string(t) })
	}
	query := fmt.Sprintf(`SELECT (SELECT coalesce(max(id), 0) FROM searchable), count(*), count(*) FILTER (WHERE %s), count(*) FILTER (WHERE %s), count(*) FILTER (WHERE %s) FROM searchable s
		WHERE s.id = ANY (ARRAY(SELECT m * (2 * i + 1) / %d FROM generate_series(0, %d) i, (SELECT max(id) AS m FROM searchable) t))`,
		typed.text, place.text, f.where.text, 2*sample, sample-1)
	var total, all, order, placed, wanted float64
	if err := f.Tx.QueryRowContext(ctx, numbered(query), slices.Concat(typed.args, place.args, f.where.args)...).Scan(&total, &all, &order, &placed, &wanted); err != nil {
		return false, err
	}
	// Of none in the sample there may be half a one.
	return max(placed, 0.5)/max(all, 1)*total < rowCost*float64(f.Limit)*order/max(wanted, 0.5), nil
}

// eachByValue is Each in the order of a quantity.
func (f postgresFinder) eachByValue(ctx context.Context, after *query.Key, found func(Row) (bool, error)) error {
	of, _ := f.orderedBy()
	has, err := f.typesWith(ctx, measured(query.Measure{Quantity: of.Quantity, Low: math.Inf(-1), High: math.Inf(1)}, ""))
	if err != nil {
		return err
	}
	for _, half := range f.halvesByValue(after) {
		if !half.lacks && len(has) == 0 { // PostgreSQL would look through all other types for them
			continue
		}
		from, value := conditionOf("hazard_values o JOIN searchable s ON s.id = o.hazard_id"), "o.value"
		if half.lacks {
			from, value = conditionOf("searchable s"), "NULL::double precision"
		}
		more, err := f.parts(ctx, value, from, nil, after, func(after *query.Key) (condition, string) {
			for _, h := range f.halvesByValue(after) {
				if h.lacks == half.lacks {
					if !h.lacks {
						among(&h.where, "o.type_id", f.Filter.Types, func(t hazard.Type) any { return string(t) })
					}
					return h.where, h.order
				}
			}
			return conditionOf("FALSE"), "s.id"
		}, found)
		if err != nil || !more {
			return err
		}
		if after != nil && !after.Lacks {
			after = nil // the other half begins at its beginning
		}
	}
	return nil
}

// parts reads one part after the other, and reports whether more are wanted. apart are the types that
// are read one by one. behind returns the condition for rows after a position, and their order.
func (f postgresFinder) parts(ctx context.Context, value string, from condition, apart []hazard.Type, after *query.Key, behind func(*query.Key) (condition, string), found func(Row) (bool, error)) (more bool, err error) {
	limit := max(leastRows, f.Limit+1)
	if f.Filter.NeedsShapes() { // some boxes meet a place that their shapes do not
		limit += limit / 2
	}
	if f.Limit == 0 {
		limit = manyRows
	}
	for ; ; limit = min(4*limit, manyRows) {
		where := condition{f.where.text, slices.Clone(f.where.args)}
		rest, order := behind(after)
		if rest.text != "" {
			where.add(rest.text, rest.args...)
		}
		ask := f.part(value, from, where, order, limit, apart)
		var part []Row
		if _, err := f.read(ctx, numbered(ask.text), ask.args, func(r Row) (bool, error) { part = append(part, r); return true, nil }); err != nil {
			return false, err
		}
		f.comes(part)
		for _, r := range part {
			if more, err := found(r); err != nil || !more {
				return false, err
			}
		}
		if len(part) < limit {
			return true, nil
		}
		after = &part[len(part)-1].Key
	}
}

// part returns the query for one part. PostgreSQL follows the index of types in order only for a single
// one, so of several each is read for itself.
func (f postgresFinder) part(value string, from, where condition, order string, limit int, apart []hazard.Type) condition {
	end := fmt.Sprintf(" ORDER BY %s LIMIT %d", order, limit)
	begin := "SELECT " + f.columns(value) + " FROM " + from.text + " WHERE "
	if len(apart) < 2 || len(apart) > maxKinds {
		return conditionOf(begin+where.text+end, slices.Concat(from.args, where.args)...)
	}
	var parts []string
	var all condition
	for _, t := range apart {
		parts = append(parts, "("+begin+where.text+" AND s.type_id = ?"+end+")")
		all.args = append(slices.Concat(all.args, from.args, where.args), string(t))
	}
	all.text = "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") s" + end
	return all
}

// Count implements Finder as that of SQLite does.
func (f postgresFinder) Count(ctx context.Context) (n int64, err error) {
	f.add(f.conditions())
	from, where := conditionOf("searchable s"), f.where
	if f.onlyMeasured() {
		from, where = conditionOf("hazard_values"), measured(f.Filter.Measures[0], "")
		among(&where, "type_id", f.Filter.Types, func(t hazard.Type) any { return string(t) })
	}
	return f.count(ctx, from, where, "searchable s")
}

func (f postgresFinder) WrittenAround(ctx context.Context, at hazard.Instant) ([]int64, error) {
	return f.numbers(ctx, `SELECT id FROM searchable WHERE written @> $1::bigint AND changed_ms > $1`, int64(at))
}

// numbered replaces the question marks in a statement by numbered parameters. Our statements
// contain no other question marks.
func numbered(query string) string {
	var out strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			out.WriteString("$" + strconv.Itoa(i))
		}
		out.WriteString(part)
	}
	return out.String()
}
