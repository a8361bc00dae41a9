package vaac

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// texts returns the recorded advisories in one text, each for a different volcano.
func texts(t testing.TB) []byte {
	var all strings.Builder
	for i, name := range []string{"220841", "230214", "230800", "220841", "230214"} {
		text := string(recordings.Read(t, "feeds/vaac/KNES-"+name+"-201802.txt"))
		all.WriteString(strings.Replace(text, "342090", fmt.Sprintf("34209%d", i), 1) + "\n\n")
	}
	return []byte(all.String())
}

func laws(t testing.TB) sourcetest.Source {
	return sourcetest.Source{Parse: Parse, Payload: texts(t), At: "2018-02-23T09:00:00Z", Record: regexp.MustCompile(`(?s)FVXX23 KNES \d{6}\s+VA ADVISORY.*?NXT ADVISORY:[^\n]*`)}
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws(t)) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, laws(f), karymsky, list("30-Jul-2026 02:50"))
}

var now = hazard.At(time.Date(2018, 2, 23, 9, 0, 0, 0, time.UTC))

func parse(t *testing.T, payload string) source.Batch {
	t.Helper()
	b, err := Parse([]byte(payload), now)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestARecordedAdvisory(t *testing.T) {
	test.NoRace(t)
	b := parse(t, string(recordings.Read(t, "feeds/vaac/KNES-220841-201802.txt")))
	if len(b.Reports) != 1 || len(b.Rejects) > 0 || len(b.Drawings) != 1 {
		t.Fatalf("%+v", b)
	}
	r := b.Reports[0]
	if r.Key != "342090" || r.Name != "Volcanic Ash - Fuego, Guatemala" || r.Severity != hazard.Information || r.Refs[0] != "gvp:342090" || len(r.Notes) > 0 || r.Part != "2018-W08" ||
		r.Start.String() != "2018-02-22T08:41:00.000Z" || r.End.String() != "2018-02-22T17:45:00.000Z" || fmt.Sprintf("%.3f %.3f", r.Point.Lon, r.Point.Lat) != "-90.867 14.467" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"Eruption: VA EMS CONTINUE\n", "Ash observed: SFC/FL150 N1433 W09113 - N1430 W09054 - N1426 W09055", "nothing of the danger on the ground"} {
		if !strings.Contains(r.Description, want) {
			t.Errorf("no %q in %q", want, r.Description)
		}
	}
	var got []string
	for _, s := range b.Drawings[0].Shapes {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s forecast %t", s.Role, s.Label, s.From.Time().Format("02/1504"), s.Forecast))
	}
	const want = "ash Ash SFC/FL150 22/0815 forecast false; ash Ash SFC/FL150 22/1430 forecast true; ash Ash SFC/FL150 22/1430 forecast true; ash Ash SFC/FL150 22/2030 forecast true"
	if all := strings.Join(got, "; "); all != want {
		t.Errorf("shapes %s\nwant %s", all, want)
	}
}

// karymsky is the example of ICAO Annex 3 (A2-1), with the volcano's present number and a cloud
// across the antimeridian.
const karymsky = `FVFE01 RJTD 230130
VA ADVISORY
DTG: 20180223/0130Z
VAAC: TOKYO
VOLCANO: KARYMSKY 300130
PSN: N5403 E15927
AREA: RUSSIA
SUMMIT ELEV: 1536M
ADVISORY NR: 2018/4
INFO SOURCE: MTSAT-1R KVERT KEMSD
AVIATION COLOUR CODE: RED
ERUPTION DETAILS: ERUPTION AT 20180223/0000Z FL300 REPORTED
OBS VA DTG: 23/0100Z
OBS VA CLD: FL250/300 N5400 E17930 - N5400 W17900 - N5300 W17900 - N5300 E17930 MOV SE 20KT
FCST VA CLD +6HR: 23/0700Z FL250/350 N5130 E16030
RMK: LATEST REP FM KVERT (0120Z) INDICATES ERUPTION HAS CEASED.
NXT ADVISORY: 20180223/0730Z=
`

