package lenient

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// lexKind is the kind of a piece of XML.
type lexKind byte

const (
	lexText      lexKind = iota // also text that only looks like markup
	lexSection                  // <![CDATA[…]]>
	lexOther                    // a comment or a processing instruction
	lexDirective                // <!DOCTYPE …>
	lexStart
	lexEnd
)

// lexeme is a piece of XML: doc[from:until].
type lexeme struct {
	kind        lexKind
	from, until int
	name        string // name of the tag, with its prefix
	alone       bool   // <a/>
}

// lexer splits XML into tags and the text between them. Markup that is not closed before the next
// markup of its kind begins is text: otherwise it would hide everything after it in the feed.
type lexer struct {
	doc []byte
	at  int
	// ends holds the positions of the next "-->", "]]>" and "?>", if they were searched for.
	ends map[string]int
}

// next returns the next piece, and whether there is one.
func (l *lexer) next() (lexeme, bool) {
	if l.at >= len(l.doc) {
		return lexeme{}, false
	}
	from := l.at
	if l.doc[from] == '<' {
		if lex, ok := l.markup(); ok {
			l.at = lex.until
			return lex, true
		}
		l.at++
	}
	n := bytes.IndexByte(l.doc[l.at:], '<')
	if n < 0 {
		n = len(l.doc) - l.at
	}
	l.at += n
	return lexeme{kind: lexText, from: from, until: l.at}, true
}

