package gdacs

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestFeedsArePolledAsOftenAsTheyAreRenewed(t *testing.T) {
	for _, f := range Source().Feeds {
		if !strings.HasPrefix(f.URL, "https://www.gdacs.org/") || f.Every != 6*time.Minute || f.MaxBytes <= 0 {
			t.Errorf("%+v", f)
		}
	}
}

func TestAPayloadThatIsNoDocumentOfGDACSIsRefusedWithOneSentence(t *testing.T) {
	for name, tt := range map[string]struct {
		payload, want string
		cut           bool
	}{
		"empty":             {"", "an empty payload, expected GeoJSON, RSS or CAP", false},
		"words":             {"Service Unavailable", `begins with "Service Unavailable", expected GeoJSON, RSS or CAP`, false},
		"HTML":              {"<!DOCTYPE html><html><body>503</body></html>", "a document type (<!DOCTYPE html>), expected none", false},
		"HTML without type": {"<html><body>503</body></html>", "an HTML page, expected RSS or a CAP alert", false},
		"Atom":              {`<feed xmlns="http://www.w3.org/2005/Atom"/>`, `the root element is "feed", expected RSS or a CAP alert`, false},
		"entities":          {`<!DOCTYPE x [<!ENTITY a "b">]><rss/>`, "a document type (<!DOCTYPE x [<), expected none", false},
		"two roots":         {`<rss/><rss/>`, `a second root element "rss", expected one`, true},
		"an error":          {`{"Message":"An error has occurred."}`, "an error message instead of events: An error has occurred.", false},
		"other GeoJSON":     {`{"type":"Point","coordinates":[1,2]}`, `type: "Point", expected FeatureCollection or Feature`, false},
		"no events":         {`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"title":"x"}}]}`, "properties/eventtype: missing in all of 1 features, expected events", false},
		"cut XML":           {`<rss><channel>`, "the payload ends early, after 14 bytes", true},
		"cut declaration":   {`<?xml version="1.0"`, `begins with <?xml version="1.0", expected RSS or a CAP alert`, false},
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := Parse([]byte(tt.payload), now)
			bad := payloadError(t, err)
			if bad.Cut != tt.cut || bad.Reason != tt.want {
				t.Errorf("%q, cut %v; want %q, cut %v", bad.Reason, bad.Cut, tt.want, tt.cut)
			}
			if len(batch.Reports)+len(batch.Rejects)+batch.Read != 0 {
				t.Errorf("batch %+v, want none", batch)
			}
		})
	}
}

func TestAnEmptyListIsData(t *testing.T) {
	for _, payload := range [][]byte{collection(), rss()} {
		if batch := parsed(t, payload, now); batch.Read != 0 || batch.Whole {
			t.Errorf("%+v", batch)
		}
	}
}

func TestABadFeatureIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"a number":         {"7", "features/1", "7, expected an object"},
		"no properties":    {`{"type":"Feature"}`, "features/1", "properties: missing, expected an object"},
		"no type":          {flood(`"FL"`, `""`), "features/1", "properties/eventtype: missing, expected one of EQ, TC, FL, VO, DR, WF, TS"},
		"unknown type":     {flood(`"FL"`, `"XX"`), "XX1104053", `eventtype: "XX", expected one of EQ, TC, FL, VO, DR, WF, TS`},
		"no number":        {flood(`1104053,`, `"soon",`), "features/1", `eventid: "soon", expected a number`},
		"no dates":         {flood("2026-07-26T01:00:00", "", "2026-07-27T01:00:00", ""), "FL1104053", "fromdate: missing, expected a date such as 2026-07-28T03:34:05"},
		"no level":         {flood(`"episodealertlevel":"Orange"`, `"episodealertlevel":""`, `"alertlevel":"Orange"`, `"alertlevel":null`), "FL1104053", "episodealertlevel: missing, expected Green, Orange or Red"},
		"an unknown level": {flood(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Purple"`, `"alertlevel":"Orange"`, `"alertlevel":"Purple"`), "FL1104053", `episodealertlevel: "Purple", expected Green, Orange or Red`},
	} {
		t.Run(name, func(t *testing.T) {
			batch := parsed(t, collection(flood(), tt.bad, flood("1104053,", "1104054,")), now)
			wantReject(t, batch, 2, tt.record, tt.reason)
			if batch.Read != 3 {
				t.Errorf("read %d, want 3", batch.Read)
			}
		})
	}
}

func TestADoubtfulFieldIsANote(t *testing.T) {
	for _, tt := range []struct {
		payload []byte
		note    string
	}{
		{collection(flood("2026-07-26T01:00:00", "26/07/2026")), `fromdate: "26/07/2026", expected a date such as 2026-07-28T03:34:05`},
		{collection(flood("2026-07-27T01:00:00", "soon")), `todate: "soon", expected a date`},
		{collection(flood("2026-07-27T09:20:49", "2026-13-27T09:20:49")), `datemodified: "2026-13-27T09:20:49", expected a date`},
		{collection(flood(`"country":"Italy"`, `"country":{"a":1}`)), `properties/country: {"a":1}, expected a string or a number`},
		{rss(item("Thu, 24 Nov 2022 01:00:00 GMT", "Thu, 44 Nov 2022 01:00:00 GMT")), `fromdate: "Thu, 44 Nov 2022 01:00:00 GMT", expected a date`},
	} {
		if r := only(t, tt.payload); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Suspect != "" {
			t.Errorf("notes %q, suspect %q; want the note %q", r.Notes, r.Suspect, tt.note)
		}
	}
}

