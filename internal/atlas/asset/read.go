package asset

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// maxFaults is how many faults of a file are told at once.
const maxFaults = 20

// Read reads assets from a file of CSV or GeoJSON, told apart by how it begins, and calls each with one after the other. What is wrong with the file is a
// *hazard.InvalidError that names line or feature, field and value; after the first fault each is not called any more. A file of more than MaxAssets is a
// *hazard.LimitError. Its memory is bounded by maxRecord.
func Read(r io.Reader, each func(*Asset) error) error {
	in := &bounded{r: r}
	f := &file{each: each, in: in}
	text := bufio.NewReaderSize(in, 64<<10)
	if err := f.begin(text); err != nil {
		return err
	}
	first, err := text.Peek(1)
	switch {
	case err == io.EOF:
		err = f.fault("", "the file is empty, expected CSV or a FeatureCollection of GeoJSON")
	case err != nil:
		return f.why(err)
	case first[0] == '{':
		err = f.geoJSON(text)
	case first[0] == '[':
		err = f.fault("", "the file is an array of JSON, expected a FeatureCollection of GeoJSON")
	default:
		err = f.csv(text)
	}
	if err != nil {
		return f.why(err)
	}
	if f.n == 0 && len(f.bad.Faults) == 0 {
		_ = f.fault("", "the file has no assets; to have none, remove them")
	}
	return f.bad.Err()
}

// errRecord: a row or a feature is larger than maxRecord.
var errRecord = errors.New("record too large")

