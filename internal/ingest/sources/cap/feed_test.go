package cap

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

func TestPayloadsThatAreNoAlerts(t *testing.T) {
	for payload, want := range map[string]string{
		"":                                "empty payload",
		" \n":                             "empty payload",
		"\ufeff":                          "empty payload",
		"<html><body>Sorry</body></html>": "an HTML page",
		"<!DOCTYPE html><html></html>":    "a document type",
		"<svg/>":                          "the root element is \"svg\"",
		"Sorry!":                          "begins with Sorry!, expected a CAP alert",
		`{"type":"FeatureCollection"}`:    "a JSON object of something else",
		`[{"type":"Feature"}]`:            "a JSON array of something else",
		`{"warnings":7}`:                  "warnings: 7, expected an array",
		`"word"`:                          "begins with",
		`<rss></rss><rss></rss>`:          "a second root element",
		`<rss></rss>Warning: in line 3`:   "text outside of the root element",
		`{"warnings":[]} {"warnings":[]}`: "expected the end of the document",
		"<?xml version=\"1.0\" encoding=\"utf-7\"?><rss>\xe8</rss>": "encoding: \"UTF-7\"",
		"\xff\xfe<\x00": "begins with <",
	} {
		b, err := Parse(feed, []byte(payload), at(t, noon))
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || !strings.Contains(bad.Reason, want) {
			t.Errorf("%q: %v, want %q", payload, err, want)
		}
		if len(b.Reports) != 0 || b.Read != 0 || b.Whole {
			t.Errorf("%q: %+v", payload, b)
		}
	}
}

// meteo is a list in MeteoAlarm's format.
func meteo(alerts ...string) string {
	var out []string
	for _, a := range alerts {
		out = append(out, `{"alert":`+a+`,"uuid":"x"}`)
	}
	return `{"warnings":[` + strings.Join(out, ",") + `]}`
}

// asJSON returns a good message as JSON.
func asJSON(id string) string {
	return fmt.Sprintf(`{"identifier":%q,"sender":"weather@example.org","sent":"2026-11-21T11:00:00+00:00","status":"Actual","msgType":"Alert","scope":"Public",
"info":[{"language":"en","category":["Met"],"event":"Flood Warning","urgency":"Immediate","severity":"Severe","certainty":"Observed","expires":"2026-11-21T18:00:00Z",
"area":[{"areaDesc":"Test County","polygon":"38,-120 38,-119 39,-119 38,-120","altitude":3.5,"geocode":[{"valueName":"EMMA_ID","value":"XX001"}]}]}]}`, id)
}

func TestJSONForms(t *testing.T) {
	one := asJSON("A-1")
	for name, payload := range map[string]string{
		"one alert":              one,
		"MeteoAlarm's list":      meteo(one),
		"an object around it":    `{"alert":` + one + `}`,
		"an array":               `[` + one + `]`,
		"alerts by identifier":   `{"alerts":{"A-1":` + one + `}}`,
		"members with _list":     strings.NewReplacer(`"info"`, `"info_list"`, `"area"`, `"area_list"`, `"geocode"`, `"geocode_list"`, `"polygon"`, `"polygon_list"`).Replace(one),
		"lists where one stands": strings.Replace(one, `"38,-120 38,-119 39,-119 38,-120"`, `["38,-120 38,-119 39,-119 38,-120"]`, 1),
		"one where lists stand":  strings.NewReplacer(`"info":[`, `"info":`, `}]}]}`, `}]}}`, `"area":[`, `"area":`).Replace(strings.Replace(one, `"geocode":[{"valueName":"EMMA_ID","value":"XX001"}]}]}]}`, `"geocode":{"valueName":"EMMA_ID","value":"XX001"}}}}`, 1)),
	} {
		b, err := Parse(feed, []byte(payload), at(t, noon))
		if err != nil || len(b.Reports) != 1 || len(b.Reports[0].Areas) != 1 || !slices.Equal(b.Reports[0].Places, []string{"EMMA_ID:XX001"}) {
			t.Errorf("%s: %+v, %v\n%s", name, b, err, payload)
		}
	}
	b := parsed(t, feed, meteo(one, `7`, `{"identifier":"A-2"}`, asJSON("A-3")), at(t, noon))
	if b.Read != 4 || len(b.Reports) != 2 || len(b.Rejects) != 2 {
		t.Errorf("a bad record among good ones: read %d, %d reports, rejects %v", b.Read, len(b.Reports), b.Rejects)
	}
}

