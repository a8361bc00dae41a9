package drill_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/edit/drill"
	"github.com/hazardd/hazardd/internal/edit/drill/scenarios"
	"github.com/hazardd/hazardd/internal/hazard"
)

// folder is the folder of the scenarios in these tests.
var folder = fstest.MapFS{"files/a.csv": {Data: []byte("a,b\n")}, "files": {Mode: fs.ModeDir}}

// head is the start of every scenario. The timeline's first line is line 4.
const head = "name: drill\ntitle: A drill\ntimeline:\n"

const flood = `  - {at: +00:00:00, begin: river, name: River, type: FLOOD, severity: WATCH, latitude: 1, longitude: 2}
`

func TestAScenarioIsReadWhole(t *testing.T) {
	s, err := drill.Parse([]byte(`name: drill
title: A drill
description: For the test.
timeline:
  - at: +00:00:00
    begin: river
    name: Flood - Old Town
    type: FLOOD
    severity: WATCH
    latitude: 53.5
    longitude: 9.9
    description: Water over the quay.
    category: RESPONSE
    area: {type: Polygon, coordinates: [[[9.9, 53.5], [10, 53.5], [10, 53.6], [9.9, 53.5]]]}
    say: Begin.
  - at: 00:01
    add: river
    product: maps
    title: Maps
    folder: true
  - at: +00:01:30
    add: river
    in: maps
    title: Depths
    where: POINT (9.9 53.5)
    file: {from: files/a.csv}
  - at: +00:02:00
    add: river
    product: note
    title: Note
    text: Two metres.
  - at: +00:03:00
    revise: note
    text: Three metres.
  - at: +01:00:00
    update: river
    severity: WARNING
    circle_km: 5
  - at: +30:00:00
    end: river
  - at: +30:00:00
    say: Done.
`), folder)
	if err != nil {
		t.Fatal(err)
	}
	const marked = "EXERCISE EXERCISE EXERCISE - this is a drill, nothing of it is real."
	if want := (&drill.Hazard{Name: "EXERCISE - Flood - Old Town", Description: marked + "\n\nWater over the quay.", Type: "FLOOD", Severity: "WATCH",
		Latitude: 53.5, Longitude: 9.9, Area: s.Steps[0].Begin.Area}); cmp.Diff(want, s.Steps[0].Begin) != "" {
		t.Error(cmp.Diff(want, s.Steps[0].Begin))
	}
	if got := string(s.Steps[0].Begin.Area); !strings.HasPrefix(got, `{"type":"Polygon"`) {
		t.Errorf("area %s", got)
	}
	if want := (&drill.Product{Title: "EXERCISE - Depths", Type: "FILE_PRODUCT", Folder: "maps", Where: s.Steps[2].Add.Where,
		File: &drill.File{Name: "EXERCISE-a.csv", Content: []byte("a,b\n")}}); cmp.Diff(want, s.Steps[2].Add) != "" {
		t.Error(cmp.Diff(want, s.Steps[2].Add))
	}
	if got := s.Steps[4].Fields["data"]; got != marked+"\n\nThree metres." {
		t.Errorf("revised to %q", got)
	}
	if got := s.Steps[5].Fields["severity_ID"]; got != "WARNING" || s.Steps[5].Fields["area"] == nil || len(s.Steps[5].Fields) != 2 {
		t.Errorf("updated to %v", s.Steps[5].Fields)
	}
	if s.Length() != 30*time.Hour || len(s.Steps) != 8 || !slices.Equal(s.Hazards(), []string{"river"}) || s.Steps[7].Do != drill.Say {
		t.Errorf("%d steps in %v, hazards %q", len(s.Steps), s.Length(), s.Hazards())
	}
	if len(s.Notes) != 1 || s.Notes[0].Line != 13 || !strings.Contains(s.Notes[0].String(), "RESPONSE is played as EXERCISE") {
		t.Errorf("notes %v", s.Notes)
	}
}

