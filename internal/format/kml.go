package format

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"strings"
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

type placemark struct {
	XMLName     xml.Name   `xml:"Placemark"`
	ID          string     `xml:"id,attr"`
	Name        string     `xml:"name"`
	Link        kmlLink    `xml:"atom:link"`
	Snippet     string     `xml:"Snippet"`
	Description string     `xml:"description"`
	TimeSpan    timeSpan   `xml:"TimeSpan"`
	Style       kmlStyle   `xml:"Style"`
	Data        []kmlData  `xml:"ExtendedData>Data"`
	Point       *kmlPoint  `xml:"Point,omitempty"`
	Multi       *kmlShapes `xml:"MultiGeometry,omitempty"`
}

// kmlStyle is all of a placemark's style: of a placemark that also names a shared style, OpenLayers
// takes its own alone, and leaves out the colours of the other.
type kmlStyle struct {
	IconScale  float64 `xml:"IconStyle>scale"`
	Icon       string  `xml:"IconStyle>Icon>href"`
	LabelScale float64 `xml:"LabelStyle>scale"`
	Line       string  `xml:"LineStyle>color"`
	Width      int     `xml:"LineStyle>width"`
	Fill       string  `xml:"PolyStyle>color"`
}

// styleOf is the style in the colour of the severity.
func (k *kmlEncoder) styleOf(h *hazard.Hazard) kmlStyle {
	// Sections 12.9 and 12.10: colours are alpha, blue, green, red. The area lets the map be seen through it.
	c := hazard.Severities()[h.Severity-hazard.Termination].Colour
	colour := fmt.Sprintf("%02x%02x%02x", c[2], c[1], c[0])
	return kmlStyle{1.1, symbolURL(k.options.Base, h), 0.8, "ff" + colour, 2, "4d" + colour}
}

type kmlLink struct {
	Href string `xml:"href,attr"`
}

type timeSpan struct {
	Begin string `xml:"begin"`
	End   string `xml:"end,omitempty"`
}

type kmlData struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value"`
}

type kmlPoint struct {
	Coordinates string `xml:"coordinates"`
}

type kmlShapes struct {
	Points   []kmlPoint   `xml:"Point"`
	Lines    []kmlLine    `xml:"LineString"`
	Polygons []kmlPolygon `xml:"Polygon"`
}

type kmlLine struct {
	Tessellate  int    `xml:"tessellate"` // follow the ground
	Coordinates string `xml:"coordinates"`
}

type kmlPolygon struct {
	Tessellate int      `xml:"tessellate"`
	Outer      string   `xml:"outerBoundaryIs>LinearRing>coordinates"`
	Inner      []kmlRng `xml:"innerBoundaryIs"`
}

type kmlRng struct {
	Coordinates string `xml:"LinearRing>coordinates"`
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
	h := e.Hazard
	shape, role := e.shape()
	fields, err := newRecord(e, &k.options, role).fields()
	if err != nil {
		return fragment{}, err
	}
	p := placemark{
		ID: "hazard-" + h.UUID.String(), Name: clean(h.Name), Link: kmlLink{webURL(k.options.Base, h)}, Snippet: clean(snippet(h)), Description: balloon(h, k.options.Base),
		TimeSpan: timeSpan{Begin: rfc3339(h.Start)}, Style: k.styleOf(h),
	}
	// Without autoexpire the end is only expected: the hazard may last longer.
	if (h.AutoExpire || h.Status == hazard.Expired) && h.End >= h.Start {
		p.TimeSpan.End = rfc3339(h.End)
	}
	for _, f := range fields {
		p.Data = append(p.Data, kmlData{f.name, f.value})
	}
	p.Point, p.Multi = kmlGeometry(h, shape)
	return xmlFragment(&p)
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

// kmlGeometry is the point that carries the symbol, alone or with the shape.
func kmlGeometry(h *hazard.Hazard, shape geo.Shape) (*kmlPoint, *kmlShapes) {
	point := kmlPoint{tuples([]geo.Position{{h.Longitude, h.Latitude}})}
	if shape.IsZero() || shape.IsPoint() {
		return &point, nil
	}
	all := kmlParts(shape)
	all.Points = append([]kmlPoint{point}, all.Points...)
	return nil, &all
}

// kmlParts are the geometries of a shape.
func kmlParts(shape geo.Shape) (all kmlShapes) {
	for _, p := range shape.Points() {
		all.Points = append(all.Points, kmlPoint{tuples([]geo.Position{p})})
	}
	for _, l := range shape.Lines() {
		all.Lines = append(all.Lines, kmlLine{1, tuples(l)})
	}
	for _, rings := range shape.Polygons() {
		p := kmlPolygon{Tessellate: 1, Outer: tuples(rings[0])}
		for _, hole := range rings[1:] {
			p.Inner = append(p.Inner, kmlRng{tuples(hole)})
		}
		all.Polygons = append(all.Polygons, p)
	}
	return all
}

// tuples writes positions as KML has them.
func tuples(ps []geo.Position) string {
	b := make([]byte, 0, len(ps)*20)
	for i, p := range ps {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(appendDegrees(b, p[0]), ',')
		b = appendDegrees(b, p[1])
	}
	return string(b)
}

// snippet is what a list of places shows below the name.
func snippet(h *hazard.Hazard) string {
	return severityName(h.Severity) + ", " + typeName(h.Type) + ", since " + h.Start.Time().Format("2 Jan 15:04 UTC")
}

// balloon is the description as HTML, which is what is made of it: the texts are escaped once for HTML, and then, as all content, for
// XML. There is no CDATA section that a text could end.
func balloon(h *hazard.Hazard, base string) string {
	text := strings.ReplaceAll(html.EscapeString(clean(h.Description)), "\n", "<br/>")
	return fmt.Sprintf(`<p>%s</p><p><a href="%s">%s</a></p>`, text, html.EscapeString(pageURL(base, h)), "More of this hazard")
}

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
