package nifc

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func TestALocationIsReportedInFull(t *testing.T) {
	start, mod := sourcetest.At("2026-04-18T19:30:00Z"), sourcetest.At("2026-05-12T23:11:35Z")
	want := hazard.Report{
		Source: "nifc", Key: guid, Places: []string{"incident"}, Version: int64(mod), Name: "Wildfire - Pineland Road, Georgia",
		Description: "Wildfire Pineland Road in Clinch County, Georgia, 13 Miles NW from Fargo, GA.\nSize: 32,575 acres (132 km²).\nContained: 90 %.\n" +
			"Behaviour: active, creeping.\nCause: human.\nPersonnel: 1,234.\nDiscovered: 18 April 2026 19:30 UTC.\n" +
			"Source: National Interagency Fire Center, incident data of 12 May 2026 23:11 UTC, complexity: Type 2 Incident.",
		Type: hazard.Wildfire, Severity: hazard.Watch, Category: hazard.Event, Start: start, Renewed: &mod, LifeMS: 7 * 24 * 3600 * 1000,
		Point: &hazard.Point{Lon: -82.65, Lat: 30.78}, Refs: []string{"irwin:" + guid, "nifc:2026-GAGAS-320025"},
		Called: "Pineland Road", Level: "Type 2 Incident", URL: "https://irwin.doi.gov/observer/incidents/2026-GAGAS-320025",
		Comment: "nifc:" + guid, Creator: "NIFC",
		Measurements: []hazard.Measurement{{Name: hazard.BurntArea, Value: 13182.635}, {Name: hazard.Containment, Value: 90}},
		Products: []hazard.ReportProduct{
			{Key: "nifc", Title: "NIFC", Type: hazard.FolderProduct, Time: start},
			{Key: "irwin", Parent: "nifc", Title: "IRWIN incident 2026-GAGAS-320025", Type: hazard.URLProduct,
				Data: "https://irwin.doi.gov/observer/incidents/2026-GAGAS-320025", Time: mod},
		},
	}
	if diff := cmp.Diff(want, one(t, a())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSizeDecidesTheSeverityAndIsNeverAWarning(t *testing.T) {
	for acres, want := range map[string]hazard.Severity{
		"0.1": hazard.Information, "9999.9": hazard.Information, "10000": hazard.Watch, "1000000": hazard.Watch, "null": hazard.Information,
		`"12000"`: hazard.Watch,
	} {
		if r := one(t, a("32575", acres)); r.Severity != want || r.Suspect != "" {
			t.Errorf("%s acres: %v, suspect %q", acres, r.Severity, r.Suspect)
		}
	}
	if r := one(t, a(`"IncidentSize"`, `"DailyAcres"`)); r.Severity != hazard.Watch { // the name in 2021
		t.Errorf("DailyAcres: %v", r.Severity)
	}
	if r := one(t, edged(`"attr_IncidentSize":32575`, `"attr_IncidentSize":null`)); r.Severity != hazard.Watch { // then the size of the polygon is used
		t.Errorf("poly_GISAcres: %v", r.Severity)
	}
}

// A complex is shown only while the list has none of its fires, or none that goes on.
func TestAComplexIsShownWhereItsFiresAreNot(t *testing.T) {
	const id = "9FDFCF35-602B-439E-8CF7-E4225C89AD9F"
	complex := a(`"WF"`, `"CX"`, "Pineland Road", "Stateline Complex", guid, id)
	member := func(name string, pairs ...string) string {
		return a(append([]string{`"CpxName":null`, name}, pairs...)...)
	}
	for name, tt := range map[string]struct {
		list []string
		want []string // keys of the fires that go on
	}{
		"alone":                 {[]string{complex}, []string{id}},
		"beside its fire":       {[]string{complex, member(`"CpxName":"Stateline Complex","CpxID":"{` + strings.ToLower(id) + `}"`)}, []string{guid}},
		"after its fire":        {[]string{member(`"CpxName":"Stateline Complex","CpxID":"{` + id + `}"`), complex}, []string{guid}},
		"named without its id":  {[]string{complex, member(`"CpxName":"STATELINE COMPLEX"`)}, []string{guid}},
		"beside another fire":   {[]string{complex, member(`"CpxName":null`)}, []string{id, guid}},
		"its fire is contained": {[]string{complex, member(`"CpxName":"Stateline Complex"`, `"PercentContained":90`, `"PercentContained":100`)}, []string{id}},
	} {
		batch, err := Parse(collection(tt.list...), now)
		var got []string
		for _, r := range batch.Reports {
			if r.Ended == "" {
				got = append(got, r.Key)
			}
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if err != nil || !slices.Equal(got, tt.want) || batch.Read != len(tt.list) || len(batch.Rejects) > 0 {
			t.Errorf("%s: %v, error %v, rejects %v, want %v", name, got, err, batch.Rejects, tt.want)
		}
	}
}

func TestOnlyWildfiresMakeHazards(t *testing.T) {
	for _, kind := range []string{"RX", "rx", "CX"} {
		all := []string{a(`"WF"`, `"`+kind+`"`), edged(`"WF"`, `"`+kind+`"`)}
		if kind == "CX" {
			all = all[1:]
		}
		for _, f := range all {
			if batch, err := Parse(collection(f), now); err != nil || batch.Ignored != 1 || len(batch.Reports) != 0 {
				t.Errorf("%s: error %v, ignored %d, %d reports", kind, err, batch.Ignored, len(batch.Reports))
			}
		}
	}
	for feature, why := range map[string]string{
		a(`"WF"`, `null`): `IncidentTypeCategory: "", expected WF, RX or CX`,
		a(`"WF"`, `"XX"`): `IncidentTypeCategory: "XX", expected WF, RX or CX`,
		edged(`"Wildfire Daily Fire Perimeter"`, `"Prescribed Fire"`): `poly_FeatureCategory: "Prescribed Fire", but attr_IncidentTypeCategory is "WF"`,
		a(`"FI"`, `"FA"`):                    `IncidentTypeKind: "FA", expected FI`,
		a("Pineland Road", "FALSE ALARM 3"):  `IncidentName says FALSE ALARM: "False Alarm 3"`,
		a("Pineland Road", "Statewide Test"): `IncidentName says TEST: "Statewide Test"`,
	} {
		if r := one(t, feature); r.Suspect != why {
			t.Errorf("suspect %q, want %q", r.Suspect, why)
		}
	}
	if r := one(t, a("Pineland Road", "Testament Creek")); r.Suspect != "" {
		t.Errorf("suspect %q", r.Suspect)
	}
}

func TestIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		feature, key string
		refs         []string
	}{
		"in braces":             {a(), guid, []string{"irwin:" + guid, "nifc:2026-GAGAS-320025"}},
		"small, without braces": {a("{"+guid+"}", strings.ToLower(guid)), guid, []string{"irwin:" + guid, "nifc:2026-GAGAS-320025"}},
		"of the polygon":        {edged(`"attr_IrwinID":"{`+guid+`}"`, `"attr_IrwinID":null`), guid, []string{"irwin:" + guid, "nifc:2026-GAGAS-320025"}},
		"without unique id":     {a(`"2026-GAGAS-320025"`, `null`), guid, []string{"irwin:" + guid}},
		"a strange unique id":   {a(`2026-GAGAS-320025`, `../x`), guid, []string{"irwin:" + guid}},
		"unique id alone":       {a(`"{`+guid+`}"`, `null`, `2026-GAGAS-320025`, `2026-MAMAS-FD03-rx-01`), "2026-MAMAS-FD03-RX-01", []string{"nifc:2026-MAMAS-FD03-RX-01"}},
	} {
		if r := one(t, tt.feature); r.Key != tt.key || !slices.Equal(r.Refs, tt.refs) || r.Suspect != "" {
			t.Errorf("%s: key %s, refs %v, suspect %q", name, r.Key, r.Refs, r.Suspect)
		}
	}
	if r := one(t, edged(`"attr_IrwinID":"{`+guid, `"attr_IrwinID":"{`+other)); r.Suspect != "poly_IRWINID: "+guid+", but attr_IrwinID is "+other {
		t.Errorf("two ids: suspect %q", r.Suspect)
	}
}

func TestAFireThatIsDeclaredOverEnds(t *testing.T) {
	for name, tt := range map[string]struct{ feature, state string }{
		"out":                   {a(`"FireOutDateTime":null`, `"FireOutDateTime":1778620000000`), "Contained: 90 %.\nDeclared out."},
		"controlled":            {a(`"ControlDateTime":null`, `"ControlDateTime":1778620000000`), "Declared controlled."},
		"contained":             {a(`"ContainmentDateTime":null`, `"ContainmentDateTime":1778620000000`), "Declared contained."},
		"wholly contained":      {a(`90`, `100`), "Contained: 100 %.\nDeclared contained."},
		"out, by the perimeter": {edged(`"attr_FireOutDateTime":null`, `"attr_FireOutDateTime":1778620000000`), "Declared out."},
	} {
		r := one(t, tt.feature)
		if r.Ended != hazard.EndAllClear || !r.Minor || len(r.Places) != 0 || !strings.Contains(r.Description, tt.state) {
			t.Errorf("%s: ended %q, minor %v, places %v: %s", name, r.Ended, r.Minor, r.Places, r.Description)
		}
	}
	for _, contained := range []string{"99", "0", "null"} {
		if r := one(t, a("90", contained)); r.Ended != "" {
			t.Errorf("%s %%: ended %q", contained, r.Ended)
		}
	}
}

func TestDatesThatCannotBeAreHeld(t *testing.T) {
	for name, tt := range map[string]struct{ feature, why string }{
		"discovered tomorrow": {a(discovered, "1778740000000"), "FireDiscoveryDateTime: 2026-05-14T06:26:40.000Z is in the future"},
		"modified tomorrow":   {a(modified, "1778740000000"), "ModifiedOnDateTime_dt: 2026-05-14T06:26:40.000Z is in the future"},
		"drawn tomorrow":      {edged(drawn, "1778740000000"), "poly_DateCurrent: 2026-05-14T06:26:40.000Z is in the future"},
		"discovered in 1899":  {a(discovered, "-2209161600000"), "FireDiscoveryDateTime: 1899-12-30T00:00:00.000Z is more than a year before the last modification at 2026-05-12T23:11:35.000Z"},
	} {
		if r := one(t, tt.feature); r.Suspect != tt.why {
			t.Errorf("%s: suspect %q, want %q", name, r.Suspect, tt.why)
		}
	}
}

func TestPositions(t *testing.T) {
	const usual = `"coordinates":[-82.65,30.78]`
	for coordinates, want := range map[string]hazard.Point{
		`[-82.65,30.78]`:     {Lon: -82.65, Lat: 30.78},
		`[-82.65,30.78,100]`: {Lon: -82.65, Lat: 30.78},
		`[30.78,-82.65]`:     {Lon: -82.65, Lat: 30.78}, // latitude and longitude are swapped
		`[52.5,-172.25]`:     {Lon: -172.25, Lat: 52.5},
		`[187.75,52.5]`:      {Lon: -172.25, Lat: 52.5}, // the Aleutians, beyond 180°
		`[144.8,13.4]`:       {Lon: 144.8, Lat: 13.4},   // Guam
		`[-170.7,-14.3]`:     {Lon: -170.7, Lat: -14.3}, // American Samoa
	} {
		if r := one(t, a(usual, `"coordinates":`+coordinates, `"POOCounty":"Clinch"`, `"POOCounty":null`)); r.Point == nil || *r.Point != want || r.Suspect != "" {
			t.Errorf("%s: %v, suspect %q", coordinates, r.Point, r.Suspect)
		}
	}
	initial := []string{`"OBJECTID":1`, `"InitialLatitude":30.78,"InitialLongitude":-82.65`}
	for _, geometry := range []string{`null`, `{"type":"Point","coordinates":[0,0]}`, `{"type":"Point","coordinates":["NaN","NaN"]}`, `{"type":"Point"}`} {
		pairs := []string{`{"type":"Point","coordinates":[-82.65,30.78]}`, geometry}
		if r := one(t, a(append(pairs, initial...)...)); r.Point == nil || *r.Point != (hazard.Point{Lon: -82.65, Lat: 30.78}) || r.Suspect != "" {
			t.Errorf("%s: %v, suspect %q", geometry, r.Point, r.Suspect)
		}
		if r := one(t, a(pairs...)); r.Point != nil || r.Suspect != "" || !slices.Equal(r.Within, []string{"area:Clinch County, Georgia"}) {
			t.Errorf("%s, and no other: %v, within %q, suspect %q", geometry, r.Point, r.Within, r.Suspect)
		}
		if r := one(t, a(append(pairs, `"POOCounty":"Clinch"`, `"POOCounty":null`)...)); r.Point != nil || !strings.HasPrefix(r.Suspect, "geometry: ") {
			t.Errorf("%s, no other, and no county: %v, suspect %q", geometry, r.Point, r.Suspect)
		}
	}
	// A position far from the county is not used: here the sign of the longitude is lost.
	if r := one(t, a(usual, `"coordinates":[82.65,30.78]`)); r.Point != nil || r.Suspect != "" || len(r.Within) != 1 || !slices.Contains(r.Notes, "The position 30.7800, 82.6500 is not in Clinch County, Georgia, and is not used.") {
		t.Errorf("in Asia: %v, within %q, notes %q, suspect %q", r.Point, r.Within, r.Notes, r.Suspect)
	}
	// A perimeter needs no point, and one without a polygon has the point of the incident.
	if r := one(t, edged(`"attr_InitialLatitude":30.78`, `"attr_InitialLatitude":null`)); r.Point != nil || len(r.Areas) != 1 || r.Suspect != "" {
		t.Errorf("point %v, %d areas, suspect %q", r.Point, len(r.Areas), r.Suspect)
	}
	for _, geometry := range []string{`"geometry":null,"g":{`, `"geometry":{"type":"Polygon","coordinates":[]},"g":{`} {
		if r := one(t, edged(`"geometry":{`, geometry)); r.Point == nil || len(r.Areas) != 0 || len(r.Products) != 1 || r.Suspect != "" {
			t.Errorf("%s: point %v, %d areas, suspect %q", geometry, r.Point, len(r.Areas), r.Suspect)
		}
	}
}

func TestNamesAreReadable(t *testing.T) {
	for name, want := range map[string]string{
		"Junes Fire":                  "Junes",
		"junes fire":                  "junes",
		"JUNES WILDFIRE":              "Junes",
		"Fire":                        "Fire",
		"PINE MOUNTAIN":               "Pine Mountain",
		"VALLEY OF THE GODS":          "Valley of the Gods",
		"THE GAP":                     "The Gap",
		"SR 47 (21)":                  "SR 47 (21)",
		"SOUTH CANAL- LAFAYETTE (34)": "South Canal- Lafayette (34)",
		"HORSE-SHOE":                  "Horse-Shoe",
		"O'BRIEN":                     "O'Brien",
		"DEVIL'S PEAK":                "Devil's Peak",
		"2ND CREEK":                   "2ND Creek",
		"Bombing Range 5":             "Bombing Range 5",
		"WKN - Jones":                 "WKN - Jones",
		"700074":                      "700074",
	} {
		if got := called(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	r := one(t, a(`"Pineland Road"`, `"JUNES FIRE"`, `US-GA`, `us-ca`))
	if r.Name != "Wildfire - Junes, California" || r.Called != "Junes" {
		t.Errorf("%q called %q", r.Name, r.Called)
	}
	for _, tt := range []struct{ feature, name string }{
		{a(`"Pineland Road"`, `null`), "Wildfire - 2026-GAGAS-320025, Georgia"},
		{a(`"Pineland Road"`, `null`, `"2026-GAGAS-320025"`, `null`, `"US-GA"`, `null`), "Wildfire - unnamed"},
		{a(`"Pineland Road"`, `"Line\u0007\u202e 1\r\nX"`, `"US-GA"`, `"CA-BC"`), "Wildfire - Line 1 X, CA-BC"},
		{edged(`"attr_IncidentName":"Pineland Road"`, `"attr_IncidentName":" "`), "Wildfire - Pineland Rd, Georgia"},
		{a(`"Pineland Road"`, `49`), "Wildfire - 49, Georgia"},
	} {
		if r := one(t, tt.feature); r.Name != tt.name {
			t.Errorf("%q, want %q", r.Name, tt.name)
		}
	}
}

func TestNumbersForPeople(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1: "0.1", 0.004: "0", 12.5: "12.5", 99.96: "100", 100.4: "100", 1234: "1,234", 642029: "642,029", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := grouped(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

func TestSeveralRecordsOfOneFire(t *testing.T) {
	older := a(modified, "1778600000000", "90", "50")
	for _, features := range [][]string{{a(), older, a()}, {older, a(), a()}} {
		batch, err := Parse(collection(features...), now)
		if err != nil || batch.Ignored != 2 || len(batch.Reports) != 1 || !strings.Contains(batch.Reports[0].Description, "90 %") {
			t.Errorf("error %v, ignored %d, reports %+v", err, batch.Ignored, batch.Reports)
		}
	}
	batch, err := Parse(collection(edged(), edged("-82.6,30.8", "-82.6,30.9"), edged()), now)
	if err != nil || len(batch.Reports) != 1 || len(batch.Reports[0].Areas) != 2 || !batch.Whole {
		t.Errorf("error %v, %+v", err, batch)
	}
}

// The location and the perimeter of a fire make one event, with the point and the area, in any
// order.
func TestBothServicesMakeOneEvent(t *testing.T) {
	location, perimeter := one(t, a()), one(t, edged())
	for _, parts := range [][]hazard.Report{{location, perimeter}, {perimeter, location}} {
		state := hazard.Derive(parts, now)
		var keys []string
		for _, p := range state.Head.Products {
			keys = append(keys, p.Key)
		}
		if state.Ended != "" || state.Head.Point == nil || len(state.Head.Areas) != 1 || state.Head.Start != location.Start || len(state.Owned) != 2 {
			t.Errorf("ended %q, point %v, %d areas, start %v, owned %v", state.Ended, state.Head.Point, len(state.Head.Areas), state.Head.Start, state.Owned)
		}
		if state.End != location.Renewed.Add(7*24*time.Hour) {
			t.Errorf("end %v", state.End)
		}
		if want := []string{"nifc", "irwin/incident", "perimeter/perimeter"}; !slices.Equal(keys, want) {
			t.Errorf("products %v, want %v", keys, want)
		}
	}
	if location.Name != perimeter.Name || location.Description != perimeter.Description || location.Severity != perimeter.Severity {
		t.Errorf("the two say different things:\n%s\n%s", location.Description, perimeter.Description)
	}
}

func TestWhatEitherServiceEndsIsEnded(t *testing.T) {
	const later = "1778630000000"
	for name, parts := range map[string][]hazard.Report{
		"the location says so":  {one(t, edged()), one(t, a(modified, later, "90", "100"))},
		"the perimeter says so": {one(t, a()), one(t, edged(modified, later, `"attr_PercentContained":90`, `"attr_PercentContained":100`))},
	} {
		for range 2 {
			slices.Reverse(parts)
			if state := hazard.Derive(parts, now); state.Ended != hazard.EndAllClear || int64(state.EndedAt) != 1778630000000 {
				t.Errorf("%s: ended %q at %v", name, state.Ended, state.EndedAt)
			}
		}
	}
	// Containment can go down as well as up: a later report brings the fire back.
	over, again := one(t, a("90", "100")), one(t, a(modified, later, "90", "85"))
	if state := hazard.Derive([]hazard.Report{again}, now); state.Ended != "" || again.Version <= over.Version {
		t.Errorf("ended %q", state.Ended)
	}
}

// The polygon may be edited when the incident data do not change. Then only the perimeter's part
// has a new version.
func TestThePolygonHasADateOfItsOwn(t *testing.T) {
	old, edited := one(t, edged()), one(t, edged(drawn, "1778630000000"))
	if edited.Version != 1778630000000 || old.Version != int64(*old.Renewed) || *edited.Renewed != *old.Renewed {
		t.Errorf("versions %d and %d", old.Version, edited.Version)
	}
	if p := edited.Products[1]; p.Time != 1778630000000 || p.Title != "Perimeter of 2026-05-12" {
		t.Errorf("product %+v", p)
	}
}

func TestWithoutAModificationTheLatestOtherDateIsTheVersion(t *testing.T) {
	if r := one(t, a(modified, "null")); r.Version != int64(r.Start) {
		t.Errorf("version %d", r.Version)
	}
	if r := one(t, a(modified, "null", `"OBJECTID":1`, `"CreatedOnDateTime_dt":1778600000000`)); r.Version != 1778600000000 {
		t.Errorf("version %d", r.Version)
	}
}
