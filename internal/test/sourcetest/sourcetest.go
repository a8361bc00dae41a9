// Package sourcetest checks the laws that every source must obey:
//
//   - A bad record never affects its neighbors, whatever is wrong with it. It is shown as far as it
//     is readable, with a note on the rest, or it is rejected with a reason and stored. It is never
//     dropped.
//   - The same holds for a record in which random bytes were lost, doubled or replaced, including
//     brackets and quotes: each neighbor is read.
//   - A member with the wrong type, with another form of its value, or with a meaningless value
//     does not hide a hazard, unless the hazard cannot be named or placed without it.
//   - A payload that is cut off gives the records before the cut, and nothing is concluded from
//     missing records.
//   - The order of the records, and repeated records, change nothing.
//   - White space and the case of letters do not change how a text is read.
//   - UTF-16 and a byte order mark are supported; in XML also UTF-8 with a wrong declaration, HTML
//     entities, bare & and <, and control characters.
//   - For any input the parser returns, without a panic, and with memory proportional to the
//     payload.
//
// A source calls Laws and Fuzz with a recorded payload.
package sourcetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// Source describes the recorded payload of a source to test.
type Source struct {
	Parse func(payload []byte, now hazard.Instant) (source.Batch, error)
	// File is a recorded payload of many good records, below feeds/, and At is when it was read.
	// The records of More, documents in the same format, are added to it. If Files is used instead,
	// each file has one record, and one payload is made of all.
	File  string
	More  []string
	Files []string
	// Payload is used instead if there is no recording of the source: it is made up from the
	// publisher's documentation.
	Payload []byte
	At      string
	// List is the JSON member that contains the records, or "" if the document is an array. Element
	// is used for XML instead: the element that is a record. A list that is an object of records is
	// converted to an array.
	List, Element string
	// Record matches a record in a text format other than JSON and XML.
	Record *regexp.Regexp
	// Needed are the members of a JSON record without which it is rejected or ignored, as patterns
	// of their paths: "properties/id", "references/*/sent". A member below or around one of them
	// counts as needed too.
	Needed []string
	// Decides are the members whose value decides whether the record is a hazard, and whether it is
	// held. With an unknown word there, the record may be ignored, but it must be counted.
	Decides []string
}

// The records of a part of a recording, when all tests run and otherwise.
const (
	many = 12
	few  = 3
)

// laws are the laws of a source, with the part of its recording that each law reads many times.
type laws struct {
	Source
	all  bool // all records, rounds and sizes, as in make test-all
	part part
}

// part is a part of a recording. Its record target makes reports that no other record makes.
type part struct {
	document
	target    int
	rest, all source.Batch // what the records without the target make, and what all make
}

// rounds returns the number of rounds of a law: n if all tests run, otherwise a thirtieth of it, at
// least one.
func (s *laws) rounds(n int) int {
	if s.all {
		return n
	}
	return max(1, n/30)
}

// short sorts the records: first those that begin as most do, as one program wrote them, the
// shortest first.
func (d *document) short() {
	alike := map[string]int{}
	for _, r := range d.records {
		alike[head(r)]++
	}
	slices.SortStableFunc(d.records, func(a, b []byte) int {
		return cmp.Or(cmp.Compare(alike[head(b)], alike[head(a)]), cmp.Compare(len(a), len(b)))
	})
}

// some returns all of the values to be tried at a place of a record, or one of them, where not all
// tests run. It is the same each time.
func some[T any](s *laws, place string, values []T) []T {
	if s.all || len(values) == 0 {
		return values
	}
	i := len(place) % len(values)
	return values[i : i+1]
}

// sample returns the part of the recording that the laws read. The caller may change its list of
// records.
func (s *laws) sample() (d *document, target int, rest, all source.Batch) {
	copied := s.part.document
	copied.records = slices.Clone(copied.records)
	return &copied, s.part.target, s.part.rest, s.part.all
}

// Now returns the time of the recording.
func (s Source) Now(t testing.TB) hazard.Instant {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s.At)
	if err != nil {
		t.Fatal(err)
	}
	return hazard.At(at)
}

// document is a payload split into pieces.
type document struct {
	head, tail []byte
	records    [][]byte
	comma      []byte // between records
}

