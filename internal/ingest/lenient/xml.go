package lenient

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// XML describes an XML document around a list of records: RSS, Atom, an envelope of alerts, or a
// single alert. It is split into records by tags only, so that a record that is not well-formed
// does not affect others. Public libraries for feeds parse a document as a whole; they keep neither
// a record as received nor the alerts in it.
type XML struct {
	Want    string   // the expected kind of document, for errors: "RSS"
	Roots   []string // the allowed local names of the root element; empty allows any
	Records []string // the local names of the record elements, which are never nested
}

// Element is a record of a document.
type Element struct {
	Name string // its local name
	Raw  []byte // as received, in UTF-8
	// spaces holds the namespace declarations around the record, as attributes.
	spaces string
	bases  []string
	open   bool // its end tag is missing
}

// Bases returns the values of xml:base of the elements around e, outermost first.
func (e Element) Bases() []string { return slices.Clip(e.bases) }

// pageName is the root element of an HTML page. A page between records replaces a record that the
// server could not deliver. It is passed on like a record, so that the adapter rejects it.
const pageName = "html"

// maxDepth bounds the nesting of elements. Real documents have 12 levels.
const maxDepth = 64

// Read calls record for each record of a UTF-8 document (see Text), and returns the local name of
// the root element. The error is a *source.PayloadError. If its Cut is true, the records before the
// error are good.
func (k XML) Read(text []byte, record func(Element)) (root string, err error) {
	c := cutter{lexer: lexer{doc: text}, kind: k, record: record}
	return c.read()
}

// Within calls record for each element in e with one of the names, or for e itself if it has one.
func (e Element) Within(record func(Element), names ...string) {
	c := cutter{lexer: lexer{doc: e.Raw}, kind: XML{Records: names}, record: record, around: []tag{{spaces: e.spaces}}}
	_, _ = c.read()
	if c.inside {
		record(Element{Name: c.from.local(), Raw: c.doc[c.from.at:], spaces: c.from.spaces, open: true})
	}
}

// cutter reads a document once and splits it.
type cutter struct {
	lexer
	kind   XML
	record func(Element)

	root   string
	closed bool           // the root element has ended
	around []tag          // the open elements outside of records
	inside bool           // the position is in a record
	from   tag            // the start tag of that record
	open   map[string]int // the number of elements that are open in it, by name
}

// tag is the start tag of an element.
type tag struct {
	name   string // with its prefix
	at     int
	spaces string // the namespace declarations that are valid in the element
	bases  []string
}

func (t tag) local() string { return t.name[strings.IndexByte(t.name, ':')+1:] }

func (c *cutter) read() (string, error) {
	nested := len(c.around) > 0
	for {
		lex, ok := c.next()
		if !ok {
			break
		}
		switch lex.kind {
		case lexText:
			if len(c.around) == 0 && !c.inside && len(bytes.TrimSpace(c.doc[lex.from:lex.until])) > 0 {
				if c.root == "" {
					return "", source.Errorf("begins with %s, expected %s", Excerpt(c.doc[lex.from:]), c.kind.Want)
				}
				return c.root, &source.PayloadError{Reason: "text outside of the root element, expected none: " + Excerpt(c.doc[lex.from:lex.until]), Cut: true}
			}
		case lexDirective:
			if !c.inside && c.root == "" { // one in the middle belongs to an HTML page: see pageName
				return c.root, source.Errorf("a document type (%s), expected none", Excerpt(c.doc[lex.from:lex.until]))
			}
		case lexStart:
			if err := c.start(lex, nested); err != nil {
				return c.root, err
			}
		case lexEnd:
			c.end(lex)
		}
	}
	switch {
	case nested:
		return "", nil
	case c.root == "" && len(bytes.TrimSpace(c.doc)) == 0:
		return "", source.Errorf("an empty payload, expected %s", c.kind.Want)
	case c.root == "":
		return "", source.Errorf("no root element, expected %s", c.kind.Want)
	case !c.closed:
		return c.root, &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes", len(c.doc)), Cut: true}
	}
	return c.root, nil
}

