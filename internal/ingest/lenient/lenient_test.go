package lenient

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// walk reads all elements of the array at the beginning of doc.
func walk(doc string) (elements []string, err error) {
	c := Cursor{Doc: []byte(doc)}
	if c.Next() != '[' {
		return nil, c.unexpected("an array")
	}
	err = c.Elements(func(_ int, raw []byte) { elements = append(elements, string(raw)) })
	return elements, err
}

func TestElementsAreCutByBracketsAndQuotesAlone(t *testing.T) {
	for doc, want := range map[string]string{
		`[1, "a,]\"b" ,{"x":[1,2]}, []]`:              `1|"a,]\"b"|{"x":[1,2]}|[]`,
		`[NaN, {"bad": \q}, 3]`:                       `NaN|{"bad": \q}|3`, // invalid JSON, but still three elements
		`[]`:                                          ``,
		`[{"a":1},{"a":{"b":2},{"a":3}]`:              `{"a":1}|{"a":{"b":2}|{"a":3}`,     // a brace is missing
		`[{"a":1},{"a":"x},{"a":3},{"a":4}]`:          `{"a":1}|{"a":"x}|{"a":3}|{"a":4}`, // a quote is missing
		`[{"a":1},{"a":2}},{"a":3}]`:                  `{"a":1}|{"a":2}}|{"a":3}`,         // a brace too many
		`[{"a":1}{"a":2},{"a":3}]`:                    `{"a":1}|{"a":2}|{"a":3}`,          // a comma is missing
		`[{"a":[{"a":1},{"a":2}]},{"a":"\"},{"a":1}]`: `{"a":[{"a":1},{"a":2}]}|{"a":"\"}|{"a":1}`,
	} {
		got, err := walk(doc)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v; want %s", doc, got, err, want)
		}
	}
	for _, doc := range []string{`[{"a":1},{"a":[{"a":1},{"a":2`, `[{"a":1},{"a":"},{`} {
		if got, err := walk(doc); err == nil || len(got) != 1 {
			t.Errorf("%s: %q, %v; want the one that is whole", doc, got, err)
		}
	}
	if got, err := walk(`[1, 2, {"x":`); err == nil || len(got) != 2 {
		t.Errorf("a list that is cut: %q, %v; want what came before the cut, and an error", got, err)
	}
}

// An extra closing bracket ends the list, and the document, in the middle of a record. The
// beginning of any record may be damaged, also of the first one. The other records are read, and an
// error says that the list was not read to its end.
func TestWhatFollowsADamagedRecordIsRead(t *testing.T) {
	for doc, want := range map[string]string{
		`{"l":[{"a":1,"b":1},{"a":2]},"b":2},{"a":3,"b":3}],"h":1}`:  `{"a":1,"b":1}|{"a":2]},"b":2}|{"a":3,"b":3}`,
		`{"l":[{"a":1,"b":1},{"a":2}]}]},{"a":3,"b":3},{"a":4}]}`:    `{"a":1,"b":1}|{"a":2}|{"a":3,"b":3}|{"a":4}`,
		`{"l":[{"a:1,"b":[{"c":1},{"c":2}]},{"a":3},{"a":4}],"h":1}`: `{"a:1,"b":[{"c":1},{"c":2}]}|{"a":3}|{"a":4}`,
		`{"l":[{":1,"b":"x"},{"a":"3"},{"a":"4"}],"h":"1"}`:          `{":1,"b":"x"}|{"a":"3"}|{"a":"4"}`,
		"{\"l\":[{\"a\":1},\x00{\"a\":2,{\"a\":3}],\"h\":1}":         "{\"a\":1}|\x00{\"a\":2|{\"a\":3}",
	} {
		var got []string
		_, err := Collection{Want: "a list", Lists: []string{"l"}}.Read([]byte(doc), func(_ func() string, raw []byte) { got = append(got, string(raw)) })
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v; want %s", doc, got, err, want)
		}
		if bad, ok := errors.AsType[*source.PayloadError](err); err != nil && (!ok || !bad.Cut) {
			t.Errorf("%s: %v; want what was read to count", doc, err)
		}
	}
	// A second document is not part of the first one.
	var got []string
	_, err := Collection{Want: "a list", Lists: []string{"l"}}.Read([]byte(`{"l":[{"a":1}]}{"l":[{"a":2},{"a":3}]}`), func(_ func() string, raw []byte) { got = append(got, string(raw)) })
	if len(got) != 1 || err == nil {
		t.Errorf("%q, %v; want the record of the first document, and what is wrong", got, err)
	}
}

