package gvp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestEachKindOfReportHasItsName(t *testing.T) {
	for activity, want := range map[string]string{
		"New Eruptive Activity":        "Volcanic Eruption - Krakatau, Indonesia",
		"Continuing Eruptive Activity": "Volcanic Eruption - Krakatau, Indonesia",
		"continuing eruptive activity": "Volcanic Eruption - Krakatau, Indonesia",
		"New Unrest":                   "Volcanic Unrest - Krakatau, Indonesia",
		"Continuing Unrest":            "Volcanic Unrest - Krakatau, Indonesia",
		"Other Observations":           "Volcanic Activity - Krakatau, Indonesia",
		"New Activity/Unrest":          "Volcanic Activity - Krakatau, Indonesia",
		"Ongoing Activity":             "Volcanic Activity - Krakatau, Indonesia",
	} {
		if r := one(t, an("New Eruptive Activity", activity)); r.Name != want || r.Suspect != "" || !strings.EqualFold(r.Level, activity) {
			t.Errorf("%s: %q, level %q, suspect %q, want %q", activity, r.Name, r.Level, r.Suspect, want)
		}
	}
}

func TestTitlesAreReadInAllTheirForms(t *testing.T) {
	const head = "Krakatau (Indonesia) - Report for 10 September-16 September 2026 - New Eruptive Activity"
	for title, want := range map[string]struct{ name, part, suspect string }{
		"Whakaari/White Island (New Zealand) - Report for 10 September-16 September 2026 - New Unrest": {"Volcanic Unrest - Whakaari/White Island, New Zealand", "2026-09-10", ""},
		"Copahue (Chile-Argentina border) - Report for 10 September-16 September 2026 - New Unrest":    {"Volcanic Unrest - Copahue, Chile-Argentina border", "2026-09-10", ""},
		"Fuego - Report for 10 September-16 September 2026 - New Unrest":                               {"Volcanic Unrest - Fuego", "2026-09-10", ""},
		"Krakatau (Indonesia) – Report for 10 September–16 September 2026 – New Unrest":                {"Volcanic Unrest - Krakatau, Indonesia", "2026-09-10", ""},
		"Krakatau (Indonesia) - Report for this week - New Unrest":                                     {"Volcanic Unrest - Krakatau, Indonesia", "2026-09-17", ""},
		"Krakatau (Indonesia) - Report for 40 September-16 September 2026 - New Unrest":                {"Volcanic Unrest - Krakatau, Indonesia", "2026-09-17", ""},
		"Krakatau (Indonesia) - Report for 10 September-16 September 2016 - New Unrest":                {"Volcanic Unrest - Krakatau, Indonesia", "2016-09-10", "title: the week from 2016-09-10 does not fit pubDate 2026-09-17T05:20:04.000Z"},
		"Krakatau (Indonesia) - Report for 10 September-16 September 2026 - Sheep":                     {"Volcanic Activity - Krakatau, Indonesia", "2026-09-10", `title: "Sheep" is not in the mapping table`},
	} {
		if r := one(t, an(head, title)); r.Name != want.name || r.Part != want.part || r.Suspect != want.suspect {
			t.Errorf("%s\n got %q, part %s, suspect %q\nwant %q, part %s, suspect %q", title, r.Name, r.Part, r.Suspect, want.name, want.part, want.suspect)
		}
	}
}

func TestAWeekMayBeginInTheYearBefore(t *testing.T) {
	for _, week := range []string{"31 December-6 January 2026", "31 December 2025-6 January 2026"} {
		r := one(t, an("10 September-16 September 2026", week, "17 Sep 2026", "8 Jan 2026"))
		if want := sourcetest.At("2025-12-31T00:00:00Z"); r.Start != want || r.Part != "2025-12-31" {
			t.Errorf("%s: start %v, part %s", week, r.Start, r.Part)
		}
	}
}

