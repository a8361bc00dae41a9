package mirror_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/mirror"
)

const (
	now       hazard.Instant = 1738900800000
	floodUUID                = "f2762e72-5169-487e-a3fa-30e21fc55893"
)

// members returns a hazard as a server sends it.
func members(alter map[string]any) map[string]any {
	m := map[string]any{
		"app_ID": 0, "app_IDs": "", "autoexpire": "Y", "category_ID": "EVENT", "charter_Uri": "", "comment_Text": "", "create_Date": "1738898129959", "creator": "fme_hp",
		"end_Date": "1739018450166", "glide_Uri": "", "hazard_ID": 313159, "hazard_Name": "Flood - Ancash, Peru", "last_Update": "1738900579421",
		"latitude": -9.77, "longitude": -77.31, "org_ID": 2, "severity_ID": "WARNING", "snc_url": "https://hazardbrief.example/" + floodUUID,
		"start_Date": "1738888850166", "status": "A", "type_ID": "FLOOD", "update_Date": "1738898129959", "update_User": "fme_hp",
		"product_total": "1", "uuid": floodUUID, "in_Dashboard": "0", "areabrief_url": nil, "description": "line 1\n \nline 2", "roles": []any{},
	}
	for k, v := range alter {
		if m[k] = v; v == "-" {
			delete(m, k)
		}
	}
	return m
}

