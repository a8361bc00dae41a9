// Package gpkg writes GeoPackages (OGC 12-128r18, version 1.3): one SQLite file with one layer of
// features in WGS 84, longitude before latitude.
//
// A Writer owns its file until Close, and is not safe for concurrent use. Of each feature it keeps the
// bounding box in memory, and nothing else.
package gpkg

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// Type is the type of a column (table 1 of the specification).
type Type string

// The types of columns.
const (
	Text     Type = "TEXT"
	Integer  Type = "INTEGER"
	Real     Type = "DOUBLE"
	DateTime Type = "DATETIME" // text: 2026-11-02T06:00:00.000Z
)

// Column is a column of a layer. Its name must not be fid or geom.
type Column struct {
	Name string
	Type Type
}

// Layer describes the layer of a GeoPackage.
type Layer struct {
	Name, Title, Description string
	Columns                  []Column
	// Changed is when the content last changed.
	Changed time.Time
}

// Box is the bounds of a geometry, in degrees.
type Box struct{ West, South, East, North float64 }

const wgs84 = 4326

// wgs84WKT is the definition of WGS 84 that the specification requires (requirement 11), in the
// form of EPSG.
const wgs84WKT = `GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AXIS["Latitude",NORTH],AXIS["Longitude",EAST],AUTHORITY["EPSG","4326"]]`

// schema creates the tables that every GeoPackage has (annex C), and the application id of the
// format (requirement 2).
const schema = `
PRAGMA page_size = 4096;
PRAGMA application_id = 0x47504B47;
PRAGMA user_version = 10300;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER NOT NULL PRIMARY KEY, organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL,
	definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE, description TEXT DEFAULT '',
	last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')), min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
	CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
	CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name), CONSTRAINT uk_gc_table_name UNIQUE (table_name),
	CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name), CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
CREATE TABLE gpkg_extensions (table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL, scope TEXT NOT NULL,
	CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name));
INSERT INTO gpkg_spatial_ref_sys VALUES ('Undefined Cartesian SRS', -1, 'NONE', -1, 'undefined', 'undefined Cartesian coordinate reference system'),
	('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', 'undefined geographic coordinate reference system')`

// Writer writes a GeoPackage.
type Writer struct {
	db    *sql.DB
	layer Layer
	file  *os.File
	out   *bufio.Writer
	root  int64 // page of the table of features
	table *tableWriter
	boxes []cell // of the features with a geometry
}

// Create starts a GeoPackage in a file, which must be empty or not exist.
func Create(ctx context.Context, file string, layer Layer) (w *Writer, err error) {
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file))
	if err != nil {
		return nil, err
	}
	w = &Writer{db: db, layer: layer}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Discard())
		}
	}()
	db.SetMaxOpenConns(1)
	columns := []string{"fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", "geom GEOMETRY"}
	for _, c := range layer.Columns {
		columns = append(columns, quoted(c.Name)+" "+string(c.Type))
	}
	for _, statement := range []string{schema, "CREATE TABLE " + quoted(layer.Name) + " (" + strings.Join(columns, ", ") + ")",
		"CREATE VIRTUAL TABLE " + quoted(w.tree()) + " USING rtree(id, minx, maxx, miny, maxy)"} {
		if _, err = db.ExecContext(ctx, statement); err != nil {
			return w, err
		}
	}
	var pages uint32
	if err = db.QueryRowContext(ctx, "SELECT rootpage, page_count FROM sqlite_schema, pragma_page_count WHERE name = ?", layer.Name).Scan(&w.root, &pages); err != nil {
		return w, err
	}
	// SQLite holds no lock of the file now, and looks for changes when it takes one again.
	if w.file, err = os.OpenFile(file, os.O_RDWR, 0); err != nil {
		return w, err
	}
	if _, err = w.file.Seek(int64(pages)*pageBytes, io.SeekStart); err != nil {
		return w, err
	}
	w.out = bufio.NewWriterSize(w.file, 16*pageBytes)
	w.table = newTableWriter(w.out, pages+1)
	return w, nil
}

// tree returns the name of the table with the bounding boxes of features (annex F.3, the extension
// gpkg_rtree_index).
func (w *Writer) tree() string { return "rtree_" + w.layer.Name + "_geom" }

