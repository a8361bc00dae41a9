package cisa

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

func file(day string) string {
	return "cisa-kev/known_exploited_vulnerabilities-" + day + "-excerpt.json"
}

var laws = sourcetest.Source{
	Parse: Parse, File: file("20260808"), At: "2026-08-08T12:00:00Z", List: "vulnerabilities",
	Needed: []string{"cveID", "dateAdded"},
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) { sourcetest.Fuzz(f, laws, `{"vulnerabilities":[null,{},7,"`) }

// TestRecorded compares all entries of eight states of the catalog with their raw values, and says
// how many an ordinary day has.
func TestRecorded(t *testing.T) {
	if s := Source(); s.Check() != nil {
		t.Fatal(s.Check())
	}
	most := 0
	for _, day := range []string{"20260725", "20260728", "20260730", "20260804", "20260805", "20260806", "20260807", "20260808"} {
		payload := recordings.Read(t, "feeds/"+file(day))
		var raw struct {
			Vulnerabilities []struct{ CVEID, DateAdded, ShortDescription string }
		}
		at, err := time.Parse("20060102", day)
		if err := errors.Join(err, json.Unmarshal(payload, &raw)); err != nil {
			t.Fatal(err)
		}
		at = at.Add(12 * time.Hour)
		b, err := Parse(payload, hazard.At(at))
		if err != nil || len(b.Rejects) > 0 || len(b.Reports)+b.Ignored != len(raw.Vulnerabilities) {
			t.Fatalf("%s: %v, %d reports, %+v", day, err, len(b.Reports), b.Rejects)
		}
		got := map[string]hazard.Report{}
		for _, r := range b.Reports {
			got[r.Key] = r
		}
		for _, v := range raw.Vulnerabilities {
			added, err := time.Parse(time.DateOnly, v.DateAdded)
			r, ok := got[v.CVEID]
			if err != nil || ok != (at.Sub(added) < 14*24*time.Hour) {
				t.Errorf("%s %s of %s: a hazard %v", day, v.CVEID, v.DateAdded, ok)
			}
			if ok && (r.Severity != hazard.Information || r.Type != hazard.Cyber || !r.Start.Time().Equal(added) || len(r.Notes) > 0 || r.Suspect != "") {
				t.Errorf("%s: %+v", day, r)
			}
		}
		most = max(most, len(b.Reports))
	}
	t.Logf("at most %d at once", most)
}
