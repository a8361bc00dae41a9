package serve_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The abstract tests of CQL2 (OGC 21-065r2, annex A) on the queryables of hazards, in both encodings.

// predicate is a condition in both encodings.
type predicate struct{ text, json string }

func property(name string) predicate {
	return predicate{`"` + name + `"`, fmt.Sprintf(`{"property":%q}`, name)}
}

// text is a literal, and so are the following.
func textOf(s string) predicate { return predicate{"'" + s + "'", fmt.Sprintf("%q", s)} }

func plainOf(s string) predicate { return predicate{s, s} }

func momentOf(s string) predicate {
	return predicate{"TIMESTAMP('" + s + "')", fmt.Sprintf(`{"timestamp":%q}`, s)}
}

func intervalOf(from, to predicate) predicate {
	bare := func(p predicate) string {
		return strings.NewReplacer(`{"timestamp":`, "", "}", "").Replace(p.json)
	}
	json := []string{from.json, to.json}
	text := []string{from.text, to.text}
	for i, p := range []predicate{from, to} {
		if strings.HasPrefix(p.text, "TIMESTAMP(") {
			json[i], text[i] = bare(p), strings.TrimSuffix(strings.TrimPrefix(p.text, "TIMESTAMP("), ")")
		}
	}
	return predicate{"INTERVAL(" + strings.Join(text, ",") + ")", `{"interval":[` + strings.Join(json, ",") + "]}"}
}

// is applies an operator or a function to its arguments.
func is(op string, args ...predicate) predicate {
	var texts, values []string
	for _, a := range args {
		texts, values = append(texts, a.text), append(values, a.json)
	}
	p := predicate{json: fmt.Sprintf(`{"op":%q,"args":[%s]}`, op, strings.Join(values, ","))}
	switch op {
	case "=", "<>", "<", ">", "<=", ">=", "like":
		p.text = strings.Join(texts, " "+op+" ")
	case "and", "or":
		p.text = "(" + strings.Join(texts, " "+op+" ") + ")"
	case "not":
		p.text = "NOT (" + texts[0] + ")"
	case "isNull":
		p.text = texts[0] + " IS NULL"
	case "between":
		p.text = texts[0] + " BETWEEN " + texts[1] + " AND " + texts[2]
	case "in":
		p.text = texts[0] + " IN (" + strings.Join(texts[1:], ",") + ")"
		p.json = fmt.Sprintf(`{"op":"in","args":[%s,[%s]]}`, values[0], strings.Join(values[1:], ","))
	default:
		p.text = strings.ToUpper(op) + "(" + strings.Join(texts, ",") + ")"
	}
	return p
}

// cqlSuite performs the tests of CQL2 on the queryables of a collection.
type cqlSuite struct {
	*ogcSuite
	kinds map[string]string // of each queryable: string, number, integer, boolean, timestamp or geometry
}

// kindsOf reads the queryables of a collection.
func (o *ogcSuite) kindsOf(collection string) map[string]string {
	o.Helper()
	var q struct {
		Properties map[string]struct{ Type, Format string }
	}
	o.read("/ogc/collections/"+collection+"/queryables", "application/schema+json", &q)
	kinds := map[string]string{}
	for name, p := range q.Properties {
		switch {
		case p.Format == "date-time":
			kinds[name] = "timestamp"
		case strings.HasPrefix(p.Format, "geometry-"):
			kinds[name] = "geometry"
		default:
			kinds[name] = p.Type
		}
	}
	return kinds
}

// of returns the queryables of these kinds.
func (c *cqlSuite) of(kinds ...string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.kinds)) {
		if slices.Contains(kinds, c.kinds[name]) {
			names = append(names, name)
		}
	}
	return names
}

// found evaluates a condition in both encodings, which find the same.
func (c *cqlSuite) found(p predicate) []string {
	c.Helper()
	text, json := c.items("filter", p.text, "filter-lang", "cql2-text"), c.items("filter", p.json, "filter-lang", "cql2-json")
	if a, b := text.names(), json.names(); !slices.Equal(a, b) {
		c.Errorf("%s finds %q, as JSON %q", p.text, a, b)
	}
	return text.names()
}

