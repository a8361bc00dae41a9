// Package shapefile reads shapefiles in ZIP archives as GeoJSON features (ESRI, "Shapefile
// Technical Description", 1998; dBASE III tables).
//
// Archives come from outside: decompression has limits, whatever an archive says about itself.
// Content that contradicts its own lengths is an error.
package shapefile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of an archive.
const (
	maxMembers  = 100
	maxBytes    = 16 << 20 // decompressed, of all shapes and tables together
	maxFeatures = 10_000   // largest number in all layers together
	maxParts    = 500      // the most parts of one shape
)

// Layer is one shapefile.
type Layer struct {
	Name     string // file name without its extension
	Features []jsontext.Value
}

// IsArchive reports whether a document starts like a ZIP archive.
func IsArchive(doc []byte) bool { return bytes.HasPrefix(doc, []byte("PK\x03\x04")) }

// Read reads all shapefiles of an archive, in order. Coordinates must be in degrees.
func Read(archive []byte) ([]Layer, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("%d files in the archive, expected at most %d", len(z.File), maxMembers)
	}
	left := maxBytes
	files := map[string][]byte{} // by lowercase name
	for _, f := range z.File {
		name := strings.ToLower(f.Name)
		switch path.Ext(name) {
		case ".shp", ".dbf", ".prj":
			if _, twice := files[name]; twice {
				return nil, fmt.Errorf("%q is in the archive twice", f.Name)
			}
			if files[name], err = unpack(f, &left); err != nil {
				return nil, fmt.Errorf("%q: %w", f.Name, err)
			}
		}
	}
	var layers []Layer
	features := 0
	for _, f := range z.File {
		ending := path.Ext(f.Name)
		if !strings.EqualFold(ending, ".shp") {
			continue
		}
		base := strings.TrimSuffix(f.Name, ending)
		beside := strings.ToLower(base)
		if prj := files[beside+".prj"]; len(prj) > 0 && !bytes.HasPrefix(bytes.TrimSpace(prj), []byte("GEOG")) {
			return nil, fmt.Errorf("%q: its coordinates are not degrees but %s, expected EPSG:4326; ogr2ogr -t_srs EPSG:4326 converts it", f.Name, crsName(prj))
		}
		list, err := join(files[beside+".shp"], files[beside+".dbf"], maxFeatures-features)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", f.Name, err)
		}
		features += len(list)
		layers = append(layers, Layer{path.Base(base), list})
	}
	if layers == nil {
		return nil, errors.New("no shapefile in the archive")
	}
	return layers, nil
}

// unpack decompresses a member. left is the number of bytes that may still be decompressed.
func unpack(f *zip.File, left *int) (data []byte, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(r, int64(*left)+1)); err != nil {
		return nil, err
	}
	if *left -= len(data); *left < 0 {
		return nil, fmt.Errorf("more than %d bytes after decompression", maxBytes)
	}
	return data, nil
}

var errShort = errors.New("it ends too early")

// crsName returns the name of a coordinate system in WKT, such as "ETRS89 / UTM zone 32N".
func crsName(prj []byte) string {
	if _, rest, found := bytes.Cut(prj, []byte{'"'}); found {
		if name, _, found := bytes.Cut(rest, []byte{'"'}); found && len(name) > 0 {
			return fmt.Sprintf("%.60q", name)
		}
	}
	return "another coordinate system"
}

