package geo

import (
	"strconv"
	"strings"
)

// kinds maps the names of geometry types in well-known text to their kinds.
var kinds = map[string]string{
	"POINT":              "Point",
	"MULTIPOINT":         "MultiPoint",
	"LINESTRING":         "LineString",
	"MULTILINESTRING":    "MultiLineString",
	"POLYGON":            "Polygon",
	"MULTIPOLYGON":       "MultiPolygon",
	"GEOMETRYCOLLECTION": "GeometryCollection",
}

// ParseWKT reads well-known text that a user wrote: longitude, a space, latitude, in degrees. The
// empty string means no geometry and gives the zero Shape. Names may be in upper or lower case. Z,
// M or ZM may follow them; the third and fourth numbers are then dropped.
//
// It rejects positions outside -180 to 180 and -90 to 90, empty geometries, rings that are not
// closed, have no area or touch themselves, holes outside their ring, curves, an SRID, text after
// the geometry, and geometries beyond the limits of this package. Overlapping polygons of one
// geometry are joined. The error is one sentence that says what is wrong and where.
func ParseWKT(s string) (Shape, error) { return ParseWKTIn(s, nil) }

// ParseWKTIn does the same with positions of another reference system.
func ParseWKTIn(s string, to Unproject) (Shape, error) {
	if s == "" {
		return Shape{}, nil
	}
	p := wktParser{text: s}
	p.to = to
	t, err := p.geometry(1)
	if err != nil {
		return Shape{}, err
	}
	if p.blanks(); p.at < len(s) {
		return Shape{}, p.unexpected("the end")
	}
	return p.shape(t)
}

type wktParser struct {
	reader
	text string
	at   int // bytes read
}

func (p *wktParser) blanks() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// take skips spaces and reports whether c follows. If so, it reads c.
func (p *wktParser) take(c byte) bool {
	p.blanks()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// run reads the longest run of bytes in set.
func (p *wktParser) run(in func(c byte) bool) string {
	p.blanks()
	start := p.at
	for p.at < len(p.text) && in(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func isLetter(c byte) bool { return 'A' <= c&^0x20 && c&^0x20 <= 'Z' }

func (p *wktParser) word() string { return strings.ToUpper(p.run(isLetter)) }

func (p *wktParser) unexpected(expected string) error {
	if p.blanks(); p.at >= len(p.text) {
		return faultf("the text ends, expected %s", expected)
	}
	return faultf("character %d is %q, expected %s", p.at+1, rune(p.text[p.at]), expected)
}

// header reads the kind of a geometry, as in "POINT Z", and the number of dimensions of its
// positions.
func (p *wktParser) header() (kind string, dimensions int, err error) {
	word := p.word()
	if word == "" {
		return "", 0, p.unexpected("the name of a geometry, as in POINT(-122.4 37.8)")
	}
	dimensions = 2
	kind = kinds[word]
	if kind == "" {
		for _, suffix := range []string{"ZM", "Z", "M"} {
			if name, found := strings.CutSuffix(word, suffix); found && kinds[name] != "" {
				kind, dimensions = kinds[name], 2+len(suffix)
				break
			}
		}
	}
	if kind == "" {
		return "", 0, faultf("%.30q is not a geometry, expected POINT, LINESTRING, POLYGON, MULTIPOINT, MULTILINESTRING, "+
			"MULTIPOLYGON or GEOMETRYCOLLECTION", word)
	}
	switch next := p.word(); next {
	case "":
	case "Z", "M", "ZM":
		dimensions = 2 + len(next)
		if p.word() == "EMPTY" {
			return "", 0, faultf("the geometry is empty")
		}
	case "EMPTY":
		return "", 0, faultf("the geometry is empty")
	default:
		return "", 0, faultf("%.30q after %s, expected ( and coordinates", next, word)
	}
	return kind, dimensions, nil
}

func (p *wktParser) geometry(depth int) (tree, error) {
	if depth > maxDepth {
		return tree{}, faultf("collections within each other more than %d deep", maxDepth)
	}
	kind, dimensions, err := p.header()
	if err != nil {
		return tree{}, err
	}
	t := tree{kind: kind}
	switch kind {
	case "GeometryCollection":
		err = p.list("geometry", func() error {
			m, err := p.geometry(depth + 1)
			t.members = append(t.members, m)
			return err
		})
	case "Point":
		var points []xy
		err = p.list("position", func() error {
			if len(points) == 1 {
				return faultf("a second position, expected one")
			}
			return p.position(&points, dimensions)
		})
		t.coords = [][][]xy{{points}}
	case "MultiPoint":
		var points []xy
		err = p.list("position", func() error {
			if err := p.part(); err != nil {
				return err
			}
			bracketed := p.take('(')
			if err := p.position(&points, dimensions); err != nil {
				return err
			}
			if bracketed && !p.take(')') {
				return p.unexpected(")")
			}
			return nil
		})
		t.coords = [][][]xy{{points}}
	case "LineString":
		var line []xy
		line, err = p.positions(dimensions)
		t.coords = [][][]xy{{line}}
	case "MultiLineString":
		var lines [][]xy
		lines, err = p.lists("line", dimensions)
		t.coords = [][][]xy{lines}
	case "Polygon":
		var rings [][]xy
		rings, err = p.lists("ring", dimensions)
		t.coords = [][][]xy{rings}
	case "MultiPolygon":
		err = p.list("polygon", func() error {
			rings, err := p.lists("ring", dimensions)
			t.coords = append(t.coords, rings)
			return err
		})
	}
	return t, err
}

// list reads a list in parentheses. one reads each item; items are separated by commas. name is the
// name of one item.
func (p *wktParser) list(name string, one func() error) error {
	if !p.take('(') {
		if p.word() == "EMPTY" {
			return faultf("it is empty")
		}
		return p.unexpected("(")
	}
	for i := 0; ; i++ {
		if err := one(); err != nil {
			return at(name, i, err)
		}
		if p.take(')') {
			return nil
		}
		if !p.take(',') {
			return at(name, i, p.unexpected("a comma or )"))
		}
	}
}

func (p *wktParser) lists(name string, dimensions int) ([][]xy, error) {
	var lists [][]xy
	err := p.list(name, func() error {
		list, err := p.positions(dimensions)
		lists = append(lists, list)
		return err
	})
	return lists, err
}

func (p *wktParser) positions(dimensions int) ([]xy, error) {
	if err := p.part(); err != nil {
		return nil, err
	}
	var list []xy
	err := p.list("position", func() error { return p.position(&list, dimensions) })
	return list, err
}

func (p *wktParser) position(to *[]xy, dimensions int) error {
	if err := p.reader.position(); err != nil {
		return err
	}
	var numbers [4]float64
	for i := range dimensions {
		p.blanks()
		start := p.at
		text := p.run(func(c byte) bool { return isLetter(c) || strings.IndexByte("+-.0123456789", c) >= 0 })
		if text == "" {
			return p.unexpected("a number")
		}
		n, ok := parseNumber(text)
		if !ok {
			return faultf("%.30q at character %d is not a number of degrees", text, start+1)
		}
		numbers[i] = n
	}
	*to = append(*to, xy{numbers[0], numbers[1]})
	return nil
}

// parseNumber reads a finite decimal number. Nothing else may be in the text.
func parseNumber(s string) (float64, bool) {
	for i := range len(s) {
		if strings.IndexByte("+-.0123456789eE", s[i]) < 0 {
			return 0, false // ParseFloat would accept Inf, NaN and hexadecimal numbers
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}
