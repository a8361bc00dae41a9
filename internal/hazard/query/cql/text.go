package cql

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ParseText reads CQL2 text (section 8). ILIKE, which GDAL writes, is LIKE that does not mind case.
func ParseText(text string) (Expr, error) { return parse(&textParser{text: text}) }

// ParseSQL reads the where clause of an ArcGIS query: DATE '…', TIMESTAMP '…', CURRENT_TIMESTAMP and CURRENT_DATE, which are now (in UTC), each with + or - INTERVAL '…'
// DAY, HOUR, MINUTE or SECOND; UPPER and LOWER, which here mean that case does not matter.
func ParseSQL(text string, now time.Time) (Expr, error) {
	return parse(&textParser{text: text, sql: true, now: now})
}

func parse(p *textParser) (Expr, error) {
	text := p.text
	if len(text) > maxBytes {
		return nil, Place{at: maxBytes}.Fault(fmt.Sprintf("at most %d bytes", maxBytes), "")
	}
	if !utf8.ValidString(text) {
		return nil, Place{}.Fault("UTF-8", "")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.token.kind != end {
		return nil, p.expected("AND, OR or the end")
	}
	return e, nil
}

type tokenKind uint8

const (
	end tokenKind = iota
	word
	quotedWord
	str
	num
	sign // one of ( ) , = <> < <= > >= -
)

type token struct {
	kind tokenKind
	text string // without quotes; of a word as it was written
	at   int
}

type textParser struct {
	text  string
	sql   bool
	now   time.Time // of sql
	at    int       // behind token
	token token
	budget
}

func (p *textParser) place() Place { return Place{at: p.token.at} }

func (p *textParser) expected(what string) error {
	found := "the end"
	if p.token.kind != end {
		found = fmt.Sprintf("%.40q", p.text[p.token.at:min(p.at, len(p.text))])
	}
	return p.place().Fault(what, found)
}

// next reads the next token.
func (p *textParser) next() error {
	rest := strings.TrimLeft(p.text[p.at:], " \t\r\n")
	p.at = len(p.text) - len(rest)
	p.token = token{at: p.at}
	if rest == "" {
		return nil
	}
	take := func(kind tokenKind, n int) {
		p.token.kind, p.token.text = kind, rest[:n]
		p.at += n
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\'':
		return p.quoted(str, '\'', "a ' that ends the text")
	case r == '"':
		return p.quoted(quotedWord, '"', `a " that ends the name`)
	case unicode.IsLetter(r) || r == '_' || r == ':':
		n := strings.IndexFunc(rest, func(r rune) bool {
			return !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r == ':' || r == '.')
		})
		if n < 0 {
			n = len(rest)
		}
		take(word, n)
	case r >= '0' && r <= '9' || r == '.':
		take(num, numberLength(rest))
	default:
		for _, s := range []string{"<>", "<=", ">=", "(", ")", ",", "=", "<", ">", "-", "+"} {
			if strings.HasPrefix(rest, s) {
				take(sign, len(s))
				return nil
			}
		}
		p.at += utf8.RuneLen(r)
		return p.expected("a name, a literal, or an operator")
	}
	return nil
}

// numberLength is how long the number at the beginning of s is.
func numberLength(s string) int {
	n := 0
	digits := func() {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
	}
	digits()
	if n < len(s) && s[n] == '.' {
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n
		if n++; n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		if k := n; true {
			if digits(); n == k {
				n = m
			}
		}
	}
	return max(n, 1)
}

// quoted reads a token in quotes, which are doubled within it. CQL2 also knows \' in texts.
func (p *textParser) quoted(kind tokenKind, quote byte, closing string) error {
	var b strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote && i+1 < len(p.text) && p.text[i+1] == quote:
			b.WriteByte(quote)
			i++
		case c == quote:
			p.token.kind, p.token.text, p.at = kind, b.String(), i+1
			return nil
		case c == '\\' && !p.sql && quote == '\'' && i+1 < len(p.text) && p.text[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			b.WriteByte(c)
		}
	}
	return Place{at: len(p.text)}.Fault(closing, "the end")
}

// is reports whether the token is that keyword.
func (p *textParser) is(keyword string) bool {
	return p.token.kind == word && strings.EqualFold(p.token.text, keyword)
}

func (p *textParser) isSign(s string) bool { return p.token.kind == sign && p.token.text == s }

// keyword takes that keyword if it is next.
func (p *textParser) keyword(k string) (bool, error) {
	if !p.is(k) {
		return false, nil
	}
	return true, p.next()
}

// need takes a sign.
func (p *textParser) need(s string) error {
	if !p.isSign(s) {
		return p.expected(s)
	}
	return p.next()
}

func (p *textParser) or() (Expr, error) {
	return p.several("OR", p.and, func(all []Expr) Expr { return Or{all} })
}

