package poll

import (
	"testing"
	"time"

	"github.com/hazardd/hazardd/internal/hazard"
	"github.com/hazardd/hazardd/internal/ingest/poll/delay"
	"github.com/hazardd/hazardd/internal/ingest/source"
)

// The delay of a report is measured once, when the report changes something. Reports that were
// issued before this server first read the source are not measured.
func TestReportsAreLateByTheTimeSinceTheirIssue(t *testing.T) {
	bubble(t, func(t *testing.T, b *bed) {
		src := testSource("a")
		var issued time.Time
		parse := src.Parse
		src.Parse = func(payload []byte, now hazard.Instant) (source.Batch, error) {
			batch, err := parse(payload, now)
			for i := range batch.Reports {
				batch.Reports[i].Version = int64(hazard.At(issued))
			}
			return batch, err
		}
		p := b.poller(src)
		p.delays = &delay.Delays{}
		b.net.text("a.example", list("x"))
		issued = time.Now().Add(-time.Hour)
		stop := b.start(p)
		defer stop()
		time.Sleep(3 * time.Minute)
		if s := p.delays.Of("a", delay.Committed); s != nil {
			t.Fatalf("counts what was issued before: %+v", s)
		}
		issued = time.Now()
		b.net.text("a.example", list("y"))
		time.Sleep(5 * time.Minute)
		s := p.delays.Of("a", delay.Committed)
		if s == nil || s.Count != 1 || s.P99 > 120 {
			t.Errorf("%+v, expected one report, at most a minute or so late", s)
		}
	})
}
