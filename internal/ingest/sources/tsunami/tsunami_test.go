package tsunami

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

func at(t testing.TB, text string) hazard.Instant {
	t.Helper()
	i, err := cap.ParseTime(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func parsed(t testing.TB, payload []byte, now hazard.Instant) source.Batch {
	t.Helper()
	b, err := Parse(payload, now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// info returns an info block of a message of the center at Palmer.
func info(event, place, origin, latlon, area string) string {
	return `<info><category>Geo</category><event>` + event + `</event><responseType>None</responseType><urgency>Immediate</urgency><severity>Unknown</severity>
<certainty>Likely</certainty><expires>2026-11-21T01:00:00-00:00</expires><senderName>NWS National Tsunami Warning Center Palmer AK</senderName>
<headline>The ` + event + ` is in effect.</headline><description>Words   of the centre.</description><web>http://ntwc.arh.noaa.gov/events/PAAQ/x.txt</web>
<parameter><valueName>EventLocationName</valueName><value>` + place + `</value></parameter>
<parameter><valueName>EventPreliminaryMagnitude</valueName><value>8.1</value></parameter>
<parameter><valueName>EventOriginTime</valueName><value>` + origin + `</value></parameter>
<parameter><valueName>EventLatLon</valueName><value>` + latlon + ` 0.000</value></parameter>
<area><areaDesc>` + place + `</areaDesc>` + area + `</area></info>`
}

const (
	epicentre = `<circle>51.885,-131.076 0.0</circle>`
	origin    = "2026-11-21T11:50:00-00:00"
)

func ugc(codes ...string) string {
	var out string
	for _, c := range codes {
		out += `<geocode><valueName>UGC</valueName><value>` + c + `</value></geocode>`
	}
	return out
}

// bulletin returns a message with its info blocks.
func bulletin(id, sent string, infos ...string) []byte {
	incident := id[strings.LastIndexByte(id, '-')+1:]
	return []byte(`<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>` + id + `</identifier><sender>ntwc@noaa.gov</sender><sent>` + sent +
		`</sent><status>Actual</status><msgType>Update</msgType><source>NTWC</source><scope>Public</scope><incidents>` + incident + `</incidents>` + strings.Join(infos, "") + `</alert>`)
}

func block(event, area string) string {
	return info(event, "100 miles SE of Sandspit, Haida Gwaii", origin, "51.885,-131.076", area)
}

// latest returns the latest report of each part.
func latest(reports ...hazard.Report) []hazard.Report {
	parts := map[string]hazard.Report{}
	for _, r := range reports {
		if old, ok := parts[r.Part]; !ok || old.Version < r.Version {
			parts[r.Part] = r
		}
	}
	return slices.Collect(maps.Values(parts))
}

func TestMessageBecomesAReport(t *testing.T) {
	sent := at(t, "2026-11-21T12:05:50Z")
	b := parsed(t, bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:05:50-00:00", block("Tsunami Warning", ugc("AKZ026", "BCZ110"))), sent.Add(time.Minute))
	if len(b.Reports) != 1 || b.Read != 1 || len(b.Rejects) != 0 {
		t.Fatalf("%+v", b)
	}
	got := b.Reports[0]
	want := hazard.Report{
		Source: "tsunami", Key: "rcz9ap", Aliases: got.Aliases, Part: "PAAQ#01", Version: int64(sent), Name: "Tsunami Warning - 100 miles SE of Sandspit, Haida Gwaii",
		Description: "NWS National Tsunami Warning Center Palmer AK: Tsunami Warning, message 1, issued 21 Nov 2026 12:05 UTC\n\n" +
			"Earthquake 100 miles SE of Sandspit, Haida Gwaii, preliminary magnitude 8.1, 21 Nov 2026 11:50:00 UTC.\n\nWords of the centre.",
		Type: hazard.Tsunami, Severity: hazard.Warning, Category: hazard.Event, Level: "Tsunami Warning",
		Start: at(t, origin), Renewed: &sent, LifeMS: (24 * time.Hour).Milliseconds(), Point: &hazard.Point{Lon: -131.076, Lat: 51.885},
		Places: []string{"AKZ026", "BCZ110"}, Replaces: got.Replaces,
		Refs: []string{"quake:at00rcz9ap", "quake:2026-11-21T11:50:00Z@51.885,-131.076"},
		URL:  "http://ntwc.arh.noaa.gov/events/PAAQ/x.txt", Comment: "tsunami:rcz9ap", Creator: "NWS National Tsunami Warning Center Palmer AK",
		Products: []hazard.ReportProduct{
			{Key: "tsunami", Title: "tsunami.gov", Type: hazard.FolderProduct, Time: sent},
			{Key: "text/PAAQ", Parent: "tsunami", Title: "Tsunami Warning - 100 miles SE of Sandspit, Haida Gwaii", Type: hazard.TextProduct,
				Data: "The Tsunami Warning is in effect.\n\nWords of the centre.", Comment: "PAAQ message 1", Time: sent},
			{Key: "bulletin/PAAQ", Parent: "tsunami", Title: "Bulletin", Type: hazard.URLProduct, Data: "http://ntwc.arh.noaa.gov/events/PAAQ/x.txt", Time: sent},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Aliases) != 8 {
		t.Error(diff)
	}
}

func TestLevelsByTheWordForTheEvent(t *testing.T) {
	for event, want := range map[string]struct {
		level hazard.Severity
		life  time.Duration
		ended hazard.EndReason
		held  bool
	}{
		"Tsunami Warning":      {hazard.Warning, life, "", false},
		"Tsunami Watch":        {hazard.Watch, life, "", false},
		"Tsunami Advisory":     {hazard.Advisory, life, "", false},
		"Tsunami Information":  {hazard.Information, lifeOfInformation, "", false},
		"Tsunami Cancellation": {hazard.Information, life, hazard.EndCancelled, false},
		"Tsunami Threat":       {hazard.Watch, life, "", false},
		"Something else":       {hazard.Information, life, "", false},
		"Tsunami Test":         {hazard.Information, life, "", true},
	} {
		b := parsed(t, bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:05:50-00:00", block(event, epicentre)), at(t, "2026-11-21T12:06:00Z"))
		r := b.Reports[0]
		if r.Severity != want.level || r.LifeMS != want.life.Milliseconds() || r.Ended != want.ended || (r.Suspect != "") != want.held || r.End != nil {
			t.Errorf("%s: %s for %d ms, ended %q, suspect %q", event, r.Severity, r.LifeMS, r.Ended, r.Suspect)
		}
	}
}

// Times of expiry are those of the message, and some are wrong. An advisory lasts until it is
// cancelled, at most a day.
func TestExpiryIsNoEnd(t *testing.T) {
	sent := at(t, "2026-11-21T12:05:50Z") // expires at 01:00 of the same day
	for event, lasts := range map[string]time.Duration{"Tsunami Advisory": 24 * time.Hour, "Tsunami Information": 6 * time.Hour} {
		b := parsed(t, bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:05:50-00:00", block(event, epicentre)), sent)
		state := hazard.Derive(b.Reports, sent)
		if state.Ended != "" || state.End != sent.Add(lasts) {
			t.Errorf("%s: ended %q, end %v, want %v", event, state.Ended, state.End, sent.Add(lasts))
		}
	}
}

func TestPartialCancellationLeavesTheOtherCoasts(t *testing.T) {
	now := at(t, "2026-11-21T15:00:00Z")
	one := parsed(t, bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:00:00-00:00", block("Tsunami Warning", ugc("AKZ026")), block("Tsunami Advisory", ugc("CAZ006")), block("Tsunami Watch", ugc("ORZ001"))), now).Reports
	two := parsed(t, bulletin("PAAQ-2-rcz9ap", "2026-11-21T13:00:00-00:00", block("Tsunami Cancellation", epicentre), block("Tsunami Advisory", ugc("AKZ026"))), now).Reports
	three := parsed(t, bulletin("PAAQ-3-rcz9ap", "2026-11-21T14:00:00-00:00", block("Tsunami Cancellation", epicentre)), now).Reports
	all := [][]hazard.Report{one, two, three}
	for _, tt := range []struct {
		messages int
		level    hazard.Severity
		places   []string
		ended    hazard.EndReason
	}{
		{1, hazard.Warning, []string{"AKZ026", "CAZ006", "ORZ001"}, ""},
		{2, hazard.Advisory, []string{"AKZ026"}, ""},
		{3, hazard.Information, nil, hazard.EndCancelled},
	} {
		for range 20 {
			order := slices.Clone(all[:tt.messages])
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			state := hazard.Derive(latest(slices.Concat(order...)...), now)
			slices.Sort(state.Places)
			if state.Head.Severity != tt.level || !slices.Equal(state.Places, tt.places) || state.Ended != tt.ended || state.Head.Start != at(t, origin) {
				t.Fatalf("%d messages: %s in %v, ended %q, from %v", tt.messages, state.Head.Severity, state.Places, state.Ended, state.Head.Start)
			}
		}
	}
}

func TestBothCentresAreOneEvent(t *testing.T) {
	now := at(t, "2026-11-21T13:00:00Z")
	palmer := parsed(t, bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:00:00-00:00", block("Tsunami Warning", ugc("AKZ026"))), now).Reports[0]
	honolulu := func(origin, latlon string) hazard.Report {
		return parsed(t, bulletin("PHEB-1-26325000", "2026-11-21T12:04:00-00:00", info("Tsunami Information", "HAIDA GWAII REGION, CANADA", origin, latlon, epicentre)), now).Reports[0]
	}
	for name, tt := range map[string]struct {
		report hazard.Report
		same   bool
	}{
		"the same origin":            {honolulu("2026-11-21T11:50:00Z", "51.885,-131.076"), true},
		"59 s and most of a degree":  {honolulu("2026-11-21T11:50:59Z", "52.8,-132.9"), true},
		"59 s before, the other way": {honolulu("2026-11-21T11:49:01Z", "51.0,-129.3"), true},
		"three minutes later":        {honolulu("2026-11-21T11:53:01Z", "51.885,-131.076"), false},
		"three degrees off":          {honolulu("2026-11-21T11:50:00Z", "54.9,-131.076"), false},
		"on the other side":          {honolulu("2026-11-21T11:50:00Z", "51.885,131.076"), false},
	} {
		shared := slices.ContainsFunc(tt.report.Aliases, func(a string) bool { return slices.Contains(palmer.Aliases, a) })
		if shared != tt.same {
			t.Errorf("%s: same event %v, want %v", name, shared, tt.same)
		}
	}
	other := honolulu("2026-11-21T11:50:05Z", "51.9,-131.1")
	if other.Name != "Tsunami Information - Haida Gwaii Region, Canada" || other.Refs[0] != "quake:pt26325000" {
		t.Errorf("%q, %v", other.Name, other.Refs)
	}
	// The level is the highest one in force, and a cancellation by one center does not end the
	// other's warning.
	if state := hazard.Derive([]hazard.Report{palmer, other}, now); state.Head.Severity != hazard.Warning || state.Ended != "" {
		t.Errorf("%s, ended %q", state.Head.Severity, state.Ended)
	}
	cancelled := parsed(t, bulletin("PHEB-2-26325000", "2026-11-21T12:30:00-00:00", info("Tsunami Cancellation", "HAIDA GWAII", origin, "51.885,-131.076", epicentre)), now).Reports[0]
	if state := hazard.Derive([]hazard.Report{palmer, cancelled}, now); state.Head.Severity != hazard.Warning || state.Ended != "" {
		t.Errorf("after one centre's cancellation: %s, ended %q", state.Head.Severity, state.Ended)
	}
	// Cells on both sides of the antimeridian are neighbors.
	east, west := honolulu(origin, "-20,179.9"), honolulu(origin, "-20,-179.9")
	if !slices.ContainsFunc(east.Aliases, func(a string) bool { return slices.Contains(west.Aliases, a) }) {
		t.Error("origins on both sides of the antimeridian are two events")
	}
}

func TestOriginsNearEachOtherShareAName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lat, lon := rapid.Float64Range(-80, 80).Draw(t, "lat"), rapid.Float64Range(-180, 180).Draw(t, "lon")
		when := hazard.Instant(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "when"))
		dt, dlat, dlon := rapid.Int64Range(-59_999, 59_999).Draw(t, "dt"), rapid.Float64Range(-0.99, 0.99).Draw(t, "dlat"), rapid.Float64Range(-1.99, 1.99).Draw(t, "dlon")
		lon2 := lon + dlon
		if lon2 > 180 {
			lon2 -= 360
		} else if lon2 < -180 {
			lon2 += 360
		}
		a := quake{origin: &when, place: &hazard.Point{Lon: lon, Lat: lat}}
		b := quake{origin: new(when + hazard.Instant(dt)), place: &hazard.Point{Lon: lon2, Lat: lat + dlat}}
		if !slices.ContainsFunc(a.windows(), func(w string) bool { return slices.Contains(b.windows(), w) }) {
			t.Errorf("%v and %v share no name", a.windows(), b.windows())
		}
	})
}

func TestWhatIsNotForThePublicIsIgnored(t *testing.T) {
	good := string(bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:00:00-00:00", block("Tsunami Warning", epicentre)))
	for _, change := range [][2]string{{">Actual<", ">Test<"}, {">Actual<", ">Exercise<"}, {">Public<", ">Private<"}, {">Update<", ">Ack<"}} {
		b := parsed(t, []byte(strings.Replace(good, change[0], change[1], 1)), at(t, "2026-11-21T13:00:00Z"))
		if len(b.Reports) != 0 || b.Ignored != 1 || len(b.Rejects) != 0 {
			t.Errorf("%v: %+v", change, b)
		}
	}
	for _, tt := range [][3]string{
		{"PAAQ-1-rcz9ap", "PAAQ", "identifier: \"PAAQ\""}, {"2026-11-21T12:00:00-00:00</sent>", "noon</sent>", "sent: \"noon\""},
		{">Actual<", "><", "status: missing"},
	} {
		b := parsed(t, []byte(strings.Replace(good, tt[0], tt[1], 1)), at(t, "2026-11-21T13:00:00Z"))
		if len(b.Rejects) != 1 || !strings.HasPrefix(b.Rejects[0].Reason, tt[2]) {
			t.Errorf("%v: %+v", tt, b.Rejects)
		}
	}
	small := strings.Replace(good, "51.885,-131.076 0.0<", "51.885,-131.076 -1<", 1)
	if b := parsed(t, []byte(small), at(t, "2026-11-21T13:00:00Z")); len(b.Reports) != 1 || !strings.Contains(strings.Join(b.Reports[0].Notes, " "), "circle/0: radius") {
		t.Errorf("a circle that cannot be read: %+v", b)
	}
	held := strings.Replace(good, "Words   of the centre.", "THIS IS A TEST MESSAGE", 1)
	if b := parsed(t, []byte(held), at(t, "2026-11-21T13:00:00Z")); b.Reports[0].Suspect == "" {
		t.Error("a test in words is not held")
	}
	if b := parsed(t, []byte(good), at(t, "2026-11-21T10:00:00Z")); !strings.Contains(b.Reports[0].Suspect, "in the future") {
		t.Error("a message of the future is not held")
	}
}

// The 21 messages of one center about the Tonga eruption of 15 January 2022 are one event, in any
// order. Its parts have the level and the coasts of the last message.
func TestTongaInAnyOrder(t *testing.T) {
	payload := recordings.Read(t, "feeds/tsunami/derived-ntwc-cap-2022.json")
	b := parsed(t, payload, at(t, "2022-12-31T00:00:00Z"))
	messages := map[hazard.Instant][]hazard.Report{}
	events := map[string]bool{}
	for _, r := range b.Reports {
		if r.Suspect != "" || r.Type != hazard.Tsunami {
			t.Errorf("%s: %s", r.Name, r.Suspect)
		}
		events[r.Key] = true
		if r.Key == "r5qho6" {
			messages[hazard.Instant(r.Version)] = append(messages[hazard.Instant(r.Version)], r)
		}
	}
	if b.Read != 73 || len(b.Rejects) != 0 || b.Ignored != 0 || len(events) != 53 || len(messages) != 21 {
		t.Fatalf("read %d, rejects %v, %d events, %d messages", b.Read, b.Rejects, len(events), len(messages))
	}
	order := slices.Sorted(maps.Keys(messages))
	counts := map[hazard.Instant]int{at(t, "2022-01-15T22:29:26Z"): 33 + 5, at(t, "2022-01-16T06:24:38Z"): 2} // number of zones in messages 13 and 21
	var soFar []hazard.Report
	for i, sent := range order {
		soFar = append(soFar, messages[sent]...)
		state := hazard.Derive(latest(soFar...), sent+1000)
		want := hazard.Advisory
		if i == 0 {
			want = hazard.Information
		}
		if state.Head.Severity != want || state.Ended != "" {
			t.Errorf("message %d: %s, ended %q", i+1, state.Head.Severity, state.Ended)
		}
		if n := counts[sent]; n > 0 && len(state.Places) != n {
			t.Errorf("message %d: %d zones, want %d", i+1, len(state.Places), n)
		}
	}
	now := order[len(order)-1] + 1000
	want := hazard.Derive(latest(soFar...), now)
	for range 100 {
		var shuffled []hazard.Report
		keys := slices.Clone(order)
		rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for _, k := range keys {
			shuffled = append(shuffled, messages[k]...)
		}
		if diff := cmp.Diff(want, hazard.Derive(latest(shuffled...), now)); diff != "" {
			t.Fatal(diff)
		}
	}
	if state := hazard.Derive(latest(soFar...), now.Add(24*time.Hour)); state.Over() > now.Add(24*time.Hour) {
		t.Errorf("a day after the last message it goes on until %v", state.Over())
	}
}

func TestRecordings(t *testing.T) {
	test.NoRace(t)
	for _, tt := range []struct {
		file                            string
		read, reports, ignored, rejects int
		link                            string
	}{
		{"PAAQ-CAP-20220605.xml", 1, 1, 0, 0, ""},
		{"alert-PAAQ-10-r5qho6.json", 1, 1, 0, 0, ""},
		{"derived-ntwc-cap-2022.json", 73, 88, 0, 0, ""},
		{"PAAQAtom-20260817.xml", 0, 0, 0, 0, "https://www.tsunami.gov/events/PAAQ/2026/08/17/tjxl6l/1/WEAK53/PAAQCAP.xml"},
		{"PAAQAtom-20260925.xml", 0, 0, 0, 0, "https://www.tsunami.gov/events/PHEB/2026/09/25/26268000/1/WEGM42/PHEBCAP.xml"},
		{"PHEBAtom-20260812.xml", 0, 0, 0, 0, "https://www.tsunami.gov/events/PHEB/2026/08/12/26224050/1/WEHW42/PHEBCAP.xml"},
		{"../cap/wcatwc-warning.cap", 1, 1, 0, 0, ""},
	} {
		payload := recordings.Read(t, "feeds/tsunami/"+tt.file)
		b := parsed(t, payload, at(t, "2026-12-31T00:00:00Z"))
		if b.Read != tt.read || len(b.Reports) != tt.reports || b.Ignored != tt.ignored || len(b.Rejects) != tt.rejects || b.Whole {
			t.Errorf("%s: read %d, %d reports, %d ignored, rejects %v", tt.file, b.Read, len(b.Reports), b.Ignored, b.Rejects)
		}
		for _, r := range b.Reports {
			if r.Suspect != "" || r.Point == nil || !strings.HasPrefix(r.Name, "Tsunami ") || len(r.Aliases) != 8 {
				t.Errorf("%s: %s, point %v, suspect %q", tt.file, r.Name, r.Point, r.Suspect)
			}
		}
		links := b.Links
		if dir := filepath.Dir(tt.link); strings.Contains(dir, "/PHEB/") && len(links) == 2 && strings.HasSuffix(links[1].URL, "/"+filepath.Base(dir)+".txt") && links[1].Updated != nil {
			links = links[:1]
		}
		if tt.link == "" && len(links) > 0 || tt.link != "" && (len(links) != 1 || links[0].URL != tt.link || links[0].Updated == nil) {
			t.Errorf("%s: links %v", tt.file, links)
		}
	}
	// Other texts, and another program's conversions of bulletins, are rejected with an error that
	// says what they are.
	for _, folder := range []string{"ptwc-raw", "ptwc-pdc-parsed"} {
		root := recordings.Path(t, "feeds/tsunami/"+folder)
		files, err := os.ReadDir(root)
		if err != nil || len(files) < 300 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, f := range files {
			payload, err := os.ReadFile(filepath.Join(root, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if isBulletin(payload) {
				continue
			}
			b, err := Parse(payload, at(t, "2026-12-31T00:00:00Z"))
			if _, ok := errors.AsType[*source.PayloadError](err); !ok || b.Read != 0 {
				t.Errorf("%s: %+v, %v", f.Name(), b, err)
			}
		}
	}
}

// The poller decides and reports whether a link may be followed. So an index with such links
// must not look empty.
func TestLinksAreHandedOnWhereverTheyLead(t *testing.T) {
	index := func(href string) []byte {
		return []byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><link href="` + href + `" type="application/cap+xml"/></entry></feed>`)
	}
	for href, want := range map[string]int{
		"https://www.tsunami.gov/a.xml ": 1, "a.xml": 1, "http://www.tsunami.gov/a.xml": 1, "https://evil.example.org/a.xml": 1, "mailto:a@example.org": 0, "": 0,
	} {
		if b := parsed(t, index(href), at(t, "2026-11-21T13:00:00Z")); len(b.Links) != want {
			t.Errorf("%s: %v", href, b.Links)
		}
	}
	if f := Source().Feeds; len(f) != 2 || f[0].Every != time.Minute {
		t.Errorf("%+v", f)
	}
}

func TestCutAndWrongPayloads(t *testing.T) {
	whole := bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:00:00-00:00", block("Tsunami Warning", epicentre))
	for n := 256; n < len(whole); n += 256 {
		b, err := Parse(whole[:n], at(t, "2026-11-21T13:00:00Z"))
		if bad, ok := errors.AsType[*source.PayloadError](err); !ok || !bad.Cut || len(b.Reports) != 0 {
			t.Errorf("cut at %d: %+v, %v", n, b, err)
		}
	}
	many := []byte(`<alerts xmlns="urn:oasis:names:tc:emergency:cap:1.2">` + strings.Repeat("<alert/>", 3000) + "</alerts>")
	if b, err := Parse(many, 0); err != nil || len(b.Rejects) != source.MaxRejects+1 || b.Read != 3000 && b.Read != source.MaxRejects+1 {
		t.Errorf("%d rejects, %v", len(b.Rejects), err)
	}
	for _, payload := range []string{"", "<html/>", "TSUNAMI INFORMATION STATEMENT", "{}"} {
		if _, err := Parse([]byte(payload), 0); err == nil {
			t.Errorf("%q is taken for a message", payload)
		}
	}
}

// The result does not depend on the order of the records in a list.
func TestOrderOfRecordsDoesNotMatter(t *testing.T) {
	var doc struct{ Alerts map[string]json.RawMessage }
	if err := json.Unmarshal(recordings.Read(t, "feeds/tsunami/derived-ntwc-cap-2022.json"), &doc); err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(maps.Values(doc.Alerts))[:20]
	read := func(list []json.RawMessage) []hazard.Report {
		text, err := json.Marshal(map[string]any{"alerts": list})
		if err != nil {
			t.Fatal(err)
		}
		b := parsed(t, text, at(t, "2022-12-31T00:00:00Z"))
		slices.SortFunc(b.Reports, func(a, c hazard.Report) int {
			return strings.Compare(fmt.Sprint(a.Key, a.Version, a.Part), fmt.Sprint(c.Key, c.Version, c.Part))
		})
		return b.Reports
	}
	want := read(all)
	for range 10 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if diff := cmp.Diff(want, read(all)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(bulletin("PAAQ-1-rcz9ap", "2026-11-21T12:00:00-00:00", block("Tsunami Warning", epicentre), block("Tsunami Cancellation", ugc("AKZ026"))))
	f.Add([]byte(`{"alerts":{"PAAQ-1-r5qho6":{"identifier":"PAAQ-1-r5qho6","sender":"a","sent":"2022-01-15T11:00:42-00:00","status":"Actual","msgType":"Alert","scope":"Public","info_list":[{"event":"Tsunami Information"}]}}}`))
	f.Add([]byte(threat))
	f.Fuzz(func(t *testing.T, payload []byte) {
		now := hazard.Instant(1_798_762_400_000)
		b, err := Parse(payload, now)
		if _, ok := errors.AsType[*source.PayloadError](err); err != nil && !ok {
			t.Fatalf("%T", err)
		}
		for _, r := range b.Reports {
			if r.Name != hazard.CleanLine(r.Name) || r.Description != hazard.Clean(r.Description) || r.Key == "" || len(r.Places) == 0 {
				t.Fatalf("%+v", r)
			}
			hazard.Derive([]hazard.Report{r}, now)
		}
		for _, d := range b.Drawings {
			for _, s := range d.Shapes {
				if err := s.Check(); err != nil || s.Label != hazard.CleanLine(s.Label) {
					t.Fatalf("%+v: %v", s, err)
				}
			}
		}
	})
}
