package gvp

import (
	"bytes"
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
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const recorded = "feeds/gvp/WeeklyVolcanoRSS-20260917-excerpt.xml"

func TestEveryRecordedFeedIsRead(t *testing.T) {
	test.NoRace(t)
	for name, want := range map[string]struct{ read, reports, ignored, rejects int }{
		recorded: {read: 2, reports: 2},
	} {
		batch, err := Parse(recordings.Read(t, name), now)
		got := struct{ read, reports, ignored, rejects int }{batch.Read, len(batch.Reports), batch.Ignored, len(batch.Rejects)}
		if err != nil || got != want {
			t.Errorf("%s: error %v, %+v, want %+v", name, err, got, want)
		}
		checkBatch(t, &batch)
		for _, r := range batch.Reports {
			if r.Suspect != "" {
				t.Errorf("%s is held: %s", r.Key, r.Suspect)
			}
		}
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("HAZARDD_SHARED"), "feeds/gvp/*"))
	if len(files) != 1 {
		t.Errorf("%d recordings, the table has 1", len(files))
	}
}

func TestARecordedItemIsReportedInFull(t *testing.T) {
	test.NoRace(t)
	batch, err := Parse(recordings.Read(t, recorded), now)
	if err != nil {
		t.Fatal(err)
	}
	text := "The Hawaiian Volcano Observatory (HVO) reported that the eruption within Kilauea?s Kaluapele summit caldera, characterized by " +
		"episodic fountaining, incandescence, and intermittent spatter from craters along the SW margin of Halema`uma`u Crater, continued " +
		"at variable levels during 10-15 September. The Volcano Alert Level remained at Watch (the second highest level on a four-level " +
		"scale) and the Aviation Color Code at Orange (the second highest color on a four-color scale).\n\n" +
		"Source: US Geological Survey Hawaiian Volcano Observatory (HVO)"
	published := sourcetest.At("2026-09-17T05:20:04Z")
	want := hazard.Report{
		Source: "gvp", Key: "332010", Refs: []string{"gvp:332010"}, Part: "2026-09-10", Places: []string{"gvp:332010"},
		Version: int64(published),
		Name:    "Volcanic Eruption - Kilauea, United States",
		Description: "Smithsonian / USGS Weekly Volcanic Activity Report, published on 17 September 2026 for the week of " +
			"10 September-16 September 2026: Continuing Eruptive Activity.\n\n" + text,
		Type: hazard.Volcano, Severity: hazard.Information, Category: hazard.Event,
		Start: sourcetest.At("2026-09-10T00:00:00Z"), Renewed: &published, LifeMS: 8 * 24 * 3600 * 1000,
		Point:  &hazard.Point{Lon: -155.2870, Lat: 19.4210},
		Called: "Kilauea", Level: "Continuing Eruptive Activity",
		URL: "https://volcano.si.edu/reports_weekly.cfm#vn_332010", Comment: "gvp:332010", Creator: "Smithsonian GVP",
		Products: []hazard.ReportProduct{
			{Key: "gvp", Title: "Smithsonian Global Volcanism Program", Type: hazard.FolderProduct, Time: published},
			{Key: "text", Parent: "gvp", Title: "Weekly report for 10 September-16 September 2026", Type: hazard.TextProduct, Data: text,
				Comment: "Continuing Eruptive Activity", Time: published},
			{Key: "report", Parent: "gvp", Title: "Weekly Volcanic Activity Report", Type: hazard.URLProduct,
				Data: "https://volcano.si.edu/reports_weekly.cfm#vn_332010", Time: published},
			{Key: "profile", Parent: "gvp", Title: "Volcano profile", Type: hazard.URLProduct,
				Data: "https://volcano.si.edu/volcano.cfm?vn=332010", Time: published},
		},
	}
	if diff := cmp.Diff(want, batch.Reports[1]); diff != "" {
		t.Errorf("Kilauea (-want +got):\n%s", diff)
	}
}

