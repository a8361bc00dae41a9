package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/nws"
)

// Issues of an alert of the NWS without VTEC refer to no other. One that takes the place of its
// predecessor from one list to the next is the same hazard; one of the next day is another.
func TestAnIssueThatTakesThePlaceOfAnotherIsTheSameHazard(t *testing.T) {
	issue := func(id, sent, onset, ends, zone string) string {
		return fmt.Sprintf(`{"id":"x","type":"Feature","geometry":null,"properties":{"id":"urn:oid:%s","areaDesc":"Somewhere","geocode":{"SAME":[],"UGC":["%s"]},
			"affectedZones":["https://api.weather.gov/zones/county/%s"],"references":[],"sent":"%s","effective":"%s","onset":"%s","expires":"%s","ends":"%s","status":"Actual","messageType":"Alert",
			"category":"Met","severity":"Unknown","certainty":"Unknown","urgency":"Unknown","event":"Air Quality Alert","senderName":"NWS Baltimore","headline":"x","description":"x",
			"parameters":{"AWIPSidentifier":["X"]}}}`, id, zone, zone, sent, sent, onset, ends, ends)
	}
	list := func(features ...string) string {
		return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `],"title":"Current watches, warnings, and advisories"}`
	}
	first := issue("1.1", "2026-11-20T18:00:00Z", "2026-11-21T09:00:00Z", "2026-11-21T23:00:00Z", "MDC003")
	second := issue("1.2", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", "2026-11-22T01:00:00Z", "MDC003")
	tomorrow := issue("1.3", "2026-11-21T10:00:00Z", "2026-11-22T09:00:00Z", "2026-11-22T23:00:00Z", "MDC003")
	elsewhere := issue("1.4", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", "2026-11-22T01:00:00Z", "MDC005")
	for name, tt := range map[string]struct {
		lists []string
		want  []string // starts and ends
	}{
		"one step":            {[]string{list(first), list(second), list(second)}, []string{"21T09 22T01"}},
		"listed together":     {[]string{list(first), list(first, second), list(second)}, []string{"21T09 22T01"}},
		"the next day":        {[]string{list(first), list(tomorrow)}, []string{"21T09 21T23", "22T09 22T23"}},
		"another county":      {[]string{list(first), list(elsewhere)}, []string{"21T09 21T23", "21T10 22T01"}},
		"the first once more": {[]string{list(first), list(second), list(first, second)}, []string{"21T09 22T01"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPracticeRun(t)
			for i, payload := range tt.lists {
				now := r.now.Add(time.Duration(i) * time.Minute)
				batch, err := nws.Parse([]byte(payload), now)
				if err == nil {
					_, err = r.in.Apply(t.Context(), nws.Name, batch, now, fuse.Options{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			at := func(i hazard.Instant) string { return i.Time().Format("02T15") }
			for _, h := range r.hazards() {
				got = append(got, at(h.Start)+" "+at(h.End))
			}
			if strings.Join(got, ", ") != strings.Join(tt.want, ", ") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
