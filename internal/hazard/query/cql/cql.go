// Package cql parses filters: the Common Query Language of OGC (CQL2, OGC 21-065r2) as text and as
// JSON, and the where clauses of ArcGIS, a small part of SQL-92. The result is always the same
// tree, Expr.
//
// It supports AND, OR, NOT; =, <>, <, <=, >, >=; LIKE, BETWEEN, IN, IS NULL; CASEI; S_INTERSECTS
// and S_DISJOINT; and the temporal functions, which become comparisons. It does not support custom
// functions, arrays and arithmetic.
//
// The package knows no properties; the caller gives names a meaning. A filter has limits (maxBytes,
// maxNodes, maxDepth), and parsing takes time in proportion to its length. Every error is an *Error
// that says where it is, and what was expected.
package cql

import (
	"fmt"
	"time"
)

// The budget of one filter.
const (
	maxBytes = 16 << 10 // of its text, geometries included
	maxNodes = 500      // predicates, operands and elements of lists
	maxDepth = 40       // parentheses, NOT and functions within each other
)

// Error says what of a filter cannot be read.
type Error struct {
	At       int    // the place in the text, in bytes from 0; of JSON it is not known, but Path is
	Path     string // of JSON, the place (RFC 6901)
	JSON     bool
	Expected string
	Found    string // empty: there is nothing to quote
}

func (e *Error) Error() string {
	where := fmt.Sprintf("at character %d", e.At+1)
	if e.JSON {
		if where = "at " + e.Path; e.Path == "" {
			where = "at its top"
		}
	}
	if e.Found == "" {
		return where + ": expected " + e.Expected
	}
	return fmt.Sprintf("%s: expected %s, found %s", where, e.Expected, e.Found)
}

// Expr is a condition: And, Or, Not, Constant, Compare, Like, In, IsNull, Meets.
type Expr interface{ isExpr() }

// Comparator is how two operands are compared.
type Comparator string

// The comparators.
const (
	Equal          Comparator = "="
	NotEqual       Comparator = "<>"
	Less           Comparator = "<"
	LessOrEqual    Comparator = "<="
	Greater        Comparator = ">"
	GreaterOrEqual Comparator = ">="
)

// Swapped is the comparator that says the same of the operands in the other order.
func (c Comparator) Swapped() Comparator {
	switch c {
	case Less:
		return Greater
	case LessOrEqual:
		return GreaterOrEqual
	case Greater:
		return Less
	case GreaterOrEqual:
		return LessOrEqual
	}
	return c
}

// Negated is the comparator that holds where c does not.
func (c Comparator) Negated() Comparator {
	switch c {
	case Equal:
		return NotEqual
	case NotEqual:
		return Equal
	case Less:
		return GreaterOrEqual
	case LessOrEqual:
		return Greater
	case Greater:
		return LessOrEqual
	}
	return Less
}

// Kind is what an operand is.
type Kind uint8

// The kinds of operands.
const (
	Property Kind = iota // Text is its name
	Text
	Number
	Boolean
	Moment // From to To, both included: a day is all of it
)

// Operand is a property or a literal.
type Operand struct {
	Kind   Kind
	Text   string
	Number float64
	True   bool
	// From and To are the first and the last millisecond of a moment, since 1970.
	From, To int64
	// Fold: case does not matter (CASEI).
	Fold bool
	At   Place
}

// Place is where something is in the filter, for errors.
type Place struct {
	at   int
	path string
	json bool
}

// Fault is the error of what is at the place.
func (p Place) Fault(expected, found string) *Error {
	return &Error{At: p.at, Path: p.path, JSON: p.json, Expected: expected, Found: found}
}

// The conditions.
type (
	// And holds if all do.
	And struct{ All []Expr }
	// Or holds if any does.
	Or struct{ Any []Expr }
	// Not holds if Of does not.
	Not struct{ Of Expr }
	// Constant holds always, or never.
	Constant struct{ Holds bool }
	// Compare compares. BETWEEN and the temporal functions are made of it.
	Compare struct {
		By          Comparator
		Left, Right Operand
	}
	// Like holds if a text is as a pattern says: % stands for any characters, _ for one, \ takes a character as it is.
	Like struct{ Of, Pattern Operand }
	// In holds if an operand equals one of a list.
	In struct {
		Of   Operand
		List []Operand
	}
	// IsNull holds if there is no value.
	IsNull struct{ Of Operand }
	// Meets holds if a geometry has a place in common with another (S_INTERSECTS).
	Meets struct {
		Of Operand
		Geometry
	}
)

