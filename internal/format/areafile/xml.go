package areafile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/html/charset"
)

// The elements that are read. KML 2.2 (OGC 07-147r2): Placemark and Polygon. GML 2, 3.1 and 3.2
// (OGC 07-036): polygons, and patches of surfaces whose rings are LinearRing. Elements are
// recognized by their local names, because files of different ages use different namespaces.
const (
	maxDepth    = 60
	maxElements = 200_000
	maxText     = 2 << 20 // bytes of a text: more than maxPositions positions take
)

// element is an open element.
type element struct {
	local string
	srs   string // srsName of the element or of an element around it
	dim   int    // srsDimension
	name  string // text of the child element name
	text  strings.Builder
}

// ring is the list of a ring's positions, longitude before latitude.
type ring [][2]float64

// document is an XML document while it is read.
type document struct {
	*collector
	dec       *xml.Decoder
	kml       bool
	open      []*element
	envelope  string // srsName of the last Envelope, used for geometries without their own
	polygon   *struct{ outer, inner []ring }
	positions ring
	ringed    bool
	found     [][]ring // polygons of the present group
	group     int      // depth of the element whose polygons form one area; 0 if none is open
	elements  int      // so far
	counted   int      // positions of rings so far
}

func (c *collector) xml(doc []byte) error {
	d := &document{collector: c, dec: xml.NewDecoder(bytes.NewReader(doc))}
	d.dec.CharsetReader = charset.NewReaderLabel
	err := d.all()
	if err != nil {
		line, _ := d.dec.InputPos()
		if _, syntax := errors.AsType[*xml.SyntaxError](err); syntax { // a syntax error contains its line
			return fmt.Errorf("it is not XML: %w", err)
		}
		return fmt.Errorf("line %d: %w", line, err)
	}
	return nil
}

func (d *document) all() error {
	for {
		token, err := d.dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			err = d.start(&t)
		case xml.CharData:
			err = d.said(t)
		case xml.EndElement:
			err = d.end()
		}
		if err != nil {
			return err
		}
	}
}

// said adds to the text of an element that is read.
func (d *document) said(t xml.CharData) error {
	e := d.top()
	if e == nil || !isText[e.local] || e.local != "name" && d.polygon == nil {
		return nil
	}
	if e.text.Len()+len(t) > maxText {
		return fmt.Errorf("%s: more than %d bytes; simplify the areas", e.local, maxText)
	}
	e.text.Write(t)
	return nil
}

// isText lists the elements whose text is read.
var isText = map[string]bool{"name": true, "coordinates": true, "posList": true, "pos": true}

// isGroup lists the elements whose polygons together form one area.
var isGroup = map[string]bool{"Placemark": true, "MultiGeometry": true, "MultiSurface": true, "MultiPolygon": true, "Surface": true, "CompositeSurface": true, "PolyhedralSurface": true}

func (d *document) top() *element {
	if len(d.open) == 0 {
		return nil
	}
	return d.open[len(d.open)-1]
}

func (d *document) start(t *xml.StartElement) error {
	if d.elements++; d.elements > maxElements {
		return fmt.Errorf("more than %d elements", maxElements)
	}
	e := &element{local: t.Name.Local}
	if over := d.top(); over != nil {
		e.srs, e.dim = over.srs, over.dim
	} else {
		switch {
		case e.local == "kml":
			d.kml, d.format = true, "KML"
		case strings.Contains(t.Name.Space, "opengis.net") || strings.Contains(t.Name.Space, "/gml") || e.local == "FeatureCollection" || declaresGML(t.Attr):
			d.format = "GML"
		default:
			return fmt.Errorf("the document is %q, expected kml, or a collection of GML", e.local)
		}
	}
	if len(d.open) == maxDepth {
		return fmt.Errorf("elements nested deeper than %d", maxDepth)
	}
	for _, a := range t.Attr {
		switch a.Name.Local {
		case "srsName":
			e.srs = a.Value
		case "srsDimension":
			if e.dim, _ = strconv.Atoi(a.Value); e.dim != 2 && e.dim != 3 {
				return fmt.Errorf("srsDimension: %q, expected 2 or 3", a.Value)
			}
		}
	}
	d.open = append(d.open, e)
	switch {
	case d.group == 0 && isGroup[e.local]:
		d.group = len(d.open)
	case e.local == "Envelope":
		d.envelope = e.srs
	case e.local == "Polygon" || e.local == "PolygonPatch" || e.local == "Triangle" || e.local == "Rectangle":
		if d.polygon != nil {
			return fmt.Errorf("a %s in a polygon", e.local)
		}
		d.polygon = &struct{ outer, inner []ring }{}
	case e.local == "LinearRing":
		d.positions, d.ringed = nil, true
	case d.polygon != nil && (e.local == "Arc" || e.local == "Circle" || e.local == "Ring" || e.local == "Curve"):
		return fmt.Errorf("an edge that is a %s, expected a LinearRing", e.local)
	}
	return nil
}

