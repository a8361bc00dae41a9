// Package geoparquet writes GeoParquet files (version 1.1.0,
// https://geoparquet.org/releases/v1.1.0/): one Parquet file with one table of features in WGS 84,
// longitude before latitude (OGC:CRS84, the default for a file without a reference system).
//
// A Writer writes the file from beginning to end, and is not safe for concurrent use. It keeps one
// group of rows in memory, a few MB.
package geoparquet

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/snappy"
)

// Type is the type of a column.
type Type int

// The types of columns and of their values. An empty text is a value; nil is no value.
const (
	Text    Type = iota // string
	Integer             // int64
	Real                // float64
	Moment              // time.Time, stored in UTC with milliseconds
	JSON                // string
)

// Column is a column of the table. Its name must not be geometry or bbox.
type Column struct {
	Name string
	Type Type
	// Always means that each feature has a value.
	Always bool
}

// Box is the bounds of a geometry, in degrees.
type Box struct{ West, South, East, North float64 }

// Every file has these columns: the geometry as well-known binary, and its bounds. Readers use the
// bounds to skip groups of rows that are elsewhere.
const (
	geometryColumn = "geometry"
	boxColumn      = "bbox"
)

var corners = []string{"xmin", "ymin", "xmax", "ymax"}

// groupBytes is the approximate size of a group of rows before compression. groupRows is the
// maximum number of its rows.
const (
	groupBytes = 8 << 20
	groupRows  = 10_000
)

// batchRows and batchBytes bound what is held until it is written column by column: that costs half of
// what it costs row by row.
const (
	batchRows  = 256
	batchBytes = 1 << 20
)

// Writer writes a file.
type Writer struct {
	columns []Column
	out     *parquet.GenericWriter[any]
	into    []*parquet.ColumnWriter
	extent  Box
	any     bool
	rows    int // in the group
	bytes   int

	next   int               // the column of the next value
	wrong  error             // with a value of this row
	batch  [][]parquet.Value // of each column
	held   int               // rows of the batch
	texts  []byte            // of its values
	shapes int               // bytes of its geometries
}

// Create starts a file that is written to out.
func Create(out io.Writer, columns []Column) *Writer {
	box := parquet.Group{}
	for _, corner := range corners {
		box[corner] = parquet.Leaf(parquet.DoubleType)
	}
	options := []parquet.WriterOption{parquet.Compression(&quick{})}
	table := ordered{Group: parquet.Group{geometryColumn: parquet.Optional(parquet.Leaf(parquet.ByteArrayType)), boxColumn: parquet.Optional(ordered{box, corners})}}
	for _, c := range columns {
		table.Group[c.Name] = nodeOf(c.Type)
		if !c.Always {
			table.Group[c.Name] = parquet.Optional(nodeOf(c.Type))
		}
		table.names = append(table.names, c.Name)
		if c.Type == Text || c.Type == JSON { // hazards are in no order of texts: their least and greatest say nothing
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	table.names = append(table.names, geometryColumn, boxColumn)
	w := &Writer{columns: columns}
	w.out = parquet.NewGenericWriter[any](out, append(options, parquet.NewSchema("features", table))...)
	w.into = w.out.ColumnWriters()
	w.batch = make([][]parquet.Value, len(w.into))
	for i := range w.batch {
		w.batch[i] = make([]parquet.Value, 0, batchRows)
	}
	return w
}

// quick is Snappy as parquet.Snappy, which takes twice as long for a file that is 7 % smaller.
type quick struct{ snappy.Codec }

func (*quick) Encode(dst, src []byte) ([]byte, error) { return s2.EncodeSnappy(dst, src), nil }

func nodeOf(t Type) parquet.Node {
	switch t {
	case Integer:
		return parquet.Int(64)
	case Real:
		return parquet.Leaf(parquet.DoubleType)
	case Moment:
		return parquet.Timestamp(parquet.Millisecond)
	case JSON:
		return parquet.JSON()
	}
	return parquet.String()
}

// kind returns how Parquet stores values of the type.
func (t Type) kind() parquet.Kind {
	switch t {
	case Integer, Moment:
		return parquet.Int64
	case Real:
		return parquet.Double
	}
	return parquet.ByteArray
}

// ordered is a group that keeps its fields in the order of names. The fields of a parquet.Group are
// in alphabetical order.
type ordered struct {
	parquet.Group
	names []string
}

// Fields returns the fields in the order of names.
func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name()) })
	return fields
}

// Null, Text, Integer, Real and Moment give the values of the next feature, in the order of the columns; Add
// adds it.

