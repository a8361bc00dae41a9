package geo

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseGeoJSON reads a geometry object of RFC 7946 that a user wrote. It drops the third number of
// a position, the height. It skips members that the RFC does not define.
//
// It rejects what ParseWKT rejects, and also Features, duplicate members, a crs, and text that is
// not JSON. The error is one sentence that says what is wrong and where.
func ParseGeoJSON(b []byte) (Shape, error) { return ParseGeoJSONIn(b, nil) }

// ParseGeoJSONIn does the same with positions of another reference system.
func ParseGeoJSONIn(b []byte, to Unproject) (Shape, error) {
	r := reader{to: to}
	t, err := r.document(b)
	if err != nil {
		return Shape{}, err
	}
	return r.shape(t)
}

// ParseLoose reads a GeoJSON geometry that a feed sent, or that this package wrote. It accepts
// longitudes from -360 to 360, closes open rings, drops rings and lines without extent, and repairs
// rings that cross themselves; all their loops count as area. A polygon that cannot be repaired
// becomes its convex hull. A geometry that loses all its rings or lines becomes the line or point
// that is left. ParseLoose rejects geometries without a position, with a position out of range, or
// beyond the limits of this package.
func ParseLoose(b []byte) (Shape, error) {
	s, _, err := ParseLooseCost(b)
	return s, err
}

// ParseLooseCost does the same as ParseLoose, and returns the steps of work that it took (work.go),
// for callers who bound the work on many geometries.
func ParseLooseCost(b []byte) (s Shape, steps int, err error) {
	r := reader{loose: true}
	t, err := r.document(b)
	if err != nil {
		return Shape{}, 0, err
	}
	s, err = r.shape(t)
	return s, r.work.spent, err
}

func (r *reader) decoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b),
		jsontext.AllowDuplicateNames(r.loose), jsontext.AllowInvalidUTF8(r.loose))
}

func (r *reader) document(b []byte) (tree, error) {
	dec := r.decoder(b)
	value, err := dec.ReadValue()
	if err != nil {
		return tree{}, notJSON(err)
	}
	value = value.Clone()
	if _, err := dec.ReadToken(); err != io.EOF {
		return tree{}, faultf("text after the geometry, expected the end")
	}
	return r.object(value, 1)
}

func notJSON(err error) error {
	switch {
	case err == io.EOF:
		return faultf("the text is empty, expected a geometry object")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return faultf("%s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return faultf("not JSON: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
}

// object reads the geometry in value, which is one JSON object.
func (r *reader) object(value jsontext.Value, depth int) (tree, error) {
	if depth > maxDepth {
		return tree{}, faultf("collections within each other more than %d deep", maxDepth)
	}
	var t tree
	var coordinates, geometries jsontext.Value
	dec := r.decoder(value)
	if token, err := dec.ReadToken(); err != nil {
		return tree{}, notJSON(err)
	} else if token.Kind() != '{' {
		return tree{}, faultf("expected a geometry object")
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return tree{}, notJSON(err)
		}
		member := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return tree{}, notJSON(err)
		}
		switch member {
		case "type":
			if value.Kind() != '"' {
				return tree{}, faultf("type is not a string, expected the name of a geometry")
			}
			kind, err := jsontext.AppendUnquote(nil, value)
			if err != nil {
				return tree{}, notJSON(err)
			}
			t.kind = string(kind)
		case "coordinates":
			coordinates = value.Clone()
		case "geometries":
			geometries = value.Clone()
		case "crs":
			if !r.loose {
				return tree{}, faultf("crs is not allowed: all coordinates are WGS 84 longitude and latitude")
			}
		case "geometry", "properties", "features":
			if !r.loose {
				return tree{}, faultf("%s is not a member of a geometry, expected type and coordinates", member)
			}
		}
	}
	switch {
	case t.kind == "":
		return tree{}, faultf("type is missing, expected the name of a geometry")
	case t.kind == "GeometryCollection":
		if geometries == nil || coordinates != nil && !r.loose {
			return tree{}, faultf("a GeometryCollection has geometries, and no coordinates")
		}
		err := r.list(r.decoder(geometries), "geometry", func(dec *jsontext.Decoder) error {
			if err := r.part(); err != nil {
				return err
			}
			value, err := dec.ReadValue()
			if err != nil {
				return notJSON(err)
			}
			m, err := r.object(value.Clone(), depth+1)
			t.members = append(t.members, m)
			return err
		})
		return t, err
	case coordinates == nil || geometries != nil && !r.loose:
		return tree{}, faultf("a %.30s has coordinates, and no geometries", t.kind)
	}
	var err error
	t.coords, err = r.coordinates(t.kind, r.decoder(coordinates))
	return t, err
}