// sorted returns the values of a map in the order of their keys.
func sorted(m map[string]json.RawMessage) (values []json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		values = append(values, m[key])
	}
	return values
}

// with returns the payload with other records.
func (d *document) with(records ...[]byte) []byte {
	return slices.Concat(d.head, bytes.Join(records, d.comma), d.tail)
}

// replaced returns the payload with its i-th record replaced.
func (d *document) replaced(i int, record []byte) []byte {
	records := slices.Clone(d.records)
	records[i] = record
	return d.with(records...)
}

// cut reads the recording and splits it with its own code, not with the code under test.
func (s Source) cut(t testing.TB) *document {
	t.Helper()
	if len(s.More) > 0 {
		one := s
		one.More = nil
		d := one.cut(t)
		for _, one.File = range s.More {
			d.records = append(d.records, one.cut(t).records...)
		}
		for i, r := range d.records {
			var compact bytes.Buffer // so that all records have the same form
			if json.Compact(&compact, r) == nil {
				d.records[i] = compact.Bytes()
			}
		}
		return d
	}
	var payload []byte
	if s.Payload != nil {
		payload = s.Payload
	} else if s.File != "" {
		payload = recordings.Read(t, "feeds/"+s.File)
	} else if s.Element == "" {
		for i, name := range s.Files {
			payload = slices.Concat(payload, []byte("[,")[min(i, 1):min(i, 1)+1], recordings.Read(t, "feeds/"+name))
		}
		payload = append(payload, ']')
	} else {
		for _, name := range s.Files {
			_, record, _ := bytes.Cut(recordings.Read(t, "feeds/"+name), []byte("?>"))
			payload = append(payload, record...)
		}
		payload = slices.Concat([]byte(`<?xml version="1.0" encoding="UTF-8"?><records>`), payload, []byte("</records>"))
	}
	d := &document{}
	if s.Record != nil {
		places := s.Record.FindAllIndex(payload, -1)
		if len(places) == 0 {
			t.Fatalf("%s has no record", s.File)
		}
		d.head, d.tail, d.comma = payload[:places[0][0]], payload[places[len(places)-1][1]:], []byte("\n")
		for _, p := range places {
			d.records = append(d.records, payload[p[0]:p[1]])
		}
	} else if s.Element != "" {
		places := regexp.MustCompile(`(?s)<(?:\w+:)?`+s.Element+`[ >].*?</(?:\w+:)?`+s.Element+`>|<(?:\w+:)?`+s.Element+`\s[^<>]*/>`).FindAllIndex(payload, -1)
		if len(places) == 0 {
			t.Fatalf("%s has no element %s", s.File, s.Element)
		}
		d.head, d.tail, d.comma = payload[:places[0][0]], payload[places[len(places)-1][1]:], []byte("\n")
		for _, p := range places {
			d.records = append(d.records, payload[p[0]:p[1]])
		}
	} else {
		d.comma = []byte(",")
		var keyed map[string]map[string]json.RawMessage
		if json.Unmarshal(payload, &keyed) == nil && len(keyed[s.List]) > 0 {
			records, err := json.Marshal(map[string]any{s.List: sorted(keyed[s.List])})
			if err != nil {
				t.Fatal(err)
			}
			payload = records
		}
		dec := json.NewDecoder(bytes.NewReader(payload))
		for depth, name := 0, ""; ; {
			token, err := dec.Token()
			if err != nil {
				t.Fatalf("%s: no list %q: %v", s.File, s.List, err)
			}
			if token == json.Delim('[') && (depth == 0 && s.List == "" || depth == 1 && name == s.List) {
				break
			}
			switch token {
			case json.Delim('{'), json.Delim('['):
				depth++
			case json.Delim('}'), json.Delim(']'):
				depth--
			}
			name, _ = token.(string)
		}
		d.head = payload[:dec.InputOffset()]
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			d.records = append(d.records, raw)
		}
		d.tail = payload[dec.InputOffset():]
	}
	return d
}