func (p *textParser) and() (Expr, error) {
	return p.several("AND", p.not, func(all []Expr) Expr { return And{all} })
}

func (p *textParser) several(by string, one func() (Expr, error), join func([]Expr) Expr) (Expr, error) {
	var all []Expr
	for {
		e, err := one()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		more, err := p.keyword(by)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return join(all), nil
}

func (p *textParser) not() (Expr, error) {
	if err := p.down(p.place()); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if not, err := p.keyword("NOT"); err != nil {
		return nil, err
	} else if not {
		e, err := p.not()
		return Not{e}, err
	}
	if !p.isSign("(") {
		return p.predicate()
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.isSign(")") {
		return nil, p.expected("AND, OR or )")
	}
	return e, p.next()
}

func (p *textParser) predicate() (Expr, error) {
	if err := p.node(p.place()); err != nil {
		return nil, err
	}
	if p.token.kind == word && strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " \t\r\n"), "(") {
		name := strings.ToUpper(p.token.text)
		if relate, ok := temporal[name]; ok {
			return p.temporal(relate)
		}
		if strings.HasPrefix(name, "S_") {
			return p.spatial(name)
		}
	}
	if p.token.kind == word && !p.is("TRUE") && !p.is("FALSE") && isReserved(p.token.text) {
		return nil, p.expected("a predicate")
	}
	of, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.token.kind == sign {
		if by := Comparator(p.token.text); slices.Contains(comparators, by) {
			if err := p.next(); err != nil {
				return nil, err
			}
			right, err := p.operand()
			return Compare{by, of, right}, err
		}
	}
	if is, err := p.keyword("IS"); err != nil {
		return nil, err
	} else if is {
		not, err := p.keyword("NOT")
		if err != nil {
			return nil, err
		}
		if !p.is("NULL") {
			return nil, p.expected("NULL")
		}
		return negated(not, IsNull{of}), p.next()
	}
	if of.Kind == Boolean {
		return Constant{of.True}, nil
	}
	return p.likeBetweenIn(of)
}

// likeBetweenIn reads the rest of a predicate after its first operand: [NOT] LIKE, BETWEEN or IN.
func (p *textParser) likeBetweenIn(of Operand) (Expr, error) {
	not, err := p.keyword("NOT")
	if err != nil {
		return nil, err
	}
	switch {
	case p.is("LIKE"), p.is("ILIKE"):
		fold := p.is("ILIKE")
		if err := p.next(); err != nil {
			return nil, err
		}
		pattern, err := p.operand()
		if err == nil && pattern.Kind != Text {
			err = pattern.At.Fault("a pattern in single quotes", "")
		}
		of.Fold = of.Fold || fold
		return negated(not, Like{of, pattern}), err
	case p.is("BETWEEN"):
		if err := p.next(); err != nil {
			return nil, err
		}
		low, err := p.operand()
		if err != nil {
			return nil, err
		}
		if and, err := p.keyword("AND"); err != nil {
			return nil, err
		} else if !and {
			return nil, p.expected("AND")
		}
		high, err := p.operand()
		return negated(not, between(of, low, high)), err
	case p.is("IN"):
		if err := p.next(); err != nil {
			return nil, err
		}
		list, err := p.list()
		return negated(not, In{of, list}), err
	}
	return nil, p.expected("an operator: =, <>, <, <=, >, >=, LIKE, BETWEEN, IN or IS NULL")
}

var comparators = []Comparator{Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual}

func negated(not bool, e Expr) Expr {
	if not {
		return Not{e}
	}
	return e
}

