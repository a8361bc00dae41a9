package find

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// condition is a part of a WHERE clause with its arguments, in the order of the question marks.
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

// among adds the condition that a column has one of the values. column is trusted; the values
// become arguments.
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

// Question is a search for rows in one read transaction.
type Question struct {
	Tx     *sql.Tx
	Filter *query.Filter
	// sources are the values of the column source that match the filter, if it names sources.
	sources []string
	Sort    query.Sort
	Limit   int // expected number of rows; 0 means all
	// where is the condition for every row, from the filter and the time of the question.
	where condition
	// due is the moment of NotDue; nil if it was not called.
	due *hazard.Instant
	// Way forces one of several access paths in tests; 0 chooses the best.
	Way int
	// TextLater means that the caller checks the text of each row. If few rows are read, that is
	// cheaper than a list of all hazards with a common word.
	TextLater bool
	// WhereLater means that the caller checks the filter's Where on each row, because rows do not
	// decide it (see Tells).
	WhereLater bool
	// Named means that the rows know the names of all hazards.
	Named bool
	// WithBodies means that rows are read with their states, from the table c.
	WithBodies bool
	// withWords lists the hazards with the words of the filter; nil if it does not pay.
	withWords *wordList
	// far is how many rows of the order are read before cells are the better way; 0 means all.
	far int
	// byType is the table hazard_values along its index by type, and numbered gives a statement the
	// parameters of its database.
	byType   string
	numbered func(query string) string
	// rowByRow ends a question for a value of one row where PostgreSQL is not to list all that have it.
	rowByRow string
	// byValue means that rows are read in the order of a quantity, from halvesByValue.
	byValue bool
	// having are the types of hazards with a measurement that matches the filter, if known.
	having []hazard.Type
	// Undecided reports whether the caller needs the body of a row to decide; nil means of none.
	Undecided func(Row) bool
	// Coming are the hazards of the next rows whose bodies are needed, in order. When the body of one
	// is read, so are those of the next.
	Coming []int64
}

// filtered adds the conditions that the columns of searchable can decide. They are exact, except
// for places, of which only boxes are compared, and for hazards past their end that are still
// active by their row.
func (f *Question) filtered() {
	c, q := &f.where, f.Filter
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
	ordered := -1
	if f.byValue {
		_, ordered = f.orderedBy()
	}
	for i, m := range q.Measures {
		if i == ordered {
			continue // the order's own rows say it
		}
		one := measured(m, "v.")
		c.add("EXISTS (SELECT 1 FROM hazard_values v WHERE v.hazard_id = s.id AND "+one.text+")", one.args...)
	}
	if q.Where != nil {
		where := f.mayMatch(q.Where.Root)
		c.add(where.text, where.args...)
	}
	for _, b := range q.Bounds() {
		in := f.meets(b)
		c.add(in.text, in.args...)
	}
}

// measured returns the condition for rows of hazard_values with a quantity in its range.
func measured(m query.Measure, table string) condition {
	c := conditionOf(table+"quantity = ?", string(m.Quantity))
	if !math.IsInf(m.Low, 0) {
		c.add(table+"value >= ?", m.Low)
	}
	if !math.IsInf(m.High, 0) {
		c.add(table+"value <= ?", m.High)
	}
	return c
}

// sourceText returns the value of the column source: the names of a hazard's sources, separated by
// spaces. It is empty if the only one is Editors.
func sourceText(h *hazard.Hazard) string {
	names := query.SourcesOf(h)
	if len(names) == 1 && names[0] == query.Editors {
		return ""
	}
	return strings.Join(names, " ")
}

// LookUp lists the values of the column source that contain a name from the filter. It must be
// called once, before other methods. There are as many values as combinations of sources, which are
// few; the index finds each from the one before.
func (f *Question) LookUp(ctx context.Context) error {
	if f.Filter.Sources == nil {
		return nil
	}
	rows, err := f.Tx.QueryContext(ctx, `WITH RECURSIVE s (source) AS (SELECT min(source) FROM searchable
		UNION ALL SELECT (SELECT min(source) FROM searchable WHERE source > s.source) FROM s WHERE s.source IS NOT NULL)
		SELECT source FROM s WHERE source IS NOT NULL`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		names := strings.Fields(cmp.Or(text, query.Editors))
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(f.Filter.Sources, n) }) {
			f.sources = append(f.sources, text)
		}
	}
	return rows.Err()
}

