package format

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/hazardd/hazardd/internal/format/geoparquet"
	"github.com/hazardd/hazardd/internal/format/gpkg"
	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// PackageForm is the name of a form that is no Format: a file for programs, which is of use only when it is whole. It is made in a temporary file.
type PackageForm string

// The forms of packages.
const (
	GeoPackage PackageForm = "gpkg"    // an SQLite file
	GeoParquet PackageForm = "parquet" // columns, compressed by Snappy
)

// PackageForms lists all forms of packages.
func PackageForms() []PackageForm { return []PackageForm{GeoPackage, GeoParquet} }

// ParsePackage is the form of that name.
func ParsePackage(name string) (form PackageForm, ok bool) {
	form = PackageForm(name)
	return form, form == GeoPackage || form == GeoParquet
}

// MediaType is the media type of a form.
func (f PackageForm) MediaType() string {
	if f == GeoParquet {
		return "application/vnd.apache.parquet"
	}
	return "application/geopackage+sqlite3"
}

// table is a file with one table of hazards.
type table interface {
	cells
	// Add ends a row.
	Add(wkb []byte, box geo.Box) error
	close() error
	discard() error
}

// Package is a file of hazards that is being made. It is ended by Finish or Discard, which remove the temporary file.
type Package struct {
	table table
	file  *os.File
	base  string
}

// NewPackage begins a file with one table, hazards. base is the service's public address, without a slash at its end.
func NewPackage(ctx context.Context, form PackageForm, title, base string, changed hazard.Instant) (*Package, error) {
	file, err := os.CreateTemp("", "hazardd-*."+string(form))
	if err != nil {
		return nil, err
	}
	p := &Package{file: file, base: base}
	if form == GeoParquet {
		p.table = newParquetTable(file)
	} else {
		p.table, err = newPackageTable(ctx, file.Name(), title, base, changed)
	}
	if err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// Write adds a hazard.
func (p *Package) Write(e *Entry) error {
	return p.Add(e.row(p.base))
}

// Add adds the row of a hazard.
func (p *Package) Add(r *Row) error {
	var b geo.Box
	if shape := r.Shape; !shape.IsZero() { // cut at the antimeridian, it lies on both sides: its envelope must not cross it
		if b.West, b.South, b.East, b.North = shape.Bounds(); b.West > b.East {
			b.West, b.East = -180, 180
		}
	}
	if err := r.write(p.table); err != nil {
		return err
	}
	return p.table.Add(r.Shape.WKB(), b)
}

// Finish ends the file, and calls use with its size in bytes and the file, at its beginning.
func (p *Package) Finish(use func(size int64, file io.ReadSeeker) error) error {
	err := p.table.close()
	if err == nil {
		var info os.FileInfo
		if info, err = p.file.Stat(); err == nil {
			_, err = p.file.Seek(0, io.SeekStart)
		}
		if err == nil {
			err = use(info.Size(), p.file)
		}
	}
	return errors.Join(err, p.remove())
}

// Discard gives up.
func (p *Package) Discard() error { return errors.Join(p.table.discard(), p.remove()) }

func (p *Package) remove() error { return errors.Join(p.file.Close(), os.Remove(p.file.Name())) }

// packageTable is a GeoPackage.
type packageTable struct {
	*gpkg.Writer
	ctx context.Context
}

func newPackageTable(ctx context.Context, file, title, base string, changed hazard.Instant) (table, error) {
	types := map[ColumnKind]gpkg.Type{TextColumn: gpkg.Text, JSONColumn: gpkg.Text, WholeColumn: gpkg.Integer, RealColumn: gpkg.Real, MomentColumn: gpkg.DateTime}
	layer := gpkg.Layer{Name: "hazards", Title: title, Description: "Hazards of hazardd, " + base, Changed: changed.Time()}
	for _, c := range Columns() {
		layer.Columns = append(layer.Columns, gpkg.Column{Name: c.Name, Type: types[c.Kind]})
	}
	w, err := gpkg.Create(ctx, file, layer)
	return packageTable{w, ctx}, err
}

// Moment gives the value of a column of moments.
func (t packageTable) Moment(text string) { t.Text(text) }

// JSON gives the value of a column of JSON.
func (t packageTable) JSON(text string) { t.Text(text) }

func (t packageTable) Add(wkb []byte, box geo.Box) error { return t.Writer.Add(wkb, gpkg.Box(box)) }
func (t packageTable) close() error                      { return t.Close(t.ctx) }
func (t packageTable) discard() error                    { return t.Discard() }

// parquetTable is a GeoParquet file.
type parquetTable struct {
	*geoparquet.Writer
	err error // of a moment
	// The last moment.
	text string
	at   time.Time
}

func newParquetTable(file io.Writer) table {
	types := map[ColumnKind]geoparquet.Type{TextColumn: geoparquet.Text, JSONColumn: geoparquet.JSON, WholeColumn: geoparquet.Integer, RealColumn: geoparquet.Real, MomentColumn: geoparquet.Moment}
	var columns []geoparquet.Column
	for _, c := range Columns() {
		columns = append(columns, geoparquet.Column{Name: c.Name, Type: types[c.Kind], Always: c.Kind == TextColumn})
	}
	return &parquetTable{Writer: geoparquet.Create(file, columns)}
}

// Moment gives the value of a column of moments; without a text there is none.
func (t *parquetTable) Moment(text string) {
	if text == "" {
		t.Null()
		return
	}
	if text != t.text { // most moments of a hazard are the same
		at, err := time.Parse(time.RFC3339, text)
		t.err = errors.Join(t.err, err)
		t.text, t.at = text, at
	}
	t.Writer.Moment(t.at)
}

// JSON gives the value of a column of JSON; without a text there is none.
func (t *parquetTable) JSON(text string) {
	if text == "" {
		t.Null()
		return
	}
	t.Text(text)
}

func (t *parquetTable) Add(wkb []byte, box geo.Box) error {
	return errors.Join(t.err, t.Writer.Add(wkb, geoparquet.Box(box)))
}
func (t *parquetTable) close() error   { return t.Close() }
func (t *parquetTable) discard() error { return nil }
