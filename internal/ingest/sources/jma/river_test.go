package jma

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// rokkaku is the sample of a real river, of 13 August 2021.
const rokkaku = "feeds/jma-river-flood/16_02_02_220728_VXKOii.xml"

// rivers returns documents of four rivers, which are the recorded one under other numbers.
func rivers(t testing.TB) []byte {
	_, text, _ := strings.Cut(string(recordings.Read(t, rokkaku)), "?>")
	b := `<?xml version="1.0" encoding="UTF-8"?><records>`
	for i := range 4 {
		b += strings.ReplaceAll(text, "890904000100", fmt.Sprintf("89090400010%d", i))
	}
	return []byte(b + "</records>")
}

func lawsOfRivers(t testing.TB) sourcetest.Source {
	return sourcetest.Source{Parse: Parse, Payload: rivers(t), At: "2021-08-13T07:00:00Z", Element: "Report", Needed: []string{"Title", "Status", "ReportDateTime", "EventID"}}
}

func TestLawsOfRivers(t *testing.T) { sourcetest.Laws(t, lawsOfRivers(t)) }

// TestRiversAsRecorded compares all sample telegrams with their raw values.
func TestRiversAsRecorded(t *testing.T) {
	raw := func(text, tag string) string {
		return regexp.MustCompile("<" + tag + ">([^<]*)<").FindStringSubmatch(text)[1]
	}
	for file, want := range map[string]struct {
		level hazard.Severity
		words string
	}{
		"16_01_01_220728": {hazard.Advisory, "Advisory (level 2)"}, "16_02_01_220728": {hazard.Warning, "Warning (level 3)"}, "16_02_02_220728": {hazard.Warning, "Warning (level 3)"},
		"16_03_01_220728": {hazard.Warning, "Warning (level 3)"}, "16_04_01_220728": {hazard.Warning, "Emergency Warning (level 5)"}, "16_05_01_210630": {hazard.Warning, "Warning (level 3)"},
		"16_06_01_220728": {hazard.Warning, "Warning (level 4)"}, "16_07_01_220728": {hazard.Warning, "Warning (level 4)"},
	} {
		payload := recordings.Read(t, "feeds/jma-river-flood/"+file+"_VXKOii.xml")
		_, head, _ := strings.Cut(string(payload), "<Head")
		b, err := Parse(payload, lawsOfRivers(t).Now(t))
		if err != nil || len(b.Reports) != 1 || len(b.Rejects) > 0 {
			t.Fatalf("%s: %v %+v", file, err, b)
		}
		r := b.Reports[0]
		if r.Key != "river-"+raw(head, "EventID") || r.Severity != want.level || !strings.HasPrefix(r.Name, "River Flood "+want.words+" - ") || r.Type != hazard.Flood || r.Ended != "" ||
			r.Start.Time().Format("2006-01-02T15:04") != jst(t, raw(head, "ReportDateTime")) || !strings.Contains(r.Description, strings.Fields(raw(head, "Text"))[0]) || len(r.Notes) > 0 {
			t.Errorf("%s: %+v", file, r)
		}
		if file == "16_02_02_220728" && (r.Name != "River Flood Warning (level 3) - 六角川, Saga, Japan" || !slices.Equal(r.Within, []string{"JMA_AREA:410000"}) ||
			!slices.Equal(r.Places, []string{"JMA_AREA:4120600", "JMA_AREA:4120900", "JMA_AREA:4142300", "JMA_AREA:4142400", "JMA_AREA:4142500"})) {
			t.Errorf("%+v", r)
		}
	}
}

// jst returns a time of a document, to the minute in UTC.
func jst(t *testing.T, text string) string {
	b := parseWeather(t, bulletin{issued: text, sent: text}.xml())
	return b.Reports[0].Start.Time().Format("2006-01-02T15:04")
}

// TestLevelsAndEndsOfRivers has the words since May 2026, whose samples were not found.
func TestLevelsAndEndsOfRivers(t *testing.T) {
	text := string(recordings.Read(t, rokkaku))
	for _, tt := range []struct {
		name, code, info string
		level            hazard.Severity
		ended            hazard.EndReason
		notes            int
	}{
		{"レベル５氾濫特別警報", "51", "発表", hazard.Warning, "", 0}, {"レベル４氾濫危険警報", "40", "発表", hazard.Warning, "", 0}, {"レベル３氾濫警報", "30", "訂正", hazard.Warning, "", 0},
		{"レベル２氾濫注意報", "20", "発表", hazard.Advisory, "", 0}, {"氾濫注意情報（警戒情報解除）", "21", "発表", hazard.Advisory, "", 0}, {"", "41", "発表", hazard.Warning, "", 0},
		{"氾濫注意情報解除", "10", "発表", hazard.Information, hazard.EndAllClear, 0}, {"レベル２氾濫注意報解除", "10", "発表", hazard.Information, hazard.EndAllClear, 0},
		{"氾濫警戒情報", "30", "取消", hazard.Information, hazard.EndCancelled, 0}, {"新しい語", "97", "発表", hazard.Advisory, "", 1},
	} {
		doc := strings.NewReplacer("<Name>氾濫警戒情報</Name>", "<Name>"+tt.name+"</Name>", "<Code>30</Code>", "<Code>"+tt.code+"</Code>", "<InfoType>発表<", "<InfoType>"+tt.info+"<").Replace(text)
		b := parseWeather(t, []byte(doc))
		if len(b.Reports) != 1 || b.Reports[0].Severity != tt.level || b.Reports[0].Ended != tt.ended || len(b.Reports[0].Notes) != tt.notes || b.Reports[0].Key != "river-890904000100" {
			t.Errorf("%s %s: %+v", tt.name, tt.info, b)
		}
	}
	if b := parseWeather(t, []byte(strings.Replace(text, "<Status>通常", "<Status>訓練", 1))); len(b.Reports) != 1 || b.Reports[0].Category != hazard.Exercise || b.Reports[0].Key != "drill-river-890904000100" {
		t.Errorf("a drill: %+v", b)
	}
	if b := parseWeather(t, []byte(index("20260822085000_0_VXKO53_400000.xml"))); len(b.Links) != 1 {
		t.Errorf("%+v", b)
	}
}
