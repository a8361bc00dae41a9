package jma

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/sources/seismic"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// The documents are shortened ones of the agency: its samples of the earthquakes of 2008 and 2011
// ("sample telegrams", numbers 32-35 and 32-39), and documents from 2021 and 2023.

var quakeLaws = sourcetest.Source{Parse: Parse, Payload: quakes(), Element: "Report", At: "2021-02-19T10:00:00Z",
	Needed: []string{"Title", "Status", "ReportDateTime", "EventID", "OriginTime", "Coordinate"}}

func TestLawsOfEarthquakes(t *testing.T) { sourcetest.Laws(t, quakeLaws) }

func FuzzQuake(f *testing.F) {
	sourcetest.Fuzz(f, quakeLaws, string(felt{}.document()), string(felt{infoType: "取消"}.document()))
}

// felt describes a document about an earthquake. Empty members have the values of 2021-02-19,
// 18:11, and "-" means nothing.
type felt struct{ title, head, status, infoType, event, origin, issued, sent, at, magnitude, greatest, coordinates, comment string }

func (f felt) document() []byte {
	or := func(a, b string) string { return strings.TrimPrefix(cmp.Or(a, b), "-") }
	observed := ""
	if max := or(f.greatest, "4"); max != "" {
		observed = `<Intensity><Observation><MaxInt>` + max + `</MaxInt><Pref><Name>岩手県</Name><Code>03</Code><MaxInt>` + max + `</MaxInt></Pref></Observation></Intensity>`
	}
	coordinates := or(f.coordinates, `<jmx_eb:Coordinate description="北緯４０．２度　東経１４１．２度　深さ　１０ｋｍ" datum="日本測地系">`+or(f.at, "+40.2+141.2-10000/")+`</jmx_eb:Coordinate>`)
	body := `<Earthquake><OriginTime>` + or(f.origin, "2021-02-19T18:11:00+09:00") + `</OriginTime><ArrivalTime>2021-02-19T18:11:00+09:00</ArrivalTime>` +
		`<Hypocenter><Area><Name>岩手県内陸北部</Name><Code type="震央地名">212</Code>` + coordinates + `</Area></Hypocenter>` +
		or(f.magnitude, `<jmx_eb:Magnitude type="Mj" description="Ｍ３．９">3.9</jmx_eb:Magnitude>`) + `</Earthquake>` + observed +
		`<Comments><ForecastComment codeType="固定付加文"><Text>` + or(f.comment, "この地震による津波の心配はありません。") + `</Text><Code>0215</Code></ForecastComment></Comments>`
	if f.infoType == "取消" {
		body = `<Text>先ほどの、震源・震度情報を取り消します。</Text>`
	}
	return fmt.Appendf(nil, `<Report xmlns="http://xml.kishou.go.jp/jmaxml1/"><Control><Title>%s</Title><DateTime>%s</DateTime><Status>%s</Status><PublishingOffice>気象庁</PublishingOffice></Control>`+
		`<Head xmlns="http://xml.kishou.go.jp/jmaxml1/informationBasis1/"><Title>%s</Title><ReportDateTime>%s</ReportDateTime><EventID>%s</EventID><InfoType>%s</InfoType><Serial>1</Serial>`+
		`<Headline><Text>１９日１８時１１分ころ、地震がありました。</Text><Information type="震源・震度に関する情報（細分区域）"><Item><Kind><Name>震度４</Name></Kind>`+
		`<Areas codeType="地震情報／細分区域"><Area><Name>岩手県内陸北部</Name><Code>212</Code></Area></Areas></Item></Information></Headline></Head>`+
		`<Body xmlns="http://xml.kishou.go.jp/jmaxml1/body/seismology1/" xmlns:jmx_eb="http://xml.kishou.go.jp/jmaxml1/elementBasis1/">%s</Body></Report>`,
		or(f.title, "震源・震度に関する情報"), or(f.sent, "2021-02-19T09:14:51Z"), or(f.status, "通常"), or(f.head, "震源・震度情報"), or(f.issued, "2021-02-19T18:14:00+09:00"),
		or(f.event, "20210219181113"), or(f.infoType, "発表"), body)
}

func quakes() []byte {
	b := []byte(`<?xml version="1.0" encoding="UTF-8"?><records>`)
	for i := range 6 {
		b = append(b, felt{event: fmt.Sprintf("2021021918111%d", i), magnitude: `<jmx_eb:Magnitude type="Mj" description="Ｍ５．１">5.1</jmx_eb:Magnitude>`}.document()...)
	}
	return append(b, "</records>"...)
}

var evening = hazard.At(time.Date(2021, 2, 19, 10, 0, 0, 0, time.UTC))