func TestATextThatSpeaksOfAnAlertLevelGivesNone(t *testing.T) {
	for _, words := range []string{"The Alert Level was raised to WARNING", "Aviation Color Code RED", "the Alert Level remained at 4 (on a scale of 1-4)"} {
		if r := one(t, an("An ash plume rose", words)); r.Severity != hazard.Information || r.Level != "New Eruptive Activity" {
			t.Errorf("%s: %v, level %q", words, r.Severity, r.Level)
		}
	}
}

func TestEncodingsAreBelievedByTheBytes(t *testing.T) {
	const name = "Popocatépetl (México)"
	item := an("Krakatau (Indonesia)", name, "An ash plume", "A “plume” – of ash")
	latin := strings.NewReplacer("é", "\xe9", "“", "\x93", "”", "\x94", "–", "\x96").Replace(item)
	for what, payload := range map[string][]byte{
		"Windows-1252, declared ISO-8859-1": feed(latin),
		"UTF-8, declared ISO-8859-1":        feed(item),
		"UTF-8 with byte order mark":        append([]byte("\ufeff"), bytes.Replace(feed(item), []byte("ISO-8859-1"), []byte("UTF-8"), 1)...),
		"Windows-1252, declared UTF-8":      bytes.Replace(feed(latin), []byte("ISO-8859-1"), []byte("UTF-8"), 1),
		"entities of HTML":                  feed(an("Krakatau (Indonesia)", "Popocat&amp;eacute;petl (M&#233;xico)", "An ash plume", "A &amp;ldquo;plume&amp;rdquo; &amp;ndash; of ash")),
	} {
		batch, err := Parse(payload, now)
		if err != nil || len(batch.Reports) != 1 {
			t.Errorf("%s: error %v, %d reports, rejects %v", what, err, len(batch.Reports), batch.Rejects)
			continue
		}
		if r := batch.Reports[0]; r.Name != "Volcanic Eruption - Popocatépetl, México" || !strings.Contains(r.Description, "A “plume” – of ash rose.") {
			t.Errorf("%s: %q, %q", what, r.Name, r.Description)
		}
	}
}

func TestWhatIsNoFeedIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, reason string
		cut             bool
	}{
		"nothing":            {"", "an empty payload, expected RSS", false},
		"blanks":             {" \n ", "an empty payload, expected RSS", false},
		"HTML":               {"<!DOCTYPE html><html><body>403 Forbidden</body></html>", "a document type (<!DOCTYPE html>), expected none", false},
		"HTML without type":  {"<html><body><p>403<br></body></html>", "an HTML page, expected RSS", false},
		"JSON":               {`{"error":"x"}`, `begins with {"error":"x"}, expected RSS`, false},
		"Atom":               {`<feed xmlns="http://www.w3.org/2005/Atom"></feed>`, `the root element is "feed", expected RSS`, false},
		"an empty rss":       {`<rss/>`, "no channel in rss, expected one", false},
		"only a declaration": {`<?xml version="1.0"?>`, "no root element, expected RSS", false},
		"entities":           {`<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaa">]><rss><channel>&a;</channel></rss>`, "a document type (<!DOCTYPE rss [<), expected none", false},
		"another encoding":   {`<?xml version="1.0" encoding="UTF-7"?><rss/>`, `encoding: "UTF-7", expected UTF-8 or a character set of the web`, false},
		"half of UTF-16":     {"\xff\xfe<\x00r\x00", "begins with <r, expected RSS", false},
		"deep":               {"<rss>" + strings.Repeat("<a>", 80), "elements nested deeper than 64", true},
		"two roots":          {string(feed()) + "<rss/>", `a second root element "rss"`, true},
		"garbage behind":     {string(feed()) + "\nPHP Warning: fopen()", "text outside of the root element, expected none: PHP Warning", true},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || bad.Cut != tt.cut || !strings.HasPrefix(bad.Reason, tt.reason) {
				t.Errorf("error %v, want %q", err, tt.reason)
			}
			if len(batch.Reports) != 0 {
				t.Errorf("%d reports", len(batch.Reports))
			}
		})
	}
}

