package cql

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Each condition has the same tree in both encodings.
var both = []struct{ text, json string }{
	{`type_ID = 'FLOOD'`, `{"op":"=","args":[{"property":"type_ID"},"FLOOD"]}`},
	{`"type_ID"='it''s' and NOT severity_rank<>-2.5e1`, `{"op":"and","args":[{"op":"=","args":[{"property":"type_ID"},"it's"]},{"op":"not","args":[{"op":"<>","args":[{"property":"severity_rank"},-25]}]}]}`},
	{`a = 'it\'s'`, `{"op":"=","args":[{"property":"a"},"it's"]}`},
	{`a < 1 OR b <= 2 AND c > 3 OR d >= 4`, `{"op":"or","args":[{"op":"<","args":[{"property":"a"},1]},{"op":"and","args":[{"op":"<=","args":[{"property":"b"},2]},{"op":">","args":[{"property":"c"},3]}]},{"op":">=","args":[{"property":"d"},4]}]}`},
	{`name NOT LIKE 'b%_'`, `{"op":"not","args":[{"op":"like","args":[{"property":"name"},"b%_"]}]}`},
	{`CASEI(name) LIKE casei('B%')`, `{"op":"like","args":[{"op":"casei","args":[{"property":"name"}]},{"op":"casei","args":["B%"]}]}`},
	{`depth BETWEEN 100.0 and 150`, `{"op":"between","args":[{"property":"depth"},100,150]}`},
	{`city NOT IN ('a', 'b')`, `{"op":"not","args":[{"op":"in","args":[{"property":"city"},["a","b"]]}]}`},
	{`geophys IS NOT NULL`, `{"op":"not","args":[{"op":"isNull","args":[{"property":"geophys"}]}]}`},
	{`TRUE`, `true`},
	{`(false)`, `false`},
	{`S_INTERSECTS(geometry,BBOX(1,2,3,4))`, `{"op":"s_intersects","args":[{"property":"geometry"},{"bbox":[1,2,3,4]}]}`},
	{`s_disjoint(BBOX(1,2,0,3,4,9), geometry)`, `{"op":"s_disjoint","args":[{"bbox":[1,2,0,3,4,9]},{"property":"geometry"}]}`},
	{`t = DATE('2020-02-29')`, `{"op":"=","args":[{"property":"t"},{"date":"2020-02-29"}]}`},
	{`t > TIMESTAMP('2020-02-29T01:02:03.5Z')`, `{"op":">","args":[{"property":"t"},{"timestamp":"2020-02-29T01:02:03.5Z"}]}`},
	{`T_DURING(INTERVAL(a, b), INTERVAL('2020-01-01', '..'))`, `{"op":"t_during","args":[{"interval":[{"property":"a"},{"property":"b"}]},{"interval":["2020-01-01",".."]}]}`},
	{`T_AFTER(t, DATE('2020-01-01'))`, `{"op":"t_after","args":[{"property":"t"},{"date":"2020-01-01"}]}`},
}

