package emsc

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// now is the time in the tests; their events are a few hours older.
var now = instant("2025-04-23T15:00:00Z")

func instant(s string) hazard.Instant {
	at, _, err := lenient.Time(s, nil)
	if err != nil {
		panic(err)
	}
	return at
}

// quakeText returns a valid feature, with some parts replaced.
func quakeText(replace ...string) string {
	doc := `{"type":"Feature","geometry":{"type":"Point","coordinates":[28.23,40.88,-12.7]},"id":"20250423_0000124",` +
		`"properties":{"source_id":"1797903","source_catalog":"EMSC-RTS","lastupdate":"2025-04-23T10:12:01.302931Z",` +
		`"time":"2025-04-23T09:49:10.9Z","flynn_region":"WESTERN TURKEY","lat":40.88,"lon":28.23,"depth":12.7,"evtype":"ke",` +
		`"auth":"EMSC","mag":5.2,"magtype":"mw","unid":"20250423_0000124"}}`
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(doc, replace[i]) {
			panic("nothing to replace: " + replace[i])
		}
		doc = strings.ReplaceAll(doc, replace[i], replace[i+1])
	}
	return doc
}

func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","metadata":{"count":1},"features":[` + strings.Join(features, ",") + `]}`)
}

// one reads a payload that must make one report.
func one(t testing.TB, payload []byte) hazard.Report {
	t.Helper()
	batch, err := Parse(payload, now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Rejects) != 0 || batch.Read != 1 {
		t.Fatalf("error %v, batch %+v; want one report", err, batch)
	}
	checkReport(t, &batch.Reports[0])
	return batch.Reports[0]
}

