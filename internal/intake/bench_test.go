package intake_test

import (
	"testing"

	"hazardd/internal/hazardtest"
	"hazardd/internal/intake"
	"hazardd/internal/source/usgs"
)

func BenchmarkIntakeWeek(b *testing.B) {
	payload := hazardtest.ReadShared(b, "feeds/usgs/all_week-1.geojson")
	batch, err := usgs.Parse(payload, weekRecorded)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		d := newDesk(b)
		b.StartTimer()
		if _, err := d.intake.Apply(b.Context(), "usgs", batch, weekRecorded, intake.Options{History: true}); err != nil {
			b.Fatal(err)
		}
	}
}
