package usgs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
)

func TestSeverity(t *testing.T) {
	type quake struct {
		mag   any // nil for unknown
		depth any
		mmi   any
		alert string
	}
	for name, tt := range map[string]struct {
		in    quake
		want  hazard.Severity
		life  time.Duration
		minor bool
	}{
		"M 9 that PAGER has not assessed is a warning":             {quake{mag: 9.0, depth: 29}, hazard.Warning, 72 * time.Hour, false},
		"M 7.0 is a warning":                                       {quake{mag: 7.0, depth: 99.9}, hazard.Warning, 72 * time.Hour, false},
		"M 7.0 at 100 km is deep":                                  {quake{mag: 7.0, depth: 100}, hazard.Watch, 24 * time.Hour, false},
		"M 8.3 at 600 km is deep":                                  {quake{mag: 8.3, depth: 600}, hazard.Watch, 24 * time.Hour, false},
		"M 7.0 of unknown depth counts as shallow":                 {quake{mag: 7.0}, hazard.Warning, 72 * time.Hour, false},
		"M 7.0 above sea level is shallow":                         {quake{mag: 7.0, depth: -1}, hazard.Warning, 72 * time.Hour, false},
		"M 6.9 is a watch":                                         {quake{mag: 6.9, depth: 10}, hazard.Watch, 24 * time.Hour, false},
		"M 6.0 is a watch":                                         {quake{mag: 6.0, depth: 10}, hazard.Watch, 24 * time.Hour, false},
		"M 5.9 is an advisory":                                     {quake{mag: 5.9, depth: 10}, hazard.Advisory, 24 * time.Hour, false},
		"M 5.0 is an advisory":                                     {quake{mag: 5.0, depth: 10}, hazard.Advisory, 24 * time.Hour, false},
		"M 4.9 is information":                                     {quake{mag: 4.9, depth: 10}, hazard.Information, 24 * time.Hour, false},
		"M 4.5 is information":                                     {quake{mag: 4.5, depth: 10}, hazard.Information, 24 * time.Hour, false},
		"M 4.4 that nobody felt is no hazard":                      {quake{mag: 4.4, depth: 10}, hazard.Information, 24 * time.Hour, true},
		"M -1 is no hazard":                                        {quake{mag: -1.0, depth: 1}, hazard.Information, 24 * time.Hour, true},
		"M 3 that shakes with intensity 4 is information":          {quake{mag: 3.0, depth: 1, mmi: 4.0}, hazard.Information, 24 * time.Hour, false},
		"M 3 that shakes with intensity 3.9 is no hazard":          {quake{mag: 3.0, depth: 1, mmi: 3.9}, hazard.Information, 24 * time.Hour, true},
		"an unknown magnitude is no hazard":                        {quake{}, hazard.Information, 24 * time.Hour, true},
		"an unknown magnitude that shakes is information":          {quake{mmi: 6.0}, hazard.Information, 24 * time.Hour, false},
		"an unknown magnitude that PAGER assesses is as it says":   {quake{alert: "orange"}, hazard.Watch, 24 * time.Hour, false},
		"green lowers M 5.9 to information":                        {quake{mag: 5.9, depth: 10, alert: "green"}, hazard.Information, 24 * time.Hour, false},
		"green lowers M 6.0 no further than to an advisory":        {quake{mag: 6.0, depth: 10, alert: "green"}, hazard.Advisory, 24 * time.Hour, false},
		"green lowers M 6.9 no further than to an advisory":        {quake{mag: 6.9, depth: 10, alert: "green"}, hazard.Advisory, 24 * time.Hour, false},
		"green lowers M 7.0 no further than to a watch":            {quake{mag: 7.0, depth: 10, alert: "green"}, hazard.Watch, 24 * time.Hour, false},
		"green of a deep M 7.5 is a watch":                         {quake{mag: 7.5, depth: 300, alert: "green"}, hazard.Watch, 24 * time.Hour, false},
		"green makes no hazard of M 4.4":                           {quake{mag: 4.4, depth: 10, alert: "green"}, hazard.Information, 24 * time.Hour, true},
		"green leaves M 4.4 of intensity 5 a hazard":               {quake{mag: 4.4, depth: 10, mmi: 5.0, alert: "green"}, hazard.Information, 24 * time.Hour, false},
		"yellow lowers M 6.5 to an advisory":                       {quake{mag: 6.5, depth: 10, alert: "yellow"}, hazard.Advisory, 24 * time.Hour, false},
		"yellow lowers M 7.0 no further than to a watch":           {quake{mag: 7.0, depth: 10, alert: "yellow"}, hazard.Watch, 24 * time.Hour, false},
		"yellow raises M 4.0 to an advisory":                       {quake{mag: 4.0, depth: 10, alert: "yellow"}, hazard.Advisory, 24 * time.Hour, false},
		"orange raises M 5.2 to a watch":                           {quake{mag: 5.2, depth: 10, alert: "orange"}, hazard.Watch, 24 * time.Hour, false},
		"orange lowers M 7.9 to a watch":                           {quake{mag: 7.9, depth: 10, alert: "orange"}, hazard.Watch, 24 * time.Hour, false},
		"red outranks a moderate magnitude":                        {quake{mag: 5.2, depth: 10, alert: "red"}, hazard.Warning, 72 * time.Hour, false},
		"red outranks depth":                                       {quake{mag: 7.2, depth: 200, alert: "red"}, hazard.Warning, 72 * time.Hour, false},
		"a colour in capitals is a colour":                         {quake{mag: 5.2, depth: 10, alert: " RED"}, hazard.Warning, 72 * time.Hour, false},
		"a colour that is not known is as if PAGER had not spoken": {quake{mag: 7.2, depth: 10, alert: "pending"}, hazard.Warning, 72 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			word := func(v any) string {
				if v == nil {
					return "null"
				}
				return fmt.Sprint(v)
			}
			r := one(t, event(
				`"mag":5.1`, `"mag":`+word(tt.in.mag),
				`,30]`, `,`+word(tt.in.depth)+`]`,
				`"mmi":null`, `"mmi":`+word(tt.in.mmi),
				`"alert":null`, fmt.Sprintf(`"alert":%q`, tt.in.alert),
			))
			if r.Severity != tt.want || r.Minor != tt.minor || r.LifeMS != tt.life.Milliseconds() {
				t.Errorf("%v, minor %v, life %d h; want %v, minor %v, life %v", r.Severity, r.Minor, r.LifeMS/3600000, tt.want, tt.minor, tt.life)
			}
		})
	}
}

