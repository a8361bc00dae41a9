// Package frame reads what feeds really send. It cuts a document of JSON or XML into its records before anybody reads one, so that
// a record that is not even JSON or XML costs only itself; it reads each record as far as it can be read, with notes on the rest;
// and it quotes what it finds for the reasons of rejects. It knows no source. It never panics, and goes over each byte a bounded number of
// times.
package frame

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// Cursor cuts a JSON document into its members and elements by brackets and quotes alone. Whether what is between them is
// JSON is for its reader to say: so a record that is not (a bare NaN, a wrong escape) does not end the list that holds it.
// It goes over each byte a bounded number of times, and nesting, however deep, costs it nothing.
type Cursor struct {
	Doc []byte
	At  int // the byte that comes next
}

// End is what Next gives at the end of the document.
const End = 0

// Next goes to the next byte that is not white space, and tells it.
func (c *Cursor) Next() byte {
	for ; c.At < len(c.Doc); c.At++ {
		switch b := c.Doc[c.At]; b {
		case ' ', '\t', '\n', '\r':
		case End:
			return 1 // a NUL in the document is not its end
		default:
			return b
		}
	}
	return End
}

// Members calls read for each member of the object at the cursor, with the cursor before the member's value; read goes past it.
func (c *Cursor) Members(read func(name string) error) error {
	c.At++ // the brace
	for {
		switch c.Next() {
		case '}':
			c.At++
			return nil
		case End:
			return c.cut("before the end of an object")
		case '"':
		default:
			return c.Unexpected("a member's name")
		}
		quoted, err := c.Value()
		if err != nil {
			return err
		}
		switch c.Next() {
		case ':':
			c.At++
		case End:
			return c.cut("before the end of an object")
		default:
			return c.Unexpected("a colon")
		}
		if err := read(Word(quoted)); err != nil {
			return err
		}
		switch c.Next() {
		case ',':
			c.At++
		case '}', End:
		default:
			return c.Unexpected("a comma or the end of an object")
		}
	}
}

// Elements calls read for each element of the array at the cursor. An element that is not closed, or holds a quote too many, ends where
// the next one begins as the first one did; a comma may be missing.
func (c *Cursor) Elements(read func(i int, raw []byte)) error {
	c.At++ // the bracket
	return (&elements{Cursor: c, read: read, first: -1}).rest()
}

// elements are those of an array.
type elements struct {
	*Cursor
	read    func(i int, raw []byte)
	begin   []byte // how an element begins
	first   int    // where that one is
	array   int    // where the array begins
	guessed bool   // where an element begins was told by brackets alone: the payload may be cut
	n       int    // read so far
	lost    int    // of these, without an end of their own
	end     int    // behind the bracket that ended the array, 0 before that
}

// next is where the element after the one at from begins, -1 if none does.
func (e *elements) next(from int) int {
	if e.begin == nil {
		e.begin = firstBeginning(e.Doc[from:])
	}
	at := nextBegin(e.Doc, e.begin, firstNames(e.Doc[max(e.first, 0):]), from)
	if at < 0 { // they do not begin alike, or what the first one begins with is damaged
		if at = nextInside(e.Doc, e.array, from); at >= 0 {
			e.begin, e.first, e.guessed = beginning(e.Doc[at:]), at, true
		}
	}
	return at
}

// rest reads what comes, up to the end of the array.
func (e *elements) rest() error {
	if e.n == 0 {
		e.array = e.At
	}
	for ; ; e.n++ {
		switch e.Next() {
		case ']':
			e.At++
			e.end = e.At
			return nil
		case End:
			return e.cut(fmt.Sprintf("before element %d of an array", e.n))
		}
		at := e.At
		if e.begin == nil {
			if e.begin = beginning(e.Doc[at:]); e.begin != nil {
				e.first = at
			}
		}
		raw, err := e.Value()
		if err == nil {
			last := raw[len(raw)-1]
			switch e.Next() {
			case ',', ']', '{':
				if raw[0] != '[' && last == ']' {
					err = e.cut("in an object that an array ends")
				}
			case End: // the element may have taken the ends of all that is around it
				if raw[0] != '[' && last == ']' || raw[0] == '{' && e.next(at) >= 0 {
					err = e.cut("in an object that an array ends")
				}
			default:
				err = e.Unexpected("a comma or the end of an array")
			}
		}
		if err != nil {
			e.lost++
			until := -1
			if e.lost <= maxLost {
				until = e.next(at)
			}
			if until < 0 {
				if bad, ok := errors.AsType[*source.PayloadError](err); ok && bad.Cut {
					return e.cut(fmt.Sprintf("in element %d of an array", e.n))
				}
				return err
			}
			raw, e.At = bytes.TrimRight(e.Doc[at:until:until], ", \t\r\n"), until
		}
		e.read(e.n, raw)
		if e.Next() == ',' {
			e.At++
		}
	}
}