// bounded is a file of which no more than maxRecord bytes are read for one record.
type bounded struct {
	r    io.Reader
	read int   // since the record began
	err  error // of r, but for the end
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.read > maxRecord {
		return 0, errRecord
	}
	n, err := b.r.Read(p[:min(len(p), 64<<10)])
	b.read += n
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

// file is a file that is being read.
type file struct {
	each func(*Asset) error
	in   *bounded
	bad  hazard.InvalidError
	n    int64 // assets so far
}

// errEnough ends the reading of a file with many faults.
var errEnough = errors.New("enough faults")

// fault notes what is wrong with a field; errEnough once that is enough.
func (f *file) fault(field, format string, args ...any) error {
	f.bad.Faults = append(f.bad.Faults, hazard.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	if len(f.bad.Faults) >= maxFaults {
		return errEnough
	}
	return nil
}

// why is the error with which reading ends.
func (f *file) why(err error) error {
	switch {
	case f.in.err != nil: // of whoever sends the file
		return f.in.err
	case errors.Is(err, errEnough):
		return f.bad.Err()
	}
	return err
}

// begin skips a byte order mark, and blanks before JSON. UTF-16 is refused by its mark.
func (f *file) begin(text *bufio.Reader) error {
	mark, err := text.Peek(3)
	if err != nil && err != io.EOF {
		return f.why(err)
	}
	switch {
	case bytes.HasPrefix(mark, []byte("\xef\xbb\xbf")):
		_, err = text.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")) || bytes.HasPrefix(mark, []byte("\xfe\xff")):
		return &hazard.InvalidError{Faults: []hazard.Fault{{Detail: "the file is UTF-16, expected UTF-8: save it as \"CSV UTF-8\""}}}
	case bytes.HasPrefix(mark, []byte("PK")):
		return &hazard.InvalidError{Faults: []hazard.Fault{{Detail: "the file is a ZIP archive or a workbook, expected CSV or GeoJSON: save it as \"CSV UTF-8\""}}}
	default:
		err = nil
	}
	for err == nil {
		next, _ := text.Peek(1)
		if len(next) == 0 || strings.IndexByte(" \t\r\n", next[0]) < 0 {
			break
		}
		_, err = text.Discard(1)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// add hands an asset on, unless something of the file is wrong.
func (f *file) add(a *Asset) error {
	if f.n++; f.n > MaxAssets {
		return &hazard.LimitError{Limit: "assets", Kind: hazard.LimitSize, Detail: fmt.Sprintf("the file has more than %d assets, the most of an organization; nothing was loaded", MaxAssets)}
	}
	if len(f.bad.Faults) > 0 {
		return nil
	}
	a.N = f.n
	return f.each(a)
}

// text checks a text and returns it cleaned.
func (f *file) text(at, name, value string, limit int) (string, error) {
	if !utf8.ValidString(value) {
		return "", f.fault(at, "%s: %.60q is not UTF-8; save the file as UTF-8", name, value)
	}
	value = hazard.CleanLine(value)
	if n := utf8.RuneCountInString(value); n > limit {
		return "", f.fault(at, "%s: %d characters, at most %d are allowed: %.60q", name, n, limit, value)
	}
	return value, nil
}

// named checks the texts of an asset.
func (f *file) named(a *Asset, at string) (err error) {
	if a.ID, err = f.text(at, "id", a.ID, maxID); err != nil {
		return err
	}
	if a.Kind, err = f.text(at, "kind", a.Kind, maxKind); err != nil {
		return err
	}
	before := len(f.bad.Faults)
	if a.Name, err = f.text(at, "name", a.Name, maxName); err == nil && a.Name == "" && len(f.bad.Faults) == before {
		err = f.fault(at, "name: is missing, expected what the asset is called")
	}
	return err
}

// place gives the asset the geometry s: a point or an area.
func (f *file) place(a *Asset, at string, s geo.Shape) error {
	switch {
	case s.IsPoint():
		a.Lon, a.Lat = s.Point()
	case len(s.Points()) > 0 || len(s.Lines()) > 0:
		return f.fault(at, "geometry: expected a Point, Polygon or MultiPolygon; load one asset for each place")
	case s.Positions() > maxPositions:
		return f.fault(at, "geometry: %d positions, at most %d are allowed for one asset; simplify it", s.Positions(), maxPositions)
	default:
		a.Area = s
		a.Lon, a.Lat = s.Point()
	}
	return nil
}

// The names of columns and properties, in lower case.
var fieldNames = map[string]string{
	"id": "id", "name": "name", "title": "name", "kind": "kind", "type": "kind", "category": "kind",
	"lon": "lon", "longitude": "lon", "lng": "lon", "long": "lon", "x": "lon", "lat": "lat", "latitude": "lat", "y": "lat", "wkt": "wkt", "geometry": "wkt",
}

// csv reads a table. The separator is the one of comma, semicolon and tab that the header has most of.
func (f *file) csv(text *bufio.Reader) error {
	header, err := text.Peek(text.Size())
	if err != nil && err != io.EOF {
		return err
	}
	header, _, _ = bytes.Cut(header, []byte("\n"))
	comma := ','
	for _, c := range ";\t" {
		if bytes.Count(header, []byte(string(c))) > bytes.Count(header, []byte(string(comma))) {
			comma = c
		}
	}
	r := csv.NewReader(text)
	r.Comma, r.ReuseRecord, r.FieldsPerRecord = comma, true, -1
	names, err := r.Read()
	if err != nil {
		return last(f.csvFault(1, err))
	}
	columns := map[string]int{}
	width := len(names)
	for i, name := range names {
		field, known := fieldNames[strings.ToLower(strings.TrimSpace(name))]
		if !known {
			continue
		}
		if j, twice := columns[field]; twice {
			return last(f.fault("", "line 1: the columns %d and %d are both the %s; remove or rename one", j+1, i+1, field))
		}
		columns[field] = i
	}
	_, lon := columns["lon"]
	_, lat := columns["lat"]
	_, wkt := columns["wkt"]
	if _, ok := columns["name"]; !ok || !wkt && !(lon && lat) {
		return last(f.fault("", "line 1: expected a header with the columns name, lon and lat (or wkt), and kind and id if there are; it has %.200q", strings.Join(names, string(comma))))
	}
	for line := 1; ; {
		f.in.read = 0
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return f.csvFault(line+1, err) // where a quote is wrong, what follows cannot be told apart
		}
		if !slices.ContainsFunc(record, func(s string) bool { return strings.TrimSpace(s) != "" }) {
			continue
		}
		line, _ = r.FieldPos(0)
		at := "/line " + strconv.Itoa(line)
		if len(record) != width {
			if err := f.fault(at, "%d fields, expected %d as in the header", len(record), width); err != nil {
				return err
			}
			continue
		}
		a, err := f.record(at, columns, record, comma)
		if err == nil {
			err = f.add(a)
		}
		if err != nil {
			return err
		}
	}
}

// last ends the reading at a fault that was noted.
func last(error) error { return errEnough }

// csvFault notes why a row, of that line or a later one, cannot be read.
func (f *file) csvFault(line int, err error) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		return f.fault("/line "+strconv.Itoa(bad.Line), "%v, at byte %d", bad.Err, bad.Column)
	}
	if errors.Is(err, errRecord) {
		return f.fault("/line "+strconv.Itoa(line), "more than %d bytes, the most of one row; is a quote missing?", maxRecord)
	}
	return err
}

// record is a row as an asset.
func (f *file) record(at string, columns map[string]int, record []string, comma rune) (*Asset, error) {
	field := func(name string) string {
		if i, ok := columns[name]; ok {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	a := &Asset{ID: field("id"), Name: field("name"), Kind: field("kind")}
	if err := f.named(a, at); err != nil {
		return nil, err
	}
	if text := field("wkt"); text != "" {
		s, err := geo.ParseWKT(text)
		if err != nil {
			return a, f.fault(at, "wkt: %v", err)
		}
		return a, f.place(a, at, s)
	}
	var err error
	if a.Lon, err = f.degrees(at, "lon", field("lon"), 180, comma); err != nil {
		return nil, err
	}
	a.Lat, err = f.degrees(at, "lat", field("lat"), 90, comma)
	return a, err
}

// degrees reads a coordinate. Where commas do not separate fields, one may stand for the decimal point, as spreadsheets of many countries write it.
func (f *file) degrees(at, name, text string, limit float64, comma rune) (float64, error) {
	if text == "" {
		return 0, f.fault(at, "%s: is missing, expected degrees", name)
	}
	number := text
	if comma != ',' && !strings.Contains(text, ".") {
		number = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || strings.ContainsAny(number, "xXpPnN_"): // no hexadecimal numbers, Inf or NaN
		return 0, f.fault(at, "%s: %.60q is not a number of degrees", name, text)
	case !(-limit <= v && v <= limit) && name == "lat" && -180 <= v && v <= 180:
		return 0, f.fault(at, "lat: %.60q is not from -90 to 90; are lon and lat swapped?", text)
	case !(-limit <= v && v <= limit):
		return 0, f.fault(at, "%s: %.60q is not from -%v to %v degrees (WGS 84)", name, text, limit, limit)
	}
	return math.Round(v*1e6) / 1e6, nil // as shapes are kept
}

// geoJSON reads a FeatureCollection, feature by feature.
func (f *file) geoJSON(text *bufio.Reader) error {
	d := jsontext.NewDecoder(text, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) // what is wrong is told by field
	if _, err := d.ReadToken(); err != nil {
		return f.jsonFault(d, err)
	}
	features := false
	for d.PeekKind() != '}' {
		f.in.read = 0
		name, err := d.ReadToken()
		if err != nil {
			return f.jsonFault(d, err)
		}
		switch member := name.String(); {
		case member == "features" && d.PeekKind() == '[':
			features = true
			if err := f.features(d); err != nil {
				return err
			}
		case member == "type":
			value, err := d.ReadValue()
			if err != nil {
				return f.jsonFault(d, err)
			}
			if string(value) != `"FeatureCollection"` {
				return last(f.fault("/type", "%.60s, expected \"FeatureCollection\"", value))
			}
		case member == "crs":
			value, err := d.ReadValue()
			if err != nil {
				return f.jsonFault(d, err)
			}
			if !bytes.Contains(value, []byte("CRS84")) && !bytes.Contains(value, []byte("4326")) {
				return last(f.fault("/crs", "%.200s, expected longitudes and latitudes of WGS 84 (RFC 7946)", value))
			}
		default:
			if err := d.SkipValue(); err != nil {
				return f.jsonFault(d, err)
			}
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return f.jsonFault(d, err)
	}
	if !features {
		return last(f.fault("/features", "is missing, expected an array of features"))
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return last(f.fault("", "text after the FeatureCollection, expected the end of the file"))
	}
	return nil
}

// jsonFault ends the reading of what is not JSON.
func (f *file) jsonFault(d *jsontext.Decoder, err error) error {
	if f.in.err != nil {
		return err
	}
	at := string(d.StackPointer())
	if errors.Is(err, errRecord) {
		return last(f.fault(at, "more than %d bytes, the most of one feature", maxRecord))
	}
	return last(f.fault("", "not JSON at byte %d, %s: %s", d.InputOffset(), at, strings.TrimPrefix(err.Error(), "jsontext: ")))
}

func (f *file) features(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return f.jsonFault(d, err)
	}
	for i := 0; d.PeekKind() != ']'; i++ {
		f.in.read = 0
		value, err := d.ReadValue()
		if err != nil {
			return f.jsonFault(d, err)
		}
		a, err := f.feature("/features/"+strconv.Itoa(i), value)
		if err == nil {
			err = f.add(a)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// feature is a feature as an asset.
func (f *file) feature(at string, value jsontext.Value) (*Asset, error) {
	a := &Asset{}
	if value.Kind() != '{' {
		return a, f.fault(at, "%.60s, expected a Feature", value)
	}
	if !utf8.Valid(value) {
		return a, f.fault(at, "is not UTF-8; save the file as UTF-8")
	}
	var geometry jsontext.Value
	for name, value := range members(value) {
		switch name {
		case "id":
			if a.ID == "" {
				a.ID = plain(value)
			}
		case "geometry":
			geometry = value
		case "properties":
			if value.Kind() != '{' {
				continue
			}
			for name, value := range members(value) {
				switch to := map[string]*string{"id": &a.ID, "name": &a.Name, "kind": &a.Kind}[fieldNames[strings.ToLower(name)]]; {
				case to == nil || plain(value) == "":
				case *to == "" || name == fieldNames[name]: // the usual name comes before its like
					*to = plain(value)
				}
			}
		}
	}
	if err := f.named(a, at+"/properties"); err != nil {
		return a, err
	}
	if geometry == nil || geometry.Kind() == 'n' {
		return a, f.fault(at+"/geometry", "is null or missing, expected a Point, Polygon or MultiPolygon")
	}
	s, err := geo.ParseGeoJSON(geometry)
	if err != nil {
		return a, f.fault(at+"/geometry", "%v", err)
	}
	return a, f.place(a, at+"/geometry", s)
}

// members are those of an object that was read as one value.
func members(object jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			text := name.String()
			value, err := d.ReadValue()
			if err != nil || !yield(text, value.Clone()) {
				return
			}
		}
	}
}

// plain is a text or a number as a text; empty for anything else.
func plain(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return ""
		}
		return string(text)
	case '0':
		return string(value)
	}
	return ""
}

// Checked is a file of assets with nothing wrong in it, kept in a temporary file.
type Checked struct{ file *os.File }

// Check reads a whole file as Read does, so that nothing is stored of a file that is refused. The
// caller closes the result.
func Check(r io.Reader) (*Checked, error) {
	file, err := os.CreateTemp("", "hazardd-*.assets")
	if err != nil {
		return nil, fmt.Errorf("%w: cannot keep the file while it is checked: %w", hazard.ErrUnavailable, err)
	}
	c := &Checked{file}
	if err := Read(io.TeeReader(r, file), func(*Asset) error { return nil }); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Read calls each with one asset after the other.
func (c *Checked) Read(each func(*Asset) error) error {
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return Read(c.file, each)
}

// Close removes the temporary file.
func (c *Checked) Close() error { return errors.Join(c.file.Close(), os.Remove(c.file.Name())) }
