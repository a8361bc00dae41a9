package nws

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hazardd/internal/hazard"
	"hazardd/internal/source"
)

func TestPayloadThatIsNoListIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"nothing":              {"", "empty payload", false},
		"white space":          {" \n\t", "empty payload", false},
		"HTML":                 {"<!DOCTYPE html><html><body>Access Denied</body></html>", "HTML or XML", false},
		"CAP XML":              {"\n<?xml version=\"1.0\"?><alert/>", "HTML or XML", false},
		"an array":             {"[]", `begins with "[]"`, false},
		"words":                {"Too many requests", "begins with", false},
		"a problem document":   {`{"title":"Invalid Parameter","type":"https://api.weather.gov/problems/InvalidParameter","status":400,"detail":"point is out of bounds"}`, "problem document: Invalid Parameter: point is out of bounds", false},
		"another object":       {`{"type":"Topology","features":[]}`, `type: "Topology", expected "FeatureCollection" or "Feature"`, false},
		"no features":          {`{"type":"FeatureCollection"}`, "type:", false},
		"features no array":    {`{"type":"FeatureCollection","features":{}}`, "features: object, expected an array", false},
		"features twice":       {`{"type":"FeatureCollection","features":[],"features":[]}`, "given twice", false},
		"an object cut off":    {`{"type":"FeatureCollection",`, "ends early", true},
		"a list cut off":       {`{"type":"FeatureCollection","features":[`, "ends early", true},
		"no JSON in the midst": {`{"type":"FeatureCollection","features":[{"a":nope}]}`, "not JSON", true},
		"more after the end":   {`{"type":"FeatureCollection","features":[]} {}`, "follows", true},
	} {
		b, err := Parse([]byte(tt.payload), 0)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !strings.Contains(bad.Reason, tt.want) || bad.Cut != tt.cut || b.Whole || len(b.Reports) != 0 {
			t.Errorf("%s: %v (%+v), %d reports, want %q, cut %v", name, err, bad, len(b.Reports), tt.want, tt.cut)
		}
	}
}

func TestRecordedProblemDocumentsAreErrors(t *testing.T) {
	for _, rec := range recordings(t, "*outside-coverage.json") {
		_, err := Parse(rec.payload, 0)
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || bad.Cut || !strings.Contains(bad.Reason, "problem document: ") {
			t.Errorf("%s: %v", rec.name, err)
		}
	}
}

func TestEmptyListProvesNothing(t *testing.T) {
	for _, payload := range [][]byte{collection(nationalTitle), recordings(t, "active-empty-20240108.json")[0].payload} {
		if b := parsed(t, payload, 0); b.Whole || b.Read != 0 {
			t.Errorf("%s: whole %v, read %d, want no proof of absence", payload, b.Whole, b.Read)
		}
	}
}

func TestOnlyTheNationalListIsWhole(t *testing.T) {
	paged := bytes.Replace(collection(nationalTitle, tornado()), []byte(`{"features"`), []byte(`{"pagination":{"next":"https://x"},"features"`), 1)
	lastPage := bytes.Replace(paged, []byte(`{"next":"https://x"}`), []byte(`{}`), 1)
	for name, tt := range map[string]struct {
		payload []byte
		want    bool
	}{
		"national":      {collection(nationalTitle, tornado()), true},
		"of a state":    {collection(nationalTitle+" for Iowa", tornado()), false},
		"without title": {collection("", tornado()), false},
		"of pages":      {paged, false},
		"of one page":   {lastPage, true},
		"with a reject": {collection(nationalTitle, tornado(), object{"type": "Feature"}), true},
		"one message":   {text(tornado()), false},
	} {
		if b := parsed(t, tt.payload, at(t, tornadoNow)); b.Whole != tt.want {
			t.Errorf("%s: whole %v, want %v", name, b.Whole, tt.want)
		}
	}
}

