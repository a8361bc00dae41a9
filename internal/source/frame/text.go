package frame

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/hazardd/hazardd/internal/source"
)

// JSON is a document of JSON as UTF-8: without byte order mark, and out of UTF-16. RFC 8259 allows UTF-8 alone. Bytes that are not
// stay as they are: they go when the text is cleaned.
func JSON(payload []byte) ([]byte, error) { return unicodeText(payload) }

// unicodeText is text of UTF-8 or UTF-16, told apart by the byte order mark or the first character, as UTF-8 without mark.
func unicodeText(payload []byte) ([]byte, error) {
	var order unicode.Endianness
	if marked, ok := bytes.CutPrefix(bytes.TrimLeft(payload, " \t\r\n"), []byte("\ufeff")); ok {
		return marked, nil
	}
	switch {
	case bytes.HasPrefix(payload, []byte{0xff, 0xfe}), len(payload) > 1 && payload[0] != 0 && payload[1] == 0:
		order = unicode.LittleEndian
	case bytes.HasPrefix(payload, []byte{0xfe, 0xff}), len(payload) > 1 && payload[0] == 0 && payload[1] != 0:
		order = unicode.BigEndian
	default:
		return payload, nil
	}
	text, _, err := transform.Bytes(unicode.UTF16(order, unicode.UseBOM).NewDecoder(), payload)
	if err != nil {
		return nil, source.Errorf("not readable as UTF-16: %v", err)
	}
	return text, nil
}

var version = regexp.MustCompile(`^\s*<\?xml[^>]{0,100}?version\s*=\s*["']([^"']{0,40})["']`)

var declaration = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// Charset is the character set of that name (WHATWG Encoding), nil if there is none.
func Charset(name string) encoding.Encoding {
	e, canonical := charset.Lookup(name)
	if canonical == "replacement" {
		return nil
	}
	return e
}

// Text is a document of XML in UTF-8. Its bytes are believed before its declaration: what is UTF-8 is UTF-8, also where more of it
// is than is not. Else the declaration counts, or, where that says UTF-8, the configured charset. Without one the bytes are read as
// Windows-1252 if they hold its punctuation (80 to 9F: Environment Canada, July 2026), which no other Western charset has; what
// could be any of several charsets is refused, for a guess would put other letters into the names of places. JSON, which is UTF-8 alone, is
// read with U+FFFD in place of bytes that are not.
func Text(payload []byte, configured string) ([]byte, error) {
	if text, err := unicodeText(payload); err != nil || len(text) != len(payload) {
		return text, err
	}
	if begin := bytes.TrimSpace(payload[:min(len(payload), 1024)]); len(begin) > 0 && bytes.IndexByte([]byte("<{["), begin[0]) < 0 {
		return payload, nil // it is no document, whatever its encoding
	}
	if begin := bytes.TrimLeft(payload, " \t\r\n"); len(begin) > 0 && begin[0] != '<' && configured == "" {
		return bytes.ToValidUTF8(payload, []byte("\ufffd")), nil
	}
	var declared encoding.Encoding
	name := "UTF-8"
	head := payload[:min(len(payload), 300)]
	if m := version.FindSubmatch(head); m != nil && string(m[1]) != "1.0" {
		return nil, source.Errorf("XML version %.10q, expected 1.0", m[1])
	}
	if m := declaration.FindSubmatch(head); m != nil {
		name = strings.ToUpper(string(m[1]))
	}
	// The declaration was read as ASCII: it is no UTF-16.
	if !slices.Contains([]string{"UTF-8", "UTF8", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "ASCII"}, name) {
		if declared = Charset(name); declared == nil {
			return nil, source.Errorf("encoding: %.40q, expected UTF-8 or a character set of the web", name)
		}
	}
	good, bad, punctuation := census(payload)
	c := Charset(configured)
	_, single := declared.(*charmap.Charmap)
	switch {
	case bad == 0 && !bytes.Contains(payload, []byte("\x1b$")): // an escape of ISO-2022, which is ASCII
		return payload, nil
	case good > bad && (declared == nil || single): // UTF-8 that was cut or broken in places
		return bytes.ToValidUTF8(payload, []byte("\ufffd")), nil
	case declared != nil:
		c = declared
	case c != nil && configured != "":
	case punctuation > 0:
		c = charmap.Windows1252
	default:
		return nil, source.Errorf("declared as %s, but %d bytes are not, and nothing tells in what charset they are", name, bad)
	}
	text := make([]byte, len(payload)+8*good+2*bad) // a byte becomes three at most
	n, _, err := c.NewDecoder().Transform(text, payload, true)
	if err != nil {
		return nil, source.Errorf("not readable as %v: %v", c, err)
	}
	return text[:n], nil
}

// census counts the characters of more than one byte, the bytes that are no UTF-8, and those of them from 80 to 9F.
func census(b []byte) (good, bad, punctuation int) {
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r != utf8.RuneError || n > 1:
			good++
		default:
			bad++
			if b[0] < 0xa0 {
				punctuation++
			}
		}
		b = b[n:]
	}
	return good, bad, punctuation
}
