package eafloods

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

var laws = sourcetest.Source{
	Parse: Parse, File: "ea-floods/floods-20160328.json", At: "2016-03-28T09:15:00Z", List: "items",
	Needed: []string{"floodAreaID"}, Decides: []string{"severityLevel", "severity"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `{"items":[null,{},7,"`) }

func TestDescription(t *testing.T) {
	s := Source()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

const now hazard.Instant = 1459156500000 // 2016-03-28T09:15:00Z

func entry(level int, words string) string {
	return fmt.Sprintf(`{"items":[{"floodAreaID":"031FWFSE150","description":"River Severn at Upton","severity":%q,"severityLevel":%d,"isTidal":false,
		"floodArea":{"county":"Worcestershire","notation":"031FWFSE150","riverOrSea":"River Severn"},"message":"Levels rise.",
		"timeRaised":"2016-03-28T08:30:00","timeSeverityChanged":"2016-03-26T23:30:00","timeMessageChanged":"2016-03-28T08:30:00"}]}`, words, level)
}

func TestLevels(t *testing.T) {
	for level, want := range map[int]hazard.Severity{1: hazard.Warning, 2: hazard.Watch, 3: hazard.Advisory, 4: hazard.Information, 7: hazard.Advisory} {
		b, err := Parse([]byte(entry(level, "Flood Warning")), now)
		if err != nil || !b.Whole || len(b.Reports) != 1 {
			t.Fatalf("level %d: %v, %+v", level, err, b)
		}
		r := b.Reports[0]
		if r.Severity != want || (r.Ended == hazard.EndAllClear) != (level == 4) || r.Key != "031FWFSE150" || r.Places[0] != "EA:031FWFSE150" || (len(r.Notes) > 0) != (level == 7) {
			t.Errorf("level %d: %+v", level, r)
		}
		// The clocks went forward at 01:00 on 27 March.
		if r.Start.Time().UTC().Format(time.RFC3339) != "2016-03-26T23:30:00Z" || hazard.Instant(r.Version).Time().UTC().Format(time.RFC3339) != "2016-03-28T07:30:00Z" {
			t.Errorf("level %d: start %v, version %v", level, r.Start, hazard.Instant(r.Version))
		}
	}
}

// TestRecorded compares every entry of the recording with its raw values.
func TestRecorded(t *testing.T) {
	payload := recordings.Read(t, "feeds/ea-floods/floods-20160328.json")
	var raw struct {
		Items []struct {
			FloodAreaID, Description, TimeSeverityChanged, TimeMessageChanged string
			SeverityLevel                                                     int
		}
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		t.Fatal(err)
	}
	b, err := Parse(payload, now)
	if err != nil || !b.Whole || len(b.Rejects) > 0 || len(b.Reports) != len(raw.Items) {
		t.Fatalf("%v: %d reports of %d entries, %d rejects", err, len(b.Reports), len(raw.Items), len(b.Rejects))
	}
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i, e := range raw.Items {
		r := &b.Reports[i]
		start, errStart := time.ParseInLocation("2006-01-02T15:04:05", e.TimeSeverityChanged, zone)
		level := map[int]string{1: "WARNING", 2: "WATCH", 3: "ADVISORY", 4: "over"}[e.SeverityLevel]
		got := r.Severity.String()
		if r.Ended != "" {
			got = "over"
		}
		if count[got]++; errStart != nil || r.Key != e.FloodAreaID || got != level || !r.Start.Time().Equal(start) || r.Type != hazard.Flood || !strings.Contains(r.Name, e.Description) || len(r.Notes) > 0 {
			t.Errorf("%+v: %+v", e, r)
		}
	}
	if count["ADVISORY"] != 142 || count["WATCH"] != 28 || count["over"] != 1 {
		t.Errorf("%v", count)
	}
}

func TestPlaces(t *testing.T) {
	if got := PlaceURL("EA:122WAC954"); got != "https://environment.data.gov.uk/flood-monitoring/id/floodAreas/122WAC954/polygon" || PlaceURL("EA:../x") != "" || PlaceURL("122WAC954") != "" {
		t.Errorf("%q", got)
	}
	code, shape, name, err := ParsePlace([]byte(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[-0.2,54],[-0.1,54],[-0.1,54.1],[-0.2,54]]]},
		"properties":{"AREA":"Yorkshire","FWS_TACODE":"122WAC954","TA_NAME":"North Sea Coast at Bridlington"}}]}`))
	if err != nil || code != "EA:122WAC954" || name != "North Sea Coast at Bridlington" || !strings.Contains(string(shape), "Polygon") {
		t.Errorf("%q %s %q %v", code, shape, name, err)
	}
	if _, _, _, err := ParsePlace([]byte(`{"type":"FeatureCollection","features":[]}`)); err == nil {
		t.Error("no feature, and no error")
	}
}
