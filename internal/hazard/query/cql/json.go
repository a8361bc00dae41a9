package cql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// ParseJSON reads CQL2 JSON (section 9).
func ParseJSON(text string) (Expr, error) {
	p := &jsonParser{}
	if len(text) > maxBytes {
		return nil, place("").Fault(fmt.Sprintf("at most %d bytes", maxBytes), "")
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, place("").Fault("JSON", err.Error())
	}
	return p.expr(v, "")
}

type jsonParser struct{ budget }

func place(path string) Place { return Place{path: path, json: true} }

func quoteJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.60s", text)
}

// call reads {"op": …, "args": […]}.
func call(v any, path string) (op string, args []any, err error) {
	object, ok := v.(map[string]any)
	op, isOp := object["op"].(string)
	args, isArgs := object["args"].([]any)
	if !ok || !isOp || !isArgs || len(object) != 2 {
		return "", nil, place(path).Fault(`{"op": …, "args": […]}`, quoteJSON(v))
	}
	return strings.ToLower(op), args, nil
}

func arg(path string, i int) string { return path + "/args/" + strconv.Itoa(i) }

func (p *jsonParser) expr(v any, path string) (Expr, error) {
	if err := p.node(place(path)); err != nil {
		return nil, err
	}
	if err := p.down(place(path)); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if holds, ok := v.(bool); ok {
		return Constant{holds}, nil
	}
	op, args, err := call(v, path)
	if err != nil {
		return nil, err
	}
	relate, isTemporal := temporal[strings.ToUpper(op)]
	want, known := arguments[op]
	switch {
	case op == "and", op == "or":
		return p.junction(op, args, path)
	case isTemporal:
		want = 2
	case !known:
		return nil, place(path+"/op").Fault("and, or, not, =, <>, <, <=, >, >=, like, between, in, isNull, s_intersects, s_disjoint or a temporal function (t_…)", fmt.Sprintf("%.40q", op))
	}
	if len(args) != want {
		return nil, place(path+"/args").Fault(fmt.Sprintf("%d arguments of %s", want, op), fmt.Sprint(len(args)))
	}
	if isTemporal {
		return p.temporal(relate, args, path)
	}
	return p.predicate(op, args, path)
}

// arguments are the operators with a fixed number of arguments, in lower case, and that number.
var arguments = map[string]int{
	string(Equal): 2, string(NotEqual): 2, string(Less): 2, string(LessOrEqual): 2, string(Greater): 2, string(GreaterOrEqual): 2,
	"not": 1, "isnull": 1, "like": 2, "between": 3, "in": 2, "s_intersects": 2, "s_disjoint": 2,
}