func (p *textParser) list() (all []Operand, err error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	for {
		one, err := p.operand()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		if !p.isSign(",") {
			break
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if !p.isSign(")") {
		return nil, p.expected(", or )")
	}
	return all, p.next()
}

// reserved are the keywords that are no names of properties unless they are in double quotes.
var reserved = []string{"AND", "OR", "NOT", "LIKE", "ILIKE", "BETWEEN", "IN", "IS", "NULL", "TRUE", "FALSE"}

func isReserved(s string) bool {
	return slices.ContainsFunc(reserved, func(k string) bool { return strings.EqualFold(k, s) })
}

func (p *textParser) operand() (o Operand, err error) {
	o.At = p.place()
	if err := p.node(o.At); err != nil {
		return o, err
	}
	const expected = "a property, a text in single quotes, a number, DATE('…') or TIMESTAMP('…')"
	switch {
	case p.token.kind == str:
		o.Kind, o.Text = Text, p.token.text
	case p.token.kind == quotedWord:
		o.Kind, o.Text = Property, p.token.text
	case p.token.kind == num, p.isSign("-"), p.isSign("+"):
		return p.number(o)
	case p.is("TRUE"), p.is("FALSE"):
		o.Kind, o.True = Boolean, p.is("TRUE")
	case p.token.kind == word && !isReserved(p.token.text):
		name := p.token.text
		if err := p.next(); err != nil {
			return o, err
		}
		if p.sql && p.token.kind == str && (strings.EqualFold(name, "DATE") || strings.EqualFold(name, "TIMESTAMP")) {
			o, err := p.moment(o)
			if err != nil {
				return o, err
			}
			return p.shifted(o)
		}
		if p.sql && strings.EqualFold(name, "CURRENT_TIMESTAMP") {
			o.Kind, o.From, o.To = Moment, p.now.UnixMilli(), p.now.UnixMilli()
			return p.shifted(o)
		}
		if p.sql && strings.EqualFold(name, "CURRENT_DATE") {
			day := p.now.UTC().Truncate(24 * time.Hour)
			o.Kind, o.From, o.To = Moment, day.UnixMilli(), day.AddDate(0, 0, 1).UnixMilli()-1
			return p.shifted(o)
		}
		if p.isSign("(") {
			return p.function(o, name)
		}
		o.Kind, o.Text = Property, name
		return o, nil
	default:
		return o, p.expected(expected)
	}
	return o, p.next()
}

func (p *textParser) number(o Operand) (Operand, error) {
	minus := p.isSign("-")
	if p.token.kind == sign {
		if err := p.next(); err != nil {
			return o, err
		}
	}
	n, err := strconv.ParseFloat(p.token.text, 64)
	if p.token.kind != num || err != nil {
		return o, p.expected("a number")
	}
	if o.Kind, o.Number = Number, n+0; minus {
		o.Number = -n
	}
	return o, p.next()
}

// moment makes an operand of the text that is next.
func (p *textParser) moment(o Operand) (Operand, error) {
	from, to, ok := moment(p.token.text, p.sql)
	if p.token.kind != str || !ok {
		return o, p.expected("a date ('2026-11-02') or a timestamp ('2026-11-02T06:00:00Z')")
	}
	o.Kind, o.From, o.To = Moment, from, to
	return o, p.next()
}

// periods are the units of an interval in SQL.
var periods = map[string]time.Duration{"DAY": 24 * time.Hour, "HOUR": time.Hour, "MINUTE": time.Minute, "SECOND": time.Second}

// shifted moves a moment by what follows it: + or -, and an interval or a number of days.
func (p *textParser) shifted(o Operand) (Operand, error) {
	if !p.isSign("-") && !p.isSign("+") {
		return o, nil
	}
	back := p.isSign("-")
	if err := p.next(); err != nil {
		return o, err
	}
	unit := periods["DAY"]
	text := p.token.text
	switch {
	case p.token.kind == num:
	case p.is("INTERVAL"):
		if err := p.next(); err != nil {
			return o, err
		}
		if text = p.token.text; p.token.kind != str {
			return o, p.expected("a number in single quotes")
		}
		if err := p.next(); err != nil {
			return o, err
		}
		var ok bool
		if unit, ok = periods[strings.ToUpper(p.token.text)]; !ok || p.token.kind != word {
			return o, p.expected("DAY, HOUR, MINUTE or SECOND")
		}
	default:
		return o, p.expected("INTERVAL '…' DAY, or a number of days")
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	const most = 366 * 10_000 * 24 * 60 * 60 // seconds in ten thousand years
	if err != nil || !(n >= 0 && n*unit.Seconds() <= most) {
		return o, o.At.Fault("an interval of at most ten thousand years", fmt.Sprintf("%.40q", text))
	}
	step := int64(n * unit.Seconds() * 1000)
	if back {
		step = -step
	}
	o.From, o.To = o.From+step, o.To+step
	return o, p.next()
}

// function reads an operand that is the value of a function; ( is next.
func (p *textParser) function(o Operand, name string) (Operand, error) {
	if err := p.down(o.At); err != nil {
		return o, err
	}
	defer func() { p.depth-- }()
	upper := strings.ToUpper(name)
	folds := upper == "CASEI" || p.sql && (upper == "UPPER" || upper == "LOWER")
	if !folds && upper != "DATE" && upper != "TIMESTAMP" {
		known := "a function that is known: CASEI, DATE, TIMESTAMP, S_INTERSECTS, S_DISJOINT, " + strings.Join(slices.Sorted(maps.Keys(temporal)), ", ")
		return o, o.At.Fault(known, fmt.Sprintf("%.40q", name))
	}
	if err := p.next(); err != nil {
		return o, err
	}
	var err error
	if folds {
		if o, err = p.operand(); err == nil && o.Kind != Text && o.Kind != Property {
			err = o.At.Fault("a property or a text", "")
		}
		o.Fold = true
	} else {
		o, err = p.moment(o)
	}
	if err != nil {
		return o, err
	}
	return o, p.need(")")
}

// temporal reads the arguments of a temporal function.
func (p *textParser) temporal(relate func(a, b span) Expr) (Expr, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.need("("); err != nil {
		return nil, err
	}
	a, err := p.span()
	if err != nil {
		return nil, err
	}
	if err := p.need(","); err != nil {
		return nil, err
	}
	b, err := p.span()
	if err != nil {
		return nil, err
	}
	return relate(a, b), p.need(")")
}

func (p *textParser) span() (s span, err error) {
	if !p.is("INTERVAL") {
		o, err := p.operand()
		if err == nil && o.Kind != Property && o.Kind != Moment {
			err = o.At.Fault("a property, DATE('…'), TIMESTAMP('…') or INTERVAL(…)", "")
		}
		return span{o, o}, err
	}
	if err := p.next(); err != nil {
		return s, err
	}
	if err := p.need("("); err != nil {
		return s, err
	}
	if s.from, err = p.bound(never); err != nil {
		return s, err
	}
	if err := p.need(","); err != nil {
		return s, err
	}
	if s.to, err = p.bound(forever); err != nil {
		return s, err
	}
	return s, p.need(")")
}

// bound reads one end of an interval; .. is open.
func (p *textParser) bound(open int64) (Operand, error) {
	o := Operand{Kind: Moment, From: open, To: open, At: p.place()}
	if p.token.kind != str {
		o, err := p.operand()
		if err == nil && o.Kind != Property && o.Kind != Moment {
			err = o.At.Fault("a property, or '..', or a date or timestamp in single quotes", "")
		}
		return o, err
	}
	if err := p.node(o.At); err != nil {
		return o, err
	}
	if p.token.text == ".." {
		return o, p.next()
	}
	return p.moment(o)
}

// spatial reads a spatial function: one argument is a property, the other a geometry.
func (p *textParser) spatial(name string) (Expr, error) {
	if name != "S_INTERSECTS" && name != "S_DISJOINT" {
		return nil, p.expected("S_INTERSECTS or S_DISJOINT")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if err := p.need("("); err != nil {
		return nil, err
	}
	var of *Operand
	var g *Geometry
	for i := range 2 {
		if i == 1 {
			if err := p.need(","); err != nil {
				return nil, err
			}
		}
		if p.token.kind == word && strings.HasPrefix(strings.TrimLeft(p.text[p.at:], " \t\r\nzZ"), "(") && g == nil {
			one, err := p.geometry()
			if err != nil {
				return nil, err
			}
			g = &one
			continue
		}
		if (p.token.kind == word && !isReserved(p.token.text) || p.token.kind == quotedWord) && of == nil {
			of = &Operand{Kind: Property, Text: p.token.text, At: p.place()}
			if err := p.next(); err != nil {
				return nil, err
			}
			continue
		}
		return nil, p.expected("the geometry as a property and one as WKT or BBOX(west,south,east,north)")
	}
	return negated(name == "S_DISJOINT", Meets{*of, *g}), p.need(")")
}

var shapes = []string{"POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION", "BBOX"}

// geometry takes the text of a geometry, to the parenthesis that closes it.
func (p *textParser) geometry() (g Geometry, err error) {
	g.Where = p.place()
	if err := p.node(g.Where); err != nil {
		return g, err
	}
	kind := strings.ToUpper(p.token.text)
	if !slices.Contains(shapes, kind) {
		return g, p.expected("one of " + strings.Join(shapes, ", "))
	}
	begin, depth := p.token.at, 0
	for i := begin; i < len(p.text); i++ {
		switch p.text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				text := p.text[begin : i+1]
				p.at = i + 1
				if kind == "BBOX" {
					inner := text[strings.IndexByte(text, '(')+1 : len(text)-1]
					g.BBox, err = box(strings.Split(inner, ","), g.Where)
				} else {
					g.WKT = text
				}
				if err != nil {
					return g, err
				}
				return g, p.next()
			}
		case '\'', '"':
			return g, Place{at: i}.Fault("a number, a comma or a parenthesis", fmt.Sprintf("%q", p.text[i:i+1]))
		}
	}
	return g, Place{at: len(p.text)}.Fault("a ) that ends the geometry", "the end")
}

// box reads four numbers, or six, of which the heights are left out.
func box(parts []string, at Place) ([]float64, error) {
	const form = "BBOX(west,south,east,north), in degrees"
	if len(parts) == 6 {
		parts = []string{parts[0], parts[1], parts[3], parts[4]}
	}
	if len(parts) != 4 {
		return nil, at.Fault(form, "")
	}
	corners := make([]float64, 4)
	for i, part := range parts {
		part = strings.TrimSpace(part)
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || strings.Trim(part, "+-.0123456789eE") != "" {
			return nil, at.Fault(form, fmt.Sprintf("%.40q", part))
		}
		corners[i] = n
	}
	return corners, nil
}
