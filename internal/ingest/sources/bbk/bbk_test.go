package bbk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// warning0 returns a warning: the recorded all-clear, changed back to a warning.
func warning0(t testing.TB) []byte {
	one := strings.NewReplacer(`"Cancel"`, `"Alert"`, `"AllClear"`, `"Shelter"`, "Entwarnung: ", "", `"references": "DE-SL-SB-SE035,mow.DE-SL-SB-SE035-20260920-35-000,2026-09-20T14:02:18-00:00",`, "").
		Replace(string(recordings.Read(t, "feeds/bbk/mowas-cancel-20260920.json")))
	return []byte(strings.ReplaceAll(one, "-35-001", "-35-100"))
}

// warnings returns several warnings in one document, which package cap can read too.
func warnings(t testing.TB) []byte {
	var all []string
	for i := range 5 {
		all = append(all, strings.ReplaceAll(string(warning0(t)), "-35-100", fmt.Sprintf("-35-%03d", 100+i)))
	}
	return []byte(`{"warnings":[` + strings.Join(all, ",") + `]}`)
}

func laws(t testing.TB) sourcetest.Source {
	return sourcetest.Source{Parse: Parse, Payload: warnings(t), At: "2026-09-20T17:00:00Z", List: "warnings",
		Needed: []string{"identifier", "sender", "sent", "status", "scope", "references", "info/0/severity"}}
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws(t)) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, sourcetest.Source{Parse: Parse, At: "2026-09-20T17:00:00Z"}, list, `{"identifier":"mow.A-1","info":[{`, `[null,{},7,"`)
}

var now = hazard.At(time.Date(2026, 9, 20, 16, 0, 0, 0, time.UTC))

func parse(t *testing.T, payload string) source.Batch {
	t.Helper()
	b, err := Parse([]byte(payload), now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const list = `[{"id":"mow.DE-NW-K-SE080-20260920-80-000","version":2,"startDate":"2026-09-20T14:02:18+02:00","expiresDate":"2026-09-21T14:02:18+02:00","severity":"Extreme","urgency":"Immediate","type":"Alert",
"i18nTitle":{"de":"Großbrand"},"transKeys":{"event":"BBK-EVC-001"}},null,{"id":"../../x","version":1},{"id":"lhp.HOCHWASSERZENTRALEN.DE.NW","startDate":"yesterday"}]`

func TestAListLeadsToItsWarnings(t *testing.T) {
	b := parse(t, list)
	if len(b.Links) != 2 || len(b.Rejects) != 2 || b.Read != 4 || b.Whole || b.Lasting != nil {
		t.Fatalf("%+v", b)
	}
	if l := b.Links[0]; l.URL != "https://warnung.bund.de/api31/warnings/mow.DE-NW-K-SE080-20260920-80-000.json" || l.ID != "id:mow.DE-NW-K-SE080-20260920-80-000 2" ||
		l.Updated.String() != "2026-09-20T12:02:18.000Z" || l.Expires.String() != "2026-09-21T12:02:18.000Z" {
		t.Errorf("%+v", l)
	}
	if l := b.Links[1]; l.ID != "id:lhp.HOCHWASSERZENTRALEN.DE.NW" || l.Updated != nil {
		t.Errorf("%+v", l)
	}
	if b := parse(t, string(recordings.Read(t, "feeds/bbk/dashboard-20260919.json"))); len(b.Links) != 1 || !strings.HasPrefix(b.Links[0].ID, "id:dwd.2.49.0.0.276.") {
		t.Errorf("the dashboard: %+v", b)
	}
}

// The list of MoWaS holds what is in force, and nothing else. Of the other lists that is not known.
func TestTheListOfMoWaSIsWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		list  string
		whole bool
		names []string
	}{
		"MoWaS":          {`[{"id":"mow.A-1"},{"id":"mow.B-1"}]`, true, []string{"id:mow.A-1", "id:mow.B-1"}},
		"none":           {`[]`, true, []string{}},
		"others":         {`[{"id":"dwd.A-1"}]`, false, nil},
		"both":           {`[{"id":"mow.A-1"},{"id":"dwd.A-1"}]`, false, nil},
		"with a bad one": {`[{"id":"mow.A-1"},{"id":"../x"}]`, false, nil},
	} {
		if b := parse(t, tt.list); b.Whole != tt.whole || !slices.Equal(b.Lasting, tt.names) || (b.Lasting == nil) != (tt.names == nil) {
			t.Errorf("%s: whole %t, lasting %q", name, b.Whole, b.Lasting)
		}
	}
	r := parse(t, string(warning0(t))).Reports[0]
	if !slices.Contains(r.Aliases, "id:mow.DE-SL-SB-SE035-20260920-35-100") || !lasts(r.Key, r.Start, now) || lasts("de-sl-sb-se035,dwd.A-1,2026-09-20T14:02:18Z", r.Start, now) {
		t.Errorf("%q, %q", r.Key, r.Aliases)
	}
}

func TestAnAllClearEndsWhatItRefersTo(t *testing.T) {
	b := parse(t, string(recordings.Read(t, "feeds/bbk/mowas-cancel-20260920.json")))
	if len(b.Reports) != 1 || b.Reports[0].Ended == "" || !slices.ContainsFunc(b.Reports[0].Aliases, func(a string) bool { return strings.Contains(a, "-35-000") }) && !strings.Contains(b.Reports[0].Key, "-35-000") {
		t.Errorf("%+v", b.Reports)
	}
}

