package edit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/edit"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/source"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test/postgres"
)

const warning = `{"hazard_Name":"Flood","type_ID":"FLOOD","severity_ID":"WARNING","latitude":10,"longitude":20}`

// ways holds, by name, the ways in which an editor can publish more than before. Each prepares a store
// without approval, and returns the write.
var ways = map[string]func(t *testing.T, e *edit.Editor, s *store.Store) func() error{
	"a new hazard": func(t *testing.T, e *edit.Editor, _ *store.Store) func() error {
		return creates(t, e, warning)
	},
	"a new hazard with a uuid": func(t *testing.T, e *edit.Editor, _ *store.Store) func() error {
		return creates(t, e, warning[:len(warning)-1]+`,"uuid":"`+uuid.NewString()+`"}`)
	},
	"a new drill": func(t *testing.T, e *edit.Editor, _ *store.Store) func() error {
		return creates(t, e, warning[:len(warning)-1]+`,"category_ID":"EXERCISE"}`)
	},
	"a higher level":   patches(smallest, `{"severity_ID":"WARNING"}`),
	"another text":     patches(warning, `{"description":"Leave now."}`),
	"another name":     patches(warning, `{"hazard_Name":"Attack"}`),
	"another language": patches(warning, `{"texts":[{"language":"es","name":"Ataque"}]}`),
	"another place":    patches(warning, `{"latitude":11}`),
	"a wider area":     patches(warning, `{"area":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]]]}}`),
	"a later end":      patches(warning, `{"end_Date":"`+now.Add(300*time.Hour).Digits()+`"}`),
	"another link":     patches(warning, `{"snc_url":"https://example.org/x"}`),
	"an end taken back": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		return undoes(t, e, s, func(h *hazard.Hazard) error {
			_, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"status":"E"}`), now)
			return err
		})
	},
	"a retraction taken back": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		return undoes(t, e, s, func(h *hazard.Hazard) error {
			_, err := e.Retract(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"reason":"false"}`), now)
			return err
		})
	},
	"a merge taken back": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		into := made(t, e, warning)
		return undoes(t, e, s, func(h *hazard.Hazard) error {
			_, err := e.Merge(t.Context(), editor, edit.Ref{ID: h.ID}, nil, fmt.Appendf(nil, `{"into":%d}`, into.ID), now)
			return err
		})
	},
	"a merge": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		wide := reported(1)
		wide.Areas = []hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]]]}`}}
		reports(t, s, reported(0))
		reports(t, s, wide)
		return func() error {
			_, err := e.Merge(t.Context(), editor, edit.Ref{UUID: hazard.EventUUID("usgs", "e1")}, nil, fmt.Appendf(nil, `{"into":%q}`, hazard.EventUUID("usgs", "e0")), now)
			return err
		}
	},
	"a split": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		one, two := reported(0), reported(0)
		two.Source, two.Refs = "emsc", []string{"usgs:e0"}
		reports(t, s, one)
		reports(t, s, two)
		return func() error {
			_, err := e.Split(t.Context(), editor, edit.Ref{UUID: hazard.EventUUID("usgs", "e0")}, nil, []byte(`{"source":"emsc","event":"e0"}`), now)
			return err
		}
	},
	"a held report released": func(t *testing.T, e *edit.Editor, s *store.Store) func() error {
		held := reported(0)
		held.Suspect = "the words say TEST"
		reports(t, s, held)
		return func() error {
			_, err := e.Decide(t.Context(), editor, "usgs", 1, nil, []byte(`{"decision":"released"}`), now)
			return err
		}
	},
}

func creates(t *testing.T, e *edit.Editor, body string) func() error {
	return func() error {
		_, err := e.CreateHazard(t.Context(), editor, nil, []byte(body), now)
		return err
	}
}

func patches(before, body string) func(*testing.T, *edit.Editor, *store.Store) func() error {
	return func(t *testing.T, e *edit.Editor, _ *store.Store) func() error {
		h := made(t, e, before)
		return func() error {
			_, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(body), now)
			return err
		}
	}
}

func undoes(t *testing.T, e *edit.Editor, s *store.Store, end func(*hazard.Hazard) error) func() error {
	h := made(t, e, warning)
	if err := end(h); err != nil {
		t.Fatal(err)
	}
	over, err := s.Hazards.Get(t.Context(), h.ID)
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		_, err := e.Undo(t.Context(), editor, edit.Ref{ID: h.ID}, nil, fmt.Appendf(nil, `{"change":%d}`, over.Version), now)
		return err
	}
}

func reported(n int) hazard.Report {
	return hazard.Report{Source: "usgs", Key: fmt.Sprintf("e%d", n), Version: 1, Type: hazard.Earthquake, Severity: hazard.Warning, Name: "Quake", Start: now.Add(-time.Duration(n) * time.Hour),
		Point: &hazard.Point{Lon: float64(10 * n), Lat: 1}}
}

func reports(t *testing.T, s *store.Store, r hazard.Report) {
	t.Helper()
	if _, err := fuse.New(s, fuse.Known{}).Apply(t.Context(), r.Source, source.Batch{Reports: []hazard.Report{r}, Read: 1}, now, fuse.Options{}); err != nil {
		t.Fatal(err)
	}
}

// Who can bring it out alone: nobody what has to wait, in whatever way it is written. An unknown
// reach has to wait where the reach decides.
func TestWhoCanBringItOutAlone(t *testing.T) {
	few, many := int64(10), int64(5000)
	settings := map[string]edit.TwoPeople{"none": {}, "warnings": {Warnings: true}, "people": {People: 1000}, "both": {Warnings: true, People: 1000}}
	reaches := map[string]edit.Reach{"few": {People: &few}, "many": {People: &many}, "unknown": {}, "many subscribers": {People: &few, Subscribers: 1000}}
	for way, prepare := range ways {
		for setting, two := range settings {
			if setting != "both" && postgres.Postgres() {
				continue // the decision is the editor's: on a second store, one setting shows that it reads and writes the same
			}
			for reach, r := range reaches {
				t.Run(way+"/"+setting+"/"+reach, func(t *testing.T) {
					e, s := newEditor(t)
					write := prepare(t, e, s)
					two.Reach = func(context.Context, *hazard.Hazard, []hazard.Area) (edit.Reach, error) { return r, nil }
					if setting != "none" {
						twoPeople(e, two)
					}
					before, err := s.Log.Last(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					err = write()
					_, waits := errors.AsType[*edit.DraftedError](err)
					if err != nil && !waits {
						t.Fatal(err)
					}
					if want := two.Warnings || two.People > 0 && reach != "few"; waits != want {
						t.Errorf("waits for a second person: %t, want %t", waits, want)
					}
					if after, err := s.Log.Last(t.Context()); err != nil || waits != (after == before) {
						t.Errorf("waits: %t; the log went from %d to %d, %v", waits, before, after, err)
					}
				})
			}
		}
	}
	if n := len(slices.Collect(maps.Keys(ways))); n < 14 {
		t.Errorf("only %d ways", n)
	}
}

// The same where the reach depends on what is published: of a point the circle around it, of an area the
// people in it. Whatever the way of writing, what reaches many by its point or by its area has to wait, and
// what was found to reach few is not held up.
func TestWhatIsPublishedDecidesWhoCanBringItOutAlone(t *testing.T) {
	few, many := int64(10), int64(5000)
	for way, prepare := range ways {
		for form, manyIf := range map[string]func(areas int) bool{"point": func(n int) bool { return n == 0 }, "area": func(n int) bool { return n > 0 }} {
			t.Run(way+"/"+form, func(t *testing.T) {
				if postgres.Postgres() {
					t.Skip("the decision is the editor's, not the store's")
				}
				e, s := newEditor(t)
				write := prepare(t, e, s)
				asked, found := 0, false
				twoPeople(e, edit.TwoPeople{People: 1000, Reach: func(_ context.Context, _ *hazard.Hazard, areas []hazard.Area) (edit.Reach, error) {
					asked++
					if manyIf(len(areas)) {
						found = true
						return edit.Reach{People: &many}, nil
					}
					return edit.Reach{People: &few}, nil
				}})
				err := write()
				_, waits := errors.AsType[*edit.DraftedError](err)
				if err != nil && !waits {
					t.Fatal(err)
				}
				if asked == 0 || waits != found {
					t.Errorf("its reach was asked for %d times and is many: %t; it waits: %t", asked, found, waits)
				}
			})
		}
	}
}

// A threshold that changes leaves what waits waiting, and looks at each later request.
func TestAThresholdThatChanges(t *testing.T) {
	e, _ := newEditor(t)
	many := int64(5000)
	reach := func(context.Context, *hazard.Hazard, []hazard.Area) (edit.Reach, error) {
		return edit.Reach{People: &many}, nil
	}
	h := made(t, e, warning) // published alone, before there was a threshold
	twoPeople(e, edit.TwoPeople{People: 1000, Reach: reach})
	_, err := e.PatchHazard(t.Context(), editor, edit.Ref{ID: h.ID}, nil, []byte(`{"description":"Leave now."}`), now)
	waiting := draftOf(t, err)
	twoPeople(e, edit.TwoPeople{People: 1_000_000, Reach: reach})
	if _, err := e.Approve(t.Context(), editor, waiting, now); !errors.Is(err, hazard.ErrForbidden) {
		t.Errorf("approved alone after the threshold went up: %v", err)
	}
	if done, err := e.Approve(t.Context(), second, waiting, now); err != nil || done.State.Description != "Leave now." {
		t.Errorf("%+v %v", done.State, err)
	}
	e.Two = nil
	if _, err := e.Approve(t.Context(), second, waiting, now); !errors.Is(err, hazard.ErrConflict) {
		t.Errorf("%v", err)
	}
}
