package arcgis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
)

// Statistic is a figure to compute for each group of hazards.
type Statistic struct {
	Type  string
	Field *Field
	Name  string // name of the column
}

var statistics = []string{"count", "sum", "min", "max", "avg", "stddev", "var"}

// sums reports whether the statistic needs numbers.
func (s *Statistic) sums() bool { return !slices.Contains([]string{"count", "min", "max"}, s.Type) }

// Tally counts hazards by groups. Its memory grows with the number of groups, not with the number
// of hazards.
type Tally struct {
	q      *Query
	groups map[string]*group
}

// maxGroups is the maximum number of groups in one answer.
const maxGroups = 20_000

type group struct {
	values  []any
	figures []figure
}

// figure summarizes the values of a field: their number, mean, sum of squared differences from the
// mean (Welford), minimum and maximum.
type figure struct {
	n           int64
	mean, m2    float64
	least, most any
}

// NewTally starts a count for q.
func NewTally(q *Query) *Tally {
	t := &Tally{q: q, groups: map[string]*group{}}
	if len(q.Groups) == 0 { // without groups there is always one row
		t.groups[""] = &group{figures: make([]figure, len(q.Stats))}
	}
	return t
}

// Add counts a hazard. It returns an error if there are too many groups.
func (t *Tally) Add(h *hazard.Hazard) error {
	values, key := make([]any, len(t.q.Groups)), ""
	for i, f := range t.q.Groups {
		values[i] = f.field.Value(h)
		key += fmt.Sprintf("%T %v\x00", values[i], values[i])
	}
	g := t.groups[key]
	if g == nil {
		if len(t.groups) == maxGroups {
			return fmt.Errorf("more than %d groups", maxGroups)
		}
		g = &group{values, make([]figure, len(t.q.Stats))}
		t.groups[key] = g
	}
	for i := range t.q.Stats {
		if v := t.q.Stats[i].Field.field.Value(h); v != nil {
			g.figures[i].add(v)
		}
	}
	return nil
}

func (f *figure) add(v any) {
	f.n++
	if f.least == nil || compare(v, f.least) < 0 {
		f.least = v
	}
	if f.most == nil || compare(v, f.most) > 0 {
		f.most = v
	}
	if x, ok := v.(float64); ok {
		d := x - f.mean
		f.mean += d / float64(f.n)
		f.m2 += d * (x - f.mean)
	}
}

func (f *figure) value(kind string) any {
	switch {
	case kind == "count":
		return f.n
	case f.n == 0:
		return nil
	}
	switch kind {
	case "sum":
		return f.mean * float64(f.n)
	case "min":
		return f.least
	case "max":
		return f.most
	case "avg":
		return f.mean
	}
	if f.n < 2 {
		return nil
	}
	v := f.m2 / float64(f.n-1)
	if kind == "stddev" {
		v = math.Sqrt(v)
	}
	return v
}

// compare compares values of a field. nil comes first.
func compare(a, b any) int {
	switch x := a.(type) {
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y)
		}
	}
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	}
	return 1
}

// columns returns the names of the columns of rows, and their types.
func (q *Query) columns() (all []Field) {
	for _, f := range q.Groups {
		all = append(all, *f)
	}
	for _, s := range q.Stats {
		f := Field{Name: s.Name, Alias: s.Name, Type: numberType, Nullable: true}
		switch {
		case s.Type == "count":
			f.Type = wholeType
		case !s.sums() && s.Field.Type != oidType: // keep the type of the field: numbers, moments or texts
			f.Type, f.Length = s.Field.Type, s.Field.Length
		}
		all = append(all, f)
	}
	return all
}

// rows returns the rows in the requested order, or else in the order of the groups.
func (t *Tally) rows() (all [][]any, err error) {
	columns := t.q.columns()
	for _, g := range t.groups {
		row := slices.Clone(g.values)
		for i, s := range t.q.Stats {
			row = append(row, g.figures[i].value(s.Type))
		}
		all = append(all, row)
	}
	var by []ordering
	var at []int
	for _, o := range t.q.sort {
		i := slices.IndexFunc(columns, func(f Field) bool { return strings.EqualFold(f.Name, o.column) })
		if i < 0 {
			return nil, fmt.Errorf("orderByFields: %.60q is not a column of the answer", o.column)
		}
		by, at = append(by, o), append(at, i)
	}
	for i := range t.q.Groups {
		by, at = append(by, ordering{}), append(at, i)
	}
	slices.SortFunc(all, func(a, b []any) int {
		for i, o := range by {
			c := compare(a[at[i]], b[at[i]])
			if o.descending {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return all, nil
}
