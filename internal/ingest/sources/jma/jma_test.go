package jma

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// There are no recordings from the agency's own address. These documents are made up from its
// description of the XML (xml.kishou.go.jp, "technical information"), with the coasts and levels of
// the recorded warning of 2011 (jma/dmdata-tsunami.json), which comes from another service.

var laws = sourcetest.Source{Parse: Parse, Payload: records(), Element: "Report", At: "2011-03-11T06:00:00Z",
	Needed: []string{"Title", "Status", "ReportDateTime", "EventID"}}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(document1(sent{})), index("20110311055000_0_VTSE41_010000.xml"))
}

// sent describes a document.
type sent struct{ event, issued, status, infoType, headline, coasts, quake, extra string }

func coast(name, kind, code, rest string) string {
	return fmt.Sprintf(`<Item><Area><Name>%s</Name><Code>1</Code></Area><Category><Kind><Name>%s</Name><Code>%s</Code></Kind><LastKind><Name>津波なし</Name><Code>00</Code></LastKind></Category>%s</Item>`, name, kind, code, rest)
}

const tohoku = `<Earthquake><OriginTime>2011-03-11T14:46:00+09:00</OriginTime><ArrivalTime>2011-03-11T14:46:00+09:00</ArrivalTime><Hypocenter><Area><Name>三陸沖</Name><Code type="震央地名">288</Code>` +
	`<jmx_eb:Coordinate description="北緯３８．０度　東経１４２．９度　深さ　１０ｋｍ" datum="日本測地系">+38.0+142.9-10000/</jmx_eb:Coordinate></Area></Hypocenter>` +
	`<jmx_eb:Magnitude type="Mj" condition="不明" description="Ｍ８を超える巨大地震">NaN</jmx_eb:Magnitude></Earthquake>`

func document1(s sent) []byte {
	or := func(a, b string) string {
		if a == "" {
			return b
		}
		return strings.TrimPrefix(a, "-")
	}
	forecast := or(s.coasts, coast("岩手県", "大津波警報：発表", "53", `<FirstHeight><Condition>津波到達中と推測</Condition></FirstHeight><MaxHeight><jmx_eb:TsunamiHeight type="津波の高さ" unit="m" condition="不明" description="巨大">NaN</jmx_eb:TsunamiHeight></MaxHeight>`)+
		coast("千葉県内房", "津波警報", "51", `<FirstHeight><ArrivalTime>2011-03-11T15:20:00+09:00</ArrivalTime></FirstHeight><MaxHeight><jmx_eb:TsunamiHeight description="３ｍ">3</jmx_eb:TsunamiHeight></MaxHeight>`)+
		coast("陸奥湾", "津波注意報", "62", "")+coast("大阪府", "津波予報（若干の海面変動）", "71", ""))
	return fmt.Appendf(nil, `<Report xmlns="http://xml.kishou.go.jp/jmaxml1/"><Control><Title>津波警報・注意報・予報a</Title><DateTime>2011-03-11T05:49:59Z</DateTime><Status>%s</Status><EditorialOffice>気象庁本庁</EditorialOffice><PublishingOffice>気象庁</PublishingOffice></Control>`+
		`<Head xmlns="http://xml.kishou.go.jp/jmaxml1/informationBasis1/"><Title>大津波警報・津波警報・津波注意報・津波予報</Title><ReportDateTime>%s</ReportDateTime>%s<EventID>%s</EventID><InfoType>%s</InfoType><Serial/><Headline><Text>%s</Text></Headline></Head>`+
		`<Body xmlns="http://xml.kishou.go.jp/jmaxml1/body/seismology1/" xmlns:jmx_eb="http://xml.kishou.go.jp/jmaxml1/elementBasis1/"><Tsunami><Forecast>%s</Forecast></Tsunami>%s</Body></Report>`,
		or(s.status, "通常"), or(s.issued, "2011-03-11T14:49:00+09:00"), s.extra, or(s.event, "20110311144640"), or(s.infoType, "発表"), or(s.headline, "ただちに避難してください。"), forecast, or(s.quake, tohoku))
}

// records returns documents of several events for the test of the laws.
func records() []byte {
	b := []byte(`<?xml version="1.0" encoding="UTF-8"?><records>`)
	for i := range 6 {
		b = append(b, document1(sent{event: fmt.Sprintf("2011031114464%d", i)})...)
	}
	return append(b, "</records>"...)
}

func index(files ...string) string {
	b := `<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom" lang="ja"><title>高頻度（地震火山）</title>`
	for _, f := range files {
		b += `<entry><title>津波警報・注意報・予報a</title><id>https://www.data.jma.go.jp/developer/xml/data/` + f + `</id><updated>2011-03-11T05:50:00Z</updated><author><name>気象庁</name></author>` +
			`<link type="application/xml" href="https://www.data.jma.go.jp/developer/xml/data/` + f + `"/><content type="text">…</content></entry>`
	}
	return b + `</feed>`
}

