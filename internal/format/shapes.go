package format

import (
	"bufio"
	"io"
	"strconv"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// ShapesKML writes shapes of a hazard as KML, in their order, in the colors of hazard.Shape.Color.
func ShapesKML(to io.Writer, title string, shapes []hazard.Shape) error {
	out := bufio.NewWriter(to)
	out.WriteString(header + kmlNamespaces + `<Document><name>` + escaped(title) + `</name><open>1</open>`)
	var b []byte
	for i := range shapes {
		s := &shapes[i]
		g, err := geo.ReadStored(s.Geometry)
		if err != nil {
			return err
		}
		c := s.Color()
		color := c[5:7] + c[3:5] + c[1:3] // alpha before, blue, green, red (OGC 07-147r2, section 16.3.1)
		b = appendElement(append(b[:0], `<Placemark>`...), "name", clean(s.Title()))
		b = appendSpan(b, s.From, s.To)
		b = append(appendColours(append(b, `<Style>`...), "ff"+color, "40"+color), `</Style><ExtendedData>`...)
		b = appendData(b, "role", string(s.Role))
		b = appendData(b, "forecast", strconv.FormatBool(s.Forecast))
		b = appendData(b, "source", s.Source)
		if s.Band != nil {
			b = appendData(b, "band", string(s.Band.Kind))
			b = appendData(b, "value", strconv.FormatFloat(s.Band.Value, 'f', -1, 64))
			b = appendData(b, "unit", s.Band.Unit())
		}
		b = append(b, `</ExtendedData>`...)
		if g.IsPoint() {
			b = appendPoint(b, g.Points())
		} else {
			b = append(appendParts(append(b, `<MultiGeometry>`...), g), `</MultiGeometry>`...)
		}
		out.Write(append(b, `</Placemark>`...))
	}
	out.WriteString("</Document></kml>\n")
	return out.Flush()
}