func TestPublicationDates(t *testing.T) {
	for date, want := range map[string]string{
		"Thu, 17 Sep 2026 01:20:04 -0400": "2026-09-17T05:20:04Z",
		"17 Sep 2026 01:20:04 EDT":        "2026-09-17T05:20:04Z",
		"Thu, 17 Sep 2026 01:20:04 EST":   "2026-09-17T06:20:04Z",
		"Thu, 17 Sep 2026 01:20 GMT":      "2026-09-17T01:20:00Z",
		"":                                "2026-09-17T00:00:00Z", // the day after the week
	} {
		if r := one(t, an("Thu, 17 Sep 2026 01:20:04 -0400", date)); r.Version != int64(sourcetest.At(want)) || *r.Renewed != sourcetest.At(want) {
			t.Errorf("%s: %v, want %s", date, hazard.Instant(r.Version), want)
		}
	}
	if r := one(t, an("17 Sep 2026", "17 Sep 2027")); r.Suspect != "pubDate: 2027-09-17T05:20:04.000Z is in the future; "+
		"title: the week from 2026-09-10 does not fit pubDate 2027-09-17T05:20:04.000Z" {
		t.Errorf("a year ahead: %q", r.Suspect)
	}
}

func TestPositions(t *testing.T) {
	for text, want := range map[string]hazard.Point{
		"-6.1009 105.4233":       {Lon: 105.4233, Lat: -6.1009},
		"105.4233 -6.1009":       {Lon: 105.4233, Lat: -6.1009}, // latitude and longitude are swapped
		"52.825 190.056":         {Lon: -169.944, Lat: 52.825},
		" \n-6.1009,\t105.4233 ": {Lon: 105.4233, Lat: -6.1009},
		"0 105.4233":             {Lon: 105.4233},
	} {
		r := one(t, an("-6.1009 105.4233", text))
		if r.Suspect != "" || r.Point == nil || max(r.Point.Lon-want.Lon, want.Lon-r.Point.Lon) > 1e-9 || r.Point.Lat != want.Lat {
			t.Errorf("%q: %v, suspect %q, want %v", text, r.Point, r.Suspect, want)
		}
	}
	for text, why := range map[string]string{
		"0 0":      "georss:point: 0 0, expected the volcano's position",
		"":         `georss:point: "", expected latitude and longitude in degrees`,
		"1":        `georss:point: "1", expected latitude and longitude in degrees`,
		"95 181":   `georss:point: "95 181", expected latitude and longitude in degrees`,
		"NaN 1":    `georss:point: "NaN 1", expected latitude and longitude in degrees`,
		"6S 105E":  `georss:point: "6S 105E", expected latitude and longitude in degrees`,
		"-6 999":   `georss:point: "-6 999", expected latitude and longitude in degrees`,
		"-6 1 2 3": `georss:point: "-6 1 2 3", expected latitude and longitude in degrees`,
	} {
		if r := one(t, an("-6.1009 105.4233", text)); r.Suspect != why || r.Point != nil {
			t.Errorf("%q: %v, suspect %q, want %q", text, r.Point, r.Suspect, why)
		}
	}
}

