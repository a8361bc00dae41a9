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

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
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

// Writer writes a file.
type Writer struct {
	columns []Column
	out     *parquet.GenericWriter[any]
	rows    int // rows in the group
	bytes   int
	extent  Box
	any     bool
}

// Create starts a file that is written to out.
func Create(out io.Writer, columns []Column) *Writer {
	box := parquet.Group{}
	for _, corner := range corners {
		box[corner] = parquet.Leaf(parquet.DoubleType)
	}
	table := ordered{Group: parquet.Group{geometryColumn: parquet.Optional(parquet.Leaf(parquet.ByteArrayType)), boxColumn: parquet.Optional(ordered{box, corners})}}
	for _, c := range columns {
		table.Group[c.Name] = parquet.Optional(nodeOf(c.Type))
		table.names = append(table.names, c.Name)
	}
	table.names = append(table.names, geometryColumn, boxColumn)
	return &Writer{columns: columns, out: parquet.NewGenericWriter[any](out, parquet.NewSchema("features", table), parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}))}
}

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

// Add adds a feature. wkb is its geometry as well-known binary; nil if it has none. box is its
// bounds. values has a value for each column.
func (w *Writer) Add(wkb []byte, box Box, values []any) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("%d values for %d columns", len(values), len(w.columns))
	}
	row := make(parquet.Row, 0, len(values)+1+len(corners))
	size := len(wkb)
	add := func(v any) error {
		p, n, err := valueOf(v)
		if err != nil {
			return err
		}
		level := 1 // the level of an optional column that has a value
		if p.IsNull() {
			level = 0
		}
		size += n
		row = append(row, p.Level(0, level, len(row)))
		return nil
	}
	for i, v := range values {
		if err := add(v); err != nil {
			return fmt.Errorf("%s: %w", w.columns[i].Name, err)
		}
	}
	bounds := []any{box.West, box.South, box.East, box.North}
	if wkb == nil {
		clear(bounds)
		row = append(row, parquet.NullValue().Level(0, 0, len(row)))
	} else {
		row = append(row, parquet.ByteArrayValue(wkb).Level(0, 1, len(row)))
		if !w.any {
			w.extent, w.any = box, true
		}
		w.extent = Box{min(w.extent.West, box.West), min(w.extent.South, box.South), max(w.extent.East, box.East), max(w.extent.North, box.North)}
	}
	for _, v := range bounds {
		if err := add(v); err != nil {
			return err
		}
	}
	if _, err := w.out.WriteRows([]parquet.Row{row}); err != nil {
		return err
	}
	if w.rows, w.bytes = w.rows+1, w.bytes+size; w.rows < groupRows && w.bytes < groupBytes {
		return nil
	}
	w.rows, w.bytes = 0, 0
	return w.out.Flush()
}

// valueOf returns a value in Parquet's form, and its approximate size in bytes.
func valueOf(v any) (p parquet.Value, size int, err error) {
	switch v := v.(type) {
	case nil:
		return parquet.NullValue(), 0, nil
	case string:
		return parquet.ByteArrayValue([]byte(v)), len(v), nil
	case int64:
		return parquet.Int64Value(v), 8, nil
	case float64:
		return parquet.DoubleValue(v), 8, nil
	case time.Time:
		return parquet.Int64Value(v.UnixMilli()), 8, nil
	}
	return p, 0, fmt.Errorf("a value of the type %T", v)
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
	return w.out.Close()
}