// D38, D35: an error in one alert of a feed affects only that alert, which is counted. Its
// neighbors are read.
func TestAlertsOfAFeedAreReadEachByItself(t *testing.T) {
	alert := good[strings.Index(good, "<alert"):]
	other := func(id string, changes ...string) string {
		return change(t, strings.Replace(alert, "A-1", id, 1), changes...)
	}
	for name, tt := range map[string]struct {
		middle                  string
		reports, links, rejects int
	}{
		"an unknown namespace":      {other("A-2", "cap:1.2", "cap:2.0"), 2, 0, 1},
		"no namespace":              {other("A-2", ` xmlns="urn:oasis:names:tc:emergency:cap:1.2"`, ""), 2, 0, 1},
		"&nbsp;":                    {other("A-2", "Water rises.", "Water&nbsp;rises & falls < 5\x0b"), 3, 0, 0},
		"an alert without end":      {strings.TrimSuffix(other("A-2"), "</alert>"), 3, 0, 0},
		"a severity without end":    {other("A-2", "</severity>", ""), 2, 0, 1},
		"a bad alert with a link":   {`<link href="https://example.org/a2.cap"/>` + other("A-2", "cap:1.2", "cap:2.0"), 2, 1, 1},
		"a section without end":     {other("A-2", "Water rises.", "<![CDATA[Water rises."), 3, 0, 0},
		"something of another name": {"<alert>yellow</alert>", 2, 0, 0},
	} {
		payload := `<feed xmlns="http://www.w3.org/2005/Atom"><entry><content>` + other("A-1") + `</content></entry><entry>` + tt.middle + `</entry><entry><content>` + other("A-3") + `</content></entry></feed>`
		b, err := Parse(feed, []byte(payload), at(t, noon))
		if err != nil || len(b.Reports) != tt.reports || len(b.Links) != tt.links || len(b.Rejects) != tt.rejects {
			t.Errorf("%s: %d reports, links %v, rejects %q, %v", name, len(b.Reports), b.Links, b.Rejects, err)
		}
	}
}

func TestEnvelopes(t *testing.T) {
	alert := good[strings.Index(good, "<alert"):]
	second := strings.Replace(alert, "A-1", "A-2", 1)
	for name, tt := range map[string]struct {
		payload        string
		reports, links int
	}{
		"a document":           {good, 1, 0},
		"Atom with content":    {`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="https://example.org/a"/><content>` + alert + `</content></entry></feed>`, 1, 0},
		"Atom with both kinds": {`<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.org/self"/><entry><content>` + alert + `</content></entry><entry><link href="https://example.org/b"/></entry></feed>`, 1, 1},
		"EDXL":                 {`<EDXLDistribution xmlns="urn:oasis:names:tc:emergency:EDXL:DE:1.0"><contentObject><xmlContent><embeddedXMLContent>` + alert + second + `</embeddedXMLContent></xmlContent></contentObject></EDXLDistribution>`, 2, 0},
		"a wrapper":            {`<alerts>` + alert + second + `</alerts>`, 2, 0},
		"RSS":                  {`<rss><channel><link>https://example.org/</link><item><link> https://example.org/a.cap </link></item><item><guid>https://example.org/b.cap</guid></item><item><guid isPermaLink="false">x</guid></item></channel></rss>`, 0, 2},
		"RSS with enclosures":  {`<rss><channel><item><link>https://example.org/page</link><enclosure type="application/cap+xml" url="https://example.org/a.cap"/></item></channel></rss>`, 0, 1},
		"Atom, best link":      {`<feed><entry><link href="https://example.org/page" type="text/html"/><link href="https://example.org/a.cap " type="application/cap+xml" rel="related"/></entry></feed>`, 0, 1},
		"Atom, pages only":     {`<feed><entry><link href="https://example.org/page" type="text/html"/></entry><entry><link href="file:///x"/></entry></feed>`, 0, 0},
		"all is quiet":         {`<rss version="2.0"><channel><title>t</title></channel></rss>`, 0, 0},
		"elements in disorder": {change(t, good, "<event>Flood Warning</event>", "", "</area>", "</area><event>Flood Warning</event>", "<scope>Public</scope>", "",
			"</info>", "</info><scope>Public</scope>"), 1, 0},
		"CAP 1.1":  {change(t, good, "cap:1.2", "cap:1.1"), 1, 0},
		"prefixes": {`<c:alert xmlns:c="urn:oasis:names:tc:emergency:cap:1.2">` + strings.NewReplacer("</", "</c:", "<", "<c:").Replace(strings.TrimSuffix(good[strings.Index(good, "<identifier"):], "</alert>")) + `</c:alert>`, 1, 0},
	} {
		payload := strings.ReplaceAll(tt.payload, "<c:/c:", "</c:")
		b, err := Parse(feed, []byte(payload), at(t, noon))
		links, errLinks := Links([]byte(payload))
		if err != nil || errLinks != nil || len(b.Reports) != tt.reports || len(links) != tt.links || len(b.Rejects) != 0 {
			t.Errorf("%s: %d reports, links %v, rejects %v, %v", name, len(b.Reports), links, b.Rejects, err)
		}
		for _, l := range links {
			if !strings.Contains(name, "RSS") {
				break
			}
			if !strings.HasSuffix(l.URL, ".cap") {
				t.Errorf("%s: %s", name, l.URL)
			}
		}
	}
}

