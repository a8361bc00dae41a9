package vigicrues

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// list is a list in the form of the publisher, with three stretches.
func list(levels ...any) string {
	var b bytes.Buffer
	for i, l := range levels {
		text, _ := json.Marshal(l)
		fmt.Fprintf(&b, `%s{"type":"Feature","properties":{"gid":%d,"CdEntCru":"LO%d","LbEntCru":"Loire moyenne %d","NivInfViCr":%s},"geometry":{"type":"MultiLineString","coordinates":[[[2.10,47.2%d],[2.13,47.3%d]],[[2.40,47.35],[2.45,47.40]]]}}`,
			strings.Repeat(",", min(i, 1)), i, i+1, i+1, text, i, i)
	}
	return `{"type":"FeatureCollection","features":[` + b.String() + `]}`
}

var laws = sourcetest.Source{
	Parse: Parse, Payload: []byte(list(2, 3, 4, 2)), At: "2021-01-24T08:00:00Z", List: "features",
	Needed: []string{"properties/CdEntCru"}, Decides: []string{"properties/NivInfViCr"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, list(1, "2", nil)) }

const now hazard.Instant = 1611475200000 // 2021-01-24T08:00:00Z

func TestLevels(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	b, err := Parse([]byte(list(1, "2", 3, 4, nil)), now)
	if err != nil || !b.Whole || !b.Current || len(b.Reports) != 4 || b.Ignored != 1 || len(b.Rejects) != 0 {
		t.Fatalf("%v: %+v", err, b)
	}
	for i, want := range []hazard.Severity{hazard.Advisory, hazard.Watch, hazard.Warning, hazard.Advisory} {
		r := b.Reports[i]
		if r.Severity != want || r.Key != fmt.Sprint("LO", i+2) || len(r.Areas) != 1 || (len(r.Notes) > 0) != (i == 3) {
			t.Errorf("%+v, want %v", r, want)
		}
	}
	shape, err := geo.ParseLoose([]byte(b.Reports[0].Areas[0].Geometry))
	if err != nil {
		t.Fatal(err)
	}
	reach := geo.NewReach(shape)
	for _, p := range [][2]float64{{2.1, 47.21}, {2.115, 47.26}, {2.13, 47.31}, {2.42, 47.37}, {2.45, 47.4}} { // along the line, and its ends
		if !reach.Holds(p[0], p[1]) {
			t.Errorf("%v is not in the area", p)
		}
	}
	if reach.Holds(2.25, 47.3) {
		t.Error("a place between two lines is in the area")
	}
	if b, err := Parse([]byte(`{"type":"FeatureCollection","features":[]}`), now); err != nil || b.Whole {
		t.Errorf("an empty list is whole, %v", err)
	}
}

// TestRecordedLevels makes a list of the recorded levels of all stretches, and compares the reports
// with them: 59 entries are yellow, of which 45 are stretches and the others territories.
func TestRecordedLevels(t *testing.T) {
	type info struct {
		Level  string `json:"vic:NivInfoVigiCru"`
		Entity struct {
			Code string `json:"vic:CdEntVigiCru"`
			Type string `json:"vic:TypEntVigiCru"`
		} `json:"vic:porteSurLEntite"`
		Below []json.RawMessage `json:"vic:estLaSyntheseDe"`
	}
	levels := map[string]string{}
	var walk func(raw []byte)
	walk = func(raw []byte) {
		var i info
		if err := json.Unmarshal(raw, &i); err != nil {
			t.Fatal(err)
		}
		if i.Entity.Type == "8" {
			levels[i.Entity.Code] = i.Level
		}
		for _, b := range i.Below {
			walk(b)
		}
	}
	var doc struct {
		Info json.RawMessage `json:"vic:InfoVigiCru"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/vigicrues/info-national-detail-20210124.json"), &doc); err != nil {
		t.Fatal(err)
	}
	walk(doc.Info)
	var names struct {
		Stretches []struct {
			Code string `json:"vic:CdEntVigiCru"`
			Name string `json:"vic:LbEntVigiCru"`
		} `json:"vic:TronEntVigiCru"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/vigicrues/stretches.json"), &names); err != nil {
		t.Fatal(err)
	}
	name := map[string]string{}
	var features []any
	for _, s := range names.Stretches {
		name[s.Code] = s.Name
		if levels[s.Code] != "" {
			features = append(features, map[string]any{"type": "Feature", "geometry": nil, "properties": map[string]string{"CdEntCru": s.Code, "LbEntCru": s.Name, "NivInfViCr": levels[s.Code]}})
		}
	}
	payload, err := json.Marshal(map[string]any{"type": "FeatureCollection", "features": features})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(payload, now)
	if err != nil || len(b.Rejects) > 0 || len(b.Reports)+b.Ignored != len(features) {
		t.Fatalf("%v, %d reports, %+v", err, len(b.Reports), b.Rejects)
	}
	for _, r := range b.Reports {
		if levels[r.Key] != "2" || r.Severity != hazard.Advisory || !strings.Contains(r.Name, strings.Join(strings.Fields(name[r.Key]), " ")) {
			t.Errorf("%+v, by the recording %s", r, levels[r.Key])
		}
	}
	t.Logf("%d stretches, %d yellow", len(features), len(b.Reports))
	if len(b.Reports) != 45 {
		t.Errorf("%d yellow stretches", len(b.Reports))
	}
}