// fromSources adds the condition that a hazard has an event of a source from the filter.
func (f *Question) fromSources(c *condition) {
	if len(f.Filter.Sources) > 0 && len(f.sources) == 0 {
		c.add("FALSE")
	}
	among(c, "s.source", f.sources, func(s string) any { return s })
}

// Row is one hazard of a result: enough to compare it in the order, and sometimes to match it.
type Row struct {
	ID    int64
	Key   query.Key
	Areas bool
	Box   geo.Box
	// N is the change that made its state.
	N    int64
	Body string // its state, if it was read with the row
}

// Where adds a condition on the columns of searchable, s, with its arguments in the order of the
// question marks.
func (f *Question) Where(text string, args ...any) { f.where.add(text, args...) }

// NotDue excludes hazards that were past their end at a time, even if nobody has recorded it.
func (f *Question) NotDue(at hazard.Instant) { f.due = &at }

// due is the condition for hazards that are past their end, although nobody has recorded it.
const due = "s.active AND s.autoexpire AND s.end_ms <= ?"

// leaveOutDue adds the condition of NotDue.
func (f *Question) leaveOutDue() {
	if f.due != nil {
		f.where.add("NOT ("+due+")", int64(*f.due))
	}
}

// valued is one of two parts of the rows in the order of a quantity: hazards with the quantity, o,
// or without.
type valued struct {
	lacks bool
	where condition // of the half
	order string
}

// halvesByValue returns the parts of the rows after a position in the order of a quantity. Hazards
// without it come last, and are left out if the filter requires the quantity.
func (f *Question) halvesByValue(after *query.Key) (all []valued) {
	direction, beyond := "", ">"
	if f.Sort.Descending {
		direction, beyond = " DESC", "<"
	}
	of, wanted := f.orderedBy()
	if after == nil || !after.Lacks {
		has := valued{where: measured(of, "o."), order: "o.value" + direction + ", o.hazard_id" + direction}
		if after != nil {
			has.where.add("(o.value, o.hazard_id) "+beyond+" (?, ?)", after.Value, after.ID)
		}
		all = append(all, has)
	}
	if wanted >= 0 {
		return all
	}
	lacks := valued{lacks: true, order: "s.id" + direction,
		where: conditionOf("NOT EXISTS (SELECT 1 FROM hazard_values o WHERE o.hazard_id = s.id AND o.quantity = ?)", string(of.Quantity))}
	if after != nil && after.Lacks {
		lacks.where.add("s.id "+beyond+" ?", after.ID)
	}
	return append(all, lacks)
}

// orderedBy returns the range of values in the order of a quantity, and its place in the filter's
// Measures; -1 if the filter does not require the quantity.
func (f *Question) orderedBy() (of query.Measure, wanted int) {
	of = query.Measure{Quantity: f.Sort.Quantity, Low: math.Inf(-1), High: math.Inf(1)}
	if f.Sort.By == query.ByImportance {
		of.Quantity = importance
	}
	if wanted = slices.IndexFunc(f.Filter.Measures, func(m query.Measure) bool { return m.Quantity == of.Quantity }); wanted >= 0 {
		of = f.Filter.Measures[wanted]
	}
	return of, wanted
}

// types returns the types that can match the filter, as far as known.
func (f *Question) types() []hazard.Type {
	if f.having != nil {
		return f.having
	}
	if len(f.Filter.Types) > 0 {
		return f.Filter.Types
	}
	var all []hazard.Type
	for _, t := range hazard.Types() {
		all = append(all, t.ID)
	}
	return all
}

// count counts the rows of from, less those that are past their end; ending is the table where these
// are sought.
func (f *Question) count(ctx context.Context, from, where condition, ending string) (n int64, err error) {
	query, args := "SELECT (SELECT count(*) FROM "+from.text, slices.Concat(from.args, where.args)
	if where.text != "" {
		query += " WHERE " + where.text
	}
	query += ")"
	if f.due != nil {
		f.where.add(due, int64(*f.due))
		query, args = query+" - (SELECT count(*) FROM "+ending+" WHERE "+f.where.text+")", append(args, f.where.args...)
	}
	return n, f.Tx.QueryRowContext(ctx, f.numbered(query), args...).Scan(&n)
}

// onlyMeasured reports whether the filter has one range of values and, at most, types.
func (f *Question) onlyMeasured() bool {
	if len(f.Filter.Measures) != 1 {
		return false
	}
	only := Question{Filter: &query.Filter{Types: f.Filter.Types, Measures: f.Filter.Measures}}
	only.filtered()
	return only.where.text == f.where.text
}