// sample returns a part of the recording, of at most n records, and short ones where they
// are few. Its target is a record near the middle.
func (s Source) sample(t testing.TB, n int) part {
	t.Helper()
	d, now := s.cut(t), s.Now(t)
	if n < many {
		d.short()
	}
	var good [][]byte
	for _, r := range d.records { // records that make a report by themselves
		if b, err := s.Parse(d.with(r), now); err == nil && len(b.Reports) > 0 && len(b.Rejects) == 0 {
			if good = append(good, r); len(good) == n {
				break
			}
		}
	}
	if len(good) < 2 {
		t.Fatalf("%s: %d records that make reports, want 2 at least", s.File, len(good))
	}
	d.records = good
	all, err := s.Parse(d.with(good...), now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		target := (len(good)/2 + i) % len(good)
		rest, err := s.Parse(d.with(slices.Delete(slices.Clone(good), target, target+1)...), now)
		if err != nil {
			t.Fatal(err)
		}
		if len(names(rest)) < len(names(all)) {
			return part{*d, target, rest, all}
		}
	}
	t.Fatalf("%s: no record makes a report of its own", s.File)
	return part{}
}

// name returns the identity of a report: the event and its part.
func name(r *hazard.Report) string { return r.Key + " " + r.Part }

func names(b source.Batch) map[string]bool {
	out := map[string]bool{}
	for i := range b.Reports {
		out[name(&b.Reports[i])] = true
	}
	return out
}

// missing returns the names of reports in want that got does not contain unchanged.
func missing(want, got source.Batch) (lost []string) {
	for i := range want.Reports {
		w := &want.Reports[i]
		if !slices.ContainsFunc(got.Reports, func(r hazard.Report) bool { return reflect.DeepEqual(r, *w) }) {
			lost = append(lost, name(w))
		}
	}
	return lost
}

// reasons returns the rejects of a batch as text, for failure messages.
func reasons(b source.Batch) (all string) {
	for _, r := range b.Rejects {
		all += "[" + r.Record + ": " + r.Reason + "]"
	}
	return all[:min(len(all), 600)]
}

// own returns the names of the reports that only the target makes.
func own(all, rest source.Batch) map[string]bool {
	out := names(all)
	for n := range names(rest) {
		delete(out, n)
	}
	return out
}

// shown returns the first report of got with one of the names.
func shown(got source.Batch, names map[string]bool) *hazard.Report {
	for i := range got.Reports {
		if names[name(&got.Reports[i])] {
			return &got.Reports[i]
		}
	}
	return nil
}

// Laws checks all laws. Unless all tests run, it reads three records instead of twelve, in few
// rounds, and leaves out large payloads. It is skipped without the recordings.
func Laws(t *testing.T, source Source) {
	test.NoRace(t)
	s := &laws{Source: source, all: test.All() && !testing.Short()}
	records := few
	if s.all {
		records = many
	}
	s.part = s.Source.sample(t, records)
	t.Run("bad neighbors", s.badNeighbors)
	if s.Element == "" && s.Record == nil {
		t.Run("members of other types", s.otherTypes)
	}
	if s.Record == nil {
		t.Run("doubtful values", s.doubtful)
	}
	t.Run("damage", s.damaged)
	t.Run("truncation", s.truncation)
	t.Run("garbage", s.garbage)
	t.Run("order", s.order)
	t.Run("repetition", s.repetition)
	t.Run("encodings", s.encodings)
	if s.all {
		t.Run("size", s.size)
	}
}

// fault is a damaged copy of a record.
type fault struct {
	name   string
	record []byte
	shown  bool // the meaning is clear, so the record must be shown
}

var firstString = regexp.MustCompile(`"\s*:\s*"[^"\\]`)

// aText matches the beginning of a value with several words.
var aText = regexp.MustCompile(`"\s*:\s*"[^"\\]* `)

// aName matches the beginning of a value with one word.
var aName = regexp.MustCompile(`"\s*:\s*"[A-Z][a-z]+`)

