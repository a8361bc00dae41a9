package frame

import (
	"strings"
	"testing"
)

// walk reads all elements of the array at the beginning of doc.
func walk(doc string) (elements []string, err error) {
	c := Cursor{Doc: []byte(doc)}
	if c.Next() != '[' {
		return nil, c.Unexpected("an array")
	}
	err = c.Elements(func(_ int, raw []byte) { elements = append(elements, string(raw)) })
	return elements, err
}

func TestElementsAreCutByBracketsAndQuotesAlone(t *testing.T) {
	for doc, want := range map[string]string{
		`[1, "a,]\"b" ,{"x":[1,2]}, []]`: `1|"a,]\"b"|{"x":[1,2]}|[]`,
		`[NaN, {"bad": \q}, 3]`:          `NaN|{"bad": \q}|3`, // not JSON, and still three elements
		`[]`:                             ``,
	} {
		got, err := walk(doc)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v; want %s", doc, got, err, want)
		}
	}
	if got, err := walk(`[1, 2, {"x":`); err == nil || len(got) != 2 {
		t.Errorf("a list that is cut: %q, %v; want what came before the cut, and an error", got, err)
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
