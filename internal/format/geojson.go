package format

import (
	"bufio"
	"fmt"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// geoJSONEncoder writes GeoJSON (RFC 7946). Geometries are cut at the antimeridian (section 3.1.9), outer rings run
// counterclockwise (section 3.1.6), positions have six decimals at most; geo promises all that. The box of a collection follows
// its features, for it is known last, and so does what it says of itself: the order of members has no meaning.
type geoJSONEncoder struct {
	options Options
	extent  extent
	text    []byte // of the last hazard; used again
}

func (g *geoJSONEncoder) begin(out *bufio.Writer) error {
	if !g.options.Single {
		out.WriteString(`{"type":"FeatureCollection","features":[`)
	}
	return nil
}

// fragment is a Feature from its box on.
func (g *geoJSONEncoder) fragment(e *Entry) (fr fragment, err error) {
	r := e.record(&g.options)
	b := g.text[:0]
	if !r.shape.IsZero() {
		fr.box.West, fr.box.South, fr.box.East, fr.box.North = r.shape.Bounds()
		fr.placed = true
		if !r.shape.IsPoint() {
			b = append(appendBox(b, fr.box), ',')
		}
	}
	b = append(b, `"geometry":`...)
	if fr.placed {
		b = r.shape.AppendGeoJSON(b)
	} else {
		b = append(b, "null"...)
	}
	g.text = append(r.appendJSON(append(b, `,"properties":`...)), '}')
	fr.text = g.text
	return fr, nil
}

func (g *geoJSONEncoder) add(out *bufio.Writer, h *hazard.Hazard, fr fragment, n int) {
	if n > 0 {
		out.WriteByte(',')
	}
	out.WriteString(`{"type":"Feature","id":"`)
	out.WriteString(h.UUID.String())
	out.WriteString(`",`)
	if len(g.options.Links) > 0 {
		out.Write(appendLinks(nil, g.options.Links))
		out.WriteByte(',')
	}
	if fr.placed {
		g.extent.add(fr.box.West, fr.box.South, fr.box.East, fr.box.North)
	}
	out.Write(fr.text)
}

func (g *geoJSONEncoder) end(out *bufio.Writer, n int) error {
	if g.options.Single {
		return nil
	}
	out.WriteByte(']')
	if g.extent.any {
		west, south, east, north := g.extent.box()
		out.Write(appendBox([]byte{','}, geo.Box{West: west, South: south, East: east, North: north}))
	}
	p := g.options.page(n)
	fmt.Fprintf(out, `,"numberMatched":%d,"numberReturned":%d`, p.Matched, n)
	if p.Time != 0 {
		fmt.Fprintf(out, `,"timeStamp":"%s"`, p.Time)
	}
	if len(p.Links) > 0 {
		out.Write(appendLinks([]byte{','}, p.Links))
	}
	out.WriteByte('}')
	return nil
}

// appendLinks writes the member links.
func appendLinks(b []byte, links []Link) []byte {
	text, err := marshal(links)
	if err != nil { // texts and nothing else
		panic(err)
	}
	return append(append(b, `"links":`...), text...)
}

// appendBox writes the member bbox (section 5): the southwest corner, then the northeast one, whatever lies between.
func appendBox(b []byte, box geo.Box) []byte {
	b = append(b, `"bbox":`...)
	for i, v := range [...]float64{box.West, box.South, box.East, box.North} {
		b = append(b, "[,,,"[i])
		b = appendDegrees(b, v)
	}
	return append(b, ']')
}