// faults returns copies of a record with the faults that D1, D35 and D38 have found in feeds.
func (s Source) faults(record []byte) []fault {
	swap := func(old, new string, n int) []byte { return bytes.Replace(record, []byte(old), []byte(new), n) }
	if s.Element != "" {
		end := "</" + s.Element + ">"
		inText := func(what string) []byte { // inserts what into the first text
			at := regexp.MustCompile(`<(?:\w+:)?(?:title|headline|description|event|areaDesc)>(?:<!\[CDATA\[)?`).FindIndex(record)
			if at == nil {
				return nil
			}
			return slices.Concat(record[:at[1]], []byte(what), record[at[1]:])
		}
		if bytes.HasSuffix(record, []byte("/>")) { // all values are in attributes
			inText = func(what string) []byte {
				at := regexp.MustCompile(`="[A-Z]`).FindIndex(record)
				return slices.Concat(record[:at[1]], []byte(what), record[at[1]:])
			}
			return []fault{
				{"a bare &", inText("Trinidad & Tobago "), true},
				{"a control character", inText("a\x0bb"), true},
				{"an unknown entity", inText("a &what; b"), true},
				{"a bare <", inText("5 < 6"), false},
				{"a lost quote", bytes.Replace(record, []byte(`" `), []byte(" "), 1), false},
				{"no end", bytes.TrimSuffix(record, []byte("/>")), false},
				{"nothing", []byte("<" + s.Element + "/>"), false},
				{"bytes that are no text", inText("a\xff\xfeb"), true},
				{"Windows-1252", inText("R\xe9gion"), true},
				{"a byte order mark before it", slices.Concat([]byte("\ufeff"), record), true},
				{"a page of HTML", []byte(htmlPage), false},
				{"half of it", record[:len(record)/2], false},
				{"all attributes twice", slices.Concat(record[:len(record)-2], attributes(record), []byte("/>")), false},
				{"no values", regexp.MustCompile(`="[^"]*"`).ReplaceAll(record, []byte(`=""`)), false},
				{"no blanks", bytes.ReplaceAll(record, []byte("\t"), nil), false},
			}
		}
		return []fault{
			{"&nbsp;", inText("A&nbsp;B "), true},
			{"a bare &", inText("Trinidad & Tobago "), true},
			{"a bare <", inText("wind < 5 "), true},
			{"a control character", inText("a\x0bb"), true},
			{"an unknown entity", inText("a &what; b"), true},
			{"a reference to a control character", inText("a&#11;b"), true},
			{"bytes that are no text", inText("a\xff\xfeb"), true},
			{"Windows-1252", inText("R\xe9gion"), true},
			{"a byte order mark before it", slices.Concat([]byte("\ufeff"), record), true},
			{"a page of HTML in it", inText(htmlPage), false},
			{"a page of HTML", []byte(htmlPage), false},
			{"half of it", record[:len(record)/2], false},
			{"all elements twice", slices.Concat(bytes.TrimSuffix(record, []byte(end)), inside(record), []byte(end)), false},
			{"a wrong end tag", inText("</wrong>"), false},
			{"an element without end", inText("<b>"), false},
			{"a cut tag", inText("<b "), false},
			{"a CDATA section without end", inText("<![CDATA["), false},
			{"a comment without end", inText("<!-- "), false},
			{"nothing", []byte("<" + s.Element + "/>"), false},
			{"no end", swap(end, "", 1), false},
		}
	}
	if s.Record != nil {
		half, digits := len(record)/2, regexp.MustCompile(`[0-9]`)
		return []fault{
			{"other white space", regexp.MustCompile(`\s+`).ReplaceAll(record, []byte(" \r\n\t ")), true},
			{"no-break spaces", bytes.ReplaceAll(record, []byte(" "), []byte("\u00a0")), true},
			{"control characters", bytes.ReplaceAll(record, []byte(" "), []byte(" \x0b\x00")), true},
			{"small letters", bytes.ToLower(record), true},
			{"half of it", record[:half], false},
			{"the other half", record[half:], false},
			{"no digits", digits.ReplaceAll(record, []byte("?")), false},
			{"nines", digits.ReplaceAll(record, []byte("9")), false},
			{"no blanks", regexp.MustCompile(`\s+`).ReplaceAll(record, nil), false},
			{"Windows-1252", bytes.ReplaceAll(record, []byte(" "), []byte(" \xe9 ")), false},
			{"a byte order mark before it", slices.Concat([]byte("\ufeff"), record), true},
			{"a page of HTML", []byte(htmlPage), false},
			{"bytes that are no text", bytes.ReplaceAll(record, []byte("A"), []byte{0xff}), false},
		}
	}
	at := firstString.FindIndex(record)
	words := aText.FindIndex(record) // a text of several words, so not a name or key
	if words == nil {
		words = aName.FindIndex(record)
	}
	inText := func(what string) []byte { return slices.Concat(record[:words[1]], []byte(what), record[words[1]:]) }
	inString := func(what string) []byte { return slices.Concat(record[:at[1]-1], []byte(what), record[at[1]-1:]) }
	member := func(text string) []byte {
		return slices.Concat(record[:len(record)-1], []byte(`,"an unknown member":`+text), record[len(record)-1:])
	}
	return []fault{
		{"NaN", member("NaN"), true},
		{"01", member("01"), true},
		{"a wrong escape", member(`"C:\qux"`), true},
		{"a raw 0x01", member("\"a\x01b\""), true},
		{"a raw 0x01 between members", member("\x01 1"), true},
		{"half an escape", member(`"\u12"`), true},
		{"a comma too many", slices.Concat(record[:len(record)-1], []byte(",}")), true},
		{"bytes that are no text", inText("a\xff\xfeb"), true},
		{"Windows-1252", inText("R\xe9gion"), true},
		{"a byte order mark before it", slices.Concat([]byte("\ufeff"), record), false},
		{"a page of HTML", []byte(htmlPage), false},
		{"half of it", record[:len(record)/2], false},
		{"a member twice", member(`1,"an unknown member":2`), false},
		{"all members twice", slices.Concat(record[:len(record)-1], []byte(","), record[1:]), false},
		{"a lost quote", slices.Concat(record[:at[1]-2], record[at[1]-1:]), false},
		{"a quote too many", inString(`"`), false},
		{"a brace too many", append(slices.Clone(record), '}'), false},
		{"no end", record[:len(record)-1], false},
		{"null", []byte("null"), false},
		{"a number", []byte("7"), false},
		{"an array", []byte(`[{"a":1}]`), false},
		{"an empty object", []byte("{}"), false},
	}
}