func payload(t testing.TB, hazards ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(hazards)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parseOne(t testing.TB, alter map[string]any) (hazard.Report, *source.Reject) {
	t.Helper()
	batch, err := mirror.Parse(payload(t, members(alter)), mirror.Name, schemes, now)
	if err != nil || batch.Read != 1 || len(batch.Reports)+len(batch.Rejects) != 1 {
		t.Fatalf("batch %+v, error %v", batch, err)
	}
	if len(batch.Rejects) == 1 {
		return hazard.Report{}, &batch.Rejects[0]
	}
	return batch.Reports[0], nil
}

func TestAHazardKeepsWhatItSays(t *testing.T) {
	got, _ := parseOne(t, nil)
	id := uuid.MustParse(floodUUID)
	want := hazard.Report{
		Source: "mirror", Key: floodUUID, UUID: id, Relayed: true, Version: 1738900579421, Name: "Flood - Ancash, Peru", Description: "line 1\n \nline 2", Type: hazard.Flood,
		Severity: hazard.Warning, Category: hazard.Event, Start: 1738888850166, End: new(hazard.Instant(1739018450166)), Point: &hazard.Point{Lon: -77.31, Lat: -9.77},
		URL: "https://hazardbrief.example/" + floodUUID, Comment: "mirror:" + floodUUID, Creator: "fme_hp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatOtherServersSayOfOneField(t *testing.T) {
	end := func(i hazard.Instant) *hazard.Instant { return &i }
	for name, tt := range map[string]struct {
		alter map[string]any
		check func(r *hazard.Report) any
		want  any
	}{
		"Severe Weather is a storm":                {map[string]any{"type_ID": "Severe Weather"}, func(r *hazard.Report) any { return r.Type }, hazard.Storm},
		"SEVEREWEATHER is a storm":                 {map[string]any{"type_ID": "SEVEREWEATHER"}, func(r *hazard.Report) any { return r.Type }, hazard.Storm},
		"a uuid in capitals is the same":           {map[string]any{"uuid": strings.ToUpper(floodUUID)}, func(r *hazard.Report) any { return r.Key }, floodUUID},
		"an exercise stays one":                    {map[string]any{"category_ID": "EXERCISE", "hazard_Name": "TEST flood"}, func(r *hazard.Report) any { return string(r.Category) + r.Suspect }, "EXERCISE"},
		"termination is a severity":                {map[string]any{"severity_ID": "TERMINATION"}, func(r *hazard.Report) any { return r.Severity }, hazard.Termination},
		"no name: the type's":                      {map[string]any{"hazard_Name": " "}, func(r *hazard.Report) any { return r.Name }, "Flood"},
		"no page":                                  {map[string]any{"snc_url": nil}, func(r *hazard.Report) any { return r.URL }, ""},
		"a page that is a script":                  {map[string]any{"snc_url": "javascript:alert(1)"}, func(r *hazard.Report) any { return r.URL }, ""},
		"a page with a password":                   {map[string]any{"snc_url": "https://a:b@c.example"}, func(r *hazard.Report) any { return r.URL }, ""},
		"dates as numbers":                         {map[string]any{"start_Date": int64(1738888850166), "last_Update": int64(1738900579421)}, func(r *hazard.Report) any { return r.Version - int64(r.Start) }, int64(11729255)},
		"start after end: the type's life":         {map[string]any{"start_Date": "1739018450167"}, func(r *hazard.Report) any { return r.End == nil && r.LifeMS == 0 && r.Renewed == nil }, true},
		"no end: the type's life":                  {map[string]any{"end_Date": nil}, func(r *hazard.Report) any { return r.End == nil && r.LifeMS == 0 && r.Renewed == nil }, true},
		"it ends at its start":                     {map[string]any{"end_Date": "1738888850166"}, func(r *hazard.Report) any { return r.End }, end(1738888850166)},
		"no start: when it was made":               {map[string]any{"start_Date": ""}, func(r *hazard.Report) any { return r.Start }, hazard.Instant(1738898129959)},
		"no last_Update: update_Date":              {map[string]any{"last_Update": "-"}, func(r *hazard.Report) any { return r.Version }, int64(1738898129959)},
		"no status: the list says it is active":    {map[string]any{"status": "-"}, func(r *hazard.Report) any { return r.Ended }, hazard.EndReason("")},
		"no category: an event":                    {map[string]any{"category_ID": "-"}, func(r *hazard.Report) any { return r.Category }, hazard.Event},
		"expired at its end":                       {map[string]any{"status": "E", "end_Date": "1738900500000"}, func(r *hazard.Report) any { return r.Ended }, hazard.EndExpired},
		"ended by somebody, update_Date moved too": {map[string]any{"status": "E", "end_Date": "1738900579421", "update_Date": "1738900579421"}, func(r *hazard.Report) any { return r.Ended }, hazard.EndWithdrawn},
		"ended before its end":                     {map[string]any{"status": "E"}, func(r *hazard.Report) any { return r.Ended }, hazard.EndWithdrawn},
		"ended, and never set to expire":           {map[string]any{"status": "E", "autoexpire": "N", "end_Date": "1738900500000"}, func(r *hazard.Report) any { return r.Ended }, hazard.EndWithdrawn},
		"283 degrees east are 77 west":             {map[string]any{"longitude": 282.5}, func(r *hazard.Report) any { return r.Point.Lon }, -77.5},
		"a position in strings":                    {map[string]any{"longitude": "-77.31", "latitude": "-9.77"}, func(r *hazard.Report) any { return *r.Point }, hazard.Point{Lon: -77.31, Lat: -9.77}},
		"exchanged coordinates are held":           {map[string]any{"latitude": -177.31, "longitude": -9.77}, func(r *hazard.Report) any { return r.Point == nil && strings.Contains(r.Suspect, "exchanged") }, true},
		"a position off the Earth is held":         {map[string]any{"latitude": 999}, func(r *hazard.Report) any { return r.Point == nil && strings.Contains(r.Suspect, "latitude 999") }, true},
		"0, 0 is held":                             {map[string]any{"latitude": 0, "longitude": 0}, func(r *hazard.Report) any { return strings.Contains(r.Suspect, "latitude, longitude") }, true},
		"the equator is not":                       {map[string]any{"latitude": 0}, func(r *hazard.Report) any { return r.Suspect }, ""},
		"seconds for milliseconds are held":        {map[string]any{"last_Update": "1738900579"}, func(r *hazard.Report) any { return strings.Contains(r.Suspect, "last_Update: 1970") }, true},
		"an update next week is held":              {map[string]any{"last_Update": "1739505600000"}, func(r *hazard.Report) any { return strings.Contains(r.Suspect, "last_Update") }, true},
		"a start in two years is held":             {map[string]any{"start_Date": "1801900000000", "end_Date": "1801900000001"}, func(r *hazard.Report) any { return strings.Contains(r.Suspect, "start_Date") }, true},
		"a start in 1774 is a volcano's":           {map[string]any{"start_Date": "-6185000000000"}, func(r *hazard.Report) any { return r.Suspect }, ""},
		"a test is held":                           {map[string]any{"hazard_Name": "test_create_hazard 4"}, func(r *hazard.Report) any { return r.Suspect }, `category_ID is EVENT, but hazard_Name says "test"`},
		"a DRILL in capitals is held":              {map[string]any{"hazard_Name": "Flood - DRILL, Lima"}, func(r *hazard.Report) any { return r.Suspect != "" }, true},
		"a place called Test is not":               {map[string]any{"hazard_Name": "Flood - Test Valley, United Kingdom"}, func(r *hazard.Report) any { return r.Suspect }, ""},
		"nor one with such letters":                {map[string]any{"hazard_Name": "Testour - flood of the ATESTADO"}, func(r *hazard.Report) any { return r.Suspect }, ""},
		"hazardd's comment leads to the source":    {map[string]any{"comment_Text": "usgs:us6000tga9", "type_ID": "EARTHQUAKE"}, func(r *hazard.Report) any { return strings.Join(r.Refs, " ") + " " + r.Comment }, "usgs:us6000tga9 usgs:us6000tga9"},
		"but not from another type":                {map[string]any{"comment_Text": "usgs:us6000tga9"}, func(r *hazard.Report) any { return len(r.Refs) }, 0},
		"nor a word that is no register":           {map[string]any{"comment_Text": "see:this"}, func(r *hazard.Report) any { return len(r.Refs) }, 0},
		"a volcano's number":                       {map[string]any{"comment_Text": "354006", "type_ID": "VOLCANO"}, func(r *hazard.Report) any { return strings.Join(r.Refs, " ") }, "gvp:354006"},
		"of a flood it is a number":                {map[string]any{"comment_Text": "354006"}, func(r *hazard.Report) any { return len(r.Refs) }, 0},
		"a GLIDE number":                           {map[string]any{"glide_Uri": "https://glidenumber.net/FL-2025-000012-PER"}, func(r *hazard.Report) any { return strings.Join(r.Refs, " ") }, "glide:FL-2025-000012-PER"},
	} {
		t.Run(name, func(t *testing.T) {
			r, reject := parseOne(t, tt.alter)
			if reject != nil {
				t.Fatal(reject.Reason)
			}
			if diff := cmp.Diff(tt.want, tt.check(&r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARecordThatSaysNothingToUseIsRejectedWithItsFieldAndValue(t *testing.T) {
	for name, tt := range map[string]struct {
		alter map[string]any
		words []string
	}{
		"unknown severity":    {map[string]any{"severity_ID": "RED"}, []string{"severity_ID", `"RED"`}},
		"unknown category":    {map[string]any{"category_ID": "PARTY"}, []string{"category_ID", `"PARTY"`}},
		"unknown status":      {map[string]any{"status": "X"}, []string{"status", `"X"`}},
		"no uuid":             {map[string]any{"uuid": nil}, []string{"uuid", `""`}},
		"a uuid of zeros":     {map[string]any{"uuid": uuid.Nil.String()}, []string{"uuid", "00000000"}},
		"a uuid in braces":    {map[string]any{"uuid": "{" + floodUUID + "}"}, []string{"uuid", floodUUID}},
		"no dates at all":     {map[string]any{"start_Date": "", "create_Date": "-"}, []string{"start_Date", "create_Date"}},
		"no date to be read":  {map[string]any{"start_Date": "soon", "create_Date": "-"}, []string{"start_Date", `"soon"`, "create_Date"}},
		"an object: a drill?": {map[string]any{"category_ID": map[string]any{"en": "EXERCISE"}}, []string{"category_ID", "EXERCISE"}},
		"an object: over?":    {map[string]any{"status": map[string]any{"en": "E"}}, []string{"status"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, reject := parseOne(t, tt.alter)
			if reject == nil || len(reject.Raw) == 0 || reject.Record == "" {
				t.Fatalf("reject %+v", reject)
			}
			for _, word := range tt.words {
				if !strings.Contains(reject.Reason, word) {
					t.Errorf("reason %q does not say %s", reject.Reason, word)
				}
			}
		})
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for name, tt := range map[string]struct {
		alter map[string]any
		words []string
		check func(r *hazard.Report) bool
	}{
		"unknown type":       {map[string]any{"type_ID": "ZOMBIES"}, []string{"type_ID", `"ZOMBIES"`}, func(r *hazard.Report) bool { return r.Type == hazard.Occurrence }},
		"no type":            {map[string]any{"type_ID": nil}, []string{"type_ID", `""`}, func(r *hazard.Report) bool { return r.Type == hazard.Occurrence }},
		"an end in words":    {map[string]any{"end_Date": "2025-02-07T00:00:00Z"}, []string{"end_Date", "2025-02-07"}, func(r *hazard.Report) bool { return r.End == nil }},
		"a date beyond 9999": {map[string]any{"last_Update": "999999999999999"}, []string{"last_Update", "999999999999999"}, func(r *hazard.Report) bool { return r.Version == 1738898129959 }},
		"a bad start":        {map[string]any{"start_Date": "soon"}, []string{"start_Date", "soon"}, func(r *hazard.Report) bool { return r.Start == 1738898129959 }},
		"an object for text": {map[string]any{"hazard_Name": map[string]any{"en": "Flood"}}, []string{"hazard_Name"}, func(r *hazard.Report) bool { return r.Name == "Flood" }},
	} {
		t.Run(name, func(t *testing.T) {
			r, reject := parseOne(t, tt.alter)
			if reject != nil || r.Suspect != "" || len(r.Notes) != 1 || !tt.check(&r) {
				t.Fatalf("%+v, reject %+v, want it shown with one note", r, reject)
			}
			for _, word := range tt.words {
				if !strings.Contains(r.Notes[0], word) {
					t.Errorf("%q does not say %s", r.Notes[0], word)
				}
			}
		})
	}
}

func TestAHazardWithoutAPlaceThatCanBeReadIsHeld(t *testing.T) {
	r, reject := parseOne(t, map[string]any{"latitude": "north"})
	if reject != nil || r.Point != nil || !strings.Contains(r.Suspect, "latitude") || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `"north"`) {
		t.Errorf("%+v, reject %+v", r, reject)
	}
}

func TestWithoutAutoexpireAHazardLastsWhileItIsListed(t *testing.T) {
	old := map[string]any{"autoexpire": "N", "start_Date": "946684800000", "end_Date": "946688400000"}
	var reports []hazard.Report
	for _, at := range []hazard.Instant{now, now.Add(200 * 24 * time.Hour)} {
		batch, err := mirror.Parse(payload(t, members(old)), mirror.Name, schemes, at)
		if err != nil {
			t.Fatal(err)
		}
		r := batch.Reports[0]
		for _, later := range []time.Duration{0, 24 * time.Hour, 600 * 24 * time.Hour} {
			if state := hazard.Derive([]hazard.Report{r}, at.Add(later)); state.Ended != "" || state.Over() <= at.Add(later) {
				t.Errorf("read at %s, over at %s for %q", at, state.Over(), state.Ended)
			}
		}
		reports = append(reports, r)
	}
	if diff := cmp.Diff(reports[0], reports[1]); diff != "" {
		t.Errorf("half a year later it says something else: %s", diff)
	}
}

func TestOfSeveralRowsOfOneUUIDTheLatestCounts(t *testing.T) {
	rows := []map[string]any{members(map[string]any{"hazard_Name": "second", "last_Update": "1738900579422"}), members(map[string]any{"hazard_Name": "first"}),
		members(map[string]any{"hazard_Name": "third", "last_Update": "1738900579423"})}
	batch, err := mirror.Parse(payload(t, rows...), mirror.Name, schemes, now)
	if err != nil || len(batch.Reports) != 1 || batch.Reports[0].Name != "third" || batch.Ignored != 2 || batch.Read != 3 {
		t.Errorf("batch %+v, error %v", batch, err)
	}
}

func TestPayloadsThatAreNoListOfHazards(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, words string
		cut            bool
	}{
		"nothing":           {"", "an empty payload", false},
		"white space":       {" \n", "an empty payload", false},
		"HTML":              {"<!doctype html>", "HTML or XML", false},
		"null":              {"null", "null, expected", false},
		"a string":          {`"hazards"`, `"hazards", expected`, false},
		"an object":         {`{"message":"ok"}`, "without the member type_ID", false},
		"products":          {`[{"product_ID":1,"hazard_ID":2}]`, "an array of products", false},
		"cut at once":       {`[`, "ends early", true},
		"cut single record": {`{"type_ID":"FLOOD","uuid":`, "ends early", true},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := mirror.Parse([]byte(tt.payload), mirror.Name, schemes, now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || !strings.Contains(bad.Reason, tt.words) || tt.words != "" && bad.Cut != tt.cut || len(batch.Reports) > 0 {
				t.Errorf("error %v, batch %+v", err, batch)
			}
		})
	}
	for name, good := range map[string]string{"an empty list": `[]`, "a byte order mark": "\ufeff[]"} {
		if batch, err := mirror.Parse([]byte(good), mirror.Name, schemes, now); err != nil || batch.Read != 0 || batch.Whole {
			t.Errorf("%s: batch %+v, error %v", name, batch, err)
		}
	}
}

func TestAListThatIsCutGivesWhatWasBefore(t *testing.T) {
	var rows []map[string]any
	for i := range 40 {
		rows = append(rows, members(map[string]any{"uuid": fmt.Sprintf("f2762e72-5169-487e-a3fa-%012d", i)}))
	}
	whole := payload(t, rows...)
	full, err := mirror.Parse(whole, mirror.Name, schemes, now)
	if err != nil || len(full.Reports) != 40 {
		t.Fatal(err)
	}
	for at := 1024; at < len(whole); at += 1024 {
		batch, err := mirror.Parse(whole[:at], mirror.Name, schemes, now)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !bad.Cut || batch.Whole {
			t.Fatalf("cut at %d: error %v", at, err)
		}
		if diff := cmp.Diff(full.Reports[:len(batch.Reports)], batch.Reports); diff != "" {
			t.Fatalf("cut at %d: %s", at, diff)
		}
	}
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var rows []map[string]any
		for i := range rapid.IntRange(1, 8).Draw(rt, "records") {
			rows = append(rows, members(map[string]any{
				"uuid": fmt.Sprintf("f2762e72-5169-487e-a3fa-%012d", rapid.IntRange(0, 4).Draw(rt, "uuid")), "last_Update": fmt.Sprint(int64(1738900579421) + int64(i)),
				"severity_ID": rapid.SampledFrom([]string{"WATCH", "WARNING", "ZOMBIES"}).Draw(rt, "severity"), "status": rapid.SampledFrom([]string{"A", "E"}).Draw(rt, "status"),
			}))
		}
		parse := func(rows []map[string]any) ([]hazard.Report, int) {
			batch, err := mirror.Parse(payload(t, rows...), mirror.Name, schemes, now)
			if err != nil {
				rt.Fatal(err)
			}
			slices.SortFunc(batch.Reports, func(a, b hazard.Report) int { return strings.Compare(a.Key, b.Key) })
			return batch.Reports, len(batch.Rejects)
		}
		reports, rejects := parse(rows)
		again, rejectsAgain := parse(rapid.Permutation(rows).Draw(rt, "order"))
		if diff := cmp.Diff(reports, again); diff != "" || rejects != rejectsAgain {
			rt.Fatalf("%d and %d rejects, %s", rejects, rejectsAgain, diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	one := members(nil)
	f.Add(payload(f, one, members(map[string]any{"uuid": "no", "latitude": "x"})))
	text, _ := json.Marshal(one)
	f.Add(text)
	for _, s := range []string{`[]`, `[{"uuid":"f2762e72-5169-487e-a3fa-30e21fc55893","type_ID":"FLOOD","start_Date":1}]`, `{"type_ID":`, `[{"product_ID":1}]`, "\ufeff[null]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		batch, err := mirror.Parse(text, mirror.Name, schemes, now)
		if err != nil && batch.Whole {
			t.Error("whole, with an error")
		}
		keys := map[string]bool{}
		for i := range batch.Reports {
			r := &batch.Reports[i]
			if keys[r.Key] || r.Key == "" || r.UUID.String() != r.Key || r.Name == "" || r.Severity == hazard.NoSeverity {
				t.Errorf("report %+v", r)
			}
			keys[r.Key] = true
			if p := r.Point; p != nil && !(p.Lon >= -180 && p.Lon <= 180 && p.Lat >= -90 && p.Lat <= 90) || p == nil && r.Suspect == "" {
				t.Errorf("point %+v of %+v", p, r)
			}
			hazard.Derive([]hazard.Report{*r}, now)
		}
		if len(batch.Reports)+len(batch.Rejects)+batch.Ignored != batch.Read {
			t.Errorf("%d reports, %d rejects, %d ignored of %d", len(batch.Reports), len(batch.Rejects), batch.Ignored, batch.Read)
		}
	})
}