// An item that is not well-formed affects only itself, and gets a note if its meaning is
// clear.
func TestAnItemThatIsNotWellFormedCostsNoOther(t *testing.T) {
	third := an("262000", "332020")
	for name, tt := range map[string]struct {
		bad     string
		reports int
	}{
		"an unknown entity": {an("262000", "332010", "An ash plume", "An ash&nbsp;plume &xxe;"), 3},
		"a lone ampersand":  {an("262000", "332010", "An ash plume", "Ash & plume"), 3},
		"a control byte":    {an("262000", "332010", "An ash plume", "An ash plume\x0b"), 3},
		"a tag without end": {strings.Replace(an("262000", "332010"), "#vn_332010<", "#vn_332010<<", 1), 2},
	} {
		batch, err := Parse(feed(an(), tt.bad, third), now)
		if err != nil || len(batch.Reports) != tt.reports || len(batch.Reports)+len(batch.Rejects) != 3 {
			t.Errorf("%s: error %v, %d reports, rejects %+v, want %d reports", name, err, len(batch.Reports), batch.Rejects, tt.reports)
		}
	}
}

func TestABadEndDoesNotCostWhatCameBefore(t *testing.T) {
	for name, payload := range map[string][]byte{
		"garbage behind": append(feed(an()), "PHP Warning"...),
	} {
		batch, err := Parse(payload, now)
		if err == nil || len(batch.Reports) != 1 || batch.Reports[0].Key != "262000" {
			t.Errorf("%s: error %v, %d reports", name, err, len(batch.Reports))
		}
	}
}

func TestAnEmptyWeekIsNoError(t *testing.T) {
	batch, err := Parse(feed(), now)
	if err != nil || batch.Read != 0 || batch.Whole {
		t.Errorf("error %v, %+v", err, batch)
	}
}

// Every vector of hostile XML is read in bounded time, and those that must be rejected are.
func TestVectorsOfXMLMakeNoReports(t *testing.T) {
	if os.Getenv("HAZARDD_SHARED") == "" {
		t.Skip("HAZARDD_SHARED is not set: no vectors to read")
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv("HAZARDD_SHARED"), "vectors/xml/*.xml"))
	if len(files) == 0 {
		t.Fatal("no vectors")
	}
	accepted := []string{ // RSS without items, and documents that only have a wrong encoding
		"attribute-256k.xml", "attribute-duplicate.xml", "attributes-10000.xml", "bom-utf8.xml", "control-reference.xml", "empty-channel.xml", "latin1-declared.xml", "leading-blank.xml", "nul.xml", "prefix-undeclared.xml",
		"stylesheet-pi.xml", "surrogate-reference.xml", "utf16-declared-utf8.xml", "utf16le-bom.xml", "utf8-invalid.xml", "windows-1252-declared.xml", "xinclude.xml",
	}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := Parse(payload, now)
		if len(batch.Reports) != 0 {
			t.Errorf("%s: %d reports", filepath.Base(file), len(batch.Reports))
		}
		if name := filepath.Base(file); err == nil && len(batch.Rejects) == 0 && !slices.Contains(accepted, name) {
			t.Errorf("%s: neither refused nor rejected", name)
		}
	}
}

func TestTruncatedAnywhereNothingBeforeIsLost(t *testing.T) {
	payload := recordings.Read(t, recorded)
	whole, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 64
	}
	first, second := bytes.Index(payload, []byte("</item>")), bytes.LastIndex(payload, []byte("</item>"))
	for n := 1; n < len(bytes.TrimSpace(payload)); n += step {
		batch, err := Parse(payload[:n], now)
		bad, ok := errors.AsType[*source.PayloadError](err)
		if !ok || !bad.Cut && n > 300 {
			t.Fatalf("cut at %d: error %v, want a PayloadError that says so", n, err)
		}
		want := 0
		for _, end := range []int{first, second} {
			if n >= end+len("</item>") {
				want++
			}
		}
		if len(batch.Rejects) != 0 || len(batch.Reports) != want || want > 0 && cmp.Diff(whole.Reports[:want], batch.Reports) != "" {
			t.Fatalf("cut at %d: %d reports, want %d", n, len(batch.Reports), want)
		}
	}
}

