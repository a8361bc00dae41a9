package store_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/hazard/query"
	"github.com/hazardd/hazardd/internal/store"
)

// scatter writes hazards all over the world and over five years, of every severity. Many have
// ended; their last updates are partly years apart, and partly closer than SQLite's tree can
// distinguish. Some are active.
func scatter(t *testing.T, s *store.Store, n int) (all []*hazard.Hazard) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 1))
	updates := make([]hazard.Instant, 40)
	for i := range updates {
		updates[i] = noon.Add(-time.Duration(r.Int64N(int64(5 * 365 * 24 * time.Hour))))
	}
	updates[0], updates[1] = 0, hazard.MaxInstant // the limits of an instant
	_, err := s.Write(t.Context(), noon, store.Origin{Source: "nws"}, func(tx *store.Tx) error {
		for i := range n {
			h := flood(fmt.Sprint("hazard ", i))
			h.Type = []hazard.Type{hazard.Flood, hazard.Flood, hazard.Storm, hazard.Earthquake}[r.IntN(4)]
			h.Severity = hazard.Severity(1 + r.IntN(5))
			h.Longitude, h.Latitude = r.Float64()*360-180, r.Float64()*180-90
			h.LastUpdate = updates[r.IntN(len(updates))]
			if r.IntN(2) == 0 && h.LastUpdate < noon {
				h.LastUpdate += hazard.Instant(r.IntN(1_000_000))
			}
			h.Start, h.End = noon.Add(-time.Hour*24*365*6), noon
			h.Created, h.Updated = h.Start, noon
			if i%10 > 0 {
				h.Status, h.Reason = hazard.Expired, hazard.EndExpired
			} else { // the ends of hazards that expire are not recorded yet
				h.AutoExpire = i%20 == 0
			}
			if r.IntN(20) == 0 {
				refs, err := tx.KeepAreas([]hazard.Area{{Role: hazard.AlertArea, Geometry: `{"type":"Polygon","coordinates":[[[178,-2],[-179,-2],[-179,3],[178,3],[178,-2]]]}`}})
				if err != nil {
					return err
				}
				h.Areas = refs
			}
			if h.Type == hazard.Earthquake {
				h.Measurements = []hazard.Measurement{{Name: hazard.Magnitude, Value: float64(r.IntN(90)) / 10}}
			}
			h.UUID = uuid.New()
			if err := tx.SaveHazard(h, nil); err != nil {
				return err
			}
			all = append(all, h)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// lists reads all pages of lists in the order of severity, in the way that the store chooses, and
// compares them with the rule.
func lists(t *testing.T, s *store.Store, all []*hazard.Hazard, when string) {
	t.Helper()
	for _, text := range []string{"bbox=-180,-90,180,90", "bbox=170,-60,-170,60", "datetime=../" + noon.String(), "near=0,10&radius=4000000", "bbox=-90,-80,90,80&type=FLOOD,STORM&severity=WATCH,WARNING",
		"bbox=-180,-90,180,90&measure=magnitude:5..", "measure=magnitude:3..", "measure=magnitude:3..&type=EARTHQUAKE,FLOOD", "measure=magnitude:3..&type=STORM", "measure=magnitude:3..5,wind_kmh:1.."} {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		q, faults := query.Parse(values)
		if faults != nil {
			t.Fatal(text, faults)
		}
		var want []int64
		reads := make([]*hazard.Hazard, len(all))
		for i, h := range all {
			reads[i] = h.ExpireAt(noon)
		}
		slices.SortFunc(reads, func(a, b *hazard.Hazard) int {
			return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.LastUpdate, a.LastUpdate), cmp.Compare(a.ID, b.ID))
		})
		for _, h := range reads {
			shapes, err := s.Hazards.Shapes(t.Context(), h.Areas)
			if err != nil {
				t.Fatal(err)
			}
			if q.Match(h, shapes, noon) {
				want = append(want, h.ID)
			}
		}
		if n, _, err := s.Search.Count(t.Context(), q, noon); err != nil || n != int64(len(want)) {
			t.Errorf("%s: count of %s: %d, %v; want %d", when, text, n, err, len(want))
		}
		for _, q.Limit = range []int{7, 0} {
			var got []int64
			for q.Cursor = ""; ; {
				page, err := s.Search.Find(t.Context(), q, nil, noon)
				if err != nil {
					t.Fatal(text, err)
				}
				for _, h := range page.Hazards {
					got = append(got, h.ID)
				}
				if q.Cursor = page.Cursor; q.Cursor == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s in pages of %d: %d hazards, want %d, in order:\n%s", when, text, q.Limit, len(got), len(want), gocmp.Diff(want, got))
			}
		}
	}
}

func TestListsAreInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	lists(t, s, scatter(t, s, 700), "new")
}

// The tree of boxes approximates the order of hazards (R11). A store with schema 30 has another
// tree, without this order and without the extent of boxes along their kind. A program with that
// schema continues to write beside this one.
func TestListsAreInOrderAfterAnUpgradeOfTheTree(t *testing.T) {
	s, err := store.Open(t.Context(), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := scatter(t, s, 400)
	exec := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := s.Exec(t.Context(), text); err != nil {
				t.Fatal(text, err)
			}
		}
	}
	const rows = `SELECT group_concat(concat_ws(' ', rid, west, east, south, north, since, until, kind, kind_too, updated, updated_too), char(10) ORDER BY rid) FROM hazard_boxes`
	is, err := s.Ask(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}

	exec(`CREATE TEMP TABLE boxes AS SELECT * FROM hazard_boxes`, `DROP TABLE hazard_boxes`,
		`CREATE VIRTUAL TABLE hazard_boxes USING rtree(rid, west, east, south, north, since, until, kind, kind_too)`,
		`INSERT INTO hazard_boxes SELECT rid, west, east, south, north, since, until, kind, kind FROM boxes`, `DROP TABLE boxes`)
	upgrade, err := os.ReadFile("migrations/sqlite/0031_order.sql")
	if err != nil {
		t.Fatal(err)
	}
	exec(string(upgrade))
	if became, err := s.Ask(t.Context(), rows); err != nil || became != is {
		t.Errorf("after the upgrade the tree has different rows: %v", err)
	}
	lists(t, s, all, "after an upgrade")

	exec(`UPDATE hazard_boxes SET kind_too = kind, updated = 0, updated_too = 0 WHERE rid % 3 = 0`)
	lists(t, s, all, "with rows of an earlier program")
}
