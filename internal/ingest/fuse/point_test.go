package fuse_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/geo"
	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test"
	"github.com/hazardd/hazardd/internal/test/server"
)

// TestThePointOfAWarningLiesInItsArea checks that each alert of recorded national lists has an area
// that contains its point, at each of its changes. This includes alerts with zones only, and areas
// that updates and time make smaller.
func TestThePointOfAWarningLiesInItsArea(t *testing.T) {
	test.Slow(t)
	names, times := august(t)
	lists, err := filepath.Glob(filepath.Join(server.Shared(t, "feeds/nws"), "full-*.json"))
	if err != nil || len(lists) == 0 {
		t.Fatalf("no national lists: %v", err)
	}
	for _, p := range lists {
		name := "feeds/nws/" + filepath.Base(p)
		at, err := time.Parse("full-20060102T1504Z.json", filepath.Base(p))
		if err != nil {
			t.Fatal(err)
		}
		names, times[name] = append(names, name), hazard.At(at)
	}
	slices.SortFunc(names, func(a, b string) int { return int(times[a] - times[b]) })
	d := newDesk(t)
	for _, name := range names {
		if err := d.intake.PassUntil(t.Context(), times[name]); err != nil {
			t.Fatal(err)
		}
		d.take("nws", name, times[name], fuse.Options{})
	}
	outside, all := 0, map[int64]bool{}
	for _, c := range d.changes(0) {
		h := c.Hazard
		if h == nil {
			continue
		}
		list, err := d.store.Log.Areas(t.Context(), h.Areas)
		if err != nil {
			t.Fatal(err)
		}
		inside := false
		for _, a := range list {
			s, err := geo.ParseLoose([]byte(a.Geometry))
			if err != nil {
				t.Fatal(err)
			}
			inside = inside || contains(s, h.Longitude, h.Latitude)
		}
		all[h.ID] = true
		if !inside && outside < 20 {
			outside++
			t.Errorf("change %d: %s (%s) at %v, %v is in none of its %d areas", c.Number, h.Name, h.Comment, h.Longitude, h.Latitude, len(list))
		}
	}
	if len(all) < 900 {
		t.Errorf("%d hazards, of lists of more", len(all))
	}
}

// contains reports whether a shape has a position in its areas. It counts the sides east of the
// position: a simple method that differs from the program's.
func contains(s geo.Shape, lon, lat float64) bool {
	for _, polygon := range s.Polygons() {
		odd := false
		for _, ring := range polygon {
			for i, to := range ring[1:] {
				if from := ring[i]; (from[1] > lat) != (to[1] > lat) && lon < (to[0]-from[0])*(lat-from[1])/(to[1]-from[1])+from[0] {
					odd = !odd
				}
			}
		}
		if odd {
			return true
		}
	}
	return false
}
