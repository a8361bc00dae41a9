package nhc

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// now is the time in the tests; their advisories are from the same hour.
var now = instant("2026-08-22T09:10:00Z")

func instant(s string) hazard.Instant {
	at, ok := parseTime(s)
	if !ok {
		panic(s)
	}
	return at
}

// stormText returns a valid storm of the list, with some parts replaced.
func stormText(replace ...string) string {
	return replaced(`{"id":"cp012026","binNumber":"CP2","name":"Lala","classification":"HU","intensity":"75","pressure":"976",`+
		`"latitude":"30.3N","longitude":"172.0W","latitudeNumeric":30.3,"longitudeNumeric":-172,"movementDir":325,"movementSpeed":14,`+
		`"lastUpdate":"2026-08-22T09:00:00.000Z","publicAdvisory":{"advNum":"040","issuance":"2026-08-22T09:00:00.000Z",`+
		`"fileUpdateTime":"2026-08-22T08:41:41.221Z","url":"https://www.nhc.noaa.gov/text/HFOTCPCP2.shtml"},"windWatchesWarnings":null,`+
		`"trackCone":{"advNum":"039","issuance":"2026-08-22T03:00:00.000Z","zipFile":"x","kmzFile":"https://www.nhc.noaa.gov/CP012026_039adv_CONE.kmz"}}`, replace)
}

func listOf(storms ...string) []byte {
	return []byte(`{"activeStorms":[` + strings.Join(storms, ",") + `]}`)
}

// rss returns the RSS of a basin with a storm, with some parts replaced.
func rss(replace ...string) []byte {
	return []byte(replaced(`<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:nhc="https://www.nhc.noaa.gov" version="2.0"><channel><title>NHC Atlantic</title>
<item><title>Summary for Tropical Storm Alex (AT1/AL012026)</title><guid isPermaLink="false">summary-al012026-202608220849</guid>
<pubDate>Sat, 22 Aug 2026 08:49:36 GMT</pubDate><link>https://www.nhc.noaa.gov/text/refresh/MIATCPAT1+shtml/220849.shtml</link>
<description>description</description><nhc:Cyclone><nhc:center>32.9, -68.1</nhc:center><nhc:type>Tropical Storm</nhc:type>
<nhc:name>Alex</nhc:name><nhc:wallet>AT1</nhc:wallet><nhc:atcf>AL012026</nhc:atcf><nhc:datetime>5:00 AM AST Sat Aug 22</nhc:datetime>
<nhc:movement>ENE at 28 mph</nhc:movement><nhc:pressure>986 mb</nhc:pressure><nhc:wind>70 mph</nhc:wind>
<nhc:headline> ...TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA...</nhc:headline></nhc:Cyclone></item>
<item><title>Tropical Storm Alex Graphics</title></item></channel></rss>`, replace))
}

// tcm returns the text of a forecast/advisory, with some parts replaced.
func tcm(replace ...string) []byte {
	return []byte(replaced(`WTPA22 PHFO 220845
TCMCP2

HURRICANE LALA FORECAST/ADVISORY NUMBER  40
NWS CENTRAL PACIFIC HURRICANE CENTER HONOLULU HI   CP012026
ISSUED BY NWS NATIONAL HURRICANE CENTER MIAMI FL
0900 UTC SAT AUG 22 2026

HURRICANE CENTER LOCATED NEAR 30.3N 172.0W AT 22/0900Z
PRESENT MOVEMENT TOWARD THE NORTHWEST OR 325 DEGREES AT  12 KT
ESTIMATED MINIMUM CENTRAL PRESSURE  976 MB
MAX SUSTAINED WINDS  75 KT WITH GUSTS TO  90 KT.
REPEAT...CENTER LOCATED NEAR 30.3N 172.0W AT 22/0900Z
FORECAST VALID 22/1800Z 31.0N 178.0W
FORECAST VALID 23/0600Z 32.0N 178.0E...POST-TROP/REMNT LOW
OUTLOOK VALID 24/0600Z...DISSIPATED
NEXT ADVISORY AT 22/1500Z
$$
FORECASTER X`, replace))
}

func replaced(doc string, replace []string) string {
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(doc, replace[i]) {
			panic("nothing to replace: " + replace[i])
		}
		doc = strings.ReplaceAll(doc, replace[i], replace[i+1])
	}
	return doc
}

// parse reads a payload that must be free of errors.
func parse(t testing.TB, payload []byte) source.Batch {
	t.Helper()
	batch, err := Parse(payload, now)
	if err != nil || len(batch.Rejects) != 0 {
		t.Fatalf("error %v, rejects %+v", err, batch.Rejects)
	}
	for i := range batch.Reports {
		checkReport(t, &batch.Reports[i])
	}
	return batch
}

// one reads a payload that must make one report of the storm, and possibly its track.
func one(t testing.TB, payload []byte) hazard.Report {
	t.Helper()
	batch := parse(t, payload)
	if len(batch.Reports) == 0 || len(batch.Reports) > 2 || batch.Reports[0].Places[0] != placeStorm {
		t.Fatalf("reports %+v, want one of a storm", batch.Reports)
	}
	return batch.Reports[0]
}

