package usgs

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/lenient"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// readAll is Parse of a summary without skimming.
func readAll(payload []byte, now hazard.Instant) source.Batch {
	b := lenient.Batch{ID: idIn}
	_, _ = lenient.Collection{}.Features(payload, "earthquakes", &b, func(where func() string, raw []byte) {
		lenient.Record(&b, where, raw, func(f *feature) (*hazard.Report, string) { return report(&b, f, false, now) })
	})
	return b.Done()
}

// compareSkimmed fails unless skimming a summary comes to the same. It returns how many reports are not whole.
func compareSkimmed(t *testing.T, what string, payload []byte, now hazard.Instant) (slight int) {
	t.Helper()
	got, _ := skim(payload, now)
	want := readAll(payload, now)
	if len(got.Reports) != len(want.Reports) {
		t.Fatalf("%s: %d reports, want %d", what, len(got.Reports), len(want.Reports))
	}
	for i := range got.Reports {
		r, w := &got.Reports[i], &want.Reports[i]
		if r.Full != nil {
			slight++
			part := hazard.Report{Source: w.Source, Key: w.Key, Aliases: w.Aliases, Version: w.Version, Type: w.Type, Severity: w.Severity, Category: w.Category,
				Start: w.Start, LifeMS: w.LifeMS, Minor: true}
			whole := r.Whole()
			if r.Full = nil; !cmp.Equal(*r, part) || w.Suspect != "" || w.Ended != "" {
				t.Errorf("%s: skimmed %+v, want %+v", what, *r, part)
			}
			*r = whole
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: skimming makes a difference: %s", what, diff)
	}
	return slight
}

func TestWhatIsSkimmedIsReadInFullToTheSame(t *testing.T) {
	slight := event(`"mag":5.1`, `"mag":2.1`)
	if n := compareSkimmed(t, "a slight earthquake", collection(slight), now); n != 1 {
		t.Error("a slight earthquake is read in full")
	}
	values := []string{`null`, `""`, `"x"`, `5`, `-0`, `01`, `1e3`, `1e999`, `NaN`, `true`, `{}`, `[]`, `[1]`, `"\u0041"`, "\"a\tb\"", `"TEST"`, `"deleted"`, `"green"`, `"4.4"`,
		`170000000000000000`, `4.6`, `,`, ``, `1,"mag":2`, `1,"x":1,"x":2`, "\"\xff\"", `"earthquake"`, `{"a":1}`, `[0,0]`, `[0,0,0]`, `[400,1]`, `["1","2"]`, `[null,2,3]`, `5}`}
	for _, at := range regexp.MustCompile(`("\w+":)("[^"]*"|[-.\d]+|null|\[[^\]]*\]|\{[^{}]*\})`).FindAllStringSubmatchIndex(slight, -1) {
		for _, v := range values {
			altered := slight[:at[4]] + v + slight[at[5]:]
			compareSkimmed(t, altered, collection(event(), altered, slight), now)
		}
		compareSkimmed(t, "without a member", collection(slight[:at[2]]+`"other":1`+slight[at[5]:]), now)
		compareSkimmed(t, "without a quote", collection(slight[:at[2]]+slight[at[2]+1:], slight), now)
	}
	compareSkimmed(t, "cut off", collection(slight, slight[:len(slight)-1]), now)
}

func TestRecordedEarthquakesThatAreSlightAreSkimmed(t *testing.T) {
	test.NoRace(t)
	for name, want := range map[string]int{"all_week-1.geojson": 1900, "1.0_week-2022.geojson": 1200, "2.5_day-20260727.json": 30, "all_day-2014.geojson": 140, "4.5_month-2014.geojson": 0} {
		payload := recordings.Read(t, filepath.Join("feeds/usgs", name))
		if n := compareSkimmed(t, name, payload, recordedAt(t, payload)); n < want {
			t.Errorf("%s: %d earthquakes are skimmed, want at least %d", name, n, want)
		}
	}
}
