package query

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/geo/crs"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query/cql"
)

// The languages of a Where, as the parameter filter-lang names them. CQLText, a draft's name of CQL2Text, is what GDAL knows.
const (
	CQL2Text = "cql2-text"
	CQL2JSON = "cql2-json"
	CQLText  = "cql-text"
)

// Limits of a Where, beside those of package cql: each pattern and each geometry costs time on every hazard.
const (
	maxPatterns = 10
	maxPattern  = 100 // bytes of one
	maxMeets    = 10
)

// Where is a condition on the fields of hazards. Make it with parseWhere or NewWhere. It is not altered then.
type Where struct {
	// Lang and Text are what it was read from, and CRS names the reference system of its positions.
	Lang, Text, CRS string
	// Root has no negations: each condition knows whether it is one.
	Root     *Cond
	fields   []Field       // that it may name
	system   crs.Reference // of its positions
	meets    int
	patterns int
}

// Own are the values of a feature that is a part of a hazard, such as one of its areas, by the names of fields that hazards do not have: a string,
// a float64, or a hazard.Instant. What is not there is not known.
type Own map[string]any

// Value is what a field says of a part of h, as JSON has it: a string, a float64, or nil. A moment is RFC 3339 in UTC.
func (o Own) Value(f *Field, h *hazard.Hazard) any {
	s := &subject{h, o}
	switch f.Kind {
	case TextField:
		if text, ok := s.text(f); ok {
			return text
		}
	case NumberField:
		if n, ok := s.number(f); ok {
			return n
		}
	case MomentField:
		if at, ok := s.moment(f); ok {
			return at.String()
		}
	}
	return nil
}

// CondKind is what a Cond asks.
type CondKind uint8

// The kinds of conditions.
const (
	CondAll     CondKind = iota // all of Kids hold
	CondAny                     // one of Kids holds
	CondConst                   // Not: it never holds
	CondTexts                   // the field is one of Texts (Not: none of them)
	CondOrder                   // the field, a text, is before or behind Texts[0], as By says
	CondPattern                 // the field is as a pattern says
	CondNumber                  // the field compares with Number as By says
	CondMoment                  // the field compares with At as By says
	CondFields                  // the field compares with another of its kind
	CondNull                    // the field has no value
	CondMeets                   // the footprint has a place in common with a geometry
)

// Cond is a condition. What it asks of a field without a value does not hold, whatever Not says, but for CondNull.
type Cond struct {
	Kind  CondKind
	Kids  []*Cond
	Field *Field
	Other *Field // of CondFields
	Not   bool
	Fold  bool // case does not matter
	By    cql.Comparator
	Texts []string
	// Number and At are what is compared with.
	Number float64
	At     hazard.Instant
	// Bounds are those of the geometry.
	Bounds  geo.Box
	pattern pattern
	box     *geo.Box // of CondMeets, if the geometry is a box
	meets   func(geo.Shape) bool
}

// parseWhere reads a filter on those fields in one of the languages, with positions of a reference system. The error is a *cql.Error, or a *geo.CostError of a geometry.
func parseWhere(lang, text string, in crs.Reference, on []Field) (*Where, error) {
	var e cql.Expr
	var err error
	if lang == CQL2JSON {
		e, err = cql.ParseJSON(text)
	} else {
		e, err = cql.ParseText(text)
	}
	if err != nil {
		return nil, err
	}
	w, err := newWhere(e, in, on)
	if err != nil {
		return nil, err
	}
	w.Lang, w.Text, w.CRS = lang, text, in.URI
	return w, nil
}

// NewWhere gives the names of a filter their meaning, which is one of the fields. The errors are those of parseWhere.
// Its positions are longitude and latitude.
func NewWhere(e cql.Expr, on []Field) (*Where, error) {
	in, _ := crs.Referred(crs.CRS84)
	return newWhere(e, in, on)
}