// markup returns the markup that begins at the next byte, if there is any.
func (l *lexer) markup() (lexeme, bool) {
	rest := l.doc[l.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		return l.enclosed(lexOther, "<!--", "-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return l.enclosed(lexSection, "<![CDATA[", "]]>")
	case bytes.HasPrefix(rest, []byte("<?")):
		return l.enclosed(lexOther, "<?", "?>")
	case bytes.HasPrefix(rest, []byte("<!")):
		if n := bytes.IndexAny(rest[2:], "<>"); n >= 0 {
			return lexeme{kind: lexDirective, from: l.at, until: l.at + 2 + n + 1}, true
		}
		return lexeme{}, false
	case bytes.HasPrefix(rest, []byte("</")):
		n := nameLength(rest[2:])
		end := bytes.IndexAny(rest[2:], "<>")
		if n == 0 || end < 0 || rest[2+end] == '<' {
			return lexeme{}, false
		}
		return lexeme{kind: lexEnd, from: l.at, until: l.at + 2 + end + 1, name: string(rest[2 : 2+n])}, true
	}
	n := nameLength(rest[1:])
	if n == 0 {
		return lexeme{}, false
	}
	for i, quote := 1+n, byte(0); i < len(rest); i++ {
		switch b := rest[i]; {
		case b == '<': // not allowed in a tag or an attribute
			return lexeme{}, false
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case (b == '"' || b == '\'') && rest[i-1] == '=' || (b == '"' || b == '\'') && isBlank(rest[i-1]):
			quote = b
		case b == '>':
			return lexeme{kind: lexStart, from: l.at, until: l.at + i + 1, name: string(rest[1 : 1+n]), alone: rest[i-1] == '/'}, true
		}
	}
	return lexeme{}, false
}

// enclosed returns the piece from the next byte up to end.
func (l *lexer) enclosed(kind lexKind, begin, end string) (lexeme, bool) {
	from := l.at + len(begin)
	at, known := l.ends[end]
	if !known || at >= 0 && at < from {
		if at = bytes.Index(l.doc[min(from, len(l.doc)):], []byte(end)); at >= 0 {
			at += from
		}
		if l.ends == nil {
			l.ends = map[string]int{}
		}
		l.ends[end] = at
	}
	if at < 0 || bytes.Contains(l.doc[from:at], []byte(begin)) {
		return lexeme{}, false
	}
	return lexeme{kind: kind, from: l.at, until: at + len(end)}, true
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// nameLength returns the length of the name at the start of b in bytes; 0 if there is none.
func nameLength(b []byte) int {
	for i, c := range b {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
		if i > 0 && (letter || c >= '0' && c <= '9' || c == '-' || c == '.' || c == ':') || i == 0 && letter {
			continue
		}
		return i
	}
	return len(b)
}

// mendXML repairs invalid XML, and says what it changed. Tags without a partner, and text that only
// looks like markup, become text. Control characters, and references to them, become blanks. The
// decoder handles HTML entities and bare ampersands. If nothing is wrong, it returns raw itself.
func mendXML(raw []byte) (out []byte, notes []string) {
	// The open tags without a partner so far.
	type open struct {
		name string
		at   int
	}
	var stack []open
	count := map[string]int{}
	lone := map[int]bool{}
	note := func(tag string) {
		if len(notes) < maxFaults {
			notes = append(notes, fmt.Sprintf("%s has no partner, read as text", ExcerptText(tag)))
		}
	}
	bad := false
	for l := (lexer{doc: raw}); ; {
		lex, ok := l.next()
		if !ok {
			break
		}
		if len(stack)+len(lone) > maxLone {
			return raw, nil // too damaged to be repaired
		}
		switch {
		case lex.kind == lexStart && !lex.alone:
			stack, count[lex.name] = append(stack, open{lex.name, lex.from}), count[lex.name]+1
		case lex.kind == lexEnd && count[lex.name] == 0:
			lone[lex.from] = true
			note("</" + lex.name + ">")
		case lex.kind == lexEnd:
			for {
				top := stack[len(stack)-1]
				stack, count[top.name] = stack[:len(stack)-1], count[top.name]-1
				if top.name == lex.name {
					break
				}
				lone[top.at] = true
				note("<" + top.name + ">")
			}
		case lex.kind == lexText && !bad:
			bad = needsMending(raw[lex.from:lex.until])
		case lex.kind == lexDirective:
			lone[lex.from] = true
		default:
			bad = bad || hasControl(raw[lex.from:lex.until])
		}
	}
	for _, o := range stack {
		if o.at > 0 { // the start tag of the record itself gets its end tag elsewhere (see decoder)
			lone[o.at] = true
			note("<" + o.name + ">")
		}
	}
	if !bad && len(lone) == 0 {
		return raw, nil
	}
	out = make([]byte, 0, len(raw)+len(raw)/8+64)
	for l := (lexer{doc: raw}); ; {
		lex, ok := l.next()
		if !ok {
			return out, notes
		}
		piece := raw[lex.from:lex.until]
		switch {
		case lex.kind == lexText || lone[lex.from]:
			out = appendText(out, piece)
		default:
			for _, b := range piece {
				if isControl(b) {
					b = ' '
				}
				out = append(out, b)
			}
		}
	}
}

// maxLone bounds the tags of one record that are open or without a partner. Texts in HTML leave
// some open.
const maxLone = 10_000

func isControl(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' }

func hasControl(b []byte) bool {
	return bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && isControl(byte(r)) })
}

func needsMending(text []byte) bool {
	return bytes.IndexByte(text, '<') >= 0 || hasControl(text) || bytes.Contains(text, []byte("&#")) || bytes.Contains(text, []byte("]]>"))
}

// appendText appends text as XML. Its entities stay unchanged.
func appendText(out, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '<':
			out = append(out, "&lt;"...)
		case b == '>':
			out = append(out, "&gt;"...)
		case isControl(b):
			out = append(out, ' ')
		case b == '&' && i+1 < len(text) && text[i+1] == '#':
			n := bytes.IndexByte(text[i:min(len(text), i+12)], ';')
			if n > 0 && !isCharacter(string(text[i+2:i+n])) {
				out = append(out, ' ')
				i += n
				continue
			}
			out = append(out, b)
		default:
			out = append(out, b)
		}
	}
	return out
}

// isCharacter reports whether the number of a character reference is allowed in XML.
func isCharacter(number string) bool {
	base := 10
	if number != "" && number[0]|0x20 == 'x' {
		base, number = 16, number[1:]
	}
	r, err := strconv.ParseInt(number, base, 32)
	return err == nil && (r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= utf8.MaxRune)
}