// resume reads the elements behind a bracket too many, which ended the array and with it the document. What follows is no other
// document, but the rest of the element with the bracket, and elements that begin as the first one did. It reports whether there were any.
func (e *elements) resume() (found bool) {
	if next := e.Next(); next == '{' || next == '[' {
		return false
	}
	for ; e.end > 0 && e.end < len(e.Doc) && e.lost < maxLost; e.lost++ {
		at := e.next(e.end)
		if at < 0 {
			break
		}
		found, e.At, e.end = true, at, 0
		if e.rest() != nil { // the end of the document, which its own error tells
			break
		}
	}
	return found
}

// maxLost is how many elements of an array may have no end of their own: to find that costs a look at all that follows.
const maxLost = 16

// beginning is how an object begins, with the name of its first member; nil if raw is none.
func beginning(raw []byte) []byte {
	c := Cursor{Doc: raw}
	if c.Next() != '{' {
		return nil
	}
	c.At++
	if c.Next() != '"' {
		return nil
	}
	n := quoted(raw[c.At:])
	if n < 0 {
		return nil
	}
	return raw[:c.At+n]
}

// firstBeginning is how the first object in raw begins.
func firstBeginning(raw []byte) []byte {
	for at := 0; ; at++ {
		n := bytes.IndexByte(raw[at:], '{')
		if n < 0 {
			return nil
		}
		if at += n; beginning(raw[at:]) != nil {
			return beginning(raw[at:])
		}
	}
}

// The limits of firstNames.
const (
	maxFirst     = 3
	firstWindow  = 64 << 10 // bytes
	maxSimilar   = 64       // of the objects behind an element without end that begin as it does
	leastSimilar = 2
)

// firstNames are the names of the first members of the object at the start of raw, as far as they are near; nil if there is none.
func firstNames(raw []byte) (names []string) {
	c := Cursor{Doc: raw[:min(len(raw), firstWindow)]}
	if c.Next() != '{' {
		return nil
	}
	_ = c.Members(func(name string) error {
		if names = append(names, name); len(names) == maxFirst {
			return errEnough
		}
		_, err := c.Value()
		return err
	})
	return names
}

// alike reports whether the names of one object begin with those of the other, of which fewer may be known.
func alike(a, b []string) bool {
	n := min(len(a), len(b))
	return n >= leastSimilar && slices.Equal(a[:n], b[:n])
}

var errEnough = errors.New("enough")

