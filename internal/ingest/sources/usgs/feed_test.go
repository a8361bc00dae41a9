package usgs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// now is the time in the tests; their events are a few hours older.
const now hazard.Instant = 1_700_000_000_000

// event returns a valid feature, with some members replaced.
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

// one reads a summary with one feature, which must make one report.
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

func TestAQueryThatFailedIsAnError(t *testing.T) {
	_, err := Parse([]byte(`{"type":"FeatureCollection","metadata":{"status":400,"title":"Search Error","error":"Bad starttime"},"features":[]}`), now)
	if err == nil || err.Error() != "metadata/status: 400 (Bad starttime), expected 200" {
		t.Error(err)
	}
}

func TestAFeatureWithoutIdentityTimeOrPlaceIsRejected(t *testing.T) {
	for name, tt := range map[string]struct{ bad, reason string }{
		"magnitude twice":           {event(`"mag":5.1`, `"mag":5.1,"mag":7.1`), `properties/mag: the member is there twice`},
		"no time":                   {event(`"time":1699990000000`, `"time":null`), "properties/time: null or missing, expected milliseconds since 1970"},
		"time in words":             {event(`"time":1699990000000`, `"time":"2023-11-14T19:26:40Z"`), `properties/time: "2023-11-14T19:26:40Z", expected a number`},
		"time beyond all calendars": {event(`"time":1699990000000`, `"time":1e18`), "properties/time: 1e+18, expected milliseconds since 1970"},
		"id no id":                  {event(`"id":"us1"`, `"id":"../us1"`), "id: ../us1, expected an id of at most 64 letters and digits"},
		"id missing":                {event(`,"id":"us1"`, ``), "id: null or missing, expected an id of at most 64 letters and digits"},
		"coordinates of a ring":     {event(`[10.5,-20.25,30]`, `[[1,2],[3,4]]`), "geometry/coordinates/0: [1,2], expected a number"},
		"latitude the string nan":   {event(`-20.25`, `"nan"`), "geometry/coordinates: 10.5, null or missing, expected a longitude from -180 to 180 and a latitude from -90 to 90"},
		"latitude out of range":     {event(`-20.25`, `-90.01`), "geometry/coordinates: 10.5, -90.01, expected a longitude from -180 to 180 and a latitude from -90 to 90"},
		"too deep":                  {event(`"sig":650`, `"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), ""},
	} {
		batch, err := Parse(collection(tt.bad), now)
		if err != nil || len(batch.Reports) != 0 || len(batch.Rejects) != 1 || !strings.HasPrefix(batch.Rejects[0].Reason, tt.reason) {
			t.Errorf("%s: error %v, %d reports, rejects %.300s", name, err, len(batch.Reports), fmt.Sprint(batch.Rejects))
		}
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for _, tt := range []struct{ feature, note string }{
		{event(`"mag":5.1`, `"mag":"five"`), `properties/mag: "five", expected a number`},
		{event(`"mag":5.1`, `"mag":1e999`), `properties/mag: 1e999, expected a number`},
		{event(`"updated":1699991000000`, `"updated":null`), "properties/updated: null or missing, expected milliseconds since 1970"},
		{event(`"place":"12 km NE of X, Country"`, `"place":{}`), "properties/place: {}, expected a string"},
		{event(`"type":"earthquake"`, `"type":null`), "properties/type: null or missing, taken as an earthquake"},
		{event(`"felt":null`, `"felt":[1]`), "properties/felt: [1], expected a number"},
	} {
		if r := one(t, tt.feature); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Suspect != "" {
			t.Errorf("notes %q, suspect %q; want the note %q", r.Notes, r.Suspect, tt.note)
		}
	}
}

func TestOddButReadableFeaturesAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		feature string
		check   func(hazard.Report) bool
	}{
		"numbers as strings":            {event(`"mag":5.1`, `"mag":" 5.1"`), func(r hazard.Report) bool { return r.Severity == hazard.Advisory }},
		"intensity the string nan":      {event(`"mmi":null`, `"mmi":"nan"`), func(r hazard.Report) bool { return r.Severity == hazard.Advisory }},
		"beyond the antimeridian":       {event(`10.5`, `180.5`), func(r hazard.Report) bool { return r.Point.Lon == -179.5 }},
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

var laws = sourcetest.Source{
	Parse: Parse, File: "usgs/2.5_day-20260727.json", At: "2026-07-28T04:52:34Z", List: "features",
	Needed: []string{"id", "geometry/coordinates", "properties/time"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(collection(event(), "7", event(`"mag":5.1`, `"mag":NaN`))), string(collection(event())[:300]), event(), detail6,
		`{"type":"FeatureCollection","metadata":{"eventid":"us10004u1y"},"features":[{"type":"Feature","properties":{"value":6.5,"units":"mmi"},"geometry":{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}}]}`)
}
