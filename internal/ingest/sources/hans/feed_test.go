package hans

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const recorded = "feeds/hans/getElevatedVolcanoes-20260727.json"

func TestEveryRecordedListIsRead(t *testing.T) {
	test.NoRace(t)
	type counts struct {
		Read, Ignored, Rejects, Advisory, Watch int
		Whole                                   bool
	}
	for name, want := range map[string]counts{
		recorded: {Read: 5, Advisory: 4, Watch: 1, Whole: true},
	} {
		batch, err := Parse(recordings.Read(t, name), now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkBatch(t, &batch)
		got := counts{Read: batch.Read, Ignored: batch.Ignored, Rejects: len(batch.Rejects), Whole: batch.Whole}
		for _, r := range batch.Reports {
			switch r.Severity {
			case hazard.Advisory:
				got.Advisory++
			case hazard.Watch:
				got.Watch++
			}
			if r.Suspect != "" || r.Ended != "" {
				t.Errorf("%s is held (%s) or over", r.Key, r.Suspect)
			}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("HAZARDD_SHARED"), "feeds/hans/*"))
	if len(files) != 1 {
		t.Errorf("%d recordings, the table has 1", len(files))
	}
}

func TestARecordedVolcanoIsReportedInFull(t *testing.T) {
	test.NoRace(t)
	batch, err := Parse(recordings.Read(t, recorded), now)
	if err != nil {
		t.Fatal(err)
	}
	sent := sourcetest.At("2026-07-27T19:44:38Z")
	want := hazard.Report{
		Source: "hans", Key: "311120", Refs: []string{"gvp:311120"}, Part: "DOI-USGS-AVO-2026-07-27T19:33:00+00:00", Places: []string{"gvp:311120"},
		Version: int64(sent), Name: "Volcanic Activity - Great Sitkin, Alaska",
		Description: "Great Sitkin: volcano alert level WATCH, aviation colour code ORANGE, by a daily update of 27 July 2026 19:44 UTC.\n\n" +
			"The level means: heightened or escalating unrest with an increased potential of eruption, or an eruption that poses limited hazards. " +
			"Set by: Alaska Volcano Observatory (USGS).",
		Type: hazard.Volcano, Severity: hazard.Watch, Category: hazard.Event, Start: sent, LifeMS: 30 * 24 * 3600 * 1000,
		Called: "Great Sitkin", Level: "WATCH/ORANGE",
		Measurements: []hazard.Measurement{{Name: hazard.AviationColor, Value: 3}, {Name: hazard.VolcanoAlert, Value: 3}},
		URL:          "https://volcanoes.usgs.gov/hans-public/notice/DOI-USGS-AVO-2026-07-27T19:33:00+00:00",
		Comment:      "hans:311120", Creator: "USGS",
		Products: []hazard.ReportProduct{
			{Key: "hans", Title: "USGS volcano notices", Type: hazard.FolderProduct, Time: sent},
			{Key: "notice", Parent: "hans", Title: "Daily update, 27 July 2026 19:44 UTC", Type: hazard.URLProduct, Time: sent, Comment: "WATCH/ORANGE",
				Data: "https://volcanoes.usgs.gov/hans-public/notice/DOI-USGS-AVO-2026-07-27T19:33:00+00:00"},
		},
	}
	if diff := cmp.Diff(want, batch.Reports[0]); diff != "" {
		t.Errorf("Great Sitkin (-want +got):\n%s", diff)
	}
	var names []string
	for _, r := range batch.Reports {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{
		"Volcanic Activity - Great Sitkin, Alaska", "Volcanic Activity - Kupreanof, Alaska", "Volcanic Activity - Shishaldin, Alaska",
		"Volcanic Activity - Kilauea, Hawaii", "Volcanic Activity - Ahyi Seamount, Northern Mariana Islands",
	}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestAnEmptyListMeansThatAllIsQuiet(t *testing.T) {
	for _, payload := range []string{"[]", "\ufeff [\n]\n"} {
		batch, err := Parse([]byte(payload), now)
		if err != nil || !batch.Whole || batch.Read != 0 {
			t.Errorf("%q: error %v, %+v", payload, err, batch)
		}
	}
}

func TestOnlyTheListOfLevelsIsWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		payload []byte
		whole   bool
	}{
		"elevated":               {records(a()), true},
		"monitored":              {records(a(), a("311120", "332020", `"WATCH"`, `"NORMAL"`, `"ORANGE"`, `"GREEN"`)), true},
		"alerts in CAP":          {records(capped()), false},
		"the catalogue":          {records(`{"vnum":"311120","volcano_name":"Great Sitkin","latitude":52.0765,"longitude":-176.1109}`), false},
		"with an unreadable one": {records(a(), `7`), true},
	} {
		batch, err := Parse(tt.payload, now)
		if err != nil || batch.Whole != tt.whole {
			t.Errorf("%s: error %v, whole %v", name, err, batch.Whole)
		}
	}
}

func TestTheCatalogueSaysNothingOfHazards(t *testing.T) {
	batch, err := Parse(records(`{"vnum":"311120","volcano_name":"Great Sitkin","latitude":52.0765,"longitude":-176.1109,"nvews_threat":"High Threat"}`), now)
	if err != nil || batch.Read != 1 || batch.Ignored != 1 || len(batch.Reports) != 0 {
		t.Errorf("error %v, %+v", err, batch)
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, reason string
		cut             bool
	}{
		"nothing":          {"", "an empty payload, expected an array of volcanoes", false},
		"HTML":             {"<html><body>503</body></html>", "HTML or XML instead of an array of volcanoes", false},
		"an object":        {`{"error":"no such method"}`, `begins with {"error":"no such method"}, expected an array of volcanoes`, false},
		"a word":           {`null`, "begins with null, expected an array of volcanoes", false},
		"cut":              {`[{"vnum":"3`, "the payload ends early, after 11 bytes", true},
		"something behind": {`[] []`, "[] at byte 3, expected the end", true},
		"deep":             {strings.Repeat("[", 20_000), "the payload ends early", true},
	} {
		batch, err := Parse([]byte(tt.payload), now)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || bad.Cut != tt.cut || !strings.HasPrefix(bad.Reason, tt.reason) {
			t.Errorf("%s: error %v, want %q", name, err, tt.reason)
		}
		if batch.Whole || len(batch.Reports) != 0 {
			t.Errorf("%s: %+v", name, batch)
		}
	}
}

func TestABadRecordIsRejectedAlone(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"no object":        {`7`, "records/1", "7, expected an object"},
		"no number":        {a(`"311120"`, `null`), "records/1", `vnum: "", expected a volcano number of six digits`},
		"an old number":    {a(`"311120"`, `"1101-12-"`), "records/1", `vnum: "1101-12-", expected a volcano number of six digits`},
		"number an object": {a(`"311120"`, `{}`), "records/1", `vnum: {}, expected a string; vnum: "", expected a volcano number of six digits`},
		"no name":          {a(`"Great Sitkin"`, `null`), "311120", "volcano_name: missing, expected the name of volcano 311120"},
		"no level":         {a(`"WATCH"`, `null`, `"ORANGE"`, `null`), "311120", "alert_level: missing, expected NORMAL, ADVISORY, WATCH, WARNING or UNASSIGNED"},
		"no time":          {a(`"2026-07-27 19:44:38"`, `null`, `1785181478`, `null`), "311120", "sent_unixtime: missing, expected when the notice was sent"},
		"time in words":    {a(`2026-07-27 19:44:38`, `today`, `1785181478`, `null`), "311120", `sent_utc: "today", expected a time such as 2026-07-27 19:44:38`},
		"a member twice":   {a(`"WATCH"`, `"WATCH","alert_level":"NORMAL"`), "311120", "alert_level: the member is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse(records(a("311120", "311121"), tt.bad, a("311120", "311122")), now)
			if err != nil || batch.Read != 3 || len(batch.Reports) != 2 || len(batch.Rejects) != 1 || !batch.Whole {
				t.Fatalf("error %v, read %d, reports %d, rejects %v", err, batch.Read, len(batch.Reports), batch.Rejects)
			}
			if names := batch.Rejects[0].Events; tt.record == "311120" && !slices.Contains(names, "311120") {
				t.Errorf("may be about %q, want 311120", names)
			}
			if got := batch.Rejects[0]; got.Record != tt.record || got.Reason != tt.reason || string(got.Raw) != tt.bad {
				t.Errorf("%s: %s\nwant %s: %s", got.Record, got.Reason, tt.record, tt.reason)
			}
		})
	}
}

func TestTheOrderOfRecordsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return a(
				"311120", rapid.SampledFrom([]string{"311120", "332010", "x"}).Draw(t, "number"),
				"WATCH", rapid.SampledFrom([]string{"WATCH", "WARNING", "NORMAL", "?"}).Draw(t, "level"),
				"1785181478", rapid.SampledFrom([]string{"1785181478", "1785181479", "null"}).Draw(t, "time"),
			)
		}), 0, 8).Draw(t, "records")
		summary := func(all []string) []string {
			batch, err := Parse(records(all...), now)
			if err != nil || batch.Read != len(all) || batch.Read != len(batch.Reports)+len(batch.Rejects)+batch.Ignored {
				t.Fatalf("error %v, read %d of %d: %d reports, %d rejects, %d ignored", err, batch.Read, len(all), len(batch.Reports), len(batch.Rejects), batch.Ignored)
			}
			lines := []string{fmt.Sprint("ignored ", batch.Ignored, ", whole ", batch.Whole)}
			for _, r := range batch.Reports {
				lines = append(lines, fmt.Sprintf("%s %s %d %v %s %s", r.Key, r.Part, r.Version, r.Severity, r.Level, r.Suspect))
			}
			for _, r := range batch.Rejects {
				lines = append(lines, r.Reason)
			}
			slices.Sort(lines)
			return lines
		}
		if diff := cmp.Diff(summary(all), summary(rapid.Permutation(all).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
	})
}
