package lenient

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

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// JSON returns a JSON document in UTF-8 without a byte order mark, converted from UTF-16 if
// necessary. RFC 8259 only allows UTF-8. Invalid bytes are kept; they are removed when texts are
// cleaned.
func JSON(payload []byte) ([]byte, error) { return unicodeText(payload) }

// unicodeText returns text in UTF-8 or UTF-16 as UTF-8 without a byte order mark. The mark or the
// first character shows which of the two it is.
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

// Charset returns the character set with that name (WHATWG Encoding), or nil if there is none.
func Charset(name string) encoding.Encoding {
	e, canonical := charset.Lookup(name)
	if canonical == "replacement" {
		return nil
	}
	return e
}

// Text returns an XML document in UTF-8. The bytes have precedence over the declaration: valid
// UTF-8 is UTF-8, and so is text in which more characters are valid UTF-8 than not. Otherwise the
// declared encoding is used, or the configured one if the declaration says UTF-8. Without either,
// bytes with the punctuation of Windows-1252 (80 to 9F: Environment Canada, July 2026) are read as
// that, because no other Western charset has it. Bytes that could be several charsets are an error,
// because a wrong guess would change letters in the names of places. JSON can only be UTF-8; its
// invalid bytes become U+FFFD.
func Text(payload []byte, configured string) ([]byte, error) {
	if text, err := unicodeText(payload); err != nil || len(text) != len(payload) {
		return text, err
	}
	if begin := bytes.TrimSpace(payload[:min(len(payload), 1024)]); len(begin) > 0 && bytes.IndexByte([]byte("<{["), begin[0]) < 0 {
		return payload, nil // not a document in any encoding
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
	// The declaration was readable as ASCII, so the document is not UTF-16.
	if !slices.Contains([]string{"UTF-8", "UTF8", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "ASCII"}, name) {
		if declared = Charset(name); declared == nil {
			return nil, source.Errorf("encoding: %.40q, expected UTF-8 or a character set of the web", name)
		}
	}
	good, bad, punctuation := census(payload)
	c := Charset(configured)
	_, single := declared.(*charmap.Charmap)
	switch {
	case bad == 0 && !bytes.Contains(payload, []byte("\x1b$")): // no bytes beyond ASCII; ESC $ is an escape of ISO-2022, which uses ASCII bytes
		return payload, nil
	case good > bad && (declared == nil || single): // UTF-8 with some damaged characters
		return bytes.ToValidUTF8(payload, []byte("\ufffd")), nil
	case declared != nil:
		c = declared
	case c != nil && configured != "":
	case punctuation > 0:
		c = charmap.Windows1252
	default:
		return nil, source.Errorf("declared as %s, but %d bytes are invalid and their charset is unknown", name, bad)
	}
	text := make([]byte, len(payload)+8*good+2*bad) // one byte becomes at most three
	n, _, err := c.NewDecoder().Transform(text, payload, true)
	if err != nil {
		return nil, source.Errorf("not readable as %v: %v", c, err)
	}
	return text[:n], nil
}

// census counts the characters of several bytes, the bytes that are not valid UTF-8, and how many
// of the latter are from 80 to 9F.
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
