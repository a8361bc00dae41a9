package nifc

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestTheFeedsAskForWildfiresLastModifiedFirst(t *testing.T) {
	feeds := Source().Feeds
	for i, want := range []struct{ service, where, order string }{
		{"WFIGS_Incident_Locations_Current", "IncidentTypeCategory IN ('WF','CX')", "ModifiedOnDateTime_dt DESC"},
		{"WFIGS_Interagency_Perimeters_Current", "attr_IncidentTypeCategory='WF'", "attr_ModifiedOnDateTime_dt DESC"},
	} {
		u, err := url.Parse(feeds[i].URL)
		if err != nil || u.Scheme != "https" || !strings.Contains(u.Path, want.service) {
			t.Fatalf("%s: error %v", feeds[i].URL, err)
		}
		if q := u.Query(); q.Get("where") != want.where || q.Get("orderByFields") != want.order || q.Get("f") != "geojson" || q.Get("outFields") != "*" {
			t.Errorf("query %v", q)
		}
	}
}

func TestAListThatIsCutByArcGISIsNotWhole(t *testing.T) {
	whole := string(collection(a(), edged()))
	for name, tt := range map[string]struct {
		payload string
		whole   bool
	}{
		"complete":                   {whole, true},
		"limit not exceeded":         {sourcetest.Changed(whole, `"features"`, `"properties":{"exceededTransferLimit":false},"features"`), true},
		"limit exceeded":             {sourcetest.Changed(whole, `"features"`, `"properties":{"exceededTransferLimit":true},"features"`), false},
		"limit exceeded, said above": {sourcetest.Changed(whole, `"features"`, `"exceededTransferLimit":true,"features"`), false},
		"limit exceeded, said last":  {strings.TrimSuffix(whole, "}") + `,"exceededTransferLimit":true}`, false},
		"an unreadable fire":         {string(collection(a(), `7`)), true},
		"empty":                      {string(collection()), false}, // not plausible, because there is always a fire somewhere
	} {
		batch, err := Parse([]byte(tt.payload), now)
		if err != nil || batch.Whole != tt.whole {
			t.Errorf("%s: error %v, whole %v", name, err, batch.Whole)
		}
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, reason string
		cut             bool
	}{
		"nothing":             {"", "an empty payload, expected an object of GeoJSON", false},
		"HTML":                {"<html><body>503</body></html>", "HTML or XML instead of an object of GeoJSON", false},
		"an array":            {`[]`, "begins with [], expected an object of GeoJSON", false},
		"an error of ArcGIS":  {`{"error":{"code":400,"message":"Cannot perform query."}}`, `an error message instead of fires: {"code":400,"message":"Cannot perform query."}`, false},
		"an error and fires":  {`{"error":{"code":500},` + string(collection(a()))[1:], `an error message instead of fires: {"code":500}`, false},
		"features of ArcGIS":  {`{"features":[{"attributes":{}}]}`, `type: "", expected FeatureCollection`, false},
		"another type":        {`{"features":[` + a() + `],"type":"Topology"}`, `type: "Topology", expected FeatureCollection`, false},
		"no features":         {`{"type":"FeatureCollection"}`, "features: null or missing, expected an array", false},
		"features an object":  {`{"type":"FeatureCollection","features":{}}`, "features: {}, expected an array", false},
		"features twice":      {`{"type":"FeatureCollection","features":[],"features":[]}`, "features: the member is there twice", false},
		"cut":                 {`{"type":"FeatureCollection","features":[{"a`, "the payload ends early", true},
		"something behind it": {string(collection()) + "x", "x at byte 42, expected the end of the document", true},
		"deep":                {`{"features":` + strings.Repeat("[", 20_000), "the payload ends early", true},
	} {
		batch, err := Parse([]byte(tt.payload), now)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || bad.Cut != tt.cut || !strings.HasPrefix(bad.Reason, tt.reason) {
			t.Errorf("%s: error %v, want %q", name, err, tt.reason)
		}
		if batch.Whole || len(batch.Reports) != 0 {
			t.Errorf("%s: %+v", name, batch)
		}
	}
}

