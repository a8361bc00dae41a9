package find

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/hazard/query/cql"
)

// numberColumns and momentColumns are the columns of searchable that hold fields; none of them is ever NULL.
var (
	numberColumns = map[string]string{"hazard_ID": "s.id", "severity_rank": "s.severity"}
	momentColumns = map[string]string{"start_time": "s.start_ms", "end_time": "s.end_ms", "last_update_time": "s.last_update_ms"}
)

// Decides reports whether rows of searchable decide w, apart from places that it requires: those are
// Filter.MatchPlace's. A nil w matches everything.
func Decides(w *query.Where) bool { return w == nil || decidesButPlaces(w.Root) }

func decidesButPlaces(c *query.Cond) bool {
	switch c.Kind {
	case query.CondAll:
		return !slices.ContainsFunc(c.Kids, func(k *query.Cond) bool { return !decidesButPlaces(k) })
	case query.CondMeets:
		return true
	}
	return decides(c)
}

func decides(c *query.Cond) bool {
	switch c.Kind {
	case query.CondAll, query.CondAny:
		return !slices.ContainsFunc(c.Kids, func(k *query.Cond) bool { return !decides(k) })
	case query.CondConst:
		return true
	case query.CondNull:
		return !c.Field.Nullable || quantityOf(c.Field) != ""
	case query.CondTexts:
		return !c.Fold && textColumn(c.Field) != nil
	case query.CondNumber:
		return numberColumns[c.Field.Name] != "" || quantityOf(c.Field) != ""
	case query.CondMoment:
		return momentColumns[c.Field.Name] != ""
	case query.CondFields:
		return momentColumns[c.Field.Name] != "" && momentColumns[c.Other.Name] != ""
	}
	return false
}

// quantityOf returns the quantity that a field measures; it is empty if there is none.
func quantityOf(f *query.Field) string {
	quantity, ok := strings.CutPrefix(f.Name, query.Measured)
	if !ok {
		return ""
	}
	return quantity
}

// hasValue returns the condition that a hazard has a measurement for which more holds.
func (f *Question) hasValue(quantity, more string, args ...any) condition {
	return conditionOf("EXISTS (SELECT 1 FROM hazard_values v WHERE v.hazard_id = s.id AND v.quantity = ?"+more+f.rowByRow+")", append([]any{quantity}, args...)...)
}

// textColumn returns a function that makes a condition on the column of a field from values, or nil
// if no column holds the field. Values that the field never has are left out.
func textColumn(f *query.Field) func(values []string) condition {
	column := func(name string, arg func(string) (any, bool)) func([]string) condition {
		return func(values []string) (c condition) {
			var args []any
			for _, v := range values {
				if a, ok := arg(v); ok {
					args = append(args, a)
				}
			}
			if args == nil {
				return conditionOf("FALSE")
			}
			among(&c, name, args, func(a any) any { return a })
			return c
		}
	}
	text := func(s string) (any, bool) { return s, !strings.ContainsRune(s, 0) }
	flag := func(yes, no string) func(string) (any, bool) {
		return func(s string) (any, bool) { return s == yes, s == yes || s == no }
	}
	switch f.Name {
	case "type_ID":
		return column("s.type_id", text)
	case "category_ID":
		return column("s.category_id", text)
	case "severity_ID":
		return column("s.severity", func(s string) (any, bool) {
			v, ok := hazard.ParseSeverity(s)
			return int64(v), ok
		})
	case "status":
		return column("s.active", flag(string(hazard.Active), string(hazard.Expired)))
	case "autoexpire":
		return column("s.autoexpire", flag("Y", "N"))
	}
	return nil
}

// mayMatch returns a condition for all rows that may match c. It is exact if rows decide c.
func (f *Question) mayMatch(c *query.Cond) condition {
	switch c.Kind {
	case query.CondAll, query.CondAny:
		var parts []string
		var all condition
		for _, k := range c.Kids {
			one := f.mayMatch(k)
			parts, all.args = append(parts, one.text), append(all.args, one.args...)
		}
		by := " AND "
		if c.Kind == query.CondAny {
			by = " OR "
		}
		all.text = "(" + strings.Join(parts, by) + ")"
		return all
	case query.CondMeets:
		if !c.Not {
			return f.meets(c.Bounds)
		}
		return conditionOf("TRUE")
	}
	if !decides(c) {
		return f.mayBeNamed(c)
	}
	switch c.Kind {
	case query.CondConst:
		return truth(!c.Not)
	case query.CondNull:
		if quantity := quantityOf(c.Field); quantity != "" {
			one := f.hasValue(quantity, "")
			if !c.Not {
				one.text = "NOT " + one.text
			}
			return one
		}
		return truth(c.Not) // the field always has a value
	case query.CondTexts:
		one := textColumn(c.Field)(c.Texts)
		if c.Not {
			one.text = "NOT (" + one.text + ")"
		}
		return one
	case query.CondNumber:
		if quantity := quantityOf(c.Field); quantity != "" {
			return f.hasValue(quantity, " AND v.value "+string(c.By)+" ?", c.Number)
		}
		by, n, always := query.WholeBounds(c.By, c.Number)
		if always != nil {
			return truth(*always)
		}
		return compared(numberColumns[c.Field.Name], by, n)
	case query.CondMoment:
		return compared(momentColumns[c.Field.Name], c.By, int64(c.At))
	}
	return conditionOf(momentColumns[c.Field.Name] + " " + string(c.By) + " " + momentColumns[c.Other.Name])
}

// mayBeNamed returns a condition for all rows with a name for which c may hold: names have no case
// there.
func (f *Question) mayBeNamed(c *query.Cond) (may condition) {
	switch {
	case !f.Named || c.Not || c.Field == nil || c.Field.Name != "hazard_Name":
	case c.Kind == query.CondTexts:
		among(&may, "s.name", c.Texts, func(t string) any { return query.FoldedName(t) })
		return may
	case c.Kind == query.CondPattern:
		return conditionOf(`s.name LIKE ? ESCAPE '\'`, query.FoldedPattern(c.Texts[0]))
	}
	return truth(true)
}

func truth(v bool) condition {
	if v {
		return conditionOf("TRUE")
	}
	return conditionOf("FALSE")
}

// compared compares a column with n. Comparators are written as in SQL.
func compared(column string, by cql.Comparator, n int64) condition {
	return conditionOf(fmt.Sprintf("%s %s ?", column, by), n)
}

// meets returns the condition for rows whose box may intersect another box. If the filter also wants
// hazards that are possibly there, those without a place are among them.
func (f *Question) meets(b geo.Box) condition {
	text := "(" + strings.Join(mayMeet(b), " AND ") + ")"
	if f.Filter.Possible {
		text = "(" + text + " OR s.south > 90)" // nowhere
	}
	return condition{text, boundsArgs(b)}
}

// mayMeet returns the conditions for rows whose box may intersect another box; boundsArgs returns
// their arguments.
func mayMeet(b geo.Box) []string {
	if b.West <= b.East {
		return []string{"s.south <= ?", "s.north >= ?", "CASE WHEN s.west <= s.east THEN s.west <= ? AND s.east >= ? ELSE s.west <= ? OR s.east >= ? END"}
	}
	return []string{"s.south <= ?", "s.north >= ?", "(s.west > s.east OR s.east >= ? OR s.west <= ?)"}
}

func boundsArgs(b geo.Box) []any {
	if b.West <= b.East {
		return []any{b.North, b.South, b.East, b.West, b.East, b.West}
	}
	return []any{b.North, b.South, b.West, b.East}
}
