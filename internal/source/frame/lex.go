package frame

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// lexKind is what a piece of XML is.
type lexKind byte

const (
	lexText      lexKind = iota // also what only looks like markup
	lexSection                  // <![CDATA[…]]>
	lexOther                    // a comment, or an instruction
	lexDirective                // <!DOCTYPE …>
	lexStart
	lexEnd
)

// lexeme is a piece of XML: doc[from:until].
type lexeme struct {
	kind        lexKind
	from, until int
	name        string // of a tag, with its prefix
	alone       bool   // <a/>
}

// lexer cuts XML into tags and what is between them. What is not closed before another of its kind begins is text: in the middle of
// a feed it would hide all that follows.
type lexer struct {
	doc []byte
	at  int
	// ends are where the next "-->", "]]>" and "?>" are, as far as they were looked for.
	ends map[string]int
}

// next is the next piece, and whether there is one.
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

// markup is the markup that begins at the next byte, if it is any.
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
		case b == '<': // stands in no tag, and in no attribute
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

// enclosed is what begins at the next byte and goes on to end.
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

// nameLength is how many bytes the name at the start of b has; 0 if there is none.
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

// mendXML makes XML of what is nearly XML, and says what it changed: tags that have no partner, and what only looks like markup,
// are text; control characters, and references to them, are blanks. Entities of HTML and bare ampersands are for the decoder. It
// gives raw itself if nothing is wrong with it.
func mendXML(raw []byte) (out []byte, notes []string) {
	// The tags that have no partner.
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
			return raw, nil // nobody knows what it is
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
		if o.at > 0 { // the record itself is closed by who cut it
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

// maxLone bounds the tags of one record that are open or have no partner. Texts in HTML leave some open.
const maxLone = 10_000

func isControl(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' }

func hasControl(b []byte) bool {
	return bytes.ContainsFunc(b, func(r rune) bool { return r < ' ' && isControl(byte(r)) })
}

func needsMending(text []byte) bool {
	return bytes.IndexByte(text, '<') >= 0 || hasControl(text) || bytes.Contains(text, []byte("&#")) || bytes.Contains(text, []byte("]]>"))
}

// appendText appends text as XML: its entities stay.
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

// isCharacter reports whether the number of a reference is that of a character that XML allows.
func isCharacter(number string) bool {
	base := 10
	if number != "" && number[0]|0x20 == 'x' {
		base, number = 16, number[1:]
	}
	r, err := strconv.ParseInt(number, base, 32)
	return err == nil && (r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= utf8.MaxRune)
}