// refused evaluates a condition that is not valid.
func (c *cqlSuite) refused(p predicate) {
	c.Helper()
	for lang, filter := range map[string]string{"cql2-text": p.text, "cql2-json": p.json} {
		v := url.Values{"filter": {filter}, "filter-lang": {lang}}
		if a := c.s.do("reader", http.MethodGet, ogcFeaturesItems+"?"+v.Encode(), nil); a.Status != 400 {
			c.Errorf("%s: %d", filter, a.Status)
		}
	}
}

// apart checks that no feature fulfills both conditions.
func (c *cqlSuite) apart(p, q predicate) {
	c.Helper()
	other := c.found(q)
	for _, name := range c.found(p) {
		if slices.Contains(other, name) {
			c.Errorf("%q fulfills %s and %s", name, p.text, q.text)
		}
	}
}

// same checks that two conditions find the same.
func (c *cqlSuite) same(p, q predicate) {
	c.Helper()
	if a, b := c.found(p), c.found(q); !slices.Equal(a, b) {
		c.Errorf("%s finds %q, %s finds %q", p.text, a, q.text, b)
	}
}

// literals are the values of the annex.
var literals = map[string]predicate{"string": textOf("foo"), "boolean": plainOf("true"), "number": plainOf("3.14"), "integer": plainOf("1"), "timestamp": momentOf("2022-04-14T14:48:46Z")}

func box(corners string) predicate {
	return predicate{"BBOX(" + corners + ")", `{"bbox":[` + corners + "]}"}
}

// shape is a geometry: its WKT, and its coordinates or, of a collection, its parts.
func shape(wkt, kind, coordinates string) predicate {
	return predicate{wkt, fmt.Sprintf(`{"type":%q,"coordinates":%s}`, kind, coordinates)}
}

// stored are the conditions of a class, by which its test `logical` makes larger ones.
func (c *cqlSuite) stored(class string) (all []predicate) {
	for _, name := range c.of("string", "boolean", "number", "integer", "timestamp") {
		for _, op := range []string{"=", "<>", ">", "<", ">=", "<="} {
			all = append(all, is(op, property(name), literals[c.kinds[name]]))
		}
		all = append(all, is("isNull", property(name)))
	}
	switch class {
	case "advanced-comparison-operators":
		for _, name := range c.of("string") {
			all = append(all, is("like", property(name), textOf("%")), is("in", property(name), textOf("foo"), textOf("bar")))
		}
		for _, name := range c.of("number", "integer") {
			all = append(all, is("between", property(name), plainOf("0"), plainOf("100")))
		}
	case "case-insensitive-comparison":
		for _, name := range c.of("string") {
			all = append(all, is("=", is("casei", property(name)), is("casei", textOf("foo"))))
		}
	case "basic-spatial-functions":
		for _, name := range c.of("geometry") {
			all = append(all, is("s_intersects", property(name), box("-180,-90,180,90")), is("s_intersects", property(name), shape("POINT(7.02 49.92)", "Point", "[7.02,49.92]")))
		}
	case "temporal-functions":
		for _, name := range c.of("timestamp") {
			for _, f := range []string{"t_after", "t_before", "t_disjoint", "t_equals", "t_intersects"} {
				all = append(all, is(f, property(name), momentOf("2022-04-24T07:59:57Z")))
			}
		}
	}
	return all
}

// logical evaluates ten combinations of four conditions. The seed is fixed.
func (c *cqlSuite) logical(class string) {
	all, random := c.stored(class), rand.New(rand.NewPCG(1, 2))
	for range 10 {
		p := make([]predicate, 4)
		for i := range p {
			p[i] = all[len(all)-1-random.IntN(min(len(all), 40))] // the last are those of the class
		}
		c.found(is("or", is("and", is("not", p[0]), p[1]), is("and", p[2], is("not", p[3])), is("not", is("and", p[0], p[3]))))
	}
}

// cqlTest is a test of CQL2 as one of the suite.
func cqlTest(name string, run func(c *cqlSuite)) abstractTest {
	return abstractTest{name, func(o *ogcSuite) { run(&cqlSuite{o, o.kindsOf("hazards")}) }}
}

// withData is a test that needs the data set of the standard, which hazards are not.
func withData(name string) abstractTest { return abstractTest{name, nil} }