func (r *reader) coordinates(kind string, dec *jsontext.Decoder) ([][][]xy, error) {
	var coords [][][]xy
	var rings [][]xy
	var points []xy
	position := func(dec *jsontext.Decoder) error {
		p, err := r.numbers(dec)
		points = append(points, p)
		return err
	}
	line := func(dec *jsontext.Decoder) error {
		if err := r.part(); err != nil {
			return err
		}
		points = nil
		err := r.list(dec, "position", position)
		rings = append(rings, points)
		return err
	}
	polygon := func(dec *jsontext.Decoder) error {
		rings = nil
		err := r.list(dec, "ring", line)
		coords = append(coords, rings)
		return err
	}
	switch kind {
	case "Point":
		err := position(dec)
		return [][][]xy{{points}}, err
	case "MultiPoint":
		err := r.list(dec, "position", func(dec *jsontext.Decoder) error {
			if err := r.part(); err != nil {
				return err
			}
			return position(dec)
		})
		return [][][]xy{{points}}, err
	case "LineString":
		err := line(dec)
		return [][][]xy{rings}, err
	case "MultiLineString":
		err := r.list(dec, "line", line)
		return [][][]xy{rings}, err
	case "Polygon":
		err := polygon(dec)
		return coords, err
	case "MultiPolygon":
		err := r.list(dec, "polygon", polygon)
		return coords, err
	}
	return nil, faultf("type is %.30q, expected Point, LineString, Polygon, MultiPoint, MultiLineString, MultiPolygon "+
		"or GeometryCollection", kind)
}

// list reads an array. one reads each value; name is the name of one value.
func (r *reader) list(dec *jsontext.Decoder, name string, one func(*jsontext.Decoder) error) error {
	if dec.PeekKind() != '[' {
		return faultf("expected an array of %ss", name)
	}
	if _, err := dec.ReadToken(); err != nil {
		return notJSON(err)
	}
	for i := 0; dec.PeekKind() != ']'; i++ {
		if err := one(dec); err != nil {
			return at(name, i, err)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// numbers reads a position.
func (r *reader) numbers(dec *jsontext.Decoder) (xy, error) {
	if err := r.position(); err != nil {
		return xy{}, err
	}
	const expected = "an array of longitude and latitude in degrees"
	if dec.PeekKind() != '[' {
		return xy{}, faultf("expected %s", expected)
	}
	if _, err := dec.ReadToken(); err != nil {
		return xy{}, notJSON(err)
	}
	var numbers [2]float64
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		if dec.PeekKind() != '0' {
			return xy{}, faultf("a value that is not a number, expected %s", expected)
		}
		value, err := dec.ReadValue()
		if err != nil {
			return xy{}, notJSON(err)
		}
		v, ok := parseNumber(string(value))
		if !ok {
			return xy{}, faultf("%.30s is out of range", value)
		}
		if n < len(numbers) {
			numbers[n] = v
		}
	}
	_, err := dec.ReadToken()
	if n < 2 || n > 3 && !r.loose {
		return xy{}, faultf("%d numbers, expected %s", n, expected)
	}
	return xy{numbers[0], numbers[1]}, err
}