func TestBadRecordIsRejectedAloneWithItsReason(t *testing.T) {
	before, after := with(tornado(), object{"id": "urn:oid:before"}), with(tornado(), object{"id": "urn:oid:after"})
	twice := bytes.Replace(text(tornado()), []byte(`"sent"`), []byte(`"event":"Tornado Warning","sent"`), 1)
	for name, tt := range map[string]struct {
		bad            []byte
		record, reason string
	}{
		"null":                {[]byte("null"), "features/1", `type: "", expected "Feature"`},
		"a number":            {[]byte("7"), "features/1", "number, expected an object"},
		"no properties":       {[]byte(`{"type":"Feature"}`), "features/1", "properties: missing"},
		"no id":               {text(with(tornado(), object{"id": nil})), "features/1", "properties/id: missing"},
		"an id of two lines":  {text(with(tornado(), object{"id": "a\nb"})), "a b", "properties/id"},
		"a number for a name": {text(with(tornado(), object{"event": 5})), "urn:oid:1.1", "properties/event: number, expected a string"},
		"a string for a list": {text(with(tornado(), object{"affectedZones": "IAC153"})), "urn:oid:1.1", "properties/affectedZones: string, expected an array"},
		"a member twice":      {twice, "urn:oid:1.1", `properties/event: duplicate object member name`},
		"no sent":             {text(with(tornado(), object{"sent": nil})), "urn:oid:1.1", "properties/sent: missing, expected a time"},
		"a bad sent":          {text(with(tornado(), object{"sent": "yesterday"})), "urn:oid:1.1", `properties/sent: "yesterday", expected a time`},
		"a bad end":           {text(with(tornado(), object{"ends": "2026-02-30T00:00:00Z"})), "urn:oid:1.1", "properties/ends"},
		"a status":            {text(with(tornado(), object{"status": "actual"})), "urn:oid:1.1", `properties/status: "actual", expected Actual`},
		"no status":           {text(with(tornado(), object{"status": nil})), "urn:oid:1.1", "properties/status"},
		"a message type":      {text(with(tornado(), object{"messageType": "Note"})), "urn:oid:1.1", `properties/messageType: "Note", expected Alert`},
		"no event":            {text(with(tornado(), object{"event": " "})), "urn:oid:1.1", "properties/event"},
		"a VTEC string":       {text(with(tornado(), object{"parameters": vtecs("/O.NEW.KDMX/")})), "urn:oid:1.1", `properties/parameters/VTEC/0: VTEC: "/O.NEW.KDMX/"`},
		"a geometry":          {bytes.Replace(text(tornado()), []byte(`"geometry":{`), []byte(`"geometry":"x","x":{`), 1), "urn:oid:1.1", "geometry: string, expected an object or null"},
	} {
		payload := slices.Concat([]byte(`{"type":"FeatureCollection","features":[`), text(before), []byte(","), tt.bad, []byte(","), text(after), []byte("]}"))
		b := parsed(t, payload, at(t, tornadoNow))
		if len(b.Reports) != 2 || b.Read != 3 {
			t.Errorf("%s: %d reports of %d records, want the 2 neighbours of 3", name, len(b.Reports), b.Read)
		}
		if len(b.Rejects) != 1 || b.Rejects[0].Record != tt.record || !strings.Contains(b.Rejects[0].Reason, tt.reason) || !bytes.Equal(b.Rejects[0].Raw, tt.bad) {
			t.Errorf("%s: rejects %q, want %s for %q", name, b.Rejects, tt.record, tt.reason)
		}
	}
}

func TestARejectTellsOfWhichEventsItMayBe(t *testing.T) {
	const key = "KDMX.TO.W.0044.2026"
	chained := with(tornado(), object{"parameters": nil, "references": []any{object{"identifier": "urn:oid:0.9", "sent": "x"}}})
	for name, tt := range map[string]struct {
		bad  []byte
		want []string // among the names; nil: it does not tell
	}{
		"a bad time":                   {text(with(tornado(), object{"sent": "yesterday"})), []string{key}},
		"a bad end in the VTEC":        {text(with(tornado(), object{"sent": 1, "parameters": vtecs("/O.NEW.KDMX.TO.W.0044.2607xx")})), []string{key}},
		"two VTEC strings":             {text(with(tornado(), object{"sent": 1, "parameters": vtecs("/O.CON.KDMX.TO.W.0044.", "/O.NEW.KDMX.SV.W.0031.")})), []string{key, "KDMX.SV.W.0031.2026"}},
		"one of two cannot be read":    {text(with(tornado(), object{"sent": 1, "parameters": vtecs("/O.CON.KDMX.TO.W.0044.", "/O.NEW.KDMX/")})), nil},
		"a VTEC that cannot be read":   {text(with(tornado(), object{"parameters": vtecs("/O.NEW.KDMX/")})), nil},
		"of a chain":                   {text(with(chained, object{"sent": "yesterday"})), []string{"urn:oid:1.1", "urn:oid:0.9"}},
		"of a chain, without its name": {text(with(chained, object{"id": nil})), nil},
		"nothing":                      {[]byte("null"), nil},
	} {
		b := parsed(t, slices.Concat([]byte(`{"type":"FeatureCollection","features":[`), tt.bad, []byte("]}")), at(t, tornadoNow))
		if len(b.Rejects) != 1 {
			t.Fatalf("%s: rejects %q", name, b.Rejects)
		}
		got := b.Rejects[0].Events
		for _, want := range tt.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q, want %s among them", name, got, want)
			}
		}
		if tt.want == nil && got != nil {
			t.Errorf("%s: %q, want any event", name, got)
		}
	}
}