func TestCharacters(t *testing.T) {
	for name, tt := range map[string]struct {
		declared string
		text     []byte
		charset  string
		want     string // empty if it is rejected
	}{
		"UTF-8":                             {"UTF-8", []byte("Genève"), "", "Genève"},
		"Latin-1 as declared":               {"ISO-8859-1", []byte("Gen\xe8ve"), "", "Genève"},
		"Windows-1252 as declared":          {"windows-1252", []byte("\x93Gen\xe8ve\x94 \x80"), "", "“Genève” €"},
		"Windows-1252 that declares UTF-8":  {"UTF-8", []byte("Gen\xe8ve \x96 l\x92Arve"), "", "Genève – l’Arve"},
		"what may be any charset":           {"UTF-8", []byte("Gen\xe8ve"), "", ""},
		"what the operator knows":           {"UTF-8", []byte("Gen\xe8ve"), "windows-1252", "Genève"},
		"what the operator knows of Poland": {"UTF-8", []byte("\xa3\xf3d\xbc"), "iso-8859-2", "Łódź"},
		"UTF-8 that is broken in places":    {"UTF-8", []byte("Genève, Zürich, M\xc3"), "", "Genève, Zürich, M"},
		"UTF-8 that declares UTF-16":        {"UTF-16", []byte("Genève"), "", "Genève"},
		"with a byte order mark":            {"\ufeff", []byte("Genève"), "", "Genève"},
	} {
		text := with(t, "Test County", string(tt.text))
		if tt.declared == "\ufeff" {
			text = "\ufeff" + text
		} else {
			text = strings.Replace(text, `encoding="UTF-8"`, `encoding="`+tt.declared+`"`, 1)
		}
		cfg := feed
		cfg.Charset = tt.charset
		b, err := Parse(cfg, []byte(text), at(t, noon))
		switch {
		case tt.want == "":
			if _, ok := errors.AsType[*source.PayloadError](err); !ok {
				t.Errorf("%s: %v, want it refused", name, err)
			}
		case err != nil || len(b.Reports) != 1 || b.Reports[0].Name != "Flood Warning - "+tt.want:
			t.Errorf("%s: %v, %v", name, b.Reports, err)
		}
	}
}

// A payload that is cut off at any position gives the part before, and an error that says so.
func TestCutPayloads(t *testing.T) {
	step := 1 << 10
	if testing.Short() {
		step = 16 << 10
	}
	for _, file := range []string{"cap/edxl-tasmania-20260921.xml", "cap/canada-2026/20260710-chain00-10-update.cap", "meteoalarm/api-germany-20260420.json", "meteoalarm/api-bosnia-herzegovina-202401.json", "cap/weather_index.atom"} {
		payload := recordings.Read(t, "feeds/"+file)
		whole, err := Parse(feed, payload, at(t, noon))
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.TrimSpace(payload)
		for at1 := step; at1 < len(text); at1 += step {
			b, err := Parse(feed, text[:at1], at(t, noon))
			bad, ok := errors.AsType[*source.PayloadError](err)
			if !ok || !bad.Cut {
				t.Fatalf("%s at %d: %v", file, at1, err)
			}
			if len(b.Reports) > len(whole.Reports) || !cmp.Equal(b.Reports, whole.Reports[:len(b.Reports)]) && len(b.Reports) > 0 {
				t.Fatalf("%s at %d: %d reports that are not the first of %d", file, at1, len(b.Reports), len(whole.Reports))
			}
		}
	}
}

