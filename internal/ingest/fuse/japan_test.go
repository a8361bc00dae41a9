package fuse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test/server"
)

// ofJMA returns a shortened document of the agency on an earthquake. kind is its Control/Title,
// event its name, and minute the minute of its origin.
func ofJMA(kind, status, infoType, event, minute, at, magnitude string) string {
	body := fmt.Sprintf(`<Earthquake><OriginTime>%s</OriginTime><Hypocenter><Area><Name>三陸沖</Name><Coordinate>%s</Coordinate></Area></Hypocenter><Magnitude type="Mj" description="Ｍ８を超える巨大地震">%s</Magnitude></Earthquake>`+
		`<Tsunami><Forecast><Item><Area><Name>岩手県</Name></Area><Category><Kind><Name>大津波警報</Name><Code>52</Code></Kind></Category></Item></Forecast></Tsunami>`, minute, at, magnitude)
	issued, err := time.Parse(time.RFC3339, minute)
	if err != nil {
		panic(err)
	}
	if issued = issued.Add(5 * time.Minute); kind == hypocenter {
		issued = issued.Add(-2 * time.Minute)
	}
	return fmt.Sprintf(`<Report><Control><Title>%s</Title><Status>%s</Status></Control><Head><Title>震源・震度情報</Title><ReportDateTime>%s</ReportDateTime><EventID>%s</EventID><InfoType>%s</InfoType></Head><Body>%s</Body></Report>`,
		kind, status, issued.Format(time.RFC3339), event, infoType, body)
}

const (
	hypocenter = "震源に関する情報"
	felt       = "震源・震度に関する情報"
	waves      = "津波警報・注意報・予報a"
)

// given is a payload of a source.
type given struct{ source, payload string }

func (d *desk) takeGiven(now hazard.Instant, all ...given) {
	d.t.Helper()
	for _, g := range all {
		if _, err := d.intake.Apply(d.t.Context(), g.source, parse(d.t, g.source, []byte(g.payload), now), now, fuse.Options{History: true}); err != nil {
			d.t.Fatal(err)
		}
	}
}