func TestNumberMayBeMissingOrWrittenAsText(t *testing.T) {
	for in, want := range map[string]Number{
		`{"N":1.5}`: {1.5, true}, `{"N":" 2 "}`: {2, true}, `{"N":null}`: {}, `{"N":"nan"}`: {}, `{}`: {},
	} {
		var got struct{ N Number }
		if err := UnmarshalObject([]byte(in), &got); err != nil || got.N != want {
			t.Errorf("%s: %v, %v; want %v", in, got.N, err, want)
		}
	}
	var got struct{ N Number }
	if err := UnmarshalObject([]byte(`{"N":[]}`), &got); err == nil || !strings.Contains(Fault(err, nil), "N: []") {
		t.Errorf("an array: %v", err)
	}
	if err := UnmarshalObject([]byte(`{"N":1,"N":2}`), &got); err == nil || !strings.Contains(Fault(err, nil), "twice") {
		t.Errorf("a member that is there twice: %v", err)
	}
}

// D1, D36: an error in one member affects only that member.
func TestDecodeReadsARecordAsFarAsItCan(t *testing.T) {
	type inner struct{ T string }
	type record struct {
		A, B string
		N    Number
		L    []string
		O    inner
		S    []inner
	}
	for in, tt := range map[string]struct {
		want record
		note string
	}{
		`{"A":"x","N":NaN,"B":"y"}`:                {record{A: "x", B: "y"}, "N: NaN is not JSON, read as null"},
		`{"A":"x","N":01}`:                         {record{A: "x", N: Number{1, true}}, "N: 01 is not JSON, read as 1"},
		`{"A":"a\qb","B":"y"}`:                     {record{A: `a\qb`, B: "y"}, `A: \q is not JSON, read as it stands`},
		`{"A":"a\u12","B":"y"}`:                    {record{A: `a\u12`, B: "y"}, `A: \u is not JSON, read as it stands`},
		"{\"A\":\"a\x01b\nc\\n\",\x02\"B\":\"y\"}": {record{A: "a b\nc", B: "y"}, ""},
		`{"A":"x","L":["y",],}`:                    {record{A: "x", L: []string{"y"}}, ""},
		`{"A":7,"B":true}`:                         {record{A: "7", B: "true"}, ""},
		`{"A":"x","L":"y"}`:                        {record{A: "x", L: []string{"y"}}, ""},
		`{"A":"x","S":{"T":"y"}}`:                  {record{A: "x", S: []inner{{"y"}}}, ""},
		`{"A":["x"],"B":"y"}`:                      {record{B: "y"}, `A: ["x"], expected a string`},
		`{"A":"x","O":7,"S":[{"T":{}}]}`:           {record{A: "x", S: []inner{{}}}, "S/0/T: {}, expected a string"},
		`{"A":"x","N":"much"}`:                     {record{A: "x"}, `N: "much", expected a number`},
	} {
		var got record
		notes, err := Decode([]byte(in), &got)
		if err != nil || !reflect.DeepEqual(got, tt.want) || (tt.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, "; "), tt.note) {
			t.Errorf("%s: %+v, %q, %v; want %+v and %q", in, got, notes, err, tt.want, tt.note)
		}
	}
	for in, want := range map[string]string{
		`[]`: "expected an object", `{"A":"x","A":"y"}`: "twice", `{"A":{"x"`: "A",
	} {
		var got record
		if _, err := Decode([]byte(in), &got); err == nil || !strings.Contains(Fault(err, []byte(in)), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		}
	}
}