// Garbage of any size needs memory proportional to the size.
func TestGarbageIsBounded(t *testing.T) {
	test.Slow(t)
	size := 2 << 20
	if testing.Short() {
		size = 1 << 19
	}
	open, shut := good[:strings.Index(good, "<info>")], "</alert>"
	for name, payload := range map[string][]byte{
		"empty info blocks":  []byte(open + strings.Repeat("<info/>", size/7) + shut),
		"empty areas":        []byte(open + "<info>" + strings.Repeat("<area/>", size/7) + "</info>" + shut),
		"empty parameters":   []byte(open + "<info>" + strings.Repeat("<parameter/>", size/12) + "</info>" + shut),
		"empty alerts":       []byte(`<alerts xmlns="urn:oasis:names:tc:emergency:cap:1.2">` + strings.Repeat("<alert/>", size/8) + "</alerts>"),
		"items":              []byte("<rss><channel>" + strings.Repeat("<item/>", size/7) + "</channel></rss>"),
		"one long word":      []byte(strings.Replace(good, "Water rises.", strings.Repeat("w", size), 1)),
		"one long polygon":   []byte(strings.Replace(good, "38,-120 38,-119", strings.Repeat("38,-120 ", size/8)+"38,-119", 1)),
		"one long reference": []byte(strings.Replace(good, "<info>", "<references>"+strings.Repeat("a,b,c ", size/6)+"</references><info>", 1)),
		"zeros":              make([]byte, size),
		"deep JSON":          []byte(strings.Repeat("[", size)),
		"empty objects":      []byte(`{"warnings":[` + strings.Repeat("{},", size/3) + `{}]}`),
		"objects in one":     []byte(`{"identifier":"x","info":[` + strings.Repeat("{},", min(size, maxJSON-1000)/3-100) + `{}]}`),
		"members":            []byte(`{"a":1` + strings.Repeat(`,"a":1`, size/6) + `}`),
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begun := time.Now()
		b, err := Parse(feed, payload, at(t, noon))
		runtime.ReadMemStats(&after)
		grown := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(payload))
		t.Logf("%-18s %6.1f bytes for each, %v, %d reports, %d rejects, %v", name, grown, time.Since(begun).Round(time.Millisecond), len(b.Reports), len(b.Rejects), err)
		if grown > 2000 { // the smallest element has a few bytes, and needs a hundred in memory
			t.Errorf("%s: %.0f bytes of memory for each byte", name, grown)
		}
		if len(b.Rejects) > source.MaxRejects+1 {
			t.Errorf("%s: %d rejects", name, len(b.Rejects))
		}
	}
}

// The result does not depend on the order of the records in a list.
func TestOrderOfRecordsDoesNotMatter(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var all []string
	for i := range 6 {
		all = append(all, asJSON(fmt.Sprintf("A-%d", i)))
	}
	all = append(all, all[0], strings.Replace(asJSON("A-7"), "Flood Warning", "Whatever", 1), `{"identifier":"bad"}`, strings.Replace(asJSON("A-8"), "Actual", "Test", 1),
		strings.Replace(asJSON("A-1"), "Severe", "Minor", 1))
	sorted := func(payload string) source.Batch {
		b, err := Parse(feed, []byte(payload), hazard.Instant(1_795_262_400_000))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(b.Reports, func(a, c hazard.Report) int { return strings.Compare(a.Part+a.Level, c.Part+c.Level) })
		return b
	}
	want := sorted(meteo(all...))
	rapid.Check(t, func(t *rapid.T) {
		if diff := cmp.Diff(want, sorted(meteo(rapid.Permutation(all).Draw(t, "order")...))); diff != "" {
			t.Error(diff)
		}
	})
}

