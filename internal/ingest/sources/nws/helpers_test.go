package nws

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// recording is a payload as the service sent it, with its time.
type recording struct {
	name    string
	payload []byte
	at      hazard.Instant
}

// recordings returns the recorded payloads whose names match a pattern. They are not part of this
// repository; HAZARDD_SHARED is the folder that contains them under feeds/nws.
func recordings(t testing.TB, pattern string) []recording {
	t.Helper()
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set: the recordings of the source are not here")
	}
	names, err := filepath.Glob(filepath.Join(shared, "feeds", "nws", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no recording %s: %v", pattern, err)
	}
	var out []recording
	for _, name := range names {
		payload, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r := recording{name: filepath.Base(name), payload: payload}
		if stamp := regexp.MustCompile(`20\d{6}T\d{4}Z`).FindString(r.name); stamp != "" {
			at, err := time.Parse("20060102T1504Z", stamp)
			if err != nil {
				t.Fatal(err)
			}
			r.at = hazard.At(at)
		}
		out = append(out, r)
	}
	return out
}

func at(t testing.TB, text string) hazard.Instant {
	t.Helper()
	i, err := parseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// object is a JSON object that a test changes before it is encoded.
type object = map[string]any

// tornado returns a message that is valid in every field.
func tornado() object {
	return object{
		"id": "https://api.weather.gov/alerts/urn:oid:1.1", "type": "Feature",
		"geometry": object{"type": "Polygon", "coordinates": [][][2]float64{{{-93, 41}, {-92, 41}, {-92, 42}, {-93, 41}}}},
		"properties": object{
			"@id": "https://api.weather.gov/alerts/urn:oid:1.1", "id": "urn:oid:1.1", "areaDesc": "Polk, IA; Story, IA",
			"geocode":       object{"SAME": []string{"019153", "019169"}, "UGC": []string{"IAC153", "IAC169"}},
			"affectedZones": []string{"https://api.weather.gov/zones/county/IAC169", "https://api.weather.gov/zones/county/IAC153"},
			"references":    []any{},
			"sent":          "2026-05-21T14:00:00-05:00", "effective": "2026-05-21T14:00:00-05:00", "onset": "2026-05-21T14:00:00-05:00",
			"expires": "2026-05-21T14:45:00-05:00", "ends": "2026-05-21T14:45:00-05:00",
			"status": "Actual", "messageType": "Alert", "scope": "Public", "category": "Met",
			"severity": "Extreme", "certainty": "Observed", "urgency": "Immediate", "event": "Tornado Warning",
			"senderName": "NWS Des Moines IA", "headline": "Tornado Warning issued May 21 by NWS Des Moines IA",
			"description": "A tornado was near Ankeny.", "instruction": "TAKE COVER NOW!",
			"parameters": object{"VTEC": []string{"/O.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/"}},
		},
	}
}

// tornadoNow is a time at which tornado is in force.
const tornadoNow = "2026-05-21T14:10:00-05:00"

// with sets members of a message's properties.
func with(o object, members object) object {
	maps.Copy(o["properties"].(object), members)
	return o
}

func vtecs(codes ...string) object { return object{"VTEC": codes} }

func collection(title string, features ...any) []byte {
	return text(object{"type": "FeatureCollection", "features": append([]any{}, features...), "title": title})
}

func text(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// parsed returns the result of Parse for a payload that must be valid.
func parsed(t testing.TB, payload []byte, now hazard.Instant) source.Batch {
	t.Helper()
	b, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// one returns the single report of a single message.
func one(t testing.TB, o object) hazard.Report {
	t.Helper()
	b := parsed(t, text(o), at(t, tornadoNow))
	if len(b.Reports) != 1 || len(b.Rejects) != 0 || b.Ignored != 0 {
		t.Fatalf("reports %v, rejects %v, ignored %d, want one report", b.Reports, b.Rejects, b.Ignored)
	}
	return b.Reports[0]
}