func (c *cutter) start(lex lexeme, nested bool) error {
	t := tag{name: lex.name, at: lex.from}
	if !nested && len(c.around) == 0 && !c.inside {
		switch local := t.local(); {
		case c.root != "":
			return &source.PayloadError{Reason: fmt.Sprintf("a second root element %q, expected one", ExcerptText(local)), Cut: true}
		case strings.EqualFold(local, "html"):
			return source.Errorf("an HTML page, expected %s", c.kind.Want)
		case len(c.kind.Roots) > 0 && !slices.Contains(c.kind.Roots, local):
			return source.Errorf("the root element is %q, expected %s", ExcerptText(local), c.kind.Want)
		default:
			c.root = local
		}
	}
	isRecord := slices.Contains(c.kind.Records, t.local())
	switch {
	case c.inside && (t.name == c.from.name || isRecord && c.from.local() == pageName): // the record before has no end tag
		c.finish(lex.from, true)
	case c.inside:
		if !lex.alone {
			c.open[lex.name]++
		}
		return nil
	}
	if n := len(c.around); n > 0 {
		t.spaces, t.bases = c.around[n-1].spaces, c.around[n-1].bases
	}
	if isRecord || !nested && t.local() == pageName {
		c.inside, c.from, c.open = true, t, map[string]int{}
		if lex.alone {
			c.finish(lex.until, false)
		}
		return nil
	}
	if lex.alone {
		c.closed = c.closed || len(c.around) == 0
		return nil
	}
	if len(c.around) == maxDepth {
		return &source.PayloadError{Reason: fmt.Sprintf("elements nested deeper than %d", maxDepth), Cut: true}
	}
	t.spaces = joinSpaces(c.doc[lex.from:lex.until], t.spaces)
	if base := baseOf(c.doc[lex.from:lex.until]); base != "" {
		t.bases = append(slices.Clip(t.bases), base)
	}
	c.around = append(c.around, t)
	return nil
}

// end closes the record, or an element around it. In the second case, a record that is still open
// has no end tag.
func (c *cutter) end(lex lexeme) {
	if c.inside && lex.name == c.from.name {
		c.finish(lex.until, false)
		return
	}
	if c.inside && c.open[lex.name] > 0 {
		c.open[lex.name]--
		return
	}
	i := len(c.around) - 1
	for i >= 0 && c.around[i].name != lex.name {
		i--
	}
	if i < 0 {
		return
	}
	if c.inside {
		c.finish(lex.from, true)
	}
	c.around = c.around[:i]
	c.closed = c.closed || i == 0
}

func (c *cutter) finish(until int, open bool) {
	c.inside = false
	c.closed = c.closed || len(c.around) == 0
	c.record(Element{Name: c.from.local(), Raw: bytes.TrimSpace(c.doc[c.from.at:until:until]), spaces: c.from.spaces, bases: c.from.bases, open: open})
}

// baseOf returns the xml:base of a start tag, without blanks around it.
func baseOf(start []byte) string {
	if !bytes.Contains(start, []byte("xml:base")) {
		return ""
	}
	d := xml.NewDecoder(bytes.NewReader(start))
	d.Strict = false
	token, _ := d.RawToken()
	element, _ := token.(xml.StartElement)
	for _, a := range element.Attr {
		if a.Name.Space == "xml" && a.Name.Local == "base" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// joinSpaces returns the namespace declarations of a start tag together with those around it.
func joinSpaces(start []byte, around string) string {
	if !bytes.Contains(start, []byte("xmlns")) {
		return around
	}
	d := xml.NewDecoder(bytes.NewReader(start))
	d.Strict = false
	token, _ := d.RawToken()
	element, ok := token.(xml.StartElement)
	if !ok {
		return around
	}
	var names []string
	var own strings.Builder
	for _, a := range element.Attr {
		name := ""
		switch {
		case a.Name.Space == "xmlns":
			name = "xmlns:" + a.Name.Local
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			name = "xmlns"
		default:
			continue
		}
		names = append(names, name)
		own.WriteString(" " + name + `="`)
		_ = xml.EscapeText(&own, []byte(a.Value))
		own.WriteString(`"`)
	}
	// Of two declarations of one prefix, the inner one is valid.
	for a := range strings.FieldsSeq(around) {
		if name, _, _ := strings.Cut(a, "="); !slices.Contains(names, name) && own.Len() < 4<<10 {
			own.WriteString(" " + a)
		}
	}
	return own.String()
}

// Limits bounds the elements of one record, because they need much more memory than their bytes.
type Limits struct {
	Elements int            // largest number of elements
	Each     map[string]int // largest numbers of elements, by local name
}

// Decode decodes the record into the struct to, by the local names of its elements. It repairs XML
// that is not well-formed if its meaning is clear; the notes say what it repaired.
func (e Element) Decode(to any, limits Limits) (notes []string, err error) {
	d, start, notes, err := e.decoder(limits)
	if err == nil {
		err = d.DecodeElement(to, &start)
	}
	return notes, fault(err)
}

// Space returns the namespace of the element.
func (e Element) Space() string {
	head := e
	lex, ok := (&lexer{doc: e.Raw}).next()
	if !ok {
		return ""
	}
	head.Raw, head.open = e.Raw[:lex.until], !lex.alone
	_, start, _, _ := head.decoder(Limits{Elements: 1})
	return start.Name.Space
}

// Tree parses the record into a tree. See Decode.
func (e Element) Tree(limits Limits) (n *Node, notes []string, err error) {
	d, start, notes, err := e.decoder(limits)
	n = &Node{}
	if err == nil {
		n.Space, n.Name, n.attr = start.Name.Space, start.Name.Local, start.Attr
		err = n.read(d)
	}
	return n, notes, fault(err)
}

// decoder returns a decoder positioned after the start tag of the record.
func (e Element) decoder(limits Limits) (d *xml.Decoder, start xml.StartElement, notes []string, err error) {
	text, notes := mendXML(e.Raw)
	end := "</x>"
	if e.open {
		lex, _ := (&lexer{doc: e.Raw}).next()
		notes = append(notes, fmt.Sprintf("<%s> has no end", ExcerptText(lex.name)))
		end = "</" + lex.name + ">" + end
	}
	raw := xml.NewDecoder(io.MultiReader(strings.NewReader("<x"+e.spaces+">"), bytes.NewReader(text), strings.NewReader(end)))
	raw.Strict, raw.Entity = false, xml.HTMLEntity
	d = xml.NewTokenDecoder(&bounded{dec: raw, limits: limits, count: map[string]int{}})
	for range 2 { // first the element with the namespaces, then the record
		token, err := d.Token()
		if err != nil {
			return d, start, notes, err
		}
		var ok bool
		if start, ok = token.(xml.StartElement); !ok {
			return d, start, notes, errors.New("no start tag")
		}
		start = start.Copy()
	}
	return d, start, notes, nil
}

// fault returns an error as the reason of a reject.
func fault(err error) error {
	if bad, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return fmt.Errorf("not XML: %s", ExcerptText(bad.Msg))
	}
	return err
}

// Limits of a tag. Real ones have 5 attributes, and names of 40 bytes.
const (
	maxAttrs = 64
	maxName  = 1 << 10 // bytes
)

// bounded is a stream of XML tokens that enforces limits and rejects document types.
type bounded struct {
	dec      *xml.Decoder
	limits   Limits
	depth    int
	elements int
	count    map[string]int
}

// Token returns the next raw token.
func (b *bounded) Token() (xml.Token, error) {
	t, err := b.dec.RawToken()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case xml.Directive:
		return nil, fmt.Errorf("a document type (<!%.40s), expected none", t)
	case xml.StartElement:
		if err := b.element(t); err != nil {
			return nil, err // if a token were returned too, the decoder would ignore the error
		}
	case xml.EndElement:
		b.depth--
	}
	return t, nil
}