// columns returns the columns of a row, and the value by which rows are sorted.
func (f *Question) columns(value string) string {
	if f.Sort.ByValue() {
		return rowColumns + ", " + value
	}
	return rowColumns
}

const rowColumns = "s.id, s.n, s.severity, s.start_ms, s.end_ms, s.last_update_ms, s.areas, s.west, s.south, s.east, s.north"

// orders are the ORDER BY clauses of the sort orders.
var orders = map[query.Order]struct{ ascending, descending string }{
	query.BySeverity:   {"s.severity DESC, s.last_update_ms DESC, s.id", ""},
	query.ByLastUpdate: {"s.last_update_ms, s.id", "s.last_update_ms DESC, s.id DESC"},
	query.ByStart:      {"s.start_ms, s.id", "s.start_ms DESC, s.id DESC"},
	query.ByEnd:        {"s.end_ms, s.id", "s.end_ms DESC, s.id DESC"},
	query.ByNumber:     {"s.id", "s.id DESC"},
}

func (f *Question) order() string {
	if f.Sort.Descending {
		return orders[f.Sort.By].descending
	}
	return orders[f.Sort.By].ascending
}

// sections returns conditions for the rows after a position, in order: first those with the same
// leading values, then those with the next ones, and so on.
func (f *Question) sections(after query.Key) []condition {
	column := map[query.Order]string{query.ByLastUpdate: "s.last_update_ms", query.ByStart: "s.start_ms", query.ByEnd: "s.end_ms"}[f.Sort.By]
	greater := ">"
	if f.Sort.Descending {
		greater = "<"
	}
	switch f.Sort.By {
	case query.BySeverity:
		severity, moment := int64(after.Severity), int64(after.Moment)
		return []condition{
			conditionOf("s.severity = ? AND s.last_update_ms = ? AND s.id > ?", severity, moment, after.ID),
			conditionOf("s.severity = ? AND s.last_update_ms < ?", severity, moment),
			conditionOf("s.severity < ?", severity),
		}
	case query.ByNumber:
		return []condition{conditionOf("s.id "+greater+" ?", after.ID)}
	}
	return []condition{
		conditionOf(column+" = ? AND s.id "+greater+" ?", int64(after.Moment), after.ID),
		conditionOf(column+" "+greater+" ?", int64(after.Moment)),
	}
}

// behind returns one condition for all rows after a position.
func (f *Question) behind(after query.Key) condition {
	var parts, args = []string(nil), []any(nil)
	for _, p := range f.sections(after) {
		parts, args = append(parts, "("+p.text+")"), append(args, p.args...)
	}
	return conditionOf("("+strings.Join(parts, " OR ")+")", args...)
}

// read calls found with the rows of a query until it returns false. It reports whether found always
// returned true.
func (f *Question) read(ctx context.Context, query string, args []any, found func(Row) (bool, error)) (more bool, err error) {
	rows, err := f.Tx.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Row
		var severity, start, end, updated int64
		var value sql.NullFloat64
		into := []any{&r.ID, &r.N, &severity, &start, &end, &updated, &r.Areas, &r.Box.West, &r.Box.South, &r.Box.East, &r.Box.North}
		if f.Sort.ByValue() {
			into = append(into, &value)
		}
		if f.WithBodies {
			into = append(into, &r.Body)
		}
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		r.Key = f.Sort.Key(&hazard.Hazard{ID: r.ID, Severity: hazard.Severity(severity), Start: hazard.Instant(start), End: hazard.Instant(end), LastUpdate: hazard.Instant(updated)})
		if f.Sort.ByValue() {
			r.Key.Value, r.Key.Lacks = value.Float64, !value.Valid
		}
		if more, err := found(r); err != nil || !more {
			return false, err
		}
	}
	return true, rows.Err()
}

// comes says which rows are next.
func (f *Question) comes(rows []Row) {
	f.Coming = nil
	for _, r := range rows {
		if f.Undecided != nil && f.Undecided(r) {
			f.Coming = append(f.Coming, r.ID)
		}
	}
}

// numbers returns the integers that a query yields.
func (f *Question) numbers(ctx context.Context, query string, args ...any) (all []int64, err error) {
	rows, err := f.Tx.QueryContext(ctx, query, args...)
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
