package nhc

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
	"hazardd/internal/source/frame"
)

// item is an item of the RSS of a basin (nhc.noaa.gov/aboutrss.shtml). Those about one storm's present state hold nhc:Cyclone; of the
// others only that is read of which something is made.
type item struct {
	Title string
	GUID  string // "summary-al012022-202206060549": with the minute at which it was made
	Link  string
	// PubDate is RFC 1123; empty in an item that says that there is nothing.
	PubDate     string
	Description string // HTML, with the text of the product in it
	// Cyclone is nil in an item that is not about the present state of a storm.
	Cyclone *cyclone
}

// cyclone is the element nhc:Cyclone, whose children are texts for people.
type cyclone struct {
	Center   string // "32.9, -68.1": latitude first
	Type     string // "Tropical Storm"
	Name     string
	ATCF     string // "AL012022"
	Movement string // "ENE at 28 mph"
	Pressure string // "986 mb"
	Wind     string // "70 mph"
	Headline string // "...TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA..."
}

// field is where the text of an element goes.
func (it *item) field(path []string) *string {
	if len(path) == 0 {
		return nil
	}
	name := path[len(path)-1]
	if it.Cyclone != nil && len(path) == 2 && path[0] == "Cyclone" {
		c := it.Cyclone
		return map[string]*string{"center": &c.Center, "type": &c.Type, "name": &c.Name, "atcf": &c.ATCF, "movement": &c.Movement,
			"pressure": &c.Pressure, "wind": &c.Wind, "headline": &c.Headline}[name]
	}
	if len(path) == 1 {
		return map[string]*string{"title": &it.Title, "guid": &it.GUID, "link": &it.Link, "pubDate": &it.PubDate, "description": &it.Description}[name]
	}
	return nil
}

const (
	// maxDepth bounds how deep elements may lie in each other. RSS has five.
	maxDepth = 32
	// maxItems bounds the items of a document. The longest recorded has seven; a season's busiest day about forty.
	maxItems = 1000
)

// xml reads an RSS, or a single item of one.
func (p *parser) xml(doc []byte) error {
	root := ""
	dec := xml.NewDecoder(bytes.NewReader(readableXML(doc)))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // the bytes are UTF-8 by now
	var path []string                                                                      // of the elements that are open
	var it *item
	var text []byte // of the element that is open
	depth := 0      // of the item
	quiet, cyclones, items := false, 0, 0
	for {
		token, err := dec.RawToken() // checks no nesting, and so keeps nothing: that is done here
		if err == io.EOF {
			break
		}
		if err != nil {
			return p.brokenXML(dec, err, len(path))
		}
		switch t := token.(type) {
		case xml.Directive:
			return source.Errorf("a document type (%s), expected RSS without one", frame.Excerpt(t))
		case xml.StartElement:
			name := t.Name.Local
			if len(path) == maxDepth {
				return source.Errorf("elements within each other more than %d deep, expected RSS", maxDepth)
			}
			if len(path) == 0 && root != "" {
				return source.Errorf("<%s> after the end of the document, at byte %d", frame.ExcerptText(name), dec.InputOffset())
			}
			if len(path) == 0 {
				root = name
				switch name {
				case "rss", "item":
				case "kml":
					p.batch.Read++
					p.ignore("outlook")
					return nil
				case "html":
					return source.Errorf("HTML instead of RSS: %s", frame.Excerpt(doc))
				default:
					return source.Errorf("<%s>, expected <rss>", frame.ExcerptText(name))
				}
			}
			if strings.EqualFold(name, "html") {
				return source.Errorf("HTML instead of RSS: %s", frame.Excerpt(doc))
			}
			path, text = append(path, name), text[:0]
			switch {
			case it == nil && name == "item":
				if items++; items > maxItems {
					return source.Errorf("more than %d items, expected a basin's RSS", maxItems)
				}
				it, depth = &item{}, len(path)
			case it != nil && it.Cyclone == nil && len(path) == depth+1 && name == "Cyclone":
				it.Cyclone = &cyclone{}
			}
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1] != t.Name.Local {
				return &source.PayloadError{Reason: fmt.Sprintf("</%s> at byte %d, expected the end of another element", frame.ExcerptText(t.Name.Local), dec.InputOffset()), Cut: true}
			}
			if it != nil && len(path) > depth {
				if to := it.field(path[depth:]); to != nil {
					*to = string(text)
				}
			}
			text = text[:0]
			if it != nil && len(path) == depth {
				if it.Cyclone != nil {
					cyclones++
				}
				quiet = quiet || strings.HasPrefix(it.Title, noStorms)
				p.item(it, items-1)
				it = nil
			}
			path = path[:len(path)-1]
		case xml.CharData:
			if it != nil {
				text = append(text, t[:min(len(t), maxText-len(text))]...)
			}
		}
	}
	switch {
	case root == "":
		return source.Errorf("XML without an element, expected <rss>")
	case len(path) > 0:
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes, in <%s>", len(doc), frame.ExcerptText(path[len(path)-1])), Cut: true}
	}
	// A basin's RSS names its storms, or says that there are none.
	p.whole = root == "rss" && (cyclones > 0 || quiet)
	return nil
}

// noStorms begins the title of the item that says that a basin has no storm.
const noStorms = "There are no tropical cyclones"

