package cap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
)

func TestMessageBecomesAReport(t *testing.T) {
	got := one(t, good)
	sent := at(t, "2026-11-21T11:00:00Z")
	got.Aliases = slices.DeleteFunc(got.Aliases, func(a string) bool { return strings.Contains(a, "/") }) // names of its series
	again := fingerprints(got)
	want := hazard.Report{
		Source: "cap-test", Key: "weather@example.org,A-1,2026-11-21T11:00:00Z", Aliases: []string{"weather@example.org,A-1"},
		Part: "A-1#01", Version: int64(sent), Name: "Flood Warning - Test County",
		Description: "Weather Office: Flood Warning (Severe, Immediate, Observed), issued 21 Nov 2026 11:00 UTC\n\nFlooding of the Test River\n\nWater rises.\n\nMove to higher ground.",
		Type:        hazard.Flood, Severity: hazard.Warning, Category: hazard.Event, Level: "Severe",
		Start: at(t, "2026-11-21T11:30:00Z"), End: new(at(t, "2026-11-21T18:00:00Z")),
		Areas:        []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[-120,38],[-119,38],[-119,39],[-120,38]]]}`}},
		Places:       []string{"EMMA_ID:XX001"},
		Refs:         append([]string{"cap:weather@example.org,A-1"}, again...),
		Measurements: []hazard.Measurement{{Name: hazard.Certainty, Value: 4}, {Name: hazard.Urgency, Value: 4}},
		URL:          "https://example.org/a",
		Texts: []hazard.Text{{Language: "en-GB", Own: true, Name: "Flood Warning - Test County",
			Lead:  "Weather Office: Flood Warning (Severe, Immediate, Observed), issued 21 Nov 2026 11:00 UTC",
			Event: "Flood Warning", Headline: "Flooding of the Test River", Description: "Water rises.", Instruction: "Move to higher ground.",
			Sender: "Weather Office", Web: "https://example.org/a", Area: "Test County", Severity: hazard.Warning}},
		Comment: "cap-test:weather@example.org,A-1,2026-11-21T11:00:00Z", Creator: "Weather Office",
		Products: []hazard.ReportProduct{
			{Key: "cap-test", Title: "cap-test", Type: hazard.FolderProduct, Time: sent},
			{Key: "text", Parent: "cap-test", Title: "Flooding of the Test River", Type: hazard.TextProduct,
				Data: "Flooding of the Test River\n\nWater rises.\n\nMove to higher ground.", Comment: "A-1", Time: sent},
			{Key: "web", Parent: "cap-test", Title: "Web page", Type: hazard.URLProduct, Data: "https://example.org/a", Time: sent},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(again) != 4 {
		t.Error(diff)
	}
}

// D36, D22, D17: a fault in a secondary field gives a note on the alert, which is shown. Values
// whose meaning is clear need no note.
func TestAlertIsShownWithANoteOnWhatCannotBeRead(t *testing.T) {
	const polygon, expires = "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>", "<expires>2026-11-21T18:00:00+00:00</expires>"
	ring := func(text string) []string { return []string{polygon, "<polygon>" + text + "</polygon>"} }
	closed := `{"type":"Polygon","coordinates":[[[-120,38],[-119,38],[-119,39],[-120,38]]]}`
	for name, tt := range map[string]struct {
		change              []string
		geometry, end, note string
	}{
		"a ring that is not closed":      {ring("38,-120 38,-119 39,-119"), closed, "", "not closed"},
		"a blank behind the comma":       {ring("38, -120 38, -119 39, -119 38, -120"), closed, "", ""},
		"a third ordinate":               {ring("38,-120,0 38,-119,0 39,-119,12.5 38,-120,0"), closed, "", ""},
		"commas between positions":       {ring("38,-120, 38,-119, 39,-119, 38,-120"), closed, "", ""},
		"an empty polygon beside codes":  {ring(""), "", "", ""},
		"no polygon that can be read":    {ring("north of the river"), "", "", `area "Test County"/polygon/0: "north"`},
		"beyond the antimeridian":        {ring("-16,179.5 -16,180.2 -17,180.2 -16,179.5"), `{"type":"Polygon","coordinates":[[[179.5,-16],[-179.8,-16],[-179.8,-17],[179.5,-16]]]}`, "", ""},
		"just beyond it, from the east":  {ring("-16,-180.005 -16,-179 -17,-179 -16,-180.005"), `{"type":"Polygon","coordinates":[[[179.995,-16],[-179,-16],[-179,-17],[179.995,-16]]]}`, "", ""},
		"expires with z":                 {[]string{expires, "<expires>2026-11-21T18:00:00z</expires>"}, closed, "2026-11-21T18:00:00Z", ""},
		"expires at the end of the day":  {[]string{expires, "<expires>2026-11-21T24:00:00+00:00</expires>"}, closed, "2026-11-22T00:00:00Z", ""},
		"expires without zone":           {[]string{expires, "<expires>2026-11-21T18:00:00</expires>"}, closed, "2026-11-21T18:00:00Z", `expires: "2026-11-21T18:00:00" has no zone, read as Z`},
		"expires in words":               {[]string{expires, "<expires>tonight</expires>"}, closed, "-", `expires: "tonight", expected a time`},
		"sent without seconds":           {[]string{"<sent>2026-11-21T11:00:00+00:00", "<sent>2026-11-21T11:00+00:00"}, closed, "", ""},
		"no scope":                       {[]string{"<scope>Public</scope>", ""}, closed, "", "scope: missing, read as Public"},
		"a type of message":              {[]string{"<msgType>Alert", "<msgType>News"}, closed, "", `msgType: "News", expected Alert`},
		"CAP 1.0":                        {[]string{"urn:oasis:names:tc:emergency:cap:1.2", "http://www.incident.com/cap/1.0", "<certainty>Observed", "<certainty>Very Likely"}, closed, "", ""},
		"CAP 1.1":                        {[]string{"cap:1.2", "cap:1.1"}, closed, "", ""},
		"entities of HTML, bare & and <": {[]string{"Water rises.", "Trinidad & Tobago,&nbsp;wind < 5\x0b"}, closed, "", ""},
		"a tag of HTML that stays open":  {[]string{"Water rises.", "Water<br>rises."}, closed, "", "<br> has no partner, read as text"},
	} {
		r := one(t, with(t, tt.change...))
		geometry := ""
		if len(r.Areas) == 1 {
			geometry = r.Areas[0].Geometry
		}
		if geometry != tt.geometry || r.Severity != hazard.Warning || r.Suspect != "" {
			t.Errorf("%s: %v %v %s, want %s", name, r.Severity, r.Areas, r.Suspect, tt.geometry)
		}
		switch {
		case tt.end == "" || tt.end == "-" && r.End == nil:
		case tt.end == "-" || r.End == nil || *r.End != at(t, tt.end):
			t.Errorf("%s: until %v, want %s", name, r.End, tt.end)
		}
		if notes := strings.Join(r.Notes, " "); (notes == "") != (tt.note == "") || !strings.Contains(notes, tt.note) {
			t.Errorf("%s: notes %q, want %q", name, notes, tt.note)
		}
	}
}

func TestStatusAndScopeDecideFirst(t *testing.T) {
	for _, tt := range []struct {
		change  []string
		ignored bool
		reason  string
	}{
		{[]string{"<status>Actual", "<status>Test"}, true, ""},
		{[]string{"<status>Actual", "<status>System"}, true, ""},
		{[]string{"<status>Actual", "<status>Draft"}, true, ""},
		{[]string{"<status>Actual", "<status>Exercise"}, true, ""},
		{[]string{"<scope>Public", "<scope>Private"}, true, ""},
		{[]string{"<scope>Public", "<scope>Restricted"}, true, ""},
		{[]string{"<msgType>Alert", "<msgType>Ack"}, true, ""},
		{[]string{"<msgType>Alert", "<msgType>Error"}, true, ""},
		{[]string{"<status>Actual", "<status>Test", "<severity>Severe", "<severity>Whatever"}, true, ""},
		{[]string{"<status>Actual", "<status>Real"}, false, `status: "Real", expected Actual, Exercise, System, Test, Draft`},
		{[]string{"<scope>Public", "<scope>Everybody"}, false, `scope: "Everybody", expected Public, Restricted, Private`},
		{[]string{"<status>Actual</status>", ""}, false, "status: missing"},
		{[]string{"<sent>2026-11-21T11:00:00+00:00</sent>", ""}, false, "sent: missing"},
		{[]string{"<sender>weather@example.org", "<sender> "}, false, "sender: missing"},
		{[]string{"<sent>2026-11-21T11:00:00+00:00", "<sent>2026-11-21T11:00:00"}, false, `sent: "2026-11-21T11:00:00" has no zone`},
		{[]string{"<severity>Severe", "<severity>Bad"}, false, `info/0/severity: "Bad", expected Extreme`},
	} {
		b := parsed(t, feed, with(t, tt.change...), at(t, noon))
		if len(b.Reports) != 0 || b.Read != 1 || (b.Ignored == 1) != tt.ignored || (len(b.Rejects) == 1) == tt.ignored {
			t.Errorf("%v: %d reports, %d ignored, rejects %v", tt.change, len(b.Reports), b.Ignored, b.Rejects)
		}
		if len(b.Rejects) == 1 && !strings.HasPrefix(b.Rejects[0].Reason, tt.reason) {
			t.Errorf("%v: %s, want %s", tt.change, b.Rejects[0].Reason, tt.reason)
		}
	}
}

func TestExerciseIsAnEventOfItsOwnWhereItIsAskedFor(t *testing.T) {
	cfg := feed
	cfg.Exercises = true
	b := parsed(t, cfg, with(t, "<status>Actual", "<status>Exercise", "Water rises.", "THIS IS A DRILL"), at(t, noon))
	if len(b.Reports) != 1 {
		t.Fatalf("%+v", b)
	}
	r := b.Reports[0]
	if r.Category != hazard.Exercise || r.Suspect != "" || len(r.Refs) != len(fingerprints(r)) || !strings.HasPrefix(r.Key, "exercise:") {
		t.Errorf("%+v", r)
	}
	for _, a := range r.Aliases {
		if !strings.HasPrefix(a, "exercise:") {
			t.Errorf("alias %s is that of a real event", a)
		}
	}
}

func TestActualMessageInTheWordsOfATestIsHeld(t *testing.T) {
	for _, tt := range []struct {
		old, text string
		held      bool
	}{
		{"Flooding of the Test River", "TEST Flood Warning", true},
		{"Flooding of the Test River", "Test of the new system", true},
		{"Water rises.", "test", true},
		{"Water rises.", "test gelb", true},
		{"Water rises.", "This is a test - this CAP message was created for evaluation.", true},
		{"Water rises.", "Ceci est un exercice.", true},
		{"Water rises.", "THIS IS A DRILL", true},
		{"Flood Warning", "Flood Warning Test", true},
		{"Water rises.", "THIS IS NOT A TEST. TAKE COVER.", false},
		{"Water rises.", "THIS IS NOT A DRILL", false},
		{"Water rises.", "EXERCISE EXTREME CAUTION", false},
		{"Water rises.", "The contest is attested.", false},
	} {
		if r := one(t, with(t, tt.old, tt.text)); (r.Suspect != "") != tt.held {
			t.Errorf("%q: suspect %q, want held %v", tt.text, r.Suspect, tt.held)
		}
	}
}

func TestLevels(t *testing.T) {
	parameter := func(name, value string) []string {
		return []string{"<area>", "<parameter><valueName>" + name + "</valueName><value>" + value + "</value></parameter><area>"}
	}
	severity := func(word, urgency, certainty string) []string {
		return []string{"<severity>Severe", "<severity>" + word, "<urgency>Immediate", "<urgency>" + urgency, "<certainty>Observed", "<certainty>" + certainty}
	}
	and := func(lists ...[]string) []string { return slices.Concat(lists...) }
	canada := "layer:EC-MSC-SMC:1.1:Colour"
	for name, tt := range map[string]struct {
		change []string
		want   hazard.Severity
		word   string
	}{
		"Extreme":                                {severity("Extreme", "Future", "Unlikely"), hazard.Warning, "Extreme"},
		"Severe that is sure":                    {severity("Severe", "Expected", "Likely"), hazard.Warning, "Severe"},
		"Severe that is possible":                {severity("Severe", "Expected", "Possible"), hazard.Watch, "Severe"},
		"Severe in the future":                   {severity("Severe", "Future", "Likely"), hazard.Watch, "Severe"},
		"Moderate":                               {severity("Moderate", "Immediate", "Observed"), hazard.Advisory, "Moderate"},
		"Minor":                                  {severity("minor", "Immediate", "Observed"), hazard.Information, "minor"},
		"Unknown":                                {severity("Unknown", "Unknown", "Unknown"), hazard.Information, "Unknown"},
		"Unknown, but the name says it":          {and(severity("Unknown", "Unknown", "Unknown"), []string{"<event>Flood Warning", "<event>Avalanche Warning"}), hazard.Warning, "Avalanche Warning"},
		"MeteoAlarm's level, not CAP's severity": {and(severity("Moderate", "Immediate", "Likely"), parameter("awareness_level", "3; orange; Severe")), hazard.Watch, "orange"},
		"MeteoAlarm red":                         {parameter("awareness_level", "4; RED; Extreme"), hazard.Warning, "red"},
		"MeteoAlarm yellow":                      {parameter("awareness_level", "2; Yellow; Moderate"), hazard.Advisory, "yellow"},
		"Canada's colour":                        {and(severity("Moderate", "Immediate", "Likely"), parameter(canada, "red")), hazard.Warning, "red"},
		"Canada yellow":                          {and(severity("Extreme", "Immediate", "Likely"), parameter(canada, "yellow")), hazard.Advisory, "yellow"},
		"Australia":                              {and(severity("Minor", "Unknown", "Likely"), parameter("AlertLevel", "Watch and Act")), hazard.Watch, "Watch and Act"},
		"Australia, emergency":                   {and(severity("Minor", "Unknown", "Likely"), parameter("AlertLevel", "Emergency Warning")), hazard.Warning, "Emergency Warning"},
		"South Australia":                        {parameter("WarningLevel", "Bushfire Advice"), hazard.Advisory, "Bushfire Advice"},
		"MoWaS takes the words as they are":      {and(severity("Severe", "Immediate", "Observed"), []string{"<identifier>A-1", "<identifier>mow.DE-SL-001"}), hazard.Watch, "Severe"},
		"weather that favours fire":              {and(parameter("awareness_level", "4; red; Extreme"), parameter("awareness_type", "8; forest-fire")), hazard.Watch, "red"},
		"little that favours fire":               {and(parameter("awareness_level", "2; yellow; Moderate"), parameter("awareness_type", "8; forest-fire")), hazard.Advisory, "yellow"},
		"an earthquake of unknown severity by magnitude": {and(severity("Unknown", "Past", "Likely"), []string{"<event>Flood Warning", "<event>Earthquake"}, parameter("Magnitude", "6.3")), hazard.Watch, "Unknown"},
	} {
		if r := one(t, with(t, tt.change...)); r.Severity != tt.want || r.Level != tt.word || r.Ended != "" {
			t.Errorf("%s: %s %q, ended %q, want %s %q", name, r.Severity, r.Level, r.Ended, tt.want, tt.word)
		}
	}
}

func TestLevelsOfASourceCanBeCapped(t *testing.T) {
	cfg := feed
	cfg.Caps = map[hazard.Type]hazard.Severity{"": hazard.Watch, hazard.Storm: hazard.Advisory}
	for event, want := range map[string]hazard.Severity{"Flood Warning": hazard.Watch, "Moderate rains": hazard.Advisory} {
		if got := parsed(t, cfg, with(t, "<event>Flood Warning", "<event>"+event), at(t, noon)).Reports[0].Severity; got != want {
			t.Errorf("%s: %s, want %s", event, got, want)
		}
	}
}

func TestGreenIsNoHazardAndEndsOne(t *testing.T) {
	green := []string{"<area>", "<parameter><valueName>awareness_level</valueName><value>1; green; Minor</value></parameter><area>"}
	r := one(t, with(t, green...))
	if r.Ended != hazard.EndAllClear || !r.Minor {
		t.Errorf("ended %q, minor %v, want an end that makes no hazard", r.Ended, r.Minor)
	}
	now := at(t, noon)
	var e events
	e.add(one(t, good))
	e.add(parsed(t, feed, update(t, "A-2", "2026-11-21T11:40:00+00:00", green...), now).Reports...)
	if active := e.active(now); len(active) != 0 {
		t.Errorf("active %v after a green update", active)
	}
}

func TestTypes(t *testing.T) {
	for event, want := range map[string]hazard.Type{
		"Tornado Warning": hazard.Tornado, "tornade": hazard.Tornado, "Severe Thunderstorm Warning": hazard.Storm, "orages": hazard.Storm,
		"STURMBÖEN": hazard.HighWind, "WINDBÖEN": hazard.HighWind, "SCHWERES GEWITTER": hazard.Storm, "Dauerregen": hazard.Storm, "HITZE": hazard.ExtremeTemperature,
		"Amtliche WARNUNG vor GLÄTTE": hazard.WinterStorm, "Storm Surge Warning": hazard.Flood, "Winter Storm Watch": hazard.WinterStorm,
		"Dust Storm Warning": hazard.Storm, "Snow Squall Warning": hazard.WinterStorm, "Dense Smoke Advisory": hazard.Occurrence,
		"Freezing Rain": hazard.WinterStorm, "Freezing Fog Advisory": hazard.Occurrence, "Gale Warning": hazard.Marine, "gale-force gusts": hazard.HighWind,
		"Hurricane Force Wind Warning": hazard.Marine, "Hurricane Warning": hazard.Cyclone, "Extra-tropical cyclone": hazard.Storm,
		"Žuto upozorenje za vjetar": hazard.HighWind, "Žuto upozorenje za grmljavinsku oluju": hazard.Storm, "Kiša žuto Upozorenje": hazard.Storm,
		"Niska temperatura žuto Upozorenje": hazard.ExtremeTemperature, "Snijeg-led žuto Upozorenje": hazard.WinterStorm,
		"高温": hazard.ExtremeTemperature, "Moderate rains": hazard.Storm, "Severe rissagas warning": hazard.HighSurf, "Red flag warning": hazard.Wildfire,
		"Bushfire": hazard.Wildfire, "Grass Fire": hazard.Wildfire, "Fire": hazard.Incident, "Smoke Alert": hazard.Occurrence,
		"Debris Flow": hazard.Landslide, "Tsunami Advisory": hazard.Tsunami, "Ashfall Warning": hazard.Volcano, "Flash Flood Watch": hazard.Flood,
		"Rip Current Statement": hazard.HighSurf, "Civil Danger Warning": hazard.Incident, "911 Telephone Outage": hazard.Equipment,
		"Nuclear Power Plant Warning": hazard.Accident, "Hochwasser": hazard.Flood, "Orange wind warning": hazard.HighWind, "frost": hazard.ExtremeTemperature,
		"Blowing snow": "", "Train delays": "", "Ventilation": "", "All Clear": "", "Whatever": "", "": "",
	} {
		k, known := named(event)
		if event == "Blowing snow" { // the word need not come first
			want = hazard.WinterStorm
		}
		if k.typ != want || known != (want != "") {
			t.Errorf("%q: %q, want %q", event, k.typ, want)
		}
	}
	for event, want := range map[string]bool{"Child Abduction": true, "Required Weekly Test": true} {
		if k, known := named(event); known != want || k.typ != "" {
			t.Errorf("%q: %q, known %v", event, k.typ, known)
		}
	}
}

func TestTypeComesFromCodesBeforeNames(t *testing.T) {
	code := func(name, value string) []string {
		return []string{"<event>Flood Warning", "<event>Unheard of", "<onset>", "<eventCode><valueName>" + name + "</valueName><value>" + value + "</value></eventCode><onset>"}
	}
	kind := func(value string) []string {
		return []string{"<event>Flood Warning", "<event>x", "<area>", "<parameter><valueName>awareness_type</valueName><value>" + value + "</value></parameter><area>"}
	}
	for name, tt := range map[string]struct {
		change []string
		want   hazard.Type
	}{
		"SAME":                            {code("SAME", "TOR"), hazard.Tornado},
		"CAP-CP":                          {code("profile:CAP-CP:Event:0.4", "snowfall"), hazard.WinterStorm},
		"CAP-AU":                          {code("urn:oasis:names:tc:emergency:cap:1.2:profile:CAP-AU:1.0:AUeventLIST:1.0", "grassFire"), hazard.Wildfire},
		"MeteoAlarm 12":                   {kind("12; Flooding"), hazard.Flood},
		"MeteoAlarm 13":                   {kind("13; rain-flood"), hazard.Flood},
		"MeteoAlarm 10":                   {kind("10; Rain"), hazard.Storm},
		"MeteoAlarm 7":                    {kind("7; coastalevent"), hazard.HighSurf},
		"MeteoAlarm 7 with a storm surge": {append(kind("7; coastalevent"), "Water rises.", "A storm surge is expected."), hazard.Flood},
	} {
		if r := one(t, with(t, tt.change...)); r.Type != tt.want || r.Suspect != "" {
			t.Errorf("%s: %s (%s), want %s", name, r.Type, r.Suspect, tt.want)
		}
	}
	for _, change := range [][]string{kind("11; unused"), {"<event>Flood Warning", "<event>Whatever"}} {
		if r := one(t, with(t, change...)); r.Suspect != "" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "is in no list of ours") {
			t.Errorf("%v: %s, suspect %q, notes %q, want it shown with a note", change, r.Type, r.Suspect, r.Notes)
		}
	}
	if b := parsed(t, feed, with(t, code("SAME", "CAE")...), at(t, noon)); b.Ignored != 1 {
		t.Errorf("a search for a child: %+v", b)
	}
}

func TestSlightEarthquakeIsNoHazard(t *testing.T) {
	quake := func(m string) string {
		return with(t, "<event>Flood Warning", "<event>Earthquake", "<area>", "<parameter><valueName>Magnitude</valueName><value>"+m+"</value></parameter><area>")
	}
	if b := parsed(t, feed, quake("3.4 Ml"), at(t, noon)); b.Ignored != 1 {
		t.Errorf("M 3.4: %+v", b)
	}
	if r := one(t, quake("4.5")); r.Type != hazard.Earthquake {
		t.Errorf("M 4.5: %+v", r)
	}
}

// The info blocks of one event in several languages are one report; the configured language is
// shown.
func TestLanguagesAreOneThing(t *testing.T) {
	i := strings.Index(good, "<info>")
	j := strings.Index(good, "</info>") + len("</info>")
	german := strings.NewReplacer("en-GB", "de-DE", "Flood Warning", "Hochwasser", "Test County", "Landkreis Test", "Water rises.", "Das Wasser steigt.").Replace(good[i:j])
	both := good[:j] + german + good[j:]
	for language, want := range map[string]string{
		"en": "Flood Warning - Test County", "": "Flood Warning - Test County", "de": "Hochwasser - Landkreis Test", "de-DE": "Hochwasser - Landkreis Test",
		"fr": "Flood Warning - Test County",
	} {
		cfg := feed
		cfg.Language = language
		b := parsed(t, cfg, both, at(t, noon))
		if len(b.Reports) != 1 || b.Reports[0].Name != want || b.Reports[0].Type != hazard.Flood {
			t.Errorf("%q: %d reports, %q, want %q", language, len(b.Reports), b.Reports[0].Name, want)
		}
	}
	// The same block twice in the same language gives two groups.
	if b := parsed(t, feed, good[:j]+good[i:j]+good[j:], at(t, noon)); len(b.Reports) != 2 {
		t.Errorf("%d reports, want 2", len(b.Reports))
	}
	// A more severe block is a separate group, and gives the event its name.
	tornado := change(t, good[i:j], "Flood Warning", "Tornado Warning", "Severe", "Extreme")
	for _, text := range []string{good[:j] + tornado + good[j:], good[:i] + tornado + good[i:]} {
		var e events
		e.add(parsed(t, feed, text, at(t, noon)).Reports...)
		if len(e.all) != 1 {
			t.Fatalf("%d events, want one", len(e.all))
		}
		state := e.all[0].state(at(t, noon))
		if state.Head.Type != hazard.Tornado || !strings.Contains(state.Head.Description, "Also: Flood Warning (Severe).") {
			t.Errorf("%s: %s", state.Head.Name, state.Head.Description)
		}
	}
}

func TestPastAloneIsNoEnd(t *testing.T) {
	if r := one(t, with(t, "<urgency>Immediate", "<urgency>Past")); r.Ended != "" || r.Severity != hazard.Watch {
		t.Errorf("ended %q, %s", r.Ended, r.Severity)
	}
}

func TestTimes(t *testing.T) {
	for name, tt := range map[string]struct {
		onset, expires string
		start          string
		end            string // empty for no end
		ended          hazard.EndReason
		suspect        string
	}{
		"as said":                    {"2026-11-21T13:00:00+01:00", "2026-11-21T20:00:00Z", "2026-11-21T12:00:00Z", "2026-11-21T20:00:00Z", "", ""},
		"no onset":                   {"", "2026-11-21T20:00:00Z", "2026-11-21T11:00:00Z", "2026-11-21T20:00:00Z", "", ""},
		"no end":                     {"", "", "2026-11-21T11:00:00Z", "", "", ""},
		"an end that means never":    {"", "9999-12-31T23:59:59Z", "2026-11-21T11:00:00Z", "", "", ""},
		"an end before the message":  {"", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", hazard.EndExpired, ""},
		"an end just before it":      {"", "2026-11-21T10:50:00Z", "2026-11-21T11:00:00Z", "", "", ""},
		"an end before the start":    {"2026-11-22T12:00:00Z", "2026-11-21T20:00:00Z", "2026-11-22T12:00:00Z", "2026-11-24T12:00:00Z", "", ""},
		"a start years ahead":        {"2036-11-22T12:00:00Z", "", "2036-11-22T12:00:00Z", "", "", "onset: 2036"},
		"a start without zone":       {"2026-11-21T12:00:00", "2026-11-21T20:00:00Z", "2026-11-21T12:00:00Z", "2026-11-21T20:00:00Z", "", ""},
		"a leap second":              {"2026-06-30T23:59:60Z", "2026-11-21T20:00:00Z", "2026-07-01T00:00:00Z", "2026-11-21T20:00:00Z", "", ""},
		"an offset without colon":    {"2026-11-21T12:00:00+0000", "2026-11-21T20:00:00Z", "2026-11-21T12:00:00Z", "2026-11-21T20:00:00Z", "", ""},
		"an end that is the message": {"", "2026-11-21T11:00:00Z", "2026-11-21T11:00:00Z", "", "", ""},
	} {
		r := one(t, with(t, "2026-11-21T11:30:00+00:00", tt.onset, "2026-11-21T18:00:00+00:00", tt.expires))
		end := ""
		if r.End != nil {
			end = r.End.Time().Format("2006-01-02T15:04:05Z")
		}
		if r.Start != at(t, tt.start) || end != tt.end || r.Ended != tt.ended || !strings.HasPrefix(r.Suspect, tt.suspect) || (r.Suspect == "") != (tt.suspect == "") {
			t.Errorf("%s: %v to %s, ended %q, suspect %q", name, r.Start, end, r.Ended, r.Suspect)
		}
		if r.End == nil && (r.Renewed == nil || *r.Renewed != at(t, "2026-11-21T11:00:00Z")) {
			t.Errorf("%s: its life does not begin with the message", name)
		}
	}
	r := one(t, with(t, "<area>", "<parameter><valueName>eventEndingTime</valueName><value>2026-11-21T22:00:00+01:00</value></parameter><area>"))
	if *r.End != at(t, "2026-11-21T21:00:00Z") {
		t.Errorf("MET Norway's end: %v", *r.End)
	}
	if r := one(t, with(t, "<sent>2026", "<sent>2027")); !strings.Contains(r.Suspect, "in the future") {
		t.Errorf("suspect %q", r.Suspect)
	}
}

func TestUpdatesTakeThePlaceOfWhatWasBefore(t *testing.T) {
	now := at(t, noon)
	second := update(t, "A-2", "2026-11-21T11:20:00+00:00", "XX001", "XX002", "Test County", "Next County")
	for name, order := range map[string][]string{"in order": {good, second}, "late": {second, good}} {
		var e events
		for _, m := range order {
			e.add(parsed(t, feed, m, now).Reports...)
		}
		if got := e.active(now); !slices.Equal(got, []string{"WARNING Flood Warning - Next County"}) {
			t.Errorf("%s: %v", name, got)
		}
		if state := e.all[0].state(now); len(state.Head.Areas) != 1 || state.Head.Start != at(t, "2026-11-21T11:30:00Z") {
			t.Errorf("%s: %d areas from %v", name, len(state.Head.Areas), state.Head.Start)
		}
	}
}

// If the first message was never received, an update that continues the event still shows when it
// began.
func TestUpdateThatGoesOnBeganWithTheFirstMessage(t *testing.T) {
	for onset, want := range map[string]string{
		"2026-11-21T11:19:00+00:00": "2026-11-21T11:00:00Z", // it begins when it is issued
		"2026-11-21T10:00:00+00:00": "2026-11-21T10:00:00Z", // it states an earlier beginning
		"2026-11-22T06:00:00+00:00": "2026-11-22T06:00:00Z", // it begins in the future
	} {
		m := update(t, "A-2", "2026-11-21T11:20:00+00:00", "2026-11-21T11:30:00+00:00", onset, "2026-11-21T18:00:00", "2026-11-22T18:00:00")
		if state := hazard.Derive(parsed(t, feed, m, at(t, noon)).Reports, at(t, noon)); state.Head.Start != at(t, want) {
			t.Errorf("onset %s: from %v, want %s", onset, state.Head.Start, want)
		}
	}
}

// Environment Canada and others end an area by an Update with an info block that says so, beside
// blocks that stay active.
func TestEndedAndActiveAreasStandSideBySide(t *testing.T) {
	now := at(t, noon)
	i, j := strings.Index(good, "<info>"), strings.Index(good, "</info>")+len("</info>")
	ended := change(t, good[i:j], "<urgency>Immediate", "<responseType>AllClear</responseType><urgency>Past", "<severity>Severe", "<severity>Minor",
		"XX001", "XX002", "Test County", "Next County")
	m := update(t, "A-2", "2026-11-21T11:20:00+00:00")
	m = strings.Replace(m, "</info>", "</info>"+ended, 1)
	b := parsed(t, feed, m, now)
	var e events
	e.add(parsed(t, feed, with(t, "</geocode>", "</geocode><geocode><valueName>EMMA_ID</valueName><value>XX002</value></geocode>"), now).Reports...)
	e.add(b.Reports...)
	state := e.all[0].state(now)
	if state.Ended != "" || len(state.Head.Areas) != 1 || state.Head.Severity != hazard.Warning || state.Head.Name != "Flood Warning - Test County" {
		t.Errorf("%+v", state)
	}
	// Then the remaining areas end too.
	e.add(parsed(t, feed, update(t, "A-3", "2026-11-21T11:50:00+00:00", "<urgency>Immediate", "<responseType>AllClear</responseType><urgency>Past"), now).Reports...)
	if state := e.all[0].state(now); state.Ended != hazard.EndAllClear || state.EndedAt != at(t, "2026-11-21T11:50:00Z") {
		t.Errorf("ended %q at %v", state.Ended, state.EndedAt)
	}
}

func TestCanadasStatusOfPlaces(t *testing.T) {
	status := func(word string) []string {
		return []string{"<area>", "<parameter><valueName>layer:EC-MSC-SMC:1.1:Alert_Location_Status</valueName><value>" + word + "</value></parameter><area>"}
	}
	for word, want := range map[string]hazard.EndReason{"active": "", "ended": hazard.EndAllClear, "transitioned_out": hazard.EndSuperseded} {
		b := parsed(t, feed, update(t, "A-2", "2026-11-21T11:20:00+00:00", status(word)...), at(t, noon))
		if r := b.Reports[len(b.Reports)-1]; r.Ended != want || r.Minor {
			t.Errorf("%s: ended %q, minor %v, want %q", word, r.Ended, r.Minor, want)
		}
	}
}

// A Cancel may arrive before the message that it cancels, or after an update that it does not
// reference, or before a late update.
func TestCancelEndsItsChainInAnyOrder(t *testing.T) {
	now := at(t, noon)
	messages := []string{
		good, update(t, "A-2", "2026-11-21T11:20:00+00:00"), update(t, "A-3", "2026-11-21T11:50:00+00:00"),
		cancelOf(t, update(t, "A-4", "2026-11-21T11:40:00+00:00")),
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		rng.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
		var e events
		for _, m := range messages {
			e.add(parsed(t, feed, m, now).Reports...)
		}
		state := e.all[0].state(now)
		if len(e.all) != 1 || state.Ended != hazard.EndCancelled || state.EndedAt != at(t, "2026-11-21T11:40:00Z") || state.Head.Type != hazard.Flood {
			t.Fatalf("%d events, ended %q at %v, %s", len(e.all), state.Ended, state.EndedAt, state.Head.Type)
		}
	}
}

func TestCancelThatMayNotBeBelieved(t *testing.T) {
	now := at(t, noon)
	cancel := cancelOf(t, update(t, "A-4", "2026-11-21T11:40:00+00:00"))
	refs := "<references>weather@example.org,A-1,2026-11-21T11:00:00+00:00</references>"
	for name, tt := range map[string]struct {
		text   string
		reason string // of the reject, or of why the report is held
	}{
		"by another sender": {change(t, cancel, "<sender>weather@", "<sender>other@"), "only its sender may"},
		"of another time":   {change(t, cancel, "A-1,2026-11-21T11:00:00", "A-1,2026-11-21T10:59:59"), ""},
		"of nothing":        {change(t, cancel, refs, ""), "references: missing"},
		"of what is no triple": {change(t, cancel, refs, "<references>weather@example.org,A-1</references>"),
			`references: "weather@example.org,A-1", expected sender,identifier,sent`},
	} {
		b := parsed(t, feed, tt.text, now)
		got := ""
		for _, r := range b.Reports {
			got += r.Suspect
		}
		for _, r := range b.Rejects {
			got += r.Reason
		}
		if !strings.Contains(got, tt.reason) || (got == "") != (tt.reason == "") {
			t.Errorf("%s: %q, want %q", name, got, tt.reason)
		}
		var e events
		e.add(one(t, good))
		e.add(b.Reports...)
		if active := e.active(now); len(active) != 1 {
			t.Errorf("%s: active %v", name, active)
		}
	}
	// Some senders put the time of the referring message into the reference. Then only the
	// identifier counts.
	slip := change(t, cancel, "A-1,2026-11-21T11:00:00", "A-1,2026-11-21T11:40:00")
	var e events
	e.add(one(t, good))
	e.add(parsed(t, feed, slip, now).Reports...)
	if active := e.active(now); len(active) != 0 || len(e.all) != 1 {
		t.Errorf("with the referring message's own time: active %v", active)
	}
}

func TestCancelWithoutInfoEndsToo(t *testing.T) {
	cancel := cancelOf(t, update(t, "A-4", "2026-11-21T11:40:00+00:00"))
	i, j := strings.Index(cancel, "<info>"), strings.Index(cancel, "</info>")+len("</info>")
	b := parsed(t, feed, cancel[:i]+cancel[j:], at(t, noon))
	if len(b.Reports) != 1 || b.Reports[0].Ended != hazard.EndCancelled || b.Reports[0].Suspect != "" || b.Reports[0].Minor {
		t.Errorf("%+v", b)
	}
}

// An update by another sender does not change the event that it references. It becomes a separate
// event.
func TestUpdateByAnotherSenderStandsForItself(t *testing.T) {
	now := at(t, noon)
	var e events
	e.add(one(t, good))
	e.add(parsed(t, feed, update(t, "A-2", "2026-11-21T11:20:00+00:00", "<sender>weather@", "<sender>other@", "<severity>Severe", "<severity>Minor"), now).Reports...)
	if got := e.active(now); !slices.Equal(got, []string{"INFORMATION Flood Warning - Test County", "WARNING Flood Warning - Test County"}) {
		t.Errorf("active %v", got)
	}
}

// fingerprints returns the names that issues of one alert share under different identifiers.
func fingerprints(r hazard.Report) []string {
	return slices.DeleteFunc(slices.Clone(r.Refs), func(ref string) bool { return !strings.HasPrefix(ref, hazard.AgainRef) })
}

// The same alert under a new identifier is a separate event, but part of the same hazard
// (wmo-raf/cap-aggregator issue 107). An alert with another area, level or place is another hazard,
// even with the same words (D31).
func TestReissueUnderANewIdentifierIsTheSameHazard(t *testing.T) {
	long := strings.Repeat("อำเภอ", 10) // 150 bytes
	for name, tt := range map[string]struct {
		change []string
		same   bool
	}{
		"as it was":                 {nil, true},
		"29 minutes later":          {[]string{"T11:30:00", "T11:59:00", "T18:00:00", "T18:29:00"}, true},
		"61 minutes later":          {[]string{"T11:30:00", "T12:31:00"}, false},
		"of another place":          {[]string{"XX001", "XX002"}, false},
		"of another event":          {[]string{"<event>Flood Warning", "<event>Flood"}, false},
		"of another sender":         {[]string{"<sender>weather@", "<sender>other@"}, false},
		"without an onset time":     {[]string{"<onset>2026-11-21T11:30:00+00:00</onset>", ""}, false},
		"of another level":          {[]string{"<severity>Severe", "<severity>Minor"}, false},
		"of a higher level":         {[]string{"<severity>Severe", "<severity>Extreme"}, false},
		"with another polygon":      {[]string{"39,-119", "39.5,-119"}, false},
		"of a place named likewise": {[]string{"<areaDesc>Test County", "<areaDesc>" + long + "1"}, false},
	} {
		second := with(t, append([]string{"<identifier>A-1", "<identifier>B-7", "<sent>2026-11-21T11:00", "<sent>2026-11-21T11:10"}, tt.change...)...)
		a, b := one(t, good), one(t, second)
		var e events
		e.add(a, b)
		if len(e.all) != 2 {
			t.Errorf("%s: %d events, want each its own", name, len(e.all))
		}
		shared := slices.ContainsFunc(fingerprints(a), func(ref string) bool { return slices.Contains(fingerprints(b), ref) })
		if shared != tt.same {
			t.Errorf("%s: one hazard %v, want %v", name, shared, tt.same)
		}
	}
	a := one(t, with(t, "<areaDesc>Test County", "<areaDesc>"+long+"1", "<geocode><valueName>EMMA_ID</valueName><value>XX001</value></geocode>", ""))
	b := one(t, with(t, "<areaDesc>Test County", "<areaDesc>"+long+"2", "<geocode><valueName>EMMA_ID</valueName><value>XX001</value></geocode>", ""))
	if slices.Equal(a.Places, b.Places) {
		t.Errorf("two places whose long names begin alike are one: %q", a.Places)
	}
}

func TestVersionsOfMoWaSAreOneEvent(t *testing.T) {
	one1 := one(t, with(t, "<identifier>A-1", "<identifier>mow.DE-SL-SB-SE035-20260920-35-000"))
	one2 := one(t, with(t, "<identifier>A-1", "<identifier>mow.DE-SL-SB-SE035-20260920-35-001", "<sent>2026-11-21T11:00", "<sent>2026-11-21T11:30"))
	other := one(t, with(t, "<identifier>A-1", "<identifier>mow.DE-SL-SB-SE035-20260920-36-000", "T11:30:00", "T14:30:00"))
	var e events
	e.add(one1, one2, other)
	if len(e.all) != 2 {
		t.Errorf("%d events, want 2", len(e.all))
	}
}

func TestCopiesAndContradictions(t *testing.T) {
	i := strings.Index(good, "<alert")
	two := func(a, b string) string { return "<feed>" + a[i:] + b[i:] + "</feed>" }
	b := parsed(t, feed, two(good, good), at(t, noon))
	if b.Read != 1 || len(b.Reports) != 1 || b.Reports[0].Suspect != "" {
		t.Errorf("copies: read %d, %d reports, suspect %q", b.Read, len(b.Reports), b.Reports[0].Suspect)
	}
	b = parsed(t, feed, two(good, with(t, "<severity>Severe", "<severity>Minor")), at(t, noon))
	if b.Read != 2 || len(b.Reports) != 2 || b.Reports[0].Suspect == "" || b.Reports[1].Suspect == "" {
		t.Errorf("contradiction: %+v", b)
	}
}

// D17, D27: an empty polygon next to the code of a place is not a fault.
func TestAnEmptyPolygonBesideACodeIsNoFault(t *testing.T) {
	polygon := "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>"
	for _, empty := range []string{"<polygon></polygon>", "<polygon/>", "<polygon> </polygon><polygon/>"} {
		if r := one(t, with(t, polygon, empty)); len(r.Areas) > 0 || !slices.Equal(r.Places, []string{"EMMA_ID:XX001"}) {
			t.Errorf("%s: areas %v, places %v", empty, r.Areas, r.Places)
		}
	}
}

// Mexico's tropical storms have no severity.
func TestACycloneWithoutSeverityIsRankedByItsClass(t *testing.T) {
	for event, want := range map[string]hazard.Severity{
		"Huracán": hazard.Warning, "Tormenta Tropical Lidia": hazard.Watch, "Ciclón tropical": hazard.Watch, "Depresión tropical": hazard.Advisory,
	} {
		r := one(t, with(t, "<event>Flood Warning", "<event>"+event, "<severity>Severe", "<severity>Unknown"))
		if r.Type != hazard.Cyclone || r.Severity != want {
			t.Errorf("%s: %s %s, want %s", event, r.Severity, r.Type, want)
		}
	}
}

func TestGeometry(t *testing.T) {
	polygon := "<polygon>38,-120 38,-119 39,-119 38,-120</polygon>"
	for shape, want := range map[string]struct {
		geometry string
		role     hazard.AreaRole
		reason   string
	}{
		"<polygon>+41.12,-117.61 +41.06,-117.47, 41.04,-117.47 +41.12,-117.61</polygon>": {`{"type":"Polygon","coordinates":[[[-117.61,41.12],[-117.47,41.06],[-117.47,41.04],[-117.61,41.12]]]}`, hazard.AlertArea, ""},
		"<circle>38.5,-120.25 0</circle>":                                                {`{"type":"Point","coordinates":[-120.25,38.5]}`, hazard.PointArea, ""},
		"<circle>38.5,-120.25 0.0</circle>":                                              {`{"type":"Point","coordinates":[-120.25,38.5]}`, hazard.PointArea, ""},
		"<circle>0,0 0</circle>":                                                         {"", "", "0,0, expected the position"},
		"<circle>38.5,-120.25 -5</circle>":                                               {"", "", `radius "-5"`},
		"<circle>38.5,-120.25 99999</circle>":                                            {"", "", `radius "99999"`},
		"<circle>38.5,-120.25 NaN</circle>":                                              {"", "", `radius "NaN"`},
		"<circle>13.1,47.5 13.1,47.5</circle>":                                           {"", "", `radius "13.1,47.5"`},
		"<circle>38.5</circle>":                                                          {"", "", `"38.5", expected a position and a radius`},
		"<polygon>1,1 2,2 1,1</polygon>":                                                 {"", "", "3 positions"},
		"<polygon>1,1 1,1 1,1 1,1</polygon>":                                             {"", "", "every position is 1,1"},
		"<polygon>1,1 91,2 3,1 1,1</polygon>":                                            {"", "", "latitude 91"},
		"<polygon>1,1 0x1,2 3,1 1,1</polygon>":                                           {"", "", `"0x1,2"`},
		"<polygon>1,1 Inf,2 3,1 1,1</polygon>":                                           {"", "", `"Inf,2"`},
		"<polygon>1 1 2 2 3 1 1 1</polygon>":                                             {"", "", `"1", expected latitude,longitude`},
		"<polygon>38.47,-120.14 38</polygon>":                                            {"", "", `"38"`},
		"<circle>38.5,-120.25 10 extra</circle>":                                         {"", "", "expected a position and a radius"},
	} {
		b := parsed(t, feed, with(t, polygon, shape), at(t, noon))
		if len(b.Reports) != 1 {
			t.Fatalf("%s: %+v", shape, b)
		}
		r := b.Reports[0]
		if want.reason != "" {
			if len(b.Rejects) != 0 || !strings.Contains(strings.Join(r.Notes, " "), want.reason) || len(r.Areas) != 0 || r.Point != nil {
				t.Errorf("%s: areas %v, notes %q, rejects %v, want a note %s", shape, r.Areas, r.Notes, b.Rejects, want.reason)
			}
			continue
		}
		if len(b.Rejects) != 0 || len(r.Areas) != 1 || r.Areas[0].Geometry != want.geometry || r.Areas[0].Role != want.role {
			t.Errorf("%s: %v, %v", shape, r.Areas, b.Rejects)
		}
		if (r.Point != nil) != (want.role == hazard.PointArea) {
			t.Errorf("%s: point %v", shape, r.Point)
		}
	}
	// A circle becomes an area of its size. A shape across the antimeridian stays there.
	shape, err := geo.ParseLoose([]byte(one(t, with(t, polygon, "<circle>10,20 100</circle>")).Areas[0].Geometry))
	if km := shape.AreaKm2(); err != nil || km < 31000 || km > 31500 {
		t.Errorf("circle of %v km²: %v", km, err)
	}
	shape, err = geo.ParseLoose([]byte(one(t, with(t, polygon, "<polygon>0,179 0,-179 1,-179 1,179 0,179</polygon>")).Areas[0].Geometry))
	if lon, _ := shape.Point(); err != nil || lon > -179 && lon < 179 {
		t.Errorf("point at longitude %v: %v", lon, err)
	}
}

func TestPlaces(t *testing.T) {
	old := "<geocode><valueName>EMMA_ID</valueName><value>XX001</value></geocode>"
	code := func(name, value string) string {
		return "<geocode><valueName>" + name + "</valueName><value>" + value + "</value></geocode>"
	}
	for name, tt := range map[string]struct {
		codes  string
		places []string
		within []string
	}{
		"none":                 {"", []string{"area:Test County"}, nil},
		"several":              {code("emma_id", "AT005") + code("emma_id", "AT003"), []string{"EMMA_ID:AT003", "EMMA_ID:AT005"}, nil},
		"in one value":         {code("FIPS6", "009007 009009"), []string{"SAME:009007", "SAME:009009"}, nil},
		"zone before county":   {code("SAME", "006109") + code("UGC", "CAZ001"), []string{"CAZ001"}, []string{"006109"}},
		"of Canada":            {code("profile:CAP-CP:Location:0.3", "3506") + code("layer:EC-MSC-SMC:1.0:CLC", "045410"), []string{"CLC:045410"}, nil},
		"of an unknown list":   {code("CPEAS Geographic Code", "370614000000"), []string{"CPEAS Geographic Code:370614000000"}, nil},
		"a name without value": {code("UGC", ""), []string{"area:Test County"}, nil},
	} {
		r := one(t, with(t, old, tt.codes))
		if !slices.Equal(r.Places, tt.places) || !slices.Equal(r.Within, tt.within) {
			t.Errorf("%s: %v within %v, want %v within %v", name, r.Places, r.Within, tt.places, tt.within)
		}
	}
}

func TestTextForPeople(t *testing.T) {
	for in, want := range map[string]string{
		"a<br/>b &amp; c":                         "a\nb & c",
		"<p>one</p><p>two</p>":                    "one\n\ntwo",
		"&quot;Stromabschaltung&quot;<br/><br/>x": "\"Stromabschaltung\"\n\nx",
		"under <75 [km/h] and > 3":                "under <75 [km/h] and > 3",
		"<script>alert(1)</script>Flood":          "Flood",
		"<scr<b>ipt>x":                            "ipt>x",
		"a <b>bold</b> word<!-- no -->":           "a bold word",
		"lines\n  stay \n\n\n here":               "lines\nstay\n\nhere",
		"1 < 2 <":                                 "1 < 2 <",
		"<style>p{}</style><div>x</div>":          "x",
		"&amp;lt;b&amp;gt;x":                      "x",
	} {
		if got := Text(in); got != want && !(in == "<scr<b>ipt>x" && !strings.Contains(got, "<script")) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"STURMBÖEN": "Sturmböen", "tornado": "Tornado", "Snow": "Snow", "高温": "高温", "UV": "UV"} {
		if got := sentence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAddressesThatMayBeShown(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.org/a?b=c": true, " http://example.org/x ": true, "https://93.184.216.34/": true,
		"javascript:alert(1)": false, "file:///etc/passwd": false, "http://169.254.169.254/": false, "http://127.0.0.1/": false, "http://10.1.2.3/": false,
		"http://[::1]/": false, "http://localhost/": false, "http://a.localhost/": false, "//example.org/": false, "x.html": false, "https://user:pw@example.org/": false,
		"http://[::ffff:10.0.0.1]/": false, "http://2130706433/": false, "http://0x7f.1/": false, "": false, "http://printer.local/": false,
	} {
		if _, ok := WebAddress(address); ok != want {
			t.Errorf("%q: %v, want %v", address, ok, want)
		}
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	if err := feed.Check(); err != nil {
		t.Error(err)
	}
	bad := Config{Name: "No Name", URL: "ftp://x", Charset: "utf-7", Caps: map[hazard.Type]hazard.Severity{"RAIN": hazard.Watch}}
	for _, word := range []string{"name:", "url:", "charset:", "caps:"} {
		if err := bad.Check(); err == nil || !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("%v, want %s", err, word)
		}
	}
	if f := feed.Source(Places{}).Feeds; len(f) != 1 || f[0].URL != feed.URL || f[0].Every <= 0 || f[0].MaxBytes <= 0 {
		t.Errorf("%+v", f)
	}
}

// A stated interval is never undercut, unless the operator says so.
func TestHowFastAFeedIsPolledWhileItChanges(t *testing.T) {
	for want, c := range map[time.Duration]Config{
		30 * time.Second: {},
		0:                {Every: time.Hour},
		time.Minute:      {Every: time.Hour, Fastest: time.Minute},
		2 * time.Minute:  {Shared: true, Fastest: 2 * time.Minute},
	} {
		c.URL = "https://alerts.example.org/"
		if got := c.Source(Places{}).Feeds[0].Fastest; got != want {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
	if got := (Config{URL: "https://alerts.example.org/", Shared: true}).Source(Places{}).Feeds[0].Fastest; got != 0 {
		t.Errorf("one of many feeds: %v", got)
	}
}