func TestEveryRecordingIsRead(t *testing.T) {
	test.NoRace(t)
	type counts struct{ Read, Ignored, Rejected, Held, Minor, Information, Advisory, Watch int }
	for name, tt := range map[string]struct {
		at   string
		want counts
	}{
		"fdsn-turkey-202504.json":        {"2025-04-26T14:00:00Z", counts{Read: 430, Minor: 421, Information: 5, Advisory: 3, Watch: 1}},
		"seismicportal-20210419.geojson": {"2021-04-19T14:06:00Z", counts{Read: 10, Minor: 8, Information: 1, Advisory: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(recordings.Read(t, "feeds/emsc/"+name), instant(tt.at))
			if err != nil || batch.Whole {
				t.Fatalf("error %v, whole %v", err, batch.Whole)
			}
			got := counts{Read: batch.Read, Ignored: batch.Ignored, Rejected: len(batch.Rejects)}
			keys := map[string]bool{}
			for i := range batch.Reports {
				r := &batch.Reports[i]
				checkReport(t, r)
				if keys[r.Key] {
					t.Errorf("%s twice", r.Key)
				}
				keys[r.Key] = true
				switch {
				case r.Suspect != "":
					t.Errorf("%s is held: %s", r.Key, r.Suspect)
					got.Held++
				case r.Minor:
					got.Minor++
				case r.Severity == hazard.Information:
					got.Information++
				case r.Severity == hazard.Advisory:
					got.Advisory++
				case r.Severity == hazard.Watch:
					got.Watch++
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// The same quake has two unids. The source cannot decide which of them is right.
func TestDuplicatesOfOneQuakeStayReportsOfTheirOwn(t *testing.T) {
	batch, err := Parse(recordings.Read(t, "feeds/emsc/"+"fdsn-turkey-202504.json"), instant("2025-04-26T14:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for i, a := range batch.Reports {
		for _, b := range batch.Reports[i+1:] {
			if max(a.Start, b.Start)-min(a.Start, b.Start) < 3000 && near(a.Point, b.Point) {
				pairs++
				if a.Key == b.Key || slices.Contains(a.Aliases, b.Key) || slices.Contains(a.Refs, "emsc:"+b.Key) {
					t.Errorf("%s and %s are joined", a.Key, b.Key)
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("no duplicates in the recording")
	}
}

func TestAReportSaysWhatTheRecordSays(t *testing.T) {
	want := hazard.Report{
		Source: "emsc", Key: "20250423_0000124", Version: 1745403121302, Name: "M 5.2 Earthquake - Western Turkey",
		Description: "Magnitude 5.2 (mw), Western Turkey.\nDepth: 12.7 km.\nTime: 2025-04-23 09:49:10 UTC.\nReported by EMSC as 20250423_0000124.",
		Type:        hazard.Earthquake, Severity: hazard.Advisory, Category: hazard.Event, Start: 1745401750900, LifeMS: 24 * 3600 * 1000,
		Point: &hazard.Point{Lon: 28.23, Lat: 40.88}, Refs: []string{"emsc:20250423_0000124"},
		Measurements: []hazard.Measurement{{Name: hazard.Depth, Value: 12.7}, {Name: hazard.Magnitude, Value: 5.2, Scale: "mw"}},
		URL:          "https://www.seismicportal.eu/eventdetails.html?unid=20250423_0000124",
		Comment:      "emsc:20250423_0000124", Creator: "EMSC",
		Products: []hazard.ReportProduct{
			{Key: "emsc", Title: "EMSC", Type: hazard.FolderProduct, Time: 1745401750900},
			{Key: "event", Parent: "emsc", Title: "Event page", Type: hazard.URLProduct, Time: 1745401750900,
				Data: "https://www.seismicportal.eu/eventdetails.html?unid=20250423_0000124"},
			{Key: "information", Parent: "emsc", Title: "Earthquake information and felt reports", Type: hazard.URLProduct, Time: 1745401750900,
				Data: "https://www.emsc-csem.org/Earthquake_information/earthquake.php?id=1797903"},
		},
	}
	for name, payload := range map[string]string{
		"in a list":                  string(collection(quakeText())),
		"alone":                      quakeText(),
		"created, on the web socket": `{"action":"create","data":` + quakeText() + `}`,
		"updated, on the web socket": `{"action":"update","data":` + quakeText() + "}\n",
	} {
		if diff := cmp.Diff(want, one(t, []byte(payload))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSeverity(t *testing.T) {
	for name, tt := range map[string]struct {
		mag, depth string
		severity   hazard.Severity
		minor      bool
		hours      int64
	}{
		"great and shallow":             {"7.0", "99.9", hazard.Warning, false, 72},
		"great, depth not known":        {"7.8", "null", hazard.Warning, false, 72},
		"great and deep":                {"7.8", "100", hazard.Watch, false, 24},
		"M 6":                           {"6.0", "10", hazard.Watch, false, 24},
		"M 5":                           {"5.0", "10", hazard.Advisory, false, 24},
		"M 4.5":                         {"4.5", "10", hazard.Information, false, 24},
		"M 4.4 that was above it":       {"4.4", "10", hazard.Information, true, 24},
		"below zero":                    {"-0.3", "10", hazard.Information, true, 24},
		"no magnitude yet":              {"null", "10", hazard.Information, true, 24},
		"a magnitude written as string": {`"6.1"`, "10", hazard.Watch, false, 24},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(t, collection(quakeText(`"mag":5.2`, `"mag":`+tt.mag, `"depth":12.7`, `"depth":`+tt.depth, `,-12.7]`, `]`)))
			if r.Severity != tt.severity || r.Minor != tt.minor || r.LifeMS != tt.hours*3600*1000 {
				t.Errorf("%v, minor %v, life %d h", r.Severity, r.Minor, r.LifeMS/3600/1000)
			}
		})
	}
}

func TestWhatIsNoEarthquakeIsWithdrawn(t *testing.T) {
	for code, want := range map[string]struct{ withdrawn, noted bool }{
		"ke": {}, "se": {}, "KE": {}, "fe": {}, "de": {},
		"km": {withdrawn: true}, "sm": {withdrawn: true}, "kh": {withdrawn: true}, "kx": {withdrawn: true}, "sn": {withdrawn: true},
		"kr": {withdrawn: true}, "si": {withdrawn: true}, "ls": {withdrawn: true},
		"uk": {noted: true}, "": {noted: true}, "e": {noted: true}, "earthquake": {noted: true},
	} {
		r := one(t, collection(quakeText(`"ke"`, `"`+code+`"`)))
		if got := r.Ended == hazard.EndWithdrawn && r.Minor; got != want.withdrawn {
			t.Errorf("%s: ended %q, minor %v", code, r.Ended, r.Minor)
		}
		if got := len(r.Notes) == 1 && strings.Contains(r.Notes[0], "properties/evtype"); got != want.noted || r.Suspect != "" {
			t.Errorf("%s: notes %q, suspect %q", code, r.Notes, r.Suspect)
		}
	}
	if r := one(t, collection(quakeText(`"ke"`, `"km"`, `28.23`, `null`, `40.88`, `null`))); r.Ended != hazard.EndWithdrawn || r.Point != nil {
		t.Errorf("a blast without a place: %+v", r)
	}
}

func TestThePlace(t *testing.T) {
	point := func(lon, lat float64) *hazard.Point { return &hazard.Point{Lon: lon, Lat: lat} }
	for name, tt := range map[string]struct {
		replace []string
		want    *hazard.Point
		suspect string
		text    string // part of the description
	}{
		"depth is height in the geometry":       {[]string{`"depth":12.7,`, ``}, point(28.23, 40.88), "", "Depth: 12.7 km."},
		"above sea level":                       {[]string{`"depth":12.7`, `"depth":-1.2`}, point(28.23, 40.88), "", "Depth: 1.2 km above sea level."},
		"longitude and latitude exchanged":      {[]string{`[28.23,40.88,`, `[40.88,28.23,`}, point(28.23, 40.88), "", ""},
		"no geometry":                           {[]string{`"type":"Point","coordinates":[28.23,40.88,-12.7]`, ``}, point(28.23, 40.88), "", ""},
		"geometry null":                         {[]string{`{"type":"Point","coordinates":[28.23,40.88,-12.7]}`, `null`}, point(28.23, 40.88), "", ""},
		"geometry only":                         {[]string{`"lat":40.88,"lon":28.23,`, ``}, point(28.23, 40.88), "", ""},
		"not on Earth in the geometry":          {[]string{`[28.23,40.88,`, `[28.23,400.88,`}, point(28.23, 40.88), "", ""},
		"beyond the antimeridian":               {[]string{`28.23`, `180.5`}, point(-179.5, 40.88), "", ""},
		"on both sides of the antimeridian":     {[]string{`[28.23,`, `[179.99,`, `"lon":28.23`, `"lon":-179.99`}, point(179.99, 40.88), "", ""},
		"two places":                            {[]string{`[28.23,`, `[128.23,`}, point(128.23, 40.88), "geometry/coordinates", ""},
		"0, 0 without a region":                 {[]string{`28.23`, `0`, `40.88`, `0`, `"WESTERN TURKEY"`, `null`}, point(0, 0), "the position is 0, 0", ""},
		"0, 0 in a region":                      {[]string{`28.23`, `0`, `40.88`, `0`, `WESTERN TURKEY`, `OFF COAST OF CENTRAL AFRICA`}, point(0, 0), "", ""},
		"another network's solution":            {[]string{`"auth":"EMSC"`, `"auth":"AFAD"`}, point(28.23, 40.88), "", "Reported by EMSC with the solution of AFAD as 2025"},
		"only suspected":                        {[]string{`"ke"`, `"se"`}, point(28.23, 40.88), "", "Suspected, not confirmed"},
		"time in the future":                    {[]string{`"2025-04-23T09:49:10.9Z"`, `"2025-04-23T18:49:10.9Z"`}, point(28.23, 40.88), "properties/time", ""},
		"update in the future":                  {[]string{`"2025-04-23T10:12:01.302931Z"`, `"2026-04-23T10:12:01Z"`}, point(28.23, 40.88), "", ""},
		"update before the event":               {[]string{`"2025-04-23T10:12:01.302931Z"`, `"2024-04-23T10:12:01Z"`}, point(28.23, 40.88), "before the event", ""},
		"a time without a zone is UTC":          {[]string{`"2025-04-23T09:49:10.9Z"`, `"2025-04-23T09:49:10.9"`}, point(28.23, 40.88), "", "Time: 2025-04-23 09:49:10 UTC."},
		"a region that says that it is a drill": {[]string{`WESTERN TURKEY`, `EXERCISE AREA`}, point(28.23, 40.88), "says EXERCISE", ""},
		"a number where there is a string":      {[]string{`"1797903"`, `1797903`}, point(28.23, 40.88), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(t, collection(quakeText(tt.replace...)))
			if diff := cmp.Diff(tt.want, r.Point); diff != "" {
				t.Errorf("point (-want +got):\n%s", diff)
			}
			if (tt.suspect == "") != (r.Suspect == "") || !strings.Contains(r.Suspect, tt.suspect) {
				t.Errorf("suspect %q, want %q", r.Suspect, tt.suspect)
			}
			if !strings.Contains(r.Description, tt.text) {
				t.Errorf("description %q, want %q in it", r.Description, tt.text)
			}
		})
	}
}

func TestRegionsAreWrittenAsPeopleDo(t *testing.T) {
	for region, want := range map[string]string{
		"WESTERN TURKEY":                   "Western Turkey",
		"NEAR THE COAST OF WESTERN TURKEY": "Near the coast of Western Turkey",
		"DODECANESE IS.-TURKEY BORDER REG": "Dodecanese Is.-Turkey border reg",
		"GEORGIA (SAK'ART'VELO)":           "Georgia (Sak'art'velo)",
		"OFFSHORE O'HIGGINS, CHILE":        "Offshore O'Higgins, Chile",
		"CANARY ISLANDS, SPAIN REGION":     "Canary Islands, Spain region",
		"U.S. VIRGIN ISLANDS":              "U.S. Virgin Islands",
		"Kamchatka Peninsula":              "Kamchatka Peninsula",
		" RÉUNION\u202e ,":                 "Réunion",
		"":                                 "",
	} {
		if got := readable(region); got != want {
			t.Errorf("%q: %q, want %q", region, got, want)
		}
	}
}

func TestAnotherNetworksIdIsAReference(t *testing.T) {
	for name, tt := range map[string]struct {
		replace []string
		want    []string
	}{
		"the centre's own number": {nil, []string{"emsc:20250423_0000124"}},
		"an id of USGS":           {[]string{`EMSC-RTS`, `USGS`, `1797903`, `US7000PUFS`}, []string{"emsc:20250423_0000124", "usgs:us7000pufs"}},
		"a number of USGS":        {[]string{`EMSC-RTS`, `USGS`}, []string{"emsc:20250423_0000124"}},
		"an unknown catalogue":    {[]string{`EMSC-RTS`, `ISC`, `1797903`, `us7000pufs`}, []string{"emsc:20250423_0000124"}},
	} {
		if got := one(t, collection(quakeText(tt.replace...))).Refs; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestARecordWithoutIdentityTimeOrPlaceIsRejected(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"empty":               {"{}", "features/0", "properties/unid: null or missing, expected an id of at most 64 letters and digits"},
		"two ids":             {quakeText(`"unid":"20250423_0000124"`, `"unid":"20250423_0000125"`), "20250423_0000125", "properties/unid: 20250423_0000125, expected the id of the record, 20250423_0000124"},
		"time in another way": {quakeText(`"2025-04-23T09:49:10.9Z"`, `"23/04/2025"`), "20250423_0000124", `properties/time: "23/04/2025", expected a time as in RFC 3339`},
		"no place":            {quakeText(`28.23`, `null`, `40.88`, `"nan"`), "20250423_0000124", "geometry: Point with 3 coordinates, expected a Point with longitude and latitude"},
		"a line":              {quakeText(`"Point"`, `"LineString"`, `"lat":40.88,`, ``), "20250423_0000124", "geometry: LineString with 3 coordinates, expected a Point with longitude and latitude"},
		"not on Earth":        {quakeText(`40.88`, `91`), "20250423_0000124", "geometry/coordinates: 28.23, 91, expected a longitude and a latitude"},
		"a member twice":      {quakeText(`"mag":5.2`, `"mag":5.2,"mag":7.2`), "20250423_0000124", "properties/mag: the member is there twice"},
	} {
		batch, err := Parse(collection(tt.bad), now)
		if err != nil || len(batch.Reports) != 0 || len(batch.Rejects) != 1 || batch.Rejects[0].Record != tt.record || batch.Rejects[0].Reason != tt.reason {
			t.Errorf("%s: error %v, %+v", name, err, batch)
		}
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for _, tt := range []struct{ record, note string }{
		{quakeText(`5.2`, `"five"`), `properties/mag: "five", expected a number`},
		{quakeText(`"2025-04-23T10:12:01.302931Z"`, `""`), `properties/lastupdate: "", expected a time as in RFC 3339`},
		{quakeText(`"ke"`, `"??"`), "properties/evtype: ??, expected the code of a kind of event such as ke"},
	} {
		if r := one(t, collection(tt.record)); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Suspect != "" {
			t.Errorf("notes %q, suspect %q; want the note %q", r.Notes, r.Suspect, tt.note)
		}
	}
}

func TestAMessageOfAnotherActionIsAnError(t *testing.T) {
	for _, payload := range []string{`{"action":"delete","data":{}}`, `{"action":7}`, `{"status":404,"title":"Not Found"}`} {
		if batch, err := Parse([]byte(payload), now); err == nil || batch.Read != 0 {
			t.Errorf("%s: error %v, %d read", payload, err, batch.Read)
		}
	}
}

func TestFeedsAreOfTheSourcesOwnHost(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://www.seismicportal.eu/") || f.Every <= 0 || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

var laws = sourcetest.Source{
	Parse: Parse, File: "emsc/fdsn-turkey-202504.json", At: "2025-04-26T14:00:00Z", List: "features",
	Needed: []string{"properties/time"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(collection(quakeText(), "7", quakeText(`5.2`, `NaN`))), string(collection(quakeText())[:300]), quakeText(),
		`{"action":"update","data":`+quakeText(`"ke"`, `"sm"`)+`}`)
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	check := func(ok bool, format string, args ...any) {
		if !ok {
			t.Errorf(r.Key+": "+format, args...)
		}
	}
	check(r.Source == Name && r.Part == "" && r.Type == hazard.Earthquake && r.Category == hazard.Event && r.End == nil, "source, part, type, category or end")
	check(r.Key != "" && eventID(r.Key) == r.Key, "key %q", r.Key)
	check(slices.Contains(r.Refs, "emsc:"+r.Key), "refs %v", r.Refs)
	check(r.Severity >= hazard.Information && r.Severity <= hazard.Warning, "severity %v", r.Severity)
	check(r.LifeMS == 24*3600*1000 || r.LifeMS == 72*3600*1000 && r.Severity == hazard.Warning, "life %d", r.LifeMS)
	check(r.Point != nil || r.Ended != "", "no point")
	check(r.Point == nil || r.Point.Lon >= -180 && r.Point.Lon <= 180 && r.Point.Lat >= -90 && r.Point.Lat <= 90, "point %v", r.Point)
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name), "name %q", r.Name)
	check(r.Description == hazard.Clean(r.Description), "description %q", r.Description)
	check(r.Comment == "emsc:"+r.Key && r.Creator == "EMSC", "comment %q, creator %q", r.Comment, r.Creator)
	check(strings.HasPrefix(r.URL, "https://www.seismicportal.eu/"), "url %q", r.URL)
	for i, p := range r.Products {
		check((i == 0) == (p.Type == hazard.FolderProduct) && p.Title != "" && (i == 0 || p.Parent == Name && strings.HasPrefix(p.Data, "https://")), "product %+v", p)
	}
}
