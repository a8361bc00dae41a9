package usgs

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// now is the time of the tests; the events that they make are some hours older.
const now hazard.Instant = 1_700_000_000_000

// event is a feature that can be read, with some members replaced.
func event(replace ...string) string {
	doc := `{"type":"Feature","properties":{"mag":5.1,"place":"12 km NE of X, Country","time":1699990000000,` +
		`"updated":1699991000000,"tz":null,"url":"https://earthquake.usgs.gov/earthquakes/eventpage/us1",` +
		`"detail":"https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/us1.geojson","felt":null,"cdi":null,"mmi":null,` +
		`"alert":null,"status":"reviewed","tsunami":0,"sig":650,"net":"us","code":"1","ids":",us1,nc2,","sources":",us,nc,",` +
		`"types":",dyfi,origin,","magType":"mww","type":"earthquake","title":"M 5.1 - 12 km NE of X, Country"},` +
		`"geometry":{"type":"Point","coordinates":[10.5,-20.25,30]},"id":"us1"}`
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(doc, replace[i]) {
			panic("nothing to replace: " + replace[i])
		}
		doc = strings.Replace(doc, replace[i], replace[i+1], 1)
	}
	return doc
}

func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","metadata":{"status":200},"features":[` + strings.Join(features, ",") + `],"bbox":[]}`)
}

// one reads a summary of one feature that must make one report.
func one(t testing.TB, feature string) hazard.Report {
	t.Helper()
	batch, err := Parse(collection(feature), now)
	return only(t, batch, err)
}

func only(t testing.TB, batch source.Batch, err error) hazard.Report {
	t.Helper()
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, reports %v, rejects %s; want one report", err, batch.Reports, batch.Rejects)
	}
	checkReport(t, &batch.Reports[0])
	return batch.Reports[0]
}

func TestAPayloadThatIsNoFeedIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload string
		want    string
		cut     bool
	}{
		"empty":            {"", "an empty payload, expected GeoJSON", false},
		"blank":            {" \r\n\t", "an empty payload, expected GeoJSON", false},
		"an array":         {"[]", "[], expected a GeoJSON object", false},
		"null":             {"null", "null, expected a GeoJSON object", false},
		"a word":           {"Error 404: Not Found", "Error 404: Not Found, expected a GeoJSON object", false},
		"HTML":             {"\n<!DOCTYPE html><html>", "HTML or XML instead of GeoJSON: <!DOCTYPE html><html>", false},
		"nothing in it":    {"{}", "type: missing, expected FeatureCollection or Feature", false},
		"other GeoJSON":    {`{"type":"Point","coordinates":[1,2]}`, `type: "Point", expected FeatureCollection or Feature`, false},
		"no features":      {`{"type":"FeatureCollection"}`, "features: missing, expected an array", false},
		"null features":    {`{"type":"FeatureCollection","features":null}`, "features: null, expected an array", false},
		"features twice":   {`{"type":"FeatureCollection","features":[],"features":[]}`, "features: the member is there twice", false},
		"two types":        {`{"type":"Feature","type":"FeatureCollection","features":[]}`, "type: the member is there twice", false},
		"two documents":    {`{"type":"FeatureCollection","features":[]}{}`, "{} after the end of the document, at byte 42", false},
		"a problem":        {`{"type":"about:blank","title":"Not Found","status":404,"detail":"no event"}`, `an error message instead of earthquakes: 404, "Not Found", "no event"`, false},
		"a failed query":   {`{"type":"FeatureCollection","metadata":{"status":400,"title":"Search Error","error":"Bad starttime"},"features":[]}`, "metadata/status: 400 (Bad starttime), expected 200", false},
		"no colon":         {`{"type" "FeatureCollection"}`, `"FeatureCollection"} at byte 8, expected a colon`, false},
		"no name":          {`{type:"FeatureCollection"}`, `type:"FeatureCollection"} at byte 1, expected a member's name`, false},
		"no comma":         {`{"type":"FeatureCollection" "features":[]}`, `"features":[]} at byte 28, expected a comma or the end of an object`, false},
		"no value":         {`{"type":}`, "} at byte 8, expected a value", false},
		"a NUL":            {"{\x00}", "} at byte 1, expected a member's name", false},
		"only a brace":     {"{", "the payload ends early, after 1 bytes, before the end of an object", true},
		"cut in a name":    {`{"ty`, "the payload ends early, after 4 bytes, in a member of an object", true},
		"cut in features":  {`{"type":"FeatureCollection","features":[`, "the payload ends early, after 40 bytes, before element 0 of an array", true},
		"cut in a feature": {`{"type":"FeatureCollection","features":[{"id":"us1`, "the payload ends early, after 50 bytes, in element 0 of an array", true},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok {
				t.Fatalf("error %v, want a PayloadError", err)
			}
			if bad.Reason != tt.want || bad.Cut != tt.cut {
				t.Errorf("%q, cut %v; want %q, cut %v", bad.Reason, bad.Cut, tt.want, tt.cut)
			}
			if len(batch.Reports)+len(batch.Rejects)+batch.Read != 0 {
				t.Errorf("batch %+v, want none", batch)
			}
		})
	}
}

func TestABadFeatureIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct {
		bad    string
		record string
		reason string
	}{
		"a number":                  {"7", "features/1", "7, expected an object"},
		"null":                      {"null", "features/1", "null, expected an object"},
		"empty":                     {"{}", "features/1", "properties/type: null or missing, expected a kind of event such as earthquake"},
		"magnitude in words":        {event(`"mag":5.1`, `"mag":"five"`), "us1", `properties/mag: "five", expected a number`},
		"magnitude an object":       {event(`"mag":5.1`, `"mag":{"v":5}`), "us1", `properties/mag: {"v":5}, expected a number`},
		"magnitude a bare NaN":      {event(`"mag":5.1`, `"mag":NaN`), "us1", `properties/mag: not JSON at byte 38: invalid character 'N' at start of value`},
		"magnitude beyond floats":   {event(`"mag":5.1`, `"mag":1e999`), "us1", `properties/mag: 1e999, expected a number`},
		"magnitude twice":           {event(`"mag":5.1`, `"mag":5.1,"mag":7.1`), "us1", `properties/mag: the member is there twice`},
		"an unread member twice":    {event(`"sig":650`, `"x":{"y":1,"y":2}`), "us1", `properties/x/y: the member is there twice`},
		"no time":                   {event(`"time":1699990000000`, `"time":null`), "us1", "properties/time: null or missing, expected milliseconds since 1970"},
		"time in words":             {event(`"time":1699990000000`, `"time":"2023-11-14T19:26:40Z"`), "us1", `properties/time: "2023-11-14T19:26:40Z", expected a number`},
		"time beyond all calendars": {event(`"time":1699990000000`, `"time":1e18`), "us1", "properties/time: 1e+18, expected milliseconds since 1970"},
		"no update":                 {event(`"updated":1699991000000`, `"updated":null`), "us1", "properties/updated: null or missing, expected milliseconds since 1970"},
		"id a number":               {event(`"id":"us1"`, `"id":1`), "features/1", "id: number, expected a string"},
		"id no id":                  {event(`"id":"us1"`, `"id":"../us1"`), "features/1", "id: ../us1, expected an id of at most 64 letters and digits"},
		"id missing":                {event(`,"id":"us1"`, ``), "features/1", "id: null or missing, expected an id of at most 64 letters and digits"},
		"place a number":            {event(`"place":"12 km NE of X, Country"`, `"place":7`), "us1", "properties/place: number, expected a string"},
		"properties an array":       {event(`"properties":{`, `"properties":[1],"p":{`), "us1", "properties: [, expected an object"},
		"no geometry":               {event(`"geometry":`, `"g":`), "us1", "geometry/type: null or missing, expected Point"},
		"a polygon":                 {event(`"Point"`, `"Polygon"`), "us1", "geometry/type: Polygon, expected Point"},
		"coordinates null":          {event(`[10.5,-20.25,30]`, `null`), "us1", "geometry/coordinates/0: null or missing, expected a longitude from -180 to 180"},
		"coordinates an object":     {event(`[10.5,-20.25,30]`, `{"lon":1}`), "us1", `geometry/coordinates: {"lon":1}, expected an array`},
		"coordinates of a ring":     {event(`[10.5,-20.25,30]`, `[[1,2],[3,4]]`), "us1", "geometry/coordinates: [1,2], expected a number"},
		"latitude null":             {event(`-20.25`, `null`), "us1", "geometry/coordinates/1: null or missing, expected a latitude from -90 to 90"},
		"latitude the string nan":   {event(`-20.25`, `"nan"`), "us1", "geometry/coordinates/1: null or missing, expected a latitude from -90 to 90"},
		"latitude out of range":     {event(`-20.25`, `-90.01`), "us1", "geometry/coordinates/1: -90.01, expected a latitude from -90 to 90"},
		"longitude out of range":    {event(`10.5`, `180.5`), "us1", "geometry/coordinates/0: 180.5, expected a longitude from -180 to 180"},
		"a bare control character":  {event(`NE of X`, "NE\x00of X"), "us1", `properties/place: not JSON at byte 59: invalid character '\x00' in string (expecting non-control character)`},
		"too deep":                  {event(`"sig":650`, `"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), "us1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			left, right := event(`"us1"`, `"us7"`), event(`"us1"`, `"us8"`)
			batch, err := Parse(collection(left, tt.bad, right), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 {
				t.Fatalf("error %v, read %d, reports %d, rejects %v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			if batch.Reports[0].Key != "us7" || batch.Reports[1].Key != "us8" {
				t.Errorf("reports of %s and %s, want us7 and us8", batch.Reports[0].Key, batch.Reports[1].Key)
			}
			got := batch.Rejects[0]
			if got.Record != tt.record || tt.reason != "" && got.Reason != tt.reason {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
			if !bytes.Equal(got.Raw, []byte(tt.bad)[:min(len(tt.bad), source.MaxKept)]) {
				t.Errorf("raw %q, want the record", got.Raw)
			}
		})
	}
}

func TestOddButReadableFeaturesAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		feature string
		check   func(hazard.Report) bool
	}{
		"numbers as strings":            {event(`"mag":5.1`, `"mag":" 5.1"`), func(r hazard.Report) bool { return r.Severity == hazard.Advisory }},
		"intensity the string nan":      {event(`"mmi":null`, `"mmi":"nan"`), func(r hazard.Report) bool { return r.Severity == hazard.Advisory }},
		"ornaments of any type":         {event(`"felt":null,"cdi":null`, `"felt":true,"cdi":[1]`, `"tsunami":0`, `"tsunami":{}`), func(r hazard.Report) bool { return !strings.Contains(r.Description, "Felt") }},
		"no depth":                      {event(`,30]`, `]`), func(r hazard.Report) bool { return !strings.Contains(r.Description, "Depth") }},
		"depth null":                    {event(`,30]`, `,null]`), func(r hazard.Report) bool { return !strings.Contains(r.Description, "Depth") }},
		"above sea level":               {event(`,30]`, `,-3.21]`), func(r hazard.Report) bool { return strings.Contains(r.Description, "Depth: 3.2 km above sea level.") }},
		"hardly above sea level":        {event(`,30]`, `,-0.01]`), func(r hazard.Report) bool { return strings.Contains(r.Description, "Depth: 0 km.") }},
		"before 1970":                   {event(`"time":1699990000000`, `"time":-1407000000000`), func(r hazard.Report) bool { return r.Start == -1407000000000 && r.Suspect == "" }},
		"fractions of a millisecond":    {event(`"time":1699990000000`, `"time":1699990000000.7`), func(r hazard.Report) bool { return r.Start == 1699990000000 }},
		"capitals":                      {event(`"id":"us1"`, `"id":"US1"`, `"reviewed"`, `"REVIEWED"`, `"type":"earthquake"`, `"type":"Earthquake"`), func(r hazard.Report) bool { return r.Key == "us1" }},
		"not UTF-8":                     {event(`NE of X`, "NE of X\xff\\ud800"), func(r hazard.Report) bool { return r.Name == "M 5.1 Earthquake - 12 km NE of X, Country" }},
		"text that deceives":            {event(`NE of X`, `NE\u0007\u202e of\u2028X\r\n`), func(r hazard.Report) bool { return r.Name == "M 5.1 Earthquake - 12 km NE of X , Country" }},
		"words without end":             {event(`NE of X`, strings.Repeat("é", 1000)), func(r hazard.Report) bool { return len(r.Name) < 250 }},
		"no ids":                        {event(`",us1,nc2,"`, `null`), func(r hazard.Report) bool { return r.Aliases == nil }},
		"ids that are none":             {event(`",us1,nc2,"`, `",us1,,NC2, ,nc2,a b,../x,`+strings.Repeat("x", 65)+`,"`), func(r hazard.Report) bool { return slices.Equal(r.Aliases, []string{"nc2"}) }},
		"a kind of magnitude that lies": {event(`"mww"`, `"m\n<b>"`), func(r hazard.Report) bool { return strings.HasPrefix(r.Description, "Magnitude 5.1, 12 km") }},
		"a magnitude just below zero":   {event(`"mag":5.1`, `"mag":-0.04`), func(r hazard.Report) bool { return strings.HasPrefix(r.Name, "M 0.0 Earthquake") && r.Minor }},
		"a byte order mark inside":      {event(`"12 km`, "\"\ufeff12 km"), func(r hazard.Report) bool { return r.Name == "M 5.1 Earthquake - 12 km NE of X, Country" }},
	} {
		t.Run(name, func(t *testing.T) {
			if r := one(t, tt.feature); !tt.check(r) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestMembersMayComeInAnyOrder(t *testing.T) {
	payload := "\ufeff\n" + `{"features":[` + event() + `],"metadata":{},"type":"FeatureCollection"}` + "\n"
	batch, err := Parse([]byte(payload), now)
	only(t, batch, err)

	detail := `{"id":"us1",` + strings.TrimPrefix(strings.Replace(event(), `{"type":"Feature",`, `{`, 1), `{`)
	detail = strings.Replace(detail, `,"id":"us1"}`, `,"type":"Feature"}`, 1)
	batch, err = Parse([]byte(detail), now)
	if r := only(t, batch, err); len(r.Products) != 2 {
		t.Errorf("%d products, want the folder and the event page", len(r.Products))
	}
}

func TestFeaturesOfAnotherDocumentAreNotTaken(t *testing.T) {
	for _, payload := range []string{
		`{"features":[` + event() + `],"type":"Topology"}`,
		`{"type":"Topology","features":[` + event() + `,`,
		`{"features":[` + event() + `]}`,
	} {
		if batch, err := Parse([]byte(payload), now); err == nil || len(batch.Reports) != 0 {
			t.Errorf("%.40s: error %v, %d reports", payload, err, len(batch.Reports))
		}
	}
}

func TestABrokenEndDoesNotCostWhatCameBefore(t *testing.T) {
	whole := string(collection(event(), event(`"us1"`, `"us2"`)))
	for name, payload := range map[string]string{
		"the rest is missing":     whole[:len(whole)-12],
		"the last feature is cut": whole[:strings.LastIndex(whole, "us2")],
		"something follows":       whole + "x",
		"a failure is reported":   strings.Replace(whole, "200", "503", 1),
	} {
		batch, err := Parse([]byte(payload), now)
		if _, ok := errors.AsType[*source.PayloadError](err); !ok || len(batch.Reports) < 1 {
			t.Errorf("%s: error %v, %d reports", name, err, len(batch.Reports))
		}
	}
	// Where one feature ends is told by its brackets.
	batch, err := Parse([]byte(strings.Replace(whole, "},{", "} {", 1)), now)
	if err != nil || len(batch.Reports) != 2 {
		t.Errorf("no comma: error %v, %d reports", err, len(batch.Reports))
	}
}

func TestTheOrderOfFeaturesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		features := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return event(
				`"id":"us1"`, fmt.Sprintf(`"id":"us%d"`, rapid.IntRange(1, 9).Draw(t, "id")),
				`"mag":5.1`, fmt.Sprintf(`"mag":%.1f`, rapid.Float64Range(-1, 9).Draw(t, "mag")),
				`"alert":null`, rapid.SampledFrom([]string{`"alert":null`, `"alert":"green"`, `"alert":"red"`, `"alert":7`}).Draw(t, "alert"),
				`"type":"earthquake"`, rapid.SampledFrom([]string{`"type":"earthquake"`, `"type":"explosion"`, `"x":1`}).Draw(t, "type"),
				`10.5,`, fmt.Sprintf("%.2f,", rapid.Float64Range(-190, 190).Draw(t, "lon")),
			)
		}), 0, 12).Draw(t, "features")
		summary := func(features []string) []string {
			batch, err := Parse(collection(features...), now)
			if err != nil {
				t.Fatal(err)
			}
			if batch.Read != len(features) || batch.Read != len(batch.Reports)+len(batch.Rejects)+batch.Ignored {
				t.Fatalf("read %d of %d: %d reports, %d rejects, %d ignored", batch.Read, len(features), len(batch.Reports), len(batch.Rejects), batch.Ignored)
			}
			all := []string{fmt.Sprint("ignored ", batch.Ignored)}
			for _, r := range batch.Reports {
				var point hazard.Point
				if r.Point != nil { // what is withdrawn needs none
					point = *r.Point
				}
				r.Point = nil
				all = append(all, fmt.Sprintf("%+v %+v", r, point))
			}
			for _, r := range batch.Rejects {
				all = append(all, r.Record+": "+r.Reason)
			}
			slices.Sort(all)
			return all
		}
		if diff := cmp.Diff(summary(features), summary(rapid.Permutation(features).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
	})
}