func TestABadItemIsRejectedAlone(t *testing.T) {
	for name, tt := range map[string]struct{ item, record, reason string }{
		"no number":       {an("#vn_262000", ""), "items/1", `guid: "https://volcano.si.edu/reports_weekly.cfm", expected an address that ends in #vn_ and a volcano number of six digits`},
		"an old number":   {an("#vn_262000", "#vn_0602-00="), "items/1", `guid: "https://volcano.si.edu/reports_weekly.cfm#vn_0602-00=", expected an address that ends in #vn_ and a volcano number of six digits`},
		"another title":   {an(" - Report for", " Report for"), "262000", `title: "Krakatau (Indonesia) Report for 10 September-16 September 2026 - New Eruptive Ac…", expected Name (Country) - Report for … - …`},
		"a wrong pubDate": {an("17 Sep 2026", "yesterday"), "262000", `pubDate: "Thu, yesterday 01:20:04 -0400", expected a date as in RFC 1123`},
		"no date at all":  {an("10 September-16 September 2026", "now", "Thu, 17 Sep 2026 01:20:04 -0400", ""), "262000", `pubDate: "", expected a date as in RFC 1123`},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(feed(an("262000", "262001"), tt.item, an("262000", "262002")), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 {
				t.Fatalf("error %v, read %d, reports %d, rejects %v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			if got := batch.Rejects[0]; got.Record != tt.record || got.Reason != tt.reason || string(got.Raw) != tt.item {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
		})
	}
}

func TestTheNumberMayStandInTheLink(t *testing.T) {
	if r := one(t, an("#vn_262000", "", "reports_weekly.cfm</link>", "volcano.cfm?vn=262000</link>")); r.Key != "262000" {
		t.Errorf("key %q", r.Key)
	}
}

func TestHTMLBecomesTextAndItsLinksProducts(t *testing.T) {
	r := one(t, an("An ash plume rose.", `An &lt;i&gt;ash&lt;/i&gt;&amp;nbsp;plume&lt;br/&gt;rose &amp;amp; fell.&lt;script&gt;alert(1)&lt;/script&gt;`+
		`&lt;a href="https://magma.esdm.go.id/x"&gt;Notice of
 PVMBG&lt;/a&gt; &lt;a href="javascript:alert(1)"&gt;no&lt;/a&gt; &lt;img src="https://volcano.si.edu/i.jpg"&gt;`))
	if !strings.HasSuffix(r.Description, "New Eruptive Activity.\n\nAn ash plume\nrose & fell.Notice of PVMBG no\n\nSource: PVMBG") {
		t.Errorf("description %q", r.Description)
	}
	var links []string
	for _, p := range r.Products[3:] {
		links = append(links, p.Title+" "+p.Data)
	}
	want := []string{
		"Volcano profile https://volcano.si.edu/volcano.cfm?vn=262000",
		"Notice of PVMBG https://magma.esdm.go.id/x",
		"https://volcano.si.edu/i.jpg https://volcano.si.edu/i.jpg",
	}
	if !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
}

func TestTwoItemsThatContradictEachOtherAreHeld(t *testing.T) {
	batch, err := Parse(feed(an(), an("An ash plume", "No ash plume"), an()), now)
	if err != nil || len(batch.Reports) != 2 || batch.Ignored != 1 {
		t.Fatalf("error %v, %d reports, %d ignored", err, len(batch.Reports), batch.Ignored)
	}
	for _, r := range batch.Reports {
		if r.Suspect != clash {
			t.Errorf("suspect %q", r.Suspect)
		}
	}
}

// The reports of three weeks make one event from the first week on, in any order.
func TestWeeksMakeOneEvent(t *testing.T) {
	weeks := []hazard.Report{
		one(t, an()),
		one(t, an("10 September-16 September 2026", "17 September-23 September 2026", "17 Sep 2026", "24 Sep 2026", "New Eruptive", "Continuing Eruptive", "An ash plume", "Lava")),
		one(t, an("10 September-16 September 2026", "24 September-30 September 2026", "17 Sep 2026", "1 Oct 2026", "New Eruptive", "Continuing Eruptive", "An ash plume", "Steam")),
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var parts []hazard.Report
		for _, i := range order {
			parts = append(parts, weeks[i])
		}
		state := hazard.Derive(parts, sourcetest.At("2026-10-02T00:00:00Z"))
		end := sourcetest.At("2026-10-01T05:20:04Z").Add(8 * 24 * time.Hour)
		if state.Head.Start != sourcetest.At("2026-09-10T00:00:00Z") || state.End != end || !strings.Contains(state.Head.Description, "Steam") || len(state.Head.Products) != 4 {
			t.Errorf("%v: start %v, end %v, %d products: %s", order, state.Head.Start, state.End, len(state.Head.Products), state.Head.Description)
		}
	}
}