// triggers returns triggers that update the boxes when somebody edits the file. They are those of
// the extension's definition, and call functions that the editing program provides.
func (w *Writer) triggers() string {
	const definition = `
CREATE TRIGGER %[2]s_insert" AFTER INSERT ON %[1]s WHEN (new.geom NOT NULL AND NOT ST_IsEmpty(NEW.geom)) BEGIN
	INSERT OR REPLACE INTO %[2]s" VALUES (NEW.fid, ST_MinX(NEW.geom), ST_MaxX(NEW.geom), ST_MinY(NEW.geom), ST_MaxY(NEW.geom)); END;
CREATE TRIGGER %[2]s_update1" AFTER UPDATE OF geom ON %[1]s WHEN OLD.fid = NEW.fid AND (NEW.geom NOTNULL AND NOT ST_IsEmpty(NEW.geom)) BEGIN
	INSERT OR REPLACE INTO %[2]s" VALUES (NEW.fid, ST_MinX(NEW.geom), ST_MaxX(NEW.geom), ST_MinY(NEW.geom), ST_MaxY(NEW.geom)); END;
CREATE TRIGGER %[2]s_update2" AFTER UPDATE OF geom ON %[1]s WHEN OLD.fid = NEW.fid AND (NEW.geom ISNULL OR ST_IsEmpty(NEW.geom)) BEGIN
	DELETE FROM %[2]s" WHERE id = OLD.fid; END;
CREATE TRIGGER %[2]s_update3" AFTER UPDATE ON %[1]s WHEN OLD.fid != NEW.fid AND (NEW.geom NOTNULL AND NOT ST_IsEmpty(NEW.geom)) BEGIN
	DELETE FROM %[2]s" WHERE id = OLD.fid;
	INSERT OR REPLACE INTO %[2]s" VALUES (NEW.fid, ST_MinX(NEW.geom), ST_MaxX(NEW.geom), ST_MinY(NEW.geom), ST_MaxY(NEW.geom)); END;
CREATE TRIGGER %[2]s_update4" AFTER UPDATE ON %[1]s WHEN OLD.fid != NEW.fid AND (NEW.geom ISNULL OR ST_IsEmpty(NEW.geom)) BEGIN
	DELETE FROM %[2]s" WHERE id IN (OLD.fid, NEW.fid); END;
CREATE TRIGGER %[2]s_delete" AFTER DELETE ON %[1]s WHEN old.geom NOT NULL BEGIN
	DELETE FROM %[2]s" WHERE id = OLD.fid; END`
	return fmt.Sprintf(definition, quoted(w.layer.Name), strings.TrimSuffix(quoted(w.tree()), `"`))
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Null, Text, Integer and Real give the values of the next feature, in the order of the columns; Add adds it.

// Null gives an unknown value.
func (w *Writer) Null() { w.table.row.null() }

// Text gives the value of a column of texts or moments.
func (w *Writer) Text(text string) { w.table.row.text(text) }

// Integer gives the value of a column of integers.
func (w *Writer) Integer(n int64) { w.table.row.integer(n) }

// Real gives the value of a column of real numbers.
func (w *Writer) Real(x float64) { w.table.row.real(x) }

// Add adds a feature with the values that were given since the last one. wkb is its geometry as well-known
// binary; nil if it has none. box is its bounds.
func (w *Writer) Add(wkb []byte, box Box) error {
	values := w.table.row.values
	if values != len(w.layer.Columns) {
		w.table.row.begin()
		return fmt.Errorf("%d values for %d columns", values, len(w.layer.Columns))
	}
	var blob []byte
	if wkb != nil {
		blob = geometry(wkb, box)
	}
	if err := w.table.add(blob); err != nil {
		return err
	}
	if wkb != nil {
		w.boxes = append(w.boxes, cell{w.table.last, box})
	}
	return nil
}

// geometry returns a geometry in the format of a GeoPackage (section 2.1.3): a header with its
// bounds, and well-known binary.
func geometry(wkb []byte, box Box) []byte {
	const littleEndian, envelopeXY = 1, 1 << 1
	b := append(make([]byte, 0, 40+len(wkb)), 'G', 'P', 0, littleEndian|envelopeXY)
	b = binary.LittleEndian.AppendUint32(b, wgs84)
	for _, v := range [...]float64{box.West, box.East, box.South, box.North} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return append(b, wkb...)
}

// endTable writes what is left of the table of features, its root, and of how many pages the file is.
func (w *Writer) endTable() error {
	root, err := w.table.end()
	if err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if _, err := w.file.WriteAt(root, (w.root-1)*pageBytes); err != nil {
		return err
	}
	// After the counter of changes, which SQLite compares before it trusts the pages that it knows. It
	// trusts the number of pages only if that counter is also the one for which the number holds.
	const counter, holds = 24, 92
	var head [8]byte
	if _, err := w.file.ReadAt(head[:4], counter); err != nil {
		return err
	}
	changed := binary.BigEndian.Uint32(head[:]) + 1
	binary.BigEndian.PutUint32(head[:], changed)
	binary.BigEndian.PutUint32(head[4:], w.table.next-1)
	if _, err := w.file.WriteAt(head[:], counter); err != nil {
		return err
	}
	_, err = w.file.WriteAt(head[:4], holds)
	return err
}

// Close completes the GeoPackage. The file is complete if there is no error.
func (w *Writer) Close(ctx context.Context) error {
	if err := w.endTable(); err != nil {
		return errors.Join(err, w.Discard())
	}
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	var corners [4]any
	if len(w.boxes) > 0 {
		extent := around(w.boxes)
		corners = [4]any{extent.West, extent.South, extent.East, extent.North}
	}
	err = w.writeTree(ctx, tx)
	for _, statement := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO sqlite_sequence SELECT ?, ? WHERE ? > 0`, []any{w.layer.Name, w.table.last, w.table.last}},
		{`INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84 geodetic', ?, 'EPSG', ?, ?, 'longitude/latitude coordinates in decimal degrees on the WGS 84 spheroid')`, []any{wgs84, wgs84, wgs84WKT}},
		{`INSERT INTO gpkg_contents VALUES (?, 'features', ?, ?, ?, ?, ?, ?, ?, ?)`, append(append([]any{w.layer.Name, w.layer.Title, w.layer.Description, w.layer.Changed.UTC().Format("2006-01-02T15:04:05.000Z")}, corners[:]...), wgs84)},
		{`INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'GEOMETRY', ?, 0, 0)`, []any{w.layer.Name, wgs84}},
		{`INSERT INTO gpkg_extensions VALUES (?, 'geom', 'gpkg_rtree_index', 'http://www.geopackage.org/spec120/#extension_rtree', 'write-only')`, []any{w.layer.Name}},
		{w.triggers(), nil},
	} {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement.text, statement.args...)
		}
	}
	if err != nil {
		return errors.Join(err, tx.Rollback(), w.Discard())
	}
	return errors.Join(tx.Commit(), w.Discard())
}

// Discard abandons the file. The caller must then remove it.
func (w *Writer) Discard() error {
	err := w.db.Close()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	return err
}
