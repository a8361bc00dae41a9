package app

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/sources/cap"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/datadir"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// TestTheCases replays each folder of cases below HAZARDD_SHARED, whose README.md has the right
// answers. A row says what is true at some moments; at the end of the list without a moment.
func TestTheCases(t *testing.T) {
	for name, tt := range map[string]struct {
		feed string // name=url of a CAP feed of the operator
		want map[string][]string
		look func(t *testing.T, s *store.Store, all []*hazard.Hazard) // what else is true in the end
	}{
		"nws_shrunk_polygon": {
			want: map[string][]string{"": {"WARNING active Tornado Warning - Pottawattamie, IA"}},
			look: func(t *testing.T, s *store.Store, all []*hazard.Hazard) {
				shapes, err := s.Hazards.Shapes(t.Context(), all[0].Areas)
				if err != nil {
					t.Fatal(err)
				}
				west, south, east, north := shapes[0].Bounds()
				h := all[0]
				if len(shapes) != 1 || [4]float64{west, south, east, north} != [4]float64{-95.9, 41.3, -95.8, 41.4} || h.Longitude < west || h.Longitude > east || h.Latitude < south || h.Latitude > north {
					t.Errorf("area %v %v %v %v, point %v %v, want the small polygon and a point in it", west, south, east, north, h.Longitude, h.Latitude)
				}
			},
		},
		"wa_expires_is_sent": {
			want: map[string][]string{"": {"WARNING active Bushfire - Darlington"}},
			look: func(t *testing.T, _ *store.Store, hazards []*hazard.Hazard) {
				if d := hazards[0].Description; !strings.Contains(d, "states no end") {
					t.Errorf("no note on the end in %q", d)
				}
			},
		},
		"qld_reminted_ids": {
			want: map[string][]string{
				"2026-09-19T04:35:00Z": {"WARNING active Bushfire - Mount Cotton: Gramzow Road and Avalon Road"},
				"2026-09-19T06:35:00Z": {"WATCH active Bushfire - Mount Cotton: Gramzow Road and Avalon Road"},
				"2026-09-19T08:35:00Z": {"ADVISORY active Bushfire - Mount Cotton: Gramzow Road and Avalon Road"},
				"":                     {"TERMINATION withdrawn Bushfire - Mount Cotton: Gramzow Road and Avalon Road"},
			},
		},
		"fr_lowered": {
			feed: "fr=https://feeds.meteoalarm.org/api/v1/warnings/feeds-france",
			want: map[string][]string{"2026-07-15T11:05:00Z": {"WATCH active Canicule - Haute-Garonne"}, "": {"ADVISORY active Canicule - Haute-Garonne"}},
		},
		"fmi_split": {
			feed: "fi=https://feeds.meteoalarm.org/api/v1/warnings/feeds-finland",
			want: map[string][]string{"": {"ADVISORY active Kova tuuli merialueella - Ahvenanmeri"}},
			look: func(t *testing.T, _ *store.Store, hazards []*hazard.Hazard) {
				h := hazards[0]
				if from, to := h.Start.Time().Format(time.RFC3339), h.End.Time().Format(time.RFC3339); from != "2026-08-03T09:00:00Z" || to != "2026-08-04T09:00:00Z" {
					t.Errorf("%s to %s, want the whole gale", from, to)
				}
			},
		},
		"bbk_listed_3_days": {
			want: map[string][]string{"2026-09-03T12:00:00Z": {"WATCH active Trinkwasser abkochen - Siersburg"}, "": {"WATCH active Trinkwasser abkochen - Siersburg"}},
		},
		"calfire_zero_coord": {
			want: map[string][]string{"": {"INFORMATION active Wildfire - Null Fire, Lake County, California", "INFORMATION active Wildfire - Plus Fire, Lake County, California",
				"INFORMATION active Wildfire - Zero Fire, Lake County, California"}},
			look: func(t *testing.T, _ *store.Store, hazards []*hazard.Hazard) {
				for _, h := range hazards {
					kind, note := hazard.PlaceRegion, "and is not used."
					if strings.Contains(h.Name, "Null") {
						kind, note = hazard.PlacePoint, ""
					}
					if h.Place() != kind || !strings.Contains(h.Description, note) || len(h.Areas) > 0 || h.Somewhere() != (h.PlaceKnownAs == "Lake County, California") ||
						h.Latitude < 38 || h.Latitude > 40 || h.Longitude < -124 || h.Longitude > -122 {
						t.Errorf("%s: %s %q at %v %v, %q", h.Name, h.Place(), h.PlaceKnownAs, h.Longitude, h.Latitude, h.Description)
					}
				}
			},
		},
		"bmkg_tsunami": {
			want: map[string][]string{
				"2026-02-10T06:00:00Z": {"WARNING active M 7.6 Earthquake - 20 km Tenggara DENPASAR-BALI", "WARNING active Tsunami possible - M 7.6 Earthquake - 20 km Tenggara DENPASAR-BALI"},
				"":                     {"WARNING active M 7.4 Earthquake - 20 km Tenggara DENPASAR-BALI", "TERMINATION cancelled Tsunami possible - M 7.4 Earthquake - 20 km Tenggara DENPASAR-BALI"},
			},
			look: func(t *testing.T, _ *store.Store, hazards []*hazard.Hazard) {
				if end := hazards[1].End.Time().Format(time.RFC3339); end != "2026-02-10T07:30:00Z" {
					t.Errorf("the tsunami ended at %s", end)
				}
			},
		},
		"nws_aq_three": {want: map[string][]string{"2026-06-13T18:06:00Z": {"ADVISORY active Air Quality Alert - Somewhere, XX"}, "": {"ADVISORY active Air Quality Alert - Somewhere, XX"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := openCase(t, name, tt.feed)
			for _, moment := range slices.Sorted(maps.Keys(tt.want)) {
				if moment == "" {
					continue
				}
				at, err := time.Parse(time.RFC3339, moment)
				if err != nil {
					t.Fatal(err)
				}
				c.until(hazard.At(at))
				c.check(moment, tt.want[moment])
			}
			c.until(hazard.MaxInstant)
			if want, ok := tt.want[""]; ok {
				c.check("the end", want)
			}
			if tt.look != nil {
				tt.look(t, c.store, c.hazards())
			}
		})
	}
}

// caseRun is a case that is being replayed.
type caseRun struct {
	t      *testing.T
	store  *store.Store
	replay *poll.Replay
	steps  []caseStep // those that are not yet replayed
}

type caseStep struct {
	at     hazard.Instant
	source poll.Source
	feed   string
	file   string
}

// openCase reads the list of a case.
func openCase(t *testing.T, name, feed string) *caseRun {
	t.Helper()
	list := recordings.Path(t, filepath.Join("cases", name, "list.txt"))
	var set SourceSettings
	if name, address, ok := strings.Cut(feed, "="); ok {
		set.CAP = []CAPSource{{Config: cap.Config{Name: name, URL: address}}}
	}
	known, err := NewSources(set)
	if err != nil {
		t.Fatal(err)
	}
	s := emptyStore(t)
	c := &caseRun{t: t, store: s, replay: poll.NewReplay(s, known.Intake(s), hazard.MinInstant, slog.New(slog.DiscardHandler))}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		at, err := time.Parse(time.RFC3339, words[0])
		src, feed, errS := known.FindFeed(words[1])
		if err := errors.Join(err, errS); err != nil {
			t.Fatal(err)
		}
		c.steps = append(c.steps, caseStep{hazard.At(at), src, feed, filepath.Join(filepath.Dir(list), words[2])})
	}
	return c
}