func TestAWarningLeadsToItsShape(t *testing.T) {
	b := parse(t, string(warnings(t)))
	if len(b.Reports) != 5 {
		t.Fatalf("%+v", b)
	}
	b = parse(t, string(warning0(t)))
	r := b.Reports[0]
	code := "BBK:mow.DE-SL-SB-SE035-20260920-35-100"
	if !slices.Contains(r.Places, code) || len(r.Texts) != 2 || r.Name == "" || strings.ContainsAny(r.Description, "<>&") {
		t.Errorf("%+v", r)
	}
	if a := PlaceURL(code); a != "https://warnung.bund.de/api31/warnings/mow.DE-SL-SB-SE035-20260920-35-100.geojson" {
		t.Error(a)
	}
	for _, code := range []string{"BBK:../x", "area:Siersburg", "BBK:"} {
		if a := PlaceURL(code); a != "" {
			t.Errorf("%s: %s", code, a)
		}
	}
}

const square = `{"type":"Feature","properties":{"warnId":"mow.A-1"},"geometry":{"type":"Polygon","coordinates":[[[%d,49],[%d.5,49],[%d.5,50],[%d,50],[%d,49]]]}}`

func shape(lons ...int) string {
	var all []string
	for _, lon := range lons {
		all = append(all, fmt.Sprintf(square, lon, lon, lon, lon, lon))
	}
	return `{"type":"FeatureCollection","features":[` + strings.Join(all, ",") + `]}`
}

func TestShapes(t *testing.T) {
	code, geometry, _, err := ParsePlace([]byte(shape(6, 8)))
	if err != nil || code != "BBK:mow.A-1" || !strings.Contains(string(geometry), "MultiPolygon") {
		t.Errorf("%v: %s, %s", err, code, geometry)
	}
	for name, payload := range map[string]string{
		"empty": "", "none": shape(), "cut": shape(6, 8)[:200], "another": `{"type":"FeatureCollection","features":[]}`,
		"half of it cannot be read": strings.Replace(shape(6, 8), "[8,49],[8.5,49]", "[8,490],[8.5,49]", 1), "without a name": strings.ReplaceAll(shape(6), "mow.A-1", ""),
	} {
		if code, _, _, err := ParsePlace([]byte(payload)); err == nil {
			t.Errorf("%s: %s, want an error", name, code)
		}
	}
}

// The weather service's warnings also come through other feeds, under the weather service's own
// names.
func TestAWarningOfTheWeatherServiceHasItsOwnName(t *testing.T) {
	one := strings.ReplaceAll(string(warning0(t)), "mow.DE-SL-SB-SE035-20260920-35-", "dwd.2.49.0.0.276.0.DWD.PVW.1789837260000.")
	r := parse(t, one).Reports[0]
	if !slices.Contains(r.Refs, "cap:de-sl-sb-se035,2.49.0.0.276.0.DWD.PVW.1789837260000.100") {
		t.Errorf("%q", r.Refs)
	}
}

// The event of MoWaS is only a level (Warnung, Gefahrenmitteilung, Gefahreninformation), which the
// severity also contains. The headline describes what happens.
func TestGermanTermsAsTypesAndLevels(t *testing.T) {
	for headline, want := range map[string]hazard.Type{
		"Stromausfall": hazard.Equipment, "Ausfall Notruf 112": hazard.Equipment, "Störung der Wasserversorgung": hazard.Equipment, "Ausfall Telefonnetz": hazard.Equipment,
		"Bombenentschärfung": hazard.Incident, "Entschärfung einer Weltkriegsbombe": hazard.Incident, "Abkochgebot": hazard.Incident, "Großbrand": hazard.Incident,
		"Brand in Industriebetrieb": hazard.Incident, "Geruchsbelästigung": hazard.Incident, "Evakuierung": hazard.Incident, "Trinkwasserverunreinigung": hazard.Incident,
		"Gasaustritt": hazard.Accident, "Gefahrstofffreisetzung": hazard.Accident, "Unfall im Kernkraftwerk": hazard.Accident, "Erhöhte Radioaktivität": hazard.Accident,
		"Geflügelpest": hazard.Biomedical, "Afrikanische Schweinepest": hazard.Biomedical, "Moorbrand": hazard.Wildfire, "Waldbrand": hazard.Wildfire,
		"Hochwasser der Saar": hazard.Flood, "Deichbruch": hazard.Flood, "Dammbruch": hazard.Flood, "Sturmflut": hazard.Flood, "Amoklage": hazard.ActiveShooter, "Cyberangriff": hazard.Cyber,
	} {
		b := parse(t, strings.Replace(string(warning0(t)), `"headline": "Stromabschaltung`, `"headline": "`+headline, 1))
		if len(b.Reports) != 1 || b.Reports[0].Type != want || len(b.Reports[0].Notes) > 0 || b.Reports[0].Suspect != "" {
			t.Errorf("%s: %+v, want %s", headline, b.Reports, want)
		}
	}
	for severity, want := range map[string]hazard.Severity{"Extreme": hazard.Warning, "Severe": hazard.Watch, "Moderate": hazard.Advisory, "Minor": hazard.Information} {
		b := parse(t, strings.ReplaceAll(string(warning0(t)), `"severity": "Minor"`, `"severity": "`+severity+`"`))
		if len(b.Reports) != 1 || b.Reports[0].Severity != want {
			t.Errorf("%s: %+v, want %s", severity, b.Reports, want)
		}
	}
	for headline, test := range map[string]bool{"Probewarnung zum Bundesweiten Warntag": true, "Sirenenprobe": true, "Achter Hitzewarntag in Folge": false} {
		b := parse(t, strings.Replace(string(warning0(t)), `"headline": "Stromabschaltung`, `"headline": "`+headline, 1))
		if len(b.Reports) != 1 || (b.Reports[0].Suspect != "") != test {
			t.Errorf("%s: %+v, want it held: %t", headline, b.Reports, test)
		}
	}
}
