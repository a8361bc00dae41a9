package usgs

import (
	"html"
	"strings"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
)

// maxText bounds a text product, in bytes. The longest recorded one has 4,000.
const maxText = 64 << 10

// plainText returns the readable text of HTML: without tags, comments, scripts and styles, with
// entities replaced by their characters, and one line for each block. It does not support all of
// HTML, which is safe because the result is shown as text.
func plainText(markup string) string {
	markup = lenient.Clip(markup, 4*maxText)
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(markup, "<")
		b.WriteString(blanks(text))
		if !found {
			break
		}
		name, after, isTag := tag(rest)
		switch {
		case !isTag:
			b.WriteByte('<')
		case name == "br", name == "li", name == "tr":
			b.WriteByte('\n')
		case breaks[name]:
			b.WriteString("\n\n")
		}
		markup = after
	}
	var lines []string
	for line := range strings.SplitSeq(hazard.Clean(html.UnescapeString(b.String())), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return lenient.Clip(strings.TrimSpace(strings.Join(lines, "\n")), maxText)
}

// breaks are the elements that begin a new paragraph.
var breaks = map[string]bool{
	"p": true, "div": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "ul": true, "ol": true,
	"table": true, "section": true, "figure": true, "figcaption": true, "blockquote": true, "pre": true, "hr": true, "dl": true,
	"dt": true, "dd": true,
}

// tag reads the tag after a "<", where rest is the text after it. It returns the tag's name and the
// text after the tag. Elements without readable content are skipped as a whole. If isTag is false,
// after is rest itself: the "<" was only a character.
func tag(rest string) (name, after string, isTag bool) {
	if strings.HasPrefix(rest, "!--") {
		_, after, _ = strings.Cut(rest, "-->")
		return "", after, true
	}
	word := strings.TrimPrefix(rest, "/")
	if word == "" || word[0] != '!' && word[0] != '?' && (word[0]|0x20 < 'a' || word[0]|0x20 > 'z') {
		return "", rest, false
	}
	n := strings.IndexAny(word, "<>")
	if n < 0 || word[n] == '<' {
		return "", rest, false // never closed
	}
	inside, after := word[:n], word[n+1:]
	name = strings.ToLower(inside[:tagName(inside)])
	if name == "script" || name == "style" {
		if len(word) == len(rest) { // the tag name begins here
			after = afterElement(after, name)
		}
		name = ""
	}
	return name, after, true
}

// tagName returns the number of letters and digits at the beginning of word.
func tagName(word string) int {
	n := strings.IndexFunc(word, func(r rune) bool { return !('a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9') })
	if n < 0 {
		return len(word)
	}
	return n
}

// afterElement returns the text after the end of the element name in s, or "" if it does not end.
func afterElement(s, name string) string {
	for {
		_, rest, found := strings.Cut(s, "</")
		if !found {
			return ""
		}
		if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			_, after, _ := strings.Cut(rest, ">")
			return after
		}
		s = rest
	}
}

// blanks replaces line breaks in markup, which have no meaning, by blanks.
func blanks(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s)
}
