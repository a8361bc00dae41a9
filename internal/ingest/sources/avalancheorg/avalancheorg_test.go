package avalancheorg

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const file = "avalanche-org/map-layer-20251228.geojson"

var laws = sourcetest.Source{
	Parse: Parse, File: file, At: "2025-12-28T18:00:00Z", List: "features",
	Needed: []string{"id", "geometry", "properties/danger_level"}, Decides: []string{"properties/end_date", "properties/warning/product"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, `{"type":"FeatureCollection","features":[null,{},7,"`)
}

// TestRecorded compares all zones of the recording with their raw values.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	payload, now := recordings.Read(t, "feeds/"+file), laws.Now(t)
	var raw struct {
		Features []struct {
			ID         int
			Properties struct {
				Name        string
				DangerLevel int     `json:"danger_level"`
				Start       *string `json:"start_date"`
				End         *string `json:"end_date"`
			}
		}
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		t.Fatal(err)
	}
	b, err := Parse(payload, now)
	if err != nil || !b.Whole || len(b.Rejects) > 0 || len(b.Reports)+b.Ignored != len(raw.Features) {
		t.Fatalf("%v: %d reports, %+v", err, len(b.Reports), b.Rejects)
	}
	got := map[string]hazard.Report{}
	for _, r := range b.Reports {
		got[r.Key] = r
	}
	dangerous := 0
	for _, f := range raw.Features {
		p := f.Properties
		r, ok := got[fmt.Sprint(f.ID)]
		if ok != (p.DangerLevel >= 3) {
			t.Errorf("%d, level %d: a hazard %v", f.ID, p.DangerLevel, ok)
		}
		if !ok {
			continue
		}
		dangerous++
		start, _ := time.Parse("2006-01-02T15:04:05", *p.Start)
		end, _ := time.Parse("2006-01-02T15:04:05", *p.End)
		if r.Severity != hazard.Advisory || r.Type != hazard.Avalanche || !strings.Contains(r.Name, p.Name) || !r.Start.Time().Equal(start) || !r.End.Time().Equal(end) || len(r.Areas) != 1 || len(r.Notes) > 0 {
			t.Errorf("%+v: %+v", p, r)
		}
	}
	if dangerous != 22 {
		t.Errorf("%d zones of level 3, want 22", dangerous)
	}
}

func TestLevels(t *testing.T) {
	one := `{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"geometry":{"type":"Polygon","coordinates":[[[-119,38],[-118,38],[-118,39],[-119,38]]]},
		"properties":{"name":"Eastside","center":"ESAC","state":"CA","danger_level":%s,"start_date":"2025-12-28T15:00:00","end_date":"%s","warning":{"product":%s,"end_date":"2025-12-30T00:00:00","reason":"Heavy <b>snow</b>"}}}]}`
	for _, tt := range []struct {
		level, end, product string
		want                hazard.Severity
		until               string
	}{
		{"2", "2025-12-29T15:00:00", "null", 0, ""}, {"3", "2025-12-29T15:00:00", "null", hazard.Advisory, "2025-12-29T15:00:00Z"},
		{"4", "2025-12-29T15:00:00", "null", hazard.Watch, "2025-12-29T15:00:00Z"}, {"5", "2025-12-29T15:00:00", `"watch"`, hazard.Warning, "2025-12-29T15:00:00Z"},
		{"4", "2025-12-29T15:00:00", `"warning"`, hazard.Warning, "2025-12-30T00:00:00Z"}, {"-1", "2025-12-29T15:00:00", `"watch"`, hazard.Watch, "2025-12-30T00:00:00Z"},
		{"3", "2025-12-28T17:00:00", "null", 0, ""}, {"9", "2025-12-29T15:00:00", "null", hazard.Advisory, "2025-12-29T15:00:00Z"},
	} {
		b, err := Parse(fmt.Appendf(nil, one, tt.level, tt.end, tt.product), laws.Now(t))
		if err != nil || (len(b.Reports) == 1) != (tt.want > 0) {
			t.Fatalf("%+v: %v %+v", tt, err, b)
		}
		if tt.want > 0 {
			if r := b.Reports[0]; r.Severity != tt.want || r.End.Time().UTC().Format(time.RFC3339) != tt.until {
				t.Errorf("%+v: %+v", tt, r)
			}
		}
	}
}