func newWhere(e cql.Expr, in crs.Reference, on []Field) (*Where, error) {
	w := &Where{fields: on, system: in}
	var err error
	w.Root, err = w.bind(e, false)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// WhereEquals is the condition that a field has a value, as it is written in a parameter; ok is false if it is no value of the field's.
func WhereEquals(f *Field, value string) (w *Where, ok bool) {
	o := cql.Operand{Kind: cql.Text, Text: value}
	if f.Kind == NumberField {
		n, isNumber := number(value)
		o, ok = cql.Operand{Kind: cql.Number, Number: n}, isNumber
		if !ok {
			return nil, false
		}
	}
	w, err := NewWhere(cql.Compare{By: cql.Equal, Left: cql.Operand{Kind: cql.Property, Text: f.Name}, Right: o}, []Field{*f})
	if err != nil {
		return nil, false
	}
	w.Lang, w.Text = CQL2Text, fmt.Sprintf("%q = %q", f.Name, value)
	return w, true
}

// And is the condition that both hold; w may be nil.
func (w *Where) And(o *Where) *Where {
	if w == nil {
		return o
	}
	return &Where{Lang: w.Lang, CRS: w.CRS, Text: w.Text + "\n" + o.Text, Root: &Cond{Kind: CondAll, Kids: []*Cond{w.Root, o.Root}}, meets: w.meets + o.meets, patterns: w.patterns + o.patterns}
}

// constant is a condition that holds always, or never.
func constant(holds bool) *Cond { return &Cond{Kind: CondConst, Not: !holds} }

// bind makes a condition of e, or of its negation.
func (w *Where) bind(e cql.Expr, not bool) (*Cond, error) {
	several := func(kind, negated CondKind, all []cql.Expr) (*Cond, error) {
		c := &Cond{Kind: kind}
		if not {
			c.Kind = negated
		}
		for _, one := range all {
			kid, err := w.bind(one, not)
			if err != nil {
				return nil, err
			}
			c.Kids = append(c.Kids, kid)
		}
		return c, nil
	}
	switch e := e.(type) {
	case cql.And:
		return several(CondAll, CondAny, e.All)
	case cql.Or:
		return several(CondAny, CondAll, e.Any)
	case cql.Not:
		return w.bind(e.Of, !not)
	case cql.Constant:
		return constant(e.Holds != not), nil
	case cql.Compare:
		return w.compare(e, not)
	case cql.Like:
		return w.like(e, not)
	case cql.In:
		return w.in(e, not)
	case cql.IsNull:
		f, err := w.property(e.Of)
		if err != nil {
			return nil, err
		}
		return &Cond{Kind: CondNull, Field: f, Not: not}, nil
	case cql.Meets:
		return w.area(e, not)
	}
	return nil, fmt.Errorf("filter: %T", e)
}

// property is the field that an operand names.
func (w *Where) property(o cql.Operand) (*Field, error) {
	if o.Kind != cql.Property {
		return nil, o.At.Fault("the name of a property", "a literal")
	}
	f := FieldNamed(o.Text, w.fields)
	if f == nil {
		names := make([]string, len(w.fields))
		for i, f := range w.fields {
			names[i] = f.Name
		}
		hint := "one of " + strings.Join(names, ", ")
		if near := NearestWord(o.Text, names); near != "" {
			hint = near + ", or another property that queryables lists"
		}
		return nil, o.At.Fault(hint, fmt.Sprintf("%.60q", o.Text))
	}
	return f, nil
}

// plain is property for what needs a value that is no geometry.
func (w *Where) plain(o cql.Operand) (*Field, error) {
	f, err := w.property(o)
	if err == nil && f.Kind == PlaceField {
		err = o.At.Fault("a property that is not a geometry", f.Name)
	}
	return f, err
}

var kindNames = map[Kind]string{TextField: "a text in single quotes", NumberField: "a number", MomentField: "a date or a timestamp"}

// literal is o as a value of the field's kind: a text that compares with moments is read as one.
func literal(f *Field, o cql.Operand) (cql.Operand, error) {
	want := map[Kind]cql.Kind{TextField: cql.Text, NumberField: cql.Number, MomentField: cql.Moment}[f.Kind]
	if f.Kind == MomentField && o.Kind == cql.Text {
		if from, to, ok := cql.ReadMoment(o.Text); ok {
			o.Kind, o.From, o.To = cql.Moment, from, to
		}
	}
	if o.Kind != want {
		return o, o.At.Fault(fmt.Sprintf("%s, as %s is", kindNames[f.Kind], f.Name), "")
	}
	return o, nil
}

func (w *Where) compare(e cql.Compare, not bool) (*Cond, error) {
	left, right, by := e.Left, e.Right, e.By
	if left.Kind != cql.Property && right.Kind == cql.Property {
		left, right, by = right, left, by.Swapped()
	}
	if not {
		by = by.Negated()
	}
	if left.Kind != cql.Property {
		return literals(left, right, by)
	}
	f, err := w.plain(left)
	if err != nil {
		return nil, err
	}
	c := &Cond{Field: f, By: by, Fold: left.Fold || right.Fold}
	if right.Kind == cql.Property {
		if c.Other, err = w.plain(right); err != nil {
			return nil, err
		}
		if c.Kind = CondFields; c.Other.Kind != f.Kind {
			return nil, right.At.Fault(fmt.Sprintf("a property with values like %s", f.Name), c.Other.Name)
		}
		return c, nil
	}
	if right, err = literal(f, right); err != nil {
		return nil, err
	}
	switch f.Kind {
	case NumberField:
		c.Kind, c.Number = CondNumber, right.Number
		return c, nil
	case MomentField:
		return moments(c, right), nil
	}
	c.Kind, c.Texts = CondOrder, []string{right.Text}
	if by == cql.Equal || by == cql.NotEqual {
		c.Kind, c.Not = CondTexts, by == cql.NotEqual
	}
	c.foldTexts()
	return c, nil
}

// foldTexts folds the texts of a condition that does not mind case.
func (c *Cond) foldTexts() {
	if c.Fold {
		for i := range c.Texts {
			c.Texts[i] = foldCase(c.Texts[i])
		}
	}
}

func foldCase(s string) string { return strings.ToLower(s) }

// moments compares a moment with one that may be a whole day: before it is before its beginning, after it behind its end.
func moments(c *Cond, with cql.Operand) *Cond {
	c.Kind = CondMoment
	from, to := hazard.Instant(with.From), hazard.Instant(with.To)
	one := func(by cql.Comparator, at hazard.Instant) *Cond {
		return &Cond{Kind: CondMoment, Field: c.Field, By: by, At: at}
	}
	switch c.By {
	case cql.Equal:
		if from != to {
			return &Cond{Kind: CondAll, Kids: []*Cond{one(cql.GreaterOrEqual, from), one(cql.LessOrEqual, to)}}
		}
	case cql.NotEqual:
		if from != to {
			return &Cond{Kind: CondAny, Kids: []*Cond{one(cql.Less, from), one(cql.Greater, to)}}
		}
	}
	if c.At = from; c.By == cql.LessOrEqual || c.By == cql.Greater {
		c.At = to
	}
	return c
}

// literals compares two literals.
func literals(a, b cql.Operand, by cql.Comparator) (*Cond, error) {
	if a.Kind != b.Kind {
		return nil, b.At.Fault("a property, or a literal of the same kind", "")
	}
	switch a.Kind {
	case cql.Number:
		return constant(holds(by, order(a.Number, b.Number))), nil
	case cql.Text:
		x, y := a.Text, b.Text
		if a.Fold || b.Fold {
			x, y = foldCase(x), foldCase(y)
		}
		return constant(holds(by, strings.Compare(x, y))), nil
	case cql.Boolean:
		if by != cql.Equal && by != cql.NotEqual {
			return nil, a.At.Fault("= or <> between true and false", string(by))
		}
		return constant((a.True == b.True) == (by == cql.Equal)), nil
	}
	switch by { // moments
	case cql.Less:
		return constant(a.To < b.From), nil
	case cql.LessOrEqual:
		return constant(a.From <= b.To), nil
	case cql.Greater:
		return constant(a.From > b.To), nil
	case cql.GreaterOrEqual:
		return constant(a.To >= b.From), nil
	}
	return constant((a.From == b.From && a.To == b.To) == (by == cql.Equal)), nil
}

func order[T int64 | float64 | hazard.Instant](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// holds reports whether a comparison holds of values in that order.
func holds(by cql.Comparator, order int) bool {
	switch by {
	case cql.Equal:
		return order == 0
	case cql.NotEqual:
		return order != 0
	case cql.Less:
		return order < 0
	case cql.LessOrEqual:
		return order <= 0
	case cql.Greater:
		return order > 0
	}
	return order >= 0
}

func (w *Where) in(e cql.In, not bool) (*Cond, error) {
	f, err := w.plain(e.Of)
	if err != nil {
		return nil, err
	}
	c := &Cond{Kind: CondTexts, Field: f, Not: not, Fold: e.Of.Fold}
	if f.Kind != TextField {
		var all []cql.Expr
		for _, o := range e.List {
			all = append(all, cql.Compare{By: cql.Equal, Left: e.Of, Right: o})
		}
		return w.bind(cql.Or{Any: all}, not)
	}
	for _, o := range e.List {
		if o, err = literal(f, o); err != nil {
			return nil, err
		}
		c.Texts, c.Fold = append(c.Texts, o.Text), c.Fold || o.Fold
	}
	c.foldTexts()
	return c, nil
}

func (w *Where) like(e cql.Like, not bool) (*Cond, error) {
	f, err := w.plain(e.Of)
	if err != nil {
		return nil, err
	}
	if f.Kind != TextField {
		return nil, e.Of.At.Fault("a property with text values", f.Name)
	}
	if w.patterns++; w.patterns > maxPatterns {
		return nil, e.Pattern.At.Fault(fmt.Sprintf("no more than %d patterns", maxPatterns), "")
	}
	if len(e.Pattern.Text) > maxPattern {
		return nil, e.Pattern.At.Fault(fmt.Sprintf("a pattern of at most %d bytes", maxPattern), fmt.Sprint(len(e.Pattern.Text)))
	}
	c := &Cond{Kind: CondPattern, Field: f, Not: not, Fold: e.Of.Fold || e.Pattern.Fold, Texts: []string{e.Pattern.Text}}
	c.foldTexts()
	c.pattern = newPattern(c.Texts[0])
	return c, nil
}

func (w *Where) area(e cql.Meets, not bool) (*Cond, error) {
	f, err := w.property(e.Of)
	if err != nil {
		return nil, err
	}
	if f.Kind != PlaceField {
		return nil, e.Of.At.Fault(Geometry, f.Name)
	}
	if w.meets++; w.meets > maxMeets {
		return nil, e.Where.Fault(fmt.Sprintf("no more than %d geometries", maxMeets), "")
	}
	c := &Cond{Kind: CondMeets, Field: f, Not: not}
	intersects := geo.Intersects // what cannot be told is found, also where the condition is that nothing meets
	if not {
		intersects = geo.SurelyIntersects
	}
	if b := e.BBox; b != nil {
		box, area, err := NewBox([4]float64(b), w.system)
		if err != nil {
			return nil, e.Where.Fault("a box: "+err.Error(), "")
		}
		if area != nil {
			c.Bounds, c.meets = area.bounds, func(s geo.Shape) bool { return area.meetsBy(intersects, s) }
			return c, nil
		}
		c.Bounds, c.box, c.meets = *box, box, func(s geo.Shape) bool { return meetsBy(intersects, *box, s) }
		return c, nil
	}
	shape, err := w.readGeometry(e.Geometry)
	if err != nil {
		if _, costly := errors.AsType[*geo.CostError](err); costly {
			return nil, err
		}
		return nil, e.Where.Fault("a geometry, "+w.system.Order(), err.Error())
	}
	a := NewShapeArea(shape)
	c.Bounds, c.meets = a.bounds, func(s geo.Shape) bool { return a.meetsBy(intersects, s) }
	return c, nil
}

func (w *Where) readGeometry(g cql.Geometry) (geo.Shape, error) {
	var to geo.Unproject
	if !w.system.IsCRS84() {
		to = w.system.To
	}
	if g.GeoJSON != "" {
		return geo.ParseGeoJSONIn([]byte(g.GeoJSON), to)
	}
	return geo.ParseWKTIn(g.WKT, to)
}

// needsShapes reports whether it matters where a hazard is.
func (w *Where) needsShapes() bool { return w != nil && w.meets > 0 }

// match reports whether it holds of h, as h reads, whose footprint is places; these are only looked at if needsShapes.
func (w *Where) match(h *hazard.Hazard, places []geo.Shape) bool {
	return w.Root.match(&subject{h, nil}, places)
}

// MayMatch is false only if the condition does not hold of the hazard whose JSON state is. It looks at the name alone, and costs a
// hundredth of reading the state.
func (w *Where) MayMatch(state string) bool {
	name, ok := nameIn(state)
	return !ok || w.Root.mayMatch(&subject{&hazard.Hazard{Name: name}, nil})
}

// FoldedName is a name as the tables of searches have it: in lower case, and without the character 0,
// which PostgreSQL refuses.
func FoldedName(name string) string { return strings.ReplaceAll(foldCase(name), "\x00", "\uFFFD") }

// FoldedPattern is the pattern of a CondPattern for SQL, with the escape character \. It fits the
// FoldedName of all that the condition finds.
func FoldedPattern(pattern string) string {
	pattern = FoldedName(pattern)
	if (len(pattern)-len(strings.TrimRight(pattern, `\`)))%2 == 1 {
		pattern += `\` // it escapes nothing
	}
	return pattern
}

// nameIn returns the name in a state. ok is false if it is written with escapes, or not where states have it.
func nameIn(state string) (name string, ok bool) {
	const member = `"name":"`
	const most = len(`{"id":9223372036854775807,"uuid":"00000000-0000-0000-0000-000000000000",`) // what is before it
	i := strings.Index(state[:min(len(state), most+len(member))], member)
	if i < 0 {
		return "", false
	}
	name = state[i+len(member):]
	end := strings.IndexAny(name, `"\\`)
	if end < 0 || name[end] != '"' {
		return "", false
	}
	return name[:end], true
}

// mayMatch is match of a hazard of which only the name is known.
func (c *Cond) mayMatch(h *subject) bool {
	switch c.Kind {
	case CondAll:
		return !slices.ContainsFunc(c.Kids, func(k *Cond) bool { return !k.mayMatch(h) })
	case CondAny:
		return slices.ContainsFunc(c.Kids, func(k *Cond) bool { return k.mayMatch(h) })
	case CondTexts, CondOrder, CondPattern:
		return c.Field.Name != "hazard_Name" || c.match(h, nil)
	}
	return true
}

// MatchPart reports whether it holds of a part of h at its places, or, where h is nil, of a feature that belongs to no hazard.
func (w *Where) MatchPart(h *hazard.Hazard, own Own, places []geo.Shape) bool {
	return w.Root.match(&subject{h, own}, places)
}

// subject is what a condition is asked of.
type subject struct {
	hazard *hazard.Hazard
	own    Own
}

func (s *subject) text(f *Field) (text string, ok bool) {
	if f.text == nil {
		text, ok = s.own[f.Name].(string)
		return text, ok
	}
	return f.text(s.hazard), true
}

func (s *subject) number(f *Field) (n float64, ok bool) {
	if f.number == nil {
		n, ok = s.own[f.Name].(float64)
		return n, ok
	}
	return f.number(s.hazard)
}

func (s *subject) moment(f *Field) (at hazard.Instant, ok bool) {
	if f.moment == nil {
		at, ok = s.own[f.Name].(hazard.Instant)
		return at, ok
	}
	return f.moment(s.hazard), true
}

// has reports whether the field has a value; every feature has a geometry.
func (s *subject) has(f *Field) bool {
	ok := true
	switch f.Kind {
	case TextField:
		_, ok = s.text(f)
	case NumberField:
		_, ok = s.number(f)
	case MomentField:
		_, ok = s.moment(f)
	}
	return ok
}

func (c *Cond) match(h *subject, places []geo.Shape) bool {
	switch c.Kind {
	case CondAll:
		return !slices.ContainsFunc(c.Kids, func(k *Cond) bool { return !k.match(h, places) })
	case CondAny:
		return slices.ContainsFunc(c.Kids, func(k *Cond) bool { return k.match(h, places) })
	case CondConst:
		return !c.Not
	case CondTexts:
		text, ok := c.textOf(c.Field, h)
		return ok && slices.Contains(c.Texts, text) != c.Not
	case CondOrder:
		text, ok := c.textOf(c.Field, h)
		return ok && holds(c.By, strings.Compare(text, c.Texts[0]))
	case CondPattern:
		text, ok := c.textOf(c.Field, h)
		return ok && c.pattern.match(text) != c.Not
	case CondNumber:
		n, ok := h.number(c.Field)
		return ok && holds(c.By, order(n, c.Number))
	case CondMoment:
		at, ok := h.moment(c.Field)
		return ok && holds(c.By, order(at, c.At))
	case CondFields:
		return c.matchFields(h)
	case CondNull:
		return h.has(c.Field) == c.Not
	case CondMeets:
		return len(places) > 0 && slices.ContainsFunc(places, c.meets) != c.Not // without a place neither is known
	}
	return false
}

func (c *Cond) textOf(f *Field, h *subject) (text string, ok bool) {
	if text, ok = h.text(f); c.Fold {
		text = foldCase(text)
	}
	return text, ok
}

func (c *Cond) matchFields(h *subject) bool {
	switch c.Field.Kind {
	case NumberField:
		a, okA := h.number(c.Field)
		b, okB := h.number(c.Other)
		return okA && okB && holds(c.By, order(a, b))
	case MomentField:
		a, okA := h.moment(c.Field)
		b, okB := h.moment(c.Other)
		return okA && okB && holds(c.By, order(a, b))
	}
	a, okA := c.textOf(c.Field, h)
	b, okB := c.textOf(c.Other, h)
	return okA && okB && holds(c.By, strings.Compare(a, b))
}

// bounds are boxes each of which meets every hazard of which the condition holds.
func (c *Cond) bounds() (all []geo.Box) {
	switch c.Kind {
	case CondMeets:
		if !c.Not {
			return []geo.Box{c.Bounds}
		}
	case CondAll:
		for _, k := range c.Kids {
			all = append(all, k.bounds()...)
		}
	}
	return all
}

// requires reports whether ok is true of all conditions on places of which each must hold.
func (w *Where) requires(ok func(*Cond) bool) bool {
	return !w.needsShapes() || w.Root.requires(ok)
}

func (c *Cond) requires(ok func(*Cond) bool) bool {
	switch c.Kind {
	case CondMeets:
		return ok(c)
	case CondAll:
		return !slices.ContainsFunc(c.Kids, func(k *Cond) bool { return !k.requires(ok) })
	}
	return true
}

// boundsDecide reports whether the condition on places holds of every footprint with these bounds.
func (c *Cond) boundsDecide(b geo.Box) bool {
	if c.Not {
		return b.South <= 90 && !c.Bounds.Overlaps(b) // without a place it does not hold
	}
	return c.box != nil && c.box.Holds(b)
}

// Implied is f with what its Where says of columns that searches have indexes of, so that they are used. It lets the same hazards through.
func (f Filter) Implied() Filter {
	if f.Where != nil {
		f.imply(f.Where.Root)
	}
	return f
}

func (f *Filter) imply(c *Cond) {
	switch {
	case c.Kind == CondAll:
		for _, k := range c.Kids {
			f.imply(k)
		}
	case c.Kind == CondTexts && !c.Not && !c.Fold:
		switch c.Field.Name {
		case "type_ID":
			implyList(&f.Types, c.Texts, func(s string) hazard.Type { return hazard.Type(s) })
		case "category_ID":
			implyList(&f.Categories, c.Texts, func(s string) hazard.Category { return hazard.Category(s) })
		case "status":
			implyList(&f.Statuses, c.Texts, func(s string) hazard.Status { return hazard.Status(s) })
		}
	case c.Kind == CondMoment && c.Field.Name == "last_update_time" && f.UpdatedSince == nil && (c.By == cql.Greater || c.By == cql.GreaterOrEqual):
		at := min(max(c.At, hazard.MinInstant), hazard.MaxInstant)
		f.UpdatedSince = &at
	}
}

func implyList[T any](list *[]T, texts []string, of func(string) T) {
	if len(*list) > 0 {
		return
	}
	for _, s := range texts {
		*list = append(*list, of(s))
	}
}

// WholeBounds is a comparison of whole numbers that says the same as one with n: by and the number to compare with. If none does, never or always
// holds says what it comes to.
func WholeBounds(by cql.Comparator, n float64) (cql.Comparator, int64, *bool) {
	const maxExact = 1 << 53
	always := func(v bool) (cql.Comparator, int64, *bool) { return by, 0, &v }
	switch by {
	case cql.Equal, cql.NotEqual:
		if n != math.Trunc(n) || math.Abs(n) > maxExact {
			return always(by == cql.NotEqual)
		}
		return by, int64(n), nil
	case cql.Less, cql.GreaterOrEqual:
		n = math.Ceil(n)
	default:
		n = math.Floor(n)
	}
	if n > maxExact {
		return always(by == cql.Less || by == cql.LessOrEqual)
	}
	if n < -maxExact {
		return always(by == cql.Greater || by == cql.GreaterOrEqual)
	}
	return by, int64(n), nil
}

// pattern is what LIKE asks for: parts that must follow each other, the first at the beginning and the last at the end unless there is a % before
// or behind. Matching looks for each part once, from left to right: that is exact, and its time grows with the text times the longest part.
type pattern struct {
	parts      []part
	begin, end bool // it begins, ends with %
	any        bool // it is % alone
}

// part is text without %; one marks the places of _.
type part struct {
	runes []rune
	one   []bool
	plain string // the text, if there is no _
}

func newPattern(text string) pattern {
	var p pattern
	var cur part
	wild := false // a % was read since the last character
	flush := func() {
		if len(cur.runes) > 0 {
			if !slices.Contains(cur.one, true) {
				cur.plain = string(cur.runes)
			}
			p.parts, cur = append(p.parts, cur), part{}
		}
	}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '%':
			if len(p.parts) == 0 && len(cur.runes) == 0 {
				p.begin = true
			}
			flush()
			wild = true
			continue
		case r == '\\' && i+1 < len(runes):
			i++
			cur.runes, cur.one = append(cur.runes, runes[i]), append(cur.one, false)
		default:
			cur.runes, cur.one = append(cur.runes, r), append(cur.one, r == '_')
		}
		wild = false
	}
	flush()
	p.end = wild
	p.any = wild && len(p.parts) == 0
	return p
}

func (p *pattern) match(text string) bool {
	if p.any {
		return true
	}
	if len(p.parts) == 0 {
		return text == ""
	}
	plainOnly := !slices.ContainsFunc(p.parts, func(x part) bool { return x.plain == "" })
	if plainOnly {
		return p.matchPlain(text)
	}
	runes := []rune(text)
	parts := p.parts
	if !p.begin {
		if !parts[0].at(runes) {
			return false
		}
		runes, parts = runes[len(parts[0].runes):], parts[1:]
		if len(parts) == 0 {
			return p.end || len(runes) == 0
		}
	}
	var last *part
	if !p.end {
		last, parts = &parts[len(parts)-1], parts[:len(parts)-1]
	}
	for i := range parts {
		found := false
		for ; len(runes) >= len(parts[i].runes); runes = runes[1:] {
			if parts[i].at(runes) {
				runes, found = runes[len(parts[i].runes):], true
				break
			}
		}
		if !found {
			return false
		}
	}
	return last == nil || len(runes) >= len(last.runes) && last.at(runes[len(runes)-len(last.runes):])
}

func (p *pattern) matchPlain(text string) bool {
	parts := p.parts
	if !p.begin {
		rest, ok := strings.CutPrefix(text, parts[0].plain)
		if !ok {
			return false
		}
		if text, parts = rest, parts[1:]; len(parts) == 0 {
			return p.end || text == ""
		}
	}
	if !p.end {
		rest, ok := strings.CutSuffix(text, parts[len(parts)-1].plain)
		if !ok {
			return false
		}
		text, parts = rest, parts[:len(parts)-1]
	}
	for _, x := range parts {
		i := strings.Index(text, x.plain)
		if i < 0 {
			return false
		}
		text = text[i+len(x.plain):]
	}
	return true
}

// at reports whether a text begins with the part.
func (x *part) at(text []rune) bool {
	if len(text) < len(x.runes) {
		return false
	}
	for i, r := range x.runes {
		if !x.one[i] && text[i] != r {
			return false
		}
	}
	return true
}
