package gdacs

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// later is a time after all recordings.
var later = hazard.At(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))

// now is the time in tests that make their own documents.
var now = hazard.At(time.Date(2026, 7, 28, 6, 0, 0, 0, time.UTC))

func parsed(t testing.TB, payload []byte, now hazard.Instant) source.Batch {
	t.Helper()
	batch, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch.Reports {
		checkReport(t, &batch.Reports[i])
	}
	return batch
}

// only returns the single report of a document.
func only(t testing.TB, payload []byte) hazard.Report {
	t.Helper()
	batch := parsed(t, payload, now)
	if len(batch.Reports) != 1 || len(batch.Rejects) != 0 || batch.Read != 1 {
		t.Fatalf("read %d, reports %v, rejects %v, want one report", batch.Read, batch.Reports, batch.Rejects)
	}
	return batch.Reports[0]
}

func find(t testing.TB, batch source.Batch, key string) hazard.Report {
	t.Helper()
	i := slices.IndexFunc(batch.Reports, func(r hazard.Report) bool { return r.Key == key })
	if i < 0 {
		t.Fatalf("no report of %s", key)
	}
	return batch.Reports[i]
}

// checkReport checks conditions that hold for every report.
func checkReport(t testing.TB, r *hazard.Report) {
	t.Helper()
	bad := func(format string, args ...any) { t.Errorf("%s: "+format, append([]any{r.Key}, args...)...) }
	if r.Source != Name || r.Key == "" || r.Creator != "GDACS" || r.Comment != "gdacs:"+r.Key || r.Part != "" {
		bad("source %q, part %q, creator %q, comment %q", r.Source, r.Part, r.Creator, r.Comment)
	}
	if _, ok := r.Type.Info(); !ok || r.LifeMS <= 0 || r.End != nil {
		bad("type %q, life %d, end %v", r.Type, r.LifeMS, r.End)
	}
	if r.Severity < hazard.Information || r.Level == "" {
		bad("severity %v, level %q", r.Severity, r.Level)
	}
	if r.Name == "" || r.Name != hazard.CleanLine(r.Name) || len(r.Name) > 2*maxName {
		bad("name %q", r.Name)
	}
	for _, word := range []string{"Green", "Orange", "alert", "[unknown]", "on going", "  ", " ,", "Magnitude 0"} {
		if strings.Contains(r.Name, word) || strings.Contains(r.Description, word) && (word == "[unknown]" || word == "Magnitude 0") {
			bad("%q in %q, %q", word, r.Name, r.Description)
		}
	}
	if r.Description != hazard.Clean(r.Description) || !strings.Contains(r.Description, "GDACS alert level: "+r.Level+" (") {
		bad("description %q", r.Description)
	}
	if r.Category != hazard.Exercise && !slices.Contains(r.Refs, "gdacs:"+r.Key) {
		bad("refs %v lack its own", r.Refs)
	}
	for _, address := range []string{r.URL, r.Detail} {
		if u, err := url.Parse(address); err != nil || address != "" && (u.Scheme != "https" || u.Host != "www.gdacs.org") {
			bad("address %q", address)
		}
	}
	if r.Point == nil && len(r.Areas) == 0 && len(r.Places) == 0 && r.Suspect == "" {
		bad("no place, and not held")
	}
	keys := map[string]bool{"": true}
	for _, p := range r.Products {
		if keys[p.Key] && p.Key != "" || !keys[p.Parent] || p.Title != hazard.CleanLine(p.Title) || p.Title == "" {
			bad("product %+v", p)
		}
		keys[p.Key] = true
		if p.Type == hazard.URLProduct && address(p.Data) != p.Data {
			bad("product %s: address %q", p.Key, p.Data)
		}
	}
}

// end returns the time at which a report's event ends.
func end(r hazard.Report) hazard.Instant {
	quote := hazard.Derive([]hazard.Report{r}, r.Start)
	return quote.End
}

// flood returns a valid feature of a list, with some of its text replaced.
func flood(replace ...string) string {
	return sourcetest.Changed(`{"type":"Feature","bbox":[11.3426,44.4938,11.3426,44.4938],"geometry":{"type":"Point","coordinates":[11.3426,44.4938]},`+
		`"properties":{"eventtype":"FL","eventid":1104053,"episodeid":2,"eventname":"","glide":"","name":"Flood in Italy",`+
		`"description":"Flood in Italy","url":{"report":"https://www.gdacs.org/report.aspx?eventid=1104053&episodeid=2&eventtype=FL"},`+
		`"alertlevel":"Orange","alertscore":1,"episodealertlevel":"Orange","istemporary":"false","iscurrent":"true","country":"Italy",`+
		`"fromdate":"2026-07-26T01:00:00","todate":"2026-07-27T01:00:00","datemodified":"2026-07-27T09:20:49","iso3":"ITA","source":"GLOFAS",`+
		`"sourceid":"","polygonlabel":"Centroid","Class":"Point_Centroid","affectedcountries":[],`+
		`"severitydata":{"severity":0.0,"severitytext":"Magnitude 0 ","severityunit":""}}}`, replace...)
}

// quake does the same for an earthquake.
func quake(replace ...string) string {
	return sourcetest.Changed(flood(`"FL"`, `"EQ"`, "1104053", "1554511", `"episodeid":2`, `"episodeid":1721183`, `"severity":0.0`, `"severity":5.8`,
		"Magnitude 0 ", "Magnitude 5.8M, Depth:10km", `"todate":"2026-07-27T01:00:00"`, `"todate":"2026-07-26T01:00:00"`), replace...)
}