func TestAnEarthquakeOf2021(t *testing.T) {
	b, err := Parse(felt{}.document(), evening)
	if err != nil || len(b.Reports) != 1 || len(b.Rejects) > 0 {
		t.Fatalf("%+v, %v", b, err)
	}
	r := b.Reports[0]
	if r.Key != "quake-20210219181113" || r.Part != "VXSE53" || r.Type != hazard.Earthquake || r.Severity != hazard.Information || r.Minor || r.Level != "JMA intensity 4" ||
		*r.Point != (hazard.Point{Lon: 141.2, Lat: 40.2}) || r.Version != int64(hazard.At(time.Date(2021, 2, 19, 9, 14, 51, 0, time.UTC))) ||
		r.Suspect != "" || len(r.Notes) > 0 || !slices.Equal(r.Refs, []string{"jma:quake-20210219181113"}) {
		t.Errorf("%+v", r)
	}
	const want = "１９日１８時１１分ころ、地震がありました。\nMagnitude 3.9 (mj), 8 km W of Ichinohe, Japan.\nDepth: 10 km.\nTime: 2021-02-19 09:11:00 UTC.\n" +
		"The time is given to the minute; the earthquake is named by when it was first seen, 09:11:13 UTC.\nEpicenter: 岩手県内陸北部.\n" +
		"Greatest intensity on the scale of the agency: 4.\n震度４: 岩手県内陸北部.\nこの地震による津波の心配はありません。\nIssued by the Japan Meteorological Agency, 2021-02-19 09:14 UTC."
	if r.Description != want {
		t.Errorf("description\n%s\nwant\n%s", r.Description, want)
	}
}

func TestLevelOfAnEarthquake(t *testing.T) {
	magnitude := func(m string) string {
		return `<jmx_eb:Magnitude type="Mj" description="Ｍ">` + m + `</jmx_eb:Magnitude>`
	}
	for name, tt := range map[string]struct {
		felt
		level        hazard.Severity
		minor, drill bool
		ended        hazard.EndReason
		notes        int
		reject       string
		ignored      bool
	}{
		"the strongest, of a slight magnitude":  {felt: felt{greatest: "7"}, level: hazard.Warning},
		"6-":                                    {felt: felt{greatest: "6-"}, level: hazard.Warning},
		"5+":                                    {felt: felt{greatest: "5+"}, level: hazard.Watch},
		"5-":                                    {felt: felt{greatest: "5-"}, level: hazard.Advisory},
		"3":                                     {felt: felt{greatest: "3"}, level: hazard.Information},
		"2":                                     {felt: felt{greatest: "2"}, level: hazard.Information, minor: true},
		"great, far out at sea":                 {felt: felt{greatest: "2", magnitude: magnitude("7.4")}, level: hazard.Warning},
		"great and deep":                        {felt: felt{greatest: "3", magnitude: magnitude("7.9"), at: "+27.9+140.8-680000/"}, level: hazard.Watch},
		"an intensity that nobody knows":        {felt: felt{greatest: "8"}, level: hazard.Information, notes: 1},
		"the hypocenter alone":                  {felt: felt{title: titleOfHypocenter, greatest: "-"}, level: hazard.Information},
		"too great to be measured at once":      {felt: felt{title: titleOfHypocenter, greatest: "-", magnitude: `<jmx_eb:Magnitude type="Mj" condition="不明" description="Ｍ８を超える巨大地震">NaN</jmx_eb:Magnitude>`}, level: hazard.Warning},
		"of a magnitude that is not known":      {felt: felt{greatest: "5+", magnitude: `<jmx_eb:Magnitude type="Mj" condition="不明" description="Ｍ不明">NaN</jmx_eb:Magnitude>`}, level: hazard.Watch},
		"taken back":                            {felt: felt{infoType: "取消"}, level: hazard.Information, minor: true, ended: hazard.EndWithdrawn},
		"a drill":                               {felt: felt{status: "訓練"}, level: hazard.Information, drill: true},
		"a test":                                {felt: felt{status: "試験"}, ignored: true},
		"far away, as are eruptions":            {felt: felt{head: titleFarAway, at: "-00.4+100.5/", greatest: "-"}, ignored: true},
		"intensities alone":                     {felt: felt{title: "震度速報", greatest: "6-"}, ignored: true},
		"without a hypocenter":                  {felt: felt{coordinates: `<jmx_eb:Coordinate condition="不明" description="震源要素不明"/>`}, reject: "Coordinate"},
		"without a time":                        {felt: felt{origin: "soon"}, reject: "Body/Earthquake/OriginTime"},
		"of two earthquakes":                    {felt: felt{event: "20210219181113 20210219181200"}, reject: "Head/EventID: 2 numbers"},
		"the more exact place in other numbers": {felt: felt{coordinates: `<jmx_eb:Coordinate type="震源位置（度分）">+4012.6+14218.2-44000/</jmx_eb:Coordinate><jmx_eb:Coordinate>+40.2+142.3-40000/</jmx_eb:Coordinate>`}, level: hazard.Information},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := Parse(tt.document(), evening)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.reject != "":
				if len(b.Rejects) != 1 || !strings.Contains(b.Rejects[0].Reason, tt.reject) || len(b.Reports) > 0 {
					t.Errorf("rejects %+v, want one of %s", b.Rejects, tt.reject)
				}
				return
			case tt.ignored:
				if b.Ignored != 1 || len(b.Reports)+len(b.Rejects) > 0 {
					t.Errorf("%+v, want it ignored", b)
				}
				return
			case len(b.Reports) != 1:
				t.Fatalf("%+v", b)
			}
			r := b.Reports[0]
			life := seismic.UsualLife
			if tt.level == hazard.Warning {
				life = seismic.GreatLife
			}
			if r.Severity != tt.level || r.Minor != tt.minor || r.Ended != tt.ended || len(r.Notes) != tt.notes || (r.Category == hazard.Exercise) != tt.drill || r.LifeMS != life.Milliseconds() {
				t.Errorf("%v, minor %t, ended %q, %s, lasts %d ms, notes %q", r.Severity, r.Minor, r.Ended, r.Category, r.LifeMS, r.Notes)
			}
		})
	}
}