func TestBothEncodingsAreTheSame(t *testing.T) {
	for _, tt := range both {
		text, err := ParseText(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		json, err := ParseJSON(tt.json)
		if err != nil {
			t.Errorf("%s: %v", tt.json, err)
			continue
		}
		if diff := cmp.Diff(text, json, cmpopts.IgnoreTypes(Place{})); diff != "" {
			t.Errorf("%s (-text +json):\n%s", tt.text, diff)
		}
	}
}

func TestErrorsNameThePlaceAndWhatWasExpected(t *testing.T) {
	for text, want := range map[string]string{
		``:                             "at character 1: expected a property, a text in single quotes",
		`a`:                            "at character 2: expected an operator",
		`a = `:                         "at character 5: expected a property",
		`a == 1`:                       "at character 4: expected a property",
		`a = 'x`:                       "at character 7: expected a ' that ends the text, found the end",
		`a = 1 b`:                      `at character 7: expected AND, OR or the end, found "b"`,
		`(a = 1`:                       "at character 7: expected AND, OR or ), found the end",
		`a LIKE 1`:                     "at character 8: expected a pattern in single quotes",
		`a BETWEEN 1 OR 2`:             "at character 13: expected AND",
		`a IN ()`:                      "at character 7: expected a property",
		`a IN (1;2)`:                   "at character 8: expected a name, a literal",
		`a IS 1`:                       "at character 6: expected NULL",
		`foo(a) = 1`:                   "at character 1: expected a function that is known: CASEI",
		`S_WITHIN(a, POINT(1 2))`:      "at character 1: expected S_INTERSECTS or S_DISJOINT",
		`S_INTERSECTS(a, b)`:           "at character 17: expected the geometry as a property",
		`S_INTERSECTS(a, POINT(1 2)`:   "at character 27: expected )",
		`S_INTERSECTS(a, POINT(1 2`:    "at character 26: expected a ) that ends the geometry",
		`S_INTERSECTS(a, BBOX(1,2,3))`: "at character 17: expected BBOX(west,south,east,north)",
		`t > DATE('2020-02-30')`:       "at character 10: expected a date",
		`T_AFTER(t, 'x')`:              "at character 12: expected a property, DATE",
		`AND = 1`:                      "at character 1: expected a predicate",
		"a = '\xff'":                   "expected UTF-8",
	} {
		_, err := ParseText(text)
		if fault, ok := errors.AsType[*Error](err); !ok || !strings.Contains(fault.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                           "at its top: expected JSON",
		`1`:                          `at its top: expected {"op": …, "args": […]}, found 1`,
		`{"op":"and","args":[true]}`: "at /args: expected two or more arguments of and",
		`{"op":"and","args":[true,{"op":"=","args":[1]}]}`:                   "at /args/1/args: expected 2 arguments of =, found 1",
		`{"op":"and","args":[true,{"op":"like","args":["a",{}]}]}`:           "at /args/1/args/1: expected a text",
		`{"op":"and","op":"or","args":[true,true]}`:                          "expected JSON",
		`{"op":"x","args":[]}`:                                               "at /op: expected and, or",
		`{"op":"s_intersects","args":[{"property":"a"},1]}`:                  "at /args/1: expected a GeoJSON geometry",
		`{"op":"t_after","args":[{"property":"a"},{"interval":["2020"]}]}`:   `at /args/1: expected {"interval": [from, to]}`,
		`{"op":"=","args":[{"property":"a"},{"timestamp":"2020-01-01x"}]}`:   "at /args/1: expected a date",
		`{"op":"=","args":[{"property":"a"},{"op":"upper","args":["b"]}]}`:   "at /args/1: expected a text",
		`{"op":"in","args":[{"property":"a"},1]}`:                            "at /args/1: expected an array",
		`{"op":"s_intersects","args":[{"property":"a"},{"bbox":[1,"b"]}]}`:   "at /args/1: expected numbers",
		`{"op":"s_intersects","args":["a",{"type":"Point"}]}`:                `at /args/0: expected {"property": …}`,
		`{"op":"t_after","args":[{"property":"a"},{"interval":[1,"2020"]}]}`: `at /args/1/interval/0: expected ".."`,
	} {
		_, err := ParseJSON(text)
		if fault, ok := errors.AsType[*Error](err); !ok || !strings.Contains(fault.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestWhereClausesOfArcGIS(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 30, 0, 0, time.UTC)
	for sql, text := range map[string]string{
		`t > CURRENT_TIMESTAMP`:                                                 `t > TIMESTAMP('2026-11-26T12:30:00Z')`,
		`t > CURRENT_TIMESTAMP - INTERVAL '1' DAY`:                              `t > TIMESTAMP('2026-11-25T12:30:00Z')`,
		`t > current_timestamp + interval '90' MINUTE`:                          `t > TIMESTAMP('2026-11-26T14:00:00Z')`,
		`t BETWEEN CURRENT_TIMESTAMP - INTERVAL '2' HOUR AND CURRENT_TIMESTAMP`: `t BETWEEN TIMESTAMP('2026-11-26T10:30:00Z') AND TIMESTAMP('2026-11-26T12:30:00Z')`,
		`t > CURRENT_DATE - 7`:                                                  `t > DATE('2026-11-19')`,
		`t < TIMESTAMP '2026-01-02 00:00:00' - INTERVAL '30' SECOND`:            `t < TIMESTAMP('2026-01-01T23:59:30Z')`,
		`1=1`:                                 `1 = 1`,
		`UPPER(name) LIKE '%FOO'`:             `CASEI(name) LIKE '%FOO'`,
		`t >= DATE '2026-01-02'`:              `t >= DATE('2026-01-02')`,
		`t < timestamp '2026-01-02 03:04:05'`: `t < TIMESTAMP('2026-01-02T03:04:05Z')`,
	} {
		got, err := ParseSQL(sql, now)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		want, err := ParseText(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(Place{})); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
	for _, bad := range []string{`t > CURRENT_TIMESTAMP -`, `t > CURRENT_TIMESTAMP - INTERVAL '1'`, `t > CURRENT_TIMESTAMP - INTERVAL 'x' DAY`, `t > CURRENT_TIMESTAMP - INTERVAL '1e300' DAY`, `t > CURRENT_TIMESTAMP - INTERVAL '1' MONTH`} {
		if _, err := ParseSQL(bad, now); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// An expensive filter is rejected, in time that grows only with its length.
func TestABudgetBoundsEveryFilter(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses": strings.Repeat("(", 5000) + "a=1" + strings.Repeat(")", 5000),
		"not":         strings.Repeat("NOT ", 4000) + "a=1",
		"functions":   strings.Repeat("CASEI(", 2000) + "a" + strings.Repeat(")", 2000) + "='x'",
		"list":        "a IN (1" + strings.Repeat(",1", 5000) + ")",
		"or":          "a=1" + strings.Repeat(" OR a=1", 2000),
		"bytes":       "a='" + strings.Repeat("x", maxBytes) + "'",
	} {
		if _, err := ParseText(text); err == nil || !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"not":  strings.Repeat(`{"op":"not","args":[`, 700) + "true" + strings.Repeat("]}", 700),
		"list": `{"op":"in","args":[{"property":"a"},[1` + strings.Repeat(",1", 5000) + "]]}",
	} {
		if _, err := ParseJSON(text); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s as JSON: %v", name, err)
		}
	}
}

func parseNow(text string) (Expr, error) { return ParseSQL(text, time.Unix(1_800_000_000, 0)) }

func FuzzParse(f *testing.F) {
	for _, tt := range both {
		f.Add(tt.text)
		f.Add(tt.json)
	}
	f.Add(`S_INTERSECTS(geometry, POLYGON((0 0,1 0,1 1,0 0)))`)
	f.Add("a = '" + strings.Repeat("((", 30))
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Expr, error){ParseText, parseNow, ParseJSON} {
			e, err := parse(text)
			fault, ok := errors.AsType[*Error](err)
			switch {
			case err == nil && e == nil:
				t.Fatalf("%q: no tree and no error", text)
			case err != nil && !ok:
				t.Fatalf("%q: %v is no *Error", text, err)
			case err != nil && (fault.At < 0 || fault.At > max(len(text), maxBytes) || fault.Expected == ""):
				t.Fatalf("%q: %+v", text, fault)
			case err != nil && utf8.ValidString(text) && !utf8.ValidString(err.Error()):
				t.Fatalf("%q: %q", text, err)
			}
		}
	})
}