// attributes returns the attributes of an empty element, with the white space before each.
func attributes(record []byte) []byte { return bytes.Join(attribute.FindAll(record, -1), nil) }

// inside returns the content of an element, without its last tag.
func inside(record []byte) []byte {
	return record[bytes.IndexByte(record, '>')+1 : bytes.LastIndex(record, []byte("</"))]
}

func (s *laws) badNeighbors(t *testing.T) {
	d, target, rest, all := s.sample()
	its := own(all, rest)
	for _, f := range s.faults(d.records[target]) {
		if f.record == nil {
			continue
		}
		got, err := s.Parse(d.replaced(target, f.record), s.Now(t))
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		if lost := missing(rest, got); len(lost) > 0 {
			t.Errorf("%s: its neighbors %q are lost or changed (%d reports, rejects %s)", f.name, lost, len(got.Reports), reasons(got))
		}
		r := shown(got, its)
		if f.shown && r == nil {
			t.Errorf("%s: the record is not shown: %s", f.name, reasons(got))
		}
		if r == nil && len(got.Rejects)+len(got.Links) <= len(rest.Rejects)+len(rest.Links) {
			t.Errorf("%s: the record is neither shown nor rejected (%d read, %d ignored)", f.name, got.Read, got.Ignored)
		}
		for _, bad := range got.Rejects {
			if bad.Record == "" || bad.Reason == "" || len(bad.Raw) == 0 && len(f.record) > 0 || len(bad.Raw) > source.MaxKept {
				t.Errorf("%s: %+v, want what is wrong with which record, and the record", f.name, bad)
			}
		}
	}
}

// otherTypes sets each member of a record to a value of another type.
func (s *laws) otherTypes(t *testing.T) {
	d, target, rest, all := s.sample()
	its := own(all, rest)
	original := shown(all, its)
	var record any
	if err := json.Unmarshal(d.records[target], &record); err != nil {
		t.Fatal(err)
	}
	walk(record, "", func(place string, now any, set func(any)) {
		others := []any{map[string]any{"a": 1}, []any{[]any{}}, "many", -1e30, true}
		for _, other := range some(s, place, others) {
			if reflect.TypeOf(other) == reflect.TypeOf(now) {
				continue
			}
			set(other)
			text, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Parse(d.replaced(target, text), s.Now(t))
			if err != nil {
				t.Errorf("%s is %v: %v", place, other, err)
			}
			if lost := missing(rest, got); len(lost) > 0 {
				t.Errorf("%s is %v: the neighbors %q are lost or changed", place, other, lost)
			}
			r := shown(got, its)
			_, isObject := other.(map[string]any)
			switch {
			case s.needed(place):
				if r == nil && len(got.Rejects) <= len(rest.Rejects) && got.Ignored <= rest.Ignored && len(got.Reports) <= len(rest.Reports) {
					t.Errorf("%s is %v: the record is neither shown nor rejected", place, other)
				}
			case r == nil:
				t.Errorf("%s is %v: the hazard is not shown: %s", place, other, reasons(got))
			case r.Suspect != original.Suspect:
				t.Errorf("%s is %v: the hazard is held: %s", place, other, r.Suspect)
			case isObject && len(r.Notes) == len(original.Notes) && !reflect.DeepEqual(r, original):
				t.Errorf("%s is %v: the hazard is another, without a note", place, other)
			}
		}
		set(now)
	})
}