func (b *bounded) element(t xml.StartElement) error {
	b.elements++
	switch b.depth++; {
	case b.depth > maxDepth:
		return fmt.Errorf("elements nested deeper than %d", maxDepth)
	case b.limits.Elements > 0 && b.elements > b.limits.Elements+1:
		return fmt.Errorf("more than %d elements", b.limits.Elements)
	case len(t.Name.Local) > maxName:
		return fmt.Errorf("the name of an element has %d bytes, expected at most %d", len(t.Name.Local), maxName)
	case len(t.Attr) > maxAttrs:
		return fmt.Errorf("%.40s: %d attributes, expected at most %d", t.Name.Local, len(t.Attr), maxAttrs)
	}
	if limit, ok := b.limits.Each[t.Name.Local]; ok {
		if b.count[t.Name.Local]++; b.count[t.Name.Local] > limit {
			return fmt.Errorf("more than %d elements %s", limit, t.Name.Local)
		}
	}
	return nil
}

// Node is an element of a tree.
type Node struct {
	Space, Name string
	Text        string // text of the element itself
	Kids        []*Node
	attr        []xml.Attr
}

// read parses the content of an element to its end.
func (n *Node) read(d *xml.Decoder) error {
	var text strings.Builder
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			n.Text = text.String()
			return nil
		case xml.StartElement:
			kid := &Node{Space: t.Name.Space, Name: t.Name.Local, attr: slices.Clone(t.Attr)}
			n.Kids = append(n.Kids, kid)
			if err := kid.read(d); err != nil {
				return err
			}
		}
	}
}

// Child returns the first child with that name and namespace, where "*" means any, or an empty node
// if there is none.
func (n *Node) Child(space, name string) *Node {
	for _, k := range n.Kids {
		if k.Name == name && (k.Space == space || space == "*") {
			return k
		}
	}
	return &Node{}
}

// All returns the children with that name and namespace, where "*" means any.
func (n *Node) All(space, name string) (found []*Node) {
	for _, k := range n.Kids {
		if k.Name == name && (k.Space == space || space == "*") {
			found = append(found, k)
		}
	}
	return found
}

// Get returns the text of a child without blanks around it.
func (n *Node) Get(space, name string) string { return strings.TrimSpace(n.Child(space, name).Text) }

// Attr returns the value of an attribute, by its local name, without blanks around it.
func (n *Node) Attr(name string) string {
	for _, a := range n.attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}