// nextBegin returns where the element after the one at from begins. Quotes and brackets may be missing, so it is a guess: within
// a string, which a lost quote began, or with one bracket open; -1 if none does. An object of a list within the element has two
// brackets around it, and the payload may end in it; if the element was cut within such a list, the next one is the first object whose
// first members have the names of those of the elements before.
func nextBegin(doc, begin []byte, first []string, from int) int {
	at, depth := from, 0 // what was looked at, and the brackets open there
	similar, looked := -1, 0
	for next := from; begin != nil; {
		n := bytes.Index(doc[next+1:], begin)
		if n < 0 {
			break
		}
		next += 1 + n
		inString := false
		for ; at < next && !inString; at++ {
			switch doc[at] {
			case '"':
				n := quoted(doc[at:])
				if inString = n < 0 || at+n > next; !inString {
					at += n - 1
				}
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
		}
		before := bytes.TrimRight(doc[:next], " \t\r\n")
		if (inString || depth <= 1) && (bytes.HasSuffix(before, []byte{','}) || bytes.HasSuffix(before, []byte{'}'})) {
			return next
		}
		if inString {
			at, depth = next, 0
		}
		if looked++; similar < 0 && looked <= maxSimilar && alike(firstNames(doc[next:]), first) {
			similar = next
		}
	}
	return similar
}

// maxStarts is how often nextInside begins to count.
const maxStarts = 16

// nextInside is where the first object behind from begins that has as many brackets around it, counted from the end of the document, as the
// array has that begins at array; -1 if none does. It counts from objects farther and farther behind from, since a quote that was
// lost in between makes strings of what is none.
func nextInside(doc []byte, array, from int) int {
	want, _ := brackets(doc[:array], func(int, int) {})
	for try, start := 0, from+1; try < maxStarts && start < len(doc); try++ {
		n := bytes.IndexByte(doc[start:], '{')
		if n < 0 {
			break
		}
		start += n
		var at, depth []int
		end, whole := brackets(doc[start:], func(i, d int) {
			before := bytes.TrimRight(doc[:start+i], " \t\r\n")
			if (bytes.HasSuffix(before, []byte{','}) || bytes.HasSuffix(before, []byte{'}'})) && beginning(doc[start+i:]) != nil {
				at, depth = append(at, start+i), append(depth, d)
			}
		})
		for i := range at {
			if whole && depth[i]-end == want {
				return at[i]
			}
		}
		start += 1 << try
	}
	return -1
}

// brackets counts the brackets that are open at the end of raw, and calls object for each object with its place and the brackets open before
// it. It reports whether raw ends outside of a string.
func brackets(raw []byte, object func(at, depth int)) (open int, whole bool) {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			n := quoted(raw[i:])
			if n < 0 {
				return open, false
			}
			i += n - 1
		case '{':
			object(i, open)
			open++
		case '[':
			open++
		case '}', ']':
			open--
		}
	}
	return open, true
}

// Value takes the value at the cursor. The value shares the document's memory.
func (c *Cursor) Value() ([]byte, error) {
	c.Next()
	n := extent(c.Doc[c.At:])
	switch n {
	case -1:
		return nil, c.cut("in a member of an object")
	case 0:
		return nil, c.Unexpected("a value")
	}
	raw := c.Doc[c.At : c.At+n : c.At+n]
	c.At += n
	return raw, nil
}

func (c *Cursor) cut(where string) error {
	return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes, %s", len(c.Doc), where), Cut: true}
}

func (c *Cursor) Unexpected(expected string) error {
	return source.Errorf("%s at byte %d, expected %s", Excerpt(c.Doc[c.At:]), c.At, expected)
}

// extent is how many bytes the value at the start of b has; -1 if b ends before it does, 0 if there is none.
func extent(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := quoted(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i // the end of a bare word, such as a number
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// quoted is how many bytes the string at the start of b has; -1 if b ends before it does.
func quoted(b []byte) int {
	for i := 1; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		backslashes := 0
		for b[i-1-backslashes] == '\\' {
			backslashes++
		}
		i++
		if backslashes%2 == 0 {
			return i
		}
	}
}

// Member finds a member of an object; nil if raw has none, or is no object.
func Member(raw []byte, name string) (found []byte) {
	c := Cursor{Doc: raw}
	if c.Next() != '{' {
		return nil
	}
	_ = c.Members(func(n string) error {
		value, err := c.Value()
		if n == name && err == nil {
			found = value
		}
		return err
	})
	return found
}

// Word is the text of a JSON string; empty if raw is none.
func Word(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// Scalar is the text of a JSON string, or of a number; empty if raw is neither.
func Scalar(raw []byte) string {
	if k := jsontext.Value(raw).Kind(); k == '0' {
		return string(raw)
	}
	return Word(raw)
}

// MaxExcerpt bounds what a reason quotes of a payload, in bytes.
const MaxExcerpt = 80

// Excerpt is the beginning of raw, fit to show on one line.
func Excerpt(raw []byte) string {
	raw = bytes.TrimSpace(raw[:min(len(raw), 4*MaxExcerpt)])
	return ExcerptText(string(raw))
}

// ExcerptText is the beginning of s, fit to show on one line.
func ExcerptText(s string) string {
	s = hazard.CleanLine(Clip(s, 4*MaxExcerpt))
	if len(s) <= MaxExcerpt {
		return s
	}
	return Clip(s, MaxExcerpt) + "…"
}
