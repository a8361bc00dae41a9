package app_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/app"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll"
	"github.com/hazardd/hazardd/internal/ingest/sources/gdacs"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/recordings"
)

// gdacsList returns the recorded list of earthquakes, with the given members of EQ1554511 replaced
// (M 5.8, Orange, of 28 July 2026, 03:34). Without members, the list lacks that event.
func gdacsList(t *testing.T, members map[string]any) []byte {
	t.Helper()
	var doc struct {
		Type     string           `json:"type"`
		Features []map[string]any `json:"features"`
	}
	if err := json.Unmarshal(recordings.Read(t, "feeds/gdacs/api-search-EQ-202607.json"), &doc); err != nil {
		t.Fatal(err)
	}
	for i, f := range doc.Features {
		p := f["properties"].(map[string]any)
		if p["eventid"] != 1554511.0 {
			continue
		}
		for name, value := range members {
			p[name] = value
		}
		if members == nil {
			doc.Features[i] = doc.Features[len(doc.Features)-1]
			doc.Features = doc.Features[:len(doc.Features)-1]
			break
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAnEarthquakeLastsWhileGDACSListsIt replays sequences of GDACS' list, and checks until when
// the earthquake was active.
func TestAnEarthquakeLastsWhileGDACSListsIt(t *testing.T) {
	test.NoRace(t)
	test.Slow(t)
	begin := moment(t, "2026-07-28T03:34:05Z")
	current := gdacsList(t, map[string]any{"iscurrent": "true"})
	red := gdacsList(t, map[string]any{"iscurrent": "true", "alertlevel": "Red", "episodealertlevel": "Red"})
	green := gdacsList(t, map[string]any{"iscurrent": "true", "alertlevel": "Green", "episodealertlevel": "Green", "datemodified": "2026-07-30T00:00:00"})
	over := gdacsList(t, map[string]any{"iscurrent": "false"})
	gone := gdacsList(t, nil)
	broken := gdacsList(t, map[string]any{"fromdate": "soon", "todate": "later"})
	detail := recordings.Read(t, "feeds/gdacs/api-eventdata-EQ-202607.json")
	shaking := recordings.Read(t, "feeds/gdacs/api-geometry-EQ-truncated.json")
	const h, m = time.Hour, time.Minute
	type step struct {
		after   time.Duration
		payload []byte
	}
	every := func(payload []byte, from, to, each time.Duration) (steps []step) {
		for at := from; at < to; at += each {
			steps = append(steps, step{at, payload})
		}
		return steps
	}
	with := func(steps []step, more ...step) []step { return append(steps, more...) }
	for name, tt := range map[string]struct {
		steps    []step        // in any order
		from, to time.Duration // it must not end before from or after to
	}{
		"as long as it is current":        {with(every(current, h, 97*h, 4*h), step{97 * h, over}, step{98 * h, over}), 97 * h, 97*h + 10*m},
		"until it is not listed":          {with(every(current, h, 50*h, 4*h), step{50 * h, gone}, step{51 * h, gone}), 50 * h, 50*h + 10*m},
		"until it is Green":               {with(every(current, h, 50*h, 4*h), step{50 * h, green}, step{51 * h, green}), 50 * h, 50*h + 10*m},
		"with its detail and its shaking": {with(every(current, h, 97*h, 4*h), step{2 * h, detail}, step{2*h + m, shaking}, step{97 * h, over}, step{98 * h, over}), 97 * h, 97*h + 10*m},
		"listed on after one gap":         {with(every(current, h, 50*h, 4*h), step{50 * h, gone}, step{50*h + 4*m, current}, step{60 * h, gone}, step{61 * h, gone}), 60 * h, 60*h + 10*m},
		"cut lists end nothing":           {with(every(current, h, 50*h, 4*h), step{50 * h, gone[:len(gone)/2]}, step{51 * h, gone[:len(gone)/2]}), 60 * h, 75 * h},
		"a record that cannot be read":    {with(every(current, h, 50*h, 4*h), every(broken, 50*h, 60*h, h)...), 60 * h, 75 * h},
		"24 h after GDACS fell silent":    {every(current, h, 40*h, h), 39*h + 18*h, 39*h + 2*24*h}, // the last list is repeated for a day
		"Red, and then silence":           {every(red, h, 10*h, h), 72 * h, 9*h + 24*h + 72*h},
		"Green from the beginning":        {every(green, 45*h, 90*h, 4*h), 45 * h, 45 * h},
		"10 days at most":                 {every(current, h, 20*24*h, 12*h), 10 * 24 * h, 11 * 24 * h},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			src, err := app.BuiltIn().Find(gdacs.Name)
			if err != nil {
				t.Fatal(err)
			}
			r := poll.NewReplay(d.store, d.intake, hazard.MinInstant, slog.New(slog.DiscardHandler))
			slices.SortStableFunc(tt.steps, func(a, b step) int { return cmp.Compare(a.after, b.after) })
			for _, s := range tt.steps {
				feed := gdacs.Source().Feeds[0].URL
				if string(s.payload) == string(detail) || string(s.payload) == string(shaking) {
					feed = "" // no request beyond the list
				}
				if _, err := r.Take(t.Context(), &src, feed, s.payload, nil, begin.Add(s.after)); err != nil && !isFailure(err) {
					t.Fatal(err)
				}
			}
			if err := r.Until(t.Context(), begin.Add(40*24*h)); err != nil {
				t.Fatal(err)
			}
			changes, err := d.store.Log.Since(t.Context(), 0, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			var ended hazard.Instant
			n := 0
			for _, c := range changes {
				if c.Hazard == nil || c.Hazard.UUID != hazard.EventUUID(gdacs.Name, "EQ1554511") {
					continue
				}
				if n++; c.Hazard.Status != hazard.Active && ended == 0 {
					ended = c.At
					if c.Hazard.End > c.At {
						t.Errorf("ended at %s, end_Date %s", c.At, c.Hazard.End)
					}
				} else if c.Hazard.Status == hazard.Active {
					ended = 0
				}
			}
			if n > 0 && (ended < begin.Add(tt.from) || ended > begin.Add(tt.to)) || n == 0 && tt.from > 0 {
				t.Errorf("ended after %s, in %d changes; want %s to %s", ended.Time().Sub(begin.Time()), n, tt.from, tt.to)
			}
			if n > 50 {
				t.Errorf("%d changes", n)
			}
		})
	}
}

func isFailure(err error) bool {
	_, ok := errors.AsType[*poll.Failure](err)
	return ok
}
