package gvp

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
)

// item is what the feed says of one volcano in one week (RSS 2.0, GeoRSS Simple).
type item struct {
	title       string // "Name (Country) - Report for 10 September-16 September 2026 - New Eruptive Activity"
	description string // the report, as HTML
	link        string // the page of all reports
	guid        string // the same with "#vn_" and the volcano's number, the only place where that is
	pubDate     string // when the week's reports were published: the same for all
	point       string // georss:point: latitude, longitude
}

// georss is the namespace of the position. A prefix that nobody declared counts as itself.
var georss = []string{"http://www.georss.org/georss", "georss"}

// field is the member that an element of an item fills, nil if it is not read.
func (it *item) field(name xml.Name) *string {
	switch {
	case name.Local == "point" && slices.Contains(georss, name.Space):
		return &it.point
	case name.Space != "":
		return nil
	}
	switch name.Local {
	case "title":
		return &it.title
	case "description":
		return &it.description
	case "link":
		return &it.link
	case "guid":
		return &it.guid
	case "pubDate":
		return &it.pubDate
	}
	return nil
}

// The limits of a document: RSS is five elements deep, and no element of it has more than three attributes. A field is
// a hundred times the longest recorded.
const (
	maxDepth      = 32
	maxAttributes = 64
	maxField      = 256 << 10 // bytes
)

// maxRejects is how many unreadable records a payload may hold: beyond it the payload, not the record, is at fault.
const maxRejects = 1000

// Parse reads the feed. Items are read one after the other: one that cannot be read makes a Reject, and its neighbours stay.
//
// The error, if any, is a *source.PayloadError. What could be read before it is in the Batch nevertheless.
func Parse(payload []byte, now hazard.Instant) (source.Batch, error) {
	p := parser{now: now}
	text, err := decode(payload)
	if err == nil {
		err = p.document(text)
	}
	return p.batch, err
}

type parser struct {
	now   hazard.Instant
	batch source.Batch
	// known are the reports of one volcano, week and moment, to find copies, and those that contradict each other.
	known map[string][]reported
}

// reported is an item and its report's place in the batch.
type reported struct {
	item
	at int
}

// decode makes UTF-8 of the payload. The feed declares ISO-8859-1; the bytes are believed before the declaration: what is UTF-8
// is UTF-8, and anything else is Windows-1252, of which ISO-8859-1 is the part without typographic quotes.
func decode(payload []byte) ([]byte, error) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff", "<\x00", "\x00<"} {
		if bytes.HasPrefix(payload, []byte(mark)) {
			return nil, source.Errorf("UTF-16, expected ISO-8859-1 or UTF-8")
		}
	}
	payload = bytes.TrimSpace(bytes.TrimPrefix(payload, []byte("\ufeff")))
	if !utf8.Valid(payload) {
		payload, _ = charmap.Windows1252.NewDecoder().Bytes(payload) // knows each byte
	}
	switch {
	case len(payload) == 0:
		return nil, source.Errorf("an empty payload, expected RSS")
	case payload[0] != '<':
		return nil, source.Errorf("begins with %q, expected RSS", excerpt(string(payload)))
	}
	return payload, nil
}

// declared accepts the encodings that decode has dealt with.
func declared(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "iso-8859-1", "latin1", "windows-1252", "cp1252", "us-ascii", "utf8":
		return input, nil
	}
	return nil, fmt.Errorf("encoding %q, expected ISO-8859-1 or UTF-8", excerpt(label))
}

