package tsunami

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// threat is a message of Honolulu with both tables, as tsunami.gov publishes its text.
const threat = `TSUNAMI MESSAGE NUMBER 2
NWS PACIFIC TSUNAMI WARNING CENTER HONOLULU HI
2355 UTC THU DEC 31 2026

...PTWC TSUNAMI THREAT MESSAGE...


PRELIMINARY EARTHQUAKE PARAMETERS - FROM JMA
--------------------------------------------

  * MAGNITUDE      8.1
  * ORIGIN TIME    2328 UTC DEC 31 2026
  * COORDINATES    32.6 NORTH  130.7 EAST
  * LOCATION       KYUSHU  JAPAN


TSUNAMI THREAT FORECAST
-----------------------

  * TSUNAMI WAVES REACHING MORE THAN 3 METERS ABOVE THE TIDE LEVEL
    ARE POSSIBLE ALONG SOME COASTS OF

      JAPAN.

  * TSUNAMI WAVES REACHING 0.3 TO 1 METERS ABOVE THE TIDE LEVEL ARE
    POSSIBLE FOR SOME COASTS OF

      PAPUA NEW GUINEA... JAPAN... AND NEW
      CALEDONIA.


ESTIMATED TIMES OF ARRIVAL
--------------------------

    LOCATION         REGION             COORDINATES    ETA(UTC)
    ------------------------------------------------------------
    NOBEOKA          JAPAN             32.5N 131.8E   0132 01/01
    NAGASAKI         JAPAN             32.7N 129.7E   2354 12/31
    PORT MORESBY     PAPUA NEW GUINEA   9.3S 146.9E   2460 01/01
    ANATOM ISLAND    VANUATU           20.2S 169.9E   0843 01/01

  * ORIGIN TIME OF ALL 32.7N 129.7E   2354 12/31


TSUNAMI OBSERVATIONS
--------------------

                            GAUGE      TIME OF   MAXIMUM     WAVE
                         COORDINATES   MEASURE   TSUNAMI   PERIOD
    GAUGE LOCATION        LAT   LON     (UTC)     HEIGHT    (MIN)
    -------------------------------------------------------------
    NAGASAKI JP          32.7N 129.7E    2354   1.03M/ 3.4FT  38
    LA LIBERTAD EC        2.2S  80.9W    2356   0.14M/ 0.5FT  70
    DART 21419           44.4N 155.7E    2351   0.09M/ 0.3FT  42
    COLIUMO CL           36.5S  73.0W    2247   903M/ 2963FT  28

$$
`