// Null gives no value.
func (w *Writer) Null() { w.add(parquet.NullValue(), 0) }

// Text gives the value of a column of texts or of JSON.
func (w *Writer) Text(text string) {
	w.texts = append(w.texts, text...) // values share it: an older array stays with theirs
	w.add(parquet.ByteArrayValue(w.texts[len(w.texts)-len(text):]), 1)
}

// Integer gives the value of a column of integers.
func (w *Writer) Integer(n int64) { w.add(parquet.Int64Value(n), 1) }

// Real gives the value of a column of real numbers.
func (w *Writer) Real(x float64) { w.add(parquet.DoubleValue(x), 1) }

// Moment gives the value of a column of moments.
func (w *Writer) Moment(at time.Time) { w.add(parquet.Int64Value(at.UnixMilli()), 1) }

// add adds a value. level is 1 if it is there.
func (w *Writer) add(v parquet.Value, level int) {
	i := w.next
	if w.next++; i >= len(w.batch) {
		return
	}
	if i < len(w.columns) {
		switch c := &w.columns[i]; {
		case c.Always && level == 0, level > 0 && v.Kind() != c.Type.kind():
			w.wrong = fmt.Errorf("column %d holds no value of the kind %s", i, v.Kind())
			return
		case c.Always: // it has one level
			w.batch[i] = append(w.batch[i], v)
			return
		}
	}
	w.batch[i] = append(w.batch[i], v.Level(0, level, i))
}

// Add adds a feature with the values that were given since the last one. wkb is its geometry as well-known
// binary, and must not change any more; nil if it has none. box is its bounds. After an error the file stays
// broken.
func (w *Writer) Add(wkb []byte, box Box) error {
	if w.next != len(w.columns) {
		w.wrong = fmt.Errorf("%d values for %d columns", w.next, len(w.columns))
	}
	if w.wrong != nil {
		return w.wrong
	}
	if wkb == nil {
		for range 1 + len(corners) {
			w.Null()
		}
	} else {
		w.add(parquet.ByteArrayValue(wkb), 1)
		for _, v := range [...]float64{box.West, box.South, box.East, box.North} {
			w.Real(v)
		}
		if !w.any {
			w.extent, w.any = box, true
		}
		w.extent = Box{min(w.extent.West, box.West), min(w.extent.South, box.South), max(w.extent.East, box.East), max(w.extent.North, box.North)}
	}
	w.next, w.held, w.shapes = 0, w.held+1, w.shapes+len(wkb)
	if size := len(w.texts) + w.shapes; w.held < batchRows && size < batchBytes {
		return nil
	}
	return w.write()
}

// write writes the batch, and the group if it is large enough.
func (w *Writer) write() error {
	for i, values := range w.batch {
		if _, err := w.into[i].WriteRowValues(values); err != nil {
			return err
		}
		clear(values)
		w.batch[i] = values[:0]
	}
	w.rows, w.bytes = w.rows+w.held, w.bytes+len(w.texts)+w.shapes
	w.held, w.texts, w.shapes = 0, w.texts[:0], 0
	if w.rows < groupRows && w.bytes < groupBytes {
		return nil
	}
	w.rows, w.bytes = 0, 0
	return w.out.Flush()
}

// metadata describes the geometries of the file, under the key geo.
type metadata struct {
	Version string              `json:"version"`
	Primary string              `json:"primary_column"`
	Columns map[string]geometry `json:"columns"`
}

type geometry struct {
	Encoding string                         `json:"encoding"`
	Types    []string                       `json:"geometry_types"` // empty: any type may occur
	Extent   []float64                      `json:"bbox,omitempty"`
	Covering map[string]map[string][]string `json:"covering"`
}

// Close completes the file. It is complete if there is no error.
func (w *Writer) Close() error {
	if w.wrong != nil {
		return w.wrong
	}
	g := geometry{Encoding: "WKB", Types: []string{}, Covering: map[string]map[string][]string{boxColumn: {}}}
	if w.any {
		g.Extent = []float64{w.extent.West, w.extent.South, w.extent.East, w.extent.North}
	}
	for _, corner := range corners {
		g.Covering[boxColumn][corner] = []string{boxColumn, corner}
	}
	text, err := json.Marshal(metadata{"1.1.0", geometryColumn, map[string]geometry{geometryColumn: g}})
	if err != nil {
		return err
	}
	w.out.SetKeyValueMetadata("geo", string(text))
	if err := w.write(); err != nil {
		return err
	}
	return w.out.Close()
}
