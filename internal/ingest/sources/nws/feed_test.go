package nws

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
)

func TestPayloadThatIsNoListIsAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"nothing":            {"", "empty payload", false},
		"white space":        {" \n\t", "empty payload", false},
		"HTML":               {"<!DOCTYPE html><html><body>Access Denied</body></html>", "HTML or XML", false},
		"CAP XML":            {"\n<?xml version=\"1.0\"?><alert/>", "HTML or XML", false},
		"an array":           {"[]", "begins with []", false},
		"words":              {"Too many requests", "begins with", false},
		"a problem document": {`{"title":"Invalid Parameter","type":"https://api.weather.gov/problems/InvalidParameter","status":400,"detail":"point is out of bounds"}`, "problem document: Invalid Parameter: point is out of bounds", false},
		"another object":     {`{"type":"Topology","features":[]}`, `type: "Topology", expected "FeatureCollection" or "Feature"`, false},
		"no features":        {`{"type":"FeatureCollection"}`, "features: null or missing", false},
		"features no array":  {`{"type":"FeatureCollection","features":{}}`, "features: {}, expected an array", false},
		"features twice":     {`{"type":"FeatureCollection","features":[],"features":[]}`, "there twice", false},
		"an object cut off":  {`{"type":"FeatureCollection",`, "ends early", true},
		"a list cut off":     {`{"type":"FeatureCollection","features":[`, "ends early", true},
		"more after the end": {`{"type":"FeatureCollection","features":[]} {}`, "expected the end", true},
	} {
		b, err := Parse([]byte(tt.payload), 0)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !strings.Contains(bad.Reason, tt.want) || bad.Cut != tt.cut || b.Whole || len(b.Reports) != 0 {
			t.Errorf("%s: %v (%+v), %d reports, want %q, cut %v", name, err, bad, len(b.Reports), tt.want, tt.cut)
		}
	}
}

func TestRecordedProblemDocumentsAreErrors(t *testing.T) {
	test.NoRace(t)
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
		"null":                   {[]byte("null"), "features/1", "null, expected an object"},
		"a number":               {[]byte("7"), "features/1", "7, expected an object"},
		"no properties":          {[]byte(`{"type":"Feature"}`), "features/1", "properties: null or missing"},
		"an id of two lines":     {text(with(tornado(), object{"id": "a\nb"})), "a b", "properties/id"},
		"a member twice":         {twice, "urn:oid:1.1", `properties/event: the member is there twice`},
		"no time at all":         {text(with(tornado(), object{"sent": "yesterday", "effective": nil, "onset": 7})), "urn:oid:1.1", `properties/sent: "yesterday", expected a time`},
		"a status":               {text(with(tornado(), object{"status": "true"})), "urn:oid:1.1", `properties/status: "true", expected Actual`},
		"no status":              {text(with(tornado(), object{"status": nil})), "urn:oid:1.1", "properties/status"},
		"neither event nor VTEC": {text(with(tornado(), object{"event": " ", "parameters": nil})), "urn:oid:1.1", "properties/event"},
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
		want []string // must be among the names; nil if they are unknown
	}{
		"a bad status":                 {text(with(tornado(), object{"status": "x"})), []string{key}},
		"a bad end in the VTEC":        {text(with(tornado(), object{"status": 1, "parameters": vtecs("/O.NEW.KDMX.TO.W.0044.2607xx")})), []string{key}},
		"two VTEC strings":             {text(with(tornado(), object{"status": 1, "parameters": vtecs("/O.CON.KDMX.TO.W.0044.", "/O.NEW.KDMX.SV.W.0031.")})), []string{key, "KDMX.SV.W.0031.2026"}},
		"one of two cannot be read":    {text(with(tornado(), object{"status": 1, "parameters": vtecs("/O.CON.KDMX.TO.W.0044.", "/O.NEW.KDMX/")})), nil},
		"a VTEC that cannot be read":   {text(with(tornado(), object{"status": 1, "parameters": vtecs("/O.NEW.KDMX/")})), nil},
		"of a chain":                   {text(with(chained, object{"status": "x"})), []string{"urn:oid:1.1", "urn:oid:0.9"}},
		"of a chain, without its name": {text(with(chained, object{"status": "x", "id": nil})), nil},
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
	b := parsed(t, text(with(tornado(), object{"status": nil})), 0)
	if len(b.Rejects) != 1 || b.Read != 1 {
		t.Errorf("rejects %v of %d records, want one of one", b.Rejects, b.Read)
	}
}

