package sourcetest

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/ingest/source"
)

// htmlPage is a page that proxies and overloaded servers send instead of the requested document.
const htmlPage = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"

// doubt is another value of a member.
type doubt struct {
	name  string
	value any
	same  bool // it means the same as the original, so the record must be shown, whatever member it is
}

var dateLike = regexp.MustCompile(`^\s*\d{4}[-.]\d\d[-.]\d\d[T ]\d\d:\d\d`)

// doubtsOf returns values that feeds have sent in place of v.
func doubtsOf(v any) []doubt {
	switch v := v.(type) {
	case float64:
		digits := strconv.FormatFloat(v, 'f', -1, 64)
		return []doubt{
			{"a string with blanks", " " + digits + " ", true},
			{"181", 181.0, false}, {"-180.005", -180.005, false}, {"null", nil, false}, {"a word", "unbekanntes Wort", false}, {"two numbers", "10, 10", false},
		}
	case string:
		all := []doubt{
			{"blanks around it", "  " + v + "\n", true},
			{"an unknown word", "unbekanntes Wort", false}, {"nothing", "", false}, {"null", nil, false}, {"a page of HTML", htmlPage, false},
		}
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			all = append(all, doubt{"181", "181", false})
		}
		if dateLike.MatchString(v) {
			all = append(all, doubt{"the day first", "20/09/2026 5:00 PM", false}, doubt{"24:00:00", v[:10] + "T24:00:00", false},
				doubt{"no zone", v[:10] + "T" + strings.TrimSpace(v)[11:16], false})
		}
		return all
	case nil:
		return nil
	}
	return []doubt{{"null", nil, false}, {"a page of HTML", htmlPage, false}}
}

// doubtful sets each member of a record to the values of doubtsOf.
func (s *laws) doubtful(t *testing.T) {
	d, target, rest, all := s.sample()
	its := own(all, rest)
	original := shown(all, its)
	judge := func(place string, d doubt, got source.Batch, err error) {
		what := place + " is " + d.name
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if lost := missing(rest, got); len(lost) > 0 {
			t.Errorf("%s: the neighbors %q are lost or changed: %s", what, lost, reasons(got))
		}
		r := shown(got, its)
		switch {
		case !d.same && (s.needed(place) || s.decides(place)):
			if r == nil && len(got.Rejects) <= len(rest.Rejects) && got.Ignored <= rest.Ignored && len(got.Reports) <= len(rest.Reports) && len(got.Links) <= len(rest.Links) {
				t.Errorf("%s: the record is neither shown nor rejected", what)
			}
		case r == nil:
			t.Errorf("%s: the hazard is not shown: %s", what, reasons(got))
		case r.Suspect != original.Suspect:
			t.Errorf("%s: the hazard is held: %s", what, r.Suspect)
		}
	}
	raw := d.records[target]
	if s.Element != "" {
		for _, at := range values(raw) {
			text := string(raw[at.from:at.to])
			for _, f := range some(s, at.name, doubtsOf(text)) {
				other, _ := f.value.(string)
				if f.value == nil || at.quoted && strings.Contains(other, "<") {
					continue
				}
				got, err := s.Parse(d.replaced(target, slices.Concat(raw[:at.from], []byte(other), raw[at.to:])), s.Now(t))
				judge(at.name, f, got, err)
			}
		}
		return
	}
	var record any
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatal(err)
	}
	each(record, "", func(place string, now any, set func(any)) {
		for _, f := range some(s, place, doubtsOf(now)) {
			set(f.value)
			text, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Parse(d.replaced(target, text), s.Now(t))
			judge(place, f, got, err)
		}
		set(now)
	})
}

// decides reports whether the member at that place decides whether the record is a hazard.
func (s Source) decides(place string) bool {
	return slices.ContainsFunc(s.Decides, func(pattern string) bool {
		ok, _ := path.Match(pattern, place)
		return ok
	})
}

// each does the same as walk, and also calls f for the numbers of the first position of each shape.
func each(v any, place string, f func(place string, now any, set func(any))) {
	walk(v, place, f)
	coordinates(v, place, f)
}

func coordinates(v any, place string, f func(place string, now any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			coordinates(child, path.Join(place, name), f)
		}
	case []any:
		inside := strings.Contains(place, "coordinates")
		for i, child := range v {
			if _, ok := child.(float64); ok && inside {
				f(place, child, func(other any) { v[i] = other })
			} else if i == 0 {
				coordinates(child, place+map[bool]string{false: "/0"}[inside], f)
			}
		}
	}
}

// span is the position of a value in an XML record: the text of the first element with a name, or
// the first attribute with it.
type span struct {
	name     string
	from, to int
	quoted   bool
}

var (
	leaf      = regexp.MustCompile(`>([^<>]+)</([\w:.-]+)>`)
	attribute = regexp.MustCompile(`\s([\w:.-]+)="([^"<>]*)"`)
)

func values(record []byte) (all []span) {
	seen := map[string]bool{}
	add := func(name string, from, to int, quoted bool) {
		_, local, ok := strings.Cut(name, ":")
		if !ok {
			local = name
		}
		if strings.HasPrefix(name, "xmlns") || seen[name] || len(bytes.TrimSpace(record[from:to])) == 0 {
			return
		}
		seen[name] = true
		all = append(all, span{local, from, to, quoted})
	}
	for _, m := range leaf.FindAllSubmatchIndex(record, -1) {
		add(string(record[m[4]:m[5]]), m[2], m[3], false)
	}
	for _, m := range attribute.FindAllSubmatchIndex(record, -1) {
		add("@"+string(record[m[2]:m[3]]), m[4], m[5], true)
	}
	return all
}
