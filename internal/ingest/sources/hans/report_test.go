package hans

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestTheLevelOnTheGroundDecides(t *testing.T) {
	for words, want := range map[string]struct {
		severity hazard.Severity
		ended    bool
	}{
		"WARNING/RED":           {hazard.Warning, false},
		"WARNING/ORANGE":        {hazard.Warning, false}, // lava, no ash
		"WATCH/RED":             {hazard.Watch, false},   // ash, nobody near
		"WATCH/ORANGE":          {hazard.Watch, false},
		"ADVISORY/YELLOW":       {hazard.Advisory, false},
		"advisory/yellow":       {hazard.Advisory, false},
		"WATCH/PURPLE":          {hazard.Watch, false},
		"WATCH/":                {hazard.Watch, false},
		"NORMAL/GREEN":          {hazard.Information, true},
		"UNASSIGNED/UNASSIGNED": {hazard.Information, true},
		"UNASSIGNED/RED":        {hazard.Warning, false},
		"UNASSIGNED/ORANGE":     {hazard.Watch, false},
		"/YELLOW":               {hazard.Advisory, false},
		"UNASSIGNED/GREEN":      {hazard.Information, true},
	} {
		alert, colour, _ := strings.Cut(words, "/")
		r := one(t, a("WATCH", alert, "ORANGE", colour))
		if r.Severity != want.severity || (r.Ended == hazard.EndAllClear) != want.ended || r.Suspect != "" {
			t.Errorf("%s: %v, ended %q, suspect %q", words, r.Severity, r.Ended, r.Suspect)
		}
		if r.Level != strings.Trim(strings.ToUpper(words), "/") {
			t.Errorf("%s: level %q", words, r.Level)
		}
	}
}

func TestAnUnknownLevelIsHeldAtThatOfItsColour(t *testing.T) {
	r := one(t, a("WATCH", "ELEVATED"))
	if r.Severity != hazard.Watch || r.Ended != "" || r.Suspect != `alert_level, color_code: "ELEVATED", "ORANGE" are not in the mapping table` {
		t.Errorf("%v, suspect %q", r.Severity, r.Suspect)
	}
	if r := one(t, a("WATCH", "ELEVATED", "ORANGE", "GREEN")); r.Severity != hazard.Information || r.Ended != "" || r.Suspect == "" {
		t.Errorf("%v, ended %q, suspect %q", r.Severity, r.Ended, r.Suspect)
	}
}

func TestTimes(t *testing.T) {
	for name, tt := range map[string]struct{ record, sent, suspect string }{
		"both":            {a(), "2026-07-27T19:44:38Z", ""},
		"as a string":     {a("1785181478", `"1785181478"`), "2026-07-27T19:44:38Z", ""},
		"words only":      {a("1785181478", "null"), "2026-07-27T19:44:38Z", ""},
		"zero":            {a("1785181478", "0"), "2026-07-27T19:44:38Z", ""},
		"with offset":     {capped(), "2026-07-27T19:44:38Z", ""},
		"contradicting":   {a("2026-07-27 19", "2026-07-26 19"), "2026-07-27T19:44:38Z", "sent_utc: 2026-07-26T19:44:38.000Z, but sent_unixtime is 2026-07-27T19:44:38.000Z"},
		"ahead":           {a("1785181478", "null", "2026-07-27 19", "2026-07-27 22"), "2026-07-27T22:44:38Z", "sent_utc: 2026-07-27T22:44:38.000Z is in the future"},
		"years ago":       {a("1785181478", "null", "2026-07-27 19", "2021-07-27 19"), "2021-07-27T19:44:38Z", "sent_utc: 2021-07-27T19:44:38.000Z is more than a year ago"},
		"years of normal": {a("1785181478", "null", "2026-07-27 19", "2021-07-27 19", "WATCH", "NORMAL"), "2021-07-27T19:44:38Z", ""},
	} {
		if r := one(t, tt.record); r.Version != int64(sourcetest.At(tt.sent)) || r.Suspect != tt.suspect {
			t.Errorf("%s: %v, suspect %q", name, hazard.Instant(r.Version), r.Suspect)
		}
	}
}

