package cap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// The alerts of these tests are made up in the form of each sender.

var inForce = source.Lists{InForce: source.Yes, Complete: source.Yes}

func of(p Practice) Config {
	cfg := feed
	cfg.Practice = p
	return cfg
}

// said is a message with the parts that matter to identity and ends.
type said struct {
	id, sent, typ              string // typ is the msgType, with "" for Alert
	refs, incidents            string
	event, severity, awareness string // awareness is level and type of MeteoAlarm: "2; yellow/5; Extreme high temperature"
	onset, expires             string
	response                   string
	areas                      string // "Aisne=NUTS3:FR221,Paris=NUTS3:FR101"
	extra                      string // more elements of the info block
}

func (m said) xml() string {
	var b strings.Builder
	put := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "<%s>%s</%s>", name, value, name)
		}
	}
	or := func(word, other string) string {
		if word == "" {
			return other
		}
		return word
	}
	b.WriteString(`<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">`)
	put("identifier", m.id)
	put("sender", "office@example.org")
	put("sent", m.sent)
	put("status", "Actual")
	put("msgType", or(m.typ, "Alert"))
	put("scope", "Public")
	put("references", m.refs)
	put("incidents", m.incidents)
	b.WriteString("<info>")
	put("language", "en")
	put("category", "Met")
	put("event", or(m.event, "Bushfire"))
	put("responseType", m.response)
	put("urgency", "Immediate")
	put("severity", or(m.severity, "Severe"))
	put("certainty", "Possible")
	put("onset", m.onset)
	put("expires", m.expires)
	if level, typ, ok := strings.Cut(m.awareness, "/"); ok {
		fmt.Fprintf(&b, "<parameter><valueName>awareness_level</valueName><value>%s</value></parameter><parameter><valueName>awareness_type</valueName><value>%s</value></parameter>", level, typ)
	}
	b.WriteString(m.extra)
	for area := range strings.SplitSeq(or(m.areas, "Here=EMMA_ID:XX001"), ",") {
		desc, code, _ := strings.Cut(area, "=")
		kind, value, _ := strings.Cut(code, ":")
		shape := ""
		if kind == "STATE" { // an outline, and a code that others have, too
			shape = "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>"
		}
		fmt.Fprintf(&b, "<area><areaDesc>%s</areaDesc>"+shape+"<geocode><valueName>%s</valueName><value>%s</value></geocode></area>", desc, kind, value)
	}
	b.WriteString("</info></alert>")
	return b.String()
}

// listing returns a list with messages in it, as EDXL.
func listing(messages ...said) string {
	text := `<EDXLDistribution xmlns="urn:oasis:names:tc:emergency:EDXL:DE:1.0">`
	for _, m := range messages {
		text += "<contentObject><xmlContent><embeddedXMLContent>" + m.xml() + "</embeddedXMLContent></xmlContent></contentObject>"
	}
	return text + "</EDXLDistribution>"
}

