package geoparquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hazardd/hazardd/internal/test"
)

// add adds a feature.
func add(w *Writer, wkb []byte, box Box, values ...any) error {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			w.Null()
		case string:
			w.Text(v)
		case int64:
			w.Integer(v)
		case float64:
			w.Real(v)
		case time.Time:
			w.Moment(v)
		}
	}
	return w.Add(wkb, box)
}

var columns = []Column{{"name", Text, true}, {"number", Integer, false}, {"depth", Real, false}, {"at", Moment, false}, {"about", JSON, false}}

func open(t testing.TB, file []byte) *parquet.File {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileIsReadBack(t *testing.T) {
	var file bytes.Buffer
	w := Create(&file, columns)
	at := time.Date(2026, 11, 2, 6, 0, 0, 125e6, time.UTC)
	for _, row := range []struct {
		wkb    []byte
		box    Box
		values []any
	}{
		{[]byte("one"), Box{1, 2, 3, 4}, []any{"Flood", int64(7), 10.5, at, `{"a":1}`}},
		{nil, Box{}, []any{"", nil, nil, nil, nil}},
		{[]byte("two"), Box{-5, 1, 0, 9}, []any{"Sturm ü", int64(-1), -0.25, at.Add(time.Hour), nil}},
	} {
		if err := add(w, row.wkb, row.box, row.values...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, file.Bytes())
	text, ok := f.Lookup("geo")
	if want := `{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"encoding":"WKB","geometry_types":[],"bbox":[-5,1,3,9],"covering":` +
		`{"bbox":{"xmax":["bbox","xmax"],"xmin":["bbox","xmin"],"ymax":["bbox","ymax"],"ymin":["bbox","ymin"]}}}}}`; !ok || text != want {
		t.Errorf("metadata %s, want %s", text, want)
	}
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, strings.Join(c, "."))
	}
	if want := []string{"name", "number", "depth", "at", "about", "geometry", "bbox.xmin", "bbox.ymin", "bbox.xmax", "bbox.ymax"}; !slices.Equal(names, want) {
		t.Errorf("columns %v, want %v", names, want)
	}
	for i, want := range []string{"STRING", "INT(64,true)", "", "TIMESTAMP(isAdjustedToUTC=true,unit=MILLIS)", "JSON"} {
		leaf, _ := f.Schema().Lookup(names[i])
		if got := fmt.Sprint(leaf.Node.Type().LogicalType()); want != "" && got != want || columns[i].Always != (leaf.MaxDefinitionLevel == 0) {
			t.Errorf("%s is %s, want %s; it has %d levels", names[i], got, want, leaf.MaxDefinitionLevel)
		}
	}
	rows := make([]parquet.Row, 3)
	if n, err := f.RowGroups()[0].Rows().ReadRows(rows); n != 3 {
		t.Fatal(n, err)
	}
	for i, want := range []string{
		fmt.Sprintf(`[Flood 7 10.5 %d {"a":1} one 1 2 3 4]`, at.UnixMilli()),
		"[ <null> <null> <null> <null> <null> <null> <null> <null> <null>]",
		fmt.Sprintf(`[Sturm ü -1 -0.25 %d <null> two -5 1 0 9]`, at.Add(time.Hour).UnixMilli()),
	} {
		if got := fmt.Sprint(rows[i]); got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
}

func TestAFileWithoutFeaturesIsAFile(t *testing.T) {
	var file bytes.Buffer
	if err := Create(&file, columns).Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, file.Bytes())
	text, _ := f.Lookup("geo")
	if !json.Valid([]byte(text)) || strings.Contains(text, `:[0,`) || f.NumRows() != 0 {
		t.Errorf("%d rows, %s", f.NumRows(), text)
	}
}

// Large geometries make many groups of rows, so that only one is in memory.
func TestGroupsOfRowsAreBounded(t *testing.T) {
	test.Seconds(t)
	var file bytes.Buffer
	w := Create(&file, columns[:1])
	for i := range 40 {
		if err := add(w, bytes.Repeat([]byte{byte(i)}, 1<<20), Box{float64(i), 0, float64(i), 0}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, file.Bytes())
	if got := len(f.RowGroups()); got != 40<<20/groupBytes || f.NumRows() != 40 {
		t.Errorf("%d rows in %d groups", f.NumRows(), got)
	}
	// The statistics contain the bounds of each group.
	column, _ := f.Schema().Lookup(boxColumn, "xmin")
	index, err := f.RowGroups()[1].ColumnChunks()[column.ColumnIndex].ColumnIndex()
	if err != nil || index.MinValue(0).Double() != 8 {
		t.Errorf("the second group begins at %v, %v", index, err)
	}
}

func TestAWrongRowIsRefused(t *testing.T) {
	for _, values := range [][]any{{"x"}, {"x", "y", nil, nil, nil}, {"x", int64(1), nil, nil, nil, nil}} {
		w := Create(&bytes.Buffer{}, columns)
		if err := add(w, nil, Box{}, values...); err == nil {
			t.Errorf("%v was taken", values)
		}
		if err := w.Close(); err == nil {
			t.Errorf("a file with %v is complete", values)
		}
	}
}

func TestAColumnThatAlwaysHasAValueTakesNoFeatureWithoutOne(t *testing.T) {
	w := Create(&bytes.Buffer{}, columns)
	if err := add(w, nil, Box{}, nil, nil, nil, nil, nil); err == nil || w.Close() == nil {
		t.Error("a feature has no name, and the file is complete")
	}
}