func parse(t *testing.T, payload []byte) source.Batch {
	t.Helper()
	b, err := Parse(payload, hazard.At(time.Date(2011, 3, 11, 6, 0, 0, 0, time.UTC)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheWarningOf2011(t *testing.T) {
	b := parse(t, document1(sent{}))
	if len(b.Reports) != 1 || len(b.Rejects) > 0 {
		t.Fatalf("%+v", b)
	}
	r := b.Reports[0]
	if r.Key != "20110311144640" || r.Severity != hazard.Warning || r.Name != "Major Tsunami Warning - Japan" || r.Country != "JP" || r.Category != hazard.Event ||
		r.Start.Time().Format(time.RFC3339) != "2011-03-11T05:46:00Z" || !slices.Contains(r.Refs, "quake:2011-03-11T05:46:26Z@38.000,142.900") || !slices.Contains(r.Refs, "jma-quake:quake-20110311144640") || r.End != nil || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
	const want = "ただちに避難してください。\nMajor Tsunami Warning: 岩手県 巨大 津波到達中と推測.\nTsunami Warning: 千葉県内房 ３ｍ 06:20 UTC.\nTsunami Advisory: 陸奥湾.\n" +
		"Tsunami Forecast (slight sea level change): 大阪府.\nEarthquake: 三陸沖 Ｍ８を超える巨大地震.\nIssued by the Japan Meteorological Agency, 2011-03-11 05:49 UTC."
	if r.Description != want {
		t.Errorf("description\n%s\nwant\n%s", r.Description, want)
	}
}

// Coasts are drawn in place with the arrival of the first wave, earliest first. Coasts without a
// time, and those with slight changes of the sea, are not drawn. A document with nothing in force
// removes the drawing.
func TestCoastsAreDrawnWithTheirArrivals(t *testing.T) {
	arrives := func(at string) string {
		return `<FirstHeight><ArrivalTime>2011-03-11T` + at + `:00+09:00</ArrivalTime></FirstHeight><MaxHeight><jmx_eb:TsunamiHeight description="３ｍ">3</jmx_eb:TsunamiHeight></MaxHeight>`
	}
	at := func(number, item string) string {
		return strings.Replace(item, "<Code>1</Code>", "<Code>"+number+"</Code>", 1)
	}
	b := parse(t, document1(sent{coasts: at("311", coast("千葉県内房", "津波警報", "51", arrives("15:20"))) + at("210", coast("岩手県", "大津波警報：発表", "53", arrives("15:00"))) +
		at("202", coast("陸奥湾", "津波注意報", "62", "")) + at("530", coast("大阪府", "津波予報（若干の海面変動）", "71", arrives("16:00"))) + coast("?", "津波警報", "51", arrives("15:10"))}))
	if len(b.Drawings) != 1 || b.Drawings[0].Key != b.Reports[0].Key || b.Drawings[0].Version != b.Reports[0].Version || len(b.Drawings[0].Shapes) != 2 {
		t.Fatalf("%+v", b.Drawings)
	}
	for i, want := range []struct {
		label, at string
		lon, lat  float64
	}{{"岩手県, Major Tsunami Warning, ３ｍ", "2011-03-11T06:00:00Z", 141.97, 39.64}, {"千葉県内房, Tsunami Warning, ３ｍ", "2011-03-11T06:20:00Z", 139.84, 34.99}} {
		s := b.Drawings[0].Shapes[i]
		area, err := geo.ParseLoose([]byte(s.Geometry))
		if err != nil {
			t.Fatal(err)
		}
		if s.Check() != nil || s.Role != hazard.CoastShape || !s.Forecast || s.Label != want.label || s.From != s.To || s.From.Time().Format(time.RFC3339) != want.at || !geo.Intersects(area, geo.Place(want.lon, want.lat)) {
			t.Errorf("%v: %.200s, want %+v", s.From, s.Label+" "+s.Geometry, want)
		}
	}
	for _, s := range []sent{{infoType: cancelled, coasts: "-"}, {coasts: coast("岩手県", "津波警報解除", "50", ""), headline: "解除"}} {
		if b := parse(t, document1(s)); len(b.Drawings) != 1 || len(b.Drawings[0].Shapes) != 0 {
			t.Errorf("%+v: %+v", s, b.Drawings)
		}
	}
}

func TestLevelsAndEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		sent
		level  hazard.Severity
		ended  hazard.EndReason
		named  string
		notes  int
		reject string
		drill  bool
	}{
		"an advisory":                             {sent: sent{coasts: coast("陸奥湾", "津波注意報", "62", "")}, level: hazard.Advisory, named: "Tsunami Advisory - Japan"},
		"a level by its code":                     {sent: sent{coasts: coast("陸奥湾", "", "51", "")}, level: hazard.Warning, named: "Tsunami Warning - Japan"},
		"a slight change of the sea":              {sent: sent{coasts: coast("陸奥湾", "津波予報（若干の海面変動）", "72", "")}, level: hazard.Information, named: "Tsunami Forecast (slight sea level change) - Japan"},
		"a kind that nobody knows":                {sent: sent{coasts: coast("陸奥湾", "津波特別警報", "99", "")}, level: hazard.Advisory, notes: 1, named: "Tsunami notice of an unknown kind - Japan"},
		"lifted for one coast":                    {sent: sent{coasts: coast("陸奥湾", "津波注意報解除", "60", "") + coast("岩手県", "津波警報", "51", "")}, level: hazard.Warning, named: "Tsunami Warning - Japan"},
		"lifted for all":                          {sent: sent{coasts: coast("陸奥湾", "津波注意報解除", "60", "") + coast("岩手県", "警報解除", "50", "")}, level: hazard.Information, ended: hazard.EndAllClear, named: "Tsunami - Japan"},
		"lifted without coasts":                   {sent: sent{coasts: "-", headline: "津波注意報を解除しました。"}, level: hazard.Information, ended: hazard.EndAllClear, named: "Tsunami - Japan"},
		"no coast, and nothing is lifted":         {sent: sent{coasts: "-"}, reject: "no coast"},
		"taken back":                              {sent: sent{infoType: "取消", coasts: "-"}, level: hazard.Information, ended: hazard.EndCancelled, named: "Tsunami - Japan"},
		"a form of information that is not known": {sent: sent{infoType: "変更"}, level: hazard.Warning, notes: 1, named: "Major Tsunami Warning - Japan"},
		"a drill":                                 {sent: sent{status: "訓練"}, level: hazard.Warning, drill: true, named: "Major Tsunami Warning - Japan"},
		"a test":                                  {sent: sent{status: "試験"}},
		"an unknown status":                       {sent: sent{status: "謎"}, reject: "Control/Status"},
		"no event":                                {sent: sent{event: "-"}, reject: "Head/EventID"},
		"no time":                                 {sent: sent{issued: "soon"}, reject: "Head/ReportDateTime"},
		"no earthquake":                           {sent: sent{quake: "-"}, level: hazard.Warning, named: "Major Tsunami Warning - Japan"},
	} {
		t.Run(name, func(t *testing.T) {
			b := parse(t, document1(tt.sent))
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
			case len(b.Reports) != 1:
				t.Fatalf("%+v", b)
			}
			if r := b.Reports[0]; r.Severity != tt.level || r.Ended != tt.ended || r.Name != tt.named || len(r.Notes) != tt.notes || (r.Category == hazard.Exercise) != tt.drill {
				t.Errorf("%v, ended %q, %q, notes %q, %s", r.Severity, r.Ended, r.Name, r.Notes, r.Category)
			}
		})
	}
}

