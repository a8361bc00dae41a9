package format_test

import (
	"io"
	"testing"

	"github.com/hazardd/hazardd/internal/format"
)

// The cost of writing the recorded hazards with their areas in each format.
func BenchmarkRecorded(b *testing.B) {
	entries := recordedHazards(b).present
	for _, name := range format.Names() {
		f, _ := format.Parse(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := format.NewWriter(io.Discard, f, options(false))
				for _, e := range entries {
					if err := w.Write(e); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(entries)), "hazards")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(entries)), "µs/hazard")
		})
	}
}
