package cap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// noticeOf returns a notification, with or without content.
func noticeOf(encoding, value, media, rel string) []byte {
	n := map[string]any{
		"id": "31e9d66a-cd83-4174-9429-b932f1abe1be", "type": "Feature", "conformsTo": []string{"http://wis.wmo.int/spec/wnm/1/conf/core"}, "geometry": nil,
		"links": []any{map[string]any{"href": "https://cache.example/a.xml", "rel": rel, "type": media}},
	}
	p := map[string]any{"data_id": "cn-cma/data/core/weather/advisories-warnings/1", "pubtime": "2026-08-01T00:00:10Z"}
	if encoding != "" {
		p["content"] = map[string]any{"encoding": encoding, "value": value, "size": len(value)}
	}
	n["properties"] = p
	text, _ := json.Marshal(n) // it only contains strings, so there is no error
	return text
}

// A WIS2 notification contains an alert, links to one, or is about something else. A replay service
// returns a list of them.
func TestNotificationsOfWIS2(t *testing.T) {
	alert := recordings.Read(t, "feeds/wmo/cap-china-multilang-20260801.xml")
	now := hazard.At(time.Date(2026, 8, 1, 0, 0, 20, 0, time.UTC))
	direct, err := Parse(Config{Name: "wis2"}, alert, now)
	if err != nil || len(direct.Reports) == 0 {
		t.Fatalf("%+v, %v", direct, err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(alert)
	_ = z.Close()
	bomb := &bytes.Buffer{}
	z = gzip.NewWriter(bomb)
	_, _ = z.Write(make([]byte, 2*maxContent))
	_ = z.Close()
	b64 := base64.StdEncoding.EncodeToString
	for name, tt := range map[string]struct {
		text           []byte
		reports, links int
		rejects        int
	}{
		"as text":               {noticeOf("utf-8", string(alert), "application/xml", "canonical"), len(direct.Reports), 0, 0},
		"in base64":             {noticeOf("base64", b64(alert), "application/xml", "canonical"), len(direct.Reports), 0, 0},
		"compressed":            {noticeOf("gzip", b64(zipped.Bytes()), "application/xml", "canonical"), len(direct.Reports), 0, 0},
		"a link":                {noticeOf("", "", "application/cap+xml", "canonical"), 0, 1, 0},
		"an update":             {noticeOf("", "", "text/xml; charset=utf-8", "update"), 0, 1, 0},
		"a deletion":            {noticeOf("", "", "application/xml", "deletion"), 0, 0, 0},
		"a bulletin":            {noticeOf("utf-8", "METAR EDDF 010000Z", "text/plain", "canonical"), 0, 0, 0},
		"a compressed bomb":     {noticeOf("gzip", b64(bomb.Bytes()), "text/plain", "canonical"), 0, 0, 1},
		"no base64":             {noticeOf("base64", "***", "application/xml", "canonical"), 0, 1, 1},
		"an unknown encoding":   {noticeOf("rot13", "", "text/plain", "canonical"), 0, 0, 1},
		"a list of a replay":    {[]byte(`{"type":"FeatureCollection","features":[` + string(noticeOf("", "", "application/cap+xml", "canonical")) + `,` + string(noticeOf("utf-8", string(alert), "", "canonical")) + `]}`), len(direct.Reports), 1, 0},
		"a list with a bad one": {[]byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":7},` + string(noticeOf("", "", "application/cap+xml", "canonical")) + `]}`), 0, 1, 1},
		"an empty list":         {[]byte(`{"type":"FeatureCollection","features":[],"numberMatched":0}`), 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Parse(Config{Name: "wis2"}, tt.text, now)
			if err != nil || len(b.Reports) != tt.reports || len(b.Links) != tt.links || len(b.Rejects) != tt.rejects {
				t.Errorf("%d reports, %d links, rejects %+v, %v", len(b.Reports), len(b.Links), b.Rejects, err)
			}
			for i := range b.Reports {
				if b.Reports[i].Key != direct.Reports[i].Key {
					t.Errorf("key %s, want that of the alert itself, %s", b.Reports[i].Key, direct.Reports[i].Key)
				}
			}
		})
	}
}
