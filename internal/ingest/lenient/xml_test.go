package lenient

import (
	"fmt"
	"strings"
	"testing"
)

// items reads the records of an RSS document, and returns the titles of each.
func items(text string) (titles []string, root string, err error) {
	k := XML{Want: "RSS", Roots: []string{"rss"}, Records: []string{"item"}}
	root, err = k.Read([]byte(text), func(e Element) {
		n, notes, err := e.Tree(Limits{Elements: 10})
		title := n.Get("*", "title")
		if err != nil {
			title += " fault"
		}
		if len(notes) > 0 {
			title += " noted"
		}
		titles = append(titles, title)
	})
	return titles, root, err
}

// If one record is invalid, the records around it are still read.
func TestRecordsOfXMLAreCutByTagsAlone(t *testing.T) {
	for middle, want := range map[string]string{
		"<item><title>b</title></item>":                      "b",
		"<item><title>a&nbsp;&amp;&eacute;</title></item>":   "a\u00a0&é",
		"<item><title>Trinidad & Tobago</title></item>":      "Trinidad & Tobago",
		"<item><title>wind < 5 <6</title></item>":            "wind < 5 <6",
		"<item><title>a\x0bb&#11;c</title></item>":           "a b c",
		"<item><title>a]]>b</title></item>":                  "a]]>b",
		"<item><title>a<br>b</title></item>":                 "a<br>b noted",
		"<item><title>a</i>b</title></item>":                 "a</i>b noted",
		"<item><title>b</title>":                             "b noted",
		"<item><title>b</item>":                              "noted",
		"<item><title><![CDATA[<b></item>]]></title></item>": "<b></item>",
		"<item><title><![CDATA[b</title></item>":             "<![CDATA[b",
		"<item><!-- </item> --><title>b</title></item>":      "b",
		"<item><!-- <title>b</title></item>":                 "b",
		"<item a='1' a=\"2\" b=c><title>b</title></item>":    "b",
		"<item/>": "",
		"<item>" + strings.Repeat("<a/>", 20) + "<title>b</title></item>": "fault",
	} {
		titles, root, err := items("<rss><channel><title>t</title><item><title>a</title></item>" + middle + "<item><title><![CDATA[c]]></title></item></channel></rss>\n")
		if got := strings.TrimSpace(fmt.Sprint(titles)); err != nil || root != "rss" || got != fmt.Sprint([]string{"a", want, "c"}) && got != fmt.Sprint([]string{"a", " " + want, "c"}) {
			t.Errorf("%s: %q, %v; want a, %s, c", middle, titles, err, want)
		}
	}
	// An element outside of the records that was never closed, for example because of a damaged
	// tag, does not end a record by its name.
	if titles, _, err := items("<rss><channel><title><im><b>x</im><item><title>a</title><b>y</b></item><item><title>b</title></item></channel></rss>"); err != nil || fmt.Sprint(titles) != "[a b]" {
		t.Errorf("%q, %v; want a, b", titles, err)
	}
	for text, want := range map[string]string{
		"": "an empty payload", " ": "an empty payload", "x": "begins with x", "<html/>": "HTML", "<feed/>": `the root element is "feed"`,
		"<!DOCTYPE rss><rss/>": "a document type", "<rss></rss><rss/>": "a second root", "<rss></rss>x": "text outside",
		"<rss><channel><item>": "ends early", "<rss>": "ends early", strings.Repeat("<rss>", 100): "nested deeper",
	} {
		if _, _, err := items(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestNamespacesAroundARecordHoldInIt(t *testing.T) {
	k := XML{Records: []string{"item"}}
	_, err := k.Read([]byte(`<r xmlns="urn:a" xmlns:b='urn:"b&amp;'><b:s xmlns="urn:c"><item><b:x>1</b:x><x xmlns="urn:d">2</x><x>3</x></item></b:s></r>`), func(e Element) {
		n, _, err := e.Tree(Limits{})
		if err != nil || n.Space != "urn:c" || e.Space() != "urn:c" || n.Get(`urn:"b&`, "x") != "1" || n.Get("urn:d", "x") != "2" || n.Get("urn:c", "x") != "3" {
			t.Errorf("%+v, %v", n, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// The bytes of a document have precedence over its declaration.
func TestTextIsReadInTheEncodingThatItIsIn(t *testing.T) {
	declared := func(name string) string { return `<?xml version="1.0" encoding="` + name + `"?>` }
	for name, tt := range map[string]struct{ payload, charset, want string }{
		"UTF-8 declared as ISO-8859-1":  {declared("ISO-8859-1") + "Région", "", "Région"},
		"ISO-8859-1 as declared":        {declared("ISO-8859-1") + "R\xe9gion", "", "Région"},
		"Shift_JIS as declared":         {declared("Shift_JIS") + "\x93\x8c\x8b\x9e", "", "東京"},
		"ISO-2022-JP as declared":       {declared("ISO-2022-JP") + "\x1b$BEl5~\x1b(B", "", "東京"},
		"UTF-16, little end first":      {"\xff\xfeR\x00\xe9\x00", "", "Ré"},
		"UTF-16, big end first":         {"\xfe\xff\x00R\x00\xe9", "", "Ré"},
		"UTF-16 without mark":           {"<\x00R\x00\xe9\x00", "", "<Ré"},
		"Windows-1252 without a word":   {"<R\xe9gion \x93x\x94", "", "Région “x”"},
		"what an operator knows":        {"<R\xe9gion", "iso-8859-1", "Région"},
		"what could be anything":        {"<R\xe9gion", "", ""},
		"JSON with bytes that are none": {"{\"R\xe9gion\"}", "", "{\"R\ufffdgion\"}"},
		"an encoding that hides markup": {declared("utf-7") + "x", "", ""},
	} {
		text, err := Text([]byte(tt.payload), tt.charset)
		if got := string(text); (err != nil) != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
		}
	}
}

func FuzzXML(f *testing.F) {
	f.Add([]byte(`<rss xmlns:a="b"><channel><item><a:title>x<![CDATA[y]]>&nbsp;<br></a:title></item><item><!-- </item></channel></rss>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		total := 0
		_, _ = XML{Want: "XML", Records: []string{"item"}}.Read(text, func(e Element) {
			total += len(e.Raw)
			_, _, _ = e.Tree(Limits{Elements: 100})
			e.Within(func(inner Element) { _ = inner.Space() }, "title")
		})
		if total > len(text) {
			t.Errorf("%d bytes of records in a document of %d", total, len(text))
		}
	})
}