func TestAlertsInCAPHavePositionAndSynopsis(t *testing.T) {
	r := one(t, capped())
	if r.Name != "Volcanic Activity - Great Sitkin, Alaska" || r.Called != "Great Sitkin" || *r.Point != (hazard.Point{Lon: -176.1109, Lat: 52.0765}) {
		t.Errorf("%q called %q at %v", r.Name, r.Called, r.Point)
	}
	if !strings.Contains(r.Description, "\n\nSlow eruption of lava within the summit crater continues.\n\n") {
		t.Errorf("description %q", r.Description)
	}
	if len(r.Products) != 3 || r.Products[1].Type != hazard.TextProduct || r.Products[1].Data != "Slow eruption of lava within the summit crater continues." {
		t.Errorf("products %+v", r.Products)
	}
}

func TestPositionsOfAlerts(t *testing.T) {
	for position, want := range map[string]hazard.Point{
		`"latitude":52.0765,"longitude":-176.1109`:     {Lon: -176.1109, Lat: 52.0765},
		`"latitude":"52.0765","longitude":"-176.1109"`: {Lon: -176.1109, Lat: 52.0765},
		`"latitude":-176.1109,"longitude":52.0765`:     {Lon: -176.1109, Lat: 52.0765}, // latitude and longitude are swapped
		`"latitude":52.5,"longitude":183.5`:            {Lon: -176.5, Lat: 52.5},
	} {
		r := one(t, capped(`"latitude":52.0765,"longitude":-176.1109`, position))
		if r.Suspect != "" || r.Point == nil || *r.Point != want {
			t.Errorf("%s: %v, suspect %q", position, r.Point, r.Suspect)
		}
	}
	for position, why := range map[string]string{
		`"latitude":0,"longitude":0`:             "latitude, longitude: 0, 0, expected the volcano's position",
		`"latitude":95,"longitude":181`:          "latitude, longitude: 95, 181, expected the volcano's position",
		`"latitude":52.0765,"longitude":null`:    "latitude, longitude: missing, expected degrees",
		`"latitude":null,"longitude":-176.1109`:  "latitude, longitude: missing, expected degrees",
		`"latitude":52.0765,"longitude":-1761.1`: "latitude, longitude: 52.0765, -1761.1, expected the volcano's position",
	} {
		if r := one(t, capped(`"latitude":52.0765,"longitude":-176.1109`, position)); r.Suspect != why || r.Point != nil {
			t.Errorf("%s: %v, suspect %q", position, r.Point, r.Suspect)
		}
	}
}

func TestTextIsMadeFitToShow(t *testing.T) {
	r := one(t, a("Great Sitkin", `Great\u0007\u202e\nSitkin`, "Alaska Volcano", "Alaska\xff Volcano", `"DU"`, `"éx"`,
		`https:\/\/`, `javascript:\/\/`))
	if r.Called != "Great Sitkin" || r.URL != "" || len(r.Products) != 1 || !strings.Contains(r.Description, "Alaska Volcano Observatory") {
		t.Errorf("called %q, url %q, %d products, %q", r.Called, r.URL, len(r.Products), r.Description)
	}
}

func TestTwoRecordsThatContradictEachOtherAreHeld(t *testing.T) {
	batch, err := Parse(records(a(), a("WATCH", "WARNING"), a()), now)
	if err != nil || len(batch.Reports) != 2 || batch.Ignored != 1 {
		t.Fatalf("error %v, %d reports, %d ignored", err, len(batch.Reports), batch.Ignored)
	}
	for _, r := range batch.Reports {
		if r.Suspect != clash {
			t.Errorf("suspect %q", r.Suspect)
		}
	}
}

