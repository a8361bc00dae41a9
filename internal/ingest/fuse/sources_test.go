package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// recording is a recorded payload of a source.
type recording struct{ source, file string }

// takeRecordings imports recordings in order, as history.
func (d *desk) takeRecordings(now hazard.Instant, recordings ...recording) {
	d.t.Helper()
	for _, r := range recordings {
		src, err := builtIn.Find(r.source)
		if err != nil {
			d.t.Fatal(err)
		}
		batch, err := src.Parse(server.ReadShared(d.t, "feeds/"+r.file), now)
		if err != nil {
			d.t.Fatalf("%s: %v", r.file, err)
		}
		if _, err := d.intake.Apply(d.t.Context(), r.source, batch, now, fuse.Options{History: true}); err != nil {
			d.t.Fatalf("%s: %v", r.file, err)
		}
	}
}

// withEvent returns the sorted events of the hazard that contains the event.
func (d *desk) withEvent(name string) string {
	for _, h := range d.together() {
		if slices.Contains(strings.Fields(h), name) {
			return h
		}
	}
	return ""
}

func TestRecordedEventsOfSeveralSourcesAreOneHazardEachInAnyOrder(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	for name, tt := range map[string]struct {
		recordings []recording
		want       map[string]string // an event → all events of its hazard
	}{
		"an earthquake of USGS that GDACS names": {
			[]recording{{"usgs", "usgs/2.5_day-20260727.json"}, {"usgs", "usgs/detail-20260727.json"}, {"gdacs", "gdacs/api-eventdata-EQ-202607.json"}},
			map[string]string{"usgs:us6000tga9": "gdacs:EQ1554511 usgs:us6000tga9"}},
		"a storm of NHC and GDACS under two names": {
			[]recording{{"gdacs", "gdacs/api-tc-list-20260819.json"}, {"nhc", "nhc/CurrentStorms-20260822.json"}, {"gdacs", "gdacs/api-eventdata-TC-1001303.json"}},
			map[string]string{"nhc:cp012026": "gdacs:TC1001303 nhc:cp012026"}},
		"earthquakes in Turkey, of which no aftershock is swallowed": {
			[]recording{{"usgs", "usgs/fdsn-turkey-202504.json"}, {"emsc", "emsc/fdsn-turkey-202504.json"}, {"usgs", "usgs/fdsn-turkey-202504.json"}, {"emsc", "emsc/fdsn-turkey-202504.json"}},
			map[string]string{
				"usgs:us7000pufs": "emsc:20250423_0000104 usgs:us7000pufs", // M 6.2
				"usgs:us7000pufv": "emsc:20250423_0000115 usgs:us7000pufv",
				"usgs:us7000pufy": "emsc:20250423_0000108 usgs:us7000pufy",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			now := hazard.Instant(1_795_262_400_000)
			reversed := slices.Clone(tt.recordings)
			slices.Reverse(reversed)
			for _, order := range [][]recording{tt.recordings, reversed} {
				d := newDesk(t)
				d.takeRecordings(now, order...)
				for event, want := range tt.want {
					if got := d.withEvent(event); got != want {
						t.Errorf("%s is part of %q, want %q", event, got, want)
					}
				}
				before := d.last()
				if d.takeRecordings(now, order...); d.last() != before {
					t.Errorf("importing the same again made %d changes", d.last()-before)
				}
			}
		})
	}
}

// Every earthquake in Turkey that both services list is one hazard, and so is every one that is
// strong enough according to only one of them.
func TestAllOfTurkeyIsJoined(t *testing.T) {
	d := newDesk(t)
	now := hazard.Instant(1_795_262_400_000)
	both := []recording{{"usgs", "usgs/fdsn-turkey-202504.json"}, {"emsc", "emsc/fdsn-turkey-202504.json"}}
	d.takeRecordings(now, append(both, both...)...)
	joined := 0
	for _, h := range d.together() {
		if strings.Contains(h, "usgs:") {
			joined++
			if !strings.Contains(h, "emsc:") {
				t.Errorf("%s has no partner", h)
			}
		}
	}
	if joined < 7 {
		t.Errorf("%d earthquakes of USGS", joined)
	}
}