// join combines shapes and the rows of their table into features.
func join(shp, dbf []byte, limit int) ([]jsontext.Value, error) {
	const header = 100
	if len(shp) < header || binary.BigEndian.Uint32(shp) != 9994 {
		return nil, errors.New("it does not start like a shapefile")
	}
	rows, err := newTable(dbf)
	if err != nil {
		return nil, err
	}
	var features []jsontext.Value
	for rest := shp[header:]; len(rest) > 0; {
		if len(rest) < 12 {
			return nil, errShort
		}
		length := 2 * int64(binary.BigEndian.Uint32(rest[4:]))
		if length < 4 || length > int64(len(rest)-8) {
			return nil, errShort
		}
		geometry, err := geometryOf(rest[8 : 8+length])
		if err != nil {
			return nil, err
		}
		rest = rest[8+length:]
		properties, deleted, err := rows.next()
		if err != nil {
			return nil, err
		}
		if deleted || geometry == "" {
			continue
		}
		if len(features) == limit {
			return nil, fmt.Errorf("more than %d features", maxFeatures)
		}
		features = append(features, jsontext.Value(`{"type":"Feature","geometry":`+geometry+`,"properties":`+properties+`}`))
	}
	return features, nil
}

// geometryOf returns a shape as GeoJSON, or "" for a null shape. It leaves out heights and
// measures.
func geometryOf(record []byte) (string, error) {
	kind, body := binary.LittleEndian.Uint32(record), record[4:]
	switch kind {
	case 0:
		return "", nil
	case 1, 11, 21:
		if len(body) < 16 {
			return "", errShort
		}
		text, err := positions(body[:16])
		return `{"type":"Point","coordinates":` + strings.TrimSuffix(strings.TrimPrefix(text, "["), "]") + `}`, err
	case 3, 13, 23, 5, 15, 25:
	default:
		return "", fmt.Errorf("shapes of type %d are not supported", kind)
	}
	const box = 32
	if len(body) < box+8 {
		return "", errShort
	}
	parts, points := int64(binary.LittleEndian.Uint32(body[box:])), int64(binary.LittleEndian.Uint32(body[box+4:]))
	body = body[box+8:]
	if parts < 1 || parts > maxParts || points < 1 || 4*parts+16*points > int64(len(body)) {
		return "", fmt.Errorf("%d parts and %d points do not fit into %d bytes", parts, points, len(body))
	}
	at, body := body[:4*parts], body[4*parts:4*parts+16*points]
	list := make([][]byte, parts)
	for i := range list {
		from, to := int64(binary.LittleEndian.Uint32(at[4*i:])), points
		if i+1 < len(list) {
			to = int64(binary.LittleEndian.Uint32(at[4*i+4:]))
		}
		if from >= to || to > points {
			return "", fmt.Errorf("a part from point %d to %d of a shape with %d points", from, to, points)
		}
		list[i] = body[16*from : 16*to]
	}
	if kind%10 == 3 {
		return multi("LineString", list, func(part []byte) (string, error) { return positions(part) })
	}
	return multi("Polygon", polygons(list), func(rings [][]byte) (string, error) {
		var all []string
		for _, r := range rings {
			text, err := positions(r)
			if err != nil {
				return "", err
			}
			all = append(all, text)
		}
		return "[" + strings.Join(all, ",") + "]", nil
	})
}

// multi returns the GeoJSON of one geometry, or of a Multi- geometry if there are several.
func multi[T any](kind string, list []T, text func(T) (string, error)) (string, error) {
	all := make([]string, len(list))
	for i, one := range list {
		var err error
		if all[i], err = text(one); err != nil {
			return "", err
		}
	}
	if len(all) == 1 {
		return `{"type":"` + kind + `","coordinates":` + all[0] + `}`, nil
	}
	return `{"type":"Multi` + kind + `","coordinates":[` + strings.Join(all, ",") + `]}`, nil
}