func TestBadSingleMessageIsRejected(t *testing.T) {
	b := parsed(t, text(with(tornado(), object{"sent": nil})), 0)
	if len(b.Rejects) != 1 || b.Read != 1 {
		t.Errorf("rejects %v of %d records, want one of one", b.Rejects, b.Read)
	}
}

// No warning is lost for an accent in another encoding.
func TestBytesThatAreNotUTF8AreLeftOut(t *testing.T) {
	payload := bytes.Replace(text(tornado()), []byte("Ankeny"), []byte("Ca\xf1on"), 1)
	b := parsed(t, payload, at(t, tornadoNow))
	if len(b.Reports) != 1 || !strings.Contains(b.Reports[0].Description, "near Caon.") {
		t.Errorf("%v, rejects %v", b.Reports, b.Rejects)
	}
}

func TestCopiesCountOnce(t *testing.T) {
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, text(tornado()), "", "  "); err != nil {
		t.Fatal(err)
	}
	payload := slices.Concat([]byte(`{"type":"FeatureCollection","features":[`), text(tornado()), []byte(","), text(tornado()), []byte(","), spaced.Bytes(), []byte("]}"))
	b := parsed(t, payload, at(t, tornadoNow))
	if b.Read != 1 || len(b.Reports) != 1 || b.Reports[0].Suspect != "" {
		t.Errorf("%d reports of %d records, want one of one", len(b.Reports), b.Read)
	}
}

// Content that differs under one identity is held, never dropped, whichever comes first.
func TestContradictionsUnderOneIdAreHeld(t *testing.T) {
	other := with(tornado(), object{"messageType": "Cancel"})
	for _, pair := range [][]any{{tornado(), other}, {other, tornado()}} {
		b := parsed(t, collection("", pair...), at(t, tornadoNow))
		if len(b.Reports) != 2 || b.Reports[0].Suspect == "" || b.Reports[1].Suspect == "" {
			t.Errorf("%v, want both, and both held", b.Reports)
		}
	}
	later := with(tornado(), object{"sent": "2026-05-21T14:05:00-05:00"})
	b := parsed(t, collection("", tornado(), later), at(t, tornadoNow))
	if len(b.Reports) != 2 || b.Reports[0].Suspect != "" || b.Reports[0].Version == b.Reports[1].Version {
		t.Errorf("%v, want two versions", b.Reports)
	}
}

func TestPayloadCutAnywhereKeepsWhatWasRead(t *testing.T) {
	rec := recordings(t, "iowa-20240521T1934Z.json")[0]
	whole := parsed(t, rec.payload, rec.at)
	parts := map[string]hazard.Report{}
	for _, r := range whole.Reports {
		parts[r.Part] = r
	}
	payload := bytes.TrimSpace(rec.payload)
	last := 0
	for n := 1024; n < len(payload); n += 1024 {
		b, err := Parse(payload[:n], rec.at)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !bad.Cut || b.Whole || len(b.Rejects) != 0 {
			t.Fatalf("cut at %d: %v, whole %v, %d rejects", n, err, b.Whole, len(b.Rejects))
		}
		if len(b.Reports) < last {
			t.Fatalf("cut at %d: %d reports, fewer than before", n, len(b.Reports))
		}
		last = len(b.Reports)
		for _, r := range b.Reports {
			want := parts[r.Part]
			want.End, r.End = nil, nil // only a list that was read to its end extends an end
			if !reflect.DeepEqual(want, r) {
				t.Fatalf("cut at %d: %s", n, cmp.Diff(want, r))
			}
		}
	}
	if last < 40 {
		t.Errorf("%d reports before the last cut, want more than 40", last)
	}
}

// Whatever is sent, reading it costs memory in proportion, and no more records are kept than a person could look at.
func TestHugeGarbageIsBounded(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 4 << 20
	}
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	head := `{"type":"FeatureCollection","features":[`
	for name, payload := range map[string][]byte{
		"noise":          noise,
		"noise in JSON":  append([]byte(head), noise...),
		"open arrays":    bytes.Repeat([]byte("["), size),
		"nested objects": append([]byte(head), bytes.Repeat([]byte(`{"a":`), size/5)...),
		"empty records":  append([]byte(head), bytes.Repeat([]byte("{},"), size/3)...),
		"one string":     append([]byte(head+`{"type":"`), bytes.Repeat([]byte("x"), size)...),
		"many members":   append([]byte("{"), bytes.Repeat([]byte(`"a":1,`), size/6)...),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := Parse(payload, 0)
		runtime.ReadMemStats(&after)
		if err == nil || len(b.Reports) != 0 || len(b.Rejects) > maxRejects {
			t.Errorf("%s: %v, %d reports, %d rejects", name, err, len(b.Reports), len(b.Rejects))
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(size)+64<<20 {
			t.Errorf("%s: %d MiB allocated for %d MiB", name, used>>20, len(payload)>>20)
		}
	}
}

