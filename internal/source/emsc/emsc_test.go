package emsc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/source"
)

// now is the time of the tests; the events that they make are some hours older.
var now = instant("2025-04-23T15:00:00Z")

func instant(s string) hazard.Instant {
	at, ok := parseTime(s)
	if !ok {
		panic(s)
	}
	return at
}

// quakeText is a feature that can be read, with some parts replaced.
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

func recording(t testing.TB, name string) []byte {
	t.Helper()
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set: no recordings to read")
	}
	payload, err := os.ReadFile(filepath.Join(shared, "feeds", Name, name))
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestEveryRecordingIsRead(t *testing.T) {
	type counts struct{ Read, Ignored, Rejected, Held, Minor, Information, Advisory, Watch int }
	for name, tt := range map[string]struct {
		at   string
		want counts
	}{
		"fdsn-turkey-202504.json":        {"2025-04-26T14:00:00Z", counts{Read: 430, Minor: 421, Information: 5, Advisory: 3, Watch: 1}},
		"seismicportal-20210419.geojson": {"2021-04-19T14:06:00Z", counts{Read: 10, Minor: 8, Information: 1, Advisory: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(recording(t, name), instant(tt.at))
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

// The same quake under two unids: which of them is the one is not for this source to say.
func TestDuplicatesOfOneQuakeStayReportsOfTheirOwn(t *testing.T) {
	batch, err := Parse(recording(t, "fdsn-turkey-202504.json"), instant("2025-04-26T14:00:00Z"))
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
		URL:     "https://www.seismicportal.eu/eventdetails.html?unid=20250423_0000124",
		Comment: "emsc:20250423_0000124", Creator: "EMSC",
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
	for _, l := range levels {
		if l.basis == "" {
			t.Errorf("the row of M %v has no basis", l.mag)
		}
	}
}

func TestWhatIsNoEarthquakeIsWithdrawn(t *testing.T) {
	for code, want := range map[string]struct{ withdrawn, held bool }{
		"ke": {}, "se": {}, "KE": {}, "fe": {}, "de": {},
		"km": {withdrawn: true}, "sm": {withdrawn: true}, "kh": {withdrawn: true}, "kx": {withdrawn: true}, "sn": {withdrawn: true},
		"kr": {withdrawn: true}, "si": {withdrawn: true}, "ls": {withdrawn: true},
		"uk": {held: true}, "": {held: true}, "e": {held: true}, "earthquake": {held: true},
	} {
		r := one(t, collection(quakeText(`"ke"`, `"`+code+`"`)))
		if got := r.Ended == hazard.EndWithdrawn && r.Minor; got != want.withdrawn {
			t.Errorf("%s: ended %q, minor %v", code, r.Ended, r.Minor)
		}
		if got := strings.Contains(r.Suspect, "properties/evtype"); got != want.held {
			t.Errorf("%s: suspect %q", code, r.Suspect)
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
		text    string // in the description
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
		"0, 0 without a region":                 {[]string{`28.23`, `0`, `40.88`, `0`, `"WESTERN TURKEY"`, `null`}, point(0, 0), "geometry/coordinates are 0, 0", ""},
		"0, 0 in a region":                      {[]string{`28.23`, `0`, `40.88`, `0`, `WESTERN TURKEY`, `OFF COAST OF CENTRAL AFRICA`}, point(0, 0), "", ""},
		"another network's solution":            {[]string{`"auth":"EMSC"`, `"auth":"AFAD"`}, point(28.23, 40.88), "", "Reported by EMSC with the solution of AFAD as 2025"},
		"only suspected":                        {[]string{`"ke"`, `"se"`}, point(28.23, 40.88), "", "Suspected, not confirmed"},
		"time in the future":                    {[]string{`"2025-04-23T09:49:10.9Z"`, `"2025-04-23T18:49:10.9Z"`}, point(28.23, 40.88), "properties/time", ""},
		"update in the future":                  {[]string{`"2025-04-23T10:12:01.302931Z"`, `"2026-04-23T10:12:01Z"`}, point(28.23, 40.88), "properties/lastupdate", ""},
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

func TestABadRecordIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"a number":            {"7", "features/1", "7, expected an object"},
		"null":                {"null", "features/1", "null, expected an object"},
		"empty":               {"{}", "features/1", "properties/unid: null or missing, expected an id of at most 64 letters and digits"},
		"no unid, no id":      {quakeText(`20250423_0000124`, `../x`), "features/1", "properties/unid: ../x, expected an id of at most 64 letters and digits"},
		"two ids":             {quakeText(`"unid":"20250423_0000124"`, `"unid":"b"`), "b", "properties/unid: b, expected the id of the record, 20250423_0000124"},
		"magnitude in words":  {quakeText(`5.2`, `"five"`), "20250423_0000124", `properties/mag: "five", expected a number`},
		"a bare NaN":          {quakeText(`5.2`, `NaN`), "20250423_0000124", "properties/mag: not JSON at byte 346: invalid character 'N' at start of value"},
		"no time":             {quakeText(`"2025-04-23T09:49:10.9Z"`, `null`), "20250423_0000124", "properties/time: null or missing, expected a time of ISO 8601"},
		"time in another way": {quakeText(`"2025-04-23T09:49:10.9Z"`, `"23/04/2025"`), "20250423_0000124", "properties/time: 23/04/2025, expected a time of ISO 8601"},
		"no update":           {quakeText(`"2025-04-23T10:12:01.302931Z"`, `""`), "20250423_0000124", "properties/lastupdate: null or missing, expected a time of ISO 8601"},
		"no place":            {quakeText(`28.23`, `null`, `40.88`, `"nan"`), "20250423_0000124", "geometry: Point with 3 coordinates, expected a Point with longitude and latitude"},
		"a line":              {quakeText(`"Point"`, `"LineString"`, `"lat":40.88,`, ``), "20250423_0000124", "geometry: LineString with 3 coordinates, expected a Point with longitude and latitude"},
		"not on Earth":        {quakeText(`40.88`, `91`), "20250423_0000124", "geometry/coordinates: 28.23, 91, expected a longitude and a latitude"},
		"a member twice":      {quakeText(`"mag":5.2`, `"mag":5.2,"mag":7.2`), "20250423_0000124", "properties/mag: the member is there twice"},
		"coordinates of none": {quakeText(`[28.23,40.88,-12.7]`, `{"x":1}`), "20250423_0000124", "geometry/coordinates: {, expected an array"},
	} {
		t.Run(name, func(t *testing.T) {
			left, right := quakeText(`0000124`, `7`), quakeText(`0000124`, `8`)
			batch, err := Parse(collection(left, tt.bad, right), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 {
				t.Fatalf("error %v, read %d, reports %d, rejects %v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			got := batch.Rejects[0]
			if got.Record != tt.record || got.Reason != tt.reason {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
			if !bytes.Equal(got.Raw, []byte(tt.bad)) {
				t.Errorf("raw %q, want the record", got.Raw)
			}
		})
	}
}

func TestAPayloadThatIsNoListIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"empty (no earthquake fits a query)": {"", "an empty payload, expected GeoJSON", false},
		"HTML":                               {"\n<!DOCTYPE html><html>", "HTML or XML instead of GeoJSON: <!DOCTYPE html><html>", false},
		"a word":                             {"Error 400: Bad request", "Error 400: Bad request, expected a GeoJSON object", false},
		"nothing in it":                      {"{}", "type: missing, expected FeatureCollection or Feature", false},
		"no features":                        {`{"type":"FeatureCollection","features":null}`, "features: null, expected an array", false},
		"features of another document":       {`{"features":[` + quakeText() + `],"type":"Topology"}`, `type: "Topology", expected FeatureCollection or Feature`, false},
		"an unknown action":                  {`{"action":"delete","data":{}}`, `action: "delete", expected create or update`, false},
		"a complaint":                        {`{"detail":"Not Found"}`, `an error message instead of earthquakes: "Not Found"`, false},
		"two documents":                      {`{"type":"FeatureCollection","features":[]}{}`, "{} after the end of the document, at byte 42", false},
		"cut in a feature":                   {`{"type":"FeatureCollection","features":[{"id":"20`, "the payload ends early, after 49 bytes, in element 0 of an array", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || bad.Reason != tt.want || bad.Cut != tt.cut {
				t.Errorf("error %v, want %q, cut %v", err, tt.want, tt.cut)
			}
		})
	}
	if batch, err := Parse(collection(), now); err != nil || batch.Read != 0 || batch.Whole {
		t.Errorf("an empty list: error %v, %+v", err, batch)
	}
}

// A payload that was cut off says what it held before: every whole feature of it, and no other.
func TestAListCutOffAnywhereKeepsWhatCameBefore(t *testing.T) {
	payload := recording(t, "fdsn-turkey-202504.json")
	whole, _ := Parse(payload, now)
	var ends []int
	dec := json.NewDecoder(bytes.NewReader(payload))
	for token, err := dec.Token(); token != "features"; token, err = dec.Token() {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, err := dec.Token(); err == nil && dec.More(); {
		var skip json.RawMessage
		if err = dec.Decode(&skip); err == nil {
			ends = append(ends, int(dec.InputOffset()))
		}
	}
	step := 1 << 10
	if testing.Short() {
		step = 16 << 10
	}
	for n := step; n < len(payload)-2; n += step {
		batch, err := Parse(payload[:n], now)
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || !bad.Cut {
			t.Fatalf("cut at %d: error %v, want a PayloadError that says so", n, err)
		}
		if i, _ := slices.BinarySearch(ends, n+1); batch.Read != i || len(batch.Rejects) != 0 {
			t.Fatalf("cut at %d: read %d and rejected %d, want %d and none", n, batch.Read, len(batch.Rejects), i)
		}
		if n%(64<<10) == 0 {
			if diff := cmp.Diff(whole.Reports[:len(batch.Reports)], batch.Reports); diff != "" {
				t.Fatalf("cut at %d (-whole +cut):\n%s", n, diff)
			}
		}
	}
}

// However large the garbage, what is kept of it is bounded.
func TestGarbageIsBounded(t *testing.T) {
	size := 32 << 20
	if testing.Short() {
		size = 1 << 20
	}
	fill := func(before, unit, after string, size int) []byte {
		return slices.Concat([]byte(before), bytes.Repeat([]byte(unit), size/len(unit)), []byte(after))
	}
	const list = `{"type":"FeatureCollection","features":[`
	for name, payload := range map[string]func() []byte{
		"brackets":        func() []byte { return fill("", "[", "", size) },
		"nested features": func() []byte { return fill(list, "[", "", size) },
		"an open string":  func() []byte { return fill(list+`"`, `\\`, "", size) },
		"bytes":           func() []byte { return fill("{", "\xff\x00", "", size) },
		"empty records":   func() []byte { return fill(list, "{},", "{}]}", size/8) },
		"a region":        func() []byte { return []byte(quakeText("WESTERN", string(fill("", "X ", "", size/2)))) },
		"coordinates":     func() []byte { return []byte(quakeText(`-12.7`, string(fill("-12.7", ",1", "", size/8)))) },
	} {
		t.Run(name, func(t *testing.T) {
			doc := payload()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			batch, _ := Parse(doc, now)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2<<20 {
				t.Errorf("%d MB kept of %d MB", kept>>20, len(doc)>>20)
			}
			if len(batch.Rejects) > maxRejects+1 {
				t.Errorf("%d rejects", len(batch.Rejects))
			}
			runtime.KeepAlive(batch)
			runtime.KeepAlive(doc)
		})
	}
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		features := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return quakeText(
				`20250423_0000124`, fmt.Sprintf("20250423_%d", rapid.IntRange(1, 9).Draw(t, "id")),
				`"mag":5.2`, rapid.SampledFrom([]string{`"mag":3`, `"mag":5.2`, `"mag":7.7`, `"mag":"x"`}).Draw(t, "mag"),
				`"ke"`, rapid.SampledFrom([]string{`"ke"`, `"km"`, `"uk"`, `7`}).Draw(t, "type"),
			)
		}), 0, 8).Draw(t, "features")
		summary := func(features []string) []string {
			batch, err := Parse(collection(features...), now)
			if err != nil || batch.Read != len(features) || batch.Read != len(batch.Reports)+len(batch.Rejects) {
				t.Fatalf("error %v, batch %+v", err, batch)
			}
			var all []string
			for i := range batch.Reports {
				text, err := json.Marshal(batch.Reports[i])
				all = append(all, fmt.Sprint(string(text), err, batch.Reports[i].Suspect))
			}
			for _, r := range batch.Rejects {
				all = append(all, r.Record+": "+r.Reason)
			}
			slices.Sort(all)
			return all
		}
		if diff := cmp.Diff(summary(features), summary(rapid.Permutation(features).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
	})
}

func TestFeedsAreOfTheSourcesOwnHost(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://www.seismicportal.eu/") || f.Every <= 0 || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(collection(quakeText(), "7", quakeText(`5.2`, `NaN`)))
	f.Add(collection(quakeText())[:300])
	f.Add([]byte(quakeText()))
	f.Add([]byte(`{"action":"update","data":` + quakeText(`"ke"`, `"sm"`) + `}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		given := bytes.Clone(payload)
		batch, err := Parse(payload, now)
		if !bytes.Equal(given, payload) {
			t.Error("the payload was changed")
		}
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok || batch.Whole {
			t.Errorf("error %v, whole %v", err, batch.Whole)
		}
		for i := range batch.Reports {
			checkReport(t, &batch.Reports[i])
		}
		for _, r := range batch.Rejects {
			if r.Record == "" || r.Reason == "" || r.Record != hazard.CleanLine(r.Record) || r.Reason != hazard.CleanLine(r.Reason) {
				t.Errorf("reject %+v", r)
			}
			if len(r.Raw) > source.MaxKept || len(r.Reason) > 1000 {
				t.Errorf("reject of %d bytes, reason of %d", len(r.Raw), len(r.Reason))
			}
		}
	})
}

// checkReport checks what holds for every report.
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
