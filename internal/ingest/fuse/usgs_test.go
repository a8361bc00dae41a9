package fuse_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/store"
	"github.com/hazardd/hazardd/internal/test"
)

const weekRecorded hazard.Instant = 1691118537000 // metadata.generated of the recording

func TestTheWeekIs83Hazards(t *testing.T) {
	d := newDesk(t)
	res := d.take("usgs", "feeds/usgs/all_week-1.geojson", weekRecorded, fuse.Options{History: true})
	if res.Read != 2124 || res.New != 83 || res.Rejected != 0 || res.Held != 0 {
		t.Errorf("got %+v, want 2124 read, 83 new, none rejected, none held", res)
	}
	levels := map[hazard.Severity]int{}
	for _, h := range d.hazards() {
		levels[h.Severity]++
		if h.Type != hazard.Earthquake || h.Category != hazard.Event {
			t.Errorf("%s is %s %s", h.Name, h.Type, h.Category)
		}
	}
	if levels[hazard.Information] != 70 || levels[hazard.Advisory] != 13 {
		t.Errorf("levels %v, want 70 INFORMATION and 13 ADVISORY", levels)
	}
	before := d.last()
	res = d.take("usgs", "feeds/usgs/all_week-1.geojson", weekRecorded, fuse.Options{History: true})
	if res.New != 0 || res.Updated != 0 || res.Unchanged != 83 || d.last() != before {
		t.Errorf("importing the same again: %+v and %d changes, want nothing new", res, d.last()-before)
	}
	seed, want := rand.Uint64(), d.hazards()
	pieces := newDesk(t)
	pieces.takePieces(seed, "usgs", []string{"feeds/usgs/all_week-1.geojson"}, weekRecorded)
	got := pieces.hazards()
	if len(got) != len(want) {
		t.Errorf("cut and shuffled (seed %d): %d hazards, want %d", seed, len(got), len(want))
	}
	ignored := cmpopts.IgnoreFields(hazard.Hazard{}, "ID", "Version")
	for id, h := range want {
		if o := got[id]; o == nil {
			t.Errorf("cut and shuffled (seed %d): %s is missing", seed, h.Name)
		} else if diff := cmp.Diff(*h, *o, ignored); diff != "" {
			t.Errorf("cut and shuffled (seed %d): %s differs (-whole +pieces):\n%s", seed, h.Name, diff)
		}
	}
}

// titles returns the product tree of a hazard, each product as its path of titles.
func (d *desk) titles(id int64) []string {
	d.t.Helper()
	products, err := d.store.Hazards.AllProducts(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	path := map[int64]string{}
	var all []string
	for _, p := range products {
		path[p.ID] = path[p.ParentID] + "/" + p.Title
		all = append(all, path[p.ID])
	}
	return all
}

func TestDetailRecordingsBecomeProductTrees(t *testing.T) {
	test.NoRace(t)
	now := hazard.At(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	for name, want := range map[string]struct {
		severity hazard.Severity
		ids      []string // each of them finds the hazard
		tree     []string
	}{
		"detail-us6000pi9w.geojson": {hazard.Warning, []string{"us6000pi9w"}, // PAGER red
			[]string{"/USGS/ShakeMap", "/USGS/PAGER", "/USGS/Did You Feel It?", "/USGS/Moment tensor", "/USGS/Finite fault", "/USGS/Ground failure"}},
		"detail-20260727.json":      {hazard.Advisory, []string{"us6000tga9"}, []string{"/USGS/ShakeMap", "/USGS/PAGER"}}, // yellow
		"detail-us1000chhc.geojson": {hazard.Advisory, []string{"us1000chhc"}, []string{"/USGS/ShakeMap", "/USGS/PAGER", "/USGS/Did You Feel It?"}},
		"detail-us10004u1y.json":    {hazard.Watch, []string{"us10004u1y", "gcmt20160302124948"}, []string{"/USGS/ShakeMap", "/USGS/PAGER", "/USGS/Did You Feel It?"}}, // M 7.8, green
		"detail-usp000hvnu.json": {hazard.Warning, []string{"usp000hvnu", "usc0001xgp", "choy20110311054623", "iscgem16461282"}, // six ids, no PAGER colour
			[]string{"/USGS/ShakeMap", "/USGS/Did You Feel It?"}},
		"detail-ci37528064-edited-urls.json": {hazard.Information, []string{"ci37528064"}, []string{"/USGS/ShakeMap", "/USGS/PAGER", "/USGS/Did You Feel It?"}}, // green
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.take("usgs", "feeds/usgs/"+name, now, fuse.Options{History: true})
			all := slices.Collect(maps.Values(d.hazards()))
			if len(all) != 1 {
				t.Fatalf("%d hazards, want one", len(all))
			}
			h := all[0]
			if h.Severity != want.severity || h.UUID != hazard.EventUUID("usgs", want.ids[0]) {
				t.Errorf("%s %s is %s, want %s", h.Name, h.UUID, h.Severity, want.severity)
			}
			tree := d.titles(h.ID)
			for _, path := range want.tree {
				if !slices.Contains(tree, path) {
					t.Errorf("no product %s in %q", path, tree)
				}
			}
			_, err := d.store.Write(t.Context(), now, store.Origin{}, func(tx *store.Tx) error {
				for _, id := range want.ids {
					if _, to, err := tx.Events.Key("usgs", id); err != nil || to != h.ID {
						t.Errorf("id %s leads to %d (%v), want %d", id, to, err, h.ID)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			before := d.last()
			if d.take("usgs", "feeds/usgs/"+name, now, fuse.Options{History: true}); d.last() != before {
				t.Error("importing the same again made a change")
			}
		})
	}
}
