package format

import (
	"fmt"
	"strconv"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// Row is a hazard as a row of a table.
type Row struct {
	Hazard *hazard.Hazard
	Values []any     // one for each of Columns: a string, an int64, a float64, or nil where it is not known
	Shape  geo.Shape // its geometry
}

// row returns the row of a hazard. base is the service's public address, without a slash at its end.
func (e *Entry) row(base string) (*Row, error) {
	shape, role := e.shape()
	fields, err := newRecord(e, &Options{Base: base}, role).fields()
	if err != nil {
		return nil, fmt.Errorf("hazard %s: %w", e.Hazard.UUID, err)
	}
	columns := columns()
	values := make([]any, len(columns))
	for i, c := range columns {
		text := fields[i].value
		var v any = text
		switch {
		case (c.Kind == WholeColumn || c.Kind == RealColumn) && text == "":
			v = nil
		case c.Kind == WholeColumn:
			v, err = strconv.ParseInt(text, 10, 64)
		case c.Kind == RealColumn:
			v, err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("hazard %s: %s: %w", e.Hazard.UUID, c.Name, err)
		}
		values[i] = v
	}
	return &Row{e.Hazard, values, shape}, nil
}

// size is about how much memory a row takes, in bytes.
func (r *Row) size() int {
	if r == nil {
		return 0
	}
	n := r.Shape.Size() + 16*len(r.Values)
	for _, v := range r.Values {
		if text, ok := v.(string); ok && text != "" {
			n += 16 + len(text)
		}
	}
	return n
}