// One message of many strings must not make as many copies of its text and its zones.
func TestManyEventsOfOneMessageShareItsText(t *testing.T) {
	var codes, zones []string
	for i := range 9999 {
		n := string([]byte{byte('0' + i/1000%10), byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)})
		codes = append(codes, "/O.NEW.KDMX.TO.W."+n+".260521T1900Z-260521T1945Z/")
		zones = append(zones, api+"zones/forecast/"+n)
	}
	payload := text(with(tornado(), object{"parameters": vtecs(codes...), "affectedZones": zones, "description": strings.Repeat("x y ", 100_000)}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b := parsed(t, payload, at(t, tornadoNow))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; len(b.Reports) != 9999 || used > 100<<20 {
		t.Errorf("%d reports, %d MiB allocated for %d MiB", len(b.Reports), used>>20, len(payload)>>20)
	}
}

func TestFeedsArePolite(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://api.weather.gov/") || f.Every.Seconds() < 30 || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

func FuzzParse(f *testing.F) {
	now := at(f, tornadoNow)
	f.Add(text(tornado()), int64(now))
	f.Add(collection(nationalTitle, tornado(), with(tornado(), object{"id": "urn:oid:1.2", "ends": nil})), int64(now))
	f.Add(collection(nationalTitle, tornado(), with(tornado(), object{"status": "Exercise"})), int64(now))
	f.Add(text(with(tornado(), object{"parameters": object{}, "references": []object{{"identifier": "a", "sent": "2026-05-21T14:00:00Z"}}})), int64(now))
	f.Add([]byte(`{"title":"x","detail":"y","type":"https://api.weather.gov/problems/InvalidPoint"}`), int64(0))
	f.Add([]byte(`{"type":"FeatureCollection","features":[null,{},7,"`), int64(-1))
	f.Fuzz(func(t *testing.T, payload []byte, ms int64) {
		now := hazard.Instant(max(int64(hazard.MinInstant), min(ms, int64(hazard.MaxInstant))))
		b, err := Parse(payload, now)
		if err != nil {
			if _, ok := errors.AsType[*source.PayloadError](err); !ok || b.Whole {
				t.Fatalf("%v (%T), whole %v", err, err, b.Whole)
			}
		}
		if b.Whole && b.Read == 0 {
			t.Fatal("whole without records")
		}
		if b.Ignored+len(b.Rejects) > b.Read {
			t.Fatalf("%d ignored, %d rejected of %d", b.Ignored, len(b.Rejects), b.Read)
		}
		again, _ := Parse(payload, now)
		if diff := cmp.Diff(b, again); diff != "" {
			t.Fatal(diff)
		}
		for _, r := range b.Rejects {
			if r.Record == "" || r.Reason == "" || len(r.Raw) > source.MaxKept {
				t.Fatalf("%+v", r)
			}
		}
		for _, r := range b.Reports {
			checkReport(t, r, now)
		}
	})
}

// checkReport tells what holds for every report, whatever was sent.
func checkReport(t *testing.T, r hazard.Report, now hazard.Instant) {
	t.Helper()
	if _, ok := r.Type.Info(); !ok || r.Severity < hazard.Information || r.Severity > hazard.Warning {
		t.Fatalf("type %q, severity %v", r.Type, r.Severity)
	}
	if r.Source != Name || r.Key == "" || r.Part == "" || r.Name == "" || r.Creator == "" || r.Comment != Name+":"+r.Key {
		t.Fatalf("%+v", r)
	}
	if (r.Category == hazard.Exercise) != strings.HasPrefix(r.Key, "exercise:") && !strings.HasPrefix(r.Part, "exercise:") {
		t.Fatalf("category %s with key %s", r.Category, r.Key)
	}
	if r.End == nil || *r.End <= r.Start && *r.End <= now {
		t.Fatalf("from %v to %v", r.Start, r.End)
	}
	if !strings.HasPrefix(r.URL, "https://") || r.Description != hazard.Clean(r.Description) || r.Name != hazard.CleanLine(r.Name) {
		t.Fatalf("URL %q, description %q, name %q", r.URL, r.Description, r.Name)
	}
	if len(r.Areas) == 0 && len(r.Places) == 0 && r.Suspect == "" {
		t.Fatal("shown without a place")
	}
	if !slices.IsSorted(r.Places) || slices.Contains(r.Places, "") {
		t.Fatalf("places %q", r.Places)
	}
	hazard.Derive([]hazard.Report{r}, now)
}