func TestABulletinSaysWhereAndWhen(t *testing.T) {
	now := at(t, "2026-12-31T23:56:00Z")
	b := parsed(t, []byte(threat), now)
	type drawn struct {
		Label, Geometry string
		From            string
		Forecast        bool
	}
	got := map[string][]drawn{}
	for _, d := range b.Drawings {
		if d.Version != int64(at(t, "2026-12-31T23:55:00Z")) {
			t.Errorf("version %d", d.Version)
		}
		got[d.Part] = nil
		for _, s := range d.Shapes {
			if err := s.Check(); err != nil || s.Role != hazard.CoastShape || s.To != s.From {
				t.Errorf("%+v: %v", s, err)
			}
			got[d.Part] = append(got[d.Part], drawn{s.Label, s.Geometry, s.From.String(), s.Forecast})
		}
	}
	point := func(lon, lat float64) string { return fmt.Sprintf(`{"type":"Point","coordinates":[%g,%g]}`, lon, lat) }
	want := map[string][]drawn{
		"arrivals": {
			{"Nagasaki, Japan, more than 3 m", point(129.7, 32.7), "2026-12-31T23:54:00.000Z", true},
			{"Nobeoka, Japan, more than 3 m", point(131.8, 32.5), "2027-01-01T01:32:00.000Z", true},
			{"Anatom Island, Vanuatu", point(169.9, -20.2), "2027-01-01T08:43:00.000Z", true},
		},
		"gauges": {
			{"La Libertad EC, measured 0.14 m", point(-80.9, -2.2), "2026-12-30T23:56:00.000Z", false}, // a minute ahead: of the day before
			{"Nagasaki JP, measured 1.03 m", point(129.7, 32.7), "2026-12-31T23:54:00.000Z", false},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var wrong []string
	for _, r := range b.Rejects {
		wrong = append(wrong, r.Record+": "+r.Reason)
	}
	if len(wrong) != 2 || !strings.Contains(wrong[0], `PORT MORESBY: ETA: "2460 01/01"`) || !strings.Contains(wrong[1], "COLIUMO CL: ") {
		t.Errorf("%q", wrong)
	}
	if b.Read != 1 || b.Ignored != 0 || len(b.Reports) != 0 {
		t.Errorf("read %d, ignored %d, %d reports", b.Read, b.Ignored, len(b.Reports))
	}
}

// The text does not have the code of the event. Origin time, cut to the minute, and place have a name in common with the event of the documents.
func TestABulletinIsOfTheEventOfItsDocument(t *testing.T) {
	now := at(t, "2026-12-31T23:56:00Z")
	drawings := parsed(t, []byte(threat), now).Drawings
	for origin, ours := range map[string]bool{"2026-12-31T23:28:00": true, "2026-12-31T23:28:59": true, "2026-12-31T23:27:31": true, "2026-12-31T23:24:00": false, "2026-12-30T23:28:00": false} {
		document := bulletin("PHEB-2-26365001", "2026-12-31T23:55:00-00:00", info("Tsunami Threat", "Kyushu", origin+"-00:00", "32.551,130.749", ""))
		for _, r := range parsed(t, document, now).Reports {
			named := slices.ContainsFunc(drawings, func(d source.Drawing) bool { return slices.Contains(r.Names(), d.Key) })
			if named != ours {
				t.Errorf("origin %s: the tables are of the event: %v, want %v", origin, named, ours)
			}
		}
	}
}

func TestWhatABulletinIsNot(t *testing.T) {
	now := at(t, "2026-12-31T23:56:00Z")
	for name, text := range map[string]string{
		"a test":              strings.Replace(threat, "...PTWC TSUNAMI THREAT MESSAGE...", "...TEST PTWC MONTHLY COMMUNICATION TEST...", 1),
		"an exercise":         strings.Replace(threat, "...PTWC TSUNAMI THREAT MESSAGE...", "...THIS MESSAGE IS ONLY FOR AN EXERCISE...", 1),
		"without its tables":  threat[:strings.Index(threat, "ESTIMATED")],
		"rows in other words": strings.ReplaceAll(strings.ReplaceAll(threat, "ESTIMATED TIMES OF ARRIVAL", "OTHER WORDS"), "TSUNAMI OBSERVATIONS", "MORE WORDS"),
	} {
		if b := parsed(t, []byte(text), now); len(b.Drawings) != 0 || b.Ignored != 1 || len(b.Rejects) != 0 {
			t.Errorf("%s: %+v", name, b)
		}
	}
	b := parsed(t, []byte(strings.Replace(threat, "* COORDINATES", "* AT", 1)), now)
	if n := len(b.Rejects); n != 3 || !strings.Contains(b.Rejects[n-1].Reason, "COORDINATES") || len(b.Drawings) != 0 {
		t.Errorf("of an unknown earthquake: %+v", b)
	}
	b = parsed(t, []byte(strings.Replace(threat, "    ANATOM ISLAND    VANUATU           20.2S", "    ANATOM ISLAND    VANUATU           2O.2S", 1)), now)
	if len(b.Rejects) != 3 {
		t.Errorf("a row of another form is lost in silence: %+v", b.Rejects)
	}
	for name, text := range map[string]string{
		"no time of issue": strings.Replace(threat, "2355 UTC THU", "LATE ON", 1),
		"the future":       strings.Replace(threat, "2355 UTC THU DEC 31 2026", "2355 UTC SAT JAN 02 2027", 1),
	} {
		if _, err := Parse([]byte(text), now); err == nil {
			t.Errorf("%s: no error", name)
		} else if _, ok := errors.AsType[*source.PayloadError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheBulletinBesideADocument(t *testing.T) {
	const there = "https://www.tsunami.gov/events/PHEB/2026/07/28/26209004/1/WEPA40/WEPA40.txt"
	for address, want := range map[string]string{
		there: there,
		" http://ntwc.arh.noaa.gov/events/PHEB/2026/07/28/26209004/1/WEPA40/WEPA40.txt ": there,
		"https://www.tsunami.gov/events/PHEB/2026/07/28/26209004/1/WEPA40/PHEBCAP.xml":   "",
		"https://www.tsunami.gov/events/PAAQ/2026/07/28/26209004/1/WEAK51/WEAK51.txt":    "", // its tables have no positions
		"https://www.tsunami.gov/events/PHEB/../../../a/b.txt":                           "", "https://www.tsunami.gov/": "", "": "", "://": "",
	} {
		if got, _ := bulletinOf(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}

// Each row of the recorded tables is read, and nothing else is.
func TestRecordedBulletins(t *testing.T) {
	test.NoRace(t)
	dir := recordings.Path(t, "feeds/tsunami/ptwc-raw")
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	arrival := regexp.MustCompile(`(?m)^ +\S.*[0-9.]+[NS] +[0-9.]+[EW] +[0-9]{4} [0-9]{2}/[0-9]{2}`)
	gauge := regexp.MustCompile(`(?m)^ +[^D ].*[0-9.]+[NS] +[0-9.]+[EW] +[0-9]{4} +[0-9.]+M/ *[0-9.]+FT`)
	read, messages := map[string]int{}, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !isBulletin(text) {
			continue
		}
		b, err := Parse(text, hazard.MaxInstant)
		if err != nil {
			if arrival.Match(text) || gauge.Match(text) {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			continue
		}
		if len(b.Drawings) == 0 {
			continue
		}
		messages++
		want := map[string]int{"arrivals": len(arrival.FindAll(text, -1)), "gauges": len(gauge.FindAll(text, -1))}
		for _, d := range b.Drawings[:min(2, len(b.Drawings))] {
			if len(d.Shapes) != want[d.Part] {
				t.Errorf("%s: %d %s, want %d", filepath.Base(file), len(d.Shapes), d.Part, want[d.Part])
			}
		}
		for part, n := range want {
			read[part] += n
		}
		if len(b.Rejects) > 0 {
			t.Errorf("%s: %d rejects: %.200s", filepath.Base(file), len(b.Rejects), b.Rejects[0].Reason)
		}
	}
	t.Logf("%d messages with tables: %v", messages, read)
	if messages < 40 || read["arrivals"] < 1000 || read["gauges"] < 100 {
		t.Errorf("%d messages with tables: %v", messages, read)
	}
}