func (s Source) needed(place string) bool {
	for _, pattern := range s.Needed {
		if strings.HasPrefix(pattern, place+"/") {
			return true
		}
		for p := place; p != "."; p = path.Dir(p) {
			if ok, _ := path.Match(pattern, p); ok {
				return true
			}
		}
	}
	return false
}

// walk calls f for each member with its path. In arrays it only visits the first element.
func walk(v any, place string, f func(place string, now any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			f(path.Join(place, name), child, func(other any) { v[name] = other })
			walk(child, path.Join(place, name), f)
		}
	case []any:
		if len(v) > 0 && !strings.Contains(place, "coordinates") {
			first := v[0]
			f(path.Join(place, "0"), first, func(other any) { v[0] = other })
			walk(first, path.Join(place, "0"), f)
		}
	}
}

func (s *laws) truncation(t *testing.T) {
	d, _, _, all := s.sample()
	payload := bytes.TrimSpace(d.with(d.records...))
	last := 0
	cuts := s.rounds(200)
	for i := range cuts {
		n := i * len(payload) / cuts
		b, err := s.Parse(payload[:n], s.Now(t))
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || b.Whole || b.Lasting != nil {
			t.Fatalf("cut at %d of %d: %v, whole %v, lasting %q; want an error, and no proof of absence", n, len(payload), err, b.Whole, b.Lasting)
		}
		if len(b.Reports) > 0 && !bad.Cut {
			t.Errorf("cut at %d of %d: %v is not Cut, so its %d reports would be lost", n, len(payload), err, len(b.Reports))
		}
		if lost := len(names(b)); lost < last {
			t.Errorf("cut at %d of %d: %d reports, fewer than before", n, len(payload), lost)
		} else {
			last = lost
		}
		for name := range names(b) {
			if !names(all)[name] {
				t.Errorf("cut at %d of %d: %s is an invention", n, len(payload), name)
			}
		}
	}
	if least := len(names(all)) / 2; last < least {
		t.Errorf("%d reports before the last cut, want %d at least", last, least)
	}
}

// garbage replaces bytes of the payload.
func (s *laws) garbage(t *testing.T) {
	d, _, _, _ := s.sample()
	payload := d.with(d.records...)
	random := rand.New(rand.NewPCG(1, 2))
	for range s.rounds(300) {
		spoiled := bytes.Clone(payload)
		for range 1 + random.IntN(8) {
			at := random.IntN(len(spoiled))
			switch random.IntN(4) {
			case 0:
				spoiled[at] = byte(random.UintN(256))
			case 1:
				spoiled[at] = `"{}[],:<>&'\/`[random.IntN(13)]
			case 2:
				spoiled = slices.Delete(spoiled, at, min(len(spoiled), at+1+random.IntN(50)))
			case 3:
				from := random.IntN(len(spoiled))
				spoiled = slices.Insert(spoiled, at, spoiled[from:min(len(spoiled), from+random.IntN(200))]...)
			}
		}
		b, err := s.Parse(spoiled, s.Now(t))
		check(t, b, err)
	}
}