// However large the garbage, it is read in bounded time, and what is kept of it is bounded.
func TestGarbageIsBounded(t *testing.T) {
	size := 100 << 20
	switch {
	case testing.Short():
		size = 1 << 20
	case raced:
		size = 10 << 20
	}
	fill := func(before, unit, after string) []byte {
		return slices.Concat([]byte(before), bytes.Repeat([]byte(unit), size/len(unit)), []byte(after))
	}
	fewer := func(before, unit, after string) []byte { // since each of these is a record
		return slices.Concat([]byte(before), bytes.Repeat([]byte(unit), size/8/len(unit)), []byte(after))
	}
	const list = `{"type":"FeatureCollection","features":[`
	for name, payload := range map[string]func() []byte{
		"blanks":             func() []byte { return fill("", " ", "") },
		"brackets":           func() []byte { return fill("", "[", "") },
		"nested objects":     func() []byte { return fill("", `{"a":`, "") },
		"nested features":    func() []byte { return fill(list, "[", "") },
		"closed nesting":     func() []byte { return fill(list+strings.Repeat("[", size/2), "]", "]}") },
		"members":            func() []byte { return fill("{", `"a":1,`, `"b":1}`) },
		"one string":         func() []byte { return fill(list+`"`, "x", `"]}`) },
		"an open string":     func() []byte { return fill(list+`"`, `\\`, "") },
		"quotes in a string": func() []byte { return fill(list+`"`, `\"`, `"]}`) },
		"numbers":            func() []byte { return fill(list, "1,", "1]}") },
		"empty records":      func() []byte { return fewer(list, "{},", "{}]}") },
		"bytes":              func() []byte { return fill("{", "\xff\x00", "") },
		"a place":            func() []byte { return []byte(event("NE of", string(fill("", "x ", "")))) },
		"types of products":  func() []byte { return []byte(event(`,dyfi,`, string(fill("", ",", "")))) },
		"products of no type": func() []byte {
			return []byte(event(`"sig":650`, `"products":`+string(fewer(`{"losspager":[`, "1,", "1]}"))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc := payload()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			batch, _ := Parse(doc, now)
			runtime.GC()
			runtime.ReadMemStats(&after)
			kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if kept > 2<<20 {
				t.Errorf("%d MB kept of %d MB", kept>>20, len(doc)>>20)
			}
			if len(batch.Rejects) > maxRejects+1 {
				t.Errorf("%d rejects", len(batch.Rejects))
			}
			runtime.KeepAlive(batch)
			runtime.KeepAlive(doc)
		})
	}
}

func TestRejectsBeyondTheBoundAreCounted(t *testing.T) {
	features := slices.Repeat([]string{"7"}, maxRejects+5)
	batch, err := Parse(collection(append(features, event())...), now)
	if err != nil || len(batch.Reports) != 1 || batch.Read != maxRejects+6 || len(batch.Rejects) != maxRejects+1 {
		t.Fatalf("error %v, reports %d, read %d, rejects %d", err, len(batch.Reports), batch.Read, len(batch.Rejects))
	}
	if got := batch.Rejects[maxRejects]; got.Record != "features" || got.Reason != "5 further records could not be read" {
		t.Errorf("the last reject is %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(collection(event(), "7", event(`"mag":5.1`, `"mag":NaN`)))
	f.Add(collection(event())[:300])
	f.Add([]byte(event()))
	f.Add([]byte(detail6))
	f.Fuzz(func(t *testing.T, payload []byte) {
		given := bytes.Clone(payload)
		batch, err := Parse(payload, now)
		if !bytes.Equal(given, payload) {
			t.Error("the payload was changed")
		}
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Errorf("error %v is no PayloadError", err)
		}
		if batch.Whole {
			t.Error("whole")
		}
		for i := range batch.Reports {
			checkReport(t, &batch.Reports[i])
		}
		for _, r := range batch.Rejects {
			if r.Record == "" || r.Reason == "" || r.Record != hazard.CleanLine(r.Record) || r.Reason != hazard.CleanLine(r.Reason) {
				t.Errorf("reject %+v", r)
			}
			if len(r.Raw) > source.MaxKept || len(r.Reason) > 1000 {
				t.Errorf("reject of %d bytes, reason of %d", len(r.Raw), len(r.Reason))
			}
		}
		again, _ := Parse(payload, now)
		if diff := cmp.Diff(batch, again); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
	})
}
