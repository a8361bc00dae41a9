package jma

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// There are no recordings from the agency's own address. These documents are made up in the form of
// real ones of May 2026 (VPWW55 to VPWW61).

var lawsOfWeather = sourcetest.Source{Parse: Parse, Payload: bulletins(), At: "2026-08-12T06:00:00Z", Element: "Report",
	Needed: []string{"Title", "Status", "ReportDateTime"}}

func TestLawsOfWeather(t *testing.T) { sourcetest.Laws(t, lawsOfWeather) }

func FuzzWeather(f *testing.F) { sourcetest.Fuzz(f, lawsOfWeather, string(bulletin{}.xml())) }

// bulletin describes a document of weather warnings.
type bulletin struct{ of, status, infoType, issued, sent, items string }

// kind returns a kind of an item; none is the kind of an item without anything in force.
func kind(name, code, status, rest string) string {
	return fmt.Sprintf("<Kind><Name>%s</Name><Code>%s</Code><Status>%s</Status>%s</Kind>", name, code, status, rest)
}

const none = "<Kind><Status>発表警報・注意報はなし</Status></Kind>"

func over(name, code string) string {
	return kind(name, code, "解除", fmt.Sprintf("<LastKind><Name>%s</Name><Code>%s</Code></LastKind>", name, code))
}

func item(kinds, name, code string) string {
	return fmt.Sprintf("<Item>%s<Area><Name>%s</Name><Code>%s</Code></Area></Item>", kinds, name, code)
}

// layer returns the part of a document for areas of one size.
func layer(of string, items ...string) string {
	return fmt.Sprintf(`<Warning type="気象警報・注意報%s">%s</Warning>`, of, strings.Join(items, ""))
}

// kagawa returns the layers of a document of Kagawa: kinds are those of one town, and other those
// of the other town.
func kagawa(kinds, other string) string {
	return layer(layerOffices, item(kinds, "香川県", "370000")) + layer(layerRegions, item(kinds, "香川県", "370000")) +
		layer("（市町村等をまとめた地域等）", item(kinds, "東讃", "370001")) + layer(layerTowns, item(kinds, "高松市", "3720100"), item(other, "丸亀市", "3720200"))
}

func (b bulletin) xml() []byte {
	or := func(a, b string) string {
		if a == "" {
			return b
		}
		return strings.TrimPrefix(a, "-")
	}
	return fmt.Appendf(nil, `<Report xmlns="http://xml.kishou.go.jp/jmaxml1/"><Control><Title>気象警報・注意報（Ｒ０６）（%s）</Title><DateTime>%s</DateTime><Status>%s</Status><EditorialOffice>高松地方気象台</EditorialOffice></Control>`+
		`<Head xmlns="http://xml.kishou.go.jp/jmaxml1/informationBasis1/"><Title>香川県警報・注意報</Title><ReportDateTime>%s</ReportDateTime><EventID/><InfoType>%s</InfoType><Serial/><Headline><Text>警戒してください。</Text>`+
		`<Information type="気象警報・注意報（府県予報区等）"><Item><Kind><Name>解除</Name><Code>00</Code></Kind><Areas><Area><Name>香川県</Name><Code>370000</Code></Area></Areas></Item></Information></Headline></Head>`+
		`<Body xmlns="http://xml.kishou.go.jp/jmaxml1/body/meteorology1/" xmlns:jmx_eb="http://xml.kishou.go.jp/jmaxml1/elementBasis1/">%s</Body></Report>`,
		or(b.of, "高潮"), or(b.sent, "2026-08-12T04:10:21Z"), or(b.status, "通常"), or(b.issued, "2026-08-12T13:10:00+09:00"), or(b.infoType, "発表"),
		or(b.items, kagawa(kind("レベル４高潮危険警報", "48", "発表", ""), none)))
}

// bulletins returns documents of several offices for the test of the laws.
func bulletins() []byte {
	b := []byte(`<?xml version="1.0" encoding="UTF-8"?><records>`)
	for i := range 6 {
		one := bulletin{of: []string{"高潮", "大雨", "波浪"}[i%3], items: kagawa(kind([]string{"レベル４高潮危険警報", "レベル３大雨警報", "波浪注意報"}[i%3], "", "発表", ""), none)}
		b = append(b, strings.ReplaceAll(string(one.xml()), "37", fmt.Sprint(37+i))...)
	}
	return append(b, "</records>"...)
}

