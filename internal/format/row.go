package format

import (
	"fmt"
	"strconv"

	"github.com/hazardd/hazardd/internal/geo"
)

// Row is a hazard as a row of a table: a value for each of Columns (a string, an int64, a float64, or nil where it is not known), and its geometry.
// base is the service's public address, without a slash at its end.
func Row(e *Entry, base string) (values []any, shape geo.Shape, err error) {
	shape, role := e.shape()
	fields, err := newRecord(e, &Options{Base: base}, role).fields()
	if err != nil {
		return nil, shape, fmt.Errorf("hazard %s: %w", e.Hazard.UUID, err)
	}
	for i, c := range Columns() {
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
			return nil, shape, fmt.Errorf("hazard %s: %s: %w", e.Hazard.UUID, c.Name, err)
		}
		values = append(values, v)
	}
	return values, shape, nil
}
