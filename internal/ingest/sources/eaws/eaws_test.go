package eaws

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "eaws-caaml/euregio-20190116.json", At: "2019-01-15T18:00:00Z", List: "bulletins",
	Needed: []string{"regions", "dangerRatings"}, Decides: []string{"dangerRatings/*/mainValue"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, `{"bulletins":[null,{},7,"`, `{"bulletins":[{"regions":[{"regionID":"AT-07-1"}],"dangerRatings":[{"mainValue":"high"}]}]}`)
}

// TestRecorded compares all bulletins of the recordings with their raw values: level, regions, start
// and end.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	checked := 0
	for file, want := range map[string][3]int{ // reports of levels 3, 4 and 5
		"eaws-caaml/euregio-20181227-ampm.json": {4, 0, 0}, "eaws-caaml/euregio-20190116.json": {3, 2, 0}, "eaws-caaml/euregio-20190117.json": {5, 0, 0},
		"eaws-caaml/euregio-20231127.json": {3, 0, 0}, "eaws-caaml/euregio-20231201-unscheduled.json": {4, 0, 0}, "eaws-caaml/euregio-20260413.json": {6, 1, 0},
		"eaws-caaml/slf-20231127.json": {3, 0, 0}, "eaws-caaml/slovakia-20231128.json": {0, 0, 0}, "eaws-caaml-other/euregio-20221220.json": {1, 0, 0},
		"eaws-caaml-other/euregio-20230314.json": {3, 0, 0}, "eaws-caaml-other/slf-20231219.json": {0, 0, 0}, "eaws-caaml-other/slovenia-20251120.json": {0, 0, 0},
	} {
		payload := recordings.Read(t, "feeds/"+file)
		var raw struct {
			Bulletins []struct {
				BulletinID      string
				PublicationTime *time.Time
				ValidTime       struct{ StartTime, EndTime time.Time }
				Regions         []struct{ RegionID string }
				DangerRatings   []struct{ MainValue string }
			}
		}
		if err := json.Unmarshal(payload, &raw); err != nil {
			t.Fatal(err)
		}
		b, err := Parse(payload, hazard.At(raw.Bulletins[0].ValidTime.StartTime))
		if err != nil || !b.Whole || len(b.Rejects) > 0 {
			t.Fatalf("%s: %v, %+v", file, err, b.Rejects)
		}
		var got [3]int
		for _, d := range raw.Bulletins {
			level := 0
			for _, r := range d.DangerRatings {
				level = max(level, slices.Index([]string{"", "low", "moderate", "considerable", "high", "very_high"}, r.MainValue))
			}
			regions := map[string]bool{}
			for _, r := range d.Regions {
				regions["EAWS:"+r.RegionID] = true
			}
			for _, r := range b.Reports {
				if !regions[r.Places[0]] {
					continue
				}
				checked++
				if level >= 3 {
					got[level-3]++
				}
				severity := map[int]hazard.Severity{3: hazard.Advisory, 4: hazard.Watch, 5: hazard.Warning}[level]
				if r.Severity != severity || r.Type != hazard.Avalanche || !r.Start.Time().Equal(d.ValidTime.StartTime) || !r.End.Time().Equal(d.ValidTime.EndTime) || len(r.Notes) > 0 {
					t.Errorf("%s %s: %+v, want %v", file, d.BulletinID, r, severity)
				}
				for _, p := range r.Places {
					if !regions[p] {
						t.Errorf("%s %s: %s is not a region of it", file, d.BulletinID, p)
					}
					delete(regions, p)
				}
			}
			if level >= 3 && len(regions) > 0 {
				t.Errorf("%s %s: no report for %v", file, d.BulletinID, regions)
			}
		}
		if got != want {
			t.Errorf("%s: %v reports of levels 3, 4 and 5, want %v", file, got, want)
		}
	}
	t.Logf("%d reports checked", checked)
}

func TestHeightAndTimeOfDay(t *testing.T) {
	doc := `{"bulletins":[{"bulletinID":"a","publicationTime":"2019-01-15T16:00:00Z","validTime":{"startTime":"2019-01-15T16:00:00Z","endTime":"2019-01-16T16:00:00Z"},
		"regions":[{"regionID":"IT-32-BZ-07","name":"Texel Mountains"},{"regionID":"AT-07-20","name":"Weißkugel Group"},{"regionID":"AT-07-18","name":"Ötztal"}],
		"dangerRatings":[{"mainValue":"considerable","validTimePeriod":"earlier"},{"mainValue":"high","validTimePeriod":"later","elevation":{"lowerBound":1600}},{"mainValue":%q,"elevation":{"upperBound":"treeline"}}],
		"avalancheProblems":[{"problemType":"wind_slab","aspects":["N","NE"],"elevation":{"lowerBound":"2000"}}],"highlights":"Fresh <b>snow</b>.<br/>Care."}]}`
	b, err := Parse(fmt.Appendf(nil, doc, "low"), laws.Now(t))
	if err != nil || len(b.Reports) != 2 {
		t.Fatalf("%v: %+v", err, b)
	}
	r := b.Reports[0]
	if r.Key != "AT-07-18" || r.Severity != hazard.Watch || r.Name != "Avalanche danger 4 High - Weißkugel Group; Ötztal, Tyrol, Austria" || !slices.Equal(r.Places, []string{"EAWS:AT-07-18", "EAWS:AT-07-20"}) ||
		!slices.Equal(r.Within, []string{"area:Tyrol"}) || r.Country != "AT" || b.Reports[1].Key != "IT-32-BZ-07" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"earlier in the day: 3 considerable; later in the day: 4 high above 1600 m; 1 low below the tree line", "wind slab above 2000 m facing N, NE", "Fresh snow.\nCare."} {
		if !strings.Contains(r.Description, want) {
			t.Errorf("%q is not in %q", want, r.Description)
		}
	}
	if b, _ := Parse([]byte(strings.Replace(fmt.Sprintf(doc, "extreme"), `"high"`, `"moderate"`, 1)), laws.Now(t)); len(b.Reports) != 2 || len(b.Reports[0].Notes) != 1 || b.Reports[0].Severity != hazard.Advisory {
		t.Errorf("%+v", b)
	}
}
