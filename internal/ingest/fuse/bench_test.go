package fuse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/fuse"
	"github.com/hazardd/hazardd/internal/ingest/sources/usgs"
	"github.com/hazardd/hazardd/internal/test/server"
)

func BenchmarkIntakeWeek(b *testing.B) {
	payload := server.ReadShared(b, "feeds/usgs/all_week-1.geojson")
	batch, err := usgs.Parse(payload, weekRecorded)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		d := newDesk(b)
		b.StartTimer()
		if _, err := d.intake.Apply(b.Context(), "usgs", batch, weekRecorded, fuse.Options{History: true}); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of time passing with 10,000 active hazards: to find the next change, and to derive a
// hazard again after a part has expired.
func BenchmarkTimeAlone(b *testing.B) {
	const hazards = 10_000
	d := newDesk(b)
	var reports []hazard.Report
	for i := range hazards {
		key := fmt.Sprint("e", i)
		for part, severity := range []hazard.Severity{hazard.Warning, hazard.Advisory} {
			reports = append(reports, with(reportOf("nws", key, hazard.Flood, hourAgo, float64(i%150), float64(i/150)), func(r *hazard.Report) {
				r.Part, r.Places, r.Severity = fmt.Sprint(part), []string{fmt.Sprint("Z", part)}, severity
				r.End = new(noon.Add(time.Duration(1+part*hazards+i) * time.Second))
			}))
		}
	}
	d.apply("nws", noon, live, reports...)
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			if _, any, err := d.store.Hazards.NextMoment(b.Context()); err != nil || !any {
				b.Fatal(any, err)
			}
		}
	})
	now := noon
	b.Run("derive one", func(b *testing.B) {
		for b.Loop() {
			now = now.Add(time.Second)
			if err := d.intake.Pass(b.Context(), now); err != nil {
				b.Fatal(err)
			}
		}
	})
}
