package cap

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// comesTo is the expected result of each recording: records read, reports, ignored records,
// rejects; of the reports those that end something, those that are held, and those that make no
// hazard by themselves (Minor); links. Then follow the reason of its rejects, and the error of the
// whole payload.
var comesTo = []struct {
	file           string
	count          [8]int
	reject, refuse string
}{
	{"cap/amber.atom", [8]int{1, 0, 1, 0, 0, 0, 0, 0}, "", ""}, // a search for a missing child
	{"cap/australia.cap", [8]int{1, 2, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/canada.cap", [8]int{1, 2, 0, 0, 2, 2, 0, 0}, "", ""},        // the text says that it is a test
	{"cap/canada_errors.cap", [8]int{1, 1, 0, 0, 1, 0, 1, 0}, "", ""}, // an all-clear that refers to nothing
	{"cap/canada_signed.atom", [8]int{1, 2, 0, 0, 1, 0, 0, 0}, "", ""},
	{"cap/canada_signed.cap", [8]int{1, 2, 0, 0, 1, 0, 0, 0}, "", ""},
	{"cap/cap10.xsd", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `the root element is "schema"`},
	{"cap/cap11.xsd", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `the root element is "schema"`},
	{"cap/cap12.xsd", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `the root element is "schema"`},
	{"cap/cap12_extended.xsd", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `the root element is "schema"`},
	{"cap/dwd-20170223.xml", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/earthquake-iso8859-1.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/earthquake.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/earthquake_index.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 1}, "", ""},
	{"cap/earthquake_signed.cap", [8]int{1, 0, 1, 0, 0, 0, 0, 0}, "", ""},      // below M 4.5
	{"cap/edxl-tasmania-20260921.xml", [8]int{2, 1, 1, 0, 0, 0, 0, 0}, "", ""}, // status Test
	{"cap/edxlde-1_0.xsd", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `the root element is "schema"`},
	{"cap/empty_weather_index.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/invalid.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/invalid.rss", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/invalid_element.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/ncm-sa-20260927.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/ncm-sa-index-20260927.rss", [8]int{0, 0, 0, 0, 0, 0, 0, 2}, "", ""},
	{"cap/no_entries.atom", [8]int{1, 2, 0, 0, 1, 2, 0, 0}, "", ""}, // the text says TEST; the alert is outside of any entry
	{"cap/no_id.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/no_link.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/no_optional_fields.cap", [8]int{1, 0, 1, 0, 0, 0, 0, 0}, "", ""}, // no info
	{"cap/no_title.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/noaa_errors.cap", [8]int{1, 0, 0, 1, 0, 0, 0, 0}, `info/0/severity: ""`, ""},
	{"cap/ny_index.rss", [8]int{0, 0, 0, 0, 0, 0, 0, 2}, "", ""},
	{"cap/oasis-43b080713727.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},       // a threat level, an event without a row in the table: still shown
	{"cap/oasis-KAR0-0306112239-SW.cap", [8]int{1, 0, 1, 0, 0, 0, 0, 0}, "", ""}, // a search for a missing child
	{"cap/oasis-amber.rss", [8]int{0, 0, 0, 0, 0, 0, 0, 1}, "", ""},
	{"cap/oasis-earthquake.atom", [8]int{1, 0, 1, 0, 0, 0, 0, 0}, "", ""}, // M 3.4
	{"cap/oasis-thunderstorm.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/wcatwc-warning.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/weather.atom", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/weather.cap", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/weather_index.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 2}, "", ""},
	{"cap/weather_invalid.atom", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"cap/xee.atom", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `a document type`},
	{"cap/xee.cap", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `a document type`},
	{"meteoalarm/2.0.0.1.AT.1483086567.132AT005.cap.xml", [8]int{1, 1, 0, 0, 0, 1, 0, 0}, "", ""},     // the description is "test"
	{"meteoalarm/2.0.0.1.AT.1483086568.131AT007.cap.xml", [8]int{1, 1, 0, 0, 1, 0, 1, 0}, "", ""},     // green
	{"meteoalarm/2.0.0.1.IL.1486110628.112IL009.cap.xml", [8]int{1, 1, 0, 0, 0, 1, 0, 0}, "", ""},     // the description is "test yellow"
	{"meteoalarm/2.49.0.1.276.DWD.PVW.1437558240606.161.cap", [8]int{1, 1, 0, 0, 1, 0, 1, 0}, "", ""}, // green
	{"meteoalarm/2.49.0.20.0.AT.151002172344.91.cap", [8]int{1, 1, 0, 1, 0, 0, 0, 0}, `circle/0: radius`, ""},
	{"meteoalarm/api-bosnia-herzegovina-202401.json", [8]int{22, 22, 0, 0, 0, 0, 0, 0}, "", ""},
	{"meteoalarm/api-croatia-202401.json", [8]int{63, 83, 0, 0, 20, 0, 0, 0}, "", ""},
	{"meteoalarm/api-germany-20260420.json", [8]int{4, 4, 1, 0, 2, 0, 0, 0}, "", ""}, // status Test
	{"meteoalarm/atom-spain-20260823-excerpt.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 4}, "", ""},
	{"meteoalarm/derived-emma-areas.json", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `a JSON object of something else`},
	{"meteoalarm/dwd-converted-20170223.cap.xml", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"meteoalarm/synthetic-with_polygons.json", [8]int{3, 3, 0, 0, 0, 1, 0, 0}, "", ""}, // made up: events without a row in the table, and a test
	{"wmo/alert-hub-feeds.json", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `a JSON array of something else`},
	{"wmo/cap-china-multilang-20260801.xml", [8]int{1, 2, 0, 0, 1, 0, 0, 0}, "", ""},
	{"wmo/register-20260818-excerpt.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 7}, "", ""},
	{"wmo/swic-cap-india-20260818.xml", [8]int{1, 1, 0, 0, 0, 0, 0, 0}, "", ""},
	{"wmo/swic-effective-20260817-excerpt.json", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", `a JSON object of something else`},
	{"bbk/dashboard-20260919.json", [8]int{0, 0, 0, 0, 0, 0, 0, 1}, "", ""},
	{"bbk/mowas-cancel-20260920.json", [8]int{1, 1, 0, 0, 1, 0, 0, 0}, "", ""},
	{"georss/ign-sismologia.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 25}, "", ""},
	{"georss/qfes_bushfire_alert_feed.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
	{"georss/tasmania_fire_service_all_incidents_statewide.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 9}, "", ""},
	{"georss/wa_dfes_all_incidents.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 50}, "", ""},
	{"georss/wa_dfes_warnings.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 3}, "", ""},
	{"georss/xml_parser_bom_1.xml", [8]int{0, 0, 0, 0, 0, 0, 0, 0}, "", ""},
}

func TestRecordings(t *testing.T) {
	test.NoRace(t)
	var seen []string
	for _, tt := range comesTo {
		seen = append(seen, tt.file)
		payload := recordings.Read(t, "feeds/"+tt.file)
		now := recordedAt(t, tt.file)
		b, err := Parse(feed, payload, now)
		links, _ := Links(payload)
		got := [8]int{b.Read, len(b.Reports), b.Ignored, len(b.Rejects), 0, 0, 0, len(links)}
		for _, r := range b.Reports {
			for i, is := range []bool{r.Ended != "", r.Suspect != "", r.Minor} {
				if is {
					got[4+i]++
				}
			}
			if r.Name == "" || r.Type == "" || r.Severity == 0 || r.Key == "" || r.Source != feed.Name || r.Creator == "" || r.Description == "" || r.Start == 0 {
				t.Errorf("%s: a report with holes: %+v", tt.file, r)
			}
			if r.Start > now.Add(10*24*time.Hour) {
				t.Errorf("%s: begins at %v", tt.file, r.Start)
			}
		}
		if got != tt.count {
			t.Errorf("%s: %v, want %v", tt.file, got, tt.count)
		}
		for _, r := range b.Rejects {
			if tt.reject == "" || !strings.Contains(r.Reason, tt.reject) {
				t.Errorf("%s: rejected: %s, want %q", tt.file, r.Reason, tt.reject)
			}
		}
		if (err == nil) != (tt.refuse == "") || err != nil && !strings.Contains(err.Error(), tt.refuse) {
			t.Errorf("%s: %v, want %q", tt.file, err, tt.refuse)
		}
	}
	for _, pattern := range []string{"cap/*.*", "meteoalarm/*", "wmo/*", "bbk/*", "georss/*"} {
		for _, f := range recordedFiles(t, pattern) {
			if !slices.Contains(seen, f) {
				t.Errorf("%s is not in the table", f)
			}
		}
	}
}

// chains returns the eleven chains of Canadian tornado warnings of summer 2026.
func chains(t *testing.T) map[string][][]hazard.Report {
	t.Helper()
	out := map[string][][]hazard.Report{}
	files := recordedFiles(t, "cap/canada-2026/*")
	if len(files) != 59 {
		t.Fatalf("%d messages, want 59", len(files))
	}
	for _, f := range files {
		b, err := Parse(feed, recordings.Read(t, "feeds/"+f), at(t, "2026-09-01T00:00:00Z"))
		if err != nil || b.Read != 1 || len(b.Reports) == 0 || len(b.Rejects) != 0 {
			t.Fatalf("%s: %+v, %v", f, b, err)
		}
		for _, r := range b.Reports {
			if r.Suspect != "" || r.Type != hazard.Tornado || strings.ContainsRune(r.Name+r.Description, '\ufffd') {
				t.Errorf("%s: %s, %s, suspect %q", f, r.Name, r.Type, r.Suspect)
			}
		}
		chain := strings.Split(f, "-")[2]
		out[chain] = append(out[chain], b.Reports)
	}
	return out
}

// Each chain is one event. It continues while any of its areas is active, and ends as its last
// message says, without a Cancel.
func TestCanadianChains(t *testing.T) {
	ends := map[hazard.EndReason]int{}
	sideBySide := map[hazard.EndReason]int{}
	for name, messages := range chains(t) {
		var e events
		for i, reports := range messages {
			e.add(reports...)
			if len(e.all) != 1 {
				t.Fatalf("%s: %d events after %d messages", name, len(e.all), i+1)
			}
			sent := hazard.Instant(reports[0].Version)
			state := e.all[0].state(sent + 1000)
			last := i == len(messages)-1
			if (state.Ended == "") == last {
				t.Errorf("%s: ended %q after message %d of %d", name, state.Ended, i+1, len(messages))
			}
			active, ended := 0, hazard.EndReason("")
			for _, r := range reports {
				if len(r.Areas) == 0 {
					continue
				}
				if r.Ended == "" {
					active += len(r.Areas)
				} else {
					ended = r.Ended
				}
			}
			if active > 0 && ended != "" {
				sideBySide[ended]++
			}
			if !last && (len(state.Head.Areas) != active || state.Head.Severity != hazard.Warning || state.Head.Level != "red") {
				t.Errorf("%s: message %d: %d areas, want %d; %s %q", name, i+1, len(state.Head.Areas), active, state.Head.Severity, state.Head.Level)
			}
		}
		end := hazard.Instant(messages[len(messages)-1][0].Version)
		state := e.all[0].state(end + 1000)
		ends[state.Ended]++
		if state.EndedAt != end {
			t.Errorf("%s: ended at %v, want %v", name, state.EndedAt, end)
		}
		// The result is the same in any order.
		rng := rand.New(rand.NewPCG(7, 8))
		for range 100 {
			shuffled := slices.Clone(messages)
			rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			var o events
			for _, reports := range shuffled {
				o.add(reports...)
			}
			if len(o.all) != 1 {
				t.Fatalf("%s: %d events", name, len(o.all))
			}
			if diff := cmp.Diff(state, o.all[0].state(end+1000)); diff != "" {
				t.Fatalf("%s: %s", name, diff)
			}
		}
	}
	if diff := cmp.Diff(map[hazard.EndReason]int{hazard.EndAllClear: 6, hazard.EndSuperseded: 5}, ends); diff != "" {
		t.Errorf("ends: %s", diff)
	}
	if diff := cmp.Diff(map[hazard.EndReason]int{hazard.EndAllClear: 15, hazard.EndSuperseded: 5}, sideBySide); diff != "" {
		t.Errorf("messages with active and ended areas: %s", diff)
	}
}

// Croatia's 63 warnings: updates join the messages that they refer to; each region and day is a
// separate event.
func TestMeteoAlarmOfCroatia(t *testing.T) {
	payload := recordings.Read(t, "feeds/meteoalarm/api-croatia-202401.json")
	now := at(t, "2024-01-07T12:00:00Z")
	var e events
	b := parsed(t, feed, string(payload), now)
	e.add(b.Reports...)
	levels := map[hazard.Severity]int{}
	for _, v := range e.all {
		levels[v.state(now).Head.Severity]++
	}
	if len(e.all) != 63 || levels[hazard.Warning] != 6 || levels[hazard.Watch] != 13 {
		t.Errorf("%d events, levels %v", len(e.all), levels)
	}
	croatian := feed
	croatian.Language = "hr"
	for _, r := range parsed(t, croatian, string(payload), now).Reports {
		if strings.Contains(r.Name, "warning") || strings.Contains(r.Name, "uto ") {
			t.Errorf("%q is not in Croatian, or holds a level", r.Name)
		}
	}
}

func TestLinksOfRecordedIndexes(t *testing.T) {
	test.NoRace(t)
	for file, want := range map[string]source.Link{
		"meteoalarm/atom-spain-20260823-excerpt.xml": {URL: "https://feeds.meteoalarm.org/api/v1/warnings/feeds-spain/9d62e839-995b-4831-854e-3c006c69eefb",
			ID: "2.49.0.0.724.0.ES.260823153609.754802TOTO231899369", Updated: new(at(t, "2026-08-23T15:36:09Z")), Expires: new(at(t, "2026-08-23T17:59:59Z"))},
		"cap/ncm-sa-index-20260927.rss": {URL: "https://www.ncm.gov.sa/cap/en/alerts/07c93b6f-853f-4032-8d54-afd95d859e07.xml", ID: "{07c93b6f-853f-4032-8d54-afd95d859e07}",
			Updated: new(at(t, "2026-09-27T18:42:57Z"))},
		"cap/earthquake_index.atom": {URL: "http://earthquake.usgs.gov/earthquakes/catalogs/cap/us2010apcd", ID: "urn:earthquake-usgs-gov:us:2010apcd", Updated: new(at(t, "2010-08-30T23:25:40Z"))},
		"bbk/dashboard-20260919.json": {URL: "https://warnung.bund.de/api31/warnings/dwd.2.49.0.0.276.0.DWD.PVW.1789837260000.f831dd90-b825-45e6-b453-68d2579831c5.MUL.json",
			ID: "dwd.2.49.0.0.276.0.DWD.PVW.1789837260000.f831dd90-b825-45e6-b453-68d2579831c5.MUL", Updated: new(at(t, "2026-09-19T19:00:24+02:00"))},
		"cap/oasis-amber.rss": {URL: "http://cap-validator.appspot.com/examples/KAR0-0306112239-SW.cap", ID: "KAR0-0306112239-SW", Updated: nil}, // "PDT" is not a valid offset
	} {
		links, err := Links(recordings.Read(t, "feeds/"+file))
		if err != nil || len(links) == 0 {
			t.Fatalf("%s: %v, %v", file, links, err)
		}
		if diff := cmp.Diff(want, links[0]); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	payload := recordings.Read(b, "feeds/cap/canada-2026/20260710-chain00-10-update.cap")
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(feed, payload, 0); err != nil {
			b.Fatal(err)
		}
	}
}