func TestEveryRecordingIsReadOrIgnoredForAReason(t *testing.T) {
	test.NoRace(t)
	type counts struct {
		Read, Storms, Tracks, Ignored, Rejected int
		Whole                                   bool
		Err                                     string
	}
	const hazards, jtwc = `the root element is "hazards", expected RSS`, "a message of the Joint Typhoon Warning Center (PGTW), expected one of the National Hurricane Center"
	text, public := counts{Read: 1, Storms: 1, Tracks: 1}, counts{Read: 1, Ignored: 1}
	want := map[string]counts{
		"nhc/CurrentStorms-20260822.json":                              {Read: 2, Storms: 2, Whole: true},
		"nhc/CurrentStorms-20260927.json":                              {Read: 2, Storms: 2, Whole: true},
		"nhc/index-at-20240902.xml":                                    {Read: 2, Ignored: 2, Whole: true}, // an outlook, and no storm
		"nhc/input_nhc1.xml":                                           {Read: 7, Storms: 2, Tracks: 1, Ignored: 5, Whole: true},
		"nhc/input_nhc2.xml":                                           {Read: 7, Storms: 1, Ignored: 6, Whole: true},
		"nhc/input_nhc_empty_feed.xml":                                 {Read: 1, Ignored: 1}, // no storm; a single item is not an RSS
		"nhc/item1.xml":                                                text,
		"nhc/item2.xml":                                                text,
		"nhc/item4.xml":                                                text,
		"nhc/item5.xml":                                                text,
		"nhc/item6.xml":                                                text,
		"nhc/item7.xml":                                                {Read: 1, Storms: 1}, // dissipating, so there is no forecast track
		"nhc/gtwo-20240902.xml":                                        {Read: 3, Ignored: 3},
		"nhc/gtwo-atlantic-all-clear.kml":                              {Read: 1, Ignored: 1},
		"nhc/gtwo-epacific-two-areas.kml":                              {Read: 1, Ignored: 1},
		"nhc/gtwo-epacific-with-track.kml":                             {Read: 1, Ignored: 1},
		"nhc/nhc-genesis-anchors.geojson":                              {Read: 3, Ignored: 3},
		"nhc/nhc-genesis-areas.geojson":                                {Read: 5, Ignored: 5},
		"nhc/outlook-*.txt":                                            {Read: 1, Ignored: 1},
		"nhc/bertha-al022026/fstadv-*":                                 text,
		"nhc/bertha-al022026/watch-*":                                  public, // excerpts of public advisories
		"nhc/ida-al092021/fstadv.*":                                    text,
		"nhc/ida-al092021/public.*":                                    public,
		"nhc/ida-al092021/gis-012/5day_lin.geojson":                    {Read: 1, Storms: 1, Tracks: 1},
		"nhc/ida-al092021/gis-012/5day_pts.geojson":                    {Read: 8, Storms: 1, Tracks: 1},
		"nhc/ida-al092021/gis-012/5day_pgn.geojson":                    {Read: 1, Ignored: 1}, // a cone
		"nhc/ida-al092021/gis-012/*forecastradii.geojson":              {Read: 10, Ignored: 10},
		"nhc/ida-al092021/gis-012/*initialradii.geojson":               {Read: 3, Ignored: 3},
		"nhc/ida-al092021/gis-012/ww_wwlin.geojson":                    {Read: 6, Ignored: 6},
		"nhc/lala-cp012026/cone-*":                                     {Read: 1, Ignored: 1},
		"nhc/lala-cp012026/forecast-points-*":                          {Read: 9, Storms: 1, Tracks: 1},
		"nhc/lala-cp012026/forecast-track-*":                           {Read: 1, Storms: 1, Tracks: 1},
		"nhc/lala-cp012026/past-points-038.geojson":                    {Read: 48, Ignored: 48},
		"nhc/lala-cp012026/past-track-038-doubled.geojson":             {Read: 14, Ignored: 14},
		"nhc/lala-cp012026/watch-warning-025.geojson":                  {Read: 2, Ignored: 2},
		"nhc/lala-cp012026/wind-current-038.geojson":                   {Read: 3, Ignored: 3},
		"nhc/lala-cp012026-overtaken/forecast-points-039.geojson":      {Read: 9, Storms: 1, Tracks: 1},
		"nhc/lala-cp012026-overtaken/forecast-track-039.geojson":       {Read: 1, Storms: 1, Tracks: 1},
		"nhc/lala-cp012026-overtaken/moke-forecast-points-004.geojson": {Read: 9, Storms: 1, Tracks: 1},
		"nhc/lala-cp012026-overtaken/moke-past-points-008.geojson":     {Read: 16, Ignored: 16},
		"nhc/lala-cp012026-overtaken/past-points-040.geojson":          {Read: 50, Ignored: 50},
		"nhc/lala-cp012026-overtaken/wind-current-039.geojson":         {Read: 3, Ignored: 3},
		"nhc/pdc-raw/*":                                                text,
		"nhc/pdc-parsed/*":                                             {Err: hazards}, // from another program
		"jtwc/*.txt":                                                   {Err: jtwc},
		"jtwc/pdc-raw/*":                                               {Err: jtwc},
		"jtwc/pdc-parsed/*":                                            {Err: hazards},
	}
	seen := map[string]bool{}
	for pattern, want := range want {
		files, err := filepath.Glob(filepath.Join(recordings.Path(t, "feeds"), pattern))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no recording: %v", pattern, err)
		}
		for _, file := range files {
			seen[file] = true
			payload, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			batch, err := Parse(payload, instant("2026-09-28T09:00:00Z"))
			got := counts{Read: batch.Read, Ignored: batch.Ignored, Rejected: len(batch.Rejects), Whole: batch.Whole}
			if err != nil {
				got.Err = err.Error()
			}
			for i := range batch.Reports {
				r := &batch.Reports[i]
				checkReport(t, r)
				if r.Suspect != "" {
					t.Errorf("%s: %s is held: %s", file, r.Key, r.Suspect)
				}
				if r.Places[0] == placeTrack {
					got.Tracks++
				} else {
					got.Storms++
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: counts (-want +got):\n%s", file, diff)
			}
		}
	}
	for _, folder := range []string{"nhc", "jtwc"} {
		err := filepath.WalkDir(filepath.Join(recordings.Path(t, "feeds"), folder), func(file string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !seen[file] {
				t.Errorf("%s is not in the table", file)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAStormOfTheList(t *testing.T) {
	start := instant("2026-08-22T09:00:00Z")
	want := hazard.Report{
		Source: "nhc", Key: "cp012026", Part: "list/40", Version: int64(start), Name: "Hurricane Lala",
		Description: "Center near 30.3 N, 172.0 W, moving northwest (325°).\nMaximum sustained winds: 75 kt (140 km/h).\n" +
			"Minimum central pressure: 976 hPa.\nClassified Hurricane by the National Hurricane Center, advisory 40, 2026-08-22 09:00 UTC. " +
			"Basin: Central Pacific. ATCF: CP012026.",
		Type: hazard.Cyclone, Severity: hazard.Warning, Category: hazard.Event, Start: start, LifeMS: 24 * 3600 * 1000,
		Point: &hazard.Point{Lon: -172, Lat: 30.3}, Places: []string{"storm"}, Refs: []string{"atcf:CP012026"}, Called: "Lala", Level: "Hurricane",
		Measurements: []hazard.Measurement{{Name: hazard.Pressure, Value: 976}, {Name: hazard.Wind, Value: 138.9}},
		URL:          "https://www.nhc.noaa.gov/", Comment: "nhc:cp012026", Creator: "NHC",
		Products: []hazard.ReportProduct{
			{Key: "nhc", Title: "NHC", Type: hazard.FolderProduct, Time: start},
			{Key: "public-advisory", Parent: "nhc", Title: "Public advisory", Type: hazard.URLProduct, Time: start, Comment: "Advisory 40",
				Data: "https://www.nhc.noaa.gov/text/HFOTCPCP2.shtml"},
			{Key: "cone", Parent: "nhc", Title: "Forecast cone (KMZ)", Type: hazard.URLProduct, Time: instant("2026-08-22T03:00:00Z"),
				Comment: "Advisory 39", Data: "https://www.nhc.noaa.gov/CP012026_039adv_CONE.kmz"},
		},
	}
	if diff := cmp.Diff(want, one(t, listOf(stormText()))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAStormOfTheRSS(t *testing.T) {
	batch := parse(t, rss())
	if len(batch.Reports) != 1 || batch.Read != 2 || batch.Ignored != 1 || !batch.Whole {
		t.Fatalf("%+v", batch)
	}
	r := batch.Reports[0]
	want := "TROPICAL STORM CONDITIONS HAVE BEGUN ON BERMUDA\nCenter near 32.9 N, 68.1 W, moving ENE at 28 mph.\n" +
		"Maximum sustained winds: 60 kt (110 km/h).\nMinimum central pressure: 986 hPa.\n" +
		"Classified Tropical Storm by the National Hurricane Center, 2026-08-22 08:49 UTC. Basin: Atlantic. ATCF: AL012026."
	if r.Key != "al012026" || r.Part != "rss/202608220849" || r.Severity != hazard.Watch || r.Name != "Tropical Storm Alex" || r.Version != int64(instant("2026-08-22T08:49:36Z")) ||
		len(r.Products) != 2 || r.URL != "https://www.nhc.noaa.gov/text/refresh/MIATCPAT1+shtml/220849.shtml" || r.Suspect != "" {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(want, r.Description); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestAForecastAdvisoryHasATrackThatIsCutAtTheAntimeridian(t *testing.T) {
	batch := parse(t, tcm())
	if len(batch.Reports) != 2 || batch.Whole {
		t.Fatalf("%+v", batch)
	}
	storm, track := batch.Reports[0], batch.Reports[1]
	if storm.Part != "text/40" || storm.Severity != hazard.Warning || storm.Version != int64(now-600_000)-1 || len(storm.Areas) != 0 ||
		!strings.Contains(storm.Description, "moving northwest (325°) at 12 kt") || !strings.Contains(storm.Description, "75 kt (140 km/h), gusts to 90 kt.") {
		t.Errorf("storm %+v", storm)
	}
	want := []hazard.Area{{Role: hazard.TrackArea, Geometry: `{"type":"MultiLineString","coordinates":[[[-172,30.3],[-178,31],[-180,31.5]],[[180,31.5],[178,32]]]}`}}
	if diff := cmp.Diff(want, track.Areas); diff != "" || track.Part != "text/40/track" || track.Version >= storm.Version || !slices.Equal(track.Places, []string{"track"}) {
		t.Errorf("track %+v\n%s", track, diff)
	}
	flat := []byte(strings.Join(strings.Fields(string(tcm())), " ")) // on one line, as in some RSS
	if diff := cmp.Diff(batch, parse(t, flat)); diff != "" {
		t.Errorf("on one line (-as sent +on one line):\n%s", diff)
	}
	if r := one(t, tcm("NEXT ADVISORY AT 22/1500Z", "THIS IS THE LAST FORECAST/ADVISORY ISSUED BY THE NATIONAL HURRICANE\nCENTER ON THIS SYSTEM")); !strings.Contains(r.Description, "This is the last advisory") || r.Ended != "" {
		t.Errorf("the last advisory: %+v", r)
	}
}

func TestLevels(t *testing.T) {
	for name, tt := range map[string]struct {
		replace  []string
		severity hazard.Severity
		level    string
	}{
		"64 kt":                             {[]string{`"75"`, `"64"`}, hazard.Warning, "Hurricane"},
		"63 kt":                             {[]string{`"75"`, `"63"`, `"HU"`, `"TS"`}, hazard.Watch, "Tropical Storm"},
		"34 kt":                             {[]string{`"75"`, `"34"`, `"HU"`, `"STS"`}, hazard.Watch, "Subtropical Storm"},
		"33 kt":                             {[]string{`"75"`, `33`, `"HU"`, `"TD"`}, hazard.Advisory, "Tropical Depression"},
		"post-tropical, 75 kt (D24)":        {[]string{`"HU"`, `"PTC"`}, hazard.Warning, "Post-Tropical Cyclone"},
		"post-tropical, 34 kt (D24)":        {[]string{`"75"`, `"34"`, `"HU"`, `"PTC"`}, hazard.Watch, "Post-Tropical Cyclone"},
		"post-tropical, 33 kt":              {[]string{`"75"`, `"33"`, `"HU"`, `"PTC"`}, hazard.Information, "Post-Tropical Cyclone"},
		"post-tropical, no wind":            {[]string{`"75"`, `""`, `"HU"`, `"PTC"`}, hazard.Information, "Post-Tropical Cyclone"},
		"potential, by its wind":            {[]string{`"75"`, `"35"`, `"HU"`, `"PC"`}, hazard.Watch, "Potential Tropical Cyclone"},
		"an invest":                         {[]string{`cp01`, `cp91`, `"HU"`, `"DB"`}, hazard.Information, "Low Pressure Area"},
		"a typhoon":                         {[]string{`"HU"`, `"TY"`}, hazard.Warning, "Typhoon"},
		"no wind: by the class":             {[]string{`"75"`, `null`}, hazard.Warning, "Hurricane"},
		"no wind of a depression":           {[]string{`"75"`, `""`, `"HU"`, `"STD"`}, hazard.Advisory, "Subtropical Depression"},
		"a capital identity, a small class": {[]string{`cp01`, `CP01`, `"HU"`, `"hu"`}, hazard.Warning, "Hurricane"},
	} {
		r := one(t, listOf(stormText(tt.replace...)))
		if r.Severity != tt.severity || r.Level != tt.level || r.Suspect != "" {
			t.Errorf("%s: %v %q, suspect %q", name, r.Severity, r.Level, r.Suspect)
		}
	}
}

func TestWindsOfTheRSSAreTakenBackToKnots(t *testing.T) {
	for mph, kt := range map[string]string{"35 mph": "30 kt", "40 mph": "35 kt", "65 mph": "55 kt", "70 mph": "60 kt", "75 mph": "65 kt", "100 mph": "85 kt", "140 mph": "120 kt", "185 mph": "160 kt"} {
		r := one(t, rss("70 mph", mph))
		if !strings.Contains(r.Description, "winds: "+kt+" (") {
			t.Errorf("%s: %s", mph, r.Description)
		}
	}
}

func TestNames(t *testing.T) {
	for given, want := range map[string][2]string{
		"Lala": {"Hurricane Lala", "Lala"}, "IDA": {"Hurricane Ida", "Ida"}, "Two": {"Hurricane Two", ""}, "TWO-C": {"Hurricane Two-C", ""},
		"Twenty-One": {"Hurricane Twenty-One", ""}, "": {"Hurricane CP012026", ""}, "Li\\u202ela\\n": {"Hurricane Lila", "Lila"}, "O'NEIL": {"Hurricane O'neil", "O'neil"},
		"Onefold": {"Hurricane Onefold", "Onefold"},
	} {
		r := one(t, listOf(stormText(`"Lala"`, `"`+given+`"`)))
		if got := [2]string{r.Name, r.Called}; got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// The rule of intake, applied to this package's reports: the newest report of each form counts, and
// the list has precedence for the same hour. A delayed track does not affect the rest, and the
// order of arrival does not matter.
func TestAdvisoriesTakeEachOthersPlaceInAnyOrder(t *testing.T) {
	weaker := listOf(stormText(`"75"`, `"60"`, `"HU"`, `"TS"`, `09:00:00.000Z`, `15:00:00.000Z`, `040`, `041`))
	earlier := tcm("  40", "  39", "0900 UTC SAT AUG 22", "0300 UTC SAT AUG 22", "30.3N", "29.4N", "  75 KT", " 100 KT")
	layer := []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"LineString","coordinates":[[-171.2,26.9],[-171.3,28.1]]},` +
		`"properties":{"stormname":"Lala","stormtype":"HU","basin":"CP","advdate":"200 AM HST Fri Aug 21 2026","advisnum":"36A","stormnum":1,"idp_source":"cp012026-036A_5day_lin"}}]}`)
	var parts []hazard.Report
	for _, payload := range [][]byte{listOf(stormText()), tcm(), earlier, weaker, layer} {
		parts = append(parts, parse(t, payload).Reports...)
	}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(parts).Draw(t, "order")
		state := hazard.Derive(order, instant("2026-08-22T15:10:00Z"))
		if state.Head.Name != "Tropical Storm Lala" || state.Head.Severity != hazard.Watch || state.Head.Start != instant("2026-08-21T12:00:00Z") ||
			state.End != instant("2026-08-23T15:00:00Z") || state.Ended != "" || len(state.Head.Products) != 3 || state.Head.Point.Lat != 30.3 {
			t.Fatalf("%+v", state)
		}
		if len(state.Head.Areas) != 1 || !strings.Contains(state.Head.Areas[0].Geometry, "178") {
			t.Fatalf("areas %v, want the track of the latest forecast/advisory", state.Head.Areas)
		}
	})
	at := instant("2026-08-22T09:10:00Z")
	if state := hazard.Derive(slices.Concat(parse(t, tcm()).Reports, parse(t, listOf(stormText())).Reports), at); state.Head.Part != "list/40" {
		t.Errorf("of one hour %s counts, want the list", state.Head.Part)
	}
}

func TestAListIsWholeOnlyIfAllOfItWasRead(t *testing.T) {
	for name, tt := range map[string]struct {
		payload []byte
		want    bool
	}{
		"a list":                             {listOf(stormText()), true},
		"an empty list is data":              {listOf(), true},
		"a storm that cannot be read":        {listOf(stormText(), `{}`), true},
		"a product that cannot be read":      {listOf(stormText(`"publicAdvisory":{`, `"publicAdvisory":7,"x":{`)), true},
		"cut off":                            {listOf(stormText())[:600], false},
		"a basin's RSS":                      {rss(), true},
		"a basin's RSS that names no storm":  {rss("nhc:Cyclone", "nhc:Other", "Summary for Tropical Storm", "About"), false},
		"a summary without its storm":        {rss("nhc:Cyclone", "nhc:Other"), false},
		"a basin's RSS that says it is calm": {rss("nhc:Cyclone", "nhc:Other", "Summary for Tropical Storm", "There are no tropical cyclones at this time."), true},
		"one item":                           {[]byte("<item><title>There are no tropical cyclones at this time.</title></item>"), false},
		"a text":                             {tcm(), false},
	} {
		if batch, _ := Parse(tt.payload, now); batch.Whole != tt.want {
			t.Errorf("%s: whole %v, want %v (%+v)", name, batch.Whole, tt.want, batch)
		}
	}
}

func TestWhatIsNotToBeBelievedIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		payload []byte
		want    string
	}{
		"an advisory of tomorrow":  {listOf(stormText(`2026-08-22T09:00`, `2026-08-23T09:00`)), "the advisory's time 2026-08-23T09:00:00.000Z is in the future"},
		"a season years away":      {listOf(stormText(`cp012026`, `cp012016`)), "id: CP012016 is of 2016, the advisory of 2026"},
		"a storm of last December": {listOf(stormText(`cp012026`, `cp012025`)), ""},
		"0, 0":                     {listOf(stormText(`30.3`, `0`, `-172,`, `0,`, `"172.0W"`, `"0.0W"`)), "no place: the position is 0, 0"},
		"east and west exchanged":  {listOf(stormText(`-172,`, `172,`)), "longitudeNumeric, latitudeNumeric: 172, 30.3, expected the position of longitude and latitude, 172.0W, 30.3N"},
		"only with letters":        {listOf(stormText(`"latitudeNumeric":30.3,"longitudeNumeric":-172,`, ``)), ""},
		"beyond the antimeridian":  {listOf(stormText(`-172,`, `188,`)), ""},
		"a number for training":    {listOf(stormText(`cp01`, `cp81`)), "id: CP812026 has a number for training and internal use"},
		"a storm that is a test":   {listOf(stormText(`"Lala"`, `"TEST"`)), "the text says TEST"},
	} {
		if got := one(t, tt.payload).Suspect; got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestABadStormIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"a number":               {"7", "activeStorms/1", "7, expected an object"},
		"empty":                  {"{}", "activeStorms/1", "id: null or missing, expected an ATCF identity such as al062026"},
		"another basin":          {stormText(`cp01`, `wp01`), "activeStorms/1", "id: wp012026, expected an ATCF identity such as al062026"},
		"no wind, no class":      {stormText(`"75"`, `null`, `"HU"`, `null`), "CP012026", "intensity: null or missing, expected a wind in kt, or a classification"},
		"no place":               {stormText(`30.3,`, `null,`, `"30.3N"`, `"30.3"`), "CP012026", "longitudeNumeric, latitudeNumeric: -172, null or missing, expected a position"},
		"an identity that lies":  {stormText(`"id":"cp012026"`, `"id":"cp012026\n<b>"`), "activeStorms/1", "id: cp012026 <b>, expected an ATCF identity such as al062026"},
		"an identity of a digit": {stormText(`"id":"cp012026"`, `"id":1`), "activeStorms/1", "id: 1, expected an ATCF identity such as al062026"},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(listOf(stormText(`cp01`, `cp07`), tt.bad, stormText(`cp01`, `cp08`)), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 {
				t.Fatalf("error %v, read %d, reports %d, rejects %+v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			if got := batch.Rejects[0]; got.Record != tt.record || got.Reason != tt.reason || !bytes.Equal(got.Raw, []byte(tt.bad)) {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
		})
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for _, tt := range []struct {
		payload []byte
		note    string
	}{
		{listOf(stormText(`"75"`, `"strong"`)), `intensity: "strong", expected a number`},
		{listOf(stormText(`"75"`, `750`)), "intensity: 750, expected a wind in kt"},
		{listOf(stormText(`"75"`, `NaN`)), "intensity: NaN is not JSON, read as null"},
		{listOf(stormText(`"2026-08-22T09:00:00.000Z","publicAdvisory"`, `null,"publicAdvisory"`)), "lastUpdate: null or missing, expected a time of ISO 8601"},
		{listOf(stormText(`"HU"`, `"XX"`)), "classification: XX, expected TD, TS, HU, STD, STS, PTC, PC or TY"},
		{rss(">Tropical Storm<", ">Blizzard<"), "nhc:type: Blizzard, expected a class such as Tropical Storm"},
	} {
		if r := one(t, tt.payload); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Suspect != "" || r.Severity != hazard.Warning && r.Severity != hazard.Watch {
			t.Errorf("notes %q, suspect %q, %v; want the note %q", r.Notes, r.Suspect, r.Severity, tt.note)
		}
	}
}

func TestWhatAnItemATextOrALayerLacksIsTold(t *testing.T) {
	layer := func(replace ...string) []byte {
		return []byte(replaced(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[-171.2,26.9]},`+
			`"properties":{"stormname":"Hurricane Lala","stormtype":"HU","advdate":"200 AM HST Fri Aug 21 2026","advisnum":"36A","tau":0,"maxwind":85,"idp_source":"cp012026-036A_5day_pts"}}]}`, replace))
	}
	one(t, layer())
	for name, tt := range map[string]struct {
		payload []byte
		want    string
	}{
		"no identity in the RSS":    {rss(">AL012026<", "><"), "item/0: nhc:atcf: null or missing, expected an ATCF identity such as AL012022"},
		"no place in the RSS":       {rss("32.9, -68.1", "32.9 -68.1"), "AL012026: nhc:center: 32.9 -68.1, expected latitude and longitude"},
		"no time in the RSS":        {rss("Sat, 22 Aug 2026 08:49:36 GMT", "", "-202608220849", ""), "AL012026: pubDate: null or missing, expected a time of RFC 1123"},
		"neither wind nor class":    {rss("70 mph", "strong", ">Tropical Storm<", "><"), "AL012026: intensity: null or missing, expected a wind in kt, or a classification"},
		"a summary without a storm": {rss("nhc:Cyclone", "nhc:Other"), "item/0: nhc:Cyclone: missing, expected one in Summary for Tropical Storm Alex (AT1/AL012026)"},
		"no identity in a text":     {tcm("CP012026", ""), "forecast/advisory: the text names no ATCF identity such as AL092021 after its title"},
		"no time in a text":         {tcm("0900 UTC SAT AUG 22 2026", ""), "CP012026: the text has no time such as 0900 UTC SUN AUG 29 2021 after its title"},
		"a day that is none":        {tcm("AUG 22 2026", "FOO 42 2026"), "CP012026: time: 0900 UTC SAT FOO 42 2026, expected a time such as 0900 UTC SUN AUG 29 2021"},
		"no place in a text":        {tcm("172.0W", "272.0W", "30.3N", "930.3N"), "CP012026: the text has no CENTER LOCATED NEAR a latitude and a longitude"},
		"no time in a layer":        {layer("HST", "XST"), "features/0: advdate: 200 AM XST Fri Aug 21 2026, expected a time such as 500 PM HST Fri Aug 21 2026"},
		"no identity in a layer":    {layer("cp012026", "x"), "features/0: idp_source: x-036A_5day_pts, expected an ATCF identity in it, or basin and stormnum"},
		"no place in a layer":       {layer("[-171.2,26.9]", "[]"), "features/0: geometry/coordinates: [], expected positions"},
		"only what is ahead":        {layer(`"tau":0`, `"tau":12`), "CP012026: tau: 12 at the earliest, expected the position at the time of the advisory, 0"},
		"properties of a feature":   {layer(`"maxwind":85`, `"maxwind":"strong"`), `features/0: maxwind: "strong", expected a number`},
	} {
		batch, err := Parse(tt.payload, now)
		if err != nil || len(batch.Rejects) != 1 || batch.Rejects[0].Record+": "+batch.Rejects[0].Reason != tt.want {
			t.Errorf("%s: error %v, rejects %+v\nwant %s", name, err, batch.Rejects, tt.want)
		}
	}
	if r := one(t, rss("Sat, 22 Aug 2026 08:49:36 GMT", "")); r.Start != instant("2026-08-22T08:49:00Z") {
		t.Errorf("without pubDate it began at %v, want the time of the guid", r.Start)
	}
}

func TestAPayloadOfAnotherKindIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"empty":                 {" \n", "an empty payload, expected a list of storms", false},
		"HTML":                  {"<html><body>", "an HTML page, expected RSS", false},
		"HTML with its type":    {"<!DOCTYPE html><html>", "a document type (<!DOCTYPE html>), expected none", false},
		"entities":              {"<!DOCTYPE r [<!ENTITY a \"b\">]><rss>&a;</rss>", "a document type (<!DOCTYPE r [<), expected none", false},
		"an error page in RSS":  {"<rss><html>", "the payload ends early, after 11 bytes", true},
		"another root":          {"<feed/>", `the root element is "feed", expected RSS`, false},
		"only a declaration":    {`<?xml version="1.0"?>`, "no root element, expected RSS", false},
		"two roots":             {`<rss></rss><rss/>`, `a second root element "rss", expected one`, true},
		"cut in the RSS":        {string(rss())[:900], "", true},
		"cut in a tag":          {`<rss><chan`, "the payload ends early, after 10 bytes", true},
		"a word":                {"Service Unavailable", "Service Unavailable, expected a list of storms, RSS or the text of an advisory", false},
		"a text that is cut":    {string(tcm())[:300], "the forecast/advisory ends early, after 300 bytes, before $$", true},
		"another centre":        {"WTPN31 PGTW 271500 SUBJ/TYPHOON", "a message of the Joint Typhoon Warning Center (PGTW), expected one of the National Hurricane Center", false},
		"nothing in it":         {"{}", "activeStorms: missing, expected an array", false},
		"no list":               {`{"activeStorms":null}`, "activeStorms: null, expected an array", false},
		"two lists":             {`{"activeStorms":[],"activeStorms":[]}`, "activeStorms: the member is there twice", false},
		"a complaint":           {`{"message":"Forbidden"}`, `an error message instead of storms: Forbidden`, false},
		"features of something": {`{"features":[{}],"type":"Topology"}`, "activeStorms: missing, expected an array", false},
		"cut in a list":         {`{"activeStorms":[` + stormText() + `,{`, "", true},
		"cut in a layer":        {`{"type":"FeatureCollection","features":[{`, "", true},
		"features of others": {`{"type":"FeatureCollection","features":[{"geometry":{"type":"Point","coordinates":[28,40]},"properties":{"mag":5.1}}]}`,
			"properties: none of a layer of the centre in all of 1 features, expected stormnum, advisnum, basin, radii, tcww or idp_source", false},
		"two documents":          {`{"activeStorms":[]}{}`, "{} at byte 19, expected the end of the document", true},
		"more items than can be": {"<rss>" + strings.Repeat("<item></item>", maxItems+1) + "</rss>", "more than 1000 items, expected a basin's RSS", false},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || bad.Reason != tt.want && tt.want != "" || bad.Cut != tt.cut || batch.Whole {
				t.Errorf("error %v, want %q, cut %v", err, tt.want, tt.cut)
			}
		})
	}
}

// An item that is not well-formed affects only itself, and ends no storm.
func TestAnItemThatIsNotWellFormedCostsNoOther(t *testing.T) {
	whole := string(rss())
	begin, end := strings.Index(whole, "<item>"), strings.LastIndex(whole, "</item>")
	if begin < 0 || end < 0 {
		t.Fatal("no item")
	}
	for name, bad := range map[string]string{
		"entities":          "<item><title>Trinidad & Tobago&nbsp;wind < 5\x0b</title></item>",
		"a tag without end": "<item><title>Outlook</item>",
		"an item in pieces": "<item><nhc:Cyclone><nhc:atcf>AL02</item>",
	} {
		batch, err := Parse([]byte(whole[:begin]+bad+whole[begin:end]+"</item>"+bad+whole[end+len("</item>"):]), now)
		want, _ := Parse([]byte(whole), now)
		if err != nil || len(batch.Reports) != len(want.Reports) {
			t.Errorf("%s: error %v, %d reports, rejects %+v, want %d reports", name, err, len(batch.Reports), batch.Rejects, len(want.Reports))
		}
		for _, r := range batch.Rejects {
			if batch.Whole && r.Events != nil {
				t.Errorf("%s: the reject keeps only %v from ending", name, r.Events)
			}
		}
	}
}

func TestBytesThatAreNotUTF8DoNotCostAStorm(t *testing.T) {
	if r := one(t, rss("TROPICAL STORM CONDITIONS", "CONDICI\xd3N")); !strings.HasPrefix(r.Description, "CONDICIÓN HAVE BEGUN") {
		t.Errorf("Windows-1252 in RSS: %q", r.Description)
	}
	if r := one(t, listOf(stormText("Lala", "La\xffla"))); r.Called != "Lala" {
		t.Errorf("not UTF-8 in JSON: %q", r.Called)
	}
	if r := one(t, append([]byte("\ufeff\n"), rss(`encoding="UTF-8"`, `encoding="ISO-8859-1"`)...)); r.Called != "Alex" {
		t.Errorf("a byte order mark, another declaration: %q", r.Called)
	}
}

// A payload that was cut off gives the part before, and nothing is concluded from missing storms.
func TestPayloadsCutOffAnywhere(t *testing.T) {
	for _, name := range []string{"nhc/CurrentStorms-20260822.json", "nhc/input_nhc1.xml", "nhc/lala-cp012026/forecast-points-033.geojson", "nhc/ida-al092021/fstadv.012.txt"} {
		payload := bytes.TrimSpace(recordings.Read(t, "feeds/"+name))
		for n := 50; n < len(payload)-40; n += 97 {
			batch, err := Parse(payload[:n], now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || !bad.Cut && n > 200 || batch.Whole || len(batch.Rejects) != 0 {
				t.Fatalf("%s cut at %d: error %v, whole %v, rejects %+v", name, n, err, batch.Whole, batch.Rejects)
			}
		}
	}
}

func TestFeedsAreOfTheSourcesOwnHost(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, site) || f.Every <= 0 || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

var laws = sourcetest.Source{
	Parse: Parse, File: "nhc/CurrentStorms-20260822.json", More: []string{"nhc/CurrentStorms-20260927.json"}, At: "2026-09-27T16:00:00Z", List: "activeStorms",
	// The name of the part contains the advisory's number.
	Needed: []string{"id", "latitudeNumeric", "longitudeNumeric", "publicAdvisory/advNum"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func TestLawsOfRSS(t *testing.T) {
	sourcetest.Laws(t, sourcetest.Source{Parse: Parse, File: "nhc/input_nhc1.xml", More: []string{"nhc/input_nhc2.xml"}, At: "2022-06-06T12:00:00Z", Element: "item",
		Needed: []string{"pre"}})
}

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(listOf(stormText(), "7", stormText(`"75"`, `NaN`))), string(listOf(stormText())[:300]), string(rss()), string(tcm()),
		`{"type":"FeatureCollection","name":"al092021-012_5day_lin","features":[{"geometry":{"type":"LineString","coordinates":[[-89.1,28.0],[-90.3,29.1]]},`+
			`"properties":{"STORMNAME":"Ida","STORMTYPE":"HU","ADVDATE":"400 AM CDT Sun Aug 29 2021","ADVISNUM":"12"}}]}`,
		`{"type":"FeatureCollection","features":[{"geometry":{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,1],[1,2]]]},"properties":{"radii":34,"stormid":"cp012026","validtime":"2026082203","synoptime":"2026082200","tau":12}},`+
			`{"geometry":{"type":"Point","coordinates":[-137.3,14.5]},"properties":{"stormnum":1,"intensity":20,"dtg":2026081000,"idp_source":"CP012026_pts"}}]}`)
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	check := func(ok bool, format string, args ...any) {
		if !ok {
			t.Errorf(r.Key+" "+r.Part+": "+format, args...)
		}
	}
	check(r.Source == Name && r.Type == hazard.Cyclone && r.Category == hazard.Event && r.End == nil && r.Ended == "", "source, type, category or end")
	check(r.Part != "" && r.Part == hazard.CleanLine(r.Part), "part %q", r.Part)
	check(strings.ToLower(atcfID(r.Key)) == r.Key && r.Key != "", "key %q", r.Key)
	check(slices.Equal(r.Refs, []string{"atcf:" + strings.ToUpper(r.Key)}), "refs %v", r.Refs)
	check(len(r.Places) == 1 && (r.Places[0] == placeStorm && len(r.Areas) == 0 || r.Places[0] == placeTrack && len(r.Areas) == 1 && r.Severity == hazard.Information), "places %v", r.Places)
	check(r.Severity >= hazard.Information && r.Severity <= hazard.Warning, "severity %v", r.Severity)
	check(r.LifeMS == 24*3600*1000, "life %d", r.LifeMS)
	check(r.Point != nil && r.Point.Lon >= -180 && r.Point.Lon <= 180 && r.Point.Lat >= -90 && r.Point.Lat <= 90, "point %v", r.Point)
	for _, a := range r.Areas {
		_, err := geo.ParseLoose([]byte(a.Geometry))
		check(err == nil && a.Role == hazard.TrackArea, "area %v: %v", a, err)
	}
	check(r.Name != "" && r.Name == hazard.CleanLine(r.Name), "name %q", r.Name)
	check(r.Called == hazard.CleanLine(r.Called) && r.Level == hazard.CleanLine(r.Level), "called %q, level %q", r.Called, r.Level)
	check(r.Description == hazard.Clean(r.Description) && r.Description != "", "description %q", r.Description)
	check(r.Comment == "nhc:"+r.Key && r.Creator == "NHC" && lenient.WebAddress(r.URL) == r.URL && r.URL != "", "comment %q, creator %q, url %q", r.Comment, r.Creator, r.URL)
	keys := map[string]bool{}
	for i, p := range r.Products {
		check((i == 0) == (p.Type == hazard.FolderProduct) && p.Title != "" && !keys[p.Key], "product %+v", p)
		check(i == 0 || p.Parent == Name && p.Data != "" && lenient.WebAddress(p.Data) == p.Data, "product %+v", p)
		keys[p.Key] = true
	}
}

// The list links to the archive of each cone, once for each version of it.
func TestTheListLeadsToTheCones(t *testing.T) {
	batch, err := Parse(recordings.Read(t, "feeds/nhc/CurrentStorms-20260822.json"), instant("2026-08-22T12:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range batch.Links {
		got = append(got, fmt.Sprint(l.URL, " ", *l.Updated))
	}
	want := []string{"https://www.nhc.noaa.gov/gis/forecast/archive/cp012026_5day_040.zip 2026-08-22T08:43:13.453Z", "https://www.nhc.noaa.gov/gis/forecast/archive/cp022026_5day_008.zip 2026-08-22T08:49:58.748Z"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if batch, err := Parse(listOf(stormText()), now); err != nil || len(batch.Links) != 0 {
		t.Errorf("no address: %v, %v", batch.Links, err)
	}
}

// The shapefiles of an advisory, which GDAL made from the recorded layers, give the same reports
// and drawings as the layers.
func TestAnArchiveOfShapefilesSaysWhatItsLayersSay(t *testing.T) {
	test.NoRace(t)
	if _, err := exec.LookPath("ogr2ogr"); err != nil {
		t.Skip("needs gdal-bin")
	}
	dir := recordings.Path(t, "feeds/nhc/ida-al092021/gis-012")
	at := instant("2021-08-29T09:30:00Z")
	var want source.Batch
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, layer := range []string{"5day_lin", "5day_pgn", "5day_pts", "ww_wwlin"} {
		file := filepath.Join(dir, layer+".geojson")
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		one, err := Parse(payload, at)
		if err != nil {
			t.Fatal(err)
		}
		want.Reports, want.Drawings, want.Read, want.Ignored = append(want.Reports, one.Reports...), append(want.Drawings, one.Drawings...), want.Read+one.Read, want.Ignored+one.Ignored
		out := filepath.Join(t.TempDir(), "al092021-012_"+layer+".shp")
		if text, err := exec.Command("ogr2ogr", "-q", "-f", "ESRI Shapefile", out, file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, ending := range []string{".shp", ".dbf", ".prj", ".shx"} {
			data, err := os.ReadFile(strings.TrimSuffix(out, ".shp") + ending)
			if err != nil {
				t.Fatal(err)
			}
			w, err := z.Create("al092021-012_" + layer + ending)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(archive.Bytes(), at)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Reports, got.Reports); diff != "" {
		t.Errorf("reports (-layers +archive):\n%s", diff)
	}
	// A ring may have the other direction.
	for _, b := range []*source.Batch{&want, &got} {
		for i := range b.Drawings {
			for j := range b.Drawings[i].Shapes {
				s := &b.Drawings[i].Shapes[j]
				area, err := geo.ParseLoose([]byte(s.Geometry))
				if err != nil {
					t.Fatal(err)
				}
				s.Geometry = area.WKT()
			}
		}
	}
	if diff := cmp.Diff(want.Drawings, got.Drawings); diff != "" {
		t.Errorf("drawings (-layers +archive):\n%s", diff)
	}
	if len(want.Drawings) != 1 || got.Read != want.Read || got.Ignored != want.Ignored || len(got.Rejects) != 0 {
		t.Errorf("read %d, ignored %d, %d drawings, rejects %v; want %d, %d, 1, none", got.Read, got.Ignored, len(got.Drawings), got.Rejects, want.Read, want.Ignored)
	}
}

// The forecast winds of a layer have the time of its advisory, not the time for which they are
// forecast: those of the next advisory replace them.
func TestExpectedWindsAreOfTheirAdvisory(t *testing.T) {
	const advisory = "2021-08-29T09:00:00Z"
	for _, synoptic := range []string{`,"synoptime":"2021082906"`, ""} {
		b, err := Parse([]byte(`{"type":"FeatureCollection","features":[{"geometry":{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,1],[1,2]]]},`+
			`"properties":{"radii":34,"stormid":"al092021","validtime":"2021083018"`+synoptic+`,"tau":36}}]}`), instant(advisory))
		if err != nil || len(b.Drawings) != 1 {
			t.Fatal(err, b.Rejects, b.Drawings)
		}
		d := b.Drawings[0]
		if want := int64(instant(advisory)); d.Version != want {
			t.Errorf("%q: version %d, want %d", synoptic, d.Version, want)
		}
		if got := d.Shapes[0].From; got != instant("2021-08-30T18:00:00Z") {
			t.Errorf("%q: expected at %v", synoptic, got)
		}
	}
}
