package format

import (
	"bufio"
)

// geoJSONEncoder writes GeoJSON (RFC 7946). Geometries are cut at the antimeridian (section 3.1.9), outer rings run
// counterclockwise (section 3.1.6), positions have six decimals at most; geo promises all that. The box of a collection follows
// its features, for it is known last: the order of members has no meaning.
type geoJSONEncoder struct {
	options Options
	extent  extent
}

func (g *geoJSONEncoder) begin(out *bufio.Writer) error {
	if !g.options.Single {
		out.WriteString(`{"type":"FeatureCollection",`)
		g.beside(out)
		out.WriteString(`"features":[`)
	}
	return nil
}

// beside writes the members that stand beside ours.
func (g *geoJSONEncoder) beside(out *bufio.Writer) {
	if n := len(g.options.Beside); n > 2 {
		out.Write(g.options.Beside[1 : n-1])
		out.WriteByte(',')
	}
}

func (g *geoJSONEncoder) entry(out *bufio.Writer, e *Entry, n int) error {
	shape, role := e.shape()
	properties, err := marshal(newRecord(e, g.options.Base, role))
	if err != nil {
		return err
	}
	if n > 0 {
		out.WriteByte(',')
	}
	out.WriteString(`{"type":"Feature","id":"` + e.Hazard.UUID.String() + `",`)
	if g.options.Single {
		g.beside(out)
	}
	geometry := "null"
	if !shape.IsZero() {
		geometry = shape.GeoJSON()
		west, south, east, north := shape.Bounds()
		g.extent.add(west, south, east, north)
		if !shape.IsPoint() {
			out.Write(append(appendBox(nil, west, south, east, north), ','))
		}
	}
	out.WriteString(`"geometry":`)
	out.WriteString(geometry)
	out.WriteString(`,"properties":`)
	out.Write(properties)
	out.WriteByte('}')
	return nil
}

func (g *geoJSONEncoder) end(out *bufio.Writer) error {
	if g.options.Single {
		return nil
	}
	out.WriteByte(']')
	if g.extent.any {
		west, south, east, north := g.extent.box()
		out.Write(appendBox([]byte{','}, west, south, east, north))
	}
	out.WriteByte('}')
	return nil
}

// appendBox writes the member bbox (section 5): the southwest corner, then the northeast one, whatever lies between.
func appendBox(b []byte, west, south, east, north float64) []byte {
	b = append(b, `"bbox":`...)
	for i, v := range [...]float64{west, south, east, north} {
		b = append(b, "[,,,"[i])
		b = appendDegrees(b, v)
	}
	return append(b, ']')
}
