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
	r := e.record(&Options{Base: base})
	values := make([]any, len(r.values))
	for i, c := range columns() {
		text := r.text(i)
		var err error
		switch {
		case (c.Kind == WholeColumn || c.Kind == RealColumn) && text == "":
		case c.Kind == WholeColumn:
			values[i], err = strconv.ParseInt(text, 10, 64)
		case c.Kind == RealColumn:
			values[i], err = strconv.ParseFloat(text, 64)
		default:
			values[i] = text
		}
		if err != nil {
			return nil, fmt.Errorf("hazard %s: %s: %w", e.Hazard.UUID, c.Name, err)
		}
	}
	return &Row{e.Hazard, values, r.shape}, nil
}