// check checks the conditions that hold for every batch.
func check(t testing.TB, b source.Batch, err error) {
	t.Helper()
	if err != nil {
		if _, ok := errors.AsType[*source.PayloadError](err); !ok {
			t.Fatalf("%T: %v, want a *source.PayloadError", err, err)
		}
		if b.Whole {
			t.Fatalf("whole beside the error %v", err)
		}
	}
	if len(b.Rejects) > source.MaxRejects+1 {
		t.Fatalf("%d rejects", len(b.Rejects))
	}
	for _, r := range b.Rejects {
		if r.Record == "" || r.Reason == "" || len(r.Raw) > source.MaxKept {
			t.Fatalf("%+v, want what is wrong with which record", r)
		}
	}
	if len(b.Ignores) != min(b.Ignored, source.MaxIgnores) {
		t.Fatalf("%d ignored, by %d rules", b.Ignored, len(b.Ignores))
	}
	for _, i := range b.Ignores {
		if i.Record == "" || i.Rule == "" {
			t.Fatalf("%+v, want which record is ignored by which rule", i)
		}
	}
	for _, d := range b.Drawings {
		if d.Key == "" || d.Part == "" {
			t.Fatalf("a drawing of %q, part %q", d.Key, d.Part)
		}
		for _, s := range d.Shapes {
			if s.From == 0 { // 0 means from the beginning of the event
				s.From = 1
				s.To = max(s.To, 1)
			}
			if err := s.Check(); err != nil {
				t.Fatalf("%s %s: %v", d.Key, d.Part, err)
			}
		}
	}
	for i := range b.Reports {
		r := &b.Reports[i]
		_, known := r.Type.Info()
		switch {
		case !known, r.Severity < hazard.Information, r.Severity > hazard.Warning:
			t.Fatalf("%s: type %q, severity %v", name(r), r.Type, r.Severity)
		case r.Source == "", r.Key == "", r.Name == "" && r.Ended == "":
			t.Fatalf("%+v has no source, key or name", r)
		case r.Description != hazard.Clean(r.Description), r.Name != hazard.CleanLine(r.Name):
			t.Fatalf("%s: a text that is not clean: %q, %q", name(r), r.Name, r.Description)
		case r.Point != nil && !(r.Point.Lon >= -180 && r.Point.Lon <= 180 && r.Point.Lat >= -90 && r.Point.Lat <= 90):
			t.Fatalf("%s: its point %v is not on Earth", name(r), *r.Point)
		}
	}
}

func (s *laws) order(t *testing.T) {
	d, _, _, all := s.sample()
	random := rand.New(rand.NewPCG(3, 4))
	for range s.rounds(5) {
		records := slices.Clone(d.records)
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		got, err := s.Parse(d.with(records...), s.Now(t))
		if lost := missing(all, got); err != nil || len(lost) > 0 || len(got.Reports) != len(all.Reports) {
			t.Errorf("in another order: %v; %q are lost or changed, %d reports, want %d", err, lost, len(got.Reports), len(all.Reports))
		}
	}
}

func (s *laws) repetition(t *testing.T) {
	d, _, _, all := s.sample()
	again, err := s.Parse(d.with(d.records...), s.Now(t))
	if err != nil || !reflect.DeepEqual(again, all) {
		t.Errorf("the same payload a second time: another batch, %v", err)
	}
	twice, err := s.Parse(d.with(append(slices.Clone(d.records), d.records...)...), s.Now(t))
	if lost := missing(all, twice); err != nil || len(lost) > 0 || len(names(twice)) != len(names(all)) || len(twice.Rejects) > len(all.Rejects) {
		t.Errorf("each record twice: %v; %q are lost or changed; %d names, want %d; %d rejects", err, lost, len(names(twice)), len(names(all)), len(twice.Rejects))
	}
}

var declaredEncoding = regexp.MustCompile(`encoding=["'][^"']*["']`)

func (s *laws) encodings(t *testing.T) {
	d, _, _, all := s.sample()
	payload := d.with(d.records...)
	forms := map[string][]byte{
		"UTF-8 with a byte order mark":  append([]byte("\ufeff"), bytes.TrimPrefix(payload, []byte("\ufeff"))...),
		"UTF-16, little end first":      sixteen(payload, func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }),
		"UTF-16, big end first":         sixteen(payload, func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }),
		"white space around it":         slices.Concat([]byte("\n\n "), payload, []byte("\n ")),
		"UTF-8, declared as ISO-8859-1": nil,
	}
	if s.Element != "" {
		forms["UTF-8, declared as ISO-8859-1"] = declaredEncoding.ReplaceAll(payload, []byte(`encoding="ISO-8859-1"`))
	}
	if !bytes.Equal(payload, bytes.ToValidUTF8(payload, nil)) {
		return
	}
	for name, form := range forms {
		if form == nil {
			continue
		}
		got, err := s.Parse(form, s.Now(t))
		if lost := missing(all, got); err != nil || len(lost) > 0 {
			t.Errorf("%s: %v, %q are lost or changed", name, err, lost)
		}
	}
}

