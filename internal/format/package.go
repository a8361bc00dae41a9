package format

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/gpkg"
	"github.com/hazardd/hazardd/internal/hazard"
)

// GeoPackage is the name of a form that is no Format: SQLite writes its file in no order, so that it is made in a temporary file.
const GeoPackage = "gpkg"

// GeoPackageType is the media type of a GeoPackage.
const GeoPackageType = "application/geopackage+sqlite3"

// Package is a GeoPackage of hazards that is being made. It is ended by Close or Discard, which remove the temporary file.
type Package struct {
	*gpkg.Writer
	ctx  context.Context
	file *os.File
	base string
}

// columnTypes are the types of columns in a GeoPackage.
var columnTypes = map[ColumnKind]gpkg.Type{TextColumn: gpkg.Text, JSONColumn: gpkg.Text, WholeColumn: gpkg.Integer, RealColumn: gpkg.Real, MomentColumn: gpkg.DateTime}

// NewPackage begins a GeoPackage with one layer, hazards. base is the service's public address, without a slash at its end.
func NewPackage(ctx context.Context, title, base string, changed hazard.Instant) (*Package, error) {
	file, err := os.CreateTemp("", "hazardd-*.gpkg")
	if err != nil {
		return nil, err
	}
	layer := gpkg.Layer{Name: "hazards", Title: title, Description: "Hazards of hazardd, " + base, Changed: changed.Time()}
	for _, c := range Columns() {
		layer.Columns = append(layer.Columns, gpkg.Column{Name: c.Name, Type: columnTypes[c.Kind]})
	}
	w, err := gpkg.Create(ctx, file.Name(), layer)
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return &Package{w, ctx, file, base}, nil
}

// Write adds a hazard.
func (p *Package) Write(e *Entry) error {
	values, shape, err := Row(e, p.base)
	if err != nil {
		return err
	}
	var b geo.Box
	if !shape.IsZero() { // cut at the antimeridian, it lies on both sides: its envelope must not cross it
		if b.West, b.South, b.East, b.North = shape.Bounds(); b.West > b.East {
			b.West, b.East = -180, 180
		}
	}
	return p.Add(p.ctx, shape.WKB(), gpkg.Box(b), values)
}

// Finish ends the GeoPackage, and calls use with its size in bytes and the file, at its beginning.
func (p *Package) Finish(use func(size int64, file io.ReadSeeker) error) error {
	err := p.Close(p.ctx)
	if err == nil {
		var info os.FileInfo
		if info, err = p.file.Stat(); err == nil {
			err = use(info.Size(), p.file)
		}
	}
	return errors.Join(err, p.remove())
}

// Discard gives up.
func (p *Package) Discard() error { return errors.Join(p.Writer.Discard(), p.remove()) }

func (p *Package) remove() error { return errors.Join(p.file.Close(), os.Remove(p.file.Name())) }