func TestABadItemIsOneRejectAndItsNeighboursStay(t *testing.T) {
	for name, tt := range map[string]struct{ bad, record, reason string }{
		"other alert":   {`<item><alert xmlns="urn:other"><identifier>x</identifier></alert></item>`, "item/1", `alert: "urn:other", expected the namespace of CAP`},
		"no members":    {"<item><title>Green flood alert in Italy</title></item>", "item/1", "gdacs:eventtype: missing, expected one of EQ, TC, FL, VO, DR, WF, TS"},
		"many elements": {"<item>" + strings.Repeat("<a/>", maxElements+1) + "</item>", "item/1", "more than 5000 elements"},
		"much nested":   {"<item>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100) + "</item>", "item/1", "elements nested deeper than 64"},
	} {
		t.Run(name, func(t *testing.T) {
			wantReject(t, parsed(t, rss(item(), tt.bad, item("1101755</gdacs", "1101756</gdacs")), now), 2, tt.record, tt.reason)
		})
	}
}

// An item that is not well-formed affects only itself, and gets a note if its meaning is
// clear.
func TestAnItemThatIsNotWellFormedIsReadAsFarAsItCan(t *testing.T) {
	for name, bad := range map[string]string{
		"an entity of HTML":     item("<title>", "<title>Green&nbsp;"),
		"a lone ampersand":      item("<title>", "<title>Trinidad & Tobago "),
		"a lone less-than sign": item("<title>", "<title>wind < 5 "),
		"a control character":   item("<title>", "<title>\x0b"),
	} {
		t.Run(name, func(t *testing.T) {
			batch := parsed(t, rss(item(), strings.ReplaceAll(bad, "1101755</gdacs", "1101757</gdacs"), item("1101755</gdacs", "1101756</gdacs")), now)
			if len(batch.Reports) != 3 || len(batch.Rejects) != 0 {
				t.Errorf("%d reports, rejects %+v, want 3 reports", len(batch.Reports), batch.Rejects)
			}
		})
	}
}

// A longitude just beyond 180° is on the other side of the antimeridian.
func TestPolygonsOfCAPAreWrapped(t *testing.T) {
	want := `{"type":"Polygon","coordinates":[[[179.5,-17],[-179.8,-17],[-179.8,-16],[179.5,-17]]]}`
	if got := string(capPolygon("-17,179.5 -17,180.2 -16,-179.8 -17,179.5")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDates(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"2026-07-28T03:34:05", "2026-07-28T03:34:05.000Z"}, // the API: without zone, UTC
		{"2026-07-28T03:57:37.98", "2026-07-28T03:57:37.980Z"},
		{"2026-07-28T03:34:05Z", "2026-07-28T03:34:05.000Z"},
		{"2026-07-28T05:34:05+02:00", "2026-07-28T03:34:05.000Z"},
		{"2021-08-03T05:28:23-00:00", "2021-08-03T05:28:23.000Z"},
		{"Sat, 26 Nov 2022 20:39:04 GMT", "2022-11-26T20:39:04.000Z"}, // RSS
		{"Tue, 10 Nov 2020 05:07 GMT", "2020-11-10T05:07:00.000Z"},    // CAP
		{"27 May 2026 14:51:04", "2026-05-27T14:51:04.000Z"},          // gdacs.geojson
		{"18/Apr/2021 06:41:50", "2021-04-18T06:41:50.000Z"},          // the same in 2021
		{" 18/Apr/2021 06:41:50 ", "2021-04-18T06:41:50.000Z"},
		{"", ""}, {"soon", ""}, {"Mon, 52 Jul 2021 04:28 GMT", ""}, {"26/07/2021 03:48", ""}, {"11/26/2022 8:00:19 PM", ""}, {"0000-01-01T00:00:00", ""},
	} {
		at, err := date(tt.text)
		if got := at.String(); err == nil && got != tt.want || err != nil && tt.want != "" {
			t.Errorf("date(%q) = %s, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestThePresentLevelIsThatOfTheEpisode(t *testing.T) {
	for _, tt := range []struct {
		event, episode string
		want           hazard.Severity
		level          string
	}{
		{"Red", "Green", hazard.Information, "Green"}, // neither level bounds the other
		{"Green", "Orange", hazard.Watch, "Orange"},
		{"Red", "Red", hazard.Warning, "Red"},
		{"Orange", "", hazard.Watch, "Orange"},
		{"green", " ORANGE ", hazard.Watch, "Orange"},
	} {
		r := only(t, collection(flood(`"alertlevel":"Orange"`, `"alertlevel":"`+tt.event+`"`, `"episodealertlevel":"Orange"`, `"episodealertlevel":"`+tt.episode+`"`)))
		if r.Severity != tt.want || r.Level != tt.level {
			t.Errorf("event %s, episode %s: %v, %s", tt.event, tt.episode, r.Severity, r.Level)
		}
	}
	r := only(t, collection(flood(`"alertlevel":"Orange"`, `"alertlevel":"Red"`)))
	if !strings.Contains(r.Description, "GDACS alert level: Orange (2026-07-27 09:20 UTC); of the event as a whole: Red.") {
		t.Errorf("description %q", r.Description)
	}
}

// The wind of a storm has precedence over the color of its impact. Until the storm has a name,
// its number in a basin identifies it.
func TestAStormHasTheLevelOfItsWindAndTheNumberOfItsBasin(t *testing.T) {
	const was = "Hurricane/Typhoon > 74 mph (maximum wind speed of 185 km/h)"
	for _, tt := range []struct {
		words, color string
		want         hazard.Severity
	}{
		{was, "Green", hazard.Warning}, {"Tropical Storm (maximum wind speed of 269 km/h)", "Green", hazard.Watch},
		{"Tropical Depression (maximum wind speed of 46 km/h)", "Green", hazard.Advisory}, {"Remnant Low (maximum wind speed of 179 km/h)", "Green", hazard.Information},
		{"Tropical Depression (maximum wind speed of 46 km/h)", "Red", hazard.Warning},
	} {
		r := only(t, collection(storm(was, tt.words, `"episodealertlevel":"Orange"`, `"episodealertlevel":"`+tt.color+`"`)))
		if r.Severity != tt.want || r.Level != tt.color {
			t.Errorf("%s, %s: %v, level %s", tt.words, tt.color, r.Severity, r.Level)
		}
	}
	for name, want := range map[string]string{"FIFTEEN-26": "atcf:WP152026", "TWENTYONE-26": "atcf:WP212026", "ONE-C-26": "atcf:CP012026", "LALA-26": "", "12-20252026-26": ""} {
		r := only(t, collection(storm("LALA-26", name, "[11.3426,44.4938]}", "[138.1,10.3]}")))
		if got := slices.Contains(r.Refs, want); got != (want != "") || want == "" && len(r.Refs) != 1 {
			t.Errorf("%s: %v, want %s", name, r.Refs, want)
		}
	}
}

// Each of several fires in one country has its own name.
func TestFiresAndFloodsAreNamedByTheNearestTown(t *testing.T) {
	fire := func(point string) string {
		return flood(`"FL"`, `"WF"`, "[11.3426,44.4938]}", point+"}", "Magnitude 0 ", "Green impact for forestfire in 5763 ha", `"country":"Italy"`, `"country":"Democratic Republic of Congo"`)
	}
	for feature, want := range map[string]string{
		fire("[22.6,-5.7]"): "Wildfire - 30 km NE of Kananga, Democratic Republic of Congo (5763 ha)",
		fire("[-140,0]"):    "Wildfire - 0.00 N, 140.00 W, Democratic Republic of Congo (5763 ha)",
		flood():             "Flood - Bologna, Italy",
	} {
		if r := only(t, collection(feature)); r.Name != want {
			t.Errorf("%q, want %q", r.Name, want)
		}
	}
	names := map[string]int{}
	batch := parsed(t, recordings.Read(t, "feeds/gdacs/api-search-WF-202607.json"), later)
	for _, r := range batch.Reports {
		names[r.Name]++
	}
	if len(names) < len(batch.Reports)*95/100 {
		t.Errorf("%d names of %d fires", len(names), len(batch.Reports))
	}
}

func TestLife(t *testing.T) {
	for name, tt := range map[string]struct{ feature, end string }{
		"an earthquake lasts a day":                        {quake(`"iscurrent":"true"`, `"iscurrent":"false"`), "2026-07-27T01:00:00.000Z"},
		"a red one three days":                             {quake(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Red"`, `"iscurrent":"true"`, `"iscurrent":"false"`), "2026-07-29T01:00:00.000Z"},
		"one that is listed as current a day from then":    {quake(), "2026-07-29T06:00:00.000Z"},
		"a Green one not":                                  {quake(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`), "2026-07-27T01:00:00.000Z"},
		"a revision does not renew it":                     {quake("2026-07-27T09:20:49", "2026-07-30T00:00:00", `"iscurrent":"true"`, `"iscurrent":"false"`), "2026-07-27T01:00:00.000Z"},
		"a storm a day after its last advisory":            {storm(), "2026-07-28T01:00:00.000Z"},
		"however late it is revised":                       {storm("2026-07-27T09:20:49", "2026-10-13T08:05:23"), "2026-07-28T01:00:00.000Z"},
		"a flood 96 h after its last data":                 {flood(), "2026-07-31T01:00:00.000Z"},
		"a volcano 5 d after its revision":                 {flood(`"FL"`, `"VO"`), "2026-08-01T09:20:49.000Z"},
		"a fire 27 h after its revision":                   {flood(`"FL"`, `"WF"`), "2026-07-28T12:20:49.000Z"},
		"a drought 30 d after its revision":                {flood(`"FL"`, `"DR"`), "2026-08-26T09:20:49.000Z"},
		"not by iscurrent":                                 {flood(`"FL"`, `"DR"`, `"iscurrent":"true"`, `"iscurrent":"false"`), "2026-08-26T09:20:49.000Z"},
		"of which one long after its data does not count":  {flood(`"FL"`, `"DR"`, "2026-07-27T09:20:49", "2026-09-27T09:20:49"), "2026-08-26T01:00:00.000Z"},
		"a revision before the last data does not shorten": {flood(`"FL"`, `"VO"`, "2026-07-27T09:20:49", "2026-07-26T09:20:49"), "2026-08-01T01:00:00.000Z"},
		"an end before the start is repaired":              {flood("2026-07-27T01:00:00", "2026-07-20T01:00:00"), "2026-07-30T01:00:00.000Z"},
		"a tsunami a day":                                  {flood(`"FL"`, `"TS"`), "2026-07-28T01:00:00.000Z"},
	} {
		t.Run(name, func(t *testing.T) {
			r := only(t, collection(tt.feature))
			if got := end(r).String(); got != tt.end || r.Ended != "" {
				t.Errorf("ends %s (%q), want %s", got, r.Ended, tt.end)
			}
		})
	}
}

func TestIscurrentEndsNothing(t *testing.T) {
	recorded := hazard.At(time.Date(2026, 7, 28, 5, 0, 0, 0, time.UTC))
	active := 0
	for _, r := range parsed(t, recordings.Read(t, "feeds/gdacs/"+"api-search-DR-202607.json"), recorded).Reports {
		if end(r) > recorded {
			active++
		}
	}
	if active != 11 { // GDACS calls one of them current; the others in the list are from earlier years
		t.Errorf("%d droughts are active, want 11", active)
	}
}

// The position of a flood in Italy, of which a sign or a number is lost, gives way to Italy, with a note.
func TestAPositionFarFromItsCountryIsNotUsed(t *testing.T) {
	for _, wrong := range []string{"[-11.3426,44.4938]", "[11.3426,-44.4938]", "[0,0]"} {
		r := only(t, collection(flood(`"coordinates":[11.3426,44.4938]`, `"coordinates":`+wrong)))
		if r.Point != nil || !slices.Equal(r.Places, []string{"ISO3166-1:IT"}) || !strings.Contains(strings.Join(r.Notes, " "), "far from Italy") || r.Suspect != "" {
			t.Errorf("%s: at %v, in %q, notes %q, held %q", wrong, r.Point, r.Places, r.Notes, r.Suspect)
		}
	}
}

func TestASmallGreenEarthquakeIsMinor(t *testing.T) {
	small := []string{`"severity":5.8`, `"severity":4.4`, "Magnitude 5.8M", "Magnitude 4.4M"}
	for name, tt := range map[string]struct {
		feature string
		minor   bool
	}{
		"M 4.4, green":     {quake(append(small, `"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`)...), true},
		"M 4.4, orange":    {quake(small...), false},
		"M 4.5, green":     {quake(`"severity":5.8`, `"severity":4.5`, `"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`), false},
		"unknown, green":   {quake(`"severity":5.8`, `"severity":0`, "Magnitude 5.8M, Depth:10km", "", `"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`), false},
		"a flood has none": {flood(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`), false},
	} {
		if r := only(t, collection(tt.feature)); r.Minor != tt.minor || r.Minor && r.Detail != "" {
			t.Errorf("%s: minor %v, detail %q", name, r.Minor, r.Detail)
		}
	}
}

func TestPositions(t *testing.T) {
	for name, tt := range map[string]struct {
		coordinates string
		want        *hazard.Point
		held        string
	}{
		"as said":                   {"[11.5,44.25]", &hazard.Point{Lon: 11.5, Lat: 44.25}, ""},
		"with a height":             {"[11.5,44.25,7]", &hazard.Point{Lon: 11.5, Lat: 44.25}, ""},
		"beyond the antimeridian":   {"[190.5,44]", &hazard.Point{Lon: -169.5, Lat: 44}, ""},
		"beyond it the other way":   {"[-190.5,44]", &hazard.Point{Lon: 169.5, Lat: 44}, ""},
		"on the antimeridian":       {"[180,44]", &hazard.Point{Lon: 180, Lat: 44}, ""},
		"surely swapped":            {"[35.3866,99.5513]", &hazard.Point{Lon: 99.5513, Lat: 35.3866}, "coordinates: 35.3866, 99.5513, expected longitude and latitude; read as swapped"},
		"nowhere":                   {"[11,999]", nil, "coordinates: 11, 999, expected longitude and latitude in degrees; no place: the document gives neither a position nor an area"},
		"0,0, which is never meant": {"[0,0]", &hazard.Point{}, "coordinates: 0, 0, expected the position of the event"},
		"null":                      {"null", nil, "no place: the document gives neither a position nor an area"},
		"empty":                     {"[]", nil, "no place: the document gives neither a position nor an area"},
		"words":                     {`["x","y"]`, nil, "no place: the document gives neither a position nor an area"},
	} {
		t.Run(name, func(t *testing.T) {
			r := only(t, collection(flood(`"country":"Italy"`, `"country":""`, `"coordinates":[11.3426,44.4938]`, `"coordinates":`+tt.coordinates)))
			if diff := cmp.Diff(tt.want, r.Point); diff != "" || r.Suspect != tt.held {
				t.Errorf("held %q, want %q; position (-want +got):\n%s", r.Suspect, tt.held, diff)
			}
		})
	}
}

func TestWhatIsNotToBeBelievedIsHeld(t *testing.T) {
	for name, tt := range map[string]struct{ feature, want string }{
		"a revision in the future": {flood("2026-07-27T09:20:49", "2027-07-27T09:20:49"), "datemodified: 2027-07-27T09:20:49.000Z is in the future"},
		"data far ahead":           {flood("2026-07-27T01:00:00", "2026-09-27T01:00:00"), "todate: 2026-09-27T01:00:00.000Z is in the future"},
		"a wrong century":          {flood("2026-07-26T01:00:00", "1926-07-26T01:00:00"), "fromdate: 1926-07-26T01:00:00.000Z is ten years before the last data"},
		"a temporary event":        {flood(`"istemporary":"false"`, `"istemporary":"true"`), "istemporary: true, expected false"},
		"a boolean as such":        {flood(`"istemporary":"false"`, `"istemporary":true`), "istemporary: true, expected false"},
		"a test":                   {storm("LALA-26", "TEST-26"), ""},
		"a test in words":          {storm("LALA-26", "Test storm"), `eventname: "Test storm" says TEST`},
		"a boolean that is false":  {flood(`"istemporary":"false"`, `"istemporary":false`), ""},
	} {
		if r := only(t, collection(tt.feature)); r.Suspect != tt.want {
			t.Errorf("%s: held %q, want %q", name, r.Suspect, tt.want)
		}
	}
}

// Once, 38 records with the alert level "1.5" were rejected, and a flood with a start in the future
// was held for weeks.
func TestWhatIsOddInOneFieldIsShownWithANote(t *testing.T) {
	score := func(n, title string) string {
		return string(rss(item("<gdacs:episodealertlevel>Green<", "<gdacs:episodealertlevel>"+n+"<", "<gdacs:alertlevel>Green<", "<gdacs:alertlevel>"+n+"<", "<title>Green ", "<title>"+title)))
	}
	for name, tt := range map[string]struct {
		payload, note string
		want          hazard.Severity
	}{
		"a score, and the title says Green": {score("1.5", "Green "), `the alert level: "1.5"`, hazard.Information},
		"a score alone":                     {score("1.5", "A "), `the alert level: "1.5"`, hazard.Watch},
		"a great score alone":               {score("2.1", "A "), `the alert level: "2.1"`, hazard.Warning},
		"the level of the event":            {string(collection(flood(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Purple"`))), `the alert level: "Purple"`, hazard.Watch},
		"a start in the future":             {string(collection(flood("2026-07-26T01:00:00", "2026-08-26T01:00:00"))), "fromdate: 2026-08-26T01:00:00.000Z is in the future", hazard.Watch},
	} {
		r := only(t, []byte(tt.payload))
		if r.Severity != tt.want || r.Suspect != "" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], tt.note) || r.Start > now {
			t.Errorf("%s: %s from %s, suspect %q, notes %q", name, r.Severity, r.Start, r.Suspect, r.Notes)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ list, want, short string }{
		{"Colombia, , Ecuador, Panama, Venezuela", "Colombia|Ecuador|Panama|Venezuela", "Colombia, Ecuador and 2 more"},
		{"Sweden, Slovakia, ,", "Sweden|Slovakia", "Sweden, Slovakia"},
		{"Bosnia & Herzegovina, Bosnia  and  Herzegovina", "Bosnia and Herzegovina", "Bosnia and Herzegovina"},
		{"Virgin Islands  British", "Virgin Islands British", "Virgin Islands British"},
		{"[unknown]", "", ""},
		{"", "", ""},
	} {
		names := places(tt.list)
		if got := strings.Join(names, "|"); got != tt.want || shortPlaces(names, "") != tt.short {
			t.Errorf("%q: %s, %q", tt.list, got, shortPlaces(names, ""))
		}
	}
}

func TestProperNames(t *testing.T) {
	for text, want := range map[string]string{
		"LALA-26": "Lala", "ONE-C-26": "One-C", "POLO-26": "Polo", " Southern Africa-2018": "Southern Africa", "Mayon": "Mayon", "Soufriere St. Vincent": "Soufriere St. Vincent",
		"EIGHTEEN-26": "Eighteen", "TWENTY-ONE-26": "Twenty-One", " Central Argentina - Paranà-2019": "Central Argentina - Paranà", "O'NEIL-26": "O'neil", "": "",
	} {
		if got := proper(text); got != want {
			t.Errorf("proper(%q) = %q, want %q", text, got, want)
		}
	}
	for storm, want := range map[string]bool{"Lala": true, "One-C": true, "Eighteen": false, "Twenty-One": false, "Twentyone": false, "01B": false, "": false, "Onesimus": true} {
		if isProper(storm) != want {
			t.Errorf("isProper(%q) = %v", storm, !want)
		}
	}
}

func TestOthersNames(t *testing.T) {
	for name, tt := range map[string]struct {
		feature string
		want    []string
	}{
		"GLIDE":                     {flood(`"glide":""`, `"glide":"FL-2026-000148-CHN"`), []string{"gdacs:FL1104053", "glide:FL-2026-000148-CHN"}},
		"several":                   {flood(`"glide":""`, `"glide":"OT-2022-000172-RUS, fl-2026-000148-chn OT-2022-000172-RUS"`), []string{"gdacs:FL1104053", "glide:FL-2026-000148-CHN", "glide:OT-2022-000172-RUS"}},
		"no GLIDE":                  {flood(`"glide":""`, `"glide":"none"`), []string{"gdacs:FL1104053"}},
		"USGS":                      {quake(`"sourceid":""`, `"sourceid":"US6000TGA9"`), []string{"gdacs:EQ1554511", "usgs:us6000tga9"}},
		"an agency, no id":          {quake(`"sourceid":""`, `"sourceid":"ALASKA EC"`), []string{"gdacs:EQ1554511"}},
		"an agency in lower case":   {quake(`"sourceid":""`, `"sourceid":"neicneic"`), []string{"gdacs:EQ1554511"}},
		"the id of a satellite":     {flood(`"FL"`, `"WF"`, `"sourceid":""`, `"sourceid":"15472021"`), []string{"gdacs:WF1104053"}},
		"the id of a flood model":   {flood(`"sourceid":""`, `"sourceid":"3f2eac19-ee5a-4923-a3b4-1dd82818943f"`), []string{"gdacs:FL1104053"}},
		"a volcano of before 2020":  {flood(`"FL"`, `"VO"`, "1104053,", "284096,"), []string{"gdacs:VO284096", "gvp:284096"}},
		"an eruption of after 2020": {flood(`"FL"`, `"VO"`, "1104053,", "1000144,"), []string{"gdacs:VO1000144"}},
	} {
		if r := only(t, collection(tt.feature)); !slices.Equal(r.Refs, tt.want) {
			t.Errorf("%s: %v, want %v", name, r.Refs, tt.want)
		}
	}
}

func TestEachDocumentNamesTheNextFuller(t *testing.T) {
	const data = "https://www.gdacs.org/gdacsapi/api/events/geteventdata?eventtype="
	const geometry = "https://www.gdacs.org/gdacsapi/api/polygons/getgeometry?eventtype="
	shape := `{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}`
	for name, tt := range map[string]struct {
		payload []byte
		want    string
	}{
		"list":                  {collection(storm()), data + "TC&eventid=1001303"},
		"RSS":                   {rss(item()), data + "FL&eventid=1101755"},
		"CAP":                   {alert(), data + "EQ&eventid=1279931"},
		"data":                  {[]byte(storm()), geometry + "TC&eventid=1001303&episodeid=2"},
		"data of a quake":       {[]byte(quake()), geometry + "EQ&eventid=1554511&episodeid=1721183"},
		"of a green one":        {[]byte(quake(`"episodealertlevel":"Orange"`, `"episodealertlevel":"Green"`)), ""},
		"data of a volcano":     {[]byte(flood(`"FL"`, `"VO"`)), ""},
		"geometry":              {collection(storm(), polygon("Poly_Green", shape, `"x":0`)), ""},
		"geometry without area": {collection(storm(), polygon("Poly_Red", `{"type":"Polygon","coordinates":[[[1,2],[1,2],[1,2],[1,2]]]}`, `"x":0`)), ""},
	} {
		if r := only(t, tt.payload); r.Detail != tt.want {
			t.Errorf("%s: %q, want %q", name, r.Detail, tt.want)
		}
	}
}

func TestPolygonsThatAreNoFootprintAreNone(t *testing.T) {
	shape := `{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}`
	for _, tt := range []struct {
		code, class, geometry string
		want                  hazard.AreaRole
	}{
		{"TC", "Poly_Green", shape, hazard.AlertArea},
		{"TC", "Poly_Red", shape, hazard.ImpactArea},
		{"TC", "Poly_Cones", shape, hazard.TrackArea},
		{"TC", "Line_Line_7", `{"type":"LineString","coordinates":[[1,2],[3,2]]}`, hazard.TrackArea},
		{"TC", "Line_Line_7", `{"type":"LineString","coordinates":[[1,2],[1,2]]}`, ""},
		{"TC", "Point_Polygon_Point_0", shape, ""},
		{"TC", "Poly_Polygon_Point_0", shape, ""},
		{"FL", "Poly_Affected", shape, hazard.ImpactArea},
		{"FL", "Poly_Global", shape, ""},
		{"DR", "Poly_area", shape, hazard.ImpactArea},
		{"WF", "Poly_area", shape, hazard.ImpactArea},
		{"EQ", "Poly_Circle", shape, ""},
		{"VO", "Poly_Circle", shape, ""},
		{"EQ", "Poly_SMPInt_3", shape, ""},
		{"EQ", "Poly_SMPInt_4.5", shape, hazard.AlertArea},
		{"EQ", "Poly_SMPInt_6", shape, hazard.ImpactArea},
		{"EQ", "Poly_SMPInt_x", shape, ""},
		{"FL", "Poly_Affected", `{"type":"Polygon","coordinates":[[[1,2],[1,2],[1,2],[1,2]]]}`, ""},
		{"FL", "Poly_Affected", `{"type":"Polygon","coordinates":[[[1,2],[1,92],[3,2],[1,2]]]}`, ""},
		{"FL", "Poly_Affected", `{"type":"Polygon","coordinates":[[["1",2],[1,92],[3,2],[1,2]]]}`, ""},
		{"FL", "Poly_Affected", `{"type":"Polygon"}`, ""},
		{"FL", "Poly_Affected", `{"type":"Point","coordinates":[1,2]}`, ""},
		{"FL", "Poly_Affected", `null`, ""},
	} {
		all := areas(tt.code, []shapeOf{{class: tt.class, geometry: []byte(tt.geometry)}})
		if tt.want == "" && len(all) != 0 || tt.want != "" && (len(all) != 1 || all[0].Role != tt.want) {
			t.Errorf("%s %s %s: %v, want %q", tt.code, tt.class, tt.geometry, all, tt.want)
		}
	}
}

// shapeOf is another name for shape, because a variable here has that name.
type shapeOf = shape

func TestCAP(t *testing.T) {
	for name, tt := range map[string]struct {
		payload []byte
		check   func(r hazard.Report) bool
	}{
		"urgency Past is no end": {alert(), func(r hazard.Report) bool {
			return r.Ended == "" && r.Category == hazard.Event && r.Point.Lon == 141 && r.Point.Lat == 36 && len(r.Areas) == 0
		}},
		"a cancellation ends": {alert("<msgType>Alert", "<msgType>Cancel"), func(r hazard.Report) bool { return r.Ended == hazard.EndCancelled }},
		"an exercise is one, under its own key": {alert("Actual", "Exercise"), func(r hazard.Report) bool {
			return r.Category == hazard.Exercise && r.Key == "exercise:EQ1279931" && r.Refs == nil
		}},
		"severity is not the level": {alert("<severity>Minor", "<severity>Extreme"), func(r hazard.Report) bool { return r.Severity == hazard.Information }},
		"a headline has the level":  {alert("<value>Green</value>", "<value></value>"), func(r hazard.Report) bool { return r.Level == "Green" }},
	} {
		if r := only(t, tt.payload); !tt.check(r) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for name, payload := range map[string][]byte{
		"a test":     alert("Actual", "Test"),
		"a draft":    alert("Actual", "Draft"),
		"not public": alert("<scope>Public", "<scope>Restricted"),
		"an error":   alert("<msgType>Alert", "<msgType>Error"),
	} {
		if batch := parsed(t, payload, now); batch.Read != 1 || batch.Ignored != 1 || len(batch.Reports)+len(batch.Rejects) != 0 {
			t.Errorf("%s: %+v, want it ignored", name, batch)
		}
	}
	for reason, payload := range map[string][]byte{
		"identifier: missing, expected one, as CAP requires":                                                alert("GDACS_EQ_1279931_1389192", ""),
		"msgType: missing, expected one, as CAP requires":                                                   alert("<msgType>Alert</msgType>", ""),
		`identifier: "urn:oid:1", expected GDACS, type, event and episode such as GDACS_EQ_1279931_1389192`: alert("GDACS_EQ_1279931_1389192", "urn:oid:1"),
		`status: "Real", expected Actual, Exercise, System, Test or Draft`:                                  alert("Actual", "Real"),
		`msgType: "All", expected Alert, Update, Cancel, Ack or Error`:                                      alert("<msgType>Alert", "<msgType>All"),
		`parameter eventid: "1279932", expected 1279931 as in the identifier`:                               alert("<value>1279931", "<value>1279932"),
	} {
		wantReject(t, parsed(t, payload, now), 0, "alert", reason)
	}
}

func TestResourcesOfRSSThatAreForReadersAreLinked(t *testing.T) {
	resource := func(id, url, access string) string {
		return `<gdacs:resource id="` + id + `" url="` + url + `" type="x"><gdacs:title>` + id + `</gdacs:title><gdacs:accesslevel>` + access + `</gdacs:accesslevel></gdacs:resource>`
	}
	r := only(t, rss(item("<gdacs:glide />", `<gdacs:resources>`+
		resource("overviewmap", "http://www.gdacs.org/a.png", "Public")+resource("event_rss", "https://www.gdacs.org/rss.xml", "Public")+
		resource("populationmap", "https://www.gdacs.org/p.png", "Private")+resource("rainmap", "javascript:alert(1)", "Public")+
		resource("floodmap_cached", "https://www.gdacs.org/{eventid}.png", "Public")+resource("thumbnailmap", "http://GDACS_ARCGIS/x.png", "Public")+`</gdacs:resources>`)))
	var keys []string
	for _, p := range r.Products {
		keys = append(keys, p.Key)
	}
	if want := []string{"gdacs", "event", "overviewmap"}; !slices.Equal(keys, want) {
		t.Errorf("products %v, want %v", keys, want)
	}
	if !strings.Contains(r.Description, "People: 2 deaths and 0 displaced.") {
		t.Errorf("description %q", r.Description)
	}
}

func TestTextOfAnyEncodingIsRead(t *testing.T) {
	r := only(t, collection(flood(`"country":"Italy"`, "\"country\":\"C\xf4te d'Ivoire\"")))
	if r.Name != "Flood - Bologna, Cte d'Ivoire" { // JSON is UTF-8: invalid bytes are removed
		t.Errorf("name %q", r.Name)
	}
	r = only(t, rss(item("<gdacs:country>Saudi Arabia", "<gdacs:country>C\xf4te d'Ivoire")))
	if r.Name != "Flood - Jeddah, Côte d'Ivoire" { // declared as UTF-8, but really Windows-1252
		t.Errorf("name %q", r.Name)
	}
	r = only(t, collection(flood(`"country":"Italy"`, `"country":"<b>Italy\u202e\u0007</b>"`)))
	if r.Name != "Flood - Bologna, <b>Italy</b>" { // text, never markup
		t.Errorf("name %q", r.Name)
	}
}

func TestAPayloadThatIsCutOffKeepsWhatCameBefore(t *testing.T) {
	step := 1 << 10
	if testing.Short() {
		step = 16 << 10
	}
	for _, name := range []string{"api-search-TC-202607.json", "api-eventdata-TC-1001303.json", "episodes/dr-1016449-ep4-geometry.json", "gdacs-20210420.geojson", "rss-20191230.xml", "cap-index.xml", "cap-alert01_valid.xml"} {
		t.Run(name, func(t *testing.T) {
			payload := recordings.Read(t, "feeds/gdacs/"+name)
			whole := parsed(t, payload, later)
			for n := 1; n < len(bytes.TrimSpace(payload))-1; n += step {
				batch, err := Parse(payload[:n], later)
				if err == nil {
					t.Fatalf("%d bytes: no error", n)
				}
				if bad := payloadError(t, err); !bad.Cut && n > 100 || batch.Whole || len(batch.Rejects) != 0 {
					t.Fatalf("%d bytes: %v, rejects %v", n, bad, batch.Rejects)
				}
				if len(batch.Reports) > len(whole.Reports) {
					t.Fatalf("%d bytes: %d reports of %d", n, len(batch.Reports), len(whole.Reports))
				}
				for i, r := range batch.Reports {
					w := whole.Reports[i]
					if i == len(batch.Reports)-1 && len(w.Areas) > 0 { // its polygons may be cut off
						if r.Key != w.Key || len(r.Areas) != 0 && name != "cap-index.xml" || r.Version > w.Version {
							t.Fatalf("%d bytes: %+v, want %+v without areas", n, r, w)
						}
						continue
					}
					if !reflect.DeepEqual(w, r) {
						t.Fatalf("%d bytes: report %d (-whole +cut):\n%s", n, i, cmp.Diff(w, r))
					}
				}
			}
		})
	}
}

func TestDocumentsOfOneMomentHaveAnOrder(t *testing.T) {
	shape := polygon("Poly_Green", `{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}`, `"x":0`)
	const rss = "Mon, 27 Jul 2026 09:20:49 GMT"
	documents := [][]byte{ // from the least to the most detailed
		rssOf("TC", "1001303", rss),
		collection(storm()),
		[]byte(storm()),
		collection(storm(), shape),
		collection(storm(`"episodeid":2`, `"episodeid":3`)), // the next episode, in any form of document
	}
	last := int64(0)
	for i, d := range documents {
		r := only(t, d)
		if r.Version <= last || r.Key != "TC1001303" {
			t.Errorf("document %d: %s of version %d, after %d", i, r.Key, r.Version, last)
		}
		last = r.Version
	}
	if r := only(t, collection(storm("2026-07-27T09:20:49", "2026-07-27T09:20:50"))); r.Version <= last {
		t.Errorf("a revision a second later has version %d, after %d", r.Version, last)
	}
	// The episodes of an earthquake are large numbers without an order.
	if a, b := only(t, collection(quake())), only(t, collection(quake("1721183", "3"))); a.Version != b.Version {
		t.Errorf("versions %d and %d", a.Version, b.Version)
	}
}

func rssOf(code, id, modified string) []byte {
	return rss(item("<gdacs:eventtype>FL", "<gdacs:eventtype>"+code, "1101755</gdacs", id+"</gdacs", "Sat, 26 Nov 2022 08:00:30 GMT", modified,
		"<gdacs:episodeid>1", "<gdacs:episodeid>2", "Thu, 24 Nov 2022 01:00:00 GMT", modified, "Sat, 26 Nov 2022 01:00:00 GMT", modified))
}

var laws = sourcetest.Source{
	Parse: Parse, File: "gdacs/api-search-FL-202607.json", At: "2026-10-01T00:00:00Z", List: "features",
	Needed: []string{"properties/eventtype", "properties/eventid", "properties/istemporary", "geometry/type", "geometry/coordinates"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func TestLawsOfRSS(t *testing.T) {
	sourcetest.Laws(t, sourcetest.Source{Parse: Parse, File: "gdacs/rss-20191230.xml", At: "2019-12-30T12:00:00Z", Element: "item",
		Needed: []string{"eventtype", "eventid"}})
}

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, string(collection(flood(), quake(), storm(), polygon("Poly_Green", `{"type":"Polygon","coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}`, `"x":0`))),
		quake(), string(rss(item(), item("1101755</gdacs", "1101756</gdacs"))), string(alert()))
}
