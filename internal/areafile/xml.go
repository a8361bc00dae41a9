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

// The elements that are read: of KML 2.2 (OGC 07-147r2) those of Placemark and Polygon; of GML 2, 3.1 and 3.2 (OGC 07-036) polygons and patches of
// surfaces whose rings are LinearRing. Elements are known by their local names: files of all ages write the namespaces differently.
const maxDepth = 60

// element is an element that is open.
type element struct {
	local string
	srs   string // srsName, its own or of what it is in
	dim   int    // srsDimension
	name  string // of the child element name
	text  strings.Builder
}

// ring is the positions of a ring, longitude before latitude.
type ring [][2]float64

// document is an XML document that is being read.
type document struct {
	*collector
	dec       *xml.Decoder
	kml       bool
	open      []*element
	envelope  string // srsName of the last Envelope, which holds where a geometry names none
	polygon   *struct{ outer, inner []ring }
	positions ring
	ringed    bool
	found     [][]ring // polygons of the group
	group     int      // how deep the element is whose polygons are one area; 0: none
	read      int      // positions
}

func (c *collector) xml(doc []byte) error {
	d := &document{collector: c, dec: xml.NewDecoder(bytes.NewReader(doc))}
	d.dec.CharsetReader = charset.NewReaderLabel
	err := d.all()
	if err != nil {
		line, _ := d.dec.InputPos()
		if _, syntax := errors.AsType[*xml.SyntaxError](err); syntax { // it says its line
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
			if e := d.top(); e != nil && isText[e.local] {
				e.text.Write(t)
			}
		case xml.EndElement:
			err = d.end()
		}
		if err != nil {
			return err
		}
	}
}

// isText are the elements whose text is read.
var isText = map[string]bool{"name": true, "coordinates": true, "posList": true, "pos": true}

// isGroup are the elements all polygons in which are one area.
var isGroup = map[string]bool{"Placemark": true, "MultiGeometry": true, "MultiSurface": true, "MultiPolygon": true, "Surface": true, "CompositeSurface": true, "PolyhedralSurface": true}

func (d *document) top() *element {
	if len(d.open) == 0 {
		return nil
	}
	return d.open[len(d.open)-1]
}

func (d *document) start(t *xml.StartElement) error {
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
		return fmt.Errorf("elements within each other more than %d deep", maxDepth)
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
			break // of a line or a point
		}
		list, err := d.numbers(e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.local, err)
		}
		if d.read += len(list); d.read > maxPositions {
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

// take makes one area of the polygons that were found, named as the innermost element around them that has a name.
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

// numbers are the positions of a text: in coordinates, tuples with commas; else numbers with blanks.
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
				return nil, fmt.Errorf("%.40q, expected longitude, latitude and perhaps height with commas between", f)
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

// swapped reports whether latitudes come first: in KML never; in GML as the reference system says (OGC 09-048r5, "Name type specification"; GML 3.2, annex on srsName).
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
	case srs == "EPSG:4326" || strings.HasSuffix(srs, "epsg.xml#4326"): // as old servers write it, which put the longitude first
		return false, nil
	case strings.HasSuffix(srs, ":4326") || strings.HasSuffix(srs, "/4326") || strings.HasSuffix(srs, ":4258") || strings.HasSuffix(srs, "/4258"): // ETRS89 is WGS 84 to a meter
		return true, nil
	}
	return false, fmt.Errorf("srsName: %.100q, expected degrees of WGS 84: urn:ogc:def:crs:EPSG::4326 or urn:ogc:def:crs:OGC:1.3:CRS84", srs)
}
