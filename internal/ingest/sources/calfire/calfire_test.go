package calfire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

var laws = sourcetest.Source{
	Parse: Parse, File: "calfire/derived-geojson-20260808.geojson", At: "2026-08-08T12:00:00Z", List: "features",
	Needed: []string{"properties/UniqueId", "properties/Longitude", "properties/Latitude", "properties/Public"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func TestLawsOfTheOlderList(t *testing.T) {
	needed := []string{"UniqueId", "Longitude", "Latitude", "Public"}
	sourcetest.Laws(t, sourcetest.Source{Parse: Parse, File: "calfire/map-20240618a.json", At: "2024-06-18T12:00:00Z", Needed: needed})
}

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, `{"type":"FeatureCollection","features":[null,{},7,"`, `{"Incidents":[null,{},7,"`, `[null,{},7,"`)
}

const now hazard.Instant = 1786190400000 // 2026-08-08T12:00:00Z

func TestRecordings(t *testing.T) {
	test.NoRace(t)
	for _, tt := range []struct {
		file                      string
		at                        hazard.Instant
		read, active, over, large int
	}{
		{"derived-geojson-20260808.geojson", now, 396, 12, 383, 1}, {"incidents-20210831.json", 1630411200000, 21, 21, 0, 4},
		{"map-20240616.json", 1718539200000, 11, 11, 0, 1}, {"map-20240522-empty.json", 1716379200000, 0, 0, 0, 0},
	} {
		b, err := Parse(recordings.Read(t, "feeds/calfire/"+tt.file), tt.at)
		if err != nil || len(b.Rejects) > 0 {
			t.Fatalf("%s: %v, %+v", tt.file, err, b.Rejects)
		}
		active, over, large := 0, 0, 0
		for _, r := range b.Reports {
			switch {
			case r.Ended != "":
				over++
			default:
				active++
				if r.Severity == hazard.Watch {
					large++
				}
			}
			if r.Suspect != "" || len(r.Notes) > 0 {
				t.Errorf("%s: %s: %s %q", tt.file, r.Name, r.Suspect, r.Notes)
			}
		}
		if b.Read != tt.read || active != tt.active || over != tt.over || large != tt.large {
			t.Errorf("%s: read %d, active %d, over %d, large %d", tt.file, b.Read, active, over, large)
		}
	}
}

func incident1(change ...string) string {
	text := `{"UniqueId":"2347b6fb-8468-46bb-9917-d5cea3f1efdd","Name":"Park Fire ","Type":"Wildfire","Location":"Cohasset Road","County":"Butte","AdminUnit":"CAL FIRE Butte Unit","Started":"2026-08-06T21:00:00Z",` +
		`"Updated":"2026-08-07T21:00:00Z","AcresBurned":12000.04,"PercentContained":3,"Longitude":-121.8,"Latitude":39.8,"Url":"https://www.fire.ca.gov/incidents/2026/8/6/park-fire/","IsActive":true,"Final":false}`
	return `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":` + strings.NewReplacer(change...).Replace(text) + `}]}`
}

func TestIncidents(t *testing.T) {
	for name, tt := range map[string]struct {
		change []string
		want   string // severity, end, notes; empty if it is ignored
		reject string
	}{
		"as it is":                 {nil, "WATCH  0", ""},
		"small":                    {[]string{"12000.04", "40"}, "INFORMATION  0", ""},
		"of no known size":         {[]string{"12000.04", "null"}, "INFORMATION  0", ""},
		"an impossible share":      {[]string{`ntContained":3`, `ntContained":300`}, "WATCH  1", ""},
		"over":                     {[]string{`"IsActive":true`, `"IsActive":"False"`}, "WATCH ALL_CLEAR 0", ""},
		"final":                    {[]string{`"IsActive":true,"Final":false`, `"Final":true`}, "WATCH ALL_CLEAR 0", ""},
		"nobody says that it ends": {[]string{`"IsActive":true,"Final":false`, `"IsActive":"perhaps"`}, "WATCH  1", ""},
		"of an unknown type":       {[]string{"Wildfire", "Vegetation"}, "WATCH  0", ""},
		"without a type":           {[]string{`"Wildfire"`, "null"}, "WATCH  0", ""},
		"no wildfire":              {[]string{"Wildfire", "hazmat"}, "", ""},
		"not public":               {[]string{`"Final"`, `"Public":false,"Final"`}, "", ""},
		"perhaps not public":       {[]string{`"Final"`, `"Public":"no","Final"`}, "", "Public"},
		"without a place":          {[]string{"-121.8", "0", "39.8", "0"}, "WATCH  1", ""}, // the county
		"without a county":         {[]string{"-121.8", "0", "39.8", "0", `"Butte"`, `"Nowhere"`}, "", "Longitude"},
		"a blank in a coordinate":  {[]string{"-121.8", `" -121.8 "`}, "WATCH  0", ""},
		"without an id":            {[]string{"2347b6fb", "x"}, "", "UniqueId"},
		"without times":            {[]string{"2026-08-06T21:00:00Z", "", "2026-08-07T21:00:00Z", "soon"}, "WATCH  2", ""},
	} {
		b, err := Parse([]byte(incident1(tt.change...)), now)
		if err != nil || b.Read != 1 {
			t.Fatalf("%s: %v, %+v", name, err, b)
		}
		got := ""
		for _, r := range b.Reports {
			end := ""
			if r.Ended != "" {
				end = "ALL_CLEAR"
			}
			got = fmt.Sprint(r.Severity, " ", end, " ", len(r.Notes))
			if r.Name != "Wildfire - Park Fire, Butte County, California" || r.URL != "https://www.fire.ca.gov/incidents/2026/8/6/park-fire/" || r.Suspect != "" {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if got != tt.want || (tt.reject != "") != (len(b.Rejects) == 1) || tt.reject != "" && !strings.Contains(b.Rejects[0].Reason, tt.reject) {
			t.Errorf("%s: %q, rejects %+v; want %q, %q", name, got, b.Rejects, tt.want, tt.reject)
		}
	}
}

func TestPagesAreTheDepartments(t *testing.T) {
	for address, want := range map[string]string{
		"/incidents/2024/6/15/park-fire/": site + "/incidents/2024/6/15/park-fire/", "https://evil.example/": site + "/incidents", "javascript:alert(1)": site + "/incidents", "": site + "/incidents",
	} {
		if got := page(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
