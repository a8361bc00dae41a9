package fuse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/test"
)

// fires returns many fires of a source from the last days, some 30 km apart.
func fires(src string, n int) []hazard.Report {
	reports := make([]hazard.Report, n)
	for i := range reports {
		r := reportOf(src, fmt.Sprint("fire", i), hazard.Wildfire, hourAgo-hazard.Instant(i%20)*24*3_600_000, -170+float64(i%900)*0.3, -60+float64(i/900)*0.3)
		r.Called, r.LifeMS = fmt.Sprint("Fire of canyon ", i), 30*24*3600*1000
		reports[i] = r
	}
	return reports
}

// Each fire is compared with its neighbors only, so the cost of a batch grows linearly with its
// length (5,000 fires took 25 s and then failed, because each was compared with all).
func TestABatchOfAnySizeIsTakenIn(t *testing.T) {
	test.Seldom(t)
	sizes := []int{5000, 20_000}
	if !test.All() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			d := newDesk(t)
			compared := fuse.CountComparisons(t, hazard.Wildfire)
			if res := d.apply("nifc", noon, fuse.Options{}, fires("nifc", n)...); res.New != n {
				t.Errorf("%d fires make %d hazards", n, res.New)
			}
			if *compared > 3*n {
				t.Errorf("%d fires were compared %d times", n, *compared)
			}
		})
	}
}

// Fires of another source are found by their places, also across the antimeridian and just within
// the maximum distance.
func TestNeighborsAreFoundAmongMany(t *testing.T) {
	d := newDesk(t)
	many := fires("nifc", 1000)
	east := with(reportOf("nifc", "east", hazard.Wildfire, hourAgo, 179.99, -17), func(r *hazard.Report) { r.Called = "Taveuni" })
	d.apply("nifc", noon, fuse.Options{}, append(many, east)...)
	west := with(reportOf("gdacs", "west", hazard.Wildfire, hourAgo, -179.99, -17), func(r *hazard.Report) { r.Called = "Taveuni" })
	near := with(many[500], func(r *hazard.Report) {
		r.Source, r.Key = "gdacs", "near"
		r.Point = &hazard.Point{Lon: r.Point.Lon, Lat: r.Point.Lat + 0.0449}
	})
	far := with(many[700], func(r *hazard.Report) {
		r.Source, r.Key = "gdacs", "far"
		r.Point = &hazard.Point{Lon: r.Point.Lon, Lat: r.Point.Lat + 0.0451}
	})
	d.apply("gdacs", noon, fuse.Options{}, west, near, far)
	together := d.together()
	for _, want := range []string{"gdacs:west nifc:east", "gdacs:near nifc:fire500", "gdacs:far", "nifc:fire700"} {
		if !slices.Contains(together, want) {
			t.Errorf("%s is not among the hazards", want)
		}
	}
}

// Other writers wait for at most some hundred reports, but an event is not divided.
func TestABatchIsCutBetweenEvents(t *testing.T) {
	reports := fires("nifc", 3*fuse.Chunk)
	again, other := reports[3], reports[5]
	again.Part = "update"
	other.Key, other.Aliases = "another name", []string{reports[5].Key}
	reports = append(reports, again, other)
	var got []int
	for _, part := range fuse.Chunks(reports) {
		got = append(got, len(part))
		if len(got) == 1 && (part[len(part)-2].Part != "update" || part[len(part)-1].Key != "another name") {
			t.Errorf("the first part ends with %v", part[len(part)-2:])
		}
	}
	if !slices.Equal(got, []int{fuse.Chunk, fuse.Chunk, fuse.Chunk, 2}) {
		t.Errorf("the batch is cut into %v", got)
	}
	if len(fuse.Chunks(nil)) != 0 {
		t.Error("an empty batch is divided")
	}
}
