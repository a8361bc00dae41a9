// Package lenient reads feeds that are not quite valid. It splits a JSON or XML document into its
// records before it decodes any of them, so that an invalid record does not affect others. It
// decodes each record as far as possible, with notes on the rest, and it quotes values in the
// reasons of rejects. It knows no particular source. It never panics, and it reads each byte a
// bounded number of times.
package lenient

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// Cursor splits a JSON document into its members and elements, by brackets and quotes only. It does
// not check whether the text between them is JSON, so that an invalid record (a bare NaN, a wrong
// escape) does not end the list around it. It reads each byte a bounded number of times, and deep
// nesting costs no memory.
type Cursor struct {
	Doc []byte
	At  int // index of the next byte
}

// End is what Next returns at the end of the document.
const End = 0

// Next moves to the next byte that is not white space, and returns it.
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

// Members calls read for each member of the object at the cursor, with the cursor before the
// member's value. read must move the cursor past the value.
func (c *Cursor) Members(read func(name string) error) error {
	c.At++ // skips the brace
	for {
		switch c.Next() {
		case '}':
			c.At++
			return nil
		case End:
			return c.cut("before the end of an object")
		case '"':
		default:
			return c.unexpected("a member's name")
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
			return c.unexpected("a colon")
		}
		if err := read(Word(quoted)); err != nil {
			return err
		}
		switch c.Next() {
		case ',':
			c.At++
		case '}', End:
		default:
			return c.unexpected("a comma or the end of an object")
		}
	}
}

// Elements calls read for each element of the array at the cursor. If an element lacks its closing
// bracket or has a quote too many, it ends where the next element begins: at text that is equal to
// the beginning of the first element. A comma may be missing.
func (c *Cursor) Elements(read func(i int, raw []byte)) error {
	c.At++ // skips the bracket
	return (&elements{Cursor: c, read: read, first: -1}).rest()
}

// elements reads the elements of an array.
type elements struct {
	*Cursor
	read    func(i int, raw []byte)
	begin   []byte // the text at the beginning of an element
	first   int    // position of the element with this beginning
	array   int    // position of the beginning of the array
	guessed bool   // the beginning of an element was found by brackets only, so the payload may be cut off
	n       int    // elements read so far
	lost    int    // how many of these had no end
	end     int    // position after the bracket that ended the array; 0 before that
}

// next returns where the element after the one at from begins, or -1 if there is none.
func (e *elements) next(from int) int {
	if e.begin == nil {
		e.begin = firstBeginning(e.Doc[from:])
	}
	at := nextBegin(e.Doc, e.begin, firstNames(e.Doc[max(e.first, 0):]), from)
	if at < 0 { // the elements begin differently, or the beginning of the first one is damaged
		if at = nextInside(e.Doc, e.array, from); at >= 0 {
			e.begin, e.first, e.guessed = beginning(e.Doc[at:]), at, true
		}
	}
	return at
}

// rest reads the remaining elements, up to the end of the array.
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
					err = e.cut("in an object that ends with ]")
				}
			case End: // the element may contain the closing brackets of the document around it
				if raw[0] != '[' && last == ']' || raw[0] == '{' && e.next(at) >= 0 {
					err = e.cut("in an object that ends with ]")
				}
			default:
				err = e.unexpected("a comma or the end of an array")
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

// resume reads the elements after an extra closing bracket, which ended the array and the document
// too early. The text after it is not another document, but the rest of the element with the
// bracket, and further elements that begin like the first one. It reports whether there were any.
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
		if e.rest() != nil { // the error of the document reports this end
			break
		}
	}
	return found
}

// maxLost bounds the elements of an array without an end. For each of them, the rest of the
// document must be searched.
const maxLost = 16

// beginning returns the beginning of an object, up to the name of its first member, or nil if raw
// is not an object.
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

// firstBeginning returns the beginning of the first object in raw.
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
	maxFirst    = 3
	firstWindow = 64 << 10 // bytes
	maxSimilar  = 64       // of the later objects with the same beginning, how many are compared
	minSimilar  = 2
)

// firstNames returns the names of the first members of the object at the start of raw, as far as
// they lie within firstWindow, or nil if there is no object.
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

// alike reports whether two objects begin with the same names. One list of names may be shorter.
func alike(a, b []string) bool {
	n := min(len(a), len(b))
	return n >= minSimilar && slices.Equal(a[:n], b[:n])
}

var errEnough = errors.New("enough")

// nextBegin returns where the element after the one at from begins, or -1 if there is none. Quotes
// and brackets may be missing, so this is a guess: the next beginning within a string, because a
// quote was lost, or with at most one bracket open. An object of a list within the element has two
// brackets around it, and the payload may end there. If the element was cut off within such a list,
// the next element is the first object whose first members have the same names as those of earlier
// elements.
func nextBegin(doc, begin []byte, first []string, from int) int {
	at, depth := from, 0 // the searched position, and the number of brackets open there
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

// maxStarts bounds the starting points of nextInside.
const maxStarts = 16

// nextInside returns where the first object after from begins that has as many brackets around it
// as the array that begins at array. Brackets are counted from the end of the document. It returns
// -1 if there is none. It counts from starting points farther and farther after from, because after
// a lost quote, text outside of strings looks like strings.
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

// brackets counts the brackets that are open at the end of raw, and calls object for each object
// with its position and the number of brackets open before it. whole reports whether raw ends
// outside of a string.
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

// Value returns the value at the cursor and moves past it. The value shares the document's memory.
func (c *Cursor) Value() ([]byte, error) {
	c.Next()
	n := extent(c.Doc[c.At:])
	switch n {
	case -1:
		return nil, c.cut("in a member of an object")
	case 0:
		return nil, c.unexpected("a value")
	}
	raw := c.Doc[c.At : c.At+n : c.At+n]
	c.At += n
	return raw, nil
}

func (c *Cursor) cut(where string) error {
	return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes, %s", len(c.Doc), where), Cut: true}
}

func (c *Cursor) unexpected(expected string) error {
	return source.Errorf("%s at byte %d, expected %s", Excerpt(c.Doc[c.At:]), c.At, expected)
}

// extent returns the length of the value at the start of b in bytes; -1 if b ends within the value,
// 0 if there is no value.
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

// quoted returns the length of the string at the start of b in bytes; -1 if b ends within the
// string.
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

// Member returns a member of an object, or nil if raw does not have it or is not an object.
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

// Word returns the text of a JSON string, or "" if raw is not a string.
func Word(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// Scalar returns the text of a JSON string or number, or "" if raw is neither.
func Scalar(raw []byte) string {
	if k := jsontext.Value(raw).Kind(); k == '0' {
		return string(raw)
	}
	return Word(raw)
}

// MaxExcerpt bounds a quotation of the payload in a reason, in bytes.
const MaxExcerpt = 80

// Excerpt returns the beginning of raw, suitable for one line.
func Excerpt(raw []byte) string {
	raw = bytes.TrimSpace(raw[:min(len(raw), 4*MaxExcerpt)])
	return ExcerptText(string(raw))
}

// ExcerptText returns the beginning of s, suitable for one line.
func ExcerptText(s string) string {
	s = hazard.CleanLine(Clip(s, 4*MaxExcerpt))
	if len(s) <= MaxExcerpt {
		return s
	}
	return Clip(s, MaxExcerpt) + "…"
}
