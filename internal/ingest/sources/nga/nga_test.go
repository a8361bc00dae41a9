package nga

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const file = "nga-msi/broadcast-warn-202304.json"

var laws = sourcetest.Source{
	Parse: Parse, File: file, At: "2023-04-17T14:00:00Z", List: "broadcast-warn",
	Needed: []string{"navArea", "msgYear", "msgNumber", "text"}, Decides: []string{"text", "issueDate"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `{"broadcast-warn":[null,{},7,"`) }

func TestPlaces(t *testing.T) {
	for text, want := range map[string]struct {
		first geo.Position
		areas int
		holds geo.Position
	}{
		"DERELICT S/V ADRIFT IN 46-01.20S 036-34.00W.": {first: geo.Position{-36.566667, -46.02}},
		"LIGHT 22-07-05N 091-23-50W UNLIT.":            {first: geo.Position{-91.397222, 22.118056}},
		"IN AREA BOUND BY 37-27.00N 026-17.00E, 37-08.50N 026-27.50E, 37-05.00N 026-09.00E, 37-24.00N 026-00.00E. 2. CANCEL THIS MSG 010001Z JAN 24.": {
			geo.Position{26.283333, 37.45}, 1, geo.Position{26.2, 37.25}},
		"IN AREAS BOUND BY: A. 34-40N 121-26W, 34-40N 120-54W, 34-46N 120-37W. B. 34-16N 125-09W, 34-33N 125-12W, 34-53N 122-22W.": {
			geo.Position{-121.433333, 34.666667}, 2, geo.Position{-124.2, 34.5}},
		"FIRING WITHIN FIVE MILES OF 10-00N 020-00E":                                                                         {geo.Position{20, 10}, 1, geo.Position{20.08, 10}},
		"AREA BOUND BY 10-00N 179-00E, 10-00N 179-00W, 12-00N 179-00W, 12-00N 179-00E":                                       {geo.Position{179, 10}, 1, geo.Position{-179.5, 11}},
		"AREA BOUND BY 10-00N 020-00E, 11-00N 021-00E, 11-00N 020-00E. WRECK IN 50-00N 020-00E":                              {geo.Position{20, 10}, 1, geo.Position{20.3, 10.8}},
		"FIRING IN AREAS WITHIN TWO MILES OF: A. 12-33.00S 045-10.00E. B. 13-33.00S 045-10.00E. 2. WRECK IN 50-00N 020-00E.": {geo.Position{45.166667, -12.55}, 2, geo.Position{45.17, -13.56}},
		"NO POSITION 12-34": {},
	} {
		first, areas := places(text)
		if (first != nil) != (want.first != geo.Position{}) || len(areas) != want.areas {
			t.Errorf("%s: %v, %d areas", text, first, len(areas))
			continue
		}
		if first != nil && (math.Abs(first[0]-want.first[0]) > 1e-5 || math.Abs(first[1]-want.first[1]) > 1e-5) {
			t.Errorf("%s: %v, want %v", text, *first, want.first)
		}
		if want.areas > 0 {
			if whole, err := geo.Union(areas...); err != nil || !geo.NewReach(whole).Holds(want.holds[0], want.holds[1]) || geo.NewReach(whole).Holds(20, 50) {
				t.Errorf("%s: %v, %s", text, err, whole.GeoJSON())
			}
		}
	}
}