func (And) isExpr()      {}
func (Or) isExpr()       {}
func (Not) isExpr()      {}
func (Constant) isExpr() {}
func (Compare) isExpr()  {}
func (Like) isExpr()     {}
func (In) isExpr()       {}
func (IsNull) isExpr()   {}
func (Meets) isExpr()    {}

// Geometry is the text of one, longitude before latitude, and not looked into here.
type Geometry struct {
	WKT     string
	GeoJSON string
	BBox    []float64 // west, south, east, north; may cross the antimeridian
	Where   Place
}

// The bounds of time: a moment that is open (..).
const (
	forever = int64(1) << 62
	never   = -forever
)

// moment reads a date as all its day, or a timestamp (RFC 3339; in SQL with a blank and without a zone too, which is UTC).
func moment(text string, sql bool) (from, to int64, ok bool) {
	if sql { // GDAL ends a date with T, and means its first moment
		if day, err := time.Parse(time.DateOnly+"T", text); err == nil {
			return day.UnixMilli(), day.UnixMilli(), true
		}
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.UnixMilli(), day.AddDate(0, 0, 1).UnixMilli() - 1, day.Year() >= 1
	}
	layouts := []string{time.RFC3339}
	if sql {
		layouts = []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli(), t.UnixMilli(), true
		}
	}
	return 0, 0, false
}

// ReadMoment reads the text of a date or a timestamp, as comparisons of texts with moments need it: a date is all its day.
func ReadMoment(text string) (from, to int64, ok bool) { return moment(text, true) }

// between is of BETWEEN.
func between(of, low, high Operand) Expr {
	return And{[]Expr{Compare{GreaterOrEqual, of, low}, Compare{LessOrEqual, of, high}}}
}

// span is a time from one operand to another, as temporal functions take it.
type span struct{ from, to Operand }

// temporal are the temporal functions (section 7.5), as comparisons of the ends of their arguments.
var temporal = map[string]func(a, b span) Expr{
	"T_AFTER":      func(a, b span) Expr { return Compare{Greater, a.from, b.to} },
	"T_BEFORE":     func(a, b span) Expr { return Compare{Less, a.to, b.from} },
	"T_CONTAINS":   func(a, b span) Expr { return ends(a, b, Less, Greater) },
	"T_DISJOINT":   func(a, b span) Expr { return Or{[]Expr{Compare{Less, a.to, b.from}, Compare{Greater, a.from, b.to}}} },
	"T_DURING":     func(a, b span) Expr { return ends(a, b, Greater, Less) },
	"T_EQUALS":     func(a, b span) Expr { return ends(a, b, Equal, Equal) },
	"T_FINISHEDBY": func(a, b span) Expr { return ends(a, b, Less, Equal) },
	"T_FINISHES":   func(a, b span) Expr { return ends(a, b, Greater, Equal) },
	"T_INTERSECTS": func(a, b span) Expr {
		return And{[]Expr{Compare{LessOrEqual, a.from, b.to}, Compare{GreaterOrEqual, a.to, b.from}}}
	},
	"T_MEETS":        func(a, b span) Expr { return Compare{Equal, a.to, b.from} },
	"T_METBY":        func(a, b span) Expr { return Compare{Equal, a.from, b.to} },
	"T_OVERLAPPEDBY": func(a, b span) Expr { return And{[]Expr{ends(a, b, Greater, Greater), Compare{Less, a.from, b.to}}} },
	"T_OVERLAPS":     func(a, b span) Expr { return And{[]Expr{ends(a, b, Less, Less), Compare{Greater, a.to, b.from}}} },
	"T_STARTEDBY":    func(a, b span) Expr { return ends(a, b, Equal, Greater) },
	"T_STARTS":       func(a, b span) Expr { return ends(a, b, Equal, Less) },
}

// ends compares the beginnings of two spans, and their ends.
func ends(a, b span, from, to Comparator) Expr {
	return And{[]Expr{Compare{from, a.from, b.from}, Compare{to, a.to, b.to}}}
}

// budget counts what a filter is made of.
type budget struct{ nodes, depth int }

// node takes one node, and down a level; the caller takes up again.
func (b *budget) node(p Place) error {
	if b.nodes++; b.nodes > maxNodes {
		return p.Fault(fmt.Sprintf("no more than %d predicates and operands", maxNodes), "")
	}
	return nil
}

func (b *budget) down(p Place) error {
	if b.depth++; b.depth > maxDepth {
		return p.Fault(fmt.Sprintf("no more than %d levels", maxDepth), "")
	}
	return nil
}
