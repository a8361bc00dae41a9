package fuse_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
)

// Summaries and details of one event. Some give no areas, products or renewal, and some say that it
// has ended. Whichever comes first, in the end the hazard has the data of the latest, and where
// that gives none, of the latest that does.
func TestWhatADetailToldStaysInAnyOrder(t *testing.T) {
	square := func(n int64) string {
		return fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%d,0],[%d,0],[%d,1],[%d,0]]]}`, n, n+1, n+1, n)
	}
	d, runs := newDesk(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		reports := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) hazard.Report {
			n := rapid.Int64Range(1, 6).Draw(t, "version")
			r := quake("us1", n)
			r.Name = fmt.Sprint("version ", n)
			if rapid.Bool().Draw(t, "products") {
				r.Products = []hazard.ReportProduct{{Key: "text", Title: fmt.Sprint("of ", n), Type: hazard.TextProduct, Data: fmt.Sprint(n), Time: noon}}
			}
			if rapid.Bool().Draw(t, "areas") {
				r.Areas = []hazard.Area{{Role: hazard.ImpactArea, Geometry: square(n)}}
			}
			if rapid.Bool().Draw(t, "renewed") {
				r.Renewed = new(noon + hazard.Instant(n))
			}
			if rapid.IntRange(0, 5).Draw(t, "over") == 0 {
				r.Ended = hazard.EndCancelled
			}
			return r
		}), 1, 5, func(r hazard.Report) int64 { return r.Version }).Draw(rt, "reports")
		run := func(order []hazard.Report) (hazard.Hazard, []string) {
			runs++
			key := fmt.Sprint("us", runs) // each run is a separate event
			for _, r := range order {
				r.Key = key
				d.apply("usgs", noon+10, fuse.Options{History: true}, r)
			}
			h := *d.event("usgs", key)
			titles := d.titles(h.ID)
			h.ID, h.Version, h.UUID = 0, 0, uuid.Nil
			return h, titles
		}
		want, titles := run(reports)
		got, gotTitles := run(rapid.Permutation(reports).Draw(rt, "order"))
		if diff := cmp.Diff(want, got); diff != "" || !slices.Equal(titles, gotTitles) {
			rt.Errorf("products %q and %q, %s", titles, gotTitles, diff)
		}
	})
}

// Indexes list the newest first, so the end of an alert may be read before the alert.
func TestAnEndThatComesBeforeItsAlertEndsIt(t *testing.T) {
	alert := with(reportOf("cap", "a", hazard.Flood, hourAgo, 1, 1), func(r *hazard.Report) { r.Part = "alert" })
	end := func(f func(*hazard.Report)) hazard.Report {
		return with(alert, func(r *hazard.Report) {
			r.Part, r.Version, r.Replaces, r.Ended = "end", r.Version+1, []string{"alert"}, hazard.EndCancelled
			f(r)
		})
	}
	for name, over := range map[string]hazard.Report{
		"a cancellation":                  end(func(*hazard.Report) {}),
		"one that gives no place":         end(func(r *hazard.Report) { r.Point = nil }),
		"an all-clear, of itself nothing": end(func(r *hazard.Report) { r.Minor, r.Ended, r.Refs = true, hazard.EndAllClear, []string{"cap:a"} }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]hazard.Report{{alert, over}, {over, alert}} {
				d := newDesk(t)
				held := 0
				for _, r := range order {
					held += d.apply("cap", noon, live, r).Held
				}
				if held != 0 {
					t.Errorf("%d held: an ended event needs no place", held)
				}
				if all := d.together(); len(all) > 1 || len(all) == 1 && d.event("cap", "a").Status != hazard.Expired {
					t.Errorf("%q, %s", all, d.event("cap", "a").Status)
				}
			}
		})
	}
}

func TestWhatWaitedForAPlaceCountsOnceThereIsOne(t *testing.T) {
	d := newDesk(t)
	sea := alert("STORM", int64(noon), []string{"area:sea"}, nil)
	land := with(alert("STORM", int64(noon)+1, []string{"INC005"}, nil), func(r *hazard.Report) { r.Severity, r.End = hazard.Advisory, new(noon.Add(time.Minute)) })
	sea.Source, land.Source = "cap", "cap" // of no country
	if res := d.apply("cap", noon, live, sea); res.Held != 1 {
		t.Fatalf("%+v", res)
	}
	if res := d.apply("cap", noon+1, live, land); res.New != 1 {
		t.Fatalf("%+v", res)
	}
	if h := d.event("cap", "STORM"); h.Severity != hazard.Warning || h.End != noon.Add(time.Hour) {
		t.Errorf("%s until %s, want the data for the sea too", h.Severity, h.End)
	}
	if n, err := d.store.Reports.CountHeld(t.Context(), "cap"); n != 0 || err != nil {
		t.Errorf("%d still held, %v", n, err)
	}
}

// A deletion that came before the report that it deletes stays in force, however often that report
// is repeated.
func TestADeletionThatCameFirstHolds(t *testing.T) {
	d := newDesk(t)
	d.apply("usgs", noon, live, with(quake("us1", 2), func(r *hazard.Report) { r.Ended = hazard.EndWithdrawn }))
	for i := range hazard.Instant(3) {
		d.apply("usgs", noon+i, live, quake("us1", 1))
	}
	if got := d.together(); len(got) > 0 {
		t.Errorf("got %q, want no hazard", got)
	}
}
