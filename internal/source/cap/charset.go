package cap

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"hazardd/internal/source"
)

// charsets are the encodings that may be declared beside UTF-8. ISO-8859-1 is read as Windows-1252, which holds it.
var charsets = map[string]*charmap.Charmap{
	"iso-8859-1": charmap.Windows1252, "latin1": charmap.Windows1252, "iso8859-1": charmap.Windows1252, "windows-1252": charmap.Windows1252,
	"cp1252": charmap.Windows1252, "iso-8859-2": charmap.ISO8859_2, "iso-8859-5": charmap.ISO8859_5, "iso-8859-7": charmap.ISO8859_7,
	"iso-8859-9": charmap.ISO8859_9, "iso-8859-15": charmap.ISO8859_15, "windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251, "windows-1253": charmap.Windows1253, "windows-1254": charmap.Windows1254,
	"windows-1256": charmap.Windows1256, "koi8-r": charmap.KOI8R,
}

var declaration = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// decode is the payload in UTF-8. The bytes are believed before their declaration: what is valid UTF-8 is UTF-8.
//
// Bytes that are not, though they are declared to be, are read in the configured charset. Without one they are read as Windows-1252 if
// they hold its punctuation (bytes 80 to 9F: Environment Canada, July 2026), which no other Western charset has; what could be
// any of several charsets is refused, for a guess would put other letters into the names of places.
func decode(payload []byte, charset string) ([]byte, error) {
	payload = bytes.TrimPrefix(payload, []byte("\ufeff"))
	if bytes.HasPrefix(payload, []byte{0xff, 0xfe}) || bytes.HasPrefix(payload, []byte{0xfe, 0xff}) {
		return nil, source.Errorf("UTF-16, expected UTF-8")
	}
	declared := "utf-8"
	if m := declaration.FindSubmatch(payload[:min(len(payload), 300)]); m != nil {
		declared = strings.ToLower(string(m[1]))
	}
	switch declared {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be": // the declaration was read as ASCII: it is no UTF-16
	default:
		c := charsets[declared]
		if c == nil {
			return nil, source.Errorf("encoding: %.40q, expected UTF-8 or a charset of Europe's", declared)
		}
		return converted(payload, c)
	}
	good, bad, punctuation := census(payload)
	switch c := charsets[strings.ToLower(charset)]; {
	case bad == 0:
		return payload, nil
	case good > bad: // UTF-8 that was cut or broken in places
		return bytes.ToValidUTF8(payload, []byte("\ufffd")), nil
	case c != nil:
		return converted(payload, c)
	case punctuation > 0:
		return converted(payload, charmap.Windows1252)
	}
	return nil, source.Errorf("declared as %s, but %d bytes are not, and nothing tells in what charset they are", strings.ToUpper(declared), bad)
}

func converted(payload []byte, c *charmap.Charmap) ([]byte, error) {
	text, err := c.NewDecoder().Bytes(payload)
	if err != nil {
		return nil, source.Errorf("not readable as %v: %v", c, err)
	}
	return text, nil
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