// An unreadable part of a message becomes a note, and the warning is shown.
func TestWarningIsShownWithANoteOnWhatCannotBeRead(t *testing.T) {
	const key, good = "KDMX.TO.W.0044.2026", "/O.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/"
	parameters := func(members object) object { return object{"parameters": members} }
	for name, tt := range map[string]struct {
		change    object
		key, note string
	}{
		"one VTEC of two":           {parameters(vtecs(good, "/O.NEW.KDMX/")), key, `properties/parameters/VTEC/1: VTEC: "/O.NEW.KDMX/"`},
		"a VTEC without times":      {parameters(vtecs("/O.NEW.KDMX.TO.W.0044.soon/")), key, "properties/parameters/VTEC/0"},
		"a VTEC that names nothing": {parameters(vtecs("/O.NEW.KDMX/")), "urn:oid:1.1", "properties/parameters/VTEC/0"},
		"a VTEC that is a string":   {parameters(object{"VTEC": good}), key, ""},
		"expires beside VTEC":       {object{"expires": "soon"}, key, `properties/expires: "soon"`},
		"ends as a number":          {object{"ends": int64(1779392700000)}, key, `properties/ends: "1779392700000"`},
		"ends without zone":         {object{"ends": "2026-05-21T14:45:00"}, key, "properties/ends: \"2026-05-21T14:45:00\" has no zone, read as -05:00"},
		"a day that is not":         {object{"ends": "2026-02-30T00:00:00Z"}, key, "properties/ends"},
		"24 o'clock":                {object{"expires": "2026-05-21T24:00:00-05:00"}, key, ""},
		"NWSheadline as a string":   {parameters(object{"VTEC": []string{good}, "NWSheadline": "TORNADO"}), key, ""},
		"a zone that is a string":   {object{"affectedZones": "IAC153"}, key, ""},
		"a name that is a number":   {object{"event": 5}, key, ""},
		"no event beside VTEC":      {object{"event": nil}, key, ""},
		"no id beside its address":  {object{"id": nil}, key, ""},
		"a message type":            {object{"messageType": "Note"}, key, `properties/messageType: "Note", expected Alert`},
		"words in small letters":    {object{"messageType": "update", "status": "actual", "scope": "PUBLIC"}, key, ""},
		"no sent":                   {object{"sent": nil}, key, "properties/sent: missing"},
		"a bad sent":                {object{"sent": "yesterday"}, key, `properties/sent: "yesterday"`},
	} {
		r := one(t, with(tornado(), tt.change))
		if r.Key != tt.key || r.Severity != hazard.Warning || r.Type != hazard.Tornado || r.Suspect != "" || r.Part != "urn:oid:1.1" ||
			*r.End != at(t, "2026-05-21T14:45:00-05:00") || r.Version != int64(at(t, "2026-05-21T14:00:00-05:00")) {
			t.Errorf("%s: %s %s %v until %v, suspect %q, want the warning as it is", name, r.Key, r.Type, r.Severity, *r.End, r.Suspect)
		}
		if notes := strings.Join(r.Notes, " "); (notes == "") != (tt.note == "") || !strings.Contains(notes, tt.note) {
			t.Errorf("%s: %q, want a note %q", name, notes, tt.note)
		}
	}
	flat := bytes.Replace(text(tornado()), []byte(`"geometry":{`), []byte(`"geometry":"x","x":{`), 1)
	if b := parsed(t, flat, at(t, tornadoNow)); len(b.Reports) != 1 || len(b.Reports[0].Places) != 2 || !strings.Contains(strings.Join(b.Reports[0].Notes, " "), "geometry: ") {
		t.Errorf("a geometry that is a string: %v, rejects %v", b.Reports, b.Rejects)
	}
}

// A letter in a wrong encoding must not hide a warning.
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

// Records with the same identity but different content are held, never dropped, in any order.
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

// A message with many VTEC strings must not make as many copies of its text and its zones.
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
