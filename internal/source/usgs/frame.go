package usgs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
)

// cursor cuts a JSON document into its members and elements by brackets and quotes alone. Whether what is between them is
// JSON is for its reader to say: so a record that is not (a bare NaN, a wrong escape) does not end the list that holds it.
// It goes over each byte a bounded number of times, and nesting, however deep, costs it nothing.
type cursor struct {
	doc []byte
	at  int
}

// end is what next gives at the end of the document.
const end = 0

// next goes to the next byte that is not white space, and tells it.
func (c *cursor) next() byte {
	for ; c.at < len(c.doc); c.at++ {
		switch b := c.doc[c.at]; b {
		case ' ', '\t', '\n', '\r':
		case end:
			return 1 // a NUL in the document is not its end
		default:
			return b
		}
	}
	return end
}

// members calls read for each member of the object at the cursor, with the cursor before the member's value; read goes past it.
func (c *cursor) members(read func(name string) error) error {
	c.at++ // the brace
	for {
		switch c.next() {
		case '}':
			c.at++
			return nil
		case end:
			return c.cut("before the end of an object")
		case '"':
		default:
			return c.unexpected("a member's name")
		}
		quoted, err := c.value()
		if err != nil {
			return err
		}
		switch c.next() {
		case ':':
			c.at++
		case end:
			return c.cut("before the end of an object")
		default:
			return c.unexpected("a colon")
		}
		if err := read(word(quoted)); err != nil {
			return err
		}
		switch c.next() {
		case ',':
			c.at++
		case '}', end:
		default:
			return c.unexpected("a comma or the end of an object")
		}
	}
}

// elements calls read for each element of the array at the cursor.
func (c *cursor) elements(read func(i int, raw []byte)) error {
	c.at++ // the bracket
	for i := 0; ; i++ {
		switch c.next() {
		case ']':
			c.at++
			return nil
		case end:
			return c.cut(fmt.Sprintf("before element %d of an array", i))
		}
		raw, err := c.value()
		if cut, ok := errors.AsType[*source.PayloadError](err); ok && cut.Cut {
			return c.cut(fmt.Sprintf("in element %d of an array", i))
		}
		if err != nil {
			return err
		}
		read(i, raw)
		switch c.next() {
		case ',':
			c.at++
		case ']', end:
		default:
			return c.unexpected("a comma or the end of an array")
		}
	}
}

// value takes the value at the cursor. The value shares the document's memory.
func (c *cursor) value() ([]byte, error) {
	c.next()
	n := extent(c.doc[c.at:])
	switch n {
	case -1:
		return nil, c.cut("in a member of an object")
	case 0:
		return nil, c.unexpected("a value")
	}
	raw := c.doc[c.at : c.at+n : c.at+n]
	c.at += n
	return raw, nil
}

func (c *cursor) cut(where string) error {
	return &source.PayloadError{Reason: fmt.Sprintf("the payload ends early, after %d bytes, %s", len(c.doc), where), Cut: true}
}

func (c *cursor) unexpected(expected string) error {
	return source.Errorf("%s at byte %d, expected %s", excerpt(c.doc[c.at:]), c.at, expected)
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

// member finds a member of an object; nil if raw has none, or is no object.
func member(raw []byte, name string) (found []byte) {
	c := cursor{doc: raw}
	if c.next() != '{' {
		return nil
	}
	_ = c.members(func(n string) error {
		value, err := c.value()
		if n == name && err == nil {
			found = value
		}
		return err
	})
	return found
}

// word is the text of a JSON string; empty if raw is none.
func word(raw []byte) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// maxExcerpt bounds what a reason quotes of a payload, in bytes.
const maxExcerpt = 80

// excerpt is the beginning of raw, fit to show on one line.
func excerpt(raw []byte) string {
	raw = bytes.TrimSpace(raw[:min(len(raw), 4*maxExcerpt)])
	return excerptText(string(raw))
}

func excerptText(s string) string {
	s = hazard.CleanLine(s)
	if len(s) <= maxExcerpt {
		return s
	}
	return clip(s, maxExcerpt) + "…"
}

// clip cuts s to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}