// What an end means that is not after the issue depends on the sender. That it is over is read first.
func TestAnEndThatIsNotAfterTheIssue(t *testing.T) {
	dfes := Practice{Lists: inForce, Identity: ByIdentifier, Early: EarlyNoEnd}
	over := Practice{Early: EarlyOver}
	status := func(word string) string {
		return "<parameter><valueName>layer:EC-MSC-SMC:1.1:Alert_Location_Status</valueName><value>" + word + "</value></parameter>"
	}
	base := said{id: "1", sent: "2026-11-21T11:00:00+00:00", expires: "2026-11-21T11:00:00+00:00"}
	change := func(f func(m *said)) said {
		m := base
		f(&m)
		return m
	}
	update := func(m *said) { m.id, m.typ, m.refs = "2", "Update", "office@example.org,1,2026-11-21T10:00:00+00:00" }
	for name, tt := range map[string]struct {
		practice Practice
		message  said
		ended    hazard.EndReason
		note     string // of a message that is shown
	}{
		"unknown":                    {Practice{}, base, "", "no usable end"},
		"just before, unknown":       {Practice{}, change(func(m *said) { m.expires = "2026-11-21T10:50:00+00:00" }), "", "no usable end"},
		"long before, unknown":       {Practice{}, change(func(m *said) { m.expires = "2026-11-21T10:00:00+00:00" }), hazard.EndExpired, ""},
		"Western Australia":          {dfes, base, "", "until the sender's list"},
		"Argentina":                  {over, change(func(m *said) { m.expires = "2026-11-21T10:54:30+00:00" }), hazard.EndExpired, ""},
		"Germany's all-clear":        {over, change(func(m *said) { update(m); m.response, m.awareness = "AllClear", "2; yellow; Moderate/1; Wind" }), hazard.EndAllClear, ""},
		"an unknown one's all-clear": {Practice{}, change(func(m *said) { update(m); m.response = "AllClear" }), hazard.EndAllClear, ""},
		"a list's all-clear":         {dfes, change(func(m *said) { update(m); m.response = "AllClear" }), hazard.EndAllClear, ""},
		"Canada: moved":              {over, change(func(m *said) { update(m); m.extra = status("transitioned_out") }), hazard.EndSuperseded, ""},
		"Canada: ended":              {over, change(func(m *said) { update(m); m.extra, m.expires = status("ended"), "2026-11-21T12:00:00+00:00" }), hazard.EndAllClear, ""},
		"Canada: cancelled":          {over, change(func(m *said) { update(m); m.extra, m.expires = status("cancelled"), "2026-11-21T12:00:00+00:00" }), hazard.EndCancelled, ""},
		"France: green":              {over, change(func(m *said) { m.awareness = "1; green; Minor/5; Heat" }), hazard.EndAllClear, ""},
		"green in words":             {Practice{}, change(func(m *said) { m.event, m.severity = "Green warning for thunderstorm", "Moderate" }), hazard.EndAllClear, ""},
		"none":                       {Practice{}, change(func(m *said) { m.expires = "" }), "", "no usable end"},
		"none, in a list":            {Practice{Lists: inForce}, change(func(m *said) { m.expires = "" }), "", "until the sender's list"},
		"a stamp of the list":        {Practice{Lists: inForce, Expires: ExpiresStamp}, change(func(m *said) { m.expires = "2026-11-22T11:00:00+00:00" }), "", "until the sender's list"},
		"an end that is one":         {Practice{Lists: inForce}, change(func(m *said) { m.expires = "2026-11-21T18:00:00+00:00" }), "", ""},
	} {
		reports := parsed(t, of(tt.practice), tt.message.xml(), at(t, noon)).Reports
		if len(reports) == 0 {
			t.Fatalf("%s: no report", name)
		}
		r := reports[len(reports)-1]
		if notes := strings.Join(r.Notes, "; "); r.Ended != tt.ended || !strings.Contains(notes, tt.note) || tt.note == "" && strings.Contains(notes, "end") {
			t.Errorf("%s: ended %q, notes %q", name, r.Ended, r.Notes)
		}
		if life := r.LifeMS; tt.note != "" && (r.End != nil || r.Renewed == nil || life != 0 && life != endless.Milliseconds()) {
			t.Errorf("%s: end %v, renewed %v, life %d", name, r.End, r.Renewed, life)
		}
	}
	// A stamp that moves changes nothing else.
	stamped := of(Practice{Lists: inForce, Expires: ExpiresStamp})
	a, b := change(func(m *said) { m.expires = "2026-11-22T11:00:00+00:00" }), change(func(m *said) { m.expires = "2026-11-22T11:05:00+00:00" })
	if x, y := parsed(t, stamped, a.xml(), at(t, noon)).Reports, parsed(t, stamped, b.xml(), at(t, noon)).Reports; fmt.Sprint(x) != fmt.Sprint(y) {
		t.Errorf("a later stamp: %+v, %+v", x, y)
	}
}