// The event has the same final state for any subset of a chain's messages, in any order.
func TestChainsInAnyOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	now := at(t, noon)
	messages := []string{good}
	for i := 2; i < 6; i++ {
		sent := fmt.Sprintf("2026-11-21T11:%02d:00+00:00", i*8)
		m := update(t, fmt.Sprintf("A-%d", i), sent, "XX001", fmt.Sprintf("XX00%d", i))
		if i == 4 {
			m = strings.Replace(m, "A-1,2026-11-21T11:00:00+00:00", "A-3,2026-11-21T11:24:00+00:00", 1)
		}
		messages = append(messages, m)
	}
	messages = append(messages, cancelOf(t, update(t, "C-1", "2026-11-21T11:50:00+00:00")))
	rng := rand.New(rand.NewPCG(9, 10))
	for n := 2; n <= len(messages); n++ {
		var want *hazard.EventState
		for range 30 {
			order := slices.Clone(messages[:n])
			rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			var e events
			for _, m := range order {
				e.add(parsed(t, feed, m, now).Reports...)
			}
			state := e.all[0].state(now)
			if want == nil {
				want = &state
			}
			if diff := cmp.Diff(*want, state); diff != "" || len(e.all) != 1 {
				t.Fatalf("%d messages: %d events\n%s", n, len(e.all), diff)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(meteo(asJSON("A-1"))))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>x</id><link href="https://example.org/a" type="application/cap+xml"/></entry></feed>`))
	f.Add([]byte(`[{"id":"mow.x","payload":{},"sent":"2026-11-21T11:00:00Z"}]`))
	f.Add([]byte(strings.Replace(good, "<msgType>Alert", "<references>weather@example.org,A-0,2026-11-21T10:00:00Z</references><msgType>Cancel", 1)))
	f.Add([]byte(strings.Replace(good, "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>", "<circle>38,-120 12.5</circle>", 1)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		now := hazard.Instant(1_795_262_400_000)
		b, err := Parse(feed, payload, now)
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Fatalf("%T", err)
		}
		if b.Whole {
			t.Fatal("whole")
		}
		for _, r := range b.Reports {
			if r.Name != hazard.CleanLine(r.Name) || r.Description != hazard.Clean(r.Description) || r.Key == "" || r.Type == "" || r.Severity < hazard.Information {
				t.Fatalf("%+v", r)
			}
			hazard.Derive([]hazard.Report{r}, now)
		}
		if _, err := Links(payload); err != nil {
			if _, ok := errors.AsType[*source.PayloadError](err); !ok {
				t.Fatalf("%T", err)
			}
		}
	})
}

// Relative links are allowed; once, they were dropped.
func TestRelativeLinksAreResolved(t *testing.T) {
	for name, tt := range map[string]struct{ feed, want string }{
		"an absolute base":           {`<feed xml:base="https://example.org/cap/index.atom"><entry><link href="a.xml"/></entry></feed>`, "https://example.org/cap/a.xml"},
		"a base of the entry":        {`<feed xml:base="https://example.org/"><entry xml:base="cap/"><link href="a.xml"/></entry></feed>`, "https://example.org/cap/a.xml"},
		"a base of the link":         {`<feed><entry><link xml:base="https://example.org/x/" href="../a.xml"/></entry></feed>`, "https://example.org/a.xml"},
		"a base that ended":          {`<feed xml:base="https://example.org/"><author xml:base="https://other.example/"/><entry><link href="/a.xml"/></entry></feed>`, "https://example.org/a.xml"},
		"an absolute link":           {`<feed xml:base="https://example.org/"><entry><link href="https://other.example/a"/></entry></feed>`, "https://other.example/a"},
		"no base":                    {`<feed><entry><link href="/cap/a.xml?x=1"/></entry></feed>`, "/cap/a.xml?x=1"},
		"no base, the same folder":   {`<feed><entry><link href="a.xml"/></entry></feed>`, "a.xml"},
		"no scheme":                  {`<feed><entry><link href="//example.org/a.xml"/></entry></feed>`, "//example.org/a.xml"},
		"a relative base":            {`<feed xml:base="cap/"><entry><link href="a.xml"/></entry></feed>`, "cap/a.xml"},
		"a relative base of a root":  {`<feed xml:base="/cap/"><entry><link href="a.xml"/></entry></feed>`, "/cap/a.xml"},
		"RSS":                        {`<rss xml:base="https://example.org/x/"><channel><item><link> a.xml </link></item></channel></rss>`, "https://example.org/x/a.xml"},
		"an enclosure":               {`<rss><channel><item><enclosure type="application/cap+xml" url="a.xml"/></item></channel></rss>`, "a.xml"},
		"a guid that is no address":  {`<rss><channel><item><guid>12345</guid></item></channel></rss>`, ""},
		"a place in the page itself": {`<feed><entry><link href="#a"/></entry></feed>`, ""},
		"an address that is no web":  {`<feed xml:base="https://example.org/"><entry><link href="mailto:a@example.org"/></entry></feed>`, ""},
	} {
		links, err := Links([]byte(tt.feed))
		if got := fmt.Sprint(links); err != nil || tt.want == "" && len(links) > 0 || tt.want != "" && (len(links) != 1 || links[0].URL != tt.want) {
			t.Errorf("%s: %s, %v, want %s", name, got, err, tt.want)
		}
	}
	links, _ := Links([]byte(`<feed xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"><entry><link href="a"/><cap:expires>2026-11-22T12:00:00-05:00</cap:expires></entry></feed>`))
	if len(links) != 1 || links[0].Expires == nil || *links[0].Expires != at(t, "2026-11-22T17:00:00Z") {
		t.Errorf("expiry: %+v", links)
	}
}
