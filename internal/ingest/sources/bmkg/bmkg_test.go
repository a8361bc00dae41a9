package bmkg

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// There are no recordings: the lists are made up from the agency's documentation
// (data.bmkg.go.id/gempabumi).

var laws = sourcetest.Source{Parse: Parse, Payload: []byte(`{"gempa":[` + strings.Join(lines(), ",") + `]}`), List: "gempa", At: "2026-09-12T00:00:00Z",
	Needed: []string{"DateTime", "Coordinates", "Magnitude"}}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws, whole(lines()...), `{"Infogempa":{"gempa":[null,{},7,"`, `{"Infogempa":{"gempa":`+lines()[0]+`}}`)
}

func whole(records ...string) string {
	return `{"Infogempa":{"gempa":[` + strings.Join(records, ",") + `]}}`
}

func lines() (all []string) {
	for i := range 6 {
		all = append(all, fmt.Sprintf(`{"Tanggal":"12 Sep 2026","Jam":"0%d:23:56 WIB","DateTime":"2026-09-11T2%d:23:56+00:00","Coordinates":"-5.8%d,106.56","Lintang":"5.81 LS","Bujur":"106.56 BT","Magnitude":"5.%d",`+
			`"Kedalaman":"376 km","Wilayah":"Pusat gempa berada di laut 49 km barat laut Jakarta","Potensi":"Tidak berpotensi tsunami"}`, i, i%4, i, i))
		if i >= 4 {
			all[i] = strings.Replace(all[i], ":23:56+", fmt.Sprintf(":4%d:56+", i), 1)
		}
	}
	return all
}

func rejects(t *testing.T, payload string) (all []string) {
	t.Helper()
	b, err := Parse([]byte(payload), laws.Now(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Rejects {
		all = append(all, "rejected: "+r.Reason)
	}
	for _, r := range b.Reports {
		minor := ""
		if r.Minor {
			minor = "minor "
		}
		if r.Ended != "" {
			all = append(all, fmt.Sprintf("%s %s %s%s", r.Key, r.Part, minor, r.Ended))
			continue
		}
		all = append(all, fmt.Sprintf("%s %s %s%v %s %s (%g %g)", r.Key, r.Part, minor, r.Severity, r.Type, r.Name, r.Point.Lon, r.Point.Lat))
	}
	return all
}

func TestEarthquakesAndTsunamis(t *testing.T) {
	record := func(magnitude, potential, felt string) string {
		return fmt.Sprintf(`{"DateTime":"2026-09-11T21:23:56+00:00","Coordinates":"-5.81,106.56","Magnitude":"%s","Kedalaman":"10 km","Wilayah":"Pusat gempa berada di laut 49 km barat laut Jakarta","Potensi":"%s","Dirasakan":"%s"}`, magnitude, potential, felt)
	}
	const quake = "EARTHQUAKE M %s Earthquake - 49 km barat laut Jakarta (106.56 -5.81)"
	const takenBack = "tsunami-20260911T212340 strong minor cancelled"
	for name, tt := range map[string]struct {
		record string
		want   []string
	}{
		"strong": {record("5.9", "Tidak berpotensi tsunami", ""), []string{"20260911T212340 strong ADVISORY " + fmt.Sprintf(quake, "5.9"), takenBack}},
		"felt":   {record("3.6", "Gempa ini dirasakan untuk diteruskan pada masyarakat", "III Cilacap, IV-V Nagrak"), []string{"20260911T212340 felt INFORMATION " + fmt.Sprintf(quake, "3.6")}},
		"slight": {record("3.6", "", "II-III Cilacap"), []string{"20260911T212340 felt minor INFORMATION " + fmt.Sprintf(quake, "3.6")}},
		"a tsunami may come": {record("7.1", "Berpotensi tsunami untuk diteruskan pada masyarakat", ""), []string{"20260911T212340 strong WARNING " + fmt.Sprintf(quake, "7.1"),
			"tsunami-20260911T212340 strong WARNING TSUNAMI Tsunami possible - " + fmt.Sprintf(quake, "7.1")[11:]}},
		"capitals":                  {record("7.1", "TIDAK BERPOTENSI TSUNAMI", ""), []string{"20260911T212340 strong WARNING " + fmt.Sprintf(quake, "7.1"), takenBack}},
		"a text about neither":      {record("7.1", "Info gempa", ""), []string{"20260911T212340 strong WARNING " + fmt.Sprintf(quake, "7.1")}},
		"no magnitude but felt":     {record("", "", "IV Cilacap"), []string{"20260911T212340 felt INFORMATION EARTHQUAKE Earthquake - 49 km barat laut Jakarta (106.56 -5.81)"}},
		"neither":                   {record("", "", ""), []string{"rejected: Magnitude: null or missing, and Dirasakan too: expected one of them"}},
		"coordinates the other way": {strings.Replace(record("5.9", "", ""), "-5.81,106.56", "106.56,-5.81", 1), []string{`rejected: Coordinates: "106.56,-5.81", expected a latitude and a longitude`}},
		"no time":                   {strings.Replace(record("5.9", "", ""), "2026-09-11T21:23:56+00:00", "kemarin", 1), []string{`rejected: DateTime: "kemarin", expected a time as in RFC 3339`}},
	} {
		t.Run(name, func(t *testing.T) {
			for form, payload := range map[string]string{"list": whole(tt.record), "one": `{"Infogempa":{"gempa":` + tt.record + `}}`} {
				if got := rejects(t, payload); !slices.Equal(got, tt.want) {
					t.Errorf("%s:\ngot  %q\nwant %q", form, got, tt.want)
				}
			}
		})
	}
}

func TestADocumentThatIsCutGivesWhatCameBefore(t *testing.T) {
	payload := whole(lines()...)
	last := 0
	for n := range len(payload) - 1 {
		b, err := Parse([]byte(payload[:n]), laws.Now(t))
		if err == nil || b.Whole || len(b.Reports) < last {
			t.Fatalf("cut at %d: %v, %d reports after %d", n, err, len(b.Reports), last)
		}
		last = len(b.Reports)
	}
	if last < 5 {
		t.Errorf("%d reports before the last cut", last)
	}
	for _, bad := range []string{"", "[]", "{}", `{"Infogempa":{}}`, `{"Infogempa":{"gempa":7}}`, `{"Infogempa":null}`, "<html>"} {
		if b, err := Parse([]byte(bad), laws.Now(t)); err == nil {
			t.Errorf("%q: %+v, want an error", bad, b)
		}
	}
}

func TestARevisedOriginIsTheSameEvent(t *testing.T) {
	for second := range 60 {
		name := func(shift int) []string {
			b, err := Parse([]byte(whole(strings.Replace(lines()[0], "2026-09-11T20:23:56", time.Date(2026, 9, 11, 20, 23, second+shift, 0, time.UTC).Format("2006-01-02T15:04:05"), 1))), laws.Now(t))
			if err != nil || len(b.Reports) == 0 {
				t.Fatal(err, b)
			}
			return append([]string{b.Reports[0].Key}, b.Reports[0].Aliases...)
		}
		first := name(0)
		for shift := -9; shift <= 9; shift++ {
			if now := name(shift); !slices.Contains(now, first[0]) && !slices.Contains(first, now[0]) {
				t.Errorf("at %d, revised by %d s: %q, then %q", second, shift, first, now)
			}
		}
		if far := name(45); slices.ContainsFunc(far, func(n string) bool { return slices.Contains(first, n) }) {
			t.Errorf("at %d: one 45 s later is the same", second)
		}
	}
}