func TestGarbageIsBounded(t *testing.T) {
	test.Slow(t)
	size := 16 << 20
	if testing.Short() {
		size = 1 << 20
	}
	fill := func(before, unit, after string) []byte {
		return slices.Concat([]byte(before), bytes.Repeat([]byte(unit), size/len(unit)), []byte(after))
	}
	for name, payload := range map[string][]byte{
		"blanks":       fill("", " ", ""),
		"elements":     fill("<rss><channel>", "<item/>", "</channel></rss>"),
		"deep":         fill("<rss>", "<a>", ""),
		"a name":       fill("<", "a", ""),
		"a comment":    fill("<!--", "-a", ""),
		"a text":       fill("<rss><channel><item><title>", "x ", "</title></item></channel></rss>"),
		"comments":     fill("<rss><channel><item><title>", "x<!-- -->", "</title></item></channel></rss>"),
		"a directive":  fill("<!DOCTYPE ", "[", ""),
		"bytes":        fill("<", "\xff\x00", ""),
		"tags of HTML": feed(an("An ash plume", string(fill("", "&lt;a href='https://x.y/'&gt;&lt;!--", "")))),
		"angles":       feed(an("An ash plume", string(fill("", "&lt;", "")))),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			batch, _ := Parse(payload, now)
			runtime.GC()
			runtime.GC() // pools keep their content for one more collection
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
				t.Errorf("%d MB kept of %d MB", kept>>20, len(payload)>>20)
			}
			if len(batch.Rejects) > source.MaxRejects+1 {
				t.Errorf("%d rejects", len(batch.Rejects))
			}
			runtime.KeepAlive(batch)
			runtime.KeepAlive(payload)
		})
	}
}

func TestTheOrderOfItemsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return an(
				"262000", rapid.SampledFrom([]string{"262000", "332010", "x"}).Draw(t, "number"),
				"An ash plume", rapid.SampledFrom([]string{"An ash plume", "Lava"}).Draw(t, "text"),
				"-6.1009", rapid.SampledFrom([]string{"-6.1009", "0", "north"}).Draw(t, "latitude"),
				"New Eruptive", rapid.SampledFrom([]string{"New Eruptive", "Continuing Eruptive", "Other"}).Draw(t, "activity"),
			)
		}), 0, 8).Draw(t, "items")
		summary := func(items []string) []string {
			batch, err := Parse(feed(items...), now)
			if err != nil || batch.Read != len(items) || batch.Read != len(batch.Reports)+len(batch.Rejects)+batch.Ignored {
				t.Fatalf("error %v, read %d of %d: %d reports, %d rejects, %d ignored", err, batch.Read, len(items), len(batch.Reports), len(batch.Rejects), batch.Ignored)
			}
			all := []string{fmt.Sprint("ignored ", batch.Ignored)}
			for _, r := range batch.Reports {
				all = append(all, fmt.Sprintf("%s %s %s %s %v", r.Key, r.Name, r.Description, r.Suspect, r.Point == nil))
			}
			for _, r := range batch.Rejects {
				all = append(all, r.Reason)
			}
			slices.Sort(all)
			return all
		}
		if diff := cmp.Diff(summary(items), summary(rapid.Permutation(items).Draw(t, "order"))); diff != "" {
			t.Fatalf("another order (-first +second):\n%s", diff)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(feed(an(), an("262000", "332010", "-6.1009 105", "95 181")))
	f.Add(feed(an())[:500])
	f.Add(feed(an("Krakatau (Indonesia)", "Popocat\xe9petl (M&#233;xico)", "An ash plume", "&lt;a href=&quot;https://x.y&quot;&gt;A&lt;/a&gt;")))
	f.Fuzz(func(t *testing.T, payload []byte) {
		given := bytes.Clone(payload)
		batch, err := Parse(payload, now)
		if !bytes.Equal(given, payload) {
			t.Error("the payload was changed")
		}
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Errorf("error %v is no PayloadError", err)
		}
		checkBatch(t, &batch)
		again, _ := Parse(payload, now)
		if diff := cmp.Diff(batch, again); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
	})
}
