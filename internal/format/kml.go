package format

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"html"
	"sync"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

// kmlEncoder writes KML (OGC 07-147r2). Hazards of one severity that follow each other share a folder, so in the order of lists there
// is one for each. A hazard is its symbol at its point, together with its area in the colour of its severity. Positions are
// longitude before latitude.
type kmlEncoder struct {
	options Options
	folder  hazard.Severity
	text    []byte // of the last hazard; used again
}

const kmlNamespaces = `<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:atom="http://www.w3.org/2005/Atom">`

func (k *kmlEncoder) begin(out *bufio.Writer) error {
	out.WriteString(header + kmlNamespaces + `<Document>`)
	if k.options.Title != "" {
		out.WriteString(`<name>` + escaped(k.options.Title) + `</name>`)
	}
	out.WriteString(`<open>1</open>`)
	return nil
}

func (k *kmlEncoder) add(out *bufio.Writer, h *hazard.Hazard, fr fragment, n int) {
	if !k.options.Single && (n == 0 || h.Severity != k.folder) {
		if n > 0 {
			out.WriteString(`</Folder>`)
		}
		k.folder = h.Severity
		out.WriteString(`<Folder><name>` + severityName(h.Severity) + `</name>`)
	}
	out.Write(fr.text)
}

func (k *kmlEncoder) fragment(e *Entry) (fragment, error) {
	h, base := e.Hazard, k.options.Base
	r := e.record(&k.options)
	look, names := lookOf(h.Severity), dataNames()
	page := pageURL(base, h)
	b := append(k.text[:0], `<Placemark id="hazard-`...)
	b = append(append(b, h.UUID.String()...), '"', '>')
	b = appendElement(b, "name", r.tidy(h.Name))
	b = append(appendEscaped(append(b, `<atom:link href="`...), cmp.Or(r.web, page)), `"></atom:link>`...)
	b = append(appendSnippet(append(b, `<Snippet>`...), h), `</Snippet>`...)
	b = appendBalloon(b, r.tidy(h.Description), page)
	// Without autoexpire the end is only expected: the hazard may last longer.
	end := hazard.Instant(0)
	if (h.AutoExpire || h.Status == hazard.Expired) && h.End >= h.Start {
		end = h.End
	}
	b = appendSpan(b, h.Start, end)
	b = append(b, `<Style><IconStyle><scale>1.1</scale><Icon>`...)
	b = appendElement(b, "href", symbolURL(base, h))
	b = append(append(b, look...), `<ExtendedData>`...)
	for i := range names {
		b = append(b, names[i]...)
		if v := &r.values[i]; v.bare {
			b = append(b, v.text...)
		} else {
			b = appendEscaped(b, r.text(i))
		}
		b = append(b, `</value></Data>`...)
	}
	b = append(b, `</ExtendedData>`...)
	// The point carries the symbol, alone or with the shape.
	point := []geo.Position{{h.Longitude, h.Latitude}}
	if r.shape.IsZero() || r.shape.IsPoint() {
		b = appendPoint(b, point)
	} else {
		b = appendPoint(append(b, `<MultiGeometry>`...), point)
		b = append(appendParts(b, r.shape), `</MultiGeometry>`...)
	}
	k.text = append(b, `</Placemark>`...)
	return fragment{text: k.text}, nil
}

// appendSpan appends a time span; without an end if that is zero.
func appendSpan(b []byte, begin, end hazard.Instant) []byte {
	b = appendElement(append(b, `<TimeSpan>`...), "begin", rfc3339(begin))
	if end != 0 {
		b = appendElement(b, "end", rfc3339(end))
	}
	return append(b, `</TimeSpan>`...)
}

// lookOf is what ends the style of a hazard after its symbol.
//
// All of the style stands in each placemark: of one that also names a shared style, OpenLayers takes its own alone, and
// leaves out the colours of the other. Sections 12.9 and 12.10: colours are alpha, blue, green, red.
// The area lets the map be seen through it.
func lookOf(s hazard.Severity) string { return looks()[s-hazard.Termination] }

var looks = sync.OnceValue(func() (all []string) {
	for _, i := range hazard.Severities() {
		colour := fmt.Sprintf("%02x%02x%02x", i.Colour[2], i.Colour[1], i.Colour[0])
		b := []byte(`</Icon></IconStyle><LabelStyle><scale>0.8</scale></LabelStyle>`)
		all = append(all, string(append(appendColours(b, "ff"+colour, "4d"+colour), `</Style>`...)))
	}
	return all
})

// dataNames is what stands before the value of each column.
var dataNames = sync.OnceValue(func() (all []string) {
	for _, c := range columns() {
		all = append(all, `<Data name="`+escaped(c.Name)+`"><value>`)
	}
	return all
})

// appendColours appends the styles of lines and areas.
func appendColours(b []byte, line, fill string) []byte {
	b = appendElement(append(b, `<LineStyle>`...), "color", line)
	b = append(b, `<width>2</width></LineStyle><PolyStyle>`...)
	return append(appendElement(b, "color", fill), `</PolyStyle>`...)
}

func appendData(b []byte, name, value string) []byte {
	b = append(appendEscaped(append(b, `<Data name="`...), name), '"', '>')
	return append(appendElement(b, "value", value), `</Data>`...)
}

