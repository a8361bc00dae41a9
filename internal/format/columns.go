package format

import (
	"slices"
	"sync"

	"github.com/hazardd/hazardd/internal/hazard"
)

// ColumnKind is the type of a column's values.
type ColumnKind uint8

// The kinds of columns.
const (
	TextColumn ColumnKind = iota
	WholeColumn
	RealColumn
	MomentColumn // RFC 3339, in UTC, to the millisecond
	JSONColumn   // text that is JSON
)

// Column is a column of a table of hazards: a property of GeoJSON.
type Column struct {
	Name string
	Kind ColumnKind
}

// Columns lists the columns in the order of a record. The caller must not change the slice.
func Columns() []Column { return columns() }

var columns = sync.OnceValue(func() []Column {
	b := builder{naming: true}
	b.fields(&Entry{Hazard: &hazard.Hazard{}}, "", "")
	return b.columns
})

var headlineIndex = sync.OnceValue(func() int {
	return slices.IndexFunc(columns(), func(c Column) bool { return c.Name == headlineColumn })
})