func number(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// positions returns a list of positions as GeoJSON, rounded to 10 cm.
func positions(points []byte) (string, error) {
	out := append(make([]byte, 0, len(points)+len(points)/2), '[')
	for ; len(points) > 0; points = points[16:] {
		x, y := number(points), number(points[8:])
		if !(math.Abs(x) <= 540 && math.Abs(y) <= 90) {
			return "", fmt.Errorf("%v, %v is not a position in degrees", x, y)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendFloat(append(out, '['), math.Round(x*1e6)/1e6, 'f', -1, 64)
		out = append(strconv.AppendFloat(append(out, ','), math.Round(y*1e6)/1e6, 'f', -1, 64), ']')
	}
	return string(append(out, ']')), nil
}

// polygons assigns holes to the areas around them. Outer rings are clockwise; a hole outside of all
// of them becomes a separate area.
func polygons(rings [][]byte) (list [][][]byte) {
	var holes [][]byte
	for _, r := range rings {
		if doubleArea(r) > 0 {
			holes = append(holes, r)
		} else {
			list = append(list, [][]byte{r})
		}
	}
	outer := len(list)
	for _, h := range holes {
		found := false
		for i := 0; i < outer && !found; i++ {
			if inside(number(h), number(h[8:]), list[i][0]) {
				list[i], found = append(list[i], h), true
			}
		}
		if !found {
			list = append(list, [][]byte{h})
		}
	}
	return list
}

// doubleArea returns twice the area of a ring, positive if it is counterclockwise.
func doubleArea(r []byte) (sum float64) {
	for i := 16; i < len(r); i += 16 {
		sum += number(r[i-16:])*number(r[i+8:]) - number(r[i:])*number(r[i-8:])
	}
	return sum
}

// inside reports whether a point lies in a ring.
func inside(x, y float64, r []byte) (in bool) {
	for i := 16; i < len(r); i += 16 {
		ax, ay, bx, by := number(r[i-16:]), number(r[i-8:]), number(r[i:]), number(r[i+8:])
		if ay > y != (by > y) && x < ax+(y-ay)*(bx-ax)/(by-ay) {
			in = !in
		}
	}
	return in
}

// table holds the rows of a dBASE table that were not read yet.
type table struct {
	fields []field
	width  int
	rows   []byte
}

type field struct {
	name     string // quoted
	kind     byte
	from, to int
}

func newTable(dbf []byte) (*table, error) {
	const head = 32 // length of the header, and of a field's descriptor
	if len(dbf) < head {
		return nil, errors.New("its table (.dbf) is missing or too short")
	}
	begin := int(binary.LittleEndian.Uint16(dbf[8:]))
	t := &table{width: int(binary.LittleEndian.Uint16(dbf[10:]))}
	if begin < head || begin > len(dbf) {
		return nil, errors.New("its table (.dbf) ends too early")
	}
	at := 1 // after the mark of deleted rows
	for f := dbf[head:begin]; len(f) >= head && f[0] != '\r'; f = f[head:] {
		name, _, _ := bytes.Cut(f[:11], []byte{0})
		quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(string(name), "?"))
		if err != nil {
			return nil, err
		}
		to := at + int(f[16])
		t.fields = append(t.fields, field{string(quoted), f[11], at, to})
		at = to
	}
	if at > t.width {
		return nil, fmt.Errorf("fields of %d bytes in rows of %d in its table (.dbf)", at, t.width)
	}
	t.rows = dbf[begin:]
	return t, nil
}

// next returns the next row as a JSON object, and whether it is deleted.
func (t *table) next() (properties string, deleted bool, err error) {
	if len(t.rows) < t.width {
		return "", false, errors.New("its table (.dbf) has fewer rows than there are shapes")
	}
	row := t.rows[:t.width]
	t.rows = t.rows[t.width:]
	var out strings.Builder
	out.WriteByte('{')
	for i, f := range t.fields {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(f.name)
		out.WriteByte(':')
		value := strings.TrimSpace(strings.ToValidUTF8(string(bytes.Trim(row[f.from:f.to], "\x00")), "\ufffd"))
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case f.kind != 'N' && f.kind != 'F':
			text, err := jsontext.AppendQuote(nil, value)
			if err != nil {
				return "", false, err
			}
			out.Write(text)
		case err != nil || math.IsInf(v, 0) || math.IsNaN(v):
			out.WriteString("null")
		default:
			out.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	out.WriteByte('}')
	return out.String(), len(row) > 0 && row[0] == '*', nil
}