func TestCollectionReadsWhatIsAroundTheRecords(t *testing.T) {
	k := Collection{Want: "GeoJSON", Lists: []string{"features"}, Heads: []string{"type"}}
	utf16 := "\xff\xfe"
	for _, r := range `{"type":"x","features":[1]}` {
		utf16 += string([]byte{byte(r), 0})
	}
	for payload, want := range map[string]string{
		`{"features":[1,{}],"type":"x","a":[]}`:  "1|{}",
		"\ufeff" + `{"features":[1],"type":"x"}`: "1",
		utf16:                                    "1",
		`{"type":"x","features":[1]} <!-- served by 7 -->`: "1 and begins with",
		`{"type":"x","features":[1],"features":[2]}`:       "1 and twice",
		`{"type":"x","features":[1`:                        " and ends early",
		"":                                                 " and empty",
		"<html>":                                           " and HTML",
		"[]":                                               " and expected an object",
	} {
		var got []string
		d, err := k.Read([]byte(payload), func(where func() string, raw []byte) {
			if where() != "features/"+strconv.Itoa(len(got)) {
				t.Errorf("%s: %s", payload, where())
			}
			got = append(got, string(raw))
		})
		records, problem, bad := strings.Cut(want, " and ")
		if strings.Join(got, "|") != records || bad != (err != nil) || err == nil && d.Word("type") != "x" {
			t.Errorf("%s: %q, %v, %q; want %s", payload, got, err, d.Word("type"), want)
		}
		_ = problem
	}
}

// Times in the forms that feeds send.
func TestTimeReadsWhatIsMeant(t *testing.T) {
	east := time.FixedZone("", 2*3600)
	for in, want := range map[string]string{
		"2026-11-21T06:00:00-00:00":  "2026-11-21T06:00:00Z",
		"2026-11-21T06:00:00+02:00":  "2026-11-21T04:00:00Z",
		" 2026-11-21T06:00:00z":      "2026-11-21T06:00:00Z",
		"2026-11-21T06:00:00-0330":   "2026-11-21T09:30:00Z",
		"2026-11-21T06:00:00.250+02": "2026-11-21T04:00:00Z",
		"2026-11-21T06:00Z":          "2026-11-21T06:00:00Z",
		"2026-12-31T24:00:00+02:00":  "2026-12-31T22:00:00Z",
		"2026-11-21T23:59:60Z":       "2026-11-22T00:00:00Z",
		"2026-11-21T06:00:00":        "2026-11-21T04:00:00Z noted",
		"2026-11-21 06:00:00":        "2026-11-21T04:00:00Z noted",
		"2026-11-21T24:00:01Z":       "bad",
		"2026-13-21T06:00:00Z":       "bad",
		"2026-11-21T06:60:00Z":       "bad",
		"2026-11-21":                 "bad",
		"":                           "bad",
		"tomorrow":                   "bad",
	} {
		at, note, err := Time(in, east)
		got := at.Time().Format(time.RFC3339)
		if note != "" {
			got += " noted"
		}
		if err != nil {
			got = "bad"
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%v)", in, got, want, err)
		}
	}
	if z := Zone("2026-11-21T06:00:00-0330"); z == nil || time.Unix(0, 0).In(z).Format("-07:00") != "-03:30" {
		t.Errorf("zone %v", z)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"A":NaN,"B":["\q",01,],"N":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var v struct {
			A string
			B []string
			N Number
		}
		notes, err := Decode(raw, &v)
		if err == nil && len(notes) > 2*maxFaults {
			t.Errorf("%d notes", len(notes))
		}
	})
}

func FuzzElements(f *testing.F) {
	f.Add(`[1,{"a":"]"},[[]]]`)
	f.Fuzz(func(t *testing.T, doc string) {
		elements, _ := walk(doc)
		total := 0
		for _, e := range elements {
			total += len(e)
		}
		if total > len(doc) {
			t.Errorf("%d bytes of elements in a document of %d", total, len(doc))
		}
	})
}

func TestTheDayOfAMonthIsTheNearestOne(t *testing.T) {
	issued := hazard.At(time.Date(2026, 7, 31, 21, 0, 0, 0, time.UTC))
	for _, tt := range []struct {
		day, hour string
		want      string
	}{{"31", "21", "2026-07-31T21:00:00.000Z"}, {"01", "06", "2026-08-01T06:00:00.000Z"}, {"30", "00", "2026-07-30T00:00:00.000Z"}, {"15", "00", ""}, {"32", "00", ""}, {"x", "00", ""}} {
		at, ok := Near(tt.day, tt.hour, "00", issued)
		if ok != (tt.want != "") || ok && at.String() != tt.want {
			t.Errorf("%s/%s: %v %v, want %q", tt.day, tt.hour, at, ok, tt.want)
		}
	}
}