// storm does the same for a storm.
func storm(replace ...string) string {
	return sourcetest.Changed(flood(`"FL"`, `"TC"`, "1104053", "1001303", `"eventname":""`, `"eventname":"LALA-26"`, `"severity":0.0`, `"severity":185.2`,
		"Magnitude 0 ", "Hurricane/Typhoon > 74 mph (maximum wind speed of 185 km/h)"), replace...)
}

func collection(features ...string) []byte {
	return []byte(`{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `],"bbox":null}`)
}

// item returns a valid RSS item.
func item(replace ...string) string {
	return sourcetest.Changed(`<item><title>Green flood alert in Saudi Arabia</title><description>On 24/11/2022, a flood started in Saudi Arabia, lasting until `+
		`26/11/2022 (last update). The flood caused 2 deaths and 0 displaced .</description><link>https://www.gdacs.org/report.aspx?eventtype=FL&amp;eventid=1101755</link>`+
		`<pubDate>Sat, 26 Nov 2022 07:00:30 GMT</pubDate><gdacs:temporary>false</gdacs:temporary><gdacs:datemodified>Sat, 26 Nov 2022 08:00:30 GMT</gdacs:datemodified>`+
		`<gdacs:iscurrent>true</gdacs:iscurrent><gdacs:fromdate>Thu, 24 Nov 2022 01:00:00 GMT</gdacs:fromdate><gdacs:todate>Sat, 26 Nov 2022 01:00:00 GMT</gdacs:todate>`+
		`<guid isPermaLink="false">FL1101755</guid><geo:Point><geo:lat>21.5</geo:lat><geo:long>39.2</geo:long></geo:Point><gdacs:bbox>35.2 43.2 17.5 25.5</gdacs:bbox>`+
		`<georss:point>21.5 39.2</georss:point><gdacs:eventtype>FL</gdacs:eventtype><gdacs:alertlevel>Green</gdacs:alertlevel><gdacs:episodealertlevel>Green</gdacs:episodealertlevel>`+
		`<gdacs:eventname /><gdacs:eventid>1101755</gdacs:eventid><gdacs:episodeid>1</gdacs:episodeid><gdacs:severity unit="" value="0">Magnitude 0 </gdacs:severity>`+
		`<gdacs:population unit="" value="0" /><gdacs:country>Saudi Arabia</gdacs:country><gdacs:glide /></item>`, replace...)
}

func rss(items ...string) []byte {
	return []byte("\ufeff" + `<?xml version="1.0" encoding="utf-8"?><rss version="2.0" xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#" ` +
		`xmlns:gdacs="http://www.gdacs.org" xmlns:georss="http://www.georss.org/georss" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"><channel>` +
		`<title>GDACS RSS information</title><!--Records number 1-->` + strings.Join(items, "\n") + `</channel></rss>`)
}

// alert returns a valid CAP message.
func alert(replace ...string) []byte {
	parameter := func(name, value string) string {
		return "<parameter><valueName>" + name + "</valueName><value>" + value + "</value></parameter>"
	}
	return []byte(sourcetest.Changed(`<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>GDACS_EQ_1279931_1389192</identifier><sender>info-gdacs@gdacs.org</sender>`+
		`<sent>2021-08-03T05:28:23-00:00</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><incidents>1279931</incidents><info><category>Geo</category>`+
		`<event>Earthquake</event><urgency>Past</urgency><severity>Minor</severity><headline>Green earthquake alert (Magnitude 4.6M, Depth:19.09km) in Japan 03/08/2021 07:28 UTC</headline>`+
		parameter("eventid", "1279931")+parameter("eventtype", "EQ")+parameter("fromdate", "Tue, 03 Aug 2021 07:28 GMT")+parameter("todate", "Tue, 03 Aug 2021 07:28 GMT")+
		parameter("alertlevel", "Green")+parameter("country", "Japan")+parameter("severity", "Magnitude 4.6M, Depth:19.09km")+parameter("sourceid", "NEIC")+
		parameter("datemodified", "Tue, 03 Aug 2021 10:23 GMT")+
		`<area><areaDesc>Polygon</areaDesc><polygon>35,142 37,142 37,140 35,140 35,142</polygon></area></info></alert>`, replace...))
}

// wantReject checks that a batch has one reject with that record and reason, and that number of
// reports.
func wantReject(t testing.TB, batch source.Batch, reports int, record, reason string) {
	t.Helper()
	if len(batch.Rejects) != 1 || batch.Rejects[0].Record != record || batch.Rejects[0].Reason != reason || len(batch.Rejects[0].Raw) == 0 {
		t.Errorf("rejects %s, want %s: %s", quote(fmt.Sprint(batch.Rejects)), record, reason)
		for _, r := range batch.Rejects {
			t.Errorf("%s: %s", r.Record, r.Reason)
		}
	}
	if len(batch.Reports) != reports {
		t.Errorf("%d reports, want %d", len(batch.Reports), reports)
	}
}

func payloadError(t testing.TB, err error) *source.PayloadError {
	t.Helper()
	bad, ok := errors.AsType[*source.PayloadError](err)
	if !ok {
		t.Fatalf("error %v, want a PayloadError", err)
	}
	return bad
}
