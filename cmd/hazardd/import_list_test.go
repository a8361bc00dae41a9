package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/store"
)

// unrenewed is an alert of the weather service without an end, whose renewal has been overdue since
// 12:30.
const unrenewed = `{"id":"https://api.weather.gov/alerts/urn:oid:1.1","type":"Feature","geometry":{"type":"Polygon","coordinates":[[[-93,41],[-92,41],[-92,42],[-93,41]]]},
"properties":{"@id":"https://api.weather.gov/alerts/urn:oid:1.1","id":"urn:oid:1.1","areaDesc":"Polk, IA","geocode":{"SAME":["019153"],"UGC":["IAC153"]},
"affectedZones":["https://api.weather.gov/zones/county/IAC153"],"references":[],"sent":"2026-08-15T10:00:00Z","effective":"2026-08-15T10:00:00Z",
"onset":"2026-08-15T10:00:00Z","expires":"2026-08-15T12:30:00Z","ends":null,"status":"Actual","messageType":"Alert","scope":"Public","severity":"Severe",
"certainty":"Observed","urgency":"Immediate","event":"Flood Warning","senderName":"NWS Des Moines IA","headline":"Flood Warning","description":"The river rises.",
"parameters":{"VTEC":["/O.NEW.KDMX.FL.W.0044.260815T1000Z-000000T0000Z/"]}}}`

// TestAListEndsWhatItNamesNoLonger replays a national list with one alert that stays in the list
// and is then removed.
func TestAListEndsWhatItNamesNoLonger(t *testing.T) {
	const other = "KDMX.FL.W.0045.2026"
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	national := func(alerts ...string) string {
		return `{"type":"FeatureCollection","title":"Current watches, warnings, and advisories","features":[` + strings.Join(alerts, ",") + "]}"
	}
	second := strings.NewReplacer("urn:oid:1.1", "urn:oid:1.2", "0044", "0045").Replace(unrenewed)
	write("both.json", national(unrenewed, second))
	write("one.json", national(unrenewed))
	list := write("list.txt", "2026-08-15T11:00:00Z nws both.json\n2026-08-15T11:20:00Z nws one.json\n2026-08-15T16:00:00Z nws one.json\n")
	g := &globals{Data: filepath.Join(dir, "data")}
	c := &console{out: io.Discard, err: io.Discard, now: time.Now}
	if err := (&importCmd{List: list, knownFlags: knownFlags{Response: true}}).Run(t.Context(), c, g); err != nil {
		t.Fatal(err)
	}
	var log []string
	err := g.withStore(t.Context(), func(s *store.Store) error {
		changes, err := s.Log.Since(t.Context(), 0, 1000)
		for _, c := range changes {
			if c.Hazard != nil && c.Kind != hazard.HazardUpdated {
				log = append(log, fmt.Sprint(c.At.Time().Format("15:04:05 "), c.Kind, " ", c.Hazard.Comment, " ", c.Hazard.Reason))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"11:00:00 hazard.created nws:KDMX.FL.W.0044.2026 ",
		"11:00:00 hazard.created nws:" + other + " ",
		"11:20:00 hazard.expired nws:" + other + " withdrawn",
	}
	if strings.Join(log, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
}

// A list that is empty, or continues at another address, is the source's data from then on. Earlier
// data is not repeated after it, because polling would not see it again.
func TestAReplayDoesNotRepeatAListBeforeOneThatIsNotWhole(t *testing.T) {
	for name, after := range map[string]string{"empty": "", "cut into pages": `,"pagination":{"next":"https://api.weather.gov/alerts?cursor=x"}`} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			national := func(features, more string) []byte {
				return []byte(`{"type":"FeatureCollection","title":"Current watches, warnings, and advisories","features":[` + features + "]" + more + "}")
			}
			for file, text := range map[string][]byte{
				"listed.json": national(unrenewed, ""), "after.json": national("", after),
				"list.txt": []byte("2026-08-15T11:00:00Z nws listed.json\n2026-08-15T11:08:00Z nws after.json\n2026-08-15T15:00:00Z nws after.json\n"),
			} {
				if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g := &globals{Data: filepath.Join(dir, "data")}
			c := &console{out: io.Discard, err: io.Discard, now: time.Now}
			if err := (&importCmd{List: filepath.Join(dir, "list.txt"), knownFlags: knownFlags{Response: true}}).Run(t.Context(), c, g); err != nil {
				t.Fatal(err)
			}
			err := g.withStore(t.Context(), func(s *store.Store) error {
				changes, err := s.Log.Since(t.Context(), 0, 1000)
				if len(changes) == 0 {
					t.Error("no changes")
				}
				for _, c := range changes {
					if at := c.At.Time().Format("15:04:05"); c.Hazard != nil && c.Hazard.End.Time().Format("15:04") > "14:45" {
						t.Errorf("at %s it is to end at %s: the list of 11:00 was repeated", at, c.Hazard.End)
					}
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