// readableXML is the document in UTF-8, whatever it declares: what is not UTF-8 is Windows-1252, as all of Latin-1 that is text.
func readableXML(doc []byte) []byte {
	if utf8.Valid(doc) {
		return doc
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(doc)
	if err != nil {
		return bytes.ToValidUTF8(doc, []byte(" "))
	}
	return out
}

func (p *parser) brokenXML(dec *xml.Decoder, err error, open int) error {
	if open > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "unexpected EOF")) {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes", dec.InputOffset()), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not XML at byte %d: %s", dec.InputOffset(), frame.ExcerptText(err.Error())), Cut: true}
}

// item reads an item, the i-th.
func (p *parser) item(it *item, i int) {
	p.batch.Read++
	where := "item/" + strconv.Itoa(i)
	if it.Cyclone != nil {
		f, reason := it.fix()
		if reason == "" {
			reason = p.add(f, formRSS)
		}
		if reason != "" {
			p.reject(cmp.Or(atcfID(it.Cyclone.ATCF), where), reason, fmt.Appendf(nil, "%+v", *it.Cyclone))
		}
		return
	}
	if isTCM([]byte(it.Description)) {
		p.tcm(strings.ToUpper(flatten(plain(it.Description))), []byte(it.Description))
		return
	}
	title := strings.ToLower(frame.Clip(hazard.CleanLine(frame.Clip(it.Title, 4*maxName)), 4*maxName))
	switch {
	case strings.HasPrefix(title, "summary for"):
		p.reject(where, "nhc:Cyclone: missing, expected one in "+frame.ExcerptText(it.Title), []byte(it.Title+"\n"+it.Description))
	case strings.HasPrefix(title, strings.ToLower(noStorms)):
		p.ignore("none")
	case strings.Contains(title, "outlook"):
		p.ignore("outlook")
	case strings.Contains(title, "public advisory"), strings.Contains(title, "forecast adv"): // without the text of the latter
		p.ignore("public")
	default:
		p.ignore("document")
	}
}

var tag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

// plain is what is in a piece of HTML, without its tags.
func plain(markup string) string {
	return html.UnescapeString(tag.ReplaceAllString(markup, " "))
}

var (
	mph      = regexp.MustCompile(`(?i)^(\d{1,3}) mph$`)
	millibar = regexp.MustCompile(`(?i)^(\d{3,4}) (?:mb|hpa)$`)
	madeAt   = regexp.MustCompile(`-(\d{12})$`)
)

// fix is what nhc:Cyclone says of a storm.
func (it *item) fix() (f fix, reason string) {
	c := it.Cyclone
	f = fix{id: atcfID(c.ATCF), name: c.Name, url: webAddress(it.Link)}
	if f.id == "" {
		return f, "nhc:atcf: " + cmp.Or(frame.ExcerptText(c.ATCF), frame.Nothing) + ", expected an ATCF identity such as AL012022"
	}
	issued, ok := parseTime(it.PubDate)
	if m := madeAt.FindStringSubmatch(strings.TrimSpace(it.GUID)); !ok && m != nil {
		issued, ok = parseTime(m[1][:4] + "-" + m[1][4:6] + "-" + m[1][6:8] + "T" + m[1][8:10] + ":" + m[1][10:] + ":00Z")
	}
	if f.issued = issued; !ok {
		return f, "pubDate: " + cmp.Or(frame.ExcerptText(it.PubDate), frame.Nothing) + ", expected a time of RFC 1123"
	}
	class, rest := classOfWords(c.Type)
	if class != nil && rest == "" || class != nil && class.words == "Remnants of" {
		f.class = class
	} else if strings.EqualFold(strings.TrimSpace(c.Type), "Remnants") {
		f.class, _ = classOfWords("Remnants of")
	} else {
		f.doubts = append(f.doubts, "nhc:type: "+cmp.Or(frame.ExcerptText(c.Type), frame.Nothing)+", expected a class such as Tropical Storm")
	}
	lat, lon, _ := strings.Cut(c.Center, ",")
	if f.point = onEarth(decimal(lon), decimal(lat)); f.point == nil {
		return f, "nhc:center: " + cmp.Or(frame.ExcerptText(c.Center), frame.Nothing) + ", expected latitude and longitude"
	}
	if m := mph.FindStringSubmatch(strings.TrimSpace(c.Wind)); m != nil {
		// The centre works in steps of 5 kt and rounds to 5 mph for people: back to where it came from.
		v := integer(m[1])
		f.wind = frame.Number{Value: float64(int(v.Value/1.150779/5+0.5)) * 5, Known: v.Known}
	}
	if m := millibar.FindStringSubmatch(strings.TrimSpace(c.Pressure)); m != nil {
		f.pressure = integer(m[1])
	}
	f.movement = frame.Clip(hazard.CleanLine(frame.Clip(c.Movement, 4*maxName)), maxName)
	f.headline = sentence(c.Headline)
	return f, ""
}

func decimal(s string) frame.Number {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return frame.Number{Value: v, Known: err == nil && v == v}
}

// maxHeadline bounds a headline, in bytes.
const maxHeadline = 500

// sentence is a headline without its dots: "TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA".
func sentence(headline string) string {
	parts := strings.Split(frame.Clip(hazard.CleanLine(frame.Clip(headline, 4*maxHeadline)), maxHeadline), "...")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}