func cqlText() []abstractTest {
	return []abstractTest{
		cqlTest("validate", func(c *cqlSuite) { c.found(plainOf("true")) }), // all tests of the other classes use both encodings
		cqlTest("escaping", func(c *cqlSuite) {
			for text, want := range map[string]int{`'Fire'`: 1, `'It''s'`: 0, `'It\'s'`: 0} {
				if f := c.items("filter", "hazard_Name = "+text); f.NumberMatched != want {
					c.Errorf("%s finds %d", text, f.NumberMatched)
				}
			}
			c.bad("filter", "hazard_Name = 'It's'")
		}),
	}
}

func cqlJSON() []abstractTest {
	return []abstractTest{cqlTest("validate", func(c *cqlSuite) { c.found(plainOf("true")) })}
}

func basicCQL2() []abstractTest {
	return []abstractTest{
		{"basic-test", func(o *ogcSuite) {
			for _, d := range o.document("/ogc/collections").Collections {
				c := &cqlSuite{o, o.kindsOf(d.ID)}
				if all := c.of("string", "boolean", "number", "integer", "timestamp"); len(all) == 0 || len(all)+len(c.of("geometry", "array")) != len(c.kinds) {
					o.Errorf("%s: %v", d.ID, c.kinds)
				}
			}
		}},
		cqlTest("comparison", func(c *cqlSuite) {
			for _, name := range c.of("string", "boolean", "number", "integer", "timestamp") {
				p, v := property(name), literals[c.kinds[name]]
				c.apart(is("=", p, v), is("<>", p, v))
				c.apart(is(">", p, v), is("<=", p, v))
				c.apart(is("<", p, v), is(">=", p, v))
			}
		}),
		cqlTest("is-null", func(c *cqlSuite) {
			for name := range c.kinds {
				c.apart(is("isNull", property(name)), is("not", is("isNull", property(name))))
			}
		}),
		cqlTest("boolean", func(c *cqlSuite) {
			if all, none := c.found(plainOf("true")), c.found(plainOf("false")); len(all) != 5 || len(none) != 0 {
				c.Errorf("true finds %q, false %q", all, none)
			}
		}),
		withData("test-data"),
		withData("logical"),
	}
}

func cqlAdvanced() []abstractTest {
	return []abstractTest{
		cqlTest("like", func(c *cqlSuite) {
			for _, name := range c.of("string") {
				like := func(pattern string) predicate { return is("like", property(name), textOf(pattern)) }
				c.apart(like("_%"), like(""))
				c.same(like("%"), like("%%"))
				c.found(predicate{property(name).text + ` like '\%\_'`, fmt.Sprintf(`{"op":"like","args":[{"property":%q},"\\%%\\_"]}`, name)})
			}
		}),
		cqlTest("between", func(c *cqlSuite) {
			for _, name := range c.of("number", "integer") {
				c.found(is("between", property(name), plainOf("0"), plainOf("100")))
				c.found(is("between", property(name), plainOf("100.0"), plainOf("1.0")))
			}
		}),
		cqlTest("in", func(c *cqlSuite) {
			for kind, values := range map[string][]predicate{"number": {plainOf("1"), plainOf("2"), plainOf("3")}, "integer": {plainOf("1"), plainOf("2"), plainOf("3")}, "string": {textOf("foo"), textOf("bar")},
				"boolean": {plainOf("true")}, "timestamp": {textOf("2022-04-14T14:52:56Z"), textOf("2022-04-14T15:52:56Z")}} {
				for _, name := range c.of(kind) {
					c.found(is("in", append([]predicate{property(name)}, values...)...))
				}
			}
		}),
		withData("test-data"),
		cqlTest("logical", func(c *cqlSuite) { c.logical("advanced-comparison-operators") }),
	}
}

func cqlCaseI() []abstractTest {
	casei := func(p predicate) predicate { return is("casei", p) }
	return []abstractTest{
		cqlTest("casei", func(c *cqlSuite) {
			for _, name := range c.of("string") {
				c.apart(is("=", casei(property(name)), casei(textOf("foo"))), is("<>", casei(property(name)), casei(textOf("FOO"))))
			}
		}),
		cqlTest("casei-like", func(c *cqlSuite) {
			for _, name := range c.of("string") {
				c.same(is("like", casei(property(name)), casei(textOf("foo%"))), is("like", casei(property(name)), casei(textOf("FOO%"))))
			}
		}),
		withData("test-data"),
		cqlTest("logical", func(c *cqlSuite) { c.logical("case-insensitive-comparison") }),
	}
}

