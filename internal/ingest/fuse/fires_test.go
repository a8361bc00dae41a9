//go:build unix

package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
)

// season returns a batch of wildfires of one source. Their density does not depend on their number,
// unless dense is set: then all are within a country of 1,000 by 1,000 km.
func season(n int, dense bool) []hazard.Report {
	random := rand.New(rand.NewPCG(uint64(n), 6))
	reports := make([]hazard.Report, n)
	for i := range reports {
		lon, lat := -170+340*random.Float64(), -60+120*random.Float64()
		if dense {
			lon, lat = -122+10*random.Float64(), 34+9*random.Float64()
		}
		start := hourAgo - hazard.Instant(random.IntN(30))*24*3_600_000
		r := reportOf("nifc", fmt.Sprint("fire", i), hazard.Wildfire, start, lon, lat)
		r.Called, r.LifeMS = fmt.Sprintf("%s %d", []string{"Canyon", "Creek", "Ridge", "Lake", "Pine"}[random.IntN(5)], i), 60*24*3600*1000
		reports[i] = r
	}
	return reports
}

// The cost of a wildfire in batches of different sizes, in processor time. The
// processor time per record for 50,000 records must be at most 1.5 times that for 500.
func BenchmarkSeason(b *testing.B) {
	for _, dense := range []bool{false, true} {
		for _, n := range []int{500, 5000, 50_000} {
			b.Run(fmt.Sprintf("dense=%t/%d", dense, n), func(b *testing.B) {
				reports := season(n, dense)
				var used time.Duration
				var peak uint64
				for b.Loop() {
					b.StopTimer()
					d := newDesk(b)
					runtime.GC()
					before := processorTime(b)
					b.StartTimer()
					if res := d.apply("nifc", noon, fuse.Options{}, reports...); res.New != n {
						b.Fatalf("%d hazards of %d fires", res.New, n)
					}
					b.StopTimer()
					used += processorTime(b) - before
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapSys)
					b.StartTimer()
				}
				b.ReportMetric(float64(used.Microseconds())/float64(b.N*n), "cpu-µs/fire")
				b.ReportMetric(float64(peak>>20), "heap-MB")
			})
		}
	}
}

func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
