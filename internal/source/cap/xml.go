package cap

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"

	"hazardd/internal/source"
)

// What a document may hold. Real ones have 12 levels, 5 attributes, names of 40 bytes.
const (
	maxDepth = 64
	maxAttrs = 64
	maxName  = 1 << 10 // bytes
	// The elements that cost much more memory than bytes. The largest real messages have some ten thousand areas.
	maxAlerts = 20_000
	maxInfos  = 20_000
	maxAreas  = 200_000
)

// guard is a stream of XML tokens within the limits, without document type.
type guard struct {
	dec   *xml.Decoder
	depth int
	count map[string]int
	start int64 // offset of the last token
}

// newGuard reads text, which is UTF-8 whatever it declares.
func newGuard(text []byte) *guard {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return &guard{dec: d, count: map[string]int{}}
}

// Token is the next raw token; its error is a *source.PayloadError, an *xml.SyntaxError or io.EOF.
func (g *guard) Token() (xml.Token, error) {
	g.start = g.dec.InputOffset()
	t, err := g.dec.RawToken()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case xml.Directive:
		return nil, source.Errorf("a document type (<!%.40s), expected none", t)
	case xml.StartElement:
		if err := g.element(t); err != nil {
			return nil, err
		}
	case xml.EndElement:
		g.depth--
	}
	return t, nil
}

func (g *guard) element(t xml.StartElement) error {
	if g.depth++; g.depth > maxDepth {
		return source.Errorf("elements nested deeper than %d", maxDepth)
	}
	if len(t.Name.Local) > maxName {
		return source.Errorf("the name of an element has %d bytes, expected at most %d", len(t.Name.Local), maxName)
	}
	if len(t.Attr) > maxAttrs {
		return source.Errorf("%.40s: %d attributes, expected at most %d", t.Name.Local, len(t.Attr), maxAttrs)
	}
	for i, a := range t.Attr {
		if slices.ContainsFunc(t.Attr[:i], func(b xml.Attr) bool { return a.Name == b.Name }) {
			return source.Errorf("%.40s: attribute %.40s given twice", t.Name.Local, a.Name.Local)
		}
	}
	if most := map[string]int{"alert": maxAlerts, "info": maxInfos, "area": maxAreas}[t.Name.Local]; most > 0 {
		if g.count[t.Name.Local]++; g.count[t.Name.Local] > most {
			return source.Errorf("more than %d elements %s", most, t.Name.Local)
		}
	}
	return nil
}

// broken is the error of a document that cannot be read further.
func broken(err error, at int64) error {
	if bad, ok := errors.AsType[*source.PayloadError](err); ok {
		return bad
	}
	bad, isSyntax := errors.AsType[*xml.SyntaxError](err)
	if errors.Is(err, io.EOF) || isSyntax && bad.Msg == "unexpected EOF" {
		return &source.PayloadError{Reason: fmt.Sprintf("ends early, at byte %d", at), Cut: true}
	}
	return &source.PayloadError{Reason: fmt.Sprintf("not XML at byte %d: %.200v", at, err), Cut: true}
}