func parseWeather(t *testing.T, payload []byte) source.Batch {
	t.Helper()
	b, err := Parse(payload, hazard.At(time.Date(2026, 8, 12, 6, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAWarningOfWeather(t *testing.T) {
	const rest = `<Property><Type>高潮危険度</Type><SignificancyPart><CriteriaPeriod><Base><Sentence>１２日１７時から２０時まで、警戒レベル４相当</Sentence></Base></CriteriaPeriod></SignificancyPart></Property>` +
		`<Property><TidalLevelPart><Base><jmx_eb:TidalLevel description="標高　２．０メートルの高さ" type="潮位" unit="m">2.0</jmx_eb:TidalLevel></Base></TidalLevelPart></Property>`
	b := parseWeather(t, bulletin{items: kagawa(kind("レベル４高潮危険警報", "48", "発表", rest), kind("レベル２高潮注意報", "19", "継続", ""))}.xml())
	if len(b.Reports) != 1 || len(b.Rejects) > 0 {
		t.Fatalf("%+v", b)
	}
	r := b.Reports[0]
	if r.Key != "surge-370000" || r.Type != hazard.Flood || r.Severity != hazard.Warning || r.Level != "レベル４高潮危険警報" ||
		r.Name != "Storm Surge Warning (level 4) - Kagawa" || r.Ended != "" || r.Minor || r.End != nil || r.LifeMS != (48*time.Hour).Milliseconds() || len(r.Notes) > 0 ||
		!slices.Equal(r.Places, []string{"JMA_AREA:3720100", "JMA_AREA:3720200"}) || !slices.Equal(r.Within, []string{"JMA_AREA:370000"}) || r.Start.Time().Format(time.RFC3339) != "2026-08-12T04:10:00Z" {
		t.Errorf("%+v", r)
	}
	const want = "警戒してください。\nレベル４高潮危険警報: 高松市.\nレベル２高潮注意報: 丸亀市.\n１２日１７時から２０時まで、警戒レベル４相当; 潮位 標高 ２．０メートルの高さ.\nIssued by the Japan Meteorological Agency, 2026-08-12 04:10 UTC."
	if r.Description != want {
		t.Errorf("description\n%s\nwant\n%s", r.Description, want)
	}
}

func TestLevelsAndEndsOfWeather(t *testing.T) {
	const soon = `<Property><Type>高潮危険度</Type><SignificancyPart><CriteriaPeriod><Base><CriteriaClass><Name>警戒レベル４相当</Name><Code>41</Code></CriteriaClass></Base></CriteriaPeriod></SignificancyPart></Property>`
	for name, tt := range map[string]struct {
		bulletin
		level  hazard.Severity
		ended  hazard.EndReason
		named  string
		notes  int
		reject string
		key    string
	}{
		"level 5":                      {bulletin: bulletin{of: "大雨", items: kagawa(kind("レベル５大雨特別警報", "33", "発表", ""), none)}, level: hazard.Warning, named: "Heavy Rain Emergency Warning (level 5) - Kagawa"},
		"level 3":                      {bulletin: bulletin{of: "土砂", items: kagawa(kind("レベル３土砂災害警報", "09", "危険警報から警報", ""), none)}, level: hazard.Warning, named: "Landslide Warning (level 3) - Kagawa"},
		"level 2":                      {bulletin: bulletin{of: "大雨", items: kagawa(kind("レベル２大雨注意報", "10", "継続", ""), none)}, level: hazard.Advisory, named: "Heavy Rain Advisory (level 2) - Kagawa"},
		"a warning is likely":          {bulletin: bulletin{items: kagawa(kind("レベル２高潮注意報", "19", "発表", soon), none)}, level: hazard.Watch, named: "Storm Surge Advisory (level 2) - Kagawa"},
		"a kind without a level":       {bulletin: bulletin{of: "波浪", items: kagawa(kind("波浪特別警報", "37", "発表", ""), none)}, level: hazard.Warning, named: "High Wave Emergency Warning - Kagawa"},
		"by its code":                  {bulletin: bulletin{of: "大雪", items: kagawa(kind("", "06", "発表", ""), none)}, level: hazard.Warning, named: "Heavy Snow Warning - Kagawa"},
		"wind with snow":               {bulletin: bulletin{of: "暴風", items: kagawa(kind("風雪注意報", "13", "発表", ""), none)}, level: hazard.Advisory, named: "Gale and Snow Advisory - Kagawa", key: "snowstorm-370000"},
		"wind":                         {bulletin: bulletin{of: "暴風", items: kagawa(kind("強風注意報", "15", "発表", ""), none)}, level: hazard.Advisory, named: "Gale Advisory - Kagawa", key: "wind-370000"},
		"one of others":                {bulletin: bulletin{of: "その他注意報", items: kagawa(kind("濃霧注意報", "20", "発表", ""), none)}, level: hazard.Advisory, named: "Dense Fog Advisory - Kagawa", key: "fog-370000"},
		"a kind that nobody knows":     {bulletin: bulletin{of: "その他注意報", items: kagawa(kind("黄砂警報", "98", "発表", ""), none)}, level: hazard.Warning, notes: 1, named: "Weather Warning - Kagawa", key: "other-370000"},
		"a level that nobody knows":    {bulletin: bulletin{items: kagawa(kind("高潮厳戒", "97", "発表", ""), none)}, level: hazard.Advisory, notes: 1, named: "Storm Surge Notice of an unknown kind - Kagawa"},
		"lifted in one of two towns":   {bulletin: bulletin{items: kagawa(kind("レベル３高潮警報", "08", "継続", ""), over("レベル２高潮注意報", "19"))}, level: hazard.Warning, named: "Storm Surge Warning (level 3) - Kagawa"},
		"lifted":                       {bulletin: bulletin{items: kagawa(over("レベル３高潮警報", "08"), none)}, level: hazard.Information, ended: hazard.EndAllClear, named: "Storm Surge - Kagawa"},
		"nothing is in force":          {bulletin: bulletin{items: kagawa(none, none)}, level: hazard.Information, ended: hazard.EndAllClear, named: "Storm Surge - Kagawa"},
		"taken back":                   {bulletin: bulletin{infoType: "取消", items: "-"}, level: hazard.Information, ended: hazard.EndCancelled, named: "Storm Surge - Kagawa"},
		"taken back, with its body":    {bulletin: bulletin{infoType: "取消"}, level: hazard.Information, ended: hazard.EndCancelled, named: "Storm Surge - Kagawa"},
		"corrected":                    {bulletin: bulletin{infoType: "訂正"}, level: hazard.Warning, named: "Storm Surge Warning (level 4) - Kagawa"},
		"a drill":                      {bulletin: bulletin{status: "訓練"}, level: hazard.Warning, named: "Storm Surge Warning (level 4) - Kagawa", key: "drill-surge-370000"},
		"a test":                       {bulletin: bulletin{status: "試験"}},
		"the summary of all offices":   {bulletin: bulletin{of: "集約通報"}},
		"a document that is not known": {bulletin: bulletin{of: "黄砂"}},
		"of no prefecture":             {bulletin: bulletin{items: layer(layerOffices, item(none, "火星", "990000"))}, reject: "990000"},
		"cut off: it ends nothing":     {bulletin: bulletin{items: "-"}, reject: "no kind for the area of an office"},
		"no time":                      {bulletin: bulletin{issued: "soon"}, reject: "Head/ReportDateTime"},
	} {
		t.Run(name, func(t *testing.T) {
			b := parseWeather(t, tt.bulletin.xml())
			switch {
			case tt.reject != "":
				if len(b.Rejects) != 1 || !strings.Contains(b.Rejects[0].Reason, tt.reject) || len(b.Reports) > 0 {
					t.Errorf("rejects %+v, want one of %s", b.Rejects, tt.reject)
				}
				return
			case tt.named == "":
				if b.Ignored != 1 || len(b.Reports)+len(b.Rejects) > 0 {
					t.Errorf("%+v, want it ignored", b)
				}
				return
			}
			key := tt.key
			if key == "" {
				key = b.Reports[0].Key
			}
			i := slices.IndexFunc(b.Reports, func(r hazard.Report) bool { return r.Key == key })
			if i < 0 {
				t.Fatalf("no %s in %+v", key, b)
			}
			r := b.Reports[i]
			if r.Severity != tt.level || r.Ended != tt.ended || r.Name != tt.named || len(r.Notes) != tt.notes || (r.Category == hazard.Exercise) != (tt.status == "訓練") {
				t.Errorf("%v, ended %q, %q, notes %q, %s", r.Severity, r.Ended, r.Name, r.Notes, r.Category)
			}
			for j, other := range b.Reports {
				if j != i && (!other.Minor || other.Ended != hazard.EndAllClear) {
					t.Errorf("%s is said to go on: %+v", other.Key, other)
				}
			}
		})
	}
}

func TestTheNewestTwoDocumentsOfAnOfficeAreRead(t *testing.T) {
	b := parseWeather(t, []byte(index("20260812041022_0_VPWW57_370000.xml", "20260812041022_0_VPWW55_370000.xml", "20260812031022_0_VPWW57_370000.xml", "20260812021022_0_VPWW57_370000.xml",
		"20260812041022_0_VPWS50_010000.xml", "20260812041022_0_VPWW54_370000.xml")))
	if len(b.Links) != 3 || b.Ignored != 3 || b.Read != 6 || strings.Contains(fmt.Sprint(b.Links), "20260812021022") {
		t.Errorf("%d links, %d ignored of %d: %+v", len(b.Links), b.Ignored, b.Read, b.Links)
	}
}

func TestTheAreaIsThatOfTheCoastsThatAreWarned(t *testing.T) {
	coasts := strings.ReplaceAll(coast("岩手県", "津波警報", "51", ""), "<Code>1</Code>", "<Code>210</Code>") + strings.ReplaceAll(coast("陸奥湾", "津波注意報", "62", ""), "<Code>1</Code>", "<Code>202</Code>") +
		strings.ReplaceAll(coast("大阪府", "津波予報（若干の海面変動）", "71", ""), "<Code>1</Code>", "<Code>510</Code>")
	if r := parse(t, document1(sent{coasts: coasts})).Reports[0]; !slices.Equal(r.Places, []string{"JMA_AREA:202", "JMA_AREA:210"}) {
		t.Errorf("places %q, want those of the warning and the advisory", r.Places)
	}
	slight := strings.ReplaceAll(coast("大阪府", "津波予報（若干の海面変動）", "71", ""), "<Code>1</Code>", "<Code>510</Code>")
	if r := parse(t, document1(sent{coasts: slight})).Reports[0]; !slices.Equal(r.Places, []string{"JMA_AREA:510"}) {
		t.Errorf("places %q, want that of the forecast", r.Places)
	}
}