func TestABadFeatureIsRejectedAlone(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"no object":           {`7`, "features/1", "7, expected an object"},
		"no properties":       {`{"type":"Feature","geometry":null}`, "features/1", "properties: missing, expected an object"},
		"properties an array": {a(`"properties":{`, `"properties":[],"p":{`), "features/1", "properties: missing, expected an object"},
		"no id":               {a(`"{`+guid+`}"`, `null`, `"2026-GAGAS-320025"`, `null`), "features/1", `IrwinID: "", expected an id such as {BA2C4EC7-36BF-4B79-B6D1-8706200326BF}`},
		"an id that is none":  {edged(`"attr_IrwinID":"{`+guid, `"attr_IrwinID":"{x`, `"2026-GAGAS-320025"`, `"x"`), "features/1", `attr_IrwinID: "{x}", expected an id such as {BA2C4EC7-36BF-4B79-B6D1-8706200326BF}`},
		"no modification":     {a(modified, `null`, discovered, `null`), guid, "ModifiedOnDateTime_dt: missing, expected milliseconds since 1970"},
		"no discovery":        {a(discovered, `null`), guid, "FireDiscoveryDateTime: missing, expected milliseconds since 1970"},
		"a date in words":     {a(discovered, `"yesterday"`), guid, `FireDiscoveryDateTime: "yesterday", expected a number; FireDiscoveryDateTime: missing, expected milliseconds since 1970`},
		"a date of no time":   {a(discovered, `1e18`), guid, "FireDiscoveryDateTime: 1e18, expected milliseconds since 1970; FireDiscoveryDateTime: missing, expected milliseconds since 1970"},
		"a member twice":      {a(`"POOState"`, `"IrwinID":"","POOState"`), "features/1", "properties/IrwinID: the member is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			left, right := a(guid, other), edged(guid, other, guid, other)
			batch, err := Parse(collection(left, tt.bad, right), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 || !batch.Whole {
				t.Fatalf("error %v, read %d, reports %d, rejects %v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			if names := batch.Rejects[0].Events; tt.record == guid && !slices.Contains(names, guid) {
				t.Errorf("may be about %q, want %s among them", names, guid)
			}
			if got := batch.Rejects[0]; got.Record != tt.record || got.Reason != tt.reason || string(got.Raw) != tt.bad {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
		})
	}
}

// An unreadable member becomes a note on the fire, which is shown.
func TestAFireIsShownWithANoteOnWhatCannotBeRead(t *testing.T) {
	for name, tt := range map[string]struct{ bad, note string }{
		"size an object":       {a(`32575`, `{"acres":1}`), `IncidentSize: {"acres":1}, expected a number`},
		"less than nothing":    {a("32575", "-1"), "IncidentSize: -1, expected acres"},
		"contained too far":    {a("90", "190"), "PercentContained: 190, expected a share of 100"},
		"a day in words":       {a(modified, `"yesterday"`), `ModifiedOnDateTime_dt: "yesterday", expected a number`},
		"name an array":        {a(`"Pineland Road"`, `["x"]`), `IncidentName: ["x"], expected a string`},
		"a perimeter of lines": {edged(`"Polygon"`, `"LineString"`), `geometry: {"type":"LineString"`},
		"a perimeter in words": {edged(`"geometry":{`, `"geometry":"none","g":{`), `geometry: "none", expected a Polygon or MultiPolygon`},
	} {
		batch, err := Parse(collection(tt.bad), now)
		if err != nil || len(batch.Reports) != 1 || batch.Reports[0].Suspect != "" || !strings.Contains(strings.Join(batch.Reports[0].Notes, " "), tt.note) {
			t.Errorf("%s: error %v, %+v", name, err, batch)
		}
	}
}

func TestTheOrderOfFeaturesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		features := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			pairs := []string{
				guid, rapid.SampledFrom([]string{guid, other, "x"}).Draw(t, "id"),
				`"WF"`, rapid.SampledFrom([]string{`"WF"`, `"RX"`, `null`}).Draw(t, "category"),
				modified, rapid.SampledFrom([]string{modified, "1778627495001", `"x"`}).Draw(t, "modified"),
			}
			if rapid.Bool().Draw(t, "perimeter") {
				return edged(append([]string{guid, pairs[1]}, append(pairs, `-82.6,30.8`, fmt.Sprintf("-82.6,%d", rapid.IntRange(31, 33).Draw(t, "lat")))...)...)
			}
			return a(append(pairs, `32575`, fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "size")))...)
		}), 0, 8).Draw(t, "features")
		summary := func(features []string) []string {
			batch, err := Parse(collection(features...), now)
			if err != nil || batch.Read != len(features) || batch.Read != len(batch.Reports)+len(batch.Rejects)+batch.Ignored {
				t.Fatalf("error %v, read %d of %d: %d reports, %d rejects, %d ignored", err, batch.Read, len(features), len(batch.Reports), len(batch.Rejects), batch.Ignored)
			}
			lines := []string{fmt.Sprint("ignored ", batch.Ignored, ", whole ", batch.Whole)}
			for _, r := range batch.Reports {
				point := *r.Point
				renewed := *r.Renewed
				r.Point, r.Renewed = nil, nil
				lines = append(lines, fmt.Sprintf("%+v %v %v", r, point, renewed))
			}
			for _, r := range batch.Rejects {
				lines = append(lines, r.Reason)
			}
			slices.Sort(lines)
			return lines
		}
		if diff := cmp.Diff(summary(features), summary(rapid.Permutation(features).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(collection(a(), "7", edged(), a(guid, other, "90", "100")))
	f.Add(collection(a("[-82.65,30.78]", "[30.78,-182.65]", `"WF"`, `null`), edged(`"Polygon"`, `"MultiPolygon"`)))
	f.Add(collection(a())[:400])
	f.Add([]byte(`{"error":{"code":400}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		given := bytes.Clone(payload)
		batch, err := Parse(payload, now)
		if !bytes.Equal(given, payload) {
			t.Error("the payload was changed")
		}
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Errorf("error %v is no PayloadError", err)
		}
		checkBatch(t, &batch)
		again, _ := Parse(payload, now)
		if diff := cmp.Diff(batch, again); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
	})
}