func TestWhatIsWrongWithAScenarioIsToldWithLineFieldAndValue(t *testing.T) {
	at := func(line int, rest ...string) []string {
		return append([]string{fmt.Sprintf("line %d: ", line)}, rest...)
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"nothing":             {"", []string{"timeline"}},
		"comments":            {"# a\n", []string{"empty"}},
		"two documents":       {head + flood + "---\na: b\n", []string{"one document"}},
		"not YAML":            {"name: [", []string{"YAML"}},
		"a list":              {"- a", at(1, "a list", "timeline")},
		"no timeline":         {"name: a\ntitle: b\n", at(1, "timeline: is missing")},
		"a name with blanks":  {strings.Replace(head, "drill", "My Drill", 1) + flood, at(1, "name", `"My Drill"`, "a to z")},
		"an unknown member":   {"colour: red\n" + head + flood, at(1, `"colour"`, "name, title")},
		"a member twice":      {"title: x\n" + head + flood, at(3, "title: stands here twice")},
		"an empty timeline":   {head + "  []\n", at(4, "timeline", "a list", "begin")},
		"no step":             {head + "  - nonsense\n", at(4, `"nonsense"`)},
		"a step that is idle": {head + flood + "  - {at: +00:01:00}\n", at(5, "does nothing", "begin, update")},
		"two things at once":  {head + flood + "  - {at: +00:01:00, end: river, update: river}\n", at(5, "update", "one thing")},
		"no time":             {head + flood + "  - {end: river}\n", at(5, "at: is missing", "+00:05:00")},
		"a time in words":     {head + flood + "  - {at: noon, end: river}\n", at(5, "at", `"noon"`, "+00:05:00")},
		"a time of 61 minutes": {head + flood + "  - {at: +00:61:00, end: river}\n",
			at(5, "at", `"+00:61:00"`)},
		"backwards": {head + "  - {at: +00:02:00, say: x}\n  - {at: +00:01:00, say: y}\n" + flood,
			at(5, "+00:01:00 lies before +00:02:00 of line 4")},
		"a month and a day":   {head + flood + "  - {at: +744:00:00, end: river}\n", at(5, "720 hours")},
		"no hazard":           {head + "  - {at: +00:00:00, say: x}\n", at(4, "begins no hazard")},
		"no place and name":   {head + "  - {at: +00:00:00, begin: river, type: FLOOD, severity: WATCH}\n", at(4, "name: is missing", "latitude: is missing", "longitude: is missing")},
		"an unknown type":     {head + strings.Replace(flood, "FLOOD", "SNOW", 1), at(4, `type: "SNOW" is not one of ACCIDENT`, "WINTERSTORM")},
		"an unknown severity": {head + strings.Replace(flood, "WATCH", "watch", 1), at(4, `severity: "watch" is not one of TERMINATION`)},
		"an unknown category": {head + strings.Replace(flood, "type:", "category: DRILL, type:", 1), at(4, `category: "DRILL"`, "EXERCISE")},
		"beyond the pole":     {head + strings.Replace(flood, "latitude: 1", "latitude: 91", 1), at(4, `latitude: "91"`, "-90 to 90")},
		"no number":           {head + strings.Replace(flood, "latitude: 1", "latitude: NaN", 1), at(4, `latitude: "NaN"`)},
		"a long name":         {head + strings.Replace(flood, "River", strings.Repeat("x", 500), 1), at(4, "name: has 500 characters")},
		"an empty name":       {head + strings.Replace(flood, "River", `""`, 1), at(4, "name: is empty")},
		"an area that is none": {head + strings.Replace(flood, "type:", "area: {type: Polygon, coordinates: [[[1, 2], [3, 4]]]}, type:", 1),
			at(4, "area", "GeoJSON")},
		"an area in words":          {head + strings.Replace(flood, "type:", "area: here, type:", 1), at(4, "area")},
		"area and circle":           {head + strings.Replace(flood, "type:", "area: here, circle_km: 3, type:", 1), at(4, "circle_km", "cannot be combined with area")},
		"a link without host":       {head + strings.Replace(flood, "type:", "link: 'javascript:x', type:", 1), at(4, "link", "http")},
		"begun twice":               {head + flood + flood, at(5, `"river" has begun in line 4`)},
		"an update of none":         {head + flood + "  - {at: +00:01:00, update: rivver, severity: WARNING}\n", at(5, `"rivver"`, "river")},
		"an update of a uuid":       {head + flood + "  - {at: +00:01:00, update: 0190A0B0-0000-7000-8000-000000000007, severity: WARNING}\n", at(5, "not a word")},
		"an update of nothing":      {head + flood + "  - {at: +00:01:00, update: river}\n", at(5, "alters nothing")},
		"an update of what it isnt": {head + flood + "  - {at: +00:01:00, update: river, colour: red}\n", at(5, `"colour"`)},
		"after its end":             {head + flood + "  - {at: +00:01:00, end: river}\n  - {at: +00:02:00, end: river}\n", at(6, `"river" has ended in line 5`)},
		"a product of no kind":      {head + flood + "  - {at: +00:01:00, add: river, title: x}\n", at(5, "0 of folder, text, url and file")},
		"a product of two":          {head + flood + "  - {at: +00:01:00, add: river, title: x, text: a, url: 'http://a.example'}\n", at(5, "text, url", "expected one")},
		"a product without title":   {head + flood + "  - {at: +00:01:00, add: river, text: a}\n", at(5, "title: is missing")},
		"in no folder":              {head + flood + "  - {at: +00:01:00, add: river, title: x, text: a, in: maps}\n", at(5, `in: "maps" is not a product`)},
		"in a text": {head + flood + "  - {at: +00:01:00, add: river, title: x, text: a, product: p}\n  - {at: +00:01:00, add: river, title: x, text: a, in: p}\n",
			at(6, `in: "p", of line 5, is no folder`)},
		"a product twice": {head + flood + "  - {at: +00:01:00, add: river, title: x, text: a, product: p}\n  - {at: +00:01:00, add: river, title: x, text: a, product: p}\n",
			at(6, `"p" has been added in line 5`)},
		"no file":                {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {from: files/b.csv}}\n", at(5, "from", "no file", "files/b.csv")},
		"a folder for a file":    {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {from: files}}\n", at(5, "not a plain file")},
		"a file above":           {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {from: ../etc/passwd}}\n", at(5, "below the scenario's folder")},
		"a file anywhere":        {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {from: /etc/passwd}}\n", at(5, "below the scenario's folder")},
		"a file without name":    {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {content: a}}\n", at(5, "name of a file")},
		"a file named as a path": {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {content: a, name: ../a}}\n", at(5, `"../a"`)},
		"a file of both":         {head + flood + "  - {at: +00:01:00, add: river, title: x, file: {content: a, from: files/a.csv}}\n", at(5, "either from")},
		"a revision of none":     {head + flood + "  - {at: +00:01:00, revise: p, text: a}\n", at(5, `revise: "p"`)},
		"a text of a folder":     {head + flood + "  - {at: +00:01:00, add: river, title: x, folder: true, product: p}\n  - {at: +00:01:00, revise: p, text: a}\n", at(6, "FOLDER_PRODUCT")},
		"a revision of nothing":  {head + flood + "  - {at: +00:01:00, add: river, title: x, folder: true, product: p}\n  - {at: +00:01:00, revise: p}\n", at(6, "alters nothing")},
		"a place that is no WKT": {head + flood + "  - {at: +00:01:00, add: river, title: x, text: a, where: here}\n", at(5, "where", "POINT")},
		"two faults are both told": {head + strings.NewReplacer("FLOOD", "SNOW", "WATCH", "RED").Replace(flood),
			[]string{`line 4: type: "SNOW"`, `line 4: severity: "RED"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := drill.Parse([]byte(tt.text), folder)
			if err == nil {
				t.Fatalf("read %+v", s)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestEveryBuiltInScenarioCanBePlayed(t *testing.T) {
	files, err := fs.Glob(scenarios.Files, "*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			text, err := fs.ReadFile(scenarios.Files, name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := drill.Parse(text, scenarios.Files)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name+".yaml" != name || s.Description == "" || len(s.Notes) > 0 {
				t.Errorf("name %q, notes %v", s.Name, s.Notes)
			}
			kinds, severities := map[string]bool{}, map[any]bool{}
			for _, step := range s.Steps {
				kinds[string(step.Do)] = true
				severities[step.Fields["severity_ID"]] = true
				if step.Begin != nil {
					severities[step.Begin.Severity] = true
				}
				if step.Add != nil {
					kinds[step.Add.Type] = true
				}
			}
			for _, kind := range []string{"begin", "update", "add", "revise", "end", "FOLDER_PRODUCT", "FILE_PRODUCT", "TEXT_PRODUCT"} {
				if !kinds[kind] {
					t.Errorf("nothing of kind %s happens", kind)
				}
			}
			for _, sev := range []hazard.Severity{hazard.Information, hazard.Advisory, hazard.Watch, hazard.Warning} {
				if !severities[sev.String()] {
					t.Errorf("nothing is at %s", sev)
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + flood))
	f.Add([]byte(head + flood + "  - {at: +00:01:00, add: river, title: x, file: {from: files/a.csv}}\n  - {at: 1:00, say: &a b, end: *a}\n"))
	f.Add([]byte("name: a\ntitle: &t b\ntimeline: &x\n - *x\n"))
	f.Add([]byte(head + "  - {<<: {at: 0:00}, begin: !!binary river, area: {type: Point, coordinates: [1, .nan]}, latitude: 0x1p-2}\n"))
	files, _ := fs.Glob(scenarios.Files, "*.yaml")
	for _, name := range files {
		text, err := fs.ReadFile(scenarios.Files, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := drill.Parse(text, folder)
		if err != nil {
			if bad, ok := errors.AsType[*drill.InvalidError](err); ok {
				for _, fault := range bad.Faults {
					if fault.Line < 1 || fault.Detail == "" {
						t.Errorf("fault %+v", fault)
					}
				}
				if len(bad.Faults) == 0 || len(bad.Faults) > 50 {
					t.Errorf("%d faults", len(bad.Faults))
				}
			}
			return
		}
		var last time.Duration
		for _, step := range s.Steps {
			if step.At < last {
				t.Errorf("line %d: %v after %v", step.Line, step.At, last)
			}
			last = step.At
			if h := step.Begin; h != nil && (!strings.HasPrefix(h.Name, "EXERCISE ") || !strings.HasPrefix(h.Description, "EXERCISE EXERCISE")) {
				t.Errorf("line %d: the hazard %q does not look like a drill", step.Line, h.Name)
			}
			for field, prefix := range map[string]string{"hazard_Name": "EXERCISE ", "title": "EXERCISE ", "description": "EXERCISE EXERCISE"} {
				if v, ok := step.Fields[field].(string); ok && !strings.HasPrefix(v, prefix) {
					t.Errorf("line %d: %s %q does not look like a drill", step.Line, field, v)
				}
			}
			if _, ok := step.Fields["category_ID"]; ok {
				t.Errorf("line %d alters the category", step.Line)
			}
			if p := step.Add; p != nil && (!strings.HasPrefix(p.Title, "EXERCISE ") || p.File != nil && !strings.HasPrefix(p.File.Name, "EXERCISE")) {
				t.Errorf("line %d: the product %+v does not look like a drill", step.Line, p)
			}
		}
	})
}
