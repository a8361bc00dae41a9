package format

import (
	"bufio"
	"encoding/xml"
	"io"
	"strconv"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// shapePlacemark is a shape of a hazard in KML.
type shapePlacemark struct {
	XMLName xml.Name   `xml:"Placemark"`
	Name    string     `xml:"name"`
	Span    *timeSpan  `xml:"TimeSpan,omitempty"`
	Line    string     `xml:"Style>LineStyle>color"`
	Width   int        `xml:"Style>LineStyle>width"`
	Fill    string     `xml:"Style>PolyStyle>color"`
	Data    []kmlData  `xml:"ExtendedData>Data"`
	Point   *kmlPoint  `xml:"Point,omitempty"`
	Multi   *kmlShapes `xml:"MultiGeometry,omitempty"`
}

// ShapesKML writes shapes of a hazard as KML, in their order, in the colors of hazard.Shape.Color.
func ShapesKML(to io.Writer, title string, shapes []hazard.Shape) error {
	out := bufio.NewWriter(to)
	out.WriteString(header + kmlNamespaces + `<Document><name>` + escaped(title) + `</name><open>1</open>`)
	for i := range shapes {
		s := &shapes[i]
		g, err := geo.ReadStored(s.Geometry)
		if err != nil {
			return err
		}
		c := s.Color()
		color := c[5:7] + c[3:5] + c[1:3] // alpha before, blue, green, red (OGC 07-147r2, section 16.3.1)
		p := shapePlacemark{Name: clean(s.Title()), Span: &timeSpan{Begin: rfc3339(s.From)}, Line: "ff" + color, Width: 2, Fill: "40" + color,
			Data: []kmlData{{"role", string(s.Role)}, {"forecast", strconv.FormatBool(s.Forecast)}, {"source", s.Source}}}
		if s.To != 0 {
			p.Span.End = rfc3339(s.To)
		}
		if s.Band != nil {
			p.Data = append(p.Data, kmlData{"band", string(s.Band.Kind)}, kmlData{"value", strconv.FormatFloat(s.Band.Value, 'f', -1, 64)}, kmlData{"unit", s.Band.Unit()})
		}
		if g.IsPoint() {
			p.Point = &kmlPoint{tuples(g.Points())}
		} else {
			p.Multi = new(kmlParts(g))
		}
		fr, err := xmlFragment(&p)
		if err != nil {
			return err
		}
		out.Write(fr.text)
	}
	out.WriteString("</Document></kml>\n")
	return out.Flush()
}