// until replays all payloads up to a moment. hazard.MaxInstant means to the end of the list.
func (c *caseRun) until(now hazard.Instant) {
	c.t.Helper()
	for len(c.steps) > 0 && c.steps[0].at <= now {
		step := c.steps[0]
		c.steps = c.steps[1:]
		payload, err := os.ReadFile(step.file)
		if err != nil {
			c.t.Fatal(err)
		}
		_, err = c.replay.Take(c.t.Context(), &step.source, step.feed, payload, nil, step.at)
		if _, ok := errors.AsType[*poll.Failure](err); err != nil && !ok {
			c.t.Fatal(err)
		}
	}
	if now != hazard.MaxInstant {
		if err := c.replay.Until(c.t.Context(), now); err != nil {
			c.t.Fatal(err)
		}
	}
}

// check compares all hazards with lines of their level, "active" or the reason of their end, and name.
func (c *caseRun) check(when string, want []string) {
	c.t.Helper()
	var got []string
	for _, h := range c.hazards() {
		state := "active"
		if h.Status != hazard.Active {
			state = string(cmp.Or(h.Reason, hazard.EndExpired))
		}
		got = append(got, fmt.Sprintf("%v %s %s", h.Severity, state, h.Name))
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("at %s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// hazards returns all hazards, by name.
func (c *caseRun) hazards() (all []*hazard.Hazard) {
	c.t.Helper()
	ids, err := c.store.Hazards.IDs(c.t.Context())
	for _, id := range ids {
		h, errH := c.store.Hazards.Get(c.t.Context(), id)
		err = errors.Join(err, errH)
		all = append(all, h)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b *hazard.Hazard) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all
}

// emptyStore opens a new store until the test ends.
func emptyStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), datadir.Empty(t), "sqlite:?synchronous=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
