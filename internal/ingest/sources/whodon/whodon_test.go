package whodon

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

const file = "who-don/emergencies-api-20241018.json"

var laws = sourcetest.Source{
	Parse: Parse, File: file, At: "2024-10-18T20:00:00Z", List: "value",
	Needed: []string{"ItemDefaultUrl", "Title", "EmergencyEvent/EventId"}, Decides: []string{"Title", "EmergencyEvent/Title"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `{"value":[null,{},7,"`) }

func TestTitles(t *testing.T) {
	for title, want := range map[string][2]string{
		"Marburg virus disease– The Republic of Rwanda":                                    {"Marburg virus disease", "RW"},
		"West Nile virus- Barbados":                                                        {"West Nile virus", "BB"},
		"Human infection caused by avian Influenza A(H5N2)-Mexico":                         {"Human infection caused by avian Influenza A(H5N2)", "MX"},
		"Dengue – Iran (Islamic Republic of)":                                              {"Dengue", "IR"},
		"Mpox – African Region":                                                            {"Mpox", ""},
		"Avian Influenza A(H9N2)":                                                          {"Avian Influenza A(H9N2)", ""},
		"Ebola disease caused by Bundibugyo virus  -  Democratic Republic of the Congo":    {"Ebola disease caused by Bundibugyo virus", "CD"},
		"Cholera – Kenya, Uganda and United Republic of Tanzania":                          {"Cholera", "KE UG TZ"},
		"Bosnia and Herzegovina":                                                           {"Bosnia and Herzegovina", ""},
		"Hantavirus - Bosnia and Herzegovina":                                              {"Hantavirus", "BA"},
		"Middle East respiratory syndrome coronavirus-Kingdom of Saudi Arabia":             {"Middle East respiratory syndrome coronavirus", "SA"},
		"Antimicrobial Resistance, Hypervirulent Klebsiella pneumoniae - Global situation": {"Antimicrobial Resistance, Hypervirulent Klebsiella pneumoniae", ""},
	} {
		disease, place := split(title)
		if got := strings.Join(countries(place), " "); disease != want[0] || got != want[1] {
			t.Errorf("%s: %q in %q, want %v", title, disease, got, want)
		}
	}
}

// TestRecorded checks the 20 recorded reports: event, country and day by hand.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	payload := recordings.Read(t, "feeds/"+file)
	b, err := Parse(payload, laws.Now(t))
	if err != nil || len(b.Rejects) > 0 {
		t.Fatalf("%v: %+v", err, b.Rejects)
	}
	want := map[string]string{
		"2024-DON540": "2024-E000416 RW 2024-10-18", "2024-DON539": "2024-E000416 RW 2024-10-11", "2024-DON538": "2024-E000402 BB 2024-10-03", "2024-DON536": "2012-E000288 SA 2024-10-02",
		"2024-DON537": "2024-E000416 RW 2024-09-30", "2024-DON532": "2024-E000355 VN 2024-09-04", "2024-DON533": "2024-E000356 KH 2024-09-02",
		"2024-DON531": "2024-E000349 SE 2024-08-30", "2024-DON529": "2024-E000305 IN 2024-08-23", "2024-DON526": "2024-E000268 IR 2024-07-22", "2024-DON525": "2024-E000226 ZA 2024-07-09",
		"2024-DON524": "2024-E000240 MX 2024-06-14", "2024-DON522": "2022-E000231 CD 2024-06-14", "2024-DON523": "2024-E000235 IN 2024-06-11", "2024-DON521": "2024-E000232 CU 2024-06-11",
		"2024-DON519": "2024-E000237 AU 2024-06-07",
	}
	now := map[string]bool{}
	for _, r := range b.Reports {
		got := r.Key + " " + strings.TrimPrefix(strings.Join(r.Places, "+"), "ISO3166-1:") + " " + hazard.Instant(r.Version).Time().UTC().Format(time.DateOnly)
		if w, ok := want[r.Comment]; ok && got != w {
			t.Errorf("%s: %s, want %s", r.Comment, got, w)
		} else if !ok {
			t.Logf("%s: %s", r.Comment, got)
		}
		delete(want, r.Comment)
		if r.Type != hazard.Biomedical || r.Severity != hazard.Advisory || len(r.Notes) > 0 || r.Start > hazard.Instant(r.Version) {
			t.Errorf("%+v", r)
		}
		if r.Renewed.Add(life) > laws.Now(t) {
			now[r.Key] = true
		}
	}
	if len(want) > 0 {
		t.Errorf("no report of %v", want)
	}
	t.Logf("%d reports, %d ignored; %d outbreaks active on that day", len(b.Reports), b.Ignored, len(now))
	var raw struct{ Value []json.RawMessage }
	if err := json.Unmarshal(payload, &raw); err != nil || len(raw.Value) != len(b.Reports)+b.Ignored {
		t.Errorf("%d of %d records, %v", len(b.Reports)+b.Ignored, len(raw.Value), err)
	}
}