// TestRecorded shows what becomes of the 454 recorded messages, and checks the identity, the start and
// the end of each hazard against its raw values.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	payload := recordings.Read(t, "feeds/"+file)
	b, err := Parse(payload, laws.Now(t))
	if err != nil || !b.Whole || len(b.Rejects) > 0 {
		t.Fatalf("%v: %+v", err, b.Rejects)
	}
	var raw struct {
		All []struct {
			NavArea, IssueDate, Text string
			MsgYear, MsgNumber       int
		} `json:"broadcast-warn"`
	}
	if err := json.Unmarshal(payload, &raw); err != nil {
		t.Fatal(err)
	}
	byKey := map[string]int{}
	for i, m := range raw.All {
		byKey[fmt.Sprintf("%s-%d-%d", m.NavArea, m.MsgNumber, m.MsgYear)] = i
	}
	kinds, levels, placed, ends := map[string]int{}, map[hazard.Severity]int{}, 0, 0
	for _, r := range b.Reports {
		m := raw.All[byKey[r.Key]]
		kinds[r.Level]++
		levels[r.Severity]++
		if start, err := time.Parse("021504Z Jan 2006", m.IssueDate); err != nil || !r.Start.Time().Equal(start) || r.Type != hazard.Marine || len(r.Notes) > 0 {
			t.Errorf("%s: %v %+v", m.Text, err, r)
		}
		if r.Point != nil || len(r.Areas) > 0 {
			placed++
		}
		if _, after, ok := strings.Cut(m.Text, "CANCEL THIS MSG "); ok {
			ends++
			if end, err := time.Parse("021504Z Jan 06", strings.TrimRight(strings.Join(strings.Fields(after), " "), ".")); err != nil || r.End == nil || !r.End.Time().Equal(end) {
				t.Errorf("%s: end %v, want %v (%v)", m.Text, r.End, end, err)
			}
		}
	}
	if len(b.Reports) != 70 || placed != 70 || ends != 46 || levels[hazard.Advisory] != 48 || levels[hazard.Watch] != 5 || levels[hazard.Information] != 17 {
		t.Error("another number of hazards")
	}
	t.Logf("%d of %d are hazards: %v, %v; %d placed, %d with an end", len(b.Reports), b.Read, kinds, levels, placed, ends)
}

// TestAreasAreThoseOfTheAgency compares areas with those that the agency drew itself, in its daily map
// of June 2018: each corner of its rings lies in the area, or at its edge.
func TestAreasAreThoseOfTheAgency(t *testing.T) {
	var doc struct {
		Features []struct {
			Properties struct{ Name, Description string }
			Geometry   json.RawMessage
		}
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/nga-msi/derived-navwarn-kml-20180629.geojson"), &doc); err != nil {
		t.Fatal(err)
	}
	messages, corners, wrong := 0, 0, 0
	for _, f := range doc.Features {
		text := oneLine(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(f.Properties.Description, " "))
		var drawn struct {
			Geometries []struct {
				Type        string
				Coordinates json.RawMessage
			}
		}
		_, areas := places(text)
		if json.Unmarshal(f.Geometry, &drawn) != nil || len(areas) == 0 || !bound.MatchString(text) {
			continue
		}
		whole, err := geo.Union(areas...)
		if err != nil {
			t.Fatal(err)
		}
		reach := geo.NewReach(whole)
		for _, g := range drawn.Geometries {
			var line [][]float64
			if g.Type != "LineString" || json.Unmarshal(g.Coordinates, &line) != nil {
				continue
			}
			messages++
			for _, at := range line {
				corners++
				if _, far := reach.Distance(at[0], at[1], 500); far {
					wrong++
					t.Logf("%s: %v is not in %s", f.Properties.Name, at, text)
				}
			}
		}
	}
	t.Logf("%d messages, %d corners, %d of them elsewhere", messages, corners, wrong)
	if messages < 20 || wrong*50 > corners {
		t.Errorf("%d of %d corners are elsewhere", wrong, corners)
	}
}

// A message that another one cancels is no hazard, and the answer says why.
func TestCancelledByAnother(t *testing.T) {
	list := `{"broadcast-warn":[{"navArea":"A","msgYear":2023,"msgNumber":812,"issueDate":"150429Z APR 2023","text":"DERELICT ADRIFT IN\n46-01.20S 036-34.00W."},
		{"navArea":"A","msgYear":2023,"msgNumber":822,"issueDate":"161427Z APR 2023","text":"1. DERELICT ADRIFT IN 46-01.20S 036-34.00W.\n2. CANCEL\n   HYDROLANT 812/23."}]}`
	b, err := Parse([]byte(list), laws.Now(t))
	if err != nil || len(b.Reports) != 1 || b.Reports[0].Key != "A-822-2023" || b.Ignored != 1 || b.Ignores[0].Record != "A-812-2023" {
		t.Errorf("%v: %+v", err, b)
	}
}
