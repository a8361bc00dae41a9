package lenient

import "bytes"

// Plain reads a JSON value that is written as programs write it, without decoding it: strings without
// escapes, numbers in JSON's own form, and no member twice. Its methods return false for anything
// else, which only Decode can judge; the value is then not to be used. So it can tell at little cost
// that most records of a long list do not matter.
type Plain struct {
	doc []byte
	at  int
}

// PlainOf reads raw.
func PlainOf(raw []byte) Plain { return Plain{doc: raw} }

// maxPlain bounds the members of an object, because each name is compared with all others.
const maxPlain = 48

// Object reads an object, and calls read for each member, which must read its value.
func (p *Plain) Object(read func(name []byte) bool) bool {
	if !p.take('{') {
		return false
	}
	if p.take('}') {
		return true
	}
	var names [maxPlain][]byte
	for n := range names {
		quoted, ok := p.Scalar()
		if !ok || quoted[0] != '"' || !p.take(':') {
			return false
		}
		names[n] = quoted[1 : len(quoted)-1]
		for _, other := range names[:n] {
			if bytes.Equal(other, names[n]) {
				return false
			}
		}
		if !read(names[n]) {
			return false
		}
		if !p.take(',') {
			return p.take('}')
		}
	}
	return false
}

// Array reads an array of scalars, and calls read for each.
func (p *Plain) Array(read func(value []byte) bool) bool {
	if !p.take('[') {
		return false
	}
	if p.take(']') {
		return true
	}
	for {
		if v, ok := p.Scalar(); !ok || !read(v) {
			return false
		}
		if !p.take(',') {
			return p.take(']')
		}
	}
}

// Scalar reads a string, with its quotes, a number, true, false or null.
func (p *Plain) Scalar() (value []byte, ok bool) {
	p.blanks()
	rest := p.doc[p.at:]
	if len(rest) == 0 {
		return nil, false
	}
	n := 1
	if rest[0] == '"' {
		for ; n < len(rest) && rest[n] != '"'; n++ {
			if b := rest[n]; b < ' ' || b == '\\' {
				return nil, false
			}
		}
		n++
		ok = n <= len(rest)
	} else {
		for ; n < len(rest) && rest[n] != ',' && rest[n] != '}' && rest[n] != ']' && rest[n] > ' '; n++ {
		}
		switch word := rest[:n]; string(word) {
		case "null", "true", "false":
			ok = true
		default:
			ok = isNumber(word)
		}
	}
	if !ok {
		return nil, false
	}
	p.at += n
	return rest[:n], true
}

// End reports whether everything was read.
func (p *Plain) End() bool {
	p.blanks()
	return p.at == len(p.doc)
}

func (p *Plain) take(bracket byte) bool {
	p.blanks()
	if p.at == len(p.doc) || p.doc[p.at] != bracket {
		return false
	}
	p.at++
	return true
}

func (p *Plain) blanks() {
	for p.at < len(p.doc) && (p.doc[p.at] == ' ' || p.doc[p.at] == '\n' || p.doc[p.at] == '\t' || p.doc[p.at] == '\r') {
		p.at++
	}
}

// isNumber reports whether a word is a JSON number (RFC 8259, section 6), without an exponent.
func isNumber(word []byte) bool {
	digits := func() (n int) {
		for ; n < len(word) && '0' <= word[n] && word[n] <= '9'; n++ {
		}
		word = word[n:]
		return n
	}
	if word[0] == '-' {
		word = word[1:]
	}
	zero := len(word) > 0 && word[0] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if len(word) > 0 && word[0] == '.' {
		word = word[1:]
		return digits() > 0 && len(word) == 0
	}
	return len(word) == 0
}
