package nws

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
)

func TestMessageBecomesAReport(t *testing.T) {
	got := one(t, tornado())
	sent := at(t, "2026-05-21T19:00:00Z")
	want := hazard.Report{
		Source: "nws", Key: "KDMX.TO.W.0044.2026", Part: "urn:oid:1.1", Version: int64(sent),
		Name: "Tornado Warning - Polk, IA; Story, IA",
		Description: "NWS: Tornado Warning (Extreme, Immediate, Observed) by NWS Des Moines IA\n\n" +
			"Tornado Warning issued May 21 by NWS Des Moines IA\n\nA tornado was near Ankeny.\n\nTAKE COVER NOW!",
		Type: hazard.Tornado, Severity: hazard.Warning, Category: hazard.Event,
		Start: sent, End: new(at(t, "2026-05-21T19:45:00Z")),
		Areas:        []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"coordinates":[[[-93,41],[-92,41],[-92,42],[-93,41]]],"type":"Polygon"}`}},
		Places:       []string{"IAC153", "IAC169"},
		Within:       []string{"019153", "019169"},
		Measurements: []hazard.Measurement{{Name: hazard.Certainty, Value: 4}, {Name: hazard.Urgency, Value: 4}},
		Instruction:  "TAKE COVER NOW!",
		URL:          "https://api.weather.gov/alerts/urn:oid:1.1",
		Comment:      "nws:KDMX.TO.W.0044.2026", Creator: "NWS Des Moines IA",
		Products: []hazard.ReportProduct{
			{Key: "nws", Title: "NWS", Type: hazard.FolderProduct, Time: sent},
			{
				Key: "text", Parent: "nws", Title: "Tornado Warning issued May 21 by NWS Des Moines IA", Type: hazard.TextProduct,
				Data:    "Tornado Warning issued May 21 by NWS Des Moines IA\n\nA tornado was near Ankeny.\n\nTAKE COVER NOW!",
				Comment: "urn:oid:1.1", Time: sent,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestActionsEndTheEventOrContinueIt(t *testing.T) {
	for action, want := range map[string]hazard.EndReason{
		"NEW": "", "CON": "", "EXT": "", "EXA": "", "EXB": "", "COR": "",
		"CAN": hazard.EndCancelled, "EXP": hazard.EndExpired, "UPG": hazard.EndSuperseded,
	} {
		r := one(t, with(tornado(), object{"parameters": vtecs("/O." + action + ".KDMX.TO.W.0044.000000T0000Z-260521T1945Z/")}))
		if r.Ended != want || r.Severity != hazard.Warning {
			t.Errorf("%s: ended %q, %v, want %q, WARNING", action, r.Ended, r.Severity, want)
		}
	}
	if r := one(t, with(tornado(), object{"messageType": "Cancel"})); r.Ended != hazard.EndCancelled {
		t.Errorf("a Cancel: ended %q, want cancelled", r.Ended)
	}
}

func TestWhatIsNoHazardIsIgnored(t *testing.T) {
	for name, o := range map[string]object{
		"a test":                       with(tornado(), object{"status": "Test"}),
		"a system message":             with(tornado(), object{"status": "System"}),
		"a draft":                      with(tornado(), object{"status": "Draft"}),
		"for some recipients":          with(tornado(), object{"scope": "Restricted"}),
		"for one recipient":            with(tornado(), object{"scope": "Private"}),
		"an acknowledgement":           with(tornado(), object{"messageType": "Ack"}),
		"a test in VTEC":               with(tornado(), object{"parameters": vtecs("/T.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/")}),
		"an experiment in VTEC":        with(tornado(), object{"parameters": vtecs("/E.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/")}),
		"experimental VTEC":            with(tornado(), object{"parameters": vtecs("/X.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/")}),
		"routine":                      with(tornado(), object{"event": "Flood Statement", "parameters": vtecs("/O.ROU.KMKX.HY.S.0000.000000T0000Z-000000T0000Z/")}),
		"an outlook":                   with(tornado(), object{"event": "Hydrologic Outlook", "parameters": vtecs("/O.NEW.KMKX.HY.O.0001.000000T0000Z-000000T0000Z/")}),
		"a test message by name":       with(tornado(), object{"event": "Test", "parameters": object{}}),
		"a search for a missing child": with(tornado(), object{"event": "Child Abduction Emergency", "parameters": object{}}),
	} {
		b := parsed(t, text(o), at(t, tornadoNow))
		if len(b.Reports) != 0 || b.Ignored != 1 || b.Read != 1 || len(b.Rejects) != 0 {
			t.Errorf("%s: %d reports, %d ignored, rejects %v, want it ignored", name, len(b.Reports), b.Ignored, b.Rejects)
		}
	}
}

func TestExerciseIsAnEventOfItsOwn(t *testing.T) {
	r := one(t, with(tornado(), object{"status": "Exercise", "headline": "EXERCISE EXERCISE EXERCISE"}))
	if r.Category != hazard.Exercise || r.Key != "exercise:KDMX.TO.W.0044.2026" || r.Suspect != "" {
		t.Errorf("%s, key %s, suspect %q, want an exercise under a key of its own", r.Category, r.Key, r.Suspect)
	}
	r = one(t, with(tornado(), object{
		"status": "Exercise", "parameters": object{}, "messageType": "Update",
		"references": []object{{"identifier": "urn:oid:0.9", "sent": "2026-05-21T18:00:00Z"}},
	}))
	want := []string{"exercise:urn:oid:0.9", "exercise:urn:oid:1.1"}
	if r.Key != want[0] || !cmp.Equal(r.Aliases, want) {
		t.Errorf("key %s, aliases %v, want %v", r.Key, r.Aliases, want)
	}
}

func TestActualMessageInTheWordsOfATestIsHeld(t *testing.T) {
	for _, tt := range []struct {
		field, text string
		held        bool
	}{
		{"headline", "TEST Tornado Warning", true},
		{"headline", "...TEST...TORNADO WARNING...TEST...", true},
		{"headline", "THIS IS A DRILL", true},
		{"headline", "EXERCISE PACIFEX 26 TSUNAMI WARNING", true},
		{"description", "THIS IS A TEST MESSAGE. DO NOT TAKE ACTION.", true},
		{"instruction", "THIS IS ONLY A\nTEST.", true},
		{"event", "Tornado Warning Test", true},
		{"headline", "MARINERS SHOULD EXERCISE EXTREME CAUTION", false},
		{"headline", "THIS IS NOT A DRILL", false},
		{"description", "THIS IS NOT A TEST. TAKE COVER NOW.", false},
		{"description", "- EXERCISE DUE SAFETY.", false},
		{"description", "THE LATEST CONTEST, PROTEST AND ATTESTED TESTS", false},
		{"description", "Do not test the water.", false},
		{"description", "EXERCISE NORMAL CAUTION NEAR THE SEA.", false},
	} {
		r := one(t, with(tornado(), object{tt.field: tt.text}))
		if got := strings.Contains(r.Suspect, "status is Actual, but "+tt.field+" says"); got != tt.held {
			t.Errorf("%s %q: suspect %q, want held: %v", tt.field, tt.text, r.Suspect, tt.held)
		}
	}
	r := one(t, with(tornado(), object{"parameters": object{"NWSheadline": []string{"TEST TEST"}}}))
	if !strings.Contains(r.Suspect, "NWSheadline") {
		t.Errorf("suspect %q, want it to name NWSheadline", r.Suspect)
	}
}

func TestMessagesWithoutVTECAreOneEventByTheirReferences(t *testing.T) {
	r := one(t, with(tornado(), object{"event": "Special Weather Statement", "parameters": object{}}))
	if r.Key != "urn:oid:1.1" || !cmp.Equal(r.Aliases, []string{"urn:oid:1.1"}) || r.Type != hazard.Storm {
		t.Errorf("%s: key %s, aliases %v", r.Type, r.Key, r.Aliases)
	}
	r = one(t, with(tornado(), object{
		"event": "Special Weather Statement", "messageType": "Update",
		"references": []object{
			{"identifier": "urn:oid:0.8", "sent": "2026-05-21T13:00:00-05:00"},
			{"identifier": "urn:oid:0.9", "sent": "2026-05-21T17:00:00Z"}, // the earlier message
		},
		"parameters": object{"expiredReferences": []string{"w-nws.webmaster@noaa.gov,urn:oid:0.7,2026-05-21T11:00:00-05:00 nonsense"}},
	}))
	if want := []string{"urn:oid:0.7", "urn:oid:0.8", "urn:oid:0.9", "urn:oid:1.1"}; r.Key != want[0] || !cmp.Equal(r.Aliases, want) {
		t.Errorf("key %s, aliases %v, want the first and all of %v", r.Key, r.Aliases, want)
	}
}

func TestOneMessageMaySpeakOfSeveralEvents(t *testing.T) {
	b := parsed(t, text(with(tornado(), object{"event": "Winter Storm Warning", "ends": "2026-01-03T06:00:00Z",
		"parameters": vtecs(
			"/O.UPG.KDMX.WS.A.0002.260102T0000Z-260103T0000Z/",
			"/O.NEW.KDMX.WS.W.0003.260102T0000Z-260103T0600Z/",
			"/O.NEW.KDMX.WS.W.0003.260102T0000Z-260103T0600Z/",
			"/O.CAN.KDMX.WW.Y.0007.260102T0000Z-260103T0000Z/",
			"/O.EXT.KDMX.WW.Y.0007.260102T0000Z-260104T0000Z/",
			"/WPNW3.N.UU.000000T0000Z.000000T0000Z.000000T0000Z.OO/",
		)})), at(t, tornadoNow))
	var got []string
	for _, r := range b.Reports {
		got = append(got, strings.Join([]string{r.Part, r.Key, r.Severity.String(), string(r.Ended), r.End.String(), r.Successor}, " "))
	}
	want := []string{
		"urn:oid:1.1 KDMX.WS.A.0002.2026 WATCH superseded 2026-01-03T00:00:00.000Z KDMX.WS.W.0003.2026",
		"urn:oid:1.1 KDMX.WS.W.0003.2026 WARNING  2026-01-03T06:00:00.000Z ",
		"urn:oid:1.1#1 KDMX.WW.Y.0007.2026 ADVISORY cancelled 2026-01-03T00:00:00.000Z ",
		"urn:oid:1.1#2 KDMX.WW.Y.0007.2026 ADVISORY  2026-01-04T00:00:00.000Z ",
	}
	if diff := cmp.Diff(want, got); diff != "" || b.Read != 1 || b.Ignored != 0 {
		t.Errorf("read %d, ignored %d: %s", b.Read, b.Ignored, diff)
	}
}

func TestWhenAnEventBeginsAndEnds(t *testing.T) {
	flood := func(members object) object {
		o := with(tornado(), object{"event": "Flood Warning", "ends": nil, "parameters": vtecs("/O.EXT.KDMX.FL.W.0008.000000T0000Z-000000T0000Z/")})
		return with(o, members)
	}
	for name, tt := range map[string]struct {
		o          object
		start, end string
	}{
		"VTEC and ends":                    {tornado(), "2026-05-21T19:00:00Z", "2026-05-21T19:45:00Z"},
		"onset without a begin":            {flood(object{"onset": "2026-05-21T13:00:00-05:00"}), "2026-05-21T18:00:00Z", "2026-05-21T20:00:00Z"},
		"effective without onset":          {flood(object{"onset": nil, "effective": "2026-05-21T13:30:00-05:00"}), "2026-05-21T18:30:00Z", "2026-05-21T20:00:00Z"},
		"sent without either":              {flood(object{"onset": nil, "effective": nil}), "2026-05-21T19:00:00Z", "2026-05-21T20:00:00Z"},
		"ends":                             {flood(object{"ends": "2026-05-23T00:00:00Z"}), "2026-05-21T19:00:00Z", "2026-05-23T00:00:00Z"},
		"an offset without colon":          {flood(object{"ends": "2026-05-22T23:00:00-0700"}), "2026-05-21T19:00:00Z", "2026-05-23T06:00:00Z"},
		"neither ends nor expires":         {flood(object{"expires": nil}), "2026-05-21T19:00:00Z", "2026-05-23T19:00:00Z"},
		"an end before the start":          {flood(object{"ends": "2026-05-20T00:00:00Z"}), "2026-05-21T19:00:00Z", "2026-05-23T19:00:00Z"},
		"renewal wanted before it begins":  {flood(object{"onset": "2026-05-22T00:00:00Z"}), "2026-05-22T00:00:00Z", "2026-05-24T00:00:00Z"},
		"a begin in a year that cannot be": {flood(object{"parameters": vtecs("/O.CON.KDMX.FL.W.0008.700101T0000Z-000000T0000Z/")}), "2026-05-21T19:00:00Z", "2026-05-21T20:00:00Z"},
	} {
		r := one(t, tt.o)
		if r.Start != at(t, tt.start) || r.OverAt() != at(t, tt.end) {
			t.Errorf("%s: %v to %v, want %s to %s", name, r.Start, r.OverAt(), tt.start, tt.end)
		}
	}
}

func TestAnOpenEndedWarningStatesNoEnd(t *testing.T) {
	flood := with(tornado(), object{"event": "Flood Warning", "ends": nil, "parameters": vtecs("/O.EXT.KDMX.FL.W.0008.000000T0000Z-000000T0000Z/")})
	if r := one(t, flood); r.End != nil || r.OverAt() != at(t, "2026-05-21T20:00:00Z") {
		t.Errorf("ends %v, over at %v; want no end, and over when its renewal is overdue", r.End, r.OverAt())
	}
}

func TestAMessageReplacesThoseThatItFollows(t *testing.T) {
	follows := []object{{"identifier": "urn:oid:1.0", "sent": "2026-05-21T18:00:00Z"}}
	for name, tt := range map[string]struct {
		vtec string
		want bool
	}{
		"it goes on":                           {"/O.CON.KDMX.TO.W.0008.000000T0000Z-260521T2000Z/", true},
		"it ends, but only in these places":    {"/O.CAN.KDMX.TO.W.0008.000000T0000Z-260521T2000Z/", false},
		"it ran out, but only in these places": {"/O.EXP.KDMX.TO.W.0008.000000T0000Z-260521T2000Z/", false},
	} {
		r := one(t, with(tornado(), object{"references": follows, "parameters": vtecs(tt.vtec)}))
		if got := slices.Contains(r.Replaces, "urn:oid:1.0"); got != tt.want {
			t.Errorf("%s: replaces %v", name, r.Replaces)
		}
	}
}

func TestIssuesOfOneAlertWithoutVTECAreOne(t *testing.T) {
	alert := func(id, sent, onset, event, zone string) object {
		o := with(tornado(), object{"id": "urn:oid:" + id, "@id": "", "sent": sent, "onset": onset, "ends": nil, "expires": "2026-05-22T12:00:00Z", "event": event,
			"affectedZones": []string{api + "zones/forecast/" + zone}, "parameters": object{"AWIPSidentifier": []string{"AQADMX"}}})
		o["geometry"] = nil
		return o
	}
	first := alert("1.1", "2026-05-21T10:00:00Z", "2026-05-21T10:00:00Z", "Air Quality Alert", "IAZ001")
	for name, tt := range map[string]struct {
		second object
		one    bool
	}{
		"a new issue":      {alert("1.2", "2026-05-21T11:00:00Z", "2026-05-21T11:00:00Z", "Air Quality Alert", "IAZ001"), true},
		"of another zone":  {alert("1.2", "2026-05-21T11:00:00Z", "2026-05-21T11:00:00Z", "Air Quality Alert", "IAZ002"), false},
		"of another event": {alert("1.2", "2026-05-21T11:00:00Z", "2026-05-21T11:00:00Z", "Special Weather Statement", "IAZ001"), false},
		"for days later":   {alert("1.2", "2026-05-21T11:00:00Z", "2026-05-25T11:00:00Z", "Air Quality Alert", "IAZ001"), false},
	} {
		b := parsed(t, collection(nationalTitle, tt.second, first), at(t, "2026-05-21T12:00:00Z"))
		newer := b.Reports[0]
		if got := newer.Key == "urn:oid:1.1" && slices.Contains(newer.Replaces, "urn:oid:1.1"); got != tt.one || b.Reports[1].Replaces != nil {
			t.Errorf("%s: key %s, replaces %v", name, newer.Key, newer.Replaces)
		}
	}
}

func TestAbsurdReportsAreHeld(t *testing.T) {
	for want, o := range map[string]object{
		"ends: 2027-06-01":  with(tornado(), object{"ends": "2027-06-01T00:00:00Z", "parameters": object{}}),
		"onset: 2030-05-21": with(tornado(), object{"onset": "2030-05-21T00:00:00Z", "parameters": object{}}),
		"sent: 2026-05-22":  with(tornado(), object{"sent": "2026-05-22T00:00:00Z"}),
		"no place: neither geometry": func() object {
			o := with(tornado(), object{"affectedZones": nil, "geocode": object{}})
			o["geometry"] = nil
			return o
		}(),
	} {
		if r := one(t, o); !strings.Contains(r.Suspect, want) {
			t.Errorf("suspect %q, want it to say %q", r.Suspect, want)
		}
	}
	if r := one(t, with(tornado(), object{"ends": "2027-05-20T00:00:00Z"})); r.Suspect != "" {
		t.Errorf("within a year: suspect %q", r.Suspect)
	}
}

// A new name does not hold back a warning.
func TestAnUnknownEventIsShownWithANote(t *testing.T) {
	r := one(t, with(tornado(), object{"event": "Meteor Warning", "parameters": object{}}))
	if r.Suspect != "" || r.Severity != hazard.Warning || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], `"Meteor Warning" is in no list`) {
		t.Errorf("%s, suspect %q, notes %q", r.Severity, r.Suspect, r.Notes)
	}
}

// The name of an emergency contains that word.
func TestEmergenciesStandOutInTheName(t *testing.T) {
	for want, o := range map[string]object{
		"Tornado Emergency - Polk, IA; Story, IA":                                  with(tornado(), object{"parameters": object{"tornadoDamageThreat": []string{"CATASTROPHIC"}}}),
		"Tornado Warning (particularly dangerous situation) - Polk, IA; Story, IA": with(tornado(), object{"parameters": object{"tornadoDamageThreat": []string{"CONSIDERABLE"}}}),
		"Flash Flood Emergency - Polk, IA; Story, IA":                              with(tornado(), object{"event": "Flash Flood Warning", "parameters": object{"flashFloodDamageThreat": []string{"CATASTROPHIC"}}}),
		"Flash Flood Warning - Polk, IA; Story, IA":                                with(tornado(), object{"event": "Flash Flood Warning", "parameters": object{"flashFloodDamageThreat": []string{"CONSIDERABLE"}}}),
		"Severe Thunderstorm Warning (destructive) - Polk, IA; Story, IA":          with(tornado(), object{"event": "Severe Thunderstorm Warning", "parameters": object{"thunderstormDamageThreat": []string{"DESTRUCTIVE"}}}),
		"Tornado Warning - Polk, IA; Story, IA":                                    with(tornado(), object{"parameters": object{}}),
	} {
		if r := one(t, o); r.Name != want || r.Suspect != "" {
			t.Errorf("%q, suspect %q, want %q", r.Name, r.Suspect, want)
		}
	}
}

func TestPlacesAreTheZonesOfTheirKind(t *testing.T) {
	for name, tt := range map[string]struct {
		event   string
		zones   []string
		geocode object
		want    []string
	}{
		"affected zones first": {"Flood Warning", []string{api + "zones/county/IAC153", api + "zones/forecast/IAZ060"}, object{"UGC": []string{"IAC001"}}, []string{"IAC153", "IAZ060"}},
		"fire zones":           {"Red Flag Warning", []string{api + "zones/fire/CAZ071", api + "zones/fire/CAZ071"}, object{}, []string{"fire/CAZ071"}},
		"else UGC":             {"Flood Warning", nil, object{"UGC": []string{"IAZ060", "IAC153"}, "SAME": []string{"019153"}}, []string{"IAC153", "IAZ060"}},
		"of fire weather":      {"Red Flag Warning", nil, object{"UGC": []string{"CAZ071"}}, []string{"fire/CAZ071"}},
		"else SAME":            {"Civil Emergency Message", nil, object{"SAME": []string{"048325", "x", "48325"}}, []string{"SAME:048325"}},
	} {
		r := one(t, with(tornado(), object{"event": tt.event, "affectedZones": tt.zones, "geocode": tt.geocode, "parameters": object{}}))
		if !cmp.Equal(r.Places, tt.want) {
			t.Errorf("%s: %v, want %v", name, r.Places, tt.want)
		}
	}
}

func TestAddressIsHTTPSOnly(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.weather.gov/alerts/x": "https://api.weather.gov/alerts/x",
		"javascript:alert(1)":              api + "alerts/urn:oid:1.1",
		"http://api.weather.gov/alerts/x":  api + "alerts/urn:oid:1.1",
		"":                                 api + "alerts/urn:oid:1.1",
	} {
		if got := one(t, with(tornado(), object{"@id": in})).URL; got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAreaInTheNameIsShort(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		" ; ":                                   "",
		"Polk, IA":                              "Polk, IA",
		"Polk, IA; Story, IA;":                  "Polk, IA; Story, IA",
		strings.Repeat("Bartholomew, IN; ", 9):  "Bartholomew, IN; Bartholomew, IN; Bartholomew, IN; Bartholomew, IN and 5 more",
		strings.Repeat("é", 100) + "; Polk, IA": strings.Repeat("é", 79) + "… and 1 more",
	} {
		if got := shortArea(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParagraphsAreUnwrapped(t *testing.T) {
	in := `* WHAT...Sustained wind speeds of 25 to 30 mph with gusts of 35
to 45 mph will be likely.

- Forecast...The river will rise above flood stage early tomorrow
afternoon to 22.3 feet Sunday morning.
- Flood stage is 21.0 feet.
BENTON                CEDAR
JOHNSON               JONES`
	want := `* WHAT...Sustained wind speeds of 25 to 30 mph with gusts of 35 to 45 mph will be likely.

- Forecast...The river will rise above flood stage early tomorrow afternoon to 22.3 feet Sunday morning.
- Flood stage is 21.0 feet.
BENTON                CEDAR
JOHNSON               JONES`
	if diff := cmp.Diff(want, unwrap(in)); diff != "" {
		t.Error(diff)
	}
}

func TestTextIsCleaned(t *testing.T) {
	r := one(t, with(tornado(), object{"description": "up\u202e and\x00 down", "areaDesc": "Polk\u202e,\nIA", "senderName": " NWS\u200b  X "}))
	for _, s := range []string{r.Name, r.Description, r.Creator, r.Products[1].Data, r.Products[1].Title} {
		if strings.ContainsAny(s, "\u202e\x00\u200b") {
			t.Errorf("%q deceives", s)
		}
	}
	if r.Creator != "NWS X" {
		t.Errorf("creator %q", r.Creator)
	}
}

func TestAHurricaneWarningSaysWhatToDo(t *testing.T) {
	text := `* WIND
- PREPARE: Last minute efforts should solely focus on
protecting life.
- ACT: Now is the time to shelter from life-threatening wind.

- POTENTIAL IMPACTS: Unfolding

* STORM SURGE
- ACT: Stay away from storm surge prone areas. Continue to
follow the instructions of local officials.

* TORNADO
- ACT: Now is the time to shelter from life-threatening wind.`
	want := "Now is the time to shelter from life-threatening wind.\n" +
		"Stay away from storm surge prone areas. Continue to follow the instructions of local officials."
	if got := acts(text); got != want {
		t.Errorf("acts() = %q, want %q", got, want)
	}
	if got := acts("* WHAT...ACT: no line of its own"); got != "" {
		t.Errorf("acts() = %q, want nothing", got)
	}
}
