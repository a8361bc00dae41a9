package format

import (
	"cmp"
	"encoding/xml"
	"net/url"
	"strings"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
)

// header begins every XML document.
const header = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// xmlFragment is a value as an element. What XML cannot hold is left out before: see clean.
func xmlFragment(v any) (fragment, error) {
	text, err := xml.Marshal(v)
	return fragment{text: text}, err
}

// escaped is text as the content of an element or the value of an attribute.
func escaped(text string) string { return string(appendEscaped(nil, clean(text))) }

// entities are what stands in XML for the characters that cannot stand for themselves.
var entities = [256]string{'"': "&#34;", '\'': "&#39;", '&': "&amp;", '<': "&lt;", '>': "&gt;", '\t': "&#x9;", '\n': "&#xA;", '\r': "&#xD;"}

// special marks the bytes that have entities: a table that stays in the processor's cache.
var special = func() (marks [256]bool) {
	for c, e := range entities {
		marks[c] = e != ""
	}
	return marks
}()

// appendEscaped appends clean text, written as xml.EscapeText writes it.
func appendEscaped(b []byte, text string) []byte { return appendReplaced(b, text, &entities) }

// appendReplaced appends text with what stands for its special bytes.
func appendReplaced(b []byte, text string, entities *[256]string) []byte {
	from := 0
	for i := 0; i < len(text); i++ {
		if c := text[i]; special[c] {
			b = append(append(b, text[from:i]...), entities[c]...)
			from = i + 1
		}
	}
	return append(b, text[from:]...)
}

// bare reports whether text stands in XML as it is.
func bare(text string) bool {
	for i := range len(text) {
		if special[text[i]] {
			return false
		}
	}
	return true
}

// appendElement appends an element with clean text.
func appendElement(b []byte, name, text string) []byte {
	b = append(append(append(b, '<'), name...), '>')
	b = appendEscaped(b, text)
	return append(append(append(b, '<', '/'), name...), '>')
}

// clean leaves out the characters that XML 1.0 cannot hold, even escaped (section 2.2, production 2).
func clean(text string) string {
	if plain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000:
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// plain reports whether text has visible ASCII and blanks alone, as most texts do.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// rfc3339 is a moment in whole seconds, UTC.
func rfc3339(i hazard.Instant) string { return i.Time().Format(time.RFC3339) }

// webURL is a hazard's page of its source, or the service's own page of it when there is none.
func webURL(base string, h *hazard.Hazard) string {
	return cmp.Or(sourceURL(h), pageURL(base, h))
}

// sourceURL is a hazard's page of its source, written so that every reader of URIs takes it (RFC 3986, section 2). It is empty
// when there is none, or what there is is no address of the web.
func sourceURL(h *hazard.Hazard) string {
	u, err := url.Parse(h.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(u.Host, "<>\"{}|\\^`% ") {
		return ""
	}
	const reserved = ":/?#@!$&'()*+,;=-._~%"
	front, rest, _ := strings.Cut(u.String(), "://")
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	var b strings.Builder
	fragment := false
	for i := range len(path) {
		c := path[i]
		// A second # is part of the fragment, where it must be escaped, as what is no character of a URI.
		if c == '#' && !fragment {
			fragment = true
			b.WriteByte(c)
			continue
		}
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if c == '%' && !(i+2 < len(path) && hex(path[i+1]) && hex(path[i+2])) || c == '#' || !letter && strings.IndexByte(reserved, c) < 0 {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return front + "://" + host + b.String()
}

func hex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
