package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/ingest/sources/official"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
)

// A warning that was stored before its sender's practice was known stays the same hazard when the
// sender's list is read again, and when a later message comes.
func TestAStoredWarningIsFoundByItsSendersPractice(t *testing.T) {
	const url = "https://feeds.example.org/"
	alert := func(id, sent, level, areas string) string {
		text := `<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>` + id + `</identifier><sender>office@example.org</sender><sent>` + sent +
			`</sent><status>Actual</status><msgType>Alert</msgType><scope>Public</scope><incidents>I-7</incidents><info><language>en</language><category>Met</category><event>Bushfire</event>` +
			`<urgency>Expected</urgency><severity>` + level + `</severity><certainty>Possible</certainty><onset>2026-11-21T09:00:00+00:00</onset><expires>2026-11-22T09:00:00+00:00</expires>`
		for i, area := range strings.Split(areas, ",") {
			text += fmt.Sprintf("<area><areaDesc>%s</areaDesc><polygon>%d,-120 %d,-119 %d,-119 %d,-120</polygon><geocode><valueName>X</valueName><value>%s</value></geocode></area>", area, 38+i, 38+i, 39+i, 38+i, area)
		}
		return text + "</info></alert>"
	}
	list := func(alerts ...string) string { return "<alerts>" + strings.Join(alerts, "") + "</alerts>" }
	first, lower := list(alert("A-1", "2026-11-21T09:00:00+00:00", "Severe", "A")), list(alert("A-2", "2026-11-21T10:00:00+00:00", "Moderate", "A"))
	both := list(alert("A-1", "2026-11-21T09:00:00+00:00", "Severe", "A,B"))
	for name, tt := range map[string]struct {
		address string      // of the sender
		steps   [][2]string // a payload and the hazards after it, by number; the first was read before the practice was known
	}{
		"Queensland": {"https://publiccontent-gis-psba-qld-gov-au.s3.amazonaws.com/content/Feeds/BushfireCurrentIncidents/bushfireAlert_capau.xml",
			[][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Tasmania": {"https://alert.tas.gov.au/data/cap-au.xml", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Western Australia": {"https://api.emergency.wa.gov.au/v1/capau",
			[][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {strings.ReplaceAll(lower, "A-2", "A-1"), "ADVISORY A"}}},
		"France":  {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"Bosnia":  {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-bosnia-herzegovina", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "ADVISORY A"}}},
		"unknown": {"https://warnings.example.org/", [][2]string{{first, "WATCH A"}, {first, "WATCH A"}, {lower, "WATCH A, ADVISORY A"}}},
		"France, several departments": {"https://feeds.meteoalarm.org/api/v1/warnings/feeds-france", [][2]string{
			{both, "WATCH A; B"}, {both, "WATCH A, WATCH B"}, {strings.ReplaceAll(lower, ">A<", ">B<"), "WATCH A, ADVISORY B"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			known, err := NewSources(SourceSettings{CAP: []CAPSource{{Config: cap.Config{Name: "own", URL: url}}}})
			if err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			in, now := known.Intake(s), hazard.At(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC))
			cfg := cap.Config{Name: "own", URL: url}
			for i, step := range tt.steps {
				batch, err := cap.Parse(cfg, []byte(step[0]), now)
				if err == nil {
					_, err = in.Apply(t.Context(), "own", batch, now, fuse.Options{})
				}
				if err != nil {
					t.Fatal(err)
				}
				cfg.Practice = official.PracticeOf(tt.address)
				ids, err := s.Hazards.IDs(t.Context())
				slices.Sort(ids)
				var got []string
				for _, id := range ids {
					h, errH := s.Hazards.Get(t.Context(), id)
					if err = errors.Join(err, errH); err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprintf("%v %s", h.Severity, strings.TrimPrefix(h.Name, "Bushfire - ")))
				}
				if text := strings.Join(got, ", "); text != step[1] {
					t.Errorf("step %d: %q, want %q", i, text, step[1])
				}
			}
		})
	}
}
