package find

import (
	"context"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
)

// What a filter's Where says about the types of hazards, and about indexes that lead to all hazards
// for which it may hold. The standard order is read type by type, and a type that never has a
// quantity would be read to its end for nothing.

// measuredTypes lists the types of hazards with a measurement that matches the filter; nil if it
// has no such condition. Without them, reading in the standard order would visit all hazards of
// types that never have it.
func (f *Question) measuredTypes(ctx context.Context) (types []hazard.Type, err error) {
	none := []hazard.Type{""} // which no hazard has
	if len(f.Filter.Measures) > 0 {
		var values []condition
		for _, m := range f.Filter.Measures {
			values = append(values, measured(m, ""))
		}
		if types, err = f.typesWith(ctx, values...); err != nil {
			return nil, err
		}
		types = append(none, types...)
		f.having = types
	}
	if f.Filter.Where == nil {
		return types, nil
	}
	of, ok, err := f.typesFor(ctx, f.Filter.Where.Root)
	if err != nil || !ok {
		return types, err
	}
	return append(none, of...), nil
}

// typesFor lists the types of hazards for which c may hold. ok is false if c does not say.
func (f *Question) typesFor(ctx context.Context, c *query.Cond) (types []hazard.Type, ok bool, err error) {
	switch {
	case c.Kind == query.CondAll || c.Kind == query.CondAny:
		return f.typesForKids(ctx, c)
	case c.Kind == query.CondTexts && !c.Not && !c.Fold && c.Field.Name == "type_ID":
		for _, t := range c.Texts {
			types = append(types, hazard.Type(t))
		}
		return types, true, nil
	}
	where, ok := valueCondition(c)
	if !ok {
		return nil, false, nil
	}
	types, err = f.typesWith(ctx, where)
	return types, true, err
}

func (f *Question) typesForKids(ctx context.Context, c *query.Cond) (types []hazard.Type, ok bool, err error) {
	for _, k := range c.Kids {
		one, known, err := f.typesFor(ctx, k)
		switch {
		case err != nil:
			return nil, false, err
		case c.Kind == query.CondAny && !known:
			return nil, false, nil
		case c.Kind == query.CondAny:
			types, ok = append(types, one...), true
		case known && ok:
			types = slices.DeleteFunc(types, func(t hazard.Type) bool { return !slices.Contains(one, t) })
		case known:
			types, ok = one, true
		}
	}
	slices.Sort(types)
	return slices.Compact(types), ok, nil
}

// typesWith lists the types of hazards of which one has all these values.
func (f *Question) typesWith(ctx context.Context, values ...condition) (types []hazard.Type, err error) {
	all := f.types()
	ask := conditionOf("SELECT t.column1 FROM (VALUES (?)" + strings.Repeat(", (?)", len(all)-1) + ") AS t")
	for _, t := range all {
		ask.args = append(ask.args, string(t))
	}
	for i, v := range values {
		ask.text += []string{" WHERE ", " AND "}[min(i, 1)] + "EXISTS (SELECT 1 FROM " + f.byType + " WHERE type_id = t.column1 AND " + v.text + ")"
		ask.args = append(ask.args, v.args...)
	}
	rows, err := f.Tx.QueryContext(ctx, f.numbered(ask.text), ask.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var t hazard.Type
		if err := rows.Scan(&t); err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return types, rows.Err()
}

// valueCondition returns the condition for the rows of hazard_values of hazards for which c holds.
// ok is false if c is not about a measurement that a hazard has.
func valueCondition(c *query.Cond) (where condition, ok bool) {
	if c.Kind != query.CondNumber && (c.Kind != query.CondNull || !c.Not) {
		return where, false
	}
	quantity := quantityOf(c.Field)
	if quantity == "" {
		return where, false
	}
	where.add("quantity = ?", quantity)
	if c.Kind == query.CondNumber {
		where.add("value "+string(c.By)+" ?", c.Number)
	}
	return where, true
}

// numbersFor returns a query for the numbers of all hazards for which c may hold, and maybe others,
// along indexes. ok is false if there is no index for it.
func (f sqliteFinder) numbersFor(c *query.Cond) (numbers condition, ok bool) {
	switch c.Kind {
	case query.CondAll:
		for _, k := range c.Kids {
			if one, ok := f.numbersFor(k); ok {
				return one, true
			}
		}
		return numbers, false
	case query.CondAny:
		var parts []string
		for _, k := range c.Kids {
			one, ok := f.numbersFor(k)
			if !ok {
				return numbers, false
			}
			parts, numbers.args = append(parts, one.text), append(numbers.args, one.args...)
		}
		numbers.text = strings.Join(parts, " UNION ALL ")
		return numbers, len(parts) > 0
	case query.CondTexts:
		index := map[string]string{"type_ID": "searchable_by_type", "category_ID": "searchable_by_category"}[c.Field.Name]
		if index == "" || c.Not || c.Fold {
			return numbers, false
		}
		one := textColumn(c.Field)(c.Texts)
		return conditionOf("SELECT id FROM searchable s INDEXED BY "+index+" WHERE "+one.text, one.args...), one.text != "FALSE"
	case query.CondMeets:
		if c.Not {
			return numbers, false
		}
		return f.boxesIn(c)
	}
	where, ok := valueCondition(c)
	if !ok {
		return numbers, false
	}
	among(&where, "type_id", f.types(), func(t hazard.Type) any { return string(t) })
	return conditionOf("SELECT hazard_id AS id FROM hazard_values INDEXED BY hazard_values_by_type WHERE "+where.text, where.args...), true
}

// boxesIn queries the tree for the hazards that may meet the geometry of c.
func (f sqliteFinder) boxesIn(c *query.Cond) (numbers condition, ok bool) {
	var parts []string
	for _, half := range halves(c.Bounds) {
		parts = append(parts, "SELECT rid >> 1 AS id FROM hazard_boxes WHERE south <= ? AND north >= ? AND west <= ? AND east >= ?")
		numbers.args = append(numbers.args, half.North, half.South, half.East, half.West)
	}
	if f.Filter.Possible { // and those that are nowhere
		parts = append(parts, "SELECT rid >> 1 AS id FROM hazard_boxes WHERE south >= 99")
	}
	numbers.text = strings.Join(parts, " UNION ALL ")
	return numbers, true
}

// eitherAccesses lists the access paths along the alternatives of the filter's Where.
func (f sqliteFinder) eitherAccesses() (all []access) {
	if f.Filter.Where == nil {
		return nil
	}
	root := f.Filter.Where.Root
	alternatives := []*query.Cond{root}
	if root.Kind == query.CondAll {
		alternatives = root.Kids
	}
	for _, c := range alternatives {
		if c.Kind != query.CondAny {
			continue // the filter implies it
		}
		if numbers, ok := f.numbersFor(c); ok {
			all = append(all, access{
				from: conditionOf("(SELECT DISTINCT id FROM ("+numbers.text+") ORDER BY 1 LIMIT -1) c CROSS JOIN searchable s ON s.id = c.id", numbers.args...),
				some: conditionOf("SELECT 1 FROM ("+numbers.text+")", numbers.args...),
			})
		}
	}
	return all
}