func (p *parser) document(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = declared
	var (
		path     []xml.Name
		it       *item
		into     *string // the field that character data go to
		words    []byte  // of that field
		begin    int64   // of the item
		channels int
		over     bool // the root has ended
	)
	for {
		at := d.InputOffset()
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return broken(err, at)
		}
		switch token := token.(type) {
		case xml.Directive:
			return source.Errorf("begins with <!%s>, expected RSS without a document type", excerpt(string(token)))
		case xml.StartElement:
			switch {
			case over:
				return source.Errorf("a second root element %q at byte %d", excerpt(token.Name.Local), at)
			case len(path) >= maxDepth:
				return source.Errorf("more than %d elements deep at byte %d", maxDepth, at)
			case len(token.Attr) > maxAttributes:
				return source.Errorf("%d attributes at byte %d, expected at most %d", len(token.Attr), at, maxAttributes)
			}
			path = append(path, token.Name)
			switch {
			case len(path) == 1 && (token.Name != xml.Name{Local: "rss"}):
				return source.Errorf("the root element is %q, expected rss", excerpt(token.Name.Local))
			case len(path) == 2 && token.Name == xml.Name{Local: "channel"}:
				channels++
			case len(path) == 3 && path[1].Local == "channel" && token.Name == xml.Name{Local: "item"}:
				it, begin = &item{}, at
			case len(path) == 4 && it != nil:
				if into, words = it.field(token.Name), words[:0]; into != nil && *into != "" {
					into = nil // the first of several
				}
			}
		case xml.CharData:
			switch {
			case into != nil:
				words = append(words, token[:min(len(token), maxField-len(words))]...)
			case over && len(bytes.TrimSpace(token)) > 0:
				return source.Errorf("%q after the end of the document", excerpt(string(token)))
			}
		case xml.EndElement:
			if len(path) == 3 && it != nil {
				if err := p.record(it, text[begin:d.InputOffset()]); err != nil {
					return err
				}
				it = nil
			}
			if len(path) == 4 && into != nil {
				*into = strings.ToValidUTF8(string(words), "")
				into = nil
			}
			path = path[:len(path)-1]
			over = len(path) == 0
		}
	}
	switch {
	case !over:
		return source.Errorf("no root element, expected rss")
	case channels == 0:
		return source.Errorf("no channel in rss, expected one")
	}
	return nil
}

// broken is the error of a document that cannot be read further.
func broken(err error, at int64) error {
	bad, ok := errors.AsType[*xml.SyntaxError](err)
	cut := ok && bad.Msg == "unexpected EOF"
	if cut {
		return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, near byte %d", at), Cut: true}
	}
	return source.Errorf("not XML near byte %d: %s", at, hazard.CleanLine(clip(err.Error(), 200)))
}

// record reads one item. It fails only when there are too many bad ones.
func (p *parser) record(it *item, raw []byte) error {
	i := p.batch.Read
	p.batch.Read++
	r, err := report(it, p.now)
	if err != nil {
		return p.reject(fmt.Sprintf("items/%d", i), it, err.Error(), raw)
	}
	// The feed has each volcano once. Of two items of one volcano, week and moment nobody knows which counts.
	id := fmt.Sprintf("%s %s %d", r.Key, r.Part, r.Version)
	for _, other := range p.known[id] {
		if other.item == *it {
			p.batch.Ignored++ // a copy
			return nil
		}
	}
	if p.known == nil {
		p.known = map[string][]reported{}
	}
	p.known[id] = append(p.known[id], reported{*it, len(p.batch.Reports)})
	p.batch.Reports = append(p.batch.Reports, r)
	if same := p.known[id]; len(same) > 1 {
		for _, other := range same {
			if r := &p.batch.Reports[other.at]; !strings.HasSuffix(r.Suspect, clash) {
				r.Suspect = joined("; ", r.Suspect, clash)
			}
		}
	}
	return nil
}

// clash is why nobody can tell which of several items counts.
const clash = "another item of the same volcano, week and pubDate says something else"

func (p *parser) reject(where string, it *item, reason string, raw []byte) error {
	if len(p.batch.Rejects) >= maxRejects {
		return source.Errorf("more than %d unreadable records, the last %s: %s", maxRejects, where, hazard.CleanLine(reason))
	}
	if n := number(it); n != "" {
		where = n
	}
	p.batch.Rejects = append(p.batch.Rejects, source.Reject{Record: where, Reason: hazard.CleanLine(reason), Raw: source.Keep(raw)})
	return nil
}
