package format

import (
	"strings"
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

var columns = sync.OnceValue(func() (all []Column) {
	fields, err := newRecord(&Entry{Hazard: &hazard.Hazard{}}, &Options{}, "").fields()
	if err != nil {
		panic(err) // of an empty record
	}
	for _, f := range fields {
		c := Column{Name: f.name}
		switch {
		case f.name == "latitude" || f.name == "longitude":
			c.Kind = RealColumn
		case f.number, strings.HasPrefix(f.name, "people"), f.name == "importance":
			c.Kind = WholeColumn
		case strings.HasSuffix(f.name, "_time"):
			c.Kind = MomentColumn
		case f.name == "measurements" || f.name == "roles":
			c.Kind = JSONColumn
		}
		all = append(all, c)
	}
	return all
})
