package koeri

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
	"github.com/hazardd/hazardd/internal/test/sourcetest"
)

// laws describes a recorded list for the test of the laws. Its magnitudes are raised so that the
// earthquakes are reported.
func laws(t testing.TB) sourcetest.Source {
	strong := regexp.MustCompile(`mag="\d`).ReplaceAll(recordings.Read(t, "feeds/koeri/son24saat-20260822T1455.xml"), []byte(`mag="5`))
	return sourcetest.Source{Parse: Parse, Payload: strong, At: "2026-08-22T15:00:00Z", Element: "earhquake",
		Needed: []string{"@name", "@lat", "@lng", "@mag"}}
}

func TestLaws(t *testing.T) { sourcetest.Laws(t, laws(t)) }

func FuzzParse(f *testing.F) {
	sourcetest.Fuzz(f, sourcetest.Source{Parse: Parse, At: "2026-08-22T15:00:00Z"}, list(quake()), list(`<earhquake name="2026`))
}

const now hazard.Instant = 1787410800000 // 2026-08-22T15:00:00Z

// quake returns a row in the form of the recorded list, whose earthquakes are all too small to be
// reported.
func quake(change ...string) string {
	return strings.NewReplacer(change...).Replace("<earhquake\tname=\"2026.08.22 15:40:12\"\tlokasyon=\"KARAPINAR-HEKIMHAN (MALATYA)                      \"\tlat=\"39.0802\"\tlng=\"37.7908\"\tmag=\"5.2\" Depth=\"7.0\" />")
}

func list(quakes ...string) string {
	return "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<eqlist>\n\t" + strings.Join(quakes, "\n\t") + "\n</eqlist>"
}

func TestEarthquakes(t *testing.T) {
	for name, tt := range map[string]struct {
		change []string
		want   string // name, start, notes; empty if it is ignored
		reject string
	}{
		"as it is":                {nil, "M 5.2 Earthquake - KARAPINAR-HEKIMHAN, MALATYA 2026-08-22T12:40:12.000Z", ""},
		"slight":                  {[]string{"5.2", "3.4"}, "", ""},
		"a blank in a coordinate": {[]string{"39.0802", " 39.0802 "}, "M 5.2 Earthquake - KARAPINAR-HEKIMHAN, MALATYA 2026-08-22T12:40:12.000Z", ""},
		"a decimal comma":         {[]string{"5.2", "5,2"}, "M 5.2 Earthquake - KARAPINAR-HEKIMHAN, MALATYA 2026-08-22T12:40:12.000Z", ""},
		"no depth":                {[]string{"7.0", "-.-"}, "M 5.2 Earthquake - KARAPINAR-HEKIMHAN, MALATYA 2026-08-22T12:40:12.000Z", ""},
		"spelled right":           {[]string{"earhquake", "earthquake"}, "M 5.2 Earthquake - KARAPINAR-HEKIMHAN, MALATYA 2026-08-22T12:40:12.000Z", ""},
		"no magnitude":            {[]string{"5.2", "-.-"}, "", "mag"},
		"no position":             {[]string{"37.7908", ""}, "", "lng, lat"},
		"no time":                 {[]string{"2026.08.22 15:40:12", "yesterday"}, "", "name"},
		"an impossible time":      {[]string{"2026.08.22", "2026.13.45"}, "", "name"},
	} {
		b, err := Parse([]byte(list(quake(tt.change...))), now)
		if err != nil || b.Read != 1 || b.Whole {
			t.Fatalf("%s: %v, %+v", name, err, b)
		}
		got := ""
		for _, r := range b.Reports {
			got = r.Name + " " + r.Start.String()
			if r.Severity != hazard.Advisory || r.Suspect != "" || len(r.Measurements) < 1 {
				t.Errorf("%s: %+v", name, r)
			}
		}
		if got != tt.want || (tt.reject != "") != (len(b.Rejects) == 1) || tt.reject != "" && !strings.Contains(b.Rejects[0].Reason, tt.reject) {
			t.Errorf("%s: %q, rejects %+v; want %q, %q", name, got, b.Rejects, tt.want, tt.reject)
		}
	}
}

func TestRecordings(t *testing.T) {
	test.NoRace(t)
	for _, file := range []string{"son24saat-20260328T0756.xml", "son24saat-20260822T1455.xml", "son24saat-20260822T1858.xml"} {
		b, err := Parse(recordings.Read(t, "feeds/koeri/"+file), now)
		if err != nil || b.Read < 50 || len(b.Rejects) > 0 || b.Read != b.Ignored+len(b.Reports) {
			t.Errorf("%s: %v, read %d, ignored %d, reports %d, rejects %+v", file, err, b.Read, b.Ignored, len(b.Reports), b.Rejects)
		}
	}
	for _, payload := range []string{"", "<html></html>", "<eqlist", list(quake())[:150], "Service Unavailable"} {
		if b, err := Parse([]byte(payload), now); err == nil {
			t.Errorf("%q: %+v, want an error", payload, b)
		}
	}
}
