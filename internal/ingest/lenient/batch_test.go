package lenient_test

import (
	"errors"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

func TestAPayloadThatIsNoFeatureCollectionIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload string
		want    string
		cut     bool
	}{
		"empty":            {"", "an empty payload, expected an object of GeoJSON", false},
		"blank":            {" \r\n\t", "an empty payload, expected an object of GeoJSON", false},
		"an array":         {"[]", "begins with [], expected an object of GeoJSON", false},
		"null":             {"null", "begins with null, expected an object of GeoJSON", false},
		"a word":           {"Error 404: Not Found", "begins with Error 404: Not Found, expected an object of GeoJSON", false},
		"HTML":             {"\n<!DOCTYPE html><html>", "HTML or XML instead of an object of GeoJSON: <!DOCTYPE html><html>", false},
		"nothing in it":    {"{}", "type: missing, expected FeatureCollection or Feature", false},
		"other GeoJSON":    {`{"type":"Point","coordinates":[1,2]}`, `type: "Point", expected FeatureCollection or Feature`, false},
		"no features":      {`{"type":"FeatureCollection"}`, "features: missing, expected an array", false},
		"null features":    {`{"type":"FeatureCollection","features":null}`, "features: null, expected an array", false},
		"features twice":   {`{"type":"FeatureCollection","features":[],"features":[]}`, "features: the member is there twice", false},
		"two types":        {`{"type":"Feature","type":"FeatureCollection","features":[]}`, "type: the member is there twice", false},
		"two documents":    {`{"type":"FeatureCollection","features":[]}{}`, "{} at byte 42, expected the end of the document", true},
		"a problem":        {`{"type":"about:blank","title":"Not Found","status":404,"detail":"no event"}`, "an error message instead of earthquakes: 404, Not Found, no event", false},
		"no colon":         {`{"type" "FeatureCollection"}`, `"FeatureCollection"} at byte 8, expected a colon`, false},
		"no name":          {`{type:"FeatureCollection"}`, `type:"FeatureCollection"} at byte 1, expected a member's name`, false},
		"no comma":         {`{"type":"FeatureCollection" "features":[]}`, `"features":[]} at byte 28, expected a comma or the end of an object`, false},
		"no value":         {`{"type":}`, "} at byte 8, expected a value", false},
		"only a brace":     {"{", "the payload ends early, after 1 bytes, before the end of an object", true},
		"cut in a name":    {`{"ty`, "the payload ends early, after 4 bytes, in a member of an object", true},
		"cut in features":  {`{"type":"FeatureCollection","features":[`, "the payload ends early, after 40 bytes, before element 0 of an array", true},
		"cut in a feature": {`{"type":"FeatureCollection","features":[{"id":"us1`, "the payload ends early, after 50 bytes, in element 0 of an array", true},
	} {
		t.Run(name, func(t *testing.T) {
			var batch lenient.Batch
			_, err := lenient.Collection{}.Features([]byte(tt.payload), "earthquakes", &batch, func(func() string, []byte) { batch.Read++ })
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

func TestFeaturesOfAnotherDocumentAreNotTaken(t *testing.T) {
	for _, payload := range []string{`{"features":[{}],"type":"Topology"}`, `{"type":"Topology","features":[{},`, `{"features":[{}]}`} {
		var batch lenient.Batch
		_, err := lenient.Collection{}.Features([]byte(payload), "things", &batch, func(where func() string, raw []byte) {
			lenient.Record(&batch, where, raw, func(*struct{}) (*hazard.Report, string) { return &hazard.Report{}, "" })
		})
		if err == nil || len(batch.Reports) != 0 {
			t.Errorf("%s: error %v, %d reports", payload, err, len(batch.Reports))
		}
	}
}

func TestARecordIsReportedWithNotesOrRejectedWithReasons(t *testing.T) {
	type record struct{ Name, Place string }
	b := lenient.Batch{ID: func(raw []byte) string { return lenient.Word(lenient.Member(raw, "Name")) }}
	for _, raw := range []string{`{"Name":"a","Place":{}}`, `{"Name":"bad","Place":{}}`, `{"Name":"quiet"}`, `7`} {
		lenient.Record(&b, func() string { return "records/1" }, []byte(raw), func(r *record) (*hazard.Report, string) {
			switch r.Name {
			case "bad":
				return nil, "Name: bad, expected a good one"
			case "quiet":
				return nil, ""
			}
			return &hazard.Report{Key: r.Name}, ""
		})
	}
	got := b.Done()
	if got.Read != 4 || got.Ignored != 1 || len(got.Reports) != 1 || len(got.Rejects) != 2 {
		t.Fatalf("%+v", got)
	}
	if notes := got.Reports[0].Notes; len(notes) != 1 || notes[0] != "Could not be read: Place: {}, expected a string." {
		t.Errorf("notes %q", notes)
	}
	if r := got.Rejects[0]; r.Record != "bad" || r.Reason != "Place: {}, expected a string; Name: bad, expected a good one" {
		t.Errorf("%s: %s", r.Record, r.Reason)
	}
	if r := got.Rejects[1]; r.Record != "records/1" || r.Reason != "7, expected an object" {
		t.Errorf("%s: %s", r.Record, r.Reason)
	}
}