// The notices of three days make one event from the first one on, in any order, and NORMAL ends it.
func TestNoticesMakeOneEvent(t *testing.T) {
	day := func(n, level string) hazard.Report {
		return one(t, a("1785181478", "null", "2026-07-27 19", "2026-07-"+n+" 19", "AVO-2026-07-27", "AVO-2026-07-"+n, "WATCH", level))
	}
	first, second, third := day("25", "ADVISORY"), day("26", "WATCH"), day("27", "NORMAL")
	for _, parts := range [][]hazard.Report{{first, second}, {second, first}} {
		state := hazard.Derive(parts, now)
		if state.Ended != "" || state.Head.Start != first.Start || state.Head.Severity != hazard.Watch || state.End != second.Start.Add(30*24*time.Hour) {
			t.Errorf("ended %q, start %v, %v, end %v", state.Ended, state.Head.Start, state.Head.Severity, state.End)
		}
		if diff := cmp.Diff([]string{"gvp:311120"}, state.Places); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	}
	for _, parts := range [][]hazard.Report{{first, second, third}, {third, second, first}, {second, third, first}} {
		if state := hazard.Derive(parts, now); state.Ended != hazard.EndAllClear || state.EndedAt != third.Start {
			t.Errorf("ended %q at %v", state.Ended, state.EndedAt)
		}
	}
}

// The same notice may be in the list and in CAP. The one with a position counts, in either order.
func TestTheFullerFormOfANoticeCounts(t *testing.T) {
	list, alert := one(t, a()), one(t, capped())
	for _, parts := range [][]hazard.Report{{list, alert}, {alert, list}} {
		if state := hazard.Derive(parts, now); state.Head.Point == nil || len(state.Owned) != 1 {
			t.Errorf("point %v, owned %v", state.Head.Point, state.Owned)
		}
	}
}

func TestPlaces(t *testing.T) {
	const address = "https://volcanoes.usgs.gov/hans-public/api/volcano/getVolcano/311120"
	if got := PlaceURL("gvp:311120"); got != address {
		t.Errorf("address %q", got)
	}
	for _, code := range []string{"", "311120", "gvp:", "gvp:31112", "gvp:../x", "INC005"} {
		if got := PlaceURL(code); got != "" {
			t.Errorf("%s: address %q", code, got)
		}
	}
	const one = `{"vnum":"311120","volcano_name":"Great Sitkin","latitude":52.0765,"longitude":-176.1109,"region":"Alaska"}`
	for _, payload := range []string{one, " [" + one + "]\n"} {
		code, geometry, name, err := ParsePlace([]byte(payload))
		if code != "gvp:311120" || string(geometry) != `{"type":"Point","coordinates":[-176.1109,52.0765]}` || name != "Great Sitkin" || err != nil {
			t.Errorf("%q at %s, %q, error %v", code, geometry, name, err)
		}
		places := Places{Kept: func(_ context.Context, code string) (string, error) {
			if code != "gvp:311120" {
				return "", errors.New("not found")
			}
			return string(geometry), nil
		}}
		shape, ok := places.Shape(t.Context(), "gvp:311120")
		if lon, lat := shape.Point(); !ok || lon != -176.1109 || lat != 52.0765 {
			t.Errorf("shape at %v %v, known %v", lon, lat, ok)
		}
		if _, ok := places.Shape(t.Context(), "gvp:999999"); ok {
			t.Error("a volcano that nobody knows has a place")
		}
	}
	for _, payload := range []string{"", "[]", "{}", "<html>", `{"error":"not found"}`, "[" + one + "," + one + "]", `{"vnum":"311120","latitude":0,"longitude":0}`} {
		if code, _, _, err := ParsePlace([]byte(payload)); err == nil || code != "" {
			t.Errorf("%s: %q, error %v", payload, code, err)
		}
	}
}

func TestListsWithPositions(t *testing.T) {
	got, err := ParsePositions(records(capped(), a(), `7`, capped("311120", "x"), capped("311120", "284141", "Great Sitkin Volcano", "Ahyi Seamount", "52.0765", "20.42", "-176.1109", "145.03")))
	if diff := cmp.Diff([]Position{{"gvp:311120", "Great Sitkin", -176.1109, 52.0765}, {"gvp:284141", "Ahyi Seamount", 145.03, 20.42}}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