// sixteen converts UTF-8 to UTF-16 with a byte order mark.
func sixteen(text []byte, unit func(uint16) []byte) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + string(bytes.TrimPrefix(text, []byte("\ufeff"))))) {
		out = append(out, unit(u)...)
	}
	return out
}

// size reads payloads of 20 MB, or of the size in the variable HAZARDD_LAWS_MB. It checks that the
// memory is proportional to the size, and that parsing ends in less than the longest wait of a
// poll. Payloads of millions of records only cost time, so they have a tenth of the size.
func (s *laws) size(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // otherwise half of the measured memory could be garbage
	d, _, _, _ := s.sample()
	size := 20 << 20
	if mb, err := strconv.Atoi(os.Getenv("HAZARDD_LAWS_MB")); err == nil {
		size = mb << 20
	}
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	one := append(bytes.Join(d.records, d.comma), d.comma...)
	in := func(begin, fill, end string, size int) func() []byte {
		return func() []byte {
			return slices.Concat(d.head, []byte(begin), bytes.Repeat([]byte(fill), size/len(fill)), []byte(end), d.tail)
		}
	}
	payloads := map[string]func() []byte{
		"noise":           func() []byte { return noise },
		"noise in a list": func() []byte { return slices.Concat(d.head, noise, d.tail) },
		"good records":    in("", string(one), string(d.records[0]), size/4),
	}
	tenth := size / 10
	if s.Element == "" {
		payloads["open arrays"] = in("", "[", "", size)
		payloads["nested objects"] = in("", `{"a":`, "", size)
		payloads["one string"] = in(`{"a":"`, "x", `"}`, size)
		payloads["members"] = in("{", `"a":NaN,`, "}", size)
		payloads["empty records"] = in("", "{},", "{}", tenth)
		payloads["lost quotes"] = in("", `{"a":"b},`, "", tenth)
	} else {
		record, end := "<"+s.Element+">", "</"+s.Element+">"
		payloads["open elements"] = in("", "<a>", "", size)
		payloads["one text"] = in(record+"<title>", "x", "</title>"+end, size)
		payloads["ampersands"] = in(record, "&", end, size)
		payloads["elements of a record"] = in(record, "<a/>", end, size)
		payloads["open comments"] = in("", "<!--", "", size)
		payloads["open sections"] = in("", "<![CDATA[", "", size)
		payloads["empty records"] = in("", "<"+s.Element+"/>", "", tenth)
		payloads["open records"] = in("", record, "", tenth)
	}
	for name, payloadOf := range payloads {
		payload := payloadOf()
		runtime.GC()
		before, done, peak := heap(), make(chan struct{}), uint64(0)
		var sampler sync.WaitGroup
		sampler.Go(func() {
			for tick := time.NewTicker(20 * time.Millisecond); ; {
				select {
				case <-done:
					tick.Stop()
					return
				case <-tick.C:
					peak = max(peak, heap())
				}
			}
		})
		began := time.Now()
		b, err := s.Parse(payload, s.Now(t))
		took := time.Since(began)
		close(done)
		sampler.Wait()
		peak = max(peak, heap())
		check(t, b, err)
		used := int64(peak) - int64(before)
		t.Logf("%s: %v, %d MiB of memory, %d reports, %d rejects", name, took.Round(time.Millisecond), used>>20, len(b.Reports), len(b.Rejects))
		if used > int64(6*len(payload)+100<<20) {
			t.Errorf("%s: %d MiB of memory for %d MiB", name, used>>20, len(payload)>>20)
		}
		if took > 2*time.Minute {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// heap returns the memory of objects, including garbage that was not collected yet.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Fuzz fuzzes the parser, starting with a small part of the recording if it is available.
func Fuzz(f *testing.F, s Source, seeds ...string) {
	now := s.Now(f)
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		b, err := s.Parse(payload, now)
		check(t, b, err)
		again, _ := s.Parse(payload, now)
		if !reflect.DeepEqual(b, again) {
			t.Fatal("the same payload a second time: another batch")
		}
	})
}
