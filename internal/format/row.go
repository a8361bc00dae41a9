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
	Shape  geo.Shape // its geometry
	record record
}

// row returns the row of a hazard. base is the service's public address, without a slash at its end.
func (e *Entry) row(base string) *Row {
	r := e.record(&Options{Base: base})
	return &Row{e.Hazard, r.shape, r}
}

// Values returns a value for each of Columns: a string, an int64, a float64, or nil where it is not known.
func (r *Row) Values() ([]any, error) {
	c := &anyCells{make([]any, 0, len(columns()))}
	err := r.write(c)
	return c.values, err
}

// cells takes the values of a row in the order of Columns.
type cells interface {
	Null()
	Text(text string)
	Moment(text string)
	JSON(text string)
	Integer(n int64)
	Real(x float64)
}

type anyCells struct{ values []any }

func (c *anyCells) Null()              { c.values = append(c.values, nil) }
func (c *anyCells) Text(text string)   { c.values = append(c.values, text) }
func (c *anyCells) Moment(text string) { c.Text(text) }
func (c *anyCells) JSON(text string)   { c.Text(text) }
func (c *anyCells) Integer(n int64)    { c.values = append(c.values, n) }
func (c *anyCells) Real(x float64)     { c.values = append(c.values, x) }

// write writes the values of the row.
func (r *Row) write(to cells) error {
	for i, c := range columns() {
		text := r.record.text(i)
		var err error
		switch {
		case c.Kind == TextColumn:
			to.Text(text)
		case c.Kind == MomentColumn:
			to.Moment(text)
		case c.Kind == JSONColumn:
			to.JSON(text)
		case text == "":
			to.Null()
		case c.Kind == WholeColumn:
			var n int64
			n, err = strconv.ParseInt(text, 10, 64)
			to.Integer(n)
		default:
			var x float64
			x, err = strconv.ParseFloat(text, 64)
			to.Real(x)
		}
		if err != nil {
			return fmt.Errorf("hazard %s: %s: %w", r.Hazard.UUID, c.Name, err)
		}
	}
	return nil
}