// junction reads AND or OR.
func (p *jsonParser) junction(op string, args []any, path string) (Expr, error) {
	if len(args) < 2 {
		return nil, place(path+"/args").Fault("two or more arguments of "+op, fmt.Sprint(len(args)))
	}
	var all []Expr
	for i, a := range args {
		e, err := p.expr(a, arg(path, i))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if op == "or" {
		return Or{all}, nil
	}
	return And{all}, nil
}

func (p *jsonParser) temporal(relate func(a, b span) Expr, args []any, path string) (Expr, error) {
	a, err := p.span(args[0], arg(path, 0))
	if err != nil {
		return nil, err
	}
	b, err := p.span(args[1], arg(path, 1))
	if err != nil {
		return nil, err
	}
	return relate(a, b), nil
}

// predicate reads the operators in the table of arguments.
func (p *jsonParser) predicate(op string, args []any, path string) (Expr, error) {
	switch op {
	case "not":
		e, err := p.expr(args[0], arg(path, 0))
		return Not{e}, err
	case "in":
		of, err := p.operand(args[0], arg(path, 0))
		if err != nil {
			return nil, err
		}
		list, ok := args[1].([]any)
		if !ok || len(list) == 0 {
			return nil, place(arg(path, 1)).Fault("an array of values", quoteJSON(args[1]))
		}
		all, err := p.operands(list, arg(path, 1))
		return In{of, all}, err
	case "s_intersects", "s_disjoint":
		e, err := p.spatial(args, path)
		return negated(op == "s_disjoint", e), err
	}
	all, err := p.operands(args, path+"/args")
	if err != nil {
		return nil, err
	}
	switch op {
	case "isnull":
		return IsNull{all[0]}, nil
	case "like":
		if all[1].Kind != Text {
			return nil, all[1].At.Fault("a pattern", quoteJSON(args[1]))
		}
		return Like{all[0], all[1]}, nil
	case "between":
		return between(all[0], all[1], all[2]), nil
	}
	return Compare{Comparator(op), all[0], all[1]}, nil
}

func (p *jsonParser) operands(values []any, path string) (all []Operand, err error) {
	for i, v := range values {
		o, err := p.operand(v, path+"/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func (p *jsonParser) operand(v any, path string) (o Operand, err error) {
	o.At = place(path)
	if err := p.node(o.At); err != nil {
		return o, err
	}
	fault := func() (Operand, error) {
		return o, o.At.Fault(`a text, a number, {"property": …}, {"date": …}, {"timestamp": …} or {"op": "casei", …}`, quoteJSON(v))
	}
	switch v := v.(type) {
	case string:
		o.Kind, o.Text = Text, v
	case float64:
		o.Kind, o.Number = Number, v
	case bool:
		o.Kind, o.True = Boolean, v
	case map[string]any:
		if len(v) == 1 {
			if name, ok := v["property"].(string); ok {
				o.Kind, o.Text = Property, name
				return o, nil
			}
			for _, kind := range []string{"date", "timestamp"} {
				if text, ok := v[kind].(string); ok {
					return p.moment(o, text)
				}
			}
			return fault()
		}
		op, args, err := call(v, path)
		if err != nil || op != "casei" || len(args) != 1 {
			return fault()
		}
		if err := p.down(o.At); err != nil {
			return o, err
		}
		defer func() { p.depth-- }()
		if o, err = p.operand(args[0], arg(path, 0)); err == nil && o.Kind != Text && o.Kind != Property {
			err = o.At.Fault("a property or a text", "")
		}
		o.Fold = true
		return o, err
	default:
		return fault()
	}
	return o, nil
}

func (p *jsonParser) moment(o Operand, text string) (Operand, error) {
	from, to, ok := moment(text, false)
	if !ok {
		return o, o.At.Fault("a date (2026-11-02) or a timestamp (2026-11-02T06:00:00Z)", fmt.Sprintf("%.40q", text))
	}
	o.Kind, o.From, o.To = Moment, from, to
	return o, nil
}

func (p *jsonParser) span(v any, path string) (s span, err error) {
	object, _ := v.(map[string]any)
	bounds, ok := object["interval"].([]any)
	if !ok {
		o, err := p.operand(v, path)
		if err == nil && o.Kind != Property && o.Kind != Moment {
			err = o.At.Fault("a property, a date, a timestamp or an interval", quoteJSON(v))
		}
		return span{o, o}, err
	}
	if len(bounds) != 2 || len(object) != 1 {
		return s, place(path).Fault(`{"interval": [from, to]}`, quoteJSON(v))
	}
	if s.from, err = p.bound(bounds[0], path+"/interval/0", never); err != nil {
		return s, err
	}
	s.to, err = p.bound(bounds[1], path+"/interval/1", forever)
	return s, err
}

func (p *jsonParser) bound(v any, path string, open int64) (Operand, error) {
	text, isText := v.(string)
	if !isText {
		o, err := p.operand(v, path)
		if err == nil && o.Kind != Property && o.Kind != Moment {
			err = o.At.Fault(`"..", a date, a timestamp or a property`, quoteJSON(v))
		}
		return o, err
	}
	o := Operand{Kind: Moment, From: open, To: open, At: place(path)}
	if err := p.node(o.At); err != nil || text == ".." {
		return o, err
	}
	return p.moment(o, text)
}

// spatial reads the arguments of a spatial function: one is a property, the other a geometry.
func (p *jsonParser) spatial(args []any, path string) (Expr, error) {
	property, other := 0, 1
	if object, ok := args[1].(map[string]any); ok && object["property"] != nil {
		property, other = 1, 0
	}
	of, err := p.operand(args[property], arg(path, property))
	if err != nil {
		return nil, err
	}
	g := Geometry{Where: place(arg(path, other))}
	if err := p.node(g.Where); err != nil {
		return nil, err
	}
	object, _ := args[other].(map[string]any)
	corners, isBox := object["bbox"].([]any)
	switch {
	case of.Kind != Property:
		return nil, of.At.Fault(`{"property": …}`, quoteJSON(args[property]))
	case isBox && object["type"] == nil:
		var parts []string
		for _, c := range corners {
			n, ok := c.(float64)
			if !ok {
				return nil, g.Where.Fault("numbers", quoteJSON(c))
			}
			parts = append(parts, strconv.FormatFloat(n, 'g', -1, 64))
		}
		if g.BBox, err = box(parts, g.Where); err != nil {
			return nil, err
		}
	case object["type"] != nil:
		text, err := json.Marshal(object, json.Deterministic(true))
		if err != nil {
			return nil, g.Where.Fault("a geometry", "")
		}
		g.GeoJSON = string(text)
	default:
		return nil, g.Where.Fault(`a GeoJSON geometry or {"bbox": [west, south, east, north]}`, quoteJSON(args[other]))
	}
	return Meets{of, g}, nil
}