// Messages of one warning, each by its sender's practice, and what is in force after them. The order of
// their arrival does not matter.
func TestALaterMessageOfTheSameWarning(t *testing.T) {
	heat := func(id, sent, onset, level, areas string) said {
		return said{id: id, sent: sent, onset: onset, expires: "2026-11-22T00:00:00+01:00", typ: "Update", event: "Heat", awareness: level + "/5; Extreme high temperature",
			severity: "Moderate", areas: areas}
	}
	const orange, yellow, green = "3; orange; Severe", "2; yellow; Moderate", "1; green; Minor"
	fire := func(id, sent, level, area string) said {
		return said{id: id, sent: sent, expires: "2026-11-22T12:00:00+00:00", extra: "<eventCode><valueName>c</valueName><value>bushFire</value></eventCode>" +
			"<parameter><valueName>AlertLevel</valueName><value>" + level + "</value></parameter>", areas: area + "=STATE:XX", incidents: "TFS:7"}
	}
	wind := func(id, sent, level, onset, expires string) said {
		return said{id: id, sent: sent, onset: onset, expires: expires, event: "Wind", awareness: level + "/1; Wind", severity: "Moderate"}
	}
	for name, tt := range map[string]struct {
		practice Practice
		payloads [][]said // each a list
		want     []string
	}{
		"France lowers one of two departments": {Practice{Identity: ByDay}, [][]said{
			{heat("FR.1", "2026-11-21T07:00:00+01:00", "2026-11-21T06:00:00+01:00", orange, "Aisne=NUTS3:FR221,Paris=NUTS3:FR101")},
			{heat("FR.2", "2026-11-21T09:00:00+01:00", "2026-11-21T09:00:00+01:00", yellow, "Paris=NUTS3:FR101")},
		}, []string{"ADVISORY Heat - Paris", "WATCH Heat - Aisne"}},
		"France lifts all": {Practice{Identity: ByDay}, [][]said{
			{heat("FR.1", "2026-11-21T07:00:00+01:00", "2026-11-21T06:00:00+01:00", orange, "Aisne=NUTS3:FR221,Paris=NUTS3:FR101")},
			{heat("FR.2", "2026-11-21T09:00:00+01:00", "2026-11-21T09:00:00+01:00", green, "Paris=NUTS3:FR101,Aisne=NUTS3:FR221")},
		}, nil},
		"France lifts another day and another type": {Practice{Identity: ByDay}, [][]said{
			{heat("FR.1", "2026-11-21T07:00:00+01:00", "2026-11-21T06:00:00+01:00", orange, "Paris=NUTS3:FR101")},
			{heat("FR.2", "2026-11-21T09:00:00+01:00", "2026-11-20T06:00:00+01:00", green, "Paris=NUTS3:FR101")},
			{said{id: "FR.3", sent: "2026-11-21T09:00:00+01:00", onset: "2026-11-21T06:00:00+01:00", awareness: green + "/1; Wind", areas: "Paris=NUTS3:FR101"}},
		}, []string{"WATCH Heat - Paris"}},
		"unknown: both": {Practice{}, [][]said{
			{heat("FR.1", "2026-11-21T07:00:00+01:00", "2026-11-21T06:00:00+01:00", orange, "Paris=NUTS3:FR101")},
			{heat("FR.2", "2026-11-21T09:00:00+01:00", "2026-11-21T09:00:00+01:00", yellow, "Paris=NUTS3:FR101")},
		}, []string{"ADVISORY Heat - Paris", "WATCH Heat - Paris"}},
		"Queensland lowers under new identifiers": {Practice{Lists: inForce, Identity: ByArea, Expires: ExpiresStamp}, [][]said{
			{fire("WARN-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Gramzow Road")},
			{fire("WARN-2", "2026-11-21T10:00:00+00:00", "Watch and Act", "Gramzow Road")},
			{fire("WARN-3", "2026-11-21T11:00:00+00:00", "Advice", "Gramzow Road")},
		}, []string{"ADVISORY Bushfire - Gramzow Road"}},
		"Queensland: two streets": {Practice{Lists: inForce, Identity: ByArea, Expires: ExpiresStamp}, [][]said{
			{fire("WARN-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Gramzow Road")},
			{fire("WARN-2", "2026-11-21T10:00:00+00:00", "Watch and Act", "Avalon Road"), fire("WARN-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Gramzow Road")},
		}, []string{"WARNING Bushfire - Gramzow Road", "WATCH Bushfire - Avalon Road"}},
		"Tasmania: an incident under another number": {Practice{Lists: inForce, Identity: ByIncident, Expires: ExpiresStamp}, [][]said{
			{fire("7-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Old Bay")},
			{fire("7-2", "2026-11-21T10:00:00+00:00", "Advice", "Old Bay and Beach")},
		}, []string{"ADVISORY Bushfire - Old Bay and Beach"}},
		"Tasmania: an update of one of two": {Practice{Lists: inForce, Identity: ByIncident, Expires: ExpiresStamp}, [][]said{
			{fire("7-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Bay"), fire("7-2", "2026-11-21T09:30:00+00:00", "Watch and Act", "Beach")},
			{fire("7-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Bay"), fire("7-3", "2026-11-21T10:00:00+00:00", "Advice", "Beach")},
		}, []string{"WARNING Bushfire - Bay"}}, // both areas, at the highest level
		"Tasmania: one of two cannot be read": {Practice{Lists: inForce, Identity: ByIncident, Expires: ExpiresStamp}, [][]said{
			{fire("7-1", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Bay"), fire("7-2", "2026-11-21T09:30:00+00:00", "Watch and Act", "Beach")},
			{fire("7-1", "yesterday", "Emergency Warning", "Bay"), fire("7-3", "2026-11-21T10:00:00+00:00", "Advice", "Beach")},
		}, []string{"WARNING Bushfire - Bay"}},
		"South Australia: the number stays": {Practice{Identity: ByIncident}, [][]said{
			{fire("7-0900", "2026-11-21T09:00:00+00:00", "Emergency Warning", "Bay")},
			{fire("7-1000", "2026-11-21T10:00:00+00:00", "Advice", "Bay")},
		}, []string{"ADVISORY Bushfire - Bay"}},
		"no incident is stated": {Practice{Identity: ByIncident}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{wind("2", "2026-11-21T10:00:00+00:00", yellow, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
		}, []string{"ADVISORY Wind - Here", "WATCH Wind - Here"}},
		"Bosnia: the same window again": {Practice{Identity: ByWindow}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{wind("2", "2026-11-21T10:00:00+00:00", yellow, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
		}, []string{"ADVISORY Wind - Here"}},
		"Bosnia: another window": {Practice{Identity: ByWindow}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{wind("2", "2026-11-21T10:00:00+00:00", yellow, "2026-11-21T10:00:00+00:00", "2026-11-21T18:00:00+00:00")},
		}, []string{"ADVISORY Wind - Here", "WATCH Wind - Here"}},
		"Belgium: the same identifier, lower": {Practice{Identity: ByIdentifier}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{wind("1", "2026-11-21T10:00:00+00:00", yellow, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
		}, []string{"ADVISORY Wind - Here"}},
		"Austria: each its own": {Practice{Identity: ByIdentifier}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{wind("2", "2026-11-21T10:00:00+00:00", yellow, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
		}, []string{"ADVISORY Wind - Here", "WATCH Wind - Here"}},
		"references come first": {Practice{Identity: ByWindow}, [][]said{
			{wind("1", "2026-11-21T09:00:00+00:00", orange, "2026-11-21T09:00:00+00:00", "2026-11-21T18:00:00+00:00")},
			{{id: "2", sent: "2026-11-21T10:00:00+00:00", typ: "Update", refs: "office@example.org,1,2026-11-21T09:00:00+00:00", event: "Wind", awareness: yellow + "/1; Wind", severity: "Moderate",
				onset: "2026-11-21T11:00:00+00:00", expires: "2026-11-21T20:00:00+00:00"}},
		}, []string{"ADVISORY Wind - Here"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range orders(len(tt.payloads)) {
				var e events
				for _, i := range order {
					e.add(parsed(t, of(tt.practice), listing(tt.payloads[i]...), at(t, noon)).Reports...)
				}
				if got := e.active(at(t, noon)); !slices.Equal(got, tt.want) {
					t.Errorf("in the order %v: %q, want %q", order, got, tt.want)
				}
			}
		})
	}
}

// orders returns all orders of n things.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, o := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(o), i, n-1))
		}
	}
	return all
}

// The names of a warning from before its sender's identity was known still find it.
func TestAnIdentityOfTheSenderKeepsTheOldNames(t *testing.T) {
	m := said{id: "WARN-1", sent: "2026-11-21T09:00:00+00:00", incidents: "7", onset: "2026-11-21T09:00:00+00:00", expires: "2026-11-21T18:00:00+00:00", areas: "A=NUTS3:FR1,B=NUTS3:FR2"}
	old := parsed(t, feed, m.xml(), at(t, noon)).Reports[0]
	for _, i := range []Identity{ByReferences, ByEdges} {
		if r := parsed(t, of(Practice{Identity: i}), m.xml(), at(t, noon)).Reports[0]; r.Key != old.Key || r.Part != old.Part {
			t.Errorf("%s: key %q and part %q, were %q and %q", i, r.Key, r.Part, old.Key, old.Part)
		}
	}
	for _, i := range []Identity{ByIdentifier, ByIncident, ByArea, ByDay, ByWindow} {
		found := 0
		for _, r := range parsed(t, of(Practice{Identity: i}), m.xml(), at(t, noon)).Reports {
			if slices.Contains(r.Aliases, old.Key) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s: %d reports find %q", i, found, old.Key)
		}
	}
}

// Finland's messages with touching times are one hazard if their level is the same.
func TestCopiedReferencesOfAnAlertMeanNothing(t *testing.T) {
	wind := said{id: "2.49.0.1.834.0.2026.7.4.13", sent: "2026-07-04T13:00:00Z", event: "Strong winds", onset: "2026-07-04T18:00:00Z", expires: "2026-07-06T18:00:00Z", areas: "Tanga=X:1"}
	rain := wind
	rain.id, rain.event, rain.sent = "2.49.0.1.834.0.2026.7.4.14", "Heavy rain", "2026-07-04T14:00:00Z"
	for name, tt := range map[string]struct {
		typ, refs string
		apart     bool
	}{
		"of a year before":                 {"", "office@example.org,2.49.0.1.834.0.2025.7.7.14,2025-07-07T14:41:41Z", true},
		"of the day before":                {"", "office@example.org,2.49.0.1.834.0.2026.7.3.14,2026-07-03T14:41:41Z", false},
		"of a year before, and of an hour": {"", "office@example.org,2.49.0.1.834.0.2025.7.7.14,2025-07-07T14:41:41Z office@example.org,2.49.0.1.834.0.2026.7.4.12,2026-07-04T12:00:00Z", false},
		"of a year before, in an Update":   {"Update", "office@example.org,2.49.0.1.834.0.2025.7.7.14,2025-07-07T14:41:41Z", false},
	} {
		t.Run(name, func(t *testing.T) {
			wind.typ, wind.refs, rain.typ, rain.refs = tt.typ, tt.refs, tt.typ, tt.refs
			b := parsed(t, feed, listing(wind, rain), at(t, "2026-07-04T15:00:00Z"))
			keys := map[string]bool{}
			for _, r := range b.Reports {
				keys[r.Key] = true
			}
			if want := map[bool]int{true: 2, false: 1}[tt.apart]; len(keys) != want {
				t.Errorf("%d events, want %d: %v", len(keys), want, keys)
			}
		})
	}
}

func TestMessagesWithTouchingTimesAreOneHazard(t *testing.T) {
	read := func(i Identity, id, level, onset, expires string) hazard.Report {
		m := said{id: id, sent: "2026-11-21T09:00:00+00:00", event: "Gale", severity: level, onset: onset, expires: expires}
		return parsed(t, of(Practice{Identity: i}), m.xml(), at(t, noon)).Reports[0]
	}
	const a, b, c = "2026-11-21T10:00:00+00:00", "2026-11-22T00:00:00+02:00", "2026-11-22T10:00:00+00:00"
	first := read(ByEdges, "1", "Moderate", a, b)
	for name, tt := range map[string]struct {
		other hazard.Report
		one   bool
	}{
		"touching":        {read(ByEdges, "2", "Moderate", b, c), true},
		"another level":   {read(ByEdges, "2", "Extreme", b, c), false},
		"apart":           {read(ByEdges, "2", "Moderate", "2026-11-22T06:00:00+00:00", c), false},
		"unknown senders": {read(ByUnknown, "2", "Moderate", b, c), false},
	} {
		if both := shared(first, tt.other); (len(both) > 0) != tt.one {
			t.Errorf("%s: they have %q in common", name, both)
		}
	}
}

// Which payloads are lists from which absence follows.
func TestAListIsWholeOnlyIfItsSenderSaysSo(t *testing.T) {
	one := said{id: "1", sent: "2026-11-21T09:00:00+00:00"}
	index := func(guids ...string) string {
		text := `<rss version="2.0"><channel><title>t</title>`
		for _, g := range guids {
			text += "<item><link>https://example.org/" + g + `.cap</link><guid isPermaLink="false">` + g + "</guid></item>"
		}
		return text + "</channel></rss>"
	}
	none := said{id: "9", sent: "2026-11-21T09:00:00+00:00", event: "Test message"}
	none.extra = "<eventCode><valueName>SAME</valueName><value>RWT</value></eventCode>"
	known, cut := Practice{Lists: inForce}, Practice{Lists: inForce}
	cut.Lists.Cut = 2
	for name, tt := range map[string]struct {
		practice Practice
		payload  string
		whole    bool
		listed   []string
	}{
		"a list":                             {known, listing(one), true, nil},
		"an empty list":                      {known, listing(), true, nil},
		"an ignored message":                 {known, listing(one, none), true, []string{"office@example.org,9"}},
		"of an unknown sender":               {Practice{}, listing(one), false, nil},
		"one alert":                          {known, one.xml(), false, nil},
		"below its cut":                      {cut, listing(one), true, nil},
		"at its cut":                         {cut, listing(one, none), false, nil},
		"cut off":                            {known, strings.TrimSuffix(listing(one, none), "</EDXLDistribution>"), false, nil},
		"an index of identifiers":            {known, index("2.49.0.1.578.0.1", "2.49.0.1.578.0.2"), true, []string{"id:2.49.0.1.578.0.1", "id:2.49.0.1.578.0.2"}},
		"an index of other names":            {known, index("2.49.0.1.578.0.1", "weather-2"), false, nil},
		"an empty index":                     {known, index(), true, nil},
		"an index with an entry for nothing": {known, strings.Replace(index("2.49.0.1.578.0.1"), "<item>", "<item><title>t</title></item><item>", 1), false, nil},
	} {
		b, _ := Parse(of(tt.practice), []byte(tt.payload), at(t, noon))
		if b.Whole != tt.whole || !slices.Equal(b.Listed, tt.listed) {
			t.Errorf("%s: whole %t, listed %q, want %t, %q", name, b.Whole, b.Listed, tt.whole, tt.listed)
		}
	}
	m := said{id: "2.49.0.1.578.0.1", sent: "2026-11-21T09:00:00+00:00"}
	if r := parsed(t, of(known), m.xml(), at(t, noon)).Reports[0]; !slices.Contains(r.Aliases, "id:2.49.0.1.578.0.1") {
		t.Errorf("the name in the index is none of %q", r.Aliases)
	}
}

// A Cancel and an AllClear alone are no hazards, and end nothing but what they name.
func TestAnEndIsNoHazard(t *testing.T) {
	warning := said{id: "1", sent: "2026-11-21T09:00:00+00:00", expires: "2026-11-21T18:00:00+00:00"}
	for _, p := range []Practice{{}, {Identity: ByReferences}, {Identity: ByWindow}, {Lists: inForce, Identity: ByArea}} {
		var e events
		e.add(parsed(t, of(p), listing(warning), at(t, noon)).Reports...)
		clear := said{id: "2", sent: "2026-11-21T10:00:00+00:00", expires: "2026-11-21T12:30:00+00:00", event: "Storm", response: "AllClear"}
		gone := said{id: "3", sent: "2026-11-21T10:00:00+00:00", typ: "Cancel", refs: "office@example.org,0,2026-11-20T09:00:00+00:00"}
		e.add(parsed(t, of(p), listing(clear, gone), at(t, noon)).Reports...)
		if got := e.active(at(t, noon)); !slices.Equal(got, []string{"WATCH Bushfire - Here"}) {
			t.Errorf("%s: %q", p.Identity, got)
		}
	}
}

// In China a person signs as senderName; the office is the sender.
func TestNoPersonIsNamedAsSender(t *testing.T) {
	m := said{id: "37061441600000_20261121093303", sent: "2026-11-21T09:31:00+08:00", extra: "<senderName>Li Si</senderName>"}
	text := strings.Replace(m.xml(), "office@example.org", "Test_District_Meteorological_Observatory", 1)
	for _, r := range parsed(t, feed, text, at(t, noon)).Reports {
		for _, prose := range r.Prose() {
			if strings.Contains(*prose, "Li Si") {
				t.Errorf("a person's name in %q", *prose)
			}
		}
		if r.Creator != "Test District Meteorological Observatory" || strings.Contains(r.Creator, "Li Si") {
			t.Errorf("creator %q", r.Creator)
		}
	}
}