func declaresGML(attr []xml.Attr) bool {
	for _, a := range attr {
		if a.Name.Space == "xmlns" && strings.Contains(a.Value, "/gml") {
			return true
		}
	}
	return false
}

func (d *document) end() error {
	e := d.top()
	depth := len(d.open)
	d.open = d.open[:depth-1]
	over := d.top()
	switch e.local {
	case "name":
		if over != nil && over.name == "" {
			over.name = strings.TrimSpace(e.text.String())
		}
	case "coordinates", "posList", "pos":
		if !d.ringed || d.polygon == nil {
			break // of a line or a point, so it is not an area
		}
		list, err := d.numbers(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.local, err)
		}
		if d.counted += len(list); d.counted > maxPositions {
			return fmt.Errorf("more than %d positions; simplify the areas", maxPositions)
		}
		d.positions = append(d.positions, list...)
	case "LinearRing":
		if d.polygon != nil {
			if over != nil && (over.local == "innerBoundaryIs" || over.local == "interior") {
				d.polygon.inner = append(d.polygon.inner, d.positions)
			} else {
				d.polygon.outer = append(d.polygon.outer, d.positions)
			}
		}
		d.ringed = false
	case "Polygon", "PolygonPatch", "Triangle", "Rectangle":
		if len(d.polygon.outer) != 1 {
			return fmt.Errorf("a %s with %d outer rings, expected one LinearRing", e.local, len(d.polygon.outer))
		}
		d.found = append(d.found, append(d.polygon.outer, d.polygon.inner...))
		d.polygon = nil
	case "Point", "LineString", "LineStringSegment":
		if d.polygon == nil && len(d.found) == 0 && over != nil && over.local != "MultiGeometry" {
			d.left++
		}
	}
	if d.group == depth {
		d.group = 0
	}
	if d.group == 0 && d.polygon == nil && len(d.found) > 0 {
		return d.take(e)
	}
	return nil
}

// take makes one area from the collected polygons. Its name is that of the innermost element around
// them that has one.
func (d *document) take(last *element) error {
	name := last.name
	for i := len(d.open) - 1; i >= 0 && name == ""; i-- {
		name = d.open[i].name
	}
	coordinates, err := json.Marshal(d.found)
	if err != nil {
		return err
	}
	d.found = nil
	return d.add(name, slices.Concat([]byte(`{"type":"MultiPolygon","coordinates":`), coordinates, []byte("}")))
}

// numbers parses the positions in a text: tuples with commas in the element coordinates, otherwise
// numbers separated by blanks.
func (d *document) numbers(e *element) (list ring, err error) {
	swap, err := d.swapped(e)
	if err != nil {
		return nil, err
	}
	take := func(texts []string) error {
		var at [2]float64
		for i := range at {
			if at[i], err = strconv.ParseFloat(texts[i], 64); err != nil || math.IsNaN(at[i]) || math.Abs(at[i]) > 360 {
				return fmt.Errorf("%.40q, expected degrees", texts[i])
			}
		}
		if swap {
			at[0], at[1] = at[1], at[0]
		}
		list = append(list, at)
		return nil
	}
	fields := strings.Fields(e.text.String())
	if e.local == "coordinates" {
		for _, f := range fields {
			texts := strings.Split(f, ",")
			if len(texts) < 2 || len(texts) > 3 {
				return nil, fmt.Errorf("%.40q, expected longitude, latitude and optionally height, separated by commas", f)
			}
			if err := take(texts); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	dim := max(e.dim, 2)
	if e.local == "pos" && e.dim == 0 && len(fields) == 3 {
		dim = 3
	}
	if len(fields)%dim != 0 {
		return nil, fmt.Errorf("%d numbers, expected %d for each position", len(fields), dim)
	}
	for ; len(fields) > 0; fields = fields[dim:] {
		if err := take(fields); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// swapped reports whether latitude comes first. In KML it never does; in GML the reference system
// decides (OGC 09-048r5, "Name type specification"; GML 3.2, annex on srsName).
func (d *document) swapped(e *element) (bool, error) {
	if d.kml {
		return false, nil
	}
	srs := e.srs
	if srs == "" {
		srs = d.envelope
	}
	switch {
	case srs == "":
		return false, errors.New("srsName is missing, expected urn:ogc:def:crs:EPSG::4326 or urn:ogc:def:crs:OGC:1.3:CRS84")
	case strings.HasSuffix(srs, "CRS84"):
		return false, nil
	case srs == "EPSG:4326" || strings.HasSuffix(srs, "epsg.xml#4326"): // the old notation, used by servers that put longitude first
		return false, nil
	case strings.HasSuffix(srs, ":4326") || strings.HasSuffix(srs, "/4326") || strings.HasSuffix(srs, ":4258") || strings.HasSuffix(srs, "/4258"): // ETRS89 and WGS 84 differ by less than a meter
		return true, nil
	}
	return false, fmt.Errorf("srsName: %.100q, expected degrees of WGS 84: urn:ogc:def:crs:EPSG::4326 or urn:ogc:def:crs:OGC:1.3:CRS84", srs)
}