func ofEMSC(id, at string, lon, lat, magnitude float64) given {
	return given{"emsc", fmt.Sprintf(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v,-20]},"id":%q,"properties":{`+
		`"lastupdate":"2026-01-01T00:00:00Z","time":%q,"lat":%[2]v,"lon":%[1]v,"depth":20,"evtype":"ke","auth":"EMSC","mag":%[5]v,"magtype":"mw","unid":%[3]q,"flynn_region":"NEAR EAST COAST OF HONSHU, JAPAN"}}]}`,
		lon, lat, id, at, magnitude)}
}

func ofGeoNet(id, at string, lon, lat, magnitude float64) given {
	return given{"geonet", fmt.Sprintf(`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v]},"properties":{`+
		`"publicID":%q,"time":%q,"depth":20,"magnitude":%v,"mmi":5,"locality":"Far away","quality":"best"}}]}`, lon, lat, id, at, magnitude)}
}

// The agency gives origins to the minute. Nevertheless, the great earthquake of 2011 is one hazard,
// and its tsunami another, which refers to it, in whatever order they come. The data of USGS is
// recorded. The rest is artificial in the forms of the agency, EMSC and GeoNet, with the EventID
// and first place of the agency's sample of that day.
func TestAnEarthquakeOfJapanIsThatOfOtherServices(t *testing.T) {
	const event, minute, at = "20110311144640", "2011-03-11T14:46:00+09:00", "+38.0+142.9-10000/"
	all := []given{
		{"usgs", string(server.ReadShared(t, "feeds/usgs/detail-usp000hvnu.json"))},
		{"jma", ofJMA(hypocenter, "通常", "発表", event, minute, at, "NaN")},
		{"jma", ofJMA(felt, "通常", "発表", event, minute, "+38.1+142.9-24000/", "8.8")},
		{"jma", ofJMA(waves, "通常", "発表", event, minute, at, "NaN")},
		ofEMSC("20110311_0000030", "2011-03-11T05:46:23.0Z", 142.50, 38.30, 9.0),
		ofGeoNet("2011p189123", "2011-03-11T05:46:20.5Z", 142.60, 38.20, 8.9),
		{"jma", ofJMA(felt, "訓練", "発表", "20110311144700", minute, at, "8.8")},                                        // a drill of the same minute
		ofEMSC("20110311_0000031", "2011-03-11T05:47:21.0Z", 142.60, 38.20, 6.1),                                     // an aftershock of the next minute
		{"jma", ofJMA(felt, "通常", "発表", "20110311150854", "2011-03-11T15:08:00+09:00", "+39.8+142.8-32000/", "7.4")}, // and one that the others do not have
	}
	want := []string{
		"emsc:20110311_0000030 geonet:2011p189123 jma:quake-20110311144640 usgs:usp000hvnu", "emsc:20110311_0000031",
		"jma:20110311144640", "jma:quake-20110311144700", "jma:quake-20110311150854",
	}
	for shift := range all {
		order := slices.Concat(all[shift:], all[:shift])
		if shift%2 == 1 {
			slices.Reverse(order)
		}
		d := newDesk(t)
		d.takeGiven(late, order...)
		got := d.together()
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("order %d: %q, want %q", shift, got, want)
		}
		before := d.last()
		if d.takeGiven(late, order...); d.last() != before {
			t.Errorf("order %d: importing the same again made %d changes", shift, d.last()-before)
		}
		related, err := d.intake.Related(t.Context(), d.event("jma", event).ID, late)
		if err != nil || len(related) != 1 || related[0].Hazard.ID != d.event("usgs", "usp000hvnu").ID || related[0].Why != "named quake-"+event {
			t.Errorf("order %d: the tsunami is related to %+v, %v", shift, related, err)
		}
	}
}

// Two earthquakes of 2010 within a minute, 20 km from each other, each have their partner. The
// EventIDs are from samples of the agency (number 32-35_08); the rest is artificial.
func TestTwoEarthquakesOfAMinuteKeepTheirPartners(t *testing.T) {
	d := newDesk(t)
	d.takeGiven(late,
		given{"jma", ofJMA(felt, "通常", "発表", "20100705065511", "2010-07-05T06:54:00+09:00", "+39.7+142.5-30000/", "5.2")},
		given{"jma", ofJMA(felt, "通常", "発表", "20100705065610", "2010-07-05T06:55:00+09:00", "+39.6+142.7-30000/", "6.3")},
		ofEMSC("20100704_0000050", "2010-07-04T21:55:52.0Z", 142.40, 39.70, 6.3),
		ofEMSC("20100704_0000049", "2010-07-04T21:54:58.0Z", 142.50, 39.70, 5.1),
	)
	got := d.together()
	slices.Sort(got)
	if want := []string{"emsc:20100704_0000049 jma:quake-20100705065511", "emsc:20100704_0000050 jma:quake-20100705065610"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An earthquake that the agency withdraws has ended, unless another service still reports it. If
// the agency issues it again, it comes back.
func TestAnEarthquakeThatJMATakesBack(t *testing.T) {
	const event, minute, at = "20240102101200", "2024-01-02T10:12:00+09:00", "+37.3+136.6-10000/"
	began := hazard.At(time.Date(2024, 1, 2, 1, 12, 0, 0, time.UTC))
	document := func(kind, infoType string, after time.Duration) given {
		issued := began.Add(after).Time().Format(time.RFC3339)
		return given{"jma", fmt.Sprintf(`<Report><Control><Title>%s</Title><DateTime>%s</DateTime><Status>通常</Status></Control><Head><Title>震源・震度情報</Title><ReportDateTime>%[2]s</ReportDateTime>`+
			`<EventID>%s</EventID><InfoType>%s</InfoType></Head><Body><Earthquake><OriginTime>%s</OriginTime><Hypocenter><Area><Coordinate>%s</Coordinate></Area></Hypocenter><Magnitude>5.1</Magnitude></Earthquake></Body></Report>`,
			kind, issued, event, infoType, minute, at)}
	}
	d := newDesk(t)
	now := began.Add(30 * time.Minute)
	active := func(want bool, when string) {
		t.Helper()
		h := d.event("jma", "quake-"+event)
		if h == nil || (h.Status == hazard.Active) != want {
			t.Fatalf("%s: %+v, want it active: %t", when, h, want)
		}
		if h.Longitude != 136.6 || h.Latitude != 37.3 {
			t.Errorf("%s: it is at %v, %v", when, h.Longitude, h.Latitude)
		}
	}
	d.takeGiven(now, document(hypocenter, "発表", 3*time.Minute), document(felt, "発表", 5*time.Minute))
	active(true, "issued")
	d.takeGiven(now, document(hypocenter, "取消", 6*time.Minute))
	active(true, "its first document taken back, which another has taken the place of")
	d.takeGiven(now, document(felt, "取消", 8*time.Minute))
	active(false, "taken back")
	d.takeGiven(now, document(felt, "発表", 9*time.Minute))
	active(true, "issued again")
	other := ofEMSC("20240102_0000009", "2024-01-02T01:11:58.0Z", 136.62, 37.31, 5.0)
	if d.takeGiven(now, other); d.event("emsc", "20240102_0000009").ID != d.event("jma", "quake-"+event).ID {
		t.Errorf("two hazards: %q", d.together())
	}
	d.takeGiven(now, document(felt, "取消", 10*time.Minute))
	if h := d.event("emsc", "20240102_0000009"); h.Status != hazard.Active || d.event("jma", "quake-"+event).Status == hazard.Active {
		t.Errorf("EMSC still reports it, and the agency does not: %+v", h)
	}
}

// A weather warning of the agency is one hazard, in whatever order its documents come. A drill is a
// separate hazard, and a report without a warning makes none.
func TestAWeatherWarningOfJapan(t *testing.T) {
	began := hazard.At(time.Date(2026, 12, 31, 1, 0, 0, 0, time.UTC))
	document := func(after time.Duration, status, kind string) given {
		issued := began.Add(after).Time()
		layer := func(of, name, code string) string {
			return fmt.Sprintf(`<Warning type="気象警報・注意報（%s）"><Item>%s<Area><Name>%s</Name><Code>%s</Code></Area></Item></Warning>`, of, kind, name, code)
		}
		return given{"jma", fmt.Sprintf(`<Report><Control><Title>気象警報・注意報（Ｒ０６）（高潮）</Title><DateTime>%s</DateTime><Status>%s</Status></Control><Head><ReportDateTime>%[1]s</ReportDateTime><EventID/><InfoType>発表</InfoType></Head><Body>%[3]s</Body></Report>`,
			issued.Format(time.RFC3339), status, layer("府県予報区等", "香川県", "370000")+layer("一次細分区域等", "香川県", "370000")+layer("市町村等", "高松市", "3720100"))}
	}
	const (
		warning  = "<Kind><Name>レベル３高潮警報</Name><Code>08</Code><Status>発表</Status></Kind>"
		advisory = "<Kind><Name>レベル２高潮注意報</Name><Code>19</Code><Status>警報から注意報</Status></Kind>"
		over     = "<Kind><Name>レベル２高潮注意報</Name><Code>19</Code><Status>解除</Status></Kind>"
		none     = "<Kind><Status>発表警報・注意報はなし</Status></Kind>"
	)
	all := []given{document(0, "通常", warning), document(2*time.Hour, "通常", advisory), document(26*time.Hour, "通常", over)}
	const key = "surge-370000"
	for shift := range all {
		order := slices.Concat(all[shift:], all[:shift])
		if shift%2 == 1 {
			slices.Reverse(order)
		}
		d := newDesk(t)
		d.takeGiven(began.Add(27*time.Hour), order...)
		for _, h := range d.hazards() {
			if h.Status == hazard.Active {
				t.Errorf("order %d: %s goes on", shift, h.Name)
			}
		}
	}
	d := newDesk(t)
	d.takeGiven(began.Add(time.Minute), document(-time.Hour, "通常", none))
	if n := len(d.hazards()); n != 0 {
		t.Errorf("an inactive warning makes %d hazards", n)
	}
	state := func(when string, after time.Duration, severity hazard.Severity, status hazard.Status, documents ...given) {
		t.Helper()
		d.takeGiven(began.Add(after+time.Minute), documents...)
		if h := d.event("jma", key); h == nil || h.Severity != severity || h.Status != status || h.Longitude < 133.9 || h.Longitude > 134.2 || h.Latitude < 34.1 || h.Latitude > 34.5 {
			t.Errorf("%s: %+v, want %v, %v in Takamatsu", when, h, severity, status)
		}
	}
	state("issued", 0, hazard.Warning, hazard.Active, all[0], document(time.Second, "訓練", none))
	state("lowered", 2*time.Hour, hazard.Advisory, hazard.Active, all[1])
	if n := len(d.hazards()); n != 1 {
		t.Errorf("%d hazards, want one: a drill without active warnings makes none", n)
	}
	d.takeGiven(began.Add(3*time.Hour), document(3*time.Hour, "訓練", warning))
	if h := d.event("jma", "drill-"+key); h == nil || h.Category != hazard.Exercise {
		t.Errorf("a drill: %+v", h)
	}
	d.takeGiven(began.Add(27*time.Hour), all[2])
	if h := d.event("jma", key); h.Status == hazard.Active {
		t.Errorf("lifted: %+v", h)
	}
	again := document(30*time.Hour, "通常", warning)
	state("issued again", 30*time.Hour, hazard.Warning, hazard.Active, again)
}