func TestATsunamiOfSeveralEarthquakesIsNamedByTheFirst(t *testing.T) {
	r := parse(t, document1(sent{event: "20240101161010 20240101160608"})).Reports[0]
	if r.Key != "20240101160608" || !slices.Equal(r.Aliases, []string{"20240101161010"}) {
		t.Errorf("%s, %q", r.Key, r.Aliases)
	}
}

func TestAForecastEndsWhenItSays(t *testing.T) {
	r := parse(t, document1(sent{extra: "<ValidDateTime>2011-03-12T03:00:00+09:00</ValidDateTime>"})).Reports[0]
	if r.End == nil || r.End.Time().Format(time.RFC3339) != "2011-03-11T18:00:00Z" {
		t.Errorf("end %v", r.End)
	}
}

func TestTheIndexLeadsToTsunamisAndHypocentersAlone(t *testing.T) {
	b := parse(t, []byte(index("20110311055000_0_VTSE41_010000.xml", "20110311054900_0_VXSE53_010000.xml", "20110311055000_0_VZVO40_400000.xml", "20110311054900_0_VXSE51_010000.xml")))
	if len(b.Links) != 2 || !strings.HasSuffix(b.Links[0].URL, "_VTSE41_010000.xml") || !strings.HasSuffix(b.Links[1].URL, "_VXSE53_010000.xml") ||
		b.Links[0].Updated == nil || b.Ignored != 2 || b.Read != 4 {
		t.Errorf("%+v", b)
	}
	if b := parse(t, []byte(index())); b.Read != 0 || len(b.Links) != 0 {
		t.Errorf("an empty index: %+v", b)
	}
	for _, payload := range []string{"", "{}", "<html></html>", "<rss/>", index()[:60]} {
		if b, err := Parse([]byte(payload), 0); err == nil {
			t.Errorf("%q: %+v, want an error", payload, b)
		}
	}
}