func TestEveryRowOfTheMappingTableSaysWhy(t *testing.T) {
	for _, l := range levels {
		if l.Basis == "" || l.Severity == 0 || l.Life == 0 {
			t.Errorf("%+v", l)
		}
	}
	if last := levels[len(levels)-1]; last.pager != "" || last.Mag != 0 || last.Depth != 0 || last.MMI != 0 || !last.Minor {
		t.Errorf("the last row %+v does not fit everything", last)
	}
}

func TestAReportHasTheSourcesIdentityAndTimes(t *testing.T) {
	r := one(t, event())
	want := hazard.Report{
		Source:       "usgs",
		Key:          "us1",
		Aliases:      []string{"nc2"},
		Version:      1699991000000,
		Name:         "M 5.1 Earthquake - 12 km NE of X, Country",
		Type:         hazard.Earthquake,
		Severity:     hazard.Advisory,
		Category:     hazard.Event,
		Start:        1699990000000,
		LifeMS:       (24 * time.Hour).Milliseconds(),
		Point:        &hazard.Point{Lon: 10.5, Lat: -20.25},
		Measurements: []hazard.Measurement{{Name: hazard.Depth, Value: 30}, {Name: hazard.Magnitude, Value: 5.1, Scale: "mww"}},
		URL:          "https://earthquake.usgs.gov/earthquakes/eventpage/us1",
		Comment:      "usgs:us1",
		Creator:      "USGS",
		Detail:       "https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/us1.geojson",
		Description: "Magnitude 5.1 (mww), 12 km NE of X, Country.\nDepth: 30 km.\nTime: 2023-11-14 19:26:40 UTC.\n" +
			"Status: reviewed by a seismologist.\nIds of the networks: us1, nc2.",
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestWhatIsNoEarthquakeMakesNoHazardAndEndsOne(t *testing.T) {
	for _, kind := range []string{"quarry blast", "quarry", "explosion", "mining explosion", "ice quake", "other event",
		"landslide", "volcanic eruption", "rock burst", "earthquakes", "QUARRY"} {
		batch, err := Parse(collection(event(`"type":"earthquake"`, `"type":"`+kind+`"`)), now)
		if err != nil || batch.Read != 1 || len(batch.Reports) != 1 {
			t.Fatalf("%s: error %v, %+v; want one report", kind, err, batch)
		}
		if r := batch.Reports[0]; !r.Minor || r.Ended != hazard.EndWithdrawn {
			t.Errorf("%s: minor %v, ended %q; want it withdrawn, and no hazard made of it", kind, r.Minor, r.Ended)
		}
	}
}

func TestNames(t *testing.T) {
	for place, want := range map[string]string{
		`"12 km NE of X, Country"`:                   "M 5.1 Earthquake - 12 km NE of X, Country",
		`"2025 Southern Tibetan Plateau Earthquake"`: "M 5.1 - 2025 Southern Tibetan Plateau Earthquake",
		`"The Great EARTHQUAKE of X"`:                "M 5.1 - The Great EARTHQUAKE of X",
		`"133km NNE of Visokoi Island, "`:            "M 5.1 Earthquake - 133km NNE of Visokoi Island",
		`""`:                                         "M 5.1 Earthquake - 20.25 S, 10.50 E",
		`null`:                                       "M 5.1 Earthquake - 20.25 S, 10.50 E",
	} {
		if r := one(t, event(`"12 km NE of X, Country"`, place)); r.Name != want {
			t.Errorf("place %s: %q, want %q", place, r.Name, want)
		}
	}
	if r := one(t, event(`"mag":5.1`, `"mag":null`)); r.Name != "Earthquake - 12 km NE of X, Country" {
		t.Errorf("without a magnitude: %q", r.Name)
	}
	if r := one(t, event(`"mag":5.1`, `"mag":null`, `"12 km NE of X, Country"`, `"Earthquake of X"`)); r.Name != "Earthquake of X" {
		t.Errorf("without a magnitude, with a name: %q", r.Name)
	}
}

func TestWhatIsNotToBeBelievedIsHeld(t *testing.T) {
	const minute = 60_000
	at := func(i hazard.Instant) string { return i.Digits() }
	for name, tt := range map[string]struct {
		feature string
		want    string // part of the reason; empty if it is not held
	}{
		"an ordinary event":             {event(), ""},
		"clocks that differ":            {event("1699990000000", at(now+10*minute), "1699991000000", at(now+10*minute)), ""},
		"an event of tomorrow":          {event("1699990000000", at(now+10*minute+1), "1699991000000", at(now)), "properties/time: 2023-11-14T22:23:20.001Z is in the future"},
		"M 6.8 of 1925, moved to 2025":  {event("1699990000000", "1750657320000", "1699991000000", at(now)), "properties/time: 2025-06-23T05:42:00.000Z is in the future"},
		"an update of tomorrow":         {event("1699991000000", at(now+10*minute+1)), ""}, // only a note says so
		"an update before the event":    {event("1699991000000", at(1699990000000-10*minute-1)), "is before the event at"},
		"an update just before":         {event("1699991000000", at(1699990000000-10*minute)), ""},
		"M 6.8 of 1925, put right":      {event("1699990000000", "-1407000000000"), ""},
		"a test":                        {event("M 5.1 - 12", "TEST M 5.1 - 12"), "the text says TEST"},
		"a test in brackets":            {event("M 5.1 - 12", "M 5.1 [test] - 12"), "the text says TEST"},
		"an exercise in the place":      {event(`"place":"12 km`, `"place":"Exercise: 12 km`), "the text says EXERCISE"},
		"a drill":                       {event("M 5.1 - 12", "M 5.1 - Drill/12"), "the text says DRILL"},
		"a place that only sounds so":   {event(`"place":"12 km NE of X`, `"place":"12 km NE of Testour and Drillham`), ""},
		"the Gulf of Guinea":            {event("10.5,-20.25", "0,0"), ""},
		"nowhere":                       {event("10.5,-20.25", "0,0", `"place":"12 km NE of X, Country"`, `"place":" "`), "no place"},
		"on the equator, without words": {event("10.5,-20.25", "0.001,0", `"place":"12 km NE of X, Country"`, `"place":""`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := one(t, tt.feature).Suspect; !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestOnlyAddressesOfTheWebAreTaken(t *testing.T) {
	const page = `"url":"https://earthquake.usgs.gov/earthquakes/eventpage/us1"`
	for given, want := range map[string]string{
		`https://earthquake.usgs.gov/x?a=1#b`:      "https://earthquake.usgs.gov/x?a=1#b",
		`http://www.example.org/x`:                 "http://www.example.org/x",
		`HTTPS://earthquake.usgs.gov/x`:            "https://earthquake.usgs.gov/x",
		`/earthquakes/eventpage/us1`:               "https://earthquake.usgs.gov/earthquakes/eventpage/us1",
		`//www.example.org/x`:                      "https://www.example.org/x",
		`javascript:alert(1)`:                      "",
		`JavaScript:alert(1)`:                      "",
		`data:text/html,x`:                         "",
		`file:///etc/passwd`:                       "",
		`ftp://earthquake.usgs.gov/x`:              "",
		`https:earthquake.usgs.gov`:                "",
		`https://`:                                 "",
		`https://earthquake.usgs.gov@example.org/`: "",
		`https://earthquake.usgs.gov/a b`:          "",
		`https://earthquake.usgs.gov/?\u202egnp.x`: "",
		`https://earthquake.usgs.gov/\n`:           "https://earthquake.usgs.gov/",
		`https://e\u0430rthquake.usgs.gov/`:        "",
		`https://[::1`:                             "",
		`https://x/` + strings.Repeat("x", 2000):   "",
		``:                                         "",
	} {
		if r := one(t, event(page, `"url":"`+given+`"`)); r.URL != want {
			t.Errorf("%s: %q, want %q", given, r.URL, want)
		}
	}
}

func TestDetailsAreFetchedFromUSGSAlone(t *testing.T) {
	const address = `https://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/us1.geojson`
	for given, want := range map[string]string{
		address: address,
		`https://earthquake.usgs.gov/fdsnws/event/1/query?eventid=us1&format=geojson`: `https://earthquake.usgs.gov/fdsnws/event/1/query?eventid=us1&format=geojson`,
		`http://earthquake.usgs.gov/earthquakes/feed/v1.0/detail/us1.geojson`:         "",
		`https://earthquake.usgs.gov:8443/x`:                                          "",
		`https://earthquake.usgs.gov.example.org/x`:                                   "",
		`https://example.org/https://earthquake.usgs.gov/x`:                           "",
		`https://user@earthquake.usgs.gov/x`:                                          "",
		`//169.254.169.254/latest`:                                                    "",
		``:                                                                            "",
	} {
		if r := one(t, event(address, given)); r.Detail != want {
			t.Errorf("%s: %q, want %q", given, r.Detail, want)
		}
	}
}

func TestDetailsAreFetchedWhenTheyHaveMore(t *testing.T) {
	for name, tt := range map[string]struct {
		feature string
		want    bool
	}{
		"felt reports":          {event(), true},
		"PAGER":                 {event(`,dyfi,origin,`, `,losspager,origin,`), true},
		"a shake map":           {event(`,dyfi,origin,`, `origin,shakemap`), true},
		"a moment tensor":       {event(`,dyfi,origin,`, `,moment-tensor,`), true},
		"ground failure":        {event(`,dyfi,origin,`, `,ground-failure,`), true},
		"a finite fault":        {event(`,dyfi,origin,`, `,finite-fault,`), true},
		"only an origin":        {event(`,dyfi,origin,`, `,origin,phase-data,`), false},
		"a kind that is longer": {event(`,dyfi,origin,`, `,dyfi-x,internal-moment-tensor,`), false},
		"a minor event":         {event(`"mag":5.1`, `"mag":2.1`), false},
		"a deleted event":       {event(`"reviewed"`, `"deleted"`), false},
	} {
		if r := one(t, tt.feature); (r.Detail != "") != tt.want {
			t.Errorf("%s: detail %q, want one: %v", name, r.Detail, tt.want)
		}
	}
}

// detail6 is a detail with one product of each unusual kind.
const detail6 = `{"type":"Feature","id":"us6","properties":{"type":"earthquake","mag":6.1,"place":"X","time":1699990000000,
"updated":1699991000000,"status":"reviewed","alert":"yellow","url":"https://earthquake.usgs.gov/earthquakes/eventpage/us6",
"products":{
"losspager":[
 {"status":"DELETE","updateTime":1699999000000,"properties":{"alertlevel":"red"},"contents":{}},
 {"status":"UPDATE","updateTime":1699992000000,"properties":{"alertlevel":"yellow\u202e","maxmmi":"nan"},
  "contents":{"onepager.pdf":{"url":"http://earthquake.usgs.gov/onepager.pdf"}}},
 {"status":"UPDATE","updateTime":1699998000000,"properties":{"alertlevel":"green"},"contents":[]}],
"shakemap":[{"status":"UPDATE","updateTime":"1699993000000","properties":{"maxmmi":"nan"},
  "contents":{"download/intensity.jpg":{"url":"javascript:alert(1)","length":"x"}}}],
"dyfi":[{"status":"delete","updateTime":1699994000000,"properties":{},"contents":[]}],
"ground-failure":[{"status":"WARNING","updateTime":null,"properties":{"landslide-alert":"orange"},"contents":[]}],
"moment-tensor":[{"status":"UPDATE","updateTime":99999999999999,"properties":[],"contents":null}],
"finite-fault":[],
"origin":[{"status":"UPDATE","updateTime":1699999000000}],
"general-text":[{"status":"UPDATE","updateTime":1699995000000,"contents":{"":{"contentType":"1",
  "bytes":"<h2> Tectonic&nbsp;Summary </h2>\n<p>\nM&lt;7 &amp; <b>deep</b>,\nsee <a href='x'>this</a>.<br>New\u0007 line</p><script>alert('<p>')</script><style>p{}</style><!-- <p>no</p> -->5 < 6 <7"}}}],
"impact-text":[{"status":"UPDATE","updateTime":1699996000000,"contents":{"":{"bytes":"  "}}}]
}},"geometry":{"type":"Point","coordinates":[1,2,3]}}`

func TestOfEachProductThePreferredRevisionIsTaken(t *testing.T) {
	batch, err := Parse([]byte(detail6), now)
	r := only(t, batch, err)
	want := []hazard.ReportProduct{
		{Key: "usgs", Title: "USGS", Type: hazard.FolderProduct, Time: 1699990000000},
		{Key: "event", Parent: "usgs", Title: "Event page", Type: hazard.URLProduct, Time: 1699990000000,
			Data: "https://earthquake.usgs.gov/earthquakes/eventpage/us6"},
		{Key: "losspager", Parent: "usgs", Title: "PAGER", Type: hazard.URLProduct, Time: 1699992000000,
			Data: "https://earthquake.usgs.gov/earthquakes/eventpage/us6/pager", Comment: "Alert level: yellow"},
		{Key: "shakemap", Parent: "usgs", Title: "ShakeMap", Type: hazard.URLProduct, Time: 1699993000000,
			Data: "https://earthquake.usgs.gov/earthquakes/eventpage/us6/shakemap/intensity"},
		{Key: "ground-failure", Parent: "usgs", Title: "Ground failure", Type: hazard.URLProduct, Time: 1699990000000,
			Data: "https://earthquake.usgs.gov/earthquakes/eventpage/us6/ground-failure/summary", Comment: "Landslides: orange"},
		{Key: "moment-tensor", Parent: "usgs", Title: "Moment tensor", Type: hazard.URLProduct, Time: 1699990000000,
			Data: "https://earthquake.usgs.gov/earthquakes/eventpage/us6/moment-tensor"},
		{Key: "general-text", Parent: "usgs", Title: "Summary", Type: hazard.TextProduct, Time: 1699995000000,
			Data: "Tectonic Summary\n\nM<7 & deep, see this.\nNew line\n\n5 < 6 <7"},
	}
	if diff := cmp.Diff(want, r.Products); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
	if r.Renewed == nil || *r.Renewed != 1699993000000 {
		t.Errorf("renewed %v, want the later of PAGER and ShakeMap", r.Renewed)
	}
	if r.Severity != hazard.Advisory || r.Ended != "" {
		t.Errorf("%v, ended %q", r.Severity, r.Ended)
	}
}

func TestAProductThatCannotBeReadCostsOnlyItself(t *testing.T) {
	for name, tt := range map[string]struct {
		products string
		reason   string // of the reject; empty for none
		titles   int
	}{
		"none":               {`null`, "", 2},
		"an empty array":     {`[]`, "", 2},
		"a word":             {`"x"`, `properties/products: "x", expected an object`, 2},
		"no array":           {`{"dyfi":{},"shakemap":[{}]}`, "properties/products/dyfi: {}, expected an array", 3},
		"an odd product":     {`{"dyfi":[7,{}]}`, "properties/products/dyfi/0: 7, expected an object", 3},
		"an odd status":      {`{"dyfi":[{"status":7}],"shakemap":[{}]}`, "properties/products/dyfi/0: status: number, expected a string", 3},
		"odd times":          {`{"dyfi":[{"updateTime":{}}]}`, "properties/products/dyfi/0: updateTime: {}, expected a number", 2},
		"odd contents":       {`{"losspager":[{"contents":{"onepager.pdf":7},"properties":7}]}`, "", 3},
		"odd inline content": {`{"general-text":[{"contents":{"":{"bytes":7}}}]}`, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(event(`"sig":650`, `"products":`+tt.products)), now)
			if err != nil || len(batch.Reports) != 1 {
				t.Fatalf("error %v, %+v", err, batch)
			}
			if n := len(batch.Reports[0].Products); n != tt.titles {
				t.Errorf("%d products, want %d", n, tt.titles)
			}
			switch {
			case tt.reason == "" && len(batch.Rejects) == 0:
			case len(batch.Rejects) != 1 || batch.Rejects[0].Record != "us1" || batch.Rejects[0].Reason != tt.reason:
				t.Errorf("rejects %s, want %q", batch.Rejects, tt.reason)
			}
		})
	}
}

func TestADeletedEventIsWithdrawn(t *testing.T) {
	const products = `"products":{"origin":[{"status":"DELETE"}],"dyfi":[{"status":"Delete"},{"status":"DELETE"}]}`
	for name, tt := range map[string]struct {
		payload string
		want    hazard.EndReason
	}{
		"a detail that says so":        {event(`"reviewed"`, `"deleted"`), hazard.EndWithdrawn},
		"a detail that says so loudly": {event(`"reviewed"`, `"DELETED"`), hazard.EndWithdrawn},
		"all its products":             {event(`"sig":650`, products), hazard.EndWithdrawn},
		"all its products but one":     {event(`"sig":650`, strings.Replace(products, `"Delete"`, `"UPDATE"`, 1)), ""},
		"no products at all":           {event(`"sig":650`, `"products":{}`), ""},
		"a summary that says so":       {string(collection(event(`"reviewed"`, `"deleted"`))), hazard.EndWithdrawn},
		"neither time nor place any more": {event(`"reviewed"`, `"deleted"`, `"time":1699990000000`, `"time":null`, `[10.5,-20.25,30]`, `[null,null,null]`,
			`"mag":5.1`, `"mag":null`, `"type":"earthquake"`, `"type":null`, `"place":"12 km NE of X, Country"`, `"place":null`), hazard.EndWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			r := only(t, batch, err)
			if r.Ended != tt.want || r.Suspect != "" || r.Key != "us1" {
				t.Errorf("ended %q, suspect %q; want ended %q", r.Ended, r.Suspect, tt.want)
			}
			if r.Ended != "" && (r.Products != nil || r.Renewed != nil) {
				t.Errorf("products %v, renewed %v of what is over", r.Products, r.Renewed)
			}
		})
	}
}

func TestPlainText(t *testing.T) {
	for markup, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"a\nb":                       "a b",
		"<p>a</p><p>b</p>":           "a\n\nb",
		"a<br/>b<BR>c":               "a\nb\nc",
		"<ul><li>a<li>b</ul>":        "a\nb",
		"x &lt;b&gt; &amp;amp; y":    "x <b> &amp; y",
		"&#x202e;a&#7;b&nbsp;c":      "ab c",
		"a < b > c":                  "a < b > c",
		"a <b":                       "a <b",
		"<i>a</i>b":                  "ab",
		"a<!-- b":                    "a",
		"a<script>b":                 "a",
		"<SCRIPT>x</ScRiPt >a":       "a",
		"a</script>b":                "ab",
		"<?xml version='1.0'?>a":     "a",
		"<!DOCTYPE html>a":           "a",
		"<h2>a</h2> \n <p> \n b</p>": "a\n\nb",
	} {
		if got := plainText(markup); got != want {
			t.Errorf("%q: %q, want %q", markup, got, want)
		}
	}
	if got := plainText(strings.Repeat("<p>é", 1<<20)); len(got) > maxText {
		t.Errorf("%d bytes", len(got))
	}
	for _, unit := range []string{"<a", "<!--", "<script>", "</", "<a b>", "&"} { // each must take linear time
		plainText(strings.Repeat(unit, 1<<20))
	}
}

func TestFeedsAreThoseThatUSGSOffersToPrograms(t *testing.T) {
	feeds := Source().Feeds
	if len(feeds) != 2 || feeds[0].Every != time.Minute || feeds[1].Every != 15*time.Minute {
		t.Errorf("feeds %+v", feeds)
	}
	for _, f := range feeds {
		if detailAddress(f.URL) != f.URL || f.MaxBytes != 32<<20 {
			t.Errorf("feed %+v", f)
		}
	}
}
