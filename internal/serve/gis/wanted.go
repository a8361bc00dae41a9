package gis

import (
	"bytes"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/format"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/serve/encoded"
	"github.com/hazardd/hazardd/internal/serve/gis/ogc"
	"github.com/hazardd/hazardd/internal/serve/route"
)

// wanted is what a reader of features asked to have of each: the reference system of its positions
// (OGC 18-058r1), its properties, and whether it needs the geometry.
type wanted struct {
	system       crs.Reference
	properties   []string // nil: all
	skipGeometry bool
}

// wantedParameters are those that readWanted reads.
var wantedParameters = []string{"crs", "properties", "skipGeometry"}

func readWanted(set *ogc.Set, values url.Values) (w wanted, err error) {
	for _, name := range wantedParameters {
		if len(values[name]) > 1 {
			return w, route.Repeated(name, len(values[name]))
		}
	}
	if w.system, err = referred(values, "crs"); err != nil {
		return w, err
	}
	switch v := values.Get("skipGeometry"); v {
	case "", "false":
	case "true":
		w.skipGeometry = true
	default:
		return w, route.BadParameter("skipGeometry", "%.40q is not one of true, false", v)
	}
	if !values.Has("properties") {
		return w, nil
	}
	w.properties = []string{}
	known := propertyNames(set)
	for name := range strings.SplitSeq(values.Get("properties"), ",") {
		if name == "" && values.Get("properties") == "" { // no property
			break
		}
		if !slices.Contains(known, name) {
			return w, route.BadParameter("properties", "%.60q is not a property of the features; /ogc/collections/%s/schema has them all", name, set.ID)
		}
		w.properties = append(w.properties, name)
	}
	return w, nil
}

// referred returns the reference system that a parameter names; without it, CRS84.
func referred(values url.Values, name string) (crs.Reference, error) {
	uri := crs.CRS84
	if values.Has(name) {
		uri = values.Get(name)
	}
	r, ok := crs.Referred(uri)
	if !ok {
		return r, route.BadParameter(name, "%.100q is not known; expected %s or one of the other names in /ogc/collections", uri, crs.CRS84)
	}
	return r, nil
}

func propertyNames(set *ogc.Set) (names []string) {
	if set.Own == nil {
		for _, c := range format.Columns() {
			names = append(names, c.Name)
		}
		return names
	}
	for _, f := range set.Properties() {
		names = append(names, f.Name)
	}
	return names
}

// of returns a feature, or a collection of features, in GeoJSON as it is wanted. Boxes in degrees go
// with the positions in degrees.
func (w *wanted) of(text []byte) ([]byte, error) {
	if w.system.IsCRS84() && !w.skipGeometry && w.properties == nil {
		return text, nil
	}
	return rewrite(text, func(out []byte, name string, value jsontext.Value) ([]byte, error) {
		switch {
		case name == "features":
			return w.each(out, value)
		case name == "geometry" && w.skipGeometry:
			return append(out, "null"...), nil
		case name == "geometry":
			return w.geometry(out, value), nil
		case name == "bbox" && (w.skipGeometry || !w.system.IsCRS84()):
			return nil, nil
		case name == "properties" && w.properties != nil:
			kept, err := rewrite(value, func(out []byte, name string, value jsontext.Value) ([]byte, error) {
				if !slices.Contains(w.properties, name) {
					return nil, nil
				}
				return append(out, value...), nil
			})
			return append(out, kept...), err
		}
		return append(out, value...), nil
	})
}

// answer serves a feature, or a collection of features, as it is wanted.
func (w *wanted) answer(out http.ResponseWriter, r *http.Request, text []byte, restricted bool) error {
	text, err := w.of(text)
	if err != nil {
		return err
	}
	h := out.Header()
	h.Set("Content-Type", ogc.GeoJSON)
	h.Set("Content-Crs", "<"+w.system.URI+">") // OGC 18-058r1, requirement /req/crs/ogc-crs-header
	return route.Answer(out, r, encoded.NewBody(text, restricted))
}

// each writes an array of features as they are wanted.
func (w *wanted) each(out []byte, features jsontext.Value) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(features))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	out = append(out, '[')
	for n := 0; d.PeekKind() != ']'; n++ {
		feature, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if feature, err = w.of(feature); err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, feature...)
	}
	return append(out, ']'), nil
}

// rewrite writes an object with the members that member appends to out. A member of which it returns
// nil is left out.
func rewrite(object []byte, member func(out []byte, name string, value jsontext.Value) ([]byte, error)) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(object)), '{')
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		before := len(out)
		if before > 1 {
			out = append(out, ',')
		}
		quoted, err := jsontext.AppendQuote(out, key)
		if err != nil {
			return nil, err
		}
		with, err := member(append(quoted, ':'), key, value)
		if err != nil {
			return nil, err
		}
		if out = out[:before]; with != nil {
			out = with
		}
	}
	return append(out, '}'), nil
}

// geometry writes a geometry in the wanted reference system; null if that has no such place.
func (w *wanted) geometry(out []byte, value jsontext.Value) []byte {
	if w.system.IsCRS84() {
		return append(out, value...)
	}
	before := len(out)
	d := jsontext.NewDecoder(bytes.NewBuffer(value))
	for from := int64(0); ; {
		t, err := d.ReadToken()
		if err != nil { // the end
			return append(out, value[from:]...)
		}
		if t.Kind() != '[' || d.PeekKind() != '0' {
			continue
		}
		out = append(out, value[from:d.InputOffset()]...)
		at, ok := w.system.From(number(d), number(d))
		if !ok {
			return append(out[:before], "null"...)
		}
		digits := w.system.Digits()
		out = strconv.AppendFloat(append(strconv.AppendFloat(out, at[0], 'f', digits, 64), ','), at[1], 'f', digits, 64)
		from = d.InputOffset()
	}
}

// number reads a number of a position that we wrote.
func number(d *jsontext.Decoder) float64 {
	t, err := d.ReadToken()
	if err != nil {
		return math.NaN()
	}
	n, err := t.Float()
	if err != nil {
		return math.NaN()
	}
	return n
}