func cqlSpatial() []abstractTest {
	return []abstractTest{
		cqlTest("s_intersects", func(c *cqlSuite) {
			for _, name := range c.of("geometry") {
				meets := func(g predicate) predicate { return is("s_intersects", property(name), g) }
				if all := c.found(meets(box("-180,-90,180,90"))); len(all) != 5 {
					c.Errorf("the world finds %q", all)
				}
				c.found(meets(shape("POINT(7.02 49.92)", "Point", "[7.02,49.92]")))
				c.refused(meets(shape("POINT(90 180)", "Point", "[90,180]")))
				c.found(is("and", meets(box("-180,-90,-90,90")), meets(box("90,-90,180,90"))))
			}
		}),
		withData("test-data"),
		cqlTest("logical", func(c *cqlSuite) { c.logical("basic-spatial-functions") }),
	}
}

func cqlSpatialPlus() []abstractTest {
	const ring, hole, small = "[[-180,-90],[-90,-90],[-90,90],[-180,90],[-180,-90]]", "[[-120,-50],[-100,-50],[-100,-40],[-120,-40],[-120,-50]]", "[[0,0],[10,0],[10,10],[0,10],[0,0]]"
	const ringText, holeText, smallText = "(-180 -90,-90 -90,-90 90,-180 90,-180 -90)", "(-120 -50,-100 -50,-100 -40,-120 -40,-120 -50)", "(0 0,10 0,10 10,0 10,0 0)"
	return []abstractTest{
		cqlTest("s_intersects", func(c *cqlSuite) {
			for _, name := range c.of("geometry") {
				meets := func(g predicate) predicate { return is("s_intersects", property(name), g) }
				c.refused(meets(shape("MULTIPOINT(7.02 49.92,90 180)", "MultiPoint", "[[7.02,49.92],[90,180]]")))
				for _, g := range []predicate{
					shape("LINESTRING(-180 -45,0 -45)", "LineString", "[[-180,-45],[0,-45]]"),
					shape("MULTILINESTRING((-180 -45,0 -45),(0 45,180 45))", "MultiLineString", "[[[-180,-45],[0,-45]],[[0,45],[180,45]]]"),
					shape("POLYGON("+ringText+","+holeText+")", "Polygon", "["+ring+","+hole+"]"),
					shape("MULTIPOLYGON(("+ringText+","+holeText+"),("+smallText+"))", "MultiPolygon", "[["+ring+","+hole+"],["+small+"]]"),
					{"GEOMETRYCOLLECTION(POINT(7.02 49.92),POLYGON(" + smallText + "))", `{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[7.02,49.92]},{"type":"Polygon","coordinates":[` + small + `]}]}`},
				} {
					c.found(meets(g))
				}
			}
		}),
		withData("test-data"),
	}
}

func cqlTemporal() []abstractTest {
	year := intervalOf(momentOf("2021-01-01T00:00:00Z"), momentOf("2021-12-31T23:59:59Z"))
	return []abstractTest{
		cqlTest("temporal-functions-1", func(c *cqlSuite) {
			for _, name := range c.of("timestamp") {
				for _, f := range []string{"t_after", "t_before", "t_disjoint", "t_equals", "t_intersects"} {
					c.found(is(f, property(name), momentOf("2022-04-24T07:59:57Z")))
					c.found(is(f, property(name), year))
				}
			}
		}),
		cqlTest("temporal-functions-2", func(c *cqlSuite) {
			names := c.of("timestamp")
			for i, first := range names {
				for _, second := range names[i+1:] {
					for _, f := range []string{"t_after", "t_before", "t_disjoint", "t_equals", "t_intersects", "t_contains", "t_during", "t_finishedBy", "t_finishes", "t_meets", "t_metBy", "t_overlappedBy", "t_overlaps",
						"t_startedBy", "t_starts"} {
						c.found(is(f, intervalOf(property(first), property(second)), year))
					}
				}
			}
		}),
		withData("test-data"),
		cqlTest("logical", func(c *cqlSuite) { c.logical("temporal-functions") }),
	}
}