func TestWhatAnAdvisorySays(t *testing.T) {
	b := parse(t, karymsky)
	r := b.Reports[0]
	if len(r.Measurements) != 1 || r.Measurements[0].Name != hazard.AviationColor || r.Measurements[0].Value != 4 || r.End.String() != "2018-02-23T10:30:00.000Z" ||
		len(b.Drawings[0].Shapes) != 1 || !strings.Contains(b.Drawings[0].Shapes[0].Geometry, "180") || !strings.Contains(b.Drawings[0].Shapes[0].Geometry, "-179") {
		t.Errorf("%+v, %+v", r, b.Drawings)
	}
	for name, tt := range map[string]struct {
		old, new string
		reject   string
		want     func(*hazard.Report) bool
	}{
		"the last one":             {"20180223/0730Z=", "NO FURTHER ADVISORIES", "", func(r *hazard.Report) bool { return *r.End == r.Start }},
		"no word of the next":      {"20180223/0730Z=", "UNKNOWN", "", func(r *hazard.Report) bool { return r.End == nil && r.LifeMS == life.Milliseconds() }},
		"an exercise":              {"DTG:", "STATUS: EXER\nDTG:", "", func(r *hazard.Report) bool { return r.Category == hazard.Exercise }},
		"a test":                   {"DTG:", "STATUS: TEST\nDTG:", "", nil},
		"no color yet":             {"RED", "NIL", "", func(r *hazard.Report) bool { return len(r.Measurements) == 0 }},
		"a position not known":     {"N5403 E15927", "UNKNOWN", "", func(r *hazard.Report) bool { return r.Point == nil && len(r.Notes) == 1 }},
		"a volcano not known":      {"KARYMSKY 300130", "UNKNOWN", "VOLCANO", nil},
		"a number of former years": {"KARYMSKY 300130", "KARYMSKY 1000-13", "VOLCANO", nil},
		"no time":                  {"20180223/0130Z", "NOW", "DTG", nil},
		"of tomorrow":              {"DTG: 20180223", "DTG: 20180224", "", func(r *hazard.Report) bool { return r.Suspect != "" }},
	} {
		b, err := Parse([]byte(strings.Replace(karymsky, tt.old, tt.new, 1)), now)
		if (err != nil) != (tt.new == "UNKNOWN" && tt.reject == "" && strings.HasSuffix(tt.old, "Z=")) {
			t.Errorf("%s: %v", name, err)
		}
		switch {
		case tt.reject != "":
			if len(b.Rejects) != 1 || !strings.HasPrefix(b.Rejects[0].Reason, tt.reject) || len(b.Reports) > 0 {
				t.Errorf("%s: %+v", name, b)
			}
		case tt.want == nil:
			if b.Ignored != 1 || len(b.Reports) > 0 {
				t.Errorf("%s: %+v", name, b)
			}
		case len(b.Reports) != 1 || !tt.want(&b.Reports[0]):
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// list returns the list as the server writes it, with other files beside the centers' advisories.
func list(at string) string {
	return `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN"><html><head><title>Index of /data/raw/fv</title></head><body><table><tr><td><a href="/data/raw/">Parent Directory</a></td></tr>` +
		`<tr><td><a href="fvau04.adrm..txt">fvau04.adrm..txt</a></td><td align="right">` + at + `  </td><td align="right">1.2K</td></tr>` +
		`<tr><td><a href="fvxx20.knes..txt">fvxx20.knes..txt</a></td><td align="right">03-Nov-2009 11:07  </td><td align="right">1.1K</td></tr>` +
		`<tr><td><a href="fvca01.kwbc..txt">fvca01.kwbc..txt</a></td><td align="right">` + at + `  </td></tr></table></body></html>`
}

func TestTheListLeadsToWhatIsNew(t *testing.T) {
	b := parse(t, list("23-Feb-2018 02:50"))
	if len(b.Links) != 1 || b.Links[0].URL != "fvau04.adrm..txt" || b.Links[0].Updated.String() != "2018-02-23T02:50:00.000Z" || b.Ignored != 1 || b.Read != 2 {
		t.Errorf("%+v", b)
	}
	if again := parse(t, list("23-Feb-2018 08:50")); again.Links[0].ID == b.Links[0].ID {
		t.Errorf("a new text has the id of the one before it: %q", again.Links[0].ID)
	}
	if other := parse(t, list("2018-02-23 02:50")); len(other.Links) != 1 || *other.Links[0].Updated != *b.Links[0].Updated {
		t.Errorf("dates in the other form: %+v", other)
	}
	if without := parse(t, list("soon")); len(without.Links) != 0 || len(without.Rejects) != 1 {
		t.Errorf("without a date: %+v", without)
	}
	for name, payload := range map[string]string{"empty": "", "another page": "<html><body>maintenance</body></html>", "words": "service unavailable", "cut": list("23-Feb-2018 02:50")[:400]} {
		var bad *source.PayloadError
		if b, err := Parse([]byte(payload), now); !errors.As(err, &bad) || bad.Cut != (name == "cut") {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}