func (k *kmlEncoder) end(out *bufio.Writer, n int) error {
	if !k.options.Single && k.folder != hazard.NoSeverity {
		out.WriteString(`</Folder>`)
	}
	// A globe reads the next page by itself, and so all of them.
	if p := k.options.page(n); p.next() != "" {
		fmt.Fprintf(out, `<NetworkLink><name>The next page, of %d hazards in all</name><Link><href>%s</href></Link></NetworkLink>`, p.Matched, escaped(p.next()))
	}
	out.WriteString("</Document></kml>\n")
	return nil
}

// appendParts appends the geometries of a shape.
func appendParts(b []byte, shape geo.Shape) []byte {
	for _, p := range shape.Points() {
		b = appendPoint(b, []geo.Position{p})
	}
	for _, l := range shape.Lines() {
		b = append(b, `<LineString><tessellate>1</tessellate>`...) // it follows the ground
		b = append(appendCoordinates(b, l), `</LineString>`...)
	}
	for _, rings := range shape.Polygons() {
		b = append(b, `<Polygon><tessellate>1</tessellate>`...)
		for i, ring := range rings {
			boundary := "outerBoundaryIs"
			if i > 0 {
				boundary = "innerBoundaryIs"
			}
			b = append(append(append(b, '<'), boundary...), `><LinearRing>`...)
			b = append(append(append(appendCoordinates(b, ring), `</LinearRing></`...), boundary...), '>')
		}
		b = append(b, `</Polygon>`...)
	}
	return b
}

func appendPoint(b []byte, at []geo.Position) []byte {
	return append(appendCoordinates(append(b, `<Point>`...), at), `</Point>`...)
}

func appendCoordinates(b []byte, ps []geo.Position) []byte {
	b = append(b, `<coordinates>`...)
	for i, p := range ps {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(appendDegrees(b, p[0]), ',')
		b = appendDegrees(b, p[1])
	}
	return append(b, `</coordinates>`...)
}

// appendSnippet appends what a list of places shows below the name.
func appendSnippet(b []byte, h *hazard.Hazard) []byte {
	b = append(append(b, severityName(h.Severity)...), ", "...)
	b = append(appendEscaped(b, typeName(h.Type)), ", since "...)
	return h.Start.Time().AppendFormat(b, "2 Jan 15:04 UTC")
}

// appendBalloon appends the description as HTML, which is what is made of it: the texts are escaped once for HTML, and then, as all
// content, for XML. There is no CDATA section that a text could end.
func appendBalloon(b []byte, description, page string) []byte {
	b = appendReplaced(append(b, `<description>&lt;p&gt;`...), description, &htmlEntities)
	b = append(b, `&lt;/p&gt;&lt;p&gt;&lt;a href=&#34;`...)
	b = appendReplaced(b, page, &htmlEntities)
	return append(b, `&#34;&gt;More of this hazard&lt;/a&gt;&lt;/p&gt;</description>`...)
}

// htmlEntities are what stands in XML for what stands in HTML for the characters that cannot stand for themselves.
var htmlEntities = func() (all [256]string) {
	for c, e := range entities {
		all[c] = e
		if e != "" {
			all[c] = string(appendEscaped(nil, html.EscapeString(string(rune(c)))))
		}
	}
	all['\n'] = escaped("<br/>")
	return all
}()

func severityName(s hazard.Severity) string {
	for _, i := range hazard.Severities() {
		if i.Severity == s {
			return i.Name
		}
	}
	return ""
}

// typeName is a type as people call it. The base interface gives a file name for one of them (section 2.3).
func typeName(t hazard.Type) string {
	if t == hazard.PoliticalConflict {
		return "Political Conflict"
	}
	i, _ := t.Info()
	return i.Name
}

// NetworkLink is a KML document that holds no hazard, but makes a globe read the document at href
// at the interval every (section 13.1). It is the file to hand out, since it never changes. The interval is
// whole seconds, at least one.
func NetworkLink(title, href string, every time.Duration) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, header+kmlNamespaces+`<NetworkLink><name>%s</name><open>1</open><Link><href>%s</href><refreshMode>onInterval</refreshMode>`+
		"<refreshInterval>%d</refreshInterval></Link></NetworkLink></kml>\n", escaped(title), escaped(href), max(1, int(every.Seconds())))
	return out.Bytes()
}

// regionDegrees is the side of a region of RegionLinks.
const regionDegrees = 45

// RegionLinks is a KML document like NetworkLink for a list of the whole world: a globe reads only the
// regions that are in sight (section 12.17), so that no answer is large. href returns the document of
// a region.
func RegionLinks(title string, href func(region geo.Box) string, every time.Duration) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, header+kmlNamespaces+`<Document><name>%s</name><open>1</open>`, escaped(title))
	for south := -90; south < 90; south += regionDegrees {
		for west := -180; west < 180; west += regionDegrees {
			east, north := west+regionDegrees, south+regionDegrees
			fmt.Fprintf(&out, `<NetworkLink><name>%d to %d degrees east, %d to %d north</name><Region><LatLonAltBox><north>%d</north><south>%d</south><east>%d</east><west>%d</west></LatLonAltBox>`+
				`<Lod><minLodPixels>1</minLodPixels></Lod></Region><Link><href>%s</href><refreshMode>onInterval</refreshMode><refreshInterval>%d</refreshInterval><viewRefreshMode>onRegion</viewRefreshMode></Link></NetworkLink>`,
				west, east, south, north, north, south, east, west, escaped(href(geo.Box{West: float64(west), South: float64(south), East: float64(east), North: float64(north)})), max(1, int(every.Seconds())))
		}
	}
	out.WriteString("</Document></kml>\n")
	return out.Bytes()
}
