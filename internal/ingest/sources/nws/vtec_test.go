package nws

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/test"
)

func TestVTECIsReadInAllItsParts(t *testing.T) {
	got, err := parseVTEC("/O.EXT.KIND.FA.W.0115.000000T0000Z-260815T1530Z/")
	if err != nil {
		t.Fatal(err)
	}
	want := vtec{'O', "EXT", "KIND", "FA", 'W', "0115", nil, new(at(t, "2026-08-15T15:30:00Z"))}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(vtec{})); diff != "" {
		t.Error(diff)
	}
}

func TestBadVTECIsRefusedWithWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "0 characters",
		"/O.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z":   "47 characters",
		"/O.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/ ": "49 characters",
		"/Q.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/":  "class Q",
		"/O.OLD.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/":  "action OLD",
		"/O.NEW.KDMX.TO.Q.0044.260521T1900Z-260521T1945Z/":  "significance Q",
		"/O.NEW.kdmx.TO.W.0044.260521T1900Z-260521T1945Z/":  `"k" at position 8`,
		"/O.NEW.KDMX.TO.W.00A4.260521T1900Z-260521T1945Z/":  `"A" at position 20`,
		"/O.NEW.KDMX.TO.W.0044.261321T1900Z-260521T1945Z/":  "begin 261321T1900Z",
		"/O.NEW.KDMX.TO.W.0044.260521T1900Z-260532T1945Z/":  "end 260532T1945Z",
	} {
		if _, err := parseVTEC(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseVTEC(%q): %v, want an error that says %q", text, err, want)
		}
	}
}

func TestKeyIsOfficePhenomenonSignificanceNumberAndYear(t *testing.T) {
	for name, tt := range map[string]struct {
		code, sent, key string
		earlier         []string
	}{
		"the year is that of the begin": {
			"/O.NEW.PHFO.SU.Y.0001.270101T0600Z-270102T0600Z/", "2026-12-31T20:00:00Z", "PHFO.SU.Y.0001.2027", nil},
		"of what had begun, the year of issue, or else the one before": {
			"/O.CON.KIND.FL.W.0008.000000T0000Z-000000T0000Z/", "2026-03-01T00:00:00Z", "KIND.FL.W.0008.2026", []string{"KIND.FL.W.0008.2025"}},
		"a new event has no earlier year": {
			"/O.NEW.KIND.FL.W.0008.000000T0000Z-000000T0000Z/", "2026-03-01T00:00:00Z", "KIND.FL.W.0008.2026", nil},
		"a begin moved back over New Year": {
			"/O.EXB.KTAE.WS.A.0004.251231T1800Z-260101T1800Z/", "2025-12-30T12:00:00Z", "KTAE.WS.A.0004.2025", []string{"KTAE.WS.A.0004.2026"}},
		"a begin moved on over New Year": {
			"/O.EXT.KTAE.WS.A.0004.260101T0600Z-260101T1800Z/", "2025-12-30T12:00:00Z", "KTAE.WS.A.0004.2026", []string{"KTAE.WS.A.0004.2025"}},
		"in the midst of a year there is only that year": {
			"/O.CON.KTAE.WS.A.0004.260601T0600Z-260601T1800Z/", "2026-05-30T12:00:00Z", "KTAE.WS.A.0004.2026", nil},
		"a begin of another decade is a slip": {
			"/O.CON.KSEW.FL.W.0004.700101T0000Z-000000T0000Z/", "2012-03-31T12:00:00Z", "KSEW.FL.W.0004.2012", []string{"KSEW.FL.W.0004.2011"}},
		"a tornado watch is the Storm Prediction Center's": {
			"/O.NEW.KDVN.TO.A.0277.240521T1815Z-240522T0200Z/", "2024-05-21T18:15:00Z", "SPC.TO.A.0277.2024", nil},
		"so is a severe thunderstorm watch": {
			"/O.NEW.KOAX.SV.A.0275.240521T1815Z-240522T0200Z/", "2024-05-21T18:15:00Z", "SPC.SV.A.0275.2024", nil},
		"but a tornado warning is the office's": {
			"/O.NEW.KDVN.TO.W.0277.240521T1815Z-240522T0200Z/", "2024-05-21T18:15:00Z", "KDVN.TO.W.0277.2024", nil},
		"and Honolulu numbers its own watches": {
			"/O.NEW.PHFO.SV.A.0001.240521T1815Z-240522T0200Z/", "2024-05-21T18:15:00Z", "PHFO.SV.A.0001.2024", nil},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := parseVTEC(tt.code)
			if err != nil {
				t.Fatal(err)
			}
			key, earlier := v.keys(at(t, tt.sent))
			if key != tt.key || !cmp.Equal(earlier, tt.earlier) {
				t.Errorf("got %s, earlier %v, want %s, earlier %v", key, earlier, tt.key, tt.earlier)
			}
		})
	}
}

func TestActionSaysHowAnEventEnds(t *testing.T) {
	want := map[string]hazard.EndReason{"CAN": hazard.EndCancelled, "EXP": hazard.EndExpired, "UPG": hazard.EndSuperseded}
	for action := range knownActions {
		if got := (vtec{action: action}).ended(); got != want[action] {
			t.Errorf("%s: %q, want %q", action, got, want[action])
		}
	}
}

// Each VTEC string in the broadcast text products is readable, or is a hydrologic string.
func TestRecordedTextsHoldNoUnreadableVTEC(t *testing.T) {
	test.NoRace(t)
	shared := os.Getenv("HAZARDD_SHARED")
	if shared == "" {
		t.Skip("HAZARDD_SHARED is not set: the recordings of the source are not here")
	}
	names, _ := filepath.Glob(filepath.Join(shared, "feeds/nws/text/*.txt"))
	form := regexp.MustCompile(`(?m)^/[A-Z0-9]+\.[^/\s]+/`)
	read, hydrologic := 0, 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range form.FindAllString(string(b), -1) {
			if isHydrologic(code) {
				hydrologic++
				continue
			}
			v, err := parseVTEC(code)
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(name), err)
				continue
			}
			read++
			if v.String() != code {
				t.Errorf("%s: %s reads back as %s", filepath.Base(name), code, v)
			}
		}
	}
	if read < 100 || hydrologic == 0 {
		t.Errorf("read %d VTEC strings and %d hydrologic ones, want more than 100 and some", read, hydrologic)
	}
}

func FuzzVTEC(f *testing.F) {
	f.Add("/O.NEW.KDMX.TO.W.0044.260521T1900Z-260521T1945Z/")
	f.Add("/T.CAN.PHFO.TS.A.0001.000000T0000Z-000000T0000Z/")
	f.Add("/O.EXT.KSEW.FL.W.0004.700101T0000Z-691231T2359Z/")
	f.Add("/WPNW3.N.UU.000000T0000Z.000000T0000Z.000000T0000Z.OO/")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVTEC(text)
		if err != nil {
			if v != (vtec{}) {
				t.Errorf("%q: an error and %v", text, v)
			}
			return
		}
		if v.String() != text {
			t.Errorf("%q reads back as %q", text, v)
		}
		key, _ := v.keys(0)
		if len(key) < len("SPC.TO.A.0001.1970") {
			t.Errorf("%q: key %q", text, key)
		}
	})
}