// The rule that joins earthquakes of several services allows 16 s. The time derived from the
// agency's minute must differ by much less.
func TestTheBeginningIsKnownToSeconds(t *testing.T) {
	for _, tt := range []struct {
		event, minute, at string
		want              string // from the agency's early warning (EEW), which has it to the second, or from another service
	}{
		{"20080614084350", "2008-06-14T08:43:00+09:00", "+39.0+140.9-10000/", "2008-06-13T23:43:45Z"}, // EEW
		{"20090811050711", "2009-08-11T05:07:00+09:00", "+34.8+138.5-20000/", "2009-08-10T20:07:05Z"}, // EEW
		{"20110311144640", "2011-03-11T14:46:00+09:00", "+38.0+142.9-10000/", "2011-03-11T05:46:24Z"}, // USGS usp000hvnu
		{"20110311144640", "2011-03-11T14:46:00+09:00", "+38.0+142.9-10000/", "2011-03-11T05:46:16Z"}, // EEW
		{"20240116184216", "2024-01-16T18:42:00+09:00", "+37.3+136.6-10000/", "2024-01-16T09:42:12Z"}, // EEW
		{"20260903223458", "2026-09-03T22:34:00+09:00", "+37.2+139.3-10000/", "2026-09-03T13:34:56Z"}, // EEW
		{"20220918154449", "2022-09-18T15:44:00+09:00", "+23.0+121.1+0/", "2022-09-18T06:44:15Z"},     // Central Weather Bureau of Taiwan, 2022137
		{"20210218022900", "2021-02-18T02:28:00+09:00", "+37.6+141.6-50000/", "2021-02-17T17:28:50Z"}, // in the last seconds of the minute
		{"20211211000000", "2021-12-11T00:05:00+09:00", "+37.6+141.6-50000/", "2021-12-10T15:05:00Z"}, // the EventID is not a time, so the result is the minute
		{"20100227153529", "2010-02-27T15:34:00+09:00", "-36.1-072.6-60000/", "2010-02-27T06:34:00Z"}, // far from all stations, so the result is the minute
	} {
		b, err := Parse(felt{event: tt.event, origin: tt.minute, issued: tt.minute, sent: tt.minute, coordinates: "<jmx_eb:Coordinate>" + tt.at + "</jmx_eb:Coordinate>"}.document(), evening)
		if err != nil || len(b.Reports) != 1 {
			t.Fatalf("%s: %+v, %v", tt.event, b, err)
		}
		want, err := time.Parse(time.RFC3339, tt.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Reports[0].Start.Time(); math.Abs(got.Sub(want).Seconds()) > 10 {
			t.Errorf("%s at %s begins at %s, want %s give or take 10 s", tt.event, tt.at, got.Format(time.RFC3339), tt.want)
		}
	}
}

func TestADocumentOfTheSameMinuteIsNewerByWhenItWasSent(t *testing.T) {
	first := parse(t, document1(sent{})).Reports[0]
	second := parse(t, []byte(strings.Replace(string(document1(sent{infoType: "訂正"})), "05:49:59Z", "05:50:10Z", 1))).Reports[0]
	wrong := parse(t, []byte(strings.Replace(string(document1(sent{})), "2011-03-11T05:49:59Z", "2012-03-11T05:49:59Z", 1))).Reports[0]
	if second.Version <= first.Version || wrong.Version != int64(*wrong.Renewed) {
		t.Errorf("versions %d, %d; of a time of sending that cannot be %d", first.Version, second.Version, wrong.Version)
	}
}
